//! References whose targets decide whether an aspect may have them: lifecycle stages, parents of
//! glossary nodes, and logical parents. Those that are stored already stay valid.

use docent_model::{AspectName, Urn};
use docent_store::AspectKey;
use serde_json::Value;

use super::Batch;
use super::create::platform_of;
use crate::Error;
use crate::access::holder_of;
use crate::apply::authorization::Authorization;
use crate::domains::MAX_DEPTH;
use crate::glossary::{NODE_INSIDE_ITSELF, PARENT_NODE_AT};
use crate::lifecycle_stages::{check_stage, new_stage};
use crate::logical_parents::{expect_logical, parent_in};
use crate::privilege::EDIT_ENTITY;
use crate::request_demands::Demands;
use crate::stored::aspect_value;

/// What decides about the reference in an aspect, if there is one.
pub(super) fn target_key(aspect: AspectName, value: &Value) -> Option<AspectKey> {
    match aspect {
        AspectName::STATUS => {
            let (_, stage) = new_stage(None, value).ok()??;
            Some(AspectKey::new(
                &stage,
                AspectName::LIFECYCLE_STAGE_TYPE_INFO,
            ))
        }
        AspectName::LOGICAL_PARENT => {
            let parent = Urn::parse(parent_in(value)?).ok()?;
            let platform = platform_of(&holder_of(&parent))?;
            Some(AspectKey::new(&platform, AspectName::DATA_PLATFORM_INFO))
        }
        _ => None,
    }
}

impl Batch<'_> {
    /// Fails if the entity may not enter the stage in its new status.
    pub(super) async fn check_lifecycle_stage(
        &mut self,
        entity: &Urn,
        stored: Option<&Value>,
        proposed: &Value,
    ) -> Result<(), Error> {
        let Some((before, next)) = new_stage(stored, proposed)? else {
            return Ok(());
        };
        let info = self
            .value(&next, AspectName::LIFECYCLE_STAGE_TYPE_INFO)
            .await?;
        check_stage(entity, before, &next, info.as_ref())
    }

    /// Fails if a glossary node would be inside itself.
    pub(super) async fn check_glossary_parent(
        &mut self,
        node: &Urn,
        stored: Option<&Value>,
        proposed: &Value,
    ) -> Result<(), Error> {
        let parent = |value: &Value| Urn::parse(value["parentNode"].as_str()?).ok();
        let Some(new) = parent(proposed).filter(|it| stored.and_then(parent).as_ref() != Some(it))
        else {
            return Ok(());
        };
        let aspect = AspectName::GLOSSARY_NODE_INFO;
        let ancestors = self.ancestors(&new, aspect, PARENT_NODE_AT).await?;
        if ancestors.contains(node) {
            return Err(Error::invalid(NODE_INSIDE_ITSELF));
        }
        Ok(())
    }

    /// Fails unless a new logical parent is on a logical platform. The rest is decided at the end
    /// of the list.
    pub(super) async fn check_logical_parent(
        &mut self,
        child: &Urn,
        stored: Option<&Value>,
        proposed: &Value,
    ) -> Result<(), Error> {
        let before = stored.and_then(parent_in);
        let Some(parent) = parent_in(proposed).filter(|it| before != Some(*it)) else {
            return Ok(());
        };
        let parent = Urn::parse(parent)?;
        let platform = platform_of(&holder_of(&parent)).ok_or_else(|| {
            let message =
                format!("{parent} cannot be a logical parent: it is not a dataset or column");
            Error::invalid_aspect(message)
        })?;
        let info = self
            .value(&platform, AspectName::DATA_PLATFORM_INFO)
            .await?;
        expect_logical(&platform, info.as_ref())?;
        self.other_targets.insert(holder_of(&parent));
        self.logical_parents.insert(child.clone(), parent);
        Ok(())
    }

    /// Fails unless the caller may edit the logical parents and version sets that the list has set.
    pub(super) async fn authorize_other_targets(
        &mut self,
        authorization: &Authorization,
    ) -> Result<(), Error> {
        let targets = std::mem::take(&mut self.other_targets);
        if targets.is_empty() {
            return Ok(());
        }
        let demands = Demands::on(targets, &[EDIT_ENTITY]);
        self.authorize_on_others(authorization, &demands).await
    }

    /// Fails if a logical parent that the list has set is inside its child. Called after the rights
    /// are decided, so that callers learn nothing about the parents of what they may not edit.
    pub(super) async fn check_parent_cycles(&mut self) -> Result<(), Error> {
        let parents = std::mem::take(&mut self.logical_parents);
        for (child, parent) in &parents {
            if self.is_inside(parent, child).await? {
                let message = format!(
                    "{parent} cannot be the logical parent of {child}: it is {child}, or has that as a logical parent"
                );
                return Err(Error::invalid(message).naming(child));
            }
        }
        Ok(())
    }

    /// Whether a dataset or column is another one, or has it among its logical parents.
    async fn is_inside(&mut self, urn: &Urn, other: &Urn) -> Result<bool, Error> {
        let mut next = Some(urn.clone());
        for _ in 0..MAX_DEPTH {
            let Some(current) = next else {
                return Ok(false);
            };
            if current == *other {
                return Ok(true);
            }
            let value = self.value(&current, AspectName::LOGICAL_PARENT).await?;
            next = value.and_then(|it| Urn::parse(parent_in(&it)?).ok());
        }
        Err(Error::invalid(format!(
            "{urn} has more than {MAX_DEPTH} logical parents above it: choose one nearer to the root"
        )))
    }

    pub(super) async fn value(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
    ) -> Result<Option<Value>, Error> {
        let row = self.get(urn, aspect).await?;
        self.budget.parse(row.as_ref())?;
        Ok(aspect_value(&row))
    }
}

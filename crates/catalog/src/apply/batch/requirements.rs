//! The conditions of a proposal that are checked before its change.

use std::collections::HashSet;

use docent_model::{AspectName, Registry, Urn};
use serde_json::Value;

use super::current::Current;
use super::{Batch, Prepared, already_exists, conditions};
use crate::access::holder_of;
use crate::domains::MAX_DEPTH;
use crate::proposal::Requirement;
use crate::stored::aspect_value;
use crate::{Error, ErrorSubject};

impl Batch<'_> {
    pub(super) async fn require(
        &mut self,
        item: &Prepared,
        requirement: &Requirement,
    ) -> Result<(), Error> {
        let urn = &item.proposal.urn;
        match requirement {
            Requirement::Version { .. }
            | Requirement::ModifiedSince { .. }
            | Requirement::UnmodifiedSince { .. } => {
                for subject in self.subjects(item).await? {
                    let row = self.get(urn, subject).await?;
                    conditions::check(requirement, subject, row.as_deref())?;
                }
            }
            Requirement::Exists {
                urn,
                otherwise,
                position,
            } => {
                if !self.is_found(urn).await? {
                    let subject = ErrorSubject::entity(urn).at(*position);
                    return Err(Error::no_entity(otherwise.as_str()).about(subject));
                }
            }
            Requirement::ExistOrNamed {
                urns,
                by,
                otherwise,
            } => {
                let stored = Current::new(self.get(&by.urn, by.aspect).await?);
                let named = texts_in(stored.readable());
                for urn in urns.iter().filter(|urn| !named.contains(urn.as_str())) {
                    // The columns of a dataset need no aspects of their own.
                    let is_found = !self.hides(urn) && self.is_stored(&holder_of(urn)).await?;
                    if !is_found {
                        let subject = ErrorSubject::entity(urn);
                        return Err(Error::no_entity(otherwise(urn)).about(subject));
                    }
                }
            }
            Requirement::IsNew { otherwise } => {
                let entity = Registry::get().check_urn(urn)?;
                if self.exists(urn, entity).await? {
                    return Err(already_exists(otherwise.clone()));
                }
            }
            Requirement::NotInside {
                parent,
                aspect,
                at,
                otherwise,
            } => {
                let ancestors = self.ancestors(parent, *aspect, at).await?;
                if ancestors.contains(urn) {
                    return Err(Error::invalid(*otherwise));
                }
            }
            Requirement::HasColumns {
                dataset,
                field_paths,
            } => {
                let schema = self.get(dataset, AspectName::SCHEMA_METADATA).await?;
                self.columns.check(dataset, schema.as_ref(), field_paths)?;
            }
            Requirement::Holds { key, check } => {
                let row = self.get(&key.urn, key.aspect).await?;
                check.run(Current::new(row).value(key.aspect)?)?;
            }
            // Checked when the new value is known.
            Requirement::UniqueSiblingName { .. } | Requirement::AccountStatusUnchanged { .. } => {}
        }
        Ok(())
    }

    /// An entity and those above it. Fails if there are more than a hierarchy may have.
    pub(super) async fn ancestors(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
        at: &str,
    ) -> Result<Vec<Urn>, Error> {
        let mut ancestors = Vec::new();
        let mut next = Some(urn.clone());
        while let Some(current) = next {
            if ancestors.len() == MAX_DEPTH || ancestors.contains(&current) {
                return Err(Error::invalid(format!(
                    "{urn} is more than {MAX_DEPTH} levels below the root: choose a parent nearer to it"
                )));
            }
            let value: Option<Value> = aspect_value(&self.get(&current, aspect).await?);
            ancestors.push(current);
            next = value.and_then(|value| Urn::parse(value.pointer(at)?.as_str()?).ok());
        }
        Ok(ancestors)
    }

    /// Whether an entity exists for the caller.
    async fn is_found(&mut self, urn: &Urn) -> Result<bool, Error> {
        let entity = Registry::get().check_urn(urn)?;
        Ok(!self.hides(urn) && self.exists(urn, entity).await?)
    }
}

/// All texts in a stored value.
fn texts_in(value: Option<&Value>) -> HashSet<&str> {
    let mut texts = HashSet::new();
    let mut values: Vec<&Value> = value.into_iter().collect();
    while let Some(value) = values.pop() {
        match value {
            Value::String(text) => {
                texts.insert(text.as_str());
            }
            Value::Array(items) => values.extend(items),
            Value::Object(members) => values.extend(members.values()),
            _ => {}
        }
    }
    texts
}

//! Lifecycle stages, such as drafts, that an organization defines, and the stages of entities.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use docent_store::AspectKey;
use serde_json::{Map, Value, json};

use crate::about_assets::urns_in;
use crate::proposal::Proposal;
use crate::target::expect_aspect;
use crate::{Caller, Catalog, Error};

const ENTITY: &str = "lifecycleStageType";
/// How stages name the state of entities without a stage.
const NO_STAGE: &str = "urn:li:lifecycleStageType:__NONE__";
/// The stage in the status of an entity.
const MEMBER: &str = "lifecycleStage";
/// The most stages of a list.
const MAX_STAGES: usize = 1_000;

impl Catalog {
    /// All stages that are defined.
    pub async fn lifecycle_stages(&self) -> Result<Vec<Urn>, Error> {
        let stages = self.list_urns(ENTITY, 0, MAX_STAGES).await?.items;
        let key = |urn: &Urn| AspectKey::new(urn, AspectName::LIFECYCLE_STAGE_TYPE_INFO);
        let keys: Vec<AspectKey> = stages.iter().map(key).collect();
        let are_defined = self.are_stored(&keys).await?;
        let defined = stages.into_iter().zip(are_defined);
        Ok(defined.filter_map(|(urn, is)| is.then_some(urn)).collect())
    }

    /// Sets the stage of an entity, if its present stage may be followed by that one, or removes
    /// it. The batch checks the stage, as for every write of the status.
    pub async fn set_lifecycle_stage(
        &self,
        caller: &Caller,
        entity: &Urn,
        stage: Option<&Urn>,
    ) -> Result<(), Error> {
        expect_aspect(entity, AspectName::STATUS, "a lifecycle stage")?;
        let next = stage.cloned();
        let edit = move |current: Option<Map<String, Value>>, stamp: &AuditStamp| {
            let mut status = current.unwrap_or_default();
            let next = next.as_ref().map(|stage| json!(stage));
            if status.get(MEMBER) == next.as_ref() {
                return Ok(None);
            }
            match next {
                Some(next) => status.insert(MEMBER.to_owned(), next),
                None => status.remove(MEMBER),
            };
            status.insert("lifecycleLastUpdated".to_owned(), json!(stamp));
            Ok(Some(status))
        };
        let proposal = Proposal::edit_if(entity.clone(), AspectName::STATUS, edit);
        self.apply(caller, vec![proposal.requires_target()]).await?;
        Ok(())
    }
}

/// The stage that a status newly has, with the one before it.
pub(crate) fn new_stage<'s>(
    stored: Option<&'s Value>,
    proposed: &'s Value,
) -> Result<Option<(Option<&'s str>, Urn)>, Error> {
    let before = stored.and_then(|status| status[MEMBER].as_str());
    let next = proposed[MEMBER].as_str();
    let Some(next) = next.filter(|next| before != Some(*next)) else {
        return Ok(None);
    };
    let next = Urn::parse(next)?;
    next.expect_type(ENTITY)?;
    Ok(Some((before, next)))
}

/// Fails if there is no such stage, or it is for other entity types, or may not follow the one
/// before it. `info` is what is stored about it.
pub(crate) fn check_stage(
    entity: &Urn,
    before: Option<&str>,
    next: &Urn,
    info: Option<&Value>,
) -> Result<(), Error> {
    let info = info.ok_or_else(|| {
        let message =
            format!("the lifecycle stage {next} does not exist: listLifecycleStages lists them");
        Error::no_entity(message)
    })?;
    expect_type_of(entity, next, info)?;
    expect_transition(entity, before, next, info)
}

/// Fails if the stage is for other entity types; one without types is for all.
fn expect_type_of(entity: &Urn, stage: &Urn, info: &Value) -> Result<(), Error> {
    let types = info["entityTypes"].as_array().into_iter().flatten();
    let types: Vec<&str> = types.filter_map(Value::as_str).collect();
    if types.is_empty() || types.contains(&entity.entity_type()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{entity} cannot have the lifecycle stage {stage}: it is for entities of the types {}",
        types.join(", ")
    )))
}

/// Fails if the stage may not follow the present one.
fn expect_transition(
    entity: &Urn,
    before: Option<&str>,
    next: &Urn,
    info: &Value,
) -> Result<(), Error> {
    let allowed = &info["transitionPolicy"]["allowedPreviousStages"];
    if !allowed.is_array() {
        return Ok(());
    }
    let allowed = urns_in(allowed);
    let before = before.unwrap_or(NO_STAGE);
    if allowed.iter().any(|it| it.as_str() == before) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{entity} cannot move to {next}: its lifecycle stage is {before}, which that stage does not allow before it"
    )))
}

//! Lifecycle stages, such as drafts, that an organization defines, and the stages of entities.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn};
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
/// Who set it, and when.
const STAMP: &str = "lifecycleLastUpdated";
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
            status.insert(STAMP.to_owned(), json!(stamp));
            Ok(Some(status))
        };
        let proposal = Proposal::edit_if(entity.clone(), AspectName::STATUS, edit);
        self.apply(caller, vec![proposal.requires_target()]).await?;
        Ok(())
    }
}

/// A status that a client sends, with the stored stage if it names none: connectors write `removed`
/// alone, and would publish drafts. `null` names none explicitly, which removes the stage.
pub(crate) fn with_stage(
    aspect: AspectName,
    stored: Option<&Value>,
    proposed: &Value,
) -> Option<Value> {
    if aspect != AspectName::STATUS || proposed.get(MEMBER).is_some() {
        return None;
    }
    let stored = stored.filter(|stored| stored[MEMBER].is_string())?;
    let mut kept = proposed.clone();
    for member in [MEMBER, STAMP] {
        if let Some(value) = stored.get(member) {
            kept[member] = value.clone();
        }
    }
    Some(kept)
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

/// Fails if the definition of a stage cannot mean anything: without a name, or for entity types or
/// after stages that cannot exist.
pub(crate) fn check_definition(stage: &Urn, info: &Value) -> Result<(), Error> {
    let invalid = |message: String| Err(Error::invalid_aspect(message).naming(stage));
    if info["name"]
        .as_str()
        .is_none_or(|name| name.trim().is_empty())
    {
        return invalid(format!("the lifecycle stage {stage} needs a name"));
    }
    let types = info["entityTypes"].as_array().into_iter().flatten();
    for name in types.filter_map(Value::as_str) {
        let spec = Registry::get().entity(name);
        if !spec.is_some_and(|spec| spec.has_aspect(AspectName::STATUS)) {
            return invalid(format!(
                "the lifecycle stage {stage} cannot be for '{name}': entityTypes are types of entities with a status, \
                 such as dataset"
            ));
        }
    }
    let previous = info["transitionPolicy"]["allowedPreviousStages"].as_array();
    for name in previous.into_iter().flatten().filter_map(Value::as_str) {
        if !Urn::parse(name).is_ok_and(|it| it.entity_type() == ENTITY) {
            return invalid(format!(
                "'{name}' cannot come before the lifecycle stage {stage}: allowedPreviousStages are stages, or \
                 {NO_STAGE}"
            ));
        }
    }
    Ok(())
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

/// Fails if the stage is for other entity types. One that names no list is for all; an empty list
/// disables it.
fn expect_type_of(entity: &Urn, stage: &Urn, info: &Value) -> Result<(), Error> {
    let Some(types) = info["entityTypes"].as_array() else {
        return Ok(());
    };
    let types: Vec<&str> = types.iter().filter_map(Value::as_str).collect();
    if types.is_empty() {
        return Err(Error::invalid(format!(
            "{entity} cannot have the lifecycle stage {stage}: it is disabled, because its entityTypes are empty"
        )));
    }
    if types.contains(&entity.entity_type()) {
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

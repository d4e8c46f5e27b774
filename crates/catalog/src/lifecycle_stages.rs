//! Lifecycle stages, such as drafts, that an organization defines, and the stages of entities.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::{Map, Value, json};

use crate::about_assets::urns_in;
use crate::proposal::{Proposal, missing_target};
use crate::stored::aspect_value;
use crate::target::expect_aspect;
use crate::{Caller, Catalog, ConflictReason, Error};

const ENTITY: &str = "lifecycleStageType";
/// How stages name the state of entities without a stage.
const NO_STAGE: &str = "urn:li:lifecycleStageType:__NONE__";
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
    /// it.
    pub async fn set_lifecycle_stage(
        &self,
        caller: &Caller,
        entity: &Urn,
        stage: Option<&Urn>,
    ) -> Result<(), Error> {
        expect_aspect(entity, AspectName::STATUS, "a lifecycle stage")?;
        let Some(stage) = stage else {
            let edit = |current: Option<Map<String, Value>>, stamp: &AuditStamp| {
                let mut status = current.unwrap_or_default();
                let removed = status.remove("lifecycleStage");
                Ok(removed.is_some().then(|| stamped(status, stamp)))
            };
            let proposal = Proposal::edit_if(entity.clone(), AspectName::STATUS, edit);
            self.apply(caller, vec![proposal.requires_target()]).await?;
            return Ok(());
        };
        stage.expect_type(ENTITY)?;
        let aspect = AspectName::LIFECYCLE_STAGE_TYPE_INFO;
        let key = AspectKey::new(stage, aspect);
        let row = self.reader().read(ReadRequest::row(&key)).await?.into_row();
        let missing =
            format!("the lifecycle stage {stage} does not exist: listLifecycleStages lists them");
        let info: Value = aspect_value(&row).ok_or_else(|| Error::no_entity(missing.clone()))?;
        expect_type_of(entity, stage, &info)?;
        let unchanged = {
            let info = info.clone();
            move |current: Option<Value>| {
                let is_same = current.as_ref() == Some(&info);
                is_same.then_some(()).ok_or_else(|| {
                    let message =
                        "the lifecycle stage was changed meanwhile: send the request again";
                    Error::conflict(ConflictReason::ChangedMeanwhile, message)
                })
            }
        };
        let (next, entity_urn) = (stage.clone(), entity.clone());
        let edit = move |current: Option<Map<String, Value>>, stamp: &AuditStamp| {
            let mut status = current.unwrap_or_default();
            let before = status.get("lifecycleStage").and_then(Value::as_str);
            if before == Some(next.as_str()) {
                return Ok(None);
            }
            expect_transition(&entity_urn, before, &next, &info)?;
            status.insert("lifecycleStage".to_owned(), json!(next));
            Ok(Some(stamped(status, stamp)))
        };
        let proposal = Proposal::edit_if(entity.clone(), AspectName::STATUS, edit)
            .requires_existing(entity, missing_target(entity))
            .requires_value(stage, aspect, unchanged);
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }
}

fn stamped(mut status: Map<String, Value>, stamp: &AuditStamp) -> Map<String, Value> {
    status.insert("lifecycleLastUpdated".to_owned(), json!(stamp));
    status
}

/// Fails if the stage is for other entity types.
fn expect_type_of(entity: &Urn, stage: &Urn, info: &Value) -> Result<(), Error> {
    let Some(types) = info["entityTypes"].as_array() else {
        return Ok(());
    };
    if types.iter().any(|it| it == entity.entity_type()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{entity} cannot have the lifecycle stage {stage}: it is for entities of other types"
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

//! The lifecycle of entities: deprecation and soft deletion.

use std::collections::{BTreeSet, HashSet};

use docent_model::aspects::Status;
use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::{AspectKey, AspectRow, ReadRequest};
use serde_json::{Map, Value, json};

use crate::proposal::Proposal;
use crate::target::{Target, column_urn};
use crate::{Caller, Catalog, Error};

/// Whether something is deprecated.
#[derive(Debug, Clone, Default)]
pub struct Deprecation {
    pub deprecated: bool,
    pub decommission_time: Option<EpochMillis>,
    pub note: Option<String>,
    /// The replacement to use.
    pub replacement: Option<Urn>,
}

impl Catalog {
    /// Sets the deprecation of existing targets; of all of them or of none. A column is an entity
    /// of its own here.
    pub async fn update_deprecation(
        &self,
        caller: &Caller,
        targets: &[Target],
        update: &Deprecation,
    ) -> Result<(), Error> {
        let proposals = targets
            .iter()
            .map(|target| deprecate(target, update.clone()))
            .collect::<Result<Vec<_>, Error>>()?;
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Soft-deletes existing entities, or restores them; all of them or none. Soft deletion blocks
    /// a user's account, so this goes through [`Catalog::ingest`].
    pub async fn update_soft_deleted(
        &self,
        caller: &Caller,
        targets: &[Target],
        deleted: bool,
    ) -> Result<(), Error> {
        let proposals = targets
            .iter()
            .map(|target| {
                let urn = &target.urn;
                target.expect_aspect(
                    AspectName::STATUS,
                    "a status, so they cannot be soft-deleted",
                )?;
                let proposal = Proposal::edit::<Map<String, Value>, _>(
                    urn.clone(),
                    AspectName::STATUS,
                    move |current, _| {
                        let mut status = current.unwrap_or_default();
                        status.insert("removed".to_owned(), Value::Bool(deleted));
                        Ok(status)
                    },
                );
                let missing =
                    format!("Failed to soft delete entity with urn {urn}. Entity does not exist.");
                Ok(target.required_by(proposal, missing))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        self.ingest(caller, proposals).await?;
        Ok(())
    }

    /// The soft-deleted ones of these entities.
    pub async fn soft_deleted(
        &self,
        urns: impl IntoIterator<Item = &Urn>,
    ) -> Result<HashSet<Urn>, Error> {
        let urns: BTreeSet<&Urn> = urns.into_iter().collect();
        let keys: Vec<AspectKey> = urns
            .into_iter()
            .map(|urn| AspectKey::new(urn, AspectName::STATUS))
            .collect();
        let rows = self.read(ReadRequest::rows(&keys)).await?.rows;
        Ok(keys
            .into_iter()
            .zip(rows)
            .filter(|(_, row)| is_removed(row))
            .map(|(key, _)| key.urn)
            .collect())
    }
}

/// Whether this `status` soft-deletes its entity.
pub(crate) fn is_removed(status: &AspectRow) -> bool {
    let status = status.as_deref();
    let status = status.and_then(|row| serde_json::from_str::<Status>(&row.metadata).ok());
    status.is_some_and(|status| status.removed)
}

fn deprecate(target: &Target, update: Deprecation) -> Result<Proposal, Error> {
    let entity = match &target.column {
        None => target.urn.clone(),
        Some(column) => {
            target.expect_columns()?;
            column_urn(&target.urn, column)?
        }
    };
    // A column can always be deprecated: it is an entity of its own.
    if target.column.is_none() {
        target.expect_aspect(AspectName::DEPRECATION, "a deprecation")?;
    }
    let replacement = update.replacement.clone();
    let proposal = Proposal::edit::<Value, _>(entity, AspectName::DEPRECATION, move |_, stamp| {
        let mut value = json!({
            "deprecated": update.deprecated,
            "note": update.note.as_deref().unwrap_or_default(),
            "actor": stamp.actor,
        });
        if let Some(time) = update.decommission_time {
            value["decommissionTime"] = json!(time);
        }
        if let Some(replacement) = &update.replacement {
            value["replacement"] = json!(replacement);
        }
        Ok(value)
    });
    let failed = format!("Failed to update deprecation for Entity {}.", target.urn);
    let proposal = target.required_by(proposal, format!("{failed} Entity does not exist."));
    Ok(match &replacement {
        None => proposal,
        Some(replacement) => proposal.requires_existing(
            replacement,
            format!("{failed} The replacement {replacement} does not exist."),
        ),
    })
}

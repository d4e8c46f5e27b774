//! The conditions of a proposal that are checked before its change.

use std::collections::HashSet;

use docent_model::{AspectName, Registry, Urn};
use serde_json::Value;

use super::current::Current;
use super::{Batch, Prepared, already_exists, conditions};
use crate::proposal::Requirement;
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
                    if !self.is_found(urn).await? {
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

//! Properties of the system metadata of an aspect: neither a new version nor a log entry.

use std::sync::Arc;

use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::{AspectKey, version};

use serde_json::Value;

use super::{Batch, row_after};
use crate::proposal::Change;
use crate::stored::time_property;
use crate::{ConflictReason, Error};

impl Batch<'_> {
    /// Applies a change of system metadata; others do nothing here.
    pub(super) async fn change_system_property(
        &mut self,
        urn: &Urn,
        change: &Change,
    ) -> Result<(), Error> {
        match change {
            Change::SetSystemProperty {
                aspect,
                property,
                value,
            } => {
                self.set_system_property(urn, *aspect, property, value)
                    .await
            }
            Change::ReplaceSystemProperty {
                aspect,
                property,
                expected,
                value,
            } => {
                self.replace_system_property(urn, *aspect, property, expected, value)
                    .await
            }
            Change::RaiseSystemTime {
                aspect,
                property,
                time_ms,
            } => {
                self.raise_system_time(urn, *aspect, property, *time_ms)
                    .await
            }
            _ => Ok(()),
        }
    }

    /// Sets a property of the system metadata of an aspect.
    async fn set_system_property(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
        property: &str,
        value: &str,
    ) -> Result<(), Error> {
        let Some(current) = self.get(urn, aspect).await? else {
            return Ok(());
        };
        let key = AspectKey::new(urn, aspect);
        let write = version::set_property(key.clone(), &current, property, value);
        let row = row_after(Some(&*current), &write.effect);
        self.known.insert(key, row.map(Arc::new));
        self.push(write).await
    }

    /// Replaces a property that has an expected value.
    async fn replace_system_property(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
        property: &str,
        expected: &str,
        value: &str,
    ) -> Result<(), Error> {
        let current = self.get(urn, aspect).await?;
        let properties = current.and_then(|row| version::system_metadata_of(&row).properties);
        let is_expected = properties.is_some_and(|it| {
            let text = it.get(property).and_then(Value::as_str);
            text == Some(expected)
        });
        if !is_expected {
            let message = format!("the property {property} of {urn} was changed meanwhile");
            return Err(Error::conflict(ConflictReason::ChangedMeanwhile, message));
        }
        self.set_system_property(urn, aspect, property, value).await
    }

    /// Two requests with different times may have read the same one: the later one counts.
    async fn raise_system_time(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
        property: &str,
        time_ms: EpochMillis,
    ) -> Result<(), Error> {
        let current = self.get(urn, aspect).await?;
        let known = current.and_then(|row| time_property(&row, property));
        if known.is_some_and(|known| known >= time_ms) {
            return Ok(());
        }
        self.set_system_property(urn, aspect, property, &time_ms.to_string())
            .await
    }
}

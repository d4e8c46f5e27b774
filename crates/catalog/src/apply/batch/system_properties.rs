//! Properties of the system metadata of an aspect: neither a new version nor a log entry.

use std::sync::Arc;

use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::{AspectKey, version};

use super::{Batch, row_after};
use crate::Error;
use crate::stored::time_property;

impl Batch<'_> {
    /// Sets a property of the system metadata of an aspect.
    pub(super) async fn set_system_property(
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

    /// Two requests with different times may have read the same one: the later one counts.
    pub(super) async fn raise_system_time(
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

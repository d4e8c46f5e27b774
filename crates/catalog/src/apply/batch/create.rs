//! Creates entities with the first write to them: the key aspect and the default aspects.

use std::sync::Arc;

use docent_model::{AspectName, EntitySpec, Registry, SystemMetadata, Urn, defaults};
use docent_store::AspectKey;
use serde_json::Value;

use super::current::Current;
use super::{Batch, Payload};
use crate::Error;

impl Batch<'_> {
    /// Creates the key aspect and the default aspects of an entity that does not exist.
    pub(super) async fn ensure_entity(
        &mut self,
        urn: &Urn,
        entity: &'static EntitySpec,
        system_metadata: Option<&SystemMetadata>,
    ) -> Result<(), Error> {
        if self.exists(urn, entity).await? {
            return Ok(());
        }
        self.created.insert(urn.clone());
        let is_new = !self
            .retired
            .contains_key(&AspectKey::new(urn, entity.key_aspect));
        let key_value = Registry::get().key_aspect_value(urn);
        let delimiter = self.name_delimiter(urn).await?;
        let defaults = defaults::default_aspects(urn, entity, delimiter.as_deref());
        let key_aspect = key_value.map(|value| (entity.key_aspect, value));
        for (aspect, value) in key_aspect.into_iter().chain(defaults) {
            let key = AspectKey::new(urn, aspect);
            if aspect != entity.key_aspect && self.proposed.contains(&key) {
                continue;
            }
            let payload = Payload::of(value);
            if is_new {
                // A new entity has no aspects; knowing that saves a read for each default.
                self.known.insert(key.clone(), None);
            }
            let current = Current::new(self.get(urn, aspect).await?);
            self.write(&key, &payload, system_metadata.cloned(), &current)
                .await?;
        }
        Ok(())
    }

    /// The delimiter of the parts of a dataset's name on its platform.
    pub(super) async fn name_delimiter(&mut self, urn: &Urn) -> Result<Option<String>, Error> {
        let Some(platform) = platform_of(urn) else {
            return Ok(None);
        };
        let info = self.get(&platform, AspectName::DATA_PLATFORM_INFO).await?;
        let Some(info) = info else {
            return Ok(None);
        };
        // A list creates many datasets of one platform.
        if let Some((known, delimiter)) = &self.delimiter
            && Arc::ptr_eq(known, &info)
        {
            return Ok(delimiter.clone());
        }
        self.budget.parse(Some(&info))?;
        let delimiter = serde_json::from_str::<Value>(&info.metadata)
            .ok()
            .and_then(|info| Some(info.get("datasetNameDelimiter")?.as_str()?.to_owned()));
        self.delimiter = Some((info, delimiter.clone()));
        Ok(delimiter)
    }
}

/// The platform of a dataset.
pub(super) fn platform_of(urn: &Urn) -> Option<Urn> {
    if urn.entity_type() != "dataset" {
        return None;
    }
    Urn::parse(urn.key_parts().first()?).ok()
}

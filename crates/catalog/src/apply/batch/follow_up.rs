//! Writes that follow from another write of the list, without a proposal of their own.

use docent_model::{AspectName, Urn};
use docent_store::AspectKey;
use serde_json::Value;

use super::current::Current;
use super::{Batch, Payload};
use crate::Error;

impl Batch<'_> {
    pub(super) async fn overwrite(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
        value: Value,
    ) -> Result<(), Error> {
        let key = AspectKey::new(urn, aspect);
        let current = Current::new(self.get(urn, aspect).await?);
        self.write(&key, &Payload::of(value), None, &current).await
    }
}

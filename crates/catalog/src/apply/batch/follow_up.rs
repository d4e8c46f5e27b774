//! Writes that follow from another write of the list, without a proposal of their own.

use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, AspectWrite, Effect, version};
use serde_json::Value;

use super::current::Current;
use super::{Batch, Payload};
use crate::Error;
use crate::proposal::Proposal;

impl Batch<'_> {
    /// Notes the ingestion run of an item, before its changes.
    pub(super) fn note_run(&mut self, proposal: &Proposal) {
        let system_metadata = proposal.system_metadata.as_ref();
        self.run = system_metadata.and_then(version::run_in);
    }

    /// A write as it is logged: what follows from the write of an ingestion run is no edit of a
    /// person. A rollback of the run leaves it, because its row does not name the run.
    pub(super) fn in_run(&self, mut write: AspectWrite) -> AspectWrite {
        if let Effect::Put { run, .. } = &mut write.effect
            && run.is_none()
        {
            run.clone_from(&self.run);
        }
        write
    }

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

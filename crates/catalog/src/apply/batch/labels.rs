//! What a list of proposals must leave true about tags and terms: nothing carries one that is deleted.

use docent_model::{AspectName, Registry, Urn};
use docent_store::AspectKey;

use super::Batch;
use crate::Error;
use crate::labels::{LabelKind, release};
use crate::proposal::Change;

impl Batch<'_> {
    /// Takes a label off everything that people or programs put it on. What a source itself reports of its
    /// columns stays: the next run would bring it back.
    pub(super) async fn release_label(
        &mut self,
        label: &Urn,
        kind: LabelKind,
    ) -> Result<(), Error> {
        for aspect in [kind.aspect(), AspectName::EDITABLE_SCHEMA_METADATA] {
            let holders = self.tx.edges_into(label, aspect).await?;
            let keys = holders
                .iter()
                .map(|holder| AspectKey::new(&holder.urn, aspect));
            self.load(keys).await?;
            for holder in holders {
                let proposal = release(&holder.urn, aspect, kind, label);
                let Change::Edit { aspect, edit } = &proposal.change else {
                    continue;
                };
                let entity = Registry::get().check_urn(&proposal.urn)?;
                self.edit(&proposal, entity, *aspect, edit).await?;
            }
        }
        Ok(())
    }
}

//! What a list of proposals must leave true about tags and terms: nothing carries one that is deleted.

use docent_model::{AspectName, Urn};

use super::Batch;
use crate::Error;
use crate::labels::{LabelKind, release};

impl Batch<'_> {
    /// Takes a label off everything that people or programs put it on; says whether nothing carries it any more. What a
    /// source itself reports of its columns stays: the next run would bring it back.
    pub(super) async fn release_label(
        &mut self,
        label: &Urn,
        kind: LabelKind,
    ) -> Result<bool, Error> {
        for aspect in [kind.aspect(), AspectName::EDITABLE_SCHEMA_METADATA] {
            let edit = |holder: &Urn| release(holder, aspect, kind, label);
            if !self.release(label, aspect, edit).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

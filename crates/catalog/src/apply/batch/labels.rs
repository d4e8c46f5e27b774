//! Removes deleted tags and terms from everything that has them.

use docent_model::{AspectName, Urn};

use super::Batch;
use crate::Error;
use crate::labels::{LabelKind, release};

impl Batch<'_> {
    /// Removes a label from all aspects that users or programs edit; returns whether none has it
    /// any more. Labels that a source reports for its columns stay: the next run would restore
    /// them.
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
        // Terms name each other, too.
        let related = match kind {
            LabelKind::Tag => [].as_slice(),
            LabelKind::Term => &[AspectName::GLOSSARY_RELATED_TERMS],
        };
        self.release_from(label, related).await
    }
}

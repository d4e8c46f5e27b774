//! The changes of a document, in the words of its page.

use std::collections::BTreeMap;

use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::AspectKey;
use serde_json::{Map, Value};

use super::{Category, Changes, Event, Operation, RULES, Rule, compare_versions, moments};
use crate::{Catalog, Error, long_work};

/// What changed of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentChangeKind {
    Created,
    Title,
    Text,
    Parent,
    RelatedDocuments,
    RelatedAssets,
    State,
}

#[derive(Debug)]
pub struct DocumentChange {
    pub kind: DocumentChangeKind,
    pub time_ms: EpochMillis,
    pub actor: String,
    pub description: String,
    /// The values before and after the change, or the related entity, by name.
    pub details: Map<String, Value>,
}

impl Catalog {
    /// The latest changes of a document, latest first.
    pub async fn document_changes(
        &self,
        document: &Urn,
        (from_ms, through_ms): (EpochMillis, EpochMillis),
        limit: usize,
    ) -> Result<Vec<DocumentChange>, Error> {
        document.expect_type("document")?;
        let aspect = AspectName::DOCUMENT_INFO;
        let versions = self.versions_of(&AspectKey::new(document, aspect)).await?;
        let rules = RULES.iter().enumerate();
        let rules: Vec<(usize, &Rule)> = rules
            .filter(|(_, rule)| rule.aspect == aspect.as_str())
            .collect();
        let mut changes = Changes::new();
        let compare = || compare_versions(document, &rules, &versions.rows, &mut changes);
        long_work::run(versions.are_long(), compare).await;
        let mut moments = moments(changes, &BTreeMap::new());
        moments.retain(|moment| (from_ms..=through_ms).contains(&moment.time_ms));
        self.hide_references(&mut moments).await?;
        let mut changes = Vec::new();
        for moment in moments.into_iter().rev() {
            for event in moment.events {
                let Some(kind) = kind_of(&event) else {
                    continue;
                };
                changes.push(DocumentChange {
                    kind,
                    time_ms: moment.time_ms,
                    actor: moment.actor.clone(),
                    details: details(kind, &event),
                    description: event.description,
                });
            }
        }
        changes.truncate(limit);
        Ok(changes)
    }
}

fn kind_of(event: &Event) -> Option<DocumentChangeKind> {
    let has = |name: &str| event.parameters.contains_key(name);
    match event.category {
        _ if event.operation == Operation::Create => Some(DocumentChangeKind::Created),
        Category::Lifecycle => Some(DocumentChangeKind::State),
        Category::Parent => Some(DocumentChangeKind::Parent),
        Category::RelatedEntities => {
            let modifier = event.modifier.as_deref().unwrap_or_default();
            let is_document = modifier.starts_with("urn:li:document:");
            Some(if is_document {
                DocumentChangeKind::RelatedDocuments
            } else {
                DocumentChangeKind::RelatedAssets
            })
        }
        Category::Documentation if has("newTitle") => Some(DocumentChangeKind::Title),
        Category::Documentation if has("newContent") => Some(DocumentChangeKind::Text),
        _ => None,
    }
}

fn details(kind: DocumentChangeKind, event: &Event) -> Map<String, Value> {
    use DocumentChangeKind::{RelatedAssets, RelatedDocuments};
    let mut details = event.parameters.clone();
    if matches!(kind, RelatedAssets | RelatedDocuments) {
        details.insert("entityUrn".to_owned(), event.modifier.clone().into());
        details.insert("operation".to_owned(), event.operation.name().into());
    }
    details
}

//! Who may read a dead letter: those who may read its event in the feed.

use serde::Deserialize;

use super::super::WebhookInfo;
use super::DeadLetter;
use crate::events::Topic;
use crate::{Caller, Catalog, Error};

/// The type of entities whose values have secrets that only executors read.
const RECIPES: &str = "dataHubExecutionRequest";

/// What a user may read now.
pub(super) struct LetterReader {
    /// The catalog as the user sees it.
    catalog: Catalog,
    reads_changes: bool,
    reads_entity_changes: bool,
    reads_recipes: bool,
}

/// The members by which the body of a letter shows its topic.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// Of a `CloudEvent`.
    r#type: Option<String>,
    /// Of DataHub's `MetadataChangeLog`.
    aspect_name: Option<String>,
}

impl DeadLetter {
    /// The topic of the event. What is no change of an aspect needs more rights.
    fn topic(&self) -> Topic {
        match serde_json::from_str(&self.body) {
            Ok(Body {
                r#type: Some(name), ..
            }) if name.starts_with("docent.aspect.") => Topic::ChangeLog,
            Ok(Body {
                r#type: None,
                aspect_name: Some(_),
            }) => Topic::ChangeLog,
            _ => Topic::PlatformEvents,
        }
    }
}

impl LetterReader {
    /// The caller of a catalog, as [`Catalog::seen_by`] returns it.
    pub(super) async fn new(catalog: Catalog, caller: &Caller) -> Result<Self, Error> {
        let changes = Topic::ChangeLog.readers();
        let entity_changes = Topic::PlatformEvents.readers();
        Ok(Self {
            reads_changes: catalog.is_allowed(caller, &changes, None).await?,
            reads_entity_changes: !catalog.has_view()
                && catalog.is_allowed(caller, &entity_changes, None).await?,
            reads_recipes: catalog.is_executor(caller).await?,
            catalog,
        })
    }

    /// The owner of a webhook, to whose address letters are sent.
    pub(super) async fn of_owner(catalog: &Catalog, info: &WebhookInfo) -> Result<Self, Error> {
        let owner = Caller::new(info.owner.clone()).in_operation("webhook");
        let mut reader = Self::new(catalog.seen_by(&owner).await?, &owner).await?;
        let is_checked = catalog.rights(&owner).await?.is_some();
        if is_checked && !catalog.is_active(&info.owner).await? {
            (reader.reads_changes, reader.reads_entity_changes) = (false, false);
        }
        Ok(reader)
    }

    /// Whether the user may read each of these.
    pub(super) async fn readable(&self, letters: &[DeadLetter]) -> Result<Vec<bool>, Error> {
        let urns = letters.iter().map(|letter| &letter.entity_urn);
        let hidden = self.catalog.hidden_among(urns).await?;
        let is_readable = |letter: &DeadLetter| {
            let reads_topic = match letter.topic() {
                Topic::ChangeLog => self.reads_changes,
                Topic::PlatformEvents => self.reads_entity_changes,
            };
            let has_recipe = letter.entity_urn.entity_type() == RECIPES;
            reads_topic
                && (self.reads_recipes || !has_recipe)
                && !hidden.contains(&letter.entity_urn)
        };
        Ok(letters.iter().map(is_readable).collect())
    }
}

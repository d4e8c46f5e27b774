//! The state of delivery: a position in the change log, and the changes before it that are not
//! delivered yet.
//!
//! It is a property of the system metadata of [`AspectName::WEBHOOK_STATE`], so that storing it
//! makes no log entry. It is replaced as a whole, and only if it is still the one that was read: so
//! the server that holds the claim in it is the only one that delivers.

use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::{AspectKey, LogPosition, ReadRequest, StoredAspect, version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::events::EventPosition;
use crate::proposal::{Change, Proposal};
use crate::stored::time_property;
use crate::{Caller, Catalog, ConflictReason, Error, ErrorKind};

/// The property of the system metadata.
const PROPERTY: &str = "delivery";
/// The property with the time when the receiver accepted a test or a dead letter. Not part of the
/// state, which only the server with the claim replaces.
const ANSWERED: &str = "answeredAt";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DeliveryState {
    /// Changes up to this position are pending or settled.
    pub(super) position: LogPosition,
    /// The checksum of the change at the position, see [`EventPosition`]. `None` if a development
    /// version without checksums has stored the state.
    pub(super) position_checksum: Option<u64>,
    /// Changes that are not delivered yet, in the order of the log.
    pub(super) pending: Vec<PendingChange>,
    /// The server that delivers, and until when it has claimed to.
    pub(super) claim: Option<Claim>,
    /// Failed attempts since the last accepted one.
    pub(super) failures: u32,
    pub(super) accepted_at_ms: Option<EpochMillis>,
    pub(super) failed_at_ms: Option<EpochMillis>,
    /// Why the last attempt failed.
    pub(super) failure: Option<String>,
    /// Why nothing is delivered until somebody acts.
    pub(super) stopped: Option<String>,
    /// The time of the newest dead letter: those of a webhook have different times.
    pub(super) dead_letter_ms: EpochMillis,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PendingChange {
    pub(super) position: LogPosition,
    pub(super) urn: Urn,
    /// How many of its events were accepted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) sent: usize,
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub(super) attempts: u32,
    /// When the event to send next failed first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failed_since_ms: Option<EpochMillis>,
    /// When to try again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) due_ms: Option<EpochMillis>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Claim {
    pub(super) holder: String,
    pub(super) until_ms: EpochMillis,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero_u32(number: &u32) -> bool {
    *number == 0
}

impl PendingChange {
    pub(super) fn new(position: LogPosition, urn: Urn) -> Self {
        Self {
            position,
            urn,
            sent: 0,
            attempts: 0,
            failed_since_ms: None,
            due_ms: None,
        }
    }
}

impl DeliveryState {
    /// The position with what is known about its change.
    pub(super) fn event_position(&self) -> EventPosition {
        EventPosition::new(self.position, self.position_checksum.unwrap_or_default())
    }

    pub(super) fn continue_behind(&mut self, position: EventPosition) {
        self.position = position.log_position();
        self.position_checksum = Some(position.checksum());
    }

    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The state in a row; `None` if the row is damaged.
    fn of_row(row: &StoredAspect) -> Option<(Self, String)> {
        let properties = version::system_metadata_of(row).properties?;
        let text = properties.get(PROPERTY)?.as_str()?.to_owned();
        Some((serde_json::from_str(&text).ok()?, text))
    }
}

/// The state with the text that is stored.
#[derive(Debug)]
pub(super) struct StoredState {
    pub(super) state: DeliveryState,
    text: String,
}

/// The first state of a webhook, behind the newest change.
pub(super) fn first(urn: &Urn, newest: EventPosition, now_ms: EpochMillis) -> [Proposal; 2] {
    let aspect = AspectName::WEBHOOK_STATE;
    let mut state = DeliveryState::default();
    state.continue_behind(newest);
    let value = move |_: Option<Value>, _: &_| Ok(json!({ "createdAt": now_ms }));
    let property = Change::SetSystemProperty {
        aspect,
        property: PROPERTY,
        value: state.text(),
    };
    [
        Proposal::edit(urn.clone(), aspect, value),
        Proposal::new(urn.clone(), property),
    ]
}

impl Catalog {
    /// The states of webhooks; `None` where there is none.
    pub(super) async fn delivery_states(
        &self,
        webhooks: &[Urn],
    ) -> Result<Vec<Option<StoredState>>, Error> {
        let key = |urn: &Urn| AspectKey::new(urn, AspectName::WEBHOOK_STATE);
        let keys: Vec<AspectKey> = webhooks.iter().map(key).collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let state = |row: Option<&StoredAspect>| {
            let (state, text) = DeliveryState::of_row(row?)?;
            Some(StoredState { state, text })
        };
        Ok(rows.iter().map(|row| state(row.as_deref())).collect())
    }

    /// Lets the server that delivers know that the receiver accepts messages again.
    pub(super) async fn receiver_has_answered(&self, webhook: &Urn) -> Result<(), Error> {
        let states = self.delivery_states(std::slice::from_ref(webhook)).await?;
        let is_failing = |stored: &StoredState| stored.state.failures > 0;
        if !states.iter().flatten().any(is_failing) {
            return Ok(());
        }
        let answered = Change::RaiseSystemTime {
            aspect: AspectName::WEBHOOK_STATE,
            property: ANSWERED,
            time_ms: self.now_ms(),
        };
        let system = Caller::system().unaudited();
        let proposals = vec![Proposal::new(webhook.clone(), answered)];
        self.apply_authorized(&system, proposals).await?;
        Ok(())
    }

    /// When the receiver accepted a test or a dead letter last.
    pub(super) async fn receiver_answered_at(
        &self,
        webhook: &Urn,
    ) -> Result<Option<EpochMillis>, Error> {
        let keys = [AspectKey::new(webhook, AspectName::WEBHOOK_STATE)];
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let row = rows.iter().flatten().next();
        Ok(row.and_then(|row| time_property(row, ANSWERED)))
    }

    /// Replaces the state that was read, with other changes in the same transaction. Returns false
    /// if it is another one meanwhile, or the webhook was deleted: nothing is written then.
    pub(super) async fn replace_delivery_state(
        &self,
        webhook: &Urn,
        stored: &mut StoredState,
        next: DeliveryState,
        with: Vec<Proposal>,
    ) -> Result<bool, Error> {
        let text = next.text();
        let replace = Change::ReplaceSystemProperty {
            aspect: AspectName::WEBHOOK_STATE,
            property: PROPERTY,
            expected: stored.text.clone(),
            value: text.clone(),
        };
        let mut proposals = vec![Proposal::new(webhook.clone(), replace)];
        proposals.extend(with);
        let system = Caller::system().unaudited();
        match self.apply_authorized(&system, proposals).await {
            Ok(_) => {
                *stored = StoredState { state: next, text };
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::Conflict(ConflictReason::ChangedMeanwhile) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

//! Events that a receiver has not accepted for a day: stored with their bodies, until somebody
//! sends them again or discards them.
//!
//! They are points of a time series, which makes no log entries. The time of a point, in
//! milliseconds, is its id.
//!
//! A letter has what the owner of the webhook saw when it died. It is shown to callers who may read
//! the event in the feed now, and sent if the present owner may, too ([`reader`]).

mod reader;

use std::time::{Duration, Instant};

use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::{AspectKey, PointRange, TimeseriesRow};
use serde::{Deserialize, Serialize};

use super::message::{Message, SigningKey};
use super::{WebhookInfo, expect_webhook};
use crate::events::feed::EventFormat;
use crate::proposal::{Change, Proposal};
use crate::{Caller, Catalog, Error};
use reader::LetterReader;

/// With so many, the webhook stops.
pub(super) const MAX_DEAD_LETTERS: usize = 1_000;
/// How many one page lists: each has a body.
pub const MAX_LISTED: usize = 20;
/// One call replays for this time and then says how many are left.
const REPLAY_TIME: Duration = Duration::from_secs(10);

/// A dead letter, as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// When it became one; its id.
    pub timestamp_millis: EpochMillis,
    /// The id of the message, which a replay has, too.
    pub event_id: String,
    pub entity_urn: Urn,
    pub content_type: String,
    /// Empty for callers who may not read the event.
    pub body: String,
    pub attempts: u32,
    pub first_failed_at: EpochMillis,
    /// Why the last attempt failed.
    pub reason: String,
}

/// A page of dead letters, newest first.
#[derive(Debug)]
pub struct DeadLetterPage {
    pub total: usize,
    pub letters: Vec<DeadLetter>,
}

/// The outcome of a replay.
#[derive(Debug, PartialEq, Eq)]
pub struct Replay {
    pub delivered: usize,
    /// How many of the chosen ones are still dead letters.
    pub remaining: usize,
    /// Why the receiver did not accept the next one, or why others are not sent; `None` if time was
    /// up, or nothing is left.
    pub failure: Option<String>,
}

/// The outcome of an attempt to replay one.
enum Replayed {
    Delivered,
    /// The caller or the owner may not read it.
    Hidden,
    Failed(String),
}

impl DeadLetter {
    pub(super) fn proposal(&self, webhook: &Urn) -> Proposal {
        let text = serde_json::to_string(self).unwrap_or_default();
        Proposal::upsert(webhook.clone(), AspectName::WEBHOOK_DEAD_LETTER, text)
    }

    fn of_row(row: &TimeseriesRow) -> Option<Self> {
        serde_json::from_str(&row.metadata).ok()
    }

    fn message(&self, info: &WebhookInfo) -> Message {
        Message {
            id: self.event_id.clone(),
            // The format of the webhook may be another one since then.
            content_type: EventFormat::of_content_type(&self.content_type)
                .unwrap_or(info.format)
                .content_type(),
            body: self.body.clone(),
        }
    }
}

fn key(webhook: &Urn) -> AspectKey {
    AspectKey::new(webhook, AspectName::WEBHOOK_DEAD_LETTER)
}

/// One dead letter.
fn range_of(id: EpochMillis) -> PointRange {
    PointRange {
        from_ms: Some(id),
        through_ms: Some(id),
        run: None,
    }
}

impl Catalog {
    /// How many dead letters a webhook has, up to the limit.
    pub(super) async fn count_dead_letters(&self, webhook: &Urn) -> Result<usize, Error> {
        let all = PointRange::default();
        let key = key(webhook);
        // A change of several events may exceed the limit.
        let sizes = self
            .store()
            .timeseries_bytes(&key, &all, true, 0, 2 * MAX_DEAD_LETTERS);
        Ok(sizes.await?.len())
    }

    /// The dead letters of a webhook, newest first.
    pub async fn dead_letters(
        &self,
        caller: &Caller,
        webhook: &Urn,
        start: usize,
        count: usize,
    ) -> Result<DeadLetterPage, Error> {
        self.authorize_webhooks(caller).await?;
        self.webhook_info(webhook).await?;
        let count = count.min(MAX_LISTED);
        let all = PointRange::default();
        let key = key(webhook);
        let rows = self.store().timeseries_list(&key, &all, true, start, count);
        let rows = rows.await?;
        let mut letters: Vec<DeadLetter> = rows.iter().filter_map(DeadLetter::of_row).collect();
        let reader = LetterReader::new(self.clone(), caller).await?;
        let readable = reader.readable(&letters).await?;
        for (letter, is_readable) in letters.iter_mut().zip(readable) {
            if !is_readable {
                letter.body.clear();
            }
        }
        Ok(DeadLetterPage {
            total: self.count_dead_letters(webhook).await?,
            letters,
        })
    }

    /// Sends dead letters again, the oldest first, until the receiver does not accept one. With
    /// ids, only those. What the caller or the owner of the webhook may not read stays.
    pub async fn replay_dead_letters(
        &self,
        caller: &Caller,
        webhook: &Urn,
        ids: Option<&[EpochMillis]>,
    ) -> Result<Replay, Error> {
        self.authorize_webhook_changes(caller).await?;
        let info = self.webhook_info(webhook).await?;
        let signing = self.signing_key(webhook, &info)?;
        let mut ids = self.chosen(webhook, ids).await?;
        ids.sort_unstable();
        let readers = [
            LetterReader::new(self.clone(), caller).await?,
            LetterReader::of_owner(self, &info).await?,
        ];
        let started = Instant::now();
        let mut hidden = 0_usize;
        let mut replay = Replay {
            delivered: 0,
            remaining: ids.len(),
            failure: None,
        };
        for id in ids {
            if started.elapsed() >= REPLAY_TIME || replay.failure.is_some() {
                break;
            }
            let replayed = self.replay_one(webhook, &info, &signing, &readers, id);
            match replayed.await? {
                Replayed::Delivered => {
                    replay.delivered += 1;
                    replay.remaining -= 1;
                }
                Replayed::Hidden => hidden += 1,
                Replayed::Failed(reason) => replay.failure = Some(reason),
            }
        }
        if replay.delivered > 0 && replay.failure.is_none() {
            self.receiver_has_answered(webhook).await?;
        }
        if hidden > 0 && replay.failure.is_none() {
            replay.failure = Some(format!(
                "you or the owner of the webhook, {}, may not read {hidden} of the events: a user who may read them \
                 can become the owner and replay them, or discard them",
                info.owner
            ));
        }
        Ok(replay)
    }

    async fn replay_one(
        &self,
        webhook: &Urn,
        info: &WebhookInfo,
        signing: &SigningKey,
        readers: &[LetterReader],
        id: EpochMillis,
    ) -> Result<Replayed, Error> {
        let key = key(webhook);
        let range = range_of(id);
        let rows = self.store().timeseries_list(&key, &range, false, 0, 1);
        let rows = rows.await?;
        // Somebody else was faster.
        let Some(letter) = rows.first().and_then(DeadLetter::of_row) else {
            return Ok(Replayed::Delivered);
        };
        for reader in readers {
            if reader.readable(std::slice::from_ref(&letter)).await? != [true] {
                return Ok(Replayed::Hidden);
            }
        }
        let message = letter.message(info);
        if let Err(failure) = self.send_message(info, signing, &message).await {
            return Ok(Replayed::Failed(failure.reason));
        }
        self.delete_letters(&Caller::system().unaudited(), webhook, &[id])
            .await?;
        Ok(Replayed::Delivered)
    }

    /// Deletes dead letters without sending them, all or those with these ids; returns how many
    /// there were.
    pub async fn discard_dead_letters(
        &self,
        caller: &Caller,
        webhook: &Urn,
        ids: Option<&[EpochMillis]>,
    ) -> Result<usize, Error> {
        self.authorize_webhook_changes(caller).await?;
        self.webhook_info(webhook).await?;
        let ids = self.chosen(webhook, ids).await?;
        self.delete_letters(caller, webhook, &ids).await?;
        Ok(ids.len())
    }

    async fn delete_letters(
        &self,
        caller: &Caller,
        webhook: &Urn,
        ids: &[EpochMillis],
    ) -> Result<(), Error> {
        let delete = |id: &EpochMillis| {
            let change = Change::DeletePoints {
                aspect: AspectName::WEBHOOK_DEAD_LETTER,
                range: range_of(*id),
            };
            Proposal::new(webhook.clone(), change)
        };
        let deletions = ids.iter().map(delete).collect();
        self.apply_authorized(caller, deletions).await?;
        Ok(())
    }

    /// The ids of dead letters that exist: all, or those among these.
    async fn chosen(
        &self,
        webhook: &Urn,
        ids: Option<&[EpochMillis]>,
    ) -> Result<Vec<EpochMillis>, Error> {
        expect_webhook(webhook)?;
        let key = key(webhook);
        let mut chosen = Vec::new();
        match ids {
            Some(ids) if ids.len() > MAX_DEAD_LETTERS => {
                return Err(Error::too_large(format!(
                    "the request has {} ids: at most {MAX_DEAD_LETTERS} are allowed",
                    ids.len()
                )));
            }
            Some(ids) => {
                for id in ids {
                    let range = range_of(*id);
                    let sizes = self.store().timeseries_bytes(&key, &range, false, 0, 1);
                    if sizes.await?.is_empty() {
                        return Err(Error::invalid(format!(
                            "the webhook has no dead letter {id}: somebody may have replayed or discarded it"
                        )));
                    }
                    chosen.push(*id);
                }
            }
            None => loop {
                let all = PointRange::default();
                let start = chosen.len();
                let page = self
                    .store()
                    .timeseries_list(&key, &all, false, start, MAX_LISTED);
                let page = page.await?;
                chosen.extend(page.iter().map(|row| row.time_ms));
                if page.len() < MAX_LISTED || chosen.len() >= 2 * MAX_DEAD_LETTERS {
                    break;
                }
            },
        }
        Ok(chosen)
    }
}

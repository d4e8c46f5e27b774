//! Delivery under one claim.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use docent_model::{EpochMillis, Urn};
use docent_store::{CommitStamp, LogPosition};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::super::backoff::Backoff;
use super::super::dead_letters::DeadLetter;
use super::super::message::SendFailure;
use super::super::state::{DeliveryState, PendingChange, StoredState};
use super::{CLAIM, LAST_START, RENEWAL, Reader, Sent, Worker};
use crate::{Error, ErrorKind};

/// How many changes are read before they are delivered.
const MAX_PENDING: usize = 500;
/// How many changes of the log are examined at once, and in one step.
const CHUNK: usize = 100;
const CHUNKS: usize = 20;
/// How many events one webhook sends at once.
const MAX_IN_FLIGHT: usize = 4;
/// With so many failures in a row, one event at a time tries whether the receiver is back.
const PAUSE_AFTER: u32 = 3;
const LONGEST_PAUSE_MS: EpochMillis = 10 * 60 * 1000;
/// How often the state is stored while events are sent.
const SAVE_INTERVAL: Duration = Duration::from_millis(500);
/// How often it is stored while no change is followed.
const IDLE_SAVE_INTERVAL: Duration = Duration::from_secs(2);
/// How often the log is looked at, and the store after an error.
const INTERVAL: Duration = Duration::from_millis(200);
const ERROR_INTERVAL: Duration = Duration::from_secs(1);
/// How long messages in flight may take to end when the delivery ends.
const LANDING: Duration = Duration::from_secs(3);

/// An attempt that has ended.
struct Attempt {
    position: LogPosition,
    took: Duration,
    sent: Result<Sent, Error>,
}

/// What follows a step.
enum Step {
    Wait(Duration),
    /// The claim is lost.
    Lost,
}

pub(super) struct Delivery<'w> {
    worker: &'w Worker,
    stored: StoredState,
    state: DeliveryState,
    in_flight: JoinSet<Attempt>,
    /// The positions of the changes that are being sent.
    flying: HashSet<LogPosition>,
    /// Those that have failed for too long.
    expired: HashSet<LogPosition>,
    /// Dead letters to store with the state.
    letters: Vec<DeadLetter>,
    reader: Option<(CommitStamp, Reader)>,
    /// Up to which stamp the log was read.
    read: Option<CommitStamp>,
    claimed_at: Instant,
    is_changed: bool,
    /// Until when a receiver that is away is left alone.
    paused_until_ms: EpochMillis,
    /// The part of the measured number that is from here.
    counted: i64,
    is_failing: bool,
}

impl<'w> Delivery<'w> {
    pub(super) fn new(worker: &'w Worker, stored: StoredState, claimed_at: Instant) -> Self {
        Self {
            worker,
            state: stored.state.clone(),
            stored,
            in_flight: JoinSet::new(),
            flying: HashSet::new(),
            expired: HashSet::new(),
            letters: Vec::new(),
            reader: None,
            read: None,
            claimed_at,
            is_changed: false,
            paused_until_ms: 0,
            counted: 0,
            is_failing: false,
        }
    }

    /// Delivers until there are no more orders, or the claim is lost.
    pub(super) async fn run(mut self, orders: &mut watch::Receiver<()>) {
        while orders.has_changed().is_ok() {
            orders.borrow_and_update();
            let wait = match self.step().await {
                Ok(Step::Wait(wait)) => wait,
                Ok(Step::Lost) => return,
                // Another server of the database has taken over, without the last commits.
                Err(error) if error.kind() == ErrorKind::Gone => return,
                Err(error) => {
                    self.report(&error);
                    if self.claimed_at.elapsed() >= CLAIM && !self.is_only_server() {
                        return;
                    }
                    ERROR_INTERVAL
                }
            };
            self.count_pending();
            tokio::select! {
                Some(ended) = self.in_flight.join_next() => self.settle(ended.ok()),
                _ = orders.changed() => {}
                () = tokio::time::sleep(wait) => {}
            }
            while let Some(ended) = self.in_flight.try_join_next() {
                self.settle(ended.ok());
            }
        }
        self.release().await;
    }

    /// Waits for messages in flight, and gives the claim back.
    async fn release(&mut self) {
        let end = Instant::now() + LANDING;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match tokio::time::timeout(left, self.in_flight.join_next()).await {
                Ok(Some(ended)) => self.settle(ended.ok()),
                Ok(None) | Err(_) => break,
            }
        }
        let mut state = self.state.clone();
        state.claim = None;
        let letters = self.letters.drain(..);
        let letters: Vec<_> = letters
            .map(|letter| letter.proposal(&self.worker.webhook))
            .collect();
        let worker = self.worker;
        let saved = worker.catalog.replace_delivery_state(
            &worker.webhook,
            &mut self.stored,
            state,
            letters,
        );
        if let Err(error) = saved.await {
            tracing::debug!(%error, "a webhook repeats its last events after the next start");
        }
    }

    async fn step(&mut self) -> Result<Step, Error> {
        let stamp = self.worker.catalog.commit_stamp()?;
        if self.must_save() && !self.save().await? {
            return Ok(Step::Lost);
        }
        let reader = match self.reader(stamp).await? {
            Some(Ok(reader)) => reader,
            Some(Err(reason)) => return Ok(self.stop(reason)),
            None => return Ok(Step::Wait(INTERVAL)),
        };
        self.bury(&reader).await?;
        if self.is_full().await? {
            return Ok(self.stop(format!(
                "it has {} dead letters: replay or discard them",
                self.worker.settings.max_dead_letters
            )));
        }
        if self.state.stopped.take().is_some() {
            self.is_changed = true;
        }
        self.fill(&reader, stamp).await?;
        let wait = self.start_due(&reader);
        self.is_failing = false;
        // What the last attempts have settled is stored at once if nothing else is to be done.
        if self.is_changed && self.flying.is_empty() && !self.save().await? {
            return Ok(Step::Lost);
        }
        Ok(Step::Wait(wait))
    }

    fn is_only_server(&self) -> bool {
        self.worker.settings.is_only_server
    }

    fn must_save(&self) -> bool {
        let elapsed = self.claimed_at.elapsed();
        let renews = !self.is_only_server() && elapsed >= RENEWAL;
        let moved = self.state.position != self.stored.state.position;
        renews
            || !self.letters.is_empty()
            || (self.is_changed && elapsed >= SAVE_INTERVAL)
            || (moved && elapsed >= IDLE_SAVE_INTERVAL)
    }

    /// Stores the state and extends the claim. Returns false if the claim is lost.
    async fn save(&mut self) -> Result<bool, Error> {
        let claimed_at = Instant::now();
        self.state.claim = Some(self.worker.new_claim());
        let letters = self.letters.iter();
        let letters = letters.map(|letter| letter.proposal(&self.worker.webhook));
        let worker = self.worker;
        let saved = worker.catalog.replace_delivery_state(
            &worker.webhook,
            &mut self.stored,
            self.state.clone(),
            letters.collect(),
        );
        if !saved.await? {
            tracing::info!(
                "another server delivers the webhook {}, or it was deleted",
                self.worker.webhook
            );
            return Ok(false);
        }
        let buried = self.letters.drain(..).count();
        let counters = &worker.catalog.inner.counters.webhooks;
        counters.dead_letters.add(buried as u64);
        self.claimed_at = claimed_at;
        self.is_changed = false;
        Ok(true)
    }

    /// Who reads, or why nobody does; `None` for a webhook that is switched off. Looked up again
    /// after each commit, so that settings count as soon as they are stored.
    async fn reader(
        &mut self,
        stamp: CommitStamp,
    ) -> Result<Option<Result<Reader, String>>, Error> {
        if let Some((known, reader)) = &self.reader
            && *known == stamp
        {
            return Ok(Some(Ok(reader.clone())));
        }
        self.reader = None;
        let worker = self.worker;
        let info = worker.catalog.webhook_info(&worker.webhook).await?;
        if !info.is_active {
            return Ok(None);
        }
        if self.state.failures > 0 {
            let answered_ms = worker.catalog.receiver_answered_at(&worker.webhook).await?;
            if answered_ms > self.state.failed_at_ms {
                self.resume();
            }
        }
        let reader = worker.reader(&Arc::new(info)).await?;
        if let Ok(reader) = &reader {
            self.reader = Some((stamp, reader.clone()));
        }
        Ok(Some(reader))
    }

    /// Delivers nothing until somebody acts.
    fn stop(&mut self, reason: String) -> Step {
        if self.state.stopped.as_ref() != Some(&reason) {
            tracing::warn!("the webhook {} has stopped: {reason}", self.worker.webhook);
            self.state.stopped = Some(reason);
            self.is_changed = true;
        }
        Step::Wait(ERROR_INTERVAL)
    }

    /// Whether there is no room for another dead letter, which some change needs.
    async fn is_full(&self) -> Result<bool, Error> {
        if self.expired.is_empty() && self.state.stopped.is_none() {
            return Ok(false);
        }
        let count = self.worker.catalog.count_dead_letters(&self.worker.webhook);
        Ok(count.await? >= self.worker.settings.max_dead_letters)
    }

    /// Makes dead letters of changes that have failed for too long, if there is room for them.
    async fn bury(&mut self, reader: &Reader) -> Result<(), Error> {
        if self.expired.is_empty() || self.is_full().await? {
            return Ok(());
        }
        let webhook = &self.worker.webhook;
        let expired: Vec<LogPosition> = self.expired.iter().copied().collect();
        for position in expired {
            let index = self.index_of(position);
            let Some(change) = index.map(|index| self.state.pending[index].clone()) else {
                self.expired.remove(&position);
                continue;
            };
            if let Some((message, is_last)) = reader.message(webhook, position, change.sent).await?
            {
                let now_ms = self.worker.catalog.now_ms();
                self.state.dead_letter_ms = now_ms.max(self.state.dead_letter_ms + 1);
                self.letters.push(DeadLetter {
                    timestamp_millis: self.state.dead_letter_ms,
                    event_id: message.id,
                    entity_urn: change.urn,
                    content_type: message.content_type.to_owned(),
                    body: message.body,
                    attempts: change.attempts,
                    first_failed_at: change.failed_since_ms.unwrap_or(now_ms),
                    reason: self.state.failure.clone().unwrap_or_default(),
                });
                self.end_event(position, is_last);
            } else {
                self.end_event(position, true);
            }
            self.expired.remove(&position);
        }
        Ok(())
    }

    /// Reads changes until the list is full or the log ends.
    async fn fill(&mut self, reader: &Reader, stamp: CommitStamp) -> Result<(), Error> {
        for _ in 0..CHUNKS {
            let room = MAX_PENDING.saturating_sub(self.state.pending.len());
            if room == 0 || self.read == Some(stamp) {
                return Ok(());
            }
            let filter = &reader.query.filter;
            let (after, count) = (self.state.event_position(), room.min(CHUNK));
            let page = reader.catalog.followed_after(filter, after, count).await?;
            for (position, urn) in page.changes {
                self.state.pending.push(PendingChange::new(position, urn));
                self.is_changed = true;
            }
            if let Some(last) = page.last {
                self.state.continue_behind(last);
            }
            if page.is_end {
                self.read = Some(stamp);
            }
        }
        Ok(())
    }

    /// Sends the first change of each entity that is due. Returns how long to wait for the next.
    fn start_due(&mut self, reader: &Reader) -> Duration {
        let now_ms = self.worker.catalog.now_ms();
        let is_away = self.state.failures >= PAUSE_AFTER;
        let may_start = self.is_only_server() || self.claimed_at.elapsed() < LAST_START;
        if !may_start || (is_away && now_ms < self.paused_until_ms) {
            return INTERVAL;
        }
        let most = if is_away { 1 } else { MAX_IN_FLIGHT };
        let mut seen: HashSet<&Urn> = HashSet::new();
        let heads = self.state.pending.iter();
        let heads = heads.filter(|change| seen.insert(&change.urn));
        let mut due: Vec<&PendingChange> = heads
            .filter(|change| {
                let position = &change.position;
                change.due_ms.is_none_or(|due_ms| due_ms <= now_ms)
                    && !self.flying.contains(position)
                    && !self.expired.contains(position)
            })
            .collect();
        // One that always fails must not be the only one that tries a receiver.
        due.sort_by_key(|change| (change.attempts, change.position));
        let room = most.saturating_sub(self.flying.len());
        let due: Vec<_> = due
            .into_iter()
            .take(room)
            .map(|change| (change.position, change.sent))
            .collect();
        let latest = (!self.is_only_server()).then(|| self.claimed_at + LAST_START);
        for (position, number) in due {
            // Nothing may start later than now, so nothing waits for others.
            let Ok(slot) = Arc::clone(&self.worker.slots).try_acquire_owned() else {
                break;
            };
            self.flying.insert(position);
            let (reader, webhook) = (reader.clone(), self.worker.webhook.clone());
            self.in_flight.spawn(async move {
                let _slot = slot;
                let started = Instant::now();
                let sent = reader.send(&webhook, position, number, latest).await;
                Attempt {
                    position,
                    took: started.elapsed(),
                    sent,
                }
            });
        }
        INTERVAL
    }

    fn index_of(&self, position: LogPosition) -> Option<usize> {
        let pending = &self.state.pending;
        pending
            .binary_search_by_key(&position, |change| change.position)
            .ok()
    }

    /// Continues with the next event of a change, or with the next change of its entity.
    fn end_event(&mut self, position: LogPosition, is_last: bool) {
        self.is_changed = true;
        let Some(index) = self.index_of(position) else {
            return;
        };
        if is_last {
            self.state.pending.remove(index);
            return;
        }
        let change = &mut self.state.pending[index];
        *change = PendingChange {
            sent: change.sent + 1,
            ..PendingChange::new(position, change.urn.clone())
        };
    }

    fn settle(&mut self, attempt: Option<Attempt>) {
        let Some(attempt) = attempt else {
            // A task panicked, and which one is not known: all are repeated under a new claim.
            self.in_flight.abort_all();
            self.flying.clear();
            return;
        };
        self.flying.remove(&attempt.position);
        let catalog = &self.worker.catalog;
        let now_ms = catalog.now_ms();
        let counters = &catalog.inner.counters.webhooks;
        match attempt.sent {
            // It is pending, and sent under the next claim.
            Ok(Sent::TooLate) => {}
            Ok(Sent::Nothing) => self.end_event(attempt.position, true),
            Ok(Sent::Accepted { is_last }) => {
                counters.attempts.observe_duration(attempt.took);
                counters.accepted.increment();
                if self.state.failures >= PAUSE_AFTER {
                    self.resume();
                }
                self.state.failures = 0;
                self.state.accepted_at_ms = Some(now_ms);
                self.end_event(attempt.position, is_last);
            }
            Ok(Sent::Failed(failure)) => {
                counters.attempts.observe_duration(attempt.took);
                counters.failed.increment();
                self.fail(attempt.position, failure, now_ms);
            }
            Err(error) => {
                self.report(&error);
                if let Some(index) = self.index_of(attempt.position) {
                    let wait = EpochMillis::try_from(ERROR_INTERVAL.as_millis());
                    self.state.pending[index].due_ms = Some(now_ms + wait.unwrap_or_default());
                }
            }
        }
    }

    /// Sends all that waits now: the receiver accepts messages again.
    fn resume(&mut self) {
        tracing::info!("the receiver of {} is back", self.worker.webhook);
        for change in &mut self.state.pending {
            change.due_ms = None;
        }
        self.state.failures = 0;
        self.is_changed = true;
    }

    fn fail(&mut self, position: LogPosition, failure: SendFailure, now_ms: EpochMillis) {
        self.is_changed = true;
        let settings = self.worker.settings;
        let backoff = Backoff {
            first_ms: settings.first_retry_ms,
            longest_ms: settings.longest_retry_ms,
        };
        let asked_ms = failure.retry_after_ms;
        self.state.failures = self.state.failures.saturating_add(1);
        self.state.failed_at_ms = Some(now_ms);
        if self.state.failures >= PAUSE_AFTER {
            if self.state.failures == PAUSE_AFTER {
                tracing::warn!(
                    "the receiver of {} does not accept events ({}); they wait",
                    self.worker.webhook,
                    failure.reason
                );
            }
            let pause = Backoff {
                longest_ms: LONGEST_PAUSE_MS.min(settings.longest_retry_ms),
                ..backoff
            };
            let since_pause = self.state.failures - PAUSE_AFTER + 1;
            self.paused_until_ms = now_ms + pause.after(since_pause, asked_ms);
        }
        self.state.failure = Some(failure.reason);
        let Some(index) = self.index_of(position) else {
            return;
        };
        let change = &mut self.state.pending[index];
        change.attempts = change.attempts.saturating_add(1);
        let since_ms = *change.failed_since_ms.get_or_insert(now_ms);
        change.due_ms = Some(now_ms + backoff.after(change.attempts, asked_ms));
        if now_ms.saturating_sub(since_ms) >= settings.give_up_ms {
            self.expired.insert(position);
        }
    }

    /// Logs an error of the store, the first of several.
    fn report(&mut self, error: &Error) {
        if std::mem::replace(&mut self.is_failing, true) {
            tracing::debug!(%error, "a webhook still cannot be delivered");
        } else {
            tracing::warn!(
                %error,
                "the webhook {} cannot be delivered ({error}); it is retried",
                self.worker.webhook
            );
        }
    }

    fn count_pending(&mut self) {
        let count = i64::try_from(self.state.pending.len()).unwrap_or(i64::MAX);
        let pending = &self.worker.catalog.inner.counters.webhooks.pending;
        pending.fetch_add(count - self.counted, Ordering::Relaxed);
        self.counted = count;
    }
}

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        let pending = &self.worker.catalog.inner.counters.webhooks.pending;
        pending.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

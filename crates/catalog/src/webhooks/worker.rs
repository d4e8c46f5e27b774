//! Delivers one webhook, while this server has the claim to.
//!
//! The worker reads changes into the list of pending ones, sends the first one of each entity, and
//! stores position and list now and then, after the receiver has accepted. Whatever happens between
//! is repeated after a crash. It starts nothing that could end after its claim.

mod delivery;

use std::sync::Arc;
use std::time::{Duration, Instant};

use docent_model::Urn;
use docent_store::LogPosition;
use tokio::sync::{Semaphore, watch};

use super::deliverer::DeliverySettings;
use super::message::{Message, SigningKey};
use super::state::{Claim, StoredState};
use super::{SendFailure, WebhookInfo};
use crate::events::Topic;
use crate::events::feed::FeedQuery;
use crate::{Caller, Catalog, Error};
use delivery::Delivery;

/// How long a claim lasts, and when it is renewed. A message takes up to ten seconds, so none is
/// sent later than [`LAST_START`].
const CLAIM: Duration = Duration::from_secs(20);
const RENEWAL: Duration = Duration::from_secs(5);
const LAST_START: Duration = Duration::from_secs(9);
/// How often a worker without the claim asks for it.
const CLAIM_INTERVAL: Duration = Duration::from_secs(2);
/// Events with longer text are sent without values.
const MAX_BODY_BYTES: usize = 256 * 1024;

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) catalog: Catalog,
    pub(super) settings: DeliverySettings,
    pub(super) slots: Arc<Semaphore>,
    pub(super) webhook: Urn,
    pub(super) holder: String,
}

/// Who reads for a webhook, and how it signs.
#[derive(Clone)]
struct Reader {
    /// The catalog as the owner sees it.
    catalog: Catalog,
    caller: Caller,
    key: SigningKey,
    info: Arc<WebhookInfo>,
    query: Arc<FeedQuery>,
}

/// The outcome of an attempt to send an event.
#[derive(Debug)]
enum Sent {
    /// The change has no further event for the owner.
    Nothing,
    Accepted {
        is_last: bool,
    },
    Failed(SendFailure),
    /// Nothing was sent: the claim could have ended before the receiver had answered.
    TooLate,
}

impl Worker {
    /// Delivers until the sender of orders is gone. An order is that the settings have changed.
    pub(super) async fn run(self, mut orders: watch::Receiver<()>) {
        loop {
            match self.claim().await {
                Ok(Some((stored, claimed_at))) => {
                    let delivery = Delivery::new(&self, stored, claimed_at);
                    delivery.run(&mut orders).await;
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(
                    %error,
                    "cannot claim the webhook {} ({error}); it is retried",
                    self.webhook
                ),
            }
            tokio::select! {
                changed = orders.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = tokio::time::sleep(CLAIM_INTERVAL) => {}
            }
        }
    }

    /// Claims the webhook, unless another server has.
    async fn claim(&self) -> Result<Option<(StoredState, Instant)>, Error> {
        let webhook = std::slice::from_ref(&self.webhook);
        let states = self.catalog.delivery_states(webhook).await?;
        let Some(mut stored) = states.into_iter().next().flatten() else {
            return Ok(None);
        };
        let now_ms = self.catalog.now_ms();
        let claim = stored.state.claim.as_ref();
        let is_claimed = claim.is_some_and(|it| it.holder != self.holder && it.until_ms > now_ms);
        if is_claimed && !self.settings.is_only_server {
            return Ok(None);
        }
        let mut next = stored.state.clone();
        let found = self.catalog.event_position(next.position).await?;
        let is_known = next.position_checksum.is_some();
        if let Some(found) = found.filter(|it| !is_known || *it == next.event_position()) {
            next.continue_behind(found);
        } else {
            let newest = self.catalog.newest_event().await?;
            tracing::warn!(
                "the webhook {} has the position of another change log, as after 'docent move': it continues at the \
                 end of this one, {newest}",
                self.webhook
            );
            next.continue_behind(newest);
            next.pending.clear();
        }
        next.claim = Some(self.new_claim());
        let claimed_at = Instant::now();
        let replaced =
            self.catalog
                .replace_delivery_state(&self.webhook, &mut stored, next, Vec::new());
        Ok(replaced.await?.then_some((stored, claimed_at)))
    }

    fn new_claim(&self) -> Claim {
        let millis = i64::try_from(CLAIM.as_millis()).unwrap_or(i64::MAX);
        Claim {
            holder: self.holder.clone(),
            until_ms: self.catalog.now_ms().saturating_add(millis),
        }
    }

    /// Who reads for the webhook, or why nobody does.
    async fn reader(&self, info: &Arc<WebhookInfo>) -> Result<Result<Reader, String>, Error> {
        let catalog = &self.catalog;
        let caller = Caller::new(info.owner.clone()).in_operation("webhook");
        let owner = &info.owner;
        if catalog.rights(&caller).await?.is_some() && !catalog.is_active(owner).await? {
            return Ok(Err(format!(
                "its owner {owner} is suspended or removed: change the webhook to become its owner"
            )));
        }
        if !catalog
            .is_allowed(&caller, &info.topic.readers(), None)
            .await?
        {
            return Ok(Err(format!(
                "its owner {owner} may no longer read these events: grant {}, or change the webhook to become its owner",
                info.topic.readers()[1]
            )));
        }
        let seen = catalog.seen_by(&caller).await?;
        if info.topic == Topic::PlatformEvents && seen.has_view() {
            return Ok(Err(format!(
                "its owner {owner} does not see all entities, which entity change events need: use the topic of changes"
            )));
        }
        let key = match catalog.signing_key(&self.webhook, info) {
            Ok(key) => key,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let query = FeedQuery {
            topic: info.topic,
            format: info.format,
            filter: info.filter.clone(),
        };
        Ok(Ok(Reader {
            catalog: seen,
            caller,
            key,
            info: Arc::clone(info),
            query: Arc::new(query),
        }))
    }
}

impl Reader {
    /// The message for an event of a change, and whether the change has no further one.
    async fn message(
        &self,
        webhook: &Urn,
        position: LogPosition,
        number: usize,
    ) -> Result<Option<(Message, bool)>, Error> {
        let events = self
            .catalog
            .feed_at(&self.caller, &self.query, position, MAX_BODY_BYTES);
        let event = events.await?.into_iter().nth(number);
        Ok(event.map(|event| {
            let message = Message {
                id: Message::id_of(webhook, &event.id),
                content_type: self.query.format.content_type(),
                body: event.text,
            };
            (message, event.is_last)
        }))
    }

    /// Sends an event of a change, unless it is too late when the change is read.
    async fn send(
        &self,
        webhook: &Urn,
        position: LogPosition,
        number: usize,
        latest: Option<Instant>,
    ) -> Result<Sent, Error> {
        let Some((message, is_last)) = self.message(webhook, position, number).await? else {
            return Ok(Sent::Nothing);
        };
        if latest.is_some_and(|latest| Instant::now() >= latest) {
            return Ok(Sent::TooLate);
        }
        let sent = self
            .catalog
            .send_message(&self.info, &self.key, &message)
            .await;
        Ok(match sent {
            Ok(()) => Sent::Accepted { is_last },
            Err(failure) => Sent::Failed(failure),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use async_trait::async_trait;
    use docent_model::{AspectName, EpochMillis, FixedClock, Urn};
    use docent_test_store::TestStore;
    use serde_json::json;
    use url::Url;

    use super::super::message::{EventSender, Headers, Secret};
    use super::*;
    use crate::events::EventFilter;
    use crate::events::feed::EventFormat;
    use crate::proposal::Proposal;

    #[derive(Debug, Default)]
    struct CountingSender(AtomicUsize);

    #[async_trait]
    impl EventSender for CountingSender {
        fn check(&self, _: &Url) -> Result<(), String> {
            Ok(())
        }

        async fn send(
            &self,
            _: &Url,
            _: &'static str,
            _: &Headers,
            _: String,
        ) -> Result<(), SendFailure> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    #[tokio::test]
    async fn nothing_is_sent_when_the_claim_may_end_before_the_answer() {
        const NOW_MS: EpochMillis = 1;
        let test_store = TestStore::open().await.unwrap();
        let sender = Arc::new(CountingSender::default());
        let catalog = Catalog::new(test_store.store(), Arc::new(FixedClock::at(NOW_MS)))
            .with_event_sender(sender.clone());
        let caller = Caller::system();
        let value = json!({"removed": false}).to_string();
        let tag = Urn::parse("urn:li:tag:a").unwrap();
        let change = Proposal::upsert(tag, AspectName::STATUS, value);
        catalog.apply(&caller, vec![change]).await.unwrap();
        let position = catalog.newest_event().await.unwrap().log_position();
        let filter = EventFilter::default();
        let info = WebhookInfo {
            name: "w".to_owned(),
            url: "http://receiver.example".to_owned(),
            topic: Topic::ChangeLog,
            format: EventFormat::CloudEvents,
            filter: filter.clone(),
            is_active: true,
            owner: caller.actor().clone(),
            secret: String::new(),
            created_at: NOW_MS,
        };
        let reader = Reader {
            catalog,
            caller,
            key: Secret::random().unwrap().key(),
            query: Arc::new(FeedQuery {
                topic: info.topic,
                format: info.format,
                filter,
            }),
            info: Arc::new(info),
        };
        let webhook = Urn::parse("urn:li:docentWebhook:w").unwrap();
        let attempt = async |latest| reader.send(&webhook, position, 0, latest).await.unwrap();
        let sent = attempt(Some(Instant::now())).await;
        assert!(matches!(sent, Sent::TooLate), "{sent:?}");
        assert_eq!(sender.0.load(Ordering::SeqCst), 0);
        let sent = attempt(Some(Instant::now() + Duration::from_mins(1))).await;
        assert!(matches!(sent, Sent::Accepted { .. }), "{sent:?}");
        assert_eq!(sender.0.load(Ordering::SeqCst), 1);
    }
}

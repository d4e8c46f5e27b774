//! How webhooks are, for those who manage them.

use docent_model::{EpochMillis, Urn};
use docent_store::LogPosition;

use super::state::DeliveryState;
use super::{WebhookInfo, expect_webhook, missing};
use crate::{Caller, Catalog, Error};

/// A webhook with the state of its delivery.
#[derive(Debug)]
pub struct WebhookStatus {
    pub urn: Urn,
    pub info: WebhookInfo,
    pub delivery: DeliveryStatus,
}

/// The state of delivery.
#[derive(Debug)]
pub struct DeliveryStatus {
    /// Changes before this position are settled.
    pub position: LogPosition,
    /// How many changes of the log are not examined yet, whether the webhook follows them or not.
    pub behind: u64,
    /// Changes that were read and are not delivered yet.
    pub pending: usize,
    /// When the first of them is tried again, if it has failed.
    pub retry_at: Option<EpochMillis>,
    /// Failed attempts since the last accepted one.
    pub failures: u32,
    pub accepted_at: Option<EpochMillis>,
    pub failed_at: Option<EpochMillis>,
    /// Why the last attempt failed.
    pub failure: Option<String>,
    /// Why nothing is delivered until somebody acts.
    pub stopped: Option<String>,
    pub dead_letters: usize,
}

impl DeliveryStatus {
    fn new(state: DeliveryState, newest: LogPosition, dead_letters: usize) -> Self {
        let first = state.pending.first();
        let before_first = first.map(|change| change.position.minus(1));
        Self {
            position: before_first.unwrap_or(state.position),
            behind: newest.since(state.position),
            pending: state.pending.len(),
            retry_at: first.and_then(|change| change.due_ms),
            failures: state.failures,
            accepted_at: state.accepted_at_ms,
            failed_at: state.failed_at_ms,
            failure: state.failure.filter(|_| state.failures > 0),
            stopped: state.stopped,
            dead_letters,
        }
    }
}

impl Catalog {
    /// All webhooks, in the order of their names.
    pub async fn list_webhooks(&self, caller: &Caller) -> Result<Vec<WebhookStatus>, Error> {
        self.authorize_webhooks(caller).await?;
        let mut webhooks = self.webhook_infos().await?;
        webhooks.sort_by(|a, b| a.1.name.cmp(&b.1.name).then_with(|| a.0.cmp(&b.0)));
        self.webhook_statuses(webhooks).await
    }

    /// One webhook.
    pub async fn webhook(&self, caller: &Caller, webhook: &Urn) -> Result<WebhookStatus, Error> {
        self.authorize_webhooks(caller).await?;
        expect_webhook(webhook)?;
        let not_found = || Error::not_found(missing(webhook)).naming(webhook);
        let webhooks = self.webhook_infos().await?;
        let found = webhooks.into_iter().find(|(urn, _)| urn == webhook);
        let statuses = self.webhook_statuses(vec![found.ok_or_else(not_found)?]);
        statuses.await?.pop().ok_or_else(not_found)
    }

    async fn webhook_statuses(
        &self,
        webhooks: Vec<(Urn, WebhookInfo)>,
    ) -> Result<Vec<WebhookStatus>, Error> {
        let newest = self.newest_event().await?.log_position();
        let urns: Vec<Urn> = webhooks.iter().map(|(urn, _)| urn.clone()).collect();
        let states = self.delivery_states(&urns).await?;
        let mut statuses = Vec::with_capacity(urns.len());
        for ((urn, info), stored) in webhooks.into_iter().zip(states) {
            let state = stored.map(|stored| stored.state).unwrap_or_default();
            let dead_letters = self.count_dead_letters(&urn).await?;
            statuses.push(WebhookStatus {
                delivery: DeliveryStatus::new(state, newest, dead_letters),
                urn,
                info,
            });
        }
        Ok(statuses)
    }
}

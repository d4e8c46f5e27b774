//! Starts and ends the delivery of each webhook, as its settings say.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use docent_model::{EpochMillis, Urn};
use docent_store::CommitStamp;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::dead_letters::MAX_DEAD_LETTERS;
use super::worker::Worker;
use super::{ENTITY, WebhookInfo};
use crate::{Catalog, Error};

/// How often the settings are compared, if something was committed.
const INTERVAL: Duration = Duration::from_millis(250);
/// How many messages all webhooks send at once.
const MAX_IN_FLIGHT: usize = 32;
/// How long deliveries may take to end when the server stops.
const STOP_TIME: Duration = Duration::from_secs(5);

/// How webhooks are delivered.
#[derive(Debug, Clone, Copy)]
pub struct DeliverySettings {
    /// Whether no other server can use the store: a claim of another one is from before a restart.
    pub is_only_server: bool,
    /// When a failed event is sent again first; the wait doubles with each failure.
    pub first_retry_ms: EpochMillis,
    pub longest_retry_ms: EpochMillis,
    /// When an event that always fails becomes a dead letter.
    pub give_up_ms: EpochMillis,
    /// With so many dead letters, a webhook stops; at most the default.
    pub max_dead_letters: usize,
}

impl Default for DeliverySettings {
    fn default() -> Self {
        Self {
            is_only_server: false,
            first_retry_ms: 5_000,
            longest_retry_ms: 60 * 60 * 1000,
            give_up_ms: 24 * 60 * 60 * 1000,
            max_dead_letters: MAX_DEAD_LETTERS,
        }
    }
}

/// Delivers all webhooks that no other server delivers.
#[derive(Debug)]
pub struct WebhookDeliverer {
    catalog: Catalog,
    settings: DeliverySettings,
    /// Distinguishes the claims of this server.
    server: String,
    /// Permits for messages in flight.
    slots: Arc<Semaphore>,
}

/// A webhook that is delivered.
struct Running {
    info: Arc<WebhookInfo>,
    orders: watch::Sender<()>,
}

impl WebhookDeliverer {
    pub fn new(catalog: Catalog, settings: DeliverySettings) -> Self {
        Self {
            server: catalog.options.ids.next_id(),
            catalog,
            settings,
            slots: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
        }
    }

    /// Delivers until `stop` resolves.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let mut running: HashMap<Urn, Running> = HashMap::new();
        let mut workers = JoinSet::new();
        let mut known: Option<CommitStamp> = None;
        let mut count = 0_u64;
        loop {
            match self.changed(known).await {
                Ok(None) => {}
                Ok(Some((stamp, infos))) => {
                    known = Some(stamp);
                    running.retain(|urn, _| infos.contains_key(urn));
                    for (urn, info) in infos {
                        match running.get_mut(&urn) {
                            Some(known) if *known.info == *info => {}
                            Some(known) => {
                                known.info = info;
                                known.orders.send_replace(());
                            }
                            None => {
                                count += 1;
                                let orders = watch::Sender::new(());
                                let worker = self.worker(&urn, count);
                                workers.spawn(worker.run(orders.subscribe()));
                                running.insert(urn, Running { info, orders });
                            }
                        }
                    }
                }
                Err(error) => tracing::debug!(%error, "cannot read the webhooks: {error}"),
            }
            while workers.try_join_next().is_some() {}
            tokio::select! {
                () = &mut stop => break,
                () = tokio::time::sleep(INTERVAL) => {}
            }
        }
        // A worker without orders ends.
        running.clear();
        let ended = async { while workers.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(STOP_TIME, ended).await;
    }

    fn worker(&self, webhook: &Urn, count: u64) -> Worker {
        Worker {
            catalog: self.catalog.clone(),
            settings: self.settings,
            slots: Arc::clone(&self.slots),
            webhook: webhook.clone(),
            holder: format!("{}-{count}", self.server),
        }
    }

    /// The active webhooks, if they may have changed.
    async fn changed(
        &self,
        known: Option<CommitStamp>,
    ) -> Result<Option<(CommitStamp, HashMap<Urn, Arc<WebhookInfo>>)>, Error> {
        let stamp = self.catalog.store().commit_stamp_of(&[ENTITY])?;
        if known == Some(stamp) {
            return Ok(None);
        }
        let infos = self.catalog.webhook_infos().await?;
        let active = infos.into_iter().filter(|(_, info)| info.is_active);
        let active = active.map(|(urn, info)| (urn, Arc::new(info)));
        Ok(Some((stamp, active.collect())))
    }
}

//! Webhooks: changes that are sent to other programs.
//!
//! A webhook is an internal entity with its settings ([`WebhookInfo`]), the state of its delivery
//! ([`state`]) and its dead letters ([`dead_letters`]). It sends what its owner may see, so whoever
//! changes where it sends becomes its owner. [`deliverer`] delivers, through an [`EventSender`],
//! because this crate knows no HTTP; [`message`] makes what is sent.
//!
//! To add a setting: a member of [`NewWebhook`] and [`WebhookInfo`], of the record in
//! `crates/model/internal.json`, and its use in [`worker`].

mod backoff;
mod dead_letters;
mod deliverer;
mod message;
mod state;
mod status;
mod worker;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use crate::events::feed::EventFormat;
use crate::events::{EventFilter, Topic};
use crate::ingestion_secrets::{
    SecretKeys, Unreadable, changed_meanwhile, log_skipped, without_history,
};
use crate::limits::check_name;
use crate::privilege::MANAGE_WEBHOOKS;
use crate::proposal::{Change, Proposal};
use crate::stored::aspect_value;
use crate::{Caller, Catalog, Error};
pub use dead_letters::{DeadLetter, DeadLetterPage, MAX_LISTED, Replay};
pub use deliverer::{DeliverySettings, WebhookDeliverer};
pub use message::{EventSender, Headers, SendFailure, TestDelivery, random_secret};
use message::{Secret, SigningKey};
pub use status::{DeliveryStatus, WebhookStatus};

pub(crate) const ENTITY: &str = "docentWebhook";
/// Each webhook reads the log on its own.
const MAX_WEBHOOKS: usize = 100;
const MAX_URL_CHARACTERS: usize = 2_000;

/// A webhook to store.
#[derive(Clone)]
pub struct NewWebhook {
    pub name: String,
    pub url: String,
    pub topic: Topic,
    pub format: EventFormat,
    pub filter: EventFilter,
    pub is_active: bool,
    /// In the form of Standard Webhooks. `None` for a random one, or for the stored one of a
    /// webhook that is changed.
    pub secret: Option<String>,
}

/// Without the secret.
impl std::fmt::Debug for NewWebhook {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("NewWebhook")
            .field("name", &self.name)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// The settings, as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookInfo {
    pub name: String,
    pub url: String,
    pub topic: Topic,
    pub format: EventFormat,
    pub filter: EventFilter,
    pub is_active: bool,
    /// The user who sees what is sent.
    pub owner: Urn,
    /// Encrypted.
    secret: String,
    pub created_at: EpochMillis,
}

/// What the creator of a webhook learns once.
#[derive(Debug)]
pub struct CreatedWebhook {
    pub urn: Urn,
    pub secret: String,
}

impl NewWebhook {
    fn check(&self, sender: Option<&dyn EventSender>) -> Result<(), Error> {
        check_name("a webhook", &self.name)?;
        let url = parse_url(&self.url)?;
        if let Some(sender) = sender {
            sender.check(&url).map_err(Error::invalid)?;
        }
        self.filter.check()
    }
}

/// The address of a receiver.
fn parse_url(text: &str) -> Result<Url, Error> {
    if text.chars().count() > MAX_URL_CHARACTERS {
        return Err(Error::invalid(format!(
            "the address has more than {MAX_URL_CHARACTERS} characters"
        )));
    }
    let url = Url::parse(text).ok();
    let url = url.filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
    let url = url.ok_or_else(|| {
        Error::invalid(format!(
            "'{text}' is not the address of a receiver: use for example https://example.com/events"
        ))
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::invalid(
            "the address of a receiver must not have a username or a password: check the signature instead",
        ));
    }
    Ok(url)
}

impl Catalog {
    /// Fails unless the caller manages webhooks.
    async fn authorize_webhooks(&self, caller: &Caller) -> Result<(), Error> {
        self.authorize(caller, &[MANAGE_WEBHOOKS], None).await
    }

    /// Fails unless the caller manages webhooks, with a token that may do all that its user may: a
    /// webhook goes on without the token.
    async fn authorize_webhook_changes(&self, caller: &Caller) -> Result<(), Error> {
        self.authorize_webhooks(caller).await?;
        if caller.scope().is_some() {
            let denied = Err(Error::forbidden(
                "Unauthorized to perform this action: the token has a scope, and a webhook would send events without \
                 it. Use a token without a scope.",
            ));
            return self.audited(caller, denied).await;
        }
        Ok(())
    }

    /// Stores a webhook, which sends the changes from now on.
    pub async fn create_webhook(
        &self,
        caller: &Caller,
        new: NewWebhook,
    ) -> Result<CreatedWebhook, Error> {
        self.authorize_webhook_changes(caller).await?;
        self.authorize_feed(caller, new.topic).await?;
        new.check(self.event_sender())?;
        if self.webhook_urns().await?.len() >= MAX_WEBHOOKS {
            return Err(Error::invalid(format!(
                "there are {MAX_WEBHOOKS} webhooks, and no more are allowed: delete one, or let one receiver pass events on"
            )));
        }
        let urn = Urn::new(ENTITY, &self.options.ids.next_id())?;
        let secret = match &new.secret {
            Some(secret) => Secret::parse(secret)?,
            None => Secret::random()?,
        };
        let info = WebhookInfo {
            secret: self.secret_keys()?.encrypt(&urn, secret.text())?,
            name: new.name,
            url: new.url,
            topic: new.topic,
            format: new.format,
            filter: new.filter,
            is_active: new.is_active,
            owner: caller.actor().clone(),
            created_at: self.now_ms(),
        };
        let newest = self.newest_event().await?;
        let mut proposals = vec![info.proposal(&urn)];
        proposals.extend(state::first(&urn, newest, self.now_ms()));
        self.apply_authorized(caller, proposals).await?;
        Ok(CreatedWebhook {
            urn,
            secret: secret.text().to_owned(),
        })
    }

    /// Replaces the settings of a webhook. The caller becomes its owner. What is pending is sent to
    /// the new address, in the new format; the filter is for changes that are read later.
    pub async fn update_webhook(
        &self,
        caller: &Caller,
        webhook: &Urn,
        new: NewWebhook,
    ) -> Result<(), Error> {
        self.authorize_webhook_changes(caller).await?;
        self.authorize_feed(caller, new.topic).await?;
        new.check(self.event_sender())?;
        let before = self.webhook_info(webhook).await?;
        let secret = match &new.secret {
            Some(secret) => {
                let secret = Secret::parse(secret)?;
                self.secret_keys()?.encrypt(webhook, secret.text())?
            }
            None => before.secret.clone(),
        };
        let info = WebhookInfo {
            secret,
            name: new.name,
            url: new.url,
            topic: new.topic,
            format: new.format,
            filter: new.filter,
            is_active: new.is_active,
            owner: caller.actor().clone(),
            created_at: before.created_at,
        };
        let proposals = without_history(info.proposal(webhook), |delete| {
            requiring_webhook(delete, webhook)
        });
        self.apply_authorized(caller, proposals).await?;
        Ok(())
    }

    /// Deletes a webhook with its dead letters. What is not delivered yet is never sent.
    pub async fn delete_webhook(&self, caller: &Caller, webhook: &Urn) -> Result<(), Error> {
        self.authorize_webhook_changes(caller).await?;
        expect_webhook(webhook)?;
        let delete = Proposal::new(webhook.clone(), Change::DeleteEntity);
        let delete = requiring_webhook(delete, webhook);
        self.apply_authorized(caller, vec![delete]).await?;
        Ok(())
    }

    async fn webhook_urns(&self) -> Result<Vec<Urn>, Error> {
        let aspect = AspectName::WEBHOOK_INFO;
        let urns = self.store().urns_list(ENTITY, aspect, None, MAX_WEBHOOKS);
        Ok(urns.await?)
    }

    /// All webhooks with their settings, without damaged ones.
    async fn webhook_infos(&self) -> Result<Vec<(Urn, WebhookInfo)>, Error> {
        let urns = self.webhook_urns().await?;
        let key = |urn: &Urn| AspectKey::new(urn, AspectName::WEBHOOK_INFO);
        let keys: Vec<AspectKey> = urns.iter().map(key).collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let infos = urns.into_iter().zip(&rows);
        Ok(infos
            .filter_map(|(urn, row)| Some((urn, aspect_value(row)?)))
            .collect())
    }

    async fn webhook_info(&self, webhook: &Urn) -> Result<WebhookInfo, Error> {
        expect_webhook(webhook)?;
        let key = AspectKey::new(webhook, AspectName::WEBHOOK_INFO);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        aspect_value(&row).ok_or_else(|| Error::no_entity(missing(webhook)).naming(webhook))
    }

    fn signing_key(&self, webhook: &Urn, info: &WebhookInfo) -> Result<SigningKey, Error> {
        let secret = self.secret_keys()?.decrypt(webhook, &info.secret);
        let secret = secret.map_err(|reason| unreadable(webhook, reason))?;
        Ok(Secret::parse(&secret)?.key())
    }

    /// Encrypts the secrets of webhooks that have the previous key with the current one; returns
    /// how many there were.
    pub(crate) async fn reencrypt_webhooks(&self, keys: &SecretKeys) -> Result<usize, Error> {
        let mut count = 0;
        for (urn, mut info) in self.webhook_infos().await? {
            if !keys.is_outdated(&info.secret) {
                continue;
            }
            let secret = match keys.decrypt(&urn, &info.secret) {
                Ok(secret) => secret,
                Err(reason) => {
                    log_skipped(&unreadable(&urn, reason));
                    continue;
                }
            };
            let before = std::mem::replace(&mut info.secret, keys.encrypt(&urn, &secret)?);
            let unchanged = move |current: Option<Value>| {
                let is_same = current.is_some_and(|it| it["secret"] == json!(before));
                is_same.then_some(()).ok_or_else(changed_meanwhile)
            };
            let proposals = without_history(info.proposal(&urn), |delete| {
                delete.requires_value(&urn, AspectName::WEBHOOK_INFO, unchanged)
            });
            count += usize::from(self.apply_unless_changed(proposals).await?);
        }
        Ok(count)
    }
}

impl WebhookInfo {
    fn proposal(self, urn: &Urn) -> Proposal {
        let edit = move |_: Option<Self>, _: &AuditStamp| Ok(self.clone());
        Proposal::edit(urn.clone(), AspectName::WEBHOOK_INFO, edit)
    }
}

fn expect_webhook(urn: &Urn) -> Result<(), Error> {
    if urn.entity_type() == ENTITY {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{urn} is not a webhook: use a URN such as urn:li:{ENTITY}:…"
    )))
}

/// Requires a webhook to exist when it is changed.
fn requiring_webhook(change: Proposal, webhook: &Urn) -> Proposal {
    let urn = webhook.clone();
    let exists = move |current: Option<Value>| match current {
        Some(_) => Ok(()),
        None => Err(Error::no_entity(missing(&urn))),
    };
    change.requires_value(webhook, AspectName::WEBHOOK_INFO, exists)
}

fn missing(webhook: &Urn) -> String {
    format!("the webhook {webhook} does not exist")
}

fn unreadable(webhook: &Urn, reason: Unreadable) -> Error {
    reason.error(webhook, "updateWebhook")
}

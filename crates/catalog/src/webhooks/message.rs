//! What is sent, signed as [Standard Webhooks](https://www.standardwebhooks.com) describe it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use docent_model::{EpochMillis, Urn};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;
use url::Url;

use super::{WebhookInfo, expect_webhook, parse_url};
use crate::events::feed::EventFormat;
use crate::secret::random;
use crate::times::iso;
use crate::{Caller, Catalog, Error};

/// How secrets begin.
const PREFIX: &str = "whsec_";
/// The bytes of a random secret, and those that a given one may have.
const RANDOM_BYTES: usize = 32;
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The headers of a message besides its type.
pub type Headers = Vec<(&'static str, String)>;

/// Sends messages to receivers.
#[async_trait]
pub trait EventSender: fmt::Debug + Send + Sync {
    /// Why an address can never be a receiver, as far as it shows without asking for its name.
    fn check(&self, url: &Url) -> Result<(), String>;

    /// Sends a message. It succeeds if the receiver has accepted it.
    async fn send(
        &self,
        url: &Url,
        content_type: &'static str,
        headers: &Headers,
        body: String,
    ) -> Result<(), SendFailure>;
}

/// Why a message was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendFailure {
    /// For the status of the webhook.
    pub reason: String,
    /// How long the receiver asks to wait.
    pub retry_after_ms: Option<EpochMillis>,
}

/// The outcome of a test.
#[derive(Debug)]
pub struct TestDelivery {
    /// Why the receiver did not accept the event; `None` if it did.
    pub failure: Option<String>,
    pub took_ms: EpochMillis,
}

/// The secret that the server and a receiver share.
pub(super) struct Secret {
    text: String,
    bytes: Vec<u8>,
}

impl Secret {
    pub(super) fn random() -> Result<Self, Error> {
        let bytes: [u8; RANDOM_BYTES] = random()?;
        Ok(Self {
            text: format!("{PREFIX}{}", STANDARD.encode(bytes)),
            bytes: bytes.to_vec(),
        })
    }

    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let bytes = text.strip_prefix(PREFIX).map(|it| STANDARD.decode(it));
        let bytes = bytes.and_then(Result::ok);
        let bytes = bytes.filter(|bytes| BYTES.contains(&bytes.len()));
        // Without the text: it is a secret.
        let bytes = bytes.ok_or_else(|| {
            Error::invalid(format!(
                "the secret must be {PREFIX} and {} to {} random bytes in base64; omit it to have one made",
                BYTES.start(),
                BYTES.end()
            ))
        })?;
        Ok(Self {
            text: text.to_owned(),
            bytes,
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn key(self) -> SigningKey {
        SigningKey(Arc::from(self.bytes))
    }
}

/// A random secret for a webhook.
pub fn random_secret() -> Result<String, Error> {
    Ok(Secret::random()?.text)
}

/// The key of signatures.
#[derive(Clone)]
pub(super) struct SigningKey(Arc<[u8]>);

impl SigningKey {
    /// The headers of a message, signed at this time.
    pub(super) fn headers(&self, id: &str, now_ms: EpochMillis, body: &str) -> Headers {
        let seconds = now_ms.div_euclid(1000);
        let mut headers = vec![
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", seconds.to_string()),
        ];
        // A key of any length is valid.
        if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) {
            mac.update(format!("{id}.{seconds}.").as_bytes());
            mac.update(body.as_bytes());
            let signature = STANDARD.encode(mac.finalize().into_bytes());
            headers.push(("webhook-signature", format!("v1,{signature}")));
        }
        headers
    }
}

/// A message that a webhook is to send.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// The same in every attempt.
    pub(super) id: String,
    pub(super) content_type: &'static str,
    pub(super) body: String,
}

impl Message {
    /// The id of an event of a webhook.
    pub(super) fn id_of(webhook: &Urn, event_id: &str) -> String {
        format!("{}-{event_id}", webhook.key())
    }
}

impl Catalog {
    /// The same catalog with a sender of events. Without one, nothing is sent.
    #[must_use]
    pub fn with_event_sender(self, sender: Arc<dyn EventSender>) -> Self {
        self.with_options(|options| options.event_sender = Some(sender))
    }

    pub(super) fn event_sender(&self) -> Option<&dyn EventSender> {
        self.options.event_sender.as_deref()
    }

    /// Sends a message of a webhook.
    pub(super) async fn send_message(
        &self,
        info: &WebhookInfo,
        key: &SigningKey,
        message: &Message,
    ) -> Result<(), SendFailure> {
        let failed = |reason: String| SendFailure {
            reason,
            retry_after_ms: None,
        };
        let sender = self.event_sender();
        let sender = sender.ok_or_else(|| failed("this server sends no events".to_owned()))?;
        let url = parse_url(&info.url).map_err(|error| failed(error.to_string()))?;
        let headers = key.headers(&message.id, self.now_ms(), &message.body);
        let body = message.body.clone();
        sender
            .send(&url, message.content_type, &headers, body)
            .await
    }

    /// Sends an event that says nothing, to try the receiver.
    pub async fn test_webhook(
        &self,
        caller: &Caller,
        webhook: &Urn,
    ) -> Result<TestDelivery, Error> {
        self.authorize_webhook_changes(caller).await?;
        expect_webhook(webhook)?;
        let info = self.webhook_info(webhook).await?;
        let key = self.signing_key(webhook, &info)?;
        let event_id = format!("test-{}", self.options.ids.next_id());
        let time_ms = self.now_ms();
        let data = json!({"webhook": webhook, "name": info.name});
        let body = match info.format {
            EventFormat::CloudEvents => json!({
                "specversion": "1.0",
                "id": event_id,
                "source": "urn:docent:catalog",
                "type": "docent.webhook.test",
                "time": iso(time_ms),
                "datacontenttype": "application/json",
                "data": data,
            }),
            EventFormat::DataHub => json!({
                "header": {"timestampMillis": time_ms},
                "name": "docentWebhookTest",
                "payload": {"contentType": "application/json", "value": data.to_string()},
            }),
        };
        let message = Message {
            id: Message::id_of(webhook, &event_id),
            content_type: info.format.content_type(),
            body: body.to_string(),
        };
        let sent = self.send_message(&info, &key, &message).await;
        if sent.is_ok() {
            self.receiver_has_answered(webhook).await?;
        }
        Ok(TestDelivery {
            failure: sent.err().map(|failure| failure.reason),
            took_ms: self.now_ms().saturating_sub(time_ms),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_signed_as_the_specification_says() {
        // The example of the specification's reference libraries.
        let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let body = r#"{"test": 2432232314}"#;
        let headers = secret.key().headers(id, 1_614_265_330_999, body);
        assert_eq!(
            headers,
            [
                ("webhook-id", id.to_owned()),
                ("webhook-timestamp", "1614265330".to_owned()),
                (
                    "webhook-signature",
                    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=".to_owned()
                ),
            ]
        );
    }

    #[test]
    fn secrets_have_a_form_and_a_length() {
        let random = Secret::random().unwrap();
        Secret::parse(random.text()).unwrap();
        for wrong in [
            "",
            "whsec_",
            "whsec_AAAA",
            "whsec_%",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ] {
            let error = Secret::parse(wrong).err().unwrap().to_string();
            assert!(error.contains("base64"), "{error}");
        }
    }
}

//! A receiver in the process of the test.

use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use docent_catalog::webhooks::{EventSender, Headers, SendFailure};
use ring::hmac;
use serde_json::Value;
use tokio::sync::watch;
use url::Url;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) content_type: String,
    pub(super) body: Value,
    text: String,
    headers: Headers,
}

impl Message {
    /// Verifies the signature as receivers do.
    pub(super) fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap());
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key.unwrap());
        let header = |name: &str| {
            let found = self.headers.iter().find(|(known, _)| *known == name);
            found.unwrap().1.clone()
        };
        let signed = format!(
            "{}.{}.{}",
            header("webhook-id"),
            header("webhook-timestamp"),
            self.text
        );
        let signature = header("webhook-signature");
        let signature = STANDARD.decode(signature.strip_prefix("v1,").unwrap());
        hmac::verify(&key, signed.as_bytes(), &signature.unwrap()).is_ok()
    }
}

#[derive(Debug, Default, Clone)]
enum Mood {
    #[default]
    AcceptAll,
    RejectAll,
    /// Rejects the events of one entity.
    Reject(String),
}

#[derive(Debug, Default)]
struct Log {
    accepted: Vec<Message>,
    attempts: usize,
}

#[derive(Debug, Default)]
pub(super) struct Receiver {
    log: watch::Sender<Log>,
    mood: watch::Sender<Mood>,
}

impl Receiver {
    pub(super) fn accept_all(&self) {
        self.mood.send_replace(Mood::AcceptAll);
    }

    pub(super) fn reject_all(&self) {
        self.mood.send_replace(Mood::RejectAll);
    }

    pub(super) fn reject(&self, subject: String) {
        self.mood.send_replace(Mood::Reject(subject));
    }

    /// Waits for so many accepted messages, repetitions included, and returns all.
    pub(super) async fn accepted(&self, count: usize) -> Vec<Message> {
        self.wait(|log| log.accepted.len() >= count).await;
        self.messages()
    }

    /// Waits for so many attempts.
    pub(super) async fn attempted(&self, count: usize) {
        self.wait(|log| log.attempts >= count).await;
    }

    pub(super) fn messages(&self) -> Vec<Message> {
        self.log.borrow().accepted.clone()
    }

    pub(super) fn count(&self) -> usize {
        self.log.borrow().accepted.len()
    }

    pub(super) fn attempts(&self) -> usize {
        self.log.borrow().attempts
    }

    async fn wait(&self, is_reached: impl Fn(&Log) -> bool) {
        let mut log = self.log.subscribe();
        let reached = tokio::time::timeout(PATIENCE, log.wait_for(|log| is_reached(log))).await;
        let is_reached = reached.is_ok();
        assert!(is_reached, "{:#?}", self.log.borrow());
    }
}

#[async_trait]
impl EventSender for Receiver {
    fn check(&self, url: &Url) -> Result<(), String> {
        match url.host_str() {
            Some("refused.example") => Err("refused by the sender".to_owned()),
            _ => Ok(()),
        }
    }

    async fn send(
        &self,
        url: &Url,
        content_type: &'static str,
        headers: &Headers,
        body: String,
    ) -> Result<(), SendFailure> {
        // Lets others send meanwhile, as a network does.
        tokio::task::yield_now().await;
        let message = Message {
            id: headers[0].1.clone(),
            url: url.to_string(),
            content_type: content_type.to_owned(),
            body: serde_json::from_str(&body).unwrap(),
            text: body,
            headers: headers.clone(),
        };
        let is_accepted = match &*self.mood.borrow() {
            Mood::AcceptAll => true,
            Mood::RejectAll => false,
            Mood::Reject(subject) => message.body["subject"] != *subject,
        };
        self.log.send_modify(|log| {
            log.attempts += 1;
            if is_accepted {
                log.accepted.push(message);
            }
        });
        if is_accepted {
            return Ok(());
        }
        Err(SendFailure {
            reason: "rejected".to_owned(),
            retry_after_ms: None,
        })
    }
}

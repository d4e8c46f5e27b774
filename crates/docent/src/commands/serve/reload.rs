//! SIGHUP: reads the settings again, and applies those that need no restart.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use docent_http::server::tls::Certificate;
use docent_http::{AppState, ShownSetting};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::log::{self, Log};
use super::{ServerParts, SettingsSource, identity_providers};
use crate::settings::{Settings, StoreUrl};

const STORE: &str = "store";

/// The settings that take effect when they are reloaded, besides those of identity providers.
const RELOADED: [&str; 9] = [
    "trusted-proxy",
    "allowed-host",
    "address-rate-limit",
    "token-rate-limit",
    "request-timeout",
    "slow-ms",
    "agent-writes",
    "audit-retention",
    "log",
];

/// Each SIGHUP from here on, so that one during the start is not lost.
pub(super) fn signals() -> Result<Signal> {
    signal(SignalKind::hangup()).context("cannot install the handler of SIGHUP")
}

/// What a reload needs and changes.
pub(super) struct Reloader {
    pub(super) source: SettingsSource,
    pub(super) known: KnownSettings,
    pub(super) log: Log,
    pub(super) parts: ServerParts,
    pub(super) state: AppState,
    pub(super) certificate: Option<Arc<Certificate>>,
    pub(super) audit_retention: watch::Sender<Option<u32>>,
}

impl Reloader {
    /// Reloads the settings at every signal.
    pub(super) async fn watch(mut self, mut signals: Signal) {
        while signals.recv().await.is_some() {
            // Names of hosts may have to be resolved.
            if let Err(error) = tokio::task::block_in_place(|| self.reload()) {
                tracing::error!("the settings were not reloaded: {error:#}");
            }
        }
    }

    /// Applies all new settings, or none if one is invalid.
    fn reload(&mut self) -> Result<()> {
        let settings = self.source.resolve()?;
        let identity = identity_providers(&settings.identity)?;
        let certificate = self.certificate.as_deref();
        let renewed = certificate.map(Certificate::read).transpose()?;
        self.log.set_filter(&settings)?;
        self.parts.request_log.set_detail(log::request_detail());
        let mut http = self.parts.http_settings(&settings, identity);
        let known = KnownSettings::hashed_by(self.known.hasher.clone(), &settings);
        let Changes {
            in_effect,
            applied,
            need_restart,
        } = Changes::between(&self.known, known);
        http.shown.clone_from(&in_effect.shown);
        self.known = in_effect;
        self.state.reload(http);
        if let (Some(certificate), Some(renewed)) = (certificate, renewed) {
            certificate.replace(renewed);
        }
        self.audit_retention
            .send_replace(settings.audit_retention_days);
        tracing::info!("reloaded the settings: {}", effect(&applied, &need_restart));
        if !need_restart.is_empty() {
            tracing::warn!(
                "changes of these settings take effect after a restart: {}",
                need_restart.join(", ")
            );
        }
        Ok(())
    }
}

/// The settings in effect, to compare others with.
pub(super) struct KnownSettings {
    shown: Vec<ShownSetting>,
    /// Hashes of the masked values, by name.
    hashes: BTreeMap<String, u64>,
    /// With its password, which is not shown.
    store: StoreUrl,
    /// Of this process, so that nobody else can try values.
    hasher: RandomState,
}

impl KnownSettings {
    pub(super) fn of(settings: &Settings) -> Self {
        Self::hashed_by(RandomState::new(), settings)
    }

    fn hashed_by(hasher: RandomState, settings: &Settings) -> Self {
        let secrets = settings.secrets().into_iter();
        Self {
            shown: settings.shown(),
            hashes: secrets
                .map(|(name, value)| (name, hasher.hash_one(value)))
                .collect(),
            store: settings.store.clone(),
            hasher,
        }
    }

    fn value(&self, name: &str) -> Option<&Option<String>> {
        let setting = self.shown.iter().find(|it| it.name == name);
        setting.map(|it| &it.value)
    }

    /// Whether a setting has the same value in both.
    fn is_same(&self, other: &Self, name: &str) -> bool {
        self.value(name) == other.value(name)
            && self.hashes.get(name) == other.hashes.get(name)
            && (name != STORE || self.store == other.store)
    }
}

/// What changes with new settings.
struct Changes {
    in_effect: KnownSettings,
    applied: Vec<String>,
    need_restart: Vec<String>,
}

impl Changes {
    fn between(old: &KnownSettings, mut new: KnownSettings) -> Self {
        let removed = old.shown.iter().filter(|it| new.value(&it.name).is_none());
        let mut applied: Vec<String> = removed.map(|it| it.name.clone()).collect();
        let mut need_restart = Vec::new();
        for index in 0..new.shown.len() {
            let name = new.shown[index].name.clone();
            if old.is_same(&new, &name) {
                continue;
            }
            if is_reloaded(&name) {
                applied.push(name);
                continue;
            }
            if let Some(value) = old.value(&name) {
                new.shown[index].value.clone_from(value);
            }
            match old.hashes.get(&name) {
                Some(hash) => new.hashes.insert(name.clone(), *hash),
                None => new.hashes.remove(&name),
            };
            need_restart.push(name);
        }
        new.store = old.store.clone();
        Self {
            in_effect: new,
            applied,
            need_restart,
        }
    }
}

fn effect(applied: &[String], need_restart: &[String]) -> String {
    match (applied, need_restart) {
        ([], []) => "no value has changed".to_owned(),
        ([], _) => "no change takes effect now".to_owned(),
        _ => format!("{} changed", applied.join(", ")),
    }
}

fn is_reloaded(name: &str) -> bool {
    RELOADED.contains(&name) || name.starts_with("oidc.") || name.starts_with("jwt.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(settings: &[(&str, &str)], secrets: &[(&str, u64)]) -> KnownSettings {
        let masked = secrets.iter().map(|(name, _)| (*name, None));
        let visible = settings.iter().map(|(name, value)| (*name, Some(*value)));
        let shown = visible.chain(masked).map(|(name, value)| ShownSetting {
            name: name.to_owned(),
            value: value.map(ToOwned::to_owned),
        });
        let hashes = secrets
            .iter()
            .map(|(name, hash)| ((*name).to_owned(), *hash));
        KnownSettings {
            shown: shown.collect(),
            hashes: hashes.collect(),
            store: StoreUrl::parse(None).unwrap(),
            hasher: RandomState::new(),
        }
    }

    #[test]
    fn settings_that_need_a_restart_keep_their_values() {
        let old = known(
            &[
                ("listen", "127.0.0.1:1"),
                ("log", "info"),
                ("slow-ms", "1000"),
                ("oidc.a.issuer", "https://a"),
            ],
            &[],
        );
        let new = known(
            &[
                ("listen", "127.0.0.1:2"),
                ("log", "debug"),
                ("slow-ms", "1000"),
                ("oidc.b.issuer", "https://b"),
            ],
            &[],
        );
        let expected = known(
            &[
                ("listen", "127.0.0.1:1"),
                ("log", "debug"),
                ("slow-ms", "1000"),
                ("oidc.b.issuer", "https://b"),
            ],
            &[],
        );
        let changes = Changes::between(&old, new);
        assert_eq!(changes.in_effect.shown, expected.shown);
        assert_eq!(changes.applied, ["oidc.a.issuer", "log", "oidc.b.issuer"]);
        assert_eq!(changes.need_restart, ["listen"]);
        assert_eq!(effect(&[], &[]), "no value has changed");
        assert_eq!(
            effect(&[], &changes.need_restart),
            "no change takes effect now"
        );
        assert_eq!(effect(&["log".to_owned()], &[]), "log changed");
    }

    #[test]
    fn secrets_are_compared_by_their_hashes() {
        let (key, secret) = ("secret-key-file", "oidc.a.client-secret-file");
        let old = known(&[], &[(key, 1), ("tls-key", 2), (secret, 3)]);
        let new = known(&[], &[(key, 9), ("tls-key", 2), (secret, 4)]);
        let changes = Changes::between(&old, new);
        assert_eq!(changes.applied, [secret]);
        assert_eq!(changes.need_restart, [key]);
        // The next reload says so again.
        assert_eq!(changes.in_effect.hashes[key], 1);
        assert_eq!(changes.in_effect.hashes[secret], 4);
        let mut other_store = known(&[("store", "postgres://a@b/c")], &[]);
        let old = known(&[("store", "postgres://a@b/c")], &[]);
        other_store.store = StoreUrl::parse(Some("postgres://a:secret@b/c")).unwrap();
        let changes = Changes::between(&old, other_store);
        assert_eq!(changes.need_restart, [STORE]);
    }
}

//! SIGHUP: reads the settings again, and applies those that need no restart.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use docent_http::server::tls::Certificate;
use docent_http::{AppState, ShownSetting};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::log::{self, Log};
use super::{ServerParts, SettingsSource, identity_providers};

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

/// What a reload needs and changes.
pub(super) struct Reloader {
    pub(super) source: SettingsSource,
    /// The settings in effect.
    pub(super) shown: Vec<ShownSetting>,
    pub(super) log: Log,
    pub(super) parts: ServerParts,
    pub(super) state: AppState,
    pub(super) certificate: Option<Arc<Certificate>>,
    pub(super) audit_retention: watch::Sender<Option<u32>>,
}

impl Reloader {
    /// Reloads the settings at every SIGHUP.
    pub(super) fn watch(mut self) -> Result<impl Future<Output = ()>> {
        let mut hangup =
            signal(SignalKind::hangup()).context("cannot install the handler of SIGHUP")?;
        Ok(async move {
            while hangup.recv().await.is_some() {
                // Names of hosts may have to be resolved.
                if let Err(error) = tokio::task::block_in_place(|| self.reload()) {
                    tracing::error!("the settings were not reloaded: {error:#}");
                }
            }
        })
    }

    /// Applies all new settings, or none if one is invalid.
    fn reload(&mut self) -> Result<()> {
        let settings = self.source.resolve()?;
        let identity = identity_providers(&settings.identity)?;
        self.log.set_filter(&settings)?;
        self.parts.request_log.set_detail(log::request_detail());
        let mut http = self.parts.http_settings(&settings, identity);
        let Changes {
            in_effect,
            applied,
            need_restart,
        } = Changes::between(&self.shown, http.shown);
        self.shown.clone_from(&in_effect);
        http.shown = in_effect;
        self.state.reload(http);
        if let Some(certificate) = &self.certificate {
            certificate.reload();
        }
        self.audit_retention
            .send_replace(settings.audit_retention_days);
        if applied.is_empty() {
            tracing::info!("reloaded the settings: no value has changed");
        } else {
            tracing::info!("reloaded the settings: {} changed", applied.join(", "));
        }
        if !need_restart.is_empty() {
            tracing::warn!(
                "changes of these settings take effect after a restart: {}",
                need_restart.join(", ")
            );
        }
        Ok(())
    }
}

/// What changes with new settings.
#[derive(Debug, PartialEq)]
struct Changes {
    in_effect: Vec<ShownSetting>,
    applied: Vec<String>,
    need_restart: Vec<String>,
}

impl Changes {
    fn between(old: &[ShownSetting], new: Vec<ShownSetting>) -> Self {
        let value_in = |list: &[ShownSetting], name: &str| {
            let setting = list.iter().find(|it| it.name == name);
            setting.map(|it| it.value.clone())
        };
        let removed = old
            .iter()
            .filter(|it| value_in(&new, &it.name).is_none())
            .map(|it| it.name.clone());
        let mut changes = Self {
            in_effect: Vec::with_capacity(new.len()),
            applied: removed.collect(),
            need_restart: Vec::new(),
        };
        for setting in new {
            let old_value = value_in(old, &setting.name);
            let has_changed = old_value.as_ref() != Some(&setting.value);
            if is_reloaded(&setting.name) {
                if has_changed {
                    changes.applied.push(setting.name.clone());
                }
                changes.in_effect.push(setting);
            } else {
                if has_changed {
                    changes.need_restart.push(setting.name.clone());
                }
                let value = old_value.unwrap_or(setting.value);
                changes.in_effect.push(ShownSetting { value, ..setting });
            }
        }
        changes
    }
}

fn is_reloaded(name: &str) -> bool {
    RELOADED.contains(&name) || name.starts_with("oidc.") || name.starts_with("jwt.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(settings: &[(&str, &str)]) -> Vec<ShownSetting> {
        let shown = settings.iter().map(|(name, value)| ShownSetting {
            name: (*name).to_owned(),
            value: Some((*value).to_owned()),
        });
        shown.collect()
    }

    #[test]
    fn settings_that_need_a_restart_keep_their_values() {
        let old = shown(&[
            ("listen", "127.0.0.1:1"),
            ("log", "info"),
            ("slow-ms", "1000"),
            ("oidc.a.issuer", "https://a"),
        ]);
        let new = shown(&[
            ("listen", "127.0.0.1:2"),
            ("log", "debug"),
            ("slow-ms", "1000"),
            ("oidc.b.issuer", "https://b"),
        ]);
        let expected = Changes {
            in_effect: shown(&[
                ("listen", "127.0.0.1:1"),
                ("log", "debug"),
                ("slow-ms", "1000"),
                ("oidc.b.issuer", "https://b"),
            ]),
            applied: ["oidc.a.issuer", "log", "oidc.b.issuer"]
                .map(ToOwned::to_owned)
                .to_vec(),
            need_restart: vec!["listen".to_owned()],
        };
        assert_eq!(Changes::between(&old, new), expected);
    }
}

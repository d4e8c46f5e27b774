//! The settings as administrators see them at `/openapi/v1/system-info`.
//!
//! Every setting is named here, so that a new one does not compile until somebody has decided
//! whether it is shown. What may contain a secret, or says where one is, is masked.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use docent_catalog::rate::RateLimit;
use docent_catalog::tokens::TokenLimits;
use docent_http::ShownSetting;
use docent_model::EpochMillis;
use docent_oidc::{Algorithm, ClaimNames, IssuerSettings, ProviderSettings};

use super::{AgentChanges, LogFormat, Settings, Switch};

const NONE: &str = "none";
const OFF: &str = "off";

impl Settings {
    #[expect(clippy::too_many_lines, reason = "a few lines for each setting")]
    pub(crate) fn shown(&self) -> Vec<ShownSetting> {
        let Self {
            store,
            listen,
            ui_listen,
            metrics_listen,
            frontend,
            tls,
            auth,
            trusted_proxies,
            allowed_hosts,
            address_rate_limit,
            token_rate_limit,
            address_connections,
            request_timeout,
            slow_requests,
            max_token_ttl_ms,
            default_role,
            view_policies,
            agent_writes,
            session_limits,
            identity,
            admin_password_file,
            secret_keys,
            webhook_networks,
            webhook_retry_ms,
            demo,
            search_index,
            audit_retention_days,
            backup,
            otlp,
            log,
            log_format,
        } = self;
        let max_token_ttl_ms =
            max_token_ttl_ms.unwrap_or_else(|| TokenLimits::default().session_ttl_ms);
        let wal_interval = backup.as_ref().and_then(|it| it.wal_interval);
        let has_previous_key = secret_keys.as_ref().is_some_and(|it| it.previous.is_some());
        let mut shown = vec![
            // Its display omits the password.
            visible("store", store),
            visible("listen", listen),
            visible("ui-listen", or_none(ui_listen.as_ref())),
            visible("metrics-listen", or_none(metrics_listen.as_ref())),
            visible("frontend", path_or_none(frontend.as_deref())),
            visible(
                "tls-cert",
                path_or_none(tls.as_ref().map(|it| it.certificate.as_path())),
            ),
            masked("tls-key", tls.is_some()),
            visible("auth", switch(*auth)),
            visible("trusted-proxy", list(trusted_proxies)),
            visible("allowed-host", list(allowed_hosts)),
            visible("address-rate-limit", rate(*address_rate_limit)),
            visible("token-rate-limit", rate(*token_rate_limit)),
            visible("address-connections", address_connections),
            visible(
                "request-timeout",
                format!("{}s", request_timeout.0.as_secs_f64()),
            ),
            visible(
                "slow-ms",
                slow_requests.map_or(OFF.to_owned(), |time| time.as_millis().to_string()),
            ),
            visible("max-token-ttl", duration(max_token_ttl_ms)),
            visible("default-role", or_none(default_role.as_ref())),
            visible("view-policies", switch(*view_policies)),
            visible(
                "agent-writes",
                match agent_writes {
                    AgentChanges::Allow => "allow",
                    AgentChanges::Propose => "propose",
                    AgentChanges::Off => OFF,
                },
            ),
            visible("session-ttl", duration(session_limits.absolute_ms)),
            visible(
                "session-idle",
                or_none(session_limits.idle_ms.map(duration).as_ref()),
            ),
            masked("admin-password-file", admin_password_file.is_some()),
            masked("secret-key-file", secret_keys.is_some()),
            masked("previous-secret-key-file", has_previous_key),
            visible("webhook-allow-private", list(webhook_networks)),
            visible("webhook-retry", duration(*webhook_retry_ms)),
            visible("demo", demo),
            visible("search-index", search_index.display()),
            visible(
                "audit-retention",
                audit_retention_days.map_or("forever".to_owned(), |days| days.to_string()),
            ),
            visible("backup-to", or_none(backup.as_ref().map(|it| &it.place))),
            visible(
                "backup-every",
                or_none(backup.as_ref().map(|it| interval(it.interval)).as_ref()),
            ),
            visible(
                "backup-keep",
                or_none(backup.as_ref().map(|it| it.keep).as_ref()),
            ),
            visible(
                "backup-wal-every",
                or_none(wal_interval.map(interval).as_ref()),
            ),
            visible("otlp", or_none(otlp.as_ref().map(|it| &it.collector))),
            visible(
                "otlp-sample",
                or_none(otlp.as_ref().map(|it| it.sample).as_ref()),
            ),
            masked(
                "otlp-headers-file",
                otlp.as_ref().is_some_and(|it| it.headers_file.is_some()),
            ),
            visible("log", log),
            visible(
                "log-format",
                match log_format {
                    LogFormat::Text => "text",
                    LogFormat::Json => "json",
                },
            ),
        ];
        shown.extend(identity.providers.iter().flat_map(provider));
        shown.extend(identity.issuers.iter().flat_map(issuer));
        shown
    }
}

impl Settings {
    /// The values of masked settings, by their names, to find out whether they change. The caller
    /// must keep no more than hashes of them.
    pub(crate) fn secrets(&self) -> Vec<(String, String)> {
        let path = |path: &Path| path.display().to_string();
        let keys = self.secret_keys.as_ref();
        let previous_key = keys.and_then(|keys| keys.previous.as_ref());
        let otlp = self.otlp.as_ref();
        let own = [
            ("tls-key", self.tls.as_ref().map(|it| path(&it.key))),
            (
                "admin-password-file",
                self.admin_password_file.as_deref().map(path),
            ),
            (
                "secret-key-file",
                keys.map(|keys| keys.current.id().to_owned()),
            ),
            (
                "previous-secret-key-file",
                previous_key.map(|key| key.id().to_owned()),
            ),
            (
                "otlp-headers-file",
                otlp.and_then(|it| it.headers_file.as_deref().map(path)),
            ),
        ];
        let own = own
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let of_providers = self.identity.providers.iter().map(|provider| {
            let name = format!("oidc.{}.client-secret-file", provider.id);
            (name, provider.client_secret.clone())
        });
        let all = own.chain(of_providers);
        all.filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

fn provider(provider: &ProviderSettings) -> Vec<ShownSetting> {
    let name = |key: &str| format!("oidc.{}.{key}", provider.id);
    let ProviderSettings {
        claims,
        algorithms,
        skew_ms,
        create_users,
        ..
    } = provider;
    let mut shown = vec![
        visible(name("issuer"), &provider.issuer),
        visible(name("client-id"), &provider.client_id),
        masked(name("client-secret-file"), provider.client_secret.is_some()),
        visible(name("public-url"), &provider.public_url),
        visible(name("name"), &provider.name),
        visible(name("scopes"), &provider.scopes),
    ];
    shown.extend(tokens(name, claims, algorithms, *skew_ms, *create_users));
    shown
}

fn issuer(issuer: &IssuerSettings) -> Vec<ShownSetting> {
    let name = |key: &str| format!("jwt.{}.{key}", issuer.issuer);
    let IssuerSettings {
        claims,
        algorithms,
        skew_ms,
        create_users,
        ..
    } = issuer;
    let mut shown = vec![
        visible(name("audience"), &issuer.audience),
        visible(name("jwks-url"), or_none(issuer.keys_url.as_ref())),
    ];
    shown.extend(tokens(name, claims, algorithms, *skew_ms, *create_users));
    shown
}

/// How the tokens of a provider or an issuer are read.
fn tokens(
    name: impl Fn(&str) -> String,
    claims: &ClaimNames,
    algorithms: &[Algorithm],
    skew_ms: EpochMillis,
    create_users: bool,
) -> [ShownSetting; 5] {
    let algorithms: Vec<&str> = algorithms.iter().map(|it| it.name()).collect();
    [
        visible(name("user-claim"), &claims.user),
        visible(name("groups-claim"), or_none(claims.groups.as_ref())),
        visible(name("algorithms"), algorithms.join(",")),
        visible(name("clock-skew"), duration(skew_ms)),
        visible(name("create-users"), create_users),
    ]
}

fn visible(name: impl Into<String>, value: impl Display) -> ShownSetting {
    ShownSetting {
        name: name.into(),
        value: Some(value.to_string()),
    }
}

/// Shows only whether the setting has a value.
fn masked(name: impl Into<String>, is_set: bool) -> ShownSetting {
    ShownSetting {
        name: name.into(),
        value: (!is_set).then(|| NONE.to_owned()),
    }
}

fn or_none(value: Option<&impl Display>) -> String {
    value.map_or_else(|| NONE.to_owned(), ToString::to_string)
}

fn path_or_none(path: Option<&Path>) -> String {
    or_none(path.map(Path::display).as_ref())
}

fn list(values: &[impl Display]) -> String {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    texts.join(",")
}

fn switch(switch: Switch) -> &'static str {
    match switch {
        Switch::On => "on",
        Switch::Off => OFF,
    }
}

fn rate(limit: Option<RateLimit>) -> String {
    limit.map_or_else(|| OFF.to_owned(), |limit| limit.to_string())
}

/// A duration as settings are written, in the largest unit without a fraction. A single day stays
/// 24h, as in the documents.
fn duration(milliseconds: EpochMillis) -> String {
    let seconds = milliseconds / 1000;
    let units = [("d", 86_400, 2), ("h", 3_600, 1), ("m", 60, 1)];
    let unit = units
        .into_iter()
        .find(|(_, length, least)| seconds % length == 0 && seconds / length >= *least);
    match unit {
        Some((unit, length, _)) => format!("{}{unit}", seconds / length),
        None => format!("{seconds}s"),
    }
}

fn interval(interval: Duration) -> String {
    duration(EpochMillis::try_from(interval.as_millis()).unwrap_or(EpochMillis::MAX))
}

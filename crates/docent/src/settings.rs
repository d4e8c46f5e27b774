//! Settings from a TOML file, `DOCENT_…` variables and flags, in increasing precedence.
//!
//! To add one, extend [`ServeFlags`], [`File`] and [`Settings::resolve`]. See
//! docs/adding-a-setting.md.

mod backup;
mod file_errors;
mod identity;
mod log_filter;
mod network;
mod otlp;
mod secret_keys;
mod session_limits;
mod shown;
mod store_url;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use docent_catalog::ingestion_secrets::SecretKeys;
use docent_catalog::rate::RateLimit;
use docent_catalog::sessions::SessionLimits;
use docent_catalog::tokens::MAX_ISSUED_TTL_MS;
use docent_catalog::webhooks::DeliverySettings;
use docent_http::RequestTimeout;
use docent_http::server::ConnectionLimits;
use docent_model::{EpochMillis, parse_duration_ms};
use ipnet::IpNet;
use serde::Deserialize;

use backup::BackupFlags;
pub(crate) use backup::BackupSettings;
pub(crate) use identity::IdentitySettings;
use identity::{IdentityFlags, IssuerTable, ProviderTable};
pub(crate) use network::TlsFiles;
use network::{parse_address, parse_host, parse_network};
use otlp::OtlpFlags;
pub(crate) use otlp::{OtlpSettings, read_headers};
pub(crate) use store_url::StoreUrl;

pub(crate) const DEFAULT_ROLE: &str = "Editor";
const DEFAULT_RETENTION_DAYS: u32 = 365;
const DEFAULT_SLOW: Duration = Duration::from_secs(1);
const MAX_WEBHOOK_RETRY_MS: EpochMillis = 7 * 24 * 60 * 60 * 1000;
const DEFAULT_LISTEN: &str = "127.0.0.1:8080";
const REQUEST_TIMEOUTS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_mins(10);

/// The store; a global flag of every command.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct StoreFlags {
    // The help would show the value, which may contain a password.
    #[arg(
        long,
        env = "DOCENT_STORE",
        value_name = "URL",
        global = true,
        hide_env_values = true,
        help = "Store URL: sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE [default: sqlite:docent.db]"
    )]
    pub(crate) store: Option<String>,
    /// TOML file with settings; flags and DOCENT_… variables take precedence
    #[arg(long, env = "DOCENT_CONFIG", value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct ServeFlags {
    /// Address to listen on [default: 127.0.0.1:8080]
    #[arg(long, env = "DOCENT_LISTEN", value_name = "ADDR")]
    listen: Option<String>,
    /// Second address to listen on, for DataHub clients that sign in at port 9002 [default: none]
    #[arg(long, env = "DOCENT_UI_LISTEN", value_name = "ADDR")]
    ui_listen: Option<String>,
    /// Address that serves /metrics alone, without authentication [default: none]
    #[arg(long, env = "DOCENT_METRICS_LISTEN", value_name = "ADDR")]
    metrics_listen: Option<String>,
    /// Directory with a build of DataHub's web page, served at --ui-listen in place of Docent's own
    /// page [default: none]
    #[arg(long, env = "DOCENT_FRONTEND", value_name = "DIR")]
    frontend: Option<PathBuf>,
    /// Certificate chain for HTTPS, in PEM form; needs its key, and is reread when it changes
    /// [default: plain HTTP]
    #[arg(long, env = "DOCENT_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM form
    #[arg(long, env = "DOCENT_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Require a token or a session; off gives every caller full access [default: on]
    #[arg(long, env = "DOCENT_AUTH", value_name = "on|off")]
    auth: Option<Switch>,
    /// Address or network (CIDR) of a reverse proxy whose X-Forwarded-For, -Host and -Proto headers
    /// count; repeatable [default: none]
    #[arg(
        long,
        env = "DOCENT_TRUSTED_PROXY",
        value_name = "CIDR",
        value_delimiter = ','
    )]
    trusted_proxy: Option<Vec<String>>,
    /// Host name that clients may use with --auth off, besides IP addresses and local names;
    /// repeatable [default: none]
    #[arg(
        long,
        env = "DOCENT_ALLOWED_HOST",
        value_name = "NAME",
        value_delimiter = ','
    )]
    allowed_host: Option<Vec<String>>,
    /// Requests from one address, for example 100/s, 600/m or 10000/h [default: any rate]
    #[arg(long, env = "DOCENT_ADDRESS_RATE_LIMIT", value_name = "RATE")]
    address_rate_limit: Option<String>,
    /// Requests with one token or session, for example 100/s, 600/m or 10000/h [default: any rate]
    #[arg(long, env = "DOCENT_TOKEN_RATE_LIMIT", value_name = "RATE")]
    token_rate_limit: Option<String>,
    /// Connections of one address at a time, from 1 to 4096; trusted proxies are exempt [default:
    /// 1024]
    #[arg(long, env = "DOCENT_ADDRESS_CONNECTIONS", value_name = "COUNT")]
    address_connections: Option<usize>,
    /// Longest time that the server works for one request, from 1s to 10m [default: 30s]
    #[arg(long, env = "DOCENT_REQUEST_TIMEOUT", value_name = "TIME")]
    request_timeout: Option<String>,
    /// Milliseconds after which a request is logged as slow, with where its time went, or off
    /// [default: 1000]
    #[arg(long, env = "DOCENT_SLOW_MS", value_name = "MS|off")]
    slow_ms: Option<String>,
    /// Role of users that have none: Admin, Editor, Proposer, Reader, another role, or none
    /// [default: Editor]
    #[arg(long, env = "DOCENT_DEFAULT_ROLE", value_name = "ROLE")]
    default_role: Option<String>,
    /// Whether callers see only what policies let them view [default: off]
    #[arg(long, env = "DOCENT_VIEW_POLICIES", value_name = "on|off")]
    view_policies: Option<Switch>,
    /// What agents may change at /mcp: what their user may, nothing but proposals, or nothing
    /// [default: allow]
    #[arg(long, env = "DOCENT_AGENT_WRITES", value_name = "allow|propose|off")]
    agent_writes: Option<AgentChanges>,
    /// Time after which a session ends: for example 12h or 7d [default: 24h]
    #[arg(long, env = "DOCENT_SESSION_TTL", value_name = "TIME")]
    session_ttl: Option<String>,
    /// Time without requests after which a session ends: for example 30m, or none [default: none]
    #[arg(long, env = "DOCENT_SESSION_IDLE", value_name = "TIME")]
    session_idle: Option<String>,
    #[command(flatten)]
    identity: IdentityFlags,
    /// Longest lifetime of tokens that signed-in users create, up to 365d [default: 90d]
    #[arg(long, env = "DOCENT_MAX_TOKEN_TTL", value_name = "DURATION")]
    max_token_ttl: Option<String>,
    /// File with the initial password of the user datahub [default: generated and printed]
    #[arg(long, env = "DOCENT_ADMIN_PASSWORD_FILE", value_name = "FILE")]
    admin_password_file: Option<PathBuf>,
    /// File with the key that encrypts secrets, 32 bytes in base64 [default: no secrets]
    #[arg(long, env = "DOCENT_SECRET_KEY_FILE", value_name = "FILE")]
    secret_key_file: Option<PathBuf>,
    /// File with the key that was used before, to decrypt what it encrypted [default: none]
    #[arg(long, env = "DOCENT_PREVIOUS_SECRET_KEY_FILE", value_name = "FILE")]
    previous_secret_key_file: Option<PathBuf>,
    /// Private address or network (CIDR) to which webhooks may send events, besides public ones;
    /// repeatable [default: none]
    #[arg(
        long,
        env = "DOCENT_WEBHOOK_ALLOW_PRIVATE",
        value_name = "CIDR",
        value_delimiter = ','
    )]
    webhook_allow_private: Option<Vec<String>>,
    /// How long the events of webhooks are sent again before they become dead letters [default:
    /// 24h]
    #[arg(long, env = "DOCENT_WEBHOOK_RETRY", value_name = "TIME")]
    webhook_retry: Option<String>,
    /// Load a sample catalog into an empty store, and print a token
    #[arg(long, env = "DOCENT_DEMO", num_args = 0..=1, default_missing_value = "true", value_name = "true|false",
          value_parser = clap::builder::BoolishValueParser::new())]
    demo: Option<bool>,
    /// Directory of the search index, rebuilt if it is missing [default: next to the SQLite file,
    /// or docent-search]
    #[arg(long, env = "DOCENT_SEARCH_INDEX", value_name = "DIRECTORY")]
    search_index: Option<PathBuf>,
    /// How many days the audit log is kept, or forever [default: 365]
    #[arg(long, env = "DOCENT_AUDIT_RETENTION", value_name = "DAYS|forever")]
    audit_retention: Option<String>,
    #[command(flatten)]
    backup: BackupFlags,
    #[command(flatten)]
    otlp: OtlpFlags,
    /// Log filter, for example info or docent=debug [default: info]
    #[arg(long, env = "DOCENT_LOG", value_name = "FILTER")]
    log: Option<String>,
    /// Log format [default: text]
    #[arg(long, env = "DOCENT_LOG_FORMAT", value_name = "text|json")]
    log_format: Option<LogFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Switch {
    On,
    Off,
}

/// What agents may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AgentChanges {
    Allow,
    Propose,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// The TOML file. Unknown keys are errors.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    store: Option<String>,
    listen: Option<String>,
    ui_listen: Option<String>,
    metrics_listen: Option<String>,
    frontend: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    auth: Option<Switch>,
    trusted_proxy: Option<Vec<String>>,
    allowed_host: Option<Vec<String>>,
    address_rate_limit: Option<String>,
    token_rate_limit: Option<String>,
    address_connections: Option<usize>,
    request_timeout: Option<String>,
    slow_ms: Option<TextOrNumber>,
    max_token_ttl: Option<String>,
    default_role: Option<String>,
    view_policies: Option<Switch>,
    agent_writes: Option<AgentChanges>,
    session_ttl: Option<String>,
    session_idle: Option<String>,
    public_url: Option<String>,
    #[serde(default)]
    oidc: Vec<ProviderTable>,
    #[serde(default)]
    jwt: Vec<IssuerTable>,
    admin_password_file: Option<PathBuf>,
    secret_key_file: Option<PathBuf>,
    previous_secret_key_file: Option<PathBuf>,
    webhook_allow_private: Option<Vec<String>>,
    webhook_retry: Option<String>,
    demo: Option<bool>,
    search_index: Option<PathBuf>,
    audit_retention: Option<TextOrNumber>,
    backup_to: Option<String>,
    backup_every: Option<String>,
    backup_keep: Option<u16>,
    backup_wal_every: Option<String>,
    otlp: Option<String>,
    otlp_sample: Option<f64>,
    otlp_headers_file: Option<PathBuf>,
    log: Option<String>,
    log_format: Option<LogFormat>,
}

/// A value that users may write with or without quotes.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a number or a text")]
enum TextOrNumber {
    Number(i64),
    Text(String),
}

impl From<TextOrNumber> for String {
    fn from(value: TextOrNumber) -> Self {
        match value {
            TextOrNumber::Number(number) => number.to_string(),
            TextOrNumber::Text(text) => text,
        }
    }
}

/// The settings of `docent serve`.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) store: StoreUrl,
    pub(crate) listen: SocketAddr,
    pub(crate) ui_listen: Option<SocketAddr>,
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// A build of DataHub's web page; only with `ui_listen`.
    pub(crate) frontend: Option<PathBuf>,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) auth: Switch,
    pub(crate) trusted_proxies: Vec<IpNet>,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) address_rate_limit: Option<RateLimit>,
    pub(crate) token_rate_limit: Option<RateLimit>,
    pub(crate) address_connections: usize,
    pub(crate) request_timeout: RequestTimeout,
    /// `None` logs no slow requests.
    pub(crate) slow_requests: Option<Duration>,
    pub(crate) max_token_ttl_ms: Option<EpochMillis>,
    /// `None` gives users without a role no role.
    pub(crate) default_role: Option<String>,
    pub(crate) view_policies: Switch,
    pub(crate) agent_writes: AgentChanges,
    pub(crate) session_limits: SessionLimits,
    pub(crate) identity: IdentitySettings,
    pub(crate) admin_password_file: Option<PathBuf>,
    /// `None` if secrets cannot be stored.
    pub(crate) secret_keys: Option<SecretKeys>,
    /// Networks to which webhooks may send, besides public ones.
    pub(crate) webhook_networks: Vec<IpNet>,
    pub(crate) webhook_retry_ms: EpochMillis,
    pub(crate) demo: bool,
    pub(crate) search_index: PathBuf,
    /// `None` keeps the audit log forever.
    pub(crate) audit_retention_days: Option<u32>,
    /// `None` schedules no backups.
    pub(crate) backup: Option<BackupSettings>,
    /// `None` makes no traces.
    pub(crate) otlp: Option<OtlpSettings>,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
}

impl Settings {
    #[expect(clippy::too_many_lines, reason = "a few lines for each setting")]
    pub(crate) fn resolve(store: &StoreFlags, serve: ServeFlags) -> Result<Self> {
        let file = File::read(store.config.as_deref())?;
        let listen = serve.listen.or(file.listen);
        let listen = listen.as_deref().unwrap_or(DEFAULT_LISTEN);
        let ui_listen = serve.ui_listen.or(file.ui_listen);
        let metrics_listen = serve.metrics_listen.or(file.metrics_listen);
        let frontend = serve.frontend.or(file.frontend);
        ensure!(
            frontend.is_none() || ui_listen.is_some(),
            "--frontend needs an address of its own: set --ui-listen, for example to 127.0.0.1:9002"
        );
        let store = StoreUrl::parse(store.store.as_deref().or(file.store.as_deref()))?;
        let search_index = serve.search_index.or(file.search_index);
        let auth = serve.auth.or(file.auth).unwrap_or(Switch::On);
        Ok(Self {
            search_index: search_index.unwrap_or_else(|| store.search_index()),
            listen: parse_address(listen)?,
            ui_listen: ui_listen.as_deref().map(parse_address).transpose()?,
            metrics_listen: metrics_listen.as_deref().map(parse_address).transpose()?,
            frontend,
            tls: TlsFiles::resolve(
                serve.tls_cert.or(file.tls_cert),
                serve.tls_key.or(file.tls_key),
            )?,
            auth,
            trusted_proxies: serve
                .trusted_proxy
                .or(file.trusted_proxy)
                .unwrap_or_default()
                .iter()
                .map(|text| parse_network(text))
                .collect::<Result<_>>()?,
            allowed_hosts: serve
                .allowed_host
                .or(file.allowed_host)
                .unwrap_or_default()
                .into_iter()
                .map(parse_host)
                .collect::<Result<_>>()?,
            address_rate_limit: parse_rate(serve.address_rate_limit.or(file.address_rate_limit))?,
            token_rate_limit: parse_rate(serve.token_rate_limit.or(file.token_rate_limit))?,
            address_connections: parse_connections(
                serve.address_connections.or(file.address_connections),
            )?,
            request_timeout: parse_request_timeout(serve.request_timeout.or(file.request_timeout))?,
            slow_requests: parse_slow_ms(
                serve.slow_ms.or(file.slow_ms.map(String::from)).as_deref(),
            )?,
            max_token_ttl_ms: serve
                .max_token_ttl
                .or(file.max_token_ttl)
                .map(|text| parse_token_ttl(&text))
                .transpose()?,
            default_role: parse_role(serve.default_role.or(file.default_role)),
            view_policies: parse_view_policies(serve.view_policies.or(file.view_policies), auth)?,
            agent_writes: serve
                .agent_writes
                .or(file.agent_writes)
                .unwrap_or(AgentChanges::Allow),
            session_limits: session_limits::parse(
                serve.session_ttl.or(file.session_ttl).as_deref(),
                serve.session_idle.or(file.session_idle).as_deref(),
            )?,
            identity: IdentitySettings::resolve(
                &serve.identity,
                file.public_url,
                file.oidc,
                file.jwt,
            )?,
            admin_password_file: serve.admin_password_file.or(file.admin_password_file),
            secret_keys: secret_keys::read(
                serve.secret_key_file.or(file.secret_key_file),
                serve
                    .previous_secret_key_file
                    .or(file.previous_secret_key_file),
            )?,
            webhook_networks: serve
                .webhook_allow_private
                .or(file.webhook_allow_private)
                .unwrap_or_default()
                .iter()
                .map(|text| parse_network(text))
                .collect::<Result<_>>()?,
            webhook_retry_ms: parse_webhook_retry(serve.webhook_retry.or(file.webhook_retry))?,
            demo: serve.demo.or(file.demo).unwrap_or(false),
            audit_retention_days: parse_retention(
                serve
                    .audit_retention
                    .or(file.audit_retention.map(String::from)),
            )?,
            backup: BackupSettings::resolve(
                serve.backup.or(BackupFlags {
                    backup_to: file.backup_to,
                    backup_every: file.backup_every,
                    backup_keep: file.backup_keep,
                    backup_wal_every: file.backup_wal_every,
                }),
                &store,
            )?,
            otlp: OtlpSettings::resolve(serve.otlp.or(OtlpFlags::new(
                file.otlp,
                file.otlp_sample,
                file.otlp_headers_file,
            )))?,
            store,
            log: parse_log(serve.log.or(file.log))?,
            log_format: serve
                .log_format
                .or(file.log_format)
                .unwrap_or(LogFormat::Text),
        })
    }
}

impl StoreFlags {
    /// The store, for commands that need no other setting.
    pub(crate) fn url(&self) -> Result<StoreUrl> {
        let file = File::read(self.config.as_deref())?;
        StoreUrl::parse(self.store.as_deref().or(file.store.as_deref()))
    }
}

impl File {
    fn read(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the settings file {}", path.display()))?;
        toml::from_str(&text).map_err(|error| {
            let explained = file_errors::explain(&error, &text);
            anyhow!("the settings file {} is invalid{explained}", path.display())
        })
    }
}

/// The id of a role; the word `none` means no role.
fn parse_role(text: Option<String>) -> Option<String> {
    let role = text.unwrap_or_else(|| DEFAULT_ROLE.to_owned());
    (role != "none").then_some(role)
}

/// Whether callers see only what policies let them view. Without authentication there are no
/// callers to tell apart.
fn parse_view_policies(text: Option<Switch>, auth: Switch) -> Result<Switch> {
    let view_policies = text.unwrap_or(Switch::Off);
    if view_policies == Switch::On && auth == Switch::Off {
        bail!("--view-policies on needs authentication: remove --auth off");
    }
    Ok(view_policies)
}

/// A rate of requests; the word `off` means any rate.
fn parse_rate(text: Option<String>) -> Result<Option<RateLimit>> {
    let Some(text) = text.filter(|text| text != "off") else {
        return Ok(None);
    };
    let rate = text.parse().map_err(|()| {
        anyhow!("'{text}' is not a rate of requests: use for example 100/s, 600/m, 10000/h or off")
    })?;
    Ok(Some(rate))
}

/// The connections of one address.
fn parse_connections(count: Option<usize>) -> Result<usize> {
    let limits = ConnectionLimits::default();
    let count = count.unwrap_or(limits.per_address);
    if count == 0 || count > limits.total {
        bail!(
            "--address-connections is {count}: use a number from 1 to {}",
            limits.total
        );
    }
    Ok(count)
}

/// The time for a request.
fn parse_request_timeout(text: Option<String>) -> Result<RequestTimeout> {
    let Some(text) = text else {
        return Ok(RequestTimeout::default());
    };
    parse_duration_ms(&text)
        .and_then(|ms| u64::try_from(ms).ok())
        .map(Duration::from_millis)
        .filter(|timeout| REQUEST_TIMEOUTS.contains(timeout))
        .map(RequestTimeout)
        .with_context(|| {
            format!("'{text}' is not a time for requests: use for example 30s, from 1s to 10m")
        })
}

/// A threshold in milliseconds, or `off`.
fn parse_slow_ms(text: Option<&str>) -> Result<Option<Duration>> {
    match text {
        None => Ok(Some(DEFAULT_SLOW)),
        Some("off") => Ok(None),
        Some(text) => {
            let number = text.parse().ok().filter(|number| *number > 0);
            let number = number.with_context(|| {
                format!("'{text}' is not a number of milliseconds: use for example 1000, or off")
            })?;
            Ok(Some(Duration::from_millis(number)))
        }
    }
}

/// A log filter, which is kept as it was written.
fn parse_log(text: Option<String>) -> Result<String> {
    let text = text.unwrap_or_else(|| "info".to_owned());
    log_filter::parse(&text)?;
    Ok(text)
}

/// A duration of at most a year.
fn parse_token_ttl(text: &str) -> Result<EpochMillis> {
    parse_duration_ms(text)
        .filter(|ttl_ms| *ttl_ms <= MAX_ISSUED_TTL_MS)
        .with_context(|| {
            format!("'{text}' is not a lifetime of tokens: use for example 30d, and at most 365d")
        })
}

/// How long events are sent again, at most a week.
fn parse_webhook_retry(text: Option<String>) -> Result<EpochMillis> {
    let Some(text) = text else {
        return Ok(DeliverySettings::default().give_up_ms);
    };
    parse_duration_ms(&text)
        .filter(|retry_ms| *retry_ms <= MAX_WEBHOOK_RETRY_MS)
        .with_context(|| {
            format!(
                "'{text}' is not a time for retries of webhooks: use for example 24h, from 1s to 7d"
            )
        })
}

/// The days that the audit log is kept; `None` for the word `forever`.
fn parse_retention(text: Option<String>) -> Result<Option<u32>> {
    let Some(text) = text else {
        return Ok(Some(DEFAULT_RETENTION_DAYS));
    };
    if text == "forever" {
        return Ok(None);
    }
    let days = text.parse().ok().filter(|days| *days > 0);
    days.map(Some).with_context(|| {
        format!(
            "'{text}' is not a number of days for --audit-retention: use for example 90, or forever"
        )
    })
}

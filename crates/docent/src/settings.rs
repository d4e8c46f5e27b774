//! Settings from a TOML file, `DOCENT_…` variables and flags, in increasing precedence.
//!
//! To add one, extend [`ServeFlags`], [`File`] and [`Settings::resolve`]. See
//! docs/adding-a-setting.md.

mod file_errors;
mod identity;
mod session_limits;
mod store_url;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use docent_catalog::sessions::SessionLimits;
use ipnet::IpNet;
use serde::Deserialize;

pub(crate) use identity::IdentitySettings;
use identity::{IdentityFlags, IssuerTable, ProviderTable};
pub(crate) use store_url::StoreUrl;

const DEFAULT_ROLE: &str = "Editor";
const DEFAULT_LISTEN: &str = "127.0.0.1:8080";

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
    /// Certificate chain for HTTPS, in PEM form, with --tls-key; reread when it changes [default:
    /// plain HTTP]
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
    /// Role of users that have none: Admin, Editor, Reader, another role, or none [default: Editor]
    #[arg(long, env = "DOCENT_DEFAULT_ROLE", value_name = "ROLE")]
    default_role: Option<String>,
    /// Time after which a session ends: for example 12h or 7d [default: 24h]
    #[arg(long, env = "DOCENT_SESSION_TTL", value_name = "TIME")]
    session_ttl: Option<String>,
    /// Time without requests after which a session ends: for example 30m, or none [default: none]
    #[arg(long, env = "DOCENT_SESSION_IDLE", value_name = "TIME")]
    session_idle: Option<String>,
    #[command(flatten)]
    identity: IdentityFlags,
    /// File with the initial password of the user datahub [default: generated and printed]
    #[arg(long, env = "DOCENT_ADMIN_PASSWORD_FILE", value_name = "FILE")]
    admin_password_file: Option<PathBuf>,
    /// Load a sample catalog into an empty store, and print a token
    #[arg(long, env = "DOCENT_DEMO", num_args = 0..=1, default_missing_value = "true", value_name = "true|false",
          value_parser = clap::builder::BoolishValueParser::new())]
    demo: Option<bool>,
    /// Directory of the search index, rebuilt if it is missing [default: next to the SQLite file,
    /// or docent-search]
    #[arg(long, env = "DOCENT_SEARCH_INDEX", value_name = "DIRECTORY")]
    search_index: Option<PathBuf>,
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
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    auth: Option<Switch>,
    trusted_proxy: Option<Vec<String>>,
    allowed_host: Option<Vec<String>>,
    default_role: Option<String>,
    session_ttl: Option<String>,
    session_idle: Option<String>,
    public_url: Option<String>,
    #[serde(default)]
    oidc: Vec<ProviderTable>,
    #[serde(default)]
    jwt: Vec<IssuerTable>,
    admin_password_file: Option<PathBuf>,
    demo: Option<bool>,
    search_index: Option<PathBuf>,
    log: Option<String>,
    log_format: Option<LogFormat>,
}

/// The settings of `docent serve`.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) store: StoreUrl,
    pub(crate) listen: SocketAddr,
    pub(crate) ui_listen: Option<SocketAddr>,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) auth: Switch,
    pub(crate) trusted_proxies: Vec<IpNet>,
    pub(crate) allowed_hosts: Vec<String>,
    /// `None` gives users without a role no role.
    pub(crate) default_role: Option<String>,
    pub(crate) session_limits: SessionLimits,
    pub(crate) identity: IdentitySettings,
    pub(crate) admin_password_file: Option<PathBuf>,
    pub(crate) demo: bool,
    pub(crate) search_index: PathBuf,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
}

impl Settings {
    pub(crate) fn resolve(store: &StoreFlags, serve: ServeFlags) -> Result<Self> {
        let file = File::read(store.config.as_deref())?;
        let listen = serve.listen.or(file.listen);
        let listen = listen.as_deref().unwrap_or(DEFAULT_LISTEN);
        let ui_listen = serve.ui_listen.or(file.ui_listen);
        let store = StoreUrl::parse(store.store.as_deref().or(file.store.as_deref()))?;
        let search_index = serve.search_index.or(file.search_index);
        Ok(Self {
            search_index: search_index.unwrap_or_else(|| store.search_index()),
            store,
            listen: parse_address(listen)?,
            ui_listen: ui_listen.as_deref().map(parse_address).transpose()?,
            tls: TlsFiles::resolve(
                serve.tls_cert.or(file.tls_cert),
                serve.tls_key.or(file.tls_key),
            )?,
            auth: serve.auth.or(file.auth).unwrap_or(Switch::On),
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
            default_role: parse_role(serve.default_role.or(file.default_role)),
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
            demo: serve.demo.or(file.demo).unwrap_or(false),
            log: serve.log.or(file.log).unwrap_or_else(|| "info".to_owned()),
            log_format: serve
                .log_format
                .or(file.log_format)
                .unwrap_or(LogFormat::Text),
        })
    }
}

/// The files for HTTPS.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl TlsFiles {
    fn resolve(certificate: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<Self>> {
        match (certificate, key) {
            (Some(certificate), Some(key)) => Ok(Some(Self { certificate, key })),
            (None, None) => Ok(None),
            (Some(_), None) => {
                bail!("--tls-cert needs --tls-key, the private key of the certificate")
            }
            (None, Some(_)) => bail!("--tls-key needs --tls-cert, the certificate of the key"),
        }
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

/// A network, or a single address.
fn parse_network(text: &str) -> Result<IpNet> {
    let network = text.parse().ok();
    network
        .or_else(|| Some(IpNet::from(text.parse::<IpAddr>().ok()?)))
        .with_context(|| {
            format!("'{text}' is not a network: use for example 10.0.0.0/8 or 192.0.2.1")
        })
}

/// A host name without a port.
fn parse_host(name: String) -> Result<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_part) {
        bail!("'{name}' is not a host name: use for example docent.example.com, without a port");
    }
    Ok(name)
}

/// Accepts host names, such as `localhost:8080`, as well as addresses.
fn parse_address(text: &str) -> Result<SocketAddr> {
    use std::net::ToSocketAddrs;
    text.to_socket_addrs()
        .ok()
        .and_then(|mut addresses| addresses.next())
        .with_context(|| {
            format!("'{text}' is not an address to listen on: use for example 127.0.0.1:8080")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, StoreFlags) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("docent.toml");
        std::fs::write(&path, text).unwrap();
        let flags = StoreFlags {
            store: None,
            config: Some(path),
        };
        (directory, flags)
    }

    #[test]
    fn flags_take_precedence_over_the_file_and_the_file_over_defaults() {
        let (_directory, mut store) = file("listen = '127.0.0.1:9000'\nstore = 'sqlite:a.db'\n");
        let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
        assert_eq!(settings.listen.port(), 9000);
        assert_eq!(settings.store.to_string(), "sqlite:a.db");
        assert_eq!(settings.auth, Switch::On);
        store.store = Some("sqlite:b.db".to_owned());
        let flags = ServeFlags {
            auth: Some(Switch::Off),
            ..ServeFlags::default()
        };
        let settings = Settings::resolve(&store, flags).unwrap();
        assert_eq!(settings.store.to_string(), "sqlite:b.db");
        assert_eq!(settings.auth, Switch::Off);
    }

    #[test]
    fn sessions_last_a_day_unless_set() {
        let (_directory, store) = file("");
        let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
        assert_eq!(settings.session_limits, SessionLimits::default());
        let (_directory, store) = file("session-ttl = '12h'\nsession-idle = '1h'\n");
        let flags = ServeFlags {
            session_idle: Some("30m".to_owned()),
            ..ServeFlags::default()
        };
        let settings = Settings::resolve(&store, flags).unwrap();
        assert_eq!(settings.session_limits.absolute_ms, 12 * 60 * 60_000);
        assert_eq!(settings.session_limits.idle_ms, Some(30 * 60_000));
    }

    #[test]
    fn there_is_no_second_address_by_default() {
        let (_directory, store) = file("");
        let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
        assert_eq!(settings.ui_listen, None);
        let (_directory, store) =
            file("ui-listen = '127.0.0.1:9002'\nadmin-password-file = 'secret'\n");
        let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
        assert_eq!(settings.ui_listen.map(|address| address.port()), Some(9002));
        assert_eq!(settings.admin_password_file, Some(PathBuf::from("secret")));
        let flags = ServeFlags {
            ui_listen: Some("9002".to_owned()),
            ..ServeFlags::default()
        };
        let error = Settings::resolve(&store, flags).unwrap_err().to_string();
        assert!(error.contains("'9002' is not an address"), "{error}");
    }

    #[test]
    fn https_needs_a_certificate_and_a_key() {
        let (_directory, store) = file("tls-cert = 'chain.pem'\n");
        let error = Settings::resolve(&store, ServeFlags::default()).unwrap_err();
        assert!(error.to_string().contains("--tls-key"), "{error}");
        let flags = ServeFlags {
            tls_key: Some(PathBuf::from("key.pem")),
            ..ServeFlags::default()
        };
        let settings = Settings::resolve(&store, flags.clone()).unwrap();
        let expected = TlsFiles {
            certificate: PathBuf::from("chain.pem"),
            key: PathBuf::from("key.pem"),
        };
        assert_eq!(settings.tls, Some(expected));
        let (_directory, store) = file("");
        let error = Settings::resolve(&store, flags).unwrap_err();
        assert!(error.to_string().contains("--tls-cert"), "{error}");
    }

    #[test]
    fn trusted_proxies_and_allowed_hosts_are_lists() {
        let (_directory, store) =
            file("trusted-proxy = ['10.0.0.0/8', '::1']\nallowed-host = ['docent.example']\n");
        let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
        let proxies = ["10.0.0.0/8", "::1/128"].map(|network| network.parse().unwrap());
        assert_eq!(settings.trusted_proxies, proxies);
        assert_eq!(settings.allowed_hosts, ["docent.example"]);
        let flags = ServeFlags {
            trusted_proxy: Some(vec!["192.0.2.1".to_owned()]),
            ..ServeFlags::default()
        };
        let settings = Settings::resolve(&store, flags).unwrap();
        assert_eq!(settings.trusted_proxies, ["192.0.2.1/32".parse().unwrap()]);
        for (proxy, host, says) in [
            (Some("10.0.0.0/33"), None, "'10.0.0.0/33' is not a network"),
            (Some("proxy.example"), None, "use for example 10.0.0.0/8"),
            (None, Some("docent.example:8080"), "without a port"),
            (None, Some(""), "'' is not a host name"),
        ] {
            let flags = ServeFlags {
                trusted_proxy: proxy.map(|text| vec![text.to_owned()]),
                allowed_host: host.map(|text| vec![text.to_owned()]),
                ..ServeFlags::default()
            };
            let error = Settings::resolve(&store, flags).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn the_search_index_is_next_to_the_target_of_a_symlink() {
        let (directory, mut store) = file("");
        let directory = directory.path().canonicalize().unwrap();
        let link = directory.join("link.db");
        std::os::unix::fs::symlink("docent.db", &link).unwrap();
        store.store = Some(format!("sqlite:{}", link.display()));
        let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
        assert_eq!(settings.search_index, directory.join("docent.db-search"));
    }

    #[test]
    fn errors_in_the_file_say_what_to_write() {
        for (text, expected) in [
            (
                "lissten = '127.0.0.1:9000'\n",
                "line 1, column 1: unknown key 'lissten'; the keys are store, listen, ui-listen,",
            ),
            (
                "demo = true\nauth = 'nope'\n",
                "line 2, column 8: 'nope' is not a value of auth; use on or off",
            ),
            (
                "store = 'x'\nauth = \"a@b\"\n",
                "line 2, column 8: the value of auth is invalid; use on or off",
            ),
            ("demo = 'a:b'", "line 1, column 8: expected a boolean"),
            (
                "store = \"sqlite:docent.db\n",
                ": this is not valid TOML; check quotes and brackets",
            ),
        ] {
            let (_directory, store) = file(text);
            let error = Settings::resolve(&store, ServeFlags::default()).unwrap_err();
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn invalid_store_urls_are_rejected_with_an_example() {
        for url in ["docent.db", "sqlite:", "sqlite::memory:", "mysql://x"] {
            let error = StoreUrl::parse(Some(url)).unwrap_err().to_string();
            assert!(error.contains("sqlite:"), "{url}: {error}");
        }
        assert_eq!(
            StoreUrl::parse(Some("sqlite:///tmp/x.db")).unwrap(),
            StoreUrl::Sqlite(PathBuf::from("/tmp/x.db"))
        );
    }

    #[test]
    fn messages_never_contain_the_password_of_the_store() {
        for url in [
            "postgres://ada:hunter2@db/catalog",
            "postgresql://ada:hunter2@db:5433/catalog?sslmode=require",
        ] {
            let parsed = StoreUrl::parse(Some(url)).unwrap();
            let shown = format!("{parsed} {parsed:?}");
            assert!(
                shown.contains("ada@db") && !shown.contains("hunter2"),
                "{shown}"
            );
        }
        for url in [
            "mysql://ada:hunter2@db/catalog",
            "sqlite:postgres://ada:hunter2@db/catalog",
            "sqlite://postgres://ada:hunter2@db/catalog",
            "postgres://ada:hunter2@db/catalog?pool_size=x",
        ] {
            let error = format!("{:#}", StoreUrl::parse(Some(url)).unwrap_err());
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}

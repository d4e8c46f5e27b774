//! The store URL: the address of the database and how to use it.
//!
//! `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full&pool_size=32`. Most parameters
//! of libpq are supported; [`OWN`] lists those that the driver does not parse. Client certificates
//! (`sslcert`, `sslkey`), libpq's own password files and service files are not supported. Unknown
//! parameters are rejected, never ignored.
//!
//! Neither the debug output nor any message contains the password.

use std::collections::HashSet;
use std::fmt::{self, Debug, Display, Write as _};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use docent_store::StoreError;
use percent_encoding::percent_decode_str;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// Parameters that the driver does not parse, with their valid values.
const OWN: [(&str, &str); 7] = [
    (
        "sslmode",
        "disable, prefer, require, verify-ca or verify-full",
    ),
    (
        "sslrootcert",
        "the path of a file with certificates in PEM format",
    ),
    (
        "search_path",
        "the name of a schema, or several separated by commas",
    ),
    ("pool_size", "a number from 2 to 1000"),
    ("pool_timeout", "a number of seconds from 1 to 600"),
    ("statement_timeout", "a number of seconds from 1 to 86400"),
    ("password_file", "the path of a file with the password"),
];

/// Parameters of libpq that the driver parses.
const DRIVER: [&str; 18] = [
    "host",
    "hostaddr",
    "port",
    "user",
    "password",
    "dbname",
    "options",
    "application_name",
    "connect_timeout",
    "target_session_attrs",
    "load_balance_hosts",
    "channel_binding",
    "sslnegotiation",
    "tcp_user_timeout",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
];

/// Parameters that may be repeated.
const REPEATABLE: [&str; 3] = ["host", "hostaddr", "port"];

const DEFAULT_POOL_SIZE: usize = 16;
const DEFAULT_POOL_TIMEOUT: Duration = Duration::from_secs(5);
const DEFAULT_STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an unreachable host stays unnoticed: the limit for unacknowledged data, and for idle
/// time before keepalives.
const UNREACHABLE_AFTER: Duration = Duration::from_secs(5);
/// The driver's default.
const DEFAULT_KEEPALIVES_IDLE: Duration = Duration::from_hours(2);
/// Limits how long a transaction holds its locks after its server was suspended or disconnected.
const IDLE_IN_TRANSACTION: &str = "5s";

/// A longer file is no password.
const MAX_PASSWORD_BYTES: u64 = 4096;

/// How strictly the certificate of the database is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Not at all: encryption without authentication.
    Unverified,
    /// Issued by a known authority.
    Authority,
    /// Issued by a known authority for the host name of the URL.
    AuthorityAndName,
}

/// The parsed store URL.
#[derive(Clone)]
pub struct Settings {
    pub(crate) driver: tokio_postgres::Config,
    pub(crate) trust: Trust,
    pub(crate) root_certificates: Option<PathBuf>,
    pub(crate) pool_size: usize,
    pub(crate) pool_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    search_path: Option<String>,
}

impl Settings {
    /// Whether the URL has the scheme of this engine.
    pub fn is_url(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Uses this password if the URL has none.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> Self {
        if self.driver.get_password().is_none() {
            self.driver.password(password);
        }
        self
    }

    /// Parses a URL. Errors do not repeat its values.
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut own: [Option<String>; OWN.len()] = Default::default();
        let mut others = Vec::new();
        let mut seen = HashSet::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            check_parameter(name, value, seen.insert(name))?;
            match OWN.iter().position(|(own, _)| *own == name) {
                Some(index) => {
                    let value = percent_decode_str(value).decode_utf8();
                    own[index] = Some(value.map_err(|_| invalid(index))?.into_owned());
                }
                None if DRIVER.contains(&name) => others.push(pair),
                // Part of an unescaped password, which must not be repeated.
                None if pair.contains('@') => return Err(invalid_url("")),
                None => return Err(unknown(name)),
            }
        }
        let [
            ssl_mode,
            root_certificates,
            search_path,
            pool_size,
            pool_timeout,
            statement_timeout,
            password_file,
        ] = &own;
        let mut driver = parse_driver(base, &others)?;
        if let Some(file) = password_file {
            add_password(&mut driver, Path::new(file))?;
        }
        let names_authorities = root_certificates.is_some();
        let (ssl_mode, trust) = match ssl_mode.as_deref() {
            // Silently ignoring the authorities would be insecure.
            None | Some("disable" | "prefer") if names_authorities => {
                return Err(StoreError::Rejected {
                    reason: "sslrootcert in the store URL has no effect without sslmode=verify-full: add that, or verify-ca \
                             if the certificate is for another host name"
                        .to_owned(),
                });
            }
            Some("require") if names_authorities => (SslMode::Require, Trust::Authority),
            Some("disable") => (SslMode::Disable, Trust::Unverified),
            None | Some("prefer") => (SslMode::Prefer, Trust::Unverified),
            Some("require") => (SslMode::Require, Trust::Unverified),
            Some("verify-ca") => (SslMode::Require, Trust::Authority),
            Some("verify-full") => (SslMode::Require, Trust::AuthorityAndName),
            Some(_) => return Err(invalid(0)),
        };
        driver.ssl_mode(ssl_mode);
        if driver.get_application_name().is_none() {
            driver.application_name("docent");
        }
        // Of several hosts, only the primary accepts writes.
        if driver.get_hosts().len() > 1
            && driver.get_target_session_attrs() == TargetSessionAttrs::Any
        {
            driver.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if driver.get_connect_timeout().is_none() {
            driver.connect_timeout(DEFAULT_CONNECT_TIMEOUT);
        }
        if driver.get_tcp_user_timeout().is_none() {
            driver.tcp_user_timeout(UNREACHABLE_AFTER);
        }
        if driver.get_keepalives_idle() == DEFAULT_KEEPALIVES_IDLE {
            driver.keepalives_idle(UNREACHABLE_AFTER);
        }
        if driver.get_keepalives_interval().is_none() {
            driver.keepalives_interval(Duration::from_secs(1));
        }
        let number = |index: usize, text: &Option<String>, least: u64, most: u64| match text {
            None => Ok(None),
            Some(text) => match text.parse() {
                Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
                _ => Err(invalid(index)),
            },
        };
        let pool_size = number(3, pool_size, 2, 1000)?;
        let pool_timeout = number(4, pool_timeout, 1, 600)?;
        let statement_timeout = number(5, statement_timeout, 1, 86_400)?;
        let settings = Self {
            trust,
            root_certificates: root_certificates.as_ref().map(PathBuf::from),
            pool_size: pool_size.map_or(DEFAULT_POOL_SIZE, |size| {
                usize::try_from(size).unwrap_or(usize::MAX)
            }),
            pool_timeout: pool_timeout.map_or(DEFAULT_POOL_TIMEOUT, Duration::from_secs),
            statement_timeout: statement_timeout
                .map_or(DEFAULT_STATEMENT_TIMEOUT, Duration::from_secs),
            search_path: search_path.clone(),
            driver,
        };
        Ok(settings.with_session_options(search_path.as_deref()))
    }

    /// Settings for the watch, which needs a single connection.
    pub(crate) fn for_watch(&self) -> Self {
        let mut driver = self.driver.clone();
        if let Some(name) = self.driver.get_application_name() {
            driver.application_name(format!("{name} watch"));
        }
        Self {
            pool_size: 1,
            driver,
            ..self.clone()
        }
    }

    /// The same database with another schema for the tables.
    pub(crate) fn in_schema(&self, schema: &str) -> Self {
        let settings = Self {
            search_path: Some(schema.to_owned()),
            ..self.clone()
        };
        // Of options with the same name, the last one counts.
        settings.with_session_options(Some(schema))
    }

    /// How long connecting to one address may take.
    pub(crate) fn connect_timeout(&self) -> Duration {
        let given = self.driver.get_connect_timeout().copied();
        given.unwrap_or(DEFAULT_CONNECT_TIMEOUT)
    }

    /// Adds the options of every session.
    fn with_session_options(mut self, search_path: Option<&str>) -> Self {
        let mut options = self.driver.get_options().unwrap_or_default().to_owned();
        let mut set = |name: &str, value: &str| {
            // Only spaces and backslashes need escaping here.
            let value = value.replace('\\', "\\\\").replace(' ', "\\ ");
            let _ = write!(options, " -c {name}={value}");
        };
        let milliseconds = self.statement_timeout.as_millis().to_string();
        set("statement_timeout", &milliseconds);
        set("lock_timeout", &milliseconds);
        set("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION);
        set("TimeZone", "UTC");
        // Statements take arrays, whose contents do not affect the plan, and planning costs more
        // than reading a row.
        set("plan_cache_mode", "force_generic_plan");
        set("jit", "off");
        // A plan cached while a table was small would keep its sequential scan when the table has
        // grown. Every statement of a request has an index; statements that read everything scan
        // nevertheless.
        set("enable_seqscan", "off");
        if let Some(search_path) = search_path {
            set("search_path", search_path);
        }
        self.driver.options(options.trim());
        self
    }
}

/// Reads the password from a file, as orchestrators provide secrets.
fn add_password(driver: &mut tokio_postgres::Config, file: &Path) -> Result<(), StoreError> {
    let rejected = |reason: String| StoreError::Rejected { reason };
    if driver.get_password().is_some() {
        return Err(rejected(
            "the store URL has a password and a password_file: remove one of them".to_owned(),
        ));
    }
    // A relative path may be a password that was written here by mistake.
    let shown = if file.is_absolute() {
        format!(", {}", file.display())
    } else {
        String::new()
    };
    let mut text = String::new();
    fs::File::open(file)
        .and_then(|file| file.take(MAX_PASSWORD_BYTES).read_to_string(&mut text))
        .map_err(|error| {
            rejected(format!(
                "cannot read the password_file of the store URL{shown}: {error}"
            ))
        })?;
    // Editors end the line.
    let password = text.trim_end_matches(['\n', '\r']);
    if password.is_empty() || password.contains('\n') {
        return Err(rejected(
            "the password_file of the store URL must have one line: the password".to_owned(),
        ));
    }
    driver.password(password);
    Ok(())
}

fn parse_driver(base: &str, others: &[&str]) -> Result<tokio_postgres::Config, StoreError> {
    let url = format!("{base}?{}", others.join("&"));
    let parsed: Result<tokio_postgres::Config, _> = url.trim_end_matches('?').parse();
    let parsed = parsed.map_err(|error| {
        // The cause names a parameter, never a value.
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        invalid_url(&cause.map(|cause| format!(" ({cause})")).unwrap_or_default())
    })?;
    if parsed.get_hosts().is_empty() && parsed.get_hostaddrs().is_empty() {
        return Err(StoreError::Rejected {
            reason: "the store URL has no host: write it as postgres://USER:PASSWORD@HOST/DATABASE, or with the directory of \
                     a socket as postgres://USER@/DATABASE?host=/var/run/postgresql"
                .to_owned(),
        });
    }
    Ok(parsed)
}

/// Rejects repeated and empty parameters.
fn check_parameter(name: &str, value: &str, is_first: bool) -> Result<(), StoreError> {
    let is_known = OWN.iter().any(|(own, _)| *own == name) || DRIVER.contains(&name);
    let reason = if !is_known {
        // Reported by the caller.
        return Ok(());
    } else if !is_first && !REPEATABLE.contains(&name) {
        format!("{name} occurs more than once in the store URL")
    } else if value.is_empty() && name != "password" {
        format!("{name} in the store URL has no value: add one or remove it")
    } else {
        return Ok(());
    };
    Err(StoreError::Rejected { reason })
}

fn invalid_url(cause: &str) -> StoreError {
    StoreError::Rejected {
        reason: format!(
            "the store URL is invalid{cause}: write it as postgres://USER:PASSWORD@HOST/DATABASE, and in a password @ as \
             %40, : as %3A, / as %2F, ? as %3F, # as %23, & as %26 and % as %25"
        ),
    }
}

fn unknown(name: &str) -> StoreError {
    let own = OWN.iter().map(|(name, _)| *name);
    let known: Vec<&str> = own.chain(DRIVER).collect();
    StoreError::Rejected {
        reason: format!(
            "the parameter '{name}' in the store URL is unknown: use one of {}",
            known.join(", ")
        ),
    }
}

fn invalid(index: usize) -> StoreError {
    let (name, valid) = OWN[index];
    StoreError::Rejected {
        reason: format!("{name} in the store URL is invalid: use {valid}"),
    }
}

/// The URL without password and parameters.
impl Display for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("postgres://")?;
        if let Some(user) = self.driver.get_user() {
            write!(formatter, "{user}@")?;
        }
        let ports = self.driver.get_ports();
        for (index, host) in self.driver.get_hosts().iter().enumerate() {
            if index > 0 {
                formatter.write_str(",")?;
            }
            match host {
                Host::Tcp(name) => formatter.write_str(name)?,
                Host::Unix(path) => write!(formatter, "{}", path.display())?,
            }
            if let Some(port) = ports.get(index).or(ports.first()) {
                write!(formatter, ":{port}")?;
            }
        }
        write!(
            formatter,
            "/{}",
            self.driver.get_dbname().unwrap_or_default()
        )?;
        // Each schema of a database may hold a catalog.
        match &self.search_path {
            Some(search_path) => write!(formatter, "?search_path={search_path}"),
            None => Ok(()),
        }
    }
}

impl Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Settings({self})")
    }
}

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        self.driver == other.driver && self.trust == other.trust
    }
}

impl Eq for Settings {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_sets_every_option() {
        let settings = Settings::parse(
            "postgres://ada:secret@db.example:5433/catalog?sslmode=verify-full&pool_size=32&search_path=a,b%20c\
             &statement_timeout=7&connect_timeout=3",
        )
        .unwrap();
        assert_eq!(settings.pool_size, 32);
        assert_eq!(settings.trust, Trust::AuthorityAndName);
        assert_eq!(settings.driver.get_ssl_mode(), SslMode::Require);
        let options = settings.driver.get_options().unwrap();
        assert!(options.contains("-c search_path=a,b\\ c"), "{options}");
        assert!(options.contains("-c statement_timeout=7000"), "{options}");
        assert_eq!(
            settings.driver.get_connect_timeout(),
            Some(&Duration::from_secs(3))
        );
        assert_eq!(
            settings.to_string(),
            "postgres://ada@db.example:5433/catalog?search_path=a,b c"
        );
    }

    /// As in libpq, but certificates that would be ignored are rejected.
    #[test]
    fn sslrootcert_is_used_or_rejected_but_never_ignored() {
        let parse = |query: &str| Settings::parse(&format!("postgres://db.example/x?{query}"));
        let trust = |query: &str| parse(query).unwrap().trust;
        assert_eq!(trust("sslmode=require"), Trust::Unverified);
        assert_eq!(
            trust("sslmode=require&sslrootcert=ca.pem"),
            Trust::Authority
        );
        assert_eq!(
            trust("sslmode=verify-ca&sslrootcert=ca.pem"),
            Trust::Authority
        );
        assert_eq!(
            trust("sslmode=verify-full&sslrootcert=ca.pem"),
            Trust::AuthorityAndName
        );
        for query in ["", "sslmode=prefer&", "sslmode=disable&"] {
            let rejection = parse(&format!("{query}sslrootcert=ca.pem")).unwrap_err();
            assert!(rejection.to_string().contains("verify-full"), "{rejection}");
        }
        for query in ["sslcert=me.pem", "sslkey=me.key", "passfile=p", "service=s"] {
            let rejection = parse(query).unwrap_err().to_string();
            let name = query.split('=').next().unwrap();
            assert!(rejection.contains(name), "{rejection}");
        }
    }

    #[test]
    fn the_password_may_be_in_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        let parse = |base: &str| {
            let file = file.display();
            Settings::parse(&format!("{base}db.example/x?password_file={file}"))
        };
        let missing = parse("postgres://ada@").unwrap_err().to_string();
        assert!(
            missing.contains("cannot read the password_file"),
            "{missing}"
        );
        fs::write(&file, "p@ss word/1\n").unwrap();
        let settings = parse("postgres://ada@").unwrap().with_password("other");
        assert_eq!(settings.driver.get_password(), Some(&b"p@ss word/1"[..]));
        let twice = parse("postgres://ada:secret@").unwrap_err().to_string();
        assert!(twice.contains("remove one of them"), "{twice}");
        for text in ["", "\n", "one\ntwo\n"] {
            fs::write(&file, text).unwrap();
            let error = parse("postgres://ada@").unwrap_err().to_string();
            assert!(error.contains("must have one line"), "{error}");
        }
    }

    #[test]
    fn unreachable_hosts_are_noticed_after_five_seconds_by_default() {
        let times = |url: &str| {
            let driver = Settings::parse(url).unwrap().driver;
            let idle = driver.get_keepalives_idle();
            let interval = driver.get_keepalives_interval();
            [driver.get_tcp_user_timeout().copied(), Some(idle), interval]
                .map(|time| time.unwrap().as_secs())
        };
        assert_eq!(times("postgres://db.example/x"), [5, 5, 1]);
        let url =
            "postgres://db.example/x?tcp_user_timeout=9&keepalives_idle=8&keepalives_interval=7";
        assert_eq!(times(url), [9, 8, 7]);
    }

    #[test]
    fn a_url_without_a_host_or_a_socket_is_rejected() {
        for url in [
            "postgres://",
            "postgres:///catalog",
            "postgres://ada:hunter2@/catalog",
            "postgresql://ada@/catalog?port=5433",
        ] {
            let rejection = Settings::parse(url).unwrap_err().to_string();
            assert!(rejection.contains("has no host"), "{rejection}");
            assert!(!rejection.contains("hunter2"), "{rejection}");
        }
        for url in [
            "postgres:///catalog?host=/run/postgresql",
            "postgres://ada@/catalog?hostaddr=127.0.0.1",
            "postgres://%2Frun%2Fpostgresql/catalog",
        ] {
            Settings::parse(url).unwrap();
        }
    }

    #[test]
    fn repeated_and_empty_parameters_are_rejected() {
        let parse = |query: &str| Settings::parse(&format!("postgres://db.example/x?{query}"));
        for (query, message) in [
            ("pool_size=4&pool_size=5", "pool_size occurs more than once"),
            (
                "user=a&sslmode=require&user=b",
                "user occurs more than once",
            ),
            ("search_path=", "search_path in the store URL has no value"),
            ("sslrootcert", "sslrootcert in the store URL has no value"),
            ("host=", "host in the store URL has no value"),
        ] {
            let rejection = parse(query).unwrap_err().to_string();
            assert!(rejection.contains(message), "{rejection}");
        }
        parse("host=other.example&host=/run/postgresql&port=1,2&password=").unwrap();
    }

    #[test]
    fn messages_never_contain_the_password() {
        let url = "postgres://ada:hunter2@db.example/catalog";
        let settings = Settings::parse(url).unwrap();
        for text in [format!("{settings:?}"), settings.to_string()] {
            assert!(!text.contains("hunter2"), "{text}");
        }
        for parameter in [
            "?pool_size=0",
            "?sslmode=hunter2",
            "?statement_timeout=hunter2",
            "?no_such=hunter2",
            "?connect_timeout=hunter2",
            "?port=hunter2",
        ] {
            let error = Settings::parse(&format!("{url}{parameter}")).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(!text.contains("hunter2"), "{text}");
            let is_explained = text.contains("is invalid") || text.contains("is unknown");
            assert!(is_explained, "{text}");
        }
        let error = Settings::parse("postgres://ada:hunter2@[db/x").unwrap_err();
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}

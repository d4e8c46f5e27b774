//! Where the database is and how it is used, from one URL.
//!
//! `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full&pool_size=32`. Most of what PostgreSQL's own programs
//! take in such a URL is taken here, too; [`OWN`] lists what else there is. Certificates of ours (`sslcert`, `sslkey`) and
//! files with passwords or services are not; what is not known is refused, never passed over.
//!
//! The password stays in here: neither the debug output nor any message has it.

use std::collections::HashSet;
use std::fmt::{self, Debug, Display, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use docent_store::StoreError;
use percent_encoding::percent_decode_str;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// The parameters that the driver does not know, each with what its value must be.
const OWN: [(&str, &str); 6] = [
    (
        "sslmode",
        "disable, prefer, require, verify-ca or verify-full",
    ),
    (
        "sslrootcert",
        "the path of a file with certificates in PEM form",
    ),
    (
        "search_path",
        "the name of a schema, or several with commas",
    ),
    ("pool_size", "a number from 2 to 1000"),
    ("pool_timeout", "a number of seconds from 1 to 600"),
    ("statement_timeout", "a number of seconds from 1 to 86400"),
];

/// The parameters of PostgreSQL's own programs that the driver knows.
const DRIVERS: [&str; 18] = [
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

/// Those of which there may be several.
const LISTS: [&str; 3] = ["host", "hostaddr", "port"];

const DEFAULT_POOL_SIZE: usize = 16;
const DEFAULT_POOL_TIMEOUT: Duration = Duration::from_secs(5);
const DEFAULT_STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A database whose machine has vanished is noticed after this long: what was sent is not confirmed, or nobody answers
/// the question whether anybody is there.
const VANISHED: Duration = Duration::from_secs(5);
/// What the driver takes if nothing is said.
const LONG_IDLE: Duration = Duration::from_hours(2);
/// A transaction whose server has stopped in the middle of it must not keep its locks for long.
const IDLE_IN_TRANSACTION: &str = "5s";

/// How far the certificate of the database is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Encrypted, but by whomever.
    Anybody,
    /// A known authority says that it is somebody.
    Authority,
    /// A known authority says that it is the host that we asked for.
    Name,
}

/// A database, and how to use it.
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
    /// Whether the text is meant for this engine.
    pub fn is_url(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// The same with this password, if the URL has none.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> Self {
        if self.driver.get_password().is_none() {
            self.driver.password(password);
        }
        self
    }

    /// Reads a URL; what is wrong with it is said without repeating it.
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut own: [Option<String>; OWN.len()] = Default::default();
        let mut others = Vec::new();
        let mut seen = HashSet::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            expect_clear(name, value, seen.insert(name))?;
            match OWN.iter().position(|(own, _)| *own == name) {
                Some(at) => {
                    let value = percent_decode_str(value).decode_utf8();
                    own[at] = Some(value.map_err(|_| wrong(at))?.into_owned());
                }
                None if DRIVERS.contains(&name) => others.push(pair),
                // An '@' that does not belong there is one of a password.
                None if pair.contains('@') => return Err(not_right("")),
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
        ] = &own;
        let mut driver = parse_driver(base, &others)?;
        let names_authorities = root_certificates.is_some();
        let (ssl_mode, trust) = match ssl_mode.as_deref() {
            // Who names authorities wants them to be asked.
            None | Some("disable" | "prefer") if names_authorities => {
                return Err(StoreError::Refused {
                    reason: "sslrootcert in the store URL has no effect without sslmode=verify-full: write that, or verify-ca \
                             if the name in the certificate is another one"
                        .to_owned(),
                });
            }
            Some("require") if names_authorities => (SslMode::Require, Trust::Authority),
            Some("disable") => (SslMode::Disable, Trust::Anybody),
            None | Some("prefer") => (SslMode::Prefer, Trust::Anybody),
            Some("require") => (SslMode::Require, Trust::Anybody),
            Some("verify-ca") => (SslMode::Require, Trust::Authority),
            Some("verify-full") => (SslMode::Require, Trust::Name),
            Some(_) => return Err(wrong(0)),
        };
        driver.ssl_mode(ssl_mode);
        if driver.get_application_name().is_none() {
            driver.application_name("docent");
        }
        // Of several servers one can be written to: the one that the others follow.
        if driver.get_hosts().len() > 1
            && driver.get_target_session_attrs() == TargetSessionAttrs::Any
        {
            driver.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if driver.get_connect_timeout().is_none() {
            driver.connect_timeout(DEFAULT_CONNECT_TIMEOUT);
        }
        if driver.get_tcp_user_timeout().is_none() {
            driver.tcp_user_timeout(VANISHED);
        }
        if driver.get_keepalives_idle() == LONG_IDLE {
            driver.keepalives_idle(VANISHED);
        }
        if driver.get_keepalives_interval().is_none() {
            driver.keepalives_interval(Duration::from_secs(1));
        }
        let number = |at: usize, text: &Option<String>, least: u64, most: u64| match text {
            None => Ok(None),
            Some(text) => match text.parse() {
                Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
                _ => Err(wrong(at)),
            },
        };
        let pool_size = number(3, pool_size, 2, 1000)?;
        let pool_timeout = number(4, pool_timeout, 1, 600)?;
        let statement_timeout = number(5, statement_timeout, 1, 86_400)?;
        let settings = Self {
            trust,
            root_certificates: root_certificates.as_ref().map(PathBuf::from),
            pool_size: pool_size.map_or(DEFAULT_POOL_SIZE, |size| size as usize),
            pool_timeout: pool_timeout.map_or(DEFAULT_POOL_TIMEOUT, Duration::from_secs),
            statement_timeout: statement_timeout
                .map_or(DEFAULT_STATEMENT_TIMEOUT, Duration::from_secs),
            search_path: search_path.clone(),
            driver,
        };
        Ok(settings.with_session(search_path.as_deref()))
    }

    /// The same for somebody who needs one connection alone.
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

    /// How long one address of the database may take to let us in.
    pub(crate) fn connect_timeout(&self) -> Duration {
        let given = self.driver.get_connect_timeout().copied();
        given.unwrap_or(DEFAULT_CONNECT_TIMEOUT)
    }

    /// What every session is told when it begins.
    fn with_session(mut self, search_path: Option<&str>) -> Self {
        let mut options = self.driver.get_options().unwrap_or_default().to_owned();
        let mut set = |name: &str, value: &str| {
            // Spaces and backslashes are the only letters that mean something there.
            let value = value.replace('\\', "\\\\").replace(' ', "\\ ");
            let _ = write!(options, " -c {name}={value}");
        };
        let milliseconds = self.statement_timeout.as_millis().to_string();
        set("statement_timeout", &milliseconds);
        set("lock_timeout", &milliseconds);
        set("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION);
        set("TimeZone", "UTC");
        // Our statements take lists; their plans do not depend on what is in them, and making one takes longer than the
        // read of a row.
        set("plan_cache_mode", "force_generic_plan");
        set("jit", "off");
        // A plan that was made while a table was empty or small is kept when it has grown: there scanning all of it was
        // cheapest. Every statement on the way of a request has an index, and those that read everything have no choice.
        set("enable_seqscan", "off");
        if let Some(search_path) = search_path {
            set("search_path", search_path);
        }
        self.driver.options(options.trim());
        self
    }
}

fn parse_driver(base: &str, others: &[&str]) -> Result<tokio_postgres::Config, StoreError> {
    let url = format!("{base}?{}", others.join("&"));
    let parsed: Result<tokio_postgres::Config, _> = url.trim_end_matches('?').parse();
    let parsed = parsed.map_err(|error| {
        // The cause names a parameter, never a value.
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        not_right(&cause.map(|cause| format!(" ({cause})")).unwrap_or_default())
    })?;
    if parsed.get_hosts().is_empty() && parsed.get_hostaddrs().is_empty() {
        return Err(StoreError::Refused {
            reason: "the store URL names no host: write it like postgres://USER:PASSWORD@HOST/DATABASE, or with the directory \
                     of a socket like postgres://USER@/DATABASE?host=/var/run/postgresql"
                .to_owned(),
        });
    }
    Ok(parsed)
}

/// Refuses a parameter of which nobody knows what is meant.
fn expect_clear(name: &str, value: &str, is_first: bool) -> Result<(), StoreError> {
    let is_known = OWN.iter().any(|(own, _)| *own == name) || DRIVERS.contains(&name);
    let reason = if !is_known {
        // Whoever takes the parameters apart says what there is.
        return Ok(());
    } else if !is_first && !LISTS.contains(&name) {
        format!("{name} stands more than once in the store URL: leave one")
    } else if value.is_empty() && name != "password" {
        format!("{name} in the store URL has no value: write one, or leave it out")
    } else {
        return Ok(());
    };
    Err(StoreError::Refused { reason })
}

fn not_right(cause: &str) -> StoreError {
    StoreError::Refused {
        reason: format!(
            "the store URL is not right{cause}: write it like postgres://USER:PASSWORD@HOST/DATABASE, and in a password @ as \
             %40, : as %3A, / as %2F, ? as %3F, # as %23, & as %26 and % as %25"
        ),
    }
}

fn unknown(name: &str) -> StoreError {
    let own = OWN.iter().map(|(name, _)| *name);
    let known: Vec<&str> = own.chain(DRIVERS).collect();
    StoreError::Refused {
        reason: format!(
            "the parameter '{name}' in the store URL is not right: there are {}",
            known.join(", ")
        ),
    }
}

fn wrong(at: usize) -> StoreError {
    let (name, meaning) = OWN[at];
    StoreError::Refused {
        reason: format!("{name} in the store URL is not right: it is {meaning}"),
    }
}

/// The address, without the password.
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
        // There may be a catalog in each schema of a database.
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
    fn a_url_says_everything() {
        let settings = Settings::parse(
            "postgres://ada:secret@db.example:5433/catalog?sslmode=verify-full&pool_size=32&search_path=a,b%20c\
             &statement_timeout=7&connect_timeout=3",
        )
        .unwrap();
        assert_eq!(settings.pool_size, 32);
        assert_eq!(settings.trust, Trust::Name);
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

    /// As in PostgreSQL's own programs, only that what would not be looked at is refused.
    #[test]
    fn authorities_that_are_named_are_asked() {
        let parse = |query: &str| Settings::parse(&format!("postgres://db.example/x?{query}"));
        let trust = |query: &str| parse(query).unwrap().trust;
        assert_eq!(trust("sslmode=require"), Trust::Anybody);
        assert_eq!(
            trust("sslmode=require&sslrootcert=ca.pem"),
            Trust::Authority
        );
        assert_eq!(
            trust("sslmode=verify-ca&sslrootcert=ca.pem"),
            Trust::Authority
        );
        assert_eq!(trust("sslmode=verify-full&sslrootcert=ca.pem"), Trust::Name);
        for query in ["", "sslmode=prefer&", "sslmode=disable&"] {
            let refused = parse(&format!("{query}sslrootcert=ca.pem")).unwrap_err();
            assert!(refused.to_string().contains("verify-full"), "{refused}");
        }
        for query in ["sslcert=me.pem", "sslkey=me.key", "passfile=p", "service=s"] {
            let refused = parse(query).unwrap_err().to_string();
            let name = query.split('=').next().unwrap();
            assert!(refused.contains(name), "{refused}");
        }
    }

    #[test]
    fn a_machine_that_has_vanished_is_noticed_soon_unless_the_url_says_otherwise() {
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
    fn a_url_without_a_host_is_refused_and_one_with_a_socket_is_not() {
        for url in [
            "postgres://",
            "postgres:///catalog",
            "postgres://ada:hunter2@/catalog",
            "postgresql://ada@/catalog?port=5433",
        ] {
            let refused = Settings::parse(url).unwrap_err().to_string();
            assert!(refused.contains("names no host"), "{refused}");
            assert!(!refused.contains("hunter2"), "{refused}");
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
    fn a_setting_stands_once_and_has_a_value() {
        let parse = |query: &str| Settings::parse(&format!("postgres://db.example/x?{query}"));
        for (query, says) in [
            ("pool_size=4&pool_size=5", "pool_size stands more than once"),
            (
                "user=a&sslmode=require&user=b",
                "user stands more than once",
            ),
            ("search_path=", "search_path in the store URL has no value"),
            ("sslrootcert", "sslrootcert in the store URL has no value"),
            ("host=", "host in the store URL has no value"),
        ] {
            let refused = parse(query).unwrap_err().to_string();
            assert!(refused.contains(says), "{refused}");
        }
        parse("host=other.example&host=/run/postgresql&port=1,2&password=").unwrap();
    }

    #[test]
    fn a_password_is_never_repeated() {
        let url = "postgres://ada:hunter2@db.example/catalog";
        let settings = Settings::parse(url).unwrap();
        for text in [format!("{settings:?}"), settings.to_string()] {
            assert!(!text.contains("hunter2"), "{text}");
        }
        for wrong in [
            "?pool_size=0",
            "?sslmode=hunter2",
            "?statement_timeout=hunter2",
            "?no_such=hunter2",
            "?connect_timeout=hunter2",
            "?port=hunter2",
        ] {
            let error = Settings::parse(&format!("{url}{wrong}")).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(!text.contains("hunter2"), "{text}");
            assert!(text.contains("not right"), "{text}");
        }
        let error = Settings::parse("postgres://ada:hunter2@[db/x").unwrap_err();
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}

//! Settings: from a TOML file, from `DOCENT_…` variables, from flags; the later wins.
//!
//! To add one: a member of [`ServeFlags`] and of [`File`], and a line in [`Settings::resolve`] and in README's table.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::secret;

const DEFAULT_STORE: &str = "sqlite:docent.db";
const DEFAULT_LISTEN: &str = "127.0.0.1:8080";

/// Where everything is kept; every command has these.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct StoreFlags {
    // The value may have a password in it, which the help would show.
    #[arg(
        long,
        env = "DOCENT_STORE",
        value_name = "URL",
        global = true,
        hide_env_values = true,
        help = "The store: sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE [default: sqlite:docent.db]"
    )]
    pub(crate) store: Option<String>,
    /// A TOML file with settings; flags and DOCENT_… variables win over it
    #[arg(long, env = "DOCENT_CONFIG", value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct ServeFlags {
    /// The address to listen on [default: 127.0.0.1:8080]
    #[arg(long, env = "DOCENT_LISTEN", value_name = "ADDR")]
    listen: Option<String>,
    /// A second address to listen on; DataHub's clients sign in at port 9002 [default: none]
    #[arg(long, env = "DOCENT_UI_LISTEN", value_name = "ADDR")]
    ui_listen: Option<String>,
    /// Whether callers must show a token or sign in [default: on]
    #[arg(long, env = "DOCENT_AUTH", value_name = "on|off")]
    auth: Option<Switch>,
    /// The file with the first password of the user datahub [default: a random one is made and printed]
    #[arg(long, env = "DOCENT_ADMIN_PASSWORD_FILE", value_name = "FILE")]
    admin_password_file: Option<PathBuf>,
    /// Fill an empty store with a sample catalog, and print a token
    #[arg(long, env = "DOCENT_DEMO", num_args = 0..=1, default_missing_value = "true", value_name = "true|false",
          value_parser = clap::builder::BoolishValueParser::new())]
    demo: Option<bool>,
    /// The directory of the search index; it is made anew when it is lost [default: beside the SQLite file, or docent-search]
    #[arg(long, env = "DOCENT_SEARCH_INDEX", value_name = "DIRECTORY")]
    search_index: Option<PathBuf>,
    /// What to log, for example info or docent=debug [default: info]
    #[arg(long, env = "DOCENT_LOG", value_name = "FILTER")]
    log: Option<String>,
    /// How to write the log [default: text]
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

/// The TOML file. A key that we do not know is a mistake, not a wish.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    store: Option<String>,
    listen: Option<String>,
    ui_listen: Option<String>,
    auth: Option<Switch>,
    admin_password_file: Option<PathBuf>,
    demo: Option<bool>,
    search_index: Option<PathBuf>,
    log: Option<String>,
    log_format: Option<LogFormat>,
}

/// What `docent serve` runs with.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) store: StoreUrl,
    pub(crate) listen: SocketAddr,
    pub(crate) ui_listen: Option<SocketAddr>,
    pub(crate) auth: Switch,
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
            auth: serve.auth.or(file.auth).unwrap_or(Switch::On),
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

impl StoreFlags {
    /// The store alone, for commands that need nothing else.
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
            .with_context(|| format!("the settings file {} cannot be read", path.display()))?;
        toml::from_str(&text).map_err(|error| {
            let place = error.span().map(|span| place(&text, span.start));
            anyhow!(
                "the settings file {} is not right{}{}",
                path.display(),
                place.unwrap_or_default(),
                harmless(error.message())
            )
        })
    }
}

/// Where in a text a byte is, for a person.
fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let (line, column) = match before.rsplit_once('\n') {
        Some((lines, rest)) => (lines.matches('\n').count() + 2, rest),
        None => (1, before),
    };
    format!(" at line {line}, column {}", column.chars().count() + 1)
}

/// What the parser says, without what it quotes from the file: that may be a password. Names of settings may stay.
fn harmless(message: &str) -> String {
    let is_harmless = |text: &str| !text.contains(['"', '@', '/', ':']);
    let wished = message
        .rsplit_once(", expected ")
        .map(|(_, wished)| format!(": expected {wished}"));
    if is_harmless(message) {
        return format!(": {message}");
    }
    wished
        .filter(|wished| is_harmless(&wished[1..]))
        .unwrap_or_default()
}

/// `localhost:8080` and `[::1]:8080` are taken beside plain addresses.
fn parse_address(text: &str) -> Result<SocketAddr> {
    use std::net::ToSocketAddrs;
    text.to_socket_addrs()
        .ok()
        .and_then(|mut addresses| addresses.next())
        .with_context(|| {
            format!("'{text}' is not an address to listen on: write it like 127.0.0.1:8080")
        })
}

/// Which engine, and where its data is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    Sqlite(PathBuf),
    /// Its password is in neither its display nor its debug output.
    Postgres(Box<docent_store_postgres::Settings>),
}

impl StoreUrl {
    pub(crate) fn parse(url: Option<&str>) -> Result<Self> {
        let url = url.unwrap_or(DEFAULT_STORE);
        if let Some(path) = url.strip_prefix("sqlite:") {
            // sqlite:path and sqlite:///absolute/path are both in use.
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                bail!("the store URL '{url}' names no file: write it like sqlite:docent.db");
            }
            if path.contains("://") {
                // What follows is meant for another engine, and may have a password in it.
                bail!(
                    "the store URL has a URL behind 'sqlite:', where the path of a file belongs: write it like \
                     sqlite:docent.db or, without 'sqlite:', postgres://USER:PASSWORD@HOST/DATABASE"
                );
            }
            if path == ":memory:" {
                bail!(
                    "the store URL '{url}' means a store in memory, which would be lost with every command: \
                     name a file, like sqlite:docent.db"
                );
            }
            return Ok(Self::Sqlite(PathBuf::from(path)));
        }
        if docent_store_postgres::Settings::is_url(url) {
            return Ok(Self::Postgres(Box::new(secret::postgres(url)?)));
        }
        // Whatever it is, it may have a password in it.
        bail!(
            "the store URL is not understood: write it like sqlite:docent.db or \
             postgres://USER:PASSWORD@HOST/DATABASE"
        );
    }
}

impl StoreUrl {
    /// Where the search index is kept unless the operator says otherwise.
    fn search_index(&self) -> PathBuf {
        match self {
            Self::Sqlite(path) => {
                let mut name = docent_store_sqlite::real_path(path).into_os_string();
                name.push("-search");
                PathBuf::from(name)
            }
            Self::Postgres(_) => PathBuf::from("docent-search"),
        }
    }
}

impl std::fmt::Display for StoreUrl {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(path) => write!(formatter, "sqlite:{}", path.display()),
            Self::Postgres(settings) => write!(formatter, "{settings}"),
        }
    }
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
    fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
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
    fn the_second_address_is_off_unless_it_is_named() {
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
    fn the_search_index_is_beside_the_file_that_a_link_leads_to() {
        let (directory, mut store) = file("");
        let directory = directory.path().canonicalize().unwrap();
        let link = directory.join("link.db");
        std::os::unix::fs::symlink("docent.db", &link).unwrap();
        store.store = Some(format!("sqlite:{}", link.display()));
        let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
        assert_eq!(settings.search_index, directory.join("docent.db-search"));
    }

    #[test]
    fn a_key_that_is_not_a_setting_is_an_error_that_names_it() {
        let (_directory, store) = file("lissten = '127.0.0.1:9000'\n");
        let error = Settings::resolve(&store, ServeFlags::default()).unwrap_err();
        assert!(format!("{error:#}").contains("lissten"), "{error:#}");
    }

    #[test]
    fn store_urls_that_make_no_sense_say_how_to_write_them() {
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
    fn the_password_of_a_store_is_in_no_message() {
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

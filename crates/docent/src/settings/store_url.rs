//! The URL of a store.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::secret;

const DEFAULT_STORE: &str = "sqlite:docent.db";

/// A store engine and the location of its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    Sqlite(PathBuf),
    /// `Display` and `Debug` omit the password.
    Postgres(Box<docent_store_postgres::Settings>),
}

impl StoreUrl {
    pub(crate) fn parse(url: Option<&str>) -> Result<Self> {
        let url = url.unwrap_or(DEFAULT_STORE);
        if let Some(path) = url.strip_prefix("sqlite:") {
            // Both sqlite:path and sqlite:///absolute/path are common.
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                bail!("the store URL '{url}' has no path: use for example sqlite:docent.db");
            }
            if path.contains("://") {
                // The rest is a URL for another engine, and may contain a password.
                bail!(
                    "the store URL has a URL after 'sqlite:' instead of a path: use for example sqlite:docent.db, or \
                     postgres://USER:PASSWORD@HOST/DATABASE without 'sqlite:'"
                );
            }
            if path == ":memory:" {
                bail!(
                    "the store URL '{url}' is an in-memory store, which would be lost after every command: \
                     use a file, for example sqlite:docent.db"
                );
            }
            return Ok(Self::Sqlite(PathBuf::from(path)));
        }
        if docent_store_postgres::Settings::is_url(url) {
            return Ok(Self::Postgres(Box::new(secret::parse_postgres_url(url)?)));
        }
        // Not repeated, because it may contain a password.
        bail!(
            "the store URL is invalid: use for example sqlite:docent.db or \
             postgres://USER:PASSWORD@HOST/DATABASE"
        );
    }

    /// The default directory of the search index.
    pub(super) fn search_index(&self) -> PathBuf {
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

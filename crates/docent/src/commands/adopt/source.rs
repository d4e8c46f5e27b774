//! The databases that DataHub supports.
//!
//! To add one, extend each `match` here, and write a module that reads the rows from one snapshot,
//! ordered by aspect with the latest version first.

use std::fmt::{self, Display};

use anyhow::{Result, bail};
use docent_store_postgres::ForeignAspects;

use super::mysql::{self, MySqlAspects};
use crate::secret;

pub(super) use docent_store_postgres::ForeignAspect;

/// The URL of a DataHub database. `Display` and `Debug` omit the password.
#[derive(Debug)]
pub(super) enum SourceUrl {
    Postgres(Box<docent_store_postgres::Settings>),
    MySql(mysql::Settings),
}

impl SourceUrl {
    pub(super) fn parse(url: &str) -> Result<Self> {
        if docent_store_postgres::Settings::is_url(url) {
            return Ok(Self::Postgres(Box::new(secret::parse_postgres_url(url)?)));
        }
        if mysql::Settings::is_url(url) {
            secret::check_encoding(url)?;
            return Ok(Self::MySql(mysql::Settings::parse(url)?));
        }
        // Not repeated, because it may contain a password.
        bail!(
            "use a URL like postgres://USER:PASSWORD@HOST/DATABASE or mysql://USER:PASSWORD@HOST/DATABASE"
        );
    }
}

impl Display for SourceUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postgres(settings) => settings.fmt(formatter),
            Self::MySql(settings) => settings.fmt(formatter),
        }
    }
}

/// Reads all rows of a DataHub database.
#[derive(Debug)]
pub(super) enum Source {
    Postgres(Box<ForeignAspects>),
    MySql(Box<MySqlAspects>),
}

impl Source {
    pub(super) async fn open(url: &SourceUrl) -> Result<Self> {
        Ok(match url {
            SourceUrl::Postgres(settings) => {
                Self::Postgres(Box::new(ForeignAspects::open(settings).await?))
            }
            SourceUrl::MySql(settings) => {
                Self::MySql(Box::new(MySqlAspects::open(settings).await?))
            }
        })
    }

    pub(super) fn total(&self) -> u64 {
        match self {
            Self::Postgres(rows) => rows.total(),
            Self::MySql(rows) => rows.total(),
        }
    }

    pub(super) async fn next(&mut self) -> Result<Option<ForeignAspect>> {
        Ok(match self {
            Self::Postgres(rows) => rows.next().await?,
            Self::MySql(rows) => rows.next().await?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_displayed_without_their_password() {
        for url in [
            "postgres://ada:hunter2@db/datahub",
            "mysql://ada:hunter2@db/datahub?require_ssl=true",
            "mariadb://ada:hunter2@db:3307/datahub?verify_ca=false",
        ] {
            let parsed = SourceUrl::parse(url).unwrap();
            let shown = format!("{parsed} {parsed:?}");
            assert!(
                shown.contains("ada@db") && shown.contains("/datahub"),
                "{shown}"
            );
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn the_root_certificate_file_must_exist() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let url = format!(
            "mysql://ada@db/datahub?sslrootcert={}",
            file.path().display()
        );
        assert!(SourceUrl::parse(&url).is_ok());
        let error = SourceUrl::parse(&format!("{url}.not")).unwrap_err();
        assert!(error.to_string().contains("there is no file"), "{error}");
    }

    #[test]
    fn invalid_urls_are_rejected_with_an_example_and_without_the_password() {
        for url in [
            "sqlite:docent.db",
            "oracle://ada:hunter2@db/datahub",
            "mysql://ada:hunter2@db",
            "mysql://ada:hunter2@db:port/datahub",
            "mysql://ada:hunter2@db/datahub?wish=1",
        ] {
            let error = format!("{:#}", SourceUrl::parse(url).unwrap_err());
            assert!(
                error.contains("mysql://USER:PASSWORD@HOST/DATABASE"),
                "{error}"
            );
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}

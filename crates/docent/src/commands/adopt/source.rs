//! The databases that DataHub keeps its aspects in.
//!
//! To add one: an arm in each `match` here, and a module that gives out its rows aspect by aspect, the latest version of each first,
//! from one snapshot.

use std::fmt::{self, Display};

use anyhow::{Result, bail};
use docent_store_postgres::ForeignAspects;

use super::mysql::{self, MySqlAspects};
use crate::secret;

pub(super) use docent_store_postgres::ForeignAspect;

/// Where a DataHub database is. Its password is in neither its display nor its debug output.
#[derive(Debug)]
pub(super) enum SourceUrl {
    Postgres(Box<docent_store_postgres::Settings>),
    MySql(mysql::Settings),
}

impl SourceUrl {
    pub(super) fn parse(url: &str) -> Result<Self> {
        if docent_store_postgres::Settings::is_url(url) {
            return Ok(Self::Postgres(Box::new(secret::postgres(url)?)));
        }
        if mysql::Settings::is_url(url) {
            secret::check_encoding(url)?;
            return Ok(Self::MySql(mysql::Settings::parse(url)?));
        }
        // Whatever it is, it may have a password in it.
        bail!(
            "write the URL like postgres://USER:PASSWORD@HOST/DATABASE or mysql://USER:PASSWORD@HOST/DATABASE"
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

/// A walk over all rows of a DataHub database.
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
    fn a_url_is_shown_without_its_password() {
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
    fn authorities_are_read_from_a_file_that_is_there() {
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
    fn a_url_that_makes_no_sense_says_how_to_write_it_and_does_not_repeat_the_password() {
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

//! Scheduled backups.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use docent_model::parse_duration_ms;

use super::StoreUrl;

const DEFAULT_INTERVAL: Duration = Duration::from_hours(24);
const INTERVALS: RangeInclusive<Duration> = Duration::from_mins(1)..=Duration::from_hours(31 * 24);
const DEFAULT_KEEP: u16 = 14;
const WAL_INTERVALS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(1);

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct BackupFlags {
    #[arg(
        long,
        env = "DOCENT_BACKUP_TO",
        value_name = "PLACE",
        help = "Directory or s3://BUCKET/PREFIX for scheduled backups; of several servers on one database, one makes \
                them [default: none]"
    )]
    pub(super) backup_to: Option<String>,
    /// Time from one backup to the next [default: 24h]
    #[arg(long, env = "DOCENT_BACKUP_EVERY", value_name = "TIME")]
    pub(super) backup_every: Option<String>,
    /// Number of backups that are kept [default: 14]
    #[arg(long, env = "DOCENT_BACKUP_KEEP", value_name = "NUMBER")]
    pub(super) backup_keep: Option<u16>,
    /// Time between copies of SQLite's write-ahead log to the backups, from 1s to 1h, for
    /// point-in-time recovery [default: none]
    #[arg(long, env = "DOCENT_BACKUP_WAL_EVERY", value_name = "TIME")]
    pub(super) backup_wal_every: Option<String>,
}

impl BackupFlags {
    /// These flags, and for those that are missing the keys in the file.
    pub(super) fn or(self, file: Self) -> Self {
        Self {
            backup_to: self.backup_to.or(file.backup_to),
            backup_every: self.backup_every.or(file.backup_every),
            backup_keep: self.backup_keep.or(file.backup_keep),
            backup_wal_every: self.backup_wal_every.or(file.backup_wal_every),
        }
    }
}

/// When backups are made, and where they are kept.
#[derive(Debug, Clone)]
pub(crate) struct BackupSettings {
    /// A directory, or `s3://BUCKET/PREFIX`.
    pub(crate) place: String,
    pub(crate) interval: Duration,
    pub(crate) keep: usize,
    /// How often the write-ahead log is archived, if it is.
    pub(crate) wal_interval: Option<Duration>,
}

impl BackupSettings {
    /// `None` if no backups are scheduled.
    pub(super) fn resolve(flags: BackupFlags, store: &StoreUrl) -> Result<Option<Self>> {
        let BackupFlags {
            backup_to,
            backup_every,
            backup_keep,
            backup_wal_every,
        } = flags;
        let Some(place) = backup_to else {
            if backup_every.is_some() || backup_keep.is_some() || backup_wal_every.is_some() {
                bail!(
                    "--backup-every, --backup-keep and --backup-wal-every need --backup-to, the place of the backups"
                );
            }
            return Ok(None);
        };
        if backup_wal_every.is_some() && !matches!(store, StoreUrl::Sqlite(_)) {
            bail!(
                "--backup-wal-every is for SQLite: PostgreSQL archives its own log, see its documentation on \
                 continuous archiving"
            );
        }
        let keep = backup_keep.unwrap_or(DEFAULT_KEEP);
        ensure!(keep > 0, "--backup-keep is 0: keep at least one backup");
        Ok(Some(Self {
            place,
            interval: match &backup_every {
                Some(text) => parse_interval(text, INTERVALS).with_context(|| {
                    format!(
                        "'{text}' is not a time between backups: use for example 6h or 1d, from 1m to 31d"
                    )
                })?,
                None => DEFAULT_INTERVAL,
            },
            keep: usize::from(keep),
            wal_interval: match &backup_wal_every {
                Some(text) => Some(parse_interval(text, WAL_INTERVALS).with_context(|| {
                    format!(
                        "'{text}' is not a time between copies of the log: use for example 10s, from 1s to 1h"
                    )
                })?),
                None => None,
            },
        }))
    }
}

fn parse_interval(text: &str, allowed: RangeInclusive<Duration>) -> Option<Duration> {
    parse_duration_ms(text)
        .and_then(|ms| u64::try_from(ms).ok())
        .map(Duration::from_millis)
        .filter(|interval| allowed.contains(interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduled_backups_need_a_place_and_sensible_numbers() {
        let sqlite = StoreUrl::Sqlite("docent.db".into());
        let resolve = |to: Option<&str>, every: Option<&str>, keep| {
            let flags = BackupFlags {
                backup_to: to.map(ToOwned::to_owned),
                backup_every: every.map(ToOwned::to_owned),
                backup_keep: keep,
                backup_wal_every: None,
            };
            BackupSettings::resolve(flags, &sqlite)
        };
        assert!(resolve(None, None, None).unwrap().is_none());
        let settings = resolve(Some("/"), None, None).unwrap().unwrap();
        assert_eq!((settings.interval, settings.keep), (DEFAULT_INTERVAL, 14));
        for (to, every, keep, says) in [
            (None, Some("1h"), None, "need --backup-to"),
            (None, None, Some(3), "need --backup-to"),
            (Some("/"), Some("1s"), None, "'1s'"),
            (Some("/"), Some("daily"), None, "'daily'"),
            (Some("/"), None, Some(0), "at least one"),
        ] {
            let error = resolve(to, every, keep).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn the_log_is_archived_at_short_intervals_on_sqlite() {
        let sqlite = StoreUrl::Sqlite("docent.db".into());
        let postgres = StoreUrl::parse(Some("postgres://docent@localhost/docent")).unwrap();
        let resolve = |wal_every: &str, store| {
            let flags = BackupFlags {
                backup_to: Some("/".to_owned()),
                backup_wal_every: Some(wal_every.to_owned()),
                ..BackupFlags::default()
            };
            BackupSettings::resolve(flags, store)
        };
        let settings = resolve("10s", &sqlite).unwrap().unwrap();
        assert_eq!(settings.wal_interval, Some(Duration::from_secs(10)));
        for (every, store, says) in [
            ("0s", &sqlite, "'0s' is not a time between copies"),
            ("2h", &sqlite, "from 1s to 1h"),
            ("10s", &postgres, "for SQLite"),
        ] {
            let error = resolve(every, store).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}

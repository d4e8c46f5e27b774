//! Scheduled backups.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use docent_model::parse_duration_ms;

const DEFAULT_INTERVAL: Duration = Duration::from_hours(24);
const INTERVALS: RangeInclusive<Duration> = Duration::from_mins(1)..=Duration::from_hours(31 * 24);
const DEFAULT_KEEP: u16 = 14;

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
}

impl BackupFlags {
    /// These flags, and for those that are missing the keys in the file.
    pub(super) fn or(self, file: Self) -> Self {
        Self {
            backup_to: self.backup_to.or(file.backup_to),
            backup_every: self.backup_every.or(file.backup_every),
            backup_keep: self.backup_keep.or(file.backup_keep),
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
}

impl BackupSettings {
    /// `None` if no backups are scheduled.
    pub(super) fn resolve(flags: BackupFlags) -> Result<Option<Self>> {
        let BackupFlags {
            backup_to,
            backup_every,
            backup_keep,
        } = flags;
        let Some(place) = backup_to else {
            if backup_every.is_some() || backup_keep.is_some() {
                bail!(
                    "--backup-every and --backup-keep need --backup-to, the place of the backups"
                );
            }
            return Ok(None);
        };
        let keep = backup_keep.unwrap_or(DEFAULT_KEEP);
        ensure!(keep > 0, "--backup-keep is 0: keep at least one backup");
        Ok(Some(Self {
            place,
            interval: parse_interval(backup_every.as_deref())?,
            keep: usize::from(keep),
        }))
    }
}

fn parse_interval(text: Option<&str>) -> Result<Duration> {
    let Some(text) = text else {
        return Ok(DEFAULT_INTERVAL);
    };
    parse_duration_ms(text)
        .and_then(|ms| u64::try_from(ms).ok())
        .map(Duration::from_millis)
        .filter(|interval| INTERVALS.contains(interval))
        .with_context(|| {
            format!(
                "'{text}' is not a time between backups: use for example 6h or 1d, from 1m to 31d"
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduled_backups_need_a_place_and_sensible_numbers() {
        let resolve = |to: Option<&str>, every: Option<&str>, keep| {
            BackupSettings::resolve(BackupFlags {
                backup_to: to.map(ToOwned::to_owned),
                backup_every: every.map(ToOwned::to_owned),
                backup_keep: keep,
            })
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
}

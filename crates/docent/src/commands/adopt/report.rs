//! Counts imported and rejected rows, and writes the report of an import.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use docent_store::StoredAspect;
use serde_json::json;

use super::row_check::{Reason, Rejection};
use super::source::SourceUrl;
use super::trees::LostDomain;
use crate::settings::StoreUrl;

/// Examples per reason; further rows are only counted.
const EXAMPLES: usize = 5;

/// The names of a row in the table.
#[derive(Debug)]
pub(super) struct RowName<'r> {
    pub(super) urn: &'r str,
    pub(super) aspect: &'r str,
}

#[derive(Debug, Default)]
pub(super) struct Report {
    /// Rows of the table.
    pub(super) read: u64,
    pub(super) entities: u64,
    pub(super) aspects: u64,
    /// Earlier versions.
    pub(super) history: u64,
    /// Aspects that the store already had, and their earlier versions.
    pub(super) already: u64,
    pub(super) already_history: u64,
    pub(super) derived_keys: u64,
    /// Entities with white space around their URN.
    pub(super) padded: u64,
    /// Aspects whose latest version had no valid number.
    pub(super) numbered: u64,
    pub(super) unreadable_metadata: u64,
    /// Domains that cannot be reached from a root domain.
    pub(super) lost_domains: Vec<LostDomain>,
    rejected: BTreeMap<Reason, RejectedRows>,
    file: Option<ReportFile>,
}

#[derive(Debug, Default)]
struct RejectedRows {
    rows: u64,
    examples: Vec<String>,
}

#[derive(Debug)]
struct ReportFile {
    path: PathBuf,
    unfinished: PathBuf,
    lines: BufWriter<File>,
}

impl ReportFile {
    fn create(path: &Path) -> Result<Self> {
        if path.try_exists().unwrap_or(true) {
            bail!(
                "{} already exists; choose another file for the report",
                path.display()
            );
        }
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".unfinished");
        let unfinished = PathBuf::from(unfinished);
        let mut options = File::options();
        // Rejected rows may contain secrets.
        options.write(true).create(true).truncate(true).mode(0o600);
        let file = options
            .open(&unfinished)
            .with_context(|| format!("cannot write the report to {}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            unfinished,
            lines: BufWriter::new(file),
        })
    }

    fn finish(mut self) -> std::io::Result<()> {
        self.lines.flush()?;
        self.lines.get_ref().sync_all()?;
        fs::rename(&self.unfinished, &self.path)
    }
}

impl Report {
    /// Fails if the file exists. Until [`Report::finish`] it has a temporary name, so that an
    /// interrupted run does not block the next one.
    pub(super) fn new(path: Option<&Path>) -> Result<Self> {
        let file = path.map(ReportFile::create).transpose()?;
        Ok(Self {
            file,
            ..Self::default()
        })
    }

    pub(super) fn reject(
        &mut self,
        name: &RowName<'_>,
        row: &StoredAspect,
        rejection: &Rejection,
    ) -> Result<()> {
        let rejected = self.rejected.entry(rejection.reason).or_default();
        rejected.rows += 1;
        let RowName { urn, aspect } = name;
        if rejected.examples.len() < EXAMPLES {
            rejected.examples.push(format!(
                "version {} of {aspect} of {urn}: {}",
                row.version, rejection.detail
            ));
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let line = json!({
            "reason": rejection.reason.description(),
            "detail": rejection.detail,
            "urn": urn,
            "aspect": aspect,
            "version": row.version.get(),
            "metadata": row.metadata,
            "systemmetadata": row.system_metadata,
            "createdon": row.created_on_ms,
            "createdby": row.created_by,
            "createdfor": row.created_for,
        });
        writeln!(file.lines, "{line}").context("cannot write the report")
    }

    /// Completes the file.
    pub(super) fn finish(&mut self) -> Result<()> {
        match self.file.take() {
            Some(file) => file.finish().context("cannot write the report"),
            None => Ok(()),
        }
    }

    pub(super) fn summary(&self, from: &SourceUrl, to: &StoreUrl) -> String {
        let mut text = format!(
            "read {} rows of {from}\n\
             imported into {to}: {} entities, {} aspects and {} earlier versions",
            self.read, self.entities, self.aspects, self.history
        );
        if self.already > 0 {
            // Writing to a string never fails.
            let _ = write!(
                text,
                "\n{} aspects and {} earlier versions already existed",
                self.already, self.already_history
            );
        }
        let mut line = |count: u64, what: &str| {
            if count > 0 {
                let _ = write!(text, "\n{count} {what}");
            }
        };
        line(
            self.derived_keys,
            "entities had no key aspect: it was derived from the URN",
        );
        line(
            self.padded,
            "entities had white space around their URN: it was removed",
        );
        line(
            self.numbered,
            "aspects had no valid version number: they got the one after their history",
        );
        line(
            self.unreadable_metadata,
            "rows had unreadable system metadata: it was dropped",
        );
        line(
            u64::try_from(self.lost_domains.len()).unwrap_or(u64::MAX),
            "domains cannot be reached from a root domain; give them another parent, or none (moveDomain):",
        );
        for LostDomain {
            urn,
            parent,
            is_in_cycle,
        } in self.lost_domains.iter().take(EXAMPLES)
        {
            let why = if *is_in_cycle {
                "is its own ancestor, through its parent"
            } else {
                "has a missing parent,"
            };
            let _ = write!(text, "\n    {urn} {why} {parent}");
        }
        if self.lost_domains.len() > EXAMPLES {
            text.push_str("\n    …");
        }
        let rows: u64 = self.rejected.values().map(|rejected| rejected.rows).sum();
        if rows == 0 {
            text.push_str("\nno rows were rejected");
        } else {
            let _ = write!(text, "\nrejected: {rows} rows");
        }
        for (reason, rejected) in &self.rejected {
            let _ = write!(text, "\n  {} rows: {}", rejected.rows, reason.description());
            for example in &rejected.examples {
                let _ = write!(text, "\n    {example}");
            }
            if rejected.rows > u64::try_from(rejected.examples.len()).unwrap_or(u64::MAX) {
                text.push_str("\n    …");
            }
        }
        text.push_str(
            "\ntime series (profiles, usage, runs) are not in this database: DataHub stores them in its search cluster",
        );
        text
    }
}

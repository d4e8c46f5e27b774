//! What was taken, and what was refused and why.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use docent_store::StoredAspect;
use serde_json::json;

use super::judge::{Reason, Refusal};
use super::source::SourceUrl;
use super::trees::LostDomain;
use crate::settings::StoreUrl;

/// More of a kind are only counted.
const EXAMPLES: usize = 5;

/// Whose row it is, as it stands in the table.
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
    /// Former versions.
    pub(super) history: u64,
    /// Aspects that the store had already, and their former versions.
    pub(super) already: u64,
    pub(super) already_history: u64,
    pub(super) made_keys: u64,
    /// Entities whose URN had white space around it.
    pub(super) padded: u64,
    /// Aspects whose latest version did not say which it is.
    pub(super) numbered: u64,
    pub(super) unreadable_notes: u64,
    /// Domains that are not found in their tree.
    pub(super) lost_domains: Vec<LostDomain>,
    refused: BTreeMap<Reason, Refused>,
    file: Option<ReportFile>,
}

#[derive(Debug, Default)]
struct Refused {
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
                "{} exists already; choose another name for the report",
                path.display()
            );
        }
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".unfinished");
        let unfinished = PathBuf::from(unfinished);
        let mut options = File::options();
        // What is refused may hold secrets.
        options.write(true).create(true).truncate(true).mode(0o600);
        let file = options
            .open(&unfinished)
            .with_context(|| format!("the report cannot be written to {}", path.display()))?;
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
    /// Refuses a file that exists. Until [`Report::finish`] it has another name, so that a run that was stopped is in
    /// nobody's way.
    pub(super) fn new(path: Option<&Path>) -> Result<Self> {
        let file = path.map(ReportFile::create).transpose()?;
        Ok(Self {
            file,
            ..Self::default()
        })
    }

    pub(super) fn refuse(
        &mut self,
        name: &RowName<'_>,
        row: &StoredAspect,
        refusal: &Refusal,
    ) -> Result<()> {
        let refused = self.refused.entry(refusal.reason).or_default();
        refused.rows += 1;
        let RowName { urn, aspect } = name;
        if refused.examples.len() < EXAMPLES {
            refused.examples.push(format!(
                "version {} of {aspect} of {urn}: {}",
                row.version, refusal.detail
            ));
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let line = json!({
            "reason": refusal.reason.words(),
            "detail": refusal.detail,
            "urn": urn,
            "aspect": aspect,
            "version": row.version.get(),
            "metadata": row.metadata,
            "systemmetadata": row.system_metadata,
            "createdon": row.created_on_ms,
            "createdby": row.created_by,
            "createdfor": row.created_for,
        });
        writeln!(file.lines, "{line}").context("the report cannot be written")
    }

    /// Brings the file to its end.
    pub(super) fn finish(&mut self) -> Result<()> {
        match self.file.take() {
            Some(file) => file.finish().context("the report cannot be written"),
            None => Ok(()),
        }
    }

    /// For a person.
    pub(super) fn summary(&self, from: &SourceUrl, to: &StoreUrl) -> String {
        let mut text = format!(
            "read {} rows of {from}\n\
             taken into {to}: {} entities, {} aspects and {} former versions",
            self.read, self.entities, self.aspects, self.history
        );
        if self.already > 0 {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "\n{} aspects and {} former versions were there already",
                self.already, self.already_history
            );
        }
        let mut line = |count: u64, what: &str| {
            if count > 0 {
                let _ = write!(text, "\n{count} {what}");
            }
        };
        line(
            self.made_keys,
            "entities had no key aspect: it was made from the URN",
        );
        line(
            self.padded,
            "entities had white space around their URN: it was removed",
        );
        line(
            self.numbered,
            "aspects did not say which version they are: they got the number after their history",
        );
        line(
            self.unreadable_notes,
            "rows had system metadata that cannot be read: it was left out",
        );
        line(
            self.lost_domains.len() as u64,
            "domains are not found by going down the tree; give them another parent, or none (moveDomain):",
        );
        for LostDomain {
            urn,
            parent,
            is_in_a_circle,
        } in self.lost_domains.iter().take(EXAMPLES)
        {
            let why = if *is_in_a_circle {
                "is its own ancestor by way of its parent"
            } else {
                "is below one that does not exist,"
            };
            let _ = write!(text, "\n    {urn} {why} {parent}");
        }
        if self.lost_domains.len() > EXAMPLES {
            text.push_str("\n    …");
        }
        let rows: u64 = self.refused.values().map(|refused| refused.rows).sum();
        if rows == 0 {
            text.push_str("\nnothing was refused");
        } else {
            let _ = write!(text, "\nrefused: {rows} rows");
        }
        for (reason, refused) in &self.refused {
            let _ = write!(text, "\n  {} rows: {}", refused.rows, reason.words());
            for example in &refused.examples {
                let _ = write!(text, "\n    {example}");
            }
            if refused.rows > refused.examples.len() as u64 {
                text.push_str("\n    …");
            }
        }
        text.push_str(
            "\ntime series (profiles, usage, runs) are not in this database: DataHub has them in its search cluster",
        );
        text
    }
}

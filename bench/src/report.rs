//! The result table of a run, on the screen and in docs/PERFORMANCE.md.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use comfy_table::{Table, presets};

use crate::machine::Machine;

/// The target of a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// For the ratio.
    AtLeast(f64),
    /// For the ratio.
    AtMost(f64),
    /// For the value, in this unit.
    Below(f64, &'static str),
    /// For the value, in this unit.
    Above(f64, &'static str),
    /// Only for comparison.
    None,
    /// There is nothing to compare with.
    NoPeer,
}

impl Target {
    fn is_met(self, measured: f64) -> bool {
        match self {
            Self::AtLeast(least) => measured >= least,
            Self::AtMost(most) => measured <= most,
            Self::Below(limit, _) => measured < limit,
            Self::Above(limit, _) => measured > limit,
            Self::None | Self::NoPeer => true,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(formatter, "≥ {least}"),
            Self::AtMost(most) => write!(formatter, "≤ {most}"),
            Self::Below(limit, unit) => write!(formatter, "< {limit} {unit}"),
            Self::Above(limit, unit) => write!(formatter, "> {limit} {unit}"),
            Self::None | Self::NoPeer => Ok(()),
        }
    }
}

#[derive(Debug)]
struct Line {
    metric: String,
    value: String,
    peer: String,
    /// The ratio to the peer, or the value if there is no peer.
    measured: f64,
    target: Target,
    /// What the line means for a person: one sentence.
    meaning: String,
}

impl Line {
    fn cells(&self) -> [String; 6] {
        let ratio = match self.target {
            Target::Below(..) | Target::Above(..) | Target::NoPeer => String::new(),
            Target::AtLeast(_) | Target::AtMost(_) | Target::None => {
                format!("{:.2}", self.measured)
            }
        };
        let verdict = match self.target {
            Target::None | Target::NoPeer => "",
            target if target.is_met(self.measured) => "ok",
            _ => "miss",
        };
        [
            self.metric.clone(),
            self.value.clone(),
            self.peer.clone(),
            ratio,
            self.target.to_string(),
            verdict.to_owned(),
        ]
    }
}

const HEADER: [&str; 6] = ["metric", "value", "peer", "ratio", "target", ""];
/// A column of the document only: a terminal is too narrow.
const MEANING: &str = "what it means";

/// What [`crate::measure::growth`] draws next to the document.
const PLOTS: &str = "![Six plots over the number of aspects, from ten thousand to ten million: disk, size of the \
                     search index, memory, start, CPU time per read, and search](images/growth.svg)";

#[derive(Debug, Default)]
pub(crate) struct Report {
    lines: Vec<Line>,
    left_out: Vec<String>,
}

impl Report {
    /// Prints progress to standard error; standard output has only the table.
    #[expect(clippy::unused_self, reason = "all measurements have a report")]
    pub(crate) fn progress(&self, what: &str) {
        let _ = writeln!(std::io::stderr(), "… {what}");
    }

    pub(crate) fn line(
        &mut self,
        metric: impl Into<String>,
        value: impl Into<String>,
        peer: impl Into<String>,
        measured: f64,
        target: Target,
        meaning: impl Into<String>,
    ) {
        let line = Line {
            metric: metric.into(),
            value: value.into(),
            peer: peer.into(),
            measured,
            target,
            meaning: meaning.into(),
        };
        self.progress(&line.cells().join(" | "));
        self.lines.push(line);
    }

    /// Notes in the report that something was not measured, and why.
    pub(crate) fn left_out(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.progress(&format!("left out: {what}"));
        self.left_out.push(what);
    }

    /// Whether every target was met.
    pub(crate) fn is_good(&self) -> bool {
        self.lines
            .iter()
            .all(|line| line.target.is_met(line.measured))
    }

    pub(crate) fn print(&self) -> Result<()> {
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(HEADER);
        table.add_rows(self.lines.iter().map(Line::cells));
        let mut output = std::io::stdout();
        writeln!(output, "{table}").context("cannot print the table")?;
        for what in &self.left_out {
            writeln!(output, "left out: {what}").context("cannot print the table")?;
        }
        Ok(())
    }

    /// Writes the document: `performance.md` with the machine and the table filled in.
    pub(crate) fn write(&self, machine: &Machine, path: &Path) -> Result<()> {
        let page = include_str!("performance.md")
            .replace("{machine}", machine.to_string().trim_end())
            .replace("{table}", self.markdown().trim_end())
            .replace("{plots}", PLOTS);
        std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))
    }

    fn markdown(&self) -> String {
        let row =
            |cells: &[String], meaning: &str| format!("| {} | {meaning} |\n", cells.join(" | "));
        let mut text = row(&HEADER.map(str::to_owned), MEANING);
        text.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
        for line in &self.lines {
            text.push_str(&row(&line.cells(), &line.meaning));
        }
        if !self.left_out.is_empty() {
            text.push_str("\nLeft out:\n\n");
            for what in &self.left_out {
                let _ = writeln!(text, "- {what}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_target_is_reported() {
        let mut report = Report::default();
        report.line("a", "1", "2", 0.5, Target::AtLeast(0.5), "A is quick.");
        assert!(report.is_good());
        report.line("b", "41 MiB", "", 41.0, Target::Below(40.0, "MiB"), "B.");
        assert!(!report.is_good());
        report.line("c", "7/s", "", 7.0, Target::Above(8.0, "/s"), "C.");
        let text = report.markdown();
        for line in [
            "| a | 1 | 2 | 0.50 | ≥ 0.5 | ok | A is quick. |",
            "| b | 41 MiB |  |  | < 40 MiB | miss | B. |",
            "| c | 7/s |  |  | > 8 /s | miss | C. |",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn the_document_lists_what_was_left_out() {
        let mut report = Report::default();
        report.line("a", "1", "", 1.0, Target::None, "A.");
        assert!(!report.markdown().contains("Left out"));
        report.left_out("D: it is not installed");
        let text = report.markdown();
        assert!(
            text.ends_with("\n\nLeft out:\n\n- D: it is not installed\n"),
            "{text}"
        );
    }
}

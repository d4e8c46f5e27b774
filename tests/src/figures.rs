//! Figures of a run: how many kills, how long, how much.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;

use anyhow::Context as _;

/// Names the file to which [`record`] adds lines.
const VARIABLE: &str = "DOCENT_FIGURES";

/// Prints a figure, and adds it to the file that `DOCENT_FIGURES` names, if any.
pub fn record(what: &str, figures: &str) -> anyhow::Result<()> {
    eprintln!("{what}: {figures}");
    let Some(path) = env::var_os(VARIABLE) else {
        return Ok(());
    };
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let mut file = file.with_context(|| format!("{}", path.display()))?;
    writeln!(file, "| {what} | {figures} |")?;
    Ok(())
}

/// The number in an environment variable, which makes a test longer than it is by default.
pub fn number_from(variable: &str, default: u64) -> anyhow::Result<u64> {
    match env::var(variable) {
        Ok(text) => text.parse().with_context(|| format!("{variable}={text}")),
        Err(_) => Ok(default),
    }
}

//! Writes the changes of a plan, in one run.

use anyhow::{Result, bail};
use docent_files::compare::AspectWrite;
use docent_model::{Clock as _, SystemClock};
use indicatif::ProgressBar;
use jiff::Timestamp;
use serde_json::json;

use super::CompareFlags;
use super::plan::{Plan, plan};
use super::remote::{Remote, Written};
use super::show;
use crate::commands::{note, say};

/// One transaction has up to so many changes, because other writers wait for it.
const MAX_CHANGES: usize = 2_000;
/// A request has up to 16 MiB, and JSON in a string takes more than JSON.
const MAX_BYTES: usize = 4 * 1024 * 1024;

pub(super) async fn apply(remote: &Remote, flags: &CompareFlags) -> Result<()> {
    let plan = plan(remote, flags).await?;
    if !flags.json {
        show::print(&plan, false);
    } else if plan.check().is_err() {
        show::print(&plan, true);
    }
    plan.check()?;
    if plan.writes.is_empty() {
        if flags.json {
            say(json!({"runId": null, "changes": 0}));
        }
        return Ok(());
    }
    let run_id = new_run_id(&plan)?;
    let project = &plan.manifest.project;
    let lists = lists(&plan.writes);
    let progress = ProgressBar::new(plan.writes.len() as u64);
    let mut done = 0;
    for list in &lists {
        let written = remote.write(list, &run_id, project).await;
        let failure = match written {
            Ok(Written::Done(warnings)) => {
                warnings.iter().for_each(note);
                done += list.len();
                progress.inc(list.len() as u64);
                continue;
            }
            Ok(Written::Conflict(message)) => {
                format!(
                    "the catalog has changed since it was compared, repeat the command: {message}"
                )
            }
            Err(error) => format!("{error:#}"),
        };
        progress.finish_and_clear();
        if done == 0 {
            bail!("nothing was written: {failure}");
        }
        bail!(
            "{done} of {} aspects were written in run {run_id}, which 'docent rollback' rolls back; repeating the command continues: {failure}",
            plan.writes.len()
        );
    }
    progress.finish_and_clear();
    if flags.json {
        let changes = plan.count(docent_files::compare::Outcome::Change);
        say(json!({"runId": run_id, "changes": changes}));
    } else {
        say(format!("applied in run {run_id}"));
    }
    Ok(())
}

/// Splits the writes into lists that are one transaction each. The aspects of an entity stay
/// together where a list allows it.
fn lists(writes: &[AspectWrite]) -> Vec<&[AspectWrite]> {
    let mut lists = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, write) in writes.iter().enumerate() {
        let size = write.value.to_string().len();
        if at > start && (bytes + size > MAX_BYTES || at - start == MAX_CHANGES) {
            lists.push(&writes[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += size;
    }
    lists.push(&writes[start..]);
    lists
}

fn new_run_id(plan: &Plan) -> Result<String> {
    let time = Timestamp::from_millisecond(SystemClock.now_ms())?;
    let time = time.strftime("%Y-%m-%d-%H-%M-%S").to_string();
    Ok(plan.manifest.run_id(&time, &random_hex::<4>()?))
}

/// Random bytes, as hexadecimal digits.
pub(super) fn random_hex<const BYTES: usize>() -> Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(docent_model::hex(&bytes))
}

pub(super) async fn roll_back(remote: &Remote, run_id: &str, dry_run: bool) -> Result<()> {
    let (aspects, entities) = remote.roll_back(run_id, dry_run).await?;
    if aspects + entities == 0 {
        bail!("there is nothing to roll back of the run '{run_id}'");
    }
    let verb = if dry_run {
        "would roll back"
    } else {
        "rolled back"
    };
    say(format!(
        "{verb} {aspects} aspects and deleted {entities} new entities"
    ));
    Ok(())
}

//! `assertionRunSummary` of assertions: searches filter and count by the latest result. It follows
//! from the runs, in the same transaction.

use docent_model::{AspectName, Registry, Urn};
use docent_store::AspectKey;
use serde_json::{Value, json};

use super::Batch;
use crate::Error;

const RUN: &str = "assertionRunEvent";
const SUMMARY: &str = "assertionRunSummary";

/// The results of a run, where the summary has the time of the last one, and the status after it.
const RESULTS: [(&str, &str, &str); 4] = [
    ("SUCCESS", "lastPassedAtMillis", "PASSING"),
    ("FAILURE", "lastFailedAtMillis", "FAILING"),
    ("ERROR", "lastErroredAtMillis", "ERROR"),
    ("INIT", "lastInitializedAtMillis", "INIT"),
];

impl Batch<'_> {
    /// Updates the summary of an assertion after one of its points has been written.
    pub(super) async fn follow_run(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
        point: &Value,
    ) -> Result<(), Error> {
        let Some(AspectKey { aspect, .. }) = summary_key(urn, aspect) else {
            return Ok(());
        };
        let stored = self.value(urn, aspect).await?;
        match with_run(stored.as_ref(), point) {
            Some(value) => self.overwrite(urn, aspect, value).await,
            None => Ok(()),
        }
    }
}

/// The summary that a point of this time series changes.
pub(super) fn summary_key(urn: &Urn, aspect: AspectName) -> Option<AspectKey> {
    if aspect.as_str() != RUN {
        return None;
    }
    let summary = Registry::get().aspect(SUMMARY)?;
    Some(AspectKey::new(urn, summary))
}

/// The summary with one more run; `None` if the run does not change it.
fn with_run(summary: Option<&Value>, point: &Value) -> Option<Value> {
    let time = point["timestampMillis"].as_i64()?;
    let result = &point["result"]["type"];
    let (_, own, status) = RESULTS.into_iter().find(|(name, ..)| result == name)?;
    let last = |member: &str| summary.and_then(|it| it[member].as_i64());
    if last(own).is_some_and(|known| known >= time) {
        return None;
    }
    let is_latest = RESULTS
        .iter()
        .all(|(_, member, _)| last(member).is_none_or(|known| known <= time));
    let mut summary = summary.cloned().unwrap_or_else(|| json!({}));
    summary[own] = json!(time);
    if is_latest {
        summary["assertionStatus"] = json!(status);
    }
    Some(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(result: &str, time: i64) -> Value {
        json!({"timestampMillis": time, "status": "COMPLETE", "result": {"type": result}})
    }

    #[test]
    fn the_latest_run_decides_the_status() {
        let summary = with_run(None, &run("SUCCESS", 10));
        assert_eq!(
            summary,
            Some(json!({"lastPassedAtMillis": 10, "assertionStatus": "PASSING"}))
        );
        let summary = with_run(summary.as_ref(), &run("FAILURE", 20));
        let failing = json!({
            "lastPassedAtMillis": 10, "lastFailedAtMillis": 20, "assertionStatus": "FAILING",
        });
        assert_eq!(summary, Some(failing.clone()));
        // A late report of an earlier run has a time, but does not hide the failure.
        let late = with_run(Some(&failing), &run("SUCCESS", 15)).unwrap();
        assert_eq!(late["lastPassedAtMillis"], 15);
        assert_eq!(late["assertionStatus"], "FAILING");
        assert_eq!(with_run(Some(&failing), &run("SUCCESS", 10)), None);
        assert_eq!(with_run(Some(&failing), &run("unknown", 30)), None);
        assert_eq!(
            with_run(Some(&failing), &run("ERROR", 30)).unwrap()["assertionStatus"],
            "ERROR"
        );
    }
}

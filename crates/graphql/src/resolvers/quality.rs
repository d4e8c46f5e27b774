//! The health of assets: incidents, assertions and tests; and the contracts of datasets.

use std::collections::BTreeMap;

use docent_catalog::quality::{CheckedAssertion, Incident, priority_number};
use docent_catalog::search::whole;
use docent_model::{AspectName, Urn};
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

const DEFAULT_COUNT: usize = 20;

/// Whether there are active incidents, failing assertions and failing tests.
pub(super) async fn health(
    context: &Context,
    assets: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let urns = EntityView::urns(assets);
    let incidents = context.catalog.incidents_of(&urns).await?;
    let assertions = context.catalog.assertions_of(&urns).await?;
    let results = assets.iter().zip(incidents).zip(assertions);
    Ok(results
        .map(|((asset, incidents), assertions)| {
            let of_incidents = Some(incident_health(&incidents));
            let parts = [
                of_incidents,
                assertion_health(&assertions),
                test_health(asset),
            ];
            Ok(parts.into_iter().flatten().collect())
        })
        .collect())
}

fn incident_health(incidents: &[Incident]) -> Value {
    let active = incidents.iter().filter(|incident| incident.is_active());
    let Some(latest) = active.clone().max_by_key(|incident| incident.updated_ms) else {
        return json!({"type": "INCIDENTS", "status": "PASS"});
    };
    let count = active.count();
    let plural = if count == 1 { "" } else { "s" };
    json!({
        "type": "INCIDENTS",
        "status": "FAIL",
        "reportedAt": latest.updated_ms,
        "message": format!("{count} active incident{plural}"),
        "causes": ["ACTIVE_INCIDENTS"],
        "activeIncidentHealthDetails": {
            "latestIncidentUrn": latest.urn,
            "latestIncidentTitle": latest.title,
            "lastActivityAt": latest.updated_ms,
            "count": count,
        },
    })
}

/// `None` if no assertion has a result.
fn assertion_health(assertions: &[CheckedAssertion]) -> Option<Value> {
    let results = assertions.iter().filter_map(|it| it.result.as_ref());
    let reported_at = results.map(|result| result.time_ms).max()?;
    let failing: Vec<&Urn> = assertions
        .iter()
        .filter(|it| it.result.as_ref().is_some_and(|result| result.is_failure))
        .map(|it| &it.urn)
        .collect();
    let (status, message) = if failing.is_empty() {
        ("PASS", "All assertions are passing".to_owned())
    } else {
        let (failing, all) = (failing.len(), assertions.len());
        ("FAIL", format!("{failing} of {all} assertions are failing"))
    };
    Some(json!({
        "type": "ASSERTIONS",
        "status": status,
        "reportedAt": reported_at,
        "message": message,
        "causes": (!failing.is_empty()).then_some(failing),
        "latestAssertionStatusByType": by_type(assertions),
    }))
}

/// The state of each type of assertion: how many fail, or how many pass if none fails.
fn by_type(assertions: &[CheckedAssertion]) -> Vec<Value> {
    let mut types: BTreeMap<&str, Vec<&CheckedAssertion>> = BTreeMap::new();
    for assertion in assertions.iter().filter(|it| it.result.is_some()) {
        if let Some(kind) = &assertion.kind {
            types.entry(kind).or_default().push(assertion);
        }
    }
    let state = |(kind, assertions): (&str, Vec<&CheckedAssertion>)| {
        let results = || assertions.iter().filter_map(|it| it.result.as_ref());
        let fails = results().any(|result| result.is_failure);
        let decisive = || results().filter(|result| result.is_failure == fails);
        json!({
            "type": kind,
            "status": if fails { "FAIL" } else { "PASS" },
            "total": assertions.len(),
            "statusCount": decisive().count(),
            "lastStatusResultAt": decisive().map(|result| result.time_ms).max(),
        })
    };
    types.into_iter().map(state).collect()
}

/// `None` if there are no tests.
fn test_health(asset: &EntityView<'_>) -> Option<Value> {
    let row = asset.aspect(AspectName::TEST_RESULTS)?;
    let results: Value = serde_json::from_str(&row.metadata).ok()?;
    let count = |name: &str| results[name].as_array().map_or(0, Vec::len);
    let (failing, all) = (count("failing"), count("failing") + count("passing"));
    if all == 0 {
        return None;
    }
    Some(if failing == 0 {
        json!({"type": "TESTS", "status": "PASS", "message": "All tests are passing"})
    } else {
        let message = format!("{failing} of {all} tests failing");
        json!({"type": "TESTS", "status": "FAIL", "message": message})
    })
}

/// The incidents of assets, newest first.
pub(super) async fn incidents(
    context: &Context,
    assets: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let start = whole("start", arguments.member("start")?, 0)?;
    let count = whole("count", arguments.member("count")?, DEFAULT_COUNT)?;
    let state: Option<String> = arguments.member("state")?;
    let in_stage: Option<String> = arguments.member("stage")?;
    let priority: Option<String> = arguments.member("priority")?;
    let priority = priority.as_deref().map(priority_number);
    let assignees: Option<Vec<String>> = arguments.member("assigneeUrns")?;
    let matches = |incident: &Incident| {
        let is_assigned = |assignees: &Vec<String>| {
            let mut actors = incident.assignees.iter();
            actors.any(|actor| assignees.contains(actor))
        };
        state.as_ref().is_none_or(|state| incident.state == *state)
            && (in_stage.is_none() || incident.stage == in_stage)
            && priority.is_none_or(|priority| incident.priority == priority)
            && assignees.as_ref().is_none_or(is_assigned)
    };
    let lists = context
        .catalog
        .incidents_of(&EntityView::urns(assets))
        .await?;
    let reply = |incidents: Vec<Incident>| {
        let found: Vec<&Urn> = incidents
            .iter()
            .filter(|incident| matches(incident))
            .map(|incident| &incident.urn)
            .collect();
        let page: Vec<&&Urn> = found.iter().skip(start).take(count).collect();
        // As in DataHub, the size of the page, even if there are fewer.
        json!({"start": start, "count": count, "total": found.len(), "incidents": page})
    };
    Ok(lists.into_iter().map(|list| Ok(reply(list))).collect())
}

pub(super) async fn contract(
    context: &Context,
    datasets: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let contracts = context
        .catalog
        .contracts_of(&EntityView::urns(datasets))
        .await?;
    Ok(contracts.into_iter().map(|urn| Ok(json!(urn))).collect())
}

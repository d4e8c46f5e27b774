//! Search filters: never a server error; a condition and its negation find each entity once; REST,
//! OpenAPI and GraphQL find the same.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::engine::{Format, Outcome, Target};
use crate::support::App;
use crate::{count, expect_clear, world};

const TARGET: Target = Target {
    name: "filters",
    format: Format::Json,
    dictionary: &[
        "or",
        "and",
        "criteria",
        "field",
        "value",
        "values",
        "condition",
        "negated",
        "EQUAL",
        "IEQUAL",
        "IN",
        "CONTAIN",
        "START_WITH",
        "END_WITH",
        "EXISTS",
        "IS_NULL",
        "GREATER_THAN",
        "GREATER_THAN_OR_EQUAL_TO",
        "LESS_THAN",
        "LESS_THAN_OR_EQUAL_TO",
        "DESCENDANTS_INCL",
        "ANCESTORS_INCL",
        "RELATED_INCL",
        "platform",
        "domains",
        "tags.keyword",
        "removed",
        "name",
        "urn",
        "_entityType",
        "lastModifiedAt",
        "createdAt",
        "customProperties",
        "hasDescription",
        "owners",
        "origin",
        "browsePathV2",
        "description",
        "fieldPaths",
        "_entityType␞typeNames",
        "urn:li:dataPlatform:hive",
        "urn:li:domain:finance",
        "true",
        "false",
    ],
};

#[tokio::test]
async fn fuzz_filters_and_their_negations_find_each_entity_once() {
    let app = world().await;
    let total = count(&app, "*", &json!({})).await.unwrap();
    assert!(total > 3, "{total}");
    TARGET
        .run(async |input| check(&app, input, total).await)
        .await;
}

async fn check(app: &App, input: &str, total: u64) -> Outcome {
    let filter = serde_json::from_str::<Value>(input).unwrap_or_default();
    let found = match count(app, "*", &filter).await {
        Ok(found) => found,
        Err((status, reply)) => {
            let by_scroll = scrolled(app, &filter).await;
            if by_scroll.is_ok() {
                return Err(format!("{status} {reply}, but a scroll has {by_scroll:?}"));
            }
            return expect_clear(status, &reply);
        }
    };
    let by_scroll = scrolled(app, &filter).await?;
    if found != by_scroll {
        return Err(format!("{found} by search, {by_scroll} by scroll"));
    }
    let Some(negated) = negation(&filter) else {
        return Ok(format!("several of {found}"));
    };
    let others = count(app, "*", &negated)
        .await
        .map_err(|error| format!("{error:?}"))?;
    if found + others != total {
        return Err(format!(
            "{found}, and {others} with the negation, of {total}"
        ));
    }
    Ok(format!(
        "{} {found}",
        filter["or"][0]["and"][0]["condition"]
    ))
}

async fn scrolled(app: &App, filter: &Value) -> Result<u64, String> {
    let body = json!({"entities": ["dataset"], "filter": filter});
    let (status, reply) = app.post("/openapi/v3/entity/scroll?count=1", &body).await;
    match reply["totalCount"].as_u64() {
        Some(total) if status == StatusCode::OK => Ok(total),
        _ => Err(format!("{status}: {reply}")),
    }
}

/// The negation of a filter with one condition. Conditions on removal have a default.
fn negation(filter: &Value) -> Option<Value> {
    let mut negated = filter.clone();
    let members = negated.as_object()?;
    let alternatives = negated["or"].as_array()?;
    let criteria = alternatives.first()?["and"].as_array()?;
    if members.len() != 1 || alternatives.len() != 1 || criteria.len() != 1 {
        return None;
    }
    if criteria[0]["field"].as_str()?.contains("removed") {
        return None;
    }
    let is_negated = criteria[0]["negated"].as_bool().unwrap_or(false);
    negated["or"][0]["and"][0]["negated"] = json!(!is_negated);
    Some(negated)
}

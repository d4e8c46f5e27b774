//! `GET /relationships` and `GET /openapi/relationships/v1/`: incoming or outgoing relationships of
//! an entity.

use axum::response::Response;
use docent_catalog::search::whole;
use docent_catalog::{ListPage, RelatedEntity};
use serde_json::{Value, json};

use super::parse_list;
use crate::AppState;
use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::wire::{parse_urn, reply};

const DEFAULT_COUNT: usize = 100;
const MAX_COUNT: usize = 10_000;

/// A page of relationships, and its offset.
struct RelationshipPage {
    start: usize,
    page: ListPage<RelatedEntity>,
}

/// The Rest.li form.
pub(crate) async fn list(
    Authenticated { state, .. }: Authenticated,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let RelationshipPage { start, page } = find(&state, &parameters, "types").await?;
    let relationships: Vec<Value> = page
        .items
        .iter()
        .map(|related| json!({"type": related.relationship, "entity": related.urn}))
        .collect();
    Ok(reply(&json!({
        "start": start,
        "count": relationships.len(),
        "total": page.total,
        "relationships": relationships,
    })))
}

/// The OpenAPI form. Clients read pages until `count` is 0.
pub(crate) async fn list_related(
    Authenticated { state, .. }: Authenticated,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let RelationshipPage { start, page } = find(&state, &parameters, "relationshipTypes").await?;
    let entities: Vec<Value> = page
        .items
        .iter()
        .map(|related| json!({"relationshipType": related.relationship, "urn": related.urn}))
        .collect();
    Ok(reply(&json!({
        "start": start,
        "count": entities.len(),
        "total": page.total,
        "entities": entities,
    })))
}

async fn find(
    state: &AppState,
    parameters: &Parameters,
    types: &str,
) -> Result<RelationshipPage, ErrorResponse> {
    let urn = parameters.get("urn").ok_or_else(|| {
        ErrorResponse::bad_request("the parameter urn is missing: send ?urn=urn:li:…")
    })?;
    let urn = parse_urn(urn)?;
    let outgoing = match parameters.get("direction").unwrap_or("OUTGOING") {
        "OUTGOING" => true,
        "INCOMING" => false,
        other => {
            return Err(ErrorResponse::bad_request(format!(
                "direction is '{other}': use OUTGOING or INCOMING"
            )));
        }
    };
    let start = whole("start", parameters.number("start")?, 0)?;
    let count = whole("count", parameters.number("count")?, DEFAULT_COUNT)?;
    if count > MAX_COUNT {
        return Err(ErrorResponse::bad_request(format!(
            "count is {count}: at most {MAX_COUNT} are allowed, use start for the next page"
        )));
    }
    // Joined again, because `all` splits a `List(a,b)` at its commas.
    let joined = parameters.all(types).join(",");
    let names = parse_list(&joined);
    let mut pages = state
        .catalog()
        .relationships(std::slice::from_ref(&urn), outgoing, &names, start, count)
        .await?;
    let page = pages.pop().unwrap_or(ListPage {
        total: 0,
        items: Vec::new(),
    });
    Ok(RelationshipPage { start, page })
}

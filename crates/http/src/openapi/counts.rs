//! `/openapi/v1/entities`: how many entities of each type there are.

use axum::response::Response;
use docent_catalog::search::{Criterion, Filter, Operator, SearchPage, SearchRequest};
use docent_model::{EntitySpec, Registry};
use serde_json::{Value, json};

use super::address::entity_type;
use crate::AppState;
use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::query::{Parameters, Path};
use crate::wire::reply;

/// The counts of some types, or of all.
pub(crate) async fn all(
    Authenticated { state, .. }: Authenticated,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let names = parameters.all("types");
    let types: Vec<&EntitySpec> = if names.is_empty() {
        Registry::get().entities().collect()
    } else {
        let types = names.iter().map(|name| entity_type(name));
        types.collect::<Result<_, _>>()?
    };
    let with_total = parameters.flag("includeTotal")?;
    let mut counts = Vec::with_capacity(types.len());
    let mut sum = Counts::default();
    for entity in &types {
        let count = Counts::of(&state, entity).await?;
        sum.active += count.active;
        sum.soft_deleted += count.soft_deleted;
        counts.push(count.render(entity, with_total));
    }
    let mut body = json!({
        "counts": counts,
        "requestedTypes": types.iter().map(|entity| entity.name).collect::<Vec<_>>(),
        "computedAtMillis": state.catalog().now_ms(),
        "cacheHit": false,
    });
    if with_total {
        body["activeTotal"] = json!(sum.active);
        body["softDeletedTotal"] = json!(sum.soft_deleted);
        body["totalCount"] = json!(sum.active + sum.soft_deleted);
    }
    Ok(reply(&body))
}

/// The counts of one type.
pub(crate) async fn one(
    Authenticated { state, .. }: Authenticated,
    Path(name): Path,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let entity = entity_type(&name)?;
    let count = Counts::of(&state, entity).await?;
    let mut body = count.render(entity, parameters.flag("includeTotal")?);
    body["computedAtMillis"] = json!(state.catalog().now_ms());
    body["cacheHit"] = json!(false);
    Ok(reply(&body))
}

/// How many entities of a type the caller may see.
#[derive(Default)]
struct Counts {
    active: usize,
    soft_deleted: usize,
}

impl Counts {
    async fn of(state: &AppState, entity: &EntitySpec) -> Result<Self, ErrorResponse> {
        let catalog = state.catalog();
        let total = catalog.list_urns(entity.name, 0, 0).await?.total;
        let removed = Criterion {
            field: "removed".to_owned(),
            operator: Operator::Equal,
            values: vec!["true".to_owned()],
            negated: false,
        };
        let request = SearchRequest {
            types: vec![entity.name.to_owned()],
            filter: Filter {
                any: vec![vec![removed]],
            },
            include_removed: true,
            include_hidden_stages: true,
            include_older_versions: true,
            page: SearchPage::Offset { start: 0, count: 0 },
            ..SearchRequest::default()
        };
        let soft_deleted = catalog.search(&request).await?.total.min(total);
        Ok(Self {
            active: total - soft_deleted,
            soft_deleted,
        })
    }

    fn render(&self, entity: &EntitySpec, with_total: bool) -> Value {
        let mut count = json!({
            "entityType": entity.name,
            "keyAspect": entity.key_aspect.as_str(),
            "activeCount": self.active,
            "softDeletedCount": self.soft_deleted,
        });
        if with_total {
            count["totalCount"] = json!(self.active + self.soft_deleted);
        }
        count
    }
}

//! The changes of the catalog.

use docent_catalog::changes::{ChangeGroup, ChangeKind, ChangedEntity, ChangesQuery, MAX_COUNT};
use docent_catalog::{Error, LogKey};
use docent_model::{Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use super::history::actor;
use crate::entity_types;
use crate::{Args, Context};

const DEFAULT_COUNT: i64 = 20;

pub(super) async fn changes(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        actors: Option<Vec<String>>,
        kinds: Option<Vec<String>>,
        domain: Option<String>,
        since: Option<i64>,
        until: Option<i64>,
        people_only: Option<bool>,
        count: Option<i64>,
        scroll: Option<String>,
    }
    let input: Input = arguments.input()?;
    let parse = |urn: &String| Ok(Registry::get().parse_urn(urn)?);
    let after = input.scroll.map(|scroll| {
        LogKey::parse(&scroll).ok_or_else(|| {
            Error::invalid(format!(
                "scroll is '{scroll}': use the nextScroll of the previous page"
            ))
        })
    });
    let actors: Result<Vec<Urn>, Error> = input.actors.iter().flatten().map(parse).collect();
    let kinds = input.kinds.iter().flatten();
    let query = ChangesQuery {
        actors: actors?,
        kinds: kinds.filter_map(|kind| ChangeKind::parse(kind)).collect(),
        domain: input.domain.as_ref().map(parse).transpose()?,
        since_ms: input.since,
        until_ms: input.until,
        people_only: input.people_only == Some(true),
        after: after.transpose()?,
    };
    let count = input.count.unwrap_or(DEFAULT_COUNT);
    let count = usize::try_from(count).map_err(|_| {
        Error::invalid(format!(
            "count is {count}: it must be from 1 to {MAX_COUNT}"
        ))
    })?;
    let page = context.catalog.changes(&query, count).await?;
    Ok(json!({
        "changes": page.groups.iter().map(change).collect::<Vec<_>>(),
        "nextScroll": page.next.map(|next| next.to_string()),
        "readThrough": page.read_through_ms,
    }))
}

fn change(group: &ChangeGroup) -> Value {
    let types = group.entities_by_type.iter();
    let types = types.filter_map(|(name, count)| {
        let schema_name = entity_types::schema_name(name);
        // A type that the schema does not name is counted among all entities only.
        (schema_name != name).then(|| json!({"type": schema_name, "count": count}))
    });
    json!({
        "id": group.id,
        "time": group.time_ms,
        "since": group.since_ms,
        "actor": actor(&group.actor),
        "runId": group.run,
        "changeCount": group.changes,
        "entityCount": group.entities_by_type.values().sum::<u64>(),
        "entityTypes": types.collect::<Vec<_>>(),
        "entities": group.entities.iter().map(entity).collect::<Vec<_>>(),
    })
}

fn entity(entity: &ChangedEntity) -> Value {
    let kinds = entity.kinds.iter().map(|kind| kind.name());
    let aspects = entity.aspects.iter().map(|aspect| aspect.as_str());
    json!({
        "urn": entity.urn,
        "entity": entity.urn,
        "time": entity.time_ms,
        "kinds": kinds.collect::<Vec<_>>(),
        "aspectNames": aspects.collect::<Vec<_>>(),
    })
}

//! The sample catalog of `docent serve --demo`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use docent_catalog::tokens::{MAX_LISTED, NewToken, Token, TokenFilter};
use docent_catalog::{Caller, Catalog, Proposal, SYSTEM_ACTOR};
use docent_model::{Registry, SystemMetadata, Urn};
use serde::Deserialize;
use serde_json::Value;

/// Entities with their aspects, as one would ingest them.
const CATALOG: &str = include_str!("../demo/catalog.json");

/// The user that the printed token speaks for.
const USER: &str = "urn:li:corpuser:datahub";
const TOKEN_TTL_MS: i64 = 7 * 24 * 60 * 60 * 1000;

#[derive(Deserialize)]
struct Entity {
    urn: String,
    aspects: BTreeMap<String, Value>,
}

const TOKEN_NAME: &str = "demo";
const TOKEN_DESCRIPTION: &str = "made by docent serve --demo";

/// Fills an empty store, and makes a token to use it with, in the place of the one that was shown at the last start.
pub(crate) async fn prepare(catalog: &Catalog) -> Result<String> {
    let system = Caller::new(Urn::parse(SYSTEM_ACTOR)?);
    if catalog.has_none(&system, "dataset").await? {
        catalog
            .ingest(&system, proposals()?)
            .await
            .context("the sample catalog could not be stored")?;
    } else {
        tracing::info!("the store is not empty: the sample catalog is left out");
    }
    let actor = Urn::parse(USER)?;
    let of_user = TokenFilter {
        actor: Some(actor.clone()),
        owner: None,
    };
    let tokens = catalog
        .list_tokens(&system, &of_user, 0, MAX_LISTED)
        .await?;
    let is_former = |token: &Token| {
        token.info.name == TOKEN_NAME
            && token.info.description.as_deref() == Some(TOKEN_DESCRIPTION)
    };
    for former in tokens.items.into_iter().filter(is_former) {
        catalog.revoke_token(&system, &former.id).await?;
    }
    let token = NewToken {
        name: TOKEN_NAME.to_owned(),
        description: Some(TOKEN_DESCRIPTION.to_owned()),
        actor,
        ttl_ms: Some(TOKEN_TTL_MS),
    };
    Ok(catalog.create_token(&system, token).await?.secret)
}

fn proposals() -> Result<Vec<Proposal>> {
    let entities: Vec<Entity> =
        serde_json::from_str(CATALOG).context("the sample catalog is not JSON")?;
    let noted = SystemMetadata {
        run_id: "docent-demo".to_owned(),
        ..SystemMetadata::default()
    };
    let mut proposals = Vec::new();
    for Entity { urn, aspects } in entities {
        let urn = Registry::get().parse_urn(&urn)?;
        for (name, value) in aspects {
            let aspect = Registry::get()
                .aspect(&name)
                .with_context(|| format!("{urn} has an unknown aspect {name}"))?;
            let proposal = Proposal::upsert(urn.clone(), aspect, value.to_string())
                .with_system_metadata(Some(noted.clone()));
            proposals.push(proposal);
        }
    }
    Ok(proposals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_container_is_found_on_the_way_through_it_as_connectors_write_it() {
        let entities: Vec<Entity> = serde_json::from_str(CATALOG).unwrap();
        let containers: BTreeMap<&str, &Value> = entities
            .iter()
            .filter_map(|entity| {
                let container = entity.aspects.get("container")?;
                Some((entity.urn.as_str(), &container["container"]))
            })
            .collect();
        assert!(containers.len() > 50);
        for entity in &entities {
            let mut above = Vec::new();
            let mut place = containers.get(entity.urn.as_str());
            while let Some(container) = place {
                above.insert(0, serde_json::json!({"id": container, "urn": container}));
                place = containers.get(container.as_str().unwrap());
            }
            if !above.is_empty() {
                let path = &entity.aspects["browsePathsV2"]["path"];
                assert_eq!(path, &Value::Array(above), "{}", entity.urn);
            }
        }
    }
}

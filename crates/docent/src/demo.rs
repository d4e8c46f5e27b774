//! The sample catalog of `docent serve --demo`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use docent_catalog::tokens::{MAX_LISTED, NewToken, Token, TokenFilter};
use docent_catalog::{Caller, Catalog, Proposal};
use docent_model::{Registry, SystemMetadata, Urn};
use serde::Deserialize;
use serde_json::Value;

/// Entities with their aspects, as an ingestion would send them.
const CATALOG: &str = include_str!("../demo/catalog.json");

/// The user of the printed token.
const USER: &str = "urn:li:corpuser:datahub";
const TOKEN_TTL_MS: i64 = 7 * 24 * 60 * 60 * 1000;

#[derive(Deserialize)]
struct Entity {
    urn: String,
    aspects: BTreeMap<String, Value>,
}

const TOKEN_NAME: &str = "demo";
const TOKEN_DESCRIPTION: &str = "created by docent serve --demo";

/// Loads the sample catalog into an empty store.
pub(crate) async fn load(catalog: &Catalog) -> Result<()> {
    let system = Caller::system();
    if catalog.has_none("dataset").await? {
        catalog
            .ingest(&system, proposals()?)
            .await
            .context("cannot store the sample catalog")?;
    } else {
        tracing::info!("the store is not empty: the sample catalog is not loaded");
    }
    Ok(())
}

/// Creates a token, and revokes the one of the previous start.
pub(crate) async fn create_token(catalog: &Catalog) -> Result<String> {
    let system = Caller::system();
    let actor = Urn::parse(USER)?;
    let filter = TokenFilter {
        actor: Some(actor.clone()),
        ..TokenFilter::default()
    };
    let tokens = catalog
        .list_tokens(&Caller::system(), &filter, 0, MAX_LISTED)
        .await?;
    let is_previous = |token: &Token| {
        token.info.name == TOKEN_NAME
            && token.info.description.as_deref() == Some(TOKEN_DESCRIPTION)
    };
    for previous in tokens.items.into_iter().filter(is_previous) {
        catalog.revoke_token(&system, &previous.id).await?;
    }
    let token = NewToken {
        name: TOKEN_NAME.to_owned(),
        description: Some(TOKEN_DESCRIPTION.to_owned()),
        actor,
        ttl_ms: Some(TOKEN_TTL_MS),
        scope: None,
    };
    Ok(catalog.create_token(&system, token).await?.secret)
}

fn proposals() -> Result<Vec<Proposal>> {
    let entities: Vec<Entity> =
        serde_json::from_str(CATALOG).context("the sample catalog is not JSON")?;
    let system_metadata = SystemMetadata {
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
                .with_system_metadata(Some(system_metadata.clone()));
            proposals.push(proposal);
        }
    }
    Ok(proposals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browse_paths_list_the_parent_containers_as_connectors_write_them() {
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
            let mut parents = Vec::new();
            let mut parent = containers.get(entity.urn.as_str());
            while let Some(container) = parent {
                parents.insert(0, serde_json::json!({"id": container, "urn": container}));
                parent = containers.get(container.as_str().unwrap());
            }
            if !parents.is_empty() {
                let path = &entity.aspects["browsePathsV2"]["path"];
                assert_eq!(path, &Value::Array(parents), "{}", entity.urn);
            }
        }
    }
}

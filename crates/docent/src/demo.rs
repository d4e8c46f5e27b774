//! The sample catalog of `docent serve --demo`.

mod entities;
mod times;

use anyhow::{Context, Result};
use docent_catalog::tokens::{MAX_LISTED, NewToken, Token, TokenFilter};
use docent_catalog::{Caller, Catalog};
use docent_model::Urn;

/// The user of the printed token.
const USER: &str = "urn:li:corpuser:datahub";
const TOKEN_TTL_MS: i64 = 7 * 24 * 60 * 60 * 1000;

const TOKEN_NAME: &str = "demo";
const TOKEN_DESCRIPTION: &str = "created by docent serve --demo";

/// Loads the sample catalog into an empty store.
pub(crate) async fn load(catalog: &Catalog) -> Result<()> {
    let system = Caller::system();
    if catalog.has_none("dataset").await? {
        catalog
            .ingest(&system, entities::proposals(catalog.now_ms())?)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    #[test]
    fn browse_paths_list_the_parent_containers_as_connectors_write_them() {
        let entities = entities::entities().unwrap();
        let containers: BTreeMap<&str, &Value> = entities
            .iter()
            .filter_map(|entity| {
                let container = entity.aspects.get("container")?;
                Some((entity.urn.as_str(), &container["container"]))
            })
            .collect();
        assert!(containers.len() > 50);
        for entity in &entities {
            if !entity.aspects.contains_key("container") {
                continue;
            }
            let mut parents = Vec::new();
            let mut parent = containers.get(entity.urn.as_str());
            while let Some(container) = parent {
                parents.insert(0, serde_json::json!({"id": container, "urn": container}));
                parent = containers.get(container.as_str().unwrap());
            }
            let path = &entity.aspects["browsePathsV2"]["path"];
            assert_eq!(path, &Value::Array(parents), "{}", entity.urn);
        }
    }
}

//! Marks a store as incomplete while `docent move` or `docent adopt` fills it.
//!
//! Imports start with [`begin`]; all other commands call [`check_complete`]. The marker is an
//! ordinary entity, so backups contain it and it needs no table.
//!
//! To add a kind of import, add a variant to [`Import`].

use std::fmt::{self, Display};

use anyhow::{Context as _, Result, bail};
use docent_catalog::{Caller, Catalog, Change, Proposal};
use docent_model::{Clock as _, Registry, SystemClock, Urn};
use docent_store::{AspectKey, ReadRequest, Store};
use serde::Deserialize;
use serde_json::json;

use crate::engine;

const ASPECT: &str = "dataHubUpgradeResult";
const BEGUN: &str = "IN_PROGRESS";
const DONE: &str = "SUCCEEDED";

/// The commands that fill a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Import {
    Adoption,
    Move,
}

impl Import {
    const ALL: [Self; 2] = [Self::Adoption, Self::Move];

    pub(crate) fn urn(self) -> &'static str {
        match self {
            Self::Adoption => "urn:li:dataHubUpgrade:docent-adopt",
            Self::Move => "urn:li:dataHubUpgrade:docent-move",
        }
    }

    fn command(self) -> &'static str {
        match self {
            Self::Adoption => "docent adopt",
            Self::Move => "docent move",
        }
    }

    fn key(self) -> Result<AspectKey> {
        let registry = Registry::get();
        let aspect = registry
            .aspect(ASPECT)
            .with_context(|| format!("the registry has no aspect {ASPECT}"))?;
        Ok(AspectKey::new(&registry.parse_urn(self.urn())?, aspect))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImportMarker {
    import: Import,
    /// The source, without passwords.
    from: String,
    is_done: bool,
}

#[derive(Deserialize)]
struct StoredMarker {
    state: Option<String>,
    result: Option<Origin>,
}

#[derive(Deserialize)]
struct Origin {
    from: Option<String>,
}

/// What to do about an incomplete store.
impl Display for ImportMarker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = self.import.command();
        write!(
            formatter,
            "it is not complete: '{command}' from {} has not finished. If it is no longer running, run it again to \
             continue, or delete the store and start with a new one",
            self.from
        )
    }
}

/// The markers of a store, unfinished imports first.
async fn markers(store: &dyn Store) -> Result<Vec<ImportMarker>> {
    let keys: Result<Vec<AspectKey>> = Import::ALL.into_iter().map(Import::key).collect();
    let rows = store.read(ReadRequest::rows(&keys?)).await?.rows;
    let mut markers = Vec::new();
    for (import, row) in Import::ALL.into_iter().zip(rows) {
        let Some(row) = row else { continue };
        let stored: StoredMarker = serde_json::from_str(&row.metadata)
            .with_context(|| format!("cannot read {}", import.urn()))?;
        markers.push(ImportMarker {
            import,
            from: stored.result.and_then(|it| it.from).unwrap_or_default(),
            is_done: stored.state.as_deref() == Some(DONE),
        });
    }
    markers.sort_by_key(|marker| marker.is_done);
    Ok(markers)
}

/// The marker of an unfinished import, if there is one.
pub(crate) async fn find_unfinished(store: &dyn Store) -> Result<Option<ImportMarker>> {
    let mut markers = markers(store).await?.into_iter();
    Ok(markers.find(|marker| !marker.is_done))
}

/// Fails for a store with an unfinished import.
pub(crate) async fn check_complete(store: &dyn Store, name: impl Display) -> Result<()> {
    match find_unfinished(store).await? {
        Some(marker) => bail!("cannot use {name}: {marker}"),
        None => Ok(()),
    }
}

/// Marks a store as incomplete. It must be empty, or have an import of the same kind from the same
/// source.
pub(crate) async fn begin(
    catalog: &Catalog,
    store: &dyn Store,
    name: impl Display,
    import: Import,
    from: &str,
) -> Result<()> {
    if !engine::is_empty(store).await? {
        let markers = markers(store).await?;
        if let Some(marker) = markers
            .iter()
            .find(|marker| marker.import != import && !marker.is_done)
        {
            bail!("cannot use {name}: {marker}");
        }
        match markers.iter().find(|marker| marker.import == import) {
            None => bail!("{name} is not empty: use a new store"),
            Some(marker) if marker.from != from => bail!(
                "{name} has an import from {}, not from {from}: use a new store",
                marker.from
            ),
            Some(_) => {}
        }
    }
    write(catalog, import, from, BEGUN).await
}

/// Marks the import as done. The marker stays, so that the import can be repeated.
pub(crate) async fn finish(catalog: &Catalog, import: Import, from: &str) -> Result<()> {
    write(catalog, import, from, DONE).await
}

/// Removes the marker, so that the store equals its source.
pub(crate) async fn remove(catalog: &Catalog, import: Import) -> Result<()> {
    let urn = Urn::parse(import.urn())?;
    let proposal = Proposal::new(urn, Change::DeleteEntity);
    catalog
        .ingest(&Caller::system().unaudited(), vec![proposal])
        .await?;
    Ok(())
}

async fn write(catalog: &Catalog, import: Import, from: &str, state: &str) -> Result<()> {
    let AspectKey { urn, aspect } = import.key()?;
    let value = json!({
        "timestampMs": SystemClock.now_ms(),
        "state": state,
        "result": { "from": from },
    });
    let proposal = Proposal::upsert(urn, aspect, value.to_string());
    catalog
        .ingest(&Caller::system().unaudited(), vec![proposal])
        .await?;
    Ok(())
}

//! Stores that are being filled with another catalog: a mark in the store itself says so until all of it is there.
//!
//! Whoever fills a store begins with [`begin`]; whoever wants to use one asks [`expect_finished`]. The mark is an
//! entity like any other, so it is in backups, too, and needs no table of its own.
//!
//! To add a way to fill a store: a case of [`Filling`].

use std::fmt::{self, Display};

use anyhow::{Context as _, Result, bail};
use docent_catalog::{Catalog, Change, Proposal};
use docent_model::{Clock as _, Registry, SystemClock, Urn};
use docent_store::{AspectKey, ReadRequest, Store};
use serde::Deserialize;
use serde_json::json;

use crate::commands::operator;
use crate::engine;

const ASPECT: &str = "dataHubUpgradeResult";
const BEGUN: &str = "IN_PROGRESS";
const DONE: &str = "SUCCEEDED";

/// The ways to fill a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filling {
    Adoption,
    Move,
}

impl Filling {
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

/// The mark of a store that was filled, or began to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    filling: Filling,
    /// What it was filled from, without passwords.
    from: String,
    is_done: bool,
}

#[derive(Deserialize)]
struct Stored {
    state: Option<String>,
    result: Option<Origin>,
}

#[derive(Deserialize)]
struct Origin {
    from: Option<String>,
}

/// What is left to do with a store that is not finished.
impl Display for Mark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = self.filling.command();
        write!(
            formatter,
            "it is not complete: '{command}' from {} has begun to fill it and has not come to its end; if it does not run any \
             more, run it again to go on, or remove the store and begin with a new one",
            self.from
        )
    }
}

/// What stands in a store; the unfinished first, if there is any.
async fn marks(store: &dyn Store) -> Result<Vec<Mark>> {
    let keys: Result<Vec<AspectKey>> = Filling::ALL.into_iter().map(Filling::key).collect();
    let rows = store.read(ReadRequest::rows(&keys?)).await?.rows;
    let mut marks = Vec::new();
    for (filling, row) in Filling::ALL.into_iter().zip(rows) {
        let Some(row) = row else { continue };
        let stored: Stored = serde_json::from_str(&row.metadata)
            .with_context(|| format!("{} is not readable", filling.urn()))?;
        marks.push(Mark {
            filling,
            from: stored.result.and_then(|it| it.from).unwrap_or_default(),
            is_done: stored.state.as_deref() == Some(DONE),
        });
    }
    marks.sort_by_key(|mark| mark.is_done);
    Ok(marks)
}

/// The mark of a store that is being filled; it says what is left to do.
pub(crate) async fn find(store: &dyn Store) -> Result<Option<Mark>> {
    let mut marks = marks(store).await?.into_iter();
    Ok(marks.find(|mark| !mark.is_done))
}

/// Refuses a store that is being filled.
pub(crate) async fn expect_finished(store: &dyn Store, name: impl Display) -> Result<()> {
    match find(store).await? {
        Some(mark) => bail!("{name} cannot be used: {mark}"),
        None => Ok(()),
    }
}

/// Marks a store as one that is being filled. It must be new, or one that was begun to be filled in the same way from
/// the same place.
pub(crate) async fn begin(
    catalog: &Catalog,
    store: &dyn Store,
    name: impl Display,
    filling: Filling,
    from: &str,
) -> Result<()> {
    let verb = match filling {
        Filling::Adoption => "adopt",
        Filling::Move => "move",
    };
    if !engine::is_empty(store).await? {
        let marks = marks(store).await?;
        if let Some(mark) = marks
            .iter()
            .find(|mark| mark.filling != filling && !mark.is_done)
        {
            bail!("{name} cannot be used: {mark}");
        }
        match marks.iter().find(|mark| mark.filling == filling) {
            None => bail!("{name} is not empty: {verb} into a new store"),
            Some(mark) if mark.from != from => bail!(
                "{name} was begun to be filled from {}, not from {from}: {verb} into a new store",
                mark.from
            ),
            Some(_) => {}
        }
    }
    write(catalog, filling, from, BEGUN).await
}

/// Everything is there; the mark stays, so that the same can be adopted again.
pub(crate) async fn finish(catalog: &Catalog, filling: Filling, from: &str) -> Result<()> {
    write(catalog, filling, from, DONE).await
}

/// Everything is there, and nothing else shall be.
pub(crate) async fn remove(catalog: &Catalog, filling: Filling) -> Result<()> {
    let urn = Urn::parse(filling.urn())?;
    let proposal = Proposal::new(urn, Change::DeleteEntity);
    catalog.apply(&operator()?, vec![proposal]).await?;
    Ok(())
}

async fn write(catalog: &Catalog, filling: Filling, from: &str, state: &str) -> Result<()> {
    let AspectKey { urn, aspect } = filling.key()?;
    let value = json!({
        "timestampMs": SystemClock.now_ms(),
        "state": state,
        "result": { "from": from },
    });
    let proposal = Proposal::upsert(urn, aspect, value.to_string());
    catalog.apply(&operator()?, vec![proposal]).await?;
    Ok(())
}

//! Whether entities exist and are in use.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, ReadRequest};

use super::columns;
use crate::lifecycle::is_removed;
use crate::{Catalog, Error};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) exists: bool,
    pub(super) is_removed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Standings(HashMap<Urn, Standing>);

impl Standings {
    pub(super) fn of(&self, urn: &Urn) -> Standing {
        self.0.get(urn).copied().unwrap_or_default()
    }

    pub(super) fn is_live(&self, urn: &Urn) -> bool {
        let standing = self.of(urn);
        standing.exists && !standing.is_removed
    }
}

impl Catalog {
    /// How entities stand, in one call of the store. A column exists with its table, and goes with it: few columns are
    /// entities of their own.
    pub(super) async fn standings<'a>(
        &self,
        urns: impl Iterator<Item = &'a Urn>,
    ) -> Result<Standings, Error> {
        // Each entity with those that it stands and falls with.
        let holders: BTreeMap<&Urn, Vec<Urn>> = urns
            .map(|urn| {
                let mut holders: Vec<Urn> = columns::parent(urn).into_iter().collect();
                holders.push(urn.clone());
                (urn, holders)
            })
            .collect();
        let asked: BTreeSet<&Urn> = holders.values().flatten().collect();
        // A URN of an unknown kind names nothing that could exist.
        let known: Vec<(&Urn, AspectKey)> = asked
            .into_iter()
            .filter_map(|urn| {
                let entity = Registry::get().check_urn(urn).ok()?;
                Some((urn, AspectKey::new(urn, entity.key_aspect)))
            })
            .collect();
        let statuses: Vec<AspectKey> = known
            .iter()
            .map(|(urn, _)| AspectKey::new(urn, AspectName::STATUS))
            .collect();
        let keys: Vec<AspectKey> = known.iter().map(|(_, key)| key.clone()).collect();
        if known.is_empty() {
            return Ok(Standings::default());
        }
        let request = ReadRequest {
            rows: &statuses,
            exists: &keys,
            entities: &[],
        };
        let reply = self.store().read(request).await?;
        let own: HashMap<&Urn, Standing> = known
            .iter()
            .zip(reply.rows.iter().zip(reply.exists))
            .map(|((urn, _), (row, exists))| {
                let is_removed = is_removed(row);
                (*urn, Standing { exists, is_removed })
            })
            .collect();
        let standing = |holders: &[Urn]| {
            let all = holders.iter().filter_map(|holder| own.get(holder));
            Standing {
                exists: all.clone().any(|standing| standing.exists),
                is_removed: all.clone().any(|standing| standing.is_removed),
            }
        };
        let standings = holders
            .iter()
            .map(|(urn, holders)| ((*urn).clone(), standing(holders)))
            .collect();
        Ok(Standings(standings))
    }
}

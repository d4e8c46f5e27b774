//! Existence and soft deletion of the entities of a lineage.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, ReadRequest};

use super::columns;
use crate::lifecycle::is_removed;
use crate::{Catalog, Error};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Existence {
    pub(super) exists: bool,
    pub(super) is_removed: bool,
}

#[derive(Debug, Default)]
pub(super) struct ExistenceMap(HashMap<Urn, Existence>);

impl ExistenceMap {
    pub(super) fn of(&self, urn: &Urn) -> Existence {
        self.0.get(urn).copied().unwrap_or_default()
    }

    pub(super) fn is_live(&self, urn: &Urn) -> bool {
        let found = self.of(urn);
        found.exists && !found.is_removed
    }
}

impl Catalog {
    /// The existence of entities, hidden ones included, in one call of the store. A column exists
    /// if its table does: few columns are entities of their own.
    pub(super) async fn existence_of<'a>(
        &self,
        urns: impl Iterator<Item = &'a Urn>,
    ) -> Result<ExistenceMap, Error> {
        // Each entity with the one that its existence depends on.
        let holders: BTreeMap<&Urn, Vec<Urn>> = urns
            .map(|urn| {
                let mut holders: Vec<Urn> = columns::parent(urn).into_iter().collect();
                holders.push(urn.clone());
                (urn, holders)
            })
            .collect();
        let entities: BTreeSet<&Urn> = holders.values().flatten().collect();
        // A URN of an unknown type names no entity.
        let known: Vec<(&Urn, AspectKey)> = entities
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
            return Ok(ExistenceMap::default());
        }
        let request = ReadRequest {
            rows: &statuses,
            exists: &keys,
            entities: &[],
        };
        let reply = self.store().read(request).await?;
        let own: HashMap<&Urn, Existence> = known
            .iter()
            .zip(reply.rows.iter().zip(reply.exists))
            .map(|((urn, _), (row, exists))| {
                let is_removed = is_removed(row);
                (*urn, Existence { exists, is_removed })
            })
            .collect();
        let found = |holders: &[Urn]| {
            let all = holders.iter().filter_map(|holder| own.get(holder));
            Existence {
                exists: all.clone().any(|found| found.exists),
                is_removed: all.clone().any(|found| found.is_removed),
            }
        };
        let existence = holders
            .iter()
            .map(|(urn, holders)| ((*urn).clone(), found(holders)))
            .collect();
        Ok(ExistenceMap(existence))
    }
}

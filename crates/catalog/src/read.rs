//! Reading what is stored.

use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, Page, Related, StoredAspect, version};

use crate::{Caller, Catalog, Error};

impl Catalog {
    /// The latest version of each aspect, in the order of the keys, from one snapshot.
    pub async fn read(
        &self,
        _caller: &Caller,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<StoredAspect>>, Error> {
        Ok(self.store().aspects_read(keys).await?)
    }

    /// Like [`Catalog::read`], and whether the entities of these key aspects exist.
    pub async fn read_witnessed(
        &self,
        _caller: &Caller,
        keys: &[AspectKey],
        witnesses: &[AspectKey],
    ) -> Result<(Vec<Option<StoredAspect>>, Vec<bool>), Error> {
        Ok(self.store().aspects_read_witnessed(keys, witnesses).await?)
    }

    /// All latest aspects of each entity, in the order of the URNs.
    pub async fn read_entities(
        &self,
        _caller: &Caller,
        urns: &[Urn],
    ) -> Result<Vec<Vec<(AspectName, StoredAspect)>>, Error> {
        Ok(self.store().entities_read(urns).await?)
    }

    /// A version of one aspect: 0 is the latest, otherwise the logical version, 1 being the oldest.
    pub async fn read_version(
        &self,
        caller: &Caller,
        key: &AspectKey,
        version: i64,
    ) -> Result<Option<StoredAspect>, Error> {
        let row = self.store().aspect_read_version(key, version).await?;
        if row.is_some() || version <= 0 {
            return Ok(row);
        }
        // The latest version has no history row of its own yet.
        let latest = self.read(caller, std::slice::from_ref(key)).await?.pop();
        Ok(latest
            .flatten()
            .filter(|row| version::logical_version_of(row) == version))
    }

    /// Whether each entity exists, soft-deleted ones included.
    pub async fn exists(&self, caller: &Caller, urns: &[Urn]) -> Result<Vec<bool>, Error> {
        let keys = urns
            .iter()
            .map(|urn| {
                let entity = Registry::get().check_urn(urn)?;
                Ok(AspectKey::new(urn, entity.key_aspect))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let rows = self.read(caller, &keys).await?;
        Ok(rows.iter().map(Option::is_some).collect())
    }

    /// The entities that one entity points at, or that point at it, by the names of their relationships.
    pub async fn relationships(
        &self,
        _caller: &Caller,
        urn: &Urn,
        outgoing: bool,
        names: &[&str],
        start: usize,
        count: usize,
    ) -> Result<Page<Related>, Error> {
        let store = self.store();
        Ok(store.edges_list(urn, outgoing, names, start, count).await?)
    }

    /// Whether the store holds no entity of this type.
    pub async fn has_none(&self, _caller: &Caller, entity_type: &str) -> Result<bool, Error> {
        let Some(entity) = Registry::get().entity(entity_type) else {
            return Ok(true);
        };
        let some = self
            .store()
            .urns_list(entity.name, entity.key_aspect, None, 1)
            .await?;
        Ok(some.is_empty())
    }
}

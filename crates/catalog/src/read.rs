//! Reading what is stored.

use std::sync::Arc;

use docent_model::aspects::SYSTEM_ACTOR;
use docent_model::{AspectName, EntitySpec, MAX_ENCODED_BYTES, Registry, Urn};
use docent_store::{
    AspectKey, AspectRow, EntityAspects, ListPage, ReadReply, ReadRequest, RelatedEntity,
    RowVersion, StoredAspect, TimeseriesRow, version,
};

use crate::sessions::{self, is_session};
use crate::{Caller, Catalog, Error, tokens};

/// Aspects that hold secrets, or what secrets are checked with.
const SECRET_ASPECTS: [&str; 4] = [
    "corpUserCredentials",
    "dataHubAccessTokenInfo",
    "dataHubConnectionDetails",
    "dataHubSecretValue",
];

/// With each more, a pattern takes longer to compare with every URN.
const MAX_PATTERN_WILDCARDS: usize = 4;

/// More names in one question are a mistake: the registry has about as many relationships.
const MAX_RELATIONSHIP_NAMES: usize = 100;

/// How many URNs one list has at most.
const MAX_URNS: usize = 10_000;

impl Catalog {
    /// Whether an aspect is never shown as it is stored, whoever asks. [`Catalog::read`] and its kin do not
    /// look at this: doors that show whole aspects must.
    pub fn is_secret(aspect: AspectName) -> bool {
        SECRET_ASPECTS.contains(&aspect.as_str())
    }

    /// Whether anything can be changed now.
    pub async fn is_writable(&self) -> Result<bool, Error> {
        Ok(self.store().is_writable().await?)
    }

    /// Latest versions, existence checks and whole entities from one snapshot.
    pub async fn read(
        &self,
        _caller: &Caller,
        request: ReadRequest<'_>,
    ) -> Result<ReadReply, Error> {
        Ok(self.store().read(request).await?)
    }

    /// The latest version of each aspect; of a time series the newest point, which has no version.
    pub async fn read_current(
        &self,
        caller: &Caller,
        keys: &[AspectKey],
    ) -> Result<Vec<AspectRow>, Error> {
        let is_series = |key: &AspectKey| Registry::get().is_timeseries(key.aspect);
        if !keys.iter().any(is_series) {
            return Ok(self.read(caller, ReadRequest::rows(keys)).await?.rows);
        }
        let (series, versioned): (Vec<AspectKey>, Vec<AspectKey>) =
            keys.iter().cloned().partition(is_series);
        let mut points = self.store().timeseries_latest(&series).await?.into_iter();
        let reply = self.read(caller, ReadRequest::rows(&versioned)).await?;
        let mut rows = reply.rows.into_iter();
        let current = keys.iter().map(|key| {
            if is_series(key) {
                let point = points.next().flatten();
                point.map(|point| Arc::new(as_aspect(point)))
            } else {
                rows.next().flatten()
            }
        });
        Ok(current.collect())
    }

    /// All latest aspects of each entity, in the order of the URNs.
    pub async fn read_entities(
        &self,
        caller: &Caller,
        urns: &[Urn],
    ) -> Result<Vec<EntityAspects>, Error> {
        Ok(self
            .read(caller, ReadRequest::entities(urns))
            .await?
            .entities)
    }

    /// A version of one aspect: the latest, or the one with that logical version.
    pub async fn read_version(
        &self,
        caller: &Caller,
        key: &AspectKey,
        version: RowVersion,
    ) -> Result<Option<StoredAspect>, Error> {
        let row = self.store().aspect_read_version(key, version).await?;
        if row.is_some() || !version.is_history() {
            return Ok(row);
        }
        // The latest version has no history row of its own yet.
        let latest = self.read(caller, ReadRequest::row(key)).await?.into_row();
        Ok(latest
            .filter(|row| version == version::logical_version_of(row).into())
            .map(Arc::unwrap_or_clone))
    }

    /// How many entities have an aspect; in the pattern `%` stands for any text and `_` for any character.
    pub async fn count_aspects(
        &self,
        _caller: &Caller,
        aspect: AspectName,
        urn_like: Option<&str>,
    ) -> Result<u64, Error> {
        if let Some(pattern) = urn_like
            && (pattern.len() > MAX_ENCODED_BYTES
                || pattern.matches('%').count() > MAX_PATTERN_WILDCARDS)
        {
            return Err(Error::invalid(format!(
                "the pattern for URNs is too long: at most {MAX_ENCODED_BYTES} bytes with {MAX_PATTERN_WILDCARDS} times % can be looked for"
            )));
        }
        Ok(self.store().aspects_count(aspect, urn_like).await?)
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
        Ok(self.read(caller, ReadRequest::exists(&keys)).await?.exists)
    }

    /// Fails with `otherwise` unless the entity exists: for calls that have no proposal which could require it.
    pub(crate) async fn expect_existing(
        &self,
        caller: &Caller,
        urn: &Urn,
        otherwise: String,
    ) -> Result<(), Error> {
        match self.exists(caller, std::slice::from_ref(urn)).await?[..] {
            [true] => Ok(()),
            _ => Err(Error::no_entity(otherwise)),
        }
    }

    /// For each entity those that it points at, or that point at it, by the names of their relationships; no
    /// names mean all. A name that no relationship has finds nothing.
    pub async fn relationships(
        &self,
        _caller: &Caller,
        urns: &[Urn],
        outgoing: bool,
        names: &[&str],
        start: usize,
        count: usize,
    ) -> Result<Vec<ListPage<RelatedEntity>>, Error> {
        if names.len() > MAX_RELATIONSHIP_NAMES {
            return Err(Error::invalid(format!(
                "{} relationships are named: at most {MAX_RELATIONSHIP_NAMES} can be, and none means all",
                names.len()
            )));
        }
        let known: Vec<&str> = names
            .iter()
            .filter_map(|name| Registry::get().relationship(name))
            .collect();
        if known.is_empty() && !names.is_empty() {
            let nothing = || ListPage {
                total: 0,
                items: Vec::new(),
            };
            return Ok(urns.iter().map(|_| nothing()).collect());
        }
        let store = self.store();
        Ok(store
            .edges_list(urns, outgoing, &known, start, count)
            .await?)
    }

    /// The entities of a type in the order of their URNs, soft-deleted ones included, and how many there are. Sessions
    /// are nobody's to see.
    pub async fn list_urns(
        &self,
        _caller: &Caller,
        entity_type: &str,
        start: usize,
        count: usize,
    ) -> Result<ListPage<Urn>, Error> {
        let entity = Registry::get().entity(entity_type).ok_or_else(|| {
            Error::invalid(format!(
                "there is no entity type called '{entity_type}' in the registry"
            ))
        })?;
        if count > MAX_URNS {
            return Err(Error::invalid(format!(
                "count is {count}: at most {MAX_URNS} URNs are given at once"
            )));
        }
        let pattern = format!("urn:li:{}:%", entity.name);
        let mut total = self
            .store()
            .aspects_count(entity.key_aspect, Some(&pattern))
            .await?;
        if entity.name == tokens::ENTITY {
            let pattern = format!("urn:li:{}:{}%", entity.name, sessions::PREFIX);
            let store = self.store();
            let hidden = store.aspects_count(entity.key_aspect, Some(&pattern));
            total = total.saturating_sub(hidden.await?);
        }
        let mut items: Vec<Urn> = Vec::new();
        let mut before = start;
        // The store goes on behind a URN, not behind a number: what comes before is passed over in pieces.
        let mut after: Option<Urn> = None;
        while items.len() < count && before < usize::try_from(total).unwrap_or(usize::MAX) {
            let wanted = (before + count).min(MAX_URNS);
            let urns = self
                .store()
                .urns_list(entity.name, entity.key_aspect, after.as_ref(), wanted)
                .await?;
            let last = urns.len() < wanted;
            after = urns.last().cloned();
            let passed = before.min(urns.len());
            before -= passed;
            let room = count - items.len();
            // Their ids stand behind those of all tokens, so nothing that is passed over is a session.
            let urns = urns.into_iter().skip(passed);
            items.extend(urns.filter(is_shown).take(room));
            if last {
                break;
            }
        }
        Ok(ListPage {
            total: usize::try_from(total).unwrap_or(usize::MAX),
            items,
        })
    }

    /// The entities of a type that stand behind `after` in the order of their URNs. Sessions are nobody's to see.
    pub async fn urns_behind(
        &self,
        _caller: &Caller,
        entity: &EntitySpec,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<Urn>, Error> {
        let mut urns = self
            .store()
            .urns_list(entity.name, entity.key_aspect, after, limit)
            .await?;
        urns.retain(is_shown);
        Ok(urns)
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

fn is_shown(urn: &Urn) -> bool {
    urn.entity_type() != tokens::ENTITY || !is_session(urn.key())
}

/// A point in the form of a stored aspect, whose author is not known.
fn as_aspect(point: TimeseriesRow) -> StoredAspect {
    StoredAspect {
        version: RowVersion::LATEST,
        metadata: point.metadata,
        system_metadata: point.system_metadata,
        created_on_ms: point.time_ms,
        created_by: SYSTEM_ACTOR.to_owned(),
        created_for: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_secret_aspect_is_in_the_registry() {
        for name in SECRET_ASPECTS {
            let aspect = Registry::get().aspect(name);
            assert!(aspect.is_some_and(Catalog::is_secret), "{name}");
        }
        assert!(!Catalog::is_secret(AspectName::STATUS));
    }
}

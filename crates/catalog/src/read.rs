//! Reads of stored aspects, edges and entity lists.

use std::sync::Arc;

use docent_model::aspects::SYSTEM_ACTOR;
use docent_model::{AspectName, EntitySpec, MAX_ENCODED_BYTES, Registry, Urn};
use docent_store::{
    AspectKey, AspectRow, ListPage, PointRange, ReadReply, ReadRequest, RelatedEntity, RowVersion,
    StoredAspect, TimeseriesRow, version,
};

use crate::view::is_managed_type;
use crate::{Catalog, Error, LoadError, LoadedBytes, redaction, tokens};

/// Aspects that hold secrets, or the hashes that secrets are checked against.
const SECRET_ASPECTS: [AspectName; 6] = [
    AspectName::CORP_USER_CREDENTIALS,
    AspectName::ACCESS_TOKEN_INFO,
    AspectName::CONNECTION_DETAILS,
    AspectName::INVITE_TOKEN,
    AspectName::SECRET_VALUE,
    AspectName::SESSION_INFO,
];

/// Each wildcard makes a pattern slower to compare with every URN.
const MAX_PATTERN_WILDCARDS: usize = 4;

/// The registry has about as many relationships.
const MAX_RELATIONSHIP_NAMES: usize = 100;

/// The most URNs of one list.
const MAX_URNS: usize = 10_000;

/// The largest offset of a list of URNs. The store reads the URNs before it, too.
const MAX_URNS_START: usize = 1_000_000;

impl Catalog {
    /// Whether an aspect holds secrets. Reads of aspects omit them, and [`Catalog::read_tokens`]
    /// returns what may be known about a token. Callers need this only to say why a value is
    /// missing.
    pub fn is_secret(aspect: AspectName) -> bool {
        SECRET_ASPECTS.contains(&aspect)
    }

    /// Whether the store accepts writes now.
    pub async fn is_writable(&self) -> Result<bool, Error> {
        Ok(self.store().is_writable().await?)
    }

    /// Latest versions, existence checks and whole entities from one snapshot. Like all reads, it
    /// reads secret aspects as missing.
    pub async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, Error> {
        let reply = self.reader().read(request).await?;
        Ok(redaction::without_secrets(request, reply))
    }

    /// The latest version of each aspect; of a time series the newest point, which has no version.
    /// The values are loaded like those of [`Catalog::load`].
    pub async fn load_current(
        &self,
        keys: &[AspectKey],
        max_bytes: u64,
        loaded: &mut LoadedBytes,
    ) -> Result<Vec<AspectRow>, LoadError> {
        let is_series = |key: &AspectKey| Registry::get().is_timeseries(key.aspect);
        if !keys.iter().any(is_series) {
            let reply = self.load(ReadRequest::rows(keys), max_bytes, loaded);
            return Ok(reply.await?.rows);
        }
        let (series, versioned): (Vec<AspectKey>, Vec<AspectKey>) =
            keys.iter().cloned().partition(is_series);
        let before = loaded.bytes();
        let reply = self.load(ReadRequest::rows(&versioned), max_bytes, loaded);
        let mut rows = reply.await?.rows.into_iter();
        let max_bytes = max_bytes.saturating_sub(loaded.bytes() - before);
        let mut points = self.load_points(&series, max_bytes, loaded).await?;
        let mut points = points.drain(..);
        let current = keys.iter().map(|key| {
            if is_series(key) {
                let mut point = points.next().flatten().map(as_aspect).map(Arc::new);
                redaction::redact_row(key.aspect, &mut point);
                point
            } else {
                rows.next().flatten()
            }
        });
        Ok(current.collect())
    }

    /// The newest point of each time series.
    async fn load_points(
        &self,
        keys: &[AspectKey],
        max_bytes: u64,
        loaded: &mut LoadedBytes,
    ) -> Result<Vec<Option<TimeseriesRow>>, LoadError> {
        let (reader, all) = (self.reader(), PointRange::default());
        let mut bytes = 0_u64;
        for key in keys {
            let newest = reader.timeseries_bytes(key, &all, true, 0, 1);
            bytes += newest.await?.iter().sum::<u64>();
        }
        if bytes > max_bytes {
            return Err(LoadError::TooLong(bytes));
        }
        let total = loaded.bytes().saturating_add(bytes);
        self.loaded_memory().resize(loaded, total).await?;
        Ok(reader.timeseries_latest(keys).await?)
    }

    /// Whether each aspect is stored, secret ones included; of a time series whether it has any
    /// point.
    pub async fn are_stored(&self, keys: &[AspectKey]) -> Result<Vec<bool>, Error> {
        let rows = self.read_unfiltered(keys).await?;
        Ok(rows.iter().map(Option::is_some).collect())
    }

    pub(crate) async fn read_unfiltered(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<AspectRow>, Error> {
        let is_series = |key: &AspectKey| Registry::get().is_timeseries(key.aspect);
        if !keys.iter().any(is_series) {
            return Ok(self.reader().read(ReadRequest::rows(keys)).await?.rows);
        }
        let (series, versioned): (Vec<AspectKey>, Vec<AspectKey>) =
            keys.iter().cloned().partition(is_series);
        let mut points = self.reader().timeseries_latest(&series).await?.into_iter();
        let reply = self.reader().read(ReadRequest::rows(&versioned)).await?;
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

    /// A version of one aspect: the latest, or the one with that logical version. In a time series
    /// it is a time, as in DataHub: the newest point up to then is returned.
    pub async fn read_version(
        &self,
        key: &AspectKey,
        version: RowVersion,
    ) -> Result<Option<StoredAspect>, Error> {
        if Self::is_secret(key.aspect) {
            return Ok(None);
        }
        if version.is_history() && Registry::get().is_timeseries(key.aspect) {
            let range = PointRange {
                through_ms: Some(version.get()),
                ..PointRange::default()
            };
            let reader = self.reader();
            let mut points = reader.timeseries_list(key, &range, true, 0, 1).await?;
            return Ok(points.pop().map(as_aspect));
        }
        let mut row = self.reader().aspect_read_version(key, version).await?;
        if row.is_none() && version.is_history() {
            // The latest version has no history row of its own yet.
            let latest = self.reader().read(ReadRequest::row(key)).await?.into_row();
            row = latest
                .filter(|row| version == version::logical_version_of(row).into())
                .map(Arc::unwrap_or_clone);
        }
        if let Some(row) = &mut row {
            redaction::redact(key.aspect, row);
        }
        Ok(row)
    }

    /// How many entities have an aspect; in the pattern `%` stands for any text and `_` for any
    /// character.
    pub async fn count_aspects(
        &self,
        aspect: AspectName,
        urn_like: Option<&str>,
    ) -> Result<u64, Error> {
        if let Some(pattern) = urn_like
            && (pattern.len() > MAX_ENCODED_BYTES
                || pattern.matches('%').count() > MAX_PATTERN_WILDCARDS)
        {
            return Err(Error::invalid(format!(
                "the URN pattern is too complex: at most {MAX_ENCODED_BYTES} bytes and {MAX_PATTERN_WILDCARDS} wildcards (%) are allowed"
            )));
        }
        self.check_sees_everything("counting aspects").await?;
        let unmanaged = self.unmanaged_types(|_| true).await?;
        let count = self.store().aspects_count(aspect, urn_like, &unmanaged);
        Ok(count.await?)
    }

    /// Whether each entity exists, soft-deleted ones included.
    pub async fn exists(&self, urns: &[Urn]) -> Result<Vec<bool>, Error> {
        let keys = urns
            .iter()
            .map(|urn| {
                let entity = Registry::get().check_urn(urn)?;
                Ok(AspectKey::new(urn, entity.key_aspect))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(self.read(ReadRequest::exists(&keys)).await?.exists)
    }

    /// Fails with `otherwise` unless the entity exists: for calls without a proposal that could
    /// require it.
    pub(crate) async fn expect_existing(&self, urn: &Urn, otherwise: String) -> Result<(), Error> {
        match self.exists(std::slice::from_ref(urn)).await?[..] {
            [true] => Ok(()),
            _ => Err(Error::no_entity(otherwise)),
        }
    }

    /// Fails for the first of the entities that does not exist, with the message about it.
    pub(crate) async fn expect_all_existing(
        &self,
        urns: &[Urn],
        otherwise: impl Fn(&Urn) -> String,
    ) -> Result<(), Error> {
        let exist = self.exists(urns).await?;
        match urns.iter().zip(exist).find(|(_, exists)| !exists) {
            Some((missing, _)) => Err(Error::no_entity(otherwise(missing)).naming(missing)),
            None => Ok(()),
        }
    }

    /// The entities that each entity points at, or that point at it, by the names of their
    /// relationships; no names mean all. An unknown name finds nothing.
    pub async fn relationships(
        &self,
        urns: &[Urn],
        outgoing: bool,
        names: &[&str],
        start: usize,
        count: usize,
    ) -> Result<Vec<ListPage<RelatedEntity>>, Error> {
        if names.len() > MAX_RELATIONSHIP_NAMES {
            return Err(Error::invalid(format!(
                "{} relationships are given: at most {MAX_RELATIONSHIP_NAMES} are allowed, and none means all",
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
        self.public_edges(urns, outgoing, &known, start, count)
            .await
    }

    /// Edges of these relationships, or of all but the internal ones.
    pub(crate) async fn public_edges(
        &self,
        urns: &[Urn],
        outgoing: bool,
        names: &[&str],
        start: usize,
        count: usize,
    ) -> Result<Vec<ListPage<RelatedEntity>>, Error> {
        let all: Vec<&str>;
        // Internal edges connect sessions and tokens with users; nothing else needs the long list.
        let is_internal = |urn: &Urn| ["corpuser", tokens::ENTITY].contains(&urn.entity_type());
        let names = if names.is_empty() && urns.iter().any(is_internal) {
            all = Registry::get().relationships().collect();
            &all
        } else {
            names
        };
        self.reader()
            .edges_list(urns, outgoing, names, start, count)
            .await
    }

    /// The entities of a type in the order of their URNs, soft-deleted ones included, and how many
    /// there are.
    pub async fn list_urns(
        &self,
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
                "count is {count}: one list has at most {MAX_URNS} URNs"
            )));
        }
        if start > MAX_URNS_START {
            return Err(Error::invalid(format!(
                "start is {start}: at most {MAX_URNS_START} is allowed; use a scroll to read more"
            )));
        }
        if self.view.is_some() || is_managed_type(entity.name) {
            return self.list_seen_urns(entity, start, count).await;
        }
        let pattern = format!("urn:li:{}:%", entity.name);
        let total = self
            .store()
            .aspects_count(entity.key_aspect, Some(&pattern), &[])
            .await?;
        let mut items: Vec<Urn> = Vec::new();
        let mut before = start;
        // The store continues behind a URN, not at an offset, so the entities before `start` are
        // skipped in chunks.
        let mut after: Option<Urn> = None;
        while items.len() < count && before < usize::try_from(total).unwrap_or(usize::MAX) {
            let limit = (before + count).min(MAX_URNS);
            let urns = self
                .store()
                .urns_list(entity.name, entity.key_aspect, after.as_ref(), limit)
                .await?;
            let last = urns.len() < limit;
            after = urns.last().cloned();
            let passed = before.min(urns.len());
            before -= passed;
            let room = count - items.len();
            items.extend(urns.into_iter().skip(passed).take(room));
            if last {
                break;
            }
        }
        Ok(ListPage {
            total: usize::try_from(total).unwrap_or(usize::MAX),
            items,
        })
    }

    /// [`Catalog::list_urns`] for a caller who does not see everything.
    async fn list_seen_urns(
        &self,
        entity: &EntitySpec,
        start: usize,
        count: usize,
    ) -> Result<ListPage<Urn>, Error> {
        let all = self.urns_behind(entity, None, MAX_URNS_START).await?;
        Ok(ListPage {
            total: all.len(),
            items: all.into_iter().skip(start).take(count).collect(),
        })
    }

    /// The entities of a type behind `after` in the order of their URNs.
    pub async fn urns_behind(
        &self,
        entity: &EntitySpec,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<Urn>, Error> {
        self.reader()
            .urns_list(entity.name, entity.key_aspect, after, limit)
            .await
    }

    /// Whether the store has no entity of this type.
    pub async fn has_none(&self, entity_type: &str) -> Result<bool, Error> {
        let Some(entity) = Registry::get().entity(entity_type) else {
            return Ok(true);
        };
        let some = self
            .reader()
            .urns_list(entity.name, entity.key_aspect, None, 1)
            .await?;
        Ok(some.is_empty())
    }
}

/// A point in the form of a stored aspect, without its author.
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
        for aspect in SECRET_ASPECTS {
            assert_eq!(Registry::get().stored_aspect(aspect.as_str()), Some(aspect));
            assert!(Catalog::is_secret(aspect), "{aspect}");
        }
        assert!(!Catalog::is_secret(AspectName::STATUS));
    }
}

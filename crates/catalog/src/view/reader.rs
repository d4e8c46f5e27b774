//! Reads from the store, without what the caller may not see.
//!
//! Each function reads, and then removes hidden entities from the result. Pages with totals need
//! everything before they can be cut, so one list reads at most [`MAX_READ`] entries. A longer one
//! is an error, not a partial list with a wrong total.

use std::collections::HashSet;

use docent_model::{AspectName, Registry, Urn};
use docent_store::{
    AspectKey, EntityAspects, ListPage, LogEntry, LogPosition, PointKey, PointRange, PointSize,
    ReadReply, ReadRequest, RelatedEntity, RowVersion, Store, StoredAspect, TimeseriesRow,
};

use crate::{Catalog, Error};

/// How much is read at once to find what the caller sees.
const CHUNK: usize = 1_000;
/// The least that is read at once: of a short page, some may be hidden.
const MIN_CHUNK: usize = 100;
/// How many entries one list reads at most. Deciding about so many takes a fraction of a second.
pub(super) const MAX_READ: usize = 20_000;

/// Reads for one caller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'c> {
    store: &'c dyn Store,
    /// Knows what the caller sees.
    catalog: &'c Catalog,
    max_read: usize,
}

impl<'c> Reader<'c> {
    pub(super) fn new(catalog: &'c Catalog, max_read: usize) -> Self {
        Self {
            store: catalog.store(),
            catalog,
            max_read,
        }
    }

    /// Whether view policies hide something from the caller.
    fn has_view(&self) -> bool {
        self.catalog.view.is_some()
    }

    async fn hidden<'u>(
        &self,
        urns: impl IntoIterator<Item = &'u Urn> + Send,
    ) -> Result<HashSet<Urn>, Error> {
        self.catalog.hidden_among(urns).await
    }

    /// How much to read next after so many entries. Fails if there are more than the limit.
    fn next_chunk(&self, read: usize, what: &str) -> Result<usize, Error> {
        if read > self.max_read {
            return Err(Error::too_large(format!(
                "there are more than {} {what} to check for what you may see: use a search instead",
                self.max_read
            )));
        }
        Ok(CHUNK.min(self.max_read + 1 - read))
    }

    async fn hides(&self, urn: &Urn) -> Result<bool, Error> {
        Ok(!self.hidden([urn]).await?.is_empty())
    }

    pub(crate) async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, Error> {
        let reply = self.store.read(request).await?;
        self.without_hidden(request, reply).await
    }

    pub(crate) async fn read_if_short(
        &self,
        request: ReadRequest<'_>,
    ) -> Result<Option<ReadReply>, Error> {
        match self.store.read_if_short(request).await? {
            Some(reply) => self.without_hidden(request, reply).await.map(Some),
            None => Ok(None),
        }
    }

    async fn without_hidden(
        &self,
        request: ReadRequest<'_>,
        mut reply: ReadReply,
    ) -> Result<ReadReply, Error> {
        let keys = request.rows.iter().chain(request.exists);
        let urns = keys.map(|key| &key.urn).chain(request.entities);
        let hidden = self.hidden(urns).await?;
        if hidden.is_empty() {
            return Ok(reply);
        }
        for (key, row) in request.rows.iter().zip(&mut reply.rows) {
            if hidden.contains(&key.urn) {
                *row = None;
            }
        }
        for (key, exists) in request.exists.iter().zip(&mut reply.exists) {
            *exists &= !hidden.contains(&key.urn);
        }
        for (urn, aspects) in request.entities.iter().zip(&mut reply.entities) {
            if hidden.contains(urn) {
                *aspects = EntityAspects::new();
            }
        }
        Ok(reply)
    }

    pub(crate) async fn aspect_read_version(
        &self,
        key: &AspectKey,
        version: RowVersion,
    ) -> Result<Option<StoredAspect>, Error> {
        if self.hides(&key.urn).await? {
            return Ok(None);
        }
        Ok(self.store.aspect_read_version(key, version).await?)
    }

    pub(crate) async fn histories_read(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Vec<StoredAspect>>, Error> {
        let mut histories = self.store.histories_read(keys).await?;
        let hidden = self.hidden(keys.iter().map(|key| &key.urn)).await?;
        for (key, history) in keys.iter().zip(&mut histories) {
            if hidden.contains(&key.urn) {
                history.clear();
            }
        }
        Ok(histories)
    }

    pub(crate) async fn timeseries_list(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<TimeseriesRow>, Error> {
        if !self.may_see_series(key).await? {
            return Ok(Vec::new());
        }
        let store = self.store;
        Ok(store
            .timeseries_list(key, range, newest_first, start, limit)
            .await?)
    }

    pub(crate) async fn timeseries_bytes(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<u64>, Error> {
        if !self.may_see_series(key).await? {
            return Ok(Vec::new());
        }
        let store = self.store;
        Ok(store
            .timeseries_bytes(key, range, newest_first, start, limit)
            .await?)
    }

    /// The first points of an aspect behind `after` that the caller sees, of entities of a type.
    /// Fails if they are too far apart.
    pub(crate) async fn points_list(
        &self,
        entity_type: &str,
        aspect: AspectName,
        range: &PointRange,
        after: Option<&PointKey>,
        limit: usize,
    ) -> Result<Vec<PointSize>, Error> {
        let mut seen: Vec<PointSize> = Vec::new();
        let mut last = after.cloned();
        let mut read = 0;
        loop {
            let chunk = self.next_chunk(read, "points")?.min(limit.max(MIN_CHUNK));
            let points = self.store.points_list(aspect, range, last.as_ref(), chunk);
            let mut points = points.await?;
            read += points.len();
            let is_end = points.len() < chunk;
            last = points.last().map(|it| it.key.clone()).or(last);
            points.retain(|it| it.key.urn.entity_type() == entity_type);
            let hidden = self.hidden(points.iter().map(|it| &it.key.urn)).await?;
            let keys = points.iter().map(|it| AspectKey::new(&it.key.urn, aspect));
            let keys: Vec<AspectKey> = keys.collect();
            let may_see = self.catalog.may_see_series(&keys, &hidden).await?;
            let visible = points
                .into_iter()
                .zip(may_see)
                .filter(|(_, may_see)| *may_see);
            seen.extend(visible.map(|(point, _)| point));
            if is_end || seen.len() >= limit {
                seen.truncate(limit);
                return Ok(seen);
            }
        }
    }

    /// Values of points that [`Self::points_list`] has returned.
    pub(crate) async fn points_read(
        &self,
        aspect: AspectName,
        keys: &[PointKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, Error> {
        Ok(self.store.points_read(aspect, keys).await?)
    }

    async fn may_see_series(&self, key: &AspectKey) -> Result<bool, Error> {
        let hidden = self.hidden([&key.urn]).await?;
        let keys = std::slice::from_ref(key);
        Ok(self.catalog.may_see_series(keys, &hidden).await? == [true])
    }

    pub(crate) async fn timeseries_latest(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, Error> {
        let mut points = self.store.timeseries_latest(keys).await?;
        let hidden = self.hidden(keys.iter().map(|key| &key.urn)).await?;
        let may_see = self.catalog.may_see_series(keys, &hidden).await?;
        for (may_see, point) in may_see.into_iter().zip(&mut points) {
            if !may_see {
                *point = None;
            }
        }
        Ok(points)
    }

    pub(crate) async fn log_read(
        &self,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<LogEntry>, Error> {
        let mut entries = self.store.log_read(after, limit).await?;
        let hidden = self.hidden(entries.iter().map(|entry| &entry.key.urn));
        let hidden = hidden.await?;
        entries.retain(|entry| !hidden.contains(&entry.key.urn));
        Ok(entries)
    }

    /// The first URNs after `after` that the caller sees. Fails if they are too far apart.
    pub(crate) async fn urns_list(
        &self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<Urn>, Error> {
        let managed = self.catalog.managed_urns(entity_type, after, limit);
        if let Some(managed) = managed.await? {
            return Ok(managed);
        }
        if !self.has_view() {
            let urns = self.store.urns_list(entity_type, aspect, after, limit);
            return Ok(urns.await?);
        }
        let mut seen = Vec::new();
        let mut last = after.cloned();
        let mut read = 0;
        loop {
            let chunk = self.next_chunk(read, "entities of this type")?;
            let urns = self
                .store
                .urns_list(entity_type, aspect, last.as_ref(), chunk);
            let urns = urns.await?;
            read += urns.len();
            let is_end = urns.len() < chunk;
            last = urns.last().cloned().or(last);
            let hidden = self.hidden(&urns).await?;
            seen.extend(urns.into_iter().filter(|urn| !hidden.contains(urn)));
            if is_end || seen.len() >= limit {
                seen.truncate(limit);
                return Ok(seen);
            }
        }
    }

    pub(crate) async fn edges_list(
        &self,
        urns: &[Urn],
        outgoing: bool,
        relationships: &[&str],
        start: usize,
        limit: usize,
    ) -> Result<Vec<ListPage<RelatedEntity>>, Error> {
        let store = self.store;
        // Of these types the caller sees own tokens at most, which have no public relationships.
        let unmanaged = self.catalog.unmanaged_types(|_| true).await?;
        let hidden = self.hidden(urns).await?;
        if !self.has_view() {
            let pages = store.edges_list(urns, outgoing, relationships, &unmanaged, start, limit);
            let mut pages = pages.await?;
            for (urn, page) in urns.iter().zip(&mut pages) {
                if hidden.contains(urn) {
                    *page = cut(Vec::new(), 0, 0);
                }
            }
            return Ok(pages);
        }
        let mut pages = Vec::with_capacity(urns.len());
        // The limit is one for all entities together.
        let mut all_read = 0;
        for urn in urns {
            if hidden.contains(urn) {
                pages.push(cut(Vec::new(), 0, 0));
                continue;
            }
            let urn = std::slice::from_ref(urn);
            let mut seen: Vec<RelatedEntity> = Vec::new();
            let mut read = 0;
            loop {
                let chunk = self.next_chunk(all_read, "relationships")?;
                let page = store.edges_list(urn, outgoing, relationships, &unmanaged, read, chunk);
                let page = page.await?.pop();
                let items = page.map(|page| page.items).unwrap_or_default();
                read += items.len();
                all_read += items.len();
                let is_end = items.len() < chunk;
                let hidden = self.hidden(items.iter().map(|edge| &edge.urn)).await?;
                seen.extend(items.into_iter().filter(|edge| !hidden.contains(&edge.urn)));
                if is_end {
                    break;
                }
            }
            pages.push(cut(seen, start, limit));
        }
        Ok(pages)
    }

    /// The children that the caller sees. Those whose parent is hidden are roots, too.
    pub(crate) async fn placements_list(
        &self,
        kind: &str,
        parent: Option<&Urn>,
        start: usize,
        limit: usize,
    ) -> Result<ListPage<Urn>, Error> {
        if !self.has_view() {
            let page = self.store.placements_list(kind, parent, start, limit);
            return Ok(page.await?);
        }
        if let Some(parent) = parent
            && self.hides(parent).await?
        {
            return Ok(cut(Vec::new(), start, limit));
        }
        let mut seen: Vec<Urn> = Vec::new();
        let mut read = 0;
        loop {
            let chunk = self.next_chunk(read, "entries of this list")?;
            let page = self.store.placements_list(kind, parent, read, chunk);
            let page = page.await?;
            read += page.items.len();
            let is_end = page.items.len() < chunk;
            let hidden = self.hidden(&page.items).await?;
            seen.extend(page.items.into_iter().filter(|urn| !hidden.contains(urn)));
            if is_end {
                break;
            }
        }
        if parent.is_none() {
            let known: HashSet<Urn> = seen.iter().cloned().collect();
            let others = self.below_hidden_parents(kind).await?;
            seen.extend(others.into_iter().filter(|urn| !known.contains(urn)));
        }
        Ok(cut(seen, start, limit))
    }

    /// The entities of a type that the caller sees, but not their parents.
    pub(crate) async fn below_hidden_parents(&self, entity_type: &str) -> Result<Vec<Urn>, Error> {
        let Some(entity) = Registry::get()
            .entity(entity_type)
            .filter(|_| self.has_view())
        else {
            return Ok(Vec::new());
        };
        let seen = self.urns_list(entity_type, entity.key_aspect, None, usize::MAX);
        let seen = seen.await?;
        let parents = self.store.placement_ancestors(&seen, 1).await?;
        let hidden = self.hidden(parents.iter().flatten()).await?;
        let is_below = |parents: &[Urn]| parents.iter().any(|parent| hidden.contains(parent));
        let below = seen.into_iter().zip(parents);
        Ok(below
            .filter(|(_, parents)| is_below(parents))
            .map(|(urn, _)| urn)
            .collect())
    }

    /// The entities of a type that the caller sees, but not the parents that they are part of.
    pub(crate) async fn parts_of_hidden(
        &self,
        entity_type: &str,
        parent_type: &str,
    ) -> Result<Vec<Urn>, Error> {
        let parents = Registry::get().entity(parent_type);
        let Some(parents) = parents.filter(|_| self.has_view()) else {
            return Ok(Vec::new());
        };
        let mut parts = Vec::new();
        let mut last = None;
        let mut read = 0;
        loop {
            let chunk = self.next_chunk(read, "entities of this type")?;
            let urns = self
                .store
                .urns_list(parents.name, parents.key_aspect, last.as_ref(), chunk);
            let urns = urns.await?;
            read += urns.len();
            let hidden: Vec<Urn> = self.hidden(&urns).await?.into_iter().collect();
            let pages = self
                .store
                .edges_list(&hidden, false, &["IsPartOf"], &[], 0, self.max_read);
            let edges = pages.await?.into_iter().flat_map(|page| page.items);
            parts.extend(edges.map(|edge| edge.urn));
            if urns.len() < chunk {
                break;
            }
            last = urns.last().cloned();
        }
        parts.retain(|urn| urn.entity_type() == entity_type);
        let hidden = self.hidden(&parts).await?;
        parts.retain(|urn| !hidden.contains(urn));
        Ok(parts)
    }

    /// The ancestors of each URN up to the first that is hidden.
    pub(crate) async fn placement_ancestors(
        &self,
        urns: &[Urn],
        max: usize,
    ) -> Result<Vec<Vec<Urn>>, Error> {
        let mut ancestors = self.store.placement_ancestors(urns, max).await?;
        if self.has_view() {
            let hidden = self.hidden(urns.iter().chain(ancestors.iter().flatten()));
            let hidden = hidden.await?;
            for (urn, above) in urns.iter().zip(&mut ancestors) {
                let end = above.iter().position(|it| hidden.contains(it));
                let end = end.unwrap_or(above.len());
                above.truncate(if hidden.contains(urn) { 0 } else { end });
            }
        }
        Ok(ancestors)
    }
}

/// A page of a whole list.
fn cut<T>(all: Vec<T>, start: usize, limit: usize) -> ListPage<T> {
    ListPage {
        total: all.len(),
        items: all.into_iter().skip(start).take(limit).collect(),
    }
}

#[cfg(test)]
mod tests {
    use docent_model::{AspectName, FixedClock, Urn};
    use docent_test_store::TestStore;
    use serde_json::json;
    use std::sync::Arc;

    use super::*;
    use crate::{Caller, Catalog, ErrorKind, Proposal};

    /// A caller who sees nothing pays for no more entries than the limit.
    #[tokio::test]
    async fn a_list_that_is_too_long_to_check_is_an_error() {
        let test_store = TestStore::open().await.unwrap();
        let catalog = Catalog::new(test_store.store(), Arc::new(FixedClock::at(1)));
        let domain = Urn::parse("urn:li:domain:root").unwrap();
        let mut writes = vec![(
            domain.clone(),
            AspectName::DOMAIN_PROPERTIES,
            json!({"name": "root"}),
        )];
        for number in 0..4 {
            let table = format!("urn:li:dataset:(urn:li:dataPlatform:hive,t{number},PROD)");
            let member = json!({"domains": [domain]});
            writes.push((Urn::parse(&table).unwrap(), AspectName::DOMAINS, member));
            let child = Urn::new("domain", &format!("child{number}")).unwrap();
            let properties = json!({"name": "child", "parentDomain": domain});
            writes.push((child, AspectName::DOMAIN_PROPERTIES, properties));
        }
        let seen = json!({
            "displayName": "root", "description": "", "type": "METADATA", "state": "ACTIVE",
            "privileges": ["VIEW_ENTITY_PAGE"], "actors": {"users": ["urn:li:corpuser:vera"]},
            "resources": {"filter": {"criteria": [{"field": "URN", "values": [domain]}]}},
        });
        let policy = Urn::parse("urn:li:dataHubPolicy:root").unwrap();
        writes.push((policy, AspectName::POLICY_INFO, seen));
        let proposals = writes.into_iter();
        let proposals =
            proposals.map(|(urn, aspect, value)| Proposal::upsert(urn, aspect, value.to_string()));
        catalog
            .apply(&Caller::system(), proposals.collect())
            .await
            .unwrap();
        catalog.enforce_policies(None);
        catalog.enforce_view_policies();
        let caller = Caller::new(Urn::parse("urn:li:corpuser:vera").unwrap());
        let catalog = catalog.seen_by(&caller).await.unwrap();
        let limited = |max_read| Reader::new(&catalog, max_read);
        let domains = [domain.clone()];
        for (max_read, is_enough) in [(4, true), (3, false)] {
            let reader = limited(max_read);
            let edges = reader
                .edges_list(&domains, false, &["AssociatedWith"], 0, 1)
                .await;
            let children = reader.placements_list("domain", Some(&domain), 0, 1).await;
            assert_eq!(
                edges.as_ref().map(|pages| pages[0].total).ok(),
                is_enough.then_some(0)
            );
            assert_eq!(
                children.as_ref().map(|page| page.total).ok(),
                is_enough.then_some(0)
            );
            for error in edges.err().into_iter().chain(children.err()) {
                assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
            }
        }
        // Of all domains together.
        let twice = [domain.clone(), domain];
        let edges = limited(7)
            .edges_list(&twice, false, &["AssociatedWith"], 0, 1)
            .await;
        assert!(edges.is_err());
        let key = AspectName::DOMAIN_PROPERTIES;
        let urns = limited(5).urns_list("domain", key, None, 10).await.unwrap();
        assert_eq!(urns.len(), 1);
        assert!(limited(4).urns_list("domain", key, None, 10).await.is_err());
    }
}

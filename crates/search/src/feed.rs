//! Feeds the index from the store: first all entities, then change by change.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use docent_model::{AspectName, Registry, Urn};
use docent_store::{EntityTexts, LogEntry, LogPosition, ReadRequest, Store, StoredAspect};
use tantivy::IndexWriter;

use crate::document::{Entity, EntityDocument};
use crate::error::SearchError;
use crate::index::{IndexLocation, IndexedPosition, OpenIndex, commit};
use crate::measurements::Counters;
use crate::read_size::fitting;
use crate::schema::Fields;
use crate::shared_position::SharedPosition;

/// How many entities to read and index at once, if they are short.
const ENTITIES_PER_READ: usize = 500;
/// How many changes to read at once.
const CHANGES_PER_READ: usize = 2500;
/// How many entities to index before a commit. Committed work is never repeated, and its progress
/// can be reported to waiting searches.
const ENTITIES_PER_COMMIT: usize = 10_000;

/// How much to index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedAmount {
    /// Everything that is committed when feeding starts.
    All,
    /// At most about this many entities, in one commit, so that searches and other work are not
    /// held up.
    Entities(usize),
}

/// Access tokens and internal entities are not searchable.
fn is_indexed(entity_type: &str) -> bool {
    entity_type != "dataHubAccessToken" && Registry::get().entity(entity_type).is_some()
}

/// Indexes every entity of the store into a new index.
pub(crate) async fn build(
    store: &dyn Store,
    location: &IndexLocation,
    fields: &Fields,
    done: &AtomicU64,
) -> Result<OpenIndex, SearchError> {
    // Changes during the build come after this position and are indexed afterwards.
    let indexed = tail(store).await?;
    let (target, schema) = (location.clone(), fields.clone());
    let mut draft = blocking(move || target.begin(&schema)).await?;
    for spec in Registry::get()
        .entities()
        .filter(|spec| is_indexed(spec.name))
    {
        let mut after: Option<Urn> = None;
        loop {
            let next = store
                .urns_list(
                    spec.name,
                    spec.key_aspect,
                    after.as_ref(),
                    ENTITIES_PER_READ,
                )
                .await?;
            if next.is_empty() {
                break;
            }
            let count = fitting(store, &next).await?;
            let entities = store
                .entities_list(spec.name, after.as_ref(), count)
                .await?;
            let Some(last) = entities.last() else { break };
            after = Some(last.urn.clone());
            let count = entities.len() as u64;
            let fields = fields.clone();
            // The writer blocks its callers while it writes a segment.
            draft = blocking(move || {
                for EntityTexts { urn, aspects } in &entities {
                    let aspects = aspects.iter().map(|(name, text)| (*name, text.as_str()));
                    let document = Entity::read(aspects).into_document(urn, &fields);
                    draft.writer.add_document(document.queued())?;
                }
                Ok(draft)
            })
            .await?;
            done.fetch_add(count, Ordering::Relaxed);
        }
    }
    let (location, fields) = (location.clone(), fields.clone());
    blocking(move || location.finish(draft, indexed, &fields)).await
}

/// Indexes the changes committed since, and publishes the position that the index has reached in
/// `indexed_up_to`.
///
/// If it fails, the position stays. Documents that were written but not committed are replaced by
/// the next attempt.
pub(crate) async fn catch_up(
    store: &dyn Store,
    open: &mut OpenIndex,
    fields: &Fields,
    amount: FeedAmount,
    indexed_up_to: &SharedPosition,
    counters: &Counters,
) -> Result<(), SearchError> {
    let mut last: Option<LogEntry> = None;
    // Bounds the loop when writers are faster than the feed.
    let mut end: Option<LogPosition> = None;
    // An entity with many changes is read once, after the last of them.
    let mut urns_to_read: HashSet<Urn> = HashSet::new();
    let limit = match amount {
        FeedAmount::All => ENTITIES_PER_COMMIT,
        FeedAmount::Entities(limit) => limit,
    };
    loop {
        let mut changes = match &last {
            Some(last) => store.log_read(last.position, CHANGES_PER_READ).await?,
            None => changes_after(store, &open.indexed).await?,
        };
        let full = changes.len() == CHANGES_PER_READ;
        let urns = changes.iter().map(|change| &change.key.urn);
        urns_to_read.extend(urns.filter(|urn| is_indexed(urn.entity_type())).cloned());
        last = changes.pop().or(last);
        if full && end.is_none() {
            end = Some(tail(store).await?.position);
        }
        let reached = last.as_ref().map_or(LogPosition::START, |it| it.position);
        let complete = !full || end.is_some_and(|end| reached >= end);
        let enough = urns_to_read.len() >= limit;
        if (complete || enough)
            && let Some(last) = &last
        {
            let urns: Vec<Urn> = urns_to_read.drain().collect();
            let entities = urns.len() as u64;
            index_entities(store, open, urns, indexed_position(last), fields).await?;
            counters.commits.increment();
            counters.entities.add(entities);
            indexed_up_to.set(open.indexed.position);
        }
        if complete || (enough && amount != FeedAmount::All) {
            return Ok(());
        }
    }
}

/// The first changes after the indexed ones. Fails if the log is no longer the one that the index
/// was fed from: a database restored from a backup assigns its positions to other changes.
async fn changes_after(
    store: &dyn Store,
    indexed: &IndexedPosition,
) -> Result<Vec<LogEntry>, SearchError> {
    if indexed.position == LogPosition::START {
        let start = LogPosition::START;
        return Ok(store.log_read(start, CHANGES_PER_READ).await?);
    }
    let mut changes = store
        .log_read(indexed.position.minus(1), CHANGES_PER_READ + 1)
        .await?;
    if !changes
        .first()
        .is_some_and(|first| indexed_position(first) == *indexed)
    {
        let text = "the log does not have the last indexed change".to_owned();
        return Err(tantivy::TantivyError::InternalError(text).into());
    }
    changes.remove(0);
    Ok(changes)
}

/// Replaces the documents of some entities, and commits the index at a position.
pub(crate) async fn index_entities(
    store: &dyn Store,
    open: &mut OpenIndex,
    urns: Vec<Urn>,
    indexed: IndexedPosition,
    fields: &Fields,
) -> Result<(), SearchError> {
    let mut rest = &urns[..];
    while !rest.is_empty() {
        let next = &rest[..rest.len().min(ENTITIES_PER_READ)];
        let (chunk, others) = rest.split_at(fitting(store, next).await?);
        rest = others;
        let entities = store.read(ReadRequest::entities(chunk)).await?.entities;
        let (urns, fields) = (chunk.to_vec(), fields.clone());
        let writer = Arc::clone(&open.writer);
        blocking(move || replace(&locked(&writer), &urns, &entities, &fields)).await?;
    }
    let (writer, reader) = (Arc::clone(&open.writer), open.reader.clone());
    let committed = indexed.clone();
    blocking(move || commit(&mut locked(&writer), &committed)).await?;
    // The commit succeeded, even if reloading the reader fails.
    open.indexed = indexed;
    blocking(move || Ok(reader.reload()?)).await
}

fn locked(
    writer: &Mutex<IndexWriter<EntityDocument>>,
) -> MutexGuard<'_, IndexWriter<EntityDocument>> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

fn replace(
    writer: &IndexWriter<EntityDocument>,
    urns: &[Urn],
    entities: &[Vec<(AspectName, StoredAspect)>],
    fields: &Fields,
) -> Result<(), SearchError> {
    for (urn, rows) in urns.iter().zip(entities) {
        writer.delete_term(fields.urn_term(urn.as_str()));
        // As in `StoreReader::entities_list`, so that a rebuild yields the same documents.
        let mut names = rows.iter().map(|(name, _)| *name);
        if names.any(|name| Registry::get().is_key_aspect(urn, name)) {
            let document = Entity::of_rows(rows).into_document(urn, fields);
            writer.add_document(document.queued())?;
        }
    }
    Ok(())
}

/// Whether the log still has the last change that was indexed.
pub(crate) async fn is_in_log(
    store: &dyn Store,
    indexed: &IndexedPosition,
) -> Result<bool, SearchError> {
    if indexed.position == LogPosition::START {
        return Ok(true);
    }
    let at = store.log_read(indexed.position.minus(1), 1).await?;
    Ok(at
        .first()
        .is_some_and(|change| indexed_position(change) == *indexed))
}

pub(crate) async fn tail(store: &dyn Store) -> Result<IndexedPosition, SearchError> {
    let newest = store.log_newest().await?;
    Ok(newest.as_ref().map(indexed_position).unwrap_or_default())
}

fn indexed_position(change: &LogEntry) -> IndexedPosition {
    IndexedPosition {
        position: change.position,
        fingerprint: format!(
            "{} {} {}",
            change.time_ms, change.key.aspect, change.key.urn
        ),
    }
}

pub(crate) async fn blocking<T: Send + 'static>(
    task: impl FnOnce() -> Result<T, SearchError> + Send + 'static,
) -> Result<T, SearchError> {
    tokio::task::spawn_blocking(task)
        .await
        .map_err(|error| tantivy::TantivyError::InternalError(error.to_string()))?
}

#[cfg(test)]
mod tests;

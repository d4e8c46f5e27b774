//! Bringing the index up to the store: all of it once, then change by change.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use docent_model::{AspectName, Registry, Urn};
use docent_store::{Change, EntityTexts, LogPosition, ReadRequest, Store, StoredAspect};
use tantivy::IndexWriter;

use crate::document::{Entity, EntityDocument};
use crate::error::SearchError;
use crate::index::{Location, OpenIndex, Position, commit};
use crate::schema::Fields;

/// How many entities are read and written at once.
const CHUNK: usize = 500;
/// How many changes are looked at at once.
const CHANGES: usize = 2500;
/// How many entities are written before they are committed: what has been taken in by then is never taken in again, and those
/// who wait can be told how far it has come.
const GATHERED: usize = 10_000;

/// How much is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    /// Everything that is committed when it begins.
    All,
    /// Some entities, in one commit: others may want the index, or the machine.
    Entities(usize),
}

/// Tokens are nobody's to find.
fn is_indexed(entity_type: &str) -> bool {
    entity_type != "dataHubAccessToken"
}

/// Writes every entity of the store into a new index.
pub(crate) async fn build(
    store: &dyn Store,
    location: &Location,
    fields: &Fields,
    done: &AtomicU64,
) -> Result<OpenIndex, SearchError> {
    // What is written while we read is read again afterwards: it stands behind this position.
    let holds = tail(store).await?;
    let (place, schema) = (location.clone(), fields.clone());
    let mut draft = blocking(move || place.begin(&schema)).await?;
    for spec in Registry::get()
        .entities()
        .filter(|spec| is_indexed(spec.name))
    {
        let mut after: Option<Urn> = None;
        loop {
            let entities = store
                .entities_list(spec.name, after.as_ref(), CHUNK)
                .await?;
            let Some(last) = entities.last() else { break };
            after = Some(last.urn.clone());
            let count = entities.len() as u64;
            let fields = fields.clone();
            // The writer makes its callers wait while it writes a segment.
            draft = blocking(move || {
                for EntityTexts { urn, aspects } in &entities {
                    let aspects = aspects.iter().map(|(name, text)| (*name, text.as_str()));
                    let document = Entity::read(aspects).into_document(urn, &fields);
                    draft.writer.add_document(document)?;
                }
                Ok(draft)
            })
            .await?;
            done.fetch_add(count, Ordering::Relaxed);
        }
    }
    let (location, fields) = (location.clone(), fields.clone());
    blocking(move || location.finish(draft, holds, &fields)).await
}

/// Takes in what was committed since. `held` is told how far the index has come.
///
/// When it fails, the index holds what it held: what was written and not committed is written again, over itself.
pub(crate) async fn catch_up(
    store: &dyn Store,
    open: &mut OpenIndex,
    fields: &Fields,
    amount: Amount,
    held: &AtomicI64,
) -> Result<(), SearchError> {
    let mut last: Option<Change> = None;
    // Whoever writes faster than we read must not keep us here for ever.
    let mut end: Option<LogPosition> = None;
    // An entity that changed often is read once, behind its last change.
    let mut urns_to_read: HashSet<Urn> = HashSet::new();
    let most = match amount {
        Amount::All => GATHERED,
        Amount::Entities(most) => most,
    };
    loop {
        let mut changes = match &last {
            Some(last) => store.changes_read(last.position, CHANGES).await?,
            None => changes_behind(store, &open.holds).await?,
        };
        let full = changes.len() == CHANGES;
        let urns = changes.iter().map(|change| &change.key.urn);
        urns_to_read.extend(urns.filter(|urn| is_indexed(urn.entity_type())).cloned());
        last = changes.pop().or(last);
        if full && end.is_none() {
            end = Some(tail(store).await?.position);
        }
        let reached = last.as_ref().map_or(LogPosition::START, |it| it.position);
        let complete = !full || end.is_some_and(|end| reached >= end);
        let enough = urns_to_read.len() >= most;
        if (complete || enough)
            && let Some(last) = &last
        {
            let urns: Vec<Urn> = urns_to_read.drain().collect();
            take_in(store, open, urns, position_of(last), fields).await?;
            held.store(open.holds.position.get(), Ordering::Relaxed);
        }
        if complete || (enough && amount != Amount::All) {
            return Ok(());
        }
    }
}

/// The first changes behind those that the index holds. An error if the log is not the one that it was fed from any more: a
/// database that was put back to an earlier state gives its positions to other changes.
async fn changes_behind(store: &dyn Store, holds: &Position) -> Result<Vec<Change>, SearchError> {
    if holds.position == LogPosition::START {
        return Ok(store.changes_read(LogPosition::START, CHANGES).await?);
    }
    let mut changes = store
        .changes_read(holds.position.minus(1), CHANGES + 1)
        .await?;
    if !changes
        .first()
        .is_some_and(|first| position_of(first) == *holds)
    {
        let text = "the log does not have the last change that the index holds".to_owned();
        return Err(tantivy::TantivyError::InternalError(text).into());
    }
    changes.remove(0);
    Ok(changes)
}

/// Replaces the documents of some entities; then the index holds everything up to a position.
async fn take_in(
    store: &dyn Store,
    open: &mut OpenIndex,
    urns: Vec<Urn>,
    holds: Position,
    fields: &Fields,
) -> Result<(), SearchError> {
    for chunk in urns.chunks(CHUNK) {
        let entities = store.read(ReadRequest::entities(chunk)).await?.entities;
        let (urns, fields) = (chunk.to_vec(), fields.clone());
        let writer = Arc::clone(&open.writer);
        blocking(move || replace(&locked(&writer), &urns, &entities, &fields)).await?;
    }
    let (writer, reader) = (Arc::clone(&open.writer), open.reader.clone());
    let committed = holds.clone();
    blocking(move || commit(&mut locked(&writer), &committed)).await?;
    // What is committed is held, whether or not it can be shown.
    open.holds = holds;
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
        if !rows.is_empty() {
            writer.add_document(Entity::of_rows(rows).into_document(urn, fields))?;
        }
    }
    Ok(())
}

/// Whether the log still is the one that the index was fed from, and not shorter.
pub(crate) async fn is_of_log(store: &dyn Store, holds: &Position) -> Result<bool, SearchError> {
    if holds.position == LogPosition::START {
        return Ok(true);
    }
    let at = store.changes_read(holds.position.minus(1), 1).await?;
    Ok(at
        .first()
        .is_some_and(|change| position_of(change) == *holds))
}

pub(crate) async fn tail(store: &dyn Store) -> Result<Position, SearchError> {
    let newest = store.change_newest().await?;
    Ok(newest.as_ref().map(position_of).unwrap_or_default())
}

fn position_of(change: &Change) -> Position {
    Position {
        position: change.position,
        mark: format!(
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

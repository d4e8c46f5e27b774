//! The conformance tests of every engine.
//!
//! An engine implements [`Harness`] and calls [`store_suite!`](crate::store_suite) once in a test
//! file. The macro makes a test of each case in the list below, with a fresh store. Callers may
//! rely only on behavior that a case tests.
//!
//! To add a case: write the function into the file of its subject and its name into the list. The
//! compiler warns about functions that are not in the list.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, compiled into the library only for engines to run"
)]

mod aspects;
mod audit_log;
mod changes;
mod derived;
mod edges;
mod maintenance;
mod runs;
mod timeseries;
mod transactions;
mod versions;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Derived, Edge, EpochMillis, Placement, Urn};
use serde_json::json;

use crate::version::{self, NewAspect};
use crate::{
    AspectKey, AspectWrite, LogEntry, LogPosition, ReadRequest, RowVersion, Store, StoreError,
    StoredAspect, Transaction, transact,
};

/// Provides stores of an engine.
#[async_trait]
pub trait Harness: Sized + Send + Sync {
    /// Returns an empty store that no other test uses.
    async fn fresh() -> Self;

    /// Returns a store with the contents of a backup.
    async fn restored(backup: &Path) -> Self;

    fn store(&self) -> &dyn Store;

    /// A directory for the files of the test.
    fn scratch(&self) -> &Path;
}

/// Takes the list of cases; makes a public function of each, and the macro for the engines.
macro_rules! cases {
    ($dollar:tt $($group:ident { $($case:ident,)* })*) => {
        /// The cases, for [`store_suite!`](crate::store_suite).
        pub mod cases {
            $(pub mod $group {
                $(pub async fn $case<H: $crate::suite::Harness>() {
                    $crate::suite::$group::$case(&H::fresh().await).await;
                })*
            })*
        }

        /// Makes a test of every case of the suite for one [`Harness`](crate::suite::Harness).
        #[macro_export]
        macro_rules! store_suite {
            ($dollar harness:ident) => {
                $(mod $group {
                    $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                    async fn $case() {
                        $dollar crate::suite::cases::$group::$case::<super::$dollar harness>().await;
                    })*
                })*
            };
        }
    };
}

cases! { $
    aspects {
        an_aspect_reads_back_exactly_as_written,
        unwritten_aspects_are_missing,
        rows_come_in_the_order_of_the_keys,
        existence_checks_follow_writes_and_deletions,
        a_found_aspect_proves_the_existence_of_its_own_entity_only,
        existence_checks_of_many_entities_keep_their_order,
        hundreds_of_keys_are_read_at_once,
        several_large_values_are_read_at_once,
        all_aspects_of_entities_are_read_together,
        one_request_reads_rows_existence_and_whole_entities,
        entities_are_listed_in_urn_order_page_by_page,
        entities_are_listed_with_their_latest_texts,
        only_urns_with_a_key_aspect_are_listed_as_entities,
        internal_entities_are_listed_like_all_others,
        only_entities_of_the_type_are_listed,
        a_touch_changes_only_the_system_metadata,
        a_deletion_removes_all_versions_of_that_aspect_only,
    }
    versions {
        history_is_numbered_from_one,
        writing_the_same_content_adds_no_version,
        twenty_versions_are_retained,
        only_the_latest_result_of_a_run_is_retained,
        a_deleted_aspect_starts_again_at_version_one,
        histories_of_several_aspects_are_read_oldest_first,
        versions_of_several_aspects_are_read_up_to_the_limit,
        the_bytes_of_latest_values_are_known_before_they_are_read,
        long_values_are_not_read_as_short_ones,
        concurrent_writers_never_store_a_version_twice,
        history_is_never_overwritten,
    }
    derived {
        children_are_listed_newest_first_and_counted,
        a_moved_entity_has_only_its_new_parent,
        other_aspects_do_not_change_a_placement,
        deleting_an_aspect_deletes_its_placement,
        ancestors_are_nearest_first_up_to_the_limit,
        a_cycle_ends_the_list_of_ancestors,
        transactions_find_children_parents_and_siblings_by_name,
    }
    edges {
        edges_are_listed_from_both_ends,
        each_entity_has_its_own_page_of_edges,
        excluded_types_are_neither_listed_nor_counted,
        edges_are_filtered_by_relationship_and_pages_count_all,
        a_write_replaces_only_the_edges_of_its_aspect,
        deleting_an_aspect_deletes_its_edges,
        duplicate_edges_are_stored_once,
        transactions_list_edges_into_an_entity_by_aspect,
    }
    changes {
        changes_are_logged_in_commit_order,
        the_log_is_read_after_a_position,
        touches_and_aborted_transactions_are_not_logged,
        positions_grow_under_concurrent_writers,
        the_log_is_browsed_newest_first_with_ingestion_runs,
        internal_entries_are_told_apart_as_documented,
        the_commit_stamp_changes_with_every_commit,
    }
    audit_log {
        events_are_read_newest_first_exactly_as_written,
        events_are_found_by_time_and_entity_in_pages,
        an_event_is_committed_with_its_change_or_not_at_all,
        old_events_are_deleted_with_their_items,
        events_are_exported_imported_and_backed_up,
    }
    transactions {
        an_aborted_transaction_leaves_no_trace,
        a_transaction_returns_its_result,
        a_transaction_sees_its_own_writes,
        failed_transactions_do_not_affect_concurrent_ones,
        concurrent_increments_lose_no_update,
        a_list_of_writes_is_committed_atomically,
        reads_during_writes_see_whole_commits,
        transactions_count_the_rows_of_an_entity,
        transactions_list_the_texts_of_an_aspect,
        transactions_that_take_the_same_lock_run_one_after_the_other,
        the_statements_of_a_transaction_are_counted_for_its_request,
    }
    timeseries {
        points_are_listed_newest_first_up_to_the_limit,
        a_point_of_the_same_time_and_id_is_replaced,
        deleting_an_aspect_deletes_its_points,
        ranges_are_inclusive_and_read_in_either_direction,
        the_bytes_of_points_are_known_before_they_are_read,
        only_points_in_the_range_are_counted_and_deleted,
        only_points_of_the_run_are_found_and_deleted,
        newest_points_of_several_series_are_read_at_once,
        points_of_all_entities_are_listed_newest_first_in_pages,
    }
    runs {
        a_run_lists_the_aspects_it_wrote_or_confirmed_last,
        runs_are_listed_newest_first_in_pages,
        aspects_of_soft_deleted_entities_count_only_on_request,
        a_rollback_restores_the_previous_content_and_drops_later_versions,
        versions_are_not_reused_after_a_rollback,
        rebuild_and_check_accept_the_writes_of_runs,
        entities_are_counted_by_aspect_and_pattern,
    }
    maintenance {
        an_empty_store_is_healthy,
        a_store_with_history_is_healthy,
        the_size_grows_with_the_data,
        a_rebuild_repairs_nothing_after_regular_writes,
        a_rebuild_repairs_wrong_derived_rows,
        a_check_finds_wrong_derived_rows,
        a_check_finds_a_missing_key_aspect,
        a_restored_backup_has_the_same_contents,
        a_backup_does_not_overwrite_a_file,
        export_pages_are_limited_in_bytes,
        everything_can_be_exported_and_imported,
    }
}

/// The time of writes, where it does not matter.
const NOON: EpochMillis = 1_700_000_000_000;

const ACTOR: &str = "urn:li:corpuser:tester";

/// The error of test transactions.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("the transaction decided to stop: {0}")]
    Decided(&'static str),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn urn(text: &str) -> Urn {
    Urn::parse(text).unwrap()
}

fn domain(name: &str) -> Urn {
    urn(&format!("urn:li:domain:{name}"))
}

fn dataset(name: &str) -> Urn {
    urn(&format!(
        "urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"
    ))
}

fn key(urn: &Urn, aspect: AspectName) -> AspectKey {
    AspectKey::new(urn, aspect)
}

fn new_aspect(metadata: &str, derived: Derived, time_ms: EpochMillis) -> NewAspect {
    NewAspect {
        metadata: metadata.to_owned(),
        system_metadata: None,
        stamp: AuditStamp::new(&urn(ACTOR), time_ms),
        derived,
        retired_version: None,
    }
}

/// Writes like the catalog: reads the previous version, decides, writes.
async fn put_at(
    store: &dyn Store,
    key: &AspectKey,
    metadata: &str,
    derived: Derived,
    time_ms: EpochMillis,
) {
    let key = key.clone();
    let new = new_aspect(metadata, derived, time_ms);
    transact::<(), StoreError, _>(store, move |tx| {
        let (key, new) = (key.clone(), new.clone());
        Box::pin(async move { put_in(tx, key, new).await })
    })
    .await
    .unwrap();
}

async fn put_in(
    tx: &mut dyn Transaction,
    key: AspectKey,
    mut new: NewAspect,
) -> Result<(), StoreError> {
    let one = std::slice::from_ref(&key);
    let previous = tx.aspects_get(one).await?.remove(0);
    new.retired_version = tx.retired_versions(one).await?.remove(0);
    let write = version::put(key, previous.as_ref(), new);
    tx.write(write.as_slice()).await
}

async fn put(store: &dyn Store, key: &AspectKey, metadata: &str, derived: Derived) {
    put_at(store, key, metadata, derived, NOON).await;
}

/// Writes a value with its derived rows, and the key aspect of its entity.
async fn put_value(store: &dyn Store, key: &AspectKey, value: &serde_json::Value) {
    let registry = docent_model::Registry::get();
    let entity = registry.entity(key.urn.entity_type()).unwrap();
    let own = AspectKey::new(&key.urn, entity.key_aspect);
    let key_value = registry.key_aspect_value(&key.urn).unwrap();
    for (key, value) in [(&own, &key_value), (key, value)] {
        let derived = docent_model::derive(&key.urn, key.aspect, value);
        put(store, key, &value.to_string(), derived).await;
    }
}

/// Writes a domain like the catalog.
async fn put_domain(store: &dyn Store, urn: &Urn, name: &str, parent: Option<&Urn>) {
    let mut value = json!({"name": name, "created": {"time": NOON, "actor": ACTOR}});
    if let Some(parent) = parent {
        value["parentDomain"] = json!(parent);
    }
    put_value(store, &key(urn, AspectName::DOMAIN_PROPERTIES), &value).await;
}

async fn write(store: &dyn Store, writes: Vec<AspectWrite>) {
    transact::<(), StoreError, _>(store, move |tx| {
        let writes = writes.clone();
        Box::pin(async move { tx.write(&writes).await })
    })
    .await
    .unwrap();
}

async fn delete(store: &dyn Store, key: &AspectKey) {
    let stamp = AuditStamp::new(&urn(ACTOR), NOON);
    write(store, vec![version::delete(key.clone(), None, &stamp)]).await;
}

async fn read(store: &dyn Store, key: &AspectKey) -> Option<StoredAspect> {
    let reply = store.read(ReadRequest::row(key)).await.unwrap();
    assert_eq!(reply.rows.len(), 1);
    reply.into_row().map(Arc::unwrap_or_clone)
}

/// The row with this version.
async fn version_of(store: &dyn Store, key: &AspectKey, version: i64) -> Option<StoredAspect> {
    let version = RowVersion::new(version);
    store.aspect_read_version(key, version).await.unwrap()
}

/// The whole change log.
async fn log(store: &dyn Store) -> Vec<LogEntry> {
    store.log_read(LogPosition::START, 1000).await.unwrap()
}

fn edges(list: &[(&'static str, &Urn)]) -> Derived {
    let edge = |(relationship, destination): &(&'static str, &Urn)| Edge {
        relationship,
        destination: Urn::clone(destination),
    };
    Derived {
        edges: list.iter().map(edge).collect(),
        placement: None,
    }
}

fn placed(name: &str, parent: Option<&Urn>, created_ms: EpochMillis) -> Derived {
    Derived {
        edges: Vec::new(),
        placement: Some(Placement {
            kind: "domain",
            parent: parent.cloned(),
            name: name.to_owned(),
            created_ms,
        }),
    }
}

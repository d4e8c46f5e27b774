//! What every engine must do, as tests.
//!
//! An engine implements [`Harness`] and calls [`store_suite!`](crate::store_suite) once in a test file; the macro
//! makes one test of each case in the list below, each with a fresh store. A behaviour that callers rely on is
//! in this list, or it is not promised.
//!
//! To add a case: write the function into the file of its subject and its name into the list. A function that is
//! not in the list is never used, and the compiler says so.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, compiled into the library only for engines to run"
)]

mod aspects;
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
    AspectKey, AspectWrite, Change, LogPosition, ReadRequest, RowVersion, Store, StoreError,
    StoredAspect, Transaction, transact,
};

/// How the suite gets stores of an engine.
#[async_trait]
pub trait Harness: Sized + Send + Sync {
    /// An empty store that no other test uses.
    async fn fresh() -> Self;

    /// A store with the contents of a backup.
    async fn restored(backup: &Path) -> Self;

    fn store(&self) -> &dyn Store;

    /// A directory for the files of the test.
    fn scratch(&self) -> &Path;
}

/// The list. For each group it makes a public function per case and the macro that engines call.
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
        what_was_never_written_is_absent,
        answers_come_in_the_order_of_the_keys,
        existence_checks_follow_writes_and_deletions,
        another_aspect_proves_the_existence_of_its_entity_alone,
        existence_checks_of_many_entities_keep_their_order,
        hundreds_of_keys_are_answered_at_once,
        all_aspects_of_entities_are_read_together,
        one_request_reads_rows_existence_and_whole_entities,
        entities_are_listed_in_urn_order_page_by_page,
        entities_are_listed_with_their_latest_texts,
        only_entities_of_the_type_are_listed,
        a_touch_changes_the_system_metadata_alone,
        a_deletion_leaves_nothing_of_the_aspect_and_all_of_the_others,
    }
    versions {
        history_reads_from_one_upwards,
        writing_the_same_content_makes_no_version,
        twenty_versions_are_kept_of_many,
        a_deleted_aspect_starts_again_at_version_one,
        all_versions_of_several_aspects_are_read_at_once_oldest_first,
        racing_writers_never_store_a_version_twice,
        a_version_in_the_history_is_not_overwritten,
    }
    derived {
        placements_are_listed_newest_first_and_counted,
        a_moved_entity_stands_below_its_new_parent_only,
        another_aspect_does_not_disturb_a_placement,
        a_deleted_aspect_takes_its_placement_along,
        ancestors_come_nearest_first_and_at_most_so_many,
        a_cycle_ends_the_chain_of_ancestors,
        work_finds_siblings_of_a_name_children_and_parents,
    }
    edges {
        edges_are_seen_from_both_ends,
        each_entity_has_a_page_of_its_own,
        relationships_filter_and_pages_count_all,
        a_write_replaces_the_edges_of_its_aspect_alone,
        a_deleted_aspect_takes_its_edges_along,
        the_same_edge_twice_is_one,
        work_sees_who_points_here_from_one_aspect,
    }
    changes {
        changes_are_logged_in_commit_order,
        the_log_is_read_on_from_a_position,
        touches_and_aborted_work_are_not_logged,
        positions_grow_under_concurrent_writers,
        the_commit_stamp_changes_with_every_commit,
    }
    transactions {
        aborted_work_leaves_nothing,
        work_returns_what_it_decided,
        work_sees_its_own_writes,
        failing_work_does_not_harm_its_neighbours,
        concurrent_increments_lose_nothing,
        a_list_of_writes_is_committed_whole,
        reads_during_writes_see_whole_commits,
        work_counts_the_rows_of_an_entity,
    }
    timeseries {
        points_come_newest_first_and_limited,
        a_point_of_the_same_time_and_id_is_replaced,
        a_deletion_removes_the_points,
        a_range_takes_its_ends_in_and_can_be_read_from_either_side,
        points_of_a_range_are_counted_and_deleted_alone,
        points_of_a_run_are_found_and_deleted_alone,
        the_newest_points_of_several_series_are_read_at_once,
    }
    runs {
        a_run_has_the_aspects_that_it_wrote_or_confirmed_last,
        runs_come_newest_first_page_by_page,
        aspects_of_removed_entities_count_only_if_asked_for,
        a_reverted_aspect_is_what_it_was_and_its_later_versions_are_gone,
        no_version_is_used_again_after_a_revert,
        a_rebuild_and_a_check_agree_with_what_runs_wrote,
        entities_are_counted_by_aspect_and_pattern,
    }
    maintenance {
        an_empty_store_is_healthy,
        a_store_in_use_is_healthy,
        a_rebuild_finds_nothing_to_mend_after_proper_writes,
        a_rebuild_mends_rows_that_do_not_follow_from_their_aspects,
        a_check_finds_rows_that_do_not_follow_from_their_aspects,
        a_check_finds_an_entity_without_its_key_aspect,
        a_backup_restores_to_the_same_contents,
        a_backup_does_not_overwrite_a_file,
        a_page_of_large_rows_has_fewer_of_them,
        everything_can_be_carried_into_another_store,
    }
}

/// The time of writes where the test does not care.
const NOON: EpochMillis = 1_700_000_000_000;

const ACTOR: &str = "urn:li:corpuser:tester";

/// An error for work of the tests.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("the work decided: {0}")]
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

/// Writes as the catalog does: reads the former version, decides, writes.
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

/// Writes a value with the rows that follow from it, and the key aspect of its entity.
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

/// A domain as the catalog writes it.
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
async fn log(store: &dyn Store) -> Vec<Change> {
    store.changes_read(LogPosition::START, 1000).await.unwrap()
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

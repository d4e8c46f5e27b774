//! Rollbacks during other writes, and deletion of entities with many references.

use std::cell::Cell;

use docent_catalog::{AspectKey, Change, ErrorKind, Proposal, ReadRequest};
use docent_model::{AspectName, Registry, SystemMetadata, Urn};
use docent_store::LogEntry;
use serde_json::json;

use crate::{Fixture, dataset};

const ENTITIES: usize = 240;

fn properties() -> AspectName {
    Registry::get().aspect("datasetProperties").unwrap()
}

fn description(urn: &Urn, aspect: AspectName, text: &str, run: Option<&str>) -> Proposal {
    let system_metadata = run.map(|run| SystemMetadata {
        run_id: run.to_owned(),
        ..SystemMetadata::default()
    });
    let value = json!({"description": text}).to_string();
    Proposal::upsert(urn.clone(), aspect, value).with_system_metadata(system_metadata)
}

/// Writes acknowledged during a rollback survive it: the entity stays, or is created again.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_edit_during_the_rollback_of_its_entity_is_not_lost() {
    let fixture = Fixture::new().await;
    let urns: Vec<Urn> = (0..ENTITIES).map(dataset).collect();
    let ingested = urns
        .iter()
        .map(|urn| description(urn, properties(), "run", Some("r")))
        .collect();
    fixture
        .catalog
        .ingest(&fixture.caller, ingested)
        .await
        .unwrap();
    let editor = tokio::spawn({
        let (catalog, caller, urns) = (
            fixture.catalog.clone(),
            fixture.caller.clone(),
            urns.clone(),
        );
        async move {
            for urn in urns.iter().rev() {
                let aspect = AspectName::EDITABLE_DATASET_PROPERTIES;
                let edit = description(urn, aspect, "by hand", None);
                catalog.ingest(&caller, vec![edit]).await.unwrap();
            }
        }
    });
    let rolled_back = fixture
        .catalog
        .roll_back(&fixture.caller, "r", false, false)
        .await
        .unwrap();
    editor.await.unwrap();
    let keys: Vec<AspectKey> = urns
        .iter()
        .map(|urn| AspectKey::new(urn, AspectName::EDITABLE_DATASET_PROPERTIES))
        .collect();
    let rows = fixture
        .catalog
        .read(ReadRequest::rows(&keys))
        .await
        .unwrap()
        .rows;
    let lost = rows.iter().filter(|row| row.is_none()).count();
    assert_eq!(lost, 0, "{rolled_back:?}");
    let deleted: Vec<AspectKey> = urns
        .iter()
        .map(|urn| AspectKey::new(urn, properties()))
        .collect();
    let rows = fixture
        .catalog
        .read(ReadRequest::rows(&deleted))
        .await
        .unwrap()
        .rows;
    assert!(rows.iter().all(Option::is_none));
}

#[tokio::test]
async fn a_value_that_a_run_overwrote_keeps_the_entity_that_the_run_created() {
    let fixture = Fixture::new().await;
    let urn = dataset("t");
    let aspect = AspectName::EDITABLE_DATASET_PROPERTIES;
    for (text, run) in [("made", Some("r")), ("by hand", None), ("again", Some("r"))] {
        let write = description(&urn, aspect, text, run);
        fixture
            .catalog
            .ingest(&fixture.caller, vec![write])
            .await
            .unwrap();
    }
    let done = fixture
        .catalog
        .roll_back(&fixture.caller, "r", false, false)
        .await
        .unwrap();
    assert_eq!((done.unsafe_entities, done.entities_affected), (1, 0));
    let reply = fixture
        .catalog
        .read(ReadRequest::row(&AspectKey::new(&urn, aspect)))
        .await
        .unwrap();
    let text = reply.into_row().map(|row| row.metadata.clone());
    assert_eq!(text, Some(json!({"description": "by hand"}).to_string()));
}

/// Several transactions remove a tag from thousands of assets; the last one deletes it.
#[tokio::test]
async fn an_entity_with_thousands_of_references_is_deleted_in_chunks() {
    const HOLDERS: usize = 2100;
    let fixture = Fixture::new().await;
    let tag = Urn::parse("urn:li:tag:wide").unwrap();
    let other_tag = Urn::parse("urn:li:tag:other").unwrap();
    let domain = Urn::parse("urn:li:domain:wide").unwrap();
    let write = |urn: &Urn, aspect, value: serde_json::Value| {
        Proposal::upsert(urn.clone(), aspect, value.to_string())
    };
    let mut list = vec![
        write(&tag, AspectName::TAG_PROPERTIES, json!({"name": "wide"})),
        write(
            &domain,
            AspectName::DOMAIN_PROPERTIES,
            json!({"name": "wide"}),
        ),
    ];
    let urns: Vec<Urn> = (0..HOLDERS).map(dataset).collect();
    for urn in &urns {
        list.push(write(
            urn,
            AspectName::GLOBAL_TAGS,
            json!({"tags": [{"tag": tag}]}),
        ));
        list.push(write(
            urn,
            AspectName::DOMAINS,
            json!({"domains": [domain]}),
        ));
    }
    fixture.catalog.ingest(&fixture.caller, list).await.unwrap();
    for (target, aspect) in [
        (&tag, AspectName::GLOBAL_TAGS),
        (&domain, AspectName::DOMAINS),
    ] {
        let delete = Proposal::new(target.clone(), Change::DeleteEntity);
        // In a list with others it would not be all or nothing.
        let other = write(&urns[0], AspectName::STATUS, json!({"removed": true}));
        let rejected = fixture
            .catalog
            .ingest(&fixture.caller, vec![delete.clone(), other])
            .await;
        assert_eq!(rejected.unwrap_err().kind(), ErrorKind::TooLarge);
        let before = fixture.store.log_newest().await.unwrap().unwrap().position;
        let deletion = fixture.catalog.ingest(&fixture.caller, vec![delete]);
        let is_deleted = Cell::new(false);
        let others = async {
            let mut number = 0;
            while !is_deleted.get() {
                let name = json!({"name": format!("name {number}")});
                let list = vec![write(&other_tag, AspectName::TAG_PROPERTIES, name)];
                fixture.catalog.ingest(&fixture.caller, list).await.unwrap();
                number += 1;
            }
        };
        let deleted = async {
            deletion.await.unwrap();
            is_deleted.set(true);
        };
        tokio::join!(deleted, others);
        let mut changes = fixture.store.log_read(before, 20_000).await.unwrap();
        let is_of_others = |it: &LogEntry| it.key.urn == other_tag;
        let longest = changes.split(is_of_others).map(<[_]>::len).max();
        assert!(
            longest < Some(HOLDERS / 3),
            "others wait for {longest:?} of the changes"
        );
        changes.retain(|it| !is_of_others(it));
        let first_deletion = changes.iter().position(|it| it.key.urn == *target);
        assert_eq!(
            first_deletion,
            Some(HOLDERS),
            "{aspect}: those who refer to it come first"
        );
        let exists = fixture.catalog.exists(std::slice::from_ref(target)).await;
        assert_eq!(exists.unwrap(), [false]);
        let edges = fixture
            .store
            .edges_list(std::slice::from_ref(target), false, &[], &[], 0, 1)
            .await
            .unwrap();
        assert_eq!(edges[0].total, 0, "{aspect}");
    }
}

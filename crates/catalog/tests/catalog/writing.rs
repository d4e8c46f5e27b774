//! Rules of the write path that tests of the APIs do not cover.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use docent_catalog::domains::NewDomain;
use docent_catalog::{
    AspectKey, Change, ConflictReason, ErrorKind, Ids, Proposal, ReadRequest, Requirement,
};
use docent_model::aspects::{AuditStamp, DomainProperties, Other};
use docent_model::{AspectName, Derived};
use docent_store::version::{self, NewAspect};
use docent_store::{
    AspectWrite, Effect, LogicalVersion, RowVersion, Store, StoreError, StoredAspect, transact,
};
use serde_json::json;

use crate::{Fixture, dataset, domain};

fn named(number: u8, name: &'static str) -> Proposal {
    let edit = move |_: Option<DomainProperties>, _: &AuditStamp| {
        Ok(DomainProperties {
            name: name.to_owned(),
            description: None,
            created: None,
            parent_domain: None,
            other: Other::new(),
        })
    };
    Proposal::edit(domain(number), AspectName::DOMAIN_PROPERTIES, edit).requires(
        Requirement::UniqueSiblingName {
            otherwise: |name| format!("{name} is taken"),
        },
    )
}

#[tokio::test]
async fn names_are_unique_among_the_items_of_a_list() {
    let fixture = Fixture::new().await;
    let apply = |list| fixture.catalog.ingest(&fixture.caller, list);
    let error = apply(vec![named(1, "A"), named(2, "A")]).await.unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Conflict(ConflictReason::AlreadyExists)
    );
    assert_eq!(error.message(), "A is taken");
    assert_eq!(fixture.catalog.exists(&[domain(1)]).await.unwrap(), [false]);
    apply(vec![named(1, "A")]).await.unwrap();
    apply(vec![named(1, "B"), named(2, "A")]).await.unwrap();
    let deletion = Proposal::new(domain(2), Change::DeleteEntity);
    apply(vec![deletion, named(3, "A")]).await.unwrap();
}

/// Writes past the catalog, as another program might.
pub(crate) async fn write_raw(store: &dyn Store, key: AspectKey, metadata: &'static str) {
    let written: Result<(), StoreError> = transact(store, move |tx| {
        let key = key.clone();
        Box::pin(async move {
            let new = NewAspect {
                metadata: metadata.to_owned(),
                system_metadata: None,
                stamp: AuditStamp::new(&domain("x"), 1),
                derived: Derived::default(),
                retired_version: None,
            };
            tx.write(version::put(key, None, new).as_slice()).await
        })
    })
    .await;
    written.unwrap();
}

#[tokio::test]
async fn the_history_of_rows_without_a_version_continues_where_it_ends() {
    let fixture = Fixture::new().await;
    let key = AspectKey::new(&dataset("a"), AspectName::STATUS);
    let row = |version: i64| StoredAspect {
        version: RowVersion::new(version),
        metadata: format!(r#"{{"removed":false,"was":{version}}}"#),
        system_metadata: None,
        created_on_ms: version,
        created_by: "urn:li:corpuser:old".to_owned(),
        created_for: None,
    };
    // As another server left it: four former versions, and a latest one that does not know it is
    // the fifth.
    let adopted: Vec<AspectWrite> = (1..=4)
        .map(|version| AspectWrite {
            key: key.clone(),
            effect: Effect::Put {
                row: row(0),
                history: Some(row(version)),
                prune_through: None,
                derived: Derived::default(),
                logical_version: LogicalVersion::new(version),
                run: None,
            },
        })
        .collect();
    let written: Result<(), StoreError> = transact(&*fixture.store, move |tx| {
        let adopted = adopted.clone();
        Box::pin(async move { tx.write(&adopted).await })
    })
    .await;
    written.unwrap();
    for removed in ["true", "false"] {
        let value = format!(r#"{{"removed":{removed}}}"#);
        let list = vec![Proposal::upsert(dataset("a"), AspectName::STATUS, value)];
        fixture.catalog.ingest(&fixture.caller, list).await.unwrap();
    }
    let mut seen = Vec::new();
    for version in 0..=7 {
        let stored = fixture
            .store
            .aspect_read_version(&key, RowVersion::new(version))
            .await;
        seen.push(stored.unwrap().map(|row| row.metadata));
    }
    let mut expected: Vec<Option<String>> = (1..=4).map(|was| Some(row(was).metadata)).collect();
    expected.insert(0, Some(r#"{"removed":false}"#.to_owned()));
    expected.push(Some(row(0).metadata));
    expected.push(Some(r#"{"removed":true}"#.to_owned()));
    expected.push(None);
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_sibling_is_described_only_if_the_dataset_lacks_the_column() {
    let fixture = Fixture::new().await;
    let column = json!({
        "fieldPath": "c", "nullable": false, "nativeDataType": "text", "recursive": false,
        "type": {"type": {"com.linkedin.schema.StringType": {}}},
    });
    let schema = json!({
        "schemaName": "t", "platform": "urn:li:dataPlatform:hive", "version": 0, "hash": "",
        "platformSchema": {"com.linkedin.schema.MySqlDDL": {"tableSchema": ""}},
        "fields": [column],
    });
    let upsert = |name, aspect, value: &serde_json::Value| {
        Proposal::upsert(dataset(name), aspect, value.to_string())
    };
    let siblings = json!({"siblings": [dataset("b")], "primary": true});
    let list = vec![
        upsert("a", AspectName::SCHEMA_METADATA, &schema),
        upsert("b", AspectName::SCHEMA_METADATA, &schema),
        upsert("a", AspectName::SIBLINGS, &siblings),
    ];
    fixture.catalog.ingest(&fixture.caller, list).await.unwrap();
    let columns = |name| AspectKey::new(&dataset(name), AspectName::EDITABLE_SCHEMA_METADATA);
    let unreadable = r#"{"editableSchemaFieldInfo":5}"#;
    write_raw(&*fixture.store, columns("a"), unreadable).await;
    let described = fixture
        .catalog
        .update_description(&fixture.caller, &dataset("a"), Some("c"), "text")
        .await;
    let kind = described.unwrap_err().kind();
    assert_eq!(kind, ErrorKind::Conflict(ConflictReason::UnexpectedValue));
    let read = fixture
        .catalog
        .read(ReadRequest::rows(&[columns("b")]))
        .await;
    assert_eq!(read.unwrap().rows, [None]);
}

/// Ids that are counted.
#[derive(Debug, Default)]
struct Counted(AtomicUsize);

impl Ids for Counted {
    fn next_id(&self) -> String {
        format!("number-{}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[tokio::test]
async fn generated_ids_come_from_the_configured_source() {
    let fixture = Fixture::new().await;
    let catalog = fixture
        .catalog
        .clone()
        .with_ids(Arc::new(Counted::default()));
    let create = |name: &str, id: Option<&str>| {
        let new = NewDomain {
            id: id.map(str::to_owned),
            name: name.to_owned(),
            ..NewDomain::default()
        };
        catalog.create_domain(&fixture.caller, new)
    };
    let mut made = Vec::new();
    for (name, id) in [("A", None), ("B", Some("chosen")), ("C", None)] {
        made.push(create(name, id).await.unwrap().to_string());
    }
    assert_eq!(
        made,
        [
            "urn:li:domain:number-0",
            "urn:li:domain:chosen",
            "urn:li:domain:number-1"
        ]
    );
}

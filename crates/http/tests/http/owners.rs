//! Owners of entities.

use crate::support::{App, DATASET, MISSING, NOW_MS, USER};
use docent_catalog::Caller;
use serde_json::{Value, json};

const GROUP: &str = "urn:li:corpGroup:bi";
const TECHNICAL: &str = "urn:li:ownershipType:__system__technical_owner";
const STEWARD: &str = "urn:li:ownershipType:steward";

async fn app() -> App {
    let app = App::with_dataset().await;
    let system = Caller::system();
    app.catalog
        .add_built_in_ownership_types(&system)
        .await
        .unwrap();
    app.ingest(
        USER,
        "corpUserStatus",
        &json!({
            "status": "ACTIVE", "lastModified": {"time": 1, "actor": USER}
        }),
    )
    .await;
    app.ingest(GROUP, "status", &json!({"removed": false}))
        .await;
    app.ingest(STEWARD, "ownershipTypeInfo", &json!({
        "name": "Steward", "created": {"time": 1, "actor": USER}, "lastModified": {"time": 1, "actor": USER}
    }))
    .await;
    app
}

async fn owners(app: &App) -> Value {
    let stored = app.aspect(DATASET, "ownership").await;
    stored.map_or(Value::Null, |ownership| ownership["owners"].clone())
}

fn manual(owner: &str, kind: &str, kind_urn: Option<&str>) -> Value {
    let mut element = json!({"owner": owner, "type": kind, "source": {"type": "MANUAL"}});
    if let Some(kind_urn) = kind_urn {
        element["typeUrn"] = json!(kind_urn);
    }
    element
}

#[tokio::test]
async fn an_owner_is_added_once_per_ownership_type() {
    let app = app().await;
    let owner = |kind_urn: &str| json!({"ownerUrn": USER, "ownerEntityType": "CORP_USER", "ownershipTypeUrn": kind_urn, "resourceUrn": DATASET});
    let by_name = json!({"ownerUrn": USER, "ownerEntityType": "CORP_USER", "type": "TECHNICAL_OWNER", "resourceUrn": DATASET});
    for input in [by_name, owner(TECHNICAL), owner(STEWARD), owner(STEWARD)] {
        assert_eq!(app.mutate("addOwner", "AddOwnerInput", input).await, true);
    }
    assert_eq!(
        app.aspect(DATASET, "ownership").await,
        Some(json!({
            "owners": [manual(USER, "TECHNICAL_OWNER", None), manual(USER, "CUSTOM", Some(STEWARD))],
            "ownerTypes": {TECHNICAL: [USER], STEWARD: [USER]},
            "lastModified": {"time": NOW_MS, "actor": USER},
        }))
    );
    let read = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ ownership {{ owners {{ type ownershipType {{ urn info {{ name }} }}
            owner {{ ... on CorpUser {{ username }} }} associatedUrn }} }} }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"]["dataset"]["ownership"]["owners"],
        json!([
            {"type": "TECHNICAL_OWNER", "ownershipType": {"urn": TECHNICAL, "info": {"name": "Technical Owner"}},
             "owner": {"username": "datahub"}, "associatedUrn": DATASET},
            {"type": "CUSTOM", "ownershipType": {"urn": STEWARD, "info": {"name": "Steward"}},
             "owner": {"username": "datahub"}, "associatedUrn": DATASET},
        ])
    );
}

#[tokio::test]
async fn a_built_in_ownership_type_is_stored_by_name_and_urn() {
    let app = app().await;
    let input = json!({
        "owners": [{"ownerUrn": GROUP, "ownerEntityType": "CORP_GROUP"}],
        "ownershipTypeUrn": TECHNICAL,
        "resources": [{"resourceUrn": DATASET}],
    });
    app.mutate("batchAddOwners", "BatchAddOwnersInput", input)
        .await;
    assert_eq!(
        owners(&app).await,
        json!([manual(GROUP, "TECHNICAL_OWNER", Some(TECHNICAL))])
    );
}

#[tokio::test]
async fn owners_by_type_follow_from_the_owners() {
    let app = app().await;
    let none = "urn:li:ownershipType:__system__none";
    let owners = json!([
        {"owner": USER, "type": "NONE"},
        {"owner": GROUP, "type": "CUSTOM", "typeUrn": STEWARD},
    ]);
    for sent in [
        json!({"owners": owners}),
        json!({"owners": owners, "ownerTypes": {TECHNICAL: [USER]}}),
    ] {
        app.ingest(DATASET, "ownership", &sent).await;
        let stored = app.aspect(DATASET, "ownership").await.unwrap();
        assert_eq!(
            stored["ownerTypes"],
            json!({none: [USER], STEWARD: [GROUP]})
        );
    }
    let input = json!({"ownerUrn": USER, "ownerEntityType": "CORP_USER", "resourceUrn": DATASET,
        "ownershipTypeUrn": TECHNICAL});
    app.mutate("addOwner", "AddOwnerInput", input).await;
    let stored = app.aspect(DATASET, "ownership").await.unwrap();
    assert_eq!(stored["ownerTypes"][TECHNICAL], json!([USER]));
}

#[tokio::test]
async fn an_owner_is_removed_for_one_ownership_type_or_all() {
    let app = app().await;
    app.ingest(DATASET, "ownership", &json!({
        "owners": [
            {"owner": USER, "type": "TECHNICAL_OWNER"},
            {"owner": USER, "type": "CUSTOM", "typeUrn": STEWARD},
            {"owner": GROUP, "type": "NONE"},
        ],
        "ownerTypes": {TECHNICAL: [USER], STEWARD: [USER], "urn:li:ownershipType:__system__none": [GROUP]},
    }))
    .await;
    let input = json!({"ownerUrn": USER, "ownershipTypeUrn": TECHNICAL, "resourceUrn": DATASET});
    app.mutate("removeOwner", "RemoveOwnerInput", input).await;
    assert_eq!(
        owners(&app).await,
        json!([{"owner": USER, "type": "CUSTOM", "typeUrn": STEWARD}, {"owner": GROUP, "type": "NONE"}])
    );
    let stored = app.aspect(DATASET, "ownership").await.unwrap();
    assert_eq!(
        stored["ownerTypes"],
        json!({STEWARD: [USER], "urn:li:ownershipType:__system__none": [GROUP]})
    );
    let input = json!({"ownerUrns": [USER, GROUP], "resources": [{"resourceUrn": DATASET}]});
    for _ in 0..2 {
        app.mutate("batchRemoveOwners", "BatchRemoveOwnersInput", input.clone())
            .await;
    }
    assert_eq!(owners(&app).await, json!([]));
}

#[tokio::test]
async fn invalid_owners_are_rejected_and_nothing_is_written() {
    let app = app().await;
    let input = |owner: &str, kind: &str| json!({"owners": [{"ownerUrn": owner, "ownerEntityType": kind, "type": "NONE"}], "resourceUrn": DATASET});
    let failed = "Failed to change ownership for resource(s).";
    for (input, expected) in [
        (
            input("urn:li:corpuser:nobody", "CORP_USER"),
            format!("{failed} Owner with urn urn:li:corpuser:nobody does not exist."),
        ),
        (
            input(USER, "CORP_GROUP"),
            format!("{failed} Expected a corp group urn, found {USER}."),
        ),
        (
            input(DATASET, "CORP_USER"),
            format!("{failed} Expected a corp user urn, found {DATASET}."),
        ),
        (
            json!({"owners": [{"ownerUrn": USER, "ownerEntityType": "CORP_USER",
                "ownershipTypeUrn": "urn:li:ownershipType:none"}], "resourceUrn": DATASET}),
            format!("{failed} Ownership type with urn urn:li:ownershipType:none does not exist."),
        ),
        (
            json!({"owners": [{"ownerUrn": USER, "ownerEntityType": "CORP_USER"}], "resourceUrn": DATASET}),
            format!("the owner {USER} needs a type or an ownershipTypeUrn"),
        ),
        (
            json!({"owners": [{"ownerUrn": USER, "ownerEntityType": "CORP_USER", "type": "NONE"}], "resourceUrn": MISSING}),
            format!("Failed to change ownership for resource {MISSING}. Resource does not exist."),
        ),
    ] {
        let refused = app.mutate_error("addOwners", "AddOwnersInput", input).await;
        assert_eq!(refused, (400, expected));
    }
    let many = json!({
        "owners": [{"ownerUrn": USER, "ownerEntityType": "CORP_USER", "type": "NONE"}],
        "resources": [{"resourceUrn": DATASET}, {"resourceUrn": "urn:li:dataPlatform:hive"}],
    });
    let (code, message) = app
        .mutate_error("batchAddOwners", "BatchAddOwnersInput", many)
        .await;
    assert_eq!(code, 400);
    assert!(message.contains("cannot have owners"), "{message}");
    let gone = json!({"ownerUrn": USER, "resourceUrn": MISSING});
    let (code, _) = app
        .mutate_error("removeOwner", "RemoveOwnerInput", gone)
        .await;
    assert_eq!(code, 400);
    assert_eq!(owners(&app).await, Value::Null);
}

#[tokio::test]
async fn built_in_ownership_types_are_stored_once() {
    let app = app().await;
    let mine = json!({"name": "Engineer", "created": {"time": 1, "actor": USER}, "lastModified": {"time": 1, "actor": USER}});
    app.ingest(TECHNICAL, "ownershipTypeInfo", &mine).await;
    let system = Caller::system();
    app.catalog
        .add_built_in_ownership_types(&system)
        .await
        .unwrap();
    assert_eq!(app.aspect(TECHNICAL, "ownershipTypeInfo").await, Some(mine));
}

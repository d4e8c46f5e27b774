//! Tags and glossary terms on entities and columns.

use crate::support::{App, DATASET, MISSING, NOW_MS, USER, encoded};
use serde_json::{Value, json};

const PII: &str = "urn:li:tag:pii";
const OLD: &str = "urn:li:tag:old";
const TERM: &str = "urn:li:glossaryTerm:Person";

async fn app() -> App {
    let app = App::with_dataset().await;
    for (urn, name) in [(PII, "PII"), (OLD, "Old")] {
        app.ingest(urn, "tagProperties", &json!({"name": name}))
            .await;
    }
    app.ingest(
        TERM,
        "glossaryTermInfo",
        &json!({"name": "Person", "definition": "A natural person", "termSource": "INTERNAL"}),
    )
    .await;
    app
}

fn column(input: &Value) -> Value {
    let mut input = input.clone();
    input["subResourceType"] = json!("DATASET_FIELD");
    input["subResource"] = json!("user_name");
    input
}

#[tokio::test]
async fn a_tag_is_added_once_and_removed() {
    let app = app().await;
    let input = json!({"tagUrn": PII, "resourceUrn": DATASET});
    for _ in 0..2 {
        let done = app
            .mutate("addTag", "TagAssociationInput", input.clone())
            .await;
        assert_eq!(done, json!(true));
    }
    assert_eq!(
        app.aspect(DATASET, "globalTags").await,
        Some(json!({"tags": [{"tag": PII}]}))
    );
    assert_eq!(
        app.aspect_version(DATASET, "globalTags", 2).await,
        None,
        "the second call changed nothing"
    );
    let read = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ tags {{ tags {{ tag {{ urn properties {{ name }} }} associatedUrn }} }} }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"]["dataset"]["tags"]["tags"],
        json!([{"tag": {"urn": PII, "properties": {"name": "PII"}}, "associatedUrn": DATASET}])
    );
    for _ in 0..2 {
        let done = app
            .mutate("removeTag", "TagAssociationInput", input.clone())
            .await;
        assert_eq!(done, json!(true));
    }
    assert_eq!(
        app.aspect(DATASET, "globalTags").await,
        Some(json!({"tags": []}))
    );
}

#[tokio::test]
async fn tags_of_other_sources_stay_when_tags_are_added_and_removed() {
    let app = app().await;
    let attributed = json!({"tag": OLD, "context": "c", "attribution":
        {"time": 1, "actor": USER, "source": "urn:li:dataHubAction:a"}});
    app.ingest(DATASET, "globalTags", &json!({"tags": [attributed]}))
        .await;
    let both = json!({"tagUrns": [OLD, PII, PII], "resourceUrn": DATASET});
    app.mutate("addTags", "AddTagsInput", both).await;
    assert_eq!(
        app.aspect(DATASET, "globalTags").await,
        Some(json!({"tags": [attributed, {"tag": PII}]}))
    );
    let input = json!({"tagUrns": [PII], "resources": [{"resourceUrn": DATASET}]});
    app.mutate("batchRemoveTags", "BatchRemoveTagsInput", input)
        .await;
    assert_eq!(
        app.aspect(DATASET, "globalTags").await,
        Some(json!({"tags": [attributed]}))
    );
}

#[tokio::test]
async fn labels_of_columns_keep_their_descriptions() {
    let app = app().await;
    app.graphql(&format!(
        r#"mutation {{ updateDescription(input: {{ resourceUrn: "{DATASET}", subResource: "timestamp",
            subResourceType: DATASET_FIELD, description: "When" }}) }}"#
    ))
    .await;
    app.clock.advance(5);
    let tag = column(&json!({"tagUrn": PII, "resourceUrn": DATASET}));
    let term = column(&json!({"termUrn": TERM, "resourceUrn": DATASET}));
    for _ in 0..2 {
        app.mutate("addTag", "TagAssociationInput", tag.clone())
            .await;
        app.mutate("addTerm", "TermAssociationInput", term.clone())
            .await;
        app.clock.advance(5);
    }
    let first = json!({"time": NOW_MS + 5, "actor": USER});
    assert_eq!(
        app.aspect(DATASET, "editableSchemaMetadata").await,
        Some(json!({
            "created": {"time": NOW_MS, "actor": USER},
            "lastModified": first,
            "editableSchemaFieldInfo": [
                {"fieldPath": "timestamp", "description": "When"},
                {
                    "fieldPath": "user_name",
                    "globalTags": {"tags": [{"tag": PII}]},
                    "glossaryTerms": {"terms": [{"urn": TERM}], "auditStamp": first},
                },
            ],
        }))
    );
    assert_eq!(app.aspect(DATASET, "globalTags").await, None);
    let read = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ editableSchemaMetadata {{ editableSchemaFieldInfo {{
            fieldPath tags {{ tags {{ tag {{ urn }} }} }} glossaryTerms {{ terms {{ term {{ urn name }} }} }} }} }} }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"]["dataset"]["editableSchemaMetadata"]["editableSchemaFieldInfo"]
            [1],
        json!({
            "fieldPath": "user_name",
            "tags": {"tags": [{"tag": {"urn": PII}}]},
            "glossaryTerms": {"terms": [{"term": {"urn": TERM, "name": "Person"}}]},
        })
    );
    app.mutate("removeTag", "TagAssociationInput", tag).await;
    let stored = app.aspect(DATASET, "editableSchemaMetadata").await.unwrap();
    let field = &stored["editableSchemaFieldInfo"][1];
    assert_eq!(field["globalTags"], json!({"tags": []}));
    assert_eq!(field["glossaryTerms"]["terms"], json!([{"urn": TERM}]));
    // This column has no entry, and does not get one.
    let other = json!({"tagUrn": PII, "resourceUrn": MISSING});
    app.add_dataset(MISSING).await;
    app.mutate("removeTag", "TagAssociationInput", column(&other))
        .await;
    assert_eq!(app.aspect(MISSING, "editableSchemaMetadata").await, None);
}

#[tokio::test]
async fn terms_have_an_actor_and_a_time() {
    let app = app().await;
    let input = json!({"termUrns": [TERM], "resourceUrn": DATASET});
    app.mutate("addTerms", "AddTermsInput", input.clone()).await;
    let stamped = |at: i64, terms: Value| {
        Some(json!({"terms": terms, "auditStamp": {"time": at, "actor": USER}}))
    };
    assert_eq!(
        app.aspect(DATASET, "glossaryTerms").await,
        stamped(NOW_MS, json!([{"urn": TERM}]))
    );
    app.clock.advance(5);
    app.mutate("addTerms", "AddTermsInput", input).await;
    assert_eq!(
        app.aspect(DATASET, "glossaryTerms").await,
        stamped(NOW_MS, json!([{"urn": TERM}])),
        "adding it again changes nothing"
    );
    let input = json!({"termUrn": TERM, "resourceUrn": DATASET});
    app.mutate("removeTerm", "TermAssociationInput", input)
        .await;
    assert_eq!(
        app.aspect(DATASET, "glossaryTerms").await,
        stamped(NOW_MS + 5, json!([]))
    );
}

#[tokio::test]
async fn label_changes_on_many_targets_are_atomic() {
    let app = app().await;
    let chart = "urn:li:chart:(looker,c)";
    app.ingest(chart, "status", &json!({"removed": false}))
        .await;
    let resources = |last: &str| {
        json!([
            {"resourceUrn": chart},
            {"resourceUrn": DATASET, "subResourceType": "DATASET_FIELD", "subResource": "user_name"},
            {"resourceUrn": last},
        ])
    };
    for (field, kind, labels) in [
        (
            "batchAddTags",
            "BatchAddTagsInput",
            json!({"tagUrns": [PII, OLD]}),
        ),
        (
            "batchAddTerms",
            "BatchAddTermsInput",
            json!({"termUrns": [TERM]}),
        ),
    ] {
        let mut input = labels;
        input["resources"] = resources(MISSING);
        assert_eq!(
            app.mutate_error(field, kind, input.clone()).await,
            (
                400,
                format!(
                    "item 2 ({MISSING}): Failed to update resource with urn {MISSING}. Entity does not exist."
                )
            )
        );
        for (urn, aspect) in [
            (chart, "globalTags"),
            (chart, "glossaryTerms"),
            (DATASET, "editableSchemaMetadata"),
        ] {
            assert_eq!(
                app.aspect(urn, aspect).await,
                None,
                "{field}: {urn} {aspect}"
            );
        }
        assert_eq!(app.aspect(MISSING, "datasetKey").await, None);
    }
    let input = json!({"tagUrns": [PII, OLD], "resources": resources(DATASET)});
    app.mutate("batchAddTags", "BatchAddTagsInput", input).await;
    let tagged = json!({"tags": [{"tag": PII}, {"tag": OLD}]});
    assert_eq!(app.aspect(chart, "globalTags").await, Some(tagged.clone()));
    assert_eq!(app.aspect(DATASET, "globalTags").await, Some(tagged));
    let input = json!({"termUrns": [TERM], "resources": resources(DATASET)});
    app.mutate("batchAddTerms", "BatchAddTermsInput", input.clone())
        .await;
    app.mutate("batchRemoveTerms", "BatchRemoveTermsInput", input)
        .await;
    let terms = app.aspect(chart, "glossaryTerms").await.unwrap();
    assert_eq!(terms["terms"], json!([]));
    let found = app
        .graphql(&format!(
            r#"{{ searchAcrossEntities(input: {{ query: "*", orFilters: [{{ and: [{{ field: "tags", values: ["{PII}"] }}] }}] }})
                {{ total }} }}"#
        ))
        .await;
    assert_eq!(found["data"]["searchAcrossEntities"]["total"], 2, "{found}");
}

#[tokio::test]
async fn invalid_labels_are_rejected() {
    let app = app().await;
    let tag = |tag: &str, resource: &str| json!({"tagUrn": tag, "resourceUrn": resource});
    let cases = [
        (
            tag("urn:li:tag:none", DATASET),
            "Failed to validate label with urn urn:li:tag:none. Urn does not exist.".to_owned(),
        ),
        (
            tag(TERM, DATASET),
            format!(
                "Failed to validate label with urn {TERM}. Urn type does not match entity type tag."
            ),
        ),
        (
            tag(PII, "urn:li:domain:d"),
            "urn:li:domain:d cannot have tags: entities of type domain have none".to_owned(),
        ),
        (
            column(&tag(PII, "urn:li:chart:(looker,c)")),
            "urn:li:chart:(looker,c) has no columns: only datasets have them".to_owned(),
        ),
        (
            tag("pii", DATASET),
            "'pii' is not a URN: expected urn:li:<entityType>:<key>".to_owned(),
        ),
    ];
    for (input, expected) in cases {
        let (code, message) = app
            .mutate_error("addTag", "TagAssociationInput", input.clone())
            .await;
        assert_eq!((code, message), (400, expected), "{input}");
    }
    let mut unknown = column(&tag(PII, DATASET));
    unknown["subResource"] = json!("nowhere");
    assert_eq!(
        app.mutate_error("addTag", "TagAssociationInput", unknown)
            .await,
        (
            400,
            format!(
                "Failed to update {DATASET} & field nowhere. Field nowhere does not exist in the datasets schema."
            )
        )
    );
    let term = json!({"termUrn": PII, "resourceUrn": DATASET});
    assert_eq!(
        app.mutate_error("addTerm", "TermAssociationInput", term)
            .await
            .1,
        format!(
            "Failed to validate label with urn {PII}. Urn type does not match entity type glossaryTerm."
        )
    );
    // Dangling references must be removable.
    app.ingest(
        DATASET,
        "globalTags",
        &json!({"tags": [{"tag": "urn:li:tag:gone"}]}),
    )
    .await;
    app.mutate(
        "removeTag",
        "TagAssociationInput",
        tag("urn:li:tag:gone", DATASET),
    )
    .await;
    assert_eq!(
        app.aspect(DATASET, "globalTags").await,
        Some(json!({"tags": []}))
    );
}

#[tokio::test]
async fn removing_a_missing_label_writes_nothing() {
    let app = App::with_dataset().await;
    let (_, before) = app.get(&format!("/entitiesV2/{}", encoded(DATASET))).await;
    let owner = "urn:li:corpuser:nobody";
    let property = "urn:li:structuredProperty:p";
    let column = |field: &str, label: &str| json!({field: label, "resourceUrn": DATASET, "subResource": "user_name", "subResourceType": "DATASET_FIELD"});
    for (field, kind, input) in [
        (
            "removeTag",
            "TagAssociationInput",
            json!({"tagUrn": PII, "resourceUrn": DATASET}),
        ),
        (
            "removeTerm",
            "TermAssociationInput",
            json!({"termUrn": TERM, "resourceUrn": DATASET}),
        ),
        ("removeTag", "TagAssociationInput", column("tagUrn", PII)),
        (
            "removeTerm",
            "TermAssociationInput",
            column("termUrn", TERM),
        ),
        (
            "removeOwner",
            "RemoveOwnerInput",
            json!({"ownerUrn": owner, "resourceUrn": DATASET}),
        ),
        (
            "removeLink",
            "RemoveLinkInput",
            json!({"linkUrl": "https://a.example", "resourceUrn": DATASET}),
        ),
    ] {
        assert_eq!(app.mutate(field, kind, input).await, true, "{field}");
    }
    let reply = app
        .graphql(&format!(
            r#"mutation {{ unsetDomain(entityUrn: "{DATASET}") }}"#
        ))
        .await;
    assert_eq!(reply["data"]["unsetDomain"], true, "{reply}");
    let remove = "mutation ($input: RemoveStructuredPropertiesInput!) { removeStructuredProperties(input: $input) { properties { structuredProperty { urn } } } }";
    let input = json!({"assetUrn": DATASET, "structuredPropertyUrns": [property]});
    let reply = app.graphql_with(remove, json!({"input": input})).await;
    let none = json!({"properties": []});
    assert_eq!(reply["data"]["removeStructuredProperties"], none, "{reply}");
    let (_, after) = app.get(&format!("/entitiesV2/{}", encoded(DATASET))).await;
    assert_eq!(after, before);
}

#[tokio::test]
async fn too_many_labels_or_owners_are_rejected() {
    let app = app().await;
    let resources = json!([{"resourceUrn": DATASET}]);
    let many = |prefix: &str| -> Vec<String> {
        let numbers = 0..1001;
        numbers.map(|number| format!("{prefix}{number}")).collect()
    };
    let owners: Vec<Value> = many("urn:li:corpuser:")
        .into_iter()
        .map(|urn| json!({"ownerUrn": urn, "ownerEntityType": "CORP_USER", "type": "DATAOWNER"}))
        .collect();
    for (field, kind, name, list) in [
        (
            "batchAddTags",
            "BatchAddTagsInput",
            "tagUrns",
            json!(many("urn:li:tag:")),
        ),
        (
            "batchRemoveTags",
            "BatchRemoveTagsInput",
            "tagUrns",
            json!(many("urn:li:tag:")),
        ),
        (
            "batchAddTerms",
            "BatchAddTermsInput",
            "termUrns",
            json!(many("urn:li:glossaryTerm:")),
        ),
        (
            "batchAddOwners",
            "BatchAddOwnersInput",
            "owners",
            json!(owners),
        ),
        (
            "batchRemoveOwners",
            "BatchRemoveOwnersInput",
            "ownerUrns",
            json!(many("urn:li:corpuser:")),
        ),
    ] {
        let input = json!({name: list, "resources": resources});
        let (code, message) = app.mutate_error(field, kind, input).await;
        assert_eq!(code, 400, "{field}: {message}");
        assert!(message.contains("at most 1000"), "{field}: {message}");
    }
}

//! Documents: creation, changes, the tree, and who finds them.

use docent_catalog::Caller;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::hidden::world::assign;
use crate::support::{App, DATASET, USER, role, token_of};

const FAQ: &str = "urn:li:document:faq";

async fn create(app: &App, id: &str, more: Value) -> Value {
    let mut input = json!({"id": id, "title": id, "contents": {"text": format!("About {id}.")}});
    for (name, value) in more.as_object().unwrap() {
        input[name] = value.clone();
    }
    app.mutate("createDocument", "CreateDocumentInput", input)
        .await
}

async fn read(app: &App, urn: &str, fields: &str) -> Value {
    let query = format!(r#"{{ document(urn: "{urn}") {{ {fields} }} }}"#);
    let reply = app.graphql(&query).await;
    assert_eq!(reply["errors"], Value::Null, "{reply}");
    reply["data"]["document"].clone()
}

async fn found(app: &App, input: &str) -> Value {
    let query = format!(
        "{{ searchDocuments(input: {{ {input} }}) {{ total documents {{ info {{ title }} }} }} }}"
    );
    let reply = app.graphql(&query).await;
    let list = &reply["data"]["searchDocuments"];
    let titles = list["documents"].as_array();
    let titles = titles.unwrap_or_else(|| panic!("{reply}")).iter();
    let titles: Vec<&Value> = titles.map(|document| &document["info"]["title"]).collect();
    assert_eq!(list["total"], titles.len(), "{reply}");
    json!(titles)
}

#[tokio::test]
async fn a_document_is_created_read_and_changed() {
    let app = App::with_dataset().await;
    create(&app, "parent", json!({})).await;
    let reply = create(
        &app,
        "faq",
        json!({
            "subType": "FAQ", "state": "PUBLISHED", "parentDocument": "urn:li:document:parent",
            "relatedAssets": [DATASET], "relatedDocuments": ["urn:li:document:parent"],
            "settings": {"showInGlobalContext": false},
        }),
    )
    .await;
    assert_eq!(reply, FAQ);
    let fields = "subType info { title status { state } contents { text } source { sourceType }
            created { actor { urn } } relatedAssets { asset { urn } }
            relatedDocuments { document { urn } } parentDocument { document { urn } } }
        settings { showInGlobalContext } ownership { owners { owner { ... on CorpUser { urn } } } }
        parentDocuments { count documents { urn } }";
    let parent = json!({"urn": "urn:li:document:parent"});
    let me = json!({"urn": "urn:li:corpuser:datahub"});
    assert_eq!(
        read(&app, FAQ, fields).await,
        json!({
            "subType": "FAQ",
            "info": {
                "title": "faq", "status": {"state": "PUBLISHED"}, "contents": {"text": "About faq."},
                "source": {"sourceType": "NATIVE"}, "created": {"actor": me},
                "relatedAssets": [{"asset": {"urn": DATASET}}],
                "relatedDocuments": [{"document": parent}], "parentDocument": {"document": parent},
            },
            "settings": {"showInGlobalContext": false},
            "ownership": {"owners": [{"owner": me}]},
            "parentDocuments": {"count": 1, "documents": [parent]},
        })
    );
    for (field, kind, input) in [
        (
            "updateDocumentContents",
            "UpdateDocumentContentsInput",
            json!({"urn": FAQ, "title": "Questions", "contents": {"text": "Why?"}}),
        ),
        (
            "updateDocumentRelatedEntities",
            "UpdateDocumentRelatedEntitiesInput",
            json!({"urn": FAQ, "relatedAssets": []}),
        ),
        (
            "updateDocumentStatus",
            "UpdateDocumentStatusInput",
            json!({"urn": FAQ, "state": "UNPUBLISHED"}),
        ),
        (
            "updateDocumentSubType",
            "UpdateDocumentSubTypeInput",
            json!({"urn": FAQ, "subType": null}),
        ),
        (
            "updateDocumentSettings",
            "UpdateDocumentSettingsInput",
            json!({"urn": FAQ, "showInGlobalContext": true}),
        ),
        (
            "moveDocument",
            "MoveDocumentInput",
            json!({"urn": FAQ, "parentDocument": null}),
        ),
    ] {
        assert_eq!(app.mutate(field, kind, input).await, true, "{field}");
    }
    assert_eq!(
        read(&app, FAQ, fields).await,
        json!({
            "subType": null,
            "info": {
                "title": "Questions", "status": {"state": "UNPUBLISHED"}, "contents": {"text": "Why?"},
                "source": {"sourceType": "NATIVE"}, "created": {"actor": me},
                "relatedAssets": [], "relatedDocuments": [{"document": parent}],
                "parentDocument": null,
            },
            "settings": {"showInGlobalContext": true},
            "ownership": {"owners": [{"owner": me}]},
            "parentDocuments": {"count": 0, "documents": []},
        })
    );
}

#[tokio::test]
async fn searches_across_entities_leave_out_documents_of_their_assets() {
    let app = App::with_dataset().await;
    for (id, shown) in [("open", true), ("inner", false)] {
        let urn = format!("urn:li:document:{id}");
        let info = json!({
            "title": "Refund rules", "contents": {"text": "…"}, "status": {"state": "PUBLISHED"},
            "created": {"time": 1, "actor": USER}, "lastModified": {"time": 1, "actor": USER},
        });
        app.ingest(&urn, "documentInfo", &info).await;
        let settings = json!({ "showInGlobalContext": shown });
        app.ingest(&urn, "documentSettings", &settings).await;
    }
    for (flags, total) in [
        ("", 1),
        ("searchFlags: {includeHiddenLifecycleStages: true}", 2),
    ] {
        let query = format!(
            r#"{{ searchAcrossEntities(input: {{query: "refund", types: [DOCUMENT] {flags}}}) {{ total }} }}"#
        );
        let reply = app.graphql(&query).await;
        assert_eq!(
            reply["data"]["searchAcrossEntities"]["total"], total,
            "{reply}"
        );
    }
}

#[tokio::test]
async fn documents_are_found_by_text_place_type_and_asset() {
    let app = App::with_dataset().await;
    create(&app, "parent", json!({"state": "PUBLISHED"})).await;
    let below = json!({"state": "PUBLISHED", "parentDocument": "urn:li:document:parent"});
    create(&app, "child", below).await;
    let about = json!({"state": "PUBLISHED", "subType": "FAQ", "relatedAssets": [DATASET],
        "settings": {"showInGlobalContext": false}});
    create(&app, "asset", about).await;
    // Ingestion may omit the settings.
    let info = json!({"title": "ingested", "contents": {"text": "t"}, "status": {"state": "PUBLISHED"},
        "created": {"time": 0, "actor": "urn:li:corpuser:datahub"},
        "lastModified": {"time": 0, "actor": "urn:li:corpuser:datahub"}});
    let ingested = "urn:li:document:ingested";
    app.ingest(ingested, "documentInfo", &info).await;
    let faq = json!({"typeNames": ["FAQ"]});
    app.ingest(ingested, "subTypes", &faq).await;
    for (input, expected) in [
        ("", json!(["child", "parent", "ingested"])),
        (r#"query: "child""#, json!(["child"])),
        ("rootOnly: true", json!(["parent", "ingested"])),
        (
            r#"parentDocuments: ["urn:li:document:parent"]"#,
            json!(["child"]),
        ),
        ("states: [UNPUBLISHED]", json!([])),
        (r#"types: ["FAQ"]"#, json!(["ingested"])),
        (r#"types: ["faq", "Guide"]"#, json!([])),
        (
            r#"sortInput: { sortCriterion: { field: "title", sortOrder: DESCENDING } }"#,
            json!(["parent", "ingested", "child"]),
        ),
    ] {
        assert_eq!(found(&app, input).await, expected, "{input}");
    }
    // The document that is shown with its asset only.
    let related = "relatedDocuments(input: {}) { total documents { urn } facets { field } }";
    let dataset = app.read_dataset(related).await;
    assert_eq!(
        dataset["relatedDocuments"]["documents"],
        json!([{"urn": "urn:li:document:asset"}]),
        "{dataset}"
    );
    let other = r#"relatedDocuments(input: { types: ["Guide"] }) { total }"#;
    let dataset = app.read_dataset(other).await;
    assert_eq!(dataset["relatedDocuments"]["total"], 0);
}

#[tokio::test]
async fn unpublished_documents_are_found_by_their_owners() {
    let app = App::with_dataset().await;
    let ada = json!({"owners": [{"ownerUrn": "urn:li:corpuser:ada", "ownerEntityType": "CORP_USER",
        "type": "TECHNICAL_OWNER"}]});
    for user in ["urn:li:corpuser:ada", "urn:li:corpuser:bob"] {
        app.ingest(user, "corpUserInfo", &json!({"active": true}))
            .await;
    }
    create(&app, "draft", ada).await;
    let query = "{ searchDocuments(input: {}) { documents { urn } } }";
    for (user, expected) in [
        ("ada", json!([{"urn": "urn:li:document:draft"}])),
        ("bob", json!([])),
    ] {
        let urn = format!("urn:li:corpuser:{user}");
        let reader = Some(role("Reader"));
        let (system, user_urn) = (Caller::system(), [Urn::parse(&urn).unwrap()]);
        let catalog = &app.catalog;
        let assigned = catalog.assign_role(&system, &user_urn, reader.as_ref());
        assigned.await.unwrap();
        let token = token_of(&app.catalog, &urn, None).await;
        let reply = app.graphql_as(&token, query).await;
        let documents = &reply["data"]["searchDocuments"]["documents"];
        assert_eq!(documents, &expected, "{user}: {reply}");
    }
}

#[tokio::test]
async fn the_stage_of_a_document_decides_who_finds_it_before_its_state_does() {
    let app = App::with_dataset().await;
    let me = "urn:li:corpuser:datahub";
    let stamp = json!({"time": 1, "actor": me});
    for (stage, hides) in [("PUBLISHED", false), ("REVIEW", true), ("DRAFT", true)] {
        let info = json!({"name": stage, "settings": {"hideInSearch": hides}, "created": stamp,
            "lastModified": stamp});
        let urn = format!("urn:li:lifecycleStageType:{stage}");
        app.ingest(&urn, "lifecycleStageTypeInfo", &info).await;
    }
    let bob = "urn:li:corpuser:bob";
    app.ingest(bob, "corpUserInfo", &json!({"active": true}))
        .await;
    assign(&app, bob, "Reader").await;
    let bob = token_of(&app.catalog, bob, None).await;
    create(&app, "faq", json!({"state": "UNPUBLISHED"})).await;
    // The owner manages documents, too, but drafts are for nobody.
    for (stage, by_owner, by_others) in [
        (None, 1, 0),
        (Some("REVIEW"), 1, 0),
        (Some("DRAFT"), 0, 0),
        (Some("PUBLISHED"), 1, 1),
    ] {
        let urn = stage.map(|it| format!("urn:li:lifecycleStageType:{it}"));
        let text = "mutation ($urn: String!, $stage: String) { setLifecycleStage(urn: $urn, lifecycleStageUrn: $stage) }";
        let reply = app.graphql_with(text, json!({"urn": FAQ, "stage": urn}));
        let reply = reply.await;
        assert_eq!(reply["data"]["setLifecycleStage"], true, "{reply}");
        let query = "{ searchDocuments(input: {}) { total } }";
        let mine = app.graphql(query).await;
        assert_eq!(
            mine["data"]["searchDocuments"]["total"], by_owner,
            "{stage:?}"
        );
        let others = app.graphql_as(&bob, query).await;
        assert_eq!(
            others["data"]["searchDocuments"]["total"], by_others,
            "{stage:?}"
        );
    }
}

#[tokio::test]
async fn documents_are_written_before_the_assets_and_documents_they_relate_to() {
    let app = App::with_dataset().await;
    let dataset = "urn:li:dataset:(urn:li:dataPlatform:hive,later,PROD)";
    let related =
        json!({"relatedAssets": [dataset], "relatedDocuments": ["urn:li:document:later"]});
    create(&app, "early", related).await;
    let selection =
        "info { relatedAssets { asset { urn } } relatedDocuments { document { urn } } }";
    let early = read(&app, "urn:li:document:early", selection).await;
    assert_eq!(early["info"]["relatedAssets"][0]["asset"]["urn"], dataset);
    let document = &early["info"]["relatedDocuments"][0]["document"];
    assert_eq!(document["urn"], "urn:li:document:later");
}

#[tokio::test]
async fn a_deleted_document_leaves_its_children_at_the_top_level() {
    let app = App::with_dataset().await;
    create(&app, "parent", json!({"state": "PUBLISHED"})).await;
    let below = json!({"state": "PUBLISHED", "parentDocument": "urn:li:document:parent"});
    create(&app, "child", below).await;
    let delete = r#"mutation { deleteDocument(urn: "urn:li:document:parent") }"#;
    let reply = app.graphql(delete).await;
    assert_eq!(reply["data"]["deleteDocument"], true, "{reply}");
    let child = read(
        &app,
        "urn:li:document:child",
        "info { parentDocument { document { urn } } }",
    );
    assert_eq!(child.await["info"]["parentDocument"], Value::Null);
    assert_eq!(found(&app, "").await, json!(["child"]));
    let (code, message) = app.graphql_error(delete).await;
    assert_eq!(code, 400, "{message}");
    assert!(message.contains("does not exist"), "{message}");
}

#[tokio::test]
async fn invalid_input_is_rejected_and_changes_nothing() {
    let app = App::with_dataset().await;
    create(&app, "a", json!({})).await;
    create(&app, "b", json!({"parentDocument": "urn:li:document:a"})).await;
    let before = app.aspect("urn:li:document:a", "documentInfo").await;
    let new = |more: Value| {
        let mut input = json!({"id": "new", "contents": {"text": ""}});
        for (name, value) in more.as_object().unwrap() {
            input[name] = value.clone();
        }
        ("createDocument", "CreateDocumentInput", input)
    };
    let moved = |urn: &str, parent: &str| {
        let input = json!({"urn": urn, "parentDocument": parent});
        ("moveDocument", "MoveDocumentInput", input)
    };
    let many: Vec<&str> = vec![DATASET; 1_001];
    for ((field, kind, input), part) in [
        (new(json!({"id": "a"})), "already exists"),
        (new(json!({"title": " "})), "the name is empty"),
        (new(json!({"subType": "x".repeat(101)})), "at most 100"),
        (
            new(json!({"parentDocument": "urn:li:document:none"})),
            "does not exist",
        ),
        (new(json!({"parentDocument": DATASET})), "document"),
        (new(json!({"relatedAssets": ["none"]})), "URN"),
        (new(json!({"relatedAssets": many})), "at most 1000"),
        (new(json!({"relatedDocuments": [DATASET]})), "document"),
        (
            moved("urn:li:document:a", "urn:li:document:b"),
            "below itself",
        ),
        (
            moved("urn:li:document:a", "urn:li:document:a"),
            "below itself",
        ),
        (
            moved("urn:li:document:a", "urn:li:document:none"),
            "does not exist",
        ),
        (
            moved("urn:li:document:none", "urn:li:document:a"),
            "does not exist",
        ),
        (moved(DATASET, "urn:li:document:a"), "document"),
    ] {
        let (_, message) = app.mutate_error(field, kind, input.clone()).await;
        assert!(message.contains(part), "{field} {input}: {message}");
    }
    assert_eq!(
        app.aspect("urn:li:document:a", "documentInfo").await,
        before
    );
    assert_eq!(
        app.aspect("urn:li:document:new", "documentInfo").await,
        None
    );
}

#[tokio::test]
async fn the_changes_of_a_document_are_listed_latest_first() {
    let app = App::with_dataset().await;
    create(&app, "parent", json!({})).await;
    create(&app, "faq", json!({"relatedAssets": [DATASET]})).await;
    let update = |field: &'static str, kind: &'static str, more: Value| {
        let mut input = json!({"urn": FAQ});
        for (name, value) in more.as_object().unwrap() {
            input[name] = value.clone();
        }
        app.clock.advance(1);
        app.mutate(field, kind, input)
    };
    let contents = json!({"title": "Questions", "contents": {"text": "Why?"}});
    update(
        "updateDocumentContents",
        "UpdateDocumentContentsInput",
        contents,
    )
    .await;
    let parent = json!({"parentDocument": "urn:li:document:parent"});
    update("moveDocument", "MoveDocumentInput", parent).await;
    let related = json!({"relatedAssets": [], "relatedDocuments": ["urn:li:document:parent"]});
    let field = "updateDocumentRelatedEntities";
    update(field, "UpdateDocumentRelatedEntitiesInput", related).await;
    let state = json!({"state": "PUBLISHED"});
    update("updateDocumentStatus", "UpdateDocumentStatusInput", state).await;
    // Not a change of the document itself.
    let links = json!({"elements": [{"url": "https://example.com", "description": "d",
        "createStamp": {"time": 1, "actor": "urn:li:corpuser:datahub"}}]});
    app.ingest(FAQ, "institutionalMemory", &links).await;

    let history = async |arguments: &str| {
        let fields = format!(
            "changeHistory{arguments} {{ changeType description actor {{ urn }} timestamp details {{ key value }} }}"
        );
        read(&app, FAQ, &fields).await["changeHistory"].clone()
    };
    let all = history("").await;
    let of = |member: &str| -> Vec<String> {
        let texts = all
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it[member].to_string());
        texts.map(|text| text.replace('"', "")).collect()
    };
    let expected = [
        "STATE_CHANGED",
        "RELATED_ASSETS_CHANGED",
        "RELATED_DOCUMENTS_CHANGED",
        "PARENT_CHANGED",
        "TITLE_CHANGED",
        "TEXT_CHANGED",
        "CREATED",
    ];
    assert_eq!(of("changeType"), expected, "{all}");
    assert_eq!(all[0]["actor"], json!({"urn": "urn:li:corpuser:datahub"}));
    assert_eq!(
        all[0]["details"][0],
        json!({"key": "newState", "value": "PUBLISHED"})
    );
    let details = all[1]["details"].as_array().unwrap();
    assert!(
        details.contains(&json!({"key": "entityUrn", "value": DATASET})),
        "{all}"
    );
    assert!(
        details.contains(&json!({"key": "operation", "value": "REMOVE"})),
        "{all}"
    );
    assert_eq!(all[6]["description"], "The document was created.");

    assert_eq!(history("(limit: 2)").await.as_array().unwrap().len(), 2);
    let negative =
        format!(r#"{{ document(urn: "{FAQ}") {{ changeHistory(limit: -1) {{ timestamp }} }} }}"#);
    let (code, message) = app.graphql_error(&negative).await;
    assert_eq!(
        (code, message.as_str()),
        (400, "limit must not be negative: -1")
    );
    let created = all[6]["timestamp"].as_i64().unwrap();
    let first = history(&format!("(endTimeMillis: {created})")).await;
    assert_eq!(first.as_array().unwrap().len(), 1, "{first}");
    let later = history(&format!("(startTimeMillis: {})", created + 2)).await;
    assert_eq!(later.as_array().unwrap().len(), 4, "{later}");
}

#[tokio::test]
async fn files_become_documents_and_a_second_import_replaces_them() {
    let app = App::empty().await;
    create(&app, "parent", json!({})).await;
    let import = async |files: Value, more: Value| {
        let mut input = json!({"documents": files});
        for (name, value) in more.as_object().unwrap() {
            input[name] = value.clone();
        }
        let mutation = "mutation ($input: ImportDocumentsFromFilesInput!) {
            importDocumentsFromFiles(input: $input) { createdCount updatedCount failedCount errors documentUrns } }";
        app.graphql_with(mutation, json!({"input": input})).await
    };
    let file = |name: &str, content: &str| json!({"fileName": name, "content": content});
    let files = json!([
        file("docs/release_notes.md", "# One"),
        file("empty.md", "  "),
        file("old/release_notes.txt", "Another one"),
    ]);
    let more = json!({"parentDocumentUrn": "urn:li:document:parent", "useCase": "SKILL"});
    let reply = import(files, more).await;
    let result = &reply["data"]["importDocumentsFromFiles"];
    assert_eq!(result["createdCount"], 1, "{reply}");
    assert_eq!(result["failedCount"], 2);
    assert_eq!(
        result["errors"],
        json!([
            "empty.md: the file is empty",
            "old/release_notes.txt: another file of this import has the same name: rename one of them",
        ])
    );
    let urn = result["documentUrns"][0].as_str().unwrap().to_owned();
    let fields = "subType info { title contents { text } status { state } parentDocument { document { urn } }
        customProperties { key value } } ownership { owners { owner { ... on CorpUser { urn } } } }";
    let mut expected = json!({
        "subType": "SKILL",
        "info": {
            "title": "Release Notes", "contents": {"text": "# One"}, "status": {"state": "PUBLISHED"},
            "parentDocument": {"document": {"urn": "urn:li:document:parent"}},
            "customProperties": [{"key": "file_extension", "value": ".md"},
                {"key": "import_source", "value": "file_upload"},
                {"key": "import_source_id", "value": "upload.release_notes"},
                {"key": "original_filename", "value": "docs/release_notes.md"}],
        },
        "ownership": {"owners": [{"owner": {"urn": "urn:li:corpuser:datahub"}}]},
    });
    assert_eq!(read(&app, &urn, fields).await, expected);
    // The place of the document stays.
    let reply = import(json!([file("docs/release_notes.md", "# Two")]), json!({})).await;
    let result = &reply["data"]["importDocumentsFromFiles"];
    assert_eq!(
        (&result["createdCount"], &result["updatedCount"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(result["documentUrns"], json!([urn]));
    expected["info"]["contents"]["text"] = json!("# Two");
    assert_eq!(read(&app, &urn, fields).await, expected);

    let itself = json!({"parentDocumentUrn": urn});
    let reply = import(json!([file("release_notes.md", "# Three")]), itself).await;
    let errors = &reply["data"]["importDocumentsFromFiles"]["errors"];
    assert_eq!(
        errors,
        &json!([
            "release_notes.md: a document can't be moved below itself or below one of its children"
        ])
    );
    assert_eq!(read(&app, &urn, fields).await, expected);

    let none = json!({"parentDocumentUrn": "urn:li:document:none"});
    let reply = import(json!([file("a.md", "a")]), none).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
    let many: Vec<Value> = (0..1001).map(|at| file(&format!("{at}.md"), "a")).collect();
    let reply = import(json!(many), json!({})).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
}

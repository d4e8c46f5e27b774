//! Domains: names, nesting, moving, deleting, batches.

use crate::support::{App, DATASET, MISSING};
use serde_json::{Value, json};

async fn create(app: &App, id: &str, name: &str, parent: Option<&str>) -> Value {
    let input = json!({"id": id, "name": name, "parentDomain": parent.map(|id| format!("urn:li:domain:{id}"))});
    app.graphql_with(
        "mutation ($input: CreateDomainInput!) { createDomain(input: $input) }",
        json!({"input": input}),
    )
    .await
}

async fn created(app: &App, id: &str, name: &str, parent: Option<&str>) {
    let reply = create(app, id, name, parent).await;
    assert_eq!(
        reply["data"]["createDomain"],
        format!("urn:li:domain:{id}"),
        "{reply}"
    );
}

fn code(reply: &Value) -> (u64, &str) {
    let error = &reply["errors"][0];
    (
        error["extensions"]["code"].as_u64().unwrap_or_default(),
        error["message"].as_str().unwrap_or_default(),
    )
}

#[tokio::test]
async fn domain_names_are_unique_among_siblings() {
    let app = App::empty().await;
    created(&app, "a", "Marketing", None).await;
    let reply = create(&app, "b", "Marketing", None).await;
    assert_eq!(
        code(&reply),
        (
            409,
            "\"Marketing\" already exists in this domain. Please pick a unique name."
        )
    );
    assert_eq!(reply["errors"][0]["extensions"]["type"], "CONFLICT");
    assert_eq!(
        app.aspect("urn:li:domain:b", "domainKey").await,
        None,
        "nothing was created"
    );
    created(&app, "c", "marketing", None).await;
    created(&app, "d", "Marketing", Some("a")).await;
}

#[tokio::test]
async fn domain_ids_are_unique_and_valid_in_a_urn() {
    let app = App::empty().await;
    created(&app, "a", "A", None).await;
    assert_eq!(
        code(&create(&app, "a", "B", None).await),
        (409, "This Domain already exists!")
    );
    let long = "x".repeat(600);
    let reply = create(&app, &long, "Long", None).await;
    assert_eq!(code(&reply).0, 400);
    assert!(code(&reply).1.contains("too long"), "{reply}");
    let reply = create(&app, "", "No id", None).await;
    assert_eq!(code(&reply).0, 400);
    assert!(code(&reply).1.contains("the id is empty"), "{reply}");
    let reply = create(&app, "e", "  ", None).await;
    assert_eq!(code(&reply).0, 400, "{reply}");
}

#[tokio::test]
async fn a_parent_must_be_a_domain() {
    let app = App::with_dataset().await;
    let query = format!(
        r#"mutation {{ createDomain(input: {{ name: "x", parentDomain: "{DATASET}" }}) }}"#
    );
    let (code, message) = app.graphql_error(&query).await;
    assert_eq!(code, 400);
    assert!(message.contains("domain"), "{message}");
}

#[tokio::test]
async fn a_domain_and_its_owners_are_created_atomically() {
    let app = App::empty().await;
    let create = |owner: &str| {
        format!(
            r#"mutation {{ createDomain(input: {{ id: "owned", name: "Owned", owners: [
                {{ ownerUrn: "{owner}", ownerEntityType: CORP_USER, type: TECHNICAL_OWNER }}
            ] }}) }}"#
        )
    };
    let (code, message) = app.graphql_error(&create("urn:li:corpuser:nobody")).await;
    assert_eq!(code, 400);
    assert!(
        message.contains("urn:li:corpuser:nobody does not exist"),
        "{message}"
    );
    assert_eq!(app.aspect("urn:li:domain:owned", "domainKey").await, None);

    let reply = app.graphql(&create(crate::support::USER)).await;
    assert_eq!(
        reply["data"]["createDomain"], "urn:li:domain:owned",
        "{reply}"
    );
    let read = r#"{ domain(urn: "urn:li:domain:owned") { ownership { owners { owner { ... on CorpUser { urn } } type } } } }"#;
    assert_eq!(
        app.graphql(read).await["data"]["domain"]["ownership"]["owners"],
        json!([{"owner": {"urn": crate::support::USER}, "type": "TECHNICAL_OWNER"}])
    );
}

#[tokio::test]
async fn domains_are_listed_by_parent_newest_first() {
    let app = App::empty().await;
    for id in ["a", "b", "c"] {
        created(&app, id, id, None).await;
        app.clock.advance(10);
    }
    created(&app, "child", "Child", Some("a")).await;
    let list = |input: &str| {
        format!(
            "{{ listDomains(input: {{ {input} }}) {{ start count total domains {{ urn id properties {{ name }} }} }} }}"
        )
    };
    let ids = |reply: &Value| -> Vec<String> {
        reply["data"]["listDomains"]["domains"]
            .as_array()
            .unwrap()
            .iter()
            .map(|domain| domain["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let roots = app.graphql(&list("start: 0, count: 2")).await;
    assert_eq!(ids(&roots), ["c", "b"], "{roots}");
    assert_eq!(roots["data"]["listDomains"]["total"], 3);
    assert_eq!(ids(&app.graphql(&list("start: 2, count: 2")).await), ["a"]);
    let below = app
        .graphql(&list(r#"parentDomain: "urn:li:domain:a""#))
        .await;
    assert_eq!(ids(&below), ["child"]);
    assert_eq!(below["data"]["listDomains"]["count"], 20);
    let (code, message) = app.graphql_error(&list("start: -1")).await;
    assert_eq!(code, 400, "{message}");
}

#[tokio::test]
async fn domains_move_but_never_into_their_own_descendants() {
    let app = App::empty().await;
    created(&app, "a", "A", None).await;
    created(&app, "b", "B", Some("a")).await;
    created(&app, "c", "C", Some("b")).await;
    let move_to = |domain: &str, parent: Option<&str>| {
        let parent = parent.map_or("null".to_owned(), |id| format!(r#""urn:li:domain:{id}""#));
        format!(
            r#"mutation {{ moveDomain(input: {{ resourceUrn: "urn:li:domain:{domain}", parentDomain: {parent} }}) }}"#
        )
    };
    for parent in ["a", "b", "c"] {
        let (code, message) = app.graphql_error(&move_to("a", Some(parent))).await;
        assert_eq!(
            (code, &*message),
            (
                400,
                "Cannot move a domain under one of its own descendants."
            )
        );
    }
    let (code, message) = app.graphql_error(&move_to("a", Some("none"))).await;
    assert_eq!((code, &*message), (400, "Parent entity does not exist."));
    let moved = json!({"data": {"moveDomain": true}, "extensions": {}});
    assert_eq!(
        app.graphql(&move_to("c", Some("b"))).await,
        moved,
        "to where it is: nothing to do"
    );
    assert_eq!(app.graphql(&move_to("c", None)).await, moved);
    let read = r#"{ domain(urn: "urn:li:domain:c") { parentDomains { count } } }"#;
    assert_eq!(
        app.graphql(read).await["data"]["domain"]["parentDomains"]["count"],
        0
    );
    created(&app, "c2", "C", Some("b")).await;
    let (code, message) = app.graphql_error(&move_to("c", Some("b"))).await;
    assert_eq!(
        (code, &*message),
        (
            409,
            "\"C\" already exists in the destination domain. Please pick a unique name."
        )
    );
    // The same rule holds for direct writes, also within one list.
    let properties = |name: &str, parent: &str| json!({"name": name, "parentDomain": format!("urn:li:domain:{parent}")});
    let (status, body) = app
        .propose_all(vec![
            crate::support::proposal(
                "UPSERT",
                "urn:li:domain:x",
                "domainProperties",
                &properties("X", "y"),
            ),
            crate::support::proposal(
                "UPSERT",
                "urn:li:domain:y",
                "domainProperties",
                &properties("Y", "x"),
            ),
        ])
        .await;
    assert!(status.is_client_error(), "{status} {body}");
    assert_eq!(app.aspect("urn:li:domain:x", "domainKey").await, None);
}

#[tokio::test]
async fn deleting_a_domain_clears_its_members_and_is_rejected_while_it_has_children() {
    let app = App::with_dataset().await;
    created(&app, "a", "A", None).await;
    created(&app, "b", "B", Some("a")).await;
    let set = format!(
        r#"mutation {{ setDomain(domainUrn: "urn:li:domain:a", entityUrn: "{DATASET}") }}"#
    );
    app.graphql(&set).await;
    let delete = |id: &str| format!(r#"mutation {{ deleteDomain(urn: "urn:li:domain:{id}") }}"#);
    let (code, message) = app.graphql_error(&delete("a")).await;
    assert_eq!(code, 409);
    assert!(
        message.contains("Cannot delete domain urn:li:domain:a which has child domains"),
        "{message}"
    );
    let deleted = json!({"data": {"deleteDomain": true}, "extensions": {}});
    assert_eq!(app.graphql(&delete("b")).await, deleted);
    assert_eq!(app.graphql(&delete("a")).await, deleted);
    assert_eq!(
        app.aspect(DATASET, "domains").await,
        Some(json!({"domains": [], "domainAssociations": []}))
    );
    let read = r#"{ entityExists(urn: "urn:li:domain:a") }"#;
    assert_eq!(app.graphql(read).await["data"]["entityExists"], false);
    let (code, _) = app.graphql_error(&delete("a")).await;
    assert_eq!(code, 400, "deleting what does not exist fails");
}

#[tokio::test]
async fn setting_the_domain_of_many_entities_is_atomic() {
    let app = App::with_dataset().await;
    let second = "urn:li:dataset:(urn:li:dataPlatform:hive,second,PROD)";
    app.add_dataset(second).await;
    created(&app, "a", "A", None).await;
    let batch = |domain: &str, urns: &[&str]| {
        let resources: Vec<String> = urns
            .iter()
            .map(|urn| format!(r#"{{ resourceUrn: "{urn}" }}"#))
            .collect();
        format!(
            "mutation {{ batchSetDomain(input: {{ {domain} resources: [{}] }}) }}",
            resources.join(", ")
        )
    };
    let in_a = r#"domainUrn: "urn:li:domain:a","#;
    let (code, message) = app.graphql_error(&batch(in_a, &[DATASET, MISSING])).await;
    assert_eq!(code, 400);
    assert_eq!(
        message,
        format!(
            "item 1 ({MISSING}): Failed to update resource with urn {MISSING}. Entity does not exist."
        )
    );
    let tag = "urn:li:tag:none";
    let (_, message) = app.graphql_error(&batch(in_a, &[tag, DATASET])).await;
    assert!(
        message.starts_with(&format!("item 0 ({tag}): ")),
        "{message}"
    );
    let (_, message) = app.graphql_error(&batch(in_a, &[DATASET, "none"])).await;
    assert!(message.starts_with("item 1: "), "{message}");
    assert_eq!(
        app.aspect(DATASET, "domains").await,
        None,
        "nothing was written"
    );
    let nowhere = r#"domainUrn: "urn:li:domain:none","#;
    let (code, message) = app.graphql_error(&batch(nowhere, &[DATASET])).await;
    assert_eq!(
        (code, &*message),
        (
            400,
            "Failed to validate Domain with urn urn:li:domain:none. Urn does not exist."
        )
    );
    let done = json!({"data": {"batchSetDomain": true}, "extensions": {}});
    assert_eq!(app.graphql(&batch(in_a, &[DATASET, second])).await, done);
    for urn in [DATASET, second] {
        let domains = app.aspect(urn, "domains").await.unwrap();
        assert_eq!(domains["domains"], json!(["urn:li:domain:a"]));
    }
    assert_eq!(app.graphql(&batch("", &[DATASET, second])).await, done);
    assert_eq!(
        app.aspect(second, "domains").await.unwrap()["domains"],
        json!([])
    );
}

#[tokio::test]
async fn entities_without_the_domains_aspect_are_rejected() {
    let app = App::with_dataset().await;
    created(&app, "a", "A", None).await;
    let set = |entity: &str, domain: &str| {
        format!(r#"mutation {{ setDomain(domainUrn: "{domain}", entityUrn: "{entity}") }}"#)
    };
    for (entity, domain) in [
        ("urn:li:domain:a", "urn:li:domain:a"),
        (crate::support::USER, "urn:li:domain:a"),
        (DATASET, DATASET),
        (DATASET, "marketing"),
        ("urn:li:dataset:x", "urn:li:domain:a"),
        (
            "urn:li:dataset:(urn:li:dataPlatform:hive,t,NOWHERE)",
            "urn:li:domain:a",
        ),
    ] {
        let (code, message) = app.graphql_error(&set(entity, domain)).await;
        assert_eq!(code, 400, "{entity} {domain}: {message}");
        assert!(!message.is_empty());
    }
    let (_, message) = app.graphql_error(&set(DATASET, "marketing")).await;
    assert!(
        message.starts_with("domainUrn: 'marketing' is not a URN"),
        "{message}"
    );
}

#[tokio::test]
async fn renaming_changes_only_the_name() {
    let app = App::with_dataset().await;
    created(&app, "a", "A", None).await;
    created(&app, "b", "B", None).await;
    let rename = |urn: &str, name: &str| {
        format!(r#"mutation {{ updateName(input: {{ urn: "{urn}", name: "{name}" }}) }}"#)
    };
    let done = json!({"data": {"updateName": true}, "extensions": {}});
    assert_eq!(app.graphql(&rename("urn:li:domain:a", "A")).await, done);
    let (code, _) = app.graphql_error(&rename("urn:li:domain:a", "B")).await;
    assert_eq!(code, 409);
    assert_eq!(app.graphql(&rename("urn:li:domain:a", "Z")).await, done);
    let describe = format!(
        r#"mutation {{ updateDescription(input: {{ description: "mine", resourceUrn: "{DATASET}" }}) }}"#
    );
    app.graphql(&describe).await;
    app.clock.advance(1000);
    assert_eq!(app.graphql(&rename(DATASET, "Deleted users")).await, done);
    let stored = app
        .aspect(DATASET, "editableDatasetProperties")
        .await
        .unwrap();
    assert_eq!(stored["description"], "mine");
    assert_eq!(stored["name"], "Deleted users");
    assert_eq!(stored["created"]["time"], crate::support::NOW_MS);
    assert_eq!(
        stored["lastModified"]["time"],
        crate::support::NOW_MS + 1000
    );
    assert_eq!(stored["created"]["actor"], crate::support::USER);
    let (code, message) = app.graphql_error(&rename(crate::support::USER, "x")).await;
    assert_eq!(code, 400, "{message}");
}

#[tokio::test]
async fn display_properties_are_merged() {
    let app = App::empty().await;
    created(&app, "a", "A", None).await;
    let update = |input: &str| {
        format!(
            r#"mutation {{ updateDisplayProperties(urn: "urn:li:domain:a", input: {{ {input} }}) }}"#
        )
    };
    let done = json!({"data": {"updateDisplayProperties": true}, "extensions": {}});
    assert_eq!(app.graphql(&update(r##"colorHex: "#3366CC""##)).await, done);
    let icon = r#"icon: { iconLibrary: PHOSPHOR, name: "House", style: "bold" }"#;
    assert_eq!(app.graphql(&update(icon)).await, done);
    let read =
        r#"{ domain(urn: "urn:li:domain:a") { displayProperties { colorHex icon { name } } } }"#;
    assert_eq!(
        app.graphql(read).await["data"]["domain"]["displayProperties"],
        json!({"colorHex": "#3366CC", "icon": {"name": "House"}})
    );
}

/// Domains `{id}1`, `{id}2`, …, each the parent of the next.
async fn chain(app: &App, id: &str, length: usize) {
    for number in 1..=length {
        let parent = format!("{id}{}", number - 1);
        let parent = (number > 1).then_some(parent.as_str());
        let own = format!("{id}{number}");
        created(app, &own, &own, parent).await;
    }
}

#[tokio::test]
async fn domains_are_nested_at_most_fifty_deep_for_every_api() {
    let app = App::empty().await;
    chain(&app, "a", 30).await;
    chain(&app, "b", 21).await;
    let move_below = |parent: &str| {
        format!(
            r#"mutation {{ moveDomain(input: {{ resourceUrn: "urn:li:domain:b1", parentDomain: "urn:li:domain:{parent}" }}) }}"#
        )
    };
    let (refused, message) = app.graphql_error(&move_below("a30")).await;
    assert_eq!(refused, 400);
    assert!(message.contains("nested 50 deep at most"), "{message}");
    let reply = app.graphql(&move_below("a29")).await;
    assert_eq!(reply["data"]["moveDomain"], true, "{reply}");
    let reply = create(&app, "too-deep", "Too deep", Some("b21")).await;
    assert_eq!(code(&reply).0, 400, "{reply}");
    let reply = create(&app, "beside", "Beside", Some("b20")).await;
    assert!(reply["errors"].is_null(), "{reply}");

    // The same holds for direct writes.
    let below = json!({"name": "a1", "parentDomain": "urn:li:domain:beside"});
    let (status, body) = app
        .propose("UPSERT", "urn:li:domain:c1", "domainProperties", &below)
        .await;
    assert_eq!(status, 400, "{body}");
}

#[tokio::test]
async fn a_missing_domain_is_rejected_even_without_resources() {
    let app = App::empty().await;
    let input = |domain: &str| json!({"domainUrn": domain, "resources": []});
    let missing = "urn:li:domain:missing";
    assert_eq!(
        app.mutate_error("batchSetDomain", "BatchSetDomainInput", input(missing))
            .await,
        (
            400,
            format!("Failed to validate Domain with urn {missing}. Urn does not exist.")
        )
    );
    let domain = app
        .mutate(
            "createDomain",
            "CreateDomainInput",
            json!({"name": "There"}),
        )
        .await;
    let done = app
        .mutate(
            "batchSetDomain",
            "BatchSetDomainInput",
            input(domain.as_str().unwrap()),
        )
        .await;
    assert_eq!(done, true);
}

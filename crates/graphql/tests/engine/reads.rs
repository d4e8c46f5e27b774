//! Sources of values, and the number of store calls.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use docent_catalog::AspectKey;
use docent_model::AspectName;
use serde_json::{Value, json};

use crate::fixture::{Fixture, data, dataset, messages, urn};

fn schema_metadata(platform_schema: &Value) -> Value {
    json!({
        "schemaName": "t",
        "platform": "urn:li:dataPlatform:hive",
        "version": 0,
        "hash": "",
        "platformSchema": platform_schema,
        "fields": [
            {"fieldPath": "id", "description": "the \"id\"\n\u{e9}", "nativeDataType": "int",
             "type": {"type": {"com.linkedin.schema.NumberType": {}}}},
            {"fieldPath": "b.c", "nativeDataType": "array",
             "type": {"type": {"com.linkedin.schema.ArrayType": {}}}},
        ],
    })
}

async fn catalog() -> Fixture {
    Fixture::new(&[
        (
            &dataset("t"),
            "datasetProperties",
            json!({"name": "orders", "description": "all *orders*", "customProperties": {"a": "1", "b": "2"}}),
        ),
        (&dataset("bare"), "status", json!({"removed": false})),
        (
            &dataset("t"),
            "schemaMetadata",
            schema_metadata(&json!({"com.linkedin.schema.OtherSchema": {"rawSchema": "create t"}})),
        ),
        (&dataset("t"), "domains", json!({"domains": ["urn:li:domain:sales"]})),
        (
            &dataset("t"),
            "institutionalMemory",
            json!({"elements": [
                {"url": "https://a", "description": "a", "createStamp": {"time": 1, "actor": "urn:li:corpuser:jdoe"}},
                {"url": "https://b", "description": "b", "createStamp": {"time": 1, "actor": "urn:li:corpGroup:eng"}},
            ]}),
        ),
        (
            "urn:li:domain:sales",
            "domainProperties",
            json!({"name": "Sales", "description": "", "parentDomain": "urn:li:domain:all"}),
        ),
        ("urn:li:domain:all", "domainProperties", json!({"name": "All", "description": ""})),
        ("urn:li:corpuser:jdoe", "corpUserInfo", json!({"active": true, "title": "Dr"})),
    ])
    .await
}

#[tokio::test]
async fn a_description_is_read_with_one_call_and_copied() {
    let fixture = catalog().await;
    let query = format!(
        r#"{{ dataset(urn: "{}") {{ properties {{ description }} }} }}"#,
        dataset("t")
    );
    assert_eq!(
        fixture.text(&query).await,
        r#"{"data":{"dataset":{"properties":{"description":"all *orders*"}}},"extensions":{}}"#
    );
    assert_eq!(fixture.store.take_reads(), 1);
}

#[tokio::test]
async fn every_kind_of_source_is_read() {
    let fixture = catalog().await;
    let query = format!(
        r#"{{ dataset(urn: "{}") {{
            urn type exists name origin
            platform {{ urn type name }}
            properties {{ customProperties {{ key value associatedUrn }} lastModified {{ time actor }} }}
            schemaMetadata {{
                fields {{ fieldPath description type fieldUrn }}
                platformSchema {{ __typename ... on TableSchema {{ schema }} ... on KeyValueSchema {{ keySchema }} }}
            }}
            memory {{ elements {{ url actor {{ ... on CorpUser {{ username title }} ... on CorpGroup {{ name }} }} }} }}
            domain {{ associatedUrn domain {{ id name parent {{ name }} }} }}
            shout(mark: "?") owner {{ urn }}
        }} }}"#,
        dataset("t")
    );
    let reply = fixture.json(&query).await;
    assert_eq!(messages(&reply), [""; 0]);
    let urn = dataset("t");
    assert_eq!(
        reply["data"]["dataset"],
        json!({
            "urn": urn, "type": "DATASET", "exists": true, "name": "orders", "origin": "PROD",
            "platform": {"urn": "urn:li:dataPlatform:hive", "type": "DATA_PLATFORM", "name": "hive"},
            "properties": {
                "customProperties": [
                    {"key": "a", "value": "1", "associatedUrn": urn},
                    {"key": "b", "value": "2", "associatedUrn": urn},
                ],
                "lastModified": {"time": 0, "actor": null},
            },
            "schemaMetadata": {
                "fields": [
                    {"fieldPath": "id", "description": "the \"id\"\n\u{e9}", "type": "NUMBER",
                     "fieldUrn": format!("urn:li:schemaField:({urn},id)")},
                    {"fieldPath": "b.c", "description": null, "type": null,
                     "fieldUrn": format!("urn:li:schemaField:({urn},b.c)")},
                ],
                "platformSchema": {"__typename": "TableSchema", "schema": "create t"},
            },
            "memory": {"elements": [
                {"url": "https://a", "actor": {"username": "jdoe", "title": "Dr"}},
                {"url": "https://b", "actor": {"name": "eng"}},
            ]},
            "domain": {"associatedUrn": urn, "domain": {"id": "sales", "name": "Sales", "parent": {"name": "All"}}},
            "shout": "ALL *ORDERS*?",
            "owner": {"urn": "urn:li:corpuser:jdoe"},
        })
    );
    // The dataset; its domain and the user; the domain's parent.
    assert_eq!(fixture.store.take_reads(), 3);
}

#[tokio::test]
async fn fields_with_paths_in_a_result_share_one_resolver_call() {
    let fixture = catalog().await;
    let query = "query($urns: [String!]!) {
        datasets(urns: $urns) { ownerTitle ownerActive ownerName again: ownerTitle }
    }";
    let urns = json!({"urns": [dataset("t")]});
    let reply = fixture.with_variables(query, urns).await;
    let row = json!({"ownerTitle": "Dr", "ownerActive": true, "ownerName": "Dr", "again": "Dr"});
    let actual: Value = serde_json::from_str(&data(&reply)).unwrap();
    assert_eq!(actual, json!({"datasets": [row]}));
    // The existence of the dataset, and the read of the resolver.
    assert_eq!(fixture.store.take_reads(), 2);
}

#[tokio::test]
async fn a_hundred_datasets_with_their_domains_take_one_call_per_level() {
    let mut aspects = Vec::new();
    let names: Vec<_> = (0..100)
        .map(|number| dataset(&format!("t{number}")))
        .collect();
    let domains: Vec<_> = (0..10)
        .map(|number| format!("urn:li:domain:d{number}"))
        .collect();
    for (number, domain) in domains.iter().enumerate() {
        let value = json!({"name": format!("D{number}"), "description": ""});
        aspects.push((domain.as_str(), "domainProperties", value));
    }
    for (number, name) in names.iter().enumerate() {
        let value = json!({"domains": [domains[number % 10]]});
        aspects.push((name.as_str(), "domains", value));
    }
    let fixture = Fixture::new(&aspects).await;
    let query =
        "query($urns: [String!]!) { datasets(urns: $urns) { urn domain { domain { name } } } }";
    let reply = fixture.with_variables(query, json!({"urns": names})).await;
    assert_eq!(fixture.store.take_reads(), 2);
    let expected: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(number, name)| json!({"urn": name, "domain": {"domain": {"name": format!("D{}", number % 10)}}}))
        .collect();
    let actual: Value = serde_json::from_str(&data(&reply)).unwrap();
    assert_eq!(actual, json!({"datasets": expected}));

    // Two root fields share the calls of their levels, and common rows are requested once.
    let query = "query($urns: [String!]!) {
        a: datasets(urns: $urns) { domain { domain { name } } }
        b: datasets(urns: $urns) { domain { associatedUrn domain { id name } } }
    }";
    let reply = fixture.with_variables(query, json!({"urns": names})).await;
    assert!(reply.starts_with("{\"data\""), "{reply}");
    assert_eq!(fixture.store.take_reads(), 2);

    // Whole entities, rows and existence checks are read in one call.
    let query = "query($urns: [String!]!, $one: String!) {
        whole: datasets(urns: $urns) { aspectNames domain { domain { name } } }
        rows: datasets(urns: $urns) { domain { associatedUrn domain { name } } }
        missing: dataset(urn: $one) { exists }
    }";
    let variables = json!({"urns": names, "one": dataset("missing")});
    let reply = fixture.with_variables(query, variables).await;
    assert_eq!(fixture.store.take_reads(), 2);
    let actual: Value = serde_json::from_str(&data(&reply)).unwrap();
    let last = json!({"domain": {"name": "D9"}});
    assert_eq!(actual["whole"][99]["domain"], last);
    assert!(
        actual["whole"][99]["aspectNames"]
            .to_string()
            .contains("datasetKey")
    );
    assert_eq!(actual["rows"][99]["domain"]["domain"], last["domain"]);
    assert_eq!(actual["missing"], json!({"exists": false}));
}

#[tokio::test]
async fn parts_of_a_urn_need_no_store_call() {
    let fixture = catalog().await;
    let query = format!(
        r#"{{ entity(urn: "{}") {{ __typename urn type ... on Dataset {{ platform {{ name }} }} }} }}"#,
        dataset("nobody")
    );
    assert_eq!(
        fixture.data(&query).await,
        format!(
            r#"{{"entity":{{"__typename":"Dataset","urn":"{}","type":"DATASET","platform":{{"name":"hive"}}}}}}"#,
            dataset("nobody")
        )
    );
    assert_eq!(fixture.store.take_reads(), 0);
}

#[tokio::test]
async fn a_missing_entity_is_not_found_unless_exists_is_selected() {
    let fixture = catalog().await;
    let missing = dataset("missing");
    let reply = fixture
        .text(&format!(
            "{{\n  d: dataset(urn: \"{missing}\") {{ urn name }}\n}}"
        ))
        .await;
    assert_eq!(
        reply,
        format!(
            r#"{{"errors":[{{"message":"Dataset {missing} does not exist","locations":[{{"line":2,"column":3}}],"path":["d"],"extensions":{{"code":404,"type":"NOT_FOUND","classification":"DataFetchingException"}}}}],"data":{{"d":null}},"extensions":{{}}}}"#
        )
    );
    let query = format!(
        r#"{{ dataset(urn: "{missing}") {{ urn exists name properties {{ description }} }} }}"#
    );
    assert_eq!(
        fixture.data(&query).await,
        format!(
            r#"{{"dataset":{{"urn":"{missing}","exists":false,"name":"missing","properties":null}}}}"#
        )
    );
    let query = format!(r#"{{ dataset(urn: "{}") {{ exists }} }}"#, dataset("bare"));
    assert_eq!(fixture.data(&query).await, r#"{"dataset":{"exists":true}}"#);
}

#[tokio::test]
async fn each_missing_entity_of_a_list_is_an_error() {
    let fixture = catalog().await;
    let urns = json!([dataset("bare"), dataset("missing"), dataset("t")]);
    let query = format!("{{ datasets(urns: {urns}) {{ name }} }}");
    let reply = fixture.json(&query).await;
    assert_eq!(
        reply["data"],
        json!({"datasets": [{"name": "bare"}, null, {"name": "orders"}]})
    );
    assert_eq!(reply["errors"][0]["path"], json!(["datasets", 1]));
    assert_eq!(reply["errors"].as_array().unwrap().len(), 1);
    let query = format!("{{ requiredDatasets(urns: {urns}) {{ name }} }}");
    let reply = fixture.json(&query).await;
    assert_eq!(reply["data"], Value::Null);
    assert_eq!(reply["errors"][0]["extensions"]["code"], 404);
}

#[tokio::test]
async fn invalid_urns_and_urns_of_other_types_are_rejected() {
    let fixture = catalog().await;
    for (text, reason) in [
        (
            "urn:li:domain:sales",
            "has the type domain, but dataset is expected",
        ),
        ("sales", "is not a URN"),
        ("urn:li:dataset:x", "1 key part where"),
    ] {
        let reply = fixture
            .json(&format!(r#"{{ dataset(urn: "{text}") {{ name }} }}"#))
            .await;
        assert!(messages(&reply)[0].contains(reason), "{reply}");
        assert_eq!(reply["errors"][0]["extensions"]["code"], 400);
        assert_eq!(reply["data"], json!({"dataset": null}));
    }
}

#[tokio::test]
async fn entities_without_a_type_in_the_schema_are_null() {
    let fixture = catalog().await;
    let query = r#"{ entities(urns: ["urn:li:tag:x", "urn:li:domain:sales", "nonsense", "urn:li:corpuser:jdoe"]) {
        urn ... on Named { name } ... on CorpUser { username } } }"#;
    assert_eq!(
        fixture.data(query).await,
        r#"{"entities":[null,{"urn":"urn:li:domain:sales","name":"Sales"},null,{"urn":"urn:li:corpuser:jdoe","username":"jdoe"}]}"#
    );
}

#[tokio::test]
async fn a_corrupt_row_is_an_error_of_the_fields_that_read_it() {
    let fixture = catalog().await;
    let properties = docent_model::Registry::get()
        .aspect("datasetProperties")
        .unwrap();
    let key = AspectKey::new(&urn(&dataset("t")), properties);
    fixture
        .store
        .replaced
        .lock()
        .unwrap()
        .push((key, "{\"name\": ".to_owned()));
    let query = format!(
        r#"{{ dataset(urn: "{}") {{ urn properties {{ description }} domain {{ domain {{ name }} }} }} }}"#,
        dataset("t")
    );
    let reply = fixture.json(&query).await;
    assert_eq!(reply["data"]["dataset"]["properties"], Value::Null);
    assert_eq!(
        reply["data"]["dataset"]["domain"]["domain"]["name"],
        "Sales"
    );
    assert_eq!(reply["errors"].as_array().unwrap().len(), 1, "{reply}");
    assert!(messages(&reply)[0].contains("datasetProperties"), "{reply}");
    assert_eq!(reply["errors"][0]["path"], json!(["dataset", "properties"]));
    assert_eq!(reply["errors"][0]["extensions"]["code"], 500);
}

#[tokio::test]
async fn store_errors_are_reported_without_details() {
    let fixture = catalog().await;
    fixture.store.fails.store(1, Ordering::Relaxed);
    let query = format!(r#"{{ dataset(urn: "{}") {{ name }} }}"#, dataset("t"));
    let reply = fixture.json(&query).await;
    assert_eq!(reply["data"], json!({"dataset": null}));
    assert_eq!(reply["errors"][0]["extensions"]["type"], "SERVER_ERROR");
    assert!(!reply.to_string().contains("fire"), "{reply}");
}

#[tokio::test]
async fn a_resolver_gets_its_aspects_and_fails_per_entity() {
    let fixture = catalog().await;
    let urns = json!([dataset("t"), dataset("bare")]);
    let query = format!("{{ datasets(urns: {urns}) {{ shout }} }}");
    let reply = fixture.json(&query).await;
    assert_eq!(
        reply["data"],
        json!({"datasets": [{"shout": "ALL *ORDERS*!"}, {"shout": null}]})
    );
    assert_eq!(reply["errors"].as_array().unwrap().len(), 1);
    assert_eq!(reply["errors"][0]["path"], json!(["datasets", 1, "shout"]));
    assert_eq!(fixture.store.take_reads(), 1);
    let query = format!(r#"{{ datasets(urns: {urns}) {{ shout(mark: "fail") }} }}"#);
    let reply = fixture.json(&query).await;
    assert_eq!(messages(&reply), ["shouting failed"; 2]);
}

#[tokio::test]
async fn resolvers_can_need_all_aspects_or_belong_to_a_plain_type() {
    let fixture = catalog().await;
    let query = format!(
        r#"{{ dataset(urn: "{0}") {{ aspectNames name }} b: dataset(urn: "{0}") {{ properties {{ length description }} }} }}"#,
        dataset("t")
    );
    let reply = fixture.json(&query).await;
    assert_eq!(fixture.store.take_reads(), 1);
    let names = &reply["data"]["dataset"]["aspectNames"];
    assert!(
        names.as_array().unwrap().contains(&json!("datasetKey")),
        "{reply}"
    );
    assert!(
        names
            .as_array()
            .unwrap()
            .contains(&json!("institutionalMemory")),
        "{reply}"
    );
    assert_eq!(reply["data"]["dataset"]["name"], "orders");
    assert_eq!(
        reply["data"]["b"]["properties"],
        json!({"length": "all *orders*".len() + dataset("t").len(), "description": "all *orders*"})
    );
}

#[tokio::test]
async fn cyclic_references_end_with_the_query() {
    let fixture = Fixture::new(&[]).await;
    let mut rows = Vec::new();
    for (name, parent) in [("a", "b"), ("b", "a")] {
        let value = json!({"name": name, "description": "", "parentDomain": format!("urn:li:domain:{parent}")});
        rows.push((name, value));
    }
    // The write path would reject the cycle, so the rows are replaced when they are read.
    for (name, value) in &rows {
        let domain = urn(&format!("urn:li:domain:{name}"));
        let plain = json!({"name": name, "description": ""}).to_string();
        let proposal =
            docent_catalog::Proposal::upsert(domain.clone(), AspectName::DOMAIN_PROPERTIES, plain);
        fixture
            .context
            .catalog
            .ingest(&fixture.context.caller, vec![proposal])
            .await
            .unwrap();
        let key = AspectKey::new(&domain, AspectName::DOMAIN_PROPERTIES);
        fixture
            .store
            .replaced
            .lock()
            .unwrap()
            .push((key, value.to_string()));
    }
    fixture.store.take_reads();
    let mut query = String::from(r#"{ domain(urn: "urn:li:domain:a") { name"#);
    for _ in 0..5 {
        query.push_str(" parent { name");
    }
    let _ = write!(query, "{}", "}".repeat(7));
    assert_eq!(
        fixture.data(&query).await,
        r#"{"domain":{"name":"a","parent":{"name":"b","parent":{"name":"a","parent":{"name":"b","parent":{"name":"a","parent":{"name":"b"}}}}}}}"#
    );
    assert_eq!(fixture.store.take_reads(), 6);
}

#[tokio::test]
async fn assignees_of_many_forms_are_read_at_once() {
    let form = |number: usize| format!("urn:li:form:f{number}");
    let info =
        json!({"name": "Form", "type": "COMPLETION", "prompts": [], "actors": {"owners": true}});
    let owners = json!({"owners": [{"owner": "urn:li:corpuser:tester", "type": "DATAOWNER"}]});
    let fixture = Fixture::new(&[
        (&form(0), "formInfo", info.clone()),
        (&form(1), "formInfo", info.clone()),
        (&form(2), "formInfo", info),
        (&dataset("a"), "ownership", owners.clone()),
        (&dataset("b"), "status", json!({"removed": false})),
        (&dataset("c"), "ownership", owners),
    ])
    .await;
    let pair = |number: usize, name: &str| (urn(&form(number)), urn(&dataset(name)));
    let context = &fixture.context;
    let mut reads = Vec::new();
    for (pairs, expected) in [
        (vec![pair(0, "a")], vec![true]),
        (
            vec![pair(0, "a"), pair(1, "b"), pair(2, "c"), pair(3, "a")],
            vec![true, false, true, false],
        ),
    ] {
        let assigned = context
            .catalog
            .are_forms_assigned(&context.caller, &pairs)
            .await;
        assert_eq!(assigned.unwrap(), expected);
        reads.push(fixture.store.take_reads());
    }
    assert_eq!(reads[0], reads[1]);
}

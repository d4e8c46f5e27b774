//! `changes`: the changes of the catalog, in lines that belong together.

use serde_json::{Value, json};

use crate::support::{App, DATASET, NOW_MS, USER, proposal};

const CHANGES: &str = "query ($input: ChangesInput!) { changes(input: $input) { nextScroll readThrough
    changes { time since runId changeCount entityCount entityTypes { type count } actor { ... on CorpUser { urn } }
        entities { urn entity { urn ... on Dataset { exists } } time kinds aspectNames } } } }";
const MINUTE_MS: i64 = 60 * 1000;

async fn page(app: &App, input: Value) -> Value {
    let reply = app.graphql_with(CHANGES, json!({"input": input})).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    reply["data"]["changes"].clone()
}

async fn lines(app: &App, input: Value) -> Vec<Value> {
    page(app, input).await["changes"]
        .as_array()
        .unwrap()
        .clone()
}

/// The first entity of each line.
fn first_urns(lines: &[Value]) -> Vec<&str> {
    let urns = lines.iter().map(|line| &line["entities"][0]["urn"]);
    urns.map(|urn| urn.as_str().unwrap()).collect()
}

async fn describe(app: &App, urn: &str, text: &str) {
    let input = json!({"resourceUrn": urn, "description": text});
    app.mutate("updateDescription", "DescriptionUpdateInput", input)
        .await;
}

async fn ingest_in_run(app: &App, run: &str, urn: &str, aspect: &str, value: &Value) {
    let mut wire = proposal("UPSERT", urn, aspect, value);
    wire["systemMetadata"] = json!({"runId": run, "lastObserved": 1});
    let path = "/aspects?action=ingestProposal";
    let (status, reply) = app.post(path, &json!({"proposal": wire})).await;
    assert!(status.is_success(), "{reply}");
}

fn dataset(name: &str) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")
}

async fn tag(app: &App, name: &str) -> String {
    let input = json!({"id": name, "name": name});
    app.mutate("createTag", "CreateTagInput", input).await;
    format!("urn:li:tag:{name}")
}

#[tokio::test]
async fn edits_of_an_entity_are_one_line_and_a_break_starts_another() {
    let app = App::with_dataset().await;
    let tag = tag(&app, "pii").await;
    app.clock.advance(60 * MINUTE_MS);
    describe(&app, DATASET, "one").await;
    app.clock.advance(MINUTE_MS);
    let input = json!({"resourceUrn": DATASET, "tagUrn": tag});
    app.mutate("addTag", "TagAssociationInput", input).await;
    app.clock.advance(60 * MINUTE_MS);
    describe(&app, DATASET, "two").await;
    let found = lines(&app, json!({"count": 2})).await;
    assert_eq!(first_urns(&found), [DATASET, DATASET]);
    assert_eq!(found[0]["changeCount"], 1);
    assert_eq!(found[1]["changeCount"], 2);
    assert_eq!(found[1]["since"], NOW_MS + 60 * MINUTE_MS);
    assert_eq!(found[1]["time"], NOW_MS + 61 * MINUTE_MS);
    assert_eq!(found[1]["actor"]["urn"], USER);
    assert_eq!(
        found[1]["entities"],
        json!([{
            "urn": DATASET,
            "entity": {"urn": DATASET, "exists": true},
            "time": NOW_MS + 61 * MINUTE_MS,
            "kinds": ["DOCUMENTATION", "TAGS"],
            "aspectNames": ["editableDatasetProperties", "globalTags"],
        }])
    );
}

#[tokio::test]
async fn an_ingestion_run_is_one_line_and_not_a_change_of_people() {
    let app = App::with_dataset().await;
    app.clock.advance(60 * MINUTE_MS);
    for name in ["a", "b"] {
        let value = json!({"description": name});
        ingest_in_run(&app, "hive-1", &dataset(name), "datasetProperties", &value).await;
        describe(&app, DATASET, name).await;
        app.clock.advance(MINUTE_MS);
    }
    // The same value again is no change, and the next run of another value is a line of its own.
    let same = json!({"description": "b"});
    ingest_in_run(&app, "hive-2", &dataset("b"), "datasetProperties", &same).await;
    let other = json!({"description": "c"});
    ingest_in_run(&app, "hive-3", &dataset("b"), "datasetProperties", &other).await;
    let since = json!({"since": NOW_MS + MINUTE_MS});
    let found = lines(&app, since).await;
    let runs: Vec<&Value> = found.iter().map(|line| &line["runId"]).collect();
    assert_eq!(
        runs,
        [&json!("hive-3"), &json!(null), &json!("hive-1")],
        "{found:?}"
    );
    assert_eq!(found[2]["entityCount"], 2);
    assert_eq!(
        found[2]["entityTypes"],
        json!([{"type": "DATASET", "count": 2}])
    );
    let people = json!({"since": NOW_MS + MINUTE_MS, "peopleOnly": true});
    let people = lines(&app, people).await;
    assert_eq!(first_urns(&people), [DATASET]);
    assert_eq!(people[0]["changeCount"], 2);
}

#[tokio::test]
async fn what_follows_from_an_ingestion_run_is_part_of_it() {
    let app = App::with_dataset().await;
    let assertion = "urn:li:assertion:fresh";
    let custom = json!({"type": "mine", "entity": DATASET});
    let info = json!({"type": "CUSTOM", "customAssertion": custom, "entityUrn": DATASET});
    app.ingest(assertion, "assertionInfo", &info).await;
    app.clock.advance(60 * MINUTE_MS);
    let result = json!({
        "timestampMillis": 10, "runId": "of the tool", "asserteeUrn": DATASET,
        "assertionUrn": assertion, "status": "COMPLETE", "result": {"type": "SUCCESS"},
    });
    ingest_in_run(&app, "run-1", assertion, "assertionRunEvent", &result).await;
    let model = "urn:li:dataset:(urn:li:dataPlatform:dbt,a,PROD)";
    let lineage = json!({"upstreams": [{"dataset": model, "type": "TRANSFORMED"}]});
    ingest_in_run(&app, "run-1", &dataset("a"), "upstreamLineage", &lineage).await;
    let since = NOW_MS + MINUTE_MS;
    let found = lines(&app, json!({"since": since})).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["runId"], "run-1");
    let names: Vec<&Value> = found[0]["entities"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|entity| entity["aspectNames"].as_array().unwrap())
        .collect();
    for name in ["assertionRunSummary", "siblings", "upstreamLineage"] {
        assert!(names.contains(&&json!(name)), "{names:?}");
    }
    let people = lines(&app, json!({"since": since, "peopleOnly": true})).await;
    assert!(people.is_empty(), "{people:?}");
}

#[tokio::test]
async fn a_request_that_changes_many_entities_is_one_line() {
    let app = App::with_dataset().await;
    for name in ["a", "b"] {
        app.add_dataset(&dataset(name)).await;
    }
    let tag = tag(&app, "pii").await;
    app.clock.advance(60 * MINUTE_MS);
    let resources: Vec<Value> = ["a", "b"]
        .map(|name| json!({"resourceUrn": dataset(name)}))
        .to_vec();
    let input = json!({"tagUrns": [tag], "resources": resources});
    app.mutate("batchAddTags", "BatchAddTagsInput", input).await;
    let found = lines(&app, json!({"count": 1})).await;
    assert_eq!(found[0]["entityCount"], 2);
    assert_eq!(found[0]["entities"][0]["kinds"], json!(["TAGS"]));
}

#[tokio::test]
async fn filters_select_by_person_kind_domain_and_period() {
    let app = App::with_dataset().await;
    app.mutate(
        "createDomain",
        "CreateDomainInput",
        json!({"id": "top", "name": "Top"}),
    )
    .await;
    app.mutate(
        "createDomain",
        "CreateDomainInput",
        json!({"id": "below", "name": "Below", "parentDomain": "urn:li:domain:top"}),
    )
    .await;
    app.add_dataset(&dataset("a")).await;
    let set = format!(
        r#"mutation {{ setDomain(entityUrn: "{}", domainUrn: "urn:li:domain:below") }}"#,
        dataset("a")
    );
    app.graphql(&set).await;
    app.clock.advance(60 * MINUTE_MS);
    describe(&app, &dataset("a"), "one").await;
    app.clock.advance(60 * MINUTE_MS);
    describe(&app, DATASET, "two").await;
    let since = NOW_MS + MINUTE_MS;
    let kinds = |kinds: &[&str]| json!({"since": since, "kinds": kinds});
    assert_eq!(lines(&app, kinds(&["DOCUMENTATION"])).await.len(), 2);
    assert_eq!(lines(&app, kinds(&["TAGS", "OWNERS"])).await.len(), 0);
    let of = |actor: &str| json!({"since": since, "actors": [actor]});
    assert_eq!(lines(&app, of(USER)).await.len(), 2);
    assert_eq!(lines(&app, of("urn:li:corpuser:ada")).await.len(), 0);
    let below = json!({"since": since, "domain": "urn:li:domain:top"});
    let below = lines(&app, below).await;
    assert_eq!(first_urns(&below), [dataset("a")]);
    let until = json!({"since": since, "until": NOW_MS + 90 * MINUTE_MS});
    let until = lines(&app, until).await;
    assert_eq!(first_urns(&until), [dataset("a")]);
    for (input, expected) in [
        (json!({"count": 0}), "from 1 to 100"),
        (json!({"count": 101}), "from 1 to 100"),
        (json!({"since": 2, "until": 1}), "swap the times"),
        (json!({"scroll": "x"}), "nextScroll"),
        (json!({"domain": DATASET}), "domain"),
    ] {
        let variables = json!({"input": input});
        let reply = app.graphql_with(CHANGES, variables).await;
        let message = reply["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
}

#[tokio::test]
async fn a_change_is_in_every_domain_of_its_entity() {
    let app = App::with_dataset().await;
    for id in ["first", "second", "other"] {
        let input = json!({"id": id, "name": id});
        app.mutate("createDomain", "CreateDomainInput", input).await;
    }
    let domains = json!({"domains": ["urn:li:domain:first", "urn:li:domain:second"]});
    app.ingest(DATASET, "domains", &domains).await;
    app.clock.advance(60 * MINUTE_MS);
    describe(&app, DATASET, "one").await;
    for (id, expected) in [("first", 1), ("second", 1), ("other", 0)] {
        let domain = format!("urn:li:domain:{id}");
        let input = json!({"since": NOW_MS + MINUTE_MS, "domain": domain});
        assert_eq!(lines(&app, input).await.len(), expected, "{id}");
    }
}

#[tokio::test]
async fn a_period_may_begin_at_the_smallest_time() {
    let app = App::with_dataset().await;
    let all = lines(&app, json!({})).await;
    assert_eq!(lines(&app, json!({"since": i64::MIN})).await, all);
}

#[tokio::test]
async fn pages_continue_where_the_last_one_ended() {
    let app = App::with_dataset().await;
    for name in ["a", "b", "c", "d"] {
        app.clock.advance(60 * MINUTE_MS);
        describe(&app, DATASET, name).await;
    }
    let all = lines(&app, json!({"peopleOnly": true})).await;
    let mut read: Vec<Value> = Vec::new();
    let mut scroll = Value::Null;
    loop {
        let input = json!({"peopleOnly": true, "count": 1, "scroll": scroll});
        let mut page = page(&app, input).await;
        read.append(page["changes"].as_array_mut().unwrap());
        scroll = page["nextScroll"].take();
        if scroll.is_null() {
            break;
        }
    }
    assert_eq!(read, all);
    assert!(all.len() > 4, "{all:?}");
}

#[tokio::test]
async fn the_state_of_the_server_is_no_change() {
    let app = App::with_dataset().await;
    let weeks = "{ changesByWeek(weeks: 1) { changes } }";
    let (before, count) = (lines(&app, json!({})).await, app.graphql(weeks).await);
    for mutation in [
        format!(
            r#"createAccessToken(input: {{ type: PERSONAL, actorUrn: "{USER}", duration: ONE_DAY, name: "t" }}) {{ accessToken }}"#
        ),
        r#"batchUpdateStepStates(input: { states: [{ id: "tour", properties: [] }] }) { results { succeeded } }"#.to_owned(),
    ] {
        let reply = app.graphql(&format!("mutation {{ {mutation} }}")).await;
        assert!(reply.get("errors").is_none(), "{reply}");
    }
    assert_eq!(lines(&app, json!({})).await, before);
    assert_eq!(app.graphql(weeks).await, count);
    describe(&app, DATASET, "one").await;
    assert_ne!(lines(&app, json!({})).await, before);
    assert_ne!(app.graphql(weeks).await, count);
}

#[tokio::test]
async fn a_deleted_entity_is_listed_with_its_deletion() {
    let app = App::with_dataset().await;
    app.clock.advance(60 * MINUTE_MS);
    let path = "/entities?action=delete";
    let (status, reply) = app.post(path, &json!({"urn": DATASET})).await;
    assert!(status.is_success(), "{reply}");
    let found = lines(&app, json!({"count": 1, "kinds": ["DELETION"]})).await;
    assert_eq!(first_urns(&found), [DATASET]);
    assert_eq!(found[0]["entities"][0]["entity"]["exists"], false);
}

//! Relationships in Docent's schema.

use serde_json::{Value, json};

use crate::fixture::{Fixture, dataset, messages};

const MARKETING: &str = "urn:li:domain:marketing";
const SALES: &str = "urn:li:domain:sales";

/// Marketing has the datasets a and b, of which b is soft-deleted; sales has c.
async fn fixture() -> Fixture {
    let [a, b, c] = ["a", "b", "c"].map(dataset);
    let member = |domain| json!({"domains": [domain]});
    Fixture::docent(&[
        (MARKETING, "domainProperties", json!({"name": "Marketing"})),
        (SALES, "domainProperties", json!({"name": "Sales"})),
        (&a, "domains", member(MARKETING)),
        (&b, "domains", member(MARKETING)),
        (&c, "domains", member(SALES)),
        (&b, "status", json!({"removed": true})),
    ])
    .await
}

/// The relationships of both domains.
async fn listed(fixture: &Fixture, input: &Value) -> Value {
    let query = format!(
        r#"query($input: RelationshipsInput!) {{
            entities(urns: ["{MARKETING}", "{SALES}"], checkForExistence: false) {{
                ... on Domain {{ relationships(input: $input) {{ total relationships {{ type entity {{ urn }} }} }} }}
            }}
        }}"#
    );
    let reply = fixture
        .with_variables(&query, json!({"input": input}))
        .await;
    serde_json::from_str(&reply).unwrap()
}

fn urns(reply: &Value) -> Vec<Vec<&str>> {
    assert_eq!(messages(reply), [""; 0], "{reply}");
    let entities = reply["data"]["entities"].as_array().unwrap();
    entities
        .iter()
        .map(|entity| {
            let page = &entity["relationships"];
            let items = page["relationships"].as_array().unwrap();
            assert_eq!(page["total"], items.len());
            items
                .iter()
                .map(|item| item["entity"]["urn"].as_str().unwrap())
                .collect()
        })
        .collect()
}

#[tokio::test]
async fn the_relationships_of_a_level_are_read_in_one_call() {
    let fixture = fixture().await;
    let [a, b, c] = ["a", "b", "c"].map(dataset);
    let input = json!({"types": ["AssociatedWith"], "direction": "INCOMING"});
    let reply = listed(&fixture, &input).await;
    assert_eq!(urns(&reply), [vec![&*a, &*b], vec![&*c]]);
    // One call for the domains, one for their relationships.
    assert_eq!(fixture.store.take_reads(), 2);
}

#[tokio::test]
async fn soft_deleted_entities_are_excluded_with_one_more_call() {
    let fixture = fixture().await;
    let [a, c] = ["a", "c"].map(dataset);
    let input = json!({
        "types": [],
        "direction": "INCOMING",
        "includeSoftDelete": false,
        "relatedEntityTypes": ["dataset"],
    });
    let reply = listed(&fixture, &input).await;
    assert_eq!(urns(&reply), [vec![&*a], vec![&*c]]);
    assert_eq!(fixture.store.take_reads(), 3);
}

#[tokio::test]
async fn unknown_relationship_names_match_nothing_without_a_store_call() {
    let fixture = fixture().await;
    let input = |types: &[&str]| json!({"types": types, "direction": "INCOMING"});
    let reply = listed(&fixture, &input(&["Nonsense", "associatedwith"])).await;
    assert_eq!(urns(&reply), [[""; 0]; 2]);
    assert_eq!(fixture.store.take_reads(), 1);
    let reply = listed(&fixture, &input(&["Nonsense", "AssociatedWith"])).await;
    assert_eq!(urns(&reply)[1], [dataset("c")]);
}

#[tokio::test]
async fn too_many_relationship_names_are_rejected() {
    let fixture = fixture().await;
    let input = |count: usize| json!({"types": vec!["OwnedBy"; count], "direction": "INCOMING"});
    let reply = listed(&fixture, &input(100)).await;
    assert_eq!(urns(&reply), [[""; 0]; 2]);
    let reply = listed(&fixture, &input(101)).await;
    assert_eq!(
        messages(&reply)[0],
        "101 relationships are given: at most 100 are allowed, and none means all"
    );
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400);
}

#[tokio::test]
async fn the_total_size_of_all_pages_is_limited() {
    let fixture = fixture().await;
    let urns: Vec<_> = (0..201)
        .map(|number| dataset(&format!("d{number}")))
        .collect();
    let query = |count: usize| {
        format!(
            "{{ entities(urns: {:?}, checkForExistence: false) {{ ... on Dataset {{
                relationships(input: {{types: [], direction: INCOMING, count: 1000}}) {{ total }} exists
            }} }} }}",
            &urns[..count]
        )
    };
    let reply = fixture.json(&query(200)).await;
    assert_eq!(messages(&reply), [""; 0]);
    let reply = fixture.json(&query(201)).await;
    assert_eq!(
        messages(&reply)[0],
        "1000 relationships of each of 201 entities are too many, at most 200000 are allowed in total: \
         reduce count or the number of entities"
    );
}

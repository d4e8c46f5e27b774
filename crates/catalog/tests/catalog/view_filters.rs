//! Searches of callers for whom administrators wrote many view policies.

use std::collections::BTreeSet;
use std::sync::Arc;

use docent_catalog::search::{SearchPage, SearchRequest};
use docent_catalog::{Caller, Catalog};
use docent_model::Urn;
use docent_search::Search;
use serde_json::{Value, json};

use crate::{Fixture, dataset, domain, upsert, write_as_operator};

/// Each has datasets that are not stored, too. Together they have more values than a condition of a
/// request may have.
const POLICIES: usize = 30;
const VALUES: usize = 1_000;

fn vera() -> Caller {
    Caller::new(Urn::parse("urn:li:corpuser:vera").unwrap())
}

/// What [`vera`] finds.
async fn found(catalog: &Catalog) -> BTreeSet<Urn> {
    let seen = catalog.seen_by(&vera()).await.unwrap();
    let request = SearchRequest {
        types: vec!["dataset".to_owned()],
        query: "*".to_owned(),
        page: SearchPage::Offset {
            start: 0,
            count: 1000,
        },
        ..SearchRequest::default()
    };
    let results = seen.search(&request).await.unwrap();
    results.hits.into_iter().map(|hit| hit.urn).collect()
}

/// Lets [`vera`] view what meets all criteria.
async fn grant(catalog: &Catalog, number: usize, criteria: &[(&str, &[Urn])]) {
    let criteria = criteria.iter().map(|(field, values)| {
        let values: Vec<&str> = values.iter().map(Urn::as_str).collect();
        json!({"field": field, "values": values, "condition": "EQUALS"})
    });
    let mut criteria: Vec<Value> = criteria.collect();
    criteria.insert(0, json!({"field": "TYPE", "values": ["dataset", "domain"]}));
    let policy = json!({
        "displayName": "view", "description": "", "type": "METADATA", "state": "ACTIVE",
        "privileges": ["VIEW_ENTITY_PAGE"], "actors": {"users": [vera().actor()]},
        "resources": {"filter": {"criteria": criteria}},
    });
    let urn = Urn::new("dataHubPolicy", &format!("view{number}")).unwrap();
    let policy = upsert(&urn, "dataHubPolicyInfo", &policy);
    write_as_operator(catalog, vec![policy]).await;
}

async fn world() -> (Fixture, Catalog) {
    let fixture = Fixture::new().await;
    let catalog = fixture
        .catalog
        .clone()
        .with_search(Arc::new(Search::in_memory(Arc::clone(&fixture.store))));
    catalog.enforce_policies(None);
    catalog.enforce_view_policies();
    (fixture, catalog)
}

#[tokio::test]
async fn searches_work_with_more_values_than_a_condition_may_have() {
    let (_fixture, catalog) = world().await;
    let mut expected = BTreeSet::new();
    let mut datasets = vec![upsert(
        &dataset("hidden"),
        "status",
        &json!({"removed": false}),
    )];
    for number in 0..POLICIES {
        let urns: Vec<Urn> = (0..VALUES)
            .map(|value| dataset(format!("t{}", number * VALUES + value)))
            .collect();
        datasets.push(upsert(&urns[7], "status", &json!({"removed": false})));
        expected.insert(urns[7].clone());
        grant(&catalog, number, &[("URN", &urns)]).await;
    }
    write_as_operator(&catalog, datasets).await;
    assert_eq!(found(&catalog).await, expected);
}

#[tokio::test]
async fn a_steward_of_many_domains_finds_what_is_in_them() {
    let (_fixture, catalog) = world().await;
    let mut writes = Vec::new();
    let mut expected = BTreeSet::new();
    for number in 0..200 {
        let properties = json!({"name": number.to_string()});
        writes.push(upsert(&domain(number), "domainProperties", &properties));
        let table = dataset(number);
        let member = json!({"domains": [domain(number)]});
        writes.push(upsert(&table, "domains", &member));
        if number % 2 == 0 {
            grant(&catalog, number, &[("DOMAIN", &[domain(number)])]).await;
            expected.insert(table);
        }
    }
    write_as_operator(&catalog, writes).await;
    assert_eq!(found(&catalog).await, expected);
    // A change of policies counts for the next search.
    let table = dataset(1);
    grant(&catalog, 1, &[("DOMAIN", &[domain(1)])]).await;
    expected.insert(table);
    assert_eq!(found(&catalog).await, expected);
}

/// The index has no limit on how much a user owns.
#[tokio::test]
async fn owners_of_a_type_find_what_they_own_with_this_type() {
    let (_fixture, catalog) = world().await;
    let technical = "urn:li:ownershipType:__system__technical_owner";
    let policy = json!({
        "displayName": "owners", "description": "", "type": "METADATA", "state": "ACTIVE",
        "privileges": ["VIEW_ENTITY_PAGE"],
        "actors": {"resourceOwners": true, "resourceOwnersTypes": [technical]},
    });
    let urn = Urn::new("dataHubPolicy", "owners").unwrap();
    let mut writes = vec![upsert(&urn, "dataHubPolicyInfo", &policy)];
    let of =
        |user: &str, kind: &str| json!({"owner": format!("urn:li:corpuser:{user}"), "type": kind});
    for (name, owners) in [
        ("by_name", json!([of("vera", "TECHNICAL_OWNER")])),
        (
            "by_urn",
            json!([{"owner": "urn:li:corpuser:vera", "type": "CUSTOM", "typeUrn": technical}]),
        ),
        (
            "swapped",
            json!([of("vera", "BUSINESS_OWNER"), of("ada", "TECHNICAL_OWNER")]),
        ),
    ] {
        let ownership =
            json!({"owners": owners, "lastModified": {"time": 0, "actor": "urn:li:corpuser:ada"}});
        writes.push(upsert(&dataset(name), "ownership", &ownership));
    }
    write_as_operator(&catalog, writes).await;
    let expected: BTreeSet<Urn> = ["by_name", "by_urn"].map(dataset).into();
    assert_eq!(found(&catalog).await, expected);
}

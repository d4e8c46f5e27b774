//! URNs and names are compared exactly.
//!
//! Each pair of texts here has the same SipHash-1-3 value under the keys of an earlier index
//! format, so an index that compares these hashes mistakes one for the other.

use docent_model::Urn;
use docent_search::{Criterion, Filter, Operator, SearchPage, SearchRequest};
use serde_json::json;

use super::filters::{criterion, matching};
use super::{Fixture, key_of};

const TAGS: [&str; 2] = ["urn:li:tag:f0287d1dd4eb9fcb", "urn:li:tag:d06121a84322ca59"];
const NAMES: [&str; 2] = ["NAME1", "NAME2"];

fn tags() -> [Urn; 2] {
    TAGS.map(|tag| Urn::parse(tag).unwrap())
}

async fn put_tag(fixture: &Fixture, tag: &Urn, description: &str) {
    fixture.put(tag, "tagKey", &key_of(tag)).await;
    let properties = json!({"name": "colliding", "description": description});
    fixture.put(tag, "tagProperties", &properties).await;
}

async fn found(fixture: &Fixture, query: &str) -> Vec<String> {
    let found = fixture.find(query).await;
    let mut urns: Vec<String> = found.hits.iter().map(|hit| hit.urn.to_string()).collect();
    urns.sort_unstable();
    urns
}

fn sorted(urns: &[&Urn]) -> Vec<String> {
    let mut urns: Vec<String> = urns.iter().map(ToString::to_string).collect();
    urns.sort_unstable();
    urns
}

#[tokio::test]
async fn updating_or_deleting_an_entity_leaves_one_with_a_colliding_urn_hash() {
    let fixture = Fixture::new().await;
    let [one, other] = &tags();
    put_tag(&fixture, one, "first").await;
    assert_eq!(found(&fixture, "colliding").await, sorted(&[one]));
    put_tag(&fixture, other, "second").await;
    assert_eq!(found(&fixture, "colliding").await, sorted(&[one, other]));
    put_tag(&fixture, one, "changed").await;
    assert_eq!(found(&fixture, "colliding").await, sorted(&[one, other]));
    assert_eq!(
        found(&fixture, "description:second").await,
        sorted(&[other])
    );
    fixture.delete(one).await;
    assert_eq!(found(&fixture, "colliding").await, sorted(&[other]));
}

#[tokio::test]
async fn conditions_on_urns_tell_colliding_ones_apart() {
    let fixture = Fixture::new().await;
    let [one, other] = &tags();
    put_tag(&fixture, one, "first").await;
    put_tag(&fixture, other, "second").await;
    assert_eq!(found(&fixture, one.as_str()).await, sorted(&[one]));
    let request = SearchRequest {
        filter: Filter::all(vec![Criterion::equal("urn", other.as_str())]),
        page: SearchPage::Offset {
            start: 0,
            count: 10,
        },
        ..SearchRequest::default()
    };
    let found = fixture.search.search(&request).await.unwrap();
    let urns: Vec<&Urn> = found.hits.iter().map(|hit| &hit.urn).collect();
    assert_eq!((found.total, urns), (1, vec![other]));
}

#[tokio::test]
async fn conditions_on_names_tell_colliding_ones_apart() {
    let fixture = Fixture::new().await;
    for name in NAMES {
        fixture.dataset(name, "").await;
    }
    for name in NAMES {
        let equal = criterion("name", Operator::Equal, &[name]);
        assert_eq!(matching(&fixture, equal).await, name);
    }
    let both = criterion("name", Operator::Equal, &NAMES);
    assert_eq!(matching(&fixture, both).await.len(), NAMES.concat().len());
}

//! What the query language finds.

use serde_json::json;

use super::Fixture;

async fn catalog() -> Fixture {
    let fixture = Fixture::new().await;
    for (name, description, column, tag) in [
        ("axb", "the first", "orders_total", "certified"),
        ("ayc", "the second", "order", "pii"),
        ("bzz", "the thirst", "ordered", "certain"),
    ] {
        let urn = fixture.dataset(name, description).await;
        let schema = json!({"schemaName": name, "fields": [{"fieldPath": column}]});
        fixture.put(&urn, "schemaMetadata", &schema).await;
        let tags = json!({"tags": [{"tag": format!("urn:li:tag:{tag}")}]});
        fixture.put(&urn, "globalTags", &tags).await;
    }
    fixture
}

#[tokio::test]
async fn fields_are_asked_as_people_say_their_values() {
    let fixture = catalog().await;
    for (query, expected) in [
        ("tags:certified", &["axb"][..]),
        ("tags:cert*", &["axb", "bzz"]),
        ("tags:*ied", &["axb"]),
        ("tags:p?i", &["ayc"]),
        ("platform:hi*", &["axb", "ayc", "bzz"]),
        ("name:a*b", &["axb"]),
        ("name:a*", &["axb", "ayc"]),
        ("name:(-axb)", &["ayc", "bzz"]),
        ("tags:(name:axb)", &["axb"]),
    ] {
        let mut found = fixture.names(query).await;
        found.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }
}

#[tokio::test]
async fn what_is_not_wanted_is_meant_as_it_was_typed() {
    let fixture = catalog().await;
    // One letter off each of the others, and nobody wrote it.
    for (query, expected) in [("the -zirst", 3), ("the -first", 2), ("the -thirst", 2)] {
        assert_eq!(fixture.find(query).await.total, expected, "{query}");
    }
    assert_eq!(fixture.find("zirst").await.total, 1);
}

#[tokio::test]
async fn patterns_find_plurals() {
    let fixture = catalog().await;
    for (query, expected) in [("o*rders", 2), ("?rders", 2), ("ord*d", 1)] {
        let found = fixture.names(query).await;
        assert_eq!(found.len(), expected, "{query} {found:?}");
    }
}

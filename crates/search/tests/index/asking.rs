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

#[tokio::test]
async fn a_column_is_found_by_its_name_and_not_by_its_type() {
    let fixture = Fixture::new().await;
    let urn = fixture.dataset("people", "").await;
    let path = "[version=2.0].[type=Person].home.[type=org.home.Address].address.[type=string].zip";
    let schema = json!({"schemaName": "people", "fields": [{"fieldPath": path}]});
    fixture.put(&urn, "schemaMetadata", &schema).await;
    for (query, total) in [
        ("zip", 1),
        ("\"home address zip\"", 1),
        ("string", 0),
        ("org", 0),
        ("version", 0),
    ] {
        assert_eq!(fixture.find(query).await.total, total, "{query}");
    }
    let found = fixture.find("zip").await;
    assert_eq!(found.hits[0].matched[0].value, path);
}

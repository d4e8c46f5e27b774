//! What the query language finds.

use docent_model::Urn;
use serde_json::json;

use super::{Fixture, dataset};

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
    for (name, description, team) in [
        ("axb", "the first", "sales"),
        ("bzz", "the thirst", "lakes"),
    ] {
        let properties = json!({"description": description, "customProperties": {"team": team}});
        let aspect = "datasetProperties";
        fixture.put(&dataset(name), aspect, &properties).await;
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
        ("Tags:Certified", &["axb"]),
        ("description:first", &["axb"]),
        ("description:\"the second\"", &["ayc"]),
        ("column:order", &["axb", "ayc"]),
        ("customProperties:team=Sales", &["axb"]),
        ("customProperties:\"TEAM=sales\"", &["axb"]),
        ("customProperties:team=*", &["axb", "bzz"]),
        ("customProperties:team", &["axb", "bzz"]),
        ("customProperties:lakes", &["bzz"]),
        ("customProperties:ales", &[]),
    ] {
        let mut found = fixture.names(query).await;
        found.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }
}

/// Only the first letters of names are in the dictionary.
#[tokio::test]
async fn names_that_begin_alike_are_told_apart() {
    let fixture = Fixture::new().await;
    for name in [
        "warehous",
        "warehouse",
        "warehouse_orders",
        "warehouse_orders_old",
        "prod.warehouse_orders",
        "складской_учёт",
        "складской_учёт_архив",
    ] {
        // Each of them has all words of the longest.
        fixture.dataset(name, "warehouse orders old").await;
    }
    for (typed, first) in [
        ("warehous", &["warehous"][..]),
        ("warehouse", &["warehouse"]),
        (
            "warehouse_orders",
            &["warehouse_orders", "prod.warehouse_orders"],
        ),
        ("prod.warehouse_orders", &["prod.warehouse_orders"]),
        ("warehouse_orders_o", &["warehouse_orders_old"]),
        ("Складской_Учёт", &["складской_учёт"]),
        ("складской_учёт_а", &["складской_учёт_архив"]),
    ] {
        let mut found = fixture.names(typed).await;
        found.truncate(first.len());
        found.sort_by_key(|name| first.iter().position(|it| it == name));
        assert_eq!(found, first, "{typed}");
    }
    for (pattern, expected) in [
        (
            "name:warehouse_o*s",
            &["warehouse_orders", "prod.warehouse_orders"][..],
        ),
        (
            "name:*_orders",
            &["warehouse_orders", "prod.warehouse_orders"],
        ),
        ("name:prod.*", &["prod.warehouse_orders"]),
        ("name:складской*архив", &["складской_учёт_архив"]),
        ("name:zebra*", &[]),
    ] {
        let mut found = fixture.names(pattern).await;
        found.sort_by_key(|name| expected.iter().position(|it| it == name));
        assert_eq!(found, expected, "{pattern}");
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

#[tokio::test]
async fn a_field_that_there_is_none_of_is_text() {
    let fixture = Fixture::new().await;
    for name in ["team:axb", "team", "axb"] {
        fixture.dataset(name, "").await;
    }
    let found = fixture.names("team:axb").await;
    assert_eq!(found.len(), 3);
    assert_eq!(found[0], "team:axb", "what is called so comes first");
    assert_eq!(fixture.names("team:*").await.len(), 2);
    assert_eq!(fixture.names("team:zzz").await.len(), 2);
}

/// Two datasets with labels whose ids do not say what they are called, and one on a platform that nobody described.
async fn labelled() -> Fixture {
    let fixture = Fixture::new().await;
    let entity = |text: &str| Urn::parse(text).unwrap();
    let tag = entity("urn:li:tag:t1");
    let named = json!({"name": "Golden Source"});
    fixture.put(&tag, "tagKey", &super::key_of(&tag)).await;
    fixture.put(&tag, "tagProperties", &named).await;
    let domain = entity("urn:li:domain:d1");
    let named = json!({"name": "Wholesale Partners", "customProperties": {}});
    let key = super::key_of(&domain);
    fixture.put(&domain, "domainKey", &key).await;
    fixture.put(&domain, "domainProperties", &named).await;
    let tagged = fixture.dataset("tagged", "").await;
    let tags = json!({"tags": [{"tag": "urn:li:tag:t1"}, {"tag": "urn:li:tag:verified"}]});
    fixture.put(&tagged, "globalTags", &tags).await;
    let member = fixture.dataset("member", "").await;
    let domains = json!({"domains": ["urn:li:domain:d1"]});
    fixture.put(&member, "domains", &domains).await;
    let warehouse = entity("urn:li:dataset:(urn:li:dataPlatform:snowflake,frosty,PROD)");
    fixture
        .put(&warehouse, "datasetKey", &super::key_of(&warehouse))
        .await;
    fixture
}

#[tokio::test]
async fn what_carries_a_label_is_found_by_its_name_begun_mistyped_or_quoted() {
    let fixture = labelled().await;
    for (query, expected) in [
        ("golden", "tagged"),
        ("gold", "tagged"),
        ("glden", "tagged"),
        ("golden sourc", "tagged"),
        ("\"golden source\"", "tagged"),
        ("verif", "tagged"),
        ("verified", "tagged"),
        ("wholesale", "member"),
        ("wholes", "member"),
        ("wholseale partners", "member"),
        ("\"wholesale partners\"", "member"),
        ("snowflake", "frosty"),
        ("snowf", "frosty"),
        ("snowflak", "frosty"),
        ("snowfalke table", "frosty"),
        ("hiv", "member tagged"),
    ] {
        let mut found = fixture.names(query).await;
        found.retain(|name| !name.starts_with("urn:"));
        found.sort_unstable();
        assert_eq!(found.join(" "), expected, "{query}");
    }
    assert!(fixture.names("\"source golden\"").await.is_empty());
    assert_eq!(fixture.names("-snowflak").await.len(), 5, "meant as typed");
}

#[tokio::test]
async fn a_typo_is_forgiven_whoever_made_it_before_and_what_has_it_comes_first() {
    let fixture = Fixture::new().await;
    fixture.dataset("customer", "").await;
    assert_eq!(fixture.names("custmer").await, ["customer"]);
    fixture.dataset("noted", "The custmer is king").await;
    assert_eq!(fixture.names("custmer").await, ["noted", "customer"]);
    fixture.delete(&dataset("noted")).await;
    assert_eq!(fixture.names("custmer").await, ["customer"]);
    // The next number is another thing, unless nothing else is there.
    fixture.dataset("runs 20240", "").await;
    fixture.dataset("runs 20241", "").await;
    assert_eq!(fixture.names("20240").await, ["runs 20240"]);
}

#[tokio::test]
async fn many_that_have_a_word_are_not_mistaken() {
    let fixture = Fixture::new().await;
    for number in 0..4 {
        fixture.dataset(&format!("grates {number}"), "").await;
    }
    fixture.dataset("crates", "").await;
    assert_eq!(fixture.names("grates").await.len(), 4);
    assert_eq!(fixture.names("crates").await.len(), 5);
}

#[tokio::test]
async fn all_words_come_before_some_wherever_they_stand() {
    let fixture = Fixture::new().await;
    for number in 0..40 {
        fixture.dataset(&format!("t{number}"), "status").await;
    }
    fixture.dataset("derrick_bollard", "").await;
    fixture.dataset("notes", "derrick, bollard, status").await;
    for query in [
        "derrick bollard status",
        "status bollard derrick",
        "derrick OR bollard OR status",
        "derrick bollard \"status\"",
    ] {
        let found = fixture.names(query).await;
        assert_eq!(found[..2], ["notes", "derrick_bollard"], "{query}");
    }
    let found = fixture.names("bollard +derrick -status").await;
    assert_eq!(found, ["derrick_bollard"]);
}

#[tokio::test]
async fn words_written_together_come_before_the_same_words_apart() {
    let fixture = Fixture::new().await;
    fixture.dataset("order_by_id", "").await;
    fixture.dataset("noted", "The order id of each line").await;
    for (name, columns) in [
        ("apart", ["order_date", "customer_id"]),
        ("inside", ["shop", "customer_order_id"]),
        ("joined", ["orderid", "shop"]),
    ] {
        let urn = fixture.dataset(name, "").await;
        let fields = columns.map(|path| json!({"fieldPath": path}));
        let schema = json!({"schemaName": name, "fields": fields});
        fixture.put(&urn, "schemaMetadata", &schema).await;
    }
    let found = fixture.names("order_id").await;
    assert_eq!(found, ["inside", "joined", "noted", "order_by_id", "apart"]);
}

#[tokio::test]
async fn words_that_are_written_together_are_found_whatever_their_length() {
    let fixture = Fixture::new().await;
    let urn = fixture
        .dataset("shop.user_name", "By payment_methods")
        .await;
    let fields = json!([{"fieldPath": "subscriptionStatus"}, {"fieldPath": "zip_code"}]);
    let schema = json!({"schemaName": "s", "fields": fields});
    fixture.put(&urn, "schemaMetadata", &schema).await;
    // Somebody writes them so: they are known, and still found the other way.
    for number in 0..10 {
        let description = "username zipcode paymentmethods subscriptionstatus";
        fixture
            .dataset(&format!("other_{number}"), description)
            .await;
    }
    for query in [
        "username",
        "zipcode",
        "paymentmethod",
        "paymentMethods",
        "subscriptionstatus",
        "SUBSCRIPTIONSTATUS",
        "name:username",
        "column:subscriptionstatus",
        "description:paymentmethods",
        "subscriptionstat",
        "zipco",
        "name:userna*",
        "column:subscriptionst*",
        "usernam*",
    ] {
        let found = fixture.names(query).await;
        assert!(
            found.contains(&"shop.user_name".to_owned()),
            "{query}: {found:?}"
        );
    }
    for query in ["* -username", "* -subscriptionstatus", "* -paymentmethods"] {
        assert_eq!(fixture.names(query).await, [""; 0], "{query}");
    }
    assert_eq!(fixture.names("+shopuser").await, ["shop.user_name"]);
    for query in ["column:statussubscription", "column:statussub*", "zipst"] {
        assert_eq!(fixture.names(query).await, [""; 0], "{query}");
    }
}

/// Short words make up nearly everything; what is meant is made of few.
#[tokio::test]
async fn a_word_is_divided_into_few_words_although_many_short_ones_are_known() {
    let fixture = Fixture::new().await;
    fixture.dataset("stg.customer.orders_archive", "").await;
    let mut letters = (b'a'..=b'z').map(char::from).collect::<Vec<_>>();
    letters.retain(|letter| "customerdahivg".contains(*letter));
    for first in &letters {
        let syllables = letters.iter().map(|second| format!("{first}{second}"));
        let name = syllables.collect::<Vec<_>>().join(".");
        fixture.dataset(&name, "").await;
    }
    for query in [
        "customerorders",
        "ordersarchive",
        "customerordersarchive",
        "stgcustomerorders",
    ] {
        let found = fixture.names(query).await;
        assert_eq!(
            found.first().map(String::as_str),
            Some("stg.customer.orders_archive"),
            "{query}"
        );
    }
}

#[tokio::test]
async fn signs_alone_find_nothing_but_what_is_called_so() {
    let fixture = catalog().await;
    for query in ["!!!", "\"\"", "[", "…", "?", "/q !!!"] {
        assert_eq!(fixture.find(query).await.total, 0, "{query}");
    }
    for query in ["", "*", " ", "/q *"] {
        assert_eq!(fixture.find(query).await.total, 3, "{query}");
    }
    fixture.dataset("😀", "").await;
    assert_eq!(fixture.names("😀").await, ["😀"]);
}

#[tokio::test]
async fn what_must_not_be_there_counts_behind_any_number_of_words() {
    let fixture = catalog().await;
    let words: Vec<String> = (0..500).map(|number| format!("the w{number} ")).collect();
    let words = words.concat();
    assert_eq!(fixture.find(&words).await.total, 3);
    assert_eq!(fixture.find(&format!("{words}-second")).await.total, 2);
    assert_eq!(fixture.names(&format!("{words}+second")).await, ["ayc"]);
}

#[tokio::test]
async fn words_and_phrases_of_any_length_are_found_by_their_beginnings() {
    let fixture = Fixture::new().await;
    let long = vec!["part"; 64].join("_");
    fixture.dataset(&long, &long).await;
    for joint in ["_", "."] {
        let longer = vec!["part"; 3_000].join(joint);
        assert_eq!(fixture.names(&longer).await.join(" "), long);
    }
    let phrase = format!("\"{}\"", vec!["part"; 3_000].join(" "));
    assert_eq!(fixture.names(&phrase).await, [long]);
}

/// What is marked in the fields of the first result, as `field: text`.
async fn marked(fixture: &Fixture, query: &str) -> Vec<String> {
    let found = fixture.find(query).await;
    let matched = found.hits[0].matched.iter().flat_map(|matched| {
        let places = matched.places.iter();
        places.map(|place| format!("{}: {}", matched.field, &matched.value[place.clone()]))
    });
    matched.collect()
}

#[tokio::test]
async fn results_say_why_however_the_word_was_found() {
    let fixture = labelled().await;
    let urn = fixture.dataset("stg.customer.orders", "Of the shop").await;
    let fields = json!([{"fieldPath": "customer_id"}, {"fieldPath": "customerName"}]);
    let schema = json!({"schemaName": "s", "fields": fields});
    fixture.put(&urn, "schemaMetadata", &schema).await;
    for (query, expected) in [
        (
            "stgcustomerorders",
            &["id: stg", "id: customer", "id: orders"][..],
        ),
        (
            "custo",
            &[
                "id: customer",
                "fieldPaths: customer",
                "fieldPaths: customer",
            ],
        ),
        (
            "cusotmer",
            &[
                "id: customer",
                "fieldPaths: customer",
                "fieldPaths: customer",
            ],
        ),
        ("customern", &["fieldPaths: customerName"]),
        (
            "customer_na",
            &[
                "id: customer",
                "fieldPaths: customer",
                "fieldPaths: customerName",
            ],
        ),
        ("snowf", &["platform: snowflake"]),
        ("snowflak", &["platform: snowflake"]),
        ("\"customer orders\"", &["id: customer", "id: orders"]),
    ] {
        assert_eq!(marked(&fixture, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn every_matching_column_of_a_wide_table_is_named() {
    let fixture = Fixture::new().await;
    let urn = fixture.dataset("wide", "").await;
    let column = |number| json!({"fieldPath": format!("sensor_{number}")});
    let fields: Vec<_> = (0..1500).map(column).collect();
    let schema = json!({"schemaName": "wide", "fields": fields});
    fixture.put(&urn, "schemaMetadata", &schema).await;
    assert_eq!(fixture.find("sensor").await.hits[0].matched.len(), 1000);
    let schema = json!({"schemaName": "wide", "fields": fields[..999]});
    fixture.put(&urn, "schemaMetadata", &schema).await;
    assert_eq!(fixture.find("sensor").await.hits[0].matched.len(), 999);
}

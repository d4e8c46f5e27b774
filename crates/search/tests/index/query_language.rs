//! What queries find.

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
async fn field_terms_match_values_as_users_write_them() {
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

/// Only the first characters of names are in the dictionary.
#[tokio::test]
async fn names_with_a_common_prefix_are_distinguished() {
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
        // Each dataset has all words of the longest name.
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
async fn excluded_words_match_exactly() {
    let fixture = catalog().await;
    // One letter off each of the others, and in no document.
    for (query, expected) in [("the -zirst", 3), ("the -first", 2), ("the -thirst", 2)] {
        assert_eq!(fixture.find(query).await.total, expected, "{query}");
    }
    assert_eq!(fixture.find("zirst").await.total, 1);
}

#[tokio::test]
async fn patterns_match_plurals() {
    let fixture = catalog().await;
    for (query, expected) in [("o*rders", 2), ("?rders", 2), ("ord*d", 1)] {
        let found = fixture.names(query).await;
        assert_eq!(found.len(), expected, "{query} {found:?}");
    }
}

#[tokio::test]
async fn columns_are_found_by_name_and_not_by_type() {
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
async fn unknown_fields_are_text() {
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

/// Two datasets with labels whose ids differ from their names, and one on a platform that is not an
/// entity.
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
async fn entities_are_found_by_the_names_of_their_labels() {
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
async fn rare_words_also_match_similar_ones_which_rank_lower() {
    let fixture = Fixture::new().await;
    fixture.dataset("customer", "").await;
    assert_eq!(fixture.names("custmer").await, ["customer"]);
    fixture.dataset("noted", "The custmer is king").await;
    assert_eq!(fixture.names("custmer").await, ["noted", "customer"]);
    fixture.delete(&dataset("noted")).await;
    assert_eq!(fixture.names("custmer").await, ["customer"]);
    // A similar number matches only if nothing else does.
    fixture.dataset("runs 20240", "").await;
    fixture.dataset("runs 20241", "").await;
    assert_eq!(fixture.names("20240").await, ["runs 20240"]);
}

#[tokio::test]
async fn common_words_are_not_treated_as_typos() {
    let fixture = Fixture::new().await;
    for number in 0..4 {
        fixture.dataset(&format!("grates {number}"), "").await;
    }
    fixture.dataset("crates", "").await;
    assert_eq!(fixture.names("grates").await.len(), 4);
    assert_eq!(fixture.names("crates").await.len(), 5);
}

#[tokio::test]
async fn entities_with_all_words_rank_first() {
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
async fn adjacent_words_rank_above_scattered_ones() {
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
async fn joined_words_find_separated_ones() {
    let fixture = Fixture::new().await;
    let urn = fixture
        .dataset("shop.user_name", "By payment_methods")
        .await;
    let fields = json!([{"fieldPath": "subscriptionStatus"}, {"fieldPath": "zip_code"}]);
    let schema = json!({"schemaName": "s", "fields": fields});
    fixture.put(&urn, "schemaMetadata", &schema).await;
    // The joined words exist, too, and must not hide the separated ones.
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

/// Short words can make up almost anything, so splits with few parts must come first.
#[tokio::test]
async fn compound_words_are_split_into_few_parts() {
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
async fn punctuation_finds_only_names_of_punctuation() {
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
async fn excluded_words_count_after_any_number_of_words() {
    let fixture = catalog().await;
    let words: Vec<String> = (0..500).map(|number| format!("the w{number} ")).collect();
    let words = words.concat();
    assert_eq!(fixture.find(&words).await.total, 3);
    assert_eq!(fixture.find(&format!("{words}-second")).await.total, 2);
    assert_eq!(fixture.names(&format!("{words}+second")).await, ["ayc"]);
}

#[tokio::test]
async fn long_words_and_phrases_are_found_by_their_start() {
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

/// The highlighted words of the first result, as `field: text`.
async fn marked(fixture: &Fixture, query: &str) -> Vec<String> {
    let found = fixture.find(query).await;
    let matched = found.hits[0].matched.iter().flat_map(|matched| {
        let ranges = matched.ranges.iter();
        ranges.map(|range| format!("{}: {}", matched.field, &matched.value[range.clone()]))
    });
    matched.collect()
}

#[tokio::test]
async fn matches_are_explained_for_every_kind_of_match() {
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
async fn matching_columns_are_listed_up_to_a_limit() {
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

//! Documentation coverage, in total and by domain.

use docent_model::Urn;
use docent_search::{Coverage, DescriptionCounts};
use serde_json::{Value, json};

use super::Fixture;

fn schema(columns: &[(&str, Option<&str>)]) -> Value {
    let fields: Vec<Value> = columns
        .iter()
        .map(|(path, description)| {
            json!({
                "fieldPath": path,
                "description": description,
                "type": {"type": {"com.linkedin.schema.StringType": {}}},
                "nativeDataType": "text",
            })
        })
        .collect();
    json!({
        "schemaName": "s",
        "platform": "urn:li:dataPlatform:hive",
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": fields,
    })
}

fn counts(datasets: [u64; 2], columns: [u64; 2]) -> DescriptionCounts {
    DescriptionCounts {
        datasets: datasets[1],
        described_datasets: datasets[0],
        columns: columns[1],
        described_columns: columns[0],
    }
}

async fn into_domain(fixture: &Fixture, dataset: &Urn, domain: &str) {
    let value = json!({"domains": [format!("urn:li:domain:{domain}")]});
    fixture.put(dataset, "domains", &value).await;
}

async fn coverage(fixture: &Fixture) -> Coverage {
    fixture.search.coverage(None).await.unwrap()
}

#[tokio::test]
async fn columns_described_by_several_sources_count_once() {
    let fixture = Fixture::new().await;
    assert_eq!(coverage(&fixture).await, Coverage::default());
    let one = fixture.dataset("one", "documented").await;
    let columns = [
        ("a", Some("said")),
        ("b", None),
        ("c", Some("")),
        ("d", None),
    ];
    fixture.put(&one, "schemaMetadata", &schema(&columns)).await;
    assert_eq!(coverage(&fixture).await.all, counts([1, 1], [1, 4]));
    let edited = |path: &str, text: &str| json!({"fieldPath": path, "description": text});
    let value = json!({"editableSchemaFieldInfo": [
        edited("a", "said again"),
        edited("b", "said by a person"),
        edited("d", ""),
        edited("gone", "of a column that is no more"),
    ]});
    fixture.put(&one, "editableSchemaMetadata", &value).await;
    assert_eq!(coverage(&fixture).await.all, counts([1, 1], [2, 4]));
    let none = json!({"editableSchemaFieldInfo": [edited("b", "")]});
    fixture.put(&one, "editableSchemaMetadata", &none).await;
    assert_eq!(coverage(&fixture).await.all, counts([1, 1], [1, 4]));
}

#[tokio::test]
async fn domains_sum_up_their_datasets_after_every_write() {
    let fixture = Fixture::new().await;
    let columns = [("a", Some("said")), ("b", None)];
    for (name, description, domain) in [
        ("one", "documented", Some("sales")),
        ("two", "", Some("sales")),
        ("three", "", Some("people")),
        ("four", "documented", None),
    ] {
        let dataset = fixture.dataset(name, description).await;
        fixture
            .put(&dataset, "schemaMetadata", &schema(&columns))
            .await;
        if let Some(domain) = domain {
            into_domain(&fixture, &dataset, domain).await;
        }
    }
    let found = coverage(&fixture).await;
    assert_eq!(found.all, counts([2, 4], [4, 8]));
    let sales = ("urn:li:domain:sales".to_owned(), counts([1, 2], [2, 4]));
    let people = ("urn:li:domain:people".to_owned(), counts([0, 1], [1, 2]));
    assert_eq!(found.domains, [sales, people]);
    assert_eq!(found.without_domain, counts([1, 1], [1, 2]));

    let two = super::dataset("two");
    into_domain(&fixture, &two, "people").await;
    let one = super::dataset("one");
    fixture.put(&one, "status", &json!({"removed": true})).await;
    let found = coverage(&fixture).await;
    assert_eq!(
        found.all,
        counts([1, 3], [3, 6]),
        "removed ones do not count"
    );
    let people = ("urn:li:domain:people".to_owned(), counts([0, 2], [2, 4]));
    assert_eq!(found.domains, [people]);
}

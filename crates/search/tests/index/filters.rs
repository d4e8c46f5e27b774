//! Filters, facets and the trees of domains and containers.

use docent_model::Urn;
use docent_search::{Criterion, Facets, Filter, Operator, SearchPage, SearchRequest, Sort};
use serde_json::json;

use super::{Fixture, name_of};

fn urn(text: &str) -> Urn {
    Urn::parse(text).unwrap()
}

async fn catalog() -> Fixture {
    let fixture = Fixture::new().await;
    for (id, name, parent) in [
        ("top", "Everything", None),
        ("middle", "Sales", Some("urn:li:domain:top")),
        ("bottom", "Returns", Some("urn:li:domain:middle")),
        ("beside", "People", None),
    ] {
        let domain = urn(&format!("urn:li:domain:{id}"));
        let mut properties = json!({"name": name, "customProperties": {}});
        if let Some(parent) = parent {
            properties["parentDomain"] = json!(parent);
        }
        fixture.put(&domain, "domainKey", &json!({"id": id})).await;
        fixture.put(&domain, "domainProperties", &properties).await;
    }
    for (name, description, domain, tag) in [
        ("a", "documented", Some("top"), Some("pii")),
        ("b", "documented", Some("middle"), Some("pii")),
        ("c", "", Some("bottom"), None),
        ("d", "documented", Some("beside"), None),
        ("e", "", None, None),
    ] {
        let dataset = fixture.dataset(name, description).await;
        if let Some(domain) = domain {
            let value = json!({"domains": [format!("urn:li:domain:{domain}")]});
            fixture.put(&dataset, "domains", &value).await;
        }
        if let Some(tag) = tag {
            let value = json!({"tags": [{"tag": format!("urn:li:tag:{tag}")}]});
            fixture.put(&dataset, "globalTags", &value).await;
        }
    }
    fixture
}

pub(crate) async fn matching(fixture: &Fixture, criterion: Criterion) -> String {
    let request = SearchRequest {
        types: vec!["dataset".to_owned()],
        query: "*".to_owned(),
        filter: Filter::all(vec![criterion]),
        page: SearchPage::Cursor {
            cursor: None,
            count: 100,
        },
        ..SearchRequest::default()
    };
    let found = fixture.search.search(&request).await.unwrap();
    assert_eq!(found.total, found.hits.len());
    found.hits.iter().map(|hit| name_of(&hit.urn)).collect()
}

pub(crate) fn criterion(field: &str, operator: Operator, values: &[&str]) -> Criterion {
    Criterion {
        field: field.to_owned(),
        values: values.iter().map(ToString::to_string).collect(),
        operator,
        negated: false,
    }
}

#[tokio::test]
async fn operators_compare_values() {
    let fixture = catalog().await;
    let top = "urn:li:domain:top";
    let bottom = "urn:li:domain:bottom";
    for (field, operator, values, expected) in [
        ("name", Operator::Equal, vec!["a"], "a"),
        ("name.keyword", Operator::Equal, vec!["a", "c"], "ac"),
        ("name", Operator::Equal, vec!["A"], ""),
        ("name", Operator::Equal, vec![], ""),
        ("name", Operator::EqualIgnoringCase, vec!["A"], "a"),
        ("tags", Operator::Contains, vec!["PI"], "ab"),
        ("tags", Operator::StartsWith, vec!["urn:li:tag:p"], "ab"),
        ("tags", Operator::EndsWith, vec!["pii"], "ab"),
        ("tags", Operator::Exists, vec![], "ab"),
        ("domains", Operator::Exists, vec![], "abcd"),
        ("name", Operator::Exists, vec![], "abcde"),
        ("hasDescription", Operator::Equal, vec!["true"], "abd"),
        ("hasDescription", Operator::Equal, vec!["false"], "ce"),
        ("hasTags", Operator::Equal, vec!["false"], "cde"),
        ("name", Operator::Greater, vec!["b"], "cde"),
        ("name", Operator::GreaterOrEqual, vec!["b"], "bcde"),
        ("name", Operator::Less, vec!["b"], "a"),
        ("name", Operator::LessOrEqual, vec!["b"], "ab"),
        ("domains", Operator::Equal, vec![top], "a"),
        ("domains", Operator::DescendantsIncluded, vec![top], "abc"),
        ("domains", Operator::AncestorsIncluded, vec![bottom], "abc"),
        (
            "domains",
            Operator::RelatedIncluded,
            vec!["urn:li:domain:middle"],
            "abc",
        ),
        ("platform", Operator::Equal, vec!["hive"], "abcde"),
        (
            "platform",
            Operator::Equal,
            vec!["urn:li:dataPlatform:hive"],
            "abcde",
        ),
        ("origin", Operator::Equal, vec!["PROD"], "abcde"),
        ("env", Operator::Equal, vec!["DEV"], ""),
        ("_entityType", Operator::Equal, vec!["dataset"], "abcde"),
        ("nobodyKnows", Operator::Exists, vec![], ""),
    ] {
        let found = matching(&fixture, criterion(field, operator, &values)).await;
        assert_eq!(found, expected, "{field} {operator:?} {values:?}");
        let negated = Criterion {
            negated: true,
            ..criterion(field, operator, &values)
        };
        let others: String = "abcde"
            .chars()
            .filter(|it| !expected.contains(*it))
            .collect();
        let found = matching(&fixture, negated).await;
        assert_eq!(found, others, "not {field} {operator:?} {values:?}");
    }
}

#[tokio::test]
async fn column_filters_compare_whole_names() {
    let fixture = Fixture::new().await;
    for (name, columns) in [
        ("a", &["customer_id", "email"][..]),
        ("b", &["customerId", "zip"]),
        ("c", &["customer_id_old"]),
        ("d", &[]),
    ] {
        let dataset = fixture.dataset(name, "").await;
        let fields: Vec<_> = columns
            .iter()
            .map(|path| json!({"fieldPath": path, "description": "said"}))
            .collect();
        let schema = json!({"schemaName": name, "fields": fields});
        fixture.put(&dataset, "schemaMetadata", &schema).await;
    }
    for (operator, values, expected) in [
        (Operator::Equal, &["customer_id"][..], "a"),
        (Operator::Equal, &["Customer_Id"], ""),
        (Operator::Equal, &["customer_id", "zip", "none"], "ab"),
        (Operator::Equal, &[], ""),
        (Operator::EqualIgnoringCase, &["CUSTOMERID"], "b"),
        (Operator::StartsWith, &["customer"], "abc"),
        (Operator::EndsWith, &["id"], "ab"),
        (Operator::Contains, &["_id", "mail"], "ac"),
        (Operator::Greater, &["email"], "b"),
        (Operator::Exists, &[], "abc"),
    ] {
        let found = matching(&fixture, criterion("fieldPaths", operator, values)).await;
        assert_eq!(found, expected, "{operator:?} {values:?}");
    }
    let described = criterion("fieldDescriptions", Operator::Exists, &[]);
    assert_eq!(matching(&fixture, described).await, "abc");
}

#[tokio::test]
async fn name_filters_compare_whole_names_and_prose_filters_words() {
    let fixture = Fixture::new().await;
    for (urn, description) in [
        ("a.orders", "Every parcel that left the house"),
        ("orders.b", "The house itself"),
        ("Zürich", ""),
    ] {
        fixture.dataset(urn, description).await;
    }
    for (field, operator, values, expected) in [
        ("name", Operator::StartsWith, vec!["orders"], "orders.b"),
        ("name", Operator::EndsWith, vec!["ORDERS"], "a.orders"),
        ("name", Operator::EqualIgnoringCase, vec!["orders"], ""),
        (
            "name",
            Operator::EqualIgnoringCase,
            vec!["ZÜRICH"],
            "Zürich",
        ),
        ("name", Operator::Less, vec!["b"], "a.orders"),
        (
            "description",
            Operator::Contains,
            vec!["the HOUSE"],
            "a.ordersorders.b",
        ),
        (
            "description",
            Operator::Contains,
            vec!["parcel that"],
            "a.orders",
        ),
        ("description", Operator::Contains, vec!["that parcel"], ""),
        (
            "description",
            Operator::Contains,
            vec!["itself", "parcels"],
            "a.ordersorders.b",
        ),
        ("description", Operator::Contains, vec![" "], ""),
    ] {
        let found = matching(&fixture, criterion(field, operator, &values)).await;
        assert_eq!(found, expected, "{field} {operator:?} {values:?}");
    }
    let request = SearchRequest {
        filter: Filter::all(vec![criterion("description", Operator::Less, &["b"])]),
        ..SearchRequest::default()
    };
    let rejection = fixture.search.search(&request).await.unwrap_err();
    assert!(rejection.to_string().contains("use CONTAIN"), "{rejection}");
}

#[tokio::test]
async fn completions_look_beyond_names_of_other_types() {
    let fixture = Fixture::new().await;
    for number in 0..300 {
        fixture.dataset(&format!("ma_{number:03}"), "").await;
    }
    let domain = urn("urn:li:domain:m");
    fixture.put(&domain, "domainKey", &json!({"id": "m"})).await;
    let properties = json!({"name": "Marketing", "customProperties": {}});
    fixture.put(&domain, "domainProperties", &properties).await;
    let request = SearchRequest {
        types: vec!["domain".to_owned()],
        query: "ma".to_owned(),
        ..SearchRequest::default()
    };
    let completed = fixture.search.complete(request, 10).await;
    assert_eq!(completed.unwrap().suggestions, ["Marketing"]);
}

#[tokio::test]
async fn facets_count_all_results() {
    let fixture = catalog().await;
    let request = SearchRequest {
        types: vec!["dataset".to_owned()],
        page: SearchPage::Offset { start: 0, count: 1 },
        facets: Facets::Default { values: 10 },
        ..SearchRequest::default()
    };
    let found = fixture.search.search(&request).await.unwrap();
    assert_eq!((found.total, found.hits.len()), (5, 1));
    let facet = |name: &str| -> Vec<(String, u64)> {
        let facet = found.facets.iter().find(|facet| facet.field == name);
        let values = &facet.unwrap().values;
        values
            .iter()
            .map(|it| (it.value.clone(), it.count))
            .collect()
    };
    assert_eq!(facet("tags"), [("urn:li:tag:pii".to_owned(), 2)]);
    assert_eq!(facet("_entityType"), [("dataset".to_owned(), 5)]);
    assert_eq!(
        facet("platform"),
        [("urn:li:dataPlatform:hive".to_owned(), 5)]
    );
    assert_eq!(
        facet("hasDescription"),
        [("true".to_owned(), 3), ("false".to_owned(), 2)]
    );
    assert_eq!(facet("domains").len(), 4);
}

#[tokio::test]
async fn types_that_the_search_page_does_not_find_add_their_own_facets() {
    let fixture = catalog().await;
    for (id, kind) in [
        ("rows", "VOLUME"),
        ("fresh", "FRESHNESS"),
        ("size", "VOLUME"),
    ] {
        let assertion = urn(&format!("urn:li:assertion:{id}"));
        let key = json!({"assertionId": id});
        fixture.put(&assertion, "assertionKey", &key).await;
        let info = json!({"type": kind, "customProperties": {}});
        fixture.put(&assertion, "assertionInfo", &info).await;
    }
    let facets = async |kind: &str| {
        let request = SearchRequest {
            types: vec![kind.to_owned()],
            facets: Facets::Default { values: 10 },
            ..SearchRequest::default()
        };
        fixture.search.search(&request).await.unwrap().facets
    };
    let found = facets("assertion").await;
    let kinds = found.iter().find(|it| it.field == "assertionType").unwrap();
    let values = kinds.values.iter().map(|it| (it.value.as_str(), it.count));
    assert_eq!(
        values.collect::<Vec<_>>(),
        [("VOLUME", 2), ("FRESHNESS", 1)]
    );
    assert_eq!(kinds.label, "Assertion Type");
    assert!(found.iter().any(|it| it.field == "platform"));
    let of_datasets = facets("dataset").await;
    assert!(of_datasets.iter().all(|it| it.field != "assertionType"));
}

#[tokio::test]
async fn results_are_sorted_by_fields_in_both_directions() {
    let fixture = catalog().await;
    for (descending, expected) in [(false, "abcde"), (true, "edcba")] {
        let request = SearchRequest {
            types: vec!["dataset".to_owned()],
            sort: vec![Sort {
                field: "name".to_owned(),
                descending,
            }],
            ..SearchRequest::default()
        };
        let found = fixture.search.search(&request).await.unwrap();
        let names: String = found.hits.iter().map(|hit| name_of(&hit.urn)).collect();
        assert_eq!(names, expected);
    }
}

#[tokio::test]
async fn unset_flags_are_false() {
    let fixture = catalog().await;
    for (name, deprecated) in [("a", true), ("b", false)] {
        let value = json!({"deprecated": deprecated, "note": "", "actor": super::ACTOR});
        fixture
            .put(&super::dataset(name), "deprecation", &value)
            .await;
    }
    for (operator, values, expected) in [
        (Operator::Equal, vec!["true"], "a"),
        (Operator::Equal, vec!["false"], "bcde"),
        (Operator::EqualIgnoringCase, vec!["FALSE"], "bcde"),
        (Operator::Equal, vec!["true", "false"], "abcde"),
        (Operator::Equal, vec!["perhaps"], ""),
        (Operator::Exists, vec![], "ab"),
    ] {
        let found = matching(&fixture, criterion("deprecated", operator, &values)).await;
        assert_eq!(found, expected, "{operator:?} {values:?}");
    }
}

#[tokio::test]
async fn both_environment_fields_are_one() {
    let fixture = catalog().await;
    let container = urn("urn:li:container:c");
    let properties = json!({"name": "c", "customProperties": {}, "env": "PROD"});
    let key = super::key_of(&container);
    fixture.put(&container, "containerKey", &key).await;
    fixture
        .put(&container, "containerProperties", &properties)
        .await;
    for field in ["origin", "env", "env.keyword"] {
        let request = SearchRequest {
            types: vec!["dataset".to_owned(), "container".to_owned()],
            filter: Filter::all(vec![Criterion::equal(field, "PROD")]),
            facets: Facets::Named {
                fields: vec![field.to_owned()],
                values: 10,
            },
            ..SearchRequest::default()
        };
        let found = fixture.search.search(&request).await.unwrap();
        assert_eq!(found.total, 6, "{field}");
        assert_eq!(found.facets[0].field, field);
        let counted = &found.facets[0].values;
        assert_eq!((counted[0].value.as_str(), counted[0].count), ("PROD", 6));
    }
}

#[tokio::test]
async fn unknown_fields_have_no_values() {
    let fixture = catalog().await;
    for (negated, expected) in [(false, ""), (true, "abcde")] {
        let condition = Criterion {
            negated,
            ..Criterion::equal("nobodyKnows", "x")
        };
        assert_eq!(matching(&fixture, condition).await, expected);
    }
    let request = SearchRequest {
        facets: Facets::Named {
            fields: vec!["nobodyKnows".to_owned()],
            values: 10,
        },
        ..SearchRequest::default()
    };
    let found = fixture.search.search(&request).await.unwrap();
    assert_eq!(found.facets[0].field, "nobodyKnows");
    assert!(found.facets[0].values.is_empty());
}

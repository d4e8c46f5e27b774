use proptest::prelude::*;
use serde_json::json;

use super::*;

fn aspect(name: &str) -> AspectName {
    Registry::get().aspect(name).unwrap()
}

fn printed(value: &SearchValue<'_>) -> String {
    match value {
        SearchValue::Text(text) => text.to_string(),
        SearchValue::Flag(flag) => format!("flag {flag}"),
        SearchValue::Number(number) => format!("number {number}"),
        SearchValue::Real(number) => format!("real {number}"),
    }
}

fn values(name: &str, value: &Value) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    search_values(aspect(name), value, &mut |field, value| {
        all.push((field.name, printed(&value)));
    });
    all
}

fn values_of_text(name: &str, text: &str) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    search_values_in_json(aspect(name), text, &mut |field, value| {
        all.push((field.name, printed(&value)));
    })
    .unwrap();
    all
}

/// Asserts all names and values, in order.
fn assert_found(name: &str, value: &Value, expected: &[(&str, &str)]) {
    let found = values(name, value);
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|(field, value)| (*field, value.as_str()))
        .collect();
    assert_eq!(found, expected, "{name}");
    assert_eq!(
        values_of_text(name, &value.to_string()),
        values(name, value),
        "{name} from its text"
    );
}

fn field(name: &str) -> &'static SearchField {
    Registry::get().search_field(name).unwrap()
}

#[test]
fn dataset_properties_are_searchable() {
    assert_found(
        "datasetProperties",
        &json!({
            "name": "orders", "description": "All orders", "qualifiedName": "shop.orders",
            "externalUrl": "https://x/y", "uri": "not searched", "tags": ["not searched"],
            "customProperties": {"team": "sales", "empty": "", "formula": "a=b"},
            "created": {"time": 17, "actor": "urn:li:corpuser:x"},
            "lastModified": {"time": 18},
        }),
        &[
            ("name", "orders"),
            ("description", "All orders"),
            ("qualifiedName", "shop.orders"),
            ("externalUrl", "https://x/y"),
            ("customProperties", "team=sales"),
            ("customProperties", "empty="),
            ("customProperties", "formula=a=b"),
            ("createdAt", "number 17"),
            ("lastModifiedAt", "number 18"),
        ],
    );
}

#[test]
fn values_come_in_document_order() {
    let value = json!({"description": "first", "name": "second"});
    let expected = [("description", "first"), ("name", "second")];
    assert_found("datasetProperties", &value, &expected);
}

#[test]
fn key_aspects_are_searchable() {
    assert_found(
        "datasetKey",
        &json!({"platform": "urn:li:dataPlatform:hive", "name": "db.t", "origin": "PROD"}),
        &[
            ("platform", "urn:li:dataPlatform:hive"),
            ("id", "db.t"),
            ("origin", "PROD"),
        ],
    );
    assert_found(
        "dashboardKey",
        &json!({"dashboardTool": "looker", "dashboardId": "17"}),
        &[("tool", "looker")],
    );
}

#[test]
fn columns_have_path_description_and_their_own_tags() {
    let attribution =
        json!({"time": 5, "actor": "urn:li:corpuser:x", "source": "urn:li:corpuser:y"});
    assert_found(
        "schemaMetadata",
        &json!({
            "schemaName": "not searched",
            "fields": [
                {"fieldPath": "id", "nullable": false, "nativeDataType": "INT", "label": "Id"},
                {
                    "fieldPath": "address.street", "description": "The *street*",
                    "type": {"type": {"com.linkedin.schema.StringType": {}}},
                    "globalTags": {"tags": [{"tag": "urn:li:tag:pii", "attribution": attribution}]},
                    "glossaryTerms": {"terms": [{"urn": "urn:li:glossaryTerm:t"}]},
                },
            ],
        }),
        &[
            ("fieldPaths", "id"),
            ("fieldLabels", "Id"),
            ("fieldPaths", "address.street"),
            ("fieldDescriptions", "The *street*"),
            ("fieldTags", "urn:li:tag:pii"),
            ("fieldTagAttributionDates", "number 5"),
            ("fieldTagAttributionActors", "urn:li:corpuser:x"),
            ("fieldTagAttributionSources", "urn:li:corpuser:y"),
            ("fieldGlossaryTerms", "urn:li:glossaryTerm:t"),
        ],
    );
}

#[test]
fn edited_column_metadata_has_its_own_fields() {
    assert_found(
        "editableSchemaMetadata",
        &json!({
            "created": {"time": 1, "actor": "urn:li:corpuser:x"},
            "editableSchemaFieldInfo": [{
                "fieldPath": "id", "description": "The key",
                "globalTags": {"tags": [{"tag": "urn:li:tag:pii"}]},
                "glossaryTerms": {"terms": [{"urn": "urn:li:glossaryTerm:t"}]},
            }],
        }),
        &[
            ("editedFieldDescriptions", "The key"),
            ("editedFieldTags", "urn:li:tag:pii"),
            ("editedFieldGlossaryTerms", "urn:li:glossaryTerm:t"),
        ],
    );
}

#[test]
fn domains_tags_terms_and_containers_are_searchable_by_urn() {
    assert_found(
        "domains",
        &json!({"domains": ["urn:li:domain:b", "urn:li:domain:a"]}),
        &[
            ("domains", "urn:li:domain:b"),
            ("domains", "urn:li:domain:a"),
        ],
    );
    assert_found(
        "globalTags",
        &json!({"tags": [{"tag": "urn:li:tag:a", "attribution": {"time": 3}}, {"tag": "urn:li:tag:b"}]}),
        &[
            ("tags", "urn:li:tag:a"),
            ("tagAttributionDates", "number 3"),
            ("tags", "urn:li:tag:b"),
        ],
    );
    assert_found(
        "glossaryTerms",
        &json!({"terms": [{"urn": "urn:li:glossaryTerm:t"}], "auditStamp": {"time": 1}}),
        &[("glossaryTerms", "urn:li:glossaryTerm:t")],
    );
    assert_found(
        "container",
        &json!({"container": "urn:li:container:c"}),
        &[("container", "urn:li:container:c")],
    );
}

#[test]
fn owners_are_searchable_with_and_without_their_type() {
    assert_found(
        "ownership",
        &json!({
            "owners": [{"owner": "urn:li:corpuser:x", "type": "NONE", "typeUrn": "urn:li:ownershipType:t"}],
            "ownerTypes": {"urn:li:ownershipType:t": ["urn:li:corpuser:x", "urn:li:corpuser:y"]},
            "lastModified": {"time": 1, "actor": "urn:li:corpuser:x"},
        }),
        &[
            ("owners", "urn:li:corpuser:x"),
            ("ownerTypes", "urn:li:ownershipType:t=urn:li:corpuser:x"),
            ("ownerTypes", "urn:li:ownershipType:t=urn:li:corpuser:y"),
        ],
    );
}

#[test]
fn status_sub_types_and_browse_paths_are_searchable() {
    let removed = json!({"removed": true});
    assert_found("status", &removed, &[("removed", "flag true")]);
    assert_found(
        "subTypes",
        &json!({"typeNames": ["View", "Table"]}),
        &[("typeNames", "View"), ("typeNames", "Table")],
    );
    assert_found(
        "browsePathsV2",
        &json!({"path": [{"id": "urn:li:container:c", "urn": "urn:li:container:c"}, {"id": "b"}]}),
        &[
            ("browsePathV2", "urn:li:container:c"),
            ("browsePathV2", "b"),
        ],
    );
}

#[test]
fn domains_are_searchable_by_name_and_parent() {
    assert_found(
        "domainProperties",
        &json!({
            "name": "Campaigns", "description": "What we run", "parentDomain": "urn:li:domain:marketing",
            "created": {"time": 17, "actor": "urn:li:corpuser:x"},
        }),
        &[
            ("name", "Campaigns"),
            ("description", "What we run"),
            ("parentDomain", "urn:li:domain:marketing"),
            ("createdTime", "number 17"),
        ],
    );
}

#[test]
fn dashboards_are_searchable_by_title_and_audit_times() {
    assert_found(
        "dashboardInfo",
        &json!({
            "title": "Revenue", "description": "By month", "access": "PUBLIC",
            "dashboardUrl": "https://x/17", "charts": ["urn:li:chart:(looker,c)"], "lastRefreshed": 4,
            "lastModified": {
                "created": {"time": 1, "actor": "urn:li:corpuser:x"},
                "lastModified": {"time": 2, "actor": "urn:li:corpuser:x"},
            },
        }),
        &[
            ("title", "Revenue"),
            ("description", "By month"),
            ("access", "PUBLIC"),
            ("dashboardUrl", "https://x/17"),
            ("createdAt", "number 1"),
            ("lastModifiedAt", "number 2"),
        ],
    );
}

#[test]
fn an_outer_annotation_keeps_unrelated_inner_ones() {
    assert_found(
        "assertionInfo",
        &json!({"type": "FIELD", "source": {"type": "EXTERNAL", "created": {"time": 1, "actor": "urn:li:corpuser:x"}}}),
        &[
            ("assertionType", "FIELD"),
            ("sourceType", "EXTERNAL"),
            ("creator", "urn:li:corpuser:x"),
        ],
    );
}

#[test]
fn a_single_value_annotated_like_a_list_is_searchable() {
    let template = "urn:li:dataFlow:(airflow,dag,PROD)";
    assert_found(
        "dataProcessInstanceRelationships",
        &json!({"parentTemplate": template, "upstreamInstances": []}),
        &[("parentTemplate", template)],
    );
}

#[test]
fn mismatched_values_are_skipped() {
    for value in [
        json!(null),
        json!([]),
        json!("x"),
        json!({"domains": "urn:li:domain:a"}),
    ] {
        assert_found("domains", &value, &[]);
    }
    assert_found(
        "datasetProperties",
        &json!({
            "name": 5, "description": null, "created": {"time": "now"}, "lastModified": [{"time": 1}],
            "customProperties": {"a": null, "b": {"c": "d"}, "e": 5, "f": true, "g": [["h"]]},
        }),
        &[("customProperties", "e=5"), ("customProperties", "f=true")],
    );
    assert_found("status", &json!({"removed": "true"}), &[]);
}

#[test]
fn text_is_borrowed_from_the_value() {
    let value = json!({"description": "All orders"});
    let mut borrowed = Vec::new();
    search_values(aspect("datasetProperties"), &value, &mut |_, found| {
        borrowed.push(matches!(found, SearchValue::Text(Cow::Borrowed(_))));
    });
    assert_eq!(borrowed, [true]);
}

#[test]
fn a_field_has_the_options_of_its_annotation() {
    assert_eq!(
        *field("domains"),
        SearchField {
            name: "domains",
            kind: SearchKind::Urn,
            aliases: vec![],
            boost: 1.0,
            query_by_default: true,
            autocomplete: false,
            filter_label: Some("Domain"),
            has_values: Some("hasDomain"),
            rich_text: false,
        }
    );
    assert_eq!(
        *field("editedFieldDescriptions"),
        SearchField {
            name: "editedFieldDescriptions",
            kind: SearchKind::Text,
            aliases: vec![],
            boost: 1.0,
            query_by_default: true,
            autocomplete: false,
            filter_label: None,
            has_values: Some("hasDescription"),
            rich_text: true,
        }
    );
    // Given as the strings "true" and "false".
    assert!(field("fieldPaths").query_by_default);
    assert!(!field("latest").query_by_default);
    assert!((field("fieldTags").boost - 0.5).abs() < f32::EPSILON);
}

#[test]
fn records_that_annotate_the_same_name_share_a_field() {
    // The key's platform enables autocomplete, that of the platform instance a facet.
    let platform = field("platform");
    assert!(platform.autocomplete);
    assert_eq!(platform.filter_label, Some("Platform"));
    // Boosted by 10 in a dataset's key, and by 1 in a term's.
    assert!((field("id").boost - 10.0).abs() < f32::EPSILON);
    // Column names are keywords, all other names are texts; some times are annotated as counts.
    assert_eq!(field("name").kind, SearchKind::Text);
    assert_eq!(field("createdAt").kind, SearchKind::DateTime);
    assert_eq!(field("entities").kind, SearchKind::Urn);
    // "Chart Type", "Type" and "Source" are one field, so none of these labels fits.
    assert_eq!(field("type").filter_label, Some("Type"));
    assert_eq!(field("customType").filter_label, Some("Custom Type"));
    assert_eq!(field("assertionType").filter_label, Some("Assertion Type"));
}

#[test]
fn entity_types_have_their_own_facets() {
    let facets = |name: &str| {
        let registry = Registry::get();
        registry.facet_fields(registry.entity(name).unwrap())
    };
    let assertion = facets("assertion");
    for name in ["assertionStatus", "assertionType", "customType", "owners"] {
        assert!(assertion.contains(&name), "{name}");
    }
    assert!(!assertion.contains(&"state"));
    assert!(facets("incident").contains(&"state"));
}

#[test]
fn the_default_kind_follows_from_the_type() {
    for (name, kind) in [
        ("versionSortId", SearchKind::Text),
        ("versionSet", SearchKind::Urn),
        ("entityTypes", SearchKind::Urn),
        ("priority", SearchKind::Count),
        ("deploymentStatus", SearchKind::Keyword),
        ("customProperties", SearchKind::Map),
        ("ownerTypes", SearchKind::Map),
    ] {
        assert_eq!(field(name).kind, kind, "{name}");
    }
}

#[test]
fn only_texts_and_urns_are_queried_by_default() {
    for (name, expected) in [
        ("description", true),
        ("container", true),
        ("customProperties", true),
        ("email", true),
        ("owners", false),
        ("origin", false),
        ("externalUrl", false),
        ("removed", false),
        ("rowCount", false),
        ("createdAt", false),
    ] {
        assert_eq!(field(name).query_by_default, expected, "{name}");
    }
}

#[test]
fn fields_are_unique_and_found_by_name_alias_and_suffix() {
    let registry = Registry::get();
    let fields = registry.search_fields();
    assert!(fields.len() > 250, "{}", fields.len());
    assert!(fields.windows(2).all(|pair| pair[0].name < pair[1].name));
    for field in fields {
        for name in [field.name.to_owned(), format!("{}.keyword", field.name)] {
            let found = registry.search_field(&name).unwrap();
            assert!(std::ptr::eq(found, field), "{name}");
        }
    }
    assert_eq!(registry.search_field("_entityName").unwrap().name, "name");
    for name in [
        "",
        ".keyword",
        "noSuchField",
        "Name",
        "name.keyword.keyword",
        "hasDescription",
    ] {
        assert_eq!(registry.search_field(name), None, "{name}");
    }
}

#[test]
fn values_belong_to_listed_fields_and_match_their_kind() {
    let stamp = json!({"time": 1, "actor": "urn:li:corpuser:x"});
    let value = json!({"name": "n", "customProperties": {"a": "b"}, "created": stamp});
    let mut count = 0;
    search_values(aspect("datasetProperties"), &value, &mut |found, value| {
        assert!(std::ptr::eq(found, field(found.name)));
        let is_number = found.kind == SearchKind::DateTime;
        assert_eq!(matches!(value, SearchValue::Number(1)), is_number);
        count += 1;
    });
    assert_eq!(count, 3);
}

fn any_json() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "fields",
        "fieldPath",
        "description",
        "globalTags",
        "tags",
        "tag",
        "domains",
        "owners",
        "owner",
        "ownerTypes",
        "customProperties",
        "created",
        "time",
        "path",
        "id",
        "name",
        "removed",
        "source",
        "type",
        "terms",
        "urn",
        "é",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..6).prop_map(|members| {
                Value::Object(
                    members
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_can_be_searched(value in any_json()) {
        let registry = Registry::get();
        for entity in registry.entities() {
            for &aspect in entity.aspects.iter().chain([&entity.key_aspect]) {
                let mut fits = true;
                search_values(aspect, &value, &mut |field, value| {
                    fits &= match field.kind {
                        SearchKind::Text | SearchKind::Keyword | SearchKind::Urn | SearchKind::Map => matches!(value, SearchValue::Text(_)),
                        SearchKind::Boolean => matches!(value, SearchValue::Flag(_)),
                        SearchKind::Count | SearchKind::DateTime => matches!(value, SearchValue::Number(_)),
                        SearchKind::Double => matches!(value, SearchValue::Real(_)),
                    };
                });
                prop_assert!(fits, "{}", aspect);
                let text = value.to_string();
                // Parsed again, because a number with many digits may be rounded.
                let stored: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(values_of_text(aspect.as_str(), &text), values(aspect.as_str(), &stored));
            }
        }
    }
}

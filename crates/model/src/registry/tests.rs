use serde_json::json;

use super::*;

fn rejection(text: &str) -> String {
    Registry::get().parse_urn(text).unwrap_err().to_string()
}

#[test]
fn the_embedded_registry_is_consistent_and_complete() {
    let registry = load::load(SOURCE, INTERNAL_SOURCE).unwrap();
    assert_eq!(registry.entities.len(), 72);
    // DataHub's own, so that an aspect of ours needs no change here.
    let is_datahubs = |aspect: &&AspectSpec| aspect.record_name.starts_with("com.linkedin.");
    assert_eq!(registry.aspects.values().filter(is_datahubs).count(), 271);
    assert!(registry.records.len() >= 517, "{registry:?}");
}

#[test]
fn relationships_are_found_by_exact_name() {
    let registry = Registry::get();
    // Directly in a record, in a list, in a nested record, and by the path of an outer field.
    for name in [
        "IsPartOf",
        "AssociatedWith",
        "OwnedBy",
        "EditableSchemaFieldTaggedWith",
    ] {
        assert_eq!(registry.relationship(name), Some(name));
    }
    for name in ["", "ownedby", "Owned", "domains"] {
        assert_eq!(registry.relationship(name), None, "{name}");
    }
}

#[test]
fn names_differ_in_more_than_case() {
    let registry = Registry::get();
    for entity in registry.entities() {
        let upper = entity.name.to_ascii_uppercase();
        assert_eq!(registry.entity(&upper).unwrap().name, entity.name);
    }
    for aspect in registry.aspects.values().filter(|aspect| !aspect.internal) {
        let upper = aspect.name.as_str().to_ascii_uppercase();
        assert_eq!(registry.aspect(&upper), Some(aspect.name));
    }
    assert!(registry.entity("noSuchEntity").is_none());
    assert!(registry.aspect("noSuchAspect").is_none());
}

#[test]
fn an_entity_has_only_its_aspects_and_key_aspect() {
    let dataset = Registry::get().entity("dataset").unwrap();
    assert_eq!(dataset.key_aspect.as_str(), "datasetKey");
    assert_eq!(dataset.key_fields, ["platform", "name", "origin"]);
    assert!(dataset.has_aspect(dataset.key_aspect));
    assert!(dataset.has_aspect(AspectName::SCHEMA_METADATA));
    assert!(!dataset.has_aspect(AspectName::DOMAIN_PROPERTIES));
    assert!(!dataset.aspects.contains(&dataset.key_aspect));
}

#[test]
fn aspect_constants_are_in_the_registry() {
    for name in [
        AspectName::ACCESS_TOKEN_INFO,
        AspectName::ACTORS,
        AspectName::ALIASES,
        AspectName::DOCUMENT_INFO,
        AspectName::DOCUMENT_SETTINGS,
        AspectName::METRIC_RELATIONSHIPS,
        AspectName::POST_INFO,
        AspectName::VIEW_INFO,
        AspectName::CORP_USER_SETTINGS,
        AspectName::BROWSE_PATHS_V2,
        AspectName::CONTAINER,
        AspectName::CORP_USER_CREDENTIALS,
        AspectName::CORP_USER_INFO,
        AspectName::CORP_USER_STATUS,
        AspectName::CHART_USAGE_STATISTICS,
        AspectName::CORP_GROUP_EDITABLE_INFO,
        AspectName::CORP_USER_EDITABLE_INFO,
        AspectName::EMBED,
        AspectName::PAGE_MODULE_PROPERTIES,
        AspectName::PAGE_TEMPLATE_PROPERTIES,
        AspectName::STEP_STATE_PROPERTIES,
        AspectName::DASHBOARD_USAGE_STATISTICS,
        AspectName::DATA_PLATFORM_INFO,
        AspectName::DATA_PLATFORM_INSTANCE,
        AspectName::DATA_PROCESS_INSTANCE_RUN_EVENT,
        AspectName::DATASET_DEPRECATION,
        AspectName::DATASET_PROFILE,
        AspectName::DATASET_USAGE_STATISTICS,
        AspectName::DISPLAY_PROPERTIES,
        AspectName::DOMAIN_PROPERTIES,
        AspectName::DOMAINS,
        AspectName::EDITABLE_CONTAINER_PROPERTIES,
        AspectName::EDITABLE_DATASET_PROPERTIES,
        AspectName::EDITABLE_SCHEMA_METADATA,
        AspectName::GLOBAL_TAGS,
        AspectName::INCIDENT_INFO,
        AspectName::INSTITUTIONAL_MEMORY,
        AspectName::OPERATION,
        AspectName::OWNERSHIP,
        AspectName::SCHEMA_METADATA,
        AspectName::SIBLINGS,
        AspectName::STATUS,
        AspectName::TEST_RESULTS,
    ] {
        assert_eq!(Registry::get().aspect(name.as_str()), Some(name));
    }
}

#[test]
fn an_aspect_knows_its_record_and_whether_it_is_a_time_series() {
    let registry = Registry::get();
    let properties = registry.aspect("datasetProperties").unwrap();
    assert_eq!(
        registry.record_name(properties),
        Some("com.linkedin.dataset.DatasetProperties")
    );
    assert!(!registry.is_timeseries(properties));
    let profile = registry.aspect("datasetProfile").unwrap();
    assert!(registry.is_timeseries(profile));
}

#[test]
fn datasets_require_a_known_environment() {
    let text = |env: &str| format!("urn:li:dataset:(urn:li:dataPlatform:hive,t,{env})");
    let accepted = Registry::get().parse_urn(&text("PROD")).unwrap();
    assert_eq!(accepted.entity_type(), "dataset");
    for wrong in ["prod", "PRODUCTION"] {
        let message = rejection(&text(wrong));
        assert!(
            message.contains("as its origin: it must be one of DEV, TEST"),
            "{message}"
        );
    }
}

#[test]
fn invalid_urns_are_rejected_with_a_reason() {
    for (text, reason) in [
        ("urn:li:noSuchType:x", "unknown entity type 'noSuchType'"),
        ("urn:li:corpUser:x", "unknown entity type 'corpUser'"),
        (
            "urn:li:dataset:(urn:li:dataPlatform:hive,t)",
            "has 2 key parts where dataset needs 3 (platform, name, origin)",
        ),
        ("urn:li:dataset:x", "has 1 key part where dataset needs 3"),
        (
            "urn:li:domain:(a,b)",
            "has 2 key parts where domain needs 1",
        ),
        (
            "urn:li:dataset:(urn:li:dataPlatform:hive,,PROD)",
            "has an empty name",
        ),
        ("urn:li:dataset:(hive,t,PROD)", "'hive' is not a URN"),
        (
            "urn:li:dataset:(urn:li:noSuchType:hive,t,PROD)",
            "unknown entity type 'noSuchType'",
        ),
        (
            "urn:li:dataJob:(urn:li:corpuser:x,task)",
            "has the type corpuser, but dataFlow is expected",
        ),
    ] {
        let message = rejection(text);
        assert!(message.contains(reason), "{text}: {message}");
    }
}

#[test]
fn only_column_urns_may_exceed_the_length_limit() {
    let name = "é".repeat(90);
    let dataset = format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
    assert!(rejection(&dataset).contains("the URN is too long"));
    let column = format!(
        "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD),{})",
        "x".repeat(2000)
    );
    Registry::get().parse_urn(&column).unwrap();
}

#[test]
fn the_longest_urn_is_512_bytes_when_encoded() {
    // "urn:li:domain:" has three colons, which take three bytes each.
    let of_length = |bytes: usize| format!("urn:li:domain:{}", "x".repeat(bytes - 20));
    Registry::get().parse_urn(&of_length(512)).unwrap();
    assert!(rejection(&of_length(513)).contains("513 bytes"));
}

#[test]
fn deeply_nested_urns_are_rejected() {
    let nested = |levels: usize| {
        let mut text = "urn:li:corpuser:x".to_owned();
        for _ in 1..levels {
            text = format!("urn:li:schemaField:({text},x)");
        }
        text
    };
    Registry::get().parse_urn(&nested(MAX_NESTED_URNS)).unwrap();
    assert!(rejection(&nested(MAX_NESTED_URNS + 1)).contains("nests more URNs"));
    assert!(rejection(&nested(2_000)).contains("nests more URNs"));
    let parentheses = format!(
        "urn:li:domain:{}x{}",
        "(".repeat(200_000),
        ")".repeat(200_000)
    );
    assert!(rejection(&parentheses).contains("parentheses"));
}

#[test]
fn the_key_aspect_matches_the_urn() {
    let registry = Registry::get();
    let key = |text: &str| registry.key_aspect_value(&Urn::parse(text).unwrap());
    assert_eq!(
        key("urn:li:dataset:(urn:li:dataPlatform:hive,db.t,PROD)"),
        Some(json!({"platform": "urn:li:dataPlatform:hive", "name": "db.t", "origin": "PROD"}))
    );
    assert_eq!(key("urn:li:domain:(x)"), Some(json!({"id": "x"})));
    assert_eq!(key("urn:li:dataset:x"), None);
    for urn in [
        "urn:li:dataset:(urn:li:dataPlatform:hive,db.t,PROD)",
        "urn:li:domain:x",
    ] {
        let entity_type = urn.split(':').nth(2).unwrap();
        let found = registry.urn_of_key(entity_type, &key(urn).unwrap());
        assert_eq!(found.as_deref(), Some(urn));
    }
    let part = json!({"name": "db.t", "origin": "PROD"});
    assert_eq!(registry.urn_of_key("dataset", &part), None);
    assert_eq!(registry.urn_of_key("nothing", &json!({"id": "x"})), None);
}

/// A registry with one entity type and one aspect with the given record.
fn load_with(record: &str) -> Result<Registry, String> {
    let text = format!(
        r#"{{"entities": {{"thing": {{"keyAspect": "thingKey", "keyFields": ["id"], "aspects": ["info"]}}}},
            "aspects": {{"thingKey": {{"record": "ThingKey"}}, "info": {{"record": "Info"}}}},
            "records": {{"ThingKey": {{"id": {{"type": "string"}}}}, "Info": {record}}}}}"#
    );
    let no_internal = r#"{"entities": {}, "aspects": {}, "records": {}}"#;
    load::load(text.leak(), no_internal).map_err(|error| error.to_string())
}

#[test]
fn inconsistent_data_is_rejected_with_its_location() {
    for (record, reason) in [
        (
            r#"{"a": {"type": "noSuchType"}}"#,
            "Info/a has the unknown type noSuchType",
        ),
        (
            r#"{"a": {"type": {"array": "string"}, "relationship": {"/*/b": {"name": "R", "entityTypes": ["thing"]}}}}"#,
            "Info/a has the relationship R at '/b', which does not exist",
        ),
        (
            r#"{"a": {"type": "long", "relationship": {"name": "R", "entityTypes": ["thing"]}}}"#,
            "Info/a has the relationship R at '', which does not exist",
        ),
        (
            r#"{"a": {"type": {"set": "string"}}}"#,
            "unknown variant `set`",
        ),
        (r#"["A"]"#, "a record or an enum"),
        (
            r#"{"a": {"type": "string", "searchable": {"fieldType": "SOUND"}}}"#,
            "Info/a has the unknown search fieldType SOUND",
        ),
        (
            r#"{"a": {"type": {"array": "string"}, "searchable": {"fieldType": "TEXT"}}}"#,
            "Info/a has a search field at '', which does not exist",
        ),
        (
            r#"{"a": {"type": "ThingKey", "searchable": {"/name": {"fieldName": "n"}}}}"#,
            "ThingKey has the search field n at '/name', which does not exist",
        ),
        (
            r#"{"a": {"type": "string", "searchable": {"queryByDefault": "maybe"}}}"#,
            "expected true or false",
        ),
        (
            r#"{"a": {"type": "string", "searchable": {"fieldName": "n"}}, "b": {"type": "long", "searchable": {"fieldName": "n"}}}"#,
            "Info/b makes the search field n a Count, but others make it a Text; rename one",
        ),
        (
            r#"{"a": {"type": "string", "searchable": {"fieldName": "n", "hasValuesFieldName": "x"}},
                "b": {"type": "string", "searchable": {"fieldName": "n", "hasValuesFieldName": "y"}}}"#,
            "Info/b has the hasValues field y for the search field n, but others have x; rename one",
        ),
    ] {
        let message = load_with(record).unwrap_err();
        assert!(message.contains(reason), "{record}: {message}");
    }
}

#[test]
fn records_may_be_recursive_up_to_the_depth_limit() {
    let registry = load_with(
        r#"{"next": {"type": "Info", "optional": true},
            "to": {"type": "string", "optional": true, "urn": true, "relationship": {"name": "R", "entityTypes": ["thing"]}}}"#,
    )
    .unwrap();
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({ "next": inner }));
    let validate = |mut value: Value| {
        let (entity, aspect) = (registry.entity("thing"), registry.aspect("info"));
        registry.validate(entity.unwrap(), aspect.unwrap(), &mut value)
    };
    assert_eq!(validate(nested(100)), Ok(false));
    let error = validate(nested(101)).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("is nested more than 100 levels deep")
    );
    assert_eq!(error.path, "/next".repeat(101));
    let id = registry
        .aspect_record(registry.aspect("info").unwrap())
        .unwrap();
    let related: Vec<&str> = registry
        .record(id)
        .related_fields()
        .map(|field| field.name)
        .collect();
    assert_eq!(related, ["to", "next"]);
}

/// The searchable fields and values of an `info` aspect in a registry from [`load_with`].
fn searched(registry: &Registry, value: &Value) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    let info = registry.aspect("info").unwrap();
    registry.search_values(info, value, &mut |field, value| {
        all.push((field.name, format!("{value:?}")));
    });
    all
}

#[test]
fn list_lengths_numbers_and_union_members_are_searchable() {
    let registry = load_with(
        r#"{"members": {"type": {"array": "string"}, "searchable": {"fieldType": "COUNT"}},
            "parts": {"type": {"map": "string"}, "searchable": {"fieldName": "partCount", "fieldType": "COUNT"}},
            "weight": {"type": "double", "searchable": {"boostScore": 2}},
            "by": {"type": {"union": ["string", "ThingKey"]},
                   "searchable": {"/string": {"fieldName": "byText"}, "/ThingKey/id": {"fieldName": "byThing"}}},
            "keys": {"type": {"map": "ThingKey"}, "searchable": {"/*/id": {"fieldName": "keys"}}}}"#,
    )
    .unwrap();
    let value = json!({
        "members": ["a", "b"], "parts": {"a": "b"}, "weight": 1.5, "by": {"string": "x"}, "keys": {"k": {"id": "y"}},
    });
    assert_eq!(
        searched(&registry, &value),
        [
            ("members", "Number(2)".to_owned()),
            ("partCount", "Number(1)".to_owned()),
            ("weight", "Real(1.5)".to_owned()),
            ("byText", "Text(\"x\")".to_owned()),
            ("keys", "Text(\"y\")".to_owned()),
        ]
    );
    let value =
        json!({"members": 3, "weight": 2, "by": {"ThingKey": {"id": "x"}}, "parts": "none"});
    assert_eq!(
        searched(&registry, &value),
        [
            ("members", "Number(3)".to_owned()),
            ("weight", "Real(2.0)".to_owned()),
            ("byThing", "Text(\"x\")".to_owned()),
        ]
    );
}

#[test]
fn recursive_records_are_searched_up_to_the_depth_limit() {
    let registry = load_with(
        r#"{"next": {"type": "Info", "optional": true}, "list": {"type": {"array": "Info"}, "optional": true},
            "name": {"type": "string", "optional": true, "searchable": {"fieldType": "TEXT"}}}"#,
    )
    .unwrap();
    let nested = |depth: usize| {
        (0..depth).fold(json!({"name": "deep"}), |inner, level| {
            if level % 2 == 0 {
                json!({ "next": inner })
            } else {
                json!({ "list": [inner] })
            }
        })
    };
    assert_eq!(searched(&registry, &nested(100)).len(), 1);
    assert_eq!(searched(&registry, &nested(101)), []);
    assert_eq!(searched(&registry, &nested(1_000)), []);
}

#[test]
fn an_outer_search_annotation_overrides_the_inner_one() {
    let registry = load_with(
        r#"{"one": {"type": "Inner", "searchable": {"/name": {"fieldName": "outer"}}},
            "two": {"type": "Inner", "searchable": {"/name": {}}},
            "three": {"type": "Inner"}},
            "Inner": {"name": {"type": "string", "searchable": {"fieldName": "inner"}}}"#,
    )
    .unwrap();
    let inner = json!({"name": "x"});
    let found = searched(
        &registry,
        &json!({"one": inner, "two": inner, "three": inner}),
    );
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["outer", "inner", "inner"]);
}

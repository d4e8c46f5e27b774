//! Patches as sent by clients, and their results.

use super::*;
use crate::Urn;
use serde_json::json;

const NOW_MS: i64 = 1_790_000_000_000;

fn stamp() -> AuditStamp {
    AuditStamp::new(&Urn::parse("urn:li:corpuser:a").unwrap(), NOW_MS)
}

fn apply(aspect: &str, current: Option<Value>, patch: Value) -> Result<Value, PatchError> {
    let aspect = Registry::get().aspect(aspect).unwrap();
    Patch::from_value(patch)?.apply(aspect, current, &stamp(), &PatchBudget::default())
}

fn patched(aspect: &str, current: Value, patch: Value) -> Value {
    apply(aspect, Some(current), patch).unwrap()
}

fn reason(aspect: &str, current: Value, patch: Value) -> String {
    apply(aspect, Some(current), patch).unwrap_err().to_string()
}

fn add(path: &str, value: impl Into<Value>) -> Value {
    let value = value.into();
    json!([{"op": "add", "path": path, "value": value}])
}

fn remove(path: &str) -> Value {
    json!([{"op": "remove", "path": path, "value": {}}])
}

#[test]
fn setting_a_member_preserves_all_others_and_their_order() {
    let text =
        r#"{"customProperties":{"z":"1","a":"2"},"tags":["t"],"description":"old","name":"n"}"#;
    let current: Value = serde_json::from_str(text).unwrap();
    let new = patched(
        "datasetProperties",
        current,
        add("/description", json!("new")),
    );
    assert_eq!(new.to_string(), text.replace("old", "new"));
}

#[test]
fn untouched_numbers_keep_all_digits() {
    let text =
        r#"{"scores":[0.1,1e300,123456789.12345679,9007199254740993,-0.000001234567890123],"x":1}"#;
    let current: Value = serde_json::from_str(text).unwrap();
    let kept = current["scores"].to_string();
    let new = patched("datasetProperties", current, remove("/x"));
    assert_eq!(new["scores"].to_string(), kept);
    assert_eq!(
        kept,
        "[0.1,1e+300,123456789.12345679,9007199254740993,-1.234567890123e-6]"
    );
}

#[test]
fn slashes_and_tildes_in_names_are_escaped() {
    let current = json!({"customProperties": {"a/b": "1", "c~d": "2"}});
    let patch = json!([
        {"op": "remove", "path": "/customProperties/a~1b"},
        {"op": "add", "path": "/customProperties/c~0d", "value": "3"},
        {"op": "add", "path": "/customProperties/~01", "value": "4"},
    ]);
    assert_eq!(
        patched("datasetProperties", current, patch),
        json!({"customProperties": {"c~d": "3", "~1": "4"}})
    );
}

#[test]
fn a_tag_is_addressed_by_its_urn_and_added_once() {
    let current =
        json!({"tags": [{"tag": "urn:li:tag:a", "context": "c"}, {"tag": "urn:li:tag:b"}]});
    let new = patched(
        "globalTags",
        current.clone(),
        add("/tags/urn:li:tag:x", json!({})),
    );
    assert_eq!(
        new["tags"],
        json!([{"tag": "urn:li:tag:a", "context": "c"}, {"tag": "urn:li:tag:b"}, {"tag": "urn:li:tag:x"}])
    );
    let again = add(
        "/tags/urn:li:tag:a",
        json!({"tag": "urn:li:tag:a", "context": "d"}),
    );
    let new = patched("globalTags", new, again);
    assert_eq!(new["tags"][0]["context"], "d");
    assert_eq!(new["tags"].as_array().unwrap().len(), 3);
    let new = patched("globalTags", current, remove("/tags/urn:li:tag:a"));
    assert_eq!(new, json!({"tags": [{"tag": "urn:li:tag:b"}]}));
}

#[test]
fn keys_in_the_patch_override_the_built_in_ones() {
    let keys = json!({"tags": ["attribution␟source", "tag"]});
    let source = "urn:li:dataHubAction:x";
    let patch = json!({
        "arrayPrimaryKeys": keys,
        "patch": [
            {"op": "add", "path": "/tags//urn:li:tag:t1", "value": {"tag": "urn:li:tag:t1"}},
            {"op": "add", "path": format!("/tags/{source}/urn:li:tag:t1"),
             "value": {"tag": "urn:li:tag:t1", "attribution": {"source": source, "time": 1, "actor": "urn:li:corpuser:a"}}},
        ],
    });
    let new = apply("globalTags", None, patch).unwrap();
    assert_eq!(new["tags"].as_array().unwrap().len(), 2, "{new}");
    assert_eq!(new["tags"][0], json!({"tag": "urn:li:tag:t1"}));
    let others = json!({"arrayPrimaryKeys": {"tags": ["tag", "attribution␟source"]}, "patch": remove("/tags/urn:li:tag:t1")});
    assert_eq!(
        patched("globalTags", new.clone(), others),
        json!({"tags": []})
    );
    let one = json!({"arrayPrimaryKeys": keys, "patch": remove(&format!("/tags/{source}/urn:li:tag:t1"))});
    assert_eq!(
        patched("globalTags", new, one),
        json!({"tags": [{"tag": "urn:li:tag:t1"}]})
    );
}

#[test]
fn removing_an_owner_by_its_first_key_removes_all_its_types() {
    let keys = json!({"owners": ["owner", "type", "typeUrn", "attribution␟source"]});
    let owner =
        |user: &str, kind: &str| json!({"owner": format!("urn:li:corpuser:{user}"), "type": kind});
    let current = json!({"owners": [owner("a", "DATAOWNER"), owner("b", "DATAOWNER"), owner("a", "NONE")], "lastModified": {"time": 7, "actor": "urn:li:corpuser:x"}});
    let patch = json!({"arrayPrimaryKeys": keys, "patch": [
        {"op": "add", "path": "/owners/urn:li:corpuser:zed/DATAOWNER//", "value": owner("zed", "DATAOWNER")},
        {"op": "remove", "path": "/owners/urn:li:corpuser:a", "value": {}},
        {"op": "remove", "path": "/owners/urn:li:corpuser:nobody", "value": {}},
    ]});
    let new = patched("ownership", current, patch);
    assert_eq!(
        new["owners"],
        json!([owner("b", "DATAOWNER"), owner("zed", "DATAOWNER")])
    );
    assert_eq!(new["lastModified"]["time"], 7);
}

#[test]
fn elements_keep_their_order() {
    let list: Vec<Value> = ["c", "a", "b"]
        .iter()
        .map(|name| json!({"tag": name}))
        .collect();
    let new = patched(
        "globalTags",
        json!({"tags": list}),
        add("/tags/a/context", json!("x")),
    );
    assert_eq!(
        new["tags"],
        json!([{"tag": "c"}, {"tag": "a", "context": "x"}, {"tag": "b"}])
    );
}

#[test]
fn a_missing_aspect_starts_with_its_required_members() {
    let made =
        |aspect: &str, path: &str, value: Value| apply(aspect, None, add(path, value)).unwrap();
    let now = json!({"time": NOW_MS, "actor": "urn:li:corpuser:a"});
    assert_eq!(
        made("glossaryTerms", "/terms/urn:li:glossaryTerm:t", json!({})),
        json!({"terms": [{"urn": "urn:li:glossaryTerm:t"}], "auditStamp": now})
    );
    let ownership = made(
        "ownership",
        "/owners/urn:li:corpuser:b/DATAOWNER",
        json!({}),
    );
    assert_eq!(
        ownership,
        json!({"owners": [{"owner": "urn:li:corpuser:b", "type": "DATAOWNER"}], "lastModified": now})
    );
    assert_eq!(
        made(
            "domains",
            "/domains/urn:li:domain:d",
            json!("urn:li:domain:d")
        ),
        json!({"domains": ["urn:li:domain:d"]})
    );
    assert_eq!(
        made("datasetProperties", "/customProperties/k", json!("v")),
        json!({"customProperties": {"k": "v"}, "tags": []})
    );
    assert_eq!(
        made("siblings", "/siblings/urn:li:x", json!({})),
        json!({"siblings": ["urn:li:x"], "primary": false})
    );
    let chart = made("chartInfo", "/inputs/urn:li:x", json!("urn:li:x"));
    assert_eq!(chart["inputs"], json!([{"string": "urn:li:x"}]));
    assert_eq!(chart["title"], "");
    let stamps = json!({"created": now, "lastModified": now});
    assert_eq!(chart["lastModified"], stamps);
    let dashboard = made("dashboardInfo", "/title", json!("t"));
    assert_eq!(
        dashboard,
        json!({"title": "t", "description": "", "lastModified": stamps})
    );
    assert_eq!(
        made("propertyDefinition", "/qualifiedName", json!("q")),
        json!({"qualifiedName": "q", "valueType": "urn:li:dataType:datahub.string", "entityTypes": []})
    );
    assert_eq!(
        made(
            "status",
            "/lifecycleStage",
            json!("urn:li:lifecycleStageType:s")
        ),
        json!({"removed": false, "lifecycleStage": "urn:li:lifecycleStageType:s"})
    );
}

#[test]
fn column_tags_and_terms_are_addressed_by_field_path() {
    let patch = json!([
        {"op": "add", "path": "/editableSchemaFieldInfo/a.b/globalTags/tags/urn:li:tag:t", "value": {"tag": "urn:li:tag:t"}},
        {"op": "add", "path": "/editableSchemaFieldInfo/c/glossaryTerms/terms/urn:li:glossaryTerm:t", "value": {}},
        {"op": "add", "path": "/editableSchemaFieldInfo/a.b/description", "value": "d"},
    ]);
    let new = apply("editableSchemaMetadata", None, patch).unwrap();
    let now = json!({"time": NOW_MS, "actor": "urn:li:corpuser:a"});
    assert_eq!(
        new["editableSchemaFieldInfo"],
        json!([
            {"fieldPath": "a.b", "globalTags": {"tags": [{"tag": "urn:li:tag:t"}]}, "description": "d"},
            {"fieldPath": "c", "glossaryTerms": {"terms": [{"urn": "urn:li:glossaryTerm:t"}], "auditStamp": now}},
        ])
    );
    let gone = remove("/editableSchemaFieldInfo/a.b/globalTags/tags/urn:li:tag:t");
    let new = patched("editableSchemaMetadata", new, gone);
    assert_eq!(
        new["editableSchemaFieldInfo"][0]["globalTags"],
        json!({"tags": []})
    );
}

#[test]
fn a_null_list_counts_as_missing() {
    let current = json!({"upstreams": [], "fineGrainedLineages": null});
    let new = patched(
        "upstreamLineage",
        current,
        add("/fineGrainedLineages/T/d/NONE/u", json!({})),
    );
    assert_eq!(
        new["fineGrainedLineages"].as_array().unwrap().len(),
        1,
        "{new}"
    );
}

#[test]
fn column_lineage_is_addressed_by_transformation_columns_and_query() {
    let relation = |upstream: &str| {
        format!("/fineGrainedLineages/TRANSFORM/down/NONE/urn:li:schemaField:{upstream}")
    };
    let score = |score: f64| json!({"confidenceScore": score});
    let patch = json!([
        {"op": "add", "path": relation("u1"), "value": score(0.9)},
        {"op": "add", "path": relation("u2"), "value": score(0.9)},
        {"op": "add", "path": relation("u3"), "value": score(0.5)},
    ]);
    let new = apply("upstreamLineage", None, patch).unwrap();
    let element = |upstreams: &[&str], score: f64| {
        let upstreams: Vec<String> = upstreams
            .iter()
            .map(|u| format!("urn:li:schemaField:{u}"))
            .collect();
        json!({
            "upstreamType": "FIELD_SET", "upstreams": upstreams, "downstreamType": "FIELD", "downstreams": ["down"],
            "transformOperation": "TRANSFORM", "confidenceScore": score,
        })
    };
    assert_eq!(
        new,
        json!({"upstreams": [], "fineGrainedLineages": [element(&["u1", "u2"], 0.9), element(&["u3"], 0.5)]})
    );
    let new = patched("upstreamLineage", new, add(&relation("u2"), score(0.5)));
    assert_eq!(
        new["fineGrainedLineages"],
        json!([element(&["u1"], 0.9), element(&["u3", "u2"], 0.5)])
    );
    let new = patched("upstreamLineage", new, remove(&relation("u1")));
    assert_eq!(
        new["fineGrainedLineages"],
        json!([element(&["u3", "u2"], 0.5)])
    );
    let new = patched(
        "upstreamLineage",
        new,
        remove("/fineGrainedLineages/TRANSFORM/down"),
    );
    assert_eq!(new["fineGrainedLineages"], json!([]));
}

#[test]
fn lineage_elements_are_split_only_where_a_path_addresses_them() {
    let both = json!({"upstreamType": "FIELD_SET", "upstreams": ["a", "b"], "downstreamType": "FIELD_SET", "downstreams": ["x", "y"], "query": "urn:li:query:q"});
    let other = json!({"upstreamType": "NONE", "downstreamType": "FIELD", "downstreams": ["z"]});
    let current = json!({"upstreams": [], "fineGrainedLineages": [both, other]});
    let new = patched(
        "upstreamLineage",
        current,
        remove("/fineGrainedLineages/NONE/x/urn:li:query:q/a"),
    );
    let with = |upstreams: Value, downstreams: Value| {
        let mut element = both.clone();
        element["upstreams"] = upstreams;
        element["downstreams"] = downstreams;
        element
    };
    assert_eq!(
        new["fineGrainedLineages"],
        json!([
            with(json!(["a", "b"]), json!(["y"])),
            with(json!(["b"]), json!(["x"])),
            other
        ])
    );
}

#[test]
fn lists_without_keys_are_addressed_by_index() {
    let current = json!({"elements": [{"url": "a"}, {"url": "b"}]});
    let patch = json!([
        {"op": "add", "path": "/elements/1", "value": {"url": "m"}},
        {"op": "add", "path": "/elements/-", "value": {"url": "z"}},
        {"op": "replace", "path": "/elements/0/url", "value": "A"},
        {"op": "remove", "path": "/elements/2"},
        {"op": "remove", "path": "/elements/9"},
    ]);
    assert_eq!(
        patched("institutionalMemory", current, patch),
        json!({"elements": [{"url": "A"}, {"url": "m"}, {"url": "z"}]})
    );
    let generic = json!({"forceGenericPatch": true, "patch": remove("/tags/0")});
    assert_eq!(
        patched(
            "globalTags",
            json!({"tags": [{"tag": "a"}, {"tag": "b"}]}),
            generic
        ),
        json!({"tags": [{"tag": "b"}]})
    );
}

#[test]
fn a_whole_list_is_set_as_a_list_or_as_a_map_by_key() {
    let as_list = add("/tags", json!([{"tag": "a"}]));
    let as_map = add("/tags", json!({"a": {}}));
    for patch in [as_list, as_map] {
        assert_eq!(
            patched("globalTags", json!({"tags": [{"tag": "old"}]}), patch),
            json!({"tags": [{"tag": "a"}]})
        );
    }
    let nested = add(
        "/editableSchemaFieldInfo/c",
        json!({"globalTags": {"tags": {"t": {}}}}),
    );
    let new = patched(
        "editableSchemaMetadata",
        json!({"editableSchemaFieldInfo": []}),
        nested,
    );
    assert_eq!(
        new["editableSchemaFieldInfo"],
        json!([{"globalTags": {"tags": [{"tag": "t"}]}, "fieldPath": "c"}])
    );
    let owners = add("/owners/urn:a", json!({"NONE": {}, "DATAOWNER": {}}));
    let new = patched(
        "ownership",
        json!({"owners": [{"owner": "urn:a", "type": "STAKEHOLDER"}]}),
        owners,
    );
    assert_eq!(
        new["owners"],
        json!([{"owner": "urn:a", "type": "NONE"}, {"owner": "urn:a", "type": "DATAOWNER"}])
    );
}

#[test]
fn move_and_copy_update_keys_and_test_compares() {
    let current = json!({"tags": [{"tag": "a", "context": "c"}]});
    let patch = json!([
        {"op": "test", "path": "/tags/a/context", "value": "c"},
        {"op": "copy", "from": "/tags/a", "path": "/tags/b"},
        {"op": "move", "from": "/tags/a", "path": "/tags/d"},
        {"op": "test", "path": "/tags", "value": [{"context": "c", "tag": "b"}, {"tag": "d", "context": "c"}]},
    ]);
    assert_eq!(
        patched("globalTags", current.clone(), patch),
        json!({"tags": [{"tag": "b", "context": "c"}, {"tag": "d", "context": "c"}]})
    );
    let failed = json!([{"op": "add", "path": "/tags/x", "value": {}}, {"op": "test", "path": "/tags/a/context", "value": "other"}]);
    let message = reason("globalTags", current, failed);
    assert!(
        message.starts_with("operation 1 of the patch (test '/tags/a/context')"),
        "{message}"
    );
    let score = json!({"score": 1.0});
    let same = json!([{"op": "test", "path": "/score", "value": 1}]);
    assert_eq!(patched("datasetProperties", score.clone(), same), score);
}

#[test]
fn failed_operations_are_reported_with_their_path() {
    let tags = json!({"tags": [{"tag": "a"}], "name": "n"});
    for (operation, part) in [
        (
            json!({"op": "replace", "path": "/tags/b", "value": {}}),
            "'/tags/b' does not exist",
        ),
        (
            json!({"op": "move", "from": "/tags/b", "path": "/tags/c"}),
            "'/tags/b' does not exist",
        ),
        (
            json!({"op": "move", "from": "/tags", "path": "/tags/c"}),
            "cannot be moved into itself",
        ),
        (
            json!({"op": "add", "path": "/tags/b", "value": {"tag": "c"}}),
            "tag is 'b' in the path but 'c' in the value",
        ),
        (
            json!({"op": "add", "path": "/tags/b", "value": 7}),
            "found a number",
        ),
        (
            json!({"op": "add", "path": "/tags", "value": {"b": 7}}),
            "found a number",
        ),
        (
            json!({"op": "add", "path": "/name/x", "value": 7}),
            "which has no members",
        ),
    ] {
        let message = reason("globalTags", tags.clone(), json!([operation]));
        assert!(message.contains(part), "{operation}: {message}");
        assert!(message.contains("operation 0"), "{message}");
    }
    let links = json!({"elements": [{"url": "a"}]});
    let message = reason(
        "institutionalMemory",
        links,
        add("/elements/https:~1~1x", json!({})),
    );
    assert!(message.contains("arrayPrimaryKeys"), "{message}");
}

#[test]
fn malformed_patches_are_rejected() {
    for (patch, part) in [
        (json!("x"), "a list of operations"),
        (json!({}), "patch"),
        (json!([{"path": "/a"}]), "operation 0 has no 'op'"),
        (json!([{"op": "add", "path": "/a"}]), "has no 'value'"),
        (
            json!([{"op": "add", "path": "a", "value": 1}]),
            "must start with '/'",
        ),
        (
            json!([{"op": "add", "path": "/~2", "value": 1}]),
            "'~' must be followed by 0 or 1",
        ),
        (
            json!([{"op": "merge", "path": "/a", "value": 1}]),
            "use add, remove",
        ),
        (
            json!([{"op": "remove", "path": ""}]),
            "delete the aspect instead",
        ),
        (
            json!({"patch": [], "arrayPrimaryKeys": {"tags": "tag"}}),
            "must be a list",
        ),
    ] {
        let message = Patch::from_value(patch.clone()).unwrap_err().to_string();
        assert!(message.contains(part), "{patch}: {message}");
    }
    let many: Vec<Value> = (0..=MAX_OPERATIONS)
        .map(|_| json!({"op": "remove", "path": "/a"}))
        .collect();
    assert!(Patch::from_value(Value::Array(many)).is_err());
}

#[test]
fn copies_of_copies_are_limited() {
    let copy = json!({"op": "copy", "from": "/customProperties", "path": "/customProperties/a"});
    let wider: Vec<Value> = (0..100)
        .map(|at| json!({"op": "copy", "from": "/customProperties", "path": format!("/customProperties/{at}")}))
        .collect();
    let current = json!({"customProperties": {"text": "x".repeat(100)}});
    let deeper: Vec<Value> = (0..1000).map(|_| copy.clone()).collect();
    for (patch, part) in [(deeper, "levels deep"), (wider, "too large in total")] {
        let message = reason("datasetProperties", current.clone(), Value::Array(patch));
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn test_operations_compare_numbers_exactly_by_value() {
    let test = |stored: Value, expected: Value| {
        let patch = json!([{"op": "test", "path": "/n", "value": expected}]);
        apply("datasetProperties", Some(json!({"n": stored})), patch).is_ok()
    };
    assert!(test(json!(1), json!(1.0)));
    assert!(test(json!(1.5), json!(1.5)));
    assert!(test(json!(u64::MAX), json!(u64::MAX)));
    // Equal when rounded to floats.
    assert!(!test(
        json!(9_007_199_254_740_993_u64),
        json!(9_007_199_254_740_992_u64)
    ));
    assert!(!test(
        json!(9_007_199_254_740_993_u64),
        json!(9_007_199_254_740_992.0)
    ));
    assert!(!test(json!(i64::MAX), json!(u64::MAX)));
    assert!(!test(json!(1), json!(1.5)));
}

/// The operations are small, and without a limit each would visit the whole value.
#[test]
fn the_work_of_a_patch_is_limited() {
    const MANY: usize = 100_000;
    let skills = json!({"skills": vec!["x"; MANY]});
    let text = json!({"skills": ["x".repeat(1_000_000)]});
    let members: Map<String, Value> = (0..MANY).map(|at| (at.to_string(), json!("x"))).collect();
    let properties = json!({"customProperties": members});
    let duplicates = json!({"tags": vec![json!({"tag": "urn:li:tag:a"}); MANY]});
    let rename = |at: u32| json!({"op": "add", "path": "/tags/urn:li:tag:a/tag", "value": format!("urn:li:tag:{at}")});
    for (aspect, current, operations) in [
        (
            "corpUserEditableInfo",
            &skills,
            vec![json!({"op": "add", "path": "/skills/0", "value": "y"}); 300],
        ),
        (
            "corpUserEditableInfo",
            &skills,
            vec![json!({"op": "remove", "path": "/skills/0"}); 300],
        ),
        (
            "corpUserEditableInfo",
            &text,
            vec![json!({"op": "test", "path": "/skills/0", "value": text["skills"][0]}); 30],
        ),
        (
            "datasetProperties",
            &properties,
            vec![json!({"op": "remove", "path": "/customProperties/x"}); 300],
        ),
        ("globalTags", &duplicates, (0..300).map(rename).collect()),
    ] {
        let first = operations[0]["path"].clone();
        let message = reason(aspect, current.clone(), Value::Array(operations));
        assert!(
            message.contains("more than 20000000 values"),
            "{first}: {message}"
        );
    }
}

/// Programs append to long lists and change many of their elements.
#[test]
fn a_patch_may_change_long_lists_often() {
    let append = json!({"op": "add", "path": "/skills/-", "value": "y"});
    let current = json!({"skills": vec!["x"; 100_000]});
    let patch = Value::Array(vec![append; MAX_OPERATIONS]);
    let new = patched("corpUserEditableInfo", current, patch);
    assert_eq!(
        new["skills"].as_array().unwrap().len(),
        100_000 + MAX_OPERATIONS
    );
    let tags: Vec<Value> = (0..100_000)
        .map(|at| json!({"tag": format!("urn:li:tag:{at}")}))
        .collect();
    let removals = (0..MAX_OPERATIONS)
        .map(|at| json!({"op": "remove", "path": format!("/tags/urn:li:tag:{at}")}))
        .collect();
    let new = patched("globalTags", json!({"tags": tags}), removals);
    assert_eq!(
        new["tags"].as_array().unwrap().len(),
        100_000 - MAX_OPERATIONS
    );
}

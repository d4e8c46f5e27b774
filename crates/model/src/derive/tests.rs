use serde_json::json;

use super::*;

const DATASET: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)";

fn derived(urn: &str, aspect: &str, value: &Value) -> Derived {
    let aspect = Registry::get().aspect(aspect).unwrap();
    derive(&Urn::parse(urn).unwrap(), aspect, value)
}

fn edges(aspect: &str, value: &Value) -> Vec<(&'static str, String)> {
    derived(DATASET, aspect, value)
        .edges
        .into_iter()
        .map(|edge| (edge.relationship, edge.destination.to_string()))
        .collect()
}

#[test]
fn domains_are_edges() {
    let value = json!({"domains": ["urn:li:domain:b", "urn:li:domain:a", "urn:li:domain:b"]});
    let expected =
        ["urn:li:domain:a", "urn:li:domain:b"].map(|urn| ("AssociatedWith", urn.to_owned()));
    assert_eq!(edges("domains", &value), expected);
}

#[test]
fn owners_and_their_types_are_edges() {
    let value = json!({"owners": [
        {"owner": "urn:li:corpuser:x", "type": "NONE", "typeUrn": "urn:li:ownershipType:t"},
        {"owner": "not a urn", "type": "NONE"},
    ]});
    assert_eq!(
        edges("ownership", &value),
        [
            ("OwnedBy", "urn:li:corpuser:x".to_owned()),
            ("ownershipType", "urn:li:ownershipType:t".to_owned()),
        ]
    );
}

#[test]
fn table_and_column_lineage_are_edges() {
    let upstream = "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)";
    let column = |table: &str| format!("urn:li:schemaField:({table},id)");
    let value = json!({
        "upstreams": [{"dataset": upstream, "type": "VIEW"}],
        "fineGrainedLineages": [
            {"upstreams": [column(upstream)], "downstreams": [column(DATASET)]},
            {"upstreams": null},
        ],
    });
    assert_eq!(
        edges("upstreamLineage", &value),
        [
            ("DownstreamOf", upstream.to_owned()),
            ("DownstreamOf", column(upstream)),
        ]
    );
}

#[test]
fn column_tags_and_terms_have_their_own_relationships() {
    let tags = json!({"tags": [{"tag": "urn:li:tag:pii"}]});
    let terms = json!({"terms": [{"urn": "urn:li:glossaryTerm:t"}]});
    let columns = json!([{"fieldPath": "a", "globalTags": tags, "glossaryTerms": terms}]);
    let tag = "urn:li:tag:pii".to_owned();
    let term = "urn:li:glossaryTerm:t".to_owned();
    assert_eq!(edges("globalTags", &tags), [("TaggedWith", tag.clone())]);
    assert_eq!(
        edges("glossaryTerms", &terms),
        [("TermedWith", term.clone())]
    );
    assert_eq!(
        edges("schemaMetadata", &json!({ "fields": columns })),
        [
            ("SchemaFieldTaggedWith", tag.clone()),
            ("SchemaFieldWithGlossaryTerm", term.clone()),
        ]
    );
    assert_eq!(
        edges(
            "editableSchemaMetadata",
            &json!({ "editableSchemaFieldInfo": columns })
        ),
        [
            ("EditableSchemaFieldTaggedWith", tag),
            ("EditableSchemaFieldWithGlossaryTerm", term),
        ]
    );
}

#[test]
fn containers_union_members_and_key_parts_are_edges() {
    let container = "urn:li:container:0f4c".to_owned();
    let value = json!({ "container": container });
    assert_eq!(edges("container", &value), [("IsPartOf", container)]);
    let value = json!({"inputs": [{"string": DATASET}, {"other": DATASET}]});
    assert_eq!(
        edges("chartInfo", &value),
        [("Consumes", DATASET.to_owned())]
    );
    let flow = "urn:li:dataFlow:(airflow,dag,PROD)".to_owned();
    let value = json!({"flow": flow, "jobId": "task"});
    assert_eq!(edges("dataJobKey", &value), [("IsPartOf", flow)]);
}

#[test]
fn mismatched_values_are_skipped() {
    for value in [
        json!(null),
        json!([]),
        json!({"domains": "urn:li:domain:a"}),
        json!({"domains": [1]}),
    ] {
        assert_eq!(derived(DATASET, "domains", &value), Derived::default());
    }
}

#[test]
fn a_domain_is_placed_below_its_parent() {
    let value = json!({
        "name": "Campaigns", "parentDomain": "urn:li:domain:marketing",
        "created": {"time": 17, "actor": "urn:li:corpuser:x"},
    });
    let parent = Urn::parse("urn:li:domain:marketing").unwrap();
    let derived = derived("urn:li:domain:campaigns", "domainProperties", &value);
    assert_eq!(
        derived.placement,
        Some(Placement {
            kind: "domain",
            parent: Some(parent.clone()),
            name: "Campaigns".to_owned(),
            created_ms: 17,
        })
    );
    assert_eq!(
        derived.edges,
        [Edge {
            relationship: "IsPartOf",
            destination: parent,
        }]
    );
}

#[test]
fn a_domain_without_a_parent_is_a_root() {
    let value = json!({"name": "Marketing", "parentDomain": null});
    let placement = derived("urn:li:domain:m", "domainProperties", &value)
        .placement
        .unwrap();
    assert_eq!((placement.parent, placement.created_ms), (None, 0));
    assert_eq!(
        derived("urn:li:domain:m", "ownership", &value).placement,
        None
    );
}

use serde_json::json;

use super::*;
use crate::Registry;

fn defaults(text: &str, name_delimiter: Option<&str>) -> Value {
    let registry = Registry::get();
    let urn = Urn::parse(text).unwrap();
    let entity = registry.check_urn(&urn).unwrap();
    let aspects = default_aspects(&urn, entity, name_delimiter);
    let mut object = serde_json::Map::new();
    for (aspect, mut value) in aspects {
        assert_eq!(registry.validate(entity, aspect, &mut value), Ok(false));
        object.insert(aspect.to_string(), value);
    }
    Value::Object(object)
}

#[test]
fn datasets_get_a_browse_path_platform_and_alias() {
    assert_eq!(
        defaults(
            "urn:li:dataset:(urn:li:dataPlatform:hive,Db.Schema.Äpfel,PROD)",
            None
        ),
        json!({
            "browsePathsV2": {"path": [{"id": "Db"}, {"id": "Schema"}]},
            "dataPlatformInstance": {"platform": "urn:li:dataPlatform:hive"},
            "aliases": {"lowercasedUrn": "urn:li:dataset:(urn:li:dataPlatform:hive,db.schema.äpfel,PROD)"},
        })
    );
}

#[test]
fn names_are_split_at_the_delimiter_of_the_platform() {
    let path = |name: &str, delimiter: Option<&str>| {
        let urn = format!("urn:li:dataset:(urn:li:dataPlatform:s3,{name},PROD)");
        let path = defaults(&urn, delimiter)["browsePathsV2"]["path"].clone();
        let ids: Vec<Value> = path
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["id"].clone())
            .collect();
        Value::from(ids)
    };
    assert_eq!(path("bucket/a.b/file", Some("/")), json!(["bucket", "a.b"]));
    assert_eq!(path("/bucket//file/", Some("/")), json!(["bucket"]));
    assert_eq!(path("a.b", Some("")), json!(["a"]));
    assert_eq!(path("topic", None), json!(["Default"]));
    assert_eq!(path("...", None), json!(["Default"]));
}

#[test]
fn tools_and_orchestrators_are_platforms() {
    let folder = json!({"path": [{"id": "Default"}]});
    for (urn, platform) in [
        ("urn:li:chart:(looker,c1)", "looker"),
        ("urn:li:dashboard:(tableau,d1)", "tableau"),
        ("urn:li:dataFlow:(airflow,dag,PROD)", "airflow"),
        (
            "urn:li:dataJob:(urn:li:dataFlow:(airflow,dag,PROD),task)",
            "airflow",
        ),
        (
            "urn:li:mlModel:(urn:li:dataPlatform:sagemaker,m,PROD)",
            "sagemaker",
        ),
        (
            "urn:li:mlModelGroup:(urn:li:dataPlatform:sagemaker,m,PROD)",
            "sagemaker",
        ),
        (
            "urn:li:mlFeatureTable:(urn:li:dataPlatform:feast,t)",
            "feast",
        ),
    ] {
        let expected = json!({
            "browsePathsV2": folder,
            "dataPlatformInstance": {"platform": format!("urn:li:dataPlatform:{platform}")},
        });
        assert_eq!(defaults(urn, None), expected, "{urn}");
    }
}

#[test]
fn entities_get_only_defaults_they_may_have() {
    assert_eq!(defaults("urn:li:domain:marketing", None), json!({}));
    assert_eq!(defaults("urn:li:corpuser:jdoe", None), json!({}));
    // A container has the aspect, but its key names no platform.
    assert_eq!(
        defaults("urn:li:container:0f4c", None),
        json!({"browsePathsV2": {"path": [{"id": "Default"}]}})
    );
}

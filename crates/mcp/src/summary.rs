//! Entities, as answers describe them: flat, with names beside URNs, the same for all types. The
//! documents select them with the fragments `Named` and `Brief`.

use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use crate::call::AgentCall;
use crate::reply::items;

/// What addresses of the web page leave as it is in a URN.
const UNENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'(')
    .remove(b')')
    .remove(b':')
    .remove(b',');

/// The path of the pages of entities, by their type.
const PAGES: [(&str, &str); 14] = [
    ("DATASET", "dataset"),
    ("DASHBOARD", "dashboard"),
    ("CHART", "chart"),
    ("DATA_FLOW", "pipelines"),
    ("DATA_JOB", "tasks"),
    ("CONTAINER", "container"),
    ("DOMAIN", "domain"),
    ("DATA_PRODUCT", "dataProduct"),
    ("GLOSSARY_TERM", "glossaryTerm"),
    ("GLOSSARY_NODE", "glossaryNode"),
    ("TAG", "tag"),
    ("CORP_USER", "user"),
    ("CORP_GROUP", "group"),
    ("DATA_PLATFORM", "platform"),
];

/// The page of an entity, if its type has one.
fn page_of(call: &AgentCall, entity: &Value) -> Option<String> {
    let (kind, urn) = (entity["type"].as_str()?, entity["urn"].as_str()?);
    let (_, path) = PAGES.iter().find(|(known, _)| *known == kind)?;
    let address = utf8_percent_encode(urn, UNENCODED);
    Some(format!("{}/{path}/{address}", call.page()?))
}

/// A member of what people edited, or else of what was imported; the fragments alias both, for
/// example as `datasetEdits` and `datasetInfo`.
fn edited_or_imported<'v>(entity: &'v Value, names: &[&str]) -> Option<(&'v str, Source)> {
    let members = entity.as_object()?;
    let sources = [("Edits", Source::Edited), ("Info", Source::Imported)];
    sources.into_iter().find_map(|(suffix, source)| {
        let mut parts = members.iter().filter(|(name, _)| name.ends_with(suffix));
        let part = parts.next()?.1;
        let mut texts = names.iter().filter_map(|name| part[*name].as_str());
        let text = texts.find(|text| !text.trim().is_empty())?;
        Some((text, source))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Edited,
    Imported,
}

/// The name that people see.
fn name_of(entity: &Value) -> String {
    if let Some((name, _)) = edited_or_imported(entity, &["name", "displayName", "fullName"]) {
        return name.to_owned();
    }
    let members = entity.as_object().into_iter().flatten();
    let mut names = members.filter(|(name, _)| name.ends_with("Name"));
    let name = names.find_map(|(_, value)| value.as_str());
    let urn = entity["urn"].as_str().unwrap_or_default();
    let key = urn.splitn(4, ':').nth(3).unwrap_or(urn);
    name.unwrap_or(key).to_owned()
}

/// An entity in one line.
pub(crate) fn named(entity: &Value) -> Value {
    json!({"urn": entity["urn"], "name": name_of(entity)})
}

/// What a list says of an entity. Members without a value are left out.
pub(crate) fn brief(call: &AgentCall, entity: &Value) -> Map<String, Value> {
    let mut summary = Map::new();
    let mut add = |name: &str, value: Value| {
        if !is_empty(&value) {
            summary.insert(name.to_owned(), value);
        }
    };
    add("urn", entity["urn"].clone());
    add("type", entity["type"].clone());
    add("name", json!(name_of(entity)));
    if let Some((name, _)) = edited_or_imported(entity, &["qualifiedName"]) {
        add("qualified_name", json!(name));
    }
    add("page", json!(page_of(call, entity)));
    let flow = &entity["dataFlow"];
    for platform in [&entity["platform"], &flow["platform"]] {
        if platform.is_object() {
            add("platform", json!(name_of(platform)));
        }
    }
    if flow.is_object() {
        add("pipeline", named(flow));
    }
    add("kinds", entity["subTypes"]["typeNames"].clone());
    add("inside", json!(parents(entity)));
    if entity["domain"]["domain"].is_object() {
        add("domain", named(&entity["domain"]["domain"]));
    }
    if let Some((text, source)) = edited_or_imported(entity, &["description", "definition"]) {
        add("description", json!(text));
        let source = match source {
            Source::Edited => "edited in the catalog",
            // Glossary terms, domains and the like have no other text than that of people.
            Source::Imported if entity.get("platform").is_none() && flow.is_null() => {
                "written in the catalog"
            }
            Source::Imported => "imported from the source system",
        };
        add("description_source", json!(source));
    }
    for name in ["email", "title"] {
        if let Some((text, _)) = edited_or_imported(entity, &[name]) {
            add(name, json!(text));
        }
    }
    add("owners", json!(owners(entity)));
    add("tags", json!(tags(&entity["tags"])));
    add("glossary_terms", json!(terms(&entity["glossaryTerms"])));
    add("deprecated", deprecation(&entity["deprecation"]));
    summary
}

/// The names of what an entity is inside of, the outermost first.
fn parents(entity: &Value) -> Vec<String> {
    let lists = [
        &entity["parentContainers"]["containers"],
        &entity["parentDomains"]["domains"],
        &entity["parentNodes"]["nodes"],
    ];
    let parents = lists.into_iter().flat_map(items);
    let mut names: Vec<String> = parents.map(name_of).collect();
    names.reverse();
    names
}

fn owners(entity: &Value) -> Vec<Value> {
    let owners = items(&entity["ownership"]["owners"]).iter();
    owners
        .map(|owner| {
            let mut summary = named(&owner["owner"]);
            if let Some(role) = owner["ownershipType"]["info"]["name"].as_str() {
                summary["role"] = json!(role);
            }
            summary
        })
        .collect()
}

pub(crate) fn tags(tags: &Value) -> Vec<Value> {
    let tags = items(&tags["tags"]).iter();
    tags.map(|tag| named(&tag["tag"])).collect()
}

pub(crate) fn terms(terms: &Value) -> Vec<Value> {
    let terms = items(&terms["terms"]).iter();
    terms.map(|term| named(&term["term"])).collect()
}

fn deprecation(deprecation: &Value) -> Value {
    if deprecation["deprecated"] != true {
        return Value::Null;
    }
    let mut summary = json!({});
    if let Some(note) = deprecation["note"].as_str().filter(|it| !it.is_empty()) {
        summary["note"] = json!(note);
    }
    if let Some(time) = time(&deprecation["decommissionTime"]) {
        summary["decommissioned_at"] = json!(time);
    }
    if deprecation["replacement"].is_object() {
        summary["replacement"] = named(&deprecation["replacement"]);
    }
    if is_empty(&summary) {
        json!(true)
    } else {
        summary
    }
}

/// A time in milliseconds, as people read it.
pub(crate) fn time(value: &Value) -> Option<String> {
    let time = Timestamp::from_millisecond(value.as_i64()?).ok()?;
    Some(iso(time))
}

/// A time in ISO 8601, without fractions of a second.
pub(crate) fn iso(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

//! How a part is read from an aspect and written into it. What else the aspect holds stays.

use std::collections::BTreeMap;

use docent_model::EpochMillis;
use docent_model::aspects::built_in_ownership_type;
use serde_json::{Map, Value, json};

use crate::shape::{is_empty, plain_number};

/// The ownership types whose names are stored beside their URNs.
const NAMED_OWNERSHIP_TYPES: [&str; 4] =
    ["TECHNICAL_OWNER", "BUSINESS_OWNER", "DATA_STEWARD", "NONE"];
/// The types of older clients, which have no entities.
const OLDER_OWNERSHIP_TYPES: [&str; 7] = [
    "CONSUMER",
    "DATAOWNER",
    "DELEGATE",
    "DEVELOPER",
    "PRODUCER",
    "STAKEHOLDER",
    "CUSTOM",
];

/// The source of terms that are defined in the catalog.
pub(crate) const USUAL_TERM_SOURCE: &str = "INTERNAL";

/// Who applies the files, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    pub time_ms: EpochMillis,
    pub actor: String,
}

impl Stamp {
    pub(crate) fn value(&self) -> Value {
        json!({"time": self.time_ms, "actor": self.actor})
    }
}

type Read = fn(&Value) -> Option<Value>;
type Write = fn(&mut Map<String, Value>, Option<&Value>, &Stamp);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Codec {
    /// A member, by its path.
    Member(&'static str),
    /// A member that the aspect must have, if only with an empty text.
    Text(&'static str),
    /// Records of which only the reference at `key` is of interest.
    References {
        list: &'static str,
        key: &'static str,
        /// The record around the list has a stamp of its last change.
        stamp: Option<&'static str>,
    },
    Custom(Read, Write),
}

pub(crate) const OWNERS: Codec = Codec::Custom(read_owners, write_owners);
pub(crate) const LINKS: Codec = Codec::Custom(read_links, write_links);
pub(crate) const PROPERTIES: Codec = Codec::Custom(read_properties, write_properties);
pub(crate) const DEPRECATION: Codec = Codec::Custom(read_deprecation, write_deprecation);
pub(crate) const ASSETS: Codec = Codec::Custom(read_assets, write_assets);
pub(crate) const TERM_SOURCE: Codec = Codec::Custom(read_term_source, write_term_source);
pub(crate) const ALLOWED_VALUES: Codec = Codec::Custom(read_allowed, write_allowed);

impl Codec {
    /// The plain value in an aspect, or in the record of a column; `None` if it is empty.
    pub(crate) fn read(self, aspect: &Value) -> Option<Value> {
        let value = match self {
            Self::Member(path) | Self::Text(path) => at(aspect, path).cloned(),
            Self::References { list, key, .. } => {
                let items = at(aspect, list)?.as_array()?.iter();
                Some(items.filter_map(|item| item.get(key)).cloned().collect())
            }
            Self::Custom(read, _) => read(aspect),
        };
        value.filter(|value| !is_empty(value))
    }

    pub(crate) fn write(
        self,
        aspect: &mut Map<String, Value>,
        value: Option<&Value>,
        stamp: &Stamp,
    ) {
        match self {
            Self::Member(path) => set(aspect, path, value.cloned()),
            Self::Text(path) => {
                set(
                    aspect,
                    path,
                    Some(value.cloned().unwrap_or_else(|| json!(""))),
                );
            }
            Self::References {
                list,
                key,
                stamp: stamped,
            } => {
                let mut old = take_items(aspect, list);
                let new = items(value).iter().map(|reference| {
                    let same = |item: &Value| item.get(key) == Some(reference);
                    take_first(&mut old, same).unwrap_or_else(|| json!({key: reference}))
                });
                let new: Vec<Value> = new.collect();
                set(aspect, list, Some(Value::Array(new)));
                if let Some(path) = stamped {
                    set(aspect, path, Some(stamp.value()));
                }
            }
            Self::Custom(_, write) => write(aspect, value, stamp),
        }
    }
}

fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.')
        .try_fold(value, |value, member| value.get(member))
}

/// Sets or removes a member, and makes the records around it.
fn set(members: &mut Map<String, Value>, path: &str, value: Option<Value>) {
    match (path.split_once('.'), value) {
        (None, Some(value)) => {
            members.insert(path.to_owned(), value);
        }
        (None, None) => {
            members.shift_remove(path);
        }
        (Some((first, rest)), value) => {
            if value.is_none() && !members.contains_key(first) {
                return;
            }
            let inner = members.entry(first).or_insert_with(|| json!({}));
            if !inner.is_object() {
                *inner = json!({});
            }
            if let Value::Object(inner) = inner {
                set(inner, rest, value);
            }
        }
    }
}

fn take_items(members: &Map<String, Value>, path: &str) -> Vec<Value> {
    let mut parts = path.split('.');
    let first = parts.next().and_then(|first| members.get(first));
    let found = parts.try_fold(first, |value, member| Some(value?.get(member)));
    found
        .flatten()
        .map(|value| items(Some(value)).to_vec())
        .unwrap_or_default()
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn take_first(items: &mut Vec<Value>, is_wanted: impl FnMut(&Value) -> bool) -> Option<Value> {
    let at = items.iter().position(is_wanted)?;
    Some(items.remove(at))
}

/// The URN of an owner's type, also if only its name is stored.
fn owner_type(owner: &Value) -> String {
    match owner["typeUrn"].as_str() {
        Some(urn) => urn.to_owned(),
        None => built_in_ownership_type(owner["type"].as_str().unwrap_or("NONE")),
    }
}

fn read_owners(aspect: &Value) -> Option<Value> {
    let owners = aspect["owners"].as_array()?.iter().filter_map(|owner| {
        let urn = owner["owner"].as_str()?;
        let key = if urn.starts_with("urn:li:corpGroup:") {
            "group"
        } else {
            "user"
        };
        Some(json!({key: urn, "type": owner_type(owner)}))
    });
    Some(owners.collect())
}

fn write_owners(aspect: &mut Map<String, Value>, value: Option<&Value>, _: &Stamp) {
    let mut old = take_items(aspect, "owners");
    let new = items(value).iter().map(|item| {
        let owner = item
            .get("user")
            .or(item.get("group"))
            .cloned()
            .unwrap_or_default();
        let kind = item["type"].as_str().unwrap_or_default();
        let same = |old: &Value| old["owner"] == owner && owner_type(old) == kind;
        take_first(&mut old, same).unwrap_or_else(|| {
            let built_in = |name: &&&str| built_in_ownership_type(name) == kind;
            let source = json!({"type": "MANUAL"});
            if let Some(name) = OLDER_OWNERSHIP_TYPES.iter().find(built_in) {
                return json!({"owner": owner, "type": name, "source": source});
            }
            let name = NAMED_OWNERSHIP_TYPES
                .iter()
                .find(built_in)
                .unwrap_or(&"CUSTOM");
            json!({"owner": owner, "type": name, "typeUrn": kind, "source": source})
        })
    });
    let new: Vec<Value> = new.collect();
    let mut by_type: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for owner in &new {
        by_type
            .entry(owner_type(owner))
            .or_default()
            .push(owner["owner"].clone());
    }
    aspect.insert("owners".to_owned(), Value::Array(new));
    aspect.insert("ownerTypes".to_owned(), json!(by_type));
}

fn read_links(aspect: &Value) -> Option<Value> {
    let links = aspect["elements"].as_array()?.iter().map(|link| {
        let mut members = Map::new();
        members.insert("url".to_owned(), link["url"].clone());
        members.insert("label".to_owned(), link["description"].clone());
        if link["settings"]["showInAssetPreview"] == true {
            members.insert("in_preview".to_owned(), Value::Bool(true));
        }
        Value::Object(members)
    });
    Some(links.collect())
}

fn write_links(aspect: &mut Map<String, Value>, value: Option<&Value>, stamp: &Stamp) {
    let mut old = take_items(aspect, "elements");
    let new = items(value).iter().map(|item| {
        let same =
            |link: &Value| link["url"] == item["url"] && link["description"] == item["label"];
        let kept = take_first(&mut old, same);
        let is_new = kept.is_none();
        let mut link = kept.unwrap_or_else(|| {
            json!({"url": item["url"], "description": item["label"], "createStamp": stamp.value()})
        });
        let in_preview = item.get("in_preview") == Some(&Value::Bool(true));
        if let Value::Object(members) = &mut link
            && (in_preview || (!is_new && members.contains_key("settings")))
        {
            set(
                members,
                "settings.showInAssetPreview",
                Some(Value::Bool(in_preview)),
            );
        }
        link
    });
    let new = new.collect();
    aspect.insert("elements".to_owned(), new);
}

/// A value of a union, such as `{"string": "a"}` or `{"double": 1.0}`.
fn union_value(value: &Value) -> Value {
    let inner = match value {
        Value::Object(members) => members.values().next().unwrap_or(&Value::Null),
        other => other,
    };
    match inner {
        Value::Number(number) => plain_number(number),
        other => other.clone(),
    }
}

fn to_union(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!({"double": number.as_f64()}),
        other => json!({"string": other}),
    }
}

fn read_properties(aspect: &Value) -> Option<Value> {
    let mut members = Map::new();
    for property in aspect["properties"].as_array()? {
        let values = items(property.get("values")).iter().map(union_value);
        members.insert(
            property["propertyUrn"].as_str()?.to_owned(),
            values.collect(),
        );
    }
    Some(Value::Object(members))
}

fn write_properties(aspect: &mut Map<String, Value>, value: Option<&Value>, stamp: &Stamp) {
    let mut old = take_items(aspect, "properties");
    let no_members = Map::new();
    let members = value.and_then(Value::as_object).unwrap_or(&no_members);
    let new = members.iter().map(|(urn, values)| {
        let kept = take_first(&mut old, |property| property["propertyUrn"] == urn.as_str());
        let mut property = kept.unwrap_or_else(|| {
            json!({"propertyUrn": urn, "values": [], "created": stamp.value(), "lastModified": stamp.value()})
        });
        let current: Vec<Value> = items(property.get("values")).iter().map(union_value).collect();
        if current != items(Some(values)) {
            property["values"] = items(Some(values)).iter().map(to_union).collect();
            property["lastModified"] = stamp.value();
        }
        property
    });
    let new = new.collect();
    aspect.insert("properties".to_owned(), new);
}

fn read_deprecation(aspect: &Value) -> Option<Value> {
    if aspect["deprecated"] != true {
        return None;
    }
    let mut members = Map::new();
    members.insert(
        "note".to_owned(),
        json!(aspect["note"].as_str().unwrap_or_default()),
    );
    if let Some(replacement) = aspect["replacement"].as_str() {
        members.insert("replacement".to_owned(), json!(replacement));
    }
    if let Some(time) = aspect["decommissionTime"].as_i64() {
        members.insert("until".to_owned(), json!(time));
    }
    Some(Value::Object(members))
}

fn write_deprecation(aspect: &mut Map<String, Value>, value: Option<&Value>, stamp: &Stamp) {
    aspect.insert("deprecated".to_owned(), json!(value.is_some()));
    aspect.insert("actor".to_owned(), json!(stamp.actor));
    let member = |name: &str| value.and_then(|value| value.get(name)).cloned();
    aspect.insert(
        "note".to_owned(),
        member("note").unwrap_or_else(|| json!("")),
    );
    set(aspect, "replacement", member("replacement"));
    set(aspect, "decommissionTime", member("until"));
}

fn read_assets(aspect: &Value) -> Option<Value> {
    let assets = aspect["assets"].as_array()?.iter().map(|asset| {
        let mut members = Map::new();
        members.insert("asset".to_owned(), asset["destinationUrn"].clone());
        if asset["outputPort"] == true {
            members.insert("output_port".to_owned(), Value::Bool(true));
        }
        Value::Object(members)
    });
    Some(assets.collect())
}

fn write_assets(aspect: &mut Map<String, Value>, value: Option<&Value>, stamp: &Stamp) {
    let mut old = take_items(aspect, "assets");
    let new = items(value).iter().map(|item| {
        let kept = take_first(&mut old, |asset| asset["destinationUrn"] == item["asset"]);
        let mut asset = kept
            .unwrap_or_else(|| json!({"destinationUrn": item["asset"], "created": stamp.value()}));
        asset["outputPort"] = json!(item.get("output_port") == Some(&Value::Bool(true)));
        asset
    });
    let new = new.collect();
    aspect.insert("assets".to_owned(), new);
}

fn read_allowed(aspect: &Value) -> Option<Value> {
    let allowed = aspect["allowedValues"].as_array()?.iter().map(|allowed| {
        let mut members = Map::new();
        members.insert("value".to_owned(), union_value(&allowed["value"]));
        if let Some(description) = allowed["description"].as_str().filter(|it| !it.is_empty()) {
            members.insert("description".to_owned(), json!(description));
        }
        Value::Object(members)
    });
    Some(allowed.collect())
}

fn write_allowed(aspect: &mut Map<String, Value>, value: Option<&Value>, _: &Stamp) {
    let new = value.map(|value| {
        let new = items(Some(value)).iter().map(|item| {
            let mut members = Map::new();
            members.insert("value".to_owned(), to_union(&item["value"]));
            if let Some(description) = item.get("description") {
                members.insert("description".to_owned(), description.clone());
            }
            Value::Object(members)
        });
        new.collect()
    });
    set(aspect, "allowedValues", new);
}

/// Nearly all terms are defined here, so files omit it.
fn read_term_source(aspect: &Value) -> Option<Value> {
    let source = aspect.get("termSource")?;
    (source != USUAL_TERM_SOURCE).then(|| source.clone())
}

fn write_term_source(aspect: &mut Map<String, Value>, value: Option<&Value>, _: &Stamp) {
    let source = value.cloned().unwrap_or_else(|| json!(USUAL_TERM_SOURCE));
    aspect.insert("termSource".to_owned(), source);
}

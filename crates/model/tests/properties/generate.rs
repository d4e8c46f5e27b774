//! Generates values from `registry.json`, independently of the crate's own interpretation.
//!
//! Along with a valid value, records the expected edges and ways to make the value invalid.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

pub(crate) static REGISTRY: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../registry.json")).unwrap());

/// Decisions from a list of numbers. When it is exhausted, the simplest choice is made, so that
/// values stay finite.
pub(crate) struct Choices {
    numbers: std::vec::IntoIter<u32>,
    texts: u32,
}

impl Choices {
    pub(crate) fn new(numbers: Vec<u32>) -> Self {
        Self {
            numbers: numbers.into_iter(),
            texts: 0,
        }
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.numbers.next().unwrap_or(0) as usize % bound.max(1)
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A unique text.
    fn text(&mut self) -> String {
        self.texts += 1;
        let stem = self.pick(&["text", "a.b", "Größe", "x:y", "%28", "with space", "(a,b)"]);
        format!("{stem}{}", self.texts)
    }
}

/// A way to make a valid value invalid, and the expected path of the error.
#[derive(Debug, Clone)]
pub(crate) enum Corruption {
    Replace { at: String, by: Value },
    Remove { record: String, member: String },
}

#[derive(Default)]
pub(crate) struct Expectations {
    pub(crate) corruptions: Vec<Corruption>,
    /// The JSON pointers of records.
    pub(crate) records: Vec<String>,
    pub(crate) edges: BTreeSet<(String, String)>,
}

/// A relationship with the remaining path to its URN.
#[derive(Clone)]
struct Annotation {
    path: Vec<&'static str>,
    name: &'static str,
    entity_types: Vec<&'static str>,
}

fn strings(list: &'static Value) -> Vec<&'static str> {
    let list = list.as_array().unwrap();
    list.iter().map(|item| item.as_str().unwrap()).collect()
}

pub(crate) fn keys(section: &str) -> Vec<&'static str> {
    let names = REGISTRY[section].as_object().unwrap();
    names.keys().map(String::as_str).collect()
}

/// The aspects of all entity types, each with one type that has it.
pub(crate) fn aspects_of_entities() -> Vec<(&'static str, &'static str)> {
    let entities = REGISTRY["entities"].as_object().unwrap();
    let entity_with = |aspect: &str| {
        let found = entities.iter().find(|(_, entity)| {
            entity["keyAspect"] == aspect || strings_contain(&entity["aspects"], aspect)
        });
        found.map(|(name, _)| name.as_str())
    };
    keys("aspects")
        .into_iter()
        .filter_map(|aspect| Some((aspect, entity_with(aspect)?)))
        .collect()
}

fn strings_contain(list: &Value, text: &str) -> bool {
    list.as_array().unwrap().iter().any(|item| item == text)
}

/// A URN of one of the given types, or of any type.
pub(crate) fn urn(
    choices: &mut Choices,
    entity_types: Option<&[&'static str]>,
    depth: usize,
) -> String {
    let any = keys("entities");
    let entity_type = match entity_types {
        Some(types) => *choices.pick(types),
        // At depth, a type without nested URNs.
        None if depth > 1 => "corpuser",
        None => *choices.pick(&any),
    };
    let entity = &REGISTRY["entities"][entity_type];
    let record = REGISTRY["aspects"][entity["keyAspect"].as_str().unwrap()]["record"]
        .as_str()
        .unwrap();
    let fields = strings(&entity["keyFields"]);
    let parts: Vec<String> = fields
        .iter()
        .map(|field| {
            let field = &REGISTRY["records"][record][field];
            if field["urn"] == true {
                let types = field["relationship"]
                    .as_object()
                    .map(|relationship| strings(&relationship["entityTypes"]));
                return urn(choices, types.as_deref(), depth + 1);
            }
            match field["type"].as_str().unwrap() {
                "string" => choices.text(),
                named => {
                    let symbols = strings(&REGISTRY["records"][named]["enum"]);
                    (*choices.pick(&symbols)).to_owned()
                }
            }
        })
        .collect();
    match parts.as_slice() {
        [single] => format!("urn:li:{entity_type}:{}", single.replace("(a,b)", "p")),
        parts => format!("urn:li:{entity_type}:({})", parts.join(",")),
    }
}

/// A valid value of an aspect.
pub(crate) fn aspect(choices: &mut Choices, name: &str) -> (Value, Expectations) {
    let record = REGISTRY["aspects"][name]["record"].as_str().unwrap();
    let mut generator = Generator {
        choices,
        expectations: Expectations::default(),
    };
    let value = generator.record(record, &[], "");
    (value, generator.expectations)
}

struct Generator<'c> {
    choices: &'c mut Choices,
    expectations: Expectations,
}

impl Generator<'_> {
    fn replace(&mut self, at: &str, by: Value) {
        let at = at.to_owned();
        self.expectations
            .corruptions
            .push(Corruption::Replace { at, by });
    }

    fn record(&mut self, name: &'static str, outer: &[Annotation], at: &str) -> Value {
        self.replace(at, json!([]));
        self.expectations.records.push(at.to_owned());
        let mut members = Map::new();
        for (field_name, field) in REGISTRY["records"][name].as_object().unwrap() {
            let field_at = format!("{at}/{field_name}");
            let optional = field["optional"] == true;
            let required = !optional && field.get("default").is_none();
            if required {
                self.expectations.corruptions.push(Corruption::Remove {
                    record: at.to_owned(),
                    member: field_name.clone(),
                });
            } else {
                match self.choices.below(4) {
                    0 | 1 => continue,
                    2 if optional => {
                        members.insert(field_name.clone(), Value::Null);
                        continue;
                    }
                    _ => {}
                }
            }
            let mut annotations = descend(outer, field_name);
            annotations.extend(own_annotations(field));
            let value = self.value(
                &field["type"],
                field["urn"] == true,
                &annotations,
                &field_at,
            );
            members.insert(field_name.clone(), value);
        }
        Value::Object(members)
    }

    fn value(
        &mut self,
        shape: &'static Value,
        is_urn: bool,
        annotations: &[Annotation],
        at: &str,
    ) -> Value {
        if let Some(items) = shape.get("array") {
            self.replace(at, json!({}));
            let inner = descend(annotations, "*");
            let count = self.choices.below(3);
            return (0..count)
                .map(|index| self.value(items, is_urn, &inner, &format!("{at}/{index}")))
                .collect();
        }
        if let Some(values) = shape.get("map") {
            self.replace(at, json!([]));
            let inner = descend(annotations, "*");
            let mut members = Map::new();
            for name in ["first", "se/co~nd"].iter().take(self.choices.below(3)) {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                let value = self.value(values, is_urn, &inner, &format!("{at}/{escaped}"));
                members.insert((*name).to_owned(), value);
            }
            return Value::Object(members);
        }
        if let Some(members) = shape.get("union") {
            self.replace(at, json!({}));
            self.replace(at, json!({"no.such.Member": {}}));
            self.replace(at, json!("text"));
            let member = *self.choices.pick(&strings(members));
            let member_shape = members
                .as_array()
                .unwrap()
                .iter()
                .find(|shape| *shape == member)
                .unwrap();
            let inner = descend(annotations, member);
            let value = self.value(member_shape, false, &inner, &format!("{at}/{member}"));
            return json!({ member: value });
        }
        self.named(shape.as_str().unwrap(), is_urn, annotations, at)
    }

    fn named(
        &mut self,
        name: &'static str,
        is_urn: bool,
        annotations: &[Annotation],
        at: &str,
    ) -> Value {
        match name {
            "string" if is_urn || !annotations.is_empty() => self.reference(annotations, at),
            "string" | "bytes" => {
                self.replace(at, json!(3));
                self.choices.text().into()
            }
            "boolean" => {
                self.replace(at, json!("true"));
                (self.choices.below(2) == 1).into()
            }
            "int" => {
                self.replace(at, json!(i64::from(i32::MAX) + 1));
                (*self.choices.pick(&[0, -1, i32::MIN, i32::MAX])).into()
            }
            "long" => {
                self.replace(at, json!(1.0));
                self.replace(at, json!(u64::MAX));
                (*self.choices.pick(&[0, -1, i64::MIN, i64::MAX])).into()
            }
            "float" | "double" => {
                self.replace(at, json!("1.5"));
                self.choices
                    .pick(&[json!(0), json!(-1.5), json!(7)])
                    .clone()
            }
            _ => match REGISTRY["records"][name].get("enum") {
                Some(Value::Array(_)) => {
                    self.replace(at, json!("NO_SUCH_SYMBOL"));
                    (*self
                        .choices
                        .pick(&strings(&REGISTRY["records"][name]["enum"])))
                    .into()
                }
                _ => self.record(name, annotations, at),
            },
        }
    }

    fn reference(&mut self, annotations: &[Annotation], at: &str) -> Value {
        self.replace(at, json!("no urn"));
        self.replace(at, json!("urn:li:noSuchType:x"));
        self.replace(at, json!(3));
        let Some(annotation) = annotations.first() else {
            return urn(self.choices, None, 0).into();
        };
        // No relationship points to telemetry.
        self.replace(at, json!("urn:li:telemetry:x"));
        let destination = urn(self.choices, Some(&annotation.entity_types), 0);
        self.expectations
            .edges
            .insert((annotation.name.to_owned(), destination.clone()));
        destination.into()
    }
}

fn own_annotations(field: &'static Value) -> Vec<Annotation> {
    let Some(relationship) = field.get("relationship").and_then(Value::as_object) else {
        return Vec::new();
    };
    let annotation = |path: &'static str, target: &'static Value| Annotation {
        path: path.split('/').skip(1).collect(),
        name: target["name"].as_str().unwrap(),
        entity_types: strings(&target["entityTypes"]),
    };
    if relationship.contains_key("name") {
        return vec![annotation("", &field["relationship"])];
    }
    relationship
        .iter()
        .map(|(path, target)| annotation(path, target))
        .collect()
}

fn descend(annotations: &[Annotation], segment: &str) -> Vec<Annotation> {
    annotations
        .iter()
        .filter(|annotation| annotation.path.first() == Some(&segment))
        .map(|annotation| Annotation {
            path: annotation.path[1..].to_vec(),
            ..annotation.clone()
        })
        .collect()
}

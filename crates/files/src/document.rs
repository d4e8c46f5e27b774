//! Files: how entities are written into them, and read from them.

use std::collections::{BTreeMap, BTreeSet};

use docent_model::{Registry, Urn, shorten};
use serde_json::{Value, json};

use crate::entity::{Entity, PartId};
use crate::kinds::{self, COLUMN_PARTS, Kind, Part};
use crate::names::Names;
use crate::shape::{is_empty, unknown_key};
use crate::values::part_values;
use crate::yaml::{self, Content, Entry, Item, Node, Pair, Problem, Yaml};

/// Imported texts in comments are cut off, so that a line fits a screen.
const MAX_COMMENT_CHARS: usize = 90;
/// The ownership type of owners without one.
const DEFAULT_OWNERSHIP_TYPE: &str = "urn:li:ownershipType:__system__technical_owner";

/// The text of an entity for a file of several.
#[derive(Debug, Clone)]
pub struct Rendered {
    comments: Vec<String>,
    pairs: Vec<Pair>,
}

/// Renders what people have written about an entity.
pub fn render(kind: &Kind, entity: &Entity, names: &Names) -> Rendered {
    let values = part_values(kind, entity);
    let urn = Yaml::Text(entity.urn.to_string());
    let mut pairs = vec![Pair::new("urn", urn)];
    let parts_of = |column: Option<&str>, parts: &[Part], pairs: &mut Vec<Pair>| {
        for part in parts {
            let id = PartId {
                column: column.map(str::to_owned),
                key: part.key,
            };
            if let Some(value) = values.get(&id) {
                pairs.push(Pair::new(part.key, part.shape.to_yaml(value, names)));
            }
        }
    };
    parts_of(None, &kind.parts, &mut pairs);
    let comments = imported_columns(entity);
    let columns = entity.columns().into_iter().map(|path| {
        let mut pairs = vec![Pair::new("name", Yaml::Text(path.to_owned()))];
        parts_of(Some(path), &COLUMN_PARTS, &mut pairs);
        Item {
            comment: comments.get(path).cloned(),
            value: Yaml::Map(pairs),
        }
    });
    let columns: Vec<Item> = columns.collect();
    if !columns.is_empty() && kind.has_columns {
        pairs.push(Pair::new("columns", Yaml::List(columns)));
    }
    Rendered {
        comments: comments_of(kind, entity),
        pairs,
    }
}

/// The text of a file with one entity.
pub fn one_to_text(entity: Rendered) -> String {
    yaml::to_text(&entity.comments, &Yaml::Map(entity.pairs))
}

/// The text of a file with a list of entities.
pub fn list_to_text(entities: Vec<Rendered>) -> String {
    let items = entities.into_iter().map(|entity| Item {
        comment: Some(entity.comments.join("; ")).filter(|it| !it.is_empty()),
        value: Yaml::Map(entity.pairs),
    });
    yaml::to_text(&[], &Yaml::List(items.collect()))
}

/// What connectors say about the entity.
fn comments_of(kind: &Kind, entity: &Entity) -> Vec<String> {
    let mut comments = Vec::new();
    for (aspect, members) in kinds::SHOWN_TITLES {
        let Some(value) = entity.value(aspect) else {
            continue;
        };
        let title = value[members].as_str();
        let title = title.filter(|title| !title.is_empty() && !kind.is_defined_in_files);
        comments.extend(title.map(|title| format!("{}: {}", kind.entity_type, first_line(title))));
    }
    let description = entity
        .value("datasetProperties")
        .map(|it| &it["description"]);
    if let Some(text) = description
        .and_then(Value::as_str)
        .filter(|it| !it.is_empty())
    {
        comments.push(format!("imported description: {}", first_line(text)));
    }
    comments
}

/// The types and imported descriptions of columns.
fn imported_columns(entity: &Entity) -> BTreeMap<&str, String> {
    let fields = entity.value("schemaMetadata").map(|it| &it["fields"]);
    let fields = fields.and_then(Value::as_array).into_iter().flatten();
    let comments = fields.filter_map(|field| {
        let texts = ["nativeDataType", "description"].map(|name| field[name].as_str());
        let texts = texts.into_iter().flatten().filter(|text| !text.is_empty());
        let comment = first_line(&texts.collect::<Vec<_>>().join(": "));
        Some((field["fieldPath"].as_str()?, comment)).filter(|(_, comment)| !comment.is_empty())
    });
    comments.collect()
}

fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut cut: String = line.chars().take(MAX_COMMENT_CHARS).collect();
    if cut.len() < text.trim().len() {
        cut.push('…');
    }
    cut
}

/// An entity in a file, before names are resolved.
#[derive(Debug, Clone)]
pub struct RawEntity {
    pub urn: Urn,
    pub kind: &'static Kind,
    pub line: usize,
    entries: Vec<Entry>,
}

/// What a file says about an entity.
#[derive(Debug, Clone)]
pub struct FileEntity {
    pub urn: Urn,
    pub kind: &'static Kind,
    pub line: usize,
    pub(crate) parts: BTreeMap<PartId, Mention>,
    /// The parts whose values have errors.
    pub(crate) invalid: BTreeSet<PartId>,
    /// The columns that the file mentions, with their lines.
    pub(crate) columns: BTreeMap<String, usize>,
}

/// What a file says about a part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mention {
    pub(crate) line: usize,
    /// The plain value; `None` removes it.
    pub(crate) value: Option<Value>,
    /// The lines of the elements of a list.
    pub(crate) item_lines: Vec<usize>,
}

/// Reads the entities of a file.
pub fn parse(text: &str, problems: &mut Vec<Problem>) -> Vec<RawEntity> {
    let node = match yaml::parse(text) {
        Ok(Some(node)) => node,
        Ok(None) => return Vec::new(),
        Err(problem) => {
            problems.push(problem);
            return Vec::new();
        }
    };
    let nodes = match node.content {
        Content::List(nodes) => nodes,
        _ => vec![node],
    };
    let entities = nodes.into_iter().filter_map(|node| match raw_entity(node) {
        Ok(entity) => Some(entity),
        Err(problem) => {
            problems.push(problem);
            None
        }
    });
    entities.collect()
}

fn raw_entity(node: Node) -> Result<RawEntity, Problem> {
    let line = node.line;
    let description = node.description();
    let Content::Map(entries) = node.content else {
        let message = format!("expected an entity with the key 'urn', found {description}");
        return Err(Problem::new(line, message));
    };
    let urn = entries
        .iter()
        .find(|entry| entry.key == "urn")
        .ok_or_else(|| {
            Problem::new(
                line,
                "the key 'urn' is missing: it says which entity this is",
            )
        })?;
    let line = urn.line;
    let Content::Scalar { text, .. } = &urn.value.content else {
        return Err(Problem::new(line, "the value of 'urn' must be a URN"));
    };
    let urn = Registry::get().parse_urn(text);
    let urn = urn.map_err(|error| Problem::new(line, error.to_string()))?;
    let kind = kinds::of_type(urn.entity_type()).ok_or_else(|| {
        let types: Vec<&str> = kinds::all().iter().map(|kind| kind.entity_type).collect();
        let message = format!(
            "files cannot have a {}: use one of {}",
            urn.entity_type(),
            types.join(", ")
        );
        Problem::new(line, message)
    })?;
    Ok(RawEntity {
        urn,
        kind,
        line,
        entries,
    })
}

impl RawEntity {
    /// The name that the file gives to an entity that it defines.
    pub fn name(&self) -> Option<&str> {
        let entry = self.entries.iter().find(|entry| entry.key == "name")?;
        match &entry.value.content {
            Content::Scalar { text, .. } if self.kind.is_defined_in_files => {
                Some(text.as_str()).filter(|text| !text.is_empty())
            }
            _ => None,
        }
    }

    /// Reads the parts. After an error, which is added to `problems`, a part is left out.
    pub fn read(self, names: &Names, problems: &mut Vec<Problem>) -> FileEntity {
        let mut entity = FileEntity {
            urn: self.urn,
            kind: self.kind,
            line: self.line,
            parts: BTreeMap::new(),
            invalid: BTreeSet::new(),
            columns: BTreeMap::new(),
        };
        for entry in &self.entries {
            if entry.key == "urn" {
                continue;
            }
            if entry.key == "columns" && self.kind.has_columns {
                read_columns(&entry.value, names, &mut entity, problems);
                continue;
            }
            let Some(part) = self.kind.part(&entry.key) else {
                let mut keys = vec!["urn"];
                keys.extend(self.kind.parts.iter().map(|part| part.key));
                keys.extend(self.kind.has_columns.then_some("columns"));
                problems.push(unknown_key(&entry.key, entry.line, &keys));
                continue;
            };
            entity.add(None, part, read_part(part, entry, names, problems));
        }
        entity
    }
}

fn read_part(
    part: &Part,
    entry: &Entry,
    names: &Names,
    problems: &mut Vec<Problem>,
) -> Option<Mention> {
    let line = entry.line;
    // `deprecated: false` is how most would write it.
    let is_false = matches!(&entry.value.content, Content::Scalar { text, .. } if text == "false");
    let value = if part.key == "deprecated" && is_false {
        Value::Null
    } else {
        part.shape.read(&entry.value, names, problems)?
    };
    let value = Some(value).filter(|value| !is_empty(value));
    if value.is_none() && part.is_required {
        problems.push(Problem::new(
            line,
            format!("'{}' must not be empty", part.key),
        ));
        return None;
    }
    let item_lines = match &entry.value.content {
        Content::List(items) => items.iter().map(|item| item.line).collect(),
        _ => Vec::new(),
    };
    let mut mention = Mention {
        line,
        value,
        item_lines,
    };
    if part.key == "owners" {
        complete_owners(&mut mention, problems)?;
    }
    if part.key == "properties"
        && let Some(Value::Object(members)) = &mut mention.value
    {
        members.retain(|_, values| !is_empty(values));
        mention.value = mention.value.filter(|value| !is_empty(value));
    }
    Some(mention)
}

/// Adds the default type to owners without one.
fn complete_owners(mention: &mut Mention, problems: &mut Vec<Problem>) -> Option<()> {
    let owners = mention.value.as_mut().and_then(Value::as_array_mut);
    for owner in owners.into_iter().flatten() {
        if owner.get("user").is_some() == owner.get("group").is_some() {
            let message = "each owner needs either 'user' or 'group'";
            problems.push(Problem::new(mention.line, message));
            return None;
        }
        if owner.get("type").is_none() {
            owner["type"] = json!(DEFAULT_OWNERSHIP_TYPE);
        }
    }
    Some(())
}

fn read_columns(node: &Node, names: &Names, entity: &mut FileEntity, problems: &mut Vec<Problem>) {
    let Content::List(columns) = &node.content else {
        if !node.is_null() {
            let message = format!("expected a list of columns, found {}", node.description());
            problems.push(Problem::new(node.line, message));
        }
        return;
    };
    for column in columns {
        let entries = match &column.content {
            Content::Map(entries) => entries.as_slice(),
            _ => &[],
        };
        let name = entries.iter().find(|entry| entry.key == "name");
        let name = name.and_then(|entry| match &entry.value.content {
            Content::Scalar { text, .. } if !text.is_empty() => Some(text.clone()),
            _ => None,
        });
        let Some(name) = name else {
            let message = "each column needs the key 'name' with the path of the column";
            problems.push(Problem::new(column.line, message));
            continue;
        };
        if let Some(first) = entity.columns.insert(name.clone(), column.line) {
            let message = format!(
                "the column '{}' is already in line {first}: remove one",
                shorten(&name)
            );
            problems.push(Problem::new(column.line, message));
            continue;
        }
        for entry in entries.iter().filter(|entry| entry.key != "name") {
            let Some(part) = COLUMN_PARTS.iter().find(|part| part.key == entry.key) else {
                let keys = ["name", "description", "tags", "terms"];
                problems.push(unknown_key(&entry.key, entry.line, &keys));
                continue;
            };
            let mention = read_part(part, entry, names, problems);
            entity.add(Some(&name), part, mention);
        }
    }
}

impl FileEntity {
    /// Adds a part; `None` after an error in its value.
    fn add(&mut self, column: Option<&str>, part: &Part, mention: Option<Mention>) {
        let id = PartId {
            column: column.map(str::to_owned),
            key: part.key,
        };
        match mention {
            Some(mention) => {
                self.parts.insert(id, mention);
            }
            None => {
                self.invalid.insert(id);
            }
        }
    }

    /// Whether the file has the key of a part, also with an error in its value.
    pub(crate) fn mentions(&self, id: &PartId) -> bool {
        self.parts.contains_key(id) || self.invalid.contains(id)
    }

    /// The URN of the parent that the file names.
    pub fn parent(&self) -> Option<&str> {
        let key = self.kind.parent?;
        let id = PartId { column: None, key };
        self.parts.get(&id)?.value.as_ref()?.as_str()
    }
}

/// The value of a part as a file has it; empty for none.
pub fn value_text(
    kind: &'static Kind,
    id: &PartId,
    value: Option<&Value>,
    names: &Names,
) -> String {
    match (kinds::part_of(kind, id), value) {
        (Some(part), Some(value)) => match part.shape.to_yaml(value, names) {
            Yaml::Text(text) => text,
            other => yaml::to_text(&[], &other).trim().to_owned(),
        },
        _ => String::new(),
    }
}

/// The elements of a part, each in one line.
pub(crate) fn list_texts(
    kind: &'static Kind,
    id: &PartId,
    value: &Value,
    names: &Names,
) -> Vec<String> {
    let Some(part) = kinds::part_of(kind, id) else {
        return Vec::new();
    };
    let items = match part.shape.to_yaml(value, names) {
        Yaml::List(items) => items.into_iter().map(|item| item.value).collect(),
        other => vec![other],
    };
    let texts = items.into_iter().map(|item| match item {
        Yaml::Text(text) | Yaml::Bare(text) => text,
        Yaml::Map(pairs) => {
            let texts = pairs.into_iter().filter_map(|pair| match pair.value {
                Yaml::Text(text) | Yaml::Bare(text) => Some(text),
                _ => None,
            });
            texts.collect::<Vec<_>>().join(" as ")
        }
        Yaml::List(_) => String::new(),
    });
    texts.collect()
}

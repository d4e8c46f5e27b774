//! From an entity's aspects to its document.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use docent_model::searchable::{SearchField, SearchKind, SearchValue, search_values_of_text};
use docent_model::{AspectName, Registry, Urn};
use docent_store::StoredAspect;
use serde_json::Value;
use tantivy::TantivyDocument;
use tantivy::schema::OwnedValue;

use crate::analysis::{Pairs, fold};
use crate::schema::{Fields, cut, exists_text, term_text};

/// What is known about links, which the registry does not annotate.
const LINKS: &str = "institutionalMemory";
const INSTITUTIONAL_MEMORY: &str = "institutionalMemory";

/// Our own fields.
pub(crate) const ENTITY_TYPE: &str = "_entityType";
pub(crate) const REMOVED: &str = "removed";
pub(crate) const HAS_DESCRIPTION: &str = "hasDescription";
pub(crate) const ENTITY_NAME: &str = "_entityName";
const NAME: &str = "name";
/// The registry gives the steps of a path one by one; people filter by the whole.
const BROWSE_PATH: &str = "browsePathV2";
const BROWSE_STEP: char = '␟';

/// A rank is at most this.
pub(crate) const MAX_RANK: u64 = 1000;
const DOCUMENTED_RANK: u64 = 500;
const MAX_USAGE_RANK: u64 = 300;
const MAX_SHORTNESS_RANK: u64 = 100;
/// How much an entity is used, which the registry does not annotate.
const USAGE_FEATURES: &str = "usageFeatures";

/// How much a match in a field says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Name,
    Column,
    Description,
    Other,
}

/// Where the words of a field go; `None` if it is not searched unless asked for by its name.
pub(crate) fn class_of(field: &SearchField) -> Option<Class> {
    if field.kind == SearchKind::Map {
        return Some(Class::Other);
    }
    if field.kind != SearchKind::Text {
        return None;
    }
    if matches!(field.name, "fieldPaths" | "fieldLabels") {
        return Some(Class::Column);
    }
    if field.autocomplete {
        return Some(Class::Name);
    }
    if field.rich_text || field.name.contains("escription") {
        return Some(Class::Description);
    }
    field.query_by_default.then_some(Class::Other)
}

/// Everything that is searched for in an entity, in the order of its aspects.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) values: Vec<(&'static str, Class, String)>,
}

/// What the index knows about an entity.
#[derive(Debug)]
pub(crate) struct Entity {
    pub(crate) texts: Texts,
    /// Values to filter, count and sort by.
    keywords: BTreeMap<&'static str, Vec<OwnedValue>>,
    /// Names of fields that have a value.
    present: Vec<&'static str>,
    removed: bool,
    documented: bool,
    uses: i64,
    /// All steps of the browse path, each behind a [`BROWSE_STEP`].
    browse_path: String,
}

impl Entity {
    pub(crate) fn read(rows: &[(AspectName, StoredAspect)]) -> Self {
        let mut entity = Self {
            texts: Texts::default(),
            keywords: BTreeMap::new(),
            present: Vec::new(),
            removed: false,
            documented: false,
            uses: 0,
            browse_path: String::new(),
        };
        for (aspect, row) in rows {
            // `docent check` tells about rows that are not JSON; the rest of the entity is found all the same.
            let _ = search_values_of_text(*aspect, &row.metadata, &mut |field, value| {
                entity.add(field, value);
            });
            let whole = || serde_json::from_str::<Value>(&row.metadata).unwrap_or_default();
            match aspect.as_str() {
                INSTITUTIONAL_MEMORY => entity.add_links(&whole()),
                USAGE_FEATURES => {
                    let uses = whole().get("queryCountLast30Days").and_then(Value::as_i64);
                    entity.uses = uses.unwrap_or_default();
                }
                _ => {}
            }
        }
        if !entity.browse_path.is_empty() {
            let path = std::mem::take(&mut entity.browse_path);
            entity.add_keyword(BROWSE_PATH, OwnedValue::Str(cut(&path).to_owned()));
        }
        entity.present.sort_unstable();
        entity.present.dedup();
        entity
    }

    fn add(&mut self, field: &'static SearchField, value: SearchValue<'_>) {
        self.present.push(field.name);
        if let Some(flag) = field.has_values {
            self.present.push(flag);
            if flag == HAS_DESCRIPTION {
                self.documented |= matches!(&value, SearchValue::Text(text) if !text.is_empty())
                    && matches!(
                        field.name,
                        "description" | "editedDescription" | "definition"
                    );
            } else {
                self.keywords
                    .entry(flag)
                    .or_insert_with(|| vec![OwnedValue::Str("true".to_owned())]);
            }
        }
        if field.name == REMOVED {
            self.removed |= matches!(value, SearchValue::Flag(true));
            return;
        }
        let class = class_of(field);
        let keyword = match value {
            SearchValue::Text(text) => {
                if let Some(class) = class {
                    self.texts
                        .values
                        .push((field.name, class, text.clone().into_owned()));
                }
                // Prose is searched, not compared.
                if matches!(class, Some(Class::Description)) || field.name == "fieldDescriptions" {
                    return;
                }
                OwnedValue::Str(cut(&text).to_owned())
            }
            SearchValue::Flag(flag) => OwnedValue::Str(flag.to_string()),
            SearchValue::Number(number) => OwnedValue::I64(number),
            SearchValue::Real(number) => OwnedValue::F64(number),
        };
        if field.name == BROWSE_PATH
            && let OwnedValue::Str(step) = &keyword
        {
            self.browse_path.push(BROWSE_STEP);
            self.browse_path.push_str(step);
            return;
        }
        // Whatever an entity's names are called, people filter by `name`.
        if class == Some(Class::Name) && field.name != NAME {
            self.add_keyword(NAME, keyword.clone());
        }
        self.add_keyword(field.name, keyword);
    }

    fn add_keyword(&mut self, field: &'static str, keyword: OwnedValue) {
        let values = self.keywords.entry(field).or_default();
        if !values.contains(&keyword) {
            values.push(keyword);
        }
    }

    fn add_links(&mut self, memory: &Value) {
        let elements = memory.get("elements").and_then(Value::as_array);
        for element in elements.into_iter().flatten() {
            for member in ["description", "url"] {
                if let Some(text) = element.get(member).and_then(Value::as_str) {
                    self.texts
                        .values
                        .push((LINKS, Class::Other, text.to_owned()));
                }
            }
            self.present.push(LINKS);
        }
    }

    /// The labels that the entity carries: tags, terms, domains, owners …, each with its field.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.keywords.iter().flat_map(|(field, values)| {
            let urns = values.iter().filter_map(|value| match value {
                OwnedValue::Str(text) if text.starts_with("urn:") => Some(text.as_str()),
                _ => None,
            });
            urns.map(|urn| (*field, urn))
        })
    }

    /// The first name, for sorting and for suggestions.
    pub(crate) fn display_name<'e>(&'e self, urn: &'e Urn) -> &'e str {
        let mut names = self
            .texts
            .values
            .iter()
            .filter(|(_, class, _)| *class == Class::Name);
        let given = names
            .clone()
            .find(|(field, ..)| matches!(*field, "name" | "displayName" | "title" | "fullName"));
        given
            .or_else(|| names.next())
            .map_or(urn.key(), |(_, _, name)| name)
    }

    /// Whether a name says nothing that another one does not say: it is the same, or the other one's last part.
    fn is_part_of_another_name(&self, at: usize) -> bool {
        let (_, _, text) = &self.texts.values[at];
        self.texts
            .values
            .iter()
            .enumerate()
            .any(|(other_at, (_, class, other))| {
                *class == Class::Name
                    && other_at != at
                    && other.strip_suffix(text.as_str()).is_some_and(|before| {
                        before.ends_with(['.', '/']) || (before.is_empty() && other_at < at)
                    })
            })
    }

    fn rank(&self, name: &str) -> u64 {
        let usage = u64::from((self.uses.max(0) as u64 + 1).ilog2()) * 20;
        let shortness = MAX_SHORTNESS_RANK.saturating_sub(name.len() as u64);
        u64::from(self.documented) * DOCUMENTED_RANK + usage.min(MAX_USAGE_RANK) + shortness
    }

    pub(crate) fn into_document(mut self, urn: &Urn, fields: &Fields) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_text(fields.urn, urn.as_str());
        let mut exact: Vec<String> = Vec::new();
        let mut pairs = Pairs::default();
        for (at, (_, class, text)) in self.texts.values.iter().enumerate() {
            let field = match class {
                Class::Name => fields.name,
                Class::Column => fields.column,
                Class::Description => fields.description,
                Class::Other => fields.other,
            };
            if *class == Class::Name {
                exact.extend(exact_names(text));
                if self.is_part_of_another_name(at) {
                    continue;
                }
            }
            document.add_text(field, text);
            if !may_have_pairs(text) {
                continue;
            }
            let joined = fields.joined(field);
            let add = |pair: &str| document.add_text(joined, pair);
            if matches!(class, Class::Name | Class::Column) {
                pairs.of_name(text).for_each(add);
            } else {
                pairs.of_text(text).for_each(add);
            }
        }
        exact.sort_unstable();
        exact.dedup();
        for exact in &exact {
            document.add_text(fields.exact_name, exact);
        }
        let name = self.display_name(urn).to_owned();
        document.add_u64(fields.rank, self.rank(&name).min(MAX_RANK));
        document.add_u64(fields.order, order_of(&name));
        let own = [
            (ENTITY_TYPE, urn.entity_type().to_owned()),
            (REMOVED, self.removed.to_string()),
            (HAS_DESCRIPTION, self.documented.to_string()),
        ];
        for (field, value) in own {
            self.keywords.insert(field, vec![OwnedValue::Str(value)]);
        }
        for field in &self.present {
            document.add_text(fields.terms, exists_text(field));
        }
        for (field, values) in &self.keywords {
            for value in values {
                document.add_text(fields.terms, term_text(field, &text_of(value)));
            }
        }
        let sorted_by = OwnedValue::Str(cut(&name).to_lowercase());
        let columns = self
            .keywords
            .into_iter()
            .filter(|(field, _)| has_column(field))
            .map(|(field, values)| (field.to_owned(), OwnedValue::Array(values)))
            .chain([(ENTITY_NAME.to_owned(), sorted_by)])
            .collect();
        document.add_object(fields.values, columns);
        document
    }
}

/// Whether a field can be counted and sorted by. Names are nearly all different: nobody counts them, and all are sorted by
/// the one column [`ENTITY_NAME`].
fn has_column(field: &str) -> bool {
    !matches!(field, "fieldPaths" | "customProperties") && !is_name(field)
}

/// Whether a field holds names.
pub(crate) fn is_name(field: &str) -> bool {
    static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let fields = Registry::get().search_fields().iter();
        fields
            .filter(|field| class_of(field) == Some(Class::Name))
            .map(|field| field.name)
            .chain([NAME])
            .collect()
    });
    NAMES.contains(field)
}

/// Most texts have nothing that could be one name of two words, which is told faster than the words are.
fn may_have_pairs(text: &str) -> bool {
    let joins = |pair: &[u8]| {
        matches!(pair, [b'_' | b'-', _] | [b'a'..=b'z', b'A'..=b'Z' | b'0'..=b'9'])
            || !pair.is_ascii()
            || (pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic())
            || (pair[0].is_ascii_uppercase() && !matches!(pair[1], b'a'..=b'z' | b' '))
    };
    text.as_bytes().windows(2).any(joins)
}

fn text_of(value: &OwnedValue) -> Cow<'_, str> {
    match value {
        OwnedValue::Str(text) => Cow::Borrowed(text),
        OwnedValue::I64(number) => Cow::Owned(number.to_string()),
        OwnedValue::F64(number) => Cow::Owned(number.to_string()),
        _ => Cow::Borrowed(""),
    }
}

/// The whole name and its last part, as they are compared with what is typed.
pub(crate) fn exact_names(name: &str) -> impl Iterator<Item = String> {
    let whole = fold(cut(name).trim());
    let last = whole
        .rsplit(['.', '/'])
        .next()
        .filter(|last| last.len() < whole.len() && !last.is_empty())
        .map(str::to_owned);
    std::iter::once(whole).chain(last)
}

/// The first eight bytes of the name.
fn order_of(name: &str) -> u64 {
    let mut bytes = [0; 8];
    for (place, byte) in bytes.iter_mut().zip(name.to_lowercase().bytes()) {
        *place = byte;
    }
    u64::from_be_bytes(bytes)
}

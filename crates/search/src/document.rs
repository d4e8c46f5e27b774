//! From an entity's aspects to its document.

mod columns;
mod written;

use std::borrow::Cow;
use std::cmp::Ordering;

use docent_model::searchable::{SearchField, SearchValue, search_values_of_text};
use docent_model::{AspectName, Urn};
use docent_store::StoredAspect;
use serde_json::Value;

use crate::analysis::fold;
use crate::field::{
    BROWSE_PATH, BROWSE_STEP, Class, ENTITY_TYPE, ENVIRONMENT, Form, HAS_DESCRIPTION, NAME,
    OTHER_ENVIRONMENT, REMOVED, class_of, class_of_name,
};
use crate::label;
use crate::named::start_of;
use crate::schema::{Fields, LAST_PART_MARK, cut, write_exists, write_term};
use columns::ColumnCounts;
pub(crate) use columns::{COLUMNS, DESCRIBED_COLUMNS};
pub(crate) use written::EntityDocument;

/// The aspect of links, which the registry does not annotate, and the field that they are found by.
const LINKS: &str = "institutionalMemory";

/// What a table has of texts, and of values, so that these do not grow step by step.
const USUAL_VALUES: usize = 64;
const USUAL_NAMES: usize = 8;

/// A rank is at most this.
pub(crate) const MAX_RANK: u64 = 1000;
const DOCUMENTED_RANK: u64 = 500;
const MAX_USAGE_RANK: u64 = 300;
const MAX_SHORTNESS_RANK: u64 = 100;
/// How much an entity is used, which the registry does not annotate.
const USAGE_FEATURES: &str = "usageFeatures";

/// What the index knows about an entity, as its aspects say it.
#[derive(Debug, Default)]
pub(crate) struct Entity<'r> {
    /// Everything that is searched for, in the order of the aspects.
    pub(crate) texts: Vec<(&'static str, Class, Cow<'r, str>)>,
    /// Values to filter, count and sort by.
    keywords: Vec<Keyword<'r>>,
    /// Names of fields that have a value and no column to see it by.
    present: Vec<&'static str>,
    /// Its names, each with its field, to filter by.
    names: Vec<(&'static str, Cow<'r, str>)>,
    removed: bool,
    documented: bool,
    uses: i64,
    /// All steps of the browse path, each behind a [`BROWSE_STEP`].
    browse_path: String,
    columns: ColumnCounts<'r>,
}

/// A value of a field.
#[derive(Debug, Clone)]
struct Keyword<'r> {
    field: &'static str,
    value: KeywordValue<'r>,
    /// If the field is searched by its words.
    class: Option<Class>,
}

#[derive(Debug, Clone)]
enum KeywordValue<'r> {
    Text(Cow<'r, str>),
    Number(i64),
    Real(f64),
}

impl<'r> Keyword<'r> {
    fn new(field: &'static str, class: Option<Class>, value: KeywordValue<'r>) -> Self {
        Self {
            field,
            value,
            class,
        }
    }

    /// Of a field that is not searched by its words.
    fn text(field: &'static str, text: impl Into<Cow<'r, str>>) -> Self {
        Self::new(field, None, KeywordValue::Text(text.into()))
    }

    /// By field and value. Any order of the fields would do; that of their lengths is found without looking at them.
    fn compare(&self, other: &Self) -> Ordering {
        let by_length = self.field.len().cmp(&other.field.len());
        let by_field = by_length.then_with(|| self.field.cmp(other.field));
        by_field.then_with(|| self.value.compare(&other.value))
    }
}

impl KeywordValue<'_> {
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::Number(one), Self::Number(other)) => one.cmp(other),
            (Self::Real(one), Self::Real(other)) => one.total_cmp(other),
            (Self::Text(_), _) | (Self::Number(_), Self::Real(_)) => Ordering::Less,
            (Self::Real(_), _) | (Self::Number(_), Self::Text(_)) => Ordering::Greater,
        }
    }

    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(cut(text)),
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Real(number) => Cow::Owned(number.to_string()),
        }
    }
}

impl<'r> Entity<'r> {
    pub(crate) fn of_rows(rows: &'r [(AspectName, StoredAspect)]) -> Self {
        Self::read(rows.iter().map(|(name, row)| (*name, &*row.metadata)))
    }

    pub(crate) fn read(aspects: impl Iterator<Item = (AspectName, &'r str)>) -> Self {
        let mut entity = Self {
            texts: Vec::with_capacity(USUAL_VALUES),
            keywords: Vec::with_capacity(USUAL_VALUES),
            present: Vec::with_capacity(USUAL_VALUES),
            names: Vec::with_capacity(USUAL_NAMES),
            ..Self::default()
        };
        for (aspect, text) in aspects {
            entity.columns.see_aspect(aspect, text);
            // `docent check` tells about rows that are not JSON; the rest of the entity is found all the same.
            let _ = search_values_of_text(aspect, text, &mut |field, value| {
                entity.add(field, value);
            });
            let whole = || serde_json::from_str::<Value>(text).unwrap_or_default();
            match aspect.as_str() {
                LINKS => entity.add_links(&whole()),
                USAGE_FEATURES => {
                    let uses = whole().get("queryCountLast30Days").and_then(Value::as_i64);
                    entity.uses = uses.unwrap_or_default();
                }
                _ => {}
            }
        }
        if !entity.browse_path.is_empty() {
            let path = std::mem::take(&mut entity.browse_path);
            let (class, path) = (class_of_name(BROWSE_PATH), KeywordValue::Text(path.into()));
            entity.keywords.push(Keyword::new(BROWSE_PATH, class, path));
        }
        // What was said twice is counted once.
        entity.keywords.sort_unstable_by(Keyword::compare);
        let keywords = &mut entity.keywords;
        keywords.dedup_by(|later, earlier| later.compare(earlier).is_eq());
        entity.present.sort_unstable();
        entity.present.dedup();
        entity.names.sort_unstable();
        entity.names.dedup();
        entity
    }

    fn add(&mut self, field: &'static SearchField, value: SearchValue<'r>) {
        if let Some(flag) = field.has_values {
            if flag == HAS_DESCRIPTION {
                self.documented |= matches!(&value, SearchValue::Text(text) if !text.is_empty())
                    && matches!(
                        field.name,
                        "description" | "editedDescription" | "definition"
                    );
            } else {
                self.keywords.push(Keyword::text(flag, TRUE));
            }
        }
        if field.name == REMOVED {
            self.present.push(REMOVED);
            self.removed |= matches!(value, SearchValue::Flag(true));
            return;
        }
        let class = class_of(field);
        let value = match value {
            SearchValue::Text(step) if field.name == BROWSE_PATH => {
                self.browse_path.push(BROWSE_STEP);
                self.browse_path.push_str(&step);
                return;
            }
            SearchValue::Text(text) => {
                self.columns.see_value(field.name, text.is_empty());
                if let Some(class) = class {
                    self.texts.push((field.name, class, text.clone()));
                }
                // Prose is searched, not compared.
                if matches!(class, Some(Class::Description)) || field.name == "fieldDescriptions" {
                    self.present.push(field.name);
                    return;
                }
                KeywordValue::Text(text)
            }
            SearchValue::Flag(flag) => KeywordValue::Text(Cow::Borrowed(text_of_flag(flag))),
            SearchValue::Number(number) => KeywordValue::Number(number),
            SearchValue::Real(number) => KeywordValue::Real(number),
        };
        // Nearly all names are different: nobody counts them, and all are sorted by the first of `whole_names`.
        // Whatever they are called, people filter by `name`.
        if class == Some(Class::Name) {
            let fields = [field.name, NAME];
            let text = match value {
                KeywordValue::Text(text) => text,
                number => Cow::Owned(number.text().into_owned()),
            };
            self.names.extend(fields.map(|it| (it, text.clone())));
            self.present.extend(fields);
            return;
        }
        let (name, class) = match field.name {
            OTHER_ENVIRONMENT => (ENVIRONMENT, class_of_name(ENVIRONMENT)),
            name => (name, class),
        };
        self.keywords.push(Keyword::new(name, class, value));
    }

    fn add_links(&mut self, memory: &Value) {
        let elements = memory.get("elements").and_then(Value::as_array);
        for element in elements.into_iter().flatten() {
            for member in ["description", "url"] {
                if let Some(text) = element.get(member).and_then(Value::as_str) {
                    let text = Cow::Owned(text.to_owned());
                    self.texts.push((LINKS, Class::Other, text));
                }
            }
            self.present.push(LINKS);
        }
    }

    /// The labels that the entity carries: tags, terms, domains, owners …, each with its field.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.keywords.iter().filter_map(|keyword| {
            let KeywordValue::Text(text) = &keyword.value else {
                return None;
            };
            text.starts_with("urn:")
                .then_some((keyword.field, text.as_ref()))
        })
    }

    /// The first name, for sorting and for suggestions.
    pub(crate) fn display_name<'e>(&'e self, urn: &'e Urn) -> &'e str {
        let mut names = self
            .texts
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
        let (_, _, text) = &self.texts[at];
        self.texts
            .iter()
            .enumerate()
            .any(|(other_at, (_, class, other))| {
                *class == Class::Name
                    && other_at != at
                    && other.strip_suffix(&**text).is_some_and(|before| {
                        before.ends_with(['.', '/']) || (before.is_empty() && other_at < at)
                    })
            })
    }

    fn rank(&self, name: &str) -> u64 {
        let usage = u64::from((self.uses.max(0) as u64 + 1).ilog2()) * 20;
        let shortness = MAX_SHORTNESS_RANK.saturating_sub(name.len() as u64);
        u64::from(self.documented) * DOCUMENTED_RANK + usage.min(MAX_USAGE_RANK) + shortness
    }

    pub(crate) fn into_document(mut self, urn: &'r Urn, fields: &Fields) -> EntityDocument {
        let mut document = EntityDocument::new();
        document.add_text(fields.urn, urn.as_str());
        let is_label = !label::fields_of(urn.entity_type()).is_empty();
        let mut names = Vec::with_capacity(USUAL_NAMES);
        for (at, (_, class, text)) in self.texts.iter().enumerate() {
            let field = match class {
                Class::Name => fields.name,
                Class::Column => fields.column,
                Class::Description => fields.description,
                Class::Other => fields.other,
            };
            if *class == Class::Name {
                names.push(whole_name(text));
                if self.is_part_of_another_name(at) {
                    continue;
                }
            }
            match class {
                Class::Column => document.add_text(field, &simple_path(text)),
                _ => document.add_text(field, text),
            }
            if *class == Class::Name && is_label {
                document.add_text(fields.label, text);
            }
        }
        let last_parts: Vec<String> = names
            .iter()
            .filter_map(|name| last_part(name))
            .filter(|last| !names.iter().any(|name| name == last))
            .map(|last| format!("{LAST_PART_MARK}{last}"))
            .collect();
        let name = self.display_name(urn);
        let sorted_by = whole_name(name);
        document.add_number(fields.rank, self.rank(name).min(MAX_RANK));
        document.add_number(fields.order, order_of(&sorted_by));
        names.extend(last_parts);
        names.retain(|name| *name != sorted_by);
        names.sort_unstable();
        names.dedup();
        names.insert(0, sorted_by);
        let mut starts: Vec<&str> = Vec::with_capacity(names.len());
        for name in &names {
            document.add_text(fields.whole_names, name);
            starts.push(start_of(name.trim_start_matches(LAST_PART_MARK)));
        }
        starts.sort_unstable();
        starts.dedup();
        for start in starts {
            document.add_text(fields.name_start, start);
        }
        self.keywords.extend([
            Keyword::text(ENTITY_TYPE, urn.entity_type()),
            Keyword::text(REMOVED, text_of_flag(self.removed)),
            Keyword::text(HAS_DESCRIPTION, text_of_flag(self.documented)),
        ]);
        for (field, name) in &self.names {
            document.write_text(fields.terms, |term| write_term(term, field, name));
        }
        for field in &self.present {
            document.write_text(fields.terms, |text| write_exists(text, field));
        }
        let by_field = |one: &Keyword<'_>, other: &Keyword<'_>| one.field == other.field;
        for keywords in self.keywords.chunk_by(by_field) {
            let Some(Keyword { field, class, .. }) = keywords.first() else {
                continue;
            };
            if Form::of(*class) == Form::Lists {
                let values = keywords.iter().map(|it| it.value.text());
                document.add_list_column(field, values);
                continue;
            }
            for Keyword { value, .. } in keywords {
                let text = value.text();
                document.write_text(fields.terms, |term| write_term(term, field, &text));
                match value {
                    KeywordValue::Text(_) => document.add_text_column(field, &text),
                    KeywordValue::Number(number) => document.add_number_column(field, *number),
                    KeywordValue::Real(number) => document.add_real_column(field, *number),
                }
            }
        }
        for (column, count) in self.columns.counts() {
            document.add_number_column(column, count);
        }
        document.set_columns(fields.values);
        document
    }
}

const TRUE: &str = "true";

fn text_of_flag(flag: bool) -> &'static str {
    if flag { TRUE } else { "false" }
}

/// The path of a field without what clients write about its types: `[version=2.0].[type=struct].address.[type=string].city`
/// is `address.city`. Otherwise everything would be found by `string`.
pub(crate) fn simple_path(path: &str) -> Cow<'_, str> {
    if !path.starts_with("[version=") {
        return Cow::Borrowed(path);
    }
    let mut depth = 0_usize;
    let is_name = |character: &char| {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    };
    let names: String = path.chars().filter(is_name).collect();
    let steps: Vec<&str> = names.split('.').filter(|step| !step.is_empty()).collect();
    Cow::Owned(steps.join("."))
}

/// How a name is compared.
pub(crate) fn whole_name(name: &str) -> String {
    fold(cut(name).trim())
}

/// What is left of a name without what it is qualified by.
fn last_part(name: &str) -> Option<&str> {
    let (_, last) = name.rsplit_once(['.', '/'])?;
    Some(last).filter(|last| !last.is_empty())
}

/// The first eight bytes of a name.
fn order_of(name: &str) -> u64 {
    let mut bytes = [0; 8];
    for (place, byte) in bytes.iter_mut().zip(name.bytes()) {
        *place = byte;
    }
    u64::from_be_bytes(bytes)
}

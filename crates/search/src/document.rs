//! Converts an entity's aspects to its document in the index.

mod column_counts;
mod entity_document;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use docent_model::aspects::Ownership;
use docent_model::searchable::{SearchField, SearchValue, search_values_in_json};
use docent_model::{AspectName, Urn};
use docent_store::StoredAspect;
use serde_json::Value;

use crate::analysis::fold;
use crate::field::{
    BROWSE_PATH, BROWSE_PATH_SEPARATOR, ENTITY_TYPE, ENVIRONMENT, ENVIRONMENT_ALIAS,
    HAS_DESCRIPTION, HIDES_ENTITIES, IndexForm, NAME, OWNER_OF_TYPE, REMOVED, TextClass, class_of,
    class_of_name, number_text, numbers_column, ordered, owner_of_type, property_field,
};
use crate::label;
use crate::schema::{Fields, LAST_PART_MARK, cut, may_be_cut, write_exists, write_term};
use crate::whole_name::prefix_of;
use column_counts::ColumnCounts;
pub(crate) use column_counts::{COLUMNS, DESCRIBED_COLUMNS};
pub(crate) use entity_document::EntityDocument;

/// The aspect of links, which the registry does not annotate, and the name of its search field.
const LINKS: &str = "institutionalMemory";

/// Initial capacities that fit a typical table.
const TYPICAL_VALUES: usize = 64;
const TYPICAL_NAMES: usize = 8;

/// The highest possible rank.
pub(crate) const MAX_RANK: u64 = 1000;
const DESCRIBED_RANK: u64 = 500;
const MAX_USAGE_RANK: u64 = 300;
const MAX_SHORTNESS_RANK: u64 = 100;
/// The aspect of usage counts, which the registry does not annotate.
const USAGE_FEATURES: &str = "usageFeatures";

/// What the index needs to know about an entity.
#[derive(Debug, Default)]
pub(crate) struct Entity<'r> {
    /// All searchable texts, in the order of the aspects.
    pub(crate) texts: Vec<(&'static str, TextClass, Cow<'r, str>)>,
    /// Values to filter, count and sort by.
    keywords: Vec<Keyword<'r>>,
    /// Fields that have a value but no column.
    present: Vec<&'static str>,
    /// Names to filter by, each with its field.
    names: Vec<(&'static str, Cow<'r, str>)>,
    /// The values of [`OWNER_OF_TYPE`].
    owners: Vec<String>,
    /// Numbers of structured properties, by the columns that they are sorted by.
    numbers: Vec<(String, i64)>,
    removed: bool,
    described: bool,
    /// Whether it is a lifecycle stage whose entities searches leave out.
    hides_entities: bool,
    uses: i64,
    /// The steps of the browse path, each preceded by [`BROWSE_PATH_SEPARATOR`].
    browse_path: String,
    columns: ColumnCounts<'r>,
}

/// A value of a field.
#[derive(Debug, Clone)]
struct Keyword<'r> {
    field: Cow<'static, str>,
    value: KeywordValue<'r>,
    /// Set if the words of the field are searchable.
    class: Option<TextClass>,
}

#[derive(Debug, Clone)]
enum KeywordValue<'r> {
    Text(Cow<'r, str>),
    Number(i64),
    Real(f64),
}

impl<'r> Keyword<'r> {
    fn new(
        field: impl Into<Cow<'static, str>>,
        class: Option<TextClass>,
        value: KeywordValue<'r>,
    ) -> Self {
        Self {
            field: field.into(),
            value,
            class,
        }
    }

    /// A value of a field whose words are not searchable.
    fn text(field: impl Into<Cow<'static, str>>, text: impl Into<Cow<'r, str>>) -> Self {
        Self::new(field, None, KeywordValue::Text(text.into()))
    }

    /// Orders by field and value. Any order of fields would do; comparing lengths first is the
    /// fastest.
    fn compare(&self, other: &Self) -> Ordering {
        let by_length = self.field.len().cmp(&other.field.len());
        let by_field = by_length.then_with(|| self.field.cmp(&other.field));
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
            texts: Vec::with_capacity(TYPICAL_VALUES),
            keywords: Vec::with_capacity(TYPICAL_VALUES),
            present: Vec::with_capacity(TYPICAL_VALUES),
            names: Vec::with_capacity(TYPICAL_NAMES),
            ..Self::default()
        };
        for (aspect, text) in aspects {
            entity.columns.observe_aspect(aspect, text);
            // `docent check` reports rows that are not JSON. The other aspects of the entity stay
            // searchable.
            let _ = search_values_in_json(aspect, text, &mut |field, value| {
                entity.add(field, value);
            });
            let whole = || serde_json::from_str::<Value>(text).unwrap_or_default();
            match aspect.as_str() {
                LINKS => entity.add_links(&whole()),
                USAGE_FEATURES => {
                    let uses = whole().get("queryCountLast30Days").and_then(Value::as_i64);
                    entity.uses = uses.unwrap_or_default();
                }
                _ if aspect == AspectName::OWNERSHIP => entity.add_owners(text),
                _ if aspect == AspectName::STRUCTURED_PROPERTIES => entity.add_properties(&whole()),
                _ if aspect == AspectName::LIFECYCLE_STAGE_TYPE_INFO => {
                    entity.hides_entities = hides_entities(&whole());
                }
                _ => {}
            }
        }
        if !entity.browse_path.is_empty() {
            let path = std::mem::take(&mut entity.browse_path);
            let (class, path) = (class_of_name(BROWSE_PATH), KeywordValue::Text(path.into()));
            entity.keywords.push(Keyword::new(BROWSE_PATH, class, path));
        }
        // Repeated values count once.
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
                self.described |= matches!(&value, SearchValue::Text(text) if !text.is_empty())
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
                self.browse_path.push(BROWSE_PATH_SEPARATOR);
                self.browse_path.push_str(&step);
                return;
            }
            SearchValue::Text(text) => {
                self.columns.observe_value(field.name, text.is_empty());
                if let Some(class) = class {
                    self.texts.push((field.name, class, text.clone()));
                }
                // Prose is searched by its words and not filtered by value.
                if matches!(class, Some(TextClass::Description))
                    || field.name == "fieldDescriptions"
                {
                    self.present.push(field.name);
                    return;
                }
                KeywordValue::Text(text)
            }
            SearchValue::Flag(flag) => KeywordValue::Text(Cow::Borrowed(text_of_flag(flag))),
            SearchValue::Number(number) => KeywordValue::Number(number),
            SearchValue::Real(number) => KeywordValue::Real(number),
        };
        // Names are nearly all distinct, so they have no facet, and they are sorted by the first of
        // `whole_names`. Clients filter by `name`, whatever the field is called.
        if class == Some(TextClass::Name) {
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
            ENVIRONMENT_ALIAS => (ENVIRONMENT, class_of_name(ENVIRONMENT)),
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
                    self.texts.push((LINKS, TextClass::Other, text));
                }
            }
            self.present.push(LINKS);
        }
    }

    fn add_owners(&mut self, ownership: &str) {
        let ownership: Option<Ownership> = serde_json::from_str(ownership).ok();
        for owner in ownership.into_iter().flat_map(|it| it.owners) {
            let pair = owner_of_type(owner.owner.as_str(), &owner.kind_urn());
            // Policies decide by them, so a part is not enough.
            if !may_be_cut(&pair) {
                self.owners.push(pair);
            }
        }
    }

    /// The values of structured properties, each in a field of its own.
    fn add_properties(&mut self, assigned: &Value) {
        let properties = assigned.get("properties").and_then(Value::as_array);
        for assignment in properties.into_iter().flatten() {
            let property = assignment.get("propertyUrn").and_then(Value::as_str);
            let Some(Ok(property)) = property.map(Urn::parse) else {
                continue;
            };
            let field = property_field(property.key());
            let values = assignment.get("values").and_then(Value::as_array);
            for value in values.into_iter().flatten() {
                if let Some(text) = value.get("string").and_then(Value::as_str) {
                    let keyword = Keyword::text(field.clone(), text.to_owned());
                    self.keywords.push(keyword);
                } else if let Some(number) = value.get("double").and_then(Value::as_f64) {
                    let keyword = Keyword::text(field.clone(), number_text(number));
                    self.keywords.push(keyword);
                    self.numbers.push((numbers_column(&field), ordered(number)));
                }
            }
        }
    }

    /// The URNs that the entity refers to, such as tags, terms, domains and owners, each with its
    /// field.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.keywords.iter().filter_map(|keyword| {
            let KeywordValue::Text(text) = &keyword.value else {
                return None;
            };
            text.starts_with("urn:")
                .then_some((&*keyword.field, text.as_ref()))
        })
    }

    /// The paths of the columns by their descriptions.
    pub(crate) fn columns_by_description(&self) -> HashMap<String, Vec<String>> {
        self.columns.by_description()
    }

    /// The first name, for sorting and for suggestions.
    pub(crate) fn display_name<'e>(&'e self, urn: &'e Urn) -> &'e str {
        let mut names = self
            .texts
            .iter()
            .filter(|(_, class, _)| *class == TextClass::Name);
        let given = names
            .clone()
            .find(|(field, ..)| matches!(*field, "name" | "displayName" | "title" | "fullName"));
        given
            .or_else(|| names.next())
            .map_or(urn.key(), |(_, _, name)| name)
    }

    /// Whether a name adds nothing to another one, because it is equal to it or is its last part.
    fn is_part_of_another_name(&self, at: usize) -> bool {
        let (_, _, text) = &self.texts[at];
        self.texts
            .iter()
            .enumerate()
            .any(|(other_at, (_, class, other))| {
                *class == TextClass::Name
                    && other_at != at
                    && other.strip_suffix(&**text).is_some_and(|before| {
                        before.ends_with(['.', '/']) || (before.is_empty() && other_at < at)
                    })
            })
    }

    fn rank(&self, name: &str) -> u64 {
        let uses = u64::try_from(self.uses).unwrap_or_default();
        let usage = u64::from(uses.saturating_add(1).ilog2()) * 20;
        let shortness = MAX_SHORTNESS_RANK.saturating_sub(name.len() as u64);
        u64::from(self.described) * DESCRIBED_RANK + usage.min(MAX_USAGE_RANK) + shortness
    }

    pub(crate) fn into_document(mut self, urn: &'r Urn, fields: &Fields) -> EntityDocument {
        let mut document = EntityDocument::new();
        document.add_text(fields.urn, urn.as_str());
        let is_label = !label::fields_of(urn.entity_type()).is_empty();
        let mut names = Vec::with_capacity(TYPICAL_NAMES);
        for (at, (_, class, text)) in self.texts.iter().enumerate() {
            let field = match class {
                TextClass::Name => fields.name,
                TextClass::Column => fields.column,
                TextClass::Description => fields.description,
                TextClass::Other => fields.other,
            };
            if *class == TextClass::Name {
                names.push(whole_name(text));
                if self.is_part_of_another_name(at) {
                    continue;
                }
            }
            match class {
                TextClass::Column => document.add_text(field, &simple_path(text)),
                _ => document.add_text(field, text),
            }
            if *class == TextClass::Name && is_label {
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
            starts.push(prefix_of(name.trim_start_matches(LAST_PART_MARK)));
        }
        starts.sort_unstable();
        starts.dedup();
        for start in starts {
            document.add_text(fields.name_start, start);
        }
        self.keywords.extend([
            Keyword::text(ENTITY_TYPE, urn.entity_type()),
            Keyword::text(REMOVED, text_of_flag(self.removed)),
            Keyword::text(HAS_DESCRIPTION, text_of_flag(self.described)),
        ]);
        for (field, name) in &self.names {
            document.write_text(fields.terms, |term| write_term(term, field, name));
        }
        for pair in &self.owners {
            document.write_text(fields.terms, |term| write_term(term, OWNER_OF_TYPE, pair));
        }
        // A deleted stage has no effect.
        if self.hides_entities && !self.removed {
            document.write_text(fields.terms, |term| write_term(term, HIDES_ENTITIES, TRUE));
        }
        for field in &self.present {
            document.write_text(fields.terms, |text| write_exists(text, field));
        }
        let by_field = |one: &Keyword<'_>, other: &Keyword<'_>| one.field == other.field;
        for keywords in self.keywords.chunk_by(by_field) {
            let Some(Keyword { field, class, .. }) = keywords.first() else {
                continue;
            };
            if IndexForm::of(*class) == IndexForm::Lists {
                let values = keywords.iter().map(|it| it.value.text());
                document.add_list_column(field.clone(), values);
                continue;
            }
            for Keyword { value, .. } in keywords {
                let text = value.text();
                document.write_text(fields.terms, |term| write_term(term, field, &text));
                match value {
                    KeywordValue::Text(_) => document.add_text_column(field.clone(), &text),
                    KeywordValue::Number(number) => {
                        document.add_number_column(field.clone(), *number);
                    }
                    KeywordValue::Real(number) => document.add_real_column(field.clone(), *number),
                }
            }
        }
        for (column, count) in self.columns.counts() {
            document.add_number_column(Cow::Borrowed(column), count);
        }
        for (column, number) in self.numbers {
            document.add_number_column(Cow::Owned(column), number);
        }
        document.set_columns(fields.values);
        document
    }
}

const TRUE: &str = "true";

fn text_of_flag(flag: bool) -> &'static str {
    if flag { TRUE } else { "false" }
}

/// Whether searches leave out the entities in a lifecycle stage. One for no entity types is
/// disabled.
fn hides_entities(stage: &Value) -> bool {
    let types = stage.get("entityTypes").and_then(Value::as_array);
    stage["settings"]["hideInSearch"] == true && types.is_none_or(|types| !types.is_empty())
}

/// Removes the type annotations of a version 2 field path:
/// `[version=2.0].[type=struct].address.[type=string].city` becomes `address.city`. Otherwise
/// `string` would match every table.
pub fn simple_path(path: &str) -> Cow<'_, str> {
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

/// The form in which whole names are compared.
pub(crate) fn whole_name(name: &str) -> String {
    fold(cut(name).trim())
}

/// The last part of a qualified name.
fn last_part(name: &str) -> Option<&str> {
    let (_, last) = name.rsplit_once(['.', '/'])?;
    Some(last).filter(|last| !last.is_empty())
}

/// The first eight bytes of a name.
fn order_of(name: &str) -> u64 {
    let mut bytes = [0; 8];
    for (slot, byte) in bytes.iter_mut().zip(name.bytes()) {
        *slot = byte;
    }
    u64::from_be_bytes(bytes)
}

//! Search fields: their names, and the form of their values in the index.

use std::collections::HashMap;
use std::sync::LazyLock;

use docent_model::Registry;
use docent_model::searchable::{SearchField, SearchKind, strip_keyword_suffix};

use crate::schema::URN;

/// Fields of our own.
pub const ENTITY_TYPE: &str = "_entityType";
pub const REMOVED: &str = "removed";
/// The lifecycle stage of an entity.
pub const LIFECYCLE_STAGE: &str = "lifecycleStage";
/// Whether a version of an asset is the latest one; assets without versions have no value.
pub const IS_LATEST: &str = "isLatest";
/// Whether a document is shown outside of the assets that it is about.
pub(crate) const SHOWN_IN_SEARCH: &str = "showInGlobalContext";
/// Marks lifecycle stages whose entities searches leave out.
pub(crate) const HIDES_ENTITIES: &str = "_hidesEntities";
pub(crate) const HAS_DESCRIPTION: &str = "hasDescription";
pub(crate) const NAME: &str = "name";
/// Pairs of an owner and an ownership type, in the form of [`owner_of_type`].
pub const OWNER_OF_TYPE: &str = "_ownerOfType";
/// Some entity types have their environment in one of these fields, some in the other. The index
/// has it in the first.
pub(crate) const ENVIRONMENT: &str = "origin";
pub(crate) const ENVIRONMENT_ALIAS: &str = "env";
/// The registry lists the steps of a path one by one; clients filter by the whole path.
pub const BROWSE_PATH: &str = "browsePathV2";
/// Precedes each step of a path.
pub const BROWSE_PATH_SEPARATOR: char = '␟';

/// The value of [`OWNER_OF_TYPE`] for the URNs of an owner and an ownership type.
pub fn owner_of_type(owner: &str, ownership_type: &str) -> String {
    format!("{owner} {ownership_type}")
}

/// Names by which clients refer to fields of other names.
const ALIASES: [(&str, &str); 7] = [
    ("entityType", ENTITY_TYPE),
    ("type", "typeNames"),
    (ENVIRONMENT_ALIAS, ENVIRONMENT),
    ("_index", ENTITY_TYPE),
    ("documented", HAS_DESCRIPTION),
    ("column", FIELD_PATHS),
    ("columns", FIELD_PATHS),
];

/// Fields that are not in the registry.
const OWN_FIELDS: [&str; 4] = [URN, ENTITY_TYPE, REMOVED, HAS_DESCRIPTION];

/// Names of columns.
const FIELD_PATHS: &str = "fieldPaths";

/// Precedes the id of a structured property in the name of its field.
const PROPERTY_PREFIX: &str = "structuredProperties.";
/// Precedes the id in DataHub's name of a field with a version, which ends with the version and
/// the type of the values.
const VERSIONED_PREFIX: &str = "_versioned.";
/// Ends the name of the column that orders the numbers of a property.
const NUMBERS_SUFFIX: &str = "#numbers";

/// The field of a structured property. Clients write the dots of its id or, like DataHub's index,
/// underscores instead.
pub(crate) fn property_field(id: &str) -> String {
    format!("{PROPERTY_PREFIX}{}", id.replace('.', "_"))
}

pub(crate) fn is_property(field: &str) -> bool {
    field.len() > PROPERTY_PREFIX.len() && field.starts_with(PROPERTY_PREFIX)
}

/// The indexed form of a number of a property, with a decimal point: facets return it, as in
/// DataHub.
pub(crate) fn number_text(number: f64) -> String {
    format!("{number:?}")
}

/// The column by which the numbers of a property are sorted. Its values are also texts, which are
/// filtered and counted.
pub(crate) fn numbers_column(field: &str) -> String {
    format!("{field}{NUMBERS_SUFFIX}")
}

/// An integer that is ordered like the number.
pub(crate) fn ordered(number: f64) -> i64 {
    let bits = number.to_bits().cast_signed();
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

/// The id of a property in `_versioned.<id>.<version>.<type>`.
fn unversioned(name: &str) -> &str {
    let versioned = name.strip_prefix(VERSIONED_PREFIX);
    let mut parts = versioned.unwrap_or_default().rsplitn(3, '.').skip(2);
    parts.next().unwrap_or(name)
}

/// Resolves aliases and case to the name of a field in the index. An unknown field keeps its name,
/// and no document has it.
pub(crate) fn canonical(field: &str) -> String {
    let field = strip_keyword_suffix(field);
    if is_property(field) {
        return property_field(unversioned(&field[PROPERTY_PREFIX.len()..]));
    }
    if let Some((_, name)) = ALIASES.iter().find(|(other, _)| *other == field) {
        return (*name).to_owned();
    }
    if OWN_FIELDS.contains(&field) {
        return field.to_owned();
    }
    if let Some(known) = Registry::get().search_field(field) {
        return known.name.to_owned();
    }
    let others = ALIASES.iter().copied();
    let own = OWN_FIELDS.iter().map(|name| (*name, *name));
    let known = Registry::get().search_fields().iter();
    let known = known.map(|known| (known.name, known.name));
    let mut names = others.chain(own).chain(known);
    names
        .find(|(other, _)| other.eq_ignore_ascii_case(field))
        .map_or(field, |(_, name)| name)
        .to_owned()
}

pub(crate) fn is_field(field: &str) -> bool {
    let name = canonical(field);
    OWN_FIELDS.contains(&name.as_str())
        || is_property(&name)
        || Registry::get()
            .search_fields()
            .iter()
            .any(|known| known.name == name || known.has_values == Some(&name))
}

/// Which text field of the index holds the words of a field. The order is that of relevance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextClass {
    Name,
    Column,
    Description,
    Other,
}

/// `None` if the words of the field are searchable only by `field:value`.
pub(crate) fn class_of(field: &SearchField) -> Option<TextClass> {
    if field.kind == SearchKind::Map {
        return Some(TextClass::Other);
    }
    if field.kind != SearchKind::Text {
        return None;
    }
    if matches!(field.name, "fieldPaths" | "fieldLabels") {
        return Some(TextClass::Column);
    }
    if field.autocomplete {
        return Some(TextClass::Name);
    }
    if field.rich_text || field.name.contains("escription") {
        return Some(TextClass::Description);
    }
    field.query_by_default.then_some(TextClass::Other)
}

/// The form in which the index holds the values of a field for filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexForm {
    Terms,
    /// Terms, and whole names regardless of case and field.
    Names,
    /// Lists, for fields with many, mostly distinct values per entity; see [`crate::list`].
    Lists,
    /// The term that identifies the document.
    Urn,
}

impl IndexForm {
    pub(crate) fn of(class: Option<TextClass>) -> Self {
        match class {
            Some(TextClass::Name) => Self::Names,
            Some(_) => Self::Lists,
            None => Self::Terms,
        }
    }
}

pub(crate) fn form_of(field: &str) -> IndexForm {
    if field == URN {
        return IndexForm::Urn;
    }
    IndexForm::of(class_of_name(field))
}

/// Whether a field holds prose, which is searched by its words and not filtered by value.
pub(crate) fn is_prose(field: &str) -> bool {
    class_of_name(field) == Some(TextClass::Description)
}

/// The class of a field by its name.
pub(crate) fn class_of_name(field: &str) -> Option<TextClass> {
    static CLASSES: LazyLock<HashMap<&str, TextClass>> = LazyLock::new(|| {
        let fields = Registry::get().search_fields().iter();
        fields
            .filter_map(|field| Some((field.name, class_of(field)?)))
            .chain([(NAME, TextClass::Name)])
            .collect()
    });
    CLASSES.get(field).copied()
}

pub(crate) fn is_flag(field: &str) -> bool {
    if field == REMOVED || field == HAS_DESCRIPTION {
        return true;
    }
    let fields = Registry::get().search_fields().iter();
    let mut fields = fields.filter(|known| known.name == field || known.has_values == Some(field));
    fields.any(|known| known.name != field || known.kind == SearchKind::Boolean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_ordered_like_the_numbers_that_they_stand_for() {
        let numbers = [f64::MIN, -2.5, -0.1, 0.0, 0.1, 2.5, 30.0, f64::MAX];
        let ordered: Vec<i64> = numbers.into_iter().map(ordered).collect();
        assert!(
            ordered.is_sorted_by(|one, other| one < other),
            "{ordered:?}"
        );
    }

    #[test]
    fn a_property_has_one_field_however_its_id_is_written() {
        let field = canonical("structuredProperties.io.acryl.retention");
        assert_eq!(field, "structuredProperties.io_acryl_retention");
        assert_eq!(canonical(&format!("{field}.keyword")), field);
        let versioned = "structuredProperties._versioned.io_acryl_retention.20240614080000.string";
        assert_eq!(canonical(versioned), field);
        assert_eq!(
            canonical("structuredProperties._versioned.x"),
            "structuredProperties._versioned_x"
        );
        assert!(is_field(&field));
        assert!(!is_field("structuredProperties."));
    }
}

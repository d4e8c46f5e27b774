//! Search fields: their names, and how their values stand in the index.

use std::collections::HashMap;
use std::sync::LazyLock;

use docent_model::Registry;
use docent_model::searchable::{SearchField, SearchKind, bare_name};

use crate::schema::URN;

/// Our own fields.
pub const ENTITY_TYPE: &str = "_entityType";
pub const REMOVED: &str = "removed";
pub(crate) const HAS_DESCRIPTION: &str = "hasDescription";
pub(crate) const NAME: &str = "name";
/// Some kinds of entity have their environment in the one field, some in the other; here all have it in the first.
pub(crate) const ENVIRONMENT: &str = "origin";
pub(crate) const OTHER_ENVIRONMENT: &str = "env";
/// The registry gives the steps of a path one by one; people filter by the whole.
pub const BROWSE_PATH: &str = "browsePathV2";
/// Before each step of the whole.
pub const BROWSE_STEP: char = '␟';

/// Names that clients use for fields that have another name in the registry.
const OTHER_NAMES: [(&str, &str); 7] = [
    ("entityType", ENTITY_TYPE),
    ("type", "typeNames"),
    (OTHER_ENVIRONMENT, ENVIRONMENT),
    ("_index", ENTITY_TYPE),
    ("documented", HAS_DESCRIPTION),
    ("column", FIELD_PATHS),
    ("columns", FIELD_PATHS),
];

/// Fields that the registry does not have.
const OWN_FIELDS: [&str; 4] = [URN, ENTITY_TYPE, REMOVED, HAS_DESCRIPTION];

/// The names of columns.
const FIELD_PATHS: &str = "fieldPaths";

/// The name under which a field stands in the index, whatever the case of its letters. A field that there is none of keeps
/// its name, and nothing has it.
pub(crate) fn canonical(field: &str) -> String {
    let field = bare_name(field);
    if let Some((_, name)) = OTHER_NAMES.iter().find(|(other, _)| *other == field) {
        return (*name).to_owned();
    }
    if OWN_FIELDS.contains(&field) {
        return field.to_owned();
    }
    if let Some(known) = Registry::get().search_field(field) {
        return known.name.to_owned();
    }
    let others = OTHER_NAMES.iter().copied();
    let own = OWN_FIELDS.iter().map(|name| (*name, *name));
    let known = Registry::get().search_fields().iter();
    let known = known.map(|known| (known.name, known.name));
    let mut names = others.chain(own).chain(known);
    names
        .find(|(other, _)| other.eq_ignore_ascii_case(field))
        .map_or(field, |(_, name)| name)
        .to_owned()
}

/// Whether there is a field of this name.
pub(crate) fn is_field(field: &str) -> bool {
    let name = canonical(field);
    OWN_FIELDS.contains(&name.as_str())
        || Registry::get()
            .search_fields()
            .iter()
            .any(|known| known.name == name || known.has_values == Some(&name))
}

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

/// How the values of a field stand in the index for filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Terms,
    /// As terms, and as whole names without regard to their case and field.
    Names,
    /// As lists: an entity may have many of them, nearly all different; see [`crate::list`].
    Lists,
    /// As the term that identifies the document.
    Urn,
}

impl Form {
    pub(crate) fn of(class: Option<Class>) -> Self {
        match class {
            Some(Class::Name) => Self::Names,
            Some(_) => Self::Lists,
            None => Self::Terms,
        }
    }
}

pub(crate) fn form_of(field: &str) -> Form {
    if field == URN {
        return Form::Urn;
    }
    Form::of(class_of_name(field))
}

/// Whether a field holds prose, which is searched and not compared.
pub(crate) fn is_prose(field: &str) -> bool {
    class_of_name(field) == Some(Class::Description)
}

/// Where the words of the field of this name go.
pub(crate) fn class_of_name(field: &str) -> Option<Class> {
    static CLASSES: LazyLock<HashMap<&str, Class>> = LazyLock::new(|| {
        let fields = Registry::get().search_fields().iter();
        fields
            .filter_map(|field| Some((field.name, class_of(field)?)))
            .chain([(NAME, Class::Name)])
            .collect()
    });
    CLASSES.get(field).copied()
}

/// Whether a field says yes or no.
pub(crate) fn is_flag(field: &str) -> bool {
    if field == REMOVED || field == HAS_DESCRIPTION {
        return true;
    }
    let fields = Registry::get().search_fields().iter();
    let mut fields = fields.filter(|known| known.name == field || known.has_values == Some(field));
    fields.any(|known| known.name != field || known.kind == SearchKind::Boolean)
}

//! What the definition of a structured property demands of its values, and what a new definition
//! may not take from those that are stored.

use std::collections::HashMap;

use docent_model::{Registry, Urn};
use docent_store::StoredAspect;
use serde::Deserialize;
use serde_json::Value;

use super::{PropertyValue, PropertyValues, same};
use crate::{ConflictReason, Error};

const NUMBER: &str = "urn:li:dataType:datahub.number";
const DATE: &str = "urn:li:dataType:datahub.date";
const URN: &str = "urn:li:dataType:datahub.urn";
const STRING: &str = "urn:li:dataType:datahub.string";
const RICH_TEXT: &str = "urn:li:dataType:datahub.rich_text";
/// How many of the allowed values a message has.
const MAX_SHOWN: usize = 20;
/// The longest text that DataHub indexes as one term.
const MAX_TEXT_BYTES: usize = 32_766;
/// The digits of a version, such as 20260131235959.
const VERSION_DIGITS: usize = 14;

/// The parts of a definition that constrain values.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Definition {
    #[serde(default)]
    qualified_name: String,
    value_type: String,
    #[serde(default)]
    cardinality: Option<String>,
    entity_types: Vec<String>,
    #[serde(default)]
    allowed_values: Option<Vec<Allowed>>,
    #[serde(default)]
    type_qualifier: Option<HashMap<String, Vec<String>>>,
    #[serde(default)]
    allowed_platforms: Option<Vec<String>>,
    #[serde(default)]
    immutable: bool,
    #[serde(default)]
    version: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Allowed {
    value: Value,
}

/// A value as DataHub writes it in messages: `{string=a}`.
fn shown(value: &Value) -> String {
    let member = value.as_object().and_then(|it| it.iter().next());
    match member {
        Some((kind, Value::String(text))) => format!("{{{kind}={text}}}"),
        Some((kind, number)) => format!("{{{kind}={number}}}"),
        None => value.to_string(),
    }
}

fn shown_list(allowed: &[Allowed]) -> String {
    let mut texts: Vec<String> = allowed
        .iter()
        .take(MAX_SHOWN)
        .map(|it| shown(&it.value))
        .collect();
    if allowed.len() > MAX_SHOWN {
        texts.push("…".to_owned());
    }
    texts.join(", ")
}

fn is_unknown(entity_type: &str) -> bool {
    let name = entity_type.strip_prefix("urn:li:entityType:");
    let name = name.map(|it| it.strip_prefix("datahub.").unwrap_or(it));
    name.is_none_or(|name| Registry::get().entity(name).is_none())
}

/// The number that a text stands for.
pub(super) fn number_of(text: &str) -> Option<f64> {
    let number = text.trim().parse::<f64>().ok();
    number.filter(|number| number.is_finite())
}

impl Definition {
    /// The stored definition of a property.
    pub(crate) fn read(property: &Urn, row: &StoredAspect) -> Result<Self, Error> {
        serde_json::from_str(&row.metadata).map_err(|error| {
            let message =
                format!("the definition of {property} cannot be read ({error}): write it again");
            Error::conflict(ConflictReason::UnexpectedValue, message)
        })
    }

    /// Whether values that are set stay as they are.
    pub(crate) fn is_immutable(&self) -> bool {
        self.immutable
    }

    /// Whether only assets of some platforms may have the property.
    pub(crate) fn names_platforms(&self) -> bool {
        self.platforms().next().is_some()
    }

    fn platforms(&self) -> impl Iterator<Item = &String> {
        self.allowed_platforms.iter().flatten()
    }

    /// The type of its values, unless it is one of DataHub's own.
    pub(crate) fn custom_value_type(&self) -> Option<&str> {
        let known = [STRING, RICH_TEXT, NUMBER, DATE, URN];
        let own = known.contains(&self.value_type.as_str());
        (!own).then_some(self.value_type.as_str())
    }

    fn is_multiple(&self) -> bool {
        self.cardinality.as_deref() == Some("MULTIPLE")
    }

    fn is_of_numbers(&self) -> bool {
        self.value_type == NUMBER
    }

    fn allowed_types(&self) -> Option<&Vec<String>> {
        self.type_qualifier.as_ref()?.get("allowedTypes")
    }

    /// Fails if the property does not allow the values on an entity. Returns whether some of them
    /// are numbers as text.
    pub(crate) fn check(
        &self,
        entity: &Urn,
        given: &PropertyValues,
        platform: Option<&str>,
    ) -> Result<bool, Error> {
        let property = &given.property;
        let failed = |why: String| {
            let message =
                format!("Failed to update {entity}. The structured property {property} {why}");
            Err(Error::invalid_aspect(message).naming(entity))
        };
        let kind = entity.entity_type();
        if !self.entity_types.iter().any(|it| is_type(it, kind)) {
            return failed(format!("is not for entities of type {kind}."));
        }
        if self.names_platforms() && !self.platforms().any(|it| Some(it.as_str()) == platform) {
            let allowed: Vec<&str> = self.platforms().map(String::as_str).collect();
            return failed(format!("is only for assets of {}.", allowed.join(", ")));
        }
        if !self.is_multiple() && given.values.len() > 1 {
            return failed(format!(
                "takes one value, but {} are given.",
                given.values.len()
            ));
        }
        let mut has_numbers_as_text = false;
        for value in &given.values {
            let parsed = self.parse(value);
            let value = parsed.as_ref().unwrap_or(value);
            has_numbers_as_text |= parsed.is_some();
            let stored = value.stored();
            if let Some(expected) = self.expected_instead(value) {
                return failed(format!(
                    "takes values of type {}: send {expected}.",
                    self.value_type
                ));
            }
            let is_allowed = |allowed: &Allowed| same(&allowed.value, &stored);
            if let Some(allowed) = &self.allowed_values
                && !allowed.iter().any(is_allowed)
            {
                return failed(format!(
                    "does not allow this value: {} should be one of [{}].",
                    shown(&stored),
                    shown_list(allowed)
                ));
            }
        }
        Ok(has_numbers_as_text)
    }

    /// The number that a text stands for, if the property is one of numbers.
    fn parse(&self, value: &PropertyValue) -> Option<PropertyValue> {
        match value {
            PropertyValue::Text(text) if self.is_of_numbers() => {
                number_of(text).map(PropertyValue::Number)
            }
            _ => None,
        }
    }

    /// What to send instead of a value of another type.
    fn expected_instead(&self, value: &PropertyValue) -> Option<String> {
        let text = match value {
            PropertyValue::Number(_) if self.is_of_numbers() => return None,
            PropertyValue::Number(_) => return Some("stringValue".to_owned()),
            PropertyValue::Text(_) if self.is_of_numbers() => {
                return Some("numberValue".to_owned());
            }
            PropertyValue::Text(text) => text,
        };
        if text.len() > MAX_TEXT_BYTES {
            return Some(format!("at most {MAX_TEXT_BYTES} bytes"));
        }
        match self.value_type.as_str() {
            DATE if !is_date(text) => Some("a date as YYYY-MM-DD".to_owned()),
            URN => {
                let Ok(urn) = Urn::parse(text) else {
                    return Some("a URN".to_owned());
                };
                let allowed = self.allowed_types()?;
                let is_allowed = |it: &String| is_type(it, urn.entity_type());
                let types = || allowed.join(", ");
                (!allowed.iter().any(is_allowed)).then(|| format!("a URN of {}", types()))
            }
            _ => None,
        }
    }

    /// Fails for a definition that cannot be, and for one that takes values that the previous one
    /// allows, unless it has a later version.
    pub(crate) fn check_change(
        &self,
        property: &Urn,
        previous: Option<&Self>,
    ) -> Result<(), Error> {
        let failed =
            |why: &str| Err(Error::invalid_aspect(format!("{property}: {why}")).naming(property));
        let is_version =
            |it: &str| it.len() == VERSION_DIGITS && it.bytes().all(|it| it.is_ascii_digit());
        if self.version.as_deref().is_some_and(|it| !is_version(it)) {
            return failed("the version must have 14 digits, such as 20260131235959");
        }
        if property.key().contains(' ') || self.qualified_name.contains(' ') {
            return failed("neither its id nor its qualified name may contain spaces");
        }
        let is_new = |it: &&String| !previous.is_some_and(|old| old.entity_types.contains(it));
        let mut new_types = self.entity_types.iter().filter(is_new);
        if let Some(unknown) = new_types.find(|it| is_unknown(it)) {
            return failed(&format!(
                "the entity type {unknown} does not exist: send one such as urn:li:entityType:datahub.dataset"
            ));
        }
        if let Some(unknown) = self
            .allowed_types()
            .into_iter()
            .flatten()
            .find(|it| is_unknown(it))
        {
            return failed(&format!(
                "the allowed type {unknown} is no entity type: send one such as urn:li:entityType:datahub.corpuser"
            ));
        }
        let Some(previous) = previous else {
            return Ok(());
        };
        if self.qualified_name != previous.qualified_name {
            return failed("its qualified name cannot be changed");
        }
        if self.version.is_some() && self.version > previous.version {
            return Ok(());
        }
        if self.value_type != previous.value_type {
            return failed("its value type cannot be changed, because it has values of that type");
        }
        if previous.is_multiple() && !self.is_multiple() {
            return failed("its cardinality cannot be changed from MULTIPLE to SINGLE");
        }
        let Some(allowed) = &self.allowed_values else {
            return Ok(());
        };
        let is_left = |old: &Allowed| allowed.iter().any(|it| same(&it.value, &old.value));
        let are_left = |old: &Vec<Allowed>| old.iter().all(is_left);
        if !previous.allowed_values.as_ref().is_some_and(are_left) {
            return failed(
                "values that it allows cannot be removed: allowed values are only added",
            );
        }
        Ok(())
    }
}

/// Whether the URN of an entity type is that of a type in the registry.
fn is_type(urn: &str, entity_type: &str) -> bool {
    let name = urn.strip_prefix("urn:li:entityType:");
    let name = name.map(|it| it.strip_prefix("datahub.").unwrap_or(it));
    name.is_some_and(|name| name.eq_ignore_ascii_case(entity_type))
}

fn is_date(text: &str) -> bool {
    text.len() == "YYYY-MM-DD".len() && text.parse::<jiff::civil::Date>().is_ok()
}

/// Fails for display settings that hide a property and show it.
pub(crate) fn check_settings(property: &Urn, settings: &Value) -> Result<(), Error> {
    let is_set = |member: &str| settings.get(member).and_then(Value::as_bool) == Some(true);
    let places = [
        "showInSearchFilters",
        "showInAssetSummary",
        "showAsAssetBadge",
        "showInColumnsTable",
    ];
    if is_set("isHidden") && places.into_iter().any(is_set) {
        let message = format!(
            "Cannot have property isHidden = true while other display location settings are also true. ({property})"
        );
        return Err(Error::invalid_aspect(message).naming(property));
    }
    Ok(())
}

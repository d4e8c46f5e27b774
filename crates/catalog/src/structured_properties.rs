//! Values of structured properties: typed properties that the organization defines.
//!
//! A value must match the definition of its property, whichever API it comes through. The write
//! path compares both ([`check_values`]), in the transaction that stores the value.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use docent_store::StoredAspect;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::proposal::Proposal;
use crate::target::Target;
use crate::{AspectKey, Caller, Catalog, ConflictReason, Error, ReadRequest};

/// All values that an entity gets of one property.
#[derive(Debug, Clone)]
pub struct PropertyValues {
    pub property: Urn,
    pub values: Vec<PropertyValue>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PropertyValue {
    Text(String),
    Number(f64),
}

impl PropertyValue {
    /// As stored: a union names the type of its value.
    fn stored(&self) -> Value {
        match self {
            Self::Text(text) => json!({ "string": text }),
            Self::Number(number) => json!({ "double": number }),
        }
    }

    fn of_stored(value: &Value) -> Option<Self> {
        let text = value.get("string").and_then(Value::as_str);
        let text = text.map(|text| Self::Text(text.to_owned()));
        text.or_else(|| value.get("double")?.as_f64().map(Self::Number))
    }
}

/// The properties that an aspect has values of.
pub(crate) fn properties_in(aspect: &Value) -> impl Iterator<Item = Urn> {
    let properties = assignments_in(Some(aspect)).iter().filter_map(property_of);
    properties.filter_map(|text| Urn::parse(text).ok())
}

/// The values of an aspect that are not stored yet.
pub(crate) fn new_values(
    stored: Option<&Value>,
    proposed: &Value,
) -> Result<Vec<PropertyValues>, Error> {
    let stored = assignments_in(stored);
    let is_stored = |given: &&Value| {
        let is_same = |it: &Value| {
            property_of(it) == property_of(given)
                && have_same_values(values_of(it), values_of(given))
        };
        stored.iter().any(is_same)
    };
    let proposed = assignments_in(Some(proposed)).iter();
    let new = proposed.filter(|it| !is_stored(it)).map(|given| {
        let property = Urn::parse(property_of(given).unwrap_or_default())?;
        property.expect_type("structuredProperty")?;
        let values = values_of(given).iter().filter_map(PropertyValue::of_stored);
        Ok::<_, Error>(PropertyValues {
            property,
            values: values.collect(),
        })
    });
    new.collect()
}

/// Fails if a property is missing or does not allow the values on an entity.
pub(crate) fn check_values(
    entity: &Urn,
    given: &PropertyValues,
    definition: Option<&StoredAspect>,
) -> Result<(), Error> {
    let property = &given.property;
    let definition = definition.ok_or_else(|| {
        let message = format!(
            "Failed to update {entity}. The structured property {property} does not exist."
        );
        Error::no_entity(message).naming(entity)
    })?;
    let definition: Definition = serde_json::from_str(&definition.metadata).map_err(|error| {
        let message =
            format!("the definition of {property} cannot be read ({error}): write it again");
        Error::conflict(ConflictReason::UnexpectedValue, message)
    })?;
    definition.check(entity, given)
}

fn assignments_in(aspect: Option<&Value>) -> &[Value] {
    let assignments = aspect.and_then(|aspect| aspect.get("properties")?.as_array());
    assignments.map_or(&[], Vec::as_slice)
}

fn property_of(assignment: &Value) -> Option<&str> {
    assignment.get("propertyUrn")?.as_str()
}

fn values_of(assignment: &Value) -> &[Value] {
    let values = assignment.get("values").and_then(Value::as_array);
    values.map_or(&[], Vec::as_slice)
}

fn have_same_values(one: &[Value], other: &[Value]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
}

/// The parts of a definition that constrain values.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Definition {
    value_type: String,
    #[serde(default)]
    cardinality: Option<String>,
    entity_types: Vec<String>,
    #[serde(default)]
    allowed_values: Option<Vec<Allowed>>,
}

#[derive(Debug, Deserialize)]
struct Allowed {
    value: Value,
}

impl Definition {
    fn check(&self, entity: &Urn, given: &PropertyValues) -> Result<(), Error> {
        let property = &given.property;
        let failed = |why: String| {
            let message =
                format!("Failed to update {entity}. The structured property {property} {why}");
            Err(Error::invalid_aspect(message).naming(entity))
        };
        let kind = entity.entity_type();
        let is_for = |known: &String| {
            let known = known.strip_prefix("urn:li:entityType:datahub.");
            known.is_some_and(|known| known.eq_ignore_ascii_case(kind))
        };
        if !self.entity_types.iter().any(is_for) {
            return failed(format!("is not for entities of type {kind}."));
        }
        if self.cardinality.as_deref() != Some("MULTIPLE") && given.values.len() > 1 {
            return failed(format!(
                "takes one value, but {} are given.",
                given.values.len()
            ));
        }
        let wants_number = self.value_type == "urn:li:dataType:datahub.number";
        for value in &given.values {
            let is_number = matches!(value, PropertyValue::Number(_));
            if is_number != wants_number {
                let expected = if wants_number {
                    "numberValue"
                } else {
                    "stringValue"
                };
                return failed(format!(
                    "takes values of type {}: send {expected}.",
                    self.value_type
                ));
            }
            let stored = value.stored();
            let is_allowed = |allowed: &Allowed| same(&allowed.value, &stored);
            if let Some(allowed) = &self.allowed_values
                && !allowed.iter().any(is_allowed)
            {
                return failed(format!("does not allow the value {stored}."));
            }
        }
        Ok(())
    }
}

/// Whether two stored values are equal; a whole number has two notations.
fn same(left: &Value, right: &Value) -> bool {
    let number = |value: &Value| value["double"].as_f64();
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left.total_cmp(&right).is_eq(),
        _ => left == right,
    }
}

impl Catalog {
    /// Sets the values of existing properties on an existing entity, and returns the resulting
    /// aspect.
    pub async fn upsert_structured_properties(
        &self,
        caller: &Caller,
        entity: &Urn,
        given: Vec<PropertyValues>,
    ) -> Result<Value, Error> {
        for PropertyValues { property, values } in &given {
            property.expect_type("structuredProperty")?;
            if values.is_empty() {
                return Err(Error::invalid(format!(
                    "Failed to update {entity}. The structured property {property} needs a value; \
                     remove the property instead."
                )));
            }
        }
        self.edit_properties(caller, entity, move |assignments, stamp| {
            for one in &given {
                upsert(assignments, one, stamp);
            }
        })
        .await
    }

    /// Removes properties from an existing entity, and returns the resulting aspect. A missing
    /// property is no error.
    pub async fn remove_structured_properties(
        &self,
        caller: &Caller,
        entity: &Urn,
        properties: Vec<Urn>,
    ) -> Result<Value, Error> {
        for property in &properties {
            property.expect_type("structuredProperty")?;
        }
        self.edit_properties(caller, entity, move |assignments, _| {
            assignments.retain(|known| !properties.iter().any(|property| is_of(known, property)));
        })
        .await
    }

    async fn edit_properties<F>(
        &self,
        caller: &Caller,
        entity: &Urn,
        edit: F,
    ) -> Result<Value, Error>
    where
        F: Fn(&mut Vec<Value>, &AuditStamp) + Send + Sync + 'static,
    {
        let target = Target::entity(entity.clone());
        let aspect = AspectName::STRUCTURED_PROPERTIES;
        target.expect_aspect(aspect, "structured properties")?;
        let proposal = Proposal::edit_if::<Map<String, Value>, _>(
            entity.clone(),
            aspect,
            move |current, stamp| {
                let is_there = current.is_some();
                let mut holder = current.unwrap_or_default();
                let list = holder.entry("properties").or_insert_with(|| json!([]));
                if let Value::Array(assignments) = list {
                    edit(assignments, stamp);
                }
                let is_empty = list.as_array().is_some_and(Vec::is_empty);
                Ok((is_there || !is_empty).then_some(holder))
            },
        )
        .requires_target();
        self.apply(caller, vec![proposal]).await?;
        let key = AspectKey::new(entity, aspect);
        let row = self.read(ReadRequest::row(&key)).await?.into_row();
        Ok(row
            .and_then(|row| serde_json::from_str(&row.metadata).ok())
            .unwrap_or_else(|| json!({"properties": []})))
    }
}

fn is_of(assignment: &Value, property: &Urn) -> bool {
    property_of(assignment) == Some(property.as_str())
}

/// Equal values stay unchanged, stamps included.
fn upsert(assignments: &mut Vec<Value>, given: &PropertyValues, stamp: &AuditStamp) {
    let values: Vec<Value> = given.values.iter().map(PropertyValue::stored).collect();
    let known = assignments
        .iter_mut()
        .find(|known| is_of(known, &given.property));
    let Some(known) = known else {
        assignments.push(json!({
            "propertyUrn": given.property, "values": values, "created": stamp, "lastModified": stamp,
        }));
        return;
    };
    if !have_same_values(values_of(known), &values) {
        known["values"] = json!(values);
        known["lastModified"] = json!(stamp);
    }
}

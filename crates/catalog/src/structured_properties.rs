//! Values of structured properties: typed properties that the organization defines.
//!
//! A value must match the definition of its property. Definitions are read before the write: one
//! that changes at the same time counts as changed afterwards.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
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
            Err(Error::invalid(format!(
                "Failed to update {entity}. The structured property {property} {why}"
            )))
        };
        let kind = entity.entity_type();
        let is_for =
            |known: &String| known.strip_prefix("urn:li:entityType:datahub.") == Some(kind);
        if !self.entity_types.iter().any(is_for) {
            return failed(format!("is not for entities of type {kind}."));
        }
        if given.values.is_empty() {
            return failed("needs a value; remove the property instead.".to_owned());
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
        let mut keys = Vec::with_capacity(given.len());
        for one in &given {
            one.property.expect_type("structuredProperty")?;
            keys.push(AspectKey::new(
                &one.property,
                AspectName::PROPERTY_DEFINITION,
            ));
        }
        let definitions = self.read(ReadRequest::rows(&keys)).await?.rows;
        for (one, row) in given.iter().zip(definitions) {
            let missing = || {
                Error::no_entity(format!(
                    "Failed to update {entity}. The structured property {} does not exist.",
                    one.property
                ))
            };
            let row = row.ok_or_else(missing)?;
            let definition: Definition = serde_json::from_str(&row.metadata).map_err(|error| {
                Error::conflict(
                    ConflictReason::UnexpectedValue,
                    format!(
                        "the definition of {} cannot be read ({error}): write it again",
                        one.property
                    ),
                )
            })?;
            definition.check(entity, one)?;
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
    assignment["propertyUrn"].as_str() == Some(property.as_str())
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
    let before = known["values"].as_array().map_or(&[][..], Vec::as_slice);
    let unchanged = before.len() == values.len()
        && before
            .iter()
            .zip(&values)
            .all(|(left, right)| same(left, right));
    if !unchanged {
        known["values"] = json!(values);
        known["lastModified"] = json!(stamp);
    }
}

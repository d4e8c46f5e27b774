//! Values of structured properties: typed properties that the organization defines.
//!
//! A value must match the definition of its property, whichever API it comes through. The write
//! path compares both ([`definition`]), in the transaction that stores the value.

pub(crate) mod definition;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use serde_json::{Value, json};

use crate::proposal::Proposal;
use crate::target::{Target, edit_list};
use crate::{AspectKey, Caller, Catalog, Error, ReadRequest};

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
    pub(crate) fn stored(&self) -> Value {
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

/// The stored properties that a new value of the aspect lacks or has other values of.
pub(crate) fn changed_properties<'v>(
    stored: Option<&'v Value>,
    proposed: &'v Value,
) -> impl Iterator<Item = Urn> + 'v {
    let proposed = assignments_in(Some(proposed));
    let is_changed = |it: &&Value| {
        let is_same = |new: &Value| {
            property_of(new) == property_of(it) && have_same_values(values_of(new), values_of(it))
        };
        !proposed.iter().any(is_same)
    };
    let changed = assignments_in(stored)
        .iter()
        .filter(move |it| is_changed(it));
    changed.filter_map(|it| Urn::parse(property_of(it)?).ok())
}

/// Stores the values of a numeric property as numbers: clients may send them as text.
pub(crate) fn parse_numbers(aspect: &mut Value, property: &Urn) {
    let assignments = aspect.get_mut("properties").and_then(Value::as_array_mut);
    let assignments = assignments.into_iter().flatten();
    for assignment in assignments.filter(|it| is_of(it, property)) {
        let values = assignment.get_mut("values").and_then(Value::as_array_mut);
        for value in values.into_iter().flatten() {
            if let Some(PropertyValue::Text(text)) = PropertyValue::of_stored(value)
                && let Some(number) = definition::number_of(&text)
            {
                *value = PropertyValue::Number(number).stored();
            }
        }
    }
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

/// Whether two stored values are equal; a whole number has two notations.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
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
        check_given(entity, &given)?;
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
        let aspect = AspectName::STRUCTURED_PROPERTIES;
        let proposal = edit_proposal(entity, edit)?.requires_target();
        self.apply(caller, vec![proposal]).await?;
        let key = AspectKey::new(entity, aspect);
        let row = self.read(ReadRequest::row(&key)).await?.into_row();
        Ok(row
            .and_then(|row| serde_json::from_str(&row.metadata).ok())
            .unwrap_or_else(|| json!({"properties": []})))
    }
}

/// An edit of the properties of an entity.
fn edit_proposal<F>(entity: &Urn, edit: F) -> Result<Proposal, Error>
where
    F: Fn(&mut Vec<Value>, &AuditStamp) + Send + Sync + 'static,
{
    let aspect = AspectName::STRUCTURED_PROPERTIES;
    Target::entity(entity.clone()).expect_aspect(aspect, "structured properties")?;
    Ok(edit_list(entity, aspect, "properties", edit))
}

/// Sets the values of properties.
pub(crate) fn upsert_proposal(entity: &Urn, given: Vec<PropertyValues>) -> Result<Proposal, Error> {
    check_given(entity, &given)?;
    edit_proposal(entity, move |assignments, stamp| {
        for one in &given {
            upsert(assignments, one, stamp);
        }
    })
}

/// Removes all values of a property.
pub(crate) fn without_property(entity: &Urn, property: &Urn) -> Proposal {
    let property = property.clone();
    let edit = move |assignments: &mut Vec<Value>, _: &AuditStamp| {
        assignments.retain(|it| !is_of(it, &property));
    };
    edit_list(
        entity,
        AspectName::STRUCTURED_PROPERTIES,
        "properties",
        edit,
    )
}

fn check_given(entity: &Urn, given: &[PropertyValues]) -> Result<(), Error> {
    for PropertyValues { property, values } in given {
        property.expect_type("structuredProperty")?;
        if values.is_empty() {
            return Err(Error::invalid(format!(
                "Failed to update {entity}. The structured property {property} needs a value; \
                 remove the property instead."
            )));
        }
    }
    Ok(())
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

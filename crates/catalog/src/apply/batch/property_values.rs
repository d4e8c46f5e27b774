//! Compares values of structured properties with the definitions of their properties, and new
//! definitions with those that they replace.

use docent_model::{AspectName, Registry, Urn};
use serde::Deserialize;
use serde_json::Value;

use super::Batch;
use crate::forms::check_prompts;
use crate::lifecycle::is_removed;
use crate::lifecycle_stages::check_definition as check_stage_definition;
use crate::stored::aspect_value;
use crate::structured_properties::definition::{Definition, check_settings};
use crate::structured_properties::{changed_properties, new_values, parse_numbers};
use crate::{ConflictReason, Error};

impl Batch<'_> {
    /// Checks a value against what else is stored. Returns the value to store instead, if that is
    /// another.
    pub(super) async fn check_value(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
        direct: bool,
        stored: Option<&Value>,
        proposed: &Value,
    ) -> Result<Option<Value>, Error> {
        match aspect {
            AspectName::STRUCTURED_PROPERTIES => {
                self.check_property_values(urn, stored, proposed).await
            }
            AspectName::PROPERTY_DEFINITION => {
                self.check_definition(urn, stored, proposed).await?;
                Ok(None)
            }
            AspectName::STRUCTURED_PROPERTY_SETTINGS => {
                check_settings(urn, proposed)?;
                Ok(None)
            }
            AspectName::FORM_INFO => {
                check_prompts(urn, proposed)?;
                Ok(None)
            }
            AspectName::GLOSSARY_NODE_INFO => {
                self.check_glossary_parent(urn, stored, proposed).await?;
                Ok(None)
            }
            AspectName::STATUS => {
                self.check_lifecycle_stage(urn, stored, proposed).await?;
                Ok(None)
            }
            AspectName::INCIDENT_INFO => {
                self.follow_incident(urn, stored, Some(proposed)).await?;
                Ok(None)
            }
            AspectName::LIFECYCLE_STAGE_TYPE_INFO => {
                check_stage_definition(urn, proposed)?;
                Ok(None)
            }
            AspectName::DATA_CONTRACT_PROPERTIES if !direct => {
                self.expect_only_contract(urn, proposed).await?;
                Ok(None)
            }
            AspectName::LOGICAL_PARENT => {
                self.check_logical_parent(urn, stored, proposed).await?;
                Ok(None)
            }
            AspectName::VERSION_PROPERTIES => {
                self.follow_version(urn, direct, stored, proposed).await
            }
            AspectName::VERSION_SET_PROPERTIES => {
                self.follow_version_set(urn, stored, proposed).await?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Checks the values that differ from the stored ones. Those stay valid when a definition
    /// changes, so that other properties can still be edited. Returns the value with numbers that
    /// were sent as text.
    async fn check_property_values(
        &mut self,
        entity: &Urn,
        stored: Option<&Value>,
        proposed: &Value,
    ) -> Result<Option<Value>, Error> {
        let mut parsed = None;
        for given in new_values(stored, proposed)? {
            let property = &given.property;
            let definition = self.definition(property).await?.ok_or_else(|| {
                let message = format!(
                    "Failed to update {entity}. The structured property {property} does not exist."
                );
                Error::no_entity(message).naming(entity)
            })?;
            if self.is_soft_deleted(property).await? {
                let message = format!(
                    "Failed to update {entity}. Cannot apply a soft deleted Structured Property value: restore {property} first."
                );
                return Err(Error::invalid_aspect(message).naming(entity));
            }
            let platform = if definition.names_platforms() {
                self.platform(entity).await?
            } else {
                None
            };
            if definition.check(entity, &given, platform.as_deref())? {
                parse_numbers(parsed.get_or_insert_with(|| proposed.clone()), property);
            }
        }
        let proposed = parsed.as_ref().unwrap_or(proposed);
        for property in changed_properties(stored, proposed) {
            let definition = self.definition(&property).await?;
            if definition.is_some_and(|it| it.is_immutable()) {
                let message = format!(
                    "Failed to update {entity}. The structured property {property} is immutable: its values cannot be \
                     changed or removed."
                );
                return Err(Error::invalid_aspect(message).naming(entity));
            }
        }
        Ok(parsed)
    }

    async fn check_definition(
        &mut self,
        property: &Urn,
        stored: Option<&Value>,
        proposed: &Value,
    ) -> Result<(), Error> {
        if self.is_soft_deleted(property).await? {
            let message = format!(
                "Cannot mutate a soft deleted Structured Property Definition: restore {property} first"
            );
            return Err(Error::invalid_aspect(message).naming(property));
        }
        let new = Definition::deserialize(proposed)
            .map_err(|error| Error::invalid_aspect(error.to_string()).naming(property))?;
        // One that cannot be read may be replaced by any.
        let previous = stored.and_then(|it| Definition::deserialize(it).ok());
        let known = previous.as_ref().and_then(Definition::custom_value_type);
        if let Some(custom) = new.custom_value_type().filter(|it| known != Some(*it)) {
            self.expect_data_type(property, custom).await?;
        }
        new.check_change(property, previous.as_ref())
    }

    /// Fails unless this is the URN of a data type that somebody has defined.
    async fn expect_data_type(&mut self, property: &Urn, name: &str) -> Result<(), Error> {
        if let Ok(urn) = Urn::parse(name)
            && urn.entity_type() == "dataType"
            && let Some(spec) = Registry::get().entity("dataType")
            && self.exists(&urn, spec).await?
        {
            return Ok(());
        }
        let message = format!(
            "{property}: the value type {name} does not exist: send one such as urn:li:dataType:datahub.string"
        );
        Err(Error::invalid_aspect(message).naming(property))
    }

    /// Fails if the dataset of a contract has got another one since the edit was prepared: it has
    /// one, which the edit would have changed.
    async fn expect_only_contract(
        &mut self,
        contract: &Urn,
        proposed: &Value,
    ) -> Result<(), Error> {
        let Some(dataset) = proposed["entity"].as_str() else {
            return Ok(());
        };
        let dataset = Urn::parse(dataset)?;
        self.flush().await?;
        let aspect = AspectName::DATA_CONTRACT_PROPERTIES;
        let contracts = self.tx.edges_into(&dataset, aspect, 2).await?;
        let is_known = contracts.is_empty() || contracts.iter().any(|it| it.urn == *contract);
        if is_known {
            return Ok(());
        }
        let message =
            format!("{dataset} has got another contract meanwhile: send the request again");
        Err(Error::conflict(ConflictReason::ChangedMeanwhile, message).naming(&dataset))
    }

    async fn definition(&mut self, property: &Urn) -> Result<Option<Definition>, Error> {
        let row = self.get(property, AspectName::PROPERTY_DEFINITION).await?;
        self.budget.parse(row.as_ref())?;
        row.map(|row| Definition::read(property, &row)).transpose()
    }

    pub(super) async fn is_soft_deleted(&mut self, urn: &Urn) -> Result<bool, Error> {
        let status = self.get(urn, AspectName::STATUS).await?;
        Ok(is_removed(&status))
    }

    /// The platform of an asset, or of the dataset of a column.
    async fn platform(&mut self, entity: &Urn) -> Result<Option<String>, Error> {
        let column_of = (entity.entity_type() == "schemaField").then(|| {
            entity
                .key_parts()
                .first()
                .and_then(|it| Urn::parse(it).ok())
        });
        let asset = column_of.flatten().unwrap_or_else(|| entity.clone());
        let aspect = AspectName::DATA_PLATFORM_INSTANCE;
        let has_aspect = Registry::get().entity(asset.entity_type());
        if has_aspect.is_some_and(|it| it.has_aspect(aspect)) {
            let row = self.get(&asset, aspect).await?;
            let instance: Option<Value> = aspect_value(&row);
            let platform = instance.and_then(|it| Some(it.get("platform")?.as_str()?.to_owned()));
            if platform.is_some() {
                return Ok(platform);
            }
        }
        let parts = asset.key_parts();
        let platform = parts
            .first()
            .filter(|it| it.starts_with("urn:li:dataPlatform:"));
        Ok(platform.map(|it| (*it).to_owned()))
    }
}

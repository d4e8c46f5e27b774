//! Compares values of structured properties with the definitions of their properties.

use docent_model::{AspectName, Urn};
use serde_json::Value;

use super::Batch;
use crate::Error;
use crate::structured_properties::{check_values, new_values};

impl Batch<'_> {
    /// Checks the values that differ from the stored ones. Those stay valid when a definition
    /// changes, so that other properties can still be edited.
    pub(super) async fn check_property_values(
        &mut self,
        entity: &Urn,
        stored: Option<&Value>,
        proposed: &Value,
    ) -> Result<(), Error> {
        for given in new_values(stored, proposed)? {
            let definition = AspectName::PROPERTY_DEFINITION;
            let row = self.get(&given.property, definition).await?;
            self.budget.parse(row.as_ref())?;
            check_values(entity, &given, row.as_deref())?;
        }
        Ok(())
    }
}

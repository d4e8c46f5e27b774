//! Display names that users set.

use docent_model::aspects::EditableDatasetProperties;
use docent_model::{AspectName, Registry, Urn};
use serde_json::json;

use crate::domains::{edit_properties, name_taken};
use crate::limits::check_name;
use crate::proposal::{Proposal, Requirement};
use crate::target::edit_members;
use crate::{Caller, Catalog, Error};

impl Catalog {
    /// Renames an entity. A dataset also keeps its ingested name.
    pub async fn update_name(&self, caller: &Caller, urn: &Urn, name: &str) -> Result<(), Error> {
        check_name("an entity", name)?;
        let proposal = rename(urn, name.to_owned())?.requires_target();
        if urn.entity_type() == "dataProduct" {
            return self.apply_to_product(caller, urn, proposal).await;
        }
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }
}

fn rename(urn: &Urn, name: String) -> Result<Proposal, Error> {
    match urn.entity_type() {
        "domain" => Ok(
            edit_properties(urn, "Domain does not exist", move |properties, _| {
                properties.name.clone_from(&name);
                Ok(())
            })
            .requires(Requirement::UniqueSiblingName {
                otherwise: name_taken,
            }),
        ),
        "dataset" => Ok(Proposal::edit_stamped::<EditableDatasetProperties, _>(
            urn.clone(),
            AspectName::EDITABLE_DATASET_PROPERTIES,
            move |properties, _| {
                properties.name = Some(name.clone());
                Ok(())
            },
        )),
        entity_type => named_in(entity_type)
            .and_then(|(aspect, member)| Some((Registry::get().aspect(aspect)?, member)))
            .map(|(aspect, member)| edit_members(urn, aspect, vec![(member, Some(json!(name)))]))
            .ok_or_else(|| {
                Error::invalid(format!(
                    "Failed to update name. Unsupported resource type {urn} provided."
                ))
            }),
    }
}

/// The member of the aspect that holds the name of other entity types.
fn named_in(entity_type: &str) -> Option<(&'static str, &'static str)> {
    match entity_type {
        "glossaryTerm" => Some(("glossaryTermInfo", "name")),
        "glossaryNode" => Some(("glossaryNodeInfo", "name")),
        "corpGroup" => Some(("corpGroupInfo", "displayName")),
        "dataProduct" => Some(("dataProductProperties", "name")),
        "businessAttribute" => Some(("businessAttributeInfo", "name")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_aspect_is_in_the_registry_for_its_entity() {
        let mut count = 0;
        for entity in Registry::get().entities() {
            if let Some((aspect, _)) = named_in(entity.name) {
                count += 1;
                let aspect = Registry::get().aspect(aspect).unwrap();
                assert!(entity.has_aspect(aspect), "{} {aspect}", entity.name);
            }
        }
        assert_eq!(count, 5);
    }
}

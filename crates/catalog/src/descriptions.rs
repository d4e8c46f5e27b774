//! Descriptions that users write: of datasets, their columns, containers, domains and more.

use docent_model::aspects::EditableDatasetProperties;
use docent_model::{AspectName, Registry, Urn};
use serde_json::{Map, Value};

use crate::domains::edit_properties;
use crate::privilege::{EDIT_DATASET_COL_DESCRIPTION, EDIT_ENTITY_DOCS};
use crate::proposal::{Proposal, missing_target};
use crate::target::{Target, edit_column};
use crate::{AspectKey, Caller, Catalog, ConflictReason, Error, ErrorKind, ReadRequest};

/// A text to write, and the one that its author saw.
#[derive(Debug, Clone)]
pub struct NewDescription {
    pub text: String,
    /// The text to replace, empty if there was none. If another one is stored, the update fails.
    /// `None` overwrites any text.
    pub replaces: Option<String>,
}

impl From<&str> for NewDescription {
    fn from(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            replaces: None,
        }
    }
}

impl NewDescription {
    /// Fails if the stored text is not the one that the author saw.
    fn check(&self, stored: Option<&str>) -> Result<(), Error> {
        match &self.replaces {
            Some(seen) if seen != stored.unwrap_or_default() => Err(Error::conflict(
                ConflictReason::ChangedMeanwhile,
                "The description was changed meanwhile, so nothing was written. Read it again, and send the text that \
                 you mean to replace.",
            )),
            _ => Ok(()),
        }
    }
}

impl Catalog {
    /// Sets the description of an entity, or of a column of a dataset. The text is stored
    /// unchanged.
    pub async fn update_description(
        &self,
        caller: &Caller,
        target: &Urn,
        column: Option<&str>,
        description: impl Into<NewDescription>,
    ) -> Result<(), Error> {
        let description = &description.into();
        let Some(column) = column else {
            let proposal = entity_description(target, description)?
                .requires_target()
                .also_allowed_by(&[EDIT_ENTITY_DOCS]);
            self.apply(caller, vec![proposal]).await?;
            return Ok(());
        };
        let proposal = column_description(target, column, description)?;
        let no_column = match self.apply(caller, vec![proposal]).await {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NoColumn => error,
            Err(error) => return Err(error),
        };
        // Only a sibling may have the column, such as the model that builds the table.
        for sibling in self.siblings(target).await? {
            let proposal = column_description(&sibling, column, description)?;
            match self.apply(caller, vec![proposal]).await {
                Ok(_) => return Ok(()),
                Err(error) if matches!(error.kind(), ErrorKind::NoEntity | ErrorKind::NoColumn) => {
                }
                Err(error) => return Err(error),
            }
        }
        Err(no_column)
    }

    /// The datasets that represent the same table on another platform.
    async fn siblings(&self, dataset: &Urn) -> Result<Vec<Urn>, Error> {
        #[derive(serde::Deserialize)]
        struct Siblings {
            siblings: Vec<Urn>,
        }
        let key = AspectKey::new(dataset, AspectName::SIBLINGS);
        let row = self.read(ReadRequest::row(&key)).await?.into_row();
        let siblings = row.and_then(|row| serde_json::from_str::<Siblings>(&row.metadata).ok());
        Ok(siblings
            .map(|found| found.siblings)
            .unwrap_or_default()
            .into_iter()
            .filter(|sibling| {
                sibling.entity_type() == "dataset"
                    && sibling != dataset
                    && Registry::get().check_urn(sibling).is_ok()
            })
            .collect())
    }
}

fn column_description(
    dataset: &Urn,
    column: &str,
    description: &NewDescription,
) -> Result<Proposal, Error> {
    let target = Target::new(dataset.clone(), Some(column.to_owned()));
    target.expect_columns()?;
    let new = description.clone();
    let proposal = edit_column(dataset, column, move |field, _| {
        new.check(field.description.as_deref())?;
        let changed = field.description.as_ref() != Some(&new.text);
        field.description = Some(new.text.clone());
        Ok(changed)
    });
    let proposal = proposal.also_allowed_by(&[EDIT_DATASET_COL_DESCRIPTION]);
    Ok(target.required_by(proposal, missing_target(dataset)))
}

fn entity_description(target: &Urn, description: &NewDescription) -> Result<Proposal, Error> {
    let new = description.clone();
    match target.entity_type() {
        "dataset" => Ok(Proposal::edit_stamped::<EditableDatasetProperties, _>(
            target.clone(),
            AspectName::EDITABLE_DATASET_PROPERTIES,
            move |properties, _| {
                new.check(properties.description.as_deref())?;
                properties.description = Some(new.text.clone());
                Ok(())
            },
        )),
        "domain" => Ok(edit_properties(
            target,
            "Properties for this Domain do not yet exist!",
            move |properties, _| {
                new.check(properties.description.as_deref())?;
                properties.description = Some(new.text.clone());
                Ok(())
            },
        )),
        entity_type => match described_in(entity_type) {
            Some(place) => place.proposal(target, new),
            None => Err(Error::invalid(format!(
                "Failed to update description. Unsupported resource type {target} provided."
            ))),
        },
    }
}

/// The aspect and the member (a path with dots) of the user-edited description of an entity type.
pub(crate) fn description_path(entity_type: &str) -> Option<(&'static str, &'static str)> {
    match entity_type {
        "dataset" => Some(("editableDatasetProperties", "description")),
        "domain" => Some(("domainProperties", "description")),
        entity_type => described_in(entity_type).map(|place| (place.aspect, place.member)),
    }
}

/// The location of a description that is one member of one aspect.
struct DescribedIn {
    aspect: &'static str,
    /// The member, a path with dots.
    member: &'static str,
    /// Whether the description may create the aspect; others need ingested values first.
    may_be_new: bool,
}

fn described_in(entity_type: &str) -> Option<DescribedIn> {
    let place = |aspect, member, may_be_new| {
        Some(DescribedIn {
            aspect,
            member,
            may_be_new,
        })
    };
    match entity_type {
        "container" => place("editableContainerProperties", "description", true),
        "dashboard" => place("editableDashboardProperties", "description", true),
        "chart" => place("editableChartProperties", "description", true),
        "dataFlow" => place("editableDataFlowProperties", "description", true),
        "dataJob" => place("editableDataJobProperties", "description", true),
        "glossaryTerm" => place("glossaryTermInfo", "definition", false),
        "glossaryNode" => place("glossaryNodeInfo", "definition", false),
        "tag" => place("tagProperties", "description", false),
        "corpGroup" => place("corpGroupEditableInfo", "description", true),
        "notebook" => place("editableNotebookProperties", "description", true),
        "mlModel" => place("editableMlModelProperties", "description", true),
        "mlModelGroup" => place("editableMlModelGroupProperties", "description", true),
        "mlFeatureTable" => place("editableMlFeatureTableProperties", "description", true),
        "mlFeature" => place("editableMlFeatureProperties", "description", true),
        "mlPrimaryKey" => place("editableMlPrimaryKeyProperties", "description", true),
        "dataProduct" => place("dataProductProperties", "description", false),
        "businessAttribute" => place("businessAttributeInfo", "description", false),
        "application" => place("applicationProperties", "description", false),
        "document" => place("documentInfo", "contents.text", false),
        _ => None,
    }
}

impl DescribedIn {
    fn proposal(self, target: &Urn, new: NewDescription) -> Result<Proposal, Error> {
        let aspect = Registry::get().aspect(self.aspect).ok_or_else(|| {
            Error::invalid(format!("{target} has no description that can be edited"))
        })?;
        let missing =
            format!("Failed to update {target}. It has no {aspect} aspect yet: ingest that first.");
        Ok(Proposal::edit::<Map<String, Value>, _>(
            target.clone(),
            aspect,
            move |current, _| {
                let mut aspect = match current {
                    Some(aspect) => aspect,
                    None if self.may_be_new => Map::new(),
                    None => return Err(Error::invalid(missing.clone())),
                };
                new.check(member(&aspect, self.member))?;
                set_member(&mut aspect, self.member, &new.text);
                Ok(aspect)
            },
        ))
    }
}

fn member<'a>(object: &'a Map<String, Value>, path: &str) -> Option<&'a str> {
    let mut steps = path.split('.');
    let first = object.get(steps.next()?)?;
    steps
        .try_fold(first, |value, step| value.get(step))?
        .as_str()
}

fn set_member(object: &mut Map<String, Value>, path: &str, text: &str) {
    let Some((outer, inner)) = path.split_once('.') else {
        object.insert(path.to_owned(), Value::from(text));
        return;
    };
    let nested = object
        .entry(outer)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(nested) = nested {
        set_member(nested, inner, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_described_aspect_is_in_the_registry_for_its_entity() {
        let described = Registry::get()
            .entities()
            .filter_map(|entity| Some((entity, described_in(entity.name)?)));
        let mut count = 0;
        for (entity, place) in described {
            count += 1;
            let aspect = Registry::get().aspect(place.aspect);
            assert!(
                aspect.is_some_and(|aspect| entity.has_aspect(aspect)),
                "{} {}",
                entity.name,
                place.aspect
            );
        }
        assert_eq!(count, 19);
    }
}

//! `updateDataset` and `updateDatasets`.

use docent_catalog::Error;
use docent_catalog::datasets::{
    ColumnUpdate, DatasetUpdate, DeprecationUpdate, LinkUpdate, PropertiesUpdate,
};
use docent_catalog::owners::NewOwner;
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{optional_urn, urn};
use crate::{Args, Context};

pub(super) async fn update_dataset(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let dataset = arguments.urn("urn")?;
    let update = arguments.input::<DatasetUpdateInput>()?.into_catalog()?;
    context
        .catalog
        .update_datasets(&context.caller, vec![(dataset.clone(), update)])
        .await?;
    Ok(json!(dataset))
}

pub(super) async fn update_datasets(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Item {
        urn: String,
        update: DatasetUpdateInput,
    }
    let updates = arguments
        .input::<Vec<Item>>()?
        .into_iter()
        .map(|item| Ok((urn(&item.urn)?, item.update.into_catalog()?)))
        .collect::<Result<Vec<(Urn, DatasetUpdate)>, Error>>()?;
    let datasets: Vec<Urn> = updates.iter().map(|(urn, _)| urn.clone()).collect();
    context
        .catalog
        .update_datasets(&context.caller, updates)
        .await?;
    Ok(json!(datasets))
}

/// `DatasetUpdateInput`; all members are optional.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct DatasetUpdateInput {
    editable_properties: Option<PropertiesInput>,
    institutional_memory: Option<LinksInput>,
    editable_schema_metadata: Option<ColumnsInput>,
    ownership: Option<OwnersInput>,
    deprecation: Option<DeprecationInput>,
    global_tags: Option<TagsInput>,
    tags: Option<TagsInput>,
}

#[derive(Deserialize)]
struct PropertiesInput {
    description: String,
    name: Option<String>,
}

#[derive(Deserialize)]
struct LinksInput {
    elements: Vec<LinkInput>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LinkInput {
    url: String,
    description: Option<String>,
    author: String,
    created_at: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ColumnsInput {
    editable_schema_field_info: Vec<ColumnInput>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ColumnInput {
    field_path: String,
    description: Option<String>,
    global_tags: Option<TagsInput>,
}

/// `OwnershipUpdate`.
#[derive(Deserialize)]
pub(super) struct OwnersInput {
    owners: Vec<OwnerInput>,
}

impl OwnersInput {
    pub(super) fn new_owners(self) -> Result<Vec<NewOwner>, Error> {
        let new_owner = |owner: OwnerInput| {
            Ok(NewOwner {
                owner: urn(&owner.owner)?,
                kind: owner.r#type,
                kind_urn: optional_urn(owner.ownership_type_urn.as_deref())?,
            })
        };
        self.owners.into_iter().map(new_owner).collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnerInput {
    owner: String,
    r#type: Option<String>,
    ownership_type_urn: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeprecationInput {
    deprecated: bool,
    decommission_time: Option<i64>,
    note: String,
}

/// `GlobalTagsUpdate`.
#[derive(Deserialize)]
pub(super) struct TagsInput {
    tags: Option<Vec<TagAssociationInput>>,
}

#[derive(Deserialize)]
struct TagAssociationInput {
    tag: TagInput,
}

#[derive(Deserialize)]
struct TagInput {
    urn: String,
}

impl DatasetUpdateInput {
    fn into_catalog(self) -> Result<DatasetUpdate, Error> {
        Ok(DatasetUpdate {
            properties: self.editable_properties.map(|properties| PropertiesUpdate {
                description: properties.description,
                name: properties.name,
            }),
            links: convert_all(
                self.institutional_memory.map(|memory| memory.elements),
                |link| {
                    Ok(LinkUpdate {
                        url: link.url,
                        description: link.description,
                        author: urn(&link.author)?,
                        created_at: link.created_at,
                    })
                },
            )?
            .unwrap_or_default(),
            columns: convert_all(
                self.editable_schema_metadata
                    .map(|columns| columns.editable_schema_field_info),
                |column| {
                    Ok(ColumnUpdate {
                        field_path: column.field_path,
                        description: column.description,
                        tags: tag_urns(column.global_tags)?,
                    })
                },
            )?
            .unwrap_or_default(),
            owners: self.ownership.map(OwnersInput::new_owners).transpose()?,
            deprecation: self.deprecation.map(|deprecation| DeprecationUpdate {
                deprecated: deprecation.deprecated,
                decommission_time: deprecation.decommission_time,
                note: deprecation.note,
            }),
            tags: tag_urns(self.global_tags.or(self.tags))?,
        })
    }
}

pub(super) fn tag_urns(tags: Option<TagsInput>) -> Result<Option<Vec<Urn>>, Error> {
    convert_all(
        tags.map(|tags| tags.tags.unwrap_or_default()),
        |association| urn(&association.tag.urn),
    )
}

fn convert_all<T, U>(
    items: Option<Vec<T>>,
    convert: impl FnMut(T) -> Result<U, Error>,
) -> Result<Option<Vec<U>>, Error> {
    items
        .map(|items| items.into_iter().map(convert).collect())
        .transpose()
}

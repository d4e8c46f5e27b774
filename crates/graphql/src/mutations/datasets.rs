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
    let update = arguments.input::<Update>()?.into_catalog()?;
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
        update: Update,
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

/// `DatasetUpdateInput`; every part may be left out.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Update {
    editable_properties: Option<Properties>,
    institutional_memory: Option<Elements<Link>>,
    editable_schema_metadata: Option<Columns>,
    ownership: Option<OwnersUpdate>,
    deprecation: Option<Deprecation>,
    global_tags: Option<Tags>,
    tags: Option<Tags>,
}

#[derive(Deserialize)]
struct Properties {
    description: String,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Elements<T> {
    elements: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    url: String,
    description: Option<String>,
    author: String,
    created_at: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Columns {
    editable_schema_field_info: Vec<Column>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Column {
    field_path: String,
    description: Option<String>,
    global_tags: Option<Tags>,
}

/// `OwnershipUpdate`.
#[derive(Deserialize)]
pub(super) struct OwnersUpdate {
    owners: Vec<Owner>,
}

impl OwnersUpdate {
    pub(super) fn new_owners(self) -> Result<Vec<NewOwner>, Error> {
        let new_owner = |owner: Owner| {
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
struct Owner {
    owner: String,
    r#type: Option<String>,
    ownership_type_urn: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Deprecation {
    deprecated: bool,
    decommission_time: Option<i64>,
    note: String,
}

#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<TagAssociation>>,
}

#[derive(Deserialize)]
struct TagAssociation {
    tag: Tag,
}

#[derive(Deserialize)]
struct Tag {
    urn: String,
}

impl Update {
    fn into_catalog(self) -> Result<DatasetUpdate, Error> {
        Ok(DatasetUpdate {
            properties: self.editable_properties.map(|properties| PropertiesUpdate {
                description: properties.description,
                name: properties.name,
            }),
            links: each(
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
            columns: each(
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
            owners: self.ownership.map(OwnersUpdate::new_owners).transpose()?,
            deprecation: self.deprecation.map(|deprecation| DeprecationUpdate {
                deprecated: deprecation.deprecated,
                decommission_time: deprecation.decommission_time,
                note: deprecation.note,
            }),
            tags: tag_urns(self.global_tags.or(self.tags))?,
        })
    }
}

fn tag_urns(tags: Option<Tags>) -> Result<Option<Vec<Urn>>, Error> {
    each(
        tags.map(|tags| tags.tags.unwrap_or_default()),
        |association| urn(&association.tag.urn),
    )
}

fn each<T, U>(
    items: Option<Vec<T>>,
    convert: impl FnMut(T) -> Result<U, Error>,
) -> Result<Option<Vec<U>>, Error> {
    items
        .map(|items| items.into_iter().map(convert).collect())
        .transpose()
}

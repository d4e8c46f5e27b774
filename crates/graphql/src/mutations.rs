//! The fields of `Mutation`: from GraphQL input to one call of the catalog each.
//!
//! To add one: a field in `schema/mutation.graphql`, a use case in the catalog, an `async fn` here that reads
//! the arguments and calls it, and a line in [`register`]. See docs/adding-a-mutation.md.

mod datasets;
mod domains;
mod links;
mod tokens;

use docent_catalog::Error;
use docent_model::{Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Args, Context, Resolvers};

pub(crate) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("updateDataset", datasets::update_dataset)
        .mutation("updateDatasets", datasets::update_datasets)
        .mutation("updateDescription", update_description)
        .mutation("updateName", update_name)
        .mutation(
            "updateDisplayProperties",
            domains::update_display_properties,
        )
        .mutation("createDomain", domains::create_domain)
        .mutation("moveDomain", domains::move_domain)
        .mutation("deleteDomain", domains::delete_domain)
        .mutation("setDomain", domains::set_domain)
        .mutation("batchSetDomain", domains::batch_set_domain)
        .mutation("unsetDomain", domains::unset_domain)
        .mutation("removeDomain", domains::unset_domain)
        .mutation("addLink", links::add_link)
        .mutation("updateLink", links::update_link)
        .mutation("upsertLink", links::upsert_link)
        .mutation("removeLink", links::remove_link)
        .mutation("createAccessToken", tokens::create_access_token)
        .mutation("revokeAccessToken", tokens::revoke_access_token)
}

/// A URN inside of an input object.
fn urn(text: &str) -> Result<Urn, Error> {
    Ok(Registry::get().parse_urn(text)?)
}

fn optional_urn(text: Option<&str>) -> Result<Option<Urn>, Error> {
    text.map(urn).transpose()
}

/// A column that an input may name beside its dataset.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SubResource {
    sub_resource_type: Option<String>,
    sub_resource: Option<String>,
}

impl SubResource {
    /// The column's path. Half of the pair is an error: guessing which half was meant would write to the
    /// wrong place.
    fn column(self) -> Result<Option<String>, Error> {
        match (self.sub_resource_type, self.sub_resource) {
            (None, None) => Ok(None),
            (Some(_), Some(column)) => Ok(Some(column)),
            (Some(kind), None) => Err(Error::Invalid(format!(
                "subResourceType {kind} needs a subResource: the path of the column"
            ))),
            (None, Some(column)) => Err(Error::Invalid(format!(
                "subResource '{column}' needs subResourceType: DATASET_FIELD"
            ))),
        }
    }
}

async fn update_description(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        description: String,
        resource_urn: String,
        #[serde(flatten)]
        sub_resource: SubResource,
    }
    let input: Input = arguments.input()?;
    let column = input.sub_resource.column()?;
    context
        .catalog
        .update_description(
            &context.caller,
            &urn(&input.resource_urn)?,
            column.as_deref(),
            &input.description,
        )
        .await?;
    Ok(json!(true))
}

async fn update_name(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        name: String,
        urn: String,
    }
    let input: Input = arguments.input()?;
    context
        .catalog
        .update_name(&context.caller, &urn(&input.urn)?, &input.name)
        .await?;
    Ok(json!(true))
}

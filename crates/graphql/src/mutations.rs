//! The fields of `Mutation`: each converts its input and calls the catalog once.
//!
//! To add one, add a field to `schema/mutation.graphql`, a use case to the catalog, an `async fn`
//! here that reads the arguments and calls it, and a line to [`register`], or to that of its noun.
//! See docs/adding-a-mutation.md.

mod accounts;
mod assertions;
mod assets;
mod attributes_and_tests;
mod datasets;
mod documents;
mod domains;
mod forms;
mod glossary;
mod groups;
mod incidents;
mod ingestion;
mod labels;
mod lifecycle;
mod lineage;
mod links;
mod models;
mod owners;
mod pages;
mod patches;
mod policies;
mod posts;
mod products;
mod proposals;
mod quality;
mod roles;
mod saved_queries;
mod secrets;
mod settings;
mod structured_properties;
mod tokens;
mod versions;
mod views;
mod vocabulary;
mod webhooks;

use docent_catalog::descriptions::NewDescription;
use docent_catalog::{Error, ErrorSubject, Target};
use docent_model::{Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Args, Context, Resolvers};

pub(crate) fn register(resolvers: Resolvers) -> Resolvers {
    let parts = [
        assets::register,
        attributes_and_tests::register,
        documents::register,
        forms::register,
        glossary::register,
        incidents::register,
        ingestion::register,
        lineage::register,
        models::register,
        pages::register,
        posts::register,
        products::register,
        quality::register,
        saved_queries::register,
        versions::register,
        secrets::register,
        settings::register,
        structured_properties::register,
        tokens::register,
        views::register,
        webhooks::register,
    ];
    let resolvers = parts.iter().fold(resolvers, |all, part| part(all));
    register_accounts(register_assets(resolvers))
}

/// Edits of descriptions, links, labels, owners and domains.
fn register_assets(resolvers: Resolvers) -> Resolvers {
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
        .mutation("addTag", labels::add_tags)
        .mutation("addTags", labels::add_tags)
        .mutation("removeTag", labels::remove_tags)
        .mutation("batchAddTags", labels::add_tags)
        .mutation("batchRemoveTags", labels::remove_tags)
        .mutation("addTerm", labels::add_terms)
        .mutation("addTerms", labels::add_terms)
        .mutation("removeTerm", labels::remove_terms)
        .mutation("batchAddTerms", labels::add_terms)
        .mutation("batchRemoveTerms", labels::remove_terms)
        .mutation("addOwner", owners::add_owner)
        .mutation("addOwners", owners::add_owners)
        .mutation("removeOwner", owners::remove_owner)
        .mutation("batchAddOwners", owners::batch_add_owners)
        .mutation("batchRemoveOwners", owners::batch_remove_owners)
        .mutation("createTag", vocabulary::create_tag)
        .mutation("updateTag", vocabulary::update_tag)
        .mutation("setTagColor", vocabulary::set_tag_color)
        .mutation("deleteTag", vocabulary::delete_tag)
        .mutation("createGlossaryTerm", vocabulary::create_glossary_term)
        .mutation("createGlossaryNode", vocabulary::create_glossary_node)
        .mutation("updateDeprecation", lifecycle::update_deprecation)
        .mutation(
            "batchUpdateDeprecation",
            lifecycle::batch_update_deprecation,
        )
        .mutation(
            "batchUpdateSoftDeleted",
            lifecycle::batch_update_soft_deleted,
        )
        .mutation("setLifecycleStage", lifecycle::set_lifecycle_stage)
        .mutation("patchEntity", patches::patch_entity)
        .mutation("patchEntities", patches::patch_entities)
        .mutation("upsertCustomAssertion", assertions::upsert_custom_assertion)
        .mutation("reportAssertionResult", assertions::report_assertion_result)
        .mutation("deleteAssertion", assertions::delete_assertion)
        .mutation("createOwnershipType", owners::create_ownership_type)
        .mutation("updateOwnershipType", owners::update_ownership_type)
        .mutation("deleteOwnershipType", owners::delete_ownership_type)
}

/// Users, groups, policies and tokens.
fn register_accounts(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("batchAssignRole", roles::batch_assign_role)
        .mutation("createPolicy", policies::create_policy)
        .mutation("updatePolicy", policies::update_policy)
        .mutation("deletePolicy", policies::delete_policy)
        .mutation("addDomainSteward", policies::add_domain_steward)
        .mutation("removeDomainSteward", policies::remove_domain_steward)
        .mutation("acceptProposals", proposals::accept_proposals)
        .mutation("rejectProposals", proposals::reject_proposals)
        .mutation("createGroup", groups::create_group)
        .mutation("addGroupMembers", groups::add_group_members)
        .mutation("removeGroupMembers", groups::remove_group_members)
        .mutation("removeGroup", groups::remove_group)
        .mutation("updateUserStatus", groups::update_user_status)
        .mutation("removeUser", groups::remove_user)
        .mutation("createInviteToken", accounts::create_invite_token)
        .mutation("revokeInviteToken", accounts::revoke_invite_token)
        .mutation("acceptRole", accounts::accept_role)
        .mutation(
            "createNativeUserResetToken",
            accounts::create_native_user_reset_token,
        )
        .mutation("signOutEverywhere", accounts::sign_out_everywhere)
        .mutation("createServiceAccount", accounts::create_service_account)
        .mutation("deleteServiceAccount", accounts::delete_service_account)
}

/// Parses a URN of an input object.
fn urn(text: &str) -> Result<Urn, Error> {
    Ok(Registry::get().parse_urn(text)?)
}

fn optional_urn(text: Option<&str>) -> Result<Option<Urn>, Error> {
    text.map(urn).transpose()
}

fn urns(texts: &[String]) -> Result<Vec<Urn>, Error> {
    texts.iter().map(|text| urn(text)).collect()
}

/// An optional column in an input.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SubResource {
    sub_resource_type: Option<String>,
    sub_resource: Option<String>,
}

impl SubResource {
    /// The field path of the column. Incomplete input is an error: it might otherwise write to the
    /// whole dataset.
    pub(crate) fn column(self) -> Result<Option<String>, Error> {
        let column = self.sub_resource.filter(|column| !column.is_empty());
        match (self.sub_resource_type, column) {
            (None, None) => Ok(None),
            (Some(_), Some(column)) => Ok(Some(column)),
            (Some(kind), None) => Err(Error::invalid(format!(
                "subResourceType {kind} needs a subResource, the path of the column"
            ))),
            (None, Some(column)) => Err(Error::invalid(format!(
                "subResource '{column}' needs subResourceType: DATASET_FIELD"
            ))),
        }
    }
}

/// `ResourceRefInput`, and other inputs with its members: an entity, or a column of a dataset.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceInput {
    resource_urn: String,
    #[serde(flatten)]
    sub_resource: SubResource,
}

impl ResourceInput {
    fn target(self) -> Result<Target, Error> {
        Ok(Target::new(
            urn(&self.resource_urn)?,
            self.sub_resource.column()?,
        ))
    }
}

/// Converts the items of a list. If there are several, errors have the position of the item, here
/// and in the catalog.
fn targets<T>(
    items: Vec<T>,
    read: impl Fn(T) -> Result<Target, Error>,
) -> Result<Vec<Target>, Error> {
    let many = items.len() > 1;
    let items = items.into_iter().enumerate();
    items
        .map(|(position, item)| {
            let position = many.then_some(position);
            let target = at_item(position, read(item))?;
            Ok(match position {
                Some(position) => target.at(position),
                None => target,
            })
        })
        .collect()
}

/// Makes the item of a list that could not be read the subject of the error.
fn at_item<T>(position: Option<usize>, read: Result<T, Error>) -> Result<T, Error> {
    match position {
        Some(position) => read.map_err(|error| error.about(ErrorSubject::item(position))),
        None => read,
    }
}

async fn update_description(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        description: String,
        previous_description: Option<String>,
        #[serde(flatten)]
        resource: ResourceInput,
    }
    let input: Input = arguments.input()?;
    let target = input.resource.target()?;
    let description = NewDescription {
        text: input.description,
        replaces: input.previous_description,
    };
    context
        .catalog
        .update_description(
            &context.caller,
            &target.urn,
            target.column.as_deref(),
            description,
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

//! Forms, their assignment to assets, and the answers to their prompts.

use docent_catalog::forms::{
    ActorLists, FormActors, FormUpdate, NewForm, NewPrompt, PromptResponse,
};
use docent_catalog::views::{ViewConditions, ViewFilter};
use docent_catalog::{Error, Target};
use serde::Deserialize;
use serde_json::{Value, json};

use super::structured_properties::PropertyInput;
use super::views::ConditionInput;
use super::{targets, urn, urns};
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("createForm", create_form)
        .mutation("updateForm", update_form)
        .mutation("deleteForm", delete_form)
        .mutation("batchAssignForm", batch_assign_form)
        .mutation("batchRemoveForm", batch_remove_form)
        .mutation("createDynamicFormAssignment", create_dynamic_assignment)
        .mutation("submitFormPrompt", submit_form_prompt)
        .mutation("verifyForm", verify_form)
}

/// `CreatePromptInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptInput {
    id: Option<String>,
    title: String,
    description: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    structured_property_params: Option<UrnInput>,
    required: Option<bool>,
}

/// An input that holds a URN.
#[derive(Deserialize)]
struct UrnInput {
    urn: String,
}

impl PromptInput {
    fn prompt(self) -> Result<NewPrompt, Error> {
        let property = self.structured_property_params;
        Ok(NewPrompt {
            id: self.id,
            title: self.title,
            description: self.description,
            kind: self.kind,
            property: property.map(|it| urn(&it.urn)).transpose()?,
            required: self.required.unwrap_or(false),
        })
    }
}

fn prompts(inputs: Option<Vec<PromptInput>>) -> Result<Vec<NewPrompt>, Error> {
    let inputs = inputs.unwrap_or_default().into_iter();
    inputs.map(PromptInput::prompt).collect()
}

fn actors(lists: [(&'static str, Option<Vec<String>>); 3]) -> Result<ActorLists, Error> {
    let lists = lists.into_iter();
    lists
        .map(|(member, list)| Ok((member, urns(&list.unwrap_or_default())?)))
        .collect()
}

async fn create_form(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        id: Option<String>,
        name: String,
        description: Option<String>,
        #[serde(rename = "type")]
        kind: Option<String>,
        prompts: Option<Vec<PromptInput>>,
        actors: Option<ActorsInput>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ActorsInput {
        owners: Option<bool>,
        ownership_types: Option<Vec<String>>,
        users: Option<Vec<String>>,
        groups: Option<Vec<String>>,
    }
    let input: Input = arguments.input()?;
    let given = |it: ActorsInput| {
        Ok::<_, Error>(FormActors {
            owners: it.owners.unwrap_or(true),
            lists: actors([
                ("users", it.users),
                ("groups", it.groups),
                ("ownershipTypes", it.ownership_types),
            ])?,
        })
    };
    let new = NewForm {
        id: input.id,
        name: input.name,
        description: input.description,
        kind: input.kind,
        prompts: prompts(input.prompts)?,
        actors: input.actors.map(given).transpose()?,
    };
    let form = context.catalog.create_form(&context.caller, new).await?;
    Ok(json!(form))
}

async fn update_form(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        urn: String,
        name: Option<String>,
        description: Option<String>,
        #[serde(rename = "type")]
        kind: Option<String>,
        prompts_to_add: Option<Vec<PromptInput>>,
        prompts_to_remove: Option<Vec<String>>,
        actors: Option<ActorsInput>,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ActorsInput {
        owners: Option<bool>,
        ownership_types_to_add: Option<Vec<String>>,
        ownership_types_to_remove: Option<Vec<String>>,
        users_to_add: Option<Vec<String>>,
        users_to_remove: Option<Vec<String>>,
        groups_to_add: Option<Vec<String>>,
        groups_to_remove: Option<Vec<String>>,
    }
    let input: Input = arguments.input()?;
    let form = urn(&input.urn)?;
    let given = input.actors.unwrap_or_default();
    let update = FormUpdate {
        name: input.name,
        description: input.description,
        kind: input.kind,
        added_prompts: prompts(input.prompts_to_add)?,
        removed_prompts: input.prompts_to_remove.unwrap_or_default(),
        owners: given.owners,
        added_actors: actors([
            ("users", given.users_to_add),
            ("groups", given.groups_to_add),
            ("ownershipTypes", given.ownership_types_to_add),
        ])?,
        removed_actors: actors([
            ("users", given.users_to_remove),
            ("groups", given.groups_to_remove),
            ("ownershipTypes", given.ownership_types_to_remove),
        ])?,
    };
    context
        .catalog
        .update_form(&context.caller, &form, update)
        .await?;
    Ok(json!(form))
}

async fn delete_form(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: UrnInput = arguments.input()?;
    context
        .catalog
        .delete_form(&context.caller, &urn(&input.urn)?)
        .await?;
    Ok(json!(true))
}

/// `BatchAssignFormInput` and `BatchRemoveFormInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AssetsInput {
    form_urn: String,
    entity_urns: Vec<String>,
}

impl AssetsInput {
    fn assets(self) -> Result<Vec<Target>, Error> {
        targets(self.entity_urns, |it| Ok(Target::entity(urn(&it)?)))
    }
}

async fn batch_assign_form(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: AssetsInput = arguments.input()?;
    let form = urn(&input.form_urn)?;
    context
        .catalog
        .assign_form(&context.caller, &form, &input.assets()?)
        .await?;
    Ok(json!(true))
}

async fn batch_remove_form(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: AssetsInput = arguments.input()?;
    let form = urn(&input.form_urn)?;
    context
        .catalog
        .remove_form(&context.caller, &form, &input.assets()?)
        .await?;
    Ok(json!(true))
}

async fn create_dynamic_assignment(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        form_urn: String,
        or_filters: Vec<Conditions>,
    }
    #[derive(Deserialize)]
    struct Conditions {
        and: Option<Vec<ConditionInput>>,
    }
    let input: Input = arguments.input()?;
    let form = urn(&input.form_urn)?;
    let or = input.or_filters.into_iter().map(|it| ViewConditions {
        and: it
            .and
            .unwrap_or_default()
            .into_iter()
            .map(ConditionInput::stored)
            .collect(),
    });
    let filter = ViewFilter { or: or.collect() };
    context
        .catalog
        .assign_form_by_filter(&context.caller, &form, filter)
        .await?;
    Ok(json!(true))
}

async fn submit_form_prompt(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        prompt_id: String,
        form_urn: String,
        #[serde(rename = "type")]
        kind: String,
        field_path: Option<String>,
        structured_property_params: Option<PropertyInput>,
    }
    let asset = arguments.urn("urn")?;
    let input: Input = arguments.input()?;
    let Some(values) = input.structured_property_params else {
        let message = format!(
            "a prompt of type {} needs structuredPropertyParams",
            input.kind
        );
        return Err(Error::invalid(message));
    };
    let response = PromptResponse {
        form: urn(&input.form_urn)?,
        prompt: input.prompt_id,
        kind: input.kind,
        column: input.field_path,
        values: values.values()?,
    };
    context
        .catalog
        .submit_prompt(&context.caller, &asset, response)
        .await?;
    Ok(json!(true))
}

async fn verify_form(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        form_urn: String,
        entity_urn: String,
    }
    let input: Input = arguments.input()?;
    let (form, asset) = (urn(&input.form_urn)?, urn(&input.entity_urn)?);
    context
        .catalog
        .verify_form(&context.caller, &form, &asset)
        .await?;
    Ok(json!(true))
}

//! Views: saved filters of searches.

use docent_catalog::Error;
use docent_catalog::views::{
    NewView, ViewCondition, ViewConditions, ViewDefinition, ViewFilter, ViewKind, ViewUpdate,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{optional_urn, urn};
use crate::entity_types;
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("createView", create_view)
        .mutation("updateView", update_view)
        .mutation("deleteView", delete_view)
        .mutation("updateCorpUserViewsSettings", update_my_default_view)
        .mutation("updateGlobalViewsSettings", update_global_default_view)
        .mutation(
            "updateServiceAccountDefaultView",
            update_service_account_default_view,
        )
}

/// `DataHubViewDefinitionInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DefinitionInput {
    entity_types: Vec<String>,
    filter: FilterInput,
}

#[derive(Deserialize)]
struct FilterInput {
    operator: String,
    filters: Vec<ConditionInput>,
}

#[derive(Deserialize)]
pub(super) struct ConditionInput {
    field: String,
    values: Option<Vec<String>>,
    negated: Option<bool>,
    condition: Option<String>,
}

impl DefinitionInput {
    fn definition(self) -> Result<ViewDefinition, Error> {
        let conditions = self.filter.filters.into_iter().map(ConditionInput::stored);
        let or = if self.filter.operator == "AND" {
            let and: Vec<ViewCondition> = conditions.collect();
            // No condition is no filter.
            if and.is_empty() {
                Vec::new()
            } else {
                vec![ViewConditions { and }]
            }
        } else {
            conditions
                .map(|condition| ViewConditions {
                    and: vec![condition],
                })
                .collect()
        };
        Ok(ViewDefinition {
            entity_types: entity_types::registry_names(&self.entity_types)?,
            filter: ViewFilter { or },
        })
    }
}

impl ConditionInput {
    pub(super) fn stored(self) -> ViewCondition {
        let values = self.values.unwrap_or_default();
        let values: Vec<String> = values
            .iter()
            .map(|value| entity_types::filter_value(&self.field, value))
            .collect();
        ViewCondition {
            field: entity_types::field_name(&self.field),
            value: values.first().cloned().unwrap_or_default(),
            values,
            condition: Some(self.condition.unwrap_or_else(|| "EQUAL".to_owned())),
            negated: self.negated.unwrap_or(false),
        }
    }
}

pub(super) async fn create_view(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        view_type: ViewKind,
        name: String,
        description: Option<String>,
        definition: DefinitionInput,
    }
    let input: Input = arguments.input()?;
    let new = NewView {
        kind: input.view_type,
        name: input.name,
        description: input.description,
        definition: input.definition.definition()?,
    };
    let catalog = &context.catalog;
    Ok(json!(catalog.create_view(&context.caller, new).await?))
}

pub(super) async fn update_view(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        name: Option<String>,
        description: Option<String>,
        definition: Option<DefinitionInput>,
    }
    let view = arguments.urn("urn")?;
    let input: Input = arguments.input()?;
    let definition = input.definition.map(DefinitionInput::definition);
    let update = ViewUpdate {
        name: input.name,
        description: input.description,
        definition: definition.transpose()?,
    };
    let catalog = &context.catalog;
    catalog.update_view(&context.caller, &view, update).await?;
    Ok(json!(view))
}

pub(super) async fn delete_view(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let view = arguments.urn("urn")?;
    context.catalog.delete_view(&context.caller, &view).await?;
    Ok(json!(true))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DefaultViewInput {
    default_view: Option<String>,
}

pub(super) async fn update_my_default_view(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let input: DefaultViewInput = arguments.input()?;
    let view = optional_urn(input.default_view.as_deref())?;
    let catalog = &context.catalog;
    catalog
        .set_own_default_view(&context.caller, view.as_ref())
        .await?;
    Ok(json!(true))
}

pub(super) async fn update_global_default_view(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let input: DefaultViewInput = arguments.input()?;
    let view = optional_urn(input.default_view.as_deref())?;
    let catalog = &context.catalog;
    catalog
        .set_global_default_view(&context.caller, view.as_ref())
        .await?;
    Ok(json!(true))
}

pub(super) async fn update_service_account_default_view(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        urn: String,
        default_view: Option<String>,
    }
    let input: Input = arguments.input()?;
    let account = urn(&input.urn)?;
    let view = optional_urn(input.default_view.as_deref())?;
    let catalog = &context.catalog;
    catalog
        .set_default_view_of_service_account(&context.caller, &account, view.as_ref())
        .await?;
    Ok(json!(true))
}

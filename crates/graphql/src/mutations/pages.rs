//! Layouts of pages, and the settings that users change for themselves.

use docent_catalog::Error;
use docent_catalog::pages::{PageModule, PageScope, PageTemplate};
use docent_catalog::user_settings::{HomePageUpdate, StepState, UserSetting};
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{optional_urn, urn};
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("upsertPageModule", upsert_page_module)
        .mutation("deletePageModule", delete_page_module)
        .mutation("upsertPageTemplate", upsert_page_template)
        .mutation("deletePageTemplate", delete_page_template)
        .mutation("updateUserSetting", update_user_setting)
        .mutation("updateUserHomePageSettings", update_user_home_page_settings)
        .mutation(
            "updateCorpUserLocaleSettings",
            update_corp_user_locale_settings,
        )
        .mutation("batchUpdateStepStates", batch_update_step_states)
}

async fn upsert_page_module(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        urn: Option<String>,
        name: String,
        r#type: String,
        scope: PageScope,
        params: Value,
    }
    let mut input: Input = arguments.input()?;
    // The aspect has no nulls.
    if let Value::Object(kinds) = &mut input.params {
        kinds.retain(|_, params| !params.is_null());
        for params in kinds.values_mut().filter_map(Value::as_object_mut) {
            params.retain(|_, member| !member.is_null());
        }
    }
    let module = PageModule {
        name: input.name,
        kind: input.r#type,
        scope: input.scope,
        params: input.params,
    };
    let known = optional_urn(input.urn.as_deref())?;
    let written = context
        .catalog
        .upsert_page_module(&context.caller, known.as_ref(), module)
        .await?;
    Ok(json!(written))
}

#[derive(Deserialize)]
struct Named {
    urn: String,
}

async fn delete_page_module(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let module = urn(&arguments.input::<Named>()?.urn)?;
    context
        .catalog
        .delete_page_module(&context.caller, &module)
        .await?;
    Ok(json!(true))
}

async fn upsert_page_template(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        urn: Option<String>,
        rows: Vec<Row>,
        asset_summary: Option<Summary>,
        scope: PageScope,
        surface_type: String,
    }
    #[derive(Deserialize)]
    struct Row {
        modules: Vec<String>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Summary {
        summary_elements: Vec<Element>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Element {
        element_type: String,
        structured_property_urn: Option<String>,
    }
    let input: Input = arguments.input()?;
    let row = |row: Row| row.modules.iter().map(|it| urn(it)).collect();
    let element = |element: Element| {
        let property = optional_urn(element.structured_property_urn.as_deref())?;
        let mut value = json!({"elementType": element.element_type});
        if let Some(property) = property {
            value["structuredPropertyUrn"] = json!(property);
        }
        Ok(value)
    };
    let summary = |summary: Summary| {
        let elements = summary.summary_elements.into_iter().map(element);
        let elements = elements.collect::<Result<Vec<Value>, Error>>()?;
        Ok::<Value, Error>(json!({"summaryElements": elements}))
    };
    let rows = input.rows.into_iter().map(row);
    let template = PageTemplate {
        rows: rows.collect::<Result<Vec<Vec<Urn>>, Error>>()?,
        scope: input.scope,
        surface: input.surface_type,
        asset_summary: input.asset_summary.map(summary).transpose()?,
    };
    let known = optional_urn(input.urn.as_deref())?;
    let written = context
        .catalog
        .upsert_page_template(&context.caller, known.as_ref(), template)
        .await?;
    Ok(json!(written))
}

async fn delete_page_template(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let template = urn(&arguments.input::<Named>()?.urn)?;
    context
        .catalog
        .delete_page_template(&context.caller, &template)
        .await?;
    Ok(json!(true))
}

async fn update_user_setting(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        name: UserSetting,
        value: bool,
    }
    let input: Input = arguments.input()?;
    context
        .catalog
        .set_user_setting(&context.caller, input.name, input.value)
        .await?;
    Ok(json!(true))
}

async fn update_user_home_page_settings(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        page_template: Option<String>,
        new_dismissed_announcements: Option<Vec<Option<String>>>,
        remove_page_template: Option<bool>,
    }
    let input: Input = arguments.input()?;
    let template = optional_urn(input.page_template.as_deref())?;
    let template = match (template, input.remove_page_template) {
        (Some(_), Some(true)) => {
            return Err(Error::invalid(
                "pageTemplate and removePageTemplate exclude each other: send one of them",
            ));
        }
        (Some(template), _) => Some(Some(template)),
        (None, Some(true)) => Some(None),
        (None, _) => None,
    };
    let dismissed = input.new_dismissed_announcements.into_iter().flatten();
    let dismissed = dismissed.flatten().map(|text| urn(&text));
    let update = HomePageUpdate {
        template,
        dismissed: dismissed.collect::<Result<_, _>>()?,
    };
    context
        .catalog
        .update_own_home_page(&context.caller, update)
        .await?;
    Ok(json!(true))
}

async fn update_corp_user_locale_settings(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        language: Option<String>,
    }
    let input: Input = arguments.input()?;
    context
        .catalog
        .set_own_language(&context.caller, input.language.as_deref())
        .await?;
    Ok(json!(true))
}

async fn batch_update_step_states(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        states: Vec<State>,
    }
    #[derive(Deserialize)]
    struct State {
        id: String,
        properties: Vec<Option<Entry>>,
    }
    #[derive(Deserialize)]
    struct Entry {
        key: String,
        value: Option<String>,
    }
    let input: Input = arguments.input()?;
    let states = input.states.into_iter().map(|state| StepState {
        id: state.id,
        properties: state
            .properties
            .into_iter()
            .flatten()
            .map(|entry| (entry.key, entry.value.unwrap_or_default()))
            .collect(),
    });
    let states: Vec<StepState> = states.collect();
    let results = context
        .catalog
        .set_step_states(&context.caller, &states)
        .await?;
    let results = states.iter().zip(results);
    let result =
        |(state, succeeded): (&StepState, bool)| json!({"id": state.id, "succeeded": succeeded});
    Ok(json!({"results": results.map(result).collect::<Vec<_>>()}))
}

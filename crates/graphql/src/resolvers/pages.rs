//! The home page of the catalog, and the steps of introductions that users have taken.

use docent_catalog::Error;
use docent_catalog::user_settings::StepState;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .query("globalHomePageSettings", global_home_page_settings)
        .query("batchGetStepStates", batch_get_step_states)
}

async fn global_home_page_settings(context: &Context, _: Args<'_>) -> Result<Value, Error> {
    let settings = context.catalog.global_settings().await?;
    Ok(json!({"defaultTemplate": settings["homePage"]["defaultTemplate"]}))
}

async fn batch_get_step_states(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        ids: Vec<String>,
    }
    let input: Input = arguments.input()?;
    let (catalog, caller) = (&context.catalog, &context.caller);
    let states = catalog.step_states(caller, &input.ids).await?;
    let state = |state: &StepState| json!({"id": state.id, "properties": state.properties});
    Ok(json!({"results": states.iter().map(state).collect::<Vec<_>>()}))
}

//! Assertions of other tools and their results.

use docent_catalog::Error;
use docent_catalog::assertions::CustomAssertion;
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{optional_urn, urn};
use crate::{Args, Context};

/// `StringMapEntryInput`.
#[derive(Deserialize)]
pub(super) struct MapEntryInput {
    key: String,
    value: Option<String>,
}

pub(super) fn map(entries: Vec<MapEntryInput>) -> Value {
    let entries = entries.into_iter();
    let entries = entries.map(|entry| (entry.key, json!(entry.value.unwrap_or_default())));
    Value::Object(entries.collect())
}

#[derive(Default, Deserialize)]
struct PlatformInput {
    urn: Option<String>,
    name: Option<String>,
}

impl PlatformInput {
    fn urn(self) -> Result<Option<Urn>, Error> {
        match (self.urn, self.name) {
            (Some(text), _) => urn(&text).map(Some),
            (None, Some(name)) => Ok(Some(Urn::new("dataPlatform", &name)?)),
            (None, None) => Ok(None),
        }
    }
}

pub(super) async fn upsert_custom_assertion(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        entity_urn: String,
        description: String,
        field_path: Option<String>,
        field_paths: Option<Vec<String>>,
        platform: PlatformInput,
        external_url: Option<String>,
        native_parameters: Option<Vec<MapEntryInput>>,
        /// Members with the same names in the aspect.
        #[serde(flatten)]
        details: Map<String, Value>,
    }
    let mut input: Input = arguments.input()?;
    input.details.retain(|_, value| !value.is_null());
    if let Some(Value::Object(parameters)) = input.details.get_mut("parameters") {
        parameters.retain(|_, value| !value.is_null());
    }
    if let Some(entries) = input.native_parameters {
        let entries = map(entries);
        input.details.insert("nativeParameters".to_owned(), entries);
    }
    let mut columns = input.field_paths.unwrap_or_default();
    columns.extend(input.field_path.filter(|path| !columns.contains(path)));
    let assertion = CustomAssertion {
        entity: urn(&input.entity_urn)?,
        description: input.description,
        external_url: input.external_url,
        platform: input.platform.urn()?,
        columns,
        details: input.details,
    };
    let text: Option<String> = arguments.member("urn")?;
    let urn = optional_urn(text.as_deref())?;
    let stored = context
        .catalog
        .upsert_custom_assertion(&context.caller, urn, assertion)
        .await?;
    Ok(json!(stored))
}

pub(super) async fn report_assertion_result(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct ErrorInput {
        r#type: String,
        message: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ResultInput {
        timestamp_millis: Option<i64>,
        r#type: String,
        properties: Option<Vec<MapEntryInput>>,
        external_url: Option<String>,
        error: Option<ErrorInput>,
        severity: Option<String>,
    }
    let input: ResultInput = arguments.member("result")?;
    let mut result = json!({"type": input.r#type});
    if let Some(properties) = input.properties {
        result["nativeResults"] = map(properties);
    }
    if let Some(url) = input.external_url {
        result["externalUrl"] = json!(url);
    }
    if let Some(severity) = input.severity {
        result["severity"] = json!(severity);
    }
    if let Some(error) = input.error {
        result["error"] = json!({"type": error.r#type});
        if let Some(message) = error.message {
            result["error"]["properties"] = json!({ "message": message });
        }
    }
    let assertion = arguments.urn("urn")?;
    let time_ms = input
        .timestamp_millis
        .unwrap_or_else(|| context.catalog.now_ms());
    context
        .catalog
        .report_assertion_result(&context.caller, &assertion, time_ms, &result)
        .await?;
    Ok(json!(true))
}

pub(super) async fn delete_assertion(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let assertion = arguments.urn("urn")?;
    context
        .catalog
        .delete_assertion(&context.caller, &assertion)
        .await?;
    Ok(json!(true))
}

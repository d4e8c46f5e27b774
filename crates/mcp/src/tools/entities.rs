//! `get_entities`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{AgentTool, variables};
use crate::answer::Answer;
use crate::call::{AgentCall, ToolError};
use crate::reply::items;
use crate::summary::{self, is_empty};

const DOCUMENT: &str = concat!(
    include_str!("../../documents/entities.graphql"),
    include_str!("../../documents/brief.graphql"),
    include_str!("../../documents/labels.graphql"),
    include_str!("../../documents/named.graphql"),
);

const DESCRIPTION: &str = "\
Returns what the catalog knows about entities: description and where it comes from, owners, domain, tags, glossary terms, \
links, properties, deprecation. Of datasets also when they were last ingested, how many columns they have, and the SQL of \
views; 'list_schema_fields' returns the columns. Entities that do not fit into the answer are in \
'not_shown': ask for them in another call.";

const MAX_ENTITIES: usize = 20;
const MAX_TEXT: usize = 8_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entities {
    /// The URNs of the entities, at most 20.
    urns: Vec<String>,
}

pub(super) fn tool() -> AgentTool {
    AgentTool::read("get_entities", DESCRIPTION, entities)
}

async fn entities(call: AgentCall, input: Entities) -> Result<Answer, ToolError> {
    let count = input.urns.len();
    if count == 0 || count > MAX_ENTITIES {
        return Err(ToolError::new(format!(
            "'urns' has {count} URNs: name 1 to {MAX_ENTITIES}"
        )));
    }
    let variables = variables([("urns", json!(input.urns))]);
    let data = call.execute(DOCUMENT, None, variables).await?;
    let found: Vec<&Value> = items(&data["entities"])
        .iter()
        .filter(|it| it.is_object())
        .collect();
    let is_found = |urn: &&String| found.iter().any(|entity| entity["urn"] == **urn);
    let missing: Vec<&String> = input.urns.iter().filter(|urn| !is_found(urn)).collect();
    let missing = json!(missing);
    let details: Vec<Value> = found
        .iter()
        .map(|entity| Value::Object(details(&call, entity)))
        .collect();
    let answer = Answer::named("entities", details).with_texts_of(MAX_TEXT);
    Ok(if is_empty(&missing) {
        answer
    } else {
        answer.with("not_found", missing)
    })
}

fn details(call: &AgentCall, entity: &Value) -> Map<String, Value> {
    let mut details = summary::brief(call, entity);
    let mut add = |name: &str, value: Value| {
        if !is_empty(&value) {
            details.insert(name.to_owned(), value);
        }
    };
    let members = entity.as_object().into_iter().flatten();
    for (_, info) in members.filter(|(name, _)| name.ends_with("Info")) {
        add("external_url", info["externalUrl"].clone());
        add("custom_properties", pairs(&info["customProperties"]));
    }
    add("links", entity["institutionalMemory"]["elements"].clone());
    add(
        "structured_properties",
        structured(&entity["structuredProperties"]),
    );
    add(
        "last_ingested",
        json!(summary::time(&entity["lastIngested"])),
    );
    let schema = &entity["schemaMetadata"];
    if schema.is_object() {
        add("column_count", json!(items(&schema["fields"]).len()));
        add("primary_key", schema["primaryKeys"].clone());
    }
    add("view_definition", entity["viewProperties"]["logic"].clone());
    details
}

fn pairs(properties: &Value) -> Value {
    let pairs = items(properties).iter().filter_map(|property| {
        Some((
            property["key"].as_str()?.to_owned(),
            property["value"].clone(),
        ))
    });
    Value::Object(pairs.collect())
}

/// The values of structured properties, by the names that people see.
fn structured(properties: &Value) -> Value {
    let properties = items(&properties["properties"]).iter();
    let values = properties.map(|property| {
        let definition = &property["structuredProperty"]["definition"];
        let names = [
            &definition["displayName"],
            &definition["qualifiedName"],
            &property["structuredProperty"]["urn"],
        ];
        let mut names = names.into_iter().filter_map(Value::as_str);
        let values = items(&property["values"]).iter();
        let values = values.map(|value| match value.get("stringValue") {
            Some(text) => text.clone(),
            None => value["numberValue"].clone(),
        });
        (
            names.next().unwrap_or_default().to_owned(),
            values.collect(),
        )
    });
    Value::Object(values.collect())
}

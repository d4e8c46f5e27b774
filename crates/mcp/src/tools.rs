//! The tools of agents. Their names are those of DataHub's own server for agents where it has the
//! tool, so that instructions written for that work here.

mod columns;
mod edits;
mod entities;
mod lineage;
mod me;
mod queries;
mod search;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::handler::server::common::schema_for_type;
use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::call::{AgentCall, ToolError};

type Answering = Pin<Box<dyn Future<Output = Result<Answer, ToolError>> + Send>>;
type Run = dyn Fn(AgentCall, Map<String, Value>) -> Answering + Send + Sync;

/// A tool: its definition, and the function that answers a call.
#[derive(Clone)]
pub(crate) struct AgentTool {
    definition: Tool,
    is_change: bool,
    run: Arc<Run>,
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// All tools, in the order in which agents see them.
pub(crate) fn all() -> Vec<AgentTool> {
    let reads = [
        search::tool(),
        entities::tool(),
        columns::tool(),
        lineage::tool(),
        queries::tool(),
        me::tool(),
    ];
    reads.into_iter().chain(edits::tools()).collect()
}

impl AgentTool {
    /// A tool that reads.
    fn read<I, F, O>(name: &'static str, description: &'static str, run: F) -> Self
    where
        I: DeserializeOwned + JsonSchema + std::any::Any,
        F: Fn(AgentCall, I) -> O + Send + Sync + 'static,
        O: Future<Output = Result<Answer, ToolError>> + Send + 'static,
    {
        let hints = ToolAnnotations::new()
            .read_only(true)
            .idempotent(true)
            .open_world(false);
        Self::new(name, description, hints, false, run)
    }

    /// A tool that changes the catalog. A second call with the same arguments changes nothing.
    fn change<I, F, O>(name: &'static str, description: &'static str, run: F) -> Self
    where
        I: DeserializeOwned + JsonSchema + std::any::Any,
        F: Fn(AgentCall, I) -> O + Send + Sync + 'static,
        O: Future<Output = Result<Answer, ToolError>> + Send + 'static,
    {
        // Earlier values stay in the history, from which people restore them.
        let hints = ToolAnnotations::new()
            .read_only(false)
            .destructive(false)
            .idempotent(true)
            .open_world(false);
        Self::new(name, description, hints, true, run)
    }

    fn new<I, F, O>(
        name: &'static str,
        description: &'static str,
        hints: ToolAnnotations,
        is_change: bool,
        run: F,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema + std::any::Any,
        F: Fn(AgentCall, I) -> O + Send + Sync + 'static,
        O: Future<Output = Result<Answer, ToolError>> + Send + 'static,
    {
        let mut schema = (*schema_for_type::<I>()).clone();
        // Some clients need the member, also of a tool without arguments.
        schema.entry("properties").or_insert_with(|| json!({}));
        let run = move |call, arguments| match read_input(name, arguments) {
            Ok(input) => Box::pin(run(call, input)) as Answering,
            Err(error) => Box::pin(std::future::ready(Err(error))),
        };
        Self {
            definition: Tool::new(name, description, schema).with_annotations(hints),
            is_change,
            run: Arc::new(run),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.definition.name
    }

    pub(crate) fn definition(&self) -> &Tool {
        &self.definition
    }

    pub(crate) fn is_change(&self) -> bool {
        self.is_change
    }

    pub(crate) async fn run(
        &self,
        call: AgentCall,
        arguments: Map<String, Value>,
    ) -> Result<Answer, ToolError> {
        (self.run)(call, arguments).await
    }
}

fn read_input<I: DeserializeOwned>(
    name: &str,
    arguments: Map<String, Value>,
) -> Result<I, ToolError> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ToolError::new(format!("the arguments of '{name}' are invalid: {error}")))
}

/// A page of a list, within a limit.
fn page(start: Option<usize>, count: Option<usize>, default: usize, max: usize) -> (usize, usize) {
    (
        start.unwrap_or_default(),
        count.unwrap_or(default).clamp(1, max),
    )
}

/// The variables of an operation.
fn variables<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_tool_and_each_argument_is_described() {
        let tools = all();
        let names: BTreeSet<&str> = tools.iter().map(AgentTool::name).collect();
        assert_eq!(names.len(), tools.len());
        for tool in &tools {
            let definition = tool.definition();
            assert!(
                definition
                    .description
                    .as_deref()
                    .is_some_and(|text| text.len() > 30)
            );
            let schema = Value::Object((*definition.input_schema).clone());
            assert_eq!(schema["type"], "object", "{}", tool.name());
            assert_eq!(schema["additionalProperties"], false, "{}", tool.name());
            for (name, argument) in schema["properties"].as_object().into_iter().flatten() {
                let description = argument["description"].as_str();
                assert!(description.is_some(), "{} of {}", name, tool.name());
            }
        }
    }
}

//! The caller of a request, and how tools read and change the catalog.

use std::fmt;
use std::sync::Arc;

use docent_graphql::{Context, Engine};
use serde_json::{Map, Value};

/// Answers are far shorter. A reply has more if texts are very long.
const MAX_REPLY_BYTES: usize = 8 * 1024 * 1024;
/// The most errors of one reply that an answer names.
const MAX_ERRORS: usize = 5;

/// What agents may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentWrites {
    /// What their user may.
    #[default]
    Allow,
    /// Nothing: each change becomes a proposal, which a person accepts or rejects.
    Propose,
    /// Nothing.
    Off,
}

/// One request of an agent.
#[derive(Debug, Clone)]
pub struct AgentCall {
    engine: Arc<Engine>,
    context: Context,
    writes: AgentWrites,
    /// The address of the web page, without a slash at its end.
    page: Option<String>,
}

/// Why a tool failed, in words for the agent.
#[derive(Debug)]
pub(crate) struct ToolError(pub(crate) String);

impl ToolError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl AgentCall {
    pub fn new(
        engine: Arc<Engine>,
        context: Context,
        writes: AgentWrites,
        page: Option<String>,
    ) -> Self {
        let Context { catalog, caller } = context;
        let writes = if caller.is_read_only() {
            AgentWrites::Off
        } else {
            writes
        };
        let caller = match writes {
            AgentWrites::Allow | AgentWrites::Off => caller,
            AgentWrites::Propose => caller.proposing(),
        };
        Self {
            engine,
            context: Context::new(catalog, caller),
            writes,
            page,
        }
    }

    pub(crate) fn writes(&self) -> AgentWrites {
        self.writes
    }

    pub(crate) fn page(&self) -> Option<&str> {
        self.page.as_deref()
    }

    pub(crate) fn user(&self) -> &str {
        self.context.caller.actor().as_str()
    }

    /// The proposals that this request has stored instead of changes.
    pub(crate) fn proposals(&self) -> Vec<String> {
        let proposals = self.context.caller.proposals();
        proposals.iter().map(ToString::to_string).collect()
    }

    /// Executes an operation and returns its data. All errors fail the tool: half an answer would
    /// look like a whole one.
    pub(crate) async fn execute(
        &self,
        document: &str,
        operation_name: Option<&str>,
        variables: Map<String, Value>,
    ) -> Result<Value, ToolError> {
        let request = docent_graphql::Request {
            query: document,
            operation_name,
            variables,
        };
        let reply = self.engine.execute(&self.context, request).await;
        if reply.len() > MAX_REPLY_BYTES {
            return Err(ToolError::new(format!(
                "the result has {} bytes, and at most {MAX_REPLY_BYTES} are read: ask for fewer items",
                reply.len()
            )));
        }
        let mut reply: Value = serde_json::from_slice(&reply)
            .map_err(|error| ToolError::new(format!("the reply is not JSON: {error}")))?;
        match reply.get("errors").and_then(Value::as_array) {
            Some(errors) if !errors.is_empty() => Err(ToolError::new(messages(errors))),
            _ => Ok(reply["data"].take()),
        }
    }
}

fn messages(errors: &[Value]) -> String {
    let messages = errors.iter().filter_map(|error| error["message"].as_str());
    let mut distinct: Vec<&str> = Vec::new();
    for message in messages {
        if distinct.len() < MAX_ERRORS && !distinct.contains(&message) {
            distinct.push(message);
        }
    }
    distinct.join("; ")
}

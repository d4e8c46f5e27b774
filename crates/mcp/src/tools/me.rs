//! `get_me`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::AgentTool;
use crate::answer::Answer;
use crate::call::{AgentCall, AgentWrites, ToolError};
use crate::reply::items;
use crate::summary;

const DOCUMENT: &str = concat!(
    include_str!("../../documents/me.graphql"),
    include_str!("../../documents/named.graphql"),
);

const DESCRIPTION: &str = "\
Returns the user that the catalog takes you for, the user's groups, and what becomes of your changes: applied at once, \
proposed to people, or refused.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Me {}

pub(super) fn tool() -> AgentTool {
    AgentTool::read("get_me", DESCRIPTION, me)
}

async fn me(call: AgentCall, _: Me) -> Result<Answer, ToolError> {
    let data = call.execute(DOCUMENT, None, Map::new()).await?;
    let user = &data["me"]["corpUser"];
    let groups = items(&user["groups"]["relationships"]).iter();
    let groups: Vec<Value> = groups.map(|it| summary::named(&it["entity"])).collect();
    let changes = match call.writes() {
        AgentWrites::Allow => "applied, as far as the user may make them",
        AgentWrites::Propose => "proposed: a person accepts or rejects them",
        AgentWrites::Off => "refused: you may only read",
    };
    let answer = Answer::new(Map::new());
    Ok(answer
        .with("user", summary::named(user))
        .with("groups", json!(groups))
        .with("changes", json!(changes)))
}

//! The tools that change the catalog.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{AgentTool, variables};
use crate::answer::Answer;
use crate::call::{AgentCall, ToolError};

const DOCUMENT: &str = include_str!("../../documents/edits.graphql");

pub(super) fn tools() -> Vec<AgentTool> {
    vec![
        AgentTool::change(
            "update_description",
            "Sets the description of an entity or of a column, in Markdown. Read the current one first: yours replaces it. \
             Name the text that you read as 'previous', so that a change made meanwhile is not lost.",
            update_description,
        ),
        AgentTool::change(
            "add_tags",
            "Adds tags to entities, or to columns of datasets. The tags must exist: find them with 'search'.",
            |call, input: Tags| label(call, "AddTags", "tagUrns", input.tag_urns, input.targets),
        ),
        AgentTool::change(
            "remove_tags",
            "Removes tags from entities, or from columns of datasets.",
            |call, input: Tags| label(call, "RemoveTags", "tagUrns", input.tag_urns, input.targets),
        ),
        AgentTool::change(
            "add_terms",
            "Adds glossary terms to entities, or to columns of datasets. The terms must exist: find them with 'search'.",
            |call, input: Terms| {
                label(call, "AddTerms", "termUrns", input.term_urns, input.targets)
            },
        ),
        AgentTool::change(
            "remove_terms",
            "Removes glossary terms from entities, or from columns of datasets.",
            |call, input: Terms| {
                label(
                    call,
                    "RemoveTerms",
                    "termUrns",
                    input.term_urns,
                    input.targets,
                )
            },
        ),
        AgentTool::change(
            "add_owners",
            "Makes users or groups owners of entities.",
            add_owners,
        ),
        AgentTool::change(
            "remove_owners",
            "Removes users or groups from the owners of entities.",
            remove_owners,
        ),
        AgentTool::change(
            "set_domains",
            "Puts assets into a domain. An asset has one domain, so it leaves the one that it is in.",
            |call, input: SetDomain| move_to(call, Some(input.domain_urn), input.urns),
        ),
        AgentTool::change(
            "remove_domains",
            "Takes assets out of their domain.",
            |call, input: Assets| move_to(call, None, input.urns),
        ),
        AgentTool::change(
            "add_link",
            "Adds a link with a label to an entity, for example to a document that explains it.",
            add_link,
        ),
        AgentTool::change(
            "update_deprecation",
            "Marks an asset as deprecated, with a note and a replacement, or removes that mark.",
            update_deprecation,
        ),
    ]
}

/// An entity, or a column of a dataset.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Target {
    /// The URN of the entity.
    urn: String,
    /// The path of a column, if the change is one of a column of this dataset.
    column: Option<String>,
}

impl Target {
    fn resource(&self) -> Value {
        match &self.column {
            None => json!({"resourceUrn": self.urn}),
            Some(column) => json!({
                "resourceUrn": self.urn,
                "subResource": column,
                "subResourceType": "DATASET_FIELD",
            }),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateDescription {
    /// The URN of the entity.
    urn: String,
    /// The path of a column, to describe that column of the dataset.
    column: Option<String>,
    /// The new text. An empty one removes the description.
    description: String,
    /// The text that you read before; the change fails if it is another one by now.
    previous: Option<String>,
}

async fn update_description(
    call: AgentCall,
    input: UpdateDescription,
) -> Result<Answer, ToolError> {
    let target = Target {
        urn: input.urn,
        column: input.column,
    };
    let mut argument = target.resource();
    argument["description"] = json!(input.description);
    if let Some(previous) = input.previous {
        argument["previousDescription"] = json!(previous);
    }
    change(call, "UpdateDescription", argument).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Tags {
    /// The URNs of the tags.
    tag_urns: Vec<String>,
    /// The entities or columns.
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Terms {
    /// The URNs of the glossary terms.
    term_urns: Vec<String>,
    /// The entities or columns.
    targets: Vec<Target>,
}

async fn label(
    call: AgentCall,
    operation: &'static str,
    member: &'static str,
    labels: Vec<String>,
    targets: Vec<Target>,
) -> Result<Answer, ToolError> {
    let resources: Vec<Value> = targets.iter().map(Target::resource).collect();
    change(
        call,
        operation,
        json!({member: labels, "resources": resources}),
    )
    .await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddOwners {
    /// The URNs of users or groups.
    owner_urns: Vec<String>,
    /// The URNs of the entities.
    urns: Vec<String>,
    /// The URN of the ownership type; without one, the owners get the type "None".
    ownership_type_urn: Option<String>,
}

async fn add_owners(call: AgentCall, input: AddOwners) -> Result<Answer, ToolError> {
    let owner = |urn: &String| {
        let is_group = urn.starts_with("urn:li:corpGroup:");
        let mut owner = json!({
            "ownerUrn": urn,
            "ownerEntityType": if is_group { "CORP_GROUP" } else { "CORP_USER" },
        });
        match &input.ownership_type_urn {
            Some(kind) => owner["ownershipTypeUrn"] = json!(kind),
            None => owner["type"] = json!("NONE"),
        }
        owner
    };
    let owners: Vec<Value> = input.owner_urns.iter().map(owner).collect();
    let argument = json!({"owners": owners, "resources": resources(&input.urns)});
    change(call, "AddOwners", argument).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RemoveOwners {
    /// The URNs of users or groups.
    owner_urns: Vec<String>,
    /// The URNs of the entities.
    urns: Vec<String>,
}

async fn remove_owners(call: AgentCall, input: RemoveOwners) -> Result<Answer, ToolError> {
    let argument = json!({"ownerUrns": input.owner_urns, "resources": resources(&input.urns)});
    change(call, "RemoveOwners", argument).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetDomain {
    /// The URN of the domain.
    domain_urn: String,
    /// The URNs of the assets.
    urns: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Assets {
    /// The URNs of the assets.
    urns: Vec<String>,
}

async fn move_to(
    call: AgentCall,
    domain: Option<String>,
    urns: Vec<String>,
) -> Result<Answer, ToolError> {
    let argument = json!({"domainUrn": domain, "resources": resources(&urns)});
    change(call, "SetDomain", argument).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddLink {
    /// The URN of the entity.
    urn: String,
    /// The address, for example `https://…`.
    url: String,
    /// What people read instead of the address.
    label: String,
}

async fn add_link(call: AgentCall, input: AddLink) -> Result<Answer, ToolError> {
    let argument = json!({"resourceUrn": input.urn, "linkUrl": input.url, "label": input.label});
    change(call, "AddLink", argument).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateDeprecation {
    /// The URN of the asset.
    urn: String,
    /// Whether it is deprecated from now on.
    deprecated: bool,
    /// Why, and what to do.
    note: Option<String>,
    /// The URN of what to use in its place.
    replacement_urn: Option<String>,
}

async fn update_deprecation(
    call: AgentCall,
    input: UpdateDeprecation,
) -> Result<Answer, ToolError> {
    let mut argument = json!({"urn": input.urn, "deprecated": input.deprecated});
    if let Some(note) = input.note {
        argument["note"] = json!(note);
    }
    if let Some(replacement) = input.replacement_urn {
        argument["replacement"] = json!(replacement);
    }
    change(call, "UpdateDeprecation", argument).await
}

fn resources(urns: &[String]) -> Value {
    urns.iter().map(|urn| json!({"resourceUrn": urn})).collect()
}

/// Makes a change, and says whether it was applied or proposed.
async fn change(call: AgentCall, operation: &str, input: Value) -> Result<Answer, ToolError> {
    let variables = variables([("input", input)]);
    call.execute(DOCUMENT, Some(operation), variables).await?;
    let proposals = call.proposals();
    let answer = Answer::new(Map::new());
    Ok(if proposals.is_empty() {
        answer.with("outcome", json!("applied"))
    } else {
        answer
            .with(
                "outcome",
                json!("proposed: it takes effect when a person accepts it"),
            )
            .with("proposals", json!(proposals))
    })
}

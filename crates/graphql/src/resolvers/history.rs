//! History, recent changes and statistics of changes.

use docent_catalog::Error;
use docent_catalog::history::Subject;
use docent_model::{Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::entity_types;
use crate::mutations::SubResource;
use crate::{Args, Context};

const DEFAULT_COUNT: i64 = 10;
const DEFAULT_WEEKS: i64 = 12;

pub(super) async fn history(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        urn: String,
        subject: SubjectInput,
        #[serde(flatten)]
        sub_resource: SubResource,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    enum SubjectInput {
        Description,
        IngestedDescription,
        Domain,
    }
    let input: Input = arguments.input()?;
    let urn = Registry::get().parse_urn(&input.urn)?;
    let column = input.sub_resource.column()?;
    let subject = match (input.subject, column) {
        (SubjectInput::Description, column) => Subject::Description { column },
        (SubjectInput::IngestedDescription, column) => Subject::IngestedDescription { column },
        (SubjectInput::Domain, None) => Subject::Domain,
        (SubjectInput::Domain, Some(_)) => {
            return Err(Error::invalid("columns have no domain: omit subResource"));
        }
    };
    let is_domain = matches!(subject, Subject::Domain);
    let catalog = &context.catalog;
    let history = catalog.history(&urn, &subject).await?;
    let changes = history.changes.iter().map(|change| {
        let member = if is_domain { "domain" } else { "text" };
        json!({
            "version": change.version.get(),
            "time": change.time_ms,
            "actor": actor(&change.actor),
            member: change.value,
        })
    });
    Ok(json!({
        "isComplete": history.is_complete,
        "changes": changes.collect::<Vec<Value>>(),
    }))
}

pub(super) async fn recent_changes(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        types: Option<Vec<String>>,
        count: Option<i64>,
    }
    let input: Input = arguments.input()?;
    let types = match input.types {
        Some(names) => entity_types::registry_names(&names)?,
        None => vec!["dataset".to_owned(), "domain".to_owned()],
    };
    let count = input.count.unwrap_or(DEFAULT_COUNT);
    let catalog = &context.catalog;
    let changes = catalog.recent_changes(&types, count).await?;
    Ok(changes
        .iter()
        .map(|change| {
            json!({
                "entity": change.urn,
                "aspectName": change.aspect.as_str(),
                "time": change.time_ms,
                "actor": actor(&change.actor),
            })
        })
        .collect())
}

pub(super) async fn changes_by_week(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let weeks = arguments.member::<Option<i64>>("weeks")?;
    let catalog = &context.catalog;
    let weeks = catalog
        .changes_by_week(weeks.unwrap_or(DEFAULT_WEEKS))
        .await?;
    Ok(weeks
        .iter()
        .map(|week| json!({"time": week.begins_ms, "changes": week.changes}))
        .collect())
}

/// The actor, if it is a user or a group; programs may write other URNs.
pub(super) fn actor(text: &str) -> Option<Urn> {
    let urn = Registry::get().parse_urn(text).ok()?;
    matches!(urn.entity_type(), "corpuser" | "corpGroup").then_some(urn)
}

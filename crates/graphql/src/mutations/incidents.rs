//! Incidents.

use docent_catalog::Error;
use docent_catalog::incidents::{IncidentUpdate, NewIncident, NewIncidentStatus};
use docent_catalog::quality::priority_number;
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{urn, urns};
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("raiseIncident", raise_incident)
        .mutation("updateIncident", update_incident)
        .mutation("updateIncidentStatus", update_incident_status)
        .mutation("upsertIncident", upsert_incident)
}

/// `IncidentStatusInput`.
#[derive(Deserialize)]
struct StatusInput {
    state: String,
    stage: Option<String>,
    message: Option<String>,
}

impl StatusInput {
    fn status(self) -> NewIncidentStatus {
        NewIncidentStatus {
            state: self.state,
            stage: self.stage,
            message: self.message,
        }
    }
}

/// The members of all inputs about incidents.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IncidentInput {
    id: Option<String>,
    r#type: Option<String>,
    custom_type: Option<String>,
    title: Option<String>,
    description: Option<String>,
    resource_urn: Option<String>,
    resource_urns: Option<Vec<String>>,
    started_at: Option<i64>,
    status: Option<StatusInput>,
    priority: Option<String>,
    assignee_urns: Option<Vec<String>>,
}

impl IncidentInput {
    fn update(self) -> Result<IncidentUpdate, Error> {
        let mut assets: Option<Vec<Urn>> = None;
        for text in self
            .resource_urns
            .iter()
            .flatten()
            .chain(&self.resource_urn)
        {
            let (asset, assets) = (urn(text)?, assets.get_or_insert_default());
            if !assets.contains(&asset) {
                assets.push(asset);
            }
        }
        Ok(IncidentUpdate {
            title: self.title,
            description: self.description,
            started_ms: self.started_at,
            status: self.status.map(StatusInput::status),
            priority: self.priority.as_deref().and_then(priority_number),
            assets: assets.or_else(|| self.resource_urns.map(|_| Vec::new())),
            assignees: self.assignee_urns.as_deref().map(urns).transpose()?,
            removes_missing: false,
        })
    }
}

async fn raise_incident(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let mut input: IncidentInput = arguments.input()?;
    let new = NewIncident {
        id: input.id.take(),
        kind: input.r#type.take().unwrap_or_default(),
        custom_kind: input.custom_type.take(),
        details: input.update()?,
    };
    let incident = context.catalog.raise_incident(&context.caller, new).await?;
    Ok(json!(incident))
}

async fn update_incident(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: IncidentInput = arguments.input()?;
    update(context, &arguments, input.update()?).await
}

async fn upsert_incident(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: IncidentInput = arguments.input()?;
    let replacement = IncidentUpdate {
        removes_missing: true,
        ..input.update()?
    };
    update(context, &arguments, replacement).await
}

async fn update_incident_status(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: StatusInput = arguments.input()?;
    let status = IncidentUpdate {
        status: Some(input.status()),
        ..IncidentUpdate::default()
    };
    update(context, &arguments, status).await
}

async fn update(
    context: &Context,
    arguments: &Args<'_>,
    update: IncidentUpdate,
) -> Result<Value, Error> {
    let incident = arguments.urn("urn")?;
    context
        .catalog
        .update_incident(&context.caller, &incident, update)
        .await?;
    Ok(json!(true))
}

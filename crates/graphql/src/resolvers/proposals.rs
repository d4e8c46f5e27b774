//! Proposed changes.

use docent_catalog::Error;
use docent_catalog::action_requests::{
    ActionRequest, ActionRequestFilter, MAX_LISTED, ProposedChange,
};
use docent_model::{Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use super::queries::Window;
use crate::{Args, Context};

pub(super) async fn list_action_requests(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        #[serde(flatten)]
        window: Window,
        status: Option<Status>,
        proposer: Option<String>,
        resource_urn: Option<String>,
        concerns_me: Option<bool>,
    }
    #[derive(Deserialize, PartialEq)]
    #[serde(rename_all = "UPPERCASE")]
    enum Status {
        Pending,
        Completed,
    }
    let input: Input = arguments.input()?;
    let (start, count) = input.window.checked_up_to(MAX_LISTED)?;
    let urn = |text: Option<&str>| -> Result<Option<Urn>, Error> {
        let urn = text.map(|text| Registry::get().parse_urn(text));
        Ok(urn.transpose()?)
    };
    let filter = ActionRequestFilter {
        decided: input.status == Some(Status::Completed),
        proposer: urn(input.proposer.as_deref())?,
        entity: urn(input.resource_urn.as_deref())?,
        concerns_caller: input.concerns_me == Some(true),
    };
    if filter.decided && filter.concerns_caller {
        return Err(Error::invalid(
            "concernsMe lists pending proposals: send it without the status COMPLETED",
        ));
    }
    let catalog = &context.catalog;
    let caller = &context.caller;
    let listed = catalog.list_action_requests(caller, &filter, start, count);
    let (requests, total) = listed.await?;
    let decidable = catalog.may_decide(caller, &requests).await?;
    Ok(json!({
        "start": start,
        "count": count,
        "total": total,
        "actionRequests": requests.iter().zip(decidable).map(request).collect::<Vec<_>>(),
    }))
}

fn request((request, can_decide): (&ActionRequest, bool)) -> Value {
    let decision = request.decision.as_ref();
    json!({
        "urn": request.urn,
        "status": if decision.is_some() { "COMPLETED" } else { "PENDING" },
        "result": decision.map(|it| it.result),
        "resultNote": decision.and_then(|it| it.note.as_deref()),
        "proposer": request.proposer,
        "createdAt": request.created_at,
        "decidedBy": decision.map(|it| &it.actor),
        "decidedAt": decision.map(|it| it.decided_at),
        "canDecide": can_decide,
        "changes": request.changes.iter().map(change).collect::<Vec<_>>(),
    })
}

fn change(change: &ProposedChange) -> Value {
    json!({
        "entity": (!change.is_new).then_some(&change.urn),
        "urn": change.urn,
        "aspectName": change.aspect,
        "before": change.before,
        "after": change.after,
    })
}

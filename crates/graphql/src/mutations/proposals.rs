//! Decisions about proposed changes.

use docent_catalog::Error;
use docent_catalog::action_requests::Verdict;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::{Args, Context};

pub(super) async fn accept_proposals(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    decide(context, arguments, Verdict::Accept).await
}

pub(super) async fn reject_proposals(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    decide(context, arguments, Verdict::Reject).await
}

async fn decide(context: &Context, arguments: Args<'_>, verdict: Verdict) -> Result<Value, Error> {
    let urns: Vec<String> = arguments.member("proposalUrns")?;
    let urns = urns.iter().map(|text| Urn::parse(text));
    let urns = urns.collect::<Result<Vec<Urn>, _>>()?;
    let note: Option<String> = arguments.member("note")?;
    let (catalog, caller) = (&context.catalog, &context.caller);
    catalog
        .decide_action_requests(caller, &urns, verdict, note.as_deref())
        .await?;
    Ok(json!(true))
}

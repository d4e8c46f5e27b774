//! Decisions about proposed changes.

use docent_catalog::action_requests::Verdict;
use docent_catalog::{Error, ErrorSubject};
use docent_model::Urn;
use serde_json::{Value, json};

use crate::{Args, Context};

/// The most proposals of one call.
const MAX_PROPOSALS: usize = 100;

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
    let (urns, note) = decided(&arguments)?;
    let (catalog, caller) = (&context.catalog, &context.caller);
    for (position, urn) in urns.iter().enumerate() {
        catalog
            .decide_action_request(caller, urn, verdict, note.as_deref())
            .await
            .map_err(|error| about(error, position, &urns))?;
    }
    Ok(json!(true))
}

fn decided(arguments: &Args<'_>) -> Result<(Vec<Urn>, Option<String>), Error> {
    let urns: Vec<String> = arguments.member("proposalUrns")?;
    if urns.len() > MAX_PROPOSALS {
        return Err(Error::invalid(format!(
            "{} proposals are too many for one request: send at most {MAX_PROPOSALS}",
            urns.len()
        )));
    }
    let urns = urns.iter().map(|text| Urn::parse(text));
    let urns = urns.collect::<Result<_, _>>()?;
    Ok((urns, arguments.member("note")?))
}

/// Proposals are decided one by one, so the error says how far the list came.
fn about(error: Error, position: usize, urns: &[Urn]) -> Error {
    match urns {
        [_] => error,
        urns => error.about(ErrorSubject::entity(&urns[position]).at(Some(position))),
    }
}

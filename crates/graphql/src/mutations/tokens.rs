//! Creates and revokes access tokens.

use docent_catalog::Error;
use docent_catalog::tokens::{NewToken, TokenScope};
use docent_model::parse_duration_ms;
use serde::Deserialize;
use serde_json::{Value, json};

use super::urn;
use crate::{Args, Context, Resolvers};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .query("getAccessToken", get_access_token)
        .mutation("createAccessToken", create_access_token)
        .mutation("revokeAccessToken", revoke_access_token)
}

async fn create_access_token(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        actor_urn: String,
        duration: Option<String>,
        duration_iso: Option<String>,
        name: String,
        description: Option<String>,
        scope: Option<Scope>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Scope {
        read_only: Option<bool>,
        privileges: Option<Vec<String>>,
        domain_urn: Option<String>,
    }
    let input: Input = arguments.input()?;
    let actor = urn(&input.actor_urn)?;
    let ttl_ms = lifetime_ms(input.duration.as_deref(), input.duration_iso.as_deref())?;
    let scope = match input.scope {
        Some(scope) => Some(TokenScope {
            read_only: scope.read_only.unwrap_or_default(),
            privileges: scope.privileges,
            domain: scope.domain_urn.as_deref().map(urn).transpose()?,
        }),
        None => None,
    };
    let new = NewToken {
        name: input.name,
        description: input.description,
        actor,
        ttl_ms: Some(ttl_ms),
        scope,
    };
    issue(context, new).await
}

/// The former way to create a token: as a query, and without a name.
async fn get_access_token(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        actor_urn: String,
        duration: Option<String>,
        duration_iso: Option<String>,
    }
    let input: Input = arguments.input()?;
    let actor = urn(&input.actor_urn)?;
    let ttl_ms = lifetime_ms(input.duration.as_deref(), input.duration_iso.as_deref())?;
    let new = NewToken {
        name: "getAccessToken".to_owned(),
        description: None,
        actor,
        ttl_ms: Some(ttl_ms),
        scope: None,
    };
    issue(context, new).await
}

async fn issue(context: &Context, new: NewToken) -> Result<Value, Error> {
    let created = context.catalog.issue_token(&context.caller, new).await?;
    Ok(json!({
        "accessToken": created.secret,
        "metadata": created.token.urn()?,
    }))
}

async fn revoke_access_token(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    context
        .catalog
        .revoke_token(&context.caller, arguments.text("tokenId")?)
        .await?;
    Ok(json!(true))
}

fn lifetime_ms(name: Option<&str>, iso: Option<&str>) -> Result<i64, Error> {
    match (name, iso) {
        (Some(name), None) => named_duration_ms(name),
        (None, Some(iso)) => iso_duration_ms(iso),
        _ => Err(Error::invalid(
            "give exactly one of duration and durationIso",
        )),
    }
}

fn named_duration_ms(name: &str) -> Result<i64, Error> {
    match name {
        "ONE_HOUR" => Ok(DAY_MS / 24),
        "ONE_DAY" => Ok(DAY_MS),
        "ONE_WEEK" => Ok(7 * DAY_MS),
        "ONE_MONTH" => Ok(30 * DAY_MS),
        "THREE_MONTHS" => Ok(90 * DAY_MS),
        "SIX_MONTHS" => Ok(180 * DAY_MS),
        "ONE_YEAR" => Ok(365 * DAY_MS),
        other => Err(Error::invalid(format!(
            "tokens with the duration {other} cannot be created over the API: choose one that expires, or use \
             'docent token create --ttl never' on the server"
        ))),
    }
}

/// ISO 8601 with days of 24 hours.
fn iso_duration_ms(text: &str) -> Result<i64, Error> {
    parse_duration_ms(text).ok_or_else(|| {
        Error::invalid(format!(
            "durationIso '{text}' must be an ISO 8601 duration of a second or more, such as P30D"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_durations_have_days_of_24_hours() {
        assert_eq!(iso_duration_ms("P30D").unwrap(), 30 * DAY_MS);
        assert_eq!(iso_duration_ms("PT1H").unwrap(), DAY_MS / 24);
        assert_eq!(iso_duration_ms("P1W").unwrap(), 7 * DAY_MS);
        for wrong in ["P1Y", "PT0S", "-P1D", "tomorrow"] {
            assert!(iso_duration_ms(wrong).is_err(), "{wrong}");
        }
    }
}

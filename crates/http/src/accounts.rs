//! `POST /signUp`, `/resetNativeUserCredentials` and `/changePassword`: each ends with a new
//! session. The first two have the names and members of DataHub's. `POST /signUp/check` is for the
//! page, which rejects a link before somebody fills in the form.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use docent_catalog::invitations::SignUp;
use docent_catalog::people::{NewUser, Password};
use docent_model::{Registry, Urn};
use serde::Deserialize;
use serde_json::json;

use crate::AppState;
use crate::auth::Authenticated;
use crate::body::{MAX_SMALL_BODY_BYTES, WholeBody};
use crate::client::Client;
use crate::error::ErrorResponse;
use crate::sign_in::{check_request, parse_body, respond};

const SIGN_UP: &str =
    "{\"fullName\": \"…\", \"email\": \"…\", \"password\": \"…\", \"inviteToken\": \"…\"}";
const INVITATION: &str = "{\"inviteToken\": \"…\"}";
const RESET: &str = "{\"email\": \"…\", \"password\": \"…\", \"resetToken\": \"…\"}";
const CHANGE: &str = "{\"currentPassword\": \"…\", \"newPassword\": \"…\"}";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignUpBody {
    /// Absent in requests of DataHub's page: there the name is the address.
    user_urn: Option<String>,
    full_name: String,
    email: String,
    title: Option<String>,
    password: String,
    invite_token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InvitationBody {
    invite_token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResetBody {
    /// Absent in requests of DataHub's page.
    user_urn: Option<String>,
    /// The name to sign in with; in DataHub that is the address.
    email: Option<String>,
    password: String,
    reset_token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChangeBody {
    current_password: String,
    new_password: String,
}

/// Creates an account for somebody with an invite link.
pub(crate) async fn sign_up(
    State(state): State<AppState>,
    client: Client,
    headers: HeaderMap,
    WholeBody(bytes): WholeBody<MAX_SMALL_BODY_BYTES>,
) -> Result<Response, ErrorResponse> {
    check_request(&headers, &client, SIGN_UP)?;
    let body: SignUpBody = parse_body(&bytes, SIGN_UP)?;
    let user = match body.user_urn.as_deref() {
        Some(urn) => Registry::get().parse_urn(urn),
        None => Urn::new("corpuser", body.email.trim()),
    };
    let user = user.map_err(|error| ErrorResponse::bad_request(error.to_string()))?;
    let sign_up = SignUp {
        user: NewUser {
            user,
            display_name: Some(body.full_name),
            email: Some(body.email),
            password: Password::new(body.password)?,
        },
        title: body.title.filter(|title| !title.trim().is_empty()),
        invite_token: body.invite_token,
    };
    let outcome = state
        .catalog()
        .sign_up(sign_up, client.address(), "POST /signUp")
        .await?;
    respond(&state, &client, outcome, ErrorResponse::unauthenticated())
}

/// Says whether an invite link is valid, and until when.
pub(crate) async fn check_invitation(
    State(state): State<AppState>,
    client: Client,
    headers: HeaderMap,
    WholeBody(bytes): WholeBody<MAX_SMALL_BODY_BYTES>,
) -> Result<Response, ErrorResponse> {
    check_request(&headers, &client, INVITATION)?;
    let body: InvitationBody = parse_body(&bytes, INVITATION)?;
    let invitation = state.catalog().invitation(&body.invite_token).await?;
    Ok(Json(json!({"expiresAt": invitation.expires_at()})).into_response())
}

/// Sets a password by the token of a reset link.
pub(crate) async fn reset_password(
    State(state): State<AppState>,
    client: Client,
    headers: HeaderMap,
    WholeBody(bytes): WholeBody<MAX_SMALL_BODY_BYTES>,
) -> Result<Response, ErrorResponse> {
    check_request(&headers, &client, RESET)?;
    let body: ResetBody = parse_body(&bytes, RESET)?;
    let password = Password::new(body.password)?;
    let user = match (body.user_urn.as_deref(), body.email.as_deref()) {
        (Some(urn), _) => user_of(urn)?,
        (None, Some(name)) => name.trim().to_owned(),
        (None, None) => {
            return Err(ErrorResponse::bad_request(
                "the user is missing: send the username in 'email', or 'userUrn'",
            ));
        }
    };
    let outcome = state
        .catalog()
        .reset_password(
            &user,
            &body.reset_token,
            &password,
            client.address(),
            "POST /resetNativeUserCredentials",
        )
        .await?;
    respond(&state, &client, outcome, ErrorResponse::unauthenticated())
}

/// The name to sign in with of a user.
fn user_of(urn: &str) -> Result<String, ErrorResponse> {
    let urn = Registry::get().parse_urn(urn);
    let urn = urn.and_then(|urn| urn.expect_type("corpuser").map(|()| urn));
    match urn {
        Ok(urn) => Ok(urn.key().to_owned()),
        Err(error) => Err(ErrorResponse::bad_request(error.to_string())),
    }
}

/// Sets the caller's own password.
pub(crate) async fn change_password(
    Authenticated { state, caller }: Authenticated,
    client: Client,
    headers: HeaderMap,
    WholeBody(bytes): WholeBody<MAX_SMALL_BODY_BYTES>,
) -> Result<Response, ErrorResponse> {
    check_request(&headers, &client, CHANGE)?;
    let body: ChangeBody = parse_body(&bytes, CHANGE)?;
    let new = Password::new(body.new_password)?;
    let outcome = state
        .catalog()
        .change_password(&caller, &body.current_password, &new)
        .await?;
    // Not 401, which would mean that the session has ended.
    let rejected = ErrorResponse::new(StatusCode::FORBIDDEN, "The current password is wrong.");
    respond(&state, &client, outcome, rejected)
}

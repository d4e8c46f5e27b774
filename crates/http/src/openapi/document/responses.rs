//! Every response status, and the operations that return it.

use super::routes::{Body, Operation};

pub(super) struct Response {
    pub(super) status: u16,
    pub(super) description: &'static str,
    pub(super) applies_to: fn(&Operation) -> bool,
}

const fn response(
    status: u16,
    description: &'static str,
    applies_to: fn(&Operation) -> bool,
) -> Response {
    Response {
        status,
        description,
        applies_to,
    }
}

#[rustfmt::skip]
pub(super) const RESPONSES: &[Response] = &[
    response(200, "Success", |it| it.method != "head" && !is_redirect(it)),
    response(201, "Success", |it| it.method == "post" && matches!(it.path, "/openapi/entities/v1" | "/openapi/v2/platform/entities/v1")),
    response(202, "Success; the write is already complete, although it was requested asynchronously; at /mcp, a notification, which has no reply", |it| it.path == "/mcp" || it.query.iter().any(|(name, _)| *name == "async")),
    response(204, "It exists", |it| it.method == "head"),
    response(303, "Redirects to the start page, the sign-in page or the identity provider", |it| it.method == "get" && it.tag == "sign in"),
    response(307, "Redirects to the page", |it| it.path == "/openapi/swagger-ui"),
    response(400, "The request is invalid", |it| !it.is_open || has_secret(it)),
    response(401, "The token is missing or invalid; at /logIn, the username or password is wrong", |it| !it.is_open || has_secret(it)),
    response(403, "The caller has no permission, or the request is cross-site", |it| !it.is_open || it.tag == "sign in"),
    response(404, "It does not exist", |it| it.path.contains('{') || it.path == "/mcp"),
    response(409, "It conflicts with the stored state", |it| it.is_write() || it.path.contains("/relationship/versionOf/")),
    response(410, "The position is of another store, or newer than this one", |it| it.path == "/events"),
    response(412, "A precondition failed", Operation::is_write),
    response(413, "The request is too large", |it| !matches!(it.body, Body::None) || it.path == "/events"),
    response(415, "The content type is not supported", has_secret),
    response(422, "An aspect is invalid", |it| it.method == "post" && matches!(it.path, "/aspects" | "/entities" | "/usageStats")),
    response(429, "Too many attempts, or streams", |it| has_secret(it) || it.path == "/events"),
    response(503, "Try again later", |it| !it.is_open || has_secret(it) || it.path.starts_with("/health")),
];

/// Whether a password or the secret of a link is sent.
fn has_secret(operation: &Operation) -> bool {
    matches!(
        operation.path,
        "/logIn" | "/signUp" | "/signUp/check" | "/resetNativeUserCredentials" | "/changePassword"
    )
}

fn is_redirect(operation: &Operation) -> bool {
    operation.path == "/openapi/swagger-ui"
        || (operation.tag == "sign in" && operation.method == "get")
}

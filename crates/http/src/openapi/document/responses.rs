//! Every status that is answered, and where it happens.

use super::routes::{Body, Operation};

/// One status.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) description: &'static str,
    /// Whether a call may be answered with it.
    pub(super) happens: fn(&Operation) -> bool,
}

const fn response(
    status: u16,
    description: &'static str,
    happens: fn(&Operation) -> bool,
) -> Response {
    Response {
        status,
        description,
        happens,
    }
}

#[rustfmt::skip]
pub(super) const RESPONSES: &[Response] = &[
    response(200, "Done", |it| it.method != "head" && !is_moved(it)),
    response(202, "Done; it was asked for without waiting, and there was nothing to wait for", |it| it.query.iter().any(|(name, _)| *name == "async")),
    response(204, "It is there", |it| it.method == "head"),
    response(303, "Done; go to the first page", |it| it.method == "get" && it.path == "/logOut"),
    response(307, "It is elsewhere", |it| it.path == "/openapi/swagger-ui"),
    response(400, "The request is wrong", |it| !it.is_open || is_log_in(it)),
    response(401, "There is no valid token; at /logIn, the name or the password is wrong", |it| !it.is_open || is_log_in(it)),
    response(403, "The caller may not, or a page of another site asks", |it| !it.is_open || it.tag == "sign in"),
    response(404, "It is not there", |it| it.path.contains('{')),
    response(409, "It contradicts what is stored", Operation::is_write),
    response(412, "A condition does not hold", Operation::is_write),
    response(413, "It is too large", |it| !matches!(it.body, Body::None)),
    response(415, "A form is not taken", is_log_in),
    response(422, "An aspect is not as it must be", |it| it.method == "post" && matches!(it.path, "/aspects" | "/entities" | "/usageStats")),
    response(429, "There were too many attempts", is_log_in),
    response(503, "Try again later", |it| !it.is_open || is_log_in(it) || it.path.starts_with("/health")),
];

fn is_log_in(operation: &Operation) -> bool {
    operation.path == "/logIn"
}

fn is_moved(operation: &Operation) -> bool {
    operation.path == "/openapi/swagger-ui"
        || (operation.path == "/logOut" && operation.method == "get")
}

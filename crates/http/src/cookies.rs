//! The cookies of signed-in browsers.
//!
//! Over HTTPS, the names of secret cookies have the prefix `__Host-`: browsers accept those only
//! from this host and over HTTPS, so that neither another host of the domain nor a page without TLS
//! can replace them. Cookies without the prefix are then ignored.

use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName};
use axum::response::AppendHeaders;
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use docent_catalog::sessions::SessionLimits;
use docent_model::Urn;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::client::Client;

/// A cookie that scripts cannot read. The session's has DataHub's name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SecretCookie {
    plain: &'static str,
    over_https: &'static str,
}

pub(crate) const SESSION: SecretCookie = SecretCookie {
    plain: "PLAY_SESSION",
    over_https: "__Host-PLAY_SESSION",
};

/// Marks a browser in which users have signed in before.
pub(crate) const DEVICE: SecretCookie = SecretCookie {
    plain: "docent_device",
    over_https: "__Host-docent_device",
};

/// The state of one sign-in at an identity provider, between the redirect and the callback.
pub(crate) const SIGN_IN: SecretCookie = SecretCookie {
    plain: "docent_sign_in",
    over_https: "__Host-docent_sign_in",
};

/// The URN of the user, for pages and clients that show it; the server ignores it.
const ACTOR: &str = "actor";

/// Characters to percent-encode in a cookie. DataHub leaves the colons of a URN.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b':')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'@');

impl SecretCookie {
    fn name(self, client: &Client) -> &'static str {
        if client.is_https() {
            self.over_https
        } else {
            self.plain
        }
    }

    pub(crate) fn read(self, headers: &HeaderMap, client: &Client) -> Option<String> {
        let name = self.name(client);
        headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(Cookie::split_parse)
            .filter_map(Result::ok)
            .find(|cookie| cookie.name() == name)
            .map(|cookie| cookie.value_trimmed().to_owned())
            .filter(|value| !value.is_empty())
    }

    /// A `Set-Cookie` header. A maximum age of zero deletes the cookie in the browser.
    pub(crate) fn set(
        self,
        client: &Client,
        value: &str,
        max_age: Duration,
    ) -> (HeaderName, String) {
        set(client, self.name(client), value, max_age, true)
    }
}

/// The `Set-Cookie` headers of a session.
pub(crate) type SessionCookies = AppendHeaders<[(HeaderName, String); 2]>;

/// The cookies of a new session.
pub(crate) fn begin_session(
    client: &Client,
    user: &Urn,
    secret: &str,
    limits: SessionLimits,
) -> SessionCookies {
    let actor = utf8_percent_encode(user.as_str(), ENCODED).to_string();
    let max_age = Duration::milliseconds(limits.absolute_ms);
    AppendHeaders([
        SESSION.set(client, secret, max_age),
        set_actor(client, &actor, max_age),
    ])
}

/// Deletes the cookies of a session in the browser.
pub(crate) fn end_session(client: &Client) -> SessionCookies {
    AppendHeaders([
        SESSION.set(client, "", Duration::ZERO),
        set_actor(client, "", Duration::ZERO),
    ])
}

/// The `Set-Cookie` header of the cookie with the user's URN.
fn set_actor(client: &Client, value: &str, max_age: Duration) -> (HeaderName, String) {
    set(client, ACTOR, value, max_age, false)
}

fn set(
    client: &Client,
    name: &str,
    value: &str,
    max_age: Duration,
    is_http_only: bool,
) -> (HeaderName, String) {
    let cookie = Cookie::build((name, value))
        .path("/")
        .max_age(max_age)
        .same_site(SameSite::Lax)
        .secure(client.is_https())
        .http_only(is_http_only);
    (SET_COOKIE, cookie.build().to_string())
}

//! The cookies of signed-in browsers.
//!
//! Over HTTPS, the names of secret cookies have the prefix `__Host-`: browsers accept those only
//! from this host and over HTTPS, so that neither another host of the domain nor a page without TLS
//! can replace them. Cookies without the prefix are then ignored. The prefix needs the path `/`; a
//! cookie for one path has `__Secure-` instead, which keeps pages without TLS out.

use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName};
use axum::response::AppendHeaders;
use cookie::time::Duration;
use cookie::{Cookie, CookieBuilder, SameSite};
use docent_catalog::sessions::SessionLimits;
use docent_model::Urn;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::client::Client;

/// A cookie that scripts cannot read. The session's has DataHub's name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SecretCookie {
    plain: &'static str,
    over_https: &'static str,
    path: &'static str,
}

pub(crate) const SESSION: SecretCookie = SecretCookie {
    plain: "PLAY_SESSION",
    over_https: "__Host-PLAY_SESSION",
    path: ROOT,
};

/// Marks a browser in which users have signed in before.
pub(crate) const DEVICE: SecretCookie = SecretCookie {
    plain: "docent_device",
    over_https: "__Host-docent_device",
    path: ROOT,
};

/// The state of one sign-in at an identity provider, between the redirect and the callback.
pub(crate) const SIGN_IN: SecretCookie = SecretCookie {
    plain: "docent_sign_in",
    over_https: "__Host-docent_sign_in",
    path: ROOT,
};

/// The id of the identity provider that signed the user in, a full stop, and its ID token. Only
/// signing out needs it: it makes every other request larger, and the store would have to keep
/// somebody's name, address and groups, in a form that others may accept as a proof.
pub(crate) const ID_TOKEN: SecretCookie = SecretCookie {
    plain: "docent_id_token",
    over_https: "__Secure-docent_id_token",
    path: "/logOut",
};

/// The path of cookies for all requests.
const ROOT: &str = "/";

/// The longest ID token that is set as a cookie: browsers accept 4,096 bytes, and proxies as many
/// for all headers of a response.
const MAX_ID_TOKEN_BYTES: usize = 2_048;

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
        let cookie = Cookie::build((self.name(client), value))
            .path(self.path)
            .http_only(true);
        set(client, cookie, max_age)
    }
}

/// The `Set-Cookie` headers of a session.
pub(crate) type SessionCookies = AppendHeaders<[(HeaderName, String); 2]>;

/// The `Set-Cookie` headers that end a session.
pub(crate) type EndedCookies = AppendHeaders<[(HeaderName, String); 3]>;

/// The cookies of a new session.
pub(crate) fn begin_session(
    client: &Client,
    user: &Urn,
    secret: &str,
    limits: SessionLimits,
) -> SessionCookies {
    let max_age = Duration::milliseconds(limits.absolute_ms);
    AppendHeaders([
        SESSION.set(client, secret, max_age),
        set_actor(client, &encoded(user), max_age),
    ])
}

/// The `Set-Cookie` header that tells a page who the caller is when nobody signs in.
pub(crate) fn show_actor(client: &Client, user: &Urn) -> (HeaderName, String) {
    set_actor(client, &encoded(user), Duration::days(1))
}

/// Deletes the cookies of a session in the browser.
pub(crate) fn end_session(client: &Client) -> EndedCookies {
    AppendHeaders([
        SESSION.set(client, "", Duration::ZERO),
        ID_TOKEN.set(client, "", Duration::ZERO),
        set_actor(client, "", Duration::ZERO),
    ])
}

/// The `Set-Cookie` header that keeps an ID token for signing out, or deletes that of an earlier
/// sign-in.
pub(crate) fn set_id_token(
    client: &Client,
    provider: &str,
    id_token: &str,
    limits: SessionLimits,
) -> (HeaderName, String) {
    if id_token.len() > MAX_ID_TOKEN_BYTES {
        return ID_TOKEN.set(client, "", Duration::ZERO);
    }
    let max_age = Duration::milliseconds(limits.absolute_ms);
    ID_TOKEN.set(client, &format!("{provider}.{id_token}"), max_age)
}

/// The ID token of the sign-in at a provider.
pub(crate) fn id_token(headers: &HeaderMap, client: &Client, provider: &str) -> Option<String> {
    let cookie = ID_TOKEN.read(headers, client)?;
    let (id, token) = cookie.split_once('.')?;
    (id == provider).then(|| token.to_owned())
}

fn encoded(user: &Urn) -> String {
    utf8_percent_encode(user.as_str(), ENCODED).to_string()
}

/// The `Set-Cookie` header of the cookie with the user's URN.
fn set_actor(client: &Client, value: &str, max_age: Duration) -> (HeaderName, String) {
    set(client, Cookie::build((ACTOR, value)).path(ROOT), max_age)
}

fn set(client: &Client, cookie: CookieBuilder<'_>, max_age: Duration) -> (HeaderName, String) {
    let cookie = cookie
        .max_age(max_age)
        .same_site(SameSite::Lax)
        .secure(client.is_https());
    (SET_COOKIE, cookie.build().to_string())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn an_id_token_is_kept_for_signing_out_at_its_provider() {
        let (client, limits) = (Client::default(), SessionLimits::default());
        let token = "eyJh.eyJz.c2ln";
        let (_, cookie) = set_id_token(&client, "oidc", token, limits);
        assert!(
            cookie.contains("; HttpOnly") && cookie.contains("; Path=/logOut"),
            "{cookie}"
        );
        let sent = cookie.split(';').next().unwrap();
        let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(sent).unwrap())]);
        let found = id_token(&headers, &client, "oidc");
        assert_eq!(found.as_deref(), Some(token));
        assert_eq!(id_token(&headers, &client, "partners"), None);
        assert_eq!(id_token(&HeaderMap::new(), &client, "oidc"), None);
        // One that is too long must not leave that of an earlier sign-in.
        let long = "x".repeat(MAX_ID_TOKEN_BYTES + 1);
        let (_, cookie) = set_id_token(&client, "oidc", &long, limits);
        assert!(
            cookie.starts_with("docent_id_token=;") && cookie.contains("Max-Age=0"),
            "{cookie}"
        );
    }
}

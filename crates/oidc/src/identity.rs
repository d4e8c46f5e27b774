//! What a provider says about a user.

use docent_model::EpochMillis;
use serde_json::Value;

use crate::OidcError;
use crate::jwt::{Claims, time_of};

/// More than any user has; the rest is left out.
const MAX_GROUPS: usize = 500;
const MAX_NAME_CHARACTERS: usize = 200;

/// The claims to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimNames {
    /// The username.
    pub user: String,
    /// `None` leaves the groups alone.
    pub groups: Option<String>,
}

/// What a provider says about a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub user: String,
    pub display_name: Option<String>,
    pub email: Option<String>,
    /// `None` if the provider says nothing about groups.
    pub groups: Option<Vec<String>>,
    /// When the provider said so; 0 if it does not say.
    pub issued_at: EpochMillis,
}

impl Identity {
    pub(crate) fn from_claims(claims: &Claims, names: &ClaimNames) -> Result<Self, OidcError> {
        let text = |name: &str| find(claims, name).and_then(Value::as_str);
        let trimmed = |name: &str| text(name).map(str::trim).and_then(name_of);
        let user = text(&names.user).and_then(name_of);
        let user = user.ok_or_else(|| no_user(claims, &names.user))?;
        // Some providers send a text, and some do not send the claim at all.
        let is_verified = claims
            .get("email_verified")
            .is_none_or(|value| *value == Value::Bool(true) || value == "true");
        if names.user == "email" && !is_verified {
            return Err(OidcError::NoUser(
                "the provider has not verified the address of the user".to_owned(),
            ));
        }
        let groups = names.groups.as_deref().and_then(|name| find(claims, name));
        let groups = groups.and_then(|value| match value {
            Value::Array(items) => Some(items.iter().filter_map(Value::as_str).collect()),
            Value::String(one) => Some(vec![one.as_str()]),
            _ => None,
        });
        Ok(Self {
            user,
            display_name: trimmed("name"),
            email: trimmed("email"),
            groups: groups.map(|groups: Vec<&str>| {
                let mut groups: Vec<String> = groups.into_iter().filter_map(name_of).collect();
                groups.sort();
                groups.dedup();
                groups.truncate(MAX_GROUPS);
                groups
            }),
            issued_at: ["iat", "nbf"]
                .into_iter()
                .find_map(|name| time_of(claims.get(name)?))
                .unwrap_or_default(),
        })
    }

    /// Whether a further request could complete it.
    pub(crate) fn is_complete(claims: &Claims, names: &ClaimNames) -> bool {
        let groups = names.groups.as_deref();
        [
            Some(names.user.as_str()),
            groups,
            Some("name"),
            Some("email"),
        ]
        .into_iter()
        .flatten()
        .all(|name| find(claims, name).is_some())
    }
}

/// A claim by its name, or by the path to it: `realm_access.roles`.
fn find<'c>(claims: &'c Claims, name: &str) -> Option<&'c Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    rest.split('.')
        .try_fold(claims.get(first)?, |value, part| value.get(part))
}

fn no_user(claims: &Claims, name: &str) -> OidcError {
    OidcError::NoUser(if find(claims, name).is_none() {
        format!(
            "the provider did not send the claim '{name}': request a scope that includes it, or choose another user claim"
        )
    } else {
        format!(
            "the claim '{name}' of the provider is no username, which is a text of 1 to {MAX_NAME_CHARACTERS} \
             characters without control characters and without spaces around it: choose another user claim"
        )
    })
}

/// A text that can be a name. Spaces around it are not removed: to the provider, the name without
/// them is that of somebody else.
fn name_of(text: &str) -> Option<String> {
    let is_name = !text.is_empty()
        && text == text.trim()
        && !text.contains(char::is_control)
        && text.chars().count() <= MAX_NAME_CHARACTERS;
    is_name.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn identity(claims: Value, user: &str, groups: Option<&str>) -> Result<Identity, String> {
        let Value::Object(claims) = claims else {
            unreachable!()
        };
        let names = ClaimNames {
            user: user.to_owned(),
            groups: groups.map(str::to_owned),
        };
        Identity::from_claims(&claims, &names).map_err(|error| error.to_string())
    }

    #[test]
    fn users_and_groups_come_from_the_configured_claims() {
        let claims = json!({
            "sub": "1", "preferred_username": "ada", "name": " Ada ", "email": "ada@example.com",
            "groups": ["b", "a", "a", "", 7, "x\ny", " c", "d "], "realm_access": {"roles": ["admin"]},
        });
        let ada = identity(claims.clone(), "preferred_username", Some("groups")).unwrap();
        assert_eq!(ada.user, "ada");
        assert_eq!(ada.display_name.as_deref(), Some("Ada"));
        assert_eq!(ada.email.as_deref(), Some("ada@example.com"));
        assert_eq!(ada.groups, Some(vec!["a".to_owned(), "b".to_owned()]));
        let nested = identity(claims.clone(), "sub", Some("realm_access.roles")).unwrap();
        assert_eq!(nested.groups, Some(vec!["admin".to_owned()]));
        let none = identity(claims.clone(), "sub", Some("missing")).unwrap();
        assert_eq!(none.groups, None);
        assert_eq!(identity(claims.clone(), "sub", None).unwrap().groups, None);
        let error = identity(claims, "upn", None).unwrap_err();
        assert!(error.contains("did not send the claim 'upn'"), "{error}");
    }

    #[test]
    fn a_token_without_the_time_of_its_issue_has_that_of_its_begin_or_is_the_oldest() {
        for (claims, issued_at) in [
            (json!({"sub": "1", "iat": 7, "nbf": 5}), 7000),
            (json!({"sub": "1", "iat": 7.5}), 7000),
            (json!({"sub": "1", "nbf": 5}), 5000),
            (json!({"sub": "1"}), 0),
        ] {
            let found = identity(claims.clone(), "sub", None).unwrap();
            assert_eq!(found.issued_at, issued_at, "{claims}");
        }
    }

    #[test]
    fn an_unverified_address_is_no_user_name() {
        let with = |verified: Value| json!({"email": "ada@example.com", "email_verified": verified, "sub": "1"});
        for unverified in [
            json!(false),
            json!("false"),
            json!("no"),
            json!(0),
            json!(null),
        ] {
            let claims = with(unverified);
            assert!(identity(claims.clone(), "email", None).is_err(), "{claims}");
            assert!(identity(claims, "sub", None).is_ok());
        }
        let without = json!({"email": "ada@example.com"});
        for verified in [with(json!(true)), with(json!("true")), without] {
            let ada = identity(verified, "email", None).unwrap();
            assert_eq!(ada.user, "ada@example.com");
        }
    }

    #[test]
    fn names_must_be_printable_and_short() {
        let long = "x".repeat(201);
        for user in [
            json!(""),
            json!(" "),
            json!(" ada"),
            json!("ada "),
            json!("a\0b"),
            json!(long),
            json!(7),
        ] {
            let error = identity(json!({ "sub": user }), "sub", None).unwrap_err();
            assert!(
                error.contains("the claim 'sub' of the provider is no"),
                "{user}: {error}"
            );
        }
    }
}

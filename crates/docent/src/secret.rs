//! Keeps passwords in URLs and on the command line out of messages.

use std::borrow::Cow;
use std::ffi::OsString;

use anyhow::{Context as _, Result, bail};
use docent_store_postgres::Settings;

const REDACTED: &str = "…";
/// The variable of PostgreSQL's own programs.
const PASSWORD_VARIABLE: &str = "PGPASSWORD";

/// Parses a PostgreSQL URL. Without a password in it, `PGPASSWORD` is used.
pub(crate) fn parse_postgres_url(url: &str) -> Result<Settings> {
    check_encoding(url)?;
    let settings = Settings::parse(url)?;
    match std::env::var_os(PASSWORD_VARIABLE) {
        Some(password) => {
            let password = password.into_string().ok();
            let password =
                password.with_context(|| format!("{PASSWORD_VARIABLE} is not Unicode"))?;
            Ok(settings.with_password(&password))
        }
        None => Ok(settings),
    }
}

/// Rejects a URL with unencoded special characters in the password: a part of it would be taken for
/// the host, which messages show.
pub(crate) fn check_encoding(url: &str) -> Result<()> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
    let is_parameter_name = |name: &str| {
        let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        !name.is_empty() && name.chars().all(is_allowed)
    };
    let mut pairs = query.split('&').filter(|pair| !pair.is_empty());
    // An '@' in a parameter means that the password contains '?'. Only usernames contain '@'
    // themselves.
    let are_parameters_valid = pairs.all(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        is_parameter_name(name) && (!value.contains('@') || name == "user" && !value.contains('/'))
    });
    if base.matches('@').count() > 1 || !are_parameters_valid {
        bail!(
            "the URL is ambiguous: in a username or password, encode @ as %40, : as %3A, / as %2F, ? as %3F, \
             # as %23, & as %26 and % as %25"
        );
    }
    Ok(())
}

/// Removes arguments that may contain a password from a message about the command line.
pub(crate) fn redact<'m>(message: &'m str, arguments: &[OsString]) -> Cow<'m, str> {
    let mut shown = Cow::Borrowed(message);
    for argument in arguments {
        let argument = argument.to_string_lossy();
        let is_flag = argument.starts_with('-');
        let value = match argument.split_once('=') {
            Some((_, value)) if is_flag => value,
            _ => &argument,
        };
        // Shorter values occur in ordinary text.
        let may_be_secret =
            value.len() > 3 && (value.contains(['@', ':']) || value.contains("password"));
        if may_be_secret && shown.contains(value) {
            shown = Cow::Owned(shown.replace(value, REDACTED));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_with_unencoded_passwords_are_rejected_without_repeating_them() {
        for url in [
            "postgres://ada:SEC@ret/TAIL@db/catalog",
            "postgres://ada:p@ss:w/ord#1%?&@db/catalog",
            "postgres://ada:1?2@db/catalog",
            "mysql://ada:rd@pass/SECRET@db/datahub",
            "mysql://ada:abc?SECRET=@db/datahub",
            "postgres://ada:abc?SECRET&x=1@db/catalog",
            "postgres://ada:abc?SECRET=1&user=x@db/catalog",
        ] {
            let error = check_encoding(url).unwrap_err().to_string();
            assert!(error.contains("encode @ as %40"), "{error}");
            for part in ["SEC", "TAIL", "ret", "ord#1"] {
                assert!(!error.contains(part), "{error}");
            }
        }
        for url in [
            "postgres://ada:p%40ss%2F@db/catalog?sslmode=require&user=ada@example",
            "postgres:///catalog?host=/run/postgresql",
            "mysql://ada@db/datahub",
        ] {
            check_encoding(url).unwrap();
        }
    }

    #[test]
    fn arguments_that_may_contain_a_password_are_redacted() {
        let arguments = [
            "docent",
            "check",
            "--auth=pg://a:SECRET@db",
            "host=db password=SECRET",
            "stray",
        ]
        .map(OsString::from);
        let message =
            "'pg://a:SECRET@db' and 'host=db password=SECRET' and 'stray' are not expected";
        let shown = redact(message, &arguments);
        assert_eq!(shown, "'…' and '…' and 'stray' are not expected");
    }
}

//! Passwords on the command line: they stand in URLs, and no message may repeat one, whatever is wrong with it.
//!
//! What is said about a URL is said by those who understand it; here is what holds for all of them.

use std::borrow::Cow;
use std::ffi::OsString;

use anyhow::{Context as _, Result, bail};
use docent_store_postgres::Settings;

/// What stands for something that is not shown.
const HIDDEN: &str = "…";
/// The variable that PostgreSQL's own programs read.
const PASSWORD: &str = "PGPASSWORD";

/// A PostgreSQL database by its URL; a password that is not in it is looked for where PostgreSQL's own programs do.
pub(crate) fn postgres(url: &str) -> Result<Settings> {
    check_encoding(url)?;
    let settings = Settings::parse(url)?;
    match std::env::var_os(PASSWORD) {
        Some(password) => {
            let password = password.into_string().ok();
            let password = password.with_context(|| format!("{PASSWORD} is not Unicode"))?;
            Ok(settings.with_password(&password))
        }
        None => Ok(settings),
    }
}

/// Refuses a URL in which the password cannot be told from what follows it, because letters with a meaning stand in it as
/// they are: what is taken for the name of the host would be shown.
pub(crate) fn check_encoding(url: &str) -> Result<()> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
    let is_name = |name: &str| {
        let is_of_names = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        !name.is_empty() && name.chars().all(is_of_names)
    };
    let mut pairs = query.split('&').filter(|pair| !pair.is_empty());
    // An '@' in a parameter is one behind a password in which a '?' stands; only names of users have one themselves.
    let pairs_are_right = pairs.all(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        is_name(name) && (!value.contains('@') || name == "user" && !value.contains('/'))
    });
    if base.matches('@').count() > 1 || !pairs_are_right {
        bail!(
            "the URL cannot be taken apart: in a user name or a password write @ as %40, : as %3A, / as %2F, ? as %3F, \
             # as %23, & as %26 and % as %25"
        );
    }
    Ok(())
}

/// A message about the command line, without those of its words that may have a password in them.
pub(crate) fn without<'m>(message: &'m str, arguments: &[OsString]) -> Cow<'m, str> {
    let mut shown = Cow::Borrowed(message);
    for argument in arguments {
        let argument = argument.to_string_lossy();
        let is_flag = argument.starts_with('-');
        let value = match argument.split_once('=') {
            Some((_, value)) if is_flag => value,
            _ => &argument,
        };
        // Shorter ones stand in every message.
        let may_be_secret =
            value.len() > 3 && (value.contains(['@', ':']) || value.contains("password"));
        if may_be_secret && shown.contains(value) {
            shown = Cow::Owned(shown.replace(value, HIDDEN));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_whose_password_cannot_be_told_from_the_host_is_refused_with_what_to_write() {
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
            assert!(error.contains("write @ as %40"), "{error}");
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
    fn words_that_may_have_a_password_in_them_are_not_repeated() {
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
        let shown = without(message, &arguments);
        assert_eq!(shown, "'…' and '…' and 'stray' are not expected");
    }
}

//! The credentials of a bucket, from the variables that other programs use, or from a file.
//!
//! A file is read again for every request: temporary credentials expire within hours, and what
//! renews them writes the file.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rusty_s3::Credentials;

const FILE_VARIABLE: &str = "AWS_SHARED_CREDENTIALS_FILE";
const PROFILE_VARIABLE: &str = "AWS_PROFILE";
const DEFAULT_PROFILE: &str = "default";
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Where the credentials come from.
#[derive(Clone)]
pub(super) enum CredentialsSource {
    Variables(Credentials),
    File { path: PathBuf, profile: String },
}

impl CredentialsSource {
    /// The variables with the credentials take precedence, as in other programs. A file is read
    /// once, so that a mistake in it is found at once.
    pub(super) fn find() -> Result<Self> {
        if let Some(credentials) = Credentials::from_env() {
            return Ok(Self::Variables(credentials));
        }
        let path = std::env::var_os(FILE_VARIABLE).filter(|path| !path.is_empty());
        let path = path.with_context(|| {
            format!(
                "backups in a bucket need the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
                 {FILE_VARIABLE}, the file that contains them"
            )
        })?;
        let profile = std::env::var(PROFILE_VARIABLE).ok();
        let source = Self::File {
            path: path.into(),
            profile: profile.unwrap_or_else(|| DEFAULT_PROFILE.to_owned()),
        };
        source.read()?;
        Ok(source)
    }

    pub(super) fn read(&self) -> Result<Credentials> {
        match self {
            Self::Variables(credentials) => Ok(credentials.clone()),
            Self::File { path, profile } => read_file(path, profile),
        }
    }
}

fn read_file(path: &Path, profile: &str) -> Result<Credentials> {
    let failed = || format!("cannot read the credentials file {}", path.display());
    let mut text = String::new();
    let file = File::open(path).with_context(failed)?;
    let mut limited = file.take(MAX_FILE_BYTES);
    limited.read_to_string(&mut text).with_context(failed)?;
    parse(&text, profile).with_context(|| {
        format!(
            "the credentials file {} has no aws_access_key_id and aws_secret_access_key in the section [{profile}]",
            path.display()
        )
    })
}

/// Reads the section of a profile.
fn parse(text: &str, profile: &str) -> Option<Credentials> {
    let mut is_profile = false;
    let (mut key, mut secret, mut token) = (None, None, None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            is_profile = name.trim() == profile;
        } else if is_profile && let Some((name, value)) = line.split_once('=') {
            let value = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
            match name.trim() {
                "aws_access_key_id" => key = value,
                "aws_secret_access_key" => secret = value,
                "aws_session_token" => token = value,
                _ => {}
            }
        }
    }
    let (key, secret) = (key?, secret?);
    Some(match token {
        Some(token) => Credentials::new_with_token(key, secret, token),
        None => Credentials::new(key, secret),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# renewed every hour\n\
        [default]\naws_access_key_id = A\naws_secret_access_key=SECRET=1\n\
        [ backups ]\nregion = eu\naws_access_key_id = B\naws_secret_access_key = SECRET2\n\
        aws_session_token = T\n[empty]\naws_access_key_id = C\naws_secret_access_key =\n";

    #[test]
    fn a_profile_has_a_key_a_secret_and_perhaps_a_token() {
        let found = |profile| {
            let found = parse(FILE, profile)?;
            let token = found.token().map(str::to_owned);
            Some((found.key().to_owned(), found.secret().to_owned(), token))
        };
        let owned = str::to_owned;
        assert_eq!(
            found("default"),
            Some((owned("A"), owned("SECRET=1"), None))
        );
        let expected = (owned("B"), owned("SECRET2"), Some(owned("T")));
        assert_eq!(found("backups"), Some(expected));
        assert_eq!(found("empty"), None);
        assert_eq!(found("other"), None);
    }

    #[test]
    fn a_file_is_read_again_each_time_and_errors_do_not_repeat_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("credentials");
        let write = |key: &str| {
            let text =
                format!("[default]\naws_access_key_id={key}\naws_secret_access_key=SECRET\n");
            std::fs::write(&path, text).unwrap();
        };
        write("A");
        let source = CredentialsSource::File {
            path: path.clone(),
            profile: DEFAULT_PROFILE.to_owned(),
        };
        assert_eq!(source.read().unwrap().key(), "A");
        write("B");
        assert_eq!(source.read().unwrap().key(), "B");
        std::fs::write(&path, "aws_secret_access_key=SECRET").unwrap();
        let error = format!("{:#}", source.read().unwrap_err());
        assert!(
            error.contains("[default]") && !error.contains("SECRET"),
            "{error}"
        );
    }
}

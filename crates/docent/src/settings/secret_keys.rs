//! The keys that encrypt stored secrets.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use docent_catalog::ingestion_secrets::{SecretKey, SecretKeys};

use super::identity::read_word;

/// Reads the keys. A previous key decrypts what was encrypted before the key was replaced.
pub(super) fn read(
    current: Option<PathBuf>,
    previous: Option<PathBuf>,
) -> Result<Option<SecretKeys>> {
    match (current, previous) {
        (None, None) => Ok(None),
        (None, Some(_)) => {
            bail!("--previous-secret-key-file needs --secret-key-file, the key that replaces it")
        }
        (Some(current), previous) => Ok(Some(SecretKeys {
            current: read_key(&current)?,
            previous: previous.as_deref().map(read_key).transpose()?,
        })),
    }
}

fn read_key(path: &Path) -> Result<SecretKey> {
    let text = read_word(path, "secret key file")?;
    SecretKey::parse(&text).with_context(|| {
        format!(
            "the secret key file {0} must contain 32 bytes in base64: create it with 'openssl rand -base64 32 > {0}'",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

    #[test]
    fn a_key_is_32_bytes_in_base64_and_not_in_messages() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let good = file("good", &format!("{KEY}\n"));
        assert!(read(None, None).unwrap().is_none());
        assert!(read(Some(good.clone()), None).unwrap().is_some());
        let both = read(Some(good.clone()), Some(good.clone())).unwrap();
        assert!(both.unwrap().previous.is_some());
        let error = read(None, Some(good)).unwrap_err().to_string();
        assert!(error.contains("--secret-key-file"), "{error}");
        let short = file("short", "c2VjcmV0");
        let error = read(Some(short), None).unwrap_err().to_string();
        assert!(error.contains("openssl rand -base64 32"), "{error}");
        assert!(!error.contains("c2VjcmV0"), "{error}");
        let missing = directory.path().join("missing");
        let error = read(Some(missing), None).unwrap_err().to_string();
        assert!(error.contains("cannot read the secret key file"), "{error}");
    }
}

//! Secrets inside of aspects that are otherwise readable.
//!
//! Reads replace them by [`REDACTED`]. A client that writes back what it has read keeps them: a
//! redacted value stands for the stored one.

use std::sync::Arc;

use docent_model::AspectName;
use docent_store::{AspectRow, StoredAspect};
use serde_json::Value;

/// What is shown instead of a secret.
pub(crate) const REDACTED: &str = "********";

/// Aspects, and the path of the secret in each.
const SECRETS: [(AspectName, &[&str]); 3] = [
    (AspectName::INGESTION_SOURCE_INFO, &["config", "recipe"]),
    (AspectName::EXECUTION_REQUEST_INPUT, &["args", "recipe"]),
    (
        AspectName::GLOBAL_SETTINGS_INFO,
        &["sso", "oidcSettings", "clientSecret"],
    ),
];

/// The path of the secret in an aspect.
fn secret_in(aspect: AspectName) -> Option<&'static [&'static str]> {
    let secret = SECRETS.iter().find(|(known, _)| *known == aspect);
    secret.map(|(_, path)| *path)
}

fn member_mut<'v>(value: &'v mut Value, path: &[&str]) -> Option<&'v mut Value> {
    path.iter()
        .try_fold(value, |value, name| value.get_mut(name))
}

/// Replaces the secret of a row that is read. A row that is not JSON is not shown.
pub(crate) fn redact_row(aspect: AspectName, row: &mut AspectRow) {
    if secret_in(aspect).is_some()
        && let Some(found) = row
    {
        redact(aspect, Arc::make_mut(found));
    }
}

/// Replaces the secret of an aspect that is read.
pub(crate) fn redact(aspect: AspectName, row: &mut StoredAspect) {
    let Some(path) = secret_in(aspect) else {
        return;
    };
    let mut value: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
    if let Some(secret) = member_mut(&mut value, path) {
        *secret = Value::String(REDACTED.to_owned());
    }
    row.metadata = value.to_string();
}

/// The proposed value with the stored secret, if it has a redacted one.
pub(crate) fn with_stored_secret<'s>(
    aspect: AspectName,
    stored: impl FnOnce() -> Option<&'s Value>,
    proposed: &Value,
) -> Option<Value> {
    let path = secret_in(aspect)?;
    let mut restored = proposed.clone();
    let secret = member_mut(&mut restored, path).filter(|it| **it == REDACTED)?;
    let stored = path
        .iter()
        .try_fold(stored()?, |value, name| value.get(name));
    *secret = stored?.clone();
    Some(restored)
}

#[cfg(test)]
mod tests {
    use docent_model::Registry;

    use super::*;

    #[test]
    fn every_aspect_with_a_secret_is_in_the_registry() {
        for (aspect, _) in SECRETS {
            assert_eq!(Registry::get().aspect(aspect.as_str()), Some(aspect));
        }
    }
}

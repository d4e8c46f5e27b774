//! Secrets inside of aspects that are otherwise readable.
//!
//! Reads replace them by [`REDACTED`]. A client that writes back what it has read keeps them: a
//! redacted value stands for the stored one.

use std::sync::Arc;

use docent_model::AspectName;
use docent_store::{AspectKey, AspectRow, ReadReply, ReadRequest, StoredAspect};
use serde_json::Value;

use crate::Catalog;

/// What is shown instead of a secret.
pub(crate) const REDACTED: &str = "********";

/// Aspects, and the paths of the secrets in each. A path may lead to a map, all texts of which are
/// secret.
const SECRETS: [(AspectName, &[&[&str]]); 3] = [
    (
        AspectName::INGESTION_SOURCE_INFO,
        &[&["config", "recipe"], &["config", "extraArgs"]],
    ),
    (
        AspectName::EXECUTION_REQUEST_INPUT,
        &[&["args", "recipe"], &["args", "extra_env_vars"]],
    ),
    (
        AspectName::GLOBAL_SETTINGS_INFO,
        &[&["sso", "oidcSettings", "clientSecret"]],
    ),
];

/// The paths of the secrets in an aspect.
fn secrets_in(aspect: AspectName) -> &'static [&'static [&'static str]] {
    let secrets = SECRETS.iter().find(|(known, _)| *known == aspect);
    secrets.map_or(&[], |(_, paths)| *paths)
}

/// Whether an aspect has members that are not shown.
pub(crate) fn has_secret(aspect: AspectName) -> bool {
    !secrets_in(aspect).is_empty()
}

/// What was read, without secret aspects and without secrets inside of others.
pub(crate) fn without_secrets(request: ReadRequest<'_>, mut reply: ReadReply) -> ReadReply {
    remove_secrets(request.rows, &mut reply.rows);
    for aspects in &mut reply.entities {
        aspects.retain(|(aspect, _)| !Catalog::is_secret(*aspect));
        for (aspect, row) in aspects {
            redact(*aspect, row);
        }
    }
    reply
}

/// Removes secret aspects, and secrets from others.
fn remove_secrets(keys: &[AspectKey], rows: &mut [AspectRow]) {
    for (key, row) in keys.iter().zip(rows) {
        if Catalog::is_secret(key.aspect) {
            *row = None;
        }
        redact_row(key.aspect, row);
    }
}

/// Replaces the secrets of a row that is read.
pub(crate) fn redact_row(aspect: AspectName, row: &mut AspectRow) {
    if has_secret(aspect)
        && let Some(found) = row
    {
        redact(aspect, Arc::make_mut(found));
    }
}

/// Replaces the secrets of an aspect that is read. A text that is not JSON becomes null.
pub(crate) fn redact(aspect: AspectName, row: &mut StoredAspect) {
    if !has_secret(aspect) {
        return;
    }
    let mut value: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
    for path in secrets_in(aspect) {
        let member = path
            .iter()
            .try_fold(&mut value, |value, name| value.get_mut(name));
        if let Some(member) = member {
            for_each_text(member, None, |text, _| REDACTED.clone_into(text));
        }
    }
    row.metadata = value.to_string();
}

/// The proposed value with the stored secrets in the place of redacted ones; `None` if it has none.
pub(crate) fn with_stored_secrets<'s>(
    aspect: AspectName,
    stored: impl FnOnce() -> Option<&'s Value>,
    proposed: &Value,
) -> Option<Value> {
    if !has_secret(aspect) {
        return None;
    }
    let stored = stored()?;
    let mut restored = proposed.clone();
    for path in secrets_in(aspect) {
        let known = path.iter().try_fold(stored, |value, name| value.get(name));
        let member = path
            .iter()
            .try_fold(&mut restored, |value, name| value.get_mut(name));
        if let Some(member) = member {
            for_each_text(member, known, |text, known| {
                if let Some(known) = known.filter(|_| text == REDACTED) {
                    known.clone_into(text);
                }
            });
        }
    }
    (restored != *proposed).then_some(restored)
}

/// Visits a text or the texts of a map, each with the text in the same place of another value.
fn for_each_text(
    value: &mut Value,
    other: Option<&Value>,
    mut visit: impl FnMut(&mut String, Option<&str>),
) {
    match value {
        Value::String(text) => visit(text, other.and_then(Value::as_str)),
        Value::Object(members) => {
            for (name, member) in members {
                let other = other.and_then(|other| other.get(name)?.as_str());
                if let Value::String(text) = member {
                    visit(text, other);
                }
            }
        }
        _ => {}
    }
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

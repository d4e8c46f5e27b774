//! Removes references to an entity from an aspect, as described by the registry.
//!
//! Only URNs that form a relationship are removed; audit stamps keep their actors. A list item or
//! an optional member that requires the URN is removed with it.

use serde_json::Value;

use crate::registry::{Relationship, Shape};
use crate::{AspectName, Registry};

/// The effect of removing references from a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalResult {
    /// The value had no such reference.
    Unchanged,
    /// The references were removed.
    Changed,
    /// The value is not valid without the reference and must be removed.
    Invalid,
}

/// Removes all relationships with `urn` from the value of an aspect.
pub fn remove_references(aspect: AspectName, value: &mut Value, urn: &str) -> RemovalResult {
    let registry = Registry::get();
    match registry.aspect_record(aspect) {
        Some(record) => remove(registry, &Shape::Record(record), value, urn),
        None => RemovalResult::Unchanged,
    }
}

fn remove(registry: &Registry, shape: &Shape, value: &mut Value, urn: &str) -> RemovalResult {
    match (shape, value) {
        (Shape::Urn(Some(Relationship { .. })), Value::String(text)) if text == urn => {
            RemovalResult::Invalid
        }
        (Shape::Array(items), Value::Array(values)) => {
            let mut result = RemovalResult::Unchanged;
            values.retain_mut(|item| keep(&mut result, remove(registry, items, item, urn)));
            result
        }
        (Shape::Map(shape), Value::Object(members)) => {
            let mut result = RemovalResult::Unchanged;
            members.retain(|_, member| keep(&mut result, remove(registry, shape, member, urn)));
            result
        }
        (Shape::Record(id), Value::Object(members)) => {
            let mut result = RemovalResult::Unchanged;
            for field in registry.record(*id).related_fields() {
                let Some(member) = members.get_mut(field.name) else {
                    continue;
                };
                if keep(&mut result, remove(registry, &field.shape, member, urn)) {
                    continue;
                }
                if field.required {
                    return RemovalResult::Invalid;
                }
                members.remove(field.name);
            }
            result
        }
        (Shape::Union(types), Value::Object(members)) => types
            .iter()
            .filter_map(|member| {
                let inner = members.get_mut(member.name)?;
                Some(remove(registry, &member.shape, inner, urn))
            })
            .find(|result| *result != RemovalResult::Unchanged)
            .unwrap_or(RemovalResult::Unchanged),
        _ => RemovalResult::Unchanged,
    }
}

/// Records the result of a part in that of the whole. Returns whether to keep the part.
fn keep(whole: &mut RemovalResult, part: RemovalResult) -> bool {
    if part != RemovalResult::Unchanged {
        *whole = RemovalResult::Changed;
    }
    part != RemovalResult::Invalid
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn without(aspect: &str, mut value: Value, urn: &str) -> (RemovalResult, Value) {
        let aspect = Registry::get().aspect(aspect).unwrap();
        let result = remove_references(aspect, &mut value, urn);
        (result, value)
    }

    #[test]
    fn list_items_with_the_reference_are_removed() {
        let stamp = json!({"time": 1, "actor": "urn:li:corpuser:a"});
        let terms = json!({"terms": [{"urn": "urn:li:glossaryTerm:x"}, {"urn": "urn:li:glossaryTerm:y"}], "auditStamp": stamp});
        let (result, value) = without("glossaryTerms", terms, "urn:li:glossaryTerm:x");
        assert_eq!(result, RemovalResult::Changed);
        assert_eq!(
            value,
            json!({"terms": [{"urn": "urn:li:glossaryTerm:y"}], "auditStamp": stamp})
        );
    }

    #[test]
    fn audit_stamps_are_kept() {
        let owners = json!({
            "owners": [{"owner": "urn:li:corpuser:a", "type": "DATAOWNER"}],
            "lastModified": {"time": 1, "actor": "urn:li:corpuser:a"},
        });
        let (result, value) = without("ownership", owners, "urn:li:corpuser:a");
        assert_eq!(result, RemovalResult::Changed);
        assert_eq!(
            value,
            json!({"owners": [], "lastModified": {"time": 1, "actor": "urn:li:corpuser:a"}})
        );
    }

    #[test]
    fn optional_members_are_removed() {
        let domain = json!({"name": "n", "parentDomain": "urn:li:domain:p"});
        let (result, value) = without("domainProperties", domain, "urn:li:domain:p");
        assert_eq!(
            (result, value),
            (RemovalResult::Changed, json!({"name": "n"}))
        );
    }

    #[test]
    fn an_aspect_that_requires_the_reference_becomes_invalid() {
        let container = json!({"container": "urn:li:container:c"});
        let (result, _) = without("container", container, "urn:li:container:c");
        assert_eq!(result, RemovalResult::Invalid);
    }

    #[test]
    fn other_urns_leave_the_value_unchanged() {
        let tags = json!({"tags": [{"tag": "urn:li:tag:a"}]});
        let (result, value) = without("globalTags", tags.clone(), "urn:li:tag:b");
        assert_eq!((result, value), (RemovalResult::Unchanged, tags));
    }
}

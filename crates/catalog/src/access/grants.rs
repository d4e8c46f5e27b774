//! What policies and scopes of tokens say about entities that are deleted: nothing may be left for
//! a later entity of the same name.

use std::collections::HashSet;

use docent_model::Urn;
use serde_json::Value;

/// Whether policies may refer to an entity, as an actor or as a part of the catalog.
fn is_grantable(urn: &Urn) -> bool {
    matches!(
        urn.entity_type(),
        "corpuser"
            | "corpGroup"
            | "dataHubRole"
            | "domain"
            | "container"
            | "tag"
            | "glossaryTerm"
            | "glossaryNode"
            | "ownershipType"
    )
}

/// Deleted entities, to be removed from policies.
#[derive(Debug, Default)]
pub(crate) struct DeletedGrantees(HashSet<String>);

impl DeletedGrantees {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, urn: &Urn) -> bool {
        self.0.contains(urn.as_str())
    }

    pub(crate) fn has_domains(&self) -> bool {
        self.0.iter().any(|urn| urn.starts_with("urn:li:domain:"))
    }

    /// Adds an entity, if policies may refer to it.
    pub(crate) fn add(&mut self, urn: &Urn) {
        if is_grantable(urn) {
            self.0.insert(urn.as_str().to_owned());
        }
    }

    /// Whether a stored policy names one of them. Hardly any does, and the others must not be
    /// locked and parsed: on PostgreSQL that is a round trip for each, in the deletion's
    /// transaction.
    pub(crate) fn are_in(&self, policy: &str) -> bool {
        if policy.contains('\\') {
            // A text with escapes may contain a URN in another form.
            let parsed: Option<Value> = serde_json::from_str(policy).ok();
            return parsed.is_some_and(|mut policy| self.remove_from(&mut policy));
        }
        policy.split('"').any(|text| self.0.contains(text))
    }

    /// Removes them from the actors and from positive criteria of a policy. Returns whether it
    /// named one. A criterion without values matches nothing, so the policy never covers more than
    /// before. In a criterion that excludes entities a deleted one has no effect, and removing the
    /// last would include everything.
    pub(crate) fn remove_from(&self, policy: &mut Value) -> bool {
        let mut is_changed = false;
        for member in ["users", "groups", "roles", "resourceOwnersTypes"] {
            is_changed |= self.remove_at(policy, &format!("/actors/{member}"));
        }
        is_changed |= self.remove_at(policy, "/resources/resources");
        for filter in ["filter", "privilegeConstraints"] {
            let criteria = policy.pointer_mut(&format!("/resources/{filter}/criteria"));
            let criteria = criteria.and_then(Value::as_array_mut);
            for criterion in criteria.into_iter().flatten() {
                if criterion["condition"] != "NOT_EQUALS" {
                    is_changed |= self.remove_at(criterion, "/values");
                }
            }
        }
        is_changed
    }

    fn remove_at(&self, value: &mut Value, pointer: &str) -> bool {
        let Some(Value::Array(list)) = value.pointer_mut(pointer) else {
            return false;
        };
        let before = list.len();
        list.retain(|item| !item.as_str().is_some_and(|text| self.0.contains(text)));
        list.len() < before
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deleted(urn: &str) -> DeletedGrantees {
        let mut deleted = DeletedGrantees::default();
        deleted.add(&Urn::parse(urn).unwrap());
        deleted
    }

    #[test]
    fn a_deleted_entity_is_removed_wherever_it_grants_something() {
        let urn = "urn:li:tag:a";
        let criterion = |condition: &str| json!({"field": "TAG", "values": [urn, "urn:li:tag:b"], "condition": condition});
        let mut policy = json!({
            "actors": {"users": ["urn:li:corpuser:u"], "groups": null},
            "resources": {
                "resources": [urn],
                "filter": {"criteria": [criterion("EQUALS"), criterion("NOT_EQUALS")]},
                "privilegeConstraints": {"criteria": [criterion("STARTS_WITH"), 7]},
            },
        });
        let before = policy.clone();
        assert!(!deleted("urn:li:tag:c").remove_from(&mut policy));
        assert!(!deleted("urn:li:dataset:x").remove_from(&mut policy));
        assert_eq!(policy, before);
        assert!(deleted(urn).remove_from(&mut policy));
        let mut expected = before;
        expected["resources"]["resources"] = json!([]);
        for pointer in ["filter/criteria/0", "privilegeConstraints/criteria/0"] {
            let values = expected.pointer_mut(&format!("/resources/{pointer}/values"));
            *values.unwrap() = json!(["urn:li:tag:b"]);
        }
        assert_eq!(policy, expected);
    }

    #[test]
    fn texts_of_policies_that_name_a_deleted_entity_are_found() {
        let mut deleted = deleted("urn:li:tag:a/b");
        for _ in 0..2 {
            let named = r#"{"resources": {"resources": ["urn:li:tag:a/b"]}}"#;
            assert!(deleted.are_in(named));
            assert!(deleted.are_in(&named.replace("a/b", "a\\/b")));
            assert!(!deleted.are_in(&named.replace("a/b", "other")));
            assert!(!deleted.are_in(&named.replace("a/b", "a\\/b\\/c")));
            assert!(!deleted.are_in(r#"{"description": "urn:li:tag:a/b and \n others"}"#));
            assert!(!deleted.are_in("not JSON \\ urn:li:tag:a/b"));
            for number in 0..1_000 {
                deleted.add(&Urn::parse(&format!("urn:li:tag:t{number}")).unwrap());
            }
        }
    }
}

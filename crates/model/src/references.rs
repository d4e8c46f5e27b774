//! Taking a URN out of an aspect, by what the registry says about where URNs stand.
//!
//! Only URNs that make a relationship are taken out: an audit stamp tells what happened, whoever it names. What cannot be
//! without the URN goes with it: the item of a list, or the member that may be absent, that it stands in.

use serde_json::Value;

use crate::registry::{Relationship, Shape};
use crate::{AspectName, Registry};

/// What taking a URN out leaves of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remainder {
    /// It was not in there.
    Same,
    /// The value without it.
    Rest,
    /// The value makes no sense without it.
    Nothing,
}

/// Takes all relationships with `urn` out of the value of an aspect.
pub fn take_out(aspect: AspectName, value: &mut Value, urn: &str) -> Remainder {
    let registry = Registry::get();
    match registry.aspect_record(aspect) {
        Some(record) => remove(registry, &Shape::Record(record), value, urn),
        None => Remainder::Same,
    }
}

fn remove(registry: &Registry, shape: &Shape, value: &mut Value, urn: &str) -> Remainder {
    match (shape, value) {
        (Shape::Urn(Some(Relationship { .. })), Value::String(text)) if text == urn => {
            Remainder::Nothing
        }
        (Shape::Array(items), Value::Array(values)) => {
            let mut remainder = Remainder::Same;
            values.retain_mut(|item| keep(&mut remainder, remove(registry, items, item, urn)));
            remainder
        }
        (Shape::Map(shape), Value::Object(members)) => {
            let mut remainder = Remainder::Same;
            members.retain(|_, member| keep(&mut remainder, remove(registry, shape, member, urn)));
            remainder
        }
        (Shape::Record(id), Value::Object(members)) => {
            let mut remainder = Remainder::Same;
            for field in registry.record(*id).related_fields() {
                let Some(member) = members.get_mut(field.name) else {
                    continue;
                };
                if keep(&mut remainder, remove(registry, &field.shape, member, urn)) {
                    continue;
                }
                if field.required {
                    return Remainder::Nothing;
                }
                members.remove(field.name);
            }
            remainder
        }
        (Shape::Union(types), Value::Object(members)) => types
            .iter()
            .filter_map(|member| {
                let inner = members.get_mut(member.name)?;
                Some(remove(registry, &member.shape, inner, urn))
            })
            .find(|remainder| *remainder != Remainder::Same)
            .unwrap_or(Remainder::Same),
        _ => Remainder::Same,
    }
}

/// Whether a part stays where it is; notes that something has changed.
fn keep(whole: &mut Remainder, part: Remainder) -> bool {
    if part != Remainder::Same {
        *whole = Remainder::Rest;
    }
    part != Remainder::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn without(aspect: &str, mut value: Value, urn: &str) -> (Remainder, Value) {
        let aspect = Registry::get().aspect(aspect).unwrap();
        let remainder = take_out(aspect, &mut value, urn);
        (remainder, value)
    }

    #[test]
    fn the_item_of_a_list_goes_and_the_others_stay() {
        let stamp = json!({"time": 1, "actor": "urn:li:corpuser:a"});
        let terms = json!({"terms": [{"urn": "urn:li:glossaryTerm:x"}, {"urn": "urn:li:glossaryTerm:y"}], "auditStamp": stamp});
        let (remainder, value) = without("glossaryTerms", terms, "urn:li:glossaryTerm:x");
        assert_eq!(remainder, Remainder::Rest);
        assert_eq!(
            value,
            json!({"terms": [{"urn": "urn:li:glossaryTerm:y"}], "auditStamp": stamp})
        );
    }

    #[test]
    fn who_did_something_stays_known() {
        let owners = json!({
            "owners": [{"owner": "urn:li:corpuser:a", "type": "DATAOWNER"}],
            "lastModified": {"time": 1, "actor": "urn:li:corpuser:a"},
        });
        let (remainder, value) = without("ownership", owners, "urn:li:corpuser:a");
        assert_eq!(remainder, Remainder::Rest);
        assert_eq!(
            value,
            json!({"owners": [], "lastModified": {"time": 1, "actor": "urn:li:corpuser:a"}})
        );
    }

    #[test]
    fn a_member_that_may_be_absent_goes_alone() {
        let domain = json!({"name": "n", "parentDomain": "urn:li:domain:p"});
        let (remainder, value) = without("domainProperties", domain, "urn:li:domain:p");
        assert_eq!((remainder, value), (Remainder::Rest, json!({"name": "n"})));
    }

    #[test]
    fn an_aspect_that_is_nothing_but_the_reference_goes_as_a_whole() {
        let container = json!({"container": "urn:li:container:c"});
        let (remainder, _) = without("container", container, "urn:li:container:c");
        assert_eq!(remainder, Remainder::Nothing);
    }

    #[test]
    fn another_urn_changes_nothing() {
        let tags = json!({"tags": [{"tag": "urn:li:tag:a"}]});
        let (remainder, value) = without("globalTags", tags.clone(), "urn:li:tag:b");
        assert_eq!((remainder, value), (Remainder::Same, tags));
    }
}

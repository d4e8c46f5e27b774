//! A three-way merge of aspects: a proposed change is applied to what is stored by now.
//!
//! Objects merge by member. Lists of objects merge by the member that identifies an item, such as
//! the tag of a label, and lists of texts as sets. Everything else is one value: if both sides
//! changed it, and differently, the merge fails.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The members that identify an item of a list, the first that all items have.
const KEYS: [&str; 10] = [
    "fieldPath",
    "tag",
    "owner",
    "url",
    "propertyUrn",
    "dataset",
    "domain",
    "schemaField",
    "urn",
    "id",
];
/// Members that say who wrote an item and when. They follow the side that changed the rest.
const STAMPS: [&str; 4] = ["lastModified", "created", "createStamp", "auditStamp"];

/// Both sides changed the same value, differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict;

/// Applies the change from `base` to `proposed` to `current`. `None` is a missing value.
pub(super) fn merge(
    base: Option<&Value>,
    proposed: Option<&Value>,
    current: Option<&Value>,
) -> Result<Option<Value>, Conflict> {
    if proposed == base || proposed == current {
        return Ok(current.cloned());
    }
    if current == base {
        return Ok(proposed.cloned());
    }
    match (proposed, current) {
        (Some(Value::Object(proposed)), Some(Value::Object(current))) => {
            let empty = Map::new();
            let base = base.and_then(Value::as_object).unwrap_or(&empty);
            merge_objects(base, proposed, current).map(Some)
        }
        (Some(Value::Array(proposed)), Some(Value::Array(current))) => {
            let base = base
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice);
            merge_lists(base, proposed, current).map(Some)
        }
        _ => Err(Conflict),
    }
}

fn merge_objects(
    base: &Map<String, Value>,
    proposed: &Map<String, Value>,
    current: &Map<String, Value>,
) -> Result<Value, Conflict> {
    let mut merged = Map::new();
    let added = proposed.keys().filter(|name| !current.contains_key(*name));
    for name in current.keys().chain(added) {
        let (before, after, now) = (base.get(name), proposed.get(name), current.get(name));
        let value = if STAMPS.contains(&name.as_str()) {
            after.or(now).cloned()
        } else {
            merge(before, after, now)?
        };
        if let Some(value) = value {
            merged.insert(name.clone(), value);
        }
    }
    Ok(Value::Object(merged))
}

fn merge_lists(base: &[Value], proposed: &[Value], current: &[Value]) -> Result<Value, Conflict> {
    let identity = Identity::of_items(&[base, proposed, current]).ok_or(Conflict)?;
    let find = |list, item| identity.find(list, identity.key(item)?);
    let added = proposed.iter().filter(|item| find(current, item).is_none());
    let mut merged = Vec::new();
    for item in current.iter().chain(added) {
        merged.extend(merge(
            find(base, item),
            find(proposed, item),
            find(current, item),
        )?);
    }
    Ok(Value::Array(merged))
}

/// How the items of a list are told apart.
#[derive(Clone, Copy)]
enum Identity {
    /// Items are texts.
    Text,
    /// By this member.
    Member(&'static str),
}

impl Identity {
    /// `None` if the items cannot be told apart.
    fn of_items(lists: &[&[Value]]) -> Option<Self> {
        let items = || lists.iter().copied().flatten();
        let identities = KEYS.into_iter().map(Self::Member);
        let identity = std::iter::once(Self::Text)
            .chain(identities)
            .find(|identity| items().all(|item| identity.key(item).is_some()))?;
        let is_unique = |list: &&[Value]| {
            let keys = list.iter().filter_map(|item| identity.key(item));
            keys.collect::<HashSet<&str>>().len() == list.len()
        };
        lists.iter().all(is_unique).then_some(identity)
    }

    fn key(self, item: &Value) -> Option<&str> {
        match self {
            Self::Text => item.as_str(),
            Self::Member(name) => item.get(name)?.as_str(),
        }
    }

    fn find<'v>(self, list: &'v [Value], key: &str) -> Option<&'v Value> {
        list.iter().find(|item| self.key(item) == Some(key))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn merged(base: &Value, proposed: &Value, current: &Value) -> Result<Value, Conflict> {
        let merged = merge(Some(base), Some(proposed), Some(current))?;
        Ok(merged.unwrap_or_default())
    }

    #[test]
    fn changes_of_different_items_are_combined() {
        let columns = |texts: &[(&str, &str)]| {
            let items = texts
                .iter()
                .map(|(path, text)| json!({"fieldPath": path, "description": text}));
            json!({"editableSchemaFieldInfo": items.collect::<Vec<_>>()})
        };
        let base = columns(&[("a", "first"), ("b", "second")]);
        let proposed = columns(&[("a", "better"), ("b", "second"), ("c", "third")]);
        let current = columns(&[("a", "first"), ("b", "other")]);
        let expected = columns(&[("a", "better"), ("b", "other"), ("c", "third")]);
        assert_eq!(merged(&base, &proposed, &current), Ok(expected));
        let both = columns(&[("a", "mine"), ("b", "second")]);
        assert_eq!(merged(&base, &proposed, &both), Err(Conflict));
    }

    #[test]
    fn removed_items_stay_removed_and_added_ones_are_kept() {
        let tags = |names: &[&str]| json!({"tags": names.iter().map(|name| json!({"tag": name})).collect::<Vec<_>>()});
        let result = merged(
            &tags(&["a", "b"]),
            &tags(&["b", "c"]),
            &tags(&["a", "b", "d"]),
        );
        assert_eq!(result, Ok(tags(&["b", "d", "c"])));
        let result = merged(&json!(["a"]), &json!(["a", "b"]), &json!(["c"]));
        assert_eq!(result, Ok(json!(["c", "b"])));
    }

    #[test]
    fn items_that_cannot_be_told_apart_conflict() {
        let list = |numbers: &[i32]| json!({"values": numbers});
        let result = merged(&list(&[1]), &list(&[1, 2]), &list(&[1, 3]));
        assert_eq!(result, Err(Conflict));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!("x")), Just(json!("y")), Just(json!(1))];
        leaf.prop_recursive(3, 12, 3, |inner| {
            let item = ("[abc]", inner.clone())
                .prop_map(|(key, value)| json!({"tag": key, "value": value}));
            prop_oneof![
                prop::collection::btree_map("[abc]", inner, 0..3)
                    .prop_map(|members| json!(members)),
                prop::collection::vec(item, 0..3).prop_map(Value::from),
            ]
        })
    }

    proptest! {
        #[test]
        fn one_sided_changes_are_taken_whole(base in values(), other in values()) {
            prop_assert_eq!(merged(&base, &other, &base), Ok(other.clone()));
            prop_assert_eq!(merged(&base, &base, &other), Ok(other.clone()));
            prop_assert_eq!(merged(&base, &other, &other), Ok(other));
        }

        #[test]
        fn both_sides_agree_on_conflicts(base in values(), one in values(), two in values()) {
            prop_assert_eq!(merged(&base, &one, &two).is_err(), merged(&base, &two, &one).is_err());
        }
    }
}

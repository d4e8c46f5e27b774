//! A list in a JSON object.

use std::ops::{Deref, DerefMut};

use serde_json::Value;

/// A list that is a member of an object, to change in place. Anything else in its place is replaced
/// by an empty list.
pub(super) struct ListMember<'v> {
    member: &'v mut Value,
    /// Taken out of the member until the end.
    items: Vec<Value>,
}

pub(super) fn list_in<'v>(object: &'v mut Value, member: &str) -> ListMember<'v> {
    let member = &mut object[member];
    let items = match member.take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    };
    ListMember { member, items }
}

impl Deref for ListMember<'_> {
    type Target = Vec<Value>;

    fn deref(&self) -> &Vec<Value> {
        &self.items
    }
}

impl DerefMut for ListMember<'_> {
    fn deref_mut(&mut self) -> &mut Vec<Value> {
        &mut self.items
    }
}

impl Drop for ListMember<'_> {
    fn drop(&mut self) {
        *self.member = Value::Array(std::mem::take(&mut self.items));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_changed_in_place_and_created_where_there_is_none() {
        let mut object = json!({"list": [1, 2], "text": "a"});
        list_in(&mut object, "list").retain(|it| *it == 2);
        list_in(&mut object, "text").push(json!(3));
        assert!(list_in(&mut object, "new").is_empty());
        assert_eq!(object, json!({"list": [2], "text": [3], "new": []}));
    }
}

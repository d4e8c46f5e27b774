//! What the rights of a user come from.

use docent_model::AspectName;
use serde_json::Value;

pub(crate) const MEMBERSHIPS: [AspectName; 3] = [
    AspectName::GROUP_MEMBERSHIP,
    AspectName::NATIVE_GROUP_MEMBERSHIP,
    AspectName::ROLE_MEMBERSHIP,
];

/// Whether one of [`MEMBERSHIPS`] has a group or role. Each has one list.
pub(crate) fn has_member(membership: &str) -> bool {
    let value = serde_json::from_str::<Value>(membership);
    let is_full = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    value.is_ok_and(|value| value.as_object().is_some_and(|it| it.values().any(is_full)))
}

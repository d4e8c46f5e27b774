//! The changes between two values of an aspect.

use docent_model::{AspectName, Urn};
use serde_json::Value;

use super::{Event, RULES};

/// The changes between two values of an aspect; null is a missing one.
pub(crate) fn compare_values(
    urn: &Urn,
    aspect: AspectName,
    before: &Value,
    after: &Value,
) -> Vec<Event> {
    let before = (!before.is_null()).then_some(before);
    let rules = RULES.iter().filter(|rule| rule.aspect == aspect.as_str());
    rules
        .flat_map(|rule| rule.compare(urn, before, after))
        .collect()
}

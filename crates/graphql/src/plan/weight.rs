//! The memory of plans, without what they share with the schema and the document.

use std::sync::OnceLock;

use super::{AbstractPlan, FieldKind, FieldPlan, Need, ObjectPlan, Plan, Selection, ValuePlan};
use crate::json::Projection;
use crate::memory::ALLOCATION_BYTES;

impl Plan {
    /// Approximate size, including the plans that were compiled during execution.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.root.as_ref().map_or(0, ObjectPlan::heap_bytes)
    }
}

impl ObjectPlan {
    fn heap_bytes(&self) -> usize {
        let projections = self
            .needs
            .iter()
            .filter_map(|need| need.projection.as_ref());
        3 * ALLOCATION_BYTES
            + self.fields.capacity() * size_of::<FieldPlan>()
            + self.fields.iter().map(FieldPlan::heap_bytes).sum::<usize>()
            + self.needs.capacity() * size_of::<Need>()
            + projections.map(Projection::heap_bytes).sum::<usize>()
            + self.calls.capacity() * size_of::<usize>()
    }
}

impl FieldPlan {
    fn heap_bytes(&self) -> usize {
        let value = match &self.kind {
            FieldKind::TypeName | FieldKind::Introspection => 0,
            FieldKind::Value(value) => {
                ALLOCATION_BYTES + size_of::<ValuePlan>() + value.heap_bytes()
            }
        };
        ALLOCATION_BYTES + self.key.len() + value
    }
}

impl ValuePlan {
    fn heap_bytes(&self) -> usize {
        let arguments = self.arguments.iter().map(super::ArgumentPlan::bytes);
        let selection = match &self.selection {
            Selection::Leaf => 0,
            Selection::Object(plan) => plan.heap_bytes(),
            Selection::Abstract(plan) => plan.heap_bytes(),
        };
        2 * ALLOCATION_BYTES
            + arguments.sum::<usize>()
            + self.cells.capacity() * size_of::<usize>()
            + selection
    }
}

impl AbstractPlan {
    fn heap_bytes(&self) -> usize {
        let known = self.plans.iter().filter_map(OnceLock::get);
        2 * ALLOCATION_BYTES
            + self.selected.capacity() * size_of::<usize>()
            + self.plans.len() * size_of::<OnceLock<ObjectPlan>>()
            + known.map(ObjectPlan::heap_bytes).sum::<usize>()
    }
}

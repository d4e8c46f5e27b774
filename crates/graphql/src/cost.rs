//! The cost of an operation: depth, complexity and size.
//!
//! - **Depth** is the number of nested fields.
//! - **Complexity** is the number of selected fields, with fragments counted at every spread. Of
//!   several fragments on different object types only the most complex counts: an object has one
//!   type, and plans are compiled only for types that occur. (Agents select on 40 types at once.)
//!   Every list argument named `input` adds its length. An `input` adds twice its `count` if the
//!   results are selected with [`RESULT_FRAGMENT`].
//! - **Size** is the number of selected fields, summed over all types.
//!
//! `__typename` is free, because clients add it everywhere. Introspection fields count like all
//! others; [`crate::introspect`] limits the size of their result.

use std::collections::{BTreeMap, HashMap};

use apollo_compiler::ast::Value as Literal;
use apollo_compiler::executable::{Field, Selection, SelectionSet};

use crate::document::OperationVariant;
use crate::input::VariableValues;
use crate::limits::{LimitExceeded, Limits};

/// The fragment of DataHub's web page that selects nearly everything of each search result.
const RESULT_FRAGMENT: &str = "searchResultFields";

/// The cost of an operation. The part that depends on variables is added by [`Cost::check`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    depth: u64,
    complexity: u64,
    size: u64,
    /// How many times the length of a variable is added.
    list_uses: VariableUses,
    /// How many times the cost of a variable's page is added.
    page_uses: VariableUses,
}

/// Counts by the index of a variable. Sparse: an operation may have thousands of variables, and
/// every selection has a cost.
type VariableUses = BTreeMap<usize, u64>;

/// The cost of a page of results in addition to its fields.
fn page_cost(count: u64) -> u64 {
    if count > 1 {
        count.saturating_mul(2)
    } else {
        0
    }
}

/// The page size in a variable: a number, or the `count` of an input.
fn page_size(value: &serde_json::Value) -> u64 {
    let number = value.get("count").unwrap_or(value);
    number.as_u64().unwrap_or(0)
}

impl Cost {
    pub(crate) fn check(
        &self,
        limits: Limits,
        values: &VariableValues,
    ) -> Result<(), LimitExceeded> {
        let mut complexity = self.complexity;
        for (variable, uses) in &self.list_uses {
            if let Some(Some(serde_json::Value::Array(items))) = values.get(*variable) {
                complexity = complexity.saturating_add(uses.saturating_mul(items.len() as u64));
            }
        }
        for (variable, uses) in &self.page_uses {
            if let Some(Some(value)) = values.get(*variable) {
                let page = page_cost(page_size(value));
                complexity = complexity.saturating_add(uses.saturating_mul(page));
            }
        }
        LimitExceeded::check("query complexity", complexity, limits.complexity)?;
        LimitExceeded::check("query size", self.size, limits.size)?;
        LimitExceeded::check("query depth", self.depth, limits.depth)?;
        Ok(())
    }

    fn add(&mut self, other: &Self) {
        self.depth = self.depth.max(other.depth);
        self.complexity = self.complexity.saturating_add(other.complexity);
        self.size = self.size.saturating_add(other.size);
        merge(&mut self.list_uses, &other.list_uses, u64::saturating_add);
        merge(&mut self.page_uses, &other.page_uses, u64::saturating_add);
    }
}

fn merge(uses: &mut VariableUses, others: &VariableUses, combine: fn(u64, u64) -> u64) {
    for (variable, other) in others {
        let count = uses.entry(*variable).or_default();
        *count = combine(*count, *other);
    }
}

/// The cost of a selection set: of selections on every object, and of selections on one object
/// type.
#[derive(Debug, Clone, Default)]
struct SelectionCost<'d> {
    always: Cost,
    by_type: BTreeMap<&'d str, Cost>,
}

impl<'d> SelectionCost<'d> {
    fn add(&mut self, other: &Self) {
        self.always.add(&other.always);
        for (ty, cost) in &other.by_type {
            self.of_type(ty).add(cost);
        }
    }

    fn of_type(&mut self, ty: &'d str) -> &mut Cost {
        self.by_type.entry(ty).or_default()
    }

    /// The highest cost of one object.
    fn maximum(self) -> Cost {
        let mut total = self.always;
        let mut largest = Cost::default();
        let mut size = 0_u64;
        for cost in self.by_type.values() {
            size = size.saturating_add(cost.size);
            largest.depth = largest.depth.max(cost.depth);
            largest.complexity = largest.complexity.max(cost.complexity);
            merge(&mut largest.list_uses, &cost.list_uses, u64::max);
            merge(&mut largest.page_uses, &cost.page_uses, u64::max);
        }
        largest.size = size;
        total.add(&largest);
        total
    }
}

/// Sums up selections. Each fragment is visited once, however often it is spread.
struct CostCounter<'d> {
    variant: OperationVariant<'d>,
    fragments: HashMap<&'d str, SelectionCost<'d>>,
    /// Whether a fragment spreads [`RESULT_FRAGMENT`] at the end of a path of this length.
    result_fragments: HashMap<(&'d str, usize), bool>,
}

/// The cost of an operation, as far as it does not depend on variables.
pub(crate) fn cost(variant: OperationVariant<'_>) -> Cost {
    let mut counter = CostCounter {
        variant,
        fragments: HashMap::new(),
        result_fragments: HashMap::new(),
    };
    counter.cost(variant.selection_set())
}

impl<'d> CostCounter<'d> {
    fn cost(&mut self, set: &'d SelectionSet) -> Cost {
        self.costs(set).maximum()
    }

    fn costs(&mut self, set: &'d SelectionSet) -> SelectionCost<'d> {
        let mut total = SelectionCost::default();
        for selection in &set.selections {
            if !self.variant.includes(selection.directives()) {
                continue;
            }
            match selection {
                Selection::Field(field) => {
                    if field.name != "__typename" {
                        let mut cost = self.cost(&field.selection_set);
                        cost.depth += 1;
                        cost.complexity = cost.complexity.saturating_add(1);
                        cost.size = cost.size.saturating_add(1);
                        self.add_list(field, &mut cost);
                        self.add_page(field, &mut cost);
                        total.always.add(&cost);
                    }
                }
                Selection::InlineFragment(fragment) => {
                    let costs = self.fragment_costs(&fragment.selection_set);
                    total.add(&costs);
                }
                Selection::FragmentSpread(spread) => {
                    let name = spread.fragment_name.as_str();
                    if let Some(costs) = self.fragments.get(name) {
                        total.add(costs);
                    } else if let Some(fragment) = self.variant.fragments().get(name) {
                        let costs = self.fragment_costs(&fragment.selection_set);
                        total.add(&costs);
                        self.fragments.insert(name, costs);
                    }
                }
            }
        }
        total
    }

    /// The cost of a fragment. On an object type it counts for that type alone.
    fn fragment_costs(&mut self, set: &'d SelectionSet) -> SelectionCost<'d> {
        let ty = set.ty.as_str();
        if self.variant.schema.object(ty).is_none() {
            return self.costs(set);
        }
        let cost = self.cost(set);
        SelectionCost {
            always: Cost::default(),
            by_type: BTreeMap::from([(ty, cost)]),
        }
    }

    fn add_list(&self, field: &Field, cost: &mut Cost) {
        let is_list = field
            .definition
            .argument_by_name("input")
            .is_some_and(|argument| argument.ty.is_list());
        let Some(value) = field
            .specified_argument_by_name("input")
            .filter(|_| is_list)
        else {
            return;
        };
        match &**value {
            Literal::Null => {}
            Literal::List(items) => {
                cost.complexity = cost.complexity.saturating_add(items.len() as u64);
            }
            Literal::Variable(name) => {
                if let Some(variable) = self.variant.variable(name) {
                    let uses = cost.list_uses.entry(variable).or_default();
                    *uses = uses.saturating_add(1);
                }
            }
            _ => cost.complexity = cost.complexity.saturating_add(1),
        }
    }

    /// Adds the cost of a page if nearly everything of its results is selected.
    fn add_page(&mut self, field: &'d Field, cost: &mut Cost) {
        let Some(input) = field.specified_argument_by_name("input") else {
            return;
        };
        if !self.spreads_result_fragment(&field.selection_set, &["searchResults", "entity"]) {
            return;
        }
        let count = match &**input {
            Literal::Object(members) => members
                .iter()
                .find(|(name, _)| name == "count")
                .map(|(_, value)| value),
            _ => Some(input),
        };
        match count.map(|count| &**count) {
            Some(Literal::Variable(name)) => {
                if let Some(variable) = self.variant.variable(name) {
                    let uses = cost.page_uses.entry(variable).or_default();
                    *uses = uses.saturating_add(1);
                }
            }
            Some(Literal::Int(number)) => {
                let count = number.as_str().parse().unwrap_or(0);
                cost.complexity = cost.complexity.saturating_add(page_cost(count));
            }
            _ => {}
        }
    }

    /// Whether [`RESULT_FRAGMENT`] is spread at a path of fields, also inside of other fragments.
    fn spreads_result_fragment(&mut self, set: &'d SelectionSet, path: &[&str]) -> bool {
        for selection in &set.selections {
            if !self.variant.includes(selection.directives()) {
                continue;
            }
            let found = match (selection, path.split_first()) {
                (Selection::Field(field), Some((first, rest))) => {
                    field.name == *first && self.spreads_result_fragment(&field.selection_set, rest)
                }
                (Selection::Field(_), None) => false,
                (Selection::InlineFragment(fragment), _) => {
                    self.spreads_result_fragment(&fragment.selection_set, path)
                }
                (Selection::FragmentSpread(spread), None) => {
                    spread.fragment_name == RESULT_FRAGMENT
                }
                (Selection::FragmentSpread(spread), Some(_)) => {
                    self.nested_result_fragment(spread.fragment_name.as_str(), path)
                }
            };
            if found {
                return true;
            }
        }
        false
    }

    fn nested_result_fragment(&mut self, name: &'d str, path: &[&str]) -> bool {
        let key = (name, path.len());
        if let Some(known) = self.result_fragments.get(&key) {
            return *known;
        }
        let fragment = self.variant.fragments().get(name);
        let found = fragment
            .is_some_and(|fragment| self.spreads_result_fragment(&fragment.selection_set, path));
        self.result_fragments.insert(key, found);
        found
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::document::Document;
    use crate::resolve::Resolvers;
    use crate::schema::Schema;

    #[test]
    fn the_cost_has_entries_for_used_variables_only() {
        let sdl = r#"
            directive @entity(type: String!) on OBJECT
            directive @urn on FIELD_DEFINITION
            type Query { tag(urn: String!, input: [String!]): Tag }
            type Tag @entity(type: "tag") { urn: String! @urn }
        "#;
        let resolvers = Resolvers::new().query_by_urn("tag");
        let schema = Schema::load(&[("test", sdl)], resolvers).unwrap();
        let mut declared = String::from("$list: [String!]");
        let mut fields = String::from(r#"tag(urn: "urn:li:tag:a", input: $list) { urn } "#);
        for number in 0..500 {
            let _ = write!(declared, " $v{number}: String!");
            let _ = write!(fields, "t{number}: tag(urn: $v{number}) {{ urn }} ");
        }
        let text = format!("query({declared}) {{ {fields} }}");
        let document = Document::parse(&schema, &text).unwrap();
        let operation = document.operation(None).unwrap();
        let variant = OperationVariant::new(&schema, &document, operation, &Vec::new());
        let cost = cost(variant);
        assert_eq!(cost.list_uses, VariableUses::from([(0, 1)]));
        assert_eq!(cost.page_uses, VariableUses::new());
        assert_eq!(cost.size, 1002);
    }
}

//! The cost of an operation: depth and complexity.
//!
//! - **Depth** is the number of nested fields.
//! - **Complexity** is the number of fields in the document, as DataHub counts them: those of a
//!   fragment count once, however often it is spread. Every list argument named `input` adds its
//!   length. An `input` adds twice its `count` if the results are selected with
//!   [`RESULT_FRAGMENT`].
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
        LimitExceeded::check("query depth", self.depth, limits.depth)?;
        Ok(())
    }
}

/// Sums up selections. Each fragment is visited once, however often it is spread.
struct CostCounter<'d> {
    variant: OperationVariant<'d>,
    cost: Cost,
    /// The depths of fragments.
    fragments: HashMap<&'d str, u64>,
    /// Whether a fragment spreads [`RESULT_FRAGMENT`] at the end of a path of this length.
    result_fragments: HashMap<(&'d str, usize), bool>,
}

/// The cost of an operation, as far as it does not depend on variables.
pub(crate) fn cost(variant: OperationVariant<'_>) -> Cost {
    let mut counter = CostCounter {
        variant,
        cost: Cost::default(),
        fragments: HashMap::new(),
        result_fragments: HashMap::new(),
    };
    let depth = counter.visit(variant.selection_set());
    Cost {
        depth,
        ..counter.cost
    }
}

impl<'d> CostCounter<'d> {
    /// Counts the fields of a selection set. Returns its depth.
    fn visit(&mut self, set: &'d SelectionSet) -> u64 {
        let mut depth = 0;
        for selection in &set.selections {
            if !self.variant.includes(selection.directives()) {
                continue;
            }
            let nested = match selection {
                Selection::Field(field) if field.name == "__typename" => 0,
                Selection::Field(field) => {
                    self.add_complexity(1);
                    self.add_list(field);
                    self.add_page(field);
                    self.visit(&field.selection_set) + 1
                }
                Selection::InlineFragment(fragment) => self.visit(&fragment.selection_set),
                Selection::FragmentSpread(spread) => self.visit_fragment(&spread.fragment_name),
            };
            depth = depth.max(nested);
        }
        depth
    }

    fn visit_fragment(&mut self, name: &'d str) -> u64 {
        if let Some(depth) = self.fragments.get(name) {
            return *depth;
        }
        let fragment = self.variant.fragments().get(name);
        let depth = fragment.map_or(0, |fragment| self.visit(&fragment.selection_set));
        self.fragments.insert(name, depth);
        depth
    }

    fn add_complexity(&mut self, fields: u64) {
        self.cost.complexity = self.cost.complexity.saturating_add(fields);
    }

    fn add_list(&mut self, field: &Field) {
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
                self.add_complexity(items.len() as u64);
            }
            Literal::Variable(name) => {
                if let Some(variable) = self.variant.variable(name) {
                    let uses = self.cost.list_uses.entry(variable).or_default();
                    *uses = uses.saturating_add(1);
                }
            }
            _ => self.add_complexity(1),
        }
    }

    /// Adds the cost of a page if nearly everything of its results is selected.
    fn add_page(&mut self, field: &'d Field) {
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
                    let uses = self.cost.page_uses.entry(variable).or_default();
                    *uses = uses.saturating_add(1);
                }
            }
            Some(Literal::Int(number)) => {
                let count = number.as_str().parse().unwrap_or(0);
                self.add_complexity(page_cost(count));
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
        let document = Document::parse(&schema, &text, None).unwrap();
        let operation = document.operation(None).unwrap();
        let variant = OperationVariant::new(&schema, &document, operation, &Vec::new());
        let cost = cost(variant);
        assert_eq!(cost.list_uses, VariableUses::from([(0, 1)]));
        assert_eq!(cost.page_uses, VariableUses::new());
        assert_eq!(cost.complexity, 1002);
    }
}

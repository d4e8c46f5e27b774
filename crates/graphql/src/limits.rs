//! How much one operation may ask for.
//!
//! Depth is the number of fields inside of each other. Complexity is the number of selected fields, fragments
//! counted where they are spread, plus the length of every list that is given as an argument named `input`.
//! Introspection is free: it has a limit of its own.

use std::collections::HashMap;

use apollo_compiler::ast::Value as Literal;
use apollo_compiler::executable::{Field, FragmentMap, Selection, SelectionSet};

use crate::document::Conditions;
use crate::error::{Classification, RequestError};
use crate::input::{Variable, VariableValues};

/// The largest operation that is executed.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub depth: u64,
    pub complexity: u64,
}

impl Default for Limits {
    /// DataHub's own limits, so that whatever it executes is executed here.
    fn default() -> Self {
        Self {
            depth: 50,
            complexity: 2000,
        }
    }
}

/// What an operation costs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    depth: u64,
    complexity: u64,
    /// How often the length of each variable counts.
    lists: Vec<u64>,
}

impl Cost {
    pub(crate) fn check(
        &self,
        limits: Limits,
        values: &VariableValues,
    ) -> Result<(), RequestError> {
        let mut complexity = self.complexity;
        for (times, value) in self.lists.iter().zip(values) {
            if let Some(serde_json::Value::Array(items)) = value {
                complexity = complexity.saturating_add(times.saturating_mul(items.len() as u64));
            }
        }
        let refuse = |what, actual: u64, allowed: u64| {
            Err(RequestError::new(
                Classification::ExecutionAborted,
                format!("maximum query {what} exceeded {actual} > {allowed}"),
            ))
        };
        if complexity > limits.complexity {
            return refuse("complexity", complexity, limits.complexity);
        }
        if self.depth > limits.depth {
            return refuse("depth", self.depth, limits.depth);
        }
        Ok(())
    }

    fn add(&mut self, other: &Self) {
        self.depth = self.depth.max(other.depth);
        self.complexity = self.complexity.saturating_add(other.complexity);
        for (times, more) in self.lists.iter_mut().zip(&other.lists) {
            *times = times.saturating_add(*more);
        }
    }
}

/// Adds up selections. A fragment is looked at once, however often it is spread.
pub(crate) struct Counter<'d> {
    fragments: &'d FragmentMap,
    conditions: Conditions<'d>,
    variables: &'d [Variable],
    known: HashMap<&'d str, Cost>,
}

impl<'d> Counter<'d> {
    pub(crate) fn new(
        fragments: &'d FragmentMap,
        conditions: Conditions<'d>,
        variables: &'d [Variable],
    ) -> Self {
        Self {
            fragments,
            conditions,
            variables,
            known: HashMap::new(),
        }
    }

    pub(crate) fn cost(&mut self, set: &'d SelectionSet) -> Cost {
        let mut total = self.nothing();
        for selection in &set.selections {
            if !self.conditions.include(selection.directives()) {
                continue;
            }
            match selection {
                Selection::Field(field) => {
                    if !field.name.starts_with("__") {
                        let mut cost = self.cost(&field.selection_set);
                        cost.depth += 1;
                        cost.complexity = cost.complexity.saturating_add(1);
                        self.count_list(field, &mut cost);
                        total.add(&cost);
                    }
                }
                Selection::InlineFragment(fragment) => {
                    let cost = self.cost(&fragment.selection_set);
                    total.add(&cost);
                }
                Selection::FragmentSpread(spread) => {
                    let name = spread.fragment_name.as_str();
                    if let Some(cost) = self.known.get(name) {
                        total.add(cost);
                    } else if let Some(fragment) = self.fragments.get(name) {
                        let cost = self.cost(&fragment.selection_set);
                        total.add(&cost);
                        self.known.insert(name, cost);
                    }
                }
            }
        }
        total
    }

    fn count_list(&self, field: &Field, cost: &mut Cost) {
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
                let index = self
                    .variables
                    .iter()
                    .position(|known| *known.name == **name);
                if let Some(times) = index.and_then(|index| cost.lists.get_mut(index)) {
                    *times = times.saturating_add(1);
                }
            }
            _ => cost.complexity = cost.complexity.saturating_add(1),
        }
    }

    fn nothing(&self) -> Cost {
        Cost {
            depth: 0,
            complexity: 0,
            lists: vec![0; self.variables.len()],
        }
    }
}

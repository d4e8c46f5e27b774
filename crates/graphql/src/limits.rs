//! How much one operation may ask for, and how much executing it may take.
//!
//! Depth is the number of fields inside of each other. Complexity is the number of selected fields, fragments
//! counted where they are spread, and of the fragments on different object types at one place only the largest: an object
//! has one type, and nothing is planned for types that do not occur. Agents select from 40 types at once. To that comes the length of every list that is given as an argument named `input`, plus twice the
//! `count` of an `input` whose results are selected with the large fragment of DataHub's own pages ([`RESULT_FRAGMENT`]).
//! `__typename` is free, as clients add it everywhere. Size is the number of selected fields of all types together. Questions about the schema count like all others, and by what
//! they make of the schema besides (`introspect::weight`).

use std::collections::{BTreeMap, HashMap};

use apollo_compiler::ast::Value as Literal;
use apollo_compiler::executable::{Field, FragmentMap, Selection, SelectionSet};

use crate::Schema;
use crate::document::Conditions;
use crate::error::{Classification, RequestError};
use crate::input::{Variable, VariableValues};

/// A fragment by this name on the entities of search results reads nearly all there is of each.
const RESULT_FRAGMENT: &str = "searchResultFields";

/// The largest operation that is executed.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub depth: u64,
    pub complexity: u64,
    /// Selected fields, those of different types added up.
    pub size: u64,
    /// Root fields that ask about the schema.
    pub schema_questions: u64,
    /// Values in the answers to them, as far as that can be told in advance.
    pub schema_values: u64,
    /// Entities that are loaded, counted once for each place of the query they occur at.
    pub visited: u64,
    /// Values that are looked at, while loading and while writing.
    pub values: u64,
    /// Metadata held at once: rows of the store and what resolvers made.
    pub loaded_bytes: u64,
    pub reply_bytes: u64,
}

impl Default for Limits {
    /// Depth, complexity and visited entities are DataHub's own limits, so that whatever it executes is executed
    /// here. The others are far above what its clients ask for: their largest replies have some megabytes, and the
    /// introspection query of the usual tools asks for some 90,000 values.
    fn default() -> Self {
        Self {
            depth: 50,
            complexity: 2000,
            size: 20_000,
            schema_questions: 4,
            schema_values: 400_000,
            visited: 20_000,
            values: 10_000_000,
            loaded_bytes: 256 * 1024 * 1024,
            reply_bytes: 64 * 1024 * 1024,
        }
    }
}

/// More than a limit allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exceeded {
    what: &'static str,
    actual: u64,
    allowed: u64,
}

impl Exceeded {
    pub(crate) fn check(what: &'static str, actual: u64, allowed: u64) -> Result<(), Self> {
        if actual > allowed {
            return Err(Self {
                what,
                actual,
                allowed,
            });
        }
        Ok(())
    }
}

impl From<Exceeded> for RequestError {
    fn from(exceeded: Exceeded) -> Self {
        let Exceeded {
            what,
            actual,
            allowed,
        } = exceeded;
        Self::new(
            Classification::ExecutionAborted,
            format!("maximum {what} exceeded {actual} > {allowed}"),
        )
    }
}

/// What an operation costs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    depth: u64,
    complexity: u64,
    size: u64,
    /// How often the length of each variable counts.
    lists: Vec<u64>,
    /// How often twice the number that each variable is, or has as its `count`, counts.
    counts: Vec<u64>,
}

/// What a page of so many results costs besides its fields.
fn page_weight(count: u64) -> u64 {
    if count > 1 {
        count.saturating_mul(2)
    } else {
        0
    }
}

/// The size of page that a variable asks for: as a number, or as the `count` of an input.
fn asked_count(value: &serde_json::Value) -> u64 {
    let number = value.get("count").unwrap_or(value);
    number.as_u64().unwrap_or(0)
}

impl Cost {
    fn nothing(variables: usize) -> Self {
        Self {
            lists: vec![0; variables],
            counts: vec![0; variables],
            ..Self::default()
        }
    }

    pub(crate) fn check(&self, limits: Limits, values: &VariableValues) -> Result<(), Exceeded> {
        let mut complexity = self.complexity;
        for (times, value) in self.lists.iter().zip(values) {
            if let Some(serde_json::Value::Array(items)) = value {
                complexity = complexity.saturating_add(times.saturating_mul(items.len() as u64));
            }
        }
        for (times, value) in self.counts.iter().zip(values) {
            if let Some(value) = value {
                let weight = page_weight(asked_count(value));
                complexity = complexity.saturating_add(times.saturating_mul(weight));
            }
        }
        Exceeded::check("query complexity", complexity, limits.complexity)?;
        Exceeded::check("query size", self.size, limits.size)?;
        Exceeded::check("query depth", self.depth, limits.depth)?;
        Ok(())
    }

    fn add(&mut self, other: &Self) {
        self.depth = self.depth.max(other.depth);
        self.complexity = self.complexity.saturating_add(other.complexity);
        self.size = self.size.saturating_add(other.size);
        for (times, more) in self.lists.iter_mut().zip(&other.lists) {
            *times = times.saturating_add(*more);
        }
        for (times, more) in self.counts.iter_mut().zip(&other.counts) {
            *times = times.saturating_add(*more);
        }
    }
}

/// What the selections at one place cost: those that hold for every object, and those for objects of one type.
#[derive(Debug, Clone, Default)]
struct Costs<'d> {
    always: Cost,
    by_type: BTreeMap<&'d str, Cost>,
}

impl<'d> Costs<'d> {
    fn add(&mut self, other: &Self) {
        self.always.add(&other.always);
        for (ty, cost) in &other.by_type {
            self.of_type(ty).add(cost);
        }
    }

    fn of_type(&mut self, ty: &'d str) -> &mut Cost {
        let nothing = || Cost::nothing(self.always.lists.len());
        self.by_type.entry(ty).or_insert_with(nothing)
    }

    /// The most that one object can cost.
    fn most(self) -> Cost {
        let mut total = self.always;
        let mut largest = Cost::nothing(total.lists.len());
        let mut size = 0_u64;
        for cost in self.by_type.values() {
            size = size.saturating_add(cost.size);
            largest.depth = largest.depth.max(cost.depth);
            largest.complexity = largest.complexity.max(cost.complexity);
            for (times, other) in largest.lists.iter_mut().zip(&cost.lists) {
                *times = (*times).max(*other);
            }
            for (times, other) in largest.counts.iter_mut().zip(&cost.counts) {
                *times = (*times).max(*other);
            }
        }
        largest.size = size;
        total.add(&largest);
        total
    }
}

/// Adds up selections. A fragment is looked at once, however often it is spread.
pub(crate) struct Counter<'d> {
    schema: &'d Schema,
    fragments: &'d FragmentMap,
    conditions: Conditions<'d>,
    variables: &'d [Variable],
    known: HashMap<&'d str, Costs<'d>>,
    /// Whether a fragment spreads [`RESULT_FRAGMENT`] at the end of the path of results that is so long.
    large: HashMap<(&'d str, usize), bool>,
}

impl<'d> Counter<'d> {
    pub(crate) fn new(
        schema: &'d Schema,
        fragments: &'d FragmentMap,
        conditions: Conditions<'d>,
        variables: &'d [Variable],
    ) -> Self {
        Self {
            schema,
            fragments,
            conditions,
            variables,
            known: HashMap::new(),
            large: HashMap::new(),
        }
    }

    pub(crate) fn cost(&mut self, set: &'d SelectionSet) -> Cost {
        self.costs(set).most()
    }

    fn costs(&mut self, set: &'d SelectionSet) -> Costs<'d> {
        let mut total = Costs {
            always: Cost::nothing(self.variables.len()),
            by_type: BTreeMap::new(),
        };
        for selection in &set.selections {
            if !self.conditions.include(selection.directives()) {
                continue;
            }
            match selection {
                Selection::Field(field) => {
                    if field.name != "__typename" {
                        let mut cost = self.cost(&field.selection_set);
                        cost.depth += 1;
                        cost.complexity = cost.complexity.saturating_add(1);
                        cost.size = cost.size.saturating_add(1);
                        self.count_list(field, &mut cost);
                        self.count_page(field, &mut cost);
                        total.always.add(&cost);
                    }
                }
                Selection::InlineFragment(fragment) => {
                    let costs = self.fragment_costs(&fragment.selection_set);
                    total.add(&costs);
                }
                Selection::FragmentSpread(spread) => {
                    let name = spread.fragment_name.as_str();
                    if let Some(costs) = self.known.get(name) {
                        total.add(costs);
                    } else if let Some(fragment) = self.fragments.get(name) {
                        let costs = self.fragment_costs(&fragment.selection_set);
                        total.add(&costs);
                        self.known.insert(name, costs);
                    }
                }
            }
        }
        total
    }

    /// What a fragment costs: one on an object type counts for that type alone.
    fn fragment_costs(&mut self, set: &'d SelectionSet) -> Costs<'d> {
        let ty = set.ty.as_str();
        if self.schema.object(ty).is_none() {
            return self.costs(set);
        }
        let cost = self.cost(set);
        Costs {
            always: Cost::nothing(self.variables.len()),
            by_type: BTreeMap::from([(ty, cost)]),
        }
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
                if let Some(times) = self.variable(name).and_then(|at| cost.lists.get_mut(at)) {
                    *times = times.saturating_add(1);
                }
            }
            _ => cost.complexity = cost.complexity.saturating_add(1),
        }
    }

    /// A page of results of which nearly everything is read.
    fn count_page(&mut self, field: &'d Field, cost: &mut Cost) {
        let Some(input) = field.specified_argument_by_name("input") else {
            return;
        };
        if !self.reads_everything(&field.selection_set, &["searchResults", "entity"]) {
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
                if let Some(times) = self.variable(name).and_then(|at| cost.counts.get_mut(at)) {
                    *times = times.saturating_add(1);
                }
            }
            Some(Literal::Int(number)) => {
                let count = number.as_str().parse().unwrap_or(0);
                cost.complexity = cost.complexity.saturating_add(page_weight(count));
            }
            _ => {}
        }
    }

    /// Whether the large fragment is spread at a path of fields. Fragments on the way are looked through, each once for
    /// each end of the path.
    fn reads_everything(&mut self, set: &'d SelectionSet, path: &[&str]) -> bool {
        for selection in &set.selections {
            if !self.conditions.include(selection.directives()) {
                continue;
            }
            let found = match (selection, path.split_first()) {
                (Selection::Field(field), Some((first, rest))) => {
                    field.name == *first && self.reads_everything(&field.selection_set, rest)
                }
                (Selection::Field(_), None) => false,
                (Selection::InlineFragment(fragment), _) => {
                    self.reads_everything(&fragment.selection_set, path)
                }
                (Selection::FragmentSpread(spread), None) => {
                    spread.fragment_name == RESULT_FRAGMENT
                }
                (Selection::FragmentSpread(spread), Some(_)) => {
                    self.fragment_reads_everything(spread.fragment_name.as_str(), path)
                }
            };
            if found {
                return true;
            }
        }
        false
    }

    fn fragment_reads_everything(&mut self, name: &'d str, path: &[&str]) -> bool {
        let key = (name, path.len());
        if let Some(known) = self.large.get(&key) {
            return *known;
        }
        let fragment = self.fragments.get(name);
        let found =
            fragment.is_some_and(|fragment| self.reads_everything(&fragment.selection_set, path));
        self.large.insert(key, found);
        found
    }

    fn variable(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|known| *known.name == *name)
    }
}

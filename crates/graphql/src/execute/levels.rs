//! Loads entities level by level.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use docent_catalog::spent::Step;
use docent_catalog::view::stand_in;
use docent_catalog::{AspectRow, EntityAspects, Error, LoadError, ReadRequest, long_work};
use docent_model::Urn;
use serde_json::Value;

use super::budget::Budget;
use super::level_request::LevelRequest;
use super::loaded::{CallKey, Cell, Content, Loaded, Outcome};
use super::value::{self, FieldValue, Parent, Target, Unavailable};
use super::{RootValue, Scope};
use crate::error::Failure;
use crate::json::View;
use crate::limits::LimitExceeded;
use crate::memory::json_bytes;
use crate::plan::{FieldPlan, ObjectPlan, Selection, ValuePlan};
use crate::resolve::{BatchResult, Context, EntityView};

/// The usual length of a selection in a document.
const SELECTION_BYTES: usize = 32;
/// What a resolver call for a plain object takes, or a URN in a text field.
const CALL_BYTES: usize = 256;

pub(crate) struct Levels<'p> {
    scope: Scope<'p>,
    loaded: Loaded<'p>,
    next: Discovery<'p>,
}

/// The entities and resolver calls of the next level.
#[derive(Default)]
struct Discovery<'p> {
    entities: Vec<(&'p ObjectPlan, Urn)>,
    /// Entities that the request names.
    named: Vec<(&'p ObjectPlan, Urn)>,
    /// URNs in text fields.
    references: Vec<Urn>,
    calls: Vec<PlainCall<'p>>,
}

impl Discovery<'_> {
    fn is_empty(&self) -> bool {
        self.entities.is_empty()
            && self.named.is_empty()
            && self.references.is_empty()
            && self.calls.is_empty()
    }

    fn entity_count(&self) -> usize {
        self.entities.len() + self.named.len() + self.references.len()
    }
}

/// A level, as the log of slow requests names it.
#[derive(Clone, Copy, Default)]
struct LevelStep {
    number: usize,
    entities: usize,
}

impl fmt::Display for LevelStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, entities } = self;
        write!(formatter, "level {number} ({entities} entities)")
    }
}

/// A resolver call for an object in the JSON of an entity.
struct PlainCall<'p> {
    plan: &'p ValuePlan,
    owner: usize,
    key: CallKey,
    /// Shared by all calls for the same object.
    value: Arc<Value>,
}

impl<'p> Levels<'p> {
    pub(crate) fn new(scope: Scope<'p>) -> Self {
        Self {
            scope,
            loaded: Loaded::default(),
            next: Discovery::default(),
        }
    }

    /// Adds the entities in the value of a root field to the first level.
    pub(crate) fn start(
        &mut self,
        field: &'p FieldPlan,
        value: &RootValue,
        budget: &mut Budget,
    ) -> Result<(), LimitExceeded> {
        let Some(plan) = field.value() else {
            return Ok(());
        };
        if let (RootValue::Entity(urn), Selection::Object(object)) = (value, &plan.selection) {
            self.next.named.push((object, urn.clone()));
            return Ok(());
        }
        let view = match value {
            RootValue::Entity(urn) => View::Text(urn.as_str()),
            RootValue::Json(value) => View::Value(value),
            RootValue::Failed(_) | RootValue::None => return Ok(()),
        };
        if plan.has_nested_entities {
            Walk {
                scope: self.scope,
                loaded: &self.loaded,
                next: &mut self.next,
                budget,
            }
            .value(plan, view, None)?;
            // What is hidden among them is missing.
            self.next.named.append(&mut self.next.entities);
        }
        Ok(())
    }

    pub(crate) fn into_loaded(self) -> Loaded<'p> {
        self.loaded
    }

    /// Loads all levels. Every level is one step deeper in the query, so this terminates.
    pub(crate) async fn load(&mut self, budget: &mut Budget) -> Result<(), LimitExceeded> {
        let mut level = LevelStep::default();
        while !self.next.is_empty() {
            level.number += 1;
            level.entities = self.next.entity_count();
            let _step = Step::begin(level);
            self.load_next(budget).await?;
        }
        Ok(())
    }

    /// Loads the next level, and finds the one after it.
    async fn load_next(&mut self, budget: &mut Budget) -> Result<(), LimitExceeded> {
        let first = self.loaded.slots.len();
        let failure = self.add_entities().await;
        let calls = std::mem::take(&mut self.next.calls);
        if first < self.loaded.slots.len() {
            budget.add_entities(self.loaded.slots.len() - first)?;
            self.allocate_cells(first);
            if let Some(error) = &failure {
                self.fail(first, error);
            } else {
                self.read(first, budget).await?;
                self.call(first, budget).await?;
            }
        }
        let mut next = Discovery::default();
        let is_long = self.is_long_visit(budget);
        let mut walk = self.walk(&mut next, budget);
        let mut slots = first..self.loaded.slots.len();
        let visit = || slots.try_for_each(|slot| walk.entity(slot));
        long_work::run(is_long, visit).await?;
        if !calls.is_empty() {
            self.call_plain(&calls, budget).await?;
            let is_long = self.is_long_visit(budget);
            let mut walk = self.walk(&mut next, budget);
            let visit = || {
                for call in &calls {
                    if let Some(Ok(value)) = self.loaded.plain_outcomes.get(&call.key) {
                        walk.value(call.plan, View::Value(value), Some(call.owner))?;
                    }
                }
                Ok(())
            };
            long_work::run(is_long, visit).await?;
        }
        self.next = next;
        Ok(())
    }

    /// Adds the entities of the next level. References to those that the caller may not see get
    /// another URN, under which nothing is stored. An entity that the request itself names stays,
    /// and is missing. The error is that of the store, if it does not tell what is hidden.
    async fn add_entities(&mut self) -> Option<Error> {
        let entities = std::mem::take(&mut self.next.entities);
        let named = std::mem::take(&mut self.next.named);
        let references = std::mem::take(&mut self.next.references);
        let urns = entities.iter().map(|(_, urn)| urn).chain(&references);
        let (hidden, mut failure) = match self.scope.context.catalog.hidden_among(urns).await {
            Ok(hidden) => (hidden, None),
            Err(error) => (HashSet::new(), Some(error)),
        };
        for (plan, urn) in named {
            self.loaded.add(plan, urn, None);
        }
        for (plan, urn) in entities {
            let shown = hidden.contains(&urn).then(|| stand_in(&urn)).transpose();
            match shown {
                Ok(shown) => self.loaded.add(plan, urn, shown),
                Err(error) => failure = Some(error),
            }
        }
        for urn in references {
            // Without a decision, nothing is shown.
            if failure.is_some() || hidden.contains(&urn) {
                match stand_in(&urn) {
                    Ok(shown) => self.loaded.hide(urn, shown),
                    Err(error) => failure = Some(error),
                }
            }
        }
        failure
    }

    /// Whether visiting the loaded metadata may take milliseconds. Fields can be repeated under
    /// other names, so the length of the document limits how often each value is visited.
    fn is_long_visit(&self, budget: &Budget) -> bool {
        let text = self.scope.compiler.variant.document.text();
        budget.is_long_visit(text.len() / SELECTION_BYTES + 1)
    }

    fn walk<'w>(&'w self, next: &'w mut Discovery<'p>, budget: &'w mut Budget) -> Walk<'w, 'p> {
        Walk {
            scope: self.scope,
            loaded: &self.loaded,
            next,
            budget,
        }
    }

    /// Reads everything that the new slots need in one store call.
    async fn read(&mut self, first: usize, budget: &mut Budget) -> Result<(), LimitExceeded> {
        let LevelRequest {
            rows,
            exists,
            entities,
        } = LevelRequest::new(&self.loaded.slots[first..], first);
        let (row_cells, exists_cells) = (rows.cells, exists.cells);
        let Context { catalog, .. } = self.scope.context;
        let urns: Vec<_> = entities
            .iter()
            .map(|slot| self.loaded.slots[*slot].urn.clone())
            .collect();
        let request = ReadRequest {
            rows: &rows.keys,
            exists: &exists.keys,
            entities: &urns,
        };
        let max_bytes = budget.remaining_loaded();
        let loaded = &mut self.loaded.bytes;
        match catalog.load(request, max_bytes, loaded).await {
            Ok(found) => {
                self.store_rows(&row_cells, found.rows, budget)?;
                for (key, cell) in exists_cells {
                    self.loaded.cells[cell].exists = found.exists.get(key) == Some(&true);
                }
                self.store_entities(&entities, found.entities, budget)?;
            }
            Err(LoadError::Failed(error)) => self.fail(first, &error),
            Err(LoadError::TooLong(bytes)) => return budget.check_loaded(bytes),
        }
        let is_long = self.is_long_visit(budget);
        long_work::run(is_long, || self.parse(first)).await;
        Ok(())
    }

    /// Assigns rows to cells; `cells` has pairs of a row and a cell.
    fn store_rows(
        &mut self,
        cells: &[(usize, usize)],
        rows: Vec<AspectRow>,
        budget: &mut Budget,
    ) -> Result<(), LimitExceeded> {
        for row in rows.iter().flatten() {
            budget.add_loaded(row.metadata.len())?;
        }
        let indexes: Vec<_> = rows
            .into_iter()
            .map(|row| {
                self.loaded.rows.push(row?);
                Some(self.loaded.rows.len() - 1)
            })
            .collect();
        for (key, cell) in cells {
            self.loaded.cells[*cell].row = indexes.get(*key).copied().flatten();
        }
        Ok(())
    }

    fn allocate_cells(&mut self, first: usize) {
        let mut cells = self.loaded.cells.len();
        for slot in &mut self.loaded.slots[first..] {
            slot.first_cell = cells;
            cells += slot.plan.needs.len();
        }
        self.loaded.cells.resize_with(cells, Cell::default);
    }

    /// Assigns all rows of entities to slots.
    fn store_entities(
        &mut self,
        slots: &[usize],
        entities: Vec<EntityAspects>,
        budget: &mut Budget,
    ) -> Result<(), LimitExceeded> {
        for (index, rows) in slots.iter().zip(entities) {
            for (aspect, row) in rows {
                budget.add_loaded(row.metadata.len())?;
                let row_index = self.loaded.rows.len();
                self.loaded.rows.push(Arc::new(row));
                let slot = &mut self.loaded.slots[*index];
                slot.all_rows.push((aspect, row_index));
                let needs = &slot.plan.needs;
                if let Some(need) = needs.iter().position(|need| need.aspect == aspect) {
                    self.loaded.cells[slot.first_cell + need].row = Some(row_index);
                }
            }
        }
        Ok(())
    }

    /// The level could not be read, so all of its entities fail.
    fn fail(&mut self, first: usize, error: &Error) {
        let failure = Failure::of(error);
        for slot in &mut self.loaded.slots[first..] {
            slot.failure = Some(failure.clone());
        }
    }

    fn parse(&mut self, first: usize) {
        for slot in &self.loaded.slots[first..] {
            let cells = &mut self.loaded.cells[slot.first_cell..];
            for (need, cell) in slot.plan.needs.iter().zip(cells) {
                if let (Some(row), Some(projection)) = (cell.row, &need.projection) {
                    cell.content = match projection.parse(&self.loaded.rows[row].metadata) {
                        Ok(parsed) => Content::Parsed(parsed),
                        Err(error) => {
                            tracing::error!(urn = %slot.urn, aspect = %need.aspect, %error, "stored aspect is not JSON");
                            Content::Corrupt
                        }
                    };
                }
            }
        }
    }

    /// Calls the resolvers of the new slots, once per plan and field.
    async fn call(&mut self, first: usize, budget: &mut Budget) -> Result<(), LimitExceeded> {
        let slots = self.loaded.slots.iter().enumerate().skip(first);
        let called = slots.filter(|(_, slot)| !slot.plan.calls.is_empty());
        for (plan, members) in by_plan(called.map(|(index, slot)| (slot.plan, index))) {
            let mut outcomes: Vec<std::vec::IntoIter<Outcome>> = Vec::new();
            for field in &plan.calls {
                let Some(value) = plan.fields[*field].value() else {
                    continue;
                };
                let subjects: Vec<_> = members.iter().map(|slot| (*slot, &Value::Null)).collect();
                outcomes.push(self.batch(value, &subjects, budget).await?.into_iter());
            }
            for slot in members {
                self.loaded.slots[slot].first_outcome = self.loaded.outcomes.len();
                let row: Vec<_> = outcomes.iter_mut().filter_map(Iterator::next).collect();
                self.loaded.outcomes.extend(row);
            }
        }
        Ok(())
    }

    /// Calls the resolvers of plain objects, once per field of a plan.
    async fn call_plain(
        &mut self,
        calls: &[PlainCall<'p>],
        budget: &mut Budget,
    ) -> Result<(), LimitExceeded> {
        for (plan, same) in by_plan(calls.iter().map(|call| (call.plan, call))) {
            let subjects: Vec<_> = same.iter().map(|call| (call.owner, &*call.value)).collect();
            let outcomes = self.batch(plan, &subjects, budget).await?;
            for (call, outcome) in same.into_iter().zip(outcomes) {
                self.loaded.plain_outcomes.insert(call.key, outcome);
            }
        }
        Ok(())
    }

    /// Calls a resolver; returns one outcome per subject.
    async fn batch(
        &self,
        plan: &ValuePlan,
        subjects: &[(usize, &Value)],
        budget: &mut Budget,
    ) -> Result<Vec<Outcome>, LimitExceeded> {
        let result = match plan.resolver() {
            Some((resolver, _)) => match self.scope.compiler.evaluate(plan, self.scope.values) {
                Ok(arguments) => {
                    let rows: Vec<_> = subjects
                        .iter()
                        .map(|(slot, _)| self.loaded.rows_of(*slot))
                        .collect();
                    let entities: Vec<_> = subjects
                        .iter()
                        .zip(&rows)
                        .map(|((slot, value), rows)| {
                            EntityView::new(&self.loaded.slots[*slot].urn, value, rows)
                        })
                        .collect();
                    let context = self.scope.context;
                    resolver.0.resolve(context, &entities, arguments).await
                }
                Err(message) => Err(Error::invalid(message)),
            },
            None => Ok(Vec::new()),
        };
        let outcomes = outcomes(plan, result, subjects.len());
        for value in outcomes.iter().flatten() {
            budget.add_loaded(json_bytes(value))?;
        }
        Ok(outcomes)
    }
}

/// Groups items by their plans.
fn by_plan<'p, P, T>(items: impl Iterator<Item = (&'p P, T)>) -> Vec<(&'p P, Vec<T>)> {
    let mut groups: Vec<(&P, Vec<T>)> = Vec::new();
    let mut indexes: HashMap<usize, usize> = HashMap::new();
    for (plan, item) in items {
        let address = std::ptr::from_ref(plan) as usize;
        let index = *indexes.entry(address).or_insert(groups.len());
        match groups.get_mut(index) {
            Some((_, members)) => members.push(item),
            None => groups.push((plan, vec![item])),
        }
    }
    groups
}

fn outcomes(plan: &ValuePlan, result: BatchResult, count: usize) -> Vec<Outcome> {
    let results = match result {
        Ok(results) => results,
        Err(error) => {
            let failure = Failure::of(&error);
            return (0..count).map(|_| Err(failure.clone())).collect();
        }
    };
    if results.len() != count {
        tracing::error!(
            field = %plan.field.name,
            expected = count,
            actual = results.len(),
            "a resolver returned the wrong number of results"
        );
        let failure = Failure::server(
            "an internal error occurred; the server's log has the details".to_owned(),
        );
        return (0..count).map(|_| Err(failure.clone())).collect();
    }
    results
        .into_iter()
        .map(|result| match result {
            Ok(value) => Ok(Box::new(value)),
            Err(error) => Err(Failure::of(&error)),
        })
        .collect()
}

/// Collects entities and resolver calls from loaded values.
struct Walk<'w, 'p> {
    scope: Scope<'p>,
    loaded: &'w Loaded<'p>,
    next: &'w mut Discovery<'p>,
    budget: &'w mut Budget,
}

impl<'p> Walk<'_, 'p> {
    fn entity(&mut self, slot: usize) -> Result<(), LimitExceeded> {
        let plan = self.loaded.slots[slot].plan;
        if self.loaded.slots[slot].failure.is_some() {
            return Ok(());
        }
        self.object(
            plan,
            Parent {
                owner: Some(slot),
                value: View::Missing,
            },
        )
    }

    fn object(&mut self, plan: &'p ObjectPlan, parent: Parent<'_>) -> Result<(), LimitExceeded> {
        let mut copy = None;
        for field in plan.fields.iter().filter_map(FieldPlan::value) {
            let is_plain_call = field.call.is_some() && !matches!(parent.value, View::Missing);
            if !field.has_nested_entities && !is_plain_call {
                continue;
            }
            match value::read(self.loaded, self.scope.compiler, parent, field) {
                Ok(FieldValue::Borrowed(view)) => self.value(field, view, parent.owner)?,
                Ok(FieldValue::Composed(text)) => {
                    self.value(field, View::Text(&text), parent.owner)?;
                }
                Err(Unavailable::Failed(_)) => {}
                Err(Unavailable::Pending(key)) => {
                    if let Some(owner) = parent.owner {
                        self.budget.add_loaded(CALL_BYTES)?;
                        let copy = copy.get_or_insert_with(|| Arc::new(parent.value.to_value()));
                        self.next.calls.push(PlainCall {
                            plan: field,
                            owner,
                            key,
                            value: Arc::clone(copy),
                        });
                    }
                }
            }
        }
        Ok(())
    }

    fn value(
        &mut self,
        plan: &'p ValuePlan,
        view: View<'_>,
        owner: Option<usize>,
    ) -> Result<(), LimitExceeded> {
        if !plan.has_nested_entities || view.is_null() {
            return Ok(());
        }
        if plan.entries() {
            for (name, value) in view.entries().unwrap_or_default() {
                let entry = View::Entry {
                    name: &name,
                    value: &value,
                };
                self.single(plan, entry, owner)?;
            }
            return Ok(());
        }
        match view.elements() {
            Some(mut elements) => elements.try_for_each(|element| self.value(plan, element, owner)),
            None => self.single(plan, view, owner),
        }
    }

    fn single(
        &mut self,
        plan: &'p ValuePlan,
        view: View<'_>,
        owner: Option<usize>,
    ) -> Result<(), LimitExceeded> {
        self.budget.add_value()?;
        if plan.field.is_reference {
            // Most callers see everything.
            if self.scope.context.catalog.has_view()
                && let Some(urn) = view.text().and_then(|text| Urn::parse(&text).ok())
            {
                self.budget.add_loaded(CALL_BYTES)?;
                self.next.references.push(urn);
            }
            return Ok(());
        }
        match value::target(plan, view, self.scope.compiler)? {
            Some(Target::Entity(object, text)) => {
                if self.loaded.find(object, &text).is_none()
                    && let Ok(urn) = Urn::parse(&text)
                {
                    self.next.entities.push((object, urn));
                    self.next.compact(self.budget)?;
                }
                Ok(())
            }
            Some(Target::Plain(object, value)) => self.object(object, Parent { owner, value }),
            None => Ok(()),
        }
    }
}

impl Discovery<'_> {
    /// Removes duplicates when there are too many, and fails early if the entities exceed the
    /// limit.
    fn compact(&mut self, budget: &mut Budget) -> Result<(), LimitExceeded> {
        let allowed = budget.remaining_entities();
        if self.entities.len() / 2 <= allowed {
            return Ok(());
        }
        let mut distinct = HashSet::new();
        self.entities.retain(|(plan, urn)| {
            distinct.insert((std::ptr::from_ref(*plan) as usize, urn.clone()))
        });
        if self.entities.len() > allowed {
            budget.add_entities(self.entities.len())?;
        }
        Ok(())
    }
}

//! Filters: conditions on fields.
//!
//! The index holds every value that can be compared as a term or in a column ([`IndexForm`]), so
//! most operators walk over the texts of one field. Domains and containers form trees. Ancestors
//! and descendants are read from the index itself, so that they are consistent with the results.

mod values;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use docent_model::{Registry, Urn};
use tantivy::columnar::StrColumn;
use tantivy::query::{AllQuery, BooleanQuery, EmptyQuery, ExistsQuery, Occur, Query, TermSetQuery};
use tantivy::{DocAddress, Searcher, Term};

use crate::analysis::{fold, name_words, text_words};
use crate::budget::SearchBudget;
use crate::column::first_text;
use crate::document::simple_path;
use crate::error::SearchError;
use crate::field::{
    ENTITY_TYPE, IndexForm, TextClass, canonical, class_of_name, form_of, is_flag, is_property,
    is_prose, number_text,
};
use crate::list;
use crate::phrase::{phrase_query, term_query};
use crate::request::{Criterion, Filter, Operator};
use crate::schema::{Fields, URN, column_path, cut, may_be_cut, write_exists};
use crate::view::{View, ViewLookup};
use crate::walk::DictionaryWalk;
use values::lower;

/// The limit of values in one condition of a request.
const MAX_VALUES: usize = 20_000;
/// More values are compared with all lists instead of being looked up by their words, which takes a
/// phrase query for each.
const MAX_VALUES_BY_WORDS: usize = 20;
/// Both an entity type and the field that refers to it.
const CONTAINER: &str = "container";
/// Bounds the walk over a tree that has a cycle.
const MAX_LEVELS: usize = 50;

pub(crate) struct Filters<'s> {
    pub(crate) searcher: &'s Searcher,
    pub(crate) fields: &'s Fields,
    pub(crate) budget: &'s SearchBudget,
    /// What the caller may see; values that refer to anything else match nothing. `None` for
    /// everything, and for the conditions of the view itself.
    pub(crate) view: Option<ViewLookup<'s>>,
}

impl<'s> Filters<'s> {
    /// Conditions for a caller who sees everything.
    pub(crate) fn unrestricted(
        searcher: &'s Searcher,
        fields: &'s Fields,
        budget: &'s SearchBudget,
    ) -> Self {
        Self {
            searcher,
            fields,
            budget,
            view: None,
        }
    }

    fn walk(&self) -> DictionaryWalk<'s> {
        DictionaryWalk::over_all(self.searcher, self.budget)
    }

    /// The documents that pass the filter of a request; `None` if all do.
    pub(crate) fn query(&self, filter: &Filter) -> Result<Option<Box<dyn Query>>, SearchError> {
        for criterion in filter.any.iter().flatten() {
            if criterion.values.len() > MAX_VALUES {
                return Err(SearchError::Invalid(format!(
                    "the filter on {} has {} values; at most {MAX_VALUES} are allowed",
                    criterion.field,
                    criterion.values.len()
                )));
            }
        }
        self.unlimited_query(filter)
    }

    fn unlimited_query(&self, filter: &Filter) -> Result<Option<Box<dyn Query>>, SearchError> {
        let mut alternatives: Vec<Box<dyn Query>> = Vec::new();
        for criteria in &filter.any {
            if criteria.is_empty() {
                return Ok(None);
            }
            let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
            for criterion in criteria {
                let query = self.criterion(criterion)?;
                let occur = if criterion.negated {
                    Occur::MustNot
                } else {
                    Occur::Must
                };
                clauses.push((occur, query));
            }
            if clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
                clauses.push((Occur::Must, Box::new(AllQuery)));
            }
            alternatives.push(Box::new(BooleanQuery::new(clauses)));
        }
        Ok(match alternatives.len() {
            0 | 1 => alternatives.pop(),
            _ => Some(Box::new(BooleanQuery::union(alternatives))),
        })
    }

    /// The view of a caller who sees what passes a filter; `None` for everything. The caller did
    /// not write the filter, so it may be long.
    pub(crate) fn view_of(
        &self,
        filter: Option<&Arc<Filter>>,
    ) -> Result<Option<Rc<View>>, SearchError> {
        let Some(filter) = filter else {
            return Ok(None);
        };
        let view = |query| Rc::new(View::new(Arc::clone(filter), query));
        Ok(self.unlimited_query(filter)?.map(view))
    }

    pub(crate) fn criterion(&self, criterion: &Criterion) -> Result<Box<dyn Query>, SearchError> {
        let field = canonical(&criterion.field);
        let field = field.as_str();
        let values = values_of(field, criterion);
        if is_prose(field) && criterion.operator != Operator::Exists {
            return self.with_phrases(criterion, &values);
        }
        match criterion.operator {
            Operator::Equal => self.equal(field, &values),
            Operator::Exists => Ok(self.exists(field)),
            Operator::EqualIgnoringCase if is_flag(field) => self.equal(field, &values),
            Operator::EqualIgnoringCase => {
                let values = lower(&values);
                let set: HashSet<&str> = values.iter().map(String::as_str).collect();
                self.matching(field, &values, |value| set.contains(value))
            }
            Operator::Contains => self.with_parts(field, &values, |value, it| value.contains(it)),
            Operator::StartsWith => {
                self.with_parts(field, &values, |value, it| value.starts_with(it))
            }
            Operator::EndsWith => self.with_parts(field, &values, |value, it| value.ends_with(it)),
            Operator::Greater => self.compare(field, &values, Ordering::is_gt),
            Operator::GreaterOrEqual => self.compare(field, &values, Ordering::is_ge),
            Operator::Less => self.compare(field, &values, Ordering::is_lt),
            Operator::LessOrEqual => self.compare(field, &values, Ordering::is_le),
            Operator::DescendantsIncluded => {
                let descendants = self.descendants(&values)?;
                self.equal(field, &descendants)
            }
            Operator::Prefix => self.with_prefix(field, &values),
            Operator::InTree => self.in_tree(field, &values),
            Operator::InTreeOfPrefix => {
                let roots = self.urns(&*self.with_prefix(URN, &values)?)?;
                self.in_tree(field, &roots)
            }
            Operator::AncestorsIncluded => {
                let ancestors = self.ancestors(&values)?;
                self.equal(field, &ancestors)
            }
            Operator::RelatedIncluded => {
                let mut related = self.descendants(&values)?;
                related.extend(self.ancestors(&values)?);
                self.equal(field, &related)
            }
        }
    }

    /// The values that refer to nothing that is hidden from the caller.
    fn visible<'v>(&self, values: &'v [String]) -> Result<Cow<'v, [String]>, SearchError> {
        let Some(view) = &self.view else {
            return Ok(Cow::Borrowed(values));
        };
        let mut visible = Vec::with_capacity(values.len());
        for value in values {
            if view.shows(value)? {
                visible.push(value.clone());
            }
        }
        Ok(Cow::Owned(visible))
    }

    fn equal(&self, field: &str, values: &[String]) -> Result<Box<dyn Query>, SearchError> {
        if is_flag(field) {
            return Ok(self.flag(field, values));
        }
        // A document that is hidden itself is not among the results.
        let values = match form_of(field) {
            IndexForm::Urn => Cow::Borrowed(values),
            IndexForm::Names | IndexForm::Lists | IndexForm::Terms => self.visible(values)?,
        };
        Ok(match (form_of(field), &*values) {
            (_, []) => Box::new(EmptyQuery),
            (IndexForm::Lists, values) => self.with_list_values(field, values)?,
            (IndexForm::Urn, values) => self.with_urns(values),
            (IndexForm::Names | IndexForm::Terms, [value]) => {
                term_query(self.fields.term(field, value))
            }
            (IndexForm::Names | IndexForm::Terms, values) => Box::new(TermSetQuery::new(
                values.iter().map(|value| self.fields.term(field, value)),
            )),
        })
    }

    /// The documents of these entities.
    fn with_urns(&self, urns: &[String]) -> Box<dyn Query> {
        let terms = urns.iter().map(|urn| self.fields.urn_term(urn));
        Box::new(TermSetQuery::new(terms))
    }

    /// Documents with any of the values in their lists.
    fn with_list_values(
        &self,
        field: &str,
        values: &[String],
    ) -> Result<Box<dyn Query>, SearchError> {
        let requested: HashSet<&str> = values.iter().map(|value| cut(value)).collect();
        let is_requested = |value: &str| requested.contains(value);
        let has_any = |text: &str| self.any_in_list(text, is_requested);
        let path = column_path(field);
        let found = match self.with_words_of(field, values) {
            Some(candidates) => self
                .walk()
                .matching_texts_of(&*candidates, &path, has_any)?,
            None => self.walk().matching_texts(&path, &[""], has_any)?,
        };
        Ok(Box::new(found))
    }

    fn any_in_list(&self, list: &str, test: impl Fn(&str) -> bool) -> tantivy::Result<bool> {
        for value in list::values(list) {
            self.budget.step()?;
            if test(value) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Documents with all words of any of the values; `None` if the words do not narrow down the
    /// candidates.
    fn with_words_of(&self, field: &str, values: &[String]) -> Option<Box<dyn Query>> {
        if values.len() > MAX_VALUES_BY_WORDS || values.iter().any(|it| may_be_cut(it)) {
            return None;
        }
        let words_of = |value: &String| match class_of_name(field) {
            Some(TextClass::Column) => {
                phrase_query(self.fields.column, &name_words(&simple_path(value)))
            }
            Some(TextClass::Other) => phrase_query(self.fields.other, &text_words(value)),
            Some(TextClass::Name | TextClass::Description) | None => None,
        };
        let phrases: Option<Vec<_>> = values.iter().map(words_of).collect();
        Some(Box::new(BooleanQuery::union(phrases?)))
    }

    /// A flag that is not set is false.
    fn flag(&self, field: &str, values: &[String]) -> Box<dyn Query> {
        let names = |flag: &str| values.iter().any(|it| it.eq_ignore_ascii_case(flag));
        let set = term_query(self.fields.term(field, "true"));
        match (names("true"), names("false")) {
            (true, true) => Box::new(AllQuery),
            (true, false) => set,
            (false, true) => Box::new(BooleanQuery::new(vec![
                (Occur::Must, Box::new(AllQuery) as Box<dyn Query>),
                (Occur::MustNot, set),
            ])),
            (false, false) => Box::new(EmptyQuery),
        }
    }

    fn exists(&self, field: &str) -> Box<dyn Query> {
        let always = [URN, ENTITY_TYPE];
        if always.contains(&field) {
            return Box::new(AllQuery);
        }
        let fields = Registry::get().search_fields();
        if fields.iter().any(|known| known.has_values == Some(field)) {
            return term_query(self.fields.term(field, "true"));
        }
        // Fields without a column have a term that says whether they exist.
        let mut exists = String::new();
        write_exists(&mut exists, field);
        Box::new(BooleanQuery::union(vec![
            Box::new(ExistsQuery::new(column_path(field), false)),
            term_query(Term::from_field_text(self.fields.terms, &exists)),
        ]))
    }

    /// Documents below the roots, and those of the tree itself.
    fn in_tree(&self, field: &str, roots: &[String]) -> Result<Box<dyn Query>, SearchError> {
        let tree = self.descendants(roots)?;
        let members = self.equal(field, &tree)?;
        Ok(Box::new(BooleanQuery::union(vec![
            members,
            self.with_urns(&tree),
        ])))
    }

    /// Prose is indexed by its words, so a condition on it is a phrase query.
    fn with_phrases(
        &self,
        criterion: &Criterion,
        values: &[String],
    ) -> Result<Box<dyn Query>, SearchError> {
        use Operator::{Contains, EndsWith, Equal, EqualIgnoringCase, StartsWith};
        if !matches!(
            criterion.operator,
            Equal | EqualIgnoringCase | Contains | StartsWith | EndsWith
        ) {
            return Err(SearchError::Invalid(format!(
                "{} is prose, which can only be searched by its words: use CONTAIN or EXISTS",
                criterion.field
            )));
        }
        let phrase = |value: &String| phrase_query(self.fields.description, &text_words(value));
        let phrases = values.iter().filter_map(phrase).collect();
        Ok(Box::new(BooleanQuery::union(phrases)))
    }

    /// The values and their descendants.
    fn descendants(&self, values: &[String]) -> Result<Vec<String>, SearchError> {
        let mut level = self.visible(values)?.into_owned();
        let mut all: HashSet<String> = level.iter().cloned().collect();
        for _ in 0..MAX_LEVELS {
            let mut next = Vec::new();
            for (field, of_field) in by_parent_field(&level) {
                let mut children = self.equal(field, &of_field)?;
                // Datasets are in containers, too.
                if field == CONTAINER {
                    let containers = term_query(self.fields.term(ENTITY_TYPE, CONTAINER));
                    children = Box::new(BooleanQuery::intersection(vec![children, containers]));
                }
                next.extend(self.urns(&*children)?);
            }
            // What is below or above something hidden is a tree of its own.
            let mut next = self.visible(&next)?.into_owned();
            next.retain(|urn| all.insert(urn.clone()));
            if next.is_empty() {
                break;
            }
            level = next;
        }
        Ok(all.into_iter().collect())
    }

    /// The values and their ancestors.
    fn ancestors(&self, values: &[String]) -> Result<Vec<String>, SearchError> {
        let mut level = self.visible(values)?.into_owned();
        let mut all: HashSet<String> = level.iter().cloned().collect();
        for _ in 0..MAX_LEVELS {
            let mut next = Vec::new();
            for (field, of_field) in by_parent_field(&level) {
                next.extend(self.values_of_documents(&of_field, field)?);
            }
            // What is below or above something hidden is a tree of its own.
            let mut next = self.visible(&next)?.into_owned();
            next.retain(|urn| all.insert(urn.clone()));
            if next.is_empty() {
                break;
            }
            level = next;
        }
        Ok(all.into_iter().collect())
    }

    /// The URNs of the matching documents.
    pub(crate) fn urns(&self, query: &dyn Query) -> Result<Vec<String>, SearchError> {
        self.budget.check()?;
        let documents = self
            .searcher
            .search(query, &tantivy::collector::DocSetCollector)?;
        let mut urns = Vec::new();
        // Opening a column takes longer than reading from it.
        let mut columns: HashMap<u32, Option<StrColumn>> = HashMap::new();
        for address in documents {
            self.budget.step()?;
            let column = match columns.entry(address.segment_ord) {
                Entry::Occupied(open) => open.into_mut(),
                Entry::Vacant(vacant) => {
                    let segment = self.searcher.segment_reader(address.segment_ord);
                    vacant.insert(segment.fast_fields().str(URN)?)
                }
            };
            let urn = match column {
                Some(column) => first_text(column, address.doc_id)?,
                None => None,
            };
            urns.extend(urn);
        }
        Ok(urns)
    }

    fn values_of_documents(
        &self,
        urns: &[String],
        field: &str,
    ) -> Result<Vec<String>, SearchError> {
        self.budget.check()?;
        let query = self.with_urns(urns);
        let documents = self
            .searcher
            .search(&*query, &tantivy::collector::DocSetCollector)?;
        let path = column_path(field);
        let mut values = Vec::new();
        for address in documents {
            self.budget.step()?;
            values.extend(column_values(self.searcher, address, &path)?);
        }
        Ok(values)
    }
}

/// The texts of a document in a column.
fn column_values(
    searcher: &Searcher,
    address: DocAddress,
    column: &str,
) -> tantivy::Result<Vec<String>> {
    let segment = searcher.segment_reader(address.segment_ord);
    let Some(column) = segment.fast_fields().str(column)? else {
        return Ok(Vec::new());
    };
    column
        .term_ords(address.doc_id)
        .map(|ordinal| {
            let mut text = String::new();
            column.ord_to_str(ordinal, &mut text)?;
            Ok(text)
        })
        .collect()
}

/// Groups URNs by the field that refers to their parent, so that each level takes one query per
/// field.
fn by_parent_field(values: &[String]) -> BTreeMap<&'static str, Vec<String>> {
    let mut fields: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for value in values {
        if let Some(field) = parent_field(value) {
            fields.entry(field).or_default().push(value.clone());
        }
    }
    fields
}

/// The field that refers to the parent of an entity.
fn parent_field(urn: &str) -> Option<&'static str> {
    let kind = Urn::parse(urn).ok()?;
    match kind.entity_type() {
        "domain" => Some("parentDomain"),
        CONTAINER => Some(CONTAINER),
        "glossaryNode" => Some("parentNode"),
        _ => None,
    }
}

/// Converts the values of a criterion to the form that the index holds.
fn values_of(field: &str, criterion: &Criterion) -> Vec<String> {
    let with_prefix = |prefix: &str, value: &String| {
        if value.starts_with("urn:") {
            value.clone()
        } else {
            format!("{prefix}{value}")
        }
    };
    match (field, criterion.operator) {
        // Clients may name a platform without its URN.
        ("platform", Operator::Equal) => criterion
            .values
            .iter()
            .map(|value| with_prefix("urn:li:dataPlatform:", value))
            .collect(),
        // Numbers of properties are compared by value.
        (name, Operator::Equal) if is_property(name) => {
            let number = |value: &String| value.parse::<f64>().ok().map(number_text);
            let numbers: Vec<String> = criterion.values.iter().filter_map(number).collect();
            criterion.values.iter().cloned().chain(numbers).collect()
        }
        // Whole names are folded.
        (name, operator) if operator != Operator::Equal && form_of(name) == IndexForm::Names => {
            criterion.values.iter().map(|value| fold(value)).collect()
        }
        (name, _) if form_of(name) == IndexForm::Lists => {
            let values = criterion.values.iter();
            values.map(|value| list::item(value).into_owned()).collect()
        }
        _ => criterion.values.clone(),
    }
}

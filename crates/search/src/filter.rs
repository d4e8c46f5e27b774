//! Conditions on fields.
//!
//! Every value that can be compared stands in the index as a term, or in a column, perhaps with a number ([`Form`]), so
//! most operators are a walk over the texts of one field. Domains and containers form trees; what is above or below a value
//! is looked up in the index itself, so it is of the same moment as the results.

use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use docent_model::{Registry, Urn};
use tantivy::columnar::StrColumn;
use tantivy::query::{
    AllQuery, BooleanQuery, EmptyQuery, ExistsQuery, Occur, Query, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, Searcher, SegmentReader, Term};

use crate::analysis::{fold, text_words};
use crate::column::ColumnQuery;
use crate::document::{ENTITY_TYPE, Form, HAS_DESCRIPTION, REMOVED, form_of, is_name, is_prose};
use crate::error::SearchError;
use crate::kept::text_of;
use crate::query::phrase_query;
use crate::request::{Criterion, Filter, Operator};
use crate::schema::{Fields, LAST_PART_MARK, URN, column_path, cut, write_exists, write_term};

/// More alternatives in one condition are refused.
const MAX_VALUES: usize = 20_000;
/// No tree is as deep.
const MAX_LEVELS: usize = 50;

/// Names that clients use for fields that have another name in the registry.
const OTHER_NAMES: [(&str, &str); 5] = [
    ("entityType", ENTITY_TYPE),
    ("type", "typeNames"),
    (ENVIRONMENT[1], ENVIRONMENT[0]),
    ("_index", ENTITY_TYPE),
    ("documented", HAS_DESCRIPTION),
];

/// Some kinds of entity have their environment in the one field, some in the other.
const ENVIRONMENT: [&str; 2] = ["origin", "env"];

/// The name under which a field stands in the index.
pub(crate) fn canonical(field: &str) -> String {
    let field = field.strip_suffix(".keyword").unwrap_or(field);
    if let Some((_, name)) = OTHER_NAMES.iter().find(|(other, _)| *other == field) {
        return (*name).to_owned();
    }
    if [URN, ENTITY_TYPE, REMOVED, HAS_DESCRIPTION].contains(&field) {
        return field.to_owned();
    }
    Registry::get()
        .search_field(field)
        .map_or_else(|| field.to_owned(), |known| known.name.to_owned())
}

/// Whether there is a field of this name.
pub(crate) fn is_field(field: &str) -> bool {
    let name = canonical(field);
    let own = [
        URN,
        ENTITY_TYPE,
        REMOVED,
        HAS_DESCRIPTION,
        "column",
        "columns",
    ];
    own.contains(&name.as_str())
        || Registry::get()
            .search_fields()
            .iter()
            .any(|known| known.name == name || known.has_values == Some(&name))
}

pub(crate) struct Filters<'s> {
    pub(crate) searcher: &'s Searcher,
    pub(crate) fields: &'s Fields,
}

impl Filters<'_> {
    /// The documents that a filter lets through; `None` if it lets all through.
    pub(crate) fn query(&self, filter: &Filter) -> Result<Option<Box<dyn Query>>, SearchError> {
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

    pub(crate) fn criterion(&self, criterion: &Criterion) -> Result<Box<dyn Query>, SearchError> {
        if criterion.values.len() > MAX_VALUES {
            return Err(SearchError::Invalid(format!(
                "the filter on {} has {} values; at most {MAX_VALUES} are allowed",
                criterion.field,
                criterion.values.len()
            )));
        }
        let field = canonical(&criterion.field);
        let query = self.on_field(&field, criterion)?;
        if field != ENVIRONMENT[0] {
            return Ok(query);
        }
        let other = self.on_field(ENVIRONMENT[1], criterion)?;
        Ok(Box::new(BooleanQuery::union(vec![query, other])))
    }

    fn on_field(&self, field: &str, criterion: &Criterion) -> Result<Box<dyn Query>, SearchError> {
        let values = values_of(field, criterion);
        if is_prose(field) && criterion.operator != Operator::Exists {
            return self.in_prose(criterion, &values);
        }
        match criterion.operator {
            Operator::Equal => Ok(self.equal(field, &values)),
            Operator::Exists => Ok(self.exists(field)),
            Operator::EqualIgnoringCase => {
                let values = lower(&values);
                self.matching(field, move |value| values.contains(&value.to_lowercase()))
            }
            Operator::Contains => {
                let values = lower(&values);
                self.matching(field, move |value| {
                    let value = value.to_lowercase();
                    values.iter().any(|wanted| value.contains(wanted))
                })
            }
            Operator::StartsWith => {
                let values = lower(&values);
                self.matching(field, move |value| {
                    let value = value.to_lowercase();
                    values.iter().any(|wanted| value.starts_with(wanted))
                })
            }
            Operator::EndsWith => {
                let values = lower(&values);
                self.matching(field, move |value| {
                    let value = value.to_lowercase();
                    values.iter().any(|wanted| value.ends_with(wanted))
                })
            }
            Operator::Greater => self.compare(field, &values, Ordering::is_gt),
            Operator::GreaterOrEqual => self.compare(field, &values, Ordering::is_ge),
            Operator::Less => self.compare(field, &values, Ordering::is_lt),
            Operator::LessOrEqual => self.compare(field, &values, Ordering::is_le),
            Operator::DescendantsIncluded => {
                let below = self.below(&values)?;
                Ok(self.equal(field, &below))
            }
            Operator::AncestorsIncluded => {
                let above = self.above(&values)?;
                Ok(self.equal(field, &above))
            }
            Operator::RelatedIncluded => {
                let mut related = self.below(&values)?;
                related.extend(self.above(&values)?);
                Ok(self.equal(field, &related))
            }
        }
    }

    pub(crate) fn equal(&self, field: &str, values: &[String]) -> Box<dyn Query> {
        let is_flag = field == REMOVED || field.starts_with("has") || field.starts_with("is");
        // A flag that nobody set is false.
        if is_flag && values.len() == 1 && values[0].eq_ignore_ascii_case("false") {
            let set = term_query(self.fields.term(field, "true"));
            return Box::new(BooleanQuery::new(vec![
                (Occur::Must, Box::new(AllQuery) as Box<dyn Query>),
                (Occur::MustNot, set),
            ]));
        }
        match values {
            [] => Box::new(EmptyQuery),
            values if form_of(field) == Form::Column => Box::new(ColumnQuery {
                path: column_path(field),
                texts: values.iter().map(|value| cut(value).to_owned()).collect(),
            }),
            [value] => term_query(self.fields.term(field, value)),
            values => Box::new(TermSetQuery::new(
                values.iter().map(|value| self.fields.term(field, value)),
            )),
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
        // What has no column has a mark.
        let mut mark = String::new();
        write_exists(&mut mark, field);
        Box::new(BooleanQuery::union(vec![
            Box::new(ExistsQuery::new(column_path(field), false)),
            term_query(Term::from_field_text(self.fields.terms, &mark)),
        ]))
    }

    /// Documents with a value that passes the test. Names are one field to it, whatever they are called.
    pub(crate) fn matching(
        &self,
        field: &str,
        test: impl Fn(&str) -> bool,
    ) -> Result<Box<dyn Query>, SearchError> {
        let mut terms = HashSet::new();
        if is_name(field) {
            let names = self.fields.whole_name;
            each_term(self.searcher, names, "", usize::MAX, |name| {
                if !name.starts_with(LAST_PART_MARK) && test(name) {
                    terms.insert(Term::from_field_text(names, name));
                }
            })?;
            return Ok(Box::new(TermSetQuery::new(terms)));
        }
        if form_of(field) == Form::Column {
            let mut texts = Vec::new();
            each_column_text(self.searcher, field, |text| {
                if test(text) {
                    texts.push(text.to_owned());
                }
            })?;
            return Ok(self.equal(field, &texts));
        }
        let mut found = |value: &str| {
            if test(value) {
                terms.insert(self.fields.term(field, value));
            }
        };
        if form_of(field) == Form::Numbers {
            each_column_text(self.searcher, field, found)?;
        } else {
            let mut start = String::new();
            write_term(&mut start, field, "");
            let place = self.fields.terms;
            each_term(self.searcher, place, &start, usize::MAX, |text| {
                found(&text[start.len()..]);
            })?;
        }
        Ok(Box::new(TermSetQuery::new(terms)))
    }

    /// Prose is kept by its words: a condition on it asks for these, one behind the other, wherever they stand.
    fn in_prose(
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
                "{} is prose, which is found by its words: use CONTAIN or EXISTS",
                criterion.field
            )));
        }
        let phrase = |value: &String| phrase_query(self.fields.description, &text_words(value));
        let phrases = values.iter().filter_map(phrase).collect();
        Ok(Box::new(BooleanQuery::union(phrases)))
    }

    fn compare(
        &self,
        field: &str,
        values: &[String],
        test: impl Fn(Ordering) -> bool,
    ) -> Result<Box<dyn Query>, SearchError> {
        let Some(bound) = values.first() else {
            return Ok(Box::new(EmptyQuery));
        };
        let number = bound.parse::<f64>().ok();
        self.matching(field, |value| match (number, value.parse::<f64>()) {
            (Some(bound), Ok(value)) => test(value.total_cmp(&bound)),
            (Some(_), Err(_)) => false,
            (None, _) => test(value.cmp(bound)),
        })
    }

    /// The values and everything below them in their trees.
    fn below(&self, values: &[String]) -> Result<Vec<String>, SearchError> {
        let mut all: HashSet<String> = values.iter().cloned().collect();
        let mut level: Vec<String> = values.to_vec();
        for _ in 0..MAX_LEVELS {
            let mut next = Vec::new();
            for field in ["parentDomain", "container", "parentNode"] {
                let of_kind: Vec<String> = level
                    .iter()
                    .filter(|value| parent_field(value) == Some(field))
                    .cloned()
                    .collect();
                if !of_kind.is_empty() {
                    let kind = if field == "container" {
                        Some("container")
                    } else {
                        None
                    };
                    next.extend(self.urns(&*self.equal(field, &of_kind), kind)?);
                }
            }
            next.retain(|urn| all.insert(urn.clone()));
            if next.is_empty() {
                break;
            }
            level = next;
        }
        Ok(all.into_iter().collect())
    }

    /// The values and everything above them.
    fn above(&self, values: &[String]) -> Result<Vec<String>, SearchError> {
        let mut all: HashSet<String> = values.iter().cloned().collect();
        let mut level: Vec<String> = values.to_vec();
        for _ in 0..MAX_LEVELS {
            let mut next = Vec::new();
            for value in &level {
                if let Some(field) = parent_field(value) {
                    next.extend(self.values_of_document(value, field)?);
                }
            }
            next.retain(|urn| all.insert(urn.clone()));
            if next.is_empty() {
                break;
            }
            level = next;
        }
        Ok(all.into_iter().collect())
    }

    /// The URNs of the documents that match, of one entity type if it is given.
    fn urns(&self, query: &dyn Query, kind: Option<&str>) -> Result<Vec<String>, SearchError> {
        let documents = self
            .searcher
            .search(query, &tantivy::collector::DocSetCollector)?;
        let mut urns = Vec::new();
        // Opening the column takes longer than reading from it.
        let mut columns: HashMap<u32, Option<StrColumn>> = HashMap::new();
        for address in documents {
            let column = match columns.entry(address.segment_ord) {
                Entry::Occupied(open) => open.into_mut(),
                Entry::Vacant(place) => {
                    let segment = self.searcher.segment_reader(address.segment_ord);
                    place.insert(segment.fast_fields().str(URN)?)
                }
            };
            let urn = match column {
                Some(column) => text_of(column, address.doc_id)?,
                None => None,
            };
            let fits = |urn: &String| {
                kind.is_none_or(|kind| Urn::parse(urn).is_ok_and(|urn| urn.entity_type() == kind))
            };
            urns.extend(urn.filter(fits));
        }
        Ok(urns)
    }

    fn values_of_document(&self, urn: &str, field: &str) -> Result<Vec<String>, SearchError> {
        let query = TermQuery::new(self.fields.urn_term(urn), IndexRecordOption::Basic);
        let documents = self
            .searcher
            .search(&query, &tantivy::collector::DocSetCollector)?;
        let path = column_path(field);
        let mut values = Vec::new();
        for address in documents {
            values.extend(column_values(self.searcher, address, &path)?);
        }
        Ok(values)
    }
}

/// Walks over the terms of a field that begin so, in each segment the first `most` of them.
pub(crate) fn each_term(
    searcher: &Searcher,
    field: Field,
    start: &str,
    most: usize,
    mut found: impl FnMut(&str),
) -> tantivy::Result<()> {
    for segment in searcher.segment_readers() {
        each_term_of(segment, field, start, most, &mut found)?;
    }
    Ok(())
}

/// The last of those terms that all segments were looked at up to; `None` if there are no more.
pub(crate) fn last_of_first_terms(
    searcher: &Searcher,
    field: Field,
    start: &str,
    most: usize,
) -> tantivy::Result<Option<String>> {
    let mut seen: Option<String> = None;
    for segment in searcher.segment_readers() {
        let (mut count, mut last) = (0, String::new());
        each_term_of(segment, field, start, most + 1, &mut |text| {
            count += 1;
            if count == most {
                last.push_str(text);
            }
        })?;
        if count > most && seen.as_ref().is_none_or(|seen| last < *seen) {
            seen = Some(last);
        }
    }
    Ok(seen)
}

fn each_term_of(
    segment: &SegmentReader,
    field: Field,
    start: &str,
    most: usize,
    found: &mut impl FnMut(&str),
) -> tantivy::Result<()> {
    let inverted = segment.inverted_index(field)?;
    let range = inverted.terms().range().ge(start.as_bytes());
    let mut stream = range.into_stream()?;
    let mut count = 0;
    while count < most && stream.advance() {
        let Ok(text) = std::str::from_utf8(stream.key()) else {
            continue;
        };
        if !text.starts_with(start) {
            break;
        }
        found(text);
        count += 1;
    }
    Ok(())
}

/// Walks over the texts that a field's column has in each segment.
fn each_column_text(
    searcher: &Searcher,
    field: &str,
    mut found: impl FnMut(&str),
) -> tantivy::Result<()> {
    let path = if field == URN {
        URN.to_owned()
    } else {
        column_path(field)
    };
    for segment in searcher.segment_readers() {
        let Some(column) = segment.fast_fields().str(&path)? else {
            continue;
        };
        let mut texts = column.dictionary().stream()?;
        while texts.advance() {
            if let Ok(text) = std::str::from_utf8(texts.key()) {
                found(text);
            }
        }
    }
    Ok(())
}

/// The texts that a document has in a column.
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

/// The field that names the parent of such an entity.
fn parent_field(urn: &str) -> Option<&'static str> {
    let kind = Urn::parse(urn).ok()?;
    match kind.entity_type() {
        "domain" => Some("parentDomain"),
        "container" => Some("container"),
        "glossaryNode" => Some("parentNode"),
        _ => None,
    }
}

pub(crate) fn term_query(term: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

fn lower(values: &[String]) -> Vec<String> {
    values.iter().map(|value| value.to_lowercase()).collect()
}

/// The values as they stand in the index.
fn values_of(field: &str, criterion: &Criterion) -> Vec<String> {
    let with_prefix = |prefix: &str, value: &String| {
        if value.starts_with("urn:") {
            value.clone()
        } else {
            format!("{prefix}{value}")
        }
    };
    match (field, criterion.operator) {
        // A platform may be named without its URN.
        ("platform", Operator::Equal) => criterion
            .values
            .iter()
            .map(|value| with_prefix("urn:li:dataPlatform:", value))
            .collect(),
        // Whole names stand in the index without accents and in lower case.
        (name, operator) if operator != Operator::Equal && is_name(name) => {
            criterion.values.iter().map(|value| fold(value)).collect()
        }
        _ => criterion.values.clone(),
    }
}

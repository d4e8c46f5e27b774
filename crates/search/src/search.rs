//! Answering a request.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use docent_model::{Registry, Urn};
use docent_store::Store;
use tantivy::{Searcher, TantivyError};

use crate::collect::{Gather, Gathered, Order, PAIR, Question};
use crate::coverage::{Coverage, coverage};
use crate::document::{ENTITY_TYPE, Entity, HAS_DESCRIPTION, REMOVED};
use crate::error::SearchError;
use crate::explain::explain;
use crate::feed::blocking;
use crate::filter::{Filters, canonical};
use crate::found::{Completions, Facet, FacetValue, Found, Hit, Match};
use crate::index::Location;
use crate::language;
use crate::live::{Live, Moment};
use crate::matching::{Node, Set};
use crate::query::{Translator, allowed_typos, known_fields};
use crate::request::{Facets, Filter, Page, Request};
use crate::schema::{Fields, URN};
use crate::scroll::{Mark, Scroll};
use crate::sort;
use crate::{DEFAULT_TYPES, analysis};

/// Pages further down are read by scrolling.
const DEEPEST: usize = 10_000;
/// The most results of one page.
const LONGEST_PAGE: usize = 10_000;

/// How many names are looked at first to complete one.
const FIRST_COMPLETIONS: usize = 200;

/// What people narrow a search by.
const USUAL_FACETS: [&str; 12] = [
    ENTITY_TYPE,
    "platform",
    "domains",
    "tags",
    "glossaryTerms",
    "owners",
    "container",
    "origin",
    "typeNames",
    HAS_DESCRIPTION,
    "fieldTags",
    "fieldGlossaryTerms",
];

/// The index of one server, and how it keeps up with the store. Cloning it is cheap and gives the same index.
#[derive(Debug, Clone)]
pub struct Search {
    live: Live,
}

impl Search {
    /// An index in this directory, which is made if it is not there and must be one that can be written to. Nothing is read
    /// before the first search, or before [`Search::build_if_missing`].
    pub fn in_directory(store: Arc<dyn Store>, directory: &Path) -> Result<Self, SearchError> {
        let location = Location::Directory(directory.to_owned());
        location.prepare()?;
        Ok(Self {
            live: Live::new(store, location),
        })
    }

    /// An index that ends with the process.
    pub fn in_memory(store: Arc<dyn Store>) -> Self {
        Self {
            live: Live::new(store, Location::Memory),
        }
    }

    /// Builds the index if there is none, so that the first search need not wait for it. One that is there is opened
    /// by the first search: a server that nobody searches in should not keep one in memory.
    pub async fn build_if_missing(&self) -> Result<(), SearchError> {
        if self.live.is_missing() {
            self.live.moment().await?;
        }
        Ok(())
    }

    /// Answers from an index that has every change that is committed now.
    pub async fn search(&self, request: &Request) -> Result<Found, SearchError> {
        let gather = gather_of(request)?;
        let scroll = scroll_of(request, &gather)?;
        let parsed = known_fields(&request.query);
        let (wanted, query) = (request.clone(), parsed.clone());
        let kept = self.live.kept();
        let (gathered, next, labels) = self
            .run(move |searcher, fields| {
                let translator = Translator::new(searcher, fields, &kept);
                let text = translator.translate(&query)?;
                let question = narrowed(searcher, fields, &wanted, text)?;
                let (gathered, next) = match scroll {
                    Some(scroll) => scroll.results(searcher, fields, &kept, &gather, question)?,
                    None => (gather.results(searcher, &kept, &question)?, None),
                };
                Ok((gathered, next, translator.into_labels()))
            })
            .await?;
        let mut found = self.found(request, &parsed, gathered, &labels).await?;
        found.next = next.or(found.next);
        Ok(found)
    }

    /// Names that begin with what was typed, best first.
    ///
    /// Where many more names begin so than are wanted, the first of them stand for all.
    pub async fn complete(
        &self,
        types: &[String],
        text: &str,
        filter: &Filter,
        include_removed: bool,
        limit: usize,
    ) -> Result<Completions, SearchError> {
        let request = Request {
            types: types.to_vec(),
            query: text.to_owned(),
            filter: filter.clone(),
            include_removed,
            page: Page::From {
                start: 0,
                count: limit,
            },
            ..Request::default()
        };
        let gather = gather_of(&request)?;
        let kept = self.live.kept();
        let gathered = self
            .run(move |searcher, fields| {
                let translator = Translator::new(searcher, fields, &kept);
                let attempt = |most| {
                    let names = translator.name_prefix(request.query.trim(), most)?;
                    let question = narrowed(searcher, fields, &request, Some(names))?;
                    Ok::<_, SearchError>(gather.results(searcher, &kept, &question)?)
                };
                let gathered = attempt(FIRST_COMPLETIONS)?;
                // Those that come first in the dictionary may all be of other types, or gone.
                if gathered.hits.len() < limit && translator.has_cut() {
                    return attempt(usize::MAX);
                }
                Ok(gathered)
            })
            .await?;
        let urns = urns_of(&gathered)?;
        let entities = self.live.store().entities_read(&urns).await?;
        let mut suggestions: Vec<String> = Vec::new();
        for (urn, rows) in urns.iter().zip(&entities) {
            let entity = Entity::of_rows(rows);
            let name = entity.display_name(urn).to_owned();
            if !suggestions.contains(&name) {
                suggestions.push(name);
            }
        }
        Ok(Completions {
            suggestions,
            entities: urns,
        })
    }

    /// How much of the datasets is described, from an index that has every change that is committed now.
    pub async fn coverage(&self) -> Result<Coverage, SearchError> {
        let kept = self.live.kept();
        self.run(move |searcher, fields| coverage(searcher, fields, &kept))
            .await
    }

    /// Runs something on the index of this moment, on a thread that may block. An index that turns out to be
    /// damaged is given up.
    async fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Searcher, &Fields) -> Result<T, SearchError> + Send + 'static,
    ) -> Result<T, SearchError> {
        let Moment { searcher, serial } = self.live.moment().await?;
        let (fields, index) = (self.live.fields().clone(), searcher.index().clone());
        let result = blocking(move || {
            // A file that is not what it should be may lead the library anywhere.
            catch_unwind(AssertUnwindSafe(|| task(&searcher, &fields))).unwrap_or_else(|_| {
                let text = "the search panicked".to_owned();
                Err(TantivyError::InternalError(text).into())
            })
        })
        .await;
        if let Err(SearchError::Index(error)) = &result {
            tracing::error!(%error, "a search failed, so the index is checked");
            self.live.doubt(index, serial).await;
        }
        result
    }

    async fn found(
        &self,
        request: &Request,
        query: &language::Query,
        gathered: Gathered,
        labels: &HashSet<String>,
    ) -> Result<Found, SearchError> {
        let total = gathered.total;
        let facets = facets_of(request, gathered.facets);
        let (start, count, is_scroll) = match &request.page {
            Page::From { start, count } => (*start, *count, false),
            Page::After { count, .. } => (0, *count, true),
        };
        let mut candidates = gathered.hits;
        let more = candidates.len() > start + count;
        candidates.truncate(start + count);
        let page = candidates.split_off(start.min(candidates.len()));
        let next = (is_scroll && more)
            .then(|| page.last().map(|last| last.urn.clone()))
            .flatten();
        let mut hits = Vec::with_capacity(page.len());
        for candidate in page {
            hits.push(Hit {
                urn: parse_urn(&candidate.urn)?,
                score: candidate.score,
                matched: Vec::new(),
            });
        }
        if request.explain_matches && !query.clauses.is_empty() {
            self.explain(query, labels, &mut hits).await?;
        }
        Ok(Found {
            total,
            hits,
            facets,
            next,
        })
    }

    /// Says of each hit which of its fields matched.
    async fn explain(
        &self,
        query: &language::Query,
        labels: &HashSet<String>,
        hits: &mut [Hit],
    ) -> Result<(), SearchError> {
        let urns: Vec<Urn> = hits.iter().map(|hit| hit.urn.clone()).collect();
        let entities = self.live.store().entities_read(&urns).await?;
        for (hit, rows) in hits.iter_mut().zip(&entities) {
            let entity = Entity::of_rows(rows);
            let values: Vec<(&str, &str)> = entity
                .texts
                .iter()
                .map(|(field, _, text)| (*field, &**text))
                .collect();
            let words = EntityWords::of(values.iter().map(|(_, text)| *text));
            let expanded = |word: &str, unfinished| words.similar(word, unfinished);
            hit.matched = explain(query, &values, &expanded);
            for (field, urn) in entity.labels() {
                if labels.contains(urn) {
                    // Its name is elsewhere, and its id often says the same.
                    let words = EntityWords::of(std::iter::once(urn));
                    let expanded = |word: &str, unfinished| words.similar(word, unfinished);
                    let in_id = explain(query, &[(field, urn)], &expanded).pop();
                    hit.matched.push(in_id.unwrap_or_else(|| Match {
                        field: field.to_owned(),
                        value: urn.to_owned(),
                        places: Vec::new(),
                    }));
                }
            }
        }
        Ok(())
    }
}

fn gather_of(request: &Request) -> Result<Gather, SearchError> {
    let (keep, order) = match &request.page {
        Page::From { start, count } => {
            if start + count > DEEPEST {
                return Err(SearchError::Invalid(format!(
                    "start and count together may be at most {DEEPEST}; use scrollAcrossEntities to read further"
                )));
            }
            let fields = sort::fields(&request.sort)?;
            let order = if fields.is_empty() {
                Order::Score
            } else {
                Order::Fields(fields)
            };
            (start + count, order)
        }
        Page::After { mark, count } => {
            if *count > LONGEST_PAGE {
                return Err(SearchError::Invalid(format!(
                    "a page may have at most {LONGEST_PAGE} results"
                )));
            }
            let fields = sort::fields(&request.sort)?;
            let order = if fields.is_empty() {
                if let Some(mark) = mark
                    && Urn::parse(mark).is_err()
                {
                    return Err(no_mark(mark));
                }
                let after = mark.clone();
                Order::Urn { after }
            } else {
                Order::Fields(fields)
            };
            // One more than asked for tells whether there is a next page.
            (*count + 1, order)
        }
    };
    let facets = match &request.facets {
        Facets::None => Vec::new(),
        Facets::Usual { .. } => USUAL_FACETS.iter().map(ToString::to_string).collect(),
        Facets::Named { fields, .. } => fields
            .iter()
            .map(|field| {
                let parts: Vec<String> = field.split(PAIR).map(canonical).collect();
                parts.join(&PAIR.to_string())
            })
            .collect(),
    };
    let most_values = match &request.facets {
        Facets::None => 0,
        Facets::Usual { values } | Facets::Named { values, .. } => *values,
    };
    Ok(Gather {
        order,
        keep,
        facets,
        most_values,
    })
}

/// If it is to be scrolled in an order of fields.
fn scroll_of(request: &Request, gather: &Gather) -> Result<Option<Scroll>, SearchError> {
    let (Page::After { mark, count }, Order::Fields(fields)) = (&request.page, &gather.order)
    else {
        return Ok(None);
    };
    let read = |mark: &String| Mark::read(mark, fields.len()).ok_or_else(|| no_mark(mark));
    Ok(Some(Scroll {
        fields: fields.clone(),
        after: mark.as_ref().map(read).transpose()?,
        count: *count,
    }))
}

fn no_mark(mark: &str) -> SearchError {
    SearchError::Invalid(format!(
        "'{mark}' is not a mark to scroll on from in this order: send the nextScrollId (over REST, the scrollId) of the page before"
    ))
}

/// A text with the conditions of the request.
fn narrowed(
    searcher: &Searcher,
    fields: &Fields,
    request: &Request,
    text: Option<Node>,
) -> Result<Question, SearchError> {
    let filters = Filters { searcher, fields };
    let names_urns = request.filter.any.iter().any(|all| {
        all.iter()
            .any(|it| canonical(&it.field) == URN && !it.negated)
    });
    let types = |types: &mut dyn Iterator<Item = &str>| {
        let types: Vec<&str> = types.collect();
        let terms = types.iter().map(|it| fields.term(ENTITY_TYPE, it));
        Some((types.join(" "), terms.collect()))
    };
    let types = if !request.types.is_empty() {
        types(&mut request.types.iter().map(String::as_str))
    } else if names_urns {
        None
    } else {
        types(&mut DEFAULT_TYPES.iter().copied())
    };
    let conditions = filters.query(&request.filter)?.map(Set::Query);
    Ok(Question {
        text: text.unwrap_or(Node::All),
        types,
        without: (!request.include_removed).then(|| fields.term(REMOVED, "true")),
        conditions: conditions.into_iter().collect(),
    })
}

fn facets_of(request: &Request, counted: Vec<Vec<(String, u64)>>) -> Vec<Facet> {
    let names: Vec<String> = match &request.facets {
        Facets::None => return Vec::new(),
        Facets::Usual { .. } => USUAL_FACETS.iter().map(ToString::to_string).collect(),
        Facets::Named { fields, .. } => fields.clone(),
    };
    let value = |(value, count)| FacetValue { value, count };
    names
        .into_iter()
        .zip(counted)
        .map(|(field, counted)| Facet {
            label: label_of(&field),
            values: counted.into_iter().map(value).collect(),
            field,
        })
        .collect()
}

fn label_of(field: &str) -> String {
    let own = match field {
        ENTITY_TYPE => "Type",
        HAS_DESCRIPTION => "Has Description",
        "origin" => "Environment",
        "platform" => "Platform",
        "container" => "Container",
        _ => "",
    };
    if !own.is_empty() {
        return own.to_owned();
    }
    Registry::get()
        .search_field(field)
        .and_then(|known| known.filter_label)
        .unwrap_or(field)
        .to_owned()
}

/// The words of an entity.
#[derive(Default)]
struct EntityWords {
    single: HashSet<String>,
    /// Those that are made of several.
    joined: HashSet<String>,
}

impl EntityWords {
    fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut words = Self::default();
        for token in texts.flat_map(analysis::name_words) {
            if token.joined {
                words.joined.insert(token.text);
            } else {
                words.single.insert(token.text);
            }
        }
        words
    }

    /// Those that were found for a word that was typed: those that begin with it, if it may go on, or else, if none is
    /// the word itself, those that differ in as many letters as are forgiven. A part says it better than what it is a part of.
    fn similar(&self, word: &str, unfinished: bool) -> Vec<String> {
        let mut similar: Vec<String> = Vec::new();
        for typed in analysis::name_words(word) {
            let typed = typed.text;
            let all = [&self.single, &self.joined];
            let allowed = usize::from(allowed_typos(&typed));
            let begins = |token: &&String| unfinished && token.starts_with(&typed);
            let is_near = |token: &&String| {
                token.len().abs_diff(typed.len()) <= 2 * allowed
                    && strsim::damerau_levenshtein(token, &typed) <= allowed
            };
            let found_before = similar.len();
            for words in all {
                if similar.len() == found_before {
                    similar.extend(words.iter().filter(begins).cloned());
                }
            }
            if similar.len() > found_before || all.iter().any(|words| words.contains(&typed)) {
                continue;
            }
            for words in all {
                if similar.len() == found_before {
                    similar.extend(words.iter().filter(is_near).cloned());
                }
            }
        }
        similar.sort_unstable();
        similar.dedup();
        similar
    }
}

fn urns_of(gathered: &Gathered) -> Result<Vec<Urn>, SearchError> {
    gathered
        .hits
        .iter()
        .map(|hit| parse_urn(&hit.urn))
        .collect()
}

fn parse_urn(text: &str) -> Result<Urn, SearchError> {
    Urn::parse(text).map_err(|error| {
        SearchError::Index(TantivyError::InternalError(format!(
            "the index has '{text}', which is no URN: {error}"
        )))
    })
}

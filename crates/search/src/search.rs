//! Answering a request.

mod matched;

use std::collections::{BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use docent_model::{Registry, Urn};
use docent_store::{ReadRequest, Store};
use tantivy::{Searcher, TantivyError};
use tokio::sync::Semaphore;

use crate::DEFAULT_TYPES;
use crate::collect::{Gather, Gathered, Order, Question};
use crate::coverage::{Coverage, coverage};
use crate::document::Entity;
use crate::error::SearchError;
use crate::feed::blocking;
use crate::field::{ENTITY_TYPE, HAS_DESCRIPTION, REMOVED, canonical};
use crate::filter::Filters;
use crate::found::{Completions, Facet, FacetValue, Found, Hit};
use crate::index::Location;
use crate::language;
use crate::live::{Keeper, Live, Moment};
use crate::matching::{Node, Set};
use crate::query::{Translator, known_fields};
use crate::request::{Facets, Filter, PAIR, Page, Request};
use crate::schema::{Fields, URN};
use crate::scroll::{Mark, Scroll};
use crate::sort;
use crate::work::{Limits, Work};

/// How many searches work at the same time for each core, and how long another one waits for its turn.
const TURNS_PER_CORE: usize = 2;
const TURN_PATIENCE: Duration = Duration::from_secs(10);

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
    limits: Limits,
    turns: Arc<Semaphore>,
}

impl Search {
    /// An index in this directory, which is made if it is not there and must be one that can be written to. Nothing is read
    /// before the first search, or before [`Search::build_if_missing`].
    pub fn in_directory(store: Arc<dyn Store>, directory: &Path) -> Result<Self, SearchError> {
        let location = Location::Directory(directory.to_owned());
        location.prepare()?;
        Ok(Self::at(store, location))
    }

    /// An index that ends with the process.
    pub fn in_memory(store: Arc<dyn Store>) -> Self {
        Self::at(store, Location::Memory)
    }

    fn at(store: Arc<dyn Store>, location: Location) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            live: Live::new(store, location),
            limits: Limits::default(),
            turns: Arc::new(Semaphore::new(TURNS_PER_CORE * cores)),
        }
    }

    /// The same index for searches that may use more, or less.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Feeds the index beside those who search, so that not much is left to a search after many writes.
    pub fn keeper(&self) -> Keeper {
        Keeper::new(self.live.clone())
    }

    /// How many changes the index does not have yet. The next search will take them in.
    pub async fn behind(&self) -> Result<u64, SearchError> {
        self.live.behind().await
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
            .run(move |searcher, fields, work| {
                let translator = Translator::new(searcher, fields, &kept, work);
                let text = translator.translate(&query)?;
                let question = narrowed(searcher, fields, work, &wanted, text)?;
                let (gathered, next) = match scroll {
                    Some(scroll) => scroll.results(searcher, fields, &kept, &gather, question)?,
                    None => (gather.results(searcher, &kept, &question)?, None),
                };
                Ok((gathered, next, translator.into_labels()))
            })
            .await?;
        let mut found = self.found(request, parsed, gathered, labels).await?;
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
            .run(move |searcher, fields, work| {
                let translator = Translator::new(searcher, fields, &kept, work);
                let attempt = |most| {
                    let names = translator.name_prefix(request.query.trim(), most)?;
                    let question = narrowed(searcher, fields, work, &request, Some(names))?;
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
        let entities = self
            .live
            .store()
            .read(ReadRequest::entities(&urns))
            .await?
            .entities;
        let named = urns.clone();
        let suggestions = self.in_turn(move || {
            let mut suggestions: Vec<String> = Vec::new();
            for (urn, rows) in named.iter().zip(&entities) {
                let entity = Entity::of_rows(rows);
                let name = entity.display_name(urn).to_owned();
                if !suggestions.contains(&name) {
                    suggestions.push(name);
                }
            }
            Ok(suggestions)
        });
        let suggestions = suggestions.await?;
        Ok(Completions {
            suggestions,
            entities: urns,
        })
    }

    /// How much of the datasets is described, from an index that has every change that is committed now.
    pub async fn coverage(&self) -> Result<Coverage, SearchError> {
        let kept = self.live.kept();
        self.run(move |searcher, fields, work| coverage(searcher, fields, &kept, work))
            .await
    }

    /// Runs something on the index of this moment, on a thread that may block. An index that turns out to be
    /// damaged is given up.
    async fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Searcher, &Fields, &Work) -> Result<T, SearchError> + Send + 'static,
    ) -> Result<T, SearchError> {
        let Moment { searcher, serial } = self.live.moment().await?;
        let (fields, index) = (self.live.fields().clone(), searcher.index().clone());
        let limits = self.limits;
        let result = self
            .in_turn(move || {
                let work = Work::begin(limits);
                // A file that is not what it should be may lead the library anywhere.
                let run = AssertUnwindSafe(|| task(&searcher, &fields, &work));
                let result = catch_unwind(run).unwrap_or_else(|_| {
                    let text = "the search panicked".to_owned();
                    Err(TantivyError::InternalError(text).into())
                });
                result.map_err(|error| work.over().unwrap_or(error))
            })
            .await;
        if let Err(SearchError::Index(error)) = &result {
            tracing::error!(%error, "a search failed");
            self.live.doubt(index, serial).await;
        }
        result
    }

    /// Does some of the work of a search on a thread that may block, when it is its turn. Each search holds some bytes
    /// for every document and clause, and more of them than there are cores would only make each other slower.
    async fn in_turn<T: Send + 'static>(
        &self,
        task: impl FnOnce() -> Result<T, SearchError> + Send + 'static,
    ) -> Result<T, SearchError> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        let turn = tokio::time::timeout(TURN_PATIENCE, turn).await;
        let Ok(Ok(turn)) = turn else {
            return Err(SearchError::Busy);
        };
        blocking(move || {
            let result = task();
            drop(turn);
            result
        })
        .await
    }

    async fn found(
        &self,
        request: &Request,
        query: language::Query,
        gathered: Gathered,
        labels: HashSet<String>,
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
}

fn gather_of(request: &Request) -> Result<Gather, SearchError> {
    request.check()?;
    let (keep, order) = match &request.page {
        Page::From { start, count } => {
            let fields = sort::fields(&request.sort)?;
            let order = if fields.is_empty() {
                Order::Score
            } else {
                Order::Fields(fields)
            };
            (start + count, order)
        }
        Page::After { mark, count } => {
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
    work: &Work,
    request: &Request,
    text: Option<Node>,
) -> Result<Question, SearchError> {
    let filters = Filters {
        searcher,
        fields,
        work,
    };
    let names_urns = request.filter.any.iter().any(|all| {
        all.iter()
            .any(|it| canonical(&it.field) == URN && !it.negated)
    });
    let types = |types: &mut dyn Iterator<Item = &str>| {
        // The same types in any order are remembered once.
        let types: BTreeSet<&str> = types.collect();
        let types = Vec::from_iter(types);
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
        work: work.clone(),
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

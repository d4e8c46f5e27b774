//! Runs search requests.

mod field_matches;

use std::collections::{BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use docent_model::{Registry, Urn};
use docent_store::{EntityAspects, ReadRequest, Store, spent};
use tantivy::{Searcher, TantivyError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::DEFAULT_TYPES;
use crate::budget::{SearchBudget, SearchLimits};
use crate::collect::{CollectedResults, PreparedQuery, ResultCollector, ResultOrder};
use crate::coverage::{Coverage, coverage};
use crate::cursor::ScrollCursor;
use crate::document::Entity;
use crate::error::SearchError;
use crate::excluded::ExcludedTerms;
use crate::feed::blocking;
use crate::field::{ENTITY_TYPE, HAS_DESCRIPTION, canonical};
use crate::filter::Filters;
use crate::index::IndexLocation;
use crate::language;
use crate::live::{IndexMaintainer, IndexSnapshot, IndexStatus, LiveIndex};
use crate::matching::{DocumentSet, QueryNode};
use crate::measurements::SearchMeasurements;
use crate::query::{QueryTranslator, parse_known_fields};
use crate::read_size::fitting;
use crate::request::{Facets, Filter, PAIR_SEPARATOR, SearchPage, SearchRequest};
use crate::results::{Completions, Facet, FacetValue, Hit, SearchResults};
use crate::schema::Fields;
use crate::scroll::SortedScroll;
use crate::sort;
use crate::view::View;

/// How many searches run concurrently per core, and how long others wait for a permit.
const SEARCHES_PER_CORE: usize = 2;
const PERMIT_TIMEOUT: Duration = Duration::from_secs(10);

/// How many names to visit first for completions.
const FIRST_COMPLETIONS: usize = 200;

/// The facets of the search page.
const DEFAULT_FACETS: [&str; 12] = [
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

/// The search index of one server. Clones share the index.
#[derive(Debug, Clone)]
pub struct Search {
    live: LiveIndex,
    limits: SearchLimits,
    permits: Arc<Semaphore>,
}

impl Search {
    /// Uses an index in this directory, which is created if it is missing and must be writable.
    /// Nothing is read before the first search or [`Search::build_if_missing`].
    pub fn in_directory(store: Arc<dyn Store>, directory: &Path) -> Result<Self, SearchError> {
        let location = IndexLocation::Directory(directory.to_owned());
        location.prepare()?;
        Ok(Self::at(store, location))
    }

    /// Uses an index in memory.
    pub fn in_memory(store: Arc<dyn Store>) -> Self {
        Self::at(store, IndexLocation::Memory)
    }

    fn at(store: Arc<dyn Store>, location: IndexLocation) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            live: LiveIndex::new(store, location),
            limits: SearchLimits::default(),
            permits: Arc::new(Semaphore::new(SEARCHES_PER_CORE * cores)),
        }
    }

    /// The same index with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: SearchLimits) -> Self {
        self.limits = limits;
        self
    }

    /// A background task that feeds the index, so that little is left for the next search after
    /// many writes.
    pub fn maintainer(&self) -> IndexMaintainer {
        IndexMaintainer::new(self.live.clone())
    }

    /// How many changes are not indexed yet. The next search indexes them.
    pub async fn pending_changes(&self) -> Result<u64, SearchError> {
        self.live.pending_changes().await
    }

    /// What was counted since the start.
    pub fn measurements(&self) -> SearchMeasurements {
        self.live.counters().read()
    }

    /// How far the index is, and its size.
    pub async fn status(&self) -> Result<IndexStatus, SearchError> {
        self.live.status().await
    }

    /// Builds the index if there is none, so that the first search does not wait for it. An
    /// existing index is opened by the first search, so that servers without searches do not hold
    /// it in memory.
    pub async fn build_if_missing(&self) -> Result<(), SearchError> {
        if self.live.is_missing() {
            self.live.snapshot().await?;
        }
        Ok(())
    }

    /// Runs a search on an index that has every change committed before.
    pub async fn search(&self, request: &SearchRequest) -> Result<SearchResults, SearchError> {
        let collector = collector_of(request)?;
        let scroll = scroll_of(request, &collector)?;
        let parsed = parse_known_fields(&request.query);
        let (request_copy, query) = (request.clone(), parsed.clone());
        let cache = self.live.cache();
        let (collected, next, labels) = self
            .run(move |searcher, fields, budget| {
                let mut filters = Filters::unrestricted(searcher, fields, budget);
                let view = filters.view_of(request_copy.view.as_ref())?;
                let translator =
                    QueryTranslator::new(searcher, fields, &cache, budget).with_view(view.as_ref());
                filters.view = translator.view_lookup();
                let text = translator.translate(&query)?;
                let prepared = prepare(&filters, &request_copy, view, text)?;
                let (collected, next) = match scroll {
                    Some(scroll) => {
                        scroll.collect(searcher, fields, &cache, &collector, prepared)?
                    }
                    None => (collector.collect(searcher, &cache, &prepared)?, None),
                };
                Ok((collected, next, translator.into_labels()))
            })
            .await?;
        let mut found = self.found(request, parsed, collected, labels).await?;
        found.next = next.or(found.next);
        Ok(found)
    }

    /// Completes names that begin with the query, best first. The page of the request is ignored.
    ///
    /// If many more names than `limit` have the prefix, only the first of them in alphabetical
    /// order are ranked.
    pub async fn complete(
        &self,
        request: SearchRequest,
        limit: usize,
    ) -> Result<Completions, SearchError> {
        let request = SearchRequest {
            page: SearchPage::Offset {
                start: 0,
                count: limit,
            },
            ..request
        };
        let collector = collector_of(&request)?;
        let cache = self.live.cache();
        let collected = self
            .run(move |searcher, fields, budget| {
                let mut filters = Filters::unrestricted(searcher, fields, budget);
                let view = filters.view_of(request.view.as_ref())?;
                let translator =
                    QueryTranslator::new(searcher, fields, &cache, budget).with_view(view.as_ref());
                filters.view = translator.view_lookup();
                let attempt = |limit| {
                    let names = translator.name_prefix(request.query.trim(), limit)?;
                    let prepared = prepare(&filters, &request, view.clone(), Some(names))?;
                    Ok::<_, SearchError>(collector.collect(searcher, &cache, &prepared)?)
                };
                let collected = attempt(FIRST_COMPLETIONS)?;
                // The first names may all be of other types or deleted.
                if collected.hits.len() < limit && translator.was_truncated() {
                    return attempt(usize::MAX);
                }
                Ok(collected)
            })
            .await?;
        let urns = urns_of(&collected)?;
        let store = &**self.live.store();
        let mut suggestions: Vec<String> = Vec::new();
        let mut rest = &urns[..];
        while !rest.is_empty() {
            let permit = self.permit().await?;
            let (chunk, others) = rest.split_at(fitting(store, rest).await?);
            rest = others;
            let entities = store.read(ReadRequest::entities(chunk)).await?.entities;
            let chunk = chunk.to_vec();
            let names = blocking(move || {
                let _permit = permit;
                let entities = chunk.iter().zip(&entities);
                let name = |(urn, rows): (&Urn, &EntityAspects)| {
                    Entity::of_rows(rows).display_name(urn).to_owned()
                };
                Ok(entities.map(name).collect::<Vec<String>>())
            });
            for name in names.await? {
                if !suggestions.contains(&name) {
                    suggestions.push(name);
                }
            }
        }
        Ok(Completions {
            suggestions,
            entities: urns,
        })
    }

    /// Documentation coverage of what passes the filter, from an index that has every change
    /// committed before.
    pub async fn coverage(&self, view: Option<Arc<Filter>>) -> Result<Coverage, SearchError> {
        let cache = self.live.cache();
        self.run(move |searcher, fields, budget| {
            coverage(searcher, fields, &cache, budget, view.as_ref())
        })
        .await
    }

    /// Runs a task on a snapshot of the index, on a blocking thread. A damaged index is given up.
    async fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Searcher, &Fields, &SearchBudget) -> Result<T, SearchError> + Send + 'static,
    ) -> Result<T, SearchError> {
        let started = Instant::now();
        let running = self.run_uncounted(task);
        let result = spent::timed(|spent| &spent.searches, running).await;
        let counters = self.live.counters();
        counters.searches.observe_duration(started.elapsed());
        if result.is_err() {
            counters.failed_searches.increment();
        }
        result
    }

    async fn run_uncounted<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Searcher, &Fields, &SearchBudget) -> Result<T, SearchError> + Send + 'static,
    ) -> Result<T, SearchError> {
        let IndexSnapshot { searcher, serial } = self.live.snapshot().await?;
        let (fields, index) = (self.live.fields().clone(), searcher.index().clone());
        let limits = self.limits;
        let result = self
            .with_permit(move || {
                let budget = SearchBudget::start(limits);
                // tantivy may panic on a damaged file.
                let run = AssertUnwindSafe(|| task(&searcher, &fields, &budget));
                let result = catch_unwind(run).unwrap_or_else(|_| {
                    let text = "the search panicked".to_owned();
                    Err(TantivyError::InternalError(text).into())
                });
                result.map_err(|error| budget.exceeded().unwrap_or(error))
            })
            .await;
        if let Err(SearchError::Index(error)) = &result {
            tracing::error!(%error, "a search failed");
            self.live.recheck_after_failure(index, serial).await;
        }
        result
    }

    /// Runs a task on a blocking thread once a permit is free. Each search needs some bytes for
    /// every document and clause, and more searches than cores would only slow each other down.
    async fn with_permit<T: Send + 'static>(
        &self,
        task: impl FnOnce() -> Result<T, SearchError> + Send + 'static,
    ) -> Result<T, SearchError> {
        let permit = self.permit().await?;
        blocking(move || {
            let result = task();
            drop(permit);
            result
        })
        .await
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, SearchError> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        match tokio::time::timeout(PERMIT_TIMEOUT, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(SearchError::Busy),
        }
    }

    async fn found(
        &self,
        request: &SearchRequest,
        query: language::Query,
        collected: CollectedResults,
        labels: HashSet<String>,
    ) -> Result<SearchResults, SearchError> {
        let total = collected.total;
        let facets = facets_of(request, collected.facets);
        let (start, count, is_scroll) = match &request.page {
            SearchPage::Offset { start, count } => (*start, *count, false),
            SearchPage::Cursor { count, .. } => (0, *count, true),
        };
        let mut candidates = collected.hits;
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
        Ok(SearchResults {
            total,
            hits,
            facets,
            next,
        })
    }
}

fn collector_of(request: &SearchRequest) -> Result<ResultCollector, SearchError> {
    request.check()?;
    let (limit, order) = match &request.page {
        SearchPage::Offset { start, count } => {
            let fields = sort::fields(&request.sort)?;
            let order = if fields.is_empty() {
                ResultOrder::Score
            } else {
                ResultOrder::Fields(fields)
            };
            (start + count, order)
        }
        SearchPage::Cursor { cursor, count } => {
            let fields = sort::fields(&request.sort)?;
            let order = if fields.is_empty() {
                if let Some(cursor) = cursor
                    && Urn::parse(cursor).is_err()
                {
                    return Err(invalid_cursor(cursor));
                }
                let after = cursor.clone();
                ResultOrder::Urn { after }
            } else {
                ResultOrder::Fields(fields)
            };
            // One more than requested tells whether there is a next page.
            (*count + 1, order)
        }
    };
    let facets = match &request.facets {
        Facets::None => Vec::new(),
        Facets::Default { .. } => default_facets(&request.types),
        Facets::Named { fields, .. } => fields
            .iter()
            .map(|field| {
                let parts: Vec<String> = field.split(PAIR_SEPARATOR).map(canonical).collect();
                parts.join(&PAIR_SEPARATOR.to_string())
            })
            .collect(),
    };
    let facet_values = match &request.facets {
        Facets::None => 0,
        Facets::Default { values } | Facets::Named { values, .. } => *values,
    };
    Ok(ResultCollector {
        order,
        limit,
        facets,
        facet_values,
    })
}

/// `None` unless it is a scroll with sort fields.
fn scroll_of(
    request: &SearchRequest,
    collector: &ResultCollector,
) -> Result<Option<SortedScroll>, SearchError> {
    let (SearchPage::Cursor { cursor, count }, ResultOrder::Fields(fields)) =
        (&request.page, &collector.order)
    else {
        return Ok(None);
    };
    let read = |cursor: &String| {
        ScrollCursor::read(cursor, fields.len()).ok_or_else(|| invalid_cursor(cursor))
    };
    Ok(Some(SortedScroll {
        fields: fields.clone(),
        after: cursor.as_ref().map(read).transpose()?,
        count: *count,
    }))
}

fn invalid_cursor(cursor: &str) -> SearchError {
    SearchError::Invalid(format!(
        "'{cursor}' is not a cursor of a scroll in this order: send the nextScrollId (over REST, the scrollId) of the previous page"
    ))
}

/// Combines the translated text with the filters of the request.
fn prepare<'s>(
    filters: &Filters<'s>,
    request: &SearchRequest,
    view: Option<Rc<View>>,
    text: Option<QueryNode>,
) -> Result<PreparedQuery<'s>, SearchError> {
    let Filters { fields, budget, .. } = filters;
    let types = |types: &mut dyn Iterator<Item = &str>| {
        // Sorted, so that the same types share one cache entry.
        let types: BTreeSet<&str> = types.collect();
        let types = Vec::from_iter(types);
        let terms = types.iter().map(|it| fields.term(ENTITY_TYPE, it));
        Some((types.join(" "), terms.collect()))
    };
    let types = if !request.types.is_empty() {
        types(&mut request.types.iter().map(String::as_str))
    } else if request.finds_all_types() {
        None
    } else {
        types(&mut DEFAULT_TYPES.iter().copied())
    };
    let conditions = filters.query(&request.filter)?.map(DocumentSet::Query);
    Ok(PreparedQuery {
        text: text.unwrap_or(QueryNode::All),
        types,
        excluded: ExcludedTerms::of(filters, request)?,
        view,
        references: filters.view.clone(),
        after: None,
        conditions: conditions.into_iter().collect(),
        budget: (*budget).clone(),
    })
}

/// Those of the search page, and those that the requested types have besides. Types that the search
/// page finds have no others, because counting takes time.
fn default_facets(types: &[String]) -> Vec<String> {
    let registry = Registry::get();
    let mut names: Vec<&str> = DEFAULT_FACETS.to_vec();
    for name in types
        .iter()
        .filter(|it| !DEFAULT_TYPES.contains(&it.as_str()))
    {
        for field in registry
            .entity(name)
            .into_iter()
            .flat_map(|it| registry.facet_fields(it))
        {
            if !names.contains(&field) {
                names.push(field);
            }
        }
    }
    names.into_iter().map(str::to_owned).collect()
}

fn facets_of(request: &SearchRequest, counted: Vec<Vec<(String, u64)>>) -> Vec<Facet> {
    let names: Vec<String> = match &request.facets {
        Facets::None => return Vec::new(),
        Facets::Default { .. } => default_facets(&request.types),
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

fn urns_of(collected: &CollectedResults) -> Result<Vec<Urn>, SearchError> {
    collected
        .hits
        .iter()
        .map(|hit| parse_urn(&hit.urn))
        .collect()
}

fn parse_urn(text: &str) -> Result<Urn, SearchError> {
    Urn::parse(text).map_err(|error| {
        SearchError::Index(TantivyError::InternalError(format!(
            "the index contains '{text}', which is not a URN: {error}"
        )))
    })
}

//! Search.
//!
//! The index and its limits are another crate. This module has what every API must agree on: the
//! meaning of a filter (`filter`), that soft-deleted entities, those in hiding lifecycle stages and
//! older versions are left out unless requested, and that callers find only what they may see
//! ([`crate::view`]). Browsing the tree of paths is a search too ([`browse`]).
//!
//! To add a kind of search: a function here that builds a [`SearchRequest`] and calls
//! [`Catalog::search`].

pub mod browse;
mod filter;

use std::collections::HashMap;
use std::sync::Arc;

use docent_model::{Registry, Urn};
use docent_search::{Search, SearchError};

use crate::{Catalog, Error, ListPage};

pub use docent_search::{
    Completions, Coverage, Criterion, DEFAULT_TYPES, DescriptionCounts, ENTITY_TYPE, Facet,
    FacetValue, Facets, FieldMatch, Filter, Hit, MAX_COUNT, MAX_FACET_VALUES, MAX_QUERY_BYTES,
    MAX_RESULT_WINDOW, MAX_SCROLL_COUNT, Operator, PAIR_SEPARATOR, SearchPage, SearchRequest,
    SearchResults, Sort,
};
pub(crate) use filter::roots;
pub use filter::{criterion, joined};

/// The most suggestions of one call.
pub const MAX_COMPLETIONS: usize = 100;

impl Catalog {
    /// The same catalog with a search index. Without one, every search fails with
    /// [`crate::ErrorKind::Unavailable`].
    #[must_use]
    pub fn with_search(self, search: Arc<Search>) -> Self {
        self.with_options(|options| options.search = Some(search))
    }

    /// The matching entities, from an index with every committed change. Leaves out soft-deleted
    /// entities, those in hiding lifecycle stages and older versions, unless the request includes
    /// them or its filter names `removed`, `lifecycleStage` or `isLatest`.
    pub async fn search(&self, request: &SearchRequest) -> Result<SearchResults, Error> {
        check_types(&request.types)?;
        let mut request = request.clone();
        filter::prepare(&mut request)?;
        request.view = self.search_view(&request).await?;
        let mut found = self.index()?.search(&request).await?;
        self.remove_hidden_values(&mut found.facets).await?;
        self.remove_hidden_matches(&mut found.hits).await?;
        Ok(found)
    }

    /// The entities of a type that match a query, by name.
    pub(crate) async fn list_by_name(
        &self,
        entity_type: &str,
        query: &str,
        filter: Filter,
        (start, count): (usize, usize),
    ) -> Result<ListPage<Urn>, Error> {
        let request = SearchRequest {
            types: vec![entity_type.to_owned()],
            query: query.to_owned(),
            filter,
            sort: vec![Sort {
                field: "name".to_owned(),
                descending: false,
            }],
            page: SearchPage::Offset { start, count },
            ..SearchRequest::default()
        };
        self.search_urns(&request).await
    }

    /// The URNs of the entities that a search finds.
    pub(crate) async fn search_urns(
        &self,
        request: &SearchRequest,
    ) -> Result<ListPage<Urn>, Error> {
        let found = self.search(request).await?;
        Ok(ListPage {
            total: found.total,
            items: found.hits.into_iter().map(|hit| hit.urn).collect(),
        })
    }

    /// The URNs that a search finds, whoever may see them, in every lifecycle stage and version:
    /// for rules about the whole catalog, not for replies. Empty without an index.
    pub(crate) async fn search_unrestricted(
        &self,
        request: &SearchRequest,
    ) -> Result<Vec<Urn>, Error> {
        let Some(index) = self.options.search.as_deref() else {
            return Ok(Vec::new());
        };
        let mut request = request.clone();
        request.include_hidden_stages = true;
        request.include_older_versions = true;
        filter::prepare(&mut request)?;
        let found = index.search(&request).await?;
        Ok(found.hits.into_iter().map(|hit| hit.urn).collect())
    }

    /// How many matches refer to each of the groups in a field, by one search for all of them.
    pub async fn count_members(
        &self,
        request: &SearchRequest,
        field: &str,
        groups: &[&Urn],
    ) -> Result<Vec<usize>, Error> {
        let counts = SearchRequest {
            filter: request.filter.clone().and(Criterion {
                field: field.to_owned(),
                values: groups.iter().map(ToString::to_string).collect(),
                operator: Operator::Equal,
                negated: false,
            }),
            page: SearchPage::Offset { start: 0, count: 0 },
            facets: Facets::Named {
                fields: vec![field.to_owned()],
                values: MAX_FACET_VALUES,
            },
            explain_matches: false,
            ..request.clone()
        };
        let found = self.search(&counts).await?;
        let values = found.facets.into_iter().flat_map(|facet| facet.values);
        let counts: HashMap<String, u64> = values
            .map(|counted| (counted.value, counted.count))
            .collect();
        if counts.len() >= MAX_FACET_VALUES {
            return Err(Error::invalid(
                "too many groups to count members of: request fewer entities",
            ));
        }
        let count = |urn: &&Urn| counts.get(urn.as_str()).copied().unwrap_or(0);
        let counts = groups.iter().map(count);
        Ok(counts
            .map(|count| usize::try_from(count).unwrap_or(usize::MAX))
            .collect())
    }

    /// Removes matches in references to hidden entities.
    async fn remove_hidden_matches(&self, hits: &mut [Hit]) -> Result<(), Error> {
        let urn = |matched: &FieldMatch| Urn::parse(&matched.value).ok();
        let matches = hits.iter().flat_map(|hit| &hit.matched);
        let named: Vec<Urn> = matches.filter_map(urn).collect();
        let hidden = self.hidden_among(&named).await?;
        if !hidden.is_empty() {
            let is_hidden =
                |matched: &FieldMatch| urn(matched).is_some_and(|it| hidden.contains(&it));
            for hit in hits {
                hit.matched.retain(|matched| !is_hidden(matched));
            }
        }
        Ok(())
    }

    /// Removes the URNs of hidden entities from facets: what a caller sees may refer to them.
    async fn remove_hidden_values(&self, facets: &mut [Facet]) -> Result<(), Error> {
        let urns = |value: &FacetValue| -> Vec<Urn> {
            let parts = value.value.split([PAIR_SEPARATOR, browse::STEP]);
            parts.filter_map(|part| Urn::parse(part).ok()).collect()
        };
        let values = facets.iter().flat_map(|facet| &facet.values);
        let named: Vec<Urn> = values.flat_map(urns).collect();
        let hidden = self.hidden_among(&named).await?;
        if !hidden.is_empty() {
            for facet in facets {
                facet
                    .values
                    .retain(|value| !urns(value).iter().any(|urn| hidden.contains(urn)));
            }
        }
        Ok(())
    }

    /// Names that begin with the typed text, best first.
    pub async fn complete(
        &self,
        types: &[String],
        text: &str,
        filter: &Filter,
        limit: usize,
    ) -> Result<Completions, Error> {
        check_types(types)?;
        if text.trim().is_empty() {
            return Err(Error::invalid(
                "'query' parameter can not be null or empty: send the text typed so far",
            ));
        }
        if limit > MAX_COMPLETIONS {
            return Err(Error::invalid(format!(
                "limit is {limit}: at most {MAX_COMPLETIONS} suggestions are returned"
            )));
        }
        let mut request = SearchRequest {
            types: types.to_vec(),
            query: text.to_owned(),
            filter: filter.clone(),
            ..SearchRequest::default()
        };
        filter::prepare(&mut request)?;
        request.view = self.search_view(&request).await?;
        Ok(self.index()?.complete(request, limit).await?)
    }

    /// The share of described datasets, in total and by domain.
    pub async fn documentation_coverage(&self) -> Result<Coverage, Error> {
        let view = self.search_view(&SearchRequest::default()).await?;
        let mut coverage = self.index()?.coverage(view).await?;
        let domains = coverage.domains.iter();
        let domains: Vec<Urn> = domains
            .filter_map(|(urn, _)| Urn::parse(urn).ok())
            .collect();
        let hidden = self.hidden_among(&domains).await?;
        coverage
            .domains
            .retain(|(urn, _)| !hidden.contains(urn.as_str()));
        Ok(coverage)
    }

    fn index(&self) -> Result<&Search, Error> {
        self.options.search.as_deref().ok_or_else(|| {
            Error::unavailable(
                "search is disabled: this server was started without an index".to_owned(),
            )
        })
    }
}

/// A page by offset.
pub fn page(
    start: Option<i64>,
    count: Option<i64>,
    default_count: usize,
) -> Result<SearchPage, Error> {
    Ok(SearchPage::Offset {
        start: whole("start", start, 0)?,
        count: whole("count", count, default_count)?,
    })
}

/// A page of a scroll.
pub fn scroll_page(
    cursor: Option<String>,
    count: Option<i64>,
    default_count: usize,
) -> Result<SearchPage, Error> {
    Ok(SearchPage::Cursor {
        cursor,
        count: whole("count", count, default_count)?,
    })
}

/// An optional number that must not be negative.
pub fn whole(name: &str, value: Option<i64>, default: usize) -> Result<usize, Error> {
    value.map_or(Ok(default), |value| {
        usize::try_from(value)
            .map_err(|_| Error::invalid(format!("{name} must not be negative: {value}")))
    })
}

fn check_types(types: &[String]) -> Result<(), Error> {
    let unknown = types
        .iter()
        .find(|name| Registry::get().entity(name).is_none());
    match unknown {
        Some(name) => Err(Error::invalid(format!(
            "there is no entity type called '{name}' in the registry"
        ))),
        None => Ok(()),
    }
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Invalid(message) => Self::invalid(message),
            SearchError::TooBroad { .. } => Self::invalid(error.to_string()),
            SearchError::TimedOut { .. }
            | SearchError::Busy
            | SearchError::Building { .. }
            | SearchError::CatchingUp { .. }
            | SearchError::Directory { .. } => Self::unavailable(error.to_string()),
            SearchError::Store(error) => error.into(),
            SearchError::Index(ref source) => {
                tracing::error!(error = ?source, "a search failed: {source}");
                Self::unavailable(if error.is_disk_full() {
                    "the search index could not be updated, because the disk is full: free some space"
                } else {
                    "the search index could not be read; the server's log has the details, try again in a moment"
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn pages_that_begin_or_end_before_the_first_result_are_refused() {
        let rejection = |page: Result<SearchPage, Error>| {
            let error = page.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string()
        };
        assert!(rejection(page(Some(-1), None, 10)).contains("start must not be negative: -1"));
        assert!(rejection(page(None, Some(-5), 10)).contains("count must not be negative: -5"));
        let scrolled = scroll_page(None, Some(-1), 10);
        assert!(rejection(scrolled).contains("count must not be negative: -1"));
    }

    #[test]
    fn a_search_that_asks_for_too_much_is_the_senders_and_one_that_must_wait_is_not() {
        let kind = |error: SearchError| Error::from(error).kind();
        assert_eq!(kind(SearchError::TooBroad { terms: 1 }), ErrorKind::Invalid);
        for error in [
            SearchError::TimedOut { seconds: 10 },
            SearchError::Busy,
            SearchError::CatchingUp { done: 1, of: 2 },
        ] {
            assert_eq!(kind(error), ErrorKind::Unavailable);
        }
    }
}

//! What searches leave out by default: soft-deleted entities, those in lifecycle stages that hide
//! them, documents that are shown with their assets only, and versions of assets that are not the
//! latest one.
//!
//! Which stages hide their entities is in the index, too. So it costs a search one lookup, and the
//! documents to leave out are cached.

use tantivy::Term;

use crate::error::SearchError;
use crate::field::{HIDES_ENTITIES, IS_LATEST, LIFECYCLE_STAGE, REMOVED, SHOWN_IN_SEARCH};
use crate::filter::Filters;
use crate::phrase::term_query;
use crate::request::SearchRequest;

/// Terms of documents that a search leaves out.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExcludedTerms {
    /// Part of the key under which the other documents are cached.
    pub(crate) name: String,
    pub(crate) terms: Vec<Term>,
}

impl ExcludedTerms {
    pub(crate) fn of(filters: &Filters<'_>, request: &SearchRequest) -> Result<Self, SearchError> {
        let mut excluded = Self::default();
        let mut add = |field: &str, value: &str| {
            excluded.name.extend([field, " ", value, "\n"]);
            excluded.terms.push(filters.fields.term(field, value));
        };
        if !request.include_removed {
            add(REMOVED, "true");
        }
        if !request.include_older_versions {
            add(IS_LATEST, "false");
        }
        if !request.include_hidden_stages {
            for stage in hiding_stages(filters)? {
                add(LIFECYCLE_STAGE, &stage);
            }
            add(SHOWN_IN_SEARCH, "false");
        }
        Ok(excluded)
    }
}

/// The lifecycle stages that hide their entities, in order. Most catalogs have none.
fn hiding_stages(filters: &Filters<'_>) -> Result<Vec<String>, SearchError> {
    let hides = filters.fields.term(HIDES_ENTITIES, "true");
    if filters.searcher.doc_freq(&hides)? == 0 {
        return Ok(Vec::new());
    }
    let mut stages = filters.urns(&*term_query(hides))?;
    stages.sort_unstable();
    Ok(stages)
}

//! Finding entities: full text, filters, facets.
//!
//! One tantivy index per server, fed from the change log. Before it answers, [`Search`] brings the index up to the newest
//! committed change, so a write is found by the very next search, and writes do not pay for it. The index is a
//! cache: it remembers which position of the log it holds, and when it is lost, damaged, of an older format or ahead of
//! the log, it is built anew from the store.
//!
//! What is indexed comes from the registry (`docent_model::searchable`). This crate must not know GraphQL or HTTP, nor who
//! may see what: the caller's rights become part of the filter.

#![expect(
    clippy::cast_precision_loss,
    reason = "scores are coarse; times in milliseconds and counts fit into 53 bits"
)]

mod analysis;
mod bits;
mod collect;
mod column;
mod coverage;
mod directory;
mod document;
mod error;
mod explain;
mod feed;
mod field;
mod filter;
mod found;
mod index;
mod kept;
mod label;
pub mod language;
mod list;
mod live;
mod matching;
mod named;
mod pattern;
mod phrase;
mod query;
mod request;
mod schema;
mod scroll;
mod search;
mod sort;
mod walk;
mod work;

pub use coverage::{Coverage, Described};
pub use error::SearchError;
pub use field::{BROWSE_PATH, BROWSE_STEP, ENTITY_TYPE, REMOVED};
pub use found::{Completions, Facet, FacetValue, Found, Hit, Match};
pub use live::Keeper;
pub use request::{
    Criterion, Facets, Filter, MAX_COUNT, MAX_DEPTH, MAX_FACET_VALUES, MAX_QUERY_BYTES,
    MAX_SCROLL_COUNT, Operator, PAIR, Page, Request, Sort,
};
pub use search::Search;
pub use work::Limits;

/// The entity types that people look for, unless they say otherwise.
pub const DEFAULT_TYPES: &[&str] = &[
    "dataset",
    "dashboard",
    "chart",
    "mlModel",
    "mlModelGroup",
    "mlFeatureTable",
    "mlFeature",
    "mlPrimaryKey",
    "dataFlow",
    "dataJob",
    "glossaryTerm",
    "glossaryNode",
    "tag",
    "role",
    "corpuser",
    "corpGroup",
    "container",
    "domain",
    "dataProduct",
    "notebook",
    "businessAttribute",
    "schemaField",
    "application",
    "document",
];

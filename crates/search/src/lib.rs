//! Full-text search, filters and facets over the entities of a store.
//!
//! Each server has one tantivy index, which it feeds from the change log. Before it runs a query,
//! [`Search`] indexes all committed changes, so a search finds every earlier write, and writes do
//! not pay for indexing. The index is a cache: it records the position of its last change in the
//! log. If it is missing, damaged, of another format or ahead of the log, it is rebuilt from the
//! store.
//!
//! The registry decides what is indexed (`docent_model::searchable`). This crate must not know
//! GraphQL, HTTP or permissions: callers express permissions as part of the filter.

#![expect(
    clippy::cast_precision_loss,
    reason = "scores are coarse; times in milliseconds and counts fit into 53 bits"
)]

mod analysis;
mod bits;
mod budget;
mod collect;
mod column;
mod coverage;
mod cursor;
mod directory;
mod document;
mod duplicates;
mod error;
mod excluded;
mod explain;
mod feed;
mod field;
mod filter;
mod index;
mod label;
pub mod language;
mod list;
mod live;
mod matching;
mod measurements;
mod pattern;
mod pending_text;
mod phrase;
mod query;
mod read_size;
mod request;
mod results;
mod schema;
mod scroll;
mod search;
mod segment_cache;
mod shared_position;
mod sort;
mod sort_column;
mod view;
mod walk;
mod whole_name;

pub use budget::SearchLimits;
pub use coverage::{Coverage, DescriptionCounts};
pub use document::simple_path;
pub use error::SearchError;
pub use field::{
    BROWSE_PATH, BROWSE_PATH_SEPARATOR, ENTITY_TYPE, IS_LATEST, LIFECYCLE_STAGE, OWNER_OF_TYPE,
    REMOVED, owner_of_type,
};
pub use live::{IndexMaintainer, IndexStatus};
pub use measurements::SearchMeasurements;
pub use request::{
    Criterion, Facets, Filter, MAX_COUNT, MAX_FACET_VALUES, MAX_QUERY_BYTES, MAX_RESULT_WINDOW,
    MAX_SCROLL_COUNT, Operator, PAIR_SEPARATOR, SearchPage, SearchRequest, Sort,
};
pub use results::{Completions, Facet, FacetValue, FieldMatch, Hit, SearchResults};
pub use search::Search;

/// The entity types of a search that does not name any.
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

//! The metadata model: URNs, entities, aspects and the rules for them. Does no I/O.
//!
//! - [`Urn`]: entity identifiers.
//! - [`Registry`]: the known entities, aspects and records, as data (`registry.json`).
//!   [`Registry::validate`] checks an aspect, [`derive()`] computes its edges,
//!   [`remove_references`] removes a URN from it, [`searchable`] extracts its searchable values,
//!   and [`defaults`] has the default aspects of a new entity.
//! - [`aspects`]: Rust structs for the few aspects that the server itself edits.
//! - [`patch`]: partial updates of an aspect.
//! - [`typed`]: values in the form of DataHub's first OpenAPI.
//! - [`Clock`]: time as a parameter.
//! - [`measure`]: counters and histograms.
//!
//! This crate must not know about stores, HTTP or GraphQL, and has no `async`.
//!
//! To add an aspect, add its record and its name to `registry.json` and list it under its entities.
//! Add a struct to [`aspects`] only if the server itself edits it.

pub mod aspects;
mod clock;
pub mod defaults;
mod derive;
mod hex;
mod link_url;
mod logical_version;
pub mod measure;
mod names;
pub mod patch;
mod points;
mod references;
mod registry;
mod search_field;
pub mod searchable;
mod system_metadata;
pub mod typed;
mod urn;
mod validate;

pub use clock::{Clock, EpochMillis, FixedClock, SystemClock, parse_duration_ms};
pub use derive::{Derived, Edge, Placement, derive, has_hierarchy, is_hierarchy_aspect};
pub use hex::hex;
pub use link_url::check_link_url;
pub use logical_version::LogicalVersion;
pub use names::AspectName;
pub use points::point_id;
pub use references::{RemovalResult, remove_references};
pub use registry::{EntitySpec, LineageDirection, Registry, in_words, json_schemas};
pub use system_metadata::{NO_RUN_ID, SystemMetadata};
pub use urn::{MAX_ENCODED_BYTES, Urn, UrnError, shorten};
pub use validate::ValidationError;

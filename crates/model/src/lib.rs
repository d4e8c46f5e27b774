//! What Docent knows about metadata, without any input or output.
//!
//! - [`Urn`]: the names of entities.
//! - [`Registry`]: which entities, aspects and records exist. It is data (`registry.json`), interpreted here:
//!   [`Registry::validate`] checks an aspect, [`derive()`] gives the rows that follow from it,
//!   [`take_out`] takes a URN out of it, [`searchable`] the values that it is found by, [`defaults`] the aspects that a new entity starts with.
//! - [`aspects`]: Rust structs for the few aspects that our own logic edits.
//! - [`patch`]: changes to parts of an aspect.
//! - [`Clock`]: time as a parameter.
//!
//! This crate must not know about stores, HTTP or GraphQL, and has no `async`.
//!
//! To add an aspect: add its record and its name to `registry.json` and list it under its entities. Only if
//! our own logic edits it, add a struct to [`aspects`].

pub mod aspects;
mod clock;
pub mod defaults;
mod derive;
mod hex;
mod logical_version;
mod names;
pub mod patch;
mod points;
mod references;
mod registry;
pub mod searchable;
mod system_metadata;
mod urn;
mod validate;

pub use clock::{Clock, EpochMillis, FixedClock, SystemClock, span_ms};
pub use derive::{Derived, Edge, Placement, derive, has_tree, places};
pub use hex::hex;
pub use logical_version::LogicalVersion;
pub use names::AspectName;
pub use points::point_id;
pub use references::{Remainder, take_out};
pub use registry::{EntitySpec, LineageDirection, Registry, json_schemas};
pub use system_metadata::{NO_RUN_ID, SystemMetadata};
pub use urn::{MAX_ENCODED_BYTES, Urn, UrnError};
pub use validate::ValidationError;

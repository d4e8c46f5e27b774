//! The catalog as files: what people write about entities, as YAML, and its comparison with the
//! catalog.
//!
//! - [`kinds`] lists the entity types and their parts: the keys of files, and where their values
//!   are stored.
//! - [`document`] writes an entity as YAML, and reads it.
//! - [`names`] translates between URNs and names.
//! - [`compare`] decides about each part from base, file and catalog, and builds new aspects.
//!   `base` finds the base in the lock and the versions of the catalog, and `added` checks what the
//!   mutations of the catalog check.
//! - [`hierarchy`] finds parents that would be inside their own children.
//! - [`manifest`], [`lock`] and [`paths`]: the other files of a directory, and their names.
//! - [`table`]: rows of CSV files, for reading.
//!
//! Nothing here reads files or speaks HTTP. The values that are compared are *plain*: JSON without
//! stamps and attributions, with URNs in place of names.

mod added;
mod base;
mod codec;
pub mod compare;
pub mod document;
mod entity;
pub mod hierarchy;
pub mod kinds;
pub mod lock;
pub mod manifest;
pub mod names;
pub mod paths;
mod shape;
#[cfg(test)]
mod sync_tests;
pub mod table;
#[cfg(test)]
mod tests;
mod values;
mod yaml;

pub use added::NewReference;
pub use codec::Stamp;
pub use entity::{Aspect, Entity, PartId};
pub use yaml::Problem;

//! GraphQL over the catalog.
//!
//! The schema files in `schema/` define the read API: directives say where the value of each field
//! comes from, and most fields need no code. This crate parses documents, compiles them to plans,
//! executes plans level by level with one store call per level, and writes the reply as bytes.
//!
//! - [`Schema`]: SDL and resolvers, checked at startup.
//! - [`Engine`]: executes requests; caches documents and plans.
//! - [`Resolvers`], [`Args`], [`EntityView`]: the functions behind root fields and `@resolve`
//!   fields.
//!
//! Modules depend on each other in one direction, from the bottom up: `path`, `memory`, `error`,
//! `input`, `resolve`; `json`, `limits`, `measurements`, `schema`; `document`; `cost`,
//! `introspect`; `plan`; `plan_cache`, `execute`; `engine`. The functions behind fields
//! (`mutations`, `resolvers`) use `resolve` and the catalog.
//!
//! This crate must not know SQL or HTTP.
//!
//! To add a field, add a line to `schema/*.graphql`. To add a mutation, add the field and register
//! a function with [`Resolvers::mutation`].

mod condition_headers;
mod cost;
mod document;
mod engine;
mod entity_types;
mod error;
mod execute;
mod input;
mod introspect;
mod json;
mod limits;
mod measurements;
mod memory;
mod mutations;
mod operations;
mod path;
mod plan;
mod plan_cache;
mod resolve;
mod resolvers;
mod schema;
mod sdl;
mod validation_errors;

pub use condition_headers::{CONDITION_HEADERS, set_condition};
pub use document::OperationName;
pub use engine::{Engine, PreparedRequest, Request};
pub use error::Rejection;
pub use limits::Limits;
pub use measurements::{
    EngineMeasurements, FieldMeasurements, OutcomeCount, PlanCacheMeasurements, RootField,
};
pub use operations::check_operation;
pub use resolve::{Args, BatchFunction, BatchResult, Context, EntityView, Resolvers, RootFunction};
pub use schema::{Schema, SchemaError};
pub use sdl::SDL;

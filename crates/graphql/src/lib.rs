//! GraphQL over the catalog.
//!
//! The schema files in `schema/` are the read API: directives say where each field comes from, and most fields
//! are nothing but that. This crate parses documents, plans them, executes plans level by level with one store
//! call per level, and writes the reply as bytes.
//!
//! - [`Schema`]: SDL and resolvers, checked at start.
//! - [`Engine`]: executes requests; keeps parsed documents and their plans.
//! - [`Resolvers`], [`Args`], [`EntityView`]: the functions behind root fields and `@resolve` fields.
//!
//! It must not know SQL or HTTP.
//!
//! To add a field: a line in `schema/*.graphql`. To add a mutation: the field, and a function registered with
//! [`Resolvers::mutation`].

mod document;
mod engine;
mod error;
mod execute;
mod input;
mod introspect;
mod json;
mod limits;
mod mutations;
mod path;
mod plan;
mod resolve;
mod resolvers;
mod schema;
mod sdl;
mod validation_errors;

pub use engine::{Engine, Request};
pub use limits::Limits;
pub use resolve::{Args, BatchFunction, BatchResult, Context, EntityView, Resolvers, RootFunction};
pub use schema::{Schema, SchemaError};
pub use sdl::SDL;

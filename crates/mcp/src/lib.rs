//! The server of the Model Context Protocol (MCP): what agents read and change in the catalog.
//!
//! Each tool is a GraphQL document in `documents/`, the input that its variables come from, and a
//! function that turns the reply into a short answer. So agents see what their user may see, and
//! their changes take the same path as those of people.
//!
//! - [`AgentServer`]: answers the requests of one process
//! - [`AgentCall`]: the caller of a request, and what it may use
//! - `tools`: the tools, one module per subject
//! - `summary`: entities, as answers describe them
//! - `reply`: reads replies of GraphQL
//! - `answer`: limits the size of answers, and says where they come from
//!
//! To add a tool, write its input and function in the module of its subject, and register it in
//! `tools::all`.

mod answer;
mod call;
mod reply;
mod server;
mod summary;
mod tools;

pub use call::{AgentCall, AgentWrites};
pub use server::{AgentServer, MAX_REQUEST_BYTES};

//! Docent over HTTP, as its clients meet it: the real router over a real SQLite file.
//!
//! [`stories`] are the nine things that the product is for; the other modules follow the API.

mod domains;
mod graphql_protocol;
mod links;
mod proposals;
mod stories;
mod support;
mod tokens;

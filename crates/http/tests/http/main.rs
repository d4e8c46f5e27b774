//! Docent over HTTP, as its clients meet it: the real router over a real SQLite file.
//!
//! [`stories`] are the nine things that the product is for; the other modules follow the API.

#![expect(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that cannot go on fails, and its story is told in one piece"
)]

mod assertions;
mod batches;
mod bounds;
mod conditions;
mod datasets;
mod domains;
mod graphql_protocol;
mod history;
mod kinds;
mod labels;
mod lifecycle;
mod lineage;
mod links;
mod lists;
mod manners;
mod openapi;
mod owners;
mod page;
mod patch_entity;
mod patches;
mod people;
mod proposals;
mod references;
mod remainder;
mod runs;
mod search;
mod search_clients;
mod search_doors;
mod search_rest;
mod sessions;
mod sign_in;
mod stories;
mod structured_properties;
mod support;
mod timeline;
mod timeseries;
mod tokens;
mod vocabulary;

//! Tests of the HTTP API: the real router over a real store.
//!
//! [`core_use_cases`] has the main use cases of the product; the other modules follow the API.

#![expect(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a panic fails the test, and each test tells one whole scenario"
)]

mod access;
mod access_to_others;
mod account_permissions;
mod account_protection;
mod accounts;
mod action_requests;
mod analytics;
mod applications;
mod assertions;
mod asset_updates;
mod attributes_and_tests;
mod audit;
mod audit_denials;
mod audit_of_proposals;
mod batches;
mod clients;
mod connectors;
mod core_use_cases;
mod datasets;
mod disconnects;
mod documents;
mod domains;
mod entity_types;
mod error_responses;
mod escalation;
mod events;
mod forms;
mod frontend;
mod glossary;
mod graphql_protocol;
mod hidden;
mod history;
mod incidents;
mod independent_items;
mod ingestion_secrets;
mod ingestion_sources;
mod labels;
mod lifecycle;
mod limits;
mod lineage;
mod lineage_counts;
mod lineage_edits;
mod links;
mod list_queries;
mod long_replies;
mod managed_types;
mod metrics;
mod no_authentication;
mod openapi;
mod openapi_v2;
mod other_endpoints;
mod owners;
mod page;
mod pages;
mod patch_entity;
mod patches;
mod policies;
mod policy_rules;
mod preconditions;
mod privilege_offers;
mod products;
mod property_definitions;
mod proposals;
mod quality;
mod query_access;
mod rate_limits;
mod references;
mod report_statistics;
mod reserved;
mod rest_access;
mod routes;
mod runs;
mod saved_queries;
mod search;
mod search_clients;
mod search_errors;
mod search_rest;
mod secrets;
mod service_accounts;
mod sessions;
mod siblings;
mod sign_in;
mod sso;
mod statistics;
mod stewards;
mod stored_fields;
mod structured_properties;
mod support;
mod throttling;
mod time;
mod timeline;
mod timeseries;
mod token_scopes;
mod tokens;
mod versions;
mod views;
mod vocabulary;

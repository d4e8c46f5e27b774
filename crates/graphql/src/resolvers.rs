//! The fields of `Query` and the computed fields of entities.
//!
//! Most fields need no resolver: the schema says which aspect they come from. To add a resolver,
//! add a function to the module of its noun and a line to [`register`]; the schema refers to it
//! with `@resolve(by: …)` or by the name of the root field. See docs/adding-a-field.md.

mod accounts;
mod assignments;
mod audit;
mod changes;
mod config;
mod connections;
mod entities;
mod files;
mod glossary;
mod hierarchy;
mod history;
mod ingestion;
mod lineage;
mod metadata;
mod metrics;
mod ownership;
mod pages;
mod privileges;
mod products;
mod proposals;
mod quality;
mod queries;
mod relationships;
mod reports;
mod search;
mod secrets;
mod server_status;
mod timeline;
mod timeseries;
mod tokens;
mod usage;
mod webhooks;

use crate::Resolvers;

pub(crate) fn register(resolvers: Resolvers) -> Resolvers {
    let parts = [
        connections::register,
        files::register,
        glossary::register,
        metrics::register,
        pages::register,
        products::register,
        register_lookups,
        search::register,
        timeline::register,
    ];
    let resolvers = parts.iter().fold(resolvers, |all, part| part(all));
    resolvers
        .query("entities", queries::entities)
        .query("entityExists", queries::entity_exists)
        .query("listDomains", queries::list_domains)
        .query("listActionRequests", proposals::list_action_requests)
        .query("getGrantedPrivileges", privileges::granted)
        .computed("criterionValues", privileges::criterion_values)
        .query("appConfig", config::app_config)
        .query("globalViewsSettings", queries::global_views_settings)
        .query("docPropagationSettings", queries::doc_propagation_settings)
        .query("me", queries::me)
        .query("listAccessTokens", queries::list_access_tokens)
        .query("getInviteToken", accounts::get_invite_token)
        .query("listInviteTokens", accounts::list_invite_tokens)
        .query("serverStatus", server_status::server_status)
        .query("listWebhooks", webhooks::list_webhooks)
        .query("webhook", webhooks::webhook)
        .query("webhookDeadLetters", webhooks::dead_letters)
        .query("listServiceAccounts", accounts::list_service_accounts)
        .query("getServiceAccount", accounts::get_service_account)
        .query("getAccessTokenMetadata", queries::get_access_token_metadata)
        .query("auditLog", audit::audit_log)
        .query("debugAccess", accounts::debug_access)
        .query("listLifecycleStages", queries::list_lifecycle_stages)
        .entity_field("executionInput", ingestion::execution_input)
        .entity_field("ingestionConfig", ingestion::source_config)
        .query("getSecretValues", secrets::get_secret_values)
        .query("history", history::history)
        .query("recentChanges", history::recent_changes)
        .query("changes", changes::changes)
        .query("changesByWeek", history::changes_by_week)
        .computed("browsePaths", entities::browse_paths)
        .entity_field("entityPrivileges", privileges::of_entities)
        .computed("incidentAssignees", entities::incident_assignees)
        .computed("querySubjects", entities::query_subjects)
        .entity_field("isNativeUser", tokens::is_native_user)
        .entity_field("schemaFieldPath", entities::schema_field_path)
        .computed("valueEntities", entities::value_entities)
        .computed("assertedColumns", entities::asserted_columns)
        .computed("inputColumn", entities::input_column)
        .entity_field("parentContainers", hierarchy::parent_containers)
        .entity_field("domainStewards", privileges::domain_stewards)
        .entity_field("parentDomains", hierarchy::parent_domains)
        .entity_field("parentNodes", hierarchy::parent_nodes)
        .computed("createdOn", metadata::created_on)
        .computed("lastIngested", metadata::last_ingested)
        .entity_field("rawAspects", metadata::raw_aspects)
        .entity_field("accessToken", tokens::access_token)
        .computed("ownershipType", ownership::ownership_type)
        .entity_field("relationships", relationships::relationships)
        .computed("serviceAccount", accounts::service_account)
        .entity_field("assertions", relationships::assertions)
        .entity_field("datasetProfiles", timeseries::dataset_profiles)
        .entity_field("operations", timeseries::operations)
        .entity_field("assertionRuns", timeseries::assertion_runs)
        .entity_field("runStates", timeseries::run_states)
        .entity_field("timeseriesCapabilities", timeseries::capabilities)
        .computed("windowMillis", timeseries::window_millis)
        .entity_field("usageStats", usage::usage_stats)
        .entity_field("statsSummary", usage::stats_summary)
        .entity_field("dashboardUsage", reports::dashboard_usage)
        .entity_field("reportSummary", reports::summary)
        .entity_field("operationsStats", usage::operations_stats)
        .entity_field("lineage", lineage::neighbors)
        .query("searchAcrossLineage", lineage::search_across_lineage)
        .query("scrollAcrossLineage", lineage::scroll_across_lineage)
        .query(
            "searchAcrossLineageCounts",
            lineage::search_across_lineage_counts,
        )
        .entity_field("health", quality::health)
        .entity_field("incidents", quality::incidents)
        .entity_field("contract", quality::contract)
        .entity_field("parentMetrics", hierarchy::parent_metrics)
        .entity_field("parentDocuments", hierarchy::parent_documents)
        .entity_field("flowJobs", relationships::flow_jobs)
        .entity_field("isAssignedToMe", assignments::is_assigned_to_me)
        .entity_field("isFormAssignedToMe", assignments::is_form_assigned_to_me)
        .computed("postModified", entities::post_modified)
        .computed("viewFilter", entities::view_filter)
        .computed("hyperParameter", entities::hyper_parameter)
        .computed("unitaryResults", entities::unitary_results)
        .computed("intersectionalResults", entities::intersectional_results)
        .computed("lastObserved", metadata::last_observed)
}

/// The root fields that return an entity by its URN.
fn register_lookups(resolvers: Resolvers) -> Resolvers {
    resolvers
        .query_by_urn("dataset")
        .query_by_urn("domain")
        .query_by_urn("container")
        .query_by_urn("tag")
        .query_by_urn("glossaryTerm")
        .query_by_urn("glossaryNode")
        .query_by_urn("corpUser")
        .query_by_urn("corpGroup")
        .query_by_urn("chart")
        .query_by_urn("dashboard")
        .query_by_urn("notebook")
        .query_by_urn("dataFlow")
        .query_by_urn("dataJob")
        .query_by_urn("dataProduct")
        .query_by_urn("application")
        .query_by_urn("assertion")
        .query_by_urn("dataPlatform")
        .query_by_urn("dataPlatformInstance")
        .query_by_urn("dataProcessInstance")
        .query_by_urn("businessAttribute")
        .query_by_urn("test")
        .query_by_urn("erModelRelationship")
        .query_by_urn("form")
        .query_by_urn("mlFeature")
        .query_by_urn("mlFeatureTable")
        .query_by_urn("mlModel")
        .query_by_urn("mlModelGroup")
        .query_by_urn("mlPrimaryKey")
        .query_by_urn("metric")
        .query_by_urn("semanticModel")
        .query_by_urn("role")
        .query_by_urn("structuredProperty")
        .query_by_urn("versionSet")
        .query_by_urn("document")
        .query_by_urn("ingestionSource")
        .query_by_urn("executionRequest")
        .query_by_urn("view")
        .query_by_urn("entity")
}

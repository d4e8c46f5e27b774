//! Rules beyond those of DataHub's timeline: what users see on a page and want to see the history
//! of. Events for other programs follow DataHub's rules alone.

use super::{Category, Parameters, Rule, Weight, rule, text};

/// The name of an entity. The names of domains, terms and data products are documentation, as in
/// DataHub.
const fn entity_name(aspect: &'static str, path: &'static [&'static str]) -> Rule {
    Rule {
        path,
        content: &[""],
        parameters: Parameters::Texts("name", "previousName"),
        ..rule(Category::Name, aspect, "name")
    }
}

const fn deprecation(aspect: &'static str) -> Rule {
    Rule {
        flag: Some("deprecated"),
        content: &["note", "decommissionTime", "replacement"],
        parameters: Parameters::Members(&[
            ("note", "previousNote"),
            ("decommissionTime", "previousDecommissionTime"),
            ("replacement", "previousReplacement"),
        ]),
        ..rule(Category::Deprecation, aspect, "deprecation")
    }
}

/// The entity under which another one is.
const fn parent(aspect: &'static str, path: &'static [&'static str]) -> Rule {
    Rule {
        path,
        content: &[""],
        weights: (Weight::Minor, Weight::Minor),
        parameters: Parameters::Texts("newParent", "oldParent"),
        ..rule(Category::Parent, aspect, "parent")
    }
}

pub(in crate::timeline) const ADDED_RULES: [Rule; 29] = [
    text("chartInfo", &["description"]),
    text("editableChartProperties", &["description"]),
    text("dashboardInfo", &["description"]),
    text("editableDashboardProperties", &["description"]),
    text("dataFlowInfo", &["description"]),
    text("editableDataFlowProperties", &["description"]),
    text("dataJobInfo", &["description"]),
    text("editableDataJobProperties", &["description"]),
    text("corpGroupEditableInfo", &["description"]),
    text("corpUserEditableInfo", &["aboutMe"]),
    entity_name("datasetProperties", &["name"]),
    entity_name("editableDatasetProperties", &["name"]),
    entity_name("containerProperties", &["name"]),
    entity_name("glossaryNodeInfo", &["name"]),
    entity_name("tagProperties", &["name"]),
    entity_name("chartInfo", &["title"]),
    entity_name("dashboardInfo", &["title"]),
    entity_name("dataFlowInfo", &["name"]),
    entity_name("dataJobInfo", &["name"]),
    entity_name("corpGroupInfo", &["displayName"]),
    entity_name("corpUserInfo", &["displayName"]),
    entity_name("corpUserEditableInfo", &["displayName"]),
    deprecation("deprecation"),
    deprecation("datasetDeprecation"),
    parent("domainProperties", &["parentDomain"]),
    parent("glossaryTermInfo", &["parentNode"]),
    parent("glossaryNodeInfo", &["parentNode"]),
    parent("container", &["container"]),
    Rule {
        flag: Some("removed"),
        ..rule(Category::Deletion, "status", "soft deletion")
    },
];

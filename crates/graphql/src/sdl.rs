//! The embedded schema files.

macro_rules! sources {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../schema/", $name)))),+]
    };
}

/// The name and text of every file in `schema/`.
pub const SDL: &[(&str, &str)] = sources![
    "accounts.graphql",
    "assertion_kinds.graphql",
    "audit.graphql",
    "common.graphql",
    "container.graphql",
    "dashboards.graphql",
    "dataset.graphql",
    "dataset_statistics.graphql",
    "directives.graphql",
    "documents.graphql",
    "domain.graphql",
    "enums.graphql",
    "forms.graphql",
    "history.graphql",
    "ingestion.graphql",
    "lineage_and_relationships.graphql",
    "links.graphql",
    "machine_learning.graphql",
    "metrics.graphql",
    "mutation.graphql",
    "ownership.graphql",
    "pages.graphql",
    "patches.graphql",
    "people.graphql",
    "pipelines.graphql",
    "platform.graphql",
    "policies.graphql",
    "products.graphql",
    "proposals.graphql",
    "quality.graphql",
    "query.graphql",
    "schema_metadata.graphql",
    "search.graphql",
    "settings.graphql",
    "structured_properties.graphql",
    "tags_and_glossary.graphql",
    "tokens.graphql",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_in_the_schema_directory_is_listed() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/schema");
        let mut files: Vec<_> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".graphql"))
            .collect();
        files.sort();
        let listed: Vec<_> = SDL.iter().map(|(name, _)| *name).collect();
        assert_eq!(files, listed);
    }
}

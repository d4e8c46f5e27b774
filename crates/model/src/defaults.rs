//! The default aspects of a new entity, added on its first write unless that write contains them.
//!
//! The key aspect is not one of them, see [`crate::Registry::key_aspect_value`]. To give another
//! entity type a platform, add it to [`platform`].

use serde_json::{Value, json};

use crate::{AspectName, EntitySpec, Urn};

/// The separator in dataset names, unless the platform defines one.
const NAME_DELIMITER: &str = ".";

/// The browse folder of entities without a path.
const DEFAULT_FOLDER: &str = "Default";

/// Returns the default aspects of a new entity. `name_delimiter` is that of its platform.
pub fn default_aspects(
    urn: &Urn,
    entity: &EntitySpec,
    name_delimiter: Option<&str>,
) -> Vec<(AspectName, Value)> {
    let mut aspects = Vec::new();
    let mut add = |aspect: AspectName, value: Option<Value>| {
        if let Some(value) = value
            && entity.has_aspect(aspect)
        {
            aspects.push((aspect, value));
        }
    };
    let key = Key { urn, entity };
    add(
        AspectName::BROWSE_PATHS_V2,
        Some(browse_path(&key, name_delimiter)),
    );
    add(
        AspectName::DATA_PLATFORM_INSTANCE,
        platform(&key).map(|platform| json!({ "platform": platform })),
    );
    add(
        AspectName::ALIASES,
        lowercased_urn(&key).map(|urn| json!({ "lowercasedUrn": urn })),
    );
    aspects
}

/// The key parts of a URN by name.
struct Key<'a> {
    urn: &'a Urn,
    entity: &'a EntitySpec,
}

impl<'a> Key<'a> {
    fn part(&self, field: &str) -> Option<&'a str> {
        let index = self
            .entity
            .key_fields
            .iter()
            .position(|name| *name == field)?;
        self.urn.as_split().parts().nth(index)
    }
}

fn browse_path(key: &Key<'_>, name_delimiter: Option<&str>) -> Value {
    let delimiter = name_delimiter
        .filter(|delimiter| !delimiter.is_empty())
        .unwrap_or(NAME_DELIMITER);
    let mut folders: Vec<&str> = match key.entity.name {
        "dataset" => key.part("name").map_or_else(Vec::new, |name| {
            name.split(delimiter)
                .filter(|part| !part.is_empty())
                .collect()
        }),
        _ => Vec::new(),
    };
    folders.pop();
    if folders.is_empty() {
        folders.push(DEFAULT_FOLDER);
    }
    let path: Vec<Value> = folders.iter().map(|id| json!({ "id": id })).collect();
    json!({ "path": path })
}

/// The URN of the platform in the key.
fn platform(key: &Key<'_>) -> Option<String> {
    let tool_platform = |tool: &str| format!("urn:li:dataPlatform:{tool}");
    match key.entity.name {
        "dataset" | "mlFeatureTable" | "mlModel" | "mlModelDeployment" | "mlModelGroup" => {
            key.part("platform").map(str::to_owned)
        }
        "chart" | "dashboard" => key.part("dashboardTool").map(tool_platform),
        "dataFlow" => key.part("orchestrator").map(tool_platform),
        "dataJob" => {
            let flow = Urn::parse(key.part("flow")?).ok()?;
            flow.as_split().parts().next().map(tool_platform)
        }
        _ => None,
    }
}

/// The dataset's URN with a lowercase name, for case-insensitive lookups.
fn lowercased_urn(key: &Key<'_>) -> Option<String> {
    if key.entity.name != "dataset" {
        return None;
    }
    Some(format!(
        "urn:li:dataset:({},{},{})",
        key.part("platform")?,
        key.part("name")?.to_lowercase(),
        key.part("origin")?
    ))
}

#[cfg(test)]
mod tests;

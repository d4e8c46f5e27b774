//! Names of files.

use std::collections::HashSet;

use docent_model::{Urn, hex};
use sha2::{Digest as _, Sha256};

use crate::kinds::{Kind, Layout};

/// Longer parts are cut, because file systems limit names to 255 bytes.
const MAX_PART_CHARS: usize = 60;
const PLATFORM: &str = "urn:li:dataPlatform:";
/// The environment that file names omit.
const USUAL_ENVIRONMENT: &str = "PROD";

/// Chooses a path for each entity. Paths are distinct on file systems that ignore case, too.
#[derive(Debug, Default)]
pub struct Paths {
    taken: HashSet<String>,
}

impl Paths {
    /// Reserves a path that exists.
    pub fn reserve(&mut self, path: &str) {
        self.taken.insert(path.to_lowercase());
    }

    /// The path of an entity, relative to the directory, with `/`.
    pub fn choose(&mut self, kind: &Kind, urn: &Urn) -> String {
        let directory = match kind.layout {
            Layout::OneFile(name) => return name.to_owned(),
            Layout::Directory(directory) => directory,
        };
        let mut is_changed = false;
        let mut parts: Vec<String> = Vec::new();
        let key_parts = urn.key_parts();
        let shown = match key_parts[..] {
            [platform, name, environment] if platform.starts_with(PLATFORM) => {
                let name = match environment {
                    USUAL_ENVIRONMENT => name.to_owned(),
                    _ => format!("{name}.{environment}"),
                };
                vec![platform[PLATFORM.len()..].to_owned(), name]
            }
            _ => key_parts.iter().map(|part| inner(part)).collect(),
        };
        for part in &shown {
            let safe = safe(part);
            is_changed |= safe != *part;
            parts.push(safe);
        }
        let stem = format!("{directory}/{}", parts.join("/"));
        let plain = format!("{stem}.yaml");
        if !is_changed && self.taken.insert(plain.to_lowercase()) {
            return plain;
        }
        let digest = hex(&Sha256::digest(urn.as_str().as_bytes()));
        let path = format!("{stem}-{}.yaml", &digest[..10]);
        self.taken.insert(path.to_lowercase());
        path
    }
}

/// The last part of a URN in a URN, such as the id of a task's pipeline.
fn inner(part: &str) -> String {
    if !part.starts_with("urn:li:") {
        return part.to_owned();
    }
    let parts = Urn::parse(part).ok().map(|urn| {
        let parts = urn.key_parts();
        parts
            .iter()
            .filter(|part| !part.is_empty())
            .take(2)
            .copied()
            .collect::<Vec<_>>()
            .join(".")
    });
    parts.unwrap_or_else(|| part.to_owned())
}

fn safe(part: &str) -> String {
    let is_safe = |it: char| it.is_alphanumeric() || matches!(it, '.' | '-' | '_');
    let part: String = part
        .chars()
        .take(MAX_PART_CHARS)
        .map(|it| if is_safe(it) { it } else { '_' })
        .collect();
    // Neither hidden nor a parent directory, and not empty.
    match part.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None if part.is_empty() => "_".to_owned(),
        None => part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds;

    #[test]
    fn paths_are_readable_distinct_and_stay_in_the_directory() {
        let mut paths = Paths::default();
        let mut choose = |urn: &str| {
            let urn = Urn::parse(urn).unwrap();
            paths.choose(kinds::of_type(urn.entity_type()).unwrap(), &urn)
        };
        let dataset = |name: &str| format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
        assert_eq!(
            choose(&dataset("shop.orders")),
            "datasets/hive/shop.orders.yaml"
        );
        let other = choose(&dataset("Shop.Orders"));
        assert!(other.starts_with("datasets/hive/Shop.Orders-"), "{other}");
        let evil = choose(&dataset("../../etc/passwd"));
        assert!(
            evil.starts_with("datasets/hive/_._.._etc_passwd-"),
            "{evil}"
        );
        let long = choose(&dataset(&"é".repeat(400)));
        assert!(long.split('/').all(|part| part.len() < 200), "{long}");
        assert_eq!(
            choose("urn:li:dataset:(urn:li:dataPlatform:hive,a,DEV)"),
            "datasets/hive/a.DEV.yaml"
        );
        assert_eq!(choose("urn:li:tag:a/b"), "tags.yaml");
        assert_eq!(
            choose("urn:li:dataJob:(urn:li:dataFlow:(airflow,nightly,prod),load)"),
            "tasks/airflow.nightly/load.yaml"
        );
    }
}

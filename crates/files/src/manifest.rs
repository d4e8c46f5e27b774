//! `docent.yaml`: what a directory contains.

use docent_model::{Registry, Urn, shorten};

use crate::yaml::{self, Content, Pair, Problem, Yaml};

const FORMAT: &str = "1";
const KEYS: [&str; 3] = ["format", "project", "domain"];
/// Starts the ids of runs.
const RUN_PREFIX: &str = "docent-apply";

/// The manifest of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Identifies the directory, wherever it is checked out.
    pub project: String,
    /// Only this domain, with its subdomains.
    pub domain: Option<Urn>,
}

impl Manifest {
    pub fn to_text(&self) -> String {
        let mut pairs = vec![
            Pair::new("format", Yaml::Bare(FORMAT.to_owned())),
            Pair::new("project", Yaml::Text(self.project.clone())),
        ];
        if let Some(domain) = &self.domain {
            pairs.push(Pair::new("domain", Yaml::Text(domain.to_string())));
        }
        let comment = "What people write in the catalog, for 'docent plan' and 'docent apply'.";
        yaml::to_text(&[comment.to_owned()], &Yaml::Map(pairs))
    }

    pub fn parse(text: &str) -> Result<Self, Problem> {
        let node = yaml::parse(text)?.ok_or_else(|| Problem::new(1, "the file is empty"))?;
        let Content::Map(entries) = &node.content else {
            return Err(Problem::new(
                node.line,
                "expected a mapping of keys and values",
            ));
        };
        let mut values = [const { None }; KEYS.len()];
        for entry in entries {
            let Some(at) = KEYS.iter().position(|key| *key == entry.key) else {
                return Err(crate::shape::unknown_key(&entry.key, entry.line, &KEYS));
            };
            let Content::Scalar { text, .. } = &entry.value.content else {
                let message = format!("'{}' must be a single value", entry.key);
                return Err(Problem::new(entry.line, message));
            };
            values[at] = Some((entry.line, text.as_str()));
        }
        let [format, project, domain] = values;
        match format {
            Some((_, FORMAT)) => {}
            Some((line, format)) => {
                let message = format!(
                    "format {} is not supported: this version of docent reads format {FORMAT}",
                    shorten(format)
                );
                return Err(Problem::new(line, message));
            }
            None => return Err(Problem::new(node.line, "the key 'format' is missing")),
        }
        let Some((line, project)) = project else {
            return Err(Problem::new(node.line, "the key 'project' is missing"));
        };
        let is_id = |text: &str| {
            (4..=40).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_alphanumeric())
        };
        if !is_id(project) {
            let message = "'project' must have 4 to 40 letters and digits";
            return Err(Problem::new(line, message));
        }
        let domain = domain.map(|(line, text)| {
            let urn = Registry::get().parse_urn(text);
            urn.map_err(|error| Problem::new(line, error.to_string()))
        });
        Ok(Self {
            project: project.to_owned(),
            domain: domain.transpose()?,
        })
    }

    /// The id of a run of this directory. `time` and `unique` tell runs apart.
    pub fn run_id(&self, time: &str, unique: &str) -> String {
        format!("{RUN_PREFIX}-{}-{time}-{unique}", self.project)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let manifest = Manifest {
            project: "12345678".to_owned(),
            domain: Some(Urn::parse("urn:li:domain:x").unwrap()),
        };
        let text = manifest.to_text();
        assert_eq!(Manifest::parse(&text), Ok(manifest.clone()));
        for (text, says) in [
            ("format: 2\nproject: abcd\n", "reads format 1"),
            ("format: 1\n", "'project' is missing"),
            ("format: 1\nproject: a-b-c\n", "letters and digits"),
            (
                "format: 1\nproject: abcd\nowner: x\n",
                "unknown key 'owner'",
            ),
        ] {
            let problem = Manifest::parse(text).unwrap_err();
            assert!(problem.message.contains(says), "{problem:?}");
        }
    }
}

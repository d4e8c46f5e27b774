//! The catalog for the search measurements. Each dataset is a function of its seed.
//!
//! Words are distributed as in real texts ([`vocabulary`]): a few are very common, most are rare.
//! So are platforms, domains, tags and owners. The catalog is the same in every run.

pub(crate) mod vocabulary;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Value, json};
use vocabulary::{Random, Vocabulary, Zipf};

pub(crate) const COLUMNS: usize = 10;

const PLATFORMS: [&str; 8] = [
    "snowflake",
    "hive",
    "postgres",
    "bigquery",
    "kafka",
    "redshift",
    "mysql",
    "s3",
];

/// Ten at the top level, 48 on the second and the rest on the third.
const DOMAINS: usize = 200;
const TOP_DOMAINS: usize = 10;
const MIDDLE_DOMAINS: usize = 48;
const TAGS: usize = 500;
const OWNERS: usize = 2_000;
const SCHEMAS: usize = 300;
const COLUMN_WORDS: usize = 2_000;

/// Prefixes of table names by warehouse layer.
const PREFIXES: [&str; 8] = ["", "", "", "stg_", "dim_", "fct_", "raw_", "agg_"];

/// The time of all writes.
pub(crate) const NOON_MS: i64 = 1_794_700_000_000;
pub(crate) const ACTOR: &str = "urn:li:corpuser:datahub";

/// A dataset, with its texts split into words for the peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dataset {
    pub(crate) platform: &'static str,
    pub(crate) origin: &'static str,
    pub(crate) schema: String,
    pub(crate) table: String,
    /// The words of the table name, without the prefix.
    pub(crate) name_words: Vec<String>,
    /// Empty if there is none.
    pub(crate) description: String,
    /// Names and descriptions.
    pub(crate) columns: Vec<(String, Option<String>)>,
    pub(crate) domain: Option<usize>,
    pub(crate) tags: Vec<usize>,
    pub(crate) owners: Vec<usize>,
}

/// All datasets, in URN order.
#[derive(Debug)]
pub(crate) struct Catalog {
    makers: Makers,
    seeds: Vec<u64>,
}

#[derive(Debug)]
struct Makers {
    vocabulary: Vocabulary,
    columns: Zipf,
    platforms: Zipf,
    schemas: Zipf,
    domains: Zipf,
    tags: Zipf,
    owners: Zipf,
}

impl Catalog {
    pub(crate) fn new(count: usize) -> Self {
        let makers = Makers {
            vocabulary: Vocabulary::new(),
            columns: Zipf::new(COLUMN_WORDS),
            platforms: Zipf::new(PLATFORMS.len()),
            schemas: Zipf::new(SCHEMAS),
            domains: Zipf::new(DOMAINS),
            tags: Zipf::new(TAGS),
            owners: Zipf::new(OWNERS),
        };
        let mut names = HashSet::with_capacity(count);
        let mut datasets = Vec::with_capacity(count);
        let mut seed = 0;
        while datasets.len() < count {
            seed += 1;
            let urn = makers.key(&mut Random::new(seed)).urn();
            let mut hasher = DefaultHasher::new();
            urn.hash(&mut hasher);
            if names.insert(hasher.finish()) {
                datasets.push((urn, seed));
            }
        }
        datasets.sort_unstable();
        let seeds = datasets.into_iter().map(|(_, seed)| seed).collect();
        Self { makers, seeds }
    }

    pub(crate) fn len(&self) -> usize {
        self.seeds.len()
    }

    pub(crate) fn dataset(&self, index: usize) -> Dataset {
        self.makers.dataset(self.seeds[index])
    }

    pub(crate) fn datasets(&self) -> impl Iterator<Item = Dataset> {
        self.seeds.iter().map(|seed| self.makers.dataset(*seed))
    }

    /// A random word by frequency: half of the time from a name, half of the time from a
    /// description.
    fn word(&self, random: &mut Random) -> String {
        let dataset = self.dataset(random.below(self.len()));
        let described: Vec<&str> = dataset
            .description
            .split(' ')
            .filter(|word| !word.is_empty())
            .collect();
        if random.below(2) == 0 || described.is_empty() {
            dataset.name_words[random.below(dataset.name_words.len())].clone()
        } else {
            let word = described[random.below(described.len())];
            word.trim_end_matches('.').to_lowercase()
        }
    }

    /// Two different words.
    pub(crate) fn two_words(&self, random: &mut Random) -> [String; 2] {
        let first = self.word(random);
        loop {
            let second = self.word(random);
            if second != first {
                return [first, second];
            }
        }
    }

    /// The first three to six letters of a table name, or of a word in it.
    pub(crate) fn beginning(&self, random: &mut Random) -> String {
        let dataset = self.dataset(random.below(self.len()));
        let whole = match random.below(2) {
            0 => &dataset.table,
            _ => &dataset.name_words[random.below(dataset.name_words.len())],
        };
        whole.chars().take(3 + random.below(4)).collect()
    }

    /// Domains, tags and owners with their aspects.
    pub(crate) fn labels(&self) -> Vec<(String, &'static str, Value)> {
        let mut random = Random::new(u64::MAX);
        let mut name = |words: usize| {
            let words: Vec<String> = (0..words)
                .map(|_| capital(self.makers.vocabulary.any(&mut random)))
                .collect();
            words.join(" ")
        };
        let mut labels = Vec::with_capacity(DOMAINS + TAGS + OWNERS);
        for domain in 0..DOMAINS {
            let mut properties = json!({"customProperties": {}, "name": name(2)});
            if let Some(parent) = parent_domain(domain) {
                properties["parentDomain"] = Value::String(domain_urn(parent));
            }
            labels.push((domain_urn(domain), "domainProperties", properties));
        }
        for tag in 0..TAGS {
            labels.push((tag_urn(tag), "tagProperties", json!({"name": name(1)})));
        }
        for owner in 0..OWNERS {
            let info = json!({"customProperties": {}, "active": true, "displayName": name(2)});
            labels.push((owner_urn(owner), "corpUserInfo", info));
        }
        labels
    }
}

/// The parent of a domain in a tree of three levels.
fn parent_domain(domain: usize) -> Option<usize> {
    let lower = TOP_DOMAINS + MIDDLE_DOMAINS;
    match domain {
        _ if domain < TOP_DOMAINS => None,
        _ if domain < lower => Some((domain - TOP_DOMAINS) % TOP_DOMAINS),
        _ => Some(TOP_DOMAINS + (domain - lower) % MIDDLE_DOMAINS),
    }
}

pub(crate) fn domain_urn(domain: usize) -> String {
    format!("urn:li:domain:area-{domain:03}")
}

pub(crate) fn tag_urn(tag: usize) -> String {
    format!("urn:li:tag:label-{tag:03}")
}

pub(crate) fn owner_urn(owner: usize) -> String {
    format!("urn:li:corpuser:person-{owner:04}")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
        .unwrap_or_default()
}

impl Makers {
    /// The parts of the URN, drawn first so that names can be made without the rest.
    fn key(&self, random: &mut Random) -> Dataset {
        let platform = PLATFORMS[self.platforms.draw(random)];
        let origin = if random.below(10) == 0 { "DEV" } else { "PROD" };
        // Schemas are named by words of medium frequency.
        let schema = self.vocabulary.word(500 + self.schemas.draw(random));
        let prefix = PREFIXES[random.below(PREFIXES.len())];
        let name_words: Vec<String> = (0..2 + random.below(3))
            .map(|_| self.vocabulary.draw(random).to_owned())
            .collect();
        Dataset {
            platform,
            origin,
            schema: schema.to_owned(),
            table: format!("{prefix}{}", name_words.join("_")),
            name_words,
            description: String::new(),
            columns: Vec::new(),
            domain: None,
            tags: Vec::new(),
            owners: Vec::new(),
        }
    }

    fn dataset(&self, seed: u64) -> Dataset {
        let random = &mut Random::new(seed);
        let mut dataset = self.key(random);
        // Every fifth dataset has no description.
        if random.below(5) > 0 {
            let length = 12 + random.below(17);
            dataset.description = self.sentence(length, random);
        }
        for number in 0..COLUMNS {
            let mut name = String::new();
            for part in 0..=random.below(3) {
                if part > 0 {
                    name.push('_');
                }
                let word = COLUMN_WORDS / 2 + self.columns.draw(random);
                name.push_str(self.vocabulary.word(word));
            }
            if dataset.columns.iter().any(|(taken, _)| *taken == name) {
                let _ = write!(name, "_{number}");
            }
            let description = (random.below(3) == 0).then(|| {
                let length = 4 + random.below(5);
                self.sentence(length, random)
            });
            dataset.columns.push((name, description));
        }
        dataset.domain = (random.below(10) < 7).then(|| self.domains.draw(random));
        dataset.tags = several(random.below(4), &self.tags, random);
        dataset.owners = several(1 + random.below(2), &self.owners, random);
        dataset
    }

    fn sentence(&self, words: usize, random: &mut Random) -> String {
        let mut text = capital(self.vocabulary.draw(random));
        for _ in 1..words {
            text.push(' ');
            text.push_str(self.vocabulary.draw(random));
        }
        text.push('.');
        text
    }
}

fn several(count: usize, from: &Zipf, random: &mut Random) -> Vec<usize> {
    let mut drawn: Vec<usize> = (0..count).map(|_| from.draw(random)).collect();
    drawn.sort_unstable();
    drawn.dedup();
    drawn
}

impl Dataset {
    pub(crate) fn urn(&self) -> String {
        let Self {
            platform,
            origin,
            schema,
            table,
            ..
        } = self;
        format!("urn:li:dataset:(urn:li:dataPlatform:{platform},{schema}.{table},{origin})")
    }

    /// The aspects in the order of their names, as JSON. No text needs escaping.
    pub(crate) fn aspects(&self) -> Vec<(&'static str, String)> {
        let Self {
            platform,
            origin,
            schema,
            table,
            description,
            ..
        } = self;
        let mut aspects = vec![
            (
                "datasetKey",
                format!(
                    r#"{{"platform":"urn:li:dataPlatform:{platform}","name":"{schema}.{table}","origin":"{origin}"}}"#
                ),
            ),
            (
                "datasetProperties",
                format!(
                    r#"{{"customProperties":{{}},"name":"{table}","qualifiedName":"{schema}.{table}",{}"tags":[]}}"#,
                    member("description", description)
                ),
            ),
        ];
        if let Some(domain) = self.domain {
            aspects.push((
                "domains",
                format!(r#"{{"domains":["{}"]}}"#, domain_urn(domain)),
            ));
        }
        if !self.tags.is_empty() {
            let tags = list(&self.tags, |tag| {
                format!(r#"{{"tag":"{}"}}"#, tag_urn(*tag))
            });
            aspects.push(("globalTags", format!(r#"{{"tags":[{tags}]}}"#)));
        }
        let owners = list(&self.owners, |owner| {
            format!(r#"{{"owner":"{}","type":"DATAOWNER"}}"#, owner_urn(*owner))
        });
        aspects.push((
            "ownership",
            format!(
                r#"{{"owners":[{owners}],"lastModified":{{"time":{NOON_MS},"actor":"{ACTOR}"}}}}"#
            ),
        ));
        let fields = list(&self.columns, |(name, description)| {
            let description = description.as_deref().unwrap_or_default();
            format!(
                r#"{{"fieldPath":"{name}","nullable":true,{}"type":{{"type":{{"com.linkedin.schema.StringType":{{}}}}}},"nativeDataType":"varchar(64)","recursive":false,"isPartOfKey":false}}"#,
                member("description", description)
            )
        });
        aspects.push((
            "schemaMetadata",
            format!(
                r#"{{"schemaName":"{schema}.{table}","platform":"urn:li:dataPlatform:{platform}","version":0,"hash":"","platformSchema":{{"com.linkedin.schema.OtherSchema":{{"rawSchema":""}}}},"fields":[{fields}]}}"#
            ),
        ));
        aspects
    }

    /// The name in words, for peers that split only at spaces.
    pub(crate) fn name_text(&self) -> String {
        format!("{}.{}", self.schema, self.table).replace(['.', '_'], " ")
    }

    /// The names and descriptions of all columns in words.
    pub(crate) fn column_text(&self) -> String {
        let mut text = String::new();
        for (name, description) in &self.columns {
            text.push_str(&name.replace('_', " "));
            text.push(' ');
            text.push_str(description.as_deref().unwrap_or_default());
            text.push(' ');
        }
        text
    }
}

/// A JSON member with a comma after it; nothing for an empty text.
fn member(name: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!(r#""{name}":"{text}","#)
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    let texts: Vec<String> = items.iter().map(text).collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_model::{Registry, Urn};

    #[test]
    fn a_catalog_is_deterministic_and_in_urn_order() {
        let (one, other) = (Catalog::new(500), Catalog::new(500));
        let urns: Vec<String> = one.datasets().map(|dataset| dataset.urn()).collect();
        assert!(urns.is_sorted());
        assert!(one.datasets().eq(other.datasets()));
        let distinct: HashSet<&String> = urns.iter().collect();
        assert_eq!(distinct.len(), 500);
    }

    #[test]
    fn aspects_are_json_in_order_with_the_key_of_the_urn() {
        let catalog = Catalog::new(200);
        for dataset in catalog.datasets() {
            let urn = Urn::parse(&dataset.urn()).unwrap();
            let aspects = dataset.aspects();
            assert!(aspects.is_sorted_by_key(|(name, _)| *name));
            for (name, text) in aspects {
                let value: Value = serde_json::from_str(&text).unwrap();
                if name == "datasetKey" {
                    assert_eq!(Some(value), Registry::get().key_aspect_value(&urn));
                }
            }
        }
    }

    #[test]
    fn the_domain_tree_has_at_most_three_levels() {
        for domain in 0..DOMAINS {
            let middle = parent_domain(domain);
            let top = middle.and_then(parent_domain);
            assert_eq!(top.and_then(parent_domain), None, "{domain}");
        }
        assert!(parent_domain(DOMAINS - 1).and_then(parent_domain).is_some());
    }

    #[test]
    fn words_to_search_for_are_words_of_the_catalog() {
        let catalog = Catalog::new(100);
        let texts: Vec<String> = catalog
            .datasets()
            .map(|dataset| {
                format!("{} {}", dataset.name_text(), dataset.description).to_lowercase()
            })
            .collect();
        let mut random = Random::new(1);
        for _ in 0..100 {
            for word in catalog.two_words(&mut random) {
                assert!(texts.iter().any(|text| text.contains(&word)), "{word}");
            }
        }
    }
}

//! Random operations on the catalog and on a model of it that is obviously right: both agree which
//! succeed, and on the state after each of them.
//!
//! For longer manual runs, `DOCENT_MODEL_STEPS` sets the number of operations and
//! `DOCENT_MODEL_SEED` the random seed.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::Arc;

use docent_catalog::domains::NewDomain;
use docent_catalog::links::LinkText;
use docent_catalog::{
    AspectKey, Change, Error, ErrorKind, LogicalVersion, Proposal, ReadRequest, Requirement,
};
use docent_model::patch::Patch;
use docent_model::{AspectName, Urn};
use docent_store::version;
use serde_json::{Value, json};

use crate::random::Random;
use crate::{Fixture, dataset, domain, upsert};

const DATASETS: usize = 5;
const DOMAINS: usize = 8;
const COLUMNS: [&str; 3] = ["id", "name", "missing"];
const NAMES: [&str; 3] = ["Finance", "Sales", "Risk"];
const URLS: [&str; 2] = ["https://example.com/a", "https://example.com/b"];
const LABELS: [&str; 2] = ["guide", "owner"];
/// How many versions back the history is compared.
const COMPARED_VERSIONS: usize = 3;

#[derive(Debug, Clone, Default)]
struct Dataset {
    /// Every text that it had, the newest last.
    descriptions: Vec<String>,
    columns: BTreeMap<&'static str, String>,
    links: Vec<(&'static str, &'static str)>,
    domain: Option<usize>,
    removed: bool,
}

#[derive(Debug, Clone)]
struct Domain {
    name: &'static str,
    parent: Option<usize>,
}

#[derive(Debug, Default)]
struct Model {
    datasets: BTreeMap<usize, Dataset>,
    domains: BTreeMap<usize, Domain>,
}

#[derive(Debug, Clone)]
enum Operation {
    CreateDataset(usize),
    DeleteDataset(usize),
    Describe(usize, String),
    /// Both in one list, if both exist.
    DescribeBoth(usize, usize, String),
    Patch(usize, String),
    /// If the description has this version.
    DescribeIf(usize, usize, String),
    /// Hides the dataset, or shows it again.
    SetRemoved(usize, bool),
    DescribeColumn(usize, &'static str, String),
    AddLink(usize, &'static str, &'static str),
    RemoveLink(usize, &'static str),
    SetDomain(usize, usize),
    UnsetDomain(usize),
    CreateDomain(usize, &'static str, Option<usize>),
    MoveDomain(usize, Option<usize>),
    RenameDomain(usize, &'static str),
    DeleteDomain(usize),
}

impl Operation {
    fn random(random: &mut Random, step: usize) -> Self {
        let at = random.below(DATASETS);
        let place = random.below(DOMAINS);
        let parent = (!random.one_in(3)).then(|| random.below(DOMAINS));
        let text = format!("text {step}");
        match random.below(19) {
            // Datasets have few versions, so guesses are often right.
            13 => Self::DescribeIf(at, random.below(4), text),
            14 => Self::DescribeBoth(at, random.below(DATASETS), text),
            15 => Self::Patch(at, text),
            16 => Self::SetRemoved(at, random.one_in(2)),
            0 | 17 => Self::CreateDataset(at),
            1 if random.one_in(3) => Self::DeleteDataset(at),
            1 | 2 => Self::UnsetDomain(at),
            3 | 4 => Self::Describe(at, text),
            5 | 6 => Self::DescribeColumn(at, random.text(&COLUMNS), text),
            7 => Self::AddLink(at, random.text(&URLS), random.text(&LABELS)),
            8 => Self::RemoveLink(at, random.text(&URLS)),
            9 => Self::SetDomain(at, place),
            10 => Self::CreateDomain(place, random.text(&NAMES), parent),
            11 => Self::MoveDomain(place, parent),
            12 => Self::RenameDomain(place, random.text(&NAMES)),
            _ => Self::DeleteDomain(place),
        }
    }

    async fn apply(&self, fixture: &Fixture) -> Result<(), Error> {
        let (catalog, caller) = (&fixture.catalog, &fixture.caller);
        match self {
            Self::CreateDataset(at) => {
                let create = upsert(&dataset(at), "schemaMetadata", &schema());
                catalog.ingest(caller, vec![create]).await.map(drop)
            }
            Self::DeleteDataset(at) => {
                let delete = Proposal::new(dataset(at), Change::DeleteEntity);
                catalog.ingest(caller, vec![delete]).await.map(drop)
            }
            Self::Describe(at, text) => {
                let (urn, text) = (dataset(at), text.as_str());
                catalog.update_description(caller, &urn, None, text).await
            }
            Self::DescribeBoth(at, other, text) => {
                let both = [(at, "first"), (other, "second")];
                let list = both.map(|(at, part)| describe(*at, &format!("{text}, {part}")));
                catalog.ingest(caller, list.to_vec()).await.map(drop)
            }
            Self::Patch(at, text) => {
                let operation = json!([{"op": "add", "path": "/description", "value": text}]);
                let patch = Arc::new(Patch::from_value(operation).unwrap());
                let aspect = AspectName::EDITABLE_DATASET_PROPERTIES;
                let mut patch = Proposal::new(dataset(at), Change::Patch { aspect, patch });
                patch.requirements = vec![Requirement::exists(&dataset(at), "missing")];
                catalog.ingest(caller, vec![patch]).await.map(drop)
            }
            Self::DescribeIf(at, version, text) => {
                let mut write = describe(*at, text);
                let version = i64::try_from(*version).unwrap();
                let expected = (version > 0).then(|| LogicalVersion::new(version));
                write.requirements.push(Requirement::Version { expected });
                catalog.ingest(caller, vec![write]).await.map(drop)
            }
            Self::SetRemoved(at, removed) => {
                let mut status = upsert(&dataset(at), "status", &json!({ "removed": removed }));
                status.requirements = vec![Requirement::exists(&dataset(at), "missing")];
                catalog.ingest(caller, vec![status]).await.map(drop)
            }
            Self::DescribeColumn(at, column, text) => {
                let (urn, text) = (dataset(at), text.as_str());
                let column = Some(*column);
                catalog.update_description(caller, &urn, column, text).await
            }
            Self::AddLink(at, url, label) => {
                let link = LinkText {
                    url: (*url).to_owned(),
                    label: (*label).to_owned(),
                    show_in_asset_preview: None,
                };
                catalog.add_link(caller, &dataset(at), link).await
            }
            Self::RemoveLink(at, url) => {
                let url = (*url).to_owned();
                catalog.remove_link(caller, &dataset(at), url, None).await
            }
            Self::SetDomain(at, place) => {
                let (urn, place) = (dataset(at), domain(place));
                catalog.set_domain(caller, &urn, &place).await
            }
            Self::UnsetDomain(at) => catalog.unset_domain(caller, &dataset(at)).await,
            Self::CreateDomain(place, name, parent) => {
                let new = NewDomain {
                    id: Some(format!("d{place}")),
                    name: (*name).to_owned(),
                    parent: parent.map(domain),
                    ..NewDomain::default()
                };
                catalog.create_domain(caller, new).await.map(drop)
            }
            Self::MoveDomain(place, parent) => {
                let parent = parent.map(domain);
                let parent = parent.as_ref();
                catalog.move_domain(caller, &domain(place), parent).await
            }
            Self::RenameDomain(place, name) => {
                catalog.update_name(caller, &domain(place), name).await
            }
            Self::DeleteDomain(place) => catalog.delete_domain(caller, &domain(place)).await,
        }
    }
}

impl Model {
    /// Applies an operation; returns whether it is possible.
    fn apply(&mut self, operation: &Operation) -> bool {
        match operation {
            Operation::CreateDataset(at) => {
                self.datasets.entry(*at).or_default();
                true
            }
            Operation::DeleteDataset(at) => {
                self.datasets.remove(at);
                true
            }
            Operation::Describe(at, text) | Operation::Patch(at, text) => {
                self.change_dataset(*at, |it| {
                    it.descriptions.push(text.clone());
                    true
                })
            }
            Operation::DescribeBoth(at, other, text) => {
                let both = [(at, "first"), (other, "second")];
                let is_possible = both.iter().all(|(at, _)| self.datasets.contains_key(at));
                for (at, part) in both.into_iter().filter(|_| is_possible) {
                    let dataset = self.datasets.entry(*at).or_default();
                    dataset.descriptions.push(format!("{text}, {part}"));
                }
                is_possible
            }
            Operation::DescribeIf(at, version, text) => self.change_dataset(*at, |it| {
                let is_possible = it.descriptions.len() == *version;
                if is_possible {
                    it.descriptions.push(text.clone());
                }
                is_possible
            }),
            Operation::SetRemoved(at, removed) => self.change_dataset(*at, |it| {
                it.removed = *removed;
                true
            }),
            Operation::DescribeColumn(at, column, text) => self.change_dataset(*at, |it| {
                let is_known = *column != "missing";
                if is_known {
                    it.columns.insert(column, text.clone());
                }
                is_known
            }),
            Operation::AddLink(at, url, label) => self.change_dataset(*at, |it| {
                let is_new = !it.links.contains(&(*url, *label));
                if is_new {
                    it.links.push((url, label));
                }
                is_new
            }),
            Operation::RemoveLink(at, url) => self.change_dataset(*at, |it| {
                it.links.retain(|link| link.0 != *url);
                true
            }),
            Operation::SetDomain(at, place) => {
                self.domains.contains_key(place)
                    && self.change_dataset(*at, |it| {
                        it.domain = Some(*place);
                        true
                    })
            }
            Operation::UnsetDomain(at) => self.change_dataset(*at, |it| {
                it.domain = None;
                true
            }),
            Operation::CreateDomain(place, name, parent) => {
                let is_possible = !self.domains.contains_key(place)
                    && parent.is_none_or(|parent| self.domains.contains_key(&parent))
                    && self.is_free(*place, name, *parent);
                if is_possible {
                    let (name, parent) = (*name, *parent);
                    self.domains.insert(*place, Domain { name, parent });
                }
                is_possible
            }
            Operation::MoveDomain(place, parent) => self.move_domain(*place, *parent),
            Operation::RenameDomain(place, name) => {
                let Some(renamed) = self.domains.get(place).cloned() else {
                    return false;
                };
                let is_possible =
                    renamed.name == *name || self.is_free(*place, name, renamed.parent);
                if is_possible {
                    self.domains.insert(*place, Domain { name, ..renamed });
                }
                is_possible
            }
            Operation::DeleteDomain(place) => self.delete_domain(*place),
        }
    }

    fn move_domain(&mut self, place: usize, parent: Option<usize>) -> bool {
        let Some(moved) = self.domains.get(&place).cloned() else {
            return false;
        };
        let is_possible = parent.is_none_or(|parent| {
            let is_below = parent == place || self.ancestors(parent).contains(&place);
            self.domains.contains_key(&parent) && !is_below
        }) && (moved.parent == parent || self.is_free(place, moved.name, parent));
        if is_possible {
            let name = moved.name;
            self.domains.insert(place, Domain { name, parent });
        }
        is_possible
    }

    fn delete_domain(&mut self, place: usize) -> bool {
        let is_possible =
            self.domains.contains_key(&place) && self.children(Some(place)).is_empty();
        if is_possible {
            self.domains.remove(&place);
            let members = self.datasets.values_mut();
            for member in members.filter(|it| it.domain == Some(place)) {
                member.domain = None;
            }
        }
        is_possible
    }

    fn change_dataset(&mut self, at: usize, change: impl FnOnce(&mut Dataset) -> bool) -> bool {
        self.datasets.get_mut(&at).is_some_and(change)
    }

    /// Whether no other domain below the parent has the name.
    fn is_free(&self, place: usize, name: &str, parent: Option<usize>) -> bool {
        let mut others = self.domains.iter().filter(|(other, _)| **other != place);
        !others.any(|(_, other)| other.parent == parent && other.name == name)
    }

    fn children(&self, parent: Option<usize>) -> BTreeSet<Urn> {
        let children = self.domains.iter().filter(|it| it.1.parent == parent);
        children.map(|(place, _)| domain(place)).collect()
    }

    fn ancestors(&self, place: usize) -> Vec<usize> {
        let parent = self.domains.get(&place).and_then(|it| it.parent);
        let Some(parent) = parent else {
            return Vec::new();
        };
        let mut ancestors = vec![parent];
        ancestors.extend(self.ancestors(parent));
        ancestors
    }

    async fn compare(&self, fixture: &Fixture) {
        for at in 0..DATASETS {
            self.compare_dataset(fixture, at).await;
        }
        let catalog = &fixture.catalog;
        for parent in std::iter::once(None).chain((0..DOMAINS).map(Some)) {
            let urn = parent.map(domain);
            let listed = catalog.list_domains(urn.as_ref(), None, 0, 100).await;
            let listed: BTreeSet<Urn> = listed.unwrap().items.into_iter().collect();
            assert_eq!(listed, self.children(parent), "below {parent:?}");
        }
        for (place, expected) in &self.domains {
            let ancestors = catalog.domain_ancestors(&[domain(place)]).await.unwrap();
            let known: Vec<Urn> = self.ancestors(*place).iter().map(domain).collect();
            assert_eq!(ancestors, [known], "above {place}");
            let aspects = stored(fixture, &domain(place)).await;
            assert_eq!(aspects["domainProperties"]["name"], expected.name);
        }
    }

    async fn compare_dataset(&self, fixture: &Fixture, at: usize) {
        let urn = dataset(at);
        let exists = fixture.catalog.exists(std::slice::from_ref(&urn)).await;
        let expected = self.datasets.get(&at);
        assert_eq!(exists.unwrap(), [expected.is_some()], "{urn}");
        let aspects = stored(fixture, &urn).await;
        let Some(expected) = expected else {
            assert!(aspects.is_empty(), "{urn}: {aspects:?}");
            return;
        };
        let member = |aspect: &str, member: &str| {
            let value = aspects.get(aspect).map(|it| it[member].clone());
            value.unwrap_or_default()
        };
        let description = expected.descriptions.last().map(String::as_str);
        let stored_text = member("editableDatasetProperties", "description");
        assert_eq!(stored_text.as_str(), description, "{urn}");
        let columns = member("editableSchemaMetadata", "editableSchemaFieldInfo");
        let columns: BTreeMap<&str, &str> = items(&columns)
            .iter()
            .filter_map(|it| Some((it["fieldPath"].as_str()?, it["description"].as_str()?)))
            .collect();
        let expected_columns: BTreeMap<&str, &str> = expected
            .columns
            .iter()
            .map(|it| (*it.0, it.1.as_str()))
            .collect();
        assert_eq!(columns, expected_columns, "{urn}");
        let links = member("institutionalMemory", "elements");
        let links: Vec<(&str, &str)> = items(&links)
            .iter()
            .filter_map(|it| Some((it["url"].as_str()?, it["description"].as_str()?)))
            .collect();
        assert_eq!(links, expected.links, "{urn}");
        let domains = member("domains", "domains");
        let expected_domains: Vec<Value> = expected
            .domain
            .map(|it| json!(domain(it)))
            .into_iter()
            .collect();
        assert_eq!(items(&domains), expected_domains, "{urn}");
        let removed = member("status", "removed").as_bool().unwrap_or_default();
        assert_eq!(removed, expected.removed, "{urn}");
        compare_history(fixture, &urn, &expected.descriptions).await;
    }
}

/// Compares the last versions of the description, and that they are numbered from 1 without gaps.
async fn compare_history(fixture: &Fixture, urn: &Urn, descriptions: &[String]) {
    let key = AspectKey::new(urn, AspectName::EDITABLE_DATASET_PROPERTIES);
    let row = fixture.catalog.read(ReadRequest::row(&key)).await.unwrap();
    let row = row.into_row();
    let newest = row.map_or(0, |row| version::logical_version_of(&row).get());
    assert_eq!(
        usize::try_from(newest).unwrap(),
        descriptions.len(),
        "{urn}"
    );
    for (back, expected) in (0..).zip(descriptions.iter().rev().take(COMPARED_VERSIONS)) {
        let version = LogicalVersion::new(newest - back).into();
        let row = fixture.catalog.read_version(&key, version).await.unwrap();
        let row = row.unwrap_or_else(|| panic!("{urn} has no version {}", newest - back));
        let value: Value = serde_json::from_str(&row.metadata).unwrap();
        assert_eq!(
            value["description"], **expected,
            "{urn}, {back} versions back"
        );
    }
}

/// A write of the whole aspect, which would create a missing dataset.
fn describe(at: usize, text: &str) -> Proposal {
    let urn = dataset(at);
    let mut write = upsert(
        &urn,
        "editableDatasetProperties",
        &json!({ "description": text }),
    );
    write.requirements = vec![Requirement::exists(&urn, "missing")];
    write
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn schema() -> Value {
    let field = |path: &str| json!({"fieldPath": path, "nativeDataType": "text", "type": {"type": {"com.linkedin.schema.StringType": {}}}});
    json!({
        "schemaName": "table", "platform": "urn:li:dataPlatform:hive", "version": 0, "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": [field("id"), field("name")],
    })
}

/// The aspects of an entity, by name.
async fn stored(fixture: &Fixture, urn: &Urn) -> BTreeMap<String, Value> {
    let request = ReadRequest::entities(std::slice::from_ref(urn));
    let mut reply = fixture.catalog.read(request).await.unwrap();
    let rows = reply.entities.remove(0).into_iter();
    rows.map(|(name, row)| {
        (
            name.to_string(),
            serde_json::from_str(&row.metadata).unwrap(),
        )
    })
    .collect()
}

fn number_from(variable: &str, default: u64) -> u64 {
    env::var(variable).map_or(default, |text| text.parse().unwrap())
}

#[tokio::test]
async fn the_catalog_agrees_with_a_model_of_it_after_every_operation() {
    let steps = usize::try_from(number_from("DOCENT_MODEL_STEPS", 300)).unwrap();
    let seed = number_from("DOCENT_MODEL_SEED", 2026);
    let fixture = Fixture::new().await;
    let mut random = Random::seeded(seed);
    let mut model = Model::default();
    let (mut succeeded, mut failed) = (0, 0);
    for step in 0..steps {
        let operation = Operation::random(&mut random, step);
        let is_possible = model.apply(&operation);
        let result = operation.apply(&fixture).await;
        let context = format!("seed {seed}, step {step}: {operation:?} on {model:?}");
        assert_eq!(result.is_ok(), is_possible, "{result:?}, {context}");
        if let Err(error) = result {
            let kind = error.kind();
            let is_clear = !matches!(kind, ErrorKind::Internal | ErrorKind::Unavailable);
            assert!(is_clear, "{error}, {context}");
            failed += 1;
        } else {
            succeeded += 1;
        }
        model.compare(&fixture).await;
    }
    assert!(succeeded > steps / 3, "{succeeded} operations of {steps}");
    assert!(failed > steps / 10, "{failed} operations of {steps}");
    assert_eq!(fixture.store.check().await.unwrap(), Vec::<String>::new());
}

//! The catalog that peers are measured with: the datasets of the benchmark, each with two owners
//! and two tags, and the same questions for every server.

use serde_json::{Value, json};

use super::{
    COLUMN_NAMES, COLUMNS, DATASETS_PER_REQUEST, DOMAINS, PLATFORM, aspects, column_description,
    dataset_name, dataset_urn, description, domain_name, domain_urn, proposal,
};

const PEOPLE: usize = 100;
const TAGS: usize = 50;

/// The datasets that are read in one request.
pub(crate) const PAGE: usize = 50;

/// What every server is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CatalogRead {
    Description,
    ColumnsAndDomain,
    /// [`PAGE`] datasets with their domains, owners and tags.
    Page,
}

impl CatalogRead {
    pub(crate) const ALL: [Self; 3] = [Self::Description, Self::ColumnsAndDomain, Self::Page];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::ColumnsAndDomain => "ten columns with domain",
            Self::Page => "50 datasets with domain, owners, tags",
        }
    }
}

/// A domain, an owner or a tag.
#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub(crate) urn: String,
    pub(crate) name: String,
}

impl Label {
    fn domain(number: usize) -> Self {
        Self {
            urn: domain_urn(number),
            name: domain_name(number),
        }
    }

    fn person(number: usize) -> Self {
        Self {
            urn: format!("urn:li:corpuser:person-{number:03}"),
            name: format!("Person {number:03}"),
        }
    }

    fn tag(number: usize) -> Self {
        Self {
            urn: format!("urn:li:tag:tag-{number:02}"),
            name: format!("Tag {number:02}"),
        }
    }

    pub(crate) fn domains() -> Vec<Self> {
        (0..DOMAINS).map(Self::domain).collect()
    }

    pub(crate) fn people() -> Vec<Self> {
        (0..PEOPLE).map(Self::person).collect()
    }

    pub(crate) fn tags() -> Vec<Self> {
        (0..TAGS).map(Self::tag).collect()
    }
}

/// A dataset with everything that a server stores about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabeledDataset(pub(crate) usize);

impl LabeledDataset {
    pub(crate) fn urn(self) -> String {
        dataset_urn(self.0)
    }

    pub(crate) fn name(self) -> String {
        dataset_name(self.0)
    }

    pub(crate) fn description(self) -> String {
        description(self.0)
    }

    /// Names and descriptions.
    pub(crate) fn columns(self) -> [(&'static str, String); COLUMNS] {
        std::array::from_fn(|column| (COLUMN_NAMES[column], column_description(self.0, column)))
    }

    /// The number of its domain, which counts from 0.
    pub(crate) fn domain_number(self) -> usize {
        self.0 % DOMAINS
    }

    pub(crate) fn domain(self) -> Label {
        Label::domain(self.domain_number())
    }

    /// Always two, in ascending order, as a database with a primary key returns them.
    pub(crate) fn owner_numbers(self) -> [usize; 2] {
        ascending([self.0 % PEOPLE, (self.0 * 7 + 13) % PEOPLE])
    }

    pub(crate) fn owners(self) -> [Label; 2] {
        self.owner_numbers().map(Label::person)
    }

    pub(crate) fn tag_numbers(self) -> [usize; 2] {
        ascending([self.0 % TAGS, (self.0 * 3 + 7) % TAGS])
    }

    pub(crate) fn tags(self) -> [Label; 2] {
        self.tag_numbers().map(Label::tag)
    }

    /// The aspects that ingestion sends.
    pub(crate) fn aspects(self) -> Vec<(&'static str, Value)> {
        let owners = self
            .owners()
            .map(|owner| json!({"owner": owner.urn, "type": "DATAOWNER"}));
        let tags = self.tags().map(|tag| json!({"tag": tag.urn}));
        let stamp = json!({"time": 1_794_701_076_063_i64, "actor": "urn:li:corpuser:datahub"});
        let mut all = aspects(self.0).to_vec();
        all.push((
            "ownership",
            json!({"owners": owners, "lastModified": stamp}),
        ));
        all.push(("globalTags", json!({"tags": tags})));
        all
    }

    /// The datasets of a page: a stride apart, so that they are not neighbors in a store.
    pub(crate) fn page(first: usize, datasets: usize) -> impl Iterator<Item = Self> {
        (0..PAGE).map(move |row| Self((first + row * 197) % datasets))
    }
}

fn ascending(mut numbers: [usize; 2]) -> [usize; 2] {
    numbers.sort_unstable();
    numbers
}

/// Returns all proposals of one entity.
pub(crate) type Proposals = Vec<Value>;

/// Returns the proposals for domains, people and tags, one list for each entity.
pub(crate) fn label_proposals() -> Vec<Proposals> {
    let domains = Label::domains().into_iter().map(|domain| {
        let properties = json!({"customProperties": {}, "name": domain.name});
        vec![proposal(
            "domain",
            &domain.urn,
            "domainProperties",
            &properties,
        )]
    });
    let people = Label::people().into_iter().map(|person| {
        let info = json!({"active": true, "displayName": person.name, "customProperties": {}});
        vec![proposal("corpuser", &person.urn, "corpUserInfo", &info)]
    });
    let tags = Label::tags().into_iter().map(|tag| {
        let properties = json!({"name": tag.name});
        vec![proposal("tag", &tag.urn, "tagProperties", &properties)]
    });
    domains.chain(people).chain(tags).collect()
}

/// Returns the proposals for a dataset.
pub(crate) fn dataset_proposals(dataset: LabeledDataset) -> Proposals {
    let urn = dataset.urn();
    let aspects = dataset.aspects().into_iter();
    aspects
        .map(|(aspect, value)| proposal("dataset", &urn, aspect, &value))
        .collect()
}

/// Returns the requests that load the catalog.
pub(crate) fn batches(datasets: usize) -> Vec<String> {
    let all: Vec<Proposals> = label_proposals()
        .into_iter()
        .chain((0..datasets).map(|number| dataset_proposals(LabeledDataset(number))))
        .collect();
    all.chunks(DATASETS_PER_REQUEST)
        .map(|chunk| json!({"proposals": chunk.concat(), "async": "false"}).to_string())
        .collect()
}

/// The platform of all datasets.
pub(crate) fn platform_name() -> &'static str {
    PLATFORM.rsplit(':').next().unwrap_or_default()
}

/// Returns a request body for Docent.
pub(crate) fn request(read: CatalogRead, first: usize, datasets: usize) -> String {
    let query = match read {
        CatalogRead::Description => {
            "query read($urn: String!) { dataset(urn: $urn) { properties { description } } }"
        }
        CatalogRead::ColumnsAndDomain => {
            "query read($urn: String!) { dataset(urn: $urn) { \
             schemaMetadata { fields { fieldPath description } } \
             domain { domain { urn properties { name } } } } }"
        }
        CatalogRead::Page => {
            "query read($urns: [String!]!) { entities(urns: $urns) { ... on Dataset { urn name \
             domain { domain { urn properties { name } } } \
             ownership { owners { owner { ... on CorpUser { urn properties { displayName } } } } } \
             tags { tags { tag { urn properties { name } } } } } } }"
        }
    };
    request_body(query, read, first, datasets)
}

/// Returns the body of a GraphQL request with the variables that all servers take: `urns` for a
/// page, and `urn` for other reads.
pub(crate) fn request_body(
    query: &str,
    read: CatalogRead,
    first: usize,
    datasets: usize,
) -> String {
    let variables = if read == CatalogRead::Page {
        let page = LabeledDataset::page(first, datasets);
        json!({"urns": page.map(LabeledDataset::urn).collect::<Vec<_>>()})
    } else {
        json!({"urn": LabeledDataset(first).urn()})
    };
    json!({"query": query, "variables": variables}).to_string()
}

/// Returns Docent's expected reply.
pub(crate) fn reply(read: CatalogRead, first: usize, datasets: usize) -> Value {
    let dataset = LabeledDataset(first);
    let named = |label: &Label| json!({"urn": label.urn, "properties": {"name": label.name}});
    let data = match read {
        CatalogRead::Description => {
            json!({"dataset": {"properties": {"description": dataset.description()}}})
        }
        CatalogRead::ColumnsAndDomain => {
            let fields = dataset
                .columns()
                .map(|(name, text)| json!({"fieldPath": name, "description": text}));
            json!({"dataset": {
                "schemaMetadata": {"fields": fields},
                "domain": {"domain": named(&dataset.domain())},
            }})
        }
        CatalogRead::Page => {
            let entities: Vec<Value> = LabeledDataset::page(first, datasets)
                .map(|dataset| {
                    let owners = dataset.owners().map(|owner| {
                        let properties = json!({"displayName": owner.name});
                        json!({"owner": {"urn": owner.urn, "properties": properties}})
                    });
                    let tags = dataset.tags().map(|tag| json!({"tag": named(&tag)}));
                    json!({
                        "urn": dataset.urn(),
                        "name": dataset.name(),
                        "domain": {"domain": named(&dataset.domain())},
                        "ownership": {"owners": owners},
                        "tags": {"tags": tags},
                    })
                })
                .collect();
            json!({"entities": entities})
        }
    };
    json!({"data": data, "extensions": {}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dataset_has_two_owners_and_two_tags() {
        for number in 0..1_000 {
            let dataset = LabeledDataset(number);
            let ([owner, other_owner], [tag, other_tag]) =
                (dataset.owner_numbers(), dataset.tag_numbers());
            assert!(owner < other_owner && tag < other_tag, "{number}");
        }
    }

    #[test]
    fn a_page_has_different_datasets() {
        for datasets in [2_000, 10_000] {
            let urns: std::collections::BTreeSet<String> = LabeledDataset::page(1_999, datasets)
                .map(LabeledDataset::urn)
                .collect();
            assert_eq!(urns.len(), PAGE);
        }
    }
}

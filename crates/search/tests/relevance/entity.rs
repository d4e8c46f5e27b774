//! An entity with its aspects, and a builder for datasets of the warehouse.
//!
//! The demo catalog is a file of such entities. To give a dataset another kind of text, add a
//! method to [`Dataset`].

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The time of all writes; no judgement depends on it.
pub(crate) const NOON_MS: i64 = 1_767_000_000_000;

pub(crate) const ACTOR: &str = "urn:li:corpuser:datahub";

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Entity {
    pub(crate) urn: String,
    pub(crate) aspects: BTreeMap<String, Value>,
}

impl Entity {
    pub(crate) fn new(urn: &str, aspect: &str, value: Value) -> Self {
        Self {
            urn: urn.to_owned(),
            aspects: BTreeMap::from([(aspect.to_owned(), value)]),
        }
    }
}

/// Builds a dataset.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dataset {
    platform: String,
    path: String,
    name: String,
    description: Option<String>,
    edited: Option<String>,
    columns: Vec<(String, Option<String>)>,
    edited_columns: Vec<(String, String)>,
    tags: Vec<String>,
    terms: Vec<String>,
    domain: Option<String>,
    owners: Vec<String>,
    properties: Map<String, Value>,
    links: Vec<(String, String)>,
    queries_last_month: Option<i64>,
}

impl Dataset {
    /// `path` is the qualified name on the platform, such as `sales.fct_orders`, whose last part is
    /// displayed. The name of a topic has one part.
    pub(crate) fn new(platform: &str, path: &str) -> Self {
        let name = if platform == "kafka" {
            path
        } else {
            path.rsplit('.').next().unwrap_or(path)
        };
        Self {
            platform: platform.to_owned(),
            path: path.to_owned(),
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Sets the description from ingestion.
    pub(crate) fn described(mut self, description: &str) -> Self {
        self.description = Some(description.to_owned());
        self
    }

    /// Sets the description from a user.
    pub(crate) fn edited(mut self, description: &str) -> Self {
        self.edited = Some(description.to_owned());
        self
    }

    pub(crate) fn column(mut self, path: &str) -> Self {
        self.columns.push((path.to_owned(), None));
        self
    }

    pub(crate) fn column_described(mut self, path: &str, description: &str) -> Self {
        self.columns
            .push((path.to_owned(), Some(description.to_owned())));
        self
    }

    pub(crate) fn column_edited(mut self, path: &str, description: &str) -> Self {
        self.edited_columns
            .push((path.to_owned(), description.to_owned()));
        self.column(path)
    }

    /// Takes an id, not the display name, like the methods below.
    pub(crate) fn tag(mut self, id: &str) -> Self {
        self.tags.push(format!("urn:li:tag:{id}"));
        self
    }

    pub(crate) fn term(mut self, id: &str) -> Self {
        self.terms.push(format!("urn:li:glossaryTerm:{id}"));
        self
    }

    pub(crate) fn domain(mut self, id: &str) -> Self {
        self.domain = Some(format!("urn:li:domain:{id}"));
        self
    }

    pub(crate) fn owner(mut self, id: &str) -> Self {
        self.owners.push(format!("urn:li:corpuser:{id}"));
        self
    }

    pub(crate) fn owner_group(mut self, id: &str) -> Self {
        self.owners.push(format!("urn:li:corpGroup:{id}"));
        self
    }

    pub(crate) fn property(mut self, key: &str, value: &str) -> Self {
        self.properties.insert(key.to_owned(), json!(value));
        self
    }

    pub(crate) fn link(mut self, url: &str, title: &str) -> Self {
        self.links.push((url.to_owned(), title.to_owned()));
        self
    }

    pub(crate) fn queried(mut self, times_last_month: i64) -> Self {
        self.queries_last_month = Some(times_last_month);
        self
    }

    pub(crate) fn entity(self) -> Entity {
        let stamp = json!({"time": NOON_MS, "actor": ACTOR});
        let platform = format!("urn:li:dataPlatform:{}", self.platform);
        let mut aspects = BTreeMap::new();
        let mut add = |name: &str, value: Value| aspects.insert(name.to_owned(), value);

        let mut properties = json!({
            "name": self.name,
            "qualifiedName": self.path,
            "customProperties": self.properties,
        });
        if let Some(description) = self.description {
            properties["description"] = json!(description);
        }
        add("datasetProperties", properties);
        add("subTypes", json!({"typeNames": ["Table"]}));
        if !self.columns.is_empty() {
            let fields: Vec<Value> = self.columns.iter().map(field).collect();
            let schema = json!({
                "schemaName": self.name, "platform": platform, "version": 0, "hash": "", "fields": fields,
                "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
            });
            add("schemaMetadata", schema);
        }
        if let Some(description) = self.edited {
            let edited =
                json!({"description": description, "created": stamp, "lastModified": stamp});
            add("editableDatasetProperties", edited);
        }
        if !self.edited_columns.is_empty() {
            let fields = list(
                &self.edited_columns,
                |(path, text)| json!({"fieldPath": path, "description": text}),
            );
            let edited =
                json!({"editableSchemaFieldInfo": fields, "created": stamp, "lastModified": stamp});
            add("editableSchemaMetadata", edited);
        }
        if !self.tags.is_empty() {
            let tags = list(&self.tags, |tag| json!({ "tag": tag }));
            add("globalTags", json!({ "tags": tags }));
        }
        if !self.terms.is_empty() {
            let terms = list(&self.terms, |term| json!({ "urn": term }));
            add(
                "glossaryTerms",
                json!({"terms": terms, "auditStamp": stamp}),
            );
        }
        if let Some(domain) = self.domain {
            let domains =
                json!({"domains": [domain], "domainAssociations": [{ "domain": domain }]});
            add("domains", domains);
        }
        if !self.owners.is_empty() {
            let owners = list(
                &self.owners,
                |owner| json!({"owner": owner, "type": "DATAOWNER"}),
            );
            add(
                "ownership",
                json!({"owners": owners, "lastModified": stamp}),
            );
        }
        if !self.links.is_empty() {
            let elements = list(
                &self.links,
                |(url, title)| json!({"url": url, "description": title, "createStamp": stamp}),
            );
            add("institutionalMemory", json!({ "elements": elements }));
        }
        if let Some(times) = self.queries_last_month {
            let usage =
                json!({"queryCountLast30Days": times, "queryCountPercentileLast30Days": 99});
            add("usageFeatures", usage);
        }
        Entity {
            urn: format!("urn:li:dataset:({platform},{},PROD)", self.path),
            aspects,
        }
    }
}

fn list<T>(items: &[T], value: impl Fn(&T) -> Value) -> Vec<Value> {
    items.iter().map(value).collect()
}

fn field((path, description): &(String, Option<String>)) -> Value {
    let mut field = json!({
        "fieldPath": path,
        "type": {"type": {"com.linkedin.schema.StringType": {}}},
        "nativeDataType": "varchar",
    });
    if let Some(description) = description {
        field["description"] = json!(description);
    }
    field
}

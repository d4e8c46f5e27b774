//! The entity types in files, and their parts: the keys, and where their values are stored.
//!
//! To add a part, add a line to the table of its type, or to [`shared_parts`] if several types have
//! the aspect. To add a type, add it to [`all`], before the types that refer to it.

use std::sync::LazyLock;

use docent_model::Registry;
use serde_json::{Map, Value, json};

use crate::codec::{
    ALLOWED_VALUES, ASSETS, Codec, DEPRECATION, LINKS, OWNERS, PROPERTIES, Stamp, TERM_SOURCE,
    USUAL_TERM_SOURCE,
};
use crate::entity::{COLUMNS_ASPECT, COLUMNS_LIST, PartId};
use crate::shape::{Field, Shape};

/// The aspects that files show in comments.
pub(crate) const SHOWN_ASPECTS: [&str; 2] = ["datasetProperties", "schemaMetadata"];

/// The titles that files show in comments: aspect and member.
pub(crate) const SHOWN_TITLES: [(&str, &str); 5] = [
    ("containerProperties", "name"),
    ("dashboardInfo", "title"),
    ("chartInfo", "title"),
    ("dataFlowInfo", "name"),
    ("dataJobInfo", "name"),
];

const USER: Shape = Shape::Short("urn:li:corpuser:");
const ENTITY_TYPE: Shape = Shape::Short("urn:li:entityType:datahub.");
const TAGS: Shape = Shape::List(&Shape::Reference(&["tag"]));
const TERMS: Shape = Shape::List(&Shape::Reference(&["glossaryTerm"]));
const OWNER_FIELDS: [Field; 3] = [
    Field::optional("user", USER),
    Field::optional("group", Shape::Reference(&["corpGroup"])),
    Field::optional("type", Shape::Reference(&["ownershipType"])),
];
const LINK_FIELDS: [Field; 3] = [
    Field::required("url", Shape::Text),
    Field::required("label", Shape::Text),
    Field::optional("in_preview", Shape::Flag),
];
const DEPRECATION_FIELDS: [Field; 3] = [
    Field::required("note", Shape::Text),
    Field::optional("replacement", Shape::Reference(&[])),
    Field::optional("until", Shape::Time),
];
const ASSET_FIELDS: [Field; 2] = [
    Field::required("asset", Shape::Reference(&[])),
    Field::optional("output_port", Shape::Flag),
];
const ALLOWED_VALUE_FIELDS: [Field; 2] = [
    Field::required("value", Shape::Scalar),
    Field::optional("description", Shape::Text),
];
const ICON_FIELDS: [Field; 3] = [
    Field::required("iconLibrary", Shape::Choice(&["MATERIAL", "PHOSPHOR"])),
    Field::required("name", Shape::Text),
    Field::required("style", Shape::Text),
];

/// Where an export writes entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A file for each, in this directory.
    Directory(&'static str),
    /// All in this file.
    OneFile(&'static str),
}

/// An entity type in files.
#[derive(Debug)]
pub struct Kind {
    pub entity_type: &'static str,
    pub layout: Layout,
    /// Whether files may create entities, rather than describe what connectors ingest.
    pub is_defined_in_files: bool,
    /// The part that refers to the parent, which must be written first.
    pub parent: Option<&'static str>,
    pub(crate) parts: Vec<Part>,
    pub(crate) has_columns: bool,
}

/// A key of an entity, or of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) key: &'static str,
    pub(crate) aspect: &'static str,
    pub(crate) shape: Shape,
    pub(crate) codec: Codec,
    /// An entity without it cannot be stored.
    pub(crate) is_required: bool,
}

const fn part(key: &'static str, aspect: &'static str, shape: Shape, codec: Codec) -> Part {
    Part {
        key,
        aspect,
        shape,
        codec,
        is_required: false,
    }
}

const fn text(key: &'static str, aspect: &'static str, member: &'static str) -> Part {
    part(key, aspect, Shape::Text, Codec::Member(member))
}

const fn flag(key: &'static str, aspect: &'static str, member: &'static str) -> Part {
    part(key, aspect, Shape::Flag, Codec::Member(member))
}

const fn required(part: Part) -> Part {
    Part {
        is_required: true,
        ..part
    }
}

/// The parts of a column.
pub(crate) static COLUMN_PARTS: [Part; 3] = [
    text("description", COLUMNS_ASPECT, "description"),
    part(
        "tags",
        COLUMNS_ASPECT,
        TAGS,
        Codec::References {
            list: "globalTags.tags",
            key: "tag",
            stamp: None,
        },
    ),
    part(
        "terms",
        COLUMNS_ASPECT,
        TERMS,
        Codec::References {
            list: "glossaryTerms.terms",
            key: "urn",
            stamp: Some("glossaryTerms.auditStamp"),
        },
    ),
];

/// The parts of every type that has their aspects.
fn shared_parts() -> [Part; 9] {
    let references = |list, key, stamp| Codec::References { list, key, stamp };
    let domains = Shape::OneOrMany(&Shape::Reference(&["domain"]));
    let applications = Shape::List(&Shape::Reference(&["application"]));
    let properties =
        Shape::ReferenceMap(&["structuredProperty"], &Shape::OneOrMany(&Shape::Scalar));
    let tags = references("tags", "tag", None);
    let terms = references("terms", "urn", Some("auditStamp"));
    [
        part(
            "color",
            "displayProperties",
            Shape::Text,
            Codec::Member("colorHex"),
        ),
        part(
            "icon",
            "displayProperties",
            Shape::Record(&ICON_FIELDS),
            Codec::Member("icon"),
        ),
        part(
            "owners",
            "ownership",
            Shape::List(&Shape::Record(&OWNER_FIELDS)),
            OWNERS,
        ),
        part("domain", "domains", domains, Codec::Member("domains")),
        part(
            "applications",
            "applications",
            applications,
            Codec::Member("applications"),
        ),
        part("tags", "globalTags", TAGS, tags),
        part("terms", "glossaryTerms", TERMS, terms),
        part(
            "links",
            "institutionalMemory",
            Shape::List(&Shape::Record(&LINK_FIELDS)),
            LINKS,
        ),
        part("properties", "structuredProperties", properties, PROPERTIES),
    ]
}

fn deprecation() -> Part {
    part(
        "deprecated",
        "deprecation",
        Shape::Record(&DEPRECATION_FIELDS),
        DEPRECATION,
    )
}

/// The text map of a definition.
const fn custom(aspect: &'static str) -> Part {
    part(
        "custom",
        aspect,
        Shape::TextMap,
        Codec::Member("customProperties"),
    )
}

/// A reference to a parent.
const fn parent(aspect: &'static str, member: &'static str, of: &'static [&'static str]) -> Part {
    part(
        "parent",
        aspect,
        Shape::Reference(of),
        Codec::Member(member),
    )
}

/// A type that connectors ingest, with the aspect of its edited description.
fn ingested(entity_type: &'static str, directory: &'static str, aspect: &'static str) -> Kind {
    let mut parts = vec![text("description", aspect, "description")];
    if entity_type == "dataset" {
        parts.insert(0, text("name", aspect, "name"));
    }
    kind(entity_type, Layout::Directory(directory), parts, false)
}

/// A type that people define.
fn defined(entity_type: &'static str, file: &'static str, parts: Vec<Part>) -> Kind {
    kind(entity_type, Layout::OneFile(file), parts, true)
}

fn kind(
    entity_type: &'static str,
    layout: Layout,
    mut parts: Vec<Part>,
    is_defined_in_files: bool,
) -> Kind {
    let registry = Registry::get();
    let entity = registry.entity(entity_type);
    let has = |aspect: &str| {
        let aspect = registry.aspect(aspect);
        entity.is_some_and(|entity| aspect.is_some_and(|aspect| entity.has_aspect(aspect)))
    };
    let shared = shared_parts().into_iter().chain([deprecation()]);
    let shared: Vec<Part> = shared.filter(|it| has(it.aspect)).collect();
    parts.extend(shared);
    parts.retain(|part| has(part.aspect));
    let parent = parts.iter().find(|part| part.key == "parent");
    Kind {
        entity_type,
        layout,
        is_defined_in_files,
        parent: parent.map(|part| part.key),
        has_columns: has(COLUMNS_ASPECT),
        parts,
    }
}

/// All types, in the order in which they are applied: a type refers to those before it.
pub fn all() -> &'static [Kind] {
    static ALL: LazyLock<Vec<Kind>> = LazyLock::new(|| {
        vec![
            defined(
                "ownershipType",
                "ownership_types.yaml",
                vec![
                    required(text("name", "ownershipTypeInfo", "name")),
                    text("description", "ownershipTypeInfo", "description"),
                ],
            ),
            defined("corpGroup", "groups.yaml", group_parts()),
            defined(
                "structuredProperty",
                "structured_properties.yaml",
                property_parts(),
            ),
            defined(
                "tag",
                "tags.yaml",
                vec![
                    required(text("name", "tagProperties", "name")),
                    text("description", "tagProperties", "description"),
                    text("color", "tagProperties", "colorHex"),
                ],
            ),
            defined("domain", "domains.yaml", domain_parts()),
            defined(
                "glossaryNode",
                "glossary_groups.yaml",
                vec![
                    text("name", "glossaryNodeInfo", "name"),
                    parent("glossaryNodeInfo", "parentNode", &["glossaryNode"]),
                    part(
                        "description",
                        "glossaryNodeInfo",
                        Shape::Text,
                        Codec::Text("definition"),
                    ),
                    custom("glossaryNodeInfo"),
                ],
            ),
            defined("glossaryTerm", "glossary_terms.yaml", term_parts()),
            defined(
                "application",
                "applications.yaml",
                vec![
                    text("name", "applicationProperties", "name"),
                    parent(
                        "applicationProperties",
                        "parentApplication",
                        &["application"],
                    ),
                    text("description", "applicationProperties", "description"),
                    text("url", "applicationProperties", "externalUrl"),
                    custom("applicationProperties"),
                ],
            ),
            ingested("container", "containers", "editableContainerProperties"),
            ingested("dataset", "datasets", "editableDatasetProperties"),
            ingested("dashboard", "dashboards", "editableDashboardProperties"),
            ingested("chart", "charts", "editableChartProperties"),
            ingested("dataFlow", "pipelines", "editableDataFlowProperties"),
            ingested("dataJob", "tasks", "editableDataJobProperties"),
            ingested(
                "mlModelGroup",
                "ml_model_groups",
                "editableMlModelGroupProperties",
            ),
            ingested("mlModel", "ml_models", "editableMlModelProperties"),
            defined(
                "dataProduct",
                "data_products.yaml",
                vec![
                    text("name", "dataProductProperties", "name"),
                    parent(
                        "dataProductProperties",
                        "parentDataProduct",
                        &["dataProduct"],
                    ),
                    text("description", "dataProductProperties", "description"),
                    text("url", "dataProductProperties", "externalUrl"),
                    custom("dataProductProperties"),
                    part(
                        "assets",
                        "dataProductProperties",
                        Shape::List(&Shape::Record(&ASSET_FIELDS)),
                        ASSETS,
                    ),
                ],
            ),
        ]
    });
    &ALL
}

fn domain_parts() -> Vec<Part> {
    vec![
        required(text("name", "domainProperties", "name")),
        parent("domainProperties", "parentDomain", &["domain"]),
        text("description", "domainProperties", "description"),
        custom("domainProperties"),
    ]
}

fn group_parts() -> Vec<Part> {
    vec![
        text("name", "corpGroupInfo", "displayName"),
        text("description", "corpGroupEditableInfo", "description"),
        text("email", "corpGroupEditableInfo", "email"),
        text("slack", "corpGroupEditableInfo", "slack"),
    ]
}

fn term_parts() -> Vec<Part> {
    let info = "glossaryTermInfo";
    let related = |key, member| part(key, "glossaryRelatedTerms", TERMS, Codec::Member(member));
    vec![
        text("name", info, "name"),
        parent(info, "parentNode", &["glossaryNode"]),
        part("description", info, Shape::Text, Codec::Text("definition")),
        part("term_source", info, Shape::Text, TERM_SOURCE),
        text("source", info, "sourceRef"),
        text("source_url", info, "sourceUrl"),
        custom(info),
        related("is_a", "isRelatedTerms"),
        related("has", "hasRelatedTerms"),
        related("values", "values"),
        related("related", "relatedTerms"),
    ]
}

fn property_parts() -> Vec<Part> {
    let definition = "propertyDefinition";
    let settings = "structuredPropertySettings";
    let types = Shape::List(&ENTITY_TYPE);
    let allowed = Shape::List(&Shape::Record(&ALLOWED_VALUE_FIELDS));
    let cardinality = Shape::Choice(&["SINGLE", "MULTIPLE"]);
    let value_type = Shape::Short("urn:li:dataType:datahub.");
    vec![
        required(text("name", definition, "qualifiedName")),
        text("display_name", definition, "displayName"),
        text("description", definition, "description"),
        required(part(
            "value_type",
            definition,
            value_type,
            Codec::Member("valueType"),
        )),
        part(
            "allowed_types",
            definition,
            types,
            Codec::Member("typeQualifier.allowedTypes"),
        ),
        part("allowed_values", definition, allowed, ALLOWED_VALUES),
        part(
            "cardinality",
            definition,
            cardinality,
            Codec::Member("cardinality"),
        ),
        required(part(
            "entity_types",
            definition,
            types,
            Codec::Member("entityTypes"),
        )),
        flag("immutable", definition, "immutable"),
        text("version", definition, "version"),
        flag("hidden", settings, "isHidden"),
        flag("in_search_filters", settings, "showInSearchFilters"),
        flag("in_summary", settings, "showInAssetSummary"),
        flag(
            "hide_in_summary_when_empty",
            settings,
            "hideInAssetSummaryWhenEmpty",
        ),
        flag("as_badge", settings, "showAsAssetBadge"),
        flag("in_columns_table", settings, "showInColumnsTable"),
    ]
}

/// The kind of an entity type; `None` if files do not have it.
pub fn of_type(entity_type: &str) -> Option<&'static Kind> {
    all().iter().find(|kind| kind.entity_type == entity_type)
}

/// The table entry of a part.
pub(crate) fn part_of(kind: &'static Kind, id: &PartId) -> Option<&'static Part> {
    match id.column {
        Some(_) => COLUMN_PARTS.iter().find(|part| part.key == id.key),
        None => kind.part(id.key),
    }
}

impl Kind {
    /// The aspects that the parts are stored in.
    pub fn written_aspects(&self) -> Vec<&'static str> {
        let mut aspects: Vec<&str> = self.parts.iter().map(|part| part.aspect).collect();
        if self.has_columns {
            aspects.push(COLUMNS_ASPECT);
        }
        aspects.sort_unstable();
        aspects.dedup();
        aspects
    }

    /// The aspects that an export reads: those of the parts, and those in comments.
    pub fn read_aspects(&self) -> Vec<&'static str> {
        let mut aspects = self.written_aspects();
        if self.has_columns {
            aspects.extend(SHOWN_ASPECTS);
        }
        let registry = Registry::get();
        if let Some(entity) = registry.entity(self.entity_type) {
            let titles = SHOWN_TITLES.iter().map(|(aspect, _)| *aspect);
            aspects.extend(titles.filter(|title| {
                let title = registry.aspect(title);
                title.is_some_and(|title| entity.has_aspect(title))
            }));
        }
        aspects
    }

    /// Whether entities of the type belong to domains.
    pub fn has_domain(&self) -> bool {
        self.part("domain").is_some()
    }

    pub(crate) fn part(&self, key: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.key == key)
    }
}

/// The members that an aspect must have when it is new.
pub(crate) fn new_aspect(aspect: &str, stamp: &Stamp) -> Map<String, Value> {
    let value = match aspect {
        "corpGroupInfo" => json!({"admins": [], "members": [], "groups": []}),
        "glossaryNodeInfo" => json!({"definition": ""}),
        "glossaryTermInfo" => json!({"definition": "", "termSource": USUAL_TERM_SOURCE}),
        "glossaryTerms" => json!({"terms": [], "auditStamp": stamp.value()}),
        "ownershipTypeInfo" | "editableDatasetProperties" => json!({"created": stamp.value()}),
        COLUMNS_ASPECT => json!({COLUMNS_LIST: [], "created": stamp.value()}),
        _ => json!({}),
    };
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// The aspects that say when they were last changed.
pub(crate) fn is_stamped(aspect: &str) -> bool {
    [
        "ownership",
        "ownershipTypeInfo",
        "editableDatasetProperties",
        "editableDashboardProperties",
        "editableChartProperties",
        "editableDataFlowProperties",
        "editableDataJobProperties",
        "propertyDefinition",
        "structuredPropertySettings",
        COLUMNS_ASPECT,
    ]
    .contains(&aspect)
}

//! The changes of an entity, the versions of a schema, and a dataset as it was.

use docent_catalog::Error;
use docent_catalog::search::whole;
use docent_catalog::timeline::{
    Category, DocumentChange, DocumentChangeKind, Moment, Operation, SchemaVersion, SemanticVersion,
};
use docent_model::{AspectName, Registry, SystemMetadata, Urn};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::resolve::BatchResult;
use crate::{Args, Context, EntityView, Resolvers};

/// How many transactions of an entity are returned.
const MAX_TRANSACTIONS: usize = 100;

/// How far back the changes of a document are returned without a start: 30 days.
const DOCUMENT_CHANGES_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// The aspects of `VersionedDataset`.
const VERSIONED: [&str; 16] = [
    "applications",
    "container",
    "datasetDeprecation",
    "datasetProperties",
    "deprecation",
    "domains",
    "editableDatasetProperties",
    "editableSchemaMetadata",
    "globalTags",
    "glossaryTerms",
    "institutionalMemory",
    "ownership",
    "schemaMetadata",
    "status",
    "subTypes",
    "viewProperties",
];

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .query("getTimeline", get_timeline)
        .query("getSchemaBlame", get_schema_blame)
        .query("getSchemaVersionList", get_schema_version_list)
        .query_by_urn("versionedDataset")
        .entity_field("versionedAspects", versioned_aspects)
        .entity_field("documentChanges", document_changes)
}

async fn get_timeline(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        urn: String,
        change_categories: Option<Vec<String>>,
        include_version_set: Option<bool>,
    }
    let input: Input = arguments.input()?;
    let urn = Registry::get().parse_urn(&input.urn)?;
    let categories = match input.change_categories {
        Some(names) => names
            .iter()
            .map(|name| Category::parse(name))
            .collect::<Result<Vec<_>, _>>()?,
        None => Category::all(),
    };
    // The schema has no value for it.
    let categories: Vec<Category> = categories
        .into_iter()
        .filter(|category| *category != Category::Lifecycle)
        .collect();
    let catalog = &context.catalog;
    let (mut moments, skipped) = if input.include_version_set == Some(true) {
        let merged = catalog.timeline_of_versions(&urn, &categories).await?;
        (merged.moments, merged.skipped)
    } else {
        let moments = catalog.timeline(&urn, &categories, None, None).await?;
        (moments, 0)
    };
    if input.include_version_set != Some(true) {
        moments.drain(..moments.len().saturating_sub(MAX_TRANSACTIONS));
    }
    Ok(json!({
        "changeTransactions": moments.iter().map(transaction).collect::<Vec<_>>(),
        "skippedVersionCount": skipped,
    }))
}

fn transaction(moment: &Moment) -> Value {
    let stamp = json!({"time": moment.time_ms, "actor": moment.actor});
    let changes = moment.events.iter().map(|event| {
        json!({
            "urn": event.entity,
            "aspectName": event.aspect,
            "category": event.category.name(),
            "operation": event.operation.name(),
            "modifier": event.modifier,
            "parameters": entries(&event.parameters),
            "auditStamp": stamp,
            "description": event.description,
        })
    });
    json!({
        "timestampMillis": moment.time_ms,
        "lastSemanticVersion": format!("{}-computed", moment.version),
        "versionStamp": moment.version_stamp,
        "changeType": Operation::Modify.name(),
        "actor": moment.actor,
        "changes": changes.collect::<Vec<_>>(),
    })
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

async fn get_schema_blame(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        dataset_urn: String,
        version: Option<String>,
    }
    let input: Input = arguments.input()?;
    let dataset = Registry::get().parse_urn(&input.dataset_urn)?;
    let version = input.version.as_deref().map(|text| {
        SemanticVersion::parse(text).ok_or_else(|| {
            Error::invalid(format!(
                "'{text}' is not a version: use one like 1.0.0, of getSchemaVersionList"
            ))
        })
    });
    let catalog = &context.catalog;
    let blame = catalog.schema_blame(&dataset, version.transpose()?).await?;
    let Some(blame) = blame else {
        return Ok(json!({}));
    };
    let columns = blame.columns.iter().map(|change| {
        let verb = match change.operation {
            Operation::Create | Operation::Add => "Added",
            Operation::Modify => "Modified",
            Operation::Remove => "Removed",
        };
        let version = change.version.version.to_string();
        json!({
            "fieldPath": change.path,
            "schemaFieldChange": {
                "timestampMillis": change.version.time_ms,
                "lastSchemaFieldChange": format!("{verb} in v{version}"),
                "lastSemanticVersion": version,
                "versionStamp": change.version.version_stamp,
                "changeType": change.operation.name(),
            },
        })
    });
    Ok(json!({
        "version": version_struct(&blame.version),
        "schemaFieldBlameList": columns.collect::<Vec<_>>(),
    }))
}

async fn get_schema_version_list(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        dataset_urn: String,
    }
    let input: Input = arguments.input()?;
    let dataset = Registry::get().parse_urn(&input.dataset_urn)?;
    let versions = context.catalog.schema_versions(&dataset).await?;
    let Some(latest) = versions.last().map(version_struct) else {
        return Ok(Value::Null);
    };
    let list: Vec<Value> = versions.iter().rev().map(version_struct).collect();
    Ok(json!({
        "latestVersion": latest,
        "version": latest,
        "semanticVersionList": list,
    }))
}

fn version_struct(version: &SchemaVersion) -> Value {
    json!({
        "semanticVersion": version.version.to_string(),
        "semanticVersionTimestamp": version.time_ms,
        "versionStamp": version.version_stamp,
    })
}

/// The changes of documents in a time range.
async fn document_changes(
    context: &Context,
    documents: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let catalog = &context.catalog;
    let through_ms = arguments.member::<Option<i64>>("endTimeMillis")?;
    let through_ms = through_ms.unwrap_or_else(|| catalog.now_ms());
    let from_ms = arguments.member::<Option<i64>>("startTimeMillis")?;
    let from_ms = from_ms.unwrap_or_else(|| through_ms.saturating_sub(DOCUMENT_CHANGES_MS));
    let limit = arguments.member::<Option<i64>>("limit")?;
    let limit = whole("limit", limit, MAX_TRANSACTIONS)?.min(MAX_TRANSACTIONS);
    let mut results = Vec::with_capacity(documents.len());
    for urn in EntityView::urns(documents) {
        let changes = catalog.document_changes(&urn, (from_ms, through_ms), limit);
        results.push(
            changes
                .await
                .map(|it| it.iter().map(document_change).collect()),
        );
    }
    Ok(results)
}

fn document_change(change: &DocumentChange) -> Value {
    let kind = match change.kind {
        DocumentChangeKind::Created => "CREATED",
        DocumentChangeKind::Title => "TITLE_CHANGED",
        DocumentChangeKind::Text => "TEXT_CHANGED",
        DocumentChangeKind::Parent => "PARENT_CHANGED",
        DocumentChangeKind::RelatedDocuments => "RELATED_DOCUMENTS_CHANGED",
        DocumentChangeKind::RelatedAssets => "RELATED_ASSETS_CHANGED",
        DocumentChangeKind::State => "STATE_CHANGED",
    };
    json!({
        "changeType": kind,
        "description": change.description,
        "actor": change.actor,
        "timestamp": change.time_ms,
        "details": entries(&change.details),
    })
}

fn entries(parameters: &Map<String, Value>) -> Vec<Value> {
    let entry = |(key, value): (&String, &Value)| json!({"key": key, "value": text(value)});
    parameters.iter().map(entry).collect()
}

/// The aspects of datasets in the versions of the stamp that the root field got.
async fn versioned_aspects(
    context: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let stamp = arguments.member::<Option<String>>("versionStamp")?;
    let mut results = Vec::with_capacity(entities.len());
    for urn in EntityView::urns(entities) {
        results.push(aspects_at(context, &urn, stamp.as_deref().unwrap_or_default()).await);
    }
    Ok(results)
}

async fn aspects_at(context: &Context, urn: &Urn, stamp: &str) -> Result<Value, Error> {
    let aspects: Vec<AspectName> = VERSIONED
        .iter()
        .filter_map(|name| Registry::get().aspect(name))
        .collect();
    let rows = context.catalog.aspects_at(urn, &aspects, stamp).await?;
    let mut found = Map::new();
    for (aspect, row) in rows {
        let Some(row) = row else {
            continue;
        };
        let mut value: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
        let metadata = row.system_metadata.as_deref();
        let metadata = metadata.and_then(|it| serde_json::from_str::<SystemMetadata>(it).ok());
        if aspect == AspectName::SCHEMA_METADATA
            && let (Some(schema), Some(metadata)) = (value.as_object_mut(), metadata)
        {
            schema.insert("lastObserved".to_owned(), json!(metadata.last_observed));
        }
        found.insert(aspect.as_str().to_owned(), value);
    }
    Ok(Value::Object(found))
}

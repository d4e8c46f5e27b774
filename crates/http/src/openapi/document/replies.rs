//! The bodies of successful responses. To describe one, add its route to [`of`].

use docent_model::EntitySpec;
use serde_json::{Value, json};

use super::routes::Operation;
use super::{list, reference};

const GRAPHQL_RESPONSE: &str = "application/graphql-response+json";

/// A body: its media types and schema.
pub(super) struct Reply {
    media_types: &'static [&'static str],
    schema: Value,
}

impl Reply {
    /// As the document has it in a response.
    pub(super) fn content(&self) -> Value {
        let types = self.media_types.iter();
        let types = types.map(|name| ((*name).to_owned(), json!({"schema": self.schema})));
        Value::Object(types.collect())
    }
}

/// The further content of a rejection: GraphQL requests get one of two media types.
pub(super) fn add_rejection(operation: &Operation, content: &mut Value) {
    if is_graphql(operation) {
        content[GRAPHQL_RESPONSE] = json!({"schema": reference("GraphqlReply")});
    }
}

fn is_graphql(operation: &Operation) -> bool {
    matches!(operation.path, "/api/graphql" | "/api/v2/graphql")
}

/// The body of a successful response; `None` if it is empty.
pub(super) fn of(operation: &Operation, entity: Option<&EntitySpec>) -> Option<Reply> {
    let own = |name: &str| reference(&format!("{name}.Entity"));
    let entity = entity.map_or_else(|| reference("Entity"), |entity| own(entity.name));
    let schema = match (operation.method, operation.path) {
        ("head", _)
        | (
            _,
            "/admin"
            | "/health"
            | "/health/live"
            | "/health/ready"
            | "/check/ready"
            | "/openapi/openlineage/api/v1/lineage",
        ) => return None,
        (_, "/" | "/openapi/swagger-ui/index.html") => return Some(text(&["text/html"])),
        (_, "/metrics") => return Some(text(&["text/plain"])),
        (_, "/openapi/swagger-ui/page.js") => return Some(text(&["text/javascript"])),
        (_, "/openapi/swagger-ui/page.css") => return Some(text(&["text/css"])),
        ("get", "/openapi/v3/entity/{type}") | (_, "/openapi/v3/entity/scroll") => page(&entity),
        (
            "get",
            "/openapi/v3/entity/{type}/{urn}/{aspect}" | "/openapi/v2/entity/{type}/{urn}/{aspect}",
        ) => reference("Aspect"),
        ("delete", "/openapi/v3/entity/versioning/{set}/relationship/versionOf/{urn}")
        | ("post", "/openapi/entities/v1" | "/openapi/v2/platform/entities/v1") => {
            list(&json!({"type": "string", "format": "urn"}))
        }
        ("post", "/openapi/v3/entity/versioning/{set}/relationship/versionOf/{urn}")
        | (
            _,
            "/openapi/v3/logical/{urn}/relationship/physicalInstanceOf"
            | "/openapi/v3/logical/{urn}/relationship/physicalInstanceOf/{parent}",
        ) => list(&reference("WrittenEntity")),
        ("delete", "/openapi/entities/v1") => list(&json!({"type": "object"})),
        ("delete", _) => reference("Deleted"),
        ("get", "/openapi/v3/entity/{type}/{urn}") => entity,
        (_, "/openapi/v3/entity/{type}/{urn}/{aspect}") => reference("WrittenEntity"),
        (_, "/openapi/v3/entity/generic") => {
            json!({"type": "object", "additionalProperties": list(&reference("WrittenEntity"))})
        }
        (_, "/openapi/v3/entity/{type}") => list(&reference("WrittenEntity")),
        (_, "/openapi/v3/entity/{type}/batchGet" | "/openapi/v3/entity/generic/batchGet") => {
            list(&entity)
        }
        (
            _,
            "/openapi/v2/relationship/scroll"
            | "/openapi/v2/relationship/{name}"
            | "/openapi/v2/relationship/{name}/{urn}"
            | "/openapi/v3/relationship/scroll"
            | "/openapi/v3/relationship/{name}"
            | "/openapi/v3/relationship/{name}/{urn}",
        ) => reference("Edges"),
        (_, "/openapi/v3/lineage/scroll") => reference("LineageEdges"),
        (_, "/openapi/v1/events/audit/search") => reference("AuditPage"),
        (_, "/openapi/v1/events/poll") => reference("EventPage"),
        (_, "/events") => reference("FeedPage"),
        (_, "/openapi/v1/trace/write/{trace}") => reference("WriteStatus"),
        (_, "/openapi/v1/system-info") => {
            let components = json!({"springComponents": reference("Components")});
            record(&["springComponents"], &components)
        }
        (_, "/openapi/v1/system-info/spring-components") => reference("Components"),
        (_, "/openapi/v1/system-info/properties") => reference("Properties"),
        (_, "/openapi/v1/system-info/properties/simple") => {
            json!({"type": "object", "additionalProperties": {"type": "string"}})
        }
        (_, "/openapi/v1/tracking/track") => json!({"type": "object"}),
        (_, "/openapi/v2/timeseries/{entity}/{aspect}") => reference("PointPage"),
        (_, "/openapi/v2/timeline/v1/{urn}" | "/openapi/timeline/v1/{urn}") => {
            list(&reference("Transaction"))
        }
        (_, "/openapi/v1/registry/models/entity/specifications") => reference("EntityTypes"),
        ("get", "/openapi/v2/entity/{type}/{urn}")
        | (_, "/openapi/v2/entity/{type}/{urn}/{aspect}") => reference("EntityV2"),
        ("get", "/openapi/v2/entity/{type}") => reference("EntityPageV2"),
        (_, "/openapi/v2/entity/{type}") => list(&reference("EntityV2")),
        (_, "/openapi/v2/entity/batch/{type}") => reference("EntityBatch"),
        (_, "/openapi/relationships/v1") => reference("RelatedEntities"),
        (_, "/relationships") => reference("Relationships"),
        (_, "/aspects/{urn}") => reference("VersionedAspect"),
        (_, "/entitiesV2") => reference("EntityResponses"),
        (_, "/entitiesV2/{urn}") => reference("EntityResponse"),
        (_, "/entities/{urn}") => reference("Snapshot"),
        (
            "post",
            "/aspects" | "/entities" | "/runs" | "/usageStats" | "/operations" | "/analytics",
        ) => reference("ActionResult"),
        _ if is_graphql(operation) => reference("GraphqlReply"),
        _ => json!({"type": "object"}),
    };
    let media_types: &[&str] = if is_graphql(operation) {
        &["application/json", GRAPHQL_RESPONSE]
    } else {
        &["application/json"]
    };
    Some(Reply {
        media_types,
        schema,
    })
}

fn text(media_types: &'static [&'static str]) -> Reply {
    Reply {
        media_types,
        schema: json!({"type": "string"}),
    }
}

fn page(entity: &Value) -> Value {
    let properties = json!({
        "entities": list(entity),
        "scrollId": {"type": "string", "nullable": true},
        "totalCount": {"type": "integer"},
    });
    record(&["entities"], &properties)
}

fn record(required: &[&str], properties: &Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties})
}

/// An entity in the reply to a write, with the aspects that the request named.
fn written_entity() -> Value {
    let any = json!({"type": "object"});
    let mut aspect = record(&["value"], &json!({"value": any, "systemMetadata": any}));
    aspect["nullable"] = json!(true);
    aspect["description"] =
        json!("Null if the aspect does not exist, or if the reply would be too long");
    let urn = json!({"type": "string", "format": "urn"});
    let mut entity = record(&["urn"], &json!({"urn": urn}));
    entity["additionalProperties"] = aspect;
    entity
}

fn graphql_reply() -> Value {
    let any = json!({"type": "object"});
    let error = json!({"message": {"type": "string"}, "extensions": any});
    record(
        &["extensions"],
        &json!({
            "data": {"type": "object", "nullable": true},
            "errors": list(&record(&["message"], &error)),
            "extensions": any,
        }),
    )
}

fn event_page() -> Value {
    let text = json!({"type": "string"});
    let event = record(
        &["contentType", "value"],
        &json!({"contentType": text, "value": text}),
    );
    let properties =
        json!({"offsetId": text, "count": {"type": "integer"}, "events": list(&event)});
    record(&["offsetId", "count", "events"], &properties)
}

fn audit_page() -> Value {
    let number = json!({"type": "integer"});
    let event = json!({
        "eventType": {"type": "string"},
        "timestamp": number,
        "actorUrn": {"type": "string", "format": "urn"},
    });
    record(
        &["count", "total", "usageEvents"],
        &json!({
            "nextScrollId": {"type": "string", "nullable": true},
            "count": number,
            "total": number,
            "usageEvents": list(&record(&["eventType", "timestamp", "actorUrn"], &event)),
        }),
    )
}

fn point_page() -> Value {
    let text = json!({"type": "string"});
    let any = json!({"type": "object"});
    let point = record(
        &["timestampMillis", "urn", "event"],
        &json!({
            "timestampMillis": {"type": "integer"},
            "urn": {"type": "string", "format": "urn"},
            "event": any,
            "messageId": text,
            "systemMetadata": any,
        }),
    );
    record(
        &["results"],
        &json!({"scrollId": text, "results": list(&point)}),
    )
}

fn properties() -> Value {
    let any = json!({"type": "object"});
    let number = json!({"type": "integer"});
    let properties = json!({
        "properties": {"type": "object", "additionalProperties": any},
        "propertySources": list(&any),
        "totalProperties": number,
        "redactedProperties": number,
    });
    let names = [
        "properties",
        "propertySources",
        "totalProperties",
        "redactedProperties",
    ];
    record(&names, &properties)
}

fn components() -> Value {
    let text = json!({"type": "string"});
    let properties = json!({"type": "object"});
    let component = record(
        &["name", "status", "version", "properties"],
        &json!({"name": text, "status": text, "version": text, "properties": properties}),
    );
    let names = ["gms", "maeConsumer", "mceConsumer"];
    let components: serde_json::Map<_, _> = names
        .iter()
        .map(|name| ((*name).to_owned(), component.clone()))
        .collect();
    record(&names, &components.into())
}

/// The schemas that [`of`] refers to, and no request.
pub(super) fn schemas() -> Value {
    let urn = json!({"type": "string", "format": "urn"});
    let number = json!({"type": "integer"});
    let text = json!({"type": "string"});
    let any = json!({"type": "object"});
    let edge_end = record(
        &["urn", "entityType"],
        &json!({"urn": urn, "entityType": text}),
    );
    let mut edge = json!({"relationshipType": text, "source": edge_end, "destination": edge_end});
    let edges = |edge: &Value, required: &[&str]| {
        let properties = json!({
            "results": list(&record(required, edge)),
            "scrollId": {"type": "string", "nullable": true},
        });
        record(&["results", "scrollId"], &properties)
    };
    let plain_edges = edges(&edge, &["relationshipType", "source", "destination"]);
    edge["upstream"] = urn.clone();
    edge["downstream"] = urn.clone();
    let ends = [
        "relationshipType",
        "source",
        "destination",
        "upstream",
        "downstream",
    ];
    let lineage_edges = edges(&edge, &ends);
    let counted = |name: &str, items: &Value| {
        let properties =
            json!({"start": number, "count": number, "total": number, name: list(items)});
        record(&["start", "count", "total", name], &properties)
    };
    let related = json!({"relationshipType": text, "urn": urn});
    let relationship = json!({"type": text, "entity": urn});
    json!({
        "WrittenEntity": written_entity(),
        "Deleted": record(
            &["urn", "rows", "timeseriesRows"],
            &json!({"urn": urn, "rows": number, "timeseriesRows": number}),
        ),
        "Edges": plain_edges,
        "LineageEdges": lineage_edges,
        "EntityV2": record(&["urn", "aspects"], &json!({"urn": urn, "aspects": any})),
        "EntityPageV2": record(
            &["results"],
            &json!({"results": list(&reference("EntityV2")), "scrollId": text}),
        ),
        "EventPage": event_page(),
        "FeedPage": record(&["next", "events"], &json!({"next": text, "events": list(&any)})),
        "AuditPage": audit_page(),
        "WriteStatus": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": any}},
        "Transaction": record(
            &["timestamp", "actor", "changeEvents"],
            &json!({"timestamp": number, "actor": urn, "semVer": text, "changeEvents": list(&any)}),
        ),
        "EntityTypes": counted("elements", &record(
            &["name", "keyAspectName", "aspectSpecs"],
            &json!({"name": text, "keyAspectName": text, "aspectSpecs": list(&any)}),
        )),
        "PointPage": point_page(),
        "Components": components(),
        "Properties": properties(),
        "EntityBatch": record(
            &["entities"],
            &json!({"entities": list(&record(
                &["urn", "aspects"],
                &json!({"urn": urn, "aspects": {"type": "object", "additionalProperties": reference("Aspect")}}),
            ))}),
        ),
        "RelatedEntities": counted("entities", &record(&["relationshipType", "urn"], &related)),
        "Relationships": counted("relationships", &record(&["type", "entity"], &relationship)),
        "VersionedAspect": record(&["aspect", "version"], &json!({"aspect": any, "version": number})),
        "EntityResponses": record(
            &["results"],
            &json!({"results": {"type": "object", "additionalProperties": reference("EntityResponse")}}),
        ),
        "EntityResponse": record(
            &["urn", "entityName", "aspects"],
            &json!({
                "urn": urn,
                "entityName": text,
                "aspects": {"type": "object", "additionalProperties": record(
                    &["name", "type", "version", "value"],
                    &json!({"name": text, "type": text, "version": number, "value": any}),
                )},
            }),
        ),
        "Snapshot": record(&["value"], &json!({"value": any})),
        "ActionResult": {"type": "object", "properties": {"value": {}}},
        "GraphqlReply": graphql_reply(),
    })
}

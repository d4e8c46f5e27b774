"""A catalog with one entity of each type that tools of agents handle."""

from recipes import column

PLATFORM = "urn:li:dataPlatform:hive"
DATASET = f"urn:li:dataset:({PLATFORM},agent.orders,PROD)"
UPSTREAM = f"urn:li:dataset:({PLATFORM},agent.raw_orders,PROD)"
CHART = "urn:li:chart:(looker,agent.chart)"
TAG, OTHER_TAG = "urn:li:tag:agent-pii", "urn:li:tag:agent-old"
TERM = "urn:li:glossaryTerm:AgentPerson"
DOMAIN = "urn:li:domain:agent-domain"
USER, GROUP = "urn:li:corpuser:agent-user", "urn:li:corpGroup:agent-group"
QUERY = "urn:li:query:agent-query"
DOCUMENT = "urn:li:document:agent-document"
ASSERTION = "urn:li:assertion:agent-assertion"
PROPERTY = "urn:li:structuredProperty:agent.retention"
STAMP = {"time": 1700000000000, "actor": USER}


def _column(path: str, description: str) -> dict:
    return {
        "fieldPath": path,
        "description": description,
        "nullable": False,
        "nativeDataType": "varchar(10)",
        "recursive": False,
        "type": {"type": {"com.linkedin.schema.StringType": {}}},
    }


def _dataset(urn: str) -> dict:
    fields = [_column("id", "the number"), _column("email", "the address"), _column("note", "a remark")]
    return {
        "urn": urn,
        "datasetProperties": {"name": urn.split(",")[1], "description": "orders of the agent", "customProperties": {"a": "b"}},
        "schemaMetadata": {
            "schemaName": "orders",
            "platform": PLATFORM,
            "version": 0,
            "hash": "",
            "platformSchema": {"com.linkedin.schema.MySqlDDL": {"tableSchema": "create table orders"}},
            "fields": fields,
        },
    }


ENTITIES = [
    _dataset(UPSTREAM),
    _dataset(DATASET)
    | {
        "upstreamLineage": {
            "upstreams": [{"dataset": UPSTREAM, "type": "TRANSFORMED", "auditStamp": STAMP}],
            "fineGrainedLineages": [
                {
                    "upstreamType": "FIELD_SET",
                    "downstreamType": "FIELD",
                    "upstreams": [column(UPSTREAM, "email")],
                    "downstreams": [column(DATASET, "email")],
                }
            ],
        }
    },
    {
        "urn": CHART,
        "chartInfo": {
            "title": "Agent chart",
            "description": "orders over time",
            "lastModified": {"created": STAMP, "lastModified": STAMP},
            "inputs": [{"string": DATASET}],
        },
    },
    {"urn": TAG, "tagProperties": {"name": "Agent PII"}},
    {"urn": OTHER_TAG, "tagProperties": {"name": "Agent old"}},
    {"urn": TERM, "glossaryTermInfo": {"name": "Agent person", "definition": "A person", "termSource": "INTERNAL"}},
    {"urn": DOMAIN, "domainProperties": {"name": "Agent domain"}},
    {"urn": USER, "corpUserInfo": {"active": True, "displayName": "Agent user", "email": "agent@example.com"}},
    {"urn": GROUP, "corpGroupInfo": {"displayName": "Agent group", "admins": [], "members": [], "groups": []}},
    {
        "urn": QUERY,
        "queryProperties": {
            "statement": {"value": "select id from orders", "language": "SQL"},
            "source": "MANUAL",
            "name": "Agent query",
            "created": STAMP,
            "lastModified": STAMP,
        },
        "querySubjects": {"subjects": [{"entity": DATASET}, {"entity": column(DATASET, "id")}]},
    },
    {
        "urn": ASSERTION,
        "assertionInfo": {
            "type": "VOLUME",
            "entityUrn": DATASET,
            "volumeAssertion": {
                "type": "ROW_COUNT_TOTAL",
                "entity": DATASET,
                "rowCountTotal": {"operator": "GREATER_THAN", "parameters": {"value": {"value": "10", "type": "NUMBER"}}},
            },
        },
    },
    {
        "urn": PROPERTY,
        "propertyDefinition": {
            "qualifiedName": "agent.retention",
            "displayName": "Retention",
            "valueType": "urn:li:dataType:datahub.number",
            "entityTypes": ["urn:li:entityType:datahub.dataset"],
            "allowedValues": [{"value": {"double": 30}}, {"value": {"double": 90}}],
        },
    },
    {
        "urn": DOCUMENT,
        "documentInfo": {
            "title": "Agent runbook",
            "contents": {"text": "restart the orders pipeline"},
            "created": STAMP,
            "lastModified": STAMP,
            "status": {"state": "PUBLISHED"},
        },
    },
]


def write(server) -> None:
    """Writes the entities."""
    for entity in ENTITIES:
        kind = entity["urn"].split(":")[2]
        body = [{name: value if name == "urn" else {"value": value} for name, value in entity.items()}]
        reply = server.request("POST", f"/openapi/v3/entity/{kind}?async=false", body)
        assert reply.status == 200, reply.text

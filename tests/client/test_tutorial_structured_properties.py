"""The requests of the structured properties tutorial: GraphQL and both versions of OpenAPI."""

from urllib.parse import quote

import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import StatusClass, StructuredPropertyDefinitionClass
from datahub.metadata.urns import DatasetUrn
from datahub.sdk import DataHubClient, Dataset

NUMBER = "urn:li:dataType:datahub.number"
TEXT = "urn:li:dataType:datahub.string"
KEYED = {"properties": ["propertyUrn"]}


@pytest.fixture
def dataset(server, unique):
    DataHubClient.from_env().entities.upsert(Dataset(platform="hive", name=unique))
    return str(DatasetUrn("hive", unique))


@pytest.fixture
def days(unique):
    return f"urn:li:structuredProperty:com.example.{unique}"


def definition(property_urn, **changed):
    """How long data is retained: some numbers of days."""
    return {
        "qualifiedName": property_urn.rpartition(":")[2],
        "displayName": "Days kept",
        "description": "After that, rows are deleted",
        "valueType": NUMBER,
        "cardinality": "MULTIPLE",
        "entityTypes": ["urn:li:entityType:datahub.dataset"],
        "allowedValues": [{"value": {"double": day}} for day in (30, 60, 365)],
    } | changed


def path(version, urn, aspect, **query):
    """The path of an aspect over OpenAPI."""
    query = "&".join(f"{name}={value}" for name, value in query.items())
    return f"/openapi/{version}/entity/{urn.split(':')[2]}/{quote(urn, safe='')}/{aspect}?{query}"


def written(version, value):
    return {"value": value} if version == "v3" else value


@pytest.fixture
def defined(server, days):
    """A property that exists, and the request that stores values of it."""
    stored = server.request("POST", path("v3", days, "propertyDefinition"), {"value": definition(days)})
    assert stored.status == 200, stored.text
    return days


def values(*numbers):
    return [{"double": number} for number in numbers]


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_a_property_is_defined_and_read(version, server, days, read):
    sent = definition(days)
    created = server.request("POST", path(version, days, "propertyDefinition"), written(version, sent))
    assert created.status == 200, created.text
    assert created.json()["urn"] == days
    assert read(days, "propertyDefinition")["allowedValues"] == sent["allowedValues"]
    found = server.request("GET", path(version, days, "propertyDefinition")).json()["value"]
    assert {name: found[name] for name in sent} == sent
    again = server.request("POST", path(version, days, "propertyDefinition"), written(version, sent))
    assert again.status == 409


def test_a_property_is_defined_changed_and_read_over_graphql(server, days):
    create = "mutation ($input: CreateStructuredPropertyInput!) { createStructuredProperty(input: $input) { urn } }"
    name = days.rpartition(":")[2]
    created = server.graphql(
        create,
        input={
            "id": name,
            "qualifiedName": name,
            "displayName": "Days kept",
            "valueType": NUMBER,
            "cardinality": "SINGLE",
            "allowedValues": [{"numberValue": 30, "description": "a month"}, {"numberValue": 365}],
            "entityTypes": ["urn:li:entityType:datahub.dataset", "urn:li:entityType:datahub.dataFlow"],
        },
    )
    assert created["createStructuredProperty"]["urn"] == days
    update = "mutation ($input: UpdateStructuredPropertyInput!) { updateStructuredProperty(input: $input) { urn } }"
    server.graphql(update, input={"urn": days, "description": "After that, rows are deleted"})
    query = """query ($urn: String!) { structuredProperty(urn: $urn) { type definition {
        qualifiedName displayName description cardinality
        allowedValues { description value { ... on StringValue { stringValue } ... on NumberValue { numberValue } } }
        entityTypes { urn info { type qualifiedName } } } } }"""
    found = server.graphql(query, urn=days)["structuredProperty"]
    assert found["type"] == "STRUCTURED_PROPERTY"
    assert found["definition"] == {
        "qualifiedName": name,
        "displayName": "Days kept",
        "description": "After that, rows are deleted",
        "cardinality": "SINGLE",
        "allowedValues": [
            {"description": "a month", "value": {"numberValue": 30}},
            {"description": None, "value": {"numberValue": 365}},
        ],
        "entityTypes": [
            {"urn": "urn:li:entityType:datahub.dataset", "info": {"type": "DATASET", "qualifiedName": "datahub.dataset"}},
            {
                "urn": "urn:li:entityType:datahub.dataFlow",
                "info": {"type": "DATA_FLOW", "qualifiedName": "datahub.dataFlow"},
            },
        ],
    }


def test_properties_are_listed(server, defined):
    listed = "/openapi/v3/entity/structuredproperty?aspects=propertyDefinition&aspects=structuredPropertyKey"
    reply = server.request("GET", f"{listed}&count=1000&sortCriteria=urn&sortOrder=ASCENDING&query=*").json()
    (found,) = [entity for entity in reply["entities"] if entity["urn"] == defined]
    assert found["propertyDefinition"]["value"]["displayName"] == "Days kept"
    assert found["structuredPropertyKey"]["value"] == {"id": defined.rpartition(":")[2]}


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_values_are_set_added_and_removed(version, server, dataset, defined, read):
    first = {"properties": [{"propertyUrn": defined, "values": values(60)}]}
    where = path(version, dataset, "structuredProperties")
    assert server.request("POST", where, written(version, first)).status == 200
    assert read(dataset, "structuredProperties")["properties"][0]["values"] == values(60)
    patch = {"patch": [{"op": "remove", "path": f"/properties/{defined}"}], "arrayPrimaryKeys": KEYED}
    as_patch = {"Content-Type": "application/json-patch+json"}
    assert server.request("PATCH", where, patch, as_patch).status == 200
    assert read(dataset, "structuredProperties")["properties"] == []
    item = {"propertyUrn": defined, "values": values(365)}
    patch["patch"] = [{"op": "add", "path": f"/properties/{defined}", "value": item}]
    patched = server.request("PATCH", where, patch, as_patch)
    assert patched.status == 200, patched.text
    assert read(dataset, "structuredProperties")["properties"][0]["values"] == values(365)


def test_values_are_set_read_and_removed_over_graphql(server, dataset, defined):
    upsert = """mutation ($input: UpsertStructuredPropertiesInput!) { upsertStructuredProperties(input: $input) {
        properties { structuredProperty { urn } } } }"""
    params = [{"structuredPropertyUrn": defined, "values": [{"numberValue": 30}, {"numberValue": 60}]}]
    reply = server.graphql(upsert, input={"assetUrn": dataset, "structuredPropertyInputParams": params})
    assert reply["upsertStructuredProperties"]["properties"] == [{"structuredProperty": {"urn": defined}}]
    query = """query ($urn: String!) { dataset(urn: $urn) { structuredProperties { properties {
        structuredProperty { urn definition { displayName } }
        values { ... on StringValue { stringValue } ... on NumberValue { numberValue } } valueEntities { urn } } } } }"""
    (found,) = server.graphql(query, urn=dataset)["dataset"]["structuredProperties"]["properties"]
    assert found["structuredProperty"] == {"urn": defined, "definition": {"displayName": "Days kept"}}
    assert found["values"] == [{"numberValue": 30}, {"numberValue": 60}]
    remove = """mutation ($input: RemoveStructuredPropertiesInput!) { removeStructuredProperties(input: $input) {
        properties { structuredProperty { urn } } } }"""
    reply = server.graphql(remove, input={"assetUrn": dataset, "structuredPropertyUrns": [defined]})
    assert reply["removeStructuredProperties"]["properties"] == []


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_values_that_the_definition_does_not_allow_are_rejected(version, server, dataset, defined, read):
    for wrong in (values(31), [{"string": "sixty"}]):
        value = {"properties": [{"propertyUrn": defined, "values": wrong}]}
        reply = server.request("POST", path(version, dataset, "structuredProperties"), written(version, value))
        assert 400 <= reply.status < 500, reply.text
    assert read(dataset, "structuredProperties") is None


def test_a_deleted_property_is_restored_and_at_last_removed_with_its_values(server, dataset, defined, read):
    where = path("v3", dataset, "structuredProperties")
    value = {"properties": [{"propertyUrn": defined, "values": values(60)}]}
    assert server.request("POST", where, {"value": value}).status == 200
    status = path("v3", defined, "status", createIfNotExists="false")
    for removed in (True, False):
        assert server.request("POST", status, {"value": {"removed": removed}}).status == 200
        assert read(defined, "status") == {"removed": removed}
    graph = DataHubClient.from_env()._graph
    graph.emit(MetadataChangeProposalWrapper(entityUrn=defined, aspect=StatusClass(removed=True)))
    graph.soft_delete_entity(defined)
    deleted = server.request("DELETE", f"/openapi/v3/entity/structuredProperty/{quote(defined, safe='')}")
    assert deleted.status == 200, deleted.text
    assert read(defined, "propertyDefinition") is None
    assert read(dataset, "structuredProperties")["properties"] == []


def test_a_later_version_may_allow_less(server, defined, read):
    where = path("v3", defined, "propertyDefinition", createIfNotExists="false")
    less = definition(defined, cardinality="SINGLE")
    assert server.request("POST", where, {"value": less}).status == 400
    assert server.request("POST", where, {"value": less | {"version": "20240614080000"}}).status == 200
    stored = read(defined, "propertyDefinition")
    assert (stored["cardinality"], stored["version"]) == ("SINGLE", "20240614080000")
    read_back = DataHubClient.from_env()._graph.get_aspect(defined, StructuredPropertyDefinitionClass)
    assert read_back.cardinality == "SINGLE"


@pytest.fixture
def assigned(server, dataset, defined, days):
    """A dataset with a number and a text, and the property of the text."""
    words = f"{days}_words"
    other = definition(words, valueType=TEXT, cardinality="SINGLE", allowedValues=None)
    del other["allowedValues"]
    assert server.request("POST", path("v3", words, "propertyDefinition"), {"value": other}).status == 200
    properties = [
        {"propertyUrn": defined, "values": values(60)},
        {"propertyUrn": words, "values": [{"string": "bar2"}]},
    ]
    where = path("v3", dataset, "structuredProperties")
    assert server.request("POST", where, {"value": {"properties": properties}}).status == 200
    return words


def field(property_urn):
    return f"structuredProperties.{property_urn.rpartition(':')[2]}"


def test_values_are_found_by_filters(server, dataset, defined, assigned):
    query = """query ($input: ScrollAcrossEntitiesInput!) { scrollAcrossEntities(input: $input) {
        searchResults { entity { urn type } } } }"""

    def found(name, condition, *wanted):
        criterion = {"field": name, "condition": condition, "values": list(wanted)}
        asked = {"types": ["DATASET"], "count": 10, "query": "*", "orFilters": [{"and": [criterion]}]}
        results = server.graphql(query, input=asked)["scrollAcrossEntities"]["searchResults"]
        return [result["entity"]["urn"] for result in results]

    assert found(field(defined), "GREATER_THAN", "45.0") == [dataset]
    assert found(field(defined), "GREATER_THAN", "60.0") == []
    assert found(field(defined), "EXISTS") == [dataset]
    assert found(field(assigned), "EQUAL", "bar2") == [dataset]
    assert found(field(assigned), "EQUAL", "bar") == []


def test_values_are_found_by_queries(server, dataset, defined, assigned):
    def found(query):
        listed = "/openapi/v3/entity/dataset?aspects=datasetKey&aspects=structuredProperties&count=10&sort=urn"
        reply = server.request("GET", f"{listed}&sortOrder=ASCENDING&query={quote(query)}").json()
        return [(entity["urn"], len(entity["structuredProperties"]["value"]["properties"])) for entity in reply["entities"]]

    number = field(defined).replace("com.example.", "com_example_")
    text = field(assigned).replace("com.example.", "com_example_")
    assert found(f"{number}:>45") == [(dataset, 2)]
    assert found(f"{number}:>60") == []
    assert found(f"{number}:<=60") == [(dataset, 2)]
    assert found(f"_exists_:{number}") == [(dataset, 2)]
    versioned = text.replace("structuredProperties.", "structuredProperties._versioned.") + ".20240614080000.string"
    assert found(f"{versioned}:bar2") == [(dataset, 2)]
    assert found(f"{versioned}:foo2") == []


def test_values_are_counted(server, defined, assigned):
    query = """query ($input: AggregateAcrossEntitiesInput!) { aggregateAcrossEntities(input: $input) {
        facets { field aggregations { value count } } } }"""
    facets = [field(assigned), field(defined)]
    asked = {"types": [], "facets": facets, "query": "*", "orFilters": [], "searchFlags": {"maxAggValues": 100}}
    counted = server.graphql(query, input=asked)["aggregateAcrossEntities"]["facets"]
    assert counted == [
        {"field": field(assigned), "aggregations": [{"value": "bar2", "count": 1}]},
        {"field": field(defined), "aggregations": [{"value": "60.0", "count": 1}]},
    ]

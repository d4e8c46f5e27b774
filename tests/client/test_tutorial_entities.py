"""The scripts of the tutorials that create entities: tables, dashboards, jobs, services, agents and metrics."""

import pytest
from datahub.api.entities.agent.agent import Agent
from datahub.api.entities.agent.agent_skill import AgentSkill
from datahub.api.entities.agent.api import Api, ApiParam
from datahub.api.entities.common.large_string import make_large_string
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.mcp_builder import DatabaseKey, SchemaKey
from datahub.metadata.schema_classes import (
    RepositoryPropertiesClass,
    SemanticFieldTypeClass,
    ServiceDefinitionClass,
    ServiceDefinitionFormatClass,
    ServicePropertiesClass,
    SubTypesClass,
)
from datahub.metadata.urns import SemanticModelUrn
from datahub.sdk import Chart, Container, Dashboard, DataFlow, DataHubClient, DataJob, Dataset, Metric
from datahub.sdk import SemanticFieldInput, SemanticModel, SemanticModelDataset


@pytest.fixture
def sdk(server):
    return DataHubClient.from_env()


@pytest.fixture
def graph(sdk):
    return sdk._graph


def test_a_dataset_has_columns_and_containers(sdk, server, unique):
    database = Container(DatabaseKey(platform="snowflake", database=unique), display_name="Sales", subtype="Database")
    key = SchemaKey(platform="snowflake", database=unique, schema="public")
    schema = Container(key, display_name="public", subtype="Schema", parent_container=database)
    columns = [("zipcode", "varchar(10)", "Where it is"), ("price", "decimal")]
    dataset = Dataset(platform="snowflake", name=f"{unique}.public.t", schema=columns, parent_container=schema)
    for entity in (database, schema, dataset):
        sdk.entities.upsert(entity)
    query = """query ($urn: String!) { dataset(urn: $urn) { container { urn } parentContainers { count containers {
        properties { name } subTypes { typeNames } } } schemaMetadata { fields { fieldPath nativeDataType description } } } }"""
    found = server.graphql(query, urn=str(dataset.urn))["dataset"]
    assert found["container"] == {"urn": str(schema.urn)}
    assert [one["properties"]["name"] for one in found["parentContainers"]["containers"]] == ["public", "Sales"]
    assert found["schemaMetadata"]["fields"][0] == {
        "fieldPath": "zipcode",
        "nativeDataType": "varchar(10)",
        "description": "Where it is",
    }


def test_a_dashboard_has_charts_and_datasets(sdk, read, unique):
    dataset = Dataset(platform="hive", name=unique)
    chart = Chart(name=f"{unique}_chart", platform="looker", description="Sales by day", input_datasets=[dataset])
    dashboard = Dashboard(name=unique, platform="looker", description="All sales", charts=[chart], input_datasets=[dataset])
    for entity in (dataset, chart, dashboard):
        sdk.entities.upsert(entity)
    stored = read(dashboard.urn, "dashboardInfo")
    assert [edge["destinationUrn"] for edge in stored["chartEdges"]] == [str(chart.urn)]
    assert [edge["destinationUrn"] for edge in stored["datasetEdges"]] == [str(dataset.urn)]
    found = sdk.entities.get(chart.urn)
    assert (found.display_name, found.description) == (chart.display_name, "Sales by day")
    assert sdk.entities.get(dashboard.urn).description == "All sales"


def test_a_job_belongs_to_a_flow(sdk, server, unique):
    flow = DataFlow(platform="airflow", name=unique, description="Nightly")
    table = Dataset(platform="hive", name=unique)
    job = DataJob(name="load", flow=flow, description="Loads users", inlets=[table.urn])
    for entity in (flow, table, job):
        sdk.entities.upsert(entity)
    assert (sdk.entities.get(flow.urn).description, sdk.entities.get(job.urn).description) == ("Nightly", "Loads users")
    query = "query ($urn: String!) { dataJob(urn: $urn) { jobId dataFlow { urn } inputOutput { inputDatasets { urn } } } }"
    found = server.graphql(query, urn=str(job.urn))["dataJob"]
    assert found == {"jobId": "load", "dataFlow": {"urn": str(flow.urn)}, "inputOutput": {"inputDatasets": [{"urn": str(table.urn)}]}}


def test_a_service_consists_of_apis_and_has_a_repository(graph, read, unique):
    order = Api(
        id=f"{unique}./orders.POST",
        name="POST /orders",
        subtypes=["REST_ENDPOINT"],
        description="Places an order",
        parameters=[ApiParam(name="body", data_type="object", required=True)],
        returns=[ApiParam(name="order", data_type="object")],
        method="POST",
        path="/orders",
    )
    api = order.emit(graph)
    service, repository = f"urn:li:service:{unique}", f"urn:li:repository:{unique}"
    aspects = [
        ServicePropertiesClass(displayName="Orders", description="Takes orders", apis=[api]),
        ServiceDefinitionClass(format=ServiceDefinitionFormatClass.OPENAPI, rawSpec=make_large_string("openapi: 3.0.0")),
        SubTypesClass(typeNames=["REST_API"]),
    ]
    for proposal in MetadataChangeProposalWrapper.construct_many(service, aspects):
        graph.emit_mcp(proposal)
    about = RepositoryPropertiesClass(name="orders", defaultBranch="main", languages=["Java"])
    graph.emit_mcp(MetadataChangeProposalWrapper(entityUrn=repository, aspect=about))
    properties = graph.get_aspect(service, ServicePropertiesClass)
    properties.sourceRepository = repository
    graph.emit_mcp(MetadataChangeProposalWrapper(entityUrn=service, aspect=properties))
    stored = read(service, "serviceProperties")
    assert (stored["apis"], stored["sourceRepository"], stored["displayName"]) == ([api], repository, "Orders")
    assert read(api, "subTypes") == {"typeNames": ["REST_ENDPOINT"]}
    assert read(repository, "repositoryProperties")["languages"] == ["Java"]


def test_an_agent_has_skills_and_tools(graph, read, unique):
    tool = Api(id=f"{unique}.get", name="get", subtypes=["MCP_TOOL"], description="Gets orders").emit(graph)
    skill = AgentSkill(id=unique, name="Discovery", description="Finds tables", required_tools=[tool]).emit(graph)
    for version in ("1.0", "2.0"):
        urn = Agent(
            id=f"{unique}-{version[0]}",
            name="Assistant",
            description="Answers",
            skills=[skill],
            tools=[tool],
            version=version,
            version_set=unique,
        ).emit(graph)
        assert read(urn, "versionProperties")["version"]["versionTag"] == version
    needed = str(read(urn, "aiAgentDependencies"))
    assert skill in needed and tool in needed
    assert read(urn, "aiAgentInfo")["name"] == "Assistant"


def test_a_semantic_model_has_datasets_and_metrics(sdk, server, read, unique):
    urn = SemanticModelUrn(platform="snowflake", path="analytics", id=unique)
    measure = SemanticFieldInput(field_path="amount", type="float", semantic_type=SemanticFieldTypeClass.MEASURE)
    orders = SemanticModelDataset(
        platform="snowflake", name=f"{unique}.orders", semantic_model=urn, alias="ORDERS", schema=[measure]
    )
    model = SemanticModel(platform="snowflake", path="analytics", id=unique, name="Orders", datasets=[orders])
    revenue = Metric(
        platform="snowflake",
        path="analytics",
        id=f"{unique}_revenue",
        name="Revenue",
        semantic_model=urn,
        expression="SUM(amount)",
        upstream_datasets=[str(orders.urn)],
    )
    for entity in (orders, model, revenue):
        sdk.entities.upsert(entity)
    assert read(orders.urn, "semanticModelProperties") == {"alias": "ORDERS", "semanticModel": str(urn)}
    column = f"urn:li:schemaField:({orders.urn},amount)"
    assert read(column, "semanticFieldAnnotation")["type"] == "MEASURE"
    query = """query ($urn: String!) { metric(urn: $urn) { metricUpstreams { datasetUpstreams { destination { urn } } } } }"""
    found = server.graphql(query, urn=str(revenue.urn))["metric"]["metricUpstreams"]["datasetUpstreams"]
    assert found == [{"destination": {"urn": str(orders.urn)}}]
    assert sdk.entities.get(urn).urn == urn

"""The scripts of the tutorials about models: groups, experiments, training runs and feature stores."""

import time
from datetime import datetime, timezone

import datahub.metadata.schema_classes as models
import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.mcp_builder import ContainerKey
from datahub.ingestion.source.common.subtypes import MLAssetSubTypes
from datahub.metadata.urns import DataProcessInstanceUrn, GlossaryTermUrn, MlFeatureUrn, TagUrn
from datahub.sdk import DataHubClient, Dataset
from datahub.sdk.container import Container
from datahub.sdk.mlmodel import MLModel
from datahub.sdk.mlmodelgroup import MLModelGroup

MADE = datetime(2025, 4, 9, 22, 30, tzinfo=timezone.utc)


@pytest.fixture
def sdk(server):
    return DataHubClient.from_env()


@pytest.fixture
def group(sdk, unique):
    made = MLModelGroup(
        id=f"{unique}_group",
        platform="mlflow",
        name="Forecasts",
        description="Passengers of next year",
        created=MADE,
        last_modified=MADE,
        tags=["urn:li:tag:forecasting"],
        custom_properties={"team": "forecasting"},
    )
    sdk.entities.upsert(made)
    return made


@pytest.fixture
def model(sdk, unique):
    made = MLModel(
        id=f"{unique}_model",
        platform="mlflow",
        name="ARIMA",
        description="With seasons",
        version="1",
        aliases=["champion"],
        training_metrics={"accuracy": "0.9"},
        hyper_params={"learning_rate": "0.01"},
    )
    sdk.entities.upsert(made)
    return made


@pytest.fixture
def run(server, sdk, unique):
    """A training run that has failed."""
    urn = str(DataProcessInstanceUrn(f"{unique}_run"))
    stamp = models.AuditStampClass(time=1628580000000, actor="urn:li:corpuser:datahub")
    now = int(time.time() * 1000)
    aspects = [
        models.DataProcessInstancePropertiesClass(name="A run", created=stamp, customProperties={"team": "forecasting"}),
        models.MLTrainingRunPropertiesClass(
            id="run-1",
            outputUrls=["s3://bucket/output"],
            trainingMetrics=[models.MLMetricClass(name="accuracy", value="0.9")],
            hyperParams=[models.MLHyperParamClass(name="learning_rate", value="0.01")],
            externalUrl="https://mlflow.example.com/1",
        ),
        models.SubTypesClass(typeNames=[MLAssetSubTypes.MLFLOW_TRAINING_RUN]),
        models.DataProcessInstanceRunEventClass(timestampMillis=now, status="STARTED", attempt=1),
        models.DataProcessInstanceRunEventClass(
            timestampMillis=now + 1000,
            status="COMPLETE",
            attempt=1,
            durationMillis=1000,
            result=models.DataProcessInstanceRunResultClass(type="FAILURE", nativeResultType="FAILURE"),
        ),
    ]
    for proposal in MetadataChangeProposalWrapper.construct_many(urn, aspects):
        sdk._graph.emit(proposal)
    return urn


def test_a_model_group_is_written_and_read(server, group):
    query = """query ($urn: String!) { mlModelGroup(urn: $urn) { name properties { name description created { time } } } }"""
    found = server.graphql(query, urn=str(group.urn))["mlModelGroup"]
    assert found["name"] == group.urn.name
    created = {"time": int(MADE.timestamp() * 1000)}
    assert found["properties"] == {"name": "Forecasts", "description": "Passengers of next year", "created": created}


def test_a_model_with_a_version_is_written_and_read(server, model):
    query = """query ($urn: String!) { mlModel(urn: $urn) { properties { name description
        trainingMetrics { name value } hyperParams { name value } } versionProperties {
        version { versionTag } aliases { versionTag } } } }"""
    found = server.graphql(query, urn=str(model.urn))["mlModel"]
    assert found["properties"] == {
        "name": "ARIMA",
        "description": "With seasons",
        "trainingMetrics": [{"name": "accuracy", "value": "0.9"}],
        "hyperParams": [{"name": "learning_rate", "value": "0.01"}],
    }
    assert found["versionProperties"] == {"version": {"versionTag": "1"}, "aliases": [{"versionTag": "champion"}]}


def test_a_model_is_added_to_a_group(server, sdk, group, model):
    model.set_model_group(group.urn)
    sdk.entities.upsert(model)
    query = "query ($urn: String!) { mlModel(urn: $urn) { name properties { groups { urn properties { name } } } } }"
    found = server.graphql(query, urn=str(model.urn))["mlModel"]
    assert found["properties"]["groups"] == [{"urn": str(group.urn), "properties": {"name": "Forecasts"}}]


def test_an_experiment_contains_runs(server, sdk, run, unique):
    experiment = Container(
        container_key=ContainerKey(platform="mlflow", name=unique),
        display_name="Experiment",
        description="With passengers",
        extra_properties={"team": "forecasting"},
        created=MADE,
        subtype=MLAssetSubTypes.MLFLOW_EXPERIMENT,
    )
    sdk.entities.upsert(experiment)
    urn = str(experiment.urn)
    query = "query ($urn: String!) { container(urn: $urn) { properties { name description } } }"
    found = server.graphql(query, urn=urn)["container"]["properties"]
    assert found == {"name": "Experiment", "description": "With passengers"}
    contained = models.ContainerClass(container=urn)
    sdk._graph.emit(MetadataChangeProposalWrapper(entityUrn=run, aspect=contained))
    query = """query ($urn: String!) { dataProcessInstance(urn: $urn) { name
        parentContainers { containers { urn properties { name } } } } }"""
    found = server.graphql(query, urn=run)["dataProcessInstance"]
    assert found["name"] == "A run"
    assert found["parentContainers"]["containers"] == [{"urn": urn, "properties": {"name": "Experiment"}}]


def test_a_training_run_is_read_with_its_state(server, run):
    query = """query ($urn: String!) { dataProcessInstance(urn: $urn) { name created { time }
        properties { customProperties { key value } } subTypes { typeNames }
        mlTrainingRunProperties { id outputUrls trainingMetrics { name value } hyperParams { name value } }
        state(limit: 1) { status durationMillis result { resultType } } } }"""
    found = server.graphql(query, urn=run)["dataProcessInstance"]
    assert (found["name"], found["created"]["time"]) == ("A run", 1628580000000)
    assert found["properties"]["customProperties"] == [{"key": "team", "value": "forecasting"}]
    assert found["subTypes"] == {"typeNames": ["ML Training Run"]}
    assert found["mlTrainingRunProperties"] == {
        "id": "run-1",
        "outputUrls": ["s3://bucket/output"],
        "trainingMetrics": [{"name": "accuracy", "value": "0.9"}],
        "hyperParams": [{"name": "learning_rate", "value": "0.01"}],
    }
    assert found["state"] == [{"status": "COMPLETE", "durationMillis": 1000, "result": {"resultType": "FAILURE"}}]


@pytest.mark.parametrize("kind", ["mlModel", "mlModelGroup"])
def test_a_run_is_the_training_job_of_what_it_made(kind, server, sdk, group, model, run, unique):
    made = model if kind == "mlModel" else group
    made.add_training_job(DataProcessInstanceUrn.from_string(run))
    sdk.entities.upsert(made)
    query = f"query ($urn: String!) {{ {kind}(urn: $urn) {{ properties {{ mlModelLineageInfo {{ trainingJobs }} }} }} }}"
    found = server.graphql(query, urn=str(made.urn))[kind]
    assert found["properties"]["mlModelLineageInfo"] == {"trainingJobs": [run]}


def test_a_run_reads_and_writes_datasets(server, sdk, run, unique):
    inputs, outputs = (Dataset(platform="snowflake", name=f"{unique}_{end}") for end in ("in", "out"))
    sdk.entities.upsert(inputs)
    sdk.entities.upsert(outputs)
    edge = models.EdgeClass
    aspects = [
        models.DataProcessInstanceInputClass(inputs=[], inputEdges=[edge(destinationUrn=str(inputs.urn))]),
        models.DataProcessInstanceOutputClass(outputs=[], outputEdges=[edge(destinationUrn=str(outputs.urn))]),
    ]
    for proposal in MetadataChangeProposalWrapper.construct_many(run, aspects):
        sdk._graph.emit(proposal)
    query = """query ($input: SearchAcrossLineageInput!) { searchAcrossLineage(input: $input) {
        searchResults { entity { urn } degree } } }"""
    for direction, neighbor in (("UPSTREAM", inputs), ("DOWNSTREAM", outputs)):
        found = server.graphql(query, input={"urn": run, "direction": direction, "query": "*"})["searchAcrossLineage"]
        assert found["searchResults"] == [{"entity": {"urn": str(neighbor.urn)}, "degree": 1}]


def test_labels_and_properties_of_models_are_changed(sdk, group, model, read):
    group.set_description("New description")
    group.add_tag(TagUrn("production"))
    group.add_term(GlossaryTermUrn("time-series"))
    group.set_custom_properties({"team": "ml"})
    sdk.entities.upsert(group)
    properties = read(group.urn, "mlModelGroupProperties")
    assert (properties["description"], properties["customProperties"]) == ("New description", {"team": "ml"})
    tags = {tag["tag"] for tag in read(group.urn, "globalTags")["tags"]}
    assert tags == {"urn:li:tag:forecasting", "urn:li:tag:production"}
    model.set_version("2")
    model.add_version_alias("challenger")
    sdk.entities.upsert(model)
    version = read(model.urn, "versionProperties")
    assert version["version"]["versionTag"] == "2"
    assert {alias["versionTag"] for alias in version["aliases"]} == {"champion", "challenger"}


@pytest.fixture
def features(server, sdk, unique):
    """A table with a feature and a key, over the aspects."""
    source = "urn:li:dataset:(urn:li:dataPlatform:hive,tutorial.users,PROD)"
    feature = str(MlFeatureUrn(unique, "signed_up"))
    key = f"urn:li:mlPrimaryKey:({unique},user_id)"
    table = f"urn:li:mlFeatureTable:(urn:li:dataPlatform:feast,{unique})"
    written = {
        feature: models.MLFeaturePropertiesClass(description="When", sources=[source], dataType="TIME"),
        key: models.MLPrimaryKeyPropertiesClass(description="Who", sources=[source], dataType="TEXT"),
        table: models.MLFeatureTablePropertiesClass(description="Users", mlFeatures=[feature], mlPrimaryKeys=[key]),
    }
    for urn, aspect in written.items():
        sdk._graph.emit(MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect))
    return feature, key, table


def test_features_keys_and_tables_are_read(server, features, unique):
    feature, key, table = features
    fields = "name featureNamespace description properties { description dataType version { versionTag } }"
    found = server.graphql(f"query ($urn: String!) {{ mlFeature(urn: $urn) {{ {fields} }} }}", urn=feature)["mlFeature"]
    assert (found["name"], found["featureNamespace"], found["description"]) == ("signed_up", unique, "When")
    assert found["properties"] == {"description": "When", "dataType": "TIME", "version": None}
    query = f"query ($urn: String!) {{ mlPrimaryKey(urn: $urn) {{ dataType {fields} }} }}"
    found = server.graphql(query, urn=key)["mlPrimaryKey"]
    assert (found["name"], found["dataType"], found["properties"]["dataType"]) == ("user_id", "TEXT", "TEXT")
    query = """query ($urn: String!) { mlFeatureTable(urn: $urn) { name description platform { name }
        properties { description mlFeatures { name } mlPrimaryKeys { name } } } }"""
    found = server.graphql(query, urn=table)["mlFeatureTable"]
    assert (found["name"], found["description"], found["platform"]) == (unique, "Users", {"name": "feast"})
    expected = {"description": "Users", "mlFeatures": [{"name": "signed_up"}], "mlPrimaryKeys": [{"name": "user_id"}]}
    assert found["properties"] == expected


def test_features_are_added_to_a_table_and_to_a_model(server, sdk, features, model, read):
    feature, _, table = features
    second = feature.replace("signed_up", "last_seen")
    stored = sdk._graph.get_aspect(table, models.MLFeatureTablePropertiesClass)
    stored.mlFeatures.append(second)
    sdk._graph.emit(MetadataChangeProposalWrapper(entityUrn=table, aspect=stored))
    assert read(table, "mlFeatureTableProperties")["mlFeatures"] == [feature, second]
    properties = sdk._graph.get_aspect(str(model.urn), models.MLModelPropertiesClass)
    properties.mlFeatures = [feature, second]
    sdk._graph.emit(MetadataChangeProposalWrapper(entityUrn=str(model.urn), aspect=properties))
    query = "query ($urn: String!) { mlModel(urn: $urn) { name properties { description type mlFeatures } } }"
    found = server.graphql(query, urn=str(model.urn))["mlModel"]["properties"]
    assert (found["description"], found["mlFeatures"]) == ("With seasons", [feature, second])

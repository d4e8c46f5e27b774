"""The scripts of the descriptions tutorial, with the client configured from the environment."""

import pytest
from datahub.emitter.mce_builder import make_dataset_urn
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import DatasetPropertiesClass
from datahub.sdk import DataHubClient, Dataset

from examples import USERS_CREATED


@pytest.fixture
def created(server, unique):
    """A table with an imported description and three columns, one of them described."""
    client = DataHubClient.from_env()
    client.entities.upsert(Dataset(platform="hive", name=unique, schema=_COLUMNS))
    urn = make_dataset_urn("hive", unique)
    # The SDK writes user edits, so the imported description is written separately.
    ingested = DatasetPropertiesClass(description=USERS_CREATED)
    client._graph.emit(MetadataChangeProposalWrapper(entityUrn=urn, aspect=ingested))
    return client, urn


_COLUMNS = [("user_id", "bigint", "Who was created"), ("user_name", "varchar"), ("user_since", "timestamp")]


def test_the_description_of_a_dataset_is_read(created):
    client, urn = created
    assert client.entities.get(urn).description == USERS_CREATED


def test_the_descriptions_of_columns_are_read(created):
    client, urn = created
    described = {column.field_path: column.description for column in client.entities.get(urn).schema}
    assert described == {"user_id": "Who was created", "user_name": None, "user_since": None}


def test_documentation_and_a_link_are_added_to_a_dataset(created, read):
    client, urn = created
    text = "# Who came\n\nOne row for *everybody*, with \"quotes\", a | bar and ünïcödé 🦉.\n"
    dataset = client.entities.get(urn)
    dataset.set_description(text)
    dataset.add_link(("https://wiki.example.com/users?a=1&b=2", "What the columns mean"))
    client.entities.update(dataset)
    assert read(urn, "editableDatasetProperties")["description"] == text
    assert read(urn, "datasetProperties")["description"] == USERS_CREATED
    (link,) = read(urn, "institutionalMemory")["elements"]
    assert (link["url"], link["description"]) == ("https://wiki.example.com/users?a=1&b=2", "What the columns mean")
    assert client.entities.get(urn).description == text


def test_documentation_is_added_to_a_column(created, read):
    client, urn = created
    before = read(urn, "schemaMetadata")
    dataset = client.entities.get(urn)
    dataset["user_name"].set_description("How the user wants to be called.")
    client.entities.update(dataset)
    (column,) = read(urn, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert (column["fieldPath"], column["description"]) == ("user_name", "How the user wants to be called.")
    assert read(urn, "schemaMetadata") == before
    assert client.entities.get(urn)["user_name"].description == "How the user wants to be called."


def test_a_description_is_also_updated_over_graphql(created, server, read):
    _, urn = created
    text = "Written by a person"
    mutation = "mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }"
    assert server.graphql(mutation, input={"resourceUrn": urn, "description": text})["updateDescription"] is True
    assert read(urn, "editableDatasetProperties")["description"] == text

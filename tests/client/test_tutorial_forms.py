"""The requests of the forms tutorial. The id of a prompt is unique among all forms."""

import pytest
from datahub.api.entities.forms.forms import Forms
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import StructuredPropertyDefinitionClass
from datahub.sdk import DataHubClient, Dataset


@pytest.fixture
def dataset(server, unique):
    made = Dataset(platform="hive", name=unique)
    DataHubClient.from_env().entities.upsert(made)
    return str(made.urn)


@pytest.fixture
def days(server, unique):
    urn = f"urn:li:structuredProperty:{unique}"
    definition = StructuredPropertyDefinitionClass(
        qualifiedName=unique,
        valueType="urn:li:dataType:datahub.number",
        entityTypes=["urn:li:entityType:datahub.dataset"],
        displayName="Days kept",
    )
    DataHubClient.from_env()._graph.emit(MetadataChangeProposalWrapper(entityUrn=urn, aspect=definition))
    return urn


def prompt(identifier, property_urn):
    return {
        "id": identifier,
        "title": f"Fill in {identifier}",
        "description": "So that it is deleted in time",
        "type": "STRUCTURED_PROPERTY",
        "structuredPropertyParams": {"urn": property_urn},
    }


@pytest.fixture
def form(server, days, unique):
    mutation = "mutation ($input: CreateFormInput!) { createForm(input: $input) { urn } }"
    technical = "urn:li:ownershipType:__system__technical_owner"
    sent = {
        "id": unique,
        "name": "Initiative",
        "description": "What all important tables have",
        "type": "VERIFICATION",
        "prompts": [prompt(f"{unique}_1", days)],
        "actors": {
            "users": ["urn:li:corpuser:jane@example.com"],
            "groups": ["urn:li:corpGroup:team@example.com"],
            "owners": True,
            "ownershipTypes": [technical],
        },
    }
    return server.graphql(mutation, input=sent)["createForm"]["urn"]


def test_a_form_is_created(form, days, read, unique):
    assert form == f"urn:li:form:{unique}"
    info = read(form, "formInfo")
    assert (info["name"], info["type"]) == ("Initiative", "VERIFICATION")
    assert info["prompts"][0]["structuredPropertyParams"] == {"urn": days}
    actors = info["actors"]
    assert (actors["owners"], actors["users"]) == (True, ["urn:li:corpuser:jane@example.com"])
    assert actors["groups"] == ["urn:li:corpGroup:team@example.com"]


def test_prompts_are_added_and_removed(server, form, days, read, unique):
    mutation = "mutation ($input: UpdateFormInput!) { updateForm(input: $input) { urn } }"
    sent = {"urn": form, "name": "Next year", "promptsToAdd": [prompt(f"{unique}_2", days)]}
    sent["promptsToRemove"] = [f"{unique}_1"]
    assert server.graphql(mutation, input=sent)["updateForm"]["urn"] == form
    info = read(form, "formInfo")
    assert (info["name"], [one["id"] for one in info["prompts"]]) == ("Next year", [f"{unique}_2"])


def test_a_form_is_assigned_removed_and_deleted(server, form, dataset, read):
    query = "query ($urn: String!) { dataset(urn: $urn) { forms { incompleteForms { form { urn } } } } }"

    def assigned():
        forms = server.graphql(query, urn=dataset)["dataset"]["forms"]
        return [one["form"]["urn"] for one in forms["incompleteForms"]] if forms else []

    for operation, kind, expected in [
        ("batchAssignForm", "BatchAssignFormInput", [form]),
        ("batchRemoveForm", "BatchRemoveFormInput", []),
    ]:
        mutation = f"mutation ($input: {kind}!) {{ {operation}(input: $input) }}"
        assert server.graphql(mutation, input={"formUrn": form, "entityUrns": [dataset]})[operation] is True
        assert assigned() == expected
    mutation = "mutation ($input: DeleteFormInput!) { deleteForm(input: $input) }"
    assert server.graphql(mutation, input={"urn": form})["deleteForm"] is True
    assert read(form, "formInfo") is None


def test_a_form_in_a_file_is_stored_assigned_and_shown(read, tmp_path, dataset, days, unique):
    file = tmp_path / "form.yaml"
    file.write_text(
        f"""
- id: "{unique}"
  type: VERIFICATION
  name: Initiative
  prompts:
    - id: "{unique}_1"
      title: Days kept
      type: STRUCTURED_PROPERTY
      structured_property_id: {unique}
      required: true
  entities:
    urns:
      - {dataset}
  actors:
    users:
      - urn:li:corpuser:jane@example.com
"""
    )
    # This is what `datahub forms` calls.
    Forms.create(str(file))
    form = f"urn:li:form:{unique}"
    assert read(form, "formInfo")["prompts"][0]["structuredPropertyParams"] == {"urn": days}
    assert [one["urn"] for one in read(dataset, "forms")["incompleteForms"]] == [form]
    shown = Forms.from_datahub(DataHubClient.from_env()._graph, form)
    assert (shown.name, shown.prompts[0].structured_property_urn) == ("Initiative", days)

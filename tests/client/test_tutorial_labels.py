"""The scripts and requests of the tutorials about tags, terms, owners, deprecation, properties and applications."""

import pytest
from datahub.api.entities.corpgroup.corpgroup import CorpGroup, CorpGroupGenerationConfig
from datahub.api.entities.corpuser.corpuser import CorpUser, CorpUserGenerationConfig
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.rest_emitter import DatahubRestEmitter
from datahub.metadata.schema_classes import ApplicationPropertiesClass, ApplicationsClass, GlossaryTermInfoClass
from datahub.metadata.urns import CorpGroupUrn, CorpUserUrn, GlossaryTermUrn, TagUrn
from datahub.sdk import DataHubClient, Dataset, Tag
from datahub.specific.dataset import DatasetPatchBuilder


@pytest.fixture
def sdk(server):
    return DataHubClient.from_env()


@pytest.fixture
def dataset(sdk, unique):
    made = Dataset(platform="hive", name=unique, schema=[("user_id", "bigint"), ("user_name", "varchar")])
    sdk.entities.upsert(made)
    return str(made.urn)


@pytest.fixture
def made(server, unique):
    """`made("Tag")` creates a tag, and the like a term, over GraphQL."""

    def create(kind):
        mutation = f"mutation ($input: Create{'Tag' if kind == 'Tag' else 'GlossaryEntity'}Input!) {{ create{kind}(input: $input) }}"
        return server.graphql(mutation, input={"id": unique, "name": "A name", "description": "A text"})[f"create{kind}"]

    return create


def mutate(server, operation, kind, **sent):
    assert server.graphql(f"mutation ($input: {kind}!) {{ {operation}(input: $input) }}", input=sent)[operation] is True


def test_a_tag_is_created_read_added_and_removed(server, sdk, dataset, made, read, unique):
    tag = made("Tag")
    assert tag == f"urn:li:tag:{unique}"
    assert read(tag, "tagProperties") == {"name": "A name", "description": "A text"}
    column = {"resourceUrn": dataset, "subResourceType": "DATASET_FIELD", "subResource": "user_name"}
    mutate(server, "addTags", "AddTagsInput", tagUrns=[tag], resourceUrn=dataset)
    mutate(server, "addTags", "AddTagsInput", tagUrns=[tag], **column)
    query = """query ($urn: String!) { dataset(urn: $urn) { tags { tags { tag { urn name properties {
        name description colorHex } } } } editableSchemaMetadata { editableSchemaFieldInfo {
        fieldPath tags { tags { tag { urn } } } } } } }"""
    found = server.graphql(query, urn=dataset)["dataset"]
    expected = {"urn": tag, "name": unique, "properties": {"name": "A name", "description": "A text", "colorHex": None}}
    assert found["tags"]["tags"] == [{"tag": expected}]
    (described,) = found["editableSchemaMetadata"]["editableSchemaFieldInfo"]
    assert described == {"fieldPath": "user_name", "tags": {"tags": [{"tag": {"urn": tag}}]}}
    assert [str(one.tag) for one in sdk.entities.get(dataset).tags] == [tag]
    mutate(server, "removeTag", "TagAssociationInput", tagUrn=tag, resourceUrn=dataset)
    assert read(dataset, "globalTags")["tags"] == []


def test_tags_are_written_by_the_client(sdk, dataset, read, unique):
    owner = CorpUserUrn("data@example.com")
    tag = Tag(name=unique, display_name="Quality", description="Has gaps", color="#FF5733", owners=[owner])
    sdk.entities.upsert(tag)
    assert read(tag.urn, "tagProperties") == {"name": "Quality", "description": "Has gaps", "colorHex": "#FF5733"}
    assert read(tag.urn, "ownership")["owners"][0]["owner"] == str(owner)
    entity = sdk.entities.get(dataset)
    entity.add_tag(TagUrn(unique))
    entity["user_id"].add_tag(TagUrn(unique))
    sdk.entities.update(entity)
    assert [one["tag"] for one in read(dataset, "globalTags")["tags"]] == [str(tag.urn)]
    assert [str(one.tag) for one in sdk.entities.get(dataset)["user_id"].tags] == [str(tag.urn)]
    sdk._graph.emit(DatasetPatchBuilder(dataset).remove_tag(str(tag.urn)).build()[0])
    assert read(dataset, "globalTags")["tags"] == []


def test_a_term_is_created_read_added_and_removed(server, sdk, dataset, made, read, unique):
    term = made("GlossaryTerm")
    assert term == f"urn:li:glossaryTerm:{unique}"
    info = read(term, "glossaryTermInfo")
    assert (info["name"], info["definition"], info["termSource"]) == ("A name", "A text", "INTERNAL")
    mutate(server, "addTerms", "AddTermsInput", termUrns=[term], resourceUrn=dataset)
    column = {"resourceUrn": dataset, "subResourceType": "DATASET_FIELD", "subResource": "user_name"}
    mutate(server, "addTerms", "AddTermsInput", termUrns=[term], **column)
    query = """query ($urn: String!) { dataset(urn: $urn) { glossaryTerms { terms { term { urn glossaryTermInfo {
        name description } } } } } }"""
    (found,) = server.graphql(query, urn=dataset)["dataset"]["glossaryTerms"]["terms"]
    assert found["term"] == {"urn": term, "glossaryTermInfo": {"name": "A name", "description": "A text"}}
    assert [str(one.urn) for one in sdk.entities.get(dataset)["user_name"].terms] == [term]
    mutate(server, "removeTerm", "TermAssociationInput", termUrn=term, resourceUrn=dataset)
    assert read(dataset, "glossaryTerms")["terms"] == []


def test_terms_are_written_by_the_client(sdk, dataset, read, unique):
    term = str(GlossaryTermUrn(unique))
    info = GlossaryTermInfoClass(name=f"Rate {unique}", definition="Gain or loss", termSource="INTERNAL")
    sdk._graph.emit(MetadataChangeProposalWrapper(entityUrn=term, aspect=info))
    resolved = sdk.resolve.term(name=f"Rate {unique}")
    assert str(resolved) == term
    entity = sdk.entities.get(dataset)
    entity.add_term(resolved)
    entity["user_name"].add_term(resolved)
    sdk.entities.update(entity)
    assert [one["urn"] for one in read(dataset, "glossaryTerms")["terms"]] == [term]
    sdk._graph.emit(DatasetPatchBuilder(dataset).remove_term(term).build()[0])
    assert read(dataset, "glossaryTerms")["terms"] == []


def test_owners_are_added_read_and_removed(server, sdk, dataset, read, unique):
    user = CorpUser(id=f"{unique}@example.com", display_name="Ada", email="ada@example.com", title="Engineer")
    for proposal in user.generate_mcp(generation_config=CorpUserGenerationConfig(override_editable=False)):
        sdk._graph.emit(proposal)
    settings = CorpGroupGenerationConfig(override_editable=False, datahub_graph=sdk._graph)
    group = CorpGroup(id=unique, display_name="Group", members=[user.urn], owners=["urn:li:corpuser:datahub"])
    for proposal in group.generate_mcp(generation_config=settings):
        sdk._graph.emit(proposal)
    assert read(user.urn, "corpUserInfo")["title"] == "Engineer"
    assert unique in str(read(user.urn, "groupMembership")["groups"])
    sent = {"ownerUrn": group.urn, "resourceUrn": dataset, "ownerEntityType": "CORP_GROUP", "type": "TECHNICAL_OWNER"}
    mutate(server, "addOwner", "AddOwnerInput", **sent)
    entity = sdk.entities.get(dataset)
    entity.add_owner((CorpUserUrn(f"{unique}@example.com"), "BUSINESS_OWNER"))
    sdk.entities.update(entity)
    query = """query ($urn: String!) { dataset(urn: $urn) { ownership { owners { type owner {
        ... on CorpUser { urn type } ... on CorpGroup { urn type } } } } } }"""
    owners = server.graphql(query, urn=dataset)["dataset"]["ownership"]["owners"]
    assert {(one["owner"]["urn"], one["owner"]["type"], one["type"]) for one in owners} == {
        (str(CorpGroupUrn(unique)), "CORP_GROUP", "TECHNICAL_OWNER"),
        (user.urn, "CORP_USER", "BUSINESS_OWNER"),
    }
    mutate(server, "removeOwner", "RemoveOwnerInput", ownerUrn=group.urn, resourceUrn=dataset)
    sdk._graph.emit(DatasetPatchBuilder(dataset).remove_owner(user.urn).build()[0])
    assert read(dataset, "ownership")["owners"] == []


def test_a_dataset_is_deprecated(server, dataset):
    query = "query ($urn: String!) { dataset(urn: $urn) { deprecation { deprecated decommissionTime note } } }"
    assert server.graphql(query, urn=dataset)["dataset"]["deprecation"] is None
    mutate(server, "updateDeprecation", "UpdateDeprecationInput", urn=dataset, deprecated=True, note="See the new one")
    expected = {"deprecated": True, "decommissionTime": None, "note": "See the new one"}
    assert server.graphql(query, urn=dataset)["dataset"]["deprecation"] == expected
    mutate(server, "batchUpdateDeprecation", "BatchUpdateDeprecationInput", resources=[{"resourceUrn": dataset}], deprecated=False)
    assert server.graphql(query, urn=dataset)["dataset"]["deprecation"]["deprecated"] is False


def test_a_dataset_is_deleted_softly(server, dataset, read):
    mutate(server, "batchUpdateSoftDeleted", "BatchUpdateSoftDeletedInput", urns=[dataset], deleted=True)
    assert read(dataset, "status") == {"removed": True}


def test_custom_properties_are_added_removed_and_replaced(sdk, dataset, read):
    def patched(builder):
        for proposal in builder.build():
            sdk._graph.emit(proposal)
        return read(dataset, "datasetProperties")["customProperties"]

    added = DatasetPatchBuilder(dataset).add_custom_property("cluster", "one").add_custom_property("kept", "2 years")
    assert patched(added) == {"cluster": "one", "kept": "2 years"}
    changed = DatasetPatchBuilder(dataset).add_custom_property("cluster", "two").remove_custom_property("kept")
    assert patched(changed) == {"cluster": "two"}
    assert patched(DatasetPatchBuilder(dataset).set_custom_properties({"other": "x"})) == {"other": "x"}


def test_applications_are_created_assigned_and_removed(server, dataset, read, unique):
    mutation = """mutation ($input: CreateApplicationInput!) { createApplication(input: $input) {
        urn properties { name description } } }"""
    sent = {"properties": {"name": f"Payments {unique}", "description": "Moves money"}}
    application = server.graphql(mutation, input=sent)["createApplication"]
    assert application["properties"] == sent["properties"]
    urn = application["urn"]
    batch = {"resourceUrns": [dataset], "applicationUrn": urn}
    mutate(server, "batchSetApplication", "BatchSetApplicationInput", **batch)
    query = """query ($urn: String!) { dataset(urn: $urn) { application { application { urn properties {
        name description } } } } }"""
    found = server.graphql(query, urn=dataset)["dataset"]["application"]["application"]
    assert found == {"urn": urn, "properties": sent["properties"]}
    mutate(server, "batchSetApplication", "BatchSetApplicationInput", **batch | {"applicationUrn": None})
    assert server.graphql(query, urn=dataset)["dataset"]["application"] is None


def test_applications_are_written_as_aspects(server, dataset, read, unique):
    emitter = DatahubRestEmitter(gms_server=server.url, token=server.token)
    urn = f"urn:li:application:{unique}"
    properties = ApplicationPropertiesClass(name="Bank", description="Accounts")
    emitter.emit(MetadataChangeProposalWrapper(entityUrn=urn, aspect=properties))
    for assigned in ([urn], []):
        aspect = ApplicationsClass(applications=assigned)
        emitter.emit(MetadataChangeProposalWrapper(entityUrn=dataset, aspect=aspect))
        assert read(dataset, "applications")["applications"] == assigned
    query = "query ($urn: String!) { application(urn: $urn) { properties { name description } } }"
    found = server.graphql(query, urn=urn)["application"]["properties"]
    assert found == {"name": "Bank", "description": "Accounts"}

"""The scripts and requests of the documents tutorial."""

import pytest
from datahub.errors import ItemNotFoundError
from datahub.metadata.urns import DocumentUrn
from datahub.sdk import DataHubClient, Document, FilterDsl

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,tutorial.orders,PROD)"


@pytest.fixture
def sdk(server):
    return DataHubClient.from_env()


@pytest.fixture
def created(server, unique):
    """A published guide, created over GraphQL."""
    mutation = "mutation ($input: CreateDocumentInput!) { createDocument(input: $input) }"

    def create(suffix="", **more):
        sent = {"id": f"{unique}{suffix}", "title": "How to begin", "contents": {"text": "First steps"}} | more
        return server.graphql(mutation, input=sent)["createDocument"]

    create.urn = create(subType="Guide", state="PUBLISHED")
    assert create.urn == f"urn:li:document:{unique}"
    return create


def change(server, operation, kind, **sent):
    assert server.graphql(f"mutation ($input: {kind}!) {{ {operation}(input: $input) }}", input=sent)[operation] is True


SELECTION = """query ($urn: String!) { document(urn: $urn) { urn type subType
    info { title source { sourceType externalUrl externalId } status { state } contents { text }
        relatedAssets { asset { urn } } relatedDocuments { document { urn } } parentDocument { document { urn } } }
    settings { showInGlobalContext } } }"""


def test_a_document_is_read_over_graphql(server, created):
    found = server.graphql(SELECTION, urn=created.urn)["document"]
    assert (found["type"], found["subType"]) == ("DOCUMENT", "Guide")
    assert found["info"]["title"] == "How to begin"
    assert found["info"]["contents"] == {"text": "First steps"}
    assert found["info"]["status"] == {"state": "PUBLISHED"}
    assert found["info"]["source"]["sourceType"] == "NATIVE"
    assert found["settings"] == {"showInGlobalContext": True}


def test_a_hidden_document_relates_to_an_asset_that_may_come_later(server, created):
    urn = created("_hidden", settings={"showInGlobalContext": False}, relatedAssets=[ORDERS])
    found = server.graphql(SELECTION, urn=urn)["document"]
    assert found["settings"] == {"showInGlobalContext": False}
    assert found["info"]["relatedAssets"] == [{"asset": {"urn": ORDERS}}]


def test_contents_and_settings_are_changed(server, created, sdk):
    change(server, "updateDocumentContents", "UpdateDocumentContentsInput", urn=created.urn, contents={"text": "Again"})
    change(server, "updateDocumentContents", "UpdateDocumentContentsInput", urn=created.urn, title="How to go on")
    change(server, "updateDocumentSubType", "UpdateDocumentSubTypeInput", urn=created.urn, subType="Reference")
    change(server, "updateDocumentSettings", "UpdateDocumentSettingsInput", urn=created.urn, showInGlobalContext=False)
    document = sdk.entities.get(DocumentUrn.from_string(created.urn))
    assert (document.title, document.text, document.subtype) == ("How to go on", "Again", "Reference")
    assert document.show_in_global_context is False


def test_a_document_is_unpublished_and_published(server, created, read):
    for state in ("UNPUBLISHED", "PUBLISHED"):
        change(server, "updateDocumentStatus", "UpdateDocumentStatusInput", urn=created.urn, state=state)
        assert read(created.urn, "documentInfo")["status"]["state"] == state


def test_documents_are_related_and_moved(server, created):
    other = created("_other")
    change(
        server,
        "updateDocumentRelatedEntities",
        "UpdateDocumentRelatedEntitiesInput",
        urn=created.urn,
        relatedAssets=[ORDERS, "urn:li:dashboard:(looker,tutorial)"],
        relatedDocuments=[other],
    )
    change(server, "moveDocument", "MoveDocumentInput", urn=created.urn, parentDocument=other)
    info = server.graphql(SELECTION, urn=created.urn)["document"]["info"]
    assert [asset["asset"]["urn"] for asset in info["relatedAssets"]] == [ORDERS, "urn:li:dashboard:(looker,tutorial)"]
    assert info["relatedDocuments"] == [{"document": {"urn": other}}]
    assert info["parentDocument"] == {"document": {"urn": other}}


def test_documents_are_searched_by_words_and_type(server, created, unique):
    created("_faq", title=f"Questions {unique}", subType="FAQ", state="PUBLISHED")
    created("_draft", title=f"Questions {unique}", subType="FAQ")
    query = """query ($input: SearchDocumentsInput!) { searchDocuments(input: $input) { total documents {
        urn subType info { title status { state } contents { text } } } } }"""
    asked = {"query": f"questions {unique}", "types": ["FAQ"], "start": 0, "count": 10}
    reply = server.graphql(query, input=asked)["searchDocuments"]
    found = {document["urn"] for document in reply["documents"]}
    assert f"urn:li:document:{unique}_faq" in found
    assert created.urn not in found
    assert {document["subType"] for document in reply["documents"]} == {"FAQ"}


def test_a_document_is_deleted(server, created, sdk):
    assert server.graphql("mutation ($urn: String!) { deleteDocument(urn: $urn) }", urn=created.urn)["deleteDocument"]
    with pytest.raises(ItemNotFoundError):
        sdk.entities.get(DocumentUrn.from_string(created.urn))


def test_a_document_with_all_metadata_is_written_and_read(sdk, read, unique):
    document = Document.create_document(
        id=unique,
        title="Questions about quality",
        text="# Measures\n\nHow *good* is it?",
        subtype="FAQ",
        related_assets=[ORDERS],
        owners=["urn:li:corpuser:tutorial_john"],
        domain="urn:li:domain:tutorial_engineering",
        tags=["urn:li:tag:tutorial_important"],
        custom_properties={"team": "platform"},
        show_in_global_context=False,
    )
    sdk.entities.upsert(document)
    found = sdk.entities.get(document.urn)
    assert (found.title, found.text, found.subtype) == (document.title, document.text, "FAQ")
    assert found.is_native and not found.show_in_global_context
    assert [str(asset) for asset in found.related_assets] == [ORDERS]
    assert found.custom_properties == {"team": "platform"}
    assert read(document.urn, "ownership")["owners"][0]["owner"] == "urn:li:corpuser:tutorial_john"
    assert read(document.urn, "domains")["domains"] == ["urn:li:domain:tutorial_engineering"]
    assert read(document.urn, "globalTags")["tags"][0]["tag"] == "urn:li:tag:tutorial_important"


def test_an_external_document_is_written(sdk, server, unique):
    document = Document.create_external_document(
        id=unique,
        title="Handbook",
        platform="urn:li:dataPlatform:notion",
        external_url="https://notion.example.com/handbook",
        external_id="page-1",
        text="For search",
    )
    sdk.entities.upsert(document)
    source = server.graphql(SELECTION, urn=str(document.urn))["document"]["info"]["source"]
    expected = {"sourceType": "EXTERNAL", "externalUrl": "https://notion.example.com/handbook", "externalId": "page-1"}
    assert source == expected
    assert sdk.entities.get(document.urn).is_external


def test_a_document_is_changed_step_by_step(sdk, created, read):
    urn = DocumentUrn.from_string(created.urn)
    parent = created("_parent")
    document = sdk.entities.get(urn)
    document.set_text("New text").set_title("New title")
    document.hide_from_global_context()
    document.add_related_asset(ORDERS)
    document.add_related_document(parent)
    document.set_parent_document(parent)
    sdk.entities.upsert(document)
    info = read(urn, "documentInfo")
    assert (info["title"], info["contents"]["text"]) == ("New title", "New text")
    assert [asset["asset"] for asset in info["relatedAssets"]] == [ORDERS]
    assert info["parentDocument"]["document"] == parent
    document = sdk.entities.get(urn)
    document.set_parent_document(None)
    document.show_in_global_search()
    document.unpublish()
    sdk.entities.upsert(document)
    assert "parentDocument" not in read(urn, "documentInfo")
    assert read(urn, "documentInfo")["status"]["state"] == "UNPUBLISHED"
    assert read(urn, "documentSettings")["showInGlobalContext"] is True


def test_documents_are_found_with_filters(sdk, created, unique):
    named = created("_named", title=f"Alpha {unique}")
    found = sdk.search.get_urns(query=f'"alpha {unique}"', filter=FilterDsl.entity_type("document"))
    assert [str(urn) for urn in found] == [named]
    tagged = Document.create_document(id=f"{unique}_t", title="Tagged", text="t", tags=[f"urn:li:tag:{unique}"])
    sdk.entities.upsert(tagged)
    only = FilterDsl.and_(FilterDsl.entity_type("document"), FilterDsl.tag(f"urn:li:tag:{unique}"))
    assert [str(urn) for urn in sdk.search.get_urns(filter=only)] == [str(tagged.urn)]

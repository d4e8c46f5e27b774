"""Write modes: synchronous or not, conditional, with a time, as a legacy snapshot; and deletion."""

import json
from datetime import datetime, timezone

import pytest
from datahub.emitter.emit_mode import EmitMode
from datahub.emitter.mce_builder import make_dataset_urn
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.configuration.common import OperationalError
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import ClientMode, DatahubClientConfig
from datahub.metadata.schema_classes import (
    AssertionResultClass,
    AssertionRunEventClass,
    ChangeTypeClass,
    DatasetProfileClass,
    DatasetPropertiesClass,
    DatasetSnapshotClass,
    GlobalTagsClass,
    MetadataChangeEventClass,
    OperationClass,
    StatusClass,
    SystemMetadataClass,
    TagAssociationClass,
    TimeWindowSizeClass,
    DatasetUsageStatisticsClass,
)

# The errors of a failed precondition, over Rest.li and over OpenAPI.
PRECONDITIONS = ("Precondition Failed", "Precondition Error")


def _proposal(urn, aspect, **more):
    return MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect, **more)


def _described(urn, description, **more):
    return _proposal(urn, DatasetPropertiesClass(description=description), **more)


@pytest.mark.parametrize("mode", list(EmitMode), ids=lambda mode: mode.name.lower())
def test_a_write_is_stored_when_the_client_returns(mode, graph, read, unique):
    urns = [make_dataset_urn("hive", f"{unique}.{number}") for number in range(3)]
    graph.emit_mcps([_described(urn, "words") for urn in urns], emit_mode=mode)
    graph.emit_mcp(_proposal(urns[0], StatusClass(removed=False)), emit_mode=mode)
    assert [read(urn, "datasetProperties")["description"] for urn in urns] == ["words"] * 3
    assert read(urns[0], "status") == {"removed": False}


def test_an_asynchronous_write_is_traced(server, read, unique):
    settings = DatahubClientConfig(
        server=server.url, token=server.token, client_mode=ClientMode.SDK, openapi_ingestion=True
    )
    urn = make_dataset_urn("hive", unique)
    with DataHubGraph(settings) as graph:
        graph.test_connection()
        [trace] = graph.emit_mcps([_described(urn, "words")], emit_mode=EmitMode.ASYNC)
        status = {"success": True} | {
            storage: {"writeStatus": "ACTIVE_STATE"} for storage in ("primaryStorage", "searchStorage")
        }
        assert graph.get_trace_status(trace)[urn]["datasetProperties"] == status
        stored = server.request("GET", f"/openapi/v3/entity/dataset/{urn}/datasetProperties?systemMetadata=true").json()
        assert stored["systemMetadata"]["properties"]["telemetryTraceId"] == trace.trace_id
        graph.emit_mcp(_described(urn, "other words"), emit_mode=EmitMode.ASYNC_WAIT)
        assert read(urn, "datasetProperties")["description"] == "other words"
        replaced = graph.get_trace_status(trace)[urn]["datasetProperties"]
        assert replaced["primaryStorage"] == {"writeStatus": "HISTORIC_STATE"}
        trace.data = {urn: ["globalTags"]}
        assert graph.get_trace_status(trace)[urn]["globalTags"]["success"] is False


def test_many_proposals_take_several_requests(graph, server, unique):
    urns = [make_dataset_urn("hive", f"{unique}.{number}") for number in range(450)]
    graph.emit_mcps([_described(urn, str(number)) for number, urn in enumerate(urns)])
    assert server.read(urns[449], "datasetProperties")["description"] == "449"
    assert graph.get_aspect_counts("datasetProperties", urn_like=f"%{unique}.%") == 450


def test_several_aspects_of_one_entity_are_written_together(graph, read, unique):
    urn = make_dataset_urn("hive", unique)
    graph.emit_mcps([_described(urn, "words"), _proposal(urn, StatusClass(removed=True))])
    assert read(urn, "datasetProperties")["description"] == "words"
    assert read(urn, "status") == {"removed": True}


def test_a_conditional_write_on_a_version_fails_after_another_write(graph, read, unique):
    urn = make_dataset_urn("hive", unique)
    graph.emit(_described(urn, "first"))
    graph.emit(_described(urn, "second", headers={"If-Version-Match": "1"}))
    with pytest.raises(OperationalError) as refused:
        graph.emit(_described(urn, "third", headers={"If-Version-Match": "1"}))
    assert refused.value.info["error"] in PRECONDITIONS, refused.value.info
    assert "2" in refused.value.info["message"]
    assert read(urn, "datasetProperties")["description"] == "second"


def test_a_conditional_write_on_a_time_fails_after_a_later_write(graph, read, unique):
    urn = make_dataset_urn("hive", unique)
    graph.emit(_described(urn, "first"))
    with pytest.raises(OperationalError) as refused:
        graph.emit(_described(urn, "second", headers={"If-Unmodified-Since": "2001-01-01T00:00:00Z"}))
    assert refused.value.info["error"] in PRECONDITIONS, refused.value.info
    graph.emit(_described(urn, "third", headers={"If-Unmodified-Since": "2100-01-01T00:00:00Z"}))
    assert read(urn, "datasetProperties")["description"] == "third"


def test_an_aspect_is_created_only_once(restli_graph, read, unique):
    # The client's OpenAPI mode loses the change type, so this is tested over Rest.li only.
    urn = make_dataset_urn("hive", unique)
    restli_graph.emit(_described(urn, "first", changeType=ChangeTypeClass.CREATE))
    with pytest.raises(OperationalError, match="(?i)exist"):
        restli_graph.emit(_described(urn, "second", changeType=ChangeTypeClass.CREATE))
    assert read(urn, "datasetProperties")["description"] == "first"


def test_a_batch_with_one_rejected_item_writes_nothing(graph, read, unique):
    good, bad = (make_dataset_urn("hive", f"{unique}.{name}") for name in ("good", "bad"))
    graph.emit(_described(bad, "first"))
    with pytest.raises(OperationalError):
        graph.emit_mcps([_described(good, "words"), _described(bad, "words", headers={"If-Version-Match": "-1"})])
    assert read(good, "datasetKey") is None


def test_urns_keep_non_ascii_text(graph, read, unique):
    urn = make_dataset_urn("hive", f"{unique}.größe/数据 50%")
    graph.emit(_described(urn, "one"))
    assert read(urn, "datasetProperties")["description"] == "one"
    graph.emit_mcps([_described(urn, "two")])
    assert read(urn, "datasetProperties")["description"] == "two"
    assert graph.exists(urn)
    assert graph.get_aspect(urn, DatasetPropertiesClass).description == "two"


def test_the_run_of_a_write_is_stored(graph, server, unique):
    urn = make_dataset_urn("hive", unique)
    metadata = SystemMetadataClass(runId=f"run-{unique}", lastObserved=1794701076063, pipelineName="nightly")
    graph.emit(_described(urn, "words", systemMetadata=metadata))
    (aspect,) = [one for one in graph.get_entity_as_mcps(urn) if one.aspectName == "datasetProperties"]
    assert (aspect.systemMetadata.runId, aspect.systemMetadata.pipelineName) == (f"run-{unique}", "nightly")
    reply = server.request("POST", "/runs?action=describe", {"runId": f"run-{unique}", "start": 0, "count": 10})
    assert {row["aspectName"] for row in reply.json()["value"]} >= {"datasetProperties"}


def _series(server, urn, aspect, **more):
    question = {"urn": urn, "entity": urn.split(":")[2], "aspect": aspect, "limit": 100} | more
    reply = server.request("POST", "/aspects?action=getTimeseriesAspectValues", question)
    return [json.loads(one["aspect"]["value"]) for one in reply.json()["value"]["values"]]


def test_a_time_series_grows_and_is_read(graph, server, unique):
    urn = make_dataset_urn("hive", unique)
    for number in (1, 3, 2):
        graph.emit(_proposal(urn, DatasetProfileClass(timestampMillis=number * 1000, rowCount=number, columnCount=9)))
    assert [one["rowCount"] for one in _series(server, urn, "datasetProfile")] == [3, 2, 1]
    latest = graph.get_latest_timeseries_value(urn, DatasetProfileClass, {})
    assert (latest.rowCount, latest.columnCount) == (3, 9)
    filters = {"or": [{"and": [{"field": "timestampMillis", "condition": "EQUAL", "values": ["2000"]}]}]}
    values = graph.get_timeseries_values(urn, DatasetProfileClass, filter=filters, limit=10)
    assert [one.rowCount for one in values] == [2]
    # A point with the same time replaces the stored one.
    graph.emit(_proposal(urn, DatasetProfileClass(timestampMillis=3000, rowCount=33)))
    assert [one["rowCount"] for one in _series(server, urn, "datasetProfile")] == [33, 2, 1]


def test_operations_usage_and_assertion_runs_are_stored(graph, server, unique):
    urn, assertion = make_dataset_urn("hive", unique), f"urn:li:assertion:{unique}"
    graph.emit(_proposal(urn, OperationClass(timestampMillis=1000, lastUpdatedTimestamp=900, operationType="INSERT")))
    window = TimeWindowSizeClass(unit="DAY", multiple=1)
    usage = DatasetUsageStatisticsClass(timestampMillis=0, eventGranularity=window, totalSqlQueries=5, uniqueUserCount=2)
    graph.emit(_proposal(urn, usage))
    run = AssertionRunEventClass(
        timestampMillis=1000, runId="r", asserteeUrn=urn, status="COMPLETE", assertionUrn=assertion,
        result=AssertionResultClass(type="SUCCESS"),
    )
    graph.emit(_proposal(assertion, run))
    assert [one["operationType"] for one in _series(server, urn, "operation")] == ["INSERT"]
    assert [one["totalSqlQueries"] for one in _series(server, urn, "datasetUsageStatistics")] == [5]
    assert [one["result"]["type"] for one in _series(server, assertion, "assertionRunEvent")] == ["SUCCESS"]
    (read_back,) = graph.get_usage_aspects_from_urn(urn, start_timestamp=-1, end_timestamp=1)
    assert read_back.uniqueUserCount == 2


def test_part_of_a_time_series_is_deleted(graph, server, unique):
    urn = make_dataset_urn("hive", unique)
    for number in (1, 2, 3):
        graph.emit(_proposal(urn, DatasetProfileClass(timestampMillis=number * 1000, rowCount=number)))
    until = datetime.fromtimestamp(2, tz=timezone.utc)
    removed = graph.hard_delete_timeseries_aspect(urn, "datasetProfile", start_time=None, end_time=until)
    assert removed == 2
    assert [one["rowCount"] for one in _series(server, urn, "datasetProfile")] == [3]


def test_an_old_snapshot_is_stored_as_aspects(restli_graph, read, unique):
    urn = make_dataset_urn("hive", unique)
    aspects = [DatasetPropertiesClass(description="words"), StatusClass(removed=False)]
    restli_graph.emit_mce(MetadataChangeEventClass(proposedSnapshot=DatasetSnapshotClass(urn=urn, aspects=aspects)))
    assert read(urn, "datasetProperties")["description"] == "words"
    assert read(urn, "status") == {"removed": False}
    assert read(urn, "datasetKey")["name"] == unique


def test_an_entity_is_soft_deleted_restored_and_deleted(graph, read, unique):
    urn = make_dataset_urn("hive", unique)
    graph.emit(_described(urn, "words"))
    assert graph.exists(urn)
    graph.soft_delete_entity(urn)
    assert read(urn, "status") == {"removed": True}
    assert graph.exists(urn)
    graph.set_soft_delete_status(urn, delete=False)
    assert read(urn, "status") == {"removed": False}
    rows, series = graph.hard_delete_entity(urn)
    assert rows > 0 and series == 0
    assert not graph.exists(urn)
    assert read(urn, "datasetProperties") is None


def test_a_key_is_deleted_as_a_proposal(graph, read, unique):
    urn = make_dataset_urn("hive", unique)
    graph.emit(_described(urn, "words"))
    delete = MetadataChangeProposalWrapper(
        entityUrn=urn, entityType="dataset", aspectName="datasetKey", changeType=ChangeTypeClass.DELETE
    )
    graph.emit(delete)
    assert read(urn, "datasetProperties") is None
    assert read(urn, "datasetKey") is None


def test_references_to_an_entity_are_counted_and_removed(graph, read, unique):
    tag = f"urn:li:tag:{unique}"
    urns = [make_dataset_urn("hive", f"{unique}.{number}") for number in range(3)]
    tags = GlobalTagsClass([TagAssociationClass(tag), TagAssociationClass("urn:li:tag:stays")])
    graph.emit_mcps([_proposal(urn, tags) for urn in urns])
    count, related = graph.delete_references_to_urn(tag, dry_run=True)
    assert count == 3
    assert {one["entity"] for one in related} <= set(urns)
    assert len(read(urns[0], "globalTags")["tags"]) == 2
    graph.delete_references_to_urn(tag)
    assert [[one["tag"] for one in read(urn, "globalTags")["tags"]] for urn in urns] == [["urn:li:tag:stays"]] * 3


def test_many_entities_are_read_in_one_request(graph, unique):
    urns = [make_dataset_urn("hive", f"{unique}.{number}") for number in range(3)]
    graph.emit_mcps([_described(urn, urn) for urn in urns[:2]])
    found = graph.get_entities("dataset", urns, ["datasetProperties"], with_system_metadata=True)
    assert {urn: aspects["datasetProperties"][0].description for urn, aspects in found.items()} == {
        urn: urn for urn in urns[:2]
    }
    assert all(aspects["datasetProperties"][1].runId for aspects in found.values())


def test_relationships_are_read_page_by_page(graph, unique):
    tag = f"urn:li:tag:{unique}"
    urns = [make_dataset_urn("hive", f"{unique}.{number:03}") for number in range(120)]
    graph.emit_mcps([_proposal(urn, GlobalTagsClass([TagAssociationClass(tag)])) for urn in urns])
    direction = graph.RelationshipDirection.INCOMING
    found = [one.urn for one in graph.get_related_entities(tag, ["TaggedWith"], direction)]
    assert sorted(found) == urns

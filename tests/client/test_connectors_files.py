"""`datahub ingest` with file and generator sources, and with invalid recipes and data."""

import csv
import json
import os
import time

from recipes import dataset, ingest, time_series

# `DOCENT_BULK_DATASETS=10000` sends 100,000 aspects, which takes the client over a minute.
DATASETS = int(os.environ.get("DOCENT_BULK_DATASETS", "1000"))
ASPECTS_OF_EACH = 10
# Mostly the client's own work: about 0.5 ms of CPU per aspect, against 0.1 ms in the server.
BULK_SECONDS = 300


def _write(server, urn: str, **aspects) -> None:
    body = [{"urn": urn} | {aspect: {"value": value} for aspect, value in aspects.items()}]
    reply = server.request("POST", f"/openapi/v3/entity/{urn.split(':')[2]}?async=false", body)
    assert reply.status == 200, reply.text


def test_rows_of_a_csv_file_add_to_existing_metadata(server, run_cli, read, unique, tmp_path):
    urn = dataset("hive", unique)
    tag, other_tag, term = f"urn:li:tag:{unique}", f"urn:li:tag:{unique}_other", f"urn:li:glossaryTerm:{unique}"
    domain, kept = f"urn:li:domain:{unique}", "urn:li:corpuser:kept"
    stamp = {"time": 1, "actor": kept}
    _write(server, domain, domainProperties={"name": unique})
    _write(
        server,
        urn,
        datasetProperties={"name": unique, "description": "ingested"},
        globalTags={"tags": [{"tag": other_tag}]},
        ownership={"owners": [{"owner": kept, "type": "DATAOWNER"}], "lastModified": stamp},
        editableSchemaMetadata={"editableSchemaFieldInfo": [{"fieldPath": "id", "description": "said before"}]},
    )
    names = ["resource", "subresource", "glossary_terms", "tags", "owners", "ownership_type", "description", "domain"]
    rows = [
        [urn, "", f"[{term}]", f"[{tag}|{other_tag}]", "[urn:li:corpuser:new]", "TECHNICAL_OWNER", "From a file, “quoted”", domain],
        [urn, "email", f"[{term}]", f"[{tag}]", "", "", "The address", ""],
    ]
    with open(tmp_path / "rows.csv", "w", newline="") as file:
        csv.writer(file).writerows([names, *rows])

    for _ in range(2):
        ingest(run_cli, server, "csv-enricher", {"filename": str(tmp_path / "rows.csv"), "write_semantics": "PATCH"})
        assert [entry["tag"] for entry in read(urn, "globalTags")["tags"]] == [other_tag, tag]
        assert [entry["urn"] for entry in read(urn, "glossaryTerms")["terms"]] == [term]
        owners = [(owner["owner"], owner["type"]) for owner in read(urn, "ownership")["owners"]]
        assert owners == [(kept, "DATAOWNER"), ("urn:li:corpuser:new", "TECHNICAL_OWNER")]
        assert read(urn, "domains")["domains"] == [domain]
        assert read(urn, "editableDatasetProperties")["description"] == "From a file, “quoted”"
        assert read(urn, "datasetProperties")["description"] == "ingested"
        before, added = read(urn, "editableSchemaMetadata")["editableSchemaFieldInfo"]
        assert before == {"fieldPath": "id", "description": "said before"}
        assert (added["fieldPath"], added["description"]) == ("email", "The address")
        assert [entry["tag"] for entry in added["globalTags"]["tags"]] == [tag]
        assert [entry["urn"] for entry in added["glossaryTerms"]["terms"]] == [term]


def test_generated_lineage_can_be_followed_in_both_directions(server, run_cli, read, unique):
    generated = {"enabled": True, "lineage_fan_out": 3, "lineage_hops": 2, "table_name_prefix": f"{unique}_"}
    ingest(run_cli, server, "datahub-mock-data", {"gen_1": generated})

    def table(level: int, index: int) -> str:
        return dataset("fake", f"{unique}_hops_2_f_3_h{level}_t{index}")

    def reached(urn: str, direction: str) -> dict:
        data = server.graphql(
            """query ($urn: String!, $direction: LineageDirection!) {
              searchAcrossLineage(input: {urn: $urn, direction: $direction, query: "*", count: 100}) {
                total searchResults { degree entity { urn } }
              }
            }""",
            urn=urn,
            direction=direction,
        )
        results = data["searchAcrossLineage"]["searchResults"]
        return {result["entity"]["urn"]: result["degree"] for result in results}

    first = {table(1, index): 1 for index in range(3)}
    second = {table(2, index): 2 for index in range(9)}
    assert reached(table(0, 0), "DOWNSTREAM") == first | second
    assert reached(table(2, 8), "UPSTREAM") == {table(1, 2): 1, table(0, 0): 2}
    assert read(table(1, 1), "subTypes") == {"typeNames": ["View"]}
    (profile,) = time_series(server, table(2, 4), "datasetProfile")
    assert (profile["rowCount"], profile["columnCount"], profile["sizeInBytes"]) == (100, 10, 1000)
    (usage,) = time_series(server, table(2, 4), "datasetUsageStatistics")
    assert usage["eventGranularity"]["unit"] == "DAY"


def _bulk_aspects(prefix: str, number: int) -> dict:
    """Returns ten aspects, each specific to its dataset or common to many."""
    return {
        "status": {"removed": False},
        "subTypes": {"typeNames": ["Table"]},
        "datasetProperties": {"name": f"t{number}", "description": f"Table number {number}, naïve"},
        "editableDatasetProperties": {"description": f"What people say about {number}"},
        "globalTags": {"tags": [{"tag": f"urn:li:tag:{prefix}_{number % 10}"}]},
        "container": {"container": f"urn:li:container:{prefix}_{number % 100}"},
        "browsePathsV2": {"path": [{"id": f"folder {number % 100}"}]},
        "dataPlatformInstance": {"platform": "urn:li:dataPlatform:bulk"},
        "viewProperties": {"materialized": False, "viewLogic": f"select {number}", "viewLanguage": "SQL"},
        "upstreamLineage": {"upstreams": [{"dataset": dataset("bulk", f"{prefix}.t{number // 2}"), "type": "COPY"}]},
    }


def _bulk_file(path, prefix: str) -> None:
    with open(path, "w") as file:
        before = "[\n"
        for number in range(DATASETS):
            for aspect, value in _bulk_aspects(prefix, number).items():
                proposal = {
                    "entityType": "dataset",
                    "entityUrn": dataset("bulk", f"{prefix}.t{number}"),
                    "changeType": "UPSERT",
                    "aspectName": aspect,
                    "aspect": {"json": value},
                }
                file.write(before + json.dumps(proposal))
                before = ",\n"
        file.write("\n]\n")


def test_a_file_of_thousands_of_aspects_is_stored_completely(own_server, run_cli, unique, tmp_path, record_property):
    _bulk_file(tmp_path / "bulk.json", unique)
    began = time.monotonic()
    ingest(run_cli, own_server, "file", {"path": str(tmp_path / "bulk.json")}, at=own_server, seconds=BULK_SECONDS)
    seconds = time.monotonic() - began
    aspects = DATASETS * ASPECTS_OF_EACH
    record_property("bulk", f"{aspects} aspects in {seconds:.0f} s: {aspects / seconds:.0f} aspects/s")

    kinds = _bulk_aspects(unique, 0)
    assert len(kinds) == ASPECTS_OF_EACH
    for aspect in kinds:
        body = {"aspect": aspect, "urnLike": f"urn:li:dataset:(urn:li:dataPlatform:bulk,{unique}.%"}
        assert own_server.request("POST", "/aspects?action=getCount", body).json() == {"value": DATASETS}
    for number in (0, 1, DATASETS // 2 + 1, DATASETS - 1):
        for aspect, value in _bulk_aspects(unique, number).items():
            stored = own_server.read(dataset("bulk", f"{unique}.t{number}"), aspect)
            if aspect == "upstreamLineage":
                # The client adds the default stamp.
                assert stored["upstreams"][0].pop("auditStamp") == {"time": 0, "actor": "urn:li:corpuser:unknown"}
            assert stored.items() >= value.items(), aspect
    data = own_server.graphql(
        """query ($platform: String!) {
          searchAcrossEntities(input: {query: "*", types: [DATASET], orFilters: [{and: [{field: "platform", values: [$platform]}]}]}) { total }
        }""",
        platform="urn:li:dataPlatform:bulk",
    )
    assert data["searchAcrossEntities"]["total"] == DATASETS


def test_an_invalid_recipe_or_source_is_reported_clearly(server, run_cli, unique, tmp_path):
    printed = ingest(run_cli, server, "file", {"path": str(tmp_path / "nowhere.json")}, fails=True)
    assert "nowhere.json" in printed
    printed = ingest(run_cli, server, "sqlalchemy", {"platform": "sqlite"}, fails=True)
    assert "connect_uri" in printed and "Field required" in printed


def test_an_invalid_aspect_fails_its_run_and_is_identified_but_the_others_are_stored(server, run_cli, read, unique, tmp_path):
    urn = dataset("hive", unique)
    good = {"entityType": "dataset", "entityUrn": urn, "changeType": "UPSERT", "aspectName": "status", "aspect": {"json": {"removed": False}}}
    wrong = {"entityType": "dataset", "entityUrn": urn, "changeType": "UPSERT", "aspectName": "domainProperties"}
    wrong["aspect"] = {"json": {"name": "a dataset is no domain"}}
    after = good | {"aspectName": "datasetProperties", "aspect": {"json": {"description": "after the invalid one"}}}
    (tmp_path / "wrong.json").write_text(json.dumps([good, wrong, after]))
    printed = ingest(run_cli, server, "file", {"path": str(tmp_path / "wrong.json")}, fails=True)
    assert "domainProperties" in printed and urn in printed
    assert "'status': 422" in printed, printed
    assert read(urn, "domainProperties") is None
    assert "items were rejected; all others are written" in printed, printed
    assert read(urn, "status") == {"removed": False}
    assert read(urn, "datasetProperties")["description"] == "after the invalid one"


def test_an_unknown_token_is_rejected(server, run_cli, unique, tmp_path):
    class Stranger:
        url, token = server.url, "not-a-token"

    (tmp_path / "empty.json").write_text("[]")
    printed = ingest(run_cli, Stranger, "file", {"path": str(tmp_path / "empty.json")}, fails=True)
    assert "401" in printed

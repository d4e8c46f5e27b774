"""`datahub ingest` with the source `dbt`: models, sources, tests and runs, as dbt writes them to its target directory."""

import json
from urllib.parse import quote

from recipes import HumanEdits, column, columns, dataset, ingest, time_series

GENERATED = "2026-03-01T08:00:00.000000Z"


def _metadata(kind: str) -> dict:
    return {
        "dbt_schema_version": f"https://schemas.getdbt.com/dbt/{kind}.json",
        "dbt_version": "1.9.1",
        "generated_at": GENERATED,
        "invocation_id": "8a1c9f8e-0000-4000-8000-000000000001",
        "adapter_type": "postgres",
        "project_name": "shop",
        "env": {},
    }


def _node(kind: str, name: str, schema: str, **more) -> dict:
    return {
        "unique_id": f"{kind}.shop.{name}",
        "resource_type": kind,
        "package_name": "shop",
        "name": name,
        "database": "warehouse",
        "schema": schema,
        "original_file_path": f"models/{name}.sql",
        "description": "",
        "columns": {},
        "meta": {},
        "tags": [],
        "config": {},
        "depends_on": {"nodes": []},
    } | more


def _files(directory, schema: str) -> dict:
    """Writes a manifest, a catalog and the results of a run, and returns their paths as settings."""
    orders = _node(
        "source",
        "raw_orders",
        schema,
        unique_id="source.shop.raw.raw_orders",
        source_name="raw",
        identifier="raw_orders",
        description="As the till sent it",
    )
    staged = _node(
        "model",
        "staged_orders",
        schema,
        description="One row for each order",
        language="sql",
        raw_code="select id, total from {{ source('raw', 'raw_orders') }}",
        compiled_code=f"select id, total from warehouse.{schema}.raw_orders",
        config={"materialized": "view"},
        depends_on={"nodes": ["source.shop.raw.raw_orders"]},
        tags=["nightly"],
        meta={"steward": "grace"},
        columns={"id": {"name": "id", "description": "The number on the receipt", "data_type": None, "meta": {}, "tags": ["key"]}},
    )
    daily = _node(
        "model",
        "daily_totals",
        schema,
        language="sql",
        raw_code="select sum(total) as total from {{ ref('staged_orders') }}",
        compiled_code=f"select sum(total) as total from warehouse.{schema}.staged_orders",
        config={"materialized": "table"},
        depends_on={"nodes": ["model.shop.staged_orders"]},
        meta={"owner": "ada"},
    )
    unique_id = _node(
        "test",
        "unique_staged_orders_id",
        schema,
        unique_id="test.shop.unique_staged_orders_id.1",
        config={"materialized": "test"},
        depends_on={"nodes": ["model.shop.staged_orders"]},
        test_metadata={"name": "unique", "kwargs": {"column_name": "id", "model": "{{ ref('staged_orders') }}"}},
        raw_code="{{ test_unique(**_dbt_generic_test_kwargs) }}",
        language="sql",
    )
    manifest = {
        "metadata": _metadata("manifest/v12"),
        "nodes": {node["unique_id"]: node for node in (staged, daily, unique_id)},
        "sources": {orders["unique_id"]: orders},
        "exposures": {},
        "metrics": {},
        "semantic_models": {},
    }

    def described(node: dict, kind: str, types: dict) -> dict:
        return {
            "metadata": {"type": kind, "schema": schema, "name": node["name"], "database": "warehouse", "comment": None, "owner": "dbt"},
            "columns": {name: {"type": type, "index": index, "name": name, "comment": None} for index, (name, type) in enumerate(types.items(), 1)},
            "stats": {},
            "unique_id": node["unique_id"],
        }

    types = {"id": "bigint", "total": "numeric"}
    catalog = {
        "metadata": _metadata("catalog/v1"),
        "nodes": {
            staged["unique_id"]: described(staged, "VIEW", types),
            daily["unique_id"]: described(daily, "BASE TABLE", {"total": "numeric"}),
        },
        "sources": {orders["unique_id"]: described(orders, "BASE TABLE", types)},
        "errors": None,
    }
    timing = [{"name": "execute", "started_at": "2026-03-01T08:00:01.000000Z", "completed_at": "2026-03-01T08:00:02.000000Z"}]
    results = {
        "metadata": _metadata("run-results/v6"),
        "args": {"which": "build"},
        "results": [
            {"unique_id": unique_id["unique_id"], "status": "fail", "failures": 2, "message": "Got 2 results", "timing": timing},
            {"unique_id": daily["unique_id"], "status": "success", "timing": timing},
        ],
    }
    for name, content in (("manifest", manifest), ("catalog", catalog), ("run_results", results)):
        (directory / f"{name}.json").write_text(json.dumps(content))
    return {
        "manifest_path": str(directory / "manifest.json"),
        "catalog_path": str(directory / "catalog.json"),
        "run_results_paths": [str(directory / "run_results.json")],
    }


def test_repeated_runs_store_models_sources_lineage_and_test_results_of_dbt(server, run_cli, read, unique, tmp_path):
    settings = _files(tmp_path, unique) | {
        "target_platform": "postgres",
        "meta_mapping": {"steward": {"match": ".*", "operation": "add_owner", "config": {"owner_type": "user", "owner_category": "DATA_STEWARD"}}},
    }

    def dbt(name):
        return dataset("dbt", f"warehouse.{unique}.{name}")

    def table(name):
        return dataset("postgres", f"warehouse.{unique}.{name}")

    staged, daily = dbt("staged_orders"), dbt("daily_totals")
    # Stored earlier by the warehouse's connector; dbt adds to it.
    reply = server.request(
        "POST",
        "/openapi/v3/entity/dataset?async=false",
        [{"urn": table("daily_totals"), "datasetProperties": {"value": {"name": "daily_totals", "description": "from the warehouse"}}}],
    )
    assert reply.status == 200, reply.text

    ingest(run_cli, server, "dbt", settings)

    def must_be_stored():
        properties = read(staged, "datasetProperties")
        assert (properties["name"], properties["description"]) == ("staged_orders", "One row for each order")
        assert properties["customProperties"]["steward"] == "grace"
        assert columns(read(staged, "schemaMetadata")) == {"id": ("NumberType", "bigint"), "total": ("NumberType", "numeric")}
        field = read(staged, "schemaMetadata")["fields"][0]
        assert field["description"] == "The number on the receipt"
        assert [tag["tag"] for tag in field["globalTags"]["tags"]] == ["urn:li:tag:dbt:key"]
        assert "warehouse" in read(staged, "viewProperties")["formattedViewLogic"]
        assert "urn:li:tag:dbt:nightly" in {tag["tag"] for tag in read(staged, "globalTags")["tags"]}
        owners = [(owner["owner"], owner["type"]) for owner in read(staged, "ownership")["owners"]]
        assert owners == [("urn:li:corpuser:grace", "DATA_STEWARD")]
        assert [owner["owner"] for owner in read(daily, "ownership")["owners"]] == ["urn:li:corpuser:ada"]

        # From the warehouse's table through dbt's models to the table that dbt created.
        lineage = read(staged, "upstreamLineage")
        assert {upstream["dataset"] for upstream in lineage["upstreams"]} == {dbt("raw_orders")}
        assert any(
            fine["upstreams"] == [column(dbt("raw_orders"), "total")] and fine["downstreams"] == [column(staged, "total")]
            for fine in lineage["fineGrainedLineages"]
        ), lineage["fineGrainedLineages"]
        assert daily in {upstream["dataset"] for upstream in read(table("daily_totals"), "upstreamLineage")["upstreams"]}
        assert read(table("daily_totals"), "datasetProperties")["description"] == "from the warehouse"

        # The model's test is an assertion with its result.
        tested = quote(staged, safe="")
        reply = server.request("GET", f"/relationships?direction=INCOMING&urn={tested}&types=List(Asserts)").json()
        (assertion,) = {relationship["entity"] for relationship in reply["relationships"]}
        about = read(assertion, "assertionInfo")["customAssertion"]
        assert about["fields"] == [column(staged, "id")] and about["nativeParameters"]["column_name"] == "id"
        (event,) = time_series(server, assertion, "assertionRunEvent")
        assert (event["status"], event["result"]["type"]) == ("COMPLETE", "FAILURE")
        assert event["result"]["nativeResults"] == {"message": "Got 2 results", "failures": "2"}

    must_be_stored()
    edits = HumanEdits(server, staged, "total", unique)
    ingest(run_cli, server, "dbt", settings)
    must_be_stored()
    edits.must_be_as_they_were()

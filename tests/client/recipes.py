"""Recipes for `datahub ingest`: any source, with the server under test as the sink.

What a source is about belongs to the test that uses it.
"""

import json
from pathlib import Path

# A run compares with the previous run of the same pipeline name, and soft-deletes missing entities.
STATEFUL = {"enabled": True, "remove_stale_metadata": True}


def ingest(run_cli, server, source: str, settings: dict, pipeline: str | None = None, **options) -> str:
    """Ingests one source into the server and returns the command's output. `options` are those of `run_cli`."""
    recipe = {
        "source": {"type": source, "config": settings},
        "sink": {"type": "datahub-rest", "config": {"server": server.url, "token": server.token}},
    }
    if pipeline:
        recipe["pipeline_name"] = pipeline
    path = Path(run_cli.home) / "recipe.json"
    path.write_text(json.dumps(recipe))
    return run_cli("ingest", "--config", path, "--no-progress", **options)


def dataset(platform: str, name: str) -> str:
    """The URN of a dataset."""
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def column(dataset_urn: str, path: str) -> str:
    """The URN of a column."""
    return f"urn:li:schemaField:({dataset_urn},{path})"


def columns(schema: dict) -> dict:
    """Returns the columns of a `schemaMetadata` aspect by name, with type and native type."""
    return {
        field["fieldPath"]: (next(iter(field["type"]["type"])).removeprefix("com.linkedin.schema."), field["nativeDataType"])
        for field in schema["fields"]
    }


def time_series(server, urn: str, aspect: str) -> list:
    """Returns all values of a time series aspect, newest first."""
    body = {"urn": urn, "entity": urn.split(":")[2], "aspect": aspect, "limit": 100}
    reply = server.request("POST", "/aspects?action=getTimeseriesAspectValues", body)
    assert reply.status == 200, reply.text
    return [json.loads(value["aspect"]["value"]) for value in reply.json()["value"]["values"]]


def found(server, text: str) -> set:
    """Returns the URNs of the datasets found by these words."""
    data = server.graphql(
        """query ($text: String!) {
          searchAcrossEntities(input: {query: $text, types: [DATASET], count: 100}) { searchResults { entity { urn } } }
        }""",
        text=text,
    )
    return {result["entity"]["urn"] for result in data["searchAcrossEntities"]["searchResults"]}


class HumanEdits:
    """User edits of a dataset, which no later ingestion may change."""

    ASPECTS = ("editableDatasetProperties", "editableSchemaMetadata", "domains", "institutionalMemory")

    def __init__(self, server, urn: str, column_path: str, name: str):
        self._server, self._urn, self._tag = server, urn, f"urn:li:tag:{name}"
        server.graphql(
            """mutation ($urn: String!, $column: String!, $name: String!) {
              described: updateDescription(input: {resourceUrn: $urn, description: "What a person *knows*"})
              column: updateDescription(input: {
                resourceUrn: $urn, subResource: $column, subResourceType: DATASET_FIELD, description: "asked of people"})
              linked: addLink(input: {resourceUrn: $urn, linkUrl: "https://wiki.example.com/page", label: "Page"})
              domain: createDomain(input: {id: $name, name: $name})
              tag: createTag(input: {id: $name, name: $name})
            }""",
            urn=urn,
            column=column_path,
            name=name,
        )
        server.graphql(
            """mutation ($urn: String!, $domain: String!, $tag: String!) {
              placed: setDomain(entityUrn: $urn, domainUrn: $domain)
              tagged: addTag(input: {resourceUrn: $urn, tagUrn: $tag})
            }""",
            urn=urn,
            domain=f"urn:li:domain:{name}",
            tag=self._tag,
        )
        self._said = self._now()
        assert self._said["editableDatasetProperties"]["description"] == "What a person *knows*"
        assert self._said["editableSchemaMetadata"]["editableSchemaFieldInfo"][0]["fieldPath"] == column_path
        assert self._said["domains"]["domains"] == [f"urn:li:domain:{name}"]
        assert self._said["institutionalMemory"]["elements"][0]["url"] == "https://wiki.example.com/page"
        self.must_be_as_they_were()

    def _now(self) -> dict:
        return {aspect: self._server.read(self._urn, aspect) for aspect in self.ASPECTS}

    def must_be_as_they_were(self) -> None:
        assert self._now() == self._said
        # Connectors write tags too, in addition to those of users.
        assert self._tag in {tag["tag"] for tag in self._server.read(self._urn, "globalTags")["tags"]}

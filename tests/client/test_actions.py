"""DataHub Actions follows the changes without Kafka, and its executor runs ingestion."""

import base64
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from documents import file_for_clients
from running import Server

# An ingestion starts Python three times.
SECONDS = 120

URN = "urn:li:dataset:(urn:li:dataPlatform:hive,executor.orders,PROD)"
REQUEST = "query ($urn: String!) { executionRequest(urn: $urn) { result { status report } } }"


@pytest.fixture
def server(tmp_path):
    """A server that encrypts secrets."""
    (tmp_path / "secrets.key").write_text(base64.b64encode(os.urandom(32)).decode())
    running = Server(tmp_path, "--secret-key-file", "secrets.key")
    yield running
    running.stop()


@pytest.fixture
def executor(server, tmp_path):
    """DataHub's executor, which installs no packages: it uses those of the tests."""
    environments = tmp_path / "environments"
    environments.mkdir()
    (environments / "file-bundled").symlink_to(sys.prefix)
    config = yaml.safe_load(file_for_clients("executor.yml"))
    config["datahub"] = {"server": server.url, "token": server.token}
    # From before the request, whenever the executor is ready.
    config["source"]["config"]["lookback_days"] = 1
    (tmp_path / "executor.yml").write_text(yaml.safe_dump(config))
    with open(tmp_path / "executor.log", "w") as log:
        command = [Path(sys.executable).with_name("datahub"), "actions", "run", "-c", tmp_path / "executor.yml"]
        environment = os.environ | {"DATAHUB_BUNDLED_VENV_PATH": str(environments)}
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    yield tmp_path / "executor.log"
    process.terminate()
    process.wait(SECONDS)


@pytest.mark.any_engine
def test_the_executor_runs_a_request(server, executor, tmp_path):
    records = [
        {
            "entityType": "dataset",
            "entityUrn": URN,
            "changeType": "UPSERT",
            "aspectName": "datasetProperties",
            "aspect": {"json": {"description": "Read by the executor."}},
        }
    ]
    (tmp_path / "records.json").write_text(json.dumps(records))
    # What the recipe names is a secret, which the executor reads.
    create = "mutation ($input: CreateSecretInput!) { createSecret(input: $input) }"
    server.graphql(create, input={"name": "CATALOG_TOKEN", "value": server.token})
    recipe = {
        "source": {"type": "file", "config": {"path": str(tmp_path / "records.json")}},
        "sink": {"type": "datahub-rest", "config": {"server": server.url, "token": "${CATALOG_TOKEN}"}},
    }
    source = {
        "name": "Orders",
        "type": "file",
        "config": {"recipe": json.dumps(recipe), "executorId": "default", "version": "bundled"},
    }
    create = "mutation ($input: UpdateIngestionSourceInput!) { createIngestionSource(input: $input) }"
    urn = server.graphql(create, input=source)["createIngestionSource"]
    create = "mutation ($input: CreateIngestionExecutionRequestInput!) { createIngestionExecutionRequest(input: $input) }"
    request = server.graphql(create, input={"ingestionSourceUrn": urn})["createIngestionExecutionRequest"]

    end = time.monotonic() + SECONDS
    result = {}
    while result.get("status") not in ("SUCCESS", "FAILURE"):
        assert time.monotonic() < end, f"{result}\n{executor.read_text()}"
        time.sleep(0.5)
        result = server.graphql(REQUEST, urn=request)["executionRequest"]["result"]
    assert result["status"] == "SUCCESS", result["report"]
    assert server.read(URN, "datasetProperties")["description"] == "Read by the executor."

"""Runs the commands of DataHub's tools in the documents, in order, against a server of its own.

The blocks are marked: `sh client` and `python client` are run, and what they print stands behind them in a block marked
`text printed` (where `…` stands for any text within a line), letter for letter; any other `client NAME` is a file of that name. `$PASSWORD`, `$TOKEN`
and `http://localhost:8080` are those of the server; any other variable must come from the document, as it must for a reader.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agent import Agent
from documents import ROOT, blocks, file_for_clients
from running import PASSWORD

pytestmark = pytest.mark.any_engine

COMMAND_SECONDS = 120

DOCUMENTS = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if blocks(path)]


def test_there_is_a_document_to_run():
    assert ROOT / "docs" / "CLIENTS.md" in DOCUMENTS


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_commands_of_a_document_print_the_output_shown(path, own_server, tmp_path):
    programs = Path(sys.executable).parent
    variables = {name: value for name, value in os.environ.items() if not name.startswith("DATAHUB_")}
    variables |= {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PASSWORD": PASSWORD,
        "TOKEN": own_server.token,
        "DATAHUB_TELEMETRY_ENABLED": "false",
        "NO_COLOR": "1",
    }
    printed = None
    for block in blocks(path):
        text = block.text.replace("http://localhost:8080", own_server.url)
        language, marker, *name = block.kind.split()
        if marker == "printed":
            assert printed is not None, f"{block} stands behind nothing that prints"
            assert language == "text", f"{block} is not compared letter for letter"
            pattern = re.escape(text.strip()).replace("…", ".*")
            assert re.fullmatch(pattern, printed.strip()), f"{printed}\nis not\n{text}"
            printed = None
            continue
        assert not (printed or "").strip(), f"{printed!r} is not in the document"
        printed = None
        if name:
            (tmp_path / name[0]).write_text(text)
            continue
        command = {"sh": ["bash", "-c"], "python": [sys.executable, "-c"]}[language]
        finished = subprocess.run(
            [*command, text], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=COMMAND_SECONDS
        )
        assert finished.returncode == 0, f"{text}\n{finished.stdout}\n{finished.stderr}"
        printed = finished.stdout
    assert not (printed or "").strip(), f"{printed!r} is not in the document"


def test_an_agent_with_the_settings_of_the_document_reads_and_writes(own_server, tmp_path):
    text = file_for_clients("agent.json").replace("http://localhost:8080", own_server.url).replace("${TOKEN}", own_server.token)
    settings = json.loads(text)["mcpServers"]["docent"]
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,hr.applicants,PROD)"
    body = [{"urn": urn, "datasetProperties": {"value": {"name": "applicants", "description": "Applications"}}}]
    assert own_server.request("POST", "/openapi/v3/entity/dataset?async=false", body).status == 200
    agent = Agent(settings["env"]["DATAHUB_GMS_URL"], settings["env"]["DATAHUB_GMS_TOKEN"], tmp_path, settings)
    try:
        found = agent.call("search", query="applicants")
        assert urn in json.dumps(found)
        agent.call("update_description", entity_urn=urn, operation="replace", description="One row for each application")
    finally:
        agent.stop()
    assert own_server.read(urn, "editableDatasetProperties")["description"] == "One row for each application"

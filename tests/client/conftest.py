"""Fixtures for all tests with DataHub's own client: a running server, and the client in three forms.

A test writes through the client and reads back through `read`, which is plain HTTP. All tests of a worker share one
server, so a test names its entities with `unique`. Nothing here is specific to one test.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

# Set before the client is imported: it reads them once, and writes below the home directory.
_HOME = tempfile.TemporaryDirectory(prefix="docent-client-home-")
os.environ["HOME"] = _HOME.name
os.environ["DATAHUB_TELEMETRY_ENABLED"] = "false"
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"
# Only loopback: any other address goes to a closed port.
for _name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
    os.environ[_name] = os.environ[_name.lower()] = "http://127.0.0.1:9"

from datahub.ingestion.graph.client import DataHubGraph  # noqa: E402
from datahub.ingestion.graph.config import ClientMode, DatahubClientConfig  # noqa: E402
from datahub.sdk import DataHubClient  # noqa: E402

from running import Server  # noqa: E402

# The timeout of one client command.
COMMAND_SECONDS = 120


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server with an empty store; the tests fail if it does not stop cleanly."""
    running = Server(tmp_path_factory.mktemp("server"))
    os.environ["DATAHUB_GMS_URL"] = running.url
    os.environ["DATAHUB_GMS_TOKEN"] = running.token
    yield running
    running.stop()


@pytest.fixture
def own_server(tmp_path):
    """A server for one test, for tests that read the whole catalog."""
    directory = tmp_path / "own_server"
    directory.mkdir()
    running = Server(directory)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def read(server):
    """`read(urn, aspect)` returns the stored value or None, without the client."""
    return server.read


def _graph(server, flavour: str) -> DataHubGraph:
    settings = DatahubClientConfig(server=server.url, token=server.token)
    if flavour == "openapi":
        settings.client_mode = ClientMode.SDK
        settings.openapi_ingestion = True
    return DataHubGraph(settings)


@pytest.fixture(scope="session", params=["restli", "openapi"])
def flavour(request):
    """The client's write API: a test that uses `graph` or `client` runs once with each."""
    return request.param


@pytest.fixture(scope="session")
def graph(server, flavour):
    """A `DataHubGraph`, once for each write API."""
    with _graph(server, flavour) as connected:
        connected.test_connection()
        yield connected


@pytest.fixture(scope="session")
def client(graph):
    """A `DataHubClient`, once for each write API."""
    return DataHubClient(graph=graph)


@pytest.fixture(scope="session")
def restli_graph(server):
    """A `DataHubGraph` that writes over Rest.li, for tests that do not depend on the write API."""
    with _graph(server, "restli") as connected:
        yield connected


@pytest.fixture
def unique(request):
    """A name unique to this test, valid in every URN."""
    return re.sub(r"\W+", "_", request.node.name).strip("_").lower()


@pytest.fixture
def run_cli(server, tmp_path):
    """`run_cli(*arguments, input=None)` runs `datahub`, fails unless it succeeds, and returns its standard output.

    `fails=True` is for a command that must fail; then both outputs are returned, one after the other. `environment`
    sets variables, or takes one away with None. `at` is another server than the shared one, `seconds` is how long the
    command may take.
    """
    home = tmp_path / "home"
    home.mkdir()

    def run(*arguments, input=None, fails=False, environment=None, at=server, seconds=COMMAND_SECONDS) -> str:
        variables = dict(os.environ, HOME=str(home), DATAHUB_GMS_URL=at.url, DATAHUB_GMS_TOKEN=at.token)
        variables |= {"DATAHUB_TELEMETRY_ENABLED": "false", "NO_COLOR": "1", "COLUMNS": "200"}
        for name, value in (environment or {}).items():
            variables.pop(name, None) if value is None else variables.update({name: value})
        finished = subprocess.run(
            [str(Path(sys.executable).parent / "datahub"), *map(str, arguments)],
            input=input if input is not None else "",
            env=variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        printed = f"{finished.stdout}{finished.stderr}"
        if fails:
            assert finished.returncode != 0, f"datahub {arguments} must fail:\n{printed}"
            return printed
        assert finished.returncode == 0, f"datahub {arguments} ended with {finished.returncode}:\n{printed}"
        return finished.stdout

    run.home = home
    return run


def pytest_collection_modifyitems(config, items):
    """Leaves tests of the client's own programs to the run on SQLite.

    Each starts a Python program for seconds to send requests that other tests send on both engines.
    """
    if os.environ.get("DOCENT_TEST_STORE") == "postgres":
        left = [item for item in items if item.get_closest_marker("any_engine")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def _must_run(report):
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} did not run: a test that is not run proves nothing ({report.longrepr})"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return _must_run((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _must_run((yield))


def pytest_terminal_summary(terminalreporter):
    """Prints the values that tests recorded with pytest's `record_property`."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")

"""A running `docent serve` and a plain HTTP client for it.

Nothing of DataHub's client is used here: what the client wrote is judged by what the server says.
"""

import atexit
import functools
import itertools
import json
import os
import signal
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from postgres import Postgres

# Far longer than a start, a stop or a response takes, so that a busy machine fails no test.
TIMEOUT_SECONDS = 60

ADMINISTRATOR = "datahub"
PASSWORD = "a password for the tests"


@dataclass
class Reply:
    """A response, whatever its status."""

    status: int
    headers: dict
    text: str

    def json(self):
        return json.loads(self.text)


def empty_store() -> str:
    """Returns the URL of an empty store of the engine under test."""
    engine = os.environ.get("DOCENT_TEST_STORE") or "sqlite"
    assert engine in ("sqlite", "postgres"), f"DOCENT_TEST_STORE is {engine!r}: it is sqlite or postgres"
    if engine == "sqlite":
        return "sqlite:docent.db"
    server = _postgres()
    name = f"docent_{next(_numbers)}"
    server.sql(f"create database {name}")
    return server.store(name)


_numbers = itertools.count()


@functools.cache
def _postgres() -> Postgres:
    """Returns the PostgreSQL server of this test run."""
    server = Postgres()
    atexit.register(server.stop)
    return server


class Server:
    """A server with a second listener and an administrator token, by default on an empty store."""

    def __init__(self, directory: Path, *arguments: str, listen="127.0.0.1:0", ui_listen="127.0.0.1:0", store=None):
        self.directory = directory
        self.binary = _binary()
        self.store = store or empty_store()
        (directory / "password").write_text(PASSWORD)
        self._errors = open(directory / "errors.log", "w+")
        command = ["serve", "--listen", listen, "--ui-listen", ui_listen, "--store", self.store]
        command += ["--admin-password-file", "password", *arguments]
        self._process = subprocess.Popen(
            [self.binary, *command],
            cwd=directory,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.url = self._address("is listening on ")
        self.ui_url = self._address("and on ")
        # Its output is read continuously, so that the server never blocks.
        threading.Thread(target=self._process.stdout.read, daemon=True).start()
        self.token = self.docent(
            "token", "create", "--store", self.store, "--user", ADMINISTRATOR, "--name", "tests"
        ).strip()

    def _address(self, before: str) -> str:
        line = self._process.stdout.readline()
        if before not in line:
            self._process.kill()
            raise AssertionError(f"the server said {line!r} instead of where it listens\n{self.log()}")
        return line.split(before)[1].strip()

    def docent(self, *arguments: str) -> str:
        """Runs another `docent` command in the server's directory and returns its output."""
        return docent(self.directory, *arguments)

    def log(self) -> str:
        """Returns the server's log."""
        return (self.directory / "errors.log").read_text()

    def request(self, method: str, path: str, body=None, headers=None) -> Reply:
        """Sends JSON, or raw bytes, with the administrator's token."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"} | (headers or {})
        request = urllib.request.Request(self.url + path, data=data, headers=sent, method=method)
        # Ignore the developer's proxy settings.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                return Reply(response.status, dict(response.headers), response.read().decode())
        except urllib.error.HTTPError as error:
            return Reply(error.code, dict(error.headers), error.read().decode())

    def graphql(self, query: str, **variables):
        """Executes a GraphQL document and returns its data; errors fail the test."""
        reply = self.request("POST", "/api/graphql", {"query": query, "variables": variables})
        answer = reply.json()
        assert reply.status == 200 and not answer.get("errors"), reply.text
        return answer["data"]

    def read(self, urn, aspect: str):
        """Returns the latest value of an aspect, or None."""
        path = f"/aspects/{urllib.parse.quote(str(urn), safe='')}?aspect={aspect}&version=0"
        reply = self.request("GET", path)
        if reply.status == 404:
            return None
        assert reply.status == 200, f"{reply.status} {reply.text}"
        (value,) = reply.json()["aspect"].values()
        return value

    def stop(self) -> None:
        """Stops the server; fails unless it stops cleanly and logged no defect."""
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise AssertionError(f"the server did not stop\n{self.log()}") from None
        log = self.log()
        self._errors.close()
        assert code == 0, f"the server ended with {code}\n{log}"
        assert "panicked" not in log, log


def docent(directory: Path, *arguments: str, fails=False) -> str:
    """Runs a `docent` command and returns its output; standard error if it must fail."""
    finished = subprocess.run(
        [_binary(), *arguments],
        cwd=directory,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert (finished.returncode != 0) == fails, f"{finished.stdout}{finished.stderr}"
    return finished.stderr if fails else finished.stdout


def _binary() -> str:
    path = os.environ.get("DOCENT_TEST_BINARY")
    assert path, "DOCENT_TEST_BINARY does not say which binary to test: run the tests through scripts/test-client"
    return path


def _environment() -> dict:
    """Returns the environment without the developer's `DOCENT_…` variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DOCENT_")}

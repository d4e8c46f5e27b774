"""What all tests of deploy/ and scripts/dist share: the repository, and commands that must succeed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# The server of the tests with DataHub's client may not go through the developer's proxy.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"

ROOT = Path(__file__).resolve().parents[2]
# 2023-11-14, so that archives of tests do not depend on the commit.
EPOCH = "1700000000"
TIMEOUT_SECONDS = 120


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def run():
    """`run(command, …)` returns what the command prints; it must succeed, or fail with `fails=True`."""
    return _run


def _run(*command, fails=False, cwd=ROOT, env=None, timeout=TIMEOUT_SECONDS) -> str:
    finished = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    printed = finished.stdout + finished.stderr
    assert (finished.returncode != 0) == fails, f"{command} ended with {finished.returncode}:\n{printed}"
    return printed if fails else finished.stdout


@pytest.fixture(scope="session")
def tool():
    """The path of a program of the environment of these tests."""
    return lambda name: Path(sys.executable).with_name(name)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A skipped test proves nothing, so it fails."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped:
        report.outcome = "failed"

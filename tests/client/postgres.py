"""A real PostgreSQL server, as a source of DataHub's connector and as Docent's store."""

import os
import pwd
import shutil
import subprocess
import tempfile
import urllib.parse
from pathlib import Path

# Far longer than any database operation takes.
TIMEOUT_SECONDS = 60


def _programs() -> Path:
    """Returns the directory of the server's programs, which Debian installs outside the PATH."""
    on_path = shutil.which("pg_ctl")
    if on_path:
        return Path(on_path).resolve().parent
    for directory in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (directory / "pg_ctl").exists():
            return directory
    raise AssertionError("PostgreSQL is not installed: scripts/set-up-system postgresql installs it")


class Postgres:
    """A PostgreSQL server on a Unix socket in its own directory. It does not run as root."""

    def __init__(self):
        self._programs = _programs()
        self._user = pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None
        # Not in the test's directory, which other users cannot access and whose path is too long for a socket.
        self.directory = Path(tempfile.mkdtemp(prefix="docent-postgres-"))
        if self._user is not None:
            os.chown(self.directory, self._user, -1)
        data = self.directory / "data"
        self._run("initdb", "--pgdata", data, "--username", "tests", "--auth", "trust", "--encoding", "UTF8", "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={self.directory} -c fsync=off"
        self._run("pg_ctl", "start", "--wait", "--pgdata", data, "--log", self.directory / "log", "--options", options)

    def _run(self, program: str, *arguments, input: str = "") -> None:
        finished = subprocess.run(
            [self._programs / program, *arguments],
            user=self._user,
            cwd=self.directory,
            input=input,
            # A file, not a pipe: the server started by pg_ctl would keep a pipe open.
            stdout=open(self.directory / "output", "w"),
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        assert finished.returncode == 0, f"{program}: {(self.directory / 'output').read_text()}"

    def sql(self, statements: str, database: str = "postgres") -> None:
        arguments = ["--host", self.directory, "--username", "tests", "--dbname", database]
        self._run("psql", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", *arguments, input=statements)

    def uri(self, database: str) -> str:
        return f"postgresql+psycopg2://tests@/{database}?host={self.directory}"

    def store(self, database: str) -> str:
        """Returns the URL of one of its databases, for Docent's `--store`."""
        return f"postgres://tests@/{database}?host={urllib.parse.quote(str(self.directory), safe='')}"

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "--wait", "--mode", "immediate", "--pgdata", self.directory / "data")
        shutil.rmtree(self.directory)

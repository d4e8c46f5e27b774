"""A real MariaDB server: many a DataHub keeps its aspects in one."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

# How long the database may take for one thing: far more than it needs.
PATIENCE_SECONDS = 60


def _program(name: str) -> str:
    """Where a program is: the server's own is not on everybody's path."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")
    assert found, "MariaDB is not installed: scripts/set-up-system mariadb installs it"
    return found


class MariaDb:
    """A MariaDB server on loopback with its data in a directory of its own; it refuses to run as root."""

    def __init__(self):
        self._user = pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None
        # Not below the test's directory, which other users may not enter and whose name is too long for a socket.
        self.directory = Path(tempfile.mkdtemp(prefix="docent-mariadb-"))
        if self._user is not None:
            os.chown(self.directory, self._user, -1)
        data, self._socket = self.directory / "data", self.directory / "socket"
        self._run(
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        )
        with socket.socket() as free:
            # Free now; whoever takes it before the server does makes the test fail, not pass.
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process = subprocess.Popen(
            [
                _program("mariadbd"),
                "--no-defaults",
                f"--datadir={data}",
                f"--socket={self._socket}",
                f"--pid-file={self.directory}/pid",
                f"--port={self.port}",
                "--bind-address=127.0.0.1",
                "--skip-name-resolve",
                # For speed: what the tests write need not outlive a power failure.
                "--innodb-flush-log-at-trx-commit=0",
                # What the server would have of it by default, and more: rows of DataHub are large.
                "--max-allowed-packet=256M",
            ],
            user=self._user,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=open(self.directory / "log", "w"),
            stderr=subprocess.STDOUT,
        )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._client("select 1").returncode != 0:
            alive = self._process.poll() is None and time.monotonic() < deadline
            assert alive, f"MariaDB does not start: {(self.directory / 'log').read_text()}"
            time.sleep(0.05)

    def _run(self, program: str, *arguments) -> None:
        finished = subprocess.run(
            [_program(program), *arguments],
            user=self._user,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert finished.returncode == 0, f"{program}: {finished.stdout}{finished.stderr}"

    def _client(self, statements: str, database: str | None = None):
        where = ["--no-defaults", f"--socket={self._socket}", "--user=root", "--default-character-set=utf8mb4"]
        return subprocess.run(
            [_program("mariadb"), *where, "--binary-mode", *([database] if database else [])],
            # Texts are written as in standard SQL: a backslash is one.
            input=f"set session sql_mode = 'NO_BACKSLASH_ESCAPES'; {statements}",
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def sql(self, statements: str, database: str | None = None) -> None:
        finished = self._client(statements, database)
        assert finished.returncode == 0, finished.stderr

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_SECONDS)
        shutil.rmtree(self.directory)

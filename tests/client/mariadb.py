"""A real MariaDB server, a common database of DataHub."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

# Far longer than any database operation takes.
TIMEOUT_SECONDS = 60


def _program(name: str) -> str:
    """Returns the path of a program; the server itself may not be on the PATH."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")
    assert found, "MariaDB is not installed: scripts/set-up-system mariadb installs it"
    return found


class MariaDb:
    """A MariaDB server on loopback with its own data directory. It does not run as root."""

    def __init__(self):
        self._user = pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None
        # Not in the test's directory, which other users cannot access and whose path is too long for a socket.
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
            # If another process takes the port first, the test fails.
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
                # For speed: test data need not survive a power failure.
                "--innodb-flush-log-at-trx-commit=0",
                # Larger than the default: DataHub's rows are large.
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
        deadline = time.monotonic() + TIMEOUT_SECONDS
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
            timeout=TIMEOUT_SECONDS,
        )
        assert finished.returncode == 0, f"{program}: {finished.stdout}{finished.stderr}"

    def _client(self, statements: str, database: str | None = None):
        where = ["--no-defaults", f"--socket={self._socket}", "--user=root", "--default-character-set=utf8mb4"]
        return subprocess.run(
            [_program("mariadb"), *where, "--binary-mode", *([database] if database else [])],
            # Standard SQL strings, in which a backslash is a plain character.
            input=f"set session sql_mode = 'NO_BACKSLASH_ESCAPES'; {statements}",
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )

    def sql(self, statements: str, database: str | None = None) -> None:
        finished = self._client(statements, database)
        assert finished.returncode == 0, finished.stderr

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(TIMEOUT_SECONDS)
        shutil.rmtree(self.directory)

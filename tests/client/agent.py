"""Sessions of agents with Docent: through DataHub's agent server, `mcp-server-datahub`, and directly at `/mcp`.

A session has its own thread and event loop, so that tests stay plain functions.
"""

import asyncio
import json
import os
import sys
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

# Far longer than a start or a call takes, so that a busy machine fails no test.
TIMEOUT_SECONDS = 90


class ToolError(Exception):
    """The tool returned an error."""


class _Session:
    """A session over any transport; `_streams` opens it."""

    def _start(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._life = asyncio.run_coroutine_threadsafe(self._live(), self._loop)
        # Also set when the start fails, so that the wait below ends.
        self._life.add_done_callback(lambda _: self._ready.set())
        assert self._ready.wait(TIMEOUT_SECONDS), f"the session does not start\n{self.log()}"
        assert not self._life.done(), f"the session ended: {self._life.exception()!r}\n{self.log()}"

    async def _live(self) -> None:
        # The library requires that one task opens and closes everything.
        async with self._streams() as (reader, writer):
            async with ClientSession(reader, writer) as self._session:
                self.about = await self._session.initialize()
                self._ready.set()
                await self._over.wait()

    def _wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(TIMEOUT_SECONDS)

    def tools(self) -> dict:
        """Returns the tools by their names."""
        return {tool.name: tool for tool in self._wait(self._session.list_tools()).tools}

    def call(self, tool: str, **arguments):
        """Calls a tool and returns its result; raises `ToolError` if it fails."""
        result = self._wait(self._session.call_tool(tool, arguments))
        text = "".join(getattr(part, "text", "") for part in result.content)
        if result.isError:
            raise ToolError(text)
        return json.loads(text)

    def log(self) -> str:
        """Returns the log of the transport."""
        return ""

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._life.result(TIMEOUT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)


class OwnAgent(_Session):
    """A session with Docent itself."""

    def __init__(self, url: str, token: str):
        self._url, self._token = url, token
        self._start()

    @asynccontextmanager
    async def _streams(self):
        headers = {"Authorization": f"Bearer {self._token}"}
        async with httpx.AsyncClient(headers=headers, timeout=TIMEOUT_SECONDS) as http:
            async with streamable_http_client(f"{self._url}/mcp", http_client=http) as (reader, writer, _):
                yield reader, writer


class Agent(_Session):
    """A session with DataHub's agent server, connected to a running Docent. `settings` are an agent's: a command and
    its environment; by default all tools are enabled."""
    def __init__(self, url: str, token: str, directory: Path, settings: dict | None = None):
        self._errors = open(directory / "agent.log", "w+")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "NO_PROXY": "127.0.0.1",
            "DATAHUB_GMS_URL": url,
            "DATAHUB_GMS_TOKEN": token,
            "DATAHUB_TELEMETRY_ENABLED": "false",
        }
        # Without these, it offers only read tools.
        everything = {"TOOLS_IS_MUTATION_ENABLED": "true", "TOOLS_IS_USER_ENABLED": "true"}
        environment |= settings["env"] if settings else everything
        program = str(Path(sys.executable).parent / (settings["command"] if settings else "mcp-server-datahub"))
        self._parameters = StdioServerParameters(command=program, args=["--transport", "stdio"], env=environment)
        self._start()

    def _streams(self):
        return stdio_client(self._parameters, errlog=self._errors)

    def log(self) -> str:
        """Returns the agent server's log."""
        self._errors.flush()
        self._errors.seek(0)
        return self._errors.read()

    def stop(self) -> None:
        super().stop()
        log = self.log()
        self._errors.close()
        # The agent server tolerates missing schema fields, but Docent promises to have all of them.
        assert "Validation error" not in log, log

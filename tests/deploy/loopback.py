"""Requests to servers on this machine."""

import json
import socket
import time
import urllib.request

TIMEOUT_SECONDS = 60
# A busy machine boots a small system within minutes.
START_SECONDS = 180


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def send(url: str, body: dict | None = None, **headers: str):
    """Sends JSON, or without a body asks."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} | headers)
    return opener.open(request, timeout=TIMEOUT_SECONDS)


def wait_until_ready(server: str, explanation=lambda: "the server is not ready"):
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with send(f"{server}/health/ready"):
                return
        except OSError:
            assert time.monotonic() < deadline, explanation()
            time.sleep(0.1)


def sign_in(server: str, password: str) -> str:
    """Returns the cookies of a session of the administrator."""
    with send(f"{server}/logIn", {"username": "datahub", "password": password}) as response:
        cookies = response.headers.get_all("Set-Cookie")
    return "; ".join(cookie.partition(";")[0] for cookie in cookies)


def graphql(server: str, query: str, **headers: str) -> dict:
    with send(f"{server}/api/graphql", {"query": query}, **headers) as response:
        answer = json.load(response)
    assert not answer.get("errors"), answer
    return answer["data"]

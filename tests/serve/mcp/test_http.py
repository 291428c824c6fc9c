"""Over HTTP only programs of this machine that know the token get an answer."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest

from recollect.serve.token import home_token
from tests.serve.mcp.clients import HttpServer, http_caller, http_server
from tests.serve.mcp.homes import Machine, with_history
from tests.serve.mcp.test_bad_machine import INITIALIZE

_BODY = __import__("json").dumps(INITIALIZE).encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    machine = with_history(Machine(tmp_path_factory.mktemp("http")))
    machine.sync()
    with http_server(machine) as running:
        yield running


def post(server: HttpServer, body: bytes = _BODY, **headers: str | None) -> tuple[int, bytes]:
    """Send an initialize request; headers replace the right ones, None leaves one out."""
    parts = urlsplit(server.url)
    right: dict[str, str | None] = {
        "host": f"127.0.0.1:{parts.port}",
        "authorization": f"Bearer {server.token}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    connection = HTTPConnection("127.0.0.1", parts.port or 0, timeout=120)
    try:
        connection.putrequest("POST", parts.path, skip_host=True)
        for name, value in {**right, **{k.replace("_", "-"): v for k, v in headers.items()}}.items():
            if value is not None:
                connection.putheader(name, value)
        connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_who_shows_the_token_is_answered(server: HttpServer) -> None:
    status, body = post(server)
    assert status == 200
    assert b'"serverInfo"' in body


@pytest.mark.parametrize("shown", [None, "", "Bearer", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x"])
def test_without_the_token_nothing_is_told(server: HttpServer, shown: str | None) -> None:
    status, body = post(server, authorization=shown.format(token=server.token) if shown else shown)
    assert status == 401
    assert b"recollect" not in body.lower()


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example:4319"},
        {"host": "127.0.0.1.evil.example"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"host": None},
    ],
)
def test_pages_of_other_hosts_are_refused_even_with_the_token(
    server: HttpServer, headers: dict[str, str | None]
) -> None:
    status, _body = post(server, **headers)
    assert status in (400, 403)


def test_a_page_of_this_machine_may_ask(server: HttpServer) -> None:
    assert post(server, origin="http://localhost:3000", host="localhost")[0] == 200


def test_a_body_that_is_too_large_or_no_message_is_refused(server: HttpServer) -> None:
    assert post(server, b"[" + b"1," * 200_000 + b"1]")[0] == 413
    assert post(server, b"not json")[0] == 400
    assert post(server, content_type="text/plain")[0] in (400, 415)


def test_a_session_that_does_not_exist_is_not_found(server: HttpServer) -> None:
    assert post(server, mcp_session_id="0" * 32)[0] == 404


def test_clients_at_once_have_sessions_of_their_own(server: HttpServer) -> None:
    async def both() -> list[str]:
        answers: list[str] = []

        async def one() -> None:
            async with http_caller(server) as caller:
                answers.append((await caller.call("list_sessions")).text)

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(one)
        return answers

    answers = anyio.run(both)
    assert len(answers) == 4
    # Where a client over HTTP works is not known, so it is asked about everything.
    assert all("blog@main" in answer and "shop@main" in answer for answer in answers)


def test_the_token_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    token = home_token(home)
    assert home_token(home) == token
    assert len(token) >= 40
    assert [path.name for path in home.iterdir()] == ["http-token"]
    if os.name != "nt":
        assert stat.S_IMODE((home / "http-token").stat().st_mode) == 0o600

"""A real receiver in a process of its own, and a client that says exactly what it is told to."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from tests import program

JSON = "application/json"
PROTOBUF = "application/x-protobuf"


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Receiver:
    """`recollect otlp` on a free port."""

    def __init__(self, home: Path) -> None:
        self.home = home
        env = {**os.environ, "RECOLLECT_HOME": str(home)}
        self.process = program.Program("otlp", "--port", "0", "--json", env=env)
        told = json.loads(self.process.stdout.readline())
        self.spool = Path(told["spool"])
        self.token = Path(told["token_file"]).read_text("ascii").strip()
        self.port = urlsplit(told["url"]).port

    def post(self, path: str, body: bytes, content_type: str = JSON, **headers: str) -> Answer:
        """Send a request with the token. headers: with underscores for hyphens, "" for one to leave out."""
        named = {"authorization": f"Bearer {self.token}"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        named = {name: value for name, value in named.items() if value}
        if content_type:
            named["content-type"] = content_type
        return self.ask("POST", path, body, named)

    def ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.putrequest(method, path, skip_host="host" in headers)
            for name, value in headers.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(body)
            got = connection.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        """Return a bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=120)

    def lines(self) -> list[Any]:
        """Return the requests in the spool."""
        return [
            json.loads(line) for path in sorted(self.spool.glob("*.jsonl")) for line in path.read_bytes().splitlines()
        ]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        code = self.process.wait()
        self.process.close()
        return code


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Receiver]]:
    """Return a function that starts a receiver on the same home each time; all are stopped at the end."""
    started: list[Receiver] = []

    def one() -> Receiver:
        started.append(Receiver(tmp_path / "home"))
        return started[-1]

    yield one
    for receiver in started:
        receiver.end(signal.SIGTERM)


@pytest.fixture
def receiver(start: Callable[[], Receiver]) -> Receiver:
    """Return a running receiver."""
    return start()

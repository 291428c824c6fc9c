"""A server of vectors for tests: real HTTP on this machine, as well- or ill-behaved as a test wants."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

DIMENSIONS = 8


class Asked(NamedTuple):
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Answer(NamedTuple):
    """What the server gives back. pause: an event it waits for before every piece of the body. is_cut: it breaks off
    before the end. is_closed: it closes the connection instead of answering."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    pieces: int = 1
    pause: threading.Event | None = None
    is_cut: bool = False
    is_closed: bool = False


Behaviour = Callable[[Asked, int], Answer]
"""(request, how many came before it) -> answer."""


def vector(text: str) -> list[float]:
    """Return numbers that tell texts apart, of no particular length."""
    return [float((sum(text.encode()) * (n + 3)) % 17 + 1) for n in range(DIMENSIONS)]


def openai(asked: Asked, _before: int = 0) -> Answer:
    items = [{"object": "embedding", "index": n, "embedding": vector(t)} for n, t in enumerate(asked.body["input"])]
    return Answer(body=json.dumps({"object": "list", "data": items[::-1], "model": "m"}).encode())


def ollama(asked: Asked, _before: int = 0) -> Answer:
    return Answer(body=json.dumps({"model": "m", "embeddings": [vector(t) for t in asked.body["input"]]}).encode())


class Server(NamedTuple):
    url: str
    asked: list[Asked]


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[Server]:
    """Serve until the block ends."""
    requests: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked = Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            before = len(requests)
            requests.append(asked)
            answer = behaviour(asked, before)
            if answer.is_closed:
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body) + answer.is_cut))
            self.end_headers()
            size = -(-len(answer.body) // answer.pieces) or 1
            for start in range(0, len(answer.body), size):
                if answer.pause is not None:
                    answer.pause.wait(5)
                try:
                    self.wfile.write(answer.body[start : start + size])
                    self.wfile.flush()
                except OSError:  # the client left, as it should
                    break
            self.close_connection = self.close_connection or answer.is_cut

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            if not isinstance(sys.exc_info()[1], OSError):  # clients that leave are part of the tests
                super().handle_error(request, client_address)

    server = Quiet(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{server.server_address[1]}/v1", requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

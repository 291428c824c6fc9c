"""Serves on this machine only: checks who asks, and stops at once when told to.

A server on the loopback address can still be reached by web pages in the user's own browser: a page may send requests
to it, and a name that the page's owner points to 127.0.0.1 makes them look like its own (DNS rebinding). So a request
must come from this machine, name this machine as its host, and, where a page sent it, come from a page of this machine.
"""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import uvicorn

from recollect.errors import UsageError
from recollect.serve.token import ADDRESS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

GRACE_S = 1
"""How long requests under way may take after a signal; what they have stored by then stays."""
KEEP_ALIVE_S = 30
MAX_REQUESTS = 32
"""At once; more get a 503 and are sent again by their senders."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def stranger(request: Request) -> str:
    """Return why a request is none of this machine's own, "" where it is."""
    client = request.client
    if client is None or not _is_loopback(client.host):
        return "only programs on this machine may ask"
    host = request.headers.get("host", "")
    if not _is_this_machine(_host_of(f"//{host}")):
        return "the request names another host than this machine"
    origin = request.headers.get("origin")
    if origin is not None and not _is_this_machine(_host_of(origin)):
        return "the request comes from a page of another host"
    return ""


def listen(port: int, host: str = ADDRESS) -> socket.socket:
    """Return a socket bound to an address, by default the loopback one. port 0: any that is free. Raises UsageError
    when it is taken."""
    # Named as TCP: of a socket without a protocol asyncio does not send small packets at once, and an answer in two
    # packets waits 40 ms for the acknowledgement of the first.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror}", hint="name another port with --port"
        ) from error
    return bound


def serve(
    app: ASGIApp,
    bound: socket.socket,
    *,
    has_lifespan: bool = False,
    stopping: Callable[[], None] | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
    most: int = MAX_REQUESTS,
) -> None:
    """Serve until SIGINT or SIGTERM. Blocks; call it in the main thread.

    has_lifespan: the application has something that runs as long as it does. stopping: called at the signal, in its
    handler; requests under way go on for a moment. is_stopped: tells whether a signal came before this server listened
    to signals; it then ends at once. most: connections and requests at a time; what is beyond is told to come back.
    """
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on" if has_lifespan else "off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=most,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )
    asyncio.run(_Server(config, stopping, is_stopped).serve(sockets=[bound]))


class _Server(uvicorn.Server):
    """uvicorn's server ends with the signal it got; this one returns, so that the exit code says it went well."""

    def __init__(
        self, config: uvicorn.Config, stopping: Callable[[], None] | None, is_stopped: Callable[[], bool]
    ) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._is_stopped = is_stopped

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at the first signal, without waiting for requests at the second."""
        before = {number: signal.signal(number, self._stop) for number in _SIGNALS}
        if self._is_stopped():  # never set back: a signal may have come in between
            self.should_exit = True
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        if self._stopping is not None:
            self._stopping()


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _is_this_machine(host: str) -> bool:
    return host == "localhost" or _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

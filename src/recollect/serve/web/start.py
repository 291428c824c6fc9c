"""Finds the page: at the daemon, or in a process of its own until a signal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.applications import Starlette

from recollect.serve.answerers import look_for_cycles_seldom
from recollect.serve.loopback import listen, serve
from recollect.serve.token import ADDRESS, home_token
from recollect.serve.web.access import Visitors
from recollect.serve.web.api import Api
from recollect.serve.web.pages import Pages

if TYPE_CHECKING:
    from recollect.memory import Memory


def daemon_address(memory: Memory) -> str:
    """Return the address of the page of a running daemon, with the access token; "" where none serves it."""
    card = memory.live.card()
    return address(card.port, home_token(memory.home)) if card is not None and card.port else ""


def serve_pages(memory: Memory, port: int, tell: Callable[[str], None]) -> None:
    """Serve the page until SIGINT or SIGTERM. tell: told the address once it can be asked for.

    port 0: any that is free. Raises UsageError where the port is taken.
    """
    token = home_token(memory.home)
    visitors = Visitors(token)
    ended = threading.Event()
    pages = Pages(visitors, memory, is_ending=ended.is_set)
    app = Starlette(routes=[*Api(visitors, memory).routes, *pages.routes])
    with listen(port) as bound:
        bound.listen()  # a browser that asks before the server begins waits
        tell(address(bound.getsockname()[1], token))
        sys.stdout.flush()
        look_for_cycles_seldom()
        serve(app, bound, stopping=ended.set)


def address(port: int, token: str) -> str:
    """Return the address of the page with the access token."""
    return f"http://{ADDRESS}:{port}/?token={token}"

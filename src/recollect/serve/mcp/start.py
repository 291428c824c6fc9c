"""Runs the server: on stdin and stdout for one client, or over HTTP until a signal."""

from __future__ import annotations

import gc
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import ConfigError
from recollect.paths import CONFIG_NAME, HOME_VARIABLE, config_file, home_of_store
from recollect.serve.mcp.sdk import load

if TYPE_CHECKING:
    from recollect.memory import Memory

LAST_S = 0.5
"""How long the process waits at its end for what is being ingested; the next one continues with it."""


def serve_stdio() -> None:
    """Serve one client until it closes standard input. It works in the current folder unless it says otherwise.

    Standard output carries only the protocol: meanwhile any other output goes to standard error.
    """
    gc.disable()  # what is imported stays: looking through it again and again is a tenth of the time to the tools
    load(with_http=False)
    import anyio
    from mcp.server.stdio import stdio_server

    from recollect.serve.mcp.freshness import Freshness
    from recollect.serve.mcp.server import MemoryServer

    gc.freeze()
    gc.enable()
    freshness = Freshness(_open_memory)
    server = MemoryServer(freshness, folder=os.getcwd(), writes=has_writing_tools(os.environ))

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.protocol.run(reading, writing, server.protocol.create_initialization_options())

    anyio.run(serve)
    _end(freshness.wait(LAST_S), freshness.close)


def serve_http(bound: socket.socket, tell: Callable[[str, str], None]) -> None:
    """Serve on a bound socket until SIGINT or SIGTERM. tell: called with the URL and the file of the token.

    Raises StoreError where the token cannot be made.
    """
    load(with_http=True)
    from recollect.serve.loopback import serve
    from recollect.serve.mcp.freshness import Freshness
    from recollect.serve.mcp.http import PATH, make_app
    from recollect.serve.mcp.server import MemoryServer
    from recollect.serve.token import NAME, home_token

    freshness = Freshness(_open_memory)
    memory = freshness.memory()
    home = memory.home
    host, port = bound.getsockname()[:2]

    def listening() -> None:
        bound.listen()
        tell(f"http://{host}:{port}{PATH}", str(home / NAME))

    server = MemoryServer(freshness, writes=memory.config.mcp.writing_tools)
    serve(make_app(server, home_token(home), listening=listening), bound, has_lifespan=True)
    _end(freshness.wait(LAST_S), freshness.close)


def _open_memory() -> Memory:
    from recollect.memory import Memory

    return Memory.open()


def _end(is_idle: bool, close: Callable[[], None]) -> None:
    """End the process. Taking in that is under way may be killed at any instruction; a client that has gone waits two
    seconds, then kills."""
    if is_idle:
        close()
    # A thread of a call that nobody waits for may be inside the engine; the interpreter's own end would abort it there.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


_KEY = b"writing_tools"


def has_writing_tools(env: Mapping[str, str]) -> bool:
    """Return whether the configuration of this environment's memory has `mcp.writing_tools = true`.

    Loads the typed configuration only if its file has that word, because a client waits for the list of tools. An
    unreadable one turns nothing on; the first call reports the problem.
    """
    store = "" if env.get(HOME_VARIABLE) else home_of_store(env)
    own = Path(store) / CONFIG_NAME
    path = own if store and own.exists() else config_file(env)  # as `Memory.open` reads it
    try:
        if _KEY not in path.read_bytes():
            return False
        from recollect.config import load_config

        return load_config(path).mcp.writing_tools
    except (OSError, ConfigError):
        return False

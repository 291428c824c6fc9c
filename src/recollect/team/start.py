"""Starts the team server on an address, until a signal."""

from __future__ import annotations

import sys
from collections.abc import Callable

from recollect.serve.loopback import listen, serve
from recollect.team.app import make_app
from recollect.team.database import TeamDatabase


def serve_team(url: str, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. tell: told the address once it can be asked for. Raises TeamUnavailable,
    TeamRefused, UsageError."""
    database = TeamDatabase(url)
    try:
        with listen(port, host) as bound:
            bound.listen()
            tell(f"http://{host}:{bound.getsockname()[1]}")
            sys.stdout.flush()
            serve(make_app(database), bound)
    finally:
        database.close()

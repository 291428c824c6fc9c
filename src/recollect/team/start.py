"""Runs the team server until a signal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from recollect.errors import TeamUnavailable
from recollect.serve.loopback import listen, serve
from recollect.team.app import make_app
from recollect.team.database import TeamDatabase

SWEEP_EVERY_S = 3600.0
MOST_AT_ONCE = 1000
"""Connections of machines and people; a body has at most 4 MiB, and few of them are large at one time."""


def serve_team(url: str, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. tell: told the address once it can be asked for. Raises TeamUnavailable,
    TeamRefused, UsageError."""
    database = TeamDatabase(url)
    ending = threading.Event()
    sweeping = threading.Thread(target=_sweep, args=(database, ending), name="retention", daemon=True)
    try:
        with listen(port, host) as bound:
            bound.listen()
            tell(f"http://{host}:{bound.getsockname()[1]}")
            sys.stdout.flush()
            sweeping.start()
            serve(make_app(database), bound, most=MOST_AT_ONCE)
    finally:
        ending.set()
        database.close()


def _sweep(database: TeamDatabase, ending: threading.Event) -> None:
    """Remove, from time to time, what teams keep no longer. Servers beside this one leave each other's rows alone."""
    while not ending.is_set():
        with suppress(TeamUnavailable):  # the next time
            database.sweep()
        ending.wait(SWEEP_EVERY_S)

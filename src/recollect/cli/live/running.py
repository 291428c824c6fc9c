"""`recollect up` without `--once`: run a daemon, start one apart, stop it, tell how it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from recollect.cli.options import open_memory
from recollect.cli.terminal import console, safe_line, write_json
from recollect.units import duration

if TYPE_CHECKING:
    from recollect.serve.daemon import Started

NOT_RUNNING = 1


def run(port: int | None, *, as_json: bool) -> int:
    """Run the daemon in this process until a signal; return the exit code."""
    from recollect.memory import Memory
    from recollect.serve.daemon import run_daemon

    def tell(started: Started) -> None:
        if as_json:
            write_json(started._asdict())
            return
        where = f"MCP and status on {started.url}" if started.url else f"no HTTP: {started.http}"
        line = safe_line(f"keeping {started.home} fresh, {where}; Ctrl-C stops")
        console().print(line, soft_wrap=True, highlight=False)
        sys.stdout.flush()

    run_daemon(Memory.open(), port=port, tell=tell)  # agents ask it: times count in UTC
    return 0


def detach(port: int | None, *, as_json: bool) -> int:
    """Start a daemon apart from this terminal; one that runs already is what was asked for."""
    from recollect.serve.daemon_control import start_detached

    with open_memory() as memory:
        card, is_new = start_detached(memory, ["--port", str(port)] if port is not None else [])
        home = str(memory.home)
    if as_json:
        import msgspec

        write_json({"home": home, "is_new": is_new, **msgspec.structs.asdict(card)})
    else:
        where = f", MCP and status on http://127.0.0.1:{card.port}" if card.port else ""
        words = "started" if is_new else "was running already"
        line = safe_line(f"the daemon of {home} {words} (process {card.pid}){where}")
        console().print(line, soft_wrap=True, highlight=False)
    return 0


def stop(*, as_json: bool) -> int:
    """Stop the daemon that runs; return 1 where none does."""
    from recollect.serve.daemon_control import stop as stop_daemon

    with open_memory() as memory:
        stopped = stop_daemon(memory)
    if as_json:
        write_json(stopped._asdict())
    elif stopped.pid:
        console().print(f"stopped process {stopped.pid} in {duration(stopped.seconds)}", highlight=False)
    else:
        console().print("no daemon is running", highlight=False)
    return 0 if stopped.pid else NOT_RUNNING


def tell_status(*, as_json: bool) -> int:
    """Ask the daemon that runs how it is: 0 where it is well, 1 where none runs, 3 where something fails."""
    from recollect.serve.daemon_control import DaemonState, ask

    with open_memory() as memory:
        answer = ask(memory)
    if as_json:
        write_json(answer)
    else:
        from recollect.cli.render.live import print_status

        print_status(console(), answer)
    codes: dict[DaemonState, int] = {"running": 0, "not running": NOT_RUNNING, "failing": 3, "not answering": 3}
    return codes[answer.state]

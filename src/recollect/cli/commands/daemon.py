"""`recollect up` and `service`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.groups import noun
from recollect.cli.options import open_memory
from recollect.cli.results import LINE, CommandResult, ResultKind, prints, show
from recollect.clock import now_us
from recollect.errors import UsageError
from recollect.units import duration

if TYPE_CHECKING:
    from recollect.memory import ManagerName, ServiceEvery, ServiceReport
    from recollect.serve.daemon import Started

UP = ResultKind("up", "recollect.cli.views:UpReport", "ingest:print_closing")
DAEMON = ResultKind("up-status", "recollect.serve.daemon_control:DaemonAnswer", "maintenance:print_status")
SERVICE = ResultKind("service", "ServiceReport", "maintenance:print_service")


@click.command()
@click.option("--once", is_flag=True, help="Ingest everything now and exit.")
@click.option("--detach", is_flag=True, help="Start the daemon in the background and exit.")
@click.option("--stop", is_flag=True, help="Stop the running daemon.")
@click.option("--status", is_flag=True, help="Show the state of the running daemon.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=None,
    metavar="N",
    help="Port for MCP and the web page.  [default: `port` of [daemon]; 0: any free port]",
)
@prints
def up(once: bool, detach: bool, stop: bool, status: bool, port: int | None, as_json: bool) -> CommandResult | int:
    """Ingest what your agents wrote, then keep watching.

    This daemon runs until Ctrl-C. It ingests new transcripts immediately, analyses sessions that have ended, applies
    retention, answers hooks, and serves MCP and the web page on this machine. Each memory has at most one daemon. With
    --once, the command ingests everything and exits; if no agent has written anything, it loads a small bundled sample
    into a separate demo home. --status exits with 1 if no daemon is running.

    \b
    Examples:
      recollect up --once
      recollect up --detach
      recollect up --status
    """
    if once + detach + stop + status > 1:
        raise UsageError("--once, --detach, --stop and --status exclude each other", hint="recollect up --help")
    if port is not None and (once or stop or status):
        raise UsageError("--port can be used alone or with --detach", hint="recollect up --detach --port 4319")
    if once:
        from recollect.cli.commands.ingest import EXIT_CODES
        from recollect.cli.first_run import run_once

        report = run_once()
        return UP(report, code=EXIT_CODES[report.sync.state], now_us=now_us())
    if stop:
        return _stop()
    if status:
        return _status()
    return _detach(port) if detach else _run(port, as_json=as_json)


def _run(port: int | None, *, as_json: bool) -> int:
    """Run the daemon in this process until a signal; return the exit code."""
    from recollect.memory import Memory
    from recollect.serve.daemon import run_daemon

    def tell(started: Started) -> None:
        where = f"MCP and status on {started.url}" if started.url else f"no HTTP: {started.http}"
        show(LINE(started._asdict(), line=f"watching for {started.home}, {where}; Ctrl-C stops"), as_json=as_json)
        sys.stdout.flush()

    run_daemon(Memory.open(), port=port, tell=tell)  # agents ask it: times count in UTC
    return 0


def _detach(port: int | None) -> CommandResult:
    """Start a daemon apart from this terminal; one that runs already is what was asked for."""
    import msgspec

    from recollect.serve.daemon_control import start_detached

    with open_memory() as memory:
        card, is_new = start_detached(memory, ["--port", str(port)] if port is not None else [])
        home = str(memory.home)
    where = f", MCP and status on http://127.0.0.1:{card.port}" if card.port else ""
    words = "started" if is_new else "is already running"
    line = f"the daemon of {home} {words} (process {card.pid}){where}"
    return LINE({"home": home, "is_new": is_new, **msgspec.structs.asdict(card)}, line=line)


def _stop() -> CommandResult:
    """Stop the daemon that runs."""
    from recollect.serve.daemon_control import stop

    with open_memory() as memory:
        stopped = stop(memory)
    line = f"stopped process {stopped.pid} in {duration(stopped.seconds)}" if stopped.pid else "no daemon is running"
    return LINE(stopped._asdict(), found=stopped.pid, line=line)


def _status() -> CommandResult:
    """Ask the daemon that runs how it is."""
    from recollect.serve.daemon_control import DaemonState, ask

    with open_memory() as memory:
        answer = ask(memory)
    codes: dict[DaemonState, int] = {"running": 0, "not running": 1, "failing": 3, "not answering": 3}
    return DAEMON(answer, code=codes[answer.state])


dry_run_option = click.option(
    "--dry-run", "is_dry_run", is_flag=True, help="Show what would be written and run; change nothing."
)


@noun()
def service() -> None:
    """Keep the memory up to date with a system service.

    Installs a timer that ingests new transcripts, or a daemon that watches for them. It runs in your account at idle
    priority, with systemd, launchd, cron or the Windows task scheduler. `remove` deletes exactly what `install` wrote.

    \b
    Examples:
      recollect service install
      recollect service status
      recollect service remove
    """


@service.command("install")
@click.option(
    "--scheduled/--daemon",
    "is_scheduled",
    default=True,
    help="Ingest on a schedule (the default), or watch for changes all the time.",
)
@click.option(
    "--every",
    type=click.Choice(("hourly", "daily", "weekly")),
    default="hourly",
    show_default=True,
    help="How often to ingest.",
)
@click.option(
    "--manager",
    type=click.Choice(("systemd", "launchd", "cron", "schtasks")),
    help="What runs the service.  [default: what this machine has]",
)
@click.option("--linger", "lingers", is_flag=True, help="With systemd: run even while you are not logged in.")
@click.option(
    "--retro-out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write a weekly retrospective to this folder.",
)
@dry_run_option
@prints
def install(
    is_scheduled: bool, every: ServiceEvery, manager: ManagerName | None, *, lingers: bool,
    retro_out: Path | None, is_dry_run: bool,
) -> CommandResult:  # fmt: skip
    """Install the service, or change it.

    \b
    Examples:
      recollect service install --daemon
      recollect service install --every daily --manager cron --dry-run
      recollect service install --retro-out ~/retros
    """
    with open_memory() as memory:
        report = memory.maintenance.service.install(
            "scheduled" if is_scheduled else "daemon",
            every,
            manager=manager,
            lingers=lingers,
            retro_out="" if retro_out is None else os.path.abspath(retro_out),
            is_dry_run=is_dry_run,
        )
    return _service_result(report)


@service.command("status")
@prints
def status() -> CommandResult:
    """Show whether the service is installed and running.

    \b
    Example:
      recollect service status
    """
    with open_memory() as memory:
        return _service_result(memory.maintenance.service.status())


@service.command("remove")
@dry_run_option
@prints
def remove(is_dry_run: bool) -> CommandResult:
    """Remove exactly what install wrote.

    \b
    Example:
      recollect service remove --dry-run
    """
    with open_memory() as memory:
        return _service_result(memory.maintenance.service.remove(is_dry_run=is_dry_run))


def _service_result(report: ServiceReport) -> CommandResult:
    return SERVICE(report, found=report.state != "not_installed", code=0 if report.ok else 3)

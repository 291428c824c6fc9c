"""`recollect up`, `service`, `ui`, `tui`, `mcp`, `otlp` and `hook`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.cli.groups import noun
from recollect.cli.options import choice_option, flag, open_memory, path_option, port_option, text_option
from recollect.cli.results import LINE, CommandResult, ResultKind, examples, prints, show
from recollect.cli.terminal import write_json
from recollect.clock import now_us
from recollect.errors import UsageError
from recollect.units import duration

if TYPE_CHECKING:
    from recollect.memory import ManagerName, Memory, ServiceEvery, ServiceReport
    from recollect.serve.daemon import Started

UP = ResultKind("up", "recollect.cli.render.ingest:UpReport", "ingest:print_closing")
DAEMON = ResultKind("up-status", "recollect.serve.daemon_control:DaemonAnswer", "maintenance:print_status")
SERVICE = ResultKind("service", "ServiceReport", "maintenance:print_service")


@click.command()
@flag("--once", "Ingest everything now and exit.")
@flag("--detach", "Start the daemon in the background and exit.")
@flag("--stop", "Stop the running daemon.")
@flag("--status", "Show the state of the running daemon.")
@port_option("Port for MCP and the web page.  [default: `port` of [daemon]; 0: any free port]")
@prints
@examples("up --once", "up --detach", "up --status")
def up(once: bool, detach: bool, stop: bool, status: bool, port: int | None, as_json: bool) -> CommandResult | int:
    """Ingest what your agents wrote, then keep watching.

    This daemon runs until Ctrl-C. It ingests new transcripts immediately, analyses sessions that have ended, applies
    retention, answers hooks, and serves MCP and the web page on this machine. Each memory has at most one daemon. With
    --once, the command ingests everything and exits; if no agent has written anything, it loads a small bundled sample
    into a separate demo home. --status exits with 1 if no daemon is running.
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


dry_run_option = flag("--dry-run", "Show what would be written and run; change nothing.", key="is_dry_run")


@noun()
@examples("service install", "service status", "service remove")
def service() -> None:
    """Keep the memory up to date with a system service.

    Installs a timer that ingests new transcripts, or a daemon that watches for them. It runs in your account at idle
    priority, with systemd, launchd, cron or the Windows task scheduler. `remove` deletes exactly what `install` wrote.
    """


@service.command("install")
@click.option(
    "--scheduled/--daemon",
    "is_scheduled",
    default=True,
    help="Ingest on a schedule (the default), or watch for changes all the time.",
)
@choice_option("--every", ("hourly", "daily", "weekly"), "How often to ingest.", default="hourly")
@choice_option(
    "--manager", ("systemd", "launchd", "cron", "schtasks"), "What runs the service.  [default: what this machine has]"
)
@flag("--linger", "With systemd: run even while you are not logged in.", key="lingers")
@path_option("--retro-out", "FOLDER", "Also write a weekly retrospective to this folder.", file_okay=False)
@dry_run_option
@prints
@examples(
    "service install --daemon",
    "service install --every daily --manager cron --dry-run",
    "service install --retro-out ~/retros",
)
def install(
    memory: Memory,
    is_scheduled: bool, every: ServiceEvery, manager: ManagerName | None, *, lingers: bool,
    retro_out: Path | None, is_dry_run: bool,
) -> CommandResult:  # fmt: skip
    """Install the service, or change it."""
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
@examples("service status")
def status(memory: Memory) -> CommandResult:
    """Show whether the service is installed and running."""
    return _service_result(memory.maintenance.service.status())


@service.command("remove")
@dry_run_option
@prints
@examples("service remove --dry-run")
def remove(memory: Memory, is_dry_run: bool) -> CommandResult:
    """Remove exactly what install wrote."""
    return _service_result(memory.maintenance.service.remove(is_dry_run=is_dry_run))


def _service_result(report: ServiceReport) -> CommandResult:
    return SERVICE(report, found=report.state != "not_installed", code=0 if report.ok else 3)


DEFAULT_PORT = 4319


@click.command()
@flag("--http", "Serve over HTTP at /mcp instead of standard input and output.", key="over_http")
@port_option(f"Where to listen with --http (default {DEFAULT_PORT}); 0: any free port.")
@prints
@examples("{0} mcp add recollect -- recollect mcp", "mcp --http --port 4319")
def mcp(over_http: bool, port: int | None, as_json: bool) -> int:
    """Serve the memory to agents (MCP).

    An agent starts this itself, over standard input and output. With --http it runs until Ctrl-C and answers only
    programs on this machine that send the token from the memory's home. Agents can only read, unless you turn on the
    tools for writing diaries and facts (`writing_tools = true` under `[mcp]` in the configuration).
    """
    if over_http:
        return _over_http(DEFAULT_PORT if port is None else port, as_json=as_json)
    if port is not None or as_json:
        raise UsageError("--port and --json go with --http: standard output carries the protocol")
    from recollect.serve.mcp.start import serve_stdio

    serve_stdio()
    return 0


@click.command()
@port_option("Port for the page while no daemon is running.  [default: any free port]", default=0)
@flag("--no-open", "Print the address; do not open a browser.")
@prints
@examples("ui", "ui --no-open --port 4320")
def ui(port: int, no_open: bool, as_json: bool) -> int:
    """Open the web page: search, sessions, transcripts.

    A running daemon serves the page. Without one, this command serves it until Ctrl-C. Only your own browser can read
    the page, because it is available only on this machine and its address contains an access token. While your memory
    is empty, the page shows the sample that `recollect up --once` loaded.
    """
    import webbrowser

    from recollect.cli.first_run import open_to_look
    from recollect.paths import is_demo
    from recollect.serve.web.pages import daemon_address, serve_pages

    def tell(url: str) -> None:
        shown = "the page, with the bundled sample," if is_demo(memory.home) else "the page"
        served = "" if is_daemon else "; Ctrl-C stops"
        show(LINE({"url": url}, line=f"{shown} is on {url}{served}"), as_json=as_json)
        if not no_open:
            webbrowser.open(url)

    with open_to_look() as memory:
        address = daemon_address(memory)
        is_daemon = bool(address)
        if address:
            tell(address)
        else:
            serve_pages(memory, port, tell)
    return 0


def _over_http(port: int, *, as_json: bool) -> int:
    from recollect.serve.loopback import listen
    from recollect.serve.mcp.start import serve_http

    def tell(url: str, token_file: str) -> None:
        line = f"serving {url}, the token is in {token_file}; Ctrl-C stops"
        show(LINE({"url": url, "token_file": token_file}, line=line), as_json=as_json)

    with listen(port) as bound:
        serve_http(bound, tell)
    return 0


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=4318, show_default=True, help="Where to listen; 0: any free port."
)
@prints
@examples("otlp --port 4318")
def otlp(port: int, as_json: bool) -> int:
    """Receive what agents send over OpenTelemetry (OTLP/HTTP).

    It listens on this machine only, until Ctrl-C. Each request is on disk before it is answered, and `recollect sync`
    ingests it, even while this command runs. Senders need the token in the file that is printed.
    `recollect help receive-opentelemetry` explains how to configure agents, and the limits.
    """
    from recollect.serve.loopback import listen, serve
    from recollect.serve.otlp import make_app
    from recollect.serve.token import OTLP_NAME, home_token

    with open_memory() as memory, listen(port) as bound:
        host, listening_on = bound.getsockname()[:2]
        url = f"http://{host}:{listening_on}"
        folder = str(memory.spool.otlp_folder)
        token_file = str(memory.home / OTLP_NAME)
        app = make_app(memory.spool, home_token(memory.home, OTLP_NAME))
        bound.listen()
        line = f"receiving on {url}, keeping in {folder}, the token is in {token_file}; Ctrl-C stops"
        show(LINE({"url": url, "spool": folder, "token_file": token_file}, line=line), as_json=as_json)
        serve(app, bound)
    return 0


@click.command()
@click.argument("agent")
@click.argument("event", required=False, type=click.Choice(["spool", "start", "compact", "prompt", "end"]))
@click.argument("spool", required=False)
@click.argument("program", required=False)
@flag("--export-env", "session-end: print the session's variables as shell lines.")
@text_option("--session", "UID", "session-end: this session, not the one that stdin names.", callback=None)
@prints
@examples("hook {0} spool < payload.json", 'eval "$(recollect hook session-end --export-env --session {0}:5f0c)"')
def hook(agent: str, event: str | None, spool: str | None, program: str | None, as_json: bool, **options: Any) -> int:
    """Handle one event of an agent; the agent's hooks call this.

    The JSON on stdin is spooled for the next sync. `spool` does nothing else. `start`, `compact` and `prompt` print the
    agent's context, or an empty answer. `end` notifies the daemon. The exit code is always 0. `recollect setup`
    registers faster commands that do the same.

    `recollect hook session-end --export-env` is for programs that follow sessions. It ingests and analyses the session
    that --session or the JSON on stdin names, and prints `export HELIX_…` lines (`recollect help join-other-records`).
    It prints nothing if that takes longer than 15 seconds.
    """
    if agent == "session-end":
        from recollect.cli.session_end import SessionEndOptions, close_session

        return close_session(SessionEndOptions(**options, as_json=as_json))
    if event is None:
        raise click.UsageError("Missing argument 'EVENT'.")
    from recollect.hook.handle import answer_to, main

    arguments = [value for value in (agent, event, spool, program) if value]
    if not as_json:
        return main(arguments)
    write_json({"answer": answer_to(arguments).decode("utf-8", "replace")})
    return 0


@click.command()
@prints
@examples("tui")
def tui(as_json: bool) -> int:
    """Search and read in the terminal.

    Shows search, sessions, transcripts and usage. The keys are those of the web page: `/` starts a query, `j` and `k`
    move, Enter opens, Escape goes back, `?` shows all keys, `q` quits.
    """
    has_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdout, sys.__stdin__))
    if as_json or not has_terminal or os.environ.get("TERM") == "dumb":
        raise UsageError(
            "`recollect tui` needs a terminal, and prints nothing",
            hint="`recollect search`, `sessions` and `show` print the same",
        )
    from recollect.cli.first_run import open_to_look
    from recollect.cli.tui.app import RecollectApp

    with open_to_look() as memory:
        app = RecollectApp(memory)
        app.run()
    if app.failure is not None:
        raise app.failure
    return 0

"""`recollect ui`, `mcp`, `otlp` and `hook`."""

from __future__ import annotations

from typing import TypedDict, Unpack

import click

from recollect.cli.options import open_memory
from recollect.cli.results import LINE, prints, show
from recollect.cli.terminal import write_json
from recollect.errors import UsageError

DEFAULT_PORT = 4319


@click.command()
@click.option("--http", "over_http", is_flag=True, help="Serve over HTTP at /mcp instead of standard input and output.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=None,
    metavar="N",
    help=f"Where to listen with --http (default {DEFAULT_PORT}); 0: any free port.",
)
@prints
def mcp(over_http: bool, port: int | None, as_json: bool) -> int:
    """Serve the memory to agents (MCP).

    An agent starts this itself, over standard input and output. With --http it runs until Ctrl-C and answers only
    programs on this machine that send the token from the memory's home. Agents can only read, unless you turn on the
    tools for writing diaries and facts (`mcp.writing_tools = true` in the configuration).

    \b
    Examples:
      claude mcp add recollect -- recollect mcp
      recollect mcp --http --port 4319
    """
    if over_http:
        return _over_http(DEFAULT_PORT if port is None else port, as_json=as_json)
    if port is not None or as_json:
        raise UsageError("--port and --json go with --http: standard output carries the protocol")
    from recollect.serve.mcp.start import serve_stdio

    serve_stdio()
    return 0


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Port for the page while no daemon is running.  [default: any free port]",
)
@click.option("--no-open", is_flag=True, help="Print the address; do not open a browser.")
@prints
def ui(port: int, no_open: bool, as_json: bool) -> int:
    """Open the web page: search, sessions, transcripts.

    A running daemon serves the page. Without one, this command serves it until Ctrl-C. Only your own browser can read
    the page, because it is available only on this machine and its address contains an access token. While your memory
    is empty, the page shows the sample that `recollect up --once` loaded.

    \b
    Examples:
      recollect ui
      recollect ui --no-open --port 4320
    """
    import webbrowser

    from recollect.cli.first_run import open_to_look
    from recollect.paths import is_demo
    from recollect.serve.web.start import daemon_address, serve_pages

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
def otlp(port: int, as_json: bool) -> int:
    """Receive what agents send over OpenTelemetry (OTLP/HTTP).

    It listens on this machine only, until Ctrl-C. Each request is on disk before it is answered, and `recollect sync`
    ingests it, even while this command runs. Senders need the token in the file that is printed.
    `recollect help receive-opentelemetry` explains how to configure agents, and the limits.

    \b
    Example:
      recollect otlp --port 4318
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


class _SessionEnd(TypedDict):
    """The options that only `session-end` has."""

    export_env: bool
    session: str


@click.command()
@click.argument("agent")
@click.argument("event", required=False, type=click.Choice(["spool", "start", "compact", "prompt", "end"]))
@click.argument("spool", required=False)
@click.argument("program", required=False)
@click.option("--export-env", is_flag=True, help="session-end: print the session's variables as shell lines.")
@click.option("--session", default="", metavar="UID", help="session-end: this session, not the one that stdin names.")
@prints
def hook(
    agent: str, event: str | None, spool: str | None, program: str | None, as_json: bool, **options: Unpack[_SessionEnd]
) -> int:
    """Handle one event of an agent; the agent's hooks call this.

    The JSON on stdin is spooled for the next sync. `spool` does nothing else. `start`, `compact` and `prompt` print the
    agent's context, or an empty answer. `end` notifies the daemon. The exit code is always 0. `recollect setup`
    registers faster commands that do the same.

    `recollect hook session-end --export-env` is for programs that follow sessions. It ingests and analyses the session
    that --session or the JSON on stdin names, and prints `export HELIX_…` lines (`recollect help join-other-records`).
    It prints nothing if that takes longer than 15 seconds.

    \b
    Examples:
      recollect hook claude spool < payload.json
      eval "$(recollect hook session-end --export-env --session claude:5f0c)"
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

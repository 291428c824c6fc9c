"""`recollect mcp`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option
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
@json_option
def command(over_http: bool, port: int | None, as_json: bool) -> int:
    """Let agents search and read the memory (MCP).

    An agent starts this itself, over standard input and output. With --http it runs until Ctrl-C, answers programs on
    this machine only, and only with the token that it keeps in the memory's home. Agents can only read, unless you turn
    the tools on with which they keep a diary and facts (`mcp.writing_tools = true` in the configuration).

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


def _over_http(port: int, *, as_json: bool) -> int:
    from recollect.cli.terminal import console, write_json
    from recollect.serve.loopback import listen
    from recollect.serve.mcp.start import serve_http

    def tell(url: str, token_file: str) -> None:
        if as_json:
            write_json({"url": url, "token_file": token_file})
        else:
            text = f"serving {url}, the token is in {token_file}; Ctrl-C stops"
            console().print(text, soft_wrap=True, highlight=False)

    with listen(port) as bound:
        serve_http(bound, tell)
    return 0

"""`recollect otlp`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=4318, show_default=True, help="Where to listen; 0: any free port."
)
@json_option
def command(port: int, as_json: bool) -> int:
    """Receive what agents send over OpenTelemetry (OTLP/HTTP).

    It listens on this machine only, until Ctrl-C. A request is on the disk before it is answered, and `recollect sync`
    ingests it, also while this runs. Senders need the token that the printed file holds. docs/otlp.md says how to tell
    an agent where to send and with which token, and what the limits are.

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
        if as_json:
            write_json({"url": url, "spool": folder, "token_file": token_file})
        else:
            line = f"receiving on {url}, keeping in {folder}, the token is in {token_file}; Ctrl-C stops"
            console().print(line, soft_wrap=True, highlight=False)
        serve(app, bound)
    return 0

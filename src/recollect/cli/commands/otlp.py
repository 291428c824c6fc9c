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

    Only from this machine, and until Ctrl-C. Everything is on the disk before it is answered; `recollect sync` takes it
    in, also while this runs. Tell an agent to send here with OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 and
    OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf; most send what was said only when told to
    (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true).

    \b
    Example:
      recollect otlp --port 4318
    """
    from recollect.serve.loopback import listen, serve
    from recollect.serve.otlp import make_app

    with open_memory() as memory, listen(port) as bound:
        host, listening_on = bound.getsockname()[:2]
        url = f"http://{host}:{listening_on}"
        folder = str(memory.spool.otlp_folder)
        app = make_app(memory.spool)
        bound.listen()
        if as_json:
            write_json({"url": url, "spool": folder})
        else:
            console().print(f"receiving on {url}, keeping in {folder}; Ctrl-C stops", soft_wrap=True, highlight=False)
        serve(app, bound)
    return 0

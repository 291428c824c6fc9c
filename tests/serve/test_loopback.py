"""Serving on loopback ends with the first signal, whenever it comes."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from recollect.serve.loopback import listen, serve

async def app(scope, receive, send):
    while True:
        message = await receive()
        await send({"type": message["type"] + ".complete"})
        if message["type"] == "lifespan.shutdown":
            return

bound = listen(0)
serve(app, bound, has_lifespan=True, is_stopped=lambda: True)
print("ended")
"""


def test_a_signal_before_the_server_listens_to_signals_ends_it() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("ended\n", 0), done.stderr

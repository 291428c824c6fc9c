"""Serving on loopback ends with the first signal, whenever it comes."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys

from recollect.serve.loopback import listen

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


def test_an_answer_in_two_packets_waits_for_no_acknowledgement() -> None:
    async def connected() -> int:
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def take(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            taken = writer.get_extra_info("socket")
            accepted.set_result(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        bound = listen(0)
        async with await asyncio.start_server(take, sock=bound):
            _, writer = await asyncio.open_connection(*bound.getsockname())
            sends_at_once = await accepted
            writer.close()
        return sends_at_once

    assert asyncio.run(connected())

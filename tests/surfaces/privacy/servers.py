"""Servers of the program as processes of their own, and what the kernel says of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_LISTENS = "0A"


@contextmanager
def serving(argv: Sequence[str], said: Path, *, umask: int = 0o022) -> Iterator[list[str]]:
    """Run a server until the end of the block; give the local addresses on which it listens, as the kernel writes
    them. said: where its output goes."""
    with said.open("wb") as out:
        server = subprocess.Popen([sys.executable, "-m", "recollect", *argv], stdout=out, stderr=out, umask=umask)
    try:
        found: list[str] = []
        while not found:
            assert server.poll() is None, said.read_text()
            found = list(_listening(server.pid))
            time.sleep(0.02)
        yield found
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def _listening(pid: int) -> Iterator[str]:
    links: list[str] = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        try:
            links.append(os.readlink(path))
        except FileNotFoundError:  # closed meanwhile
            continue
    own = {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS and fields[9] in own:
                yield fields[1].partition(":")[0]

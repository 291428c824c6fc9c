"""Asks the running daemon; without an answer, opens the memory in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from recollect.cli.options import open_memory
from recollect.cli.terminal import safe_line
from recollect.client import Request, ask_daemon

if TYPE_CHECKING:
    from recollect.memory import Memory

T = TypeVar("T")


def ask(
    request: Request, kind: type[T], from_disk: Callable[[Memory], T], *,
    tell: Callable[[bytes], None] = lambda _line: None,
) -> T:  # fmt: skip
    """Return the daemon's answer to a request, else what `from_disk` reads: the same, only later. tell: takes what the
    daemon says before.

    A daemon that is at work and does not answer is told of on stderr: it may know what the disk does not have yet.
    """
    told = ask_daemon(request, kind, tell=tell)
    if told.value is not None:
        return told.value
    if told.note:
        sys.stderr.write(f"recollect: {safe_line(told.note)}\n")
    with open_memory() as memory:
        return from_disk(memory)

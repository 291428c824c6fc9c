"""A worker process: takes groups of tasks on its standard input and answers on its standard output.

Started as a program of its own, not by `multiprocessing`, which would run the caller's script a second time.
It ends when its input ends, so it never outlives the process that started it, however that one dies.
Messages are msgpack behind their length in 8 bytes; the first one brings the keys.
"""

from __future__ import annotations

import gc
import signal
import sys
from pathlib import Path
from typing import IO, Any

import msgspec

from recollect.agents.registry import define
from recollect.archive.keys import HomeKeys
from recollect.config import PrivacyConfig
from recollect.erasure.tombstones import NOTHING as NOTHING_FORGOTTEN
from recollect.erasure.tombstones import Forgotten
from recollect.index.text.engine import bound_heaps
from recollect.ingest.worker.tasks import SourceTask, TaskAnswer
from recollect.ingest.worker.worker import Worker

LENGTH_BYTES = 8
READY = b"ready"
"""What a worker says when it can take tasks."""
CANNOT = b""
"""What it says where it cannot answer for a group as a whole."""
MAX_MESSAGE_BYTES = 1 << 30
"""A longer answer is none: both sides would hold it whole."""
_COLLECT_EVERY = 16
"""Slices leave no cycles behind but those of rare exceptions; collecting after every few of them is enough."""


class Greeting(msgspec.Struct, frozen=True):
    """The first message to a worker process."""

    keys: HomeKeys
    archive_folder: str
    formats: dict[str, dict[str, Any]] = {}
    """The agents that the configuration describes."""
    privacy: PrivacyConfig = PrivacyConfig()
    forgotten: Forgotten = NOTHING_FORGOTTEN


def send(stream: IO[bytes], message: bytes) -> None:
    """Write one message."""
    stream.write(len(message).to_bytes(LENGTH_BYTES, "big"))
    stream.write(message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Read one message, None at the end of the stream."""
    length = stream.read(LENGTH_BYTES)
    if len(length) < LENGTH_BYTES:
        return None
    size = int.from_bytes(length, "big")
    message = stream.read(size)
    return message if len(message) == size else None


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    gc.disable()
    bound_heaps()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    first = receive(source)
    if first is None:
        return
    greeting = msgspec.msgpack.decode(first, type=Greeting)
    define(greeting.formats)
    worker = Worker(greeting.keys, Path(greeting.archive_folder), greeting.privacy, greeting.forgotten)
    decode = msgspec.msgpack.Decoder(list[SourceTask]).decode
    send(sink, READY)
    served = 0
    while (message := receive(source)) is not None:
        send(sink, _encoded(worker.run(decode(message))))
        served += 1
        if served % _COLLECT_EVERY == 0:
            gc.collect()


def _encoded(answer: TaskAnswer) -> bytes:
    try:
        message = msgspec.msgpack.encode(answer)
    except (ValueError, OverflowError, MemoryError, TypeError):
        return CANNOT
    return message if len(message) <= MAX_MESSAGE_BYTES else CANNOT


if __name__ == "__main__":
    main()

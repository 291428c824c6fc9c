"""`memory.spool`: keeps what agents send until a sync takes it in. Nothing is answered before it is on the disk."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from recollect.capture.decode import MAX_RECORD_BYTES
from recollect.capture.otlp import Signal, request_of_json, request_of_protobuf, sift
from recollect.errors import DiskFull, SourceRefused, StoreError
from recollect.files import is_no_room, sync_folder, write_all
from recollect.ingest.spool import part_of, part_path
from recollect.model.time import day_of
from recollect.units import size
from recollect.wire import OTLP_FOLDER

MAX_SPOOL_BYTES = 512 * 1024 * 1024
"""Of what waits for a sync. Behind it senders are told to come again."""
MAX_SPOOL_FILES = 1000
MAX_PART_BYTES = 32 * 1024 * 1024
"""A file this large gets no more lines: a sync deletes it as soon as it is archived."""


class Spooled(msgspec.Struct, frozen=True):
    """What was kept of a request: how many items, how many were left out, and why ("" for none)."""

    accepted: int
    rejected: int
    reason: str


class SpoolFacet:
    """Appends to the files of a spool, one or more for each day. Safe from many threads."""

    def __init__(self, folder: Path, now_us: Callable[[], int]) -> None:
        self._folder = folder
        self._now_us = now_us
        self._lock = threading.Lock()

    @property
    def otlp_folder(self) -> Path:
        """Where requests of OTLP are kept; made with the first of them."""
        return self._folder / OTLP_FOLDER

    def take_otlp(self, signal: Signal, body: bytes, *, is_json: bool) -> Spooled:
        """Keep a request of OTLP as a line of JSON, synced to the disk before this returns.

        JSON stays as it was sent, without line breaks; protobuf becomes the JSON that OTLP defines for it. Items that
        cannot be taken (spans without valid ids) are left out. Raises SourceRefused for what is no request of the
        signal or too large for a record, DiskFull or StoreError when it cannot be kept (the spool is full, say): then
        nothing of it is.
        """
        request = request_of_json(body) if is_json else request_of_protobuf(body, signal)
        sifted = sift(request, signal)
        if sifted.accepted:
            is_as_sent = is_json and not sifted.rejected
            line = msgspec.json.format(body, indent=-1) if is_as_sent else msgspec.json.encode(sifted.request)
            if len(line) > MAX_RECORD_BYTES:
                limit = size(MAX_RECORD_BYTES, binary=True)
                raise SourceRefused(f"as JSON the request is larger than {limit}", reason="too large")
            self._append(self.otlp_folder, line)
        return Spooled(sifted.accepted, sifted.rejected, sifted.reason)

    def _append(self, folder: Path, line: bytes) -> None:
        with self._lock:
            try:
                _append_line(_path_for(folder, day_of(self._now_us()), len(line)), line)
            except OSError as error:
                message = f"cannot write into {folder}: {error.strerror}"
                raise (DiskFull(message) if is_no_room(error) else StoreError(message)) from error


def _path_for(folder: Path, day: str, length: int) -> Path:
    """Return the file for a line of a day. Raises StoreError when the spool is full."""
    sizes = {}
    if folder.exists():
        with os.scandir(folder) as entries:
            sizes = {entry.name: entry.stat(follow_symlinks=False).st_size for entry in entries}
    if sum(sizes.values()) + length > MAX_SPOOL_BYTES or len(sizes) >= MAX_SPOOL_FILES:
        limit = size(MAX_SPOOL_BYTES, binary=True)
        raise StoreError(f"the spool is full ({limit} wait for a sync)", hint="run `recollect sync`")
    part = max((part_of(name) for name in sizes if name.startswith(f"{day}.")), default=1)
    if sizes.get(part_path(folder, day, part).name, 0) >= MAX_PART_BYTES:
        part += 1
    return part_path(folder, day, part)


def _append_line(path: Path, line: bytes) -> None:
    """Append a line and sync it. When that fails, the file is as it was before."""
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(exist_ok=True, mode=0o700)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    is_new = not path.exists()
    descriptor = os.open(path, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        try:
            write_all(descriptor, _end_of_torn_line(descriptor, size) + line + b"\n")
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
        if os.fstat(descriptor).st_nlink == 0:
            raise OSError(errno.ENOENT, "a sync deleted the file meanwhile")
    finally:
        os.close(descriptor)
    if is_new:
        sync_folder(path.parent)


def _end_of_torn_line(descriptor: int, size: int) -> bytes:
    """Return a line end where a receiver that was killed left half a line behind."""
    if not size:
        return b""
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return b"" if os.read(descriptor, 1) == b"\n" else b"\n"

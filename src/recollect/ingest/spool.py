"""The spool of agents' events: kept until a sync ingests them, deleted once the archive has them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from recollect.agents.base import Adapter
from recollect.capture.decode import MAX_RECORD_BYTES
from recollect.capture.otlp import Signal, request_of_json, request_of_protobuf, sift
from recollect.erasure.schedule import doubt
from recollect.errors import DiskFull, SourceRefused, StoreError
from recollect.files import is_no_room
from recollect.ingest.spooled_events import append_synced, hooks_folder
from recollect.model.time import day_of
from recollect.paths import spool_dir
from recollect.store.home import Home
from recollect.store.reader import Reader
from recollect.units import size
from recollect.wire import OTLP_FOLDER

_DAY_US = 86_400_000_000


def clear_spool(home: Home, reader: Reader, adapters: Iterable[Adapter], env: Mapping[str, str], *, now_us: int) -> int:
    """Delete the spool's files that were ingested whole; return how many.

    Files are named by their day. Those of the last two days stay, because they may still grow, unless a later part
    of the same day exists. All stay while the clock cannot be believed.
    """
    kept_from = day_of(now_us - _DAY_US)
    if doubt(home.folder, now_us=now_us):
        return 0
    count = 0
    for adapter in adapters:
        spools = [spool_dir(name, env) for name in adapter.facts.spools]
        if adapter.facts.hooks is not None:
            spools.append(Path(hooks_folder(str(home.spool), adapter.facts.slug)))
        folders = tuple(f"{folder}{os.sep}" for folder in spools if folder.is_dir())
        for row in reader.sources(adapter.facts.slug) if folders else ():
            if row.status != "active" or not row.path.startswith(folders) or _may_grow(Path(row.path), kept_from):
                continue
            try:
                is_whole = os.stat(row.path).st_size == row.size == row.committed_bytes
                if is_whole:
                    os.unlink(row.path)
                    count += 1
            except OSError:
                continue  # gone, or not ours to delete: nothing is lost by leaving it
    return count


def part_path(folder: Path, day: str, part: int) -> Path:
    """Return a file of a receiver's spool: the first of a day is `DAY.jsonl`, the next one `DAY.2.jsonl`."""
    return folder / (f"{day}.{part}.jsonl" if part > 1 else f"{day}.jsonl")


def part_of(name: str) -> int:
    """Return which part of its day a file of a receiver's spool is."""
    part = name.split(".")[1]
    return int(part) if part.isdecimal() else 1


def _may_grow(path: Path, kept_from: str) -> bool:
    day = path.name.partition(".")[0]
    return day >= kept_from and not part_path(path.parent, day, part_of(path.name) + 1).exists()


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
        """Store an OTLP request as a line of JSON, synced to disk before this returns.

        JSON stays as it was sent, without line breaks; protobuf becomes OTLP's JSON. Omits invalid items (spans without
        valid ids). Raises SourceRefused for anything that is no request of the signal or too large for a record,
        DiskFull or StoreError if it cannot be stored (the spool is full, say): then nothing of it is.
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
                append_synced(_path_for(folder, day_of(self._now_us()), len(line)), line + b"\n")
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

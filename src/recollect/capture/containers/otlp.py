"""Reads files of OTLP protobuf requests as rows `{"request": …}`, one table per signal.

The collector's file exporter (`format: proto`) writes each message behind its length, four bytes, the largest first. A
file may also be one bare message. A message that is cut off at the end is taken when the rest has come. What the
protocol's JSON cannot say (fields of a later version) stands beside it as the message's own bytes, `raw`.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from recollect import units
from recollect.capture.otlp import json_of, says_all, signal_of
from recollect.errors import SourceChanged, SourceRefused, SourceUnavailable
from recollect.model.rows import Cell, encode_row

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
_LIMIT = units.size(MAX_MESSAGE_BYTES, binary=True)
UNREADABLE = "unreadable"
"""The table of messages that are of no signal."""
_LENGTH_BYTES = 4
_FIRST_TAG = 0x0A
"""What every message begins with: field 1, with its length behind it."""
_MARK_BYTES = 16


def mark_of_file(size: int, mtime_ns: int, inode: int) -> bytes:
    """Return what changes whenever the file does."""
    return hashlib.blake2b(f"{size}\0{mtime_ns}\0{inode}".encode(), digest_size=_MARK_BYTES).digest()


def lines_of_requests(path: str, mark: bytes) -> Iterator[bytes]:
    """Yield each request of a file as a line, with its end.

    Raises SourceChanged when the file has changed, SourceRefused for a message that is too large.
    """
    try:
        with open(path, "rb") as handle:
            _check(handle, path, mark)
            for body in messages_in(handle, path):
                yield _row(body) + b"\n"
            _check(handle, path, mark)
    except OSError as error:
        raise SourceUnavailable(f"cannot read {path}: {error.strerror}") from error


def messages_in(handle: BinaryIO, path: str) -> Iterator[bytes]:
    """Yield the messages of a file, whole ones only."""
    size = os.fstat(handle.fileno()).st_size
    head = handle.read(_LENGTH_BYTES + 1)
    if not _is_framed(head, size):
        if size > MAX_MESSAGE_BYTES:
            raise SourceRefused(f"{path} is a message of more than {_LIMIT}", reason="too large")
        yield head + handle.read(MAX_MESSAGE_BYTES)
        return
    handle.seek(0)
    while len(prefix := handle.read(_LENGTH_BYTES)) == _LENGTH_BYTES:
        length = int.from_bytes(prefix, "big")
        if length > MAX_MESSAGE_BYTES:
            raise SourceRefused(f"{path} holds a message of more than {_LIMIT}", reason="too large")
        body = handle.read(length)
        if len(body) < length:
            return
        if body:
            yield body


def _is_framed(head: bytes, size: int) -> bool:
    """Tell lengths from a bare message, which begins with its first tag: read as a length that would be over 160 MB."""
    if len(head) <= _LENGTH_BYTES:
        return not head.startswith(bytes((_FIRST_TAG,)))
    length = int.from_bytes(head[:_LENGTH_BYTES], "big")
    return head[0] != _FIRST_TAG and (length == 0 or head[_LENGTH_BYTES] == _FIRST_TAG or length < size)


def _row(body: bytes) -> bytes:
    found = signal_of(body)
    if found is None:
        return encode_row(UNREADABLE, {"raw": _blob(body)})
    signal, message = found
    is_whole = says_all(message)
    columns: dict[str, Cell] = {"request": {"$json": msgspec.json.encode(json_of(message)).decode()}}
    if not is_whole:
        columns["raw"] = _blob(body)
    return encode_row(signal, columns)


def _blob(body: bytes) -> dict[str, str]:
    return {"$blob": base64.b64encode(body).decode()}


def _check(handle: BinaryIO, path: str, mark: bytes) -> None:
    info = os.fstat(handle.fileno())
    if mark and mark_of_file(info.st_size, info.st_mtime_ns, info.st_ino) != mark:
        raise SourceChanged(f"{path} changed while it was read")

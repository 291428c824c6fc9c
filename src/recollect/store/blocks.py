"""Blocks: the bodies of a session's events, compressed together, so that rows stay light.

A worker makes one container per slice and session (`encode_block`); the writer stores its frames, one row each. A frame
is zstd over a msgpack list of entries and holds at most about 128 KiB of them, so that one event can be read without
decompressing its whole session. Pure; safe from many threads.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import msgspec
import zstandard

from recollect.errors import StoreCorrupt
from recollect.store.bodies import is_whole

FRAME_BYTES = 128 * 1024
"""A frame is closed when its entries reach this size."""
SMALL_FRAME_BYTES = 32 * 1024
"""The writer extends a session's newest frame while it is smaller than this."""
_LEVEL = 3
_MAX_PLAIN_BYTES = 1 << 30


class BlockEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What of an event is kept compressed. `body`: see `store.bodies`; `path`: the file it touches, "" if none.

    summary is `model.text.summary_of` of the payload: it is kept only for a body that is not whole, because a reader
    makes it again from one that is.
    """

    body: bytes
    summary: str
    path: str


class BlockBody(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A `BlockEntry` of which only the body is decoded."""

    body: bytes


class Frame(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One compressed run of entries: their number, their size before compression, the zstd data."""

    entry_count: int
    plain_bytes: int
    data: bytes


class _Local(threading.local):
    """zstd contexts must not be shared by threads and are dear to make."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=_LEVEL).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_local = _Local()
_encode = msgspec.msgpack.Encoder().encode
_decode_frame = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
_decode_bodies = msgspec.msgpack.Decoder(list[BlockBody]).decode
_decode_entry = msgspec.msgpack.Decoder(BlockEntry).decode
_decode_frames = msgspec.msgpack.Decoder(list[Frame]).decode


def encode_block(entries: Sequence[BlockEntry]) -> bytes:
    """Return the container of a session part's entries, in order. `EventDraft.body` is the index into it."""
    return _encode(encode_frames(entries))


def encode_frames(entries: Sequence[BlockEntry]) -> list[Frame]:
    """Return entries as frames, in order."""
    frames: list[Frame] = []
    start = size = 0
    for position, entry in enumerate(entries):
        size += len(entry.body) + len(entry.summary)
        if size >= FRAME_BYTES:
            frames.append(_frame(entries[start : position + 1]))
            start, size = position + 1, 0
    if start < len(entries):
        frames.append(_frame(entries[start:]))
    return frames


def encode_frame(entries: Sequence[BlockEntry]) -> Frame:
    """Return entries as one frame, whatever their size: those of a frame that is written anew keep their places."""
    return _frame(entries)


def block_frames(block: bytes) -> list[Frame]:
    """Return the frames of a container. Raises StoreCorrupt."""
    if not block:
        return []
    try:
        return _decode_frames(block)
    except ValueError as error:
        raise StoreCorrupt(f"a block of event bodies is damaged: {error}", hint=_HINT) from error


def decode_block(block: bytes) -> list[BlockEntry]:
    """Return the entries of a container, in order. Raises StoreCorrupt."""
    return [entry for frame in block_frames(block) for entry in decode_frame(frame.data)]


def decode_frame(data: bytes) -> list[BlockEntry]:
    """Return the entries of one frame. Raises StoreCorrupt."""
    return [decode_entry(entry) for entry in open_frame(data)]


def decode_bodies_at_once(data: bytes) -> list[BlockBody]:
    """Return the bodies of one frame, for readers that want all of them and nothing else. Raises StoreCorrupt."""
    try:
        return _decode_bodies(_local.decompress(data, max_output_size=_MAX_PLAIN_BYTES))
    except (zstandard.ZstdError, ValueError) as error:
        raise StoreCorrupt(f"a block of event bodies is damaged: {error}", hint=_HINT) from error


def open_frame(data: bytes) -> list[msgspec.Raw]:
    """Return the undecoded entries of one frame, for readers that want few of them. Raises StoreCorrupt."""
    try:
        return _decode_frame(_local.decompress(data, max_output_size=_MAX_PLAIN_BYTES))
    except (zstandard.ZstdError, ValueError) as error:
        raise StoreCorrupt(f"a block of event bodies is damaged: {error}", hint=_HINT) from error


def decode_entry(entry: msgspec.Raw) -> BlockEntry:
    """Return an entry of `open_frame`. Raises StoreCorrupt."""
    try:
        return _decode_entry(entry)
    except ValueError as error:
        raise StoreCorrupt(f"the body of an event is damaged: {error}", hint=_HINT) from error


def _frame(entries: Sequence[BlockEntry]) -> Frame:
    plain = _encode([BlockEntry(e.body, "", e.path) if e.summary and is_whole(e.body) else e for e in entries])
    return Frame(len(entries), len(plain), _local.compress(plain))


_HINT = "run `recollect rebuild all`: everything derived comes from the archive"

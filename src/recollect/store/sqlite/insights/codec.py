"""Signals and nodes as stored: compressed JSON."""

from __future__ import annotations

import threading

import msgspec
import zstandard

from recollect.errors import StoreCorrupt
from recollect.model.insights.nodes import Node
from recollect.model.insights.signals import Signal
from recollect.store.sqlite.connection import REBUILD_HINT

_LEVEL = 3
_MAX_PLAIN_BYTES = 1 << 28


class _Local(threading.local):
    """zstd contexts must not be shared by threads and are dear to make."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_local = _Local()
_encode = msgspec.json.Encoder().encode
_decode_node: msgspec.json.Decoder[Node] = msgspec.json.Decoder(Node)
_decode_signals: msgspec.json.Decoder[list[Signal]] = msgspec.json.Decoder(list[Signal])


def pack_node(node: Node) -> bytes:
    """Return the stored form of a node; the same node gives the same bytes."""
    return _local.compress(_encode(node))


def unpack_node(data: bytes) -> Node:
    """Return the node of its stored form. Raises StoreCorrupt."""
    try:
        return _decode_node.decode(_local.decompress(data, max_output_size=_MAX_PLAIN_BYTES))
    except (zstandard.ZstdError, ValueError) as error:
        raise StoreCorrupt(f"a stored node is damaged: {error}", hint=REBUILD_HINT) from error


def pack_signals(signals: list[Signal]) -> bytes:
    """Return the stored form of signals."""
    return _local.compress(_encode(signals))


def unpack_signals(data: bytes) -> list[Signal]:
    """Return signals of their stored form. Raises StoreCorrupt."""
    try:
        return _decode_signals.decode(_local.decompress(data, max_output_size=_MAX_PLAIN_BYTES))
    except (zstandard.ZstdError, ValueError) as error:
        raise StoreCorrupt(f"stored signals are damaged: {error}", hint=REBUILD_HINT) from error

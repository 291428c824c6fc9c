"""Index documents as JSON, made by workers. The ingester only adds the keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from recollect.index.text.schema import (
    IDENT,
    INSTRUCTIONS,
    KIND,
    PATHS,
    PROSE,
    TEXT,
    TOOL,
    TS,
    VOICE,
    EntryClass,
    voice_of,
)
from recollect.model.text import TextClass

if TYPE_CHECKING:
    from recollect.index.text.preparation import Prepared


DOCUMENT_BYTES = 64 * 1024
"""A longer text goes on in further documents of the same key."""
_CUT_BACK_BYTES = 1024
_LITTLE_BYTES = 32_000
"""Less than this is prepared text by text: numpy takes as long to import as a short command to do all else."""
_SPACE = re.compile(rb"\s(?=\S*\Z)")


class DocumentBuilder:
    """Collects the texts of one slice and prepares them together. Use once: add …, then finish.

    Not thread safe. Memory: about three times the text added. What prepares texts is imported with the first: a process
    that only asks does not need it.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._heads: list[tuple[str, int, TextClass | EntryClass]] = []
        """Per event: JSON head, how many pieces, text class."""
        self._paths: list[bytes] = []
        self._path_of: list[int] = []
        """Per event: its place in `_paths`, -1 without any."""

    def add(
        self, text_class: TextClass | EntryClass, text: str, paths: Sequence[str], *, kind: str, tool: str,
        ts: int | None,
    ) -> int:  # fmt: skip
        """Take one event's text; return its ordinal in the result of `finish`. ts in UTC microseconds."""
        if not text and not paths:
            self._heads.append(("", 0, text_class))
            self._path_of.append(-1)
            return len(self._heads) - 1
        from recollect.index.text.preparation import clean

        data = clean(text)
        pieces = split_text(data) if len(data) > DOCUMENT_BYTES else [data]
        head = _head(text_class, kind, tool)
        if ts is not None:
            head = f'{head},"{TS}":{ts}'
        if paths:
            self._paths.append(clean("\n".join(paths)))
        self._path_of.append(len(self._paths) - 1 if paths else -1)
        self._pieces += pieces
        self._heads.append((head, len(pieces), text_class))
        return len(self._heads) - 1

    def finish(self) -> list[tuple[str, ...]]:
        """Return per event, in the order added, its documents without their leading `{"key":…,"session":…,`.

        An event without text and paths has none.
        """
        if not self._pieces:
            return [() for _ in self._heads]
        prepared = _prepared(self._pieces)
        paths = [f',"{PATHS}":"{p.text}"' for p in _prepared(self._paths)]
        documents: list[tuple[str, ...]] = []
        first = 0
        for (head, count, text_class), path in zip(self._heads, self._path_of, strict=True):
            last = first + count
            tail = paths[path] if path >= 0 else ""
            if count == 1:
                documents.append((_document(head, tail, text_class, prepared[first]),))
            else:
                pieces = enumerate(prepared[first:last])
                documents.append(tuple(_document(head, "" if i else tail, text_class, piece) for i, piece in pieces))
            first = last
        return documents


def _prepared(pieces: Sequence[bytes]) -> list[Prepared]:
    if sum(map(len, pieces)) < _LITTLE_BYTES:
        from recollect.index.text.preparation import prepare

        return list(map(prepare, pieces))
    from recollect.index.text.bulk_preparation import prepare_many

    return prepare_many(pieces)


def split_text(data: bytes) -> list[bytes]:
    """Cut UTF-8 text into pieces of at most DOCUMENT_BYTES, at white space where there is some near the cut.

    Joined, the pieces are the text again; no character is cut in two.
    """
    pieces: list[bytes] = []
    start = 0
    while len(data) - start > DOCUMENT_BYTES:
        stop = start + DOCUMENT_BYTES
        space = _SPACE.search(data, stop - _CUT_BACK_BYTES, stop)
        if space is not None:
            stop = space.end()
        while data[stop] & 0xC0 == 0x80:
            stop -= 1
        pieces.append(data[start:stop])
        start = stop
    pieces.append(data[start:])
    return pieces


def _document(head: str, tail: str, text_class: TextClass | EntryClass, prepared: Prepared) -> str:
    text = prepared.text
    ident = f',"{IDENT}":"{prepared.identifiers}"' if prepared.identifiers else ""
    if text_class == "instructions":
        return f'{head},"{INSTRUCTIONS}":"{text}"{ident}{tail}}}'
    if text_class == "tool_output":
        return f'{head},"{TEXT}":"{text}"{ident}{tail}}}'
    return f'{head},"{TEXT}":"{text}","{PROSE}":"{text}"{ident}{tail}}}'


@lru_cache(maxsize=1024)
def _head(text_class: TextClass | EntryClass, kind: str, tool: str) -> str:
    head = f'"{KIND}":"{_plain(kind)}","{VOICE}":{voice_of(text_class, kind, tool)}'
    return f'{head},"{TOOL}":{_quoted(tool.lower())}' if tool else head


def _plain(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else _quoted(name)[1:-1]


def _quoted(text: str) -> str:
    return msgspec.json.encode(text.encode("utf-8", "replace").decode()).decode()

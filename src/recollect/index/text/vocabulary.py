"""The vocabulary of a shard, one term per line, for infix patterns and regular expressions.

The engine walks its automaton 660 ms for a leading wildcard over 3 million terms; a flat scan of the same terms
takes 18 ms. Files in the shard's folder, all of them a cache:

    terms.txt    lower-cased terms, sorted, each line beginning and ending with a line break
    terms.new    terms appended by small commits since (unsorted, may repeat)
    terms.json   the engine's commit that the two cover

Terms in the files need not be in the index any more (a delete leaves them); asking for them finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from recollect.files import write_file
from recollect.index.text.schema import IDENT, MAX_TERM_BYTES, PATHS, TEXT_FIELDS

NEW_TERMS_BYTES = 4_000_000
"""When the appended terms outgrow this, the vocabulary is made again."""

TermsWithPrefix = Callable[[str, str], list[tuple[str, int]]]
"""(field, prefix) -> the terms and their document counts."""

_FIELDS = (*TEXT_FIELDS, PATHS, IDENT)
# By first character, so that never all terms are in memory as objects. Scripts beyond these are found as whole
# words; Han, kana and Hangul are single characters in the index anyway.
_FIRST = (*"0123456789abcdefghijklmnopqrstuvwxyz", *(chr(c) for c in (*range(0xAA, 0x590), *range(0x5D0, 0x700))))
_RARE_FIRST = tuple(chr(c) for c in (*range(0x900, 0xE80), *range(0x10A0, 0x1100), *range(0x1E00, 0x2000)))


class _Cover(msgspec.Struct):
    commit: str
    new_bytes: int


class _Meta(msgspec.Struct):
    opstamp: int


def commit_id(shard: Path) -> str:
    """Return what names the engine's last commit of a shard ("" without one).

    Its operation stamp: a merge in the background rewrites meta.json without a new one, and changes no term.
    """
    try:
        return str(msgspec.json.decode((shard / "meta.json").read_bytes(), type=_Meta).opstamp)
    except (OSError, ValueError):
        return ""


class ShardVocabulary:
    """The vocabulary files of one shard. Reading never needs the writer; several processes may make it at once."""

    def __init__(self, shard: Path) -> None:
        self._shard = shard
        self._base = shard / "terms.txt"
        self._new = shard / "terms.new"
        self._cover = shard / "terms.json"

    def is_current(self) -> bool:
        """True when the files cover the engine's last commit."""
        cover = self._covered()
        return cover is not None and cover.commit == commit_id(self._shard)

    def append(self, words: Iterable[str]) -> None:
        """Add the terms of a small commit just made; call only if the files were current before it."""
        data = "\n".join(w for w in words if len(w) <= MAX_TERM_BYTES).encode("utf-8", "replace") + b"\n"
        cover = self._covered()
        if cover is None or cover.new_bytes + len(data) > NEW_TERMS_BYTES:
            return
        try:
            with self._new.open("r+b" if cover.new_bytes else "wb") as out:
                # A crash after this write and before the cover leaves a tail that nothing counts; it is cut here.
                out.truncate(cover.new_bytes)
                out.seek(cover.new_bytes)
                out.write(data)
            self._write_cover(cover.new_bytes + len(data))
        except OSError:
            return  # stays stale; the next infix question makes it again

    def build(self, terms: TermsWithPrefix) -> bytes | None:
        """Write the files from the engine's terms; return the terms if they cannot be written, else None."""
        commit = commit_id(self._shard)
        try:
            write_file(self._base, _listed(terms), durable=False)
            self._new.unlink(missing_ok=True)
            self._write_cover(0, commit)
        except OSError:
            return b"".join(_listed(terms))
        return None

    def load(self) -> bytes:
        """Return all terms, each between line breaks; empty if nothing was written."""
        cover = self._covered()
        if cover is None:
            return b"\n"
        try:
            base = self._base.read_bytes()
            new = self._new.read_bytes()[: cover.new_bytes] if cover.new_bytes else b""
        except OSError:
            return b"\n"
        return base + new

    def _covered(self) -> _Cover | None:
        try:
            return msgspec.json.decode(self._cover.read_bytes(), type=_Cover)
        except (OSError, ValueError):
            return None

    def _write_cover(self, new_bytes: int, commit: str = "") -> None:
        cover = _Cover(commit or commit_id(self._shard), new_bytes)
        write_file(self._cover, msgspec.json.encode(cover), durable=False)


def _listed(terms: TermsWithPrefix) -> Iterator[bytes]:
    yield b"\n"
    for first in (*_FIRST, *_RARE_FIRST):
        found = {term for field in _FIELDS for term, _ in terms(field, first)}
        if found:
            yield "\n".join(sorted(found)).encode() + b"\n"


def matching_terms(terms: bytes, literal: str, pattern: re.Pattern[str], *, limit: int) -> tuple[list[str], bool]:
    """Return (the terms that the pattern matches, in vocabulary order, at most `limit`; whether there are more).

    literal: lower-case text that every match contains, "" for none: it is looked for first, at memory speed.
    The pattern is searched in one term at a time, so that its cost is bounded by the length of a term.
    """
    found: dict[str, None] = {}
    for line in _lines_with(terms, literal.encode("utf-8", "replace")):
        term = line.decode("utf-8", "replace")
        if pattern.search(term) and term not in found:
            if len(found) >= limit:
                return list(found), True
            found[term] = None
    return list(found), False


def _lines_with(terms: bytes, literal: bytes) -> Iterator[bytes]:
    if not literal:
        yield from terms.split()
        return
    at = terms.find(literal)
    while at >= 0:
        start = terms.rfind(b"\n", 0, at) + 1
        stop = terms.find(b"\n", at)
        yield terms[start : stop if stop >= 0 else len(terms)]
        if stop < 0:
            return
        at = terms.find(literal, stop)

# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Redacts stored rows again that older detectors redacted.

Most of it is derived again from the archive. This is for what has no raw bytes any more or is of an older revision, and
for what was distilled from it: every place in the database where words of a transcript can stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
import msgspec

from recollect.model.insights.nodes import Node
from recollect.model.insights.signals import Signal
from recollect.model.learnings.notes import DiaryEntry, Fact
from recollect.store.bodies import BlockEntry, decode_frame, encode_frame
from recollect.store.connection import RowWriter, of_db
from recollect.store.entries import pack_part, unpack_part
from recollect.store.event_marks import name_redacted
from recollect.store.insights import pack_node, pack_signals, unpack_node, unpack_signals
from recollect.store.notes import put_diary, put_fact
from recollect.store.row_keys import SEQ_BITS, pack_text, unpack_text
from recollect.store.session_rows import SessionFacts, decode_facts, encode_facts
from recollect.store.sources import DETECTORS, detectors_of, tell_all

if TYPE_CHECKING:
    from recollect.privacy.redact import Redactor


STALE_PARSER = -1
"""A parser version that no parser has: who read it is derived again."""
_ROWS_AT_A_TIME = 64
_decode_json = msgspec.json.Decoder().decode
_encode_json = msgspec.json.Encoder().encode


class _Place(NamedTuple):
    """A column that may hold words. redacted: returns its new value, or the same object."""

    table: str
    key: tuple[str, ...]
    column: str
    redacted: Callable[[Redactor, Any], Any]


class RedactionWriter(RowWriter):
    """Redacts what is stored."""

    detectors = of_db(detectors_of)

    def set_detectors(self, fingerprint: str) -> None:
        """Keep what all derived text is redacted by from now on. Inside a transaction."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (DETECTORS, fingerprint))

    def make_stale(self) -> int:
        """Mark every source for another derivation, as by a newer parser; return how many. Inside a transaction."""
        self._db.execute("UPDATE source SET parser_version = ? WHERE committed_bytes > 0", (STALE_PARSER,))
        return self._db.changes()

    def redact_again(self, redactor: Redactor, transaction: Callable[[], AbstractContextManager[None]]) -> int:
        """Redact all stored text, in transactions of a few rows; return how many values changed. Safe to repeat."""
        changed = 0
        for place in _PLACES:
            after: tuple[Any, ...] | None = None
            while rows := self._rows(place, after):
                after = rows[-1][:-1]
                new = [(value, *key) for *key, old in rows if (value := place.redacted(redactor, old)) is not old]
                if new:
                    with transaction():
                        self._replace(place, new)
                    changed += len(new)
        numbers: list[Any] = self._db.execute("SELECT number FROM session ORDER BY number").fetchall()
        for at in range(0, len(numbers), _ROWS_AT_A_TIME):
            with transaction():
                changed += sum(name_redacted(self._db, number) for (number,) in numbers[at : at + _ROWS_AT_A_TIME])
        return changed + self._renew_notes(redactor, transaction)

    def _renew_notes(self, redactor: Redactor, transaction: Callable[[], AbstractContextManager[None]]) -> int:
        """Redact notes as a whole: their names are also stored in lower case, in which no secret is recognised."""
        changed = 0
        kinds: tuple[tuple[str, Any, Callable[[apsw.Connection, Any], None]], ...] = (
            ("fact", Fact, put_fact),
            ("diary", DiaryEntry, put_diary),
        )
        for table, kind, put in kinds:
            rows: list[Any] = self._db.execute(f"SELECT json FROM {table}").fetchall()
            new = [value for (text,) in rows if (value := _json(redactor, text)) is not text]
            for text in new:
                with transaction():
                    put(self._db, msgspec.json.decode(text, type=kind))
            changed += len(new)
        return changed

    def _rows(self, place: _Place, after: tuple[Any, ...] | None) -> list[Any]:
        keys = ", ".join(place.key)
        where = f"WHERE ({keys}) > ({', '.join('?' * len(place.key))})" if after else ""
        return self._db.execute(
            f"SELECT {keys}, {place.column} FROM {place.table} {where} ORDER BY {keys} LIMIT {_ROWS_AT_A_TIME}",
            after or (),
        ).fetchall()

    def _replace(self, place: _Place, new: list[tuple[Any, ...]]) -> None:
        keys = " AND ".join(f"{column} = ?" for column in place.key)
        self._db.executemany(f"UPDATE OR REPLACE {place.table} SET {place.column} = ? WHERE {keys}", new)
        if place.table == "block":
            for number in sorted({key >> SEQ_BITS for _value, key in new}):
                self._touched.add(number)
                tell_all(self._db, number)  # what was distilled is redacted in place
        if place.table in ("entry", "entry_part"):
            self._tell_of_entries(sorted({key[0] for _value, *key in new}))

    def _tell_of_entries(self, numbers: list[int]) -> None:
        """Have entries count as changed: what is made of their text, vectors too, is made again."""
        self._db.executemany("INSERT INTO entry_change (entry) VALUES (?)", [(number,) for number in numbers])
        for number in numbers:
            before: bytes = self._db.execute("SELECT sha256 FROM entry WHERE number = ?", (number,)).get
            self._db.execute("UPDATE entry SET sha256 = ? WHERE number = ?", (sha256(before).digest(), number))


def _text(redactor: Redactor, stored: str | bytes) -> str | bytes:
    text, findings = redactor.redact_text(unpack_text(stored))
    return pack_text(text) if findings else stored


def _json(redactor: Redactor, stored: str | bytes) -> str | bytes:
    raw = stored.encode() if isinstance(stored, str) else stored
    if not raw or not redactor.suspects(raw, [len(raw)]):
        return stored
    value, findings = redactor.redact_value(_decode_json(raw))
    if not findings:
        return stored
    new = _encode_json(value)
    return new.decode() if isinstance(stored, str) else new


def _part(redactor: Redactor, stored: bytes) -> bytes:
    text, findings = redactor.redact_text(unpack_part(stored))
    return pack_part(text) if findings else stored


def _facts(redactor: Redactor, stored: bytes) -> bytes:
    value, findings = redactor.redact_value(msgspec.to_builtins(decode_facts(stored)))
    return encode_facts(msgspec.convert(value, SessionFacts)) if findings else stored


def _node(redactor: Redactor, stored: bytes) -> bytes:
    value, findings = redactor.redact_value(msgspec.to_builtins(unpack_node(stored)))
    return pack_node(msgspec.convert(value, Node)) if findings else stored


def _signals(redactor: Redactor, stored: bytes) -> bytes:
    value, findings = redactor.redact_value(msgspec.to_builtins(unpack_signals(stored)))
    return pack_signals(msgspec.convert(value, list[Signal])) if findings else stored


def _frame(redactor: Redactor, stored: bytes) -> bytes:
    entries = decode_frame(stored)
    new = list(_entries(redactor, entries))
    return stored if all(a is b for a, b in zip(entries, new, strict=True)) else encode_frame(new).data


def _entries(redactor: Redactor, entries: list[BlockEntry]) -> Iterator[BlockEntry]:
    for entry in entries:
        body = _json(redactor, entry.body)
        summary, path = _text(redactor, entry.summary), _text(redactor, entry.path)
        is_same = body is entry.body and summary is entry.summary and path is entry.path
        yield entry if is_same else msgspec.structs.replace(entry, body=body, summary=summary, path=path)


_PLACES = (
    _Place("block", ("key",), "data", _frame),
    _Place("session", ("number",), "facts", _facts),
    _Place("session", ("number",), "repo", _text),
    _Place("session", ("number",), "git_branch", _text),
    _Place("session", ("number",), "outcome_reason", _text),
    _Place("defect", ("source", "revision", "record", "offset", "code"), "detail", _text),
    _Place("drift", ("source", "revision", "kind", "name"), "name", _text),
    _Place("digest", ("analysis",), "json", _json),
    _Place("eviction", ("session_uid",), "digest", _json),
    _Place("signal", ("kind", "analysis"), "data", _signals),
    _Place("node", ("number",), "data", _node),
    _Place("node", ("number",), "subject", _text),
    _Place("node", ("number",), "paths", _text),
    _Place("analysis", ("number",), "repo", _text),
    _Place("link", ("older", "newer", "relation"), "json", _json),
    _Place("added_decision", ("id",), "json", _json),
    _Place("added_decision", ("id",), "subject", _text),
    _Place("added_decision", ("id",), "paths", _text),
    _Place("firing", ("at", "nonce"), "identifiers", _text),
    _Place("firing", ("at", "nonce"), "citations", _text),
    _Place("firing", ("at", "nonce"), "note", _text),
    _Place("learning", ("id",), "json", _json),
    _Place("learning_sighting", ("learning", "session_uid", "origin"), "json", _json),
    _Place("learning_evidence", ("learning", "session_uid", "event_id", "part"), "json", _json),
    _Place("verdict", ("learning", "at", "nonce"), "json", _json),
    _Place("quarantine", ("key",), "text", _text),
    _Place("job", ("key",), "reason", _text),
    _Place("job", ("key",), "json", _json),
    _Place("batch", ("id",), "json", _json),
    _Place("document", ("collection", "path"), "json", _json),
    _Place("entry", ("number",), "title", _text),
    _Place("entry_part", ("entry", "part"), "heading", _text),
    _Place("entry_part", ("entry", "part"), "text", _part),
)
"""Where words can stand. Ids, hashes and the agents' own paths of sources are what they must be and stay."""

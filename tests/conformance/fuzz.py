"""Bends an adapter's own fixtures: records dropped, doubled, swapped and cut, fields removed and made something else.

Everything follows from a number, so that a finding can be had again.
"""

from __future__ import annotations

import copy
import json
import random
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from recollect.agents.registry import adapters
from recollect.capture.containers.jsonl import split_lines
from recollect.capture.discover import RootDir, discover
from recollect.capture.expand import expand
from recollect.capture.replay import LineReader, is_rows, is_whole, split_whole
from recollect.capture.sources import open_found, read_head
from recollect.model.records import Record, SourceInfo
from recollect.testing.fixtures import Fixture, fixtures_in, lay_out

FIXTURES = Path(__file__).resolve().parent / "fixtures"
_TELLING = (
    "tool",
    "edit",
    "compaction",
    "subagent",
    "usage",
    "setup",
    "unknown_record",
    "rewind",
    "resume",
    "dialogue",
)
_FIXTURES_PER_AGENT = 10
_MANY_BYTES = 64 * 1024 * 1024


class Source(NamedTuple):
    """A source of a fixture: what the parser knows of it, how it is written, and its bytes."""

    info: SourceInfo
    container: str
    raw: bytes


def chosen(slug: str) -> list[Fixture]:
    """Return the fixtures of an agent that show most, of every version some."""
    found = sorted(
        fixtures_in(FIXTURES, slug),
        key=lambda f: (_TELLING.index(f.scenario) if f.scenario in _TELLING else len(_TELLING), f.version),
    )
    return found[:_FIXTURES_PER_AGENT]


@cache
def sources(slug: str) -> list[Source]:
    """Return the sources of an agent's fixtures, as a pass reads them."""
    adapter = adapters()[slug]
    out: list[Source] = []
    with tempfile.TemporaryDirectory() as work:
        for number, fixture in enumerate(chosen(slug)):
            root = Path(work) / f"{number}"
            lay_out(fixture, root)
            found = discover(adapter, [RootDir(str(root), True)], known_roles={}, read_head=read_head)
            for item in expand(found.sources, ()).sources:
                with open_found(
                    item.path, adapter.facts.places, item.place.role, item.document,
                    is_compressed=item.place.is_compressed,
                ) as opened:  # fmt: skip
                    raw = opened.read_at(0, _MANY_BYTES)
                if raw:
                    info = SourceInfo.of(slug, item.place.role, item.relative)
                    session = adapter.identify(info, raw[: 64 * 1024])
                    info = SourceInfo.of(slug, item.place.role, item.relative, session)
                    out.append(Source(info, item.place.container_name, raw))
    return out


def records_in(source: Source, raw: bytes) -> list[Record]:
    """Return the records of a source's bytes as its parser gets them; what is no JSON never comes to it."""
    if is_whole(source.container):
        found = split_whole(raw, source.container).lines
    else:
        lines = split_lines(raw, is_end=True, is_start=True).lines
        found = LineReader(source.container).take(lines)
    return [
        Record(line.decoded.value, line.raw, index, line.at, line.changed)
        for index, line in enumerate(found)
        if line.decoded.is_json
    ]


# Bending


def bent(source: Source, seed: int, count: int) -> bytes:
    """Return a source's bytes with some things changed."""
    dice = random.Random(seed)
    raw = source.raw
    for _ in range(count):
        bend = dice.choice(_OF_A_DOCUMENT if is_whole(source.container) else _OF_LINES)
        raw = bend(raw, dice, source.container)
    return raw


def _records_moved(raw: bytes, dice: random.Random, _container: str) -> bytes:
    lines = raw.splitlines(keepends=True)
    if not lines:
        return raw
    one, two = dice.randrange(len(lines)), dice.randrange(len(lines))
    match dice.randrange(4):
        case 0:
            del lines[one]
        case 1:
            lines.insert(two, lines[one])
        case 2:
            lines[one], lines[two] = lines[two], lines[one]
        case 3:
            lines[one] = lines[one][: dice.randrange(len(lines[one]))] + b"\n"
    return b"".join(lines)


def _record_changed(raw: bytes, dice: random.Random, container: str) -> bytes:
    lines = raw.splitlines(keepends=True)
    if not lines:
        return raw
    at = dice.randrange(len(lines))
    try:
        value = json.loads(lines[at])
    except ValueError:
        return raw
    if is_rows(container) and isinstance(value, dict) and dice.random() < 0.8:
        changed = _row_changed(value, dice)
    else:
        changed = changed_value(value, dice)
    lines[at] = _written(changed) + b"\n"
    return b"".join(lines)


def _row_changed(row: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """Change what stands in a cell of a row, most of all in one that holds JSON."""
    cells = row.get("columns")
    holder, name = (cells, dice.choice(sorted(cells))) if isinstance(cells, dict) and cells else (row, "content")
    cell = holder.get(name)
    if isinstance(cell, dict) and "$json" in cell:
        try:
            inner = json.loads(cell["$json"])
        except (TypeError, ValueError):
            inner = cell["$json"]
        holder[name] = {"$json": _written(changed_value(inner, dice)).decode("utf-8", "replace")}
    else:
        holder[name] = dice.choice(
            [None, -1, 2**63 - 1, 1e308, "", "text \u202e\x00", {"$blob": "AAH/"}, {"$text": "/w=="}]
        )
    return row


def _document_changed(raw: bytes, dice: random.Random, container: str) -> bytes:
    if container == "text":
        return _bytes_changed(raw, dice, container)
    try:
        value = json.loads(raw)
    except ValueError:
        return raw
    return _written(changed_value(value, dice))


def _bytes_changed(raw: bytes, dice: random.Random, _container: str) -> bytes:
    if not raw:
        return raw
    at = dice.randrange(len(raw))
    match dice.randrange(4):
        case 0:
            return raw[:at]
        case 1:
            return (
                raw[:at]
                + dice.choice((b"\x00", b"\xff", b"\x1b[31m", b"\xed\xa0\x80", b"\r", b'"', b"\xef\xbb\xbf"))
                + raw[at:]
            )
        case 2:
            return raw[:at] + raw[at + dice.randrange(20) :]
        case _:
            return raw[:at] + raw[max(0, at - dice.randrange(60)) :]


def changed_value(value: Any, dice: random.Random) -> Any:
    """Return a value in which one thing, anywhere, is another."""
    value = copy.deepcopy(value)
    places = list(_places(value))
    if not places:
        return dice.choice(_VALUES)
    holder, key = dice.choice(places)
    inner = holder[key]
    match dice.randrange(8):
        case 0:
            del holder[key]
        case 1 | 2:
            holder[key] = copy.deepcopy(dice.choice(_VALUES))
        case 3:
            holder[key] = dice.choice(([inner], {"inner": inner}, [[inner], inner], [None, inner, 7]))
        case 4:
            holder[key] = [*inner, *inner[-1:]] if isinstance(inner, list) else [inner, inner]
        case 5 if isinstance(holder, dict):
            holder[f"{key}_from_the_future"] = holder.pop(key)
        case 6 if isinstance(holder, dict):
            holder["novelty"] = copy.deepcopy(dice.choice(_VALUES))
        case _:
            holder[key] = _bent_text(inner, dice) if isinstance(inner, str) else copy.deepcopy(dice.choice(_VALUES))
    return value


def _bent_text(text: str, dice: random.Random) -> Any:
    at = dice.randrange(len(text) + 1)
    return dice.choice(
        (
            text[:at], text[:at] + "\x00\x07\u2028\u202e" + text[at:], text * 40, text.upper(), f" {text}\n", "",
            text + "\U0001f44b\u0301", text[::-1], json.dumps({"text": text}),
        )
    )  # fmt: skip


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in list(inner):
        yield value, key
        yield from _places(child)


def _deep(depth: int) -> Any:
    value: Any = "bottom"
    for number in range(depth):
        value = [value] if number % 2 else {"down": value}
    return value


def _written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**30, -(10**30), 2**63, 1e308, -0.0, "", " ", "text", "1785574800", "9" * 400,
    "2026-08-01T09:00:00Z", "9999-99-99T99:99:99Z", "\x00", "\ufeff", "data:image/png;base64,AAAA", "a" * 70_000, [],
    {},
    [[]], [None], [1, "two", {"three": 3}], {"type": "from_the_future"}, {"type": None}, {"type": {"type": "text"}},
    {"text": ["a", 1]}, {"": ""}, {"id": 7}, _deep(60), ["x"] * 200,
)  # fmt: skip
Bend = Callable[[bytes, random.Random, str], bytes]
_OF_LINES: Sequence[Bend] = (_records_moved, _record_changed, _record_changed, _record_changed, _bytes_changed)
_OF_A_DOCUMENT: Sequence[Bend] = (_document_changed, _document_changed, _document_changed, _bytes_changed)


# Files


def lay_out_bent(fixture: Fixture, root: Path, seed: int) -> None:
    """Write a fixture's files below a root, most of them bent; databases get bent cells and lost rows."""
    dice = random.Random(seed)
    for path in lay_out(fixture, root):
        raw = path.read_bytes()
        if raw.startswith(b"SQLite format 3\x00"):
            _bend_database(path, dice)
        elif dice.random() < 0.8:
            is_document = path.suffix in (".json", ".txt", ".md", ".yaml")
            container = "snapshot" if path.suffix == ".json" else "text" if is_document else "jsonl"
            for _ in range(dice.randrange(1, 4)):
                raw = dice.choice(_OF_A_DOCUMENT if is_document else _OF_LINES)(raw, dice, container)
            path.write_bytes(raw)


def _bend_database(path: Path, dice: random.Random) -> None:
    db = sqlite3.connect(path)
    try:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            quoted = '"' + table.replace('"', '""') + '"'
            names = [row[1] for row in db.execute(f"PRAGMA table_info({quoted})")]
            for rowid, *cells in db.execute(f"SELECT rowid, * FROM {quoted}").fetchall():
                if dice.random() < 0.4:
                    _bend_cell(db, quoted, rowid, dict(zip(names, cells, strict=True)), dice)
        db.commit()
    finally:
        db.close()


def _bend_cell(db: sqlite3.Connection, table: str, rowid: int, cells: dict[str, Any], dice: random.Random) -> None:
    name = dice.choice(sorted(cells))
    value: Any = cells[name]
    try:
        value = _written(changed_value(json.loads(value), dice)).decode("utf-8", "replace")
    except (TypeError, ValueError):
        value = dice.choice((None, b"\x00\xff", "", "not what it was", 2**62, -1.5, "\x00"))
    try:
        if dice.random() < 0.1:
            db.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))
        else:
            column = '"' + name.replace('"', '""') + '"'
            db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, rowid))
    except sqlite3.IntegrityError:
        return

# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Rows of diaries, and of sessions' tags."""

from __future__ import annotations

from typing import Any

import apsw
import msgspec

from recollect.model.learnings.notes import DiaryEntry
from recollect.store.notes import DiaryFilter, TagRow, diary_entry
from recollect.store.sqlite.entries.writer import put_entries

_decode = msgspec.json.Decoder(DiaryEntry).decode


def read_diary(db: apsw.Connection, where: DiaryFilter) -> list[DiaryEntry]:
    """Return entries of diaries, the newest first."""
    named = (
        ("agent = ?", where.agent),
        ("repo = ?", where.repo),
        ("batch = ?", where.batch),
        ("written_at >= ?", where.after),
        ("written_at < ?", where.before),
        ("EXISTS (SELECT 1 FROM json_each(diary.json, '$.sessions') AS said WHERE said.value = ?)", where.session),
    )
    clauses = [clause for clause, value in named if value not in ("", None)]
    values: list[Any] = [value for _clause, value in named if value not in ("", None)]
    if not where.is_history:
        clauses.append("retired_at IS NULL")
    rows: Any = db.execute(
        f"SELECT json FROM diary WHERE {' AND '.join(clauses) or 'TRUE'} ORDER BY written_at DESC, id LIMIT ?",
        (*values, -1 if where.limit is None else where.limit),
    ).fetchall()
    return [_decode(text) for (text,) in rows]


def named_diary(db: apsw.Connection, name: str) -> list[DiaryEntry]:
    """Return the entry of an id, else those whose id begins so."""
    rows: Any = db.execute(
        "SELECT json FROM diary WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT 20", (name,)
    ).fetchall()
    found = [_decode(text) for (text,) in rows]
    return [entry for entry in found if entry.id == name] or found


def put_diary(db: apsw.Connection, entry: DiaryEntry) -> None:
    """Keep an entry of a diary and what a search finds of it, inside the caller's transaction."""
    db.execute(
        "INSERT OR REPLACE INTO diary VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            entry.id, entry.agent, entry.repo, entry.written_at, entry.batch, entry.retired_at,
            msgspec.json.encode(entry).decode(),
        ),
    )  # fmt: skip
    put_entries(db, [diary_entry(entry)])


def read_tags(db: apsw.Connection, *, session_uid: str = "", name: str = "") -> list[TagRow]:
    """Return tags by name, the newest first."""
    rows: Any = db.execute(
        "SELECT name, session_uid, tagged_at FROM tag WHERE (?1 = '' OR session_uid = ?1) AND (?2 = '' OR name = ?2) "
        "ORDER BY name, tagged_at DESC, session_uid",
        (session_uid, name),
    ).fetchall()
    return [TagRow(*row) for row in rows]


def put_tag(db: apsw.Connection, session_uid: str, name: str, at: int) -> bool:
    """Keep a tag; return whether it is new."""
    return bool(db.execute("INSERT OR IGNORE INTO tag VALUES (?, ?, ?) RETURNING 1", (name, session_uid, at)).get)


def remove_tag(db: apsw.Connection, session_uid: str, name: str) -> bool:
    """Take a tag away; return whether it was there."""
    return bool(db.execute("DELETE FROM tag WHERE name = ? AND session_uid = ? RETURNING 1", (name, session_uid)).get)

"""The newest entries of agents' diaries, for a context: few rows by index."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import apsw
import msgspec

from recollect.errors import StoreCorrupt
from recollect.store.recent import Folder, RecentDiary
from recollect.store.sqlite.connection import REBUILD_HINT


class _Told(msgspec.Struct, frozen=True):
    """What of an entry stands in no column of its own, and is told."""

    text: str
    topic: str = ""
    decided: tuple[str, ...] = ()
    discovered: tuple[str, ...] = ()
    left_pending: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


@cache
def _told() -> Callable[[str], _Told]:
    """Return the decoder: making it takes longer than asking a store that has no diary."""
    return msgspec.json.Decoder(_Told).decode


def newest_diary(
    db: apsw.Connection, folder: Folder | None, is_elsewhere: Callable[[str], bool], *, agent: str, limit: int
) -> tuple[list[RecentDiary], int]:
    """Return the newest entries that are about a folder or about nothing in particular, oldest first, and how many.

    One that speaks of sessions counts unless all of them are known to have worked elsewhere. Raises StoreCorrupt.
    """
    names = ("", *folder.names) if folder is not None else ("",)
    found: list[RecentDiary] = []
    total = 0
    for repo in names:
        for name in (agent,) if agent else diary_agents(db, repo):
            rows: Any = db.execute(
                "SELECT id, agent, written_at, json FROM diary WHERE repo = ? AND agent = ? AND retired_at IS NULL "
                "ORDER BY written_at DESC, id DESC LIMIT ?",
                (repo, name, limit),
            )
            found += [entry for row in rows if (entry := _entry(row, is_elsewhere)) is not None]
            counted = "SELECT count(*) FROM diary WHERE repo = ? AND agent = ? AND retired_at IS NULL"
            total += int(db.execute(counted, (repo, name)).get)
    found.sort(key=lambda entry: (entry.written_at, entry.id))
    return found[-limit:], max(total, len(found))


def diary_agents(db: apsw.Connection, repo: str) -> list[str]:
    """Return the agents that wrote about a repository, or with "" about none."""
    rows: list[Any] = db.execute(
        "SELECT DISTINCT agent FROM diary WHERE repo = ? AND retired_at IS NULL ORDER BY agent", (repo,)
    ).fetchall()
    return [agent for (agent,) in rows]


def _entry(row: tuple[Any, ...], is_elsewhere: Callable[[str], bool]) -> RecentDiary | None:
    id_, agent, written_at, text = row
    try:
        told = _told()(text)
    except ValueError as error:
        raise StoreCorrupt(f"a stored entry of a diary is damaged: {error}", hint=REBUILD_HINT) from error
    uids = [uid.partition("#")[0] for uid in told.sessions]
    if uids and all(is_elsewhere(uid) for uid in uids):
        return None
    return RecentDiary(id_, agent, written_at, told.topic, told.text, told.decided, told.discovered, told.left_pending)

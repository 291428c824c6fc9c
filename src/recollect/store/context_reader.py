# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""The reader behind a context. Loads no archive, no writer and no event reader."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec

from recollect.errors import StoreCorrupt
from recollect.model.insights.nodes import Decision
from recollect.model.learnings.notes import DiaryEntry
from recollect.model.payloads import KINDS, Payload
from recollect.store.bodies import decode_entry, open_frame, payload_without_record
from recollect.store.connection import REBUILD_HINT, DatabaseHolder, query, store_errors
from recollect.store.context_rows import (
    Folder,
    FolderLearnings,
    RecentEvent,
    RecentSession,
    SessionsOfPlace,
    diary_agents,
    given_learnings,
    held_decisions,
    newest_diary,
)
from recollect.store.row_keys import (
    FAILED,
    HIDDEN,
    KIND_MASK,
    NOT_INDEXED,
    OWN,
    SEQ_BITS,
    SEQ_MASK,
    UNDONE,
    is_sidechain,
    kind_of_bits,
    span_of,
)
from recollect.store.session_rows import SessionFacts, decode_counts, decode_facts, is_below

_RESULT = KINDS.index("tool_result")


class RecentReader(DatabaseHolder):
    """Reads what a context is made of. One thread's; close it."""

    def __init__(self, home: Path) -> None:
        """Raises SchemaTooNew, StoreCorrupt, StoreLocked, StoreError. The home must have a database."""
        super().__init__(home)
        self._frames: dict[int, list[msgspec.Raw]] = {}
        self._numbers: dict[str, int] = {}
        self._here: dict[tuple[str, str], bool | None] = {}
        self._in_folder: dict[str, SessionsOfPlace] = {}
        self.looked_at: dict[str, bool] = {}
        """The folders of which it counted whether they are there, and whether they were."""

    def sessions_in(self, folder: Folder, *, except_uid: str, limit: int) -> tuple[list[RecentSession], int]:
        """Return the newest root sessions that worked in a folder, oldest first, and how many there are.

        Sessions of our own and those in which no person said anything are left out.
        """
        marks = ", ".join("?" * len(folder.names)) or "NULL"
        found: list[tuple[Any, ...]] = []
        # The facts are one packed value: where it has no such text at all, it need not be unpacked.
        rows: Any = self._db.execute(
            "SELECT number, uid, agent, repo, git_branch, started_at, ended_at, turn_count, kind_counts, facts "
            f"FROM session WHERE parent_uid = '' AND turn_count > 0 AND uid <> ? AND (repo IN ({marks}) "
            "OR instr(facts, ?) > 0) ORDER BY coalesce(started_at, ended_at, 0), number",
            (except_uid, *folder.names, os.fsencode(folder.path)),
        )
        for row in rows:
            facts = decode_facts(row[9])
            if not facts.is_internal and self._is_in(facts, row[3], folder):
                found.append((*row[:9], facts))
        newest = found[-limit:]
        self._numbers.update({row[1]: row[0] for row in newest})
        self._in_folder[folder.path] = SessionsOfPlace({row[0]: row[1] for row in found}, sum(row[7] for row in found))
        return [_session(row) for row in newest], len(found)

    def worked_in(self, folder: Folder) -> SessionsOfPlace:
        """Return all root sessions in a folder, but the present one where `sessions_in` was asked for the others."""
        if folder.path not in self._in_folder:
            self.sessions_in(folder, except_uid="", limit=1)
        return self._in_folder[folder.path]

    def sessions_of(self, repo: str) -> SessionsOfPlace:
        """Return all root sessions of a repository by its name; "": of all."""
        rows: Any = self._db.execute(
            "SELECT number, uid, turn_count FROM session "
            "WHERE parent_uid = '' AND turn_count > 0 AND (? = '' OR repo = ?)",
            (repo, repo),
        ).fetchall()
        return SessionsOfPlace({row[0]: row[1] for row in rows}, sum(row[2] for row in rows))

    def events(
        self, uid: str, kinds: Sequence[str], *, before: int | None = None, limit: int, is_own: bool = False
    ) -> list[RecentEvent]:
        """Return a session's newest events of some kinds before a seq, in order of seq.

        is_own False: but our own, that is, calls of the memory and what it answered; True: only those.
        """
        number = self._number(uid)
        if number is None:
            return []
        codes = ", ".join(str(KINDS.index(kind)) for kind in kinds)
        last = SEQ_MASK if before is None else before - 1
        rows: list[Any] = self._db.execute(
            "SELECT key, bits, ts, block, entry FROM event WHERE key BETWEEN ? AND ? "
            f"AND NOT bits & {HIDDEN | UNDONE} "
            f"AND bits & {OWN} = {OWN if is_own else 0} AND bits & {KIND_MASK} IN ({codes}) "
            "ORDER BY key DESC LIMIT ?",
            (number << SEQ_BITS, (number << SEQ_BITS) + last, limit),
        ).fetchall()
        return [self._event(*row) for row in reversed(rows)]

    def has_failures(self, uids: Sequence[str]) -> frozenset[str]:
        """Return which of some sessions hold a failed tool result."""
        found = set()
        for uid in uids:
            number = self._number(uid)
            if number is None:
                continue
            statement = (
                f"SELECT EXISTS (SELECT 1 FROM event WHERE key BETWEEN ? AND ? AND bits & {KIND_MASK} = {_RESULT} "
                f"AND bits & {FAILED} AND NOT bits & {NOT_INDEXED | UNDONE})"
            )
            if self._db.execute(statement, span_of(number)).get:
                found.add(uid)
        return frozenset(found)

    def decisions_in(self, folder: Folder, uids: Sequence[str] = ()) -> list[Decision]:
        """Return the decisions that hold in a folder, newest first; of very many the newest.

        uids: sessions known to have worked there, whatever they call their repository.
        """
        return held_decisions(self._db, folder, uids, lambda uid: bool(self._is_here(uid, folder)))

    def learnings_in(self, folder: Folder | None, *, now_us: int) -> FolderLearnings:
        """Return the learnings that hold in a folder, those of its person with them; None: those of the person alone.

        Pending actions are all of them. Of the rest everything of the 48 hours before the newest one, and of older ones
        the newest, see `store.context_rows`. In no order.
        """
        return given_learnings(self._db, folder, lambda uid: not self._is_elsewhere(uid, folder), now_us=now_us)

    def retired_evidence(self, uids: Sequence[str]) -> frozenset[str]:
        """Return the citations in some sessions of what patterns rest on that were retired or corrected."""
        found = self._db.execute(
            "SELECT e.session_uid || '#' || (e.json ->> 'seq') FROM learning_evidence e JOIN learning l ON "
            "l.id = e.learning WHERE e.session_uid IN (SELECT value FROM carray(?)) AND l.kind = 'pattern' "
            "AND l.state IN ('retired', 'superseded')",
            (apsw.carray(tuple(uids)),),
        )
        return frozenset(row[0] for row in found)

    def diary_in(self, folder: Folder | None, *, agent: str, limit: int) -> tuple[list[DiaryEntry], int]:
        """Return the newest entries of an agent's diary about a folder or nothing in particular, oldest first, and how
        many there are. agent "": of all agents."""
        return newest_diary(self._db, folder, lambda uid: self._is_elsewhere(uid, folder), agent=agent, limit=limit)

    def cited_text(self, citation: str) -> str:
        """Return a citation's target: an event's summary or the text of a learning or note; "" for nothing."""
        uid, _, seq = citation.rpartition("#")
        if not uid:
            from recollect.store.context_rows import named_text

            return named_text(self._db, citation)
        events = self.events(uid, KINDS, before=int(seq) + 1, limit=1) if seq.isdecimal() else []
        return events[0].summary if events and events[0].seq == int(seq) else ""

    def learning_note(self, name: str) -> bytes:
        """Return a small value that learning keeps for itself, b"" for none, see `store.learnings`."""
        found = self._db.execute("SELECT value FROM meta WHERE key = ?", (f"learn_{name}",)).get
        return str(found or "").encode()

    def agents_told_apart(self, folder: Folder, *, now_us: int) -> list[str]:
        """Return the agents that may be given something of their own in a folder."""
        wrote = {agent for repo in ("", *folder.names) for agent in diary_agents(self._db, repo)}
        return sorted((wrote | self.learnings_in(folder, now_us=now_us).agents) - {""})

    def uids_in(self, folder: Folder) -> list[str]:
        """Return all root sessions that `sessions_in` counts."""
        return [session.session_uid for session in self.sessions_in(folder, except_uid="", limit=SEQ_MASK)[0]]

    def newest_folders(self, *, limit: int) -> list[str]:
        """Return the folders in which the root sessions that ended last worked, newest first."""
        rows: Any = self._db.execute(
            "SELECT facts FROM session WHERE parent_uid = '' AND turn_count > 0 AND ended_at IS NOT NULL "
            "ORDER BY ended_at DESC LIMIT ?",
            (limit,),
        ).fetchall()
        facts = [decode_facts(row[0]) for row in rows]
        return list(dict.fromkeys(f.cwd_first or f.cwd or f.repo_root for f in facts if not f.is_internal))

    def may_concern(self, folder: Folder, uids: Collection[str], numbers: Collection[int]) -> bool:
        """Return whether one of some sessions is among uids, or could belong to a folder now."""
        for number in numbers:
            row: Any = query(self._db, "SELECT uid, repo, facts FROM session WHERE number = ?", (number,)).fetchone()
            if row is None or row[0] in uids or row[1] in folder.names:
                return True
            if is_below(_worked_in(decode_facts(row[2])), folder.path):
                return True
        return False

    def _is_elsewhere(self, uid: str, folder: Folder | None) -> bool:
        """Return whether a session is stored, and worked in another folder."""
        return folder is not None and self._is_here(uid, folder) is False

    def _is_here(self, uid: str, folder: Folder) -> bool | None:
        """Return whether a session worked in a folder; None where it is not stored."""
        key = (uid, folder.path)
        if key not in self._here:
            row: Any = self._db.execute("SELECT repo, facts FROM session WHERE uid = ?", (uid,)).fetchone()
            self._here[key] = None if row is None else self._is_in(decode_facts(row[1]), row[0], folder)
        return self._here[key]

    def _is_in(self, facts: SessionFacts, repo: str, folder: Folder) -> bool:
        """Return whether a session worked in a folder: there or below, or in a repository of that name that has
        moved since (or was on another machine). An existing repository of the same name elsewhere is another one.
        """
        worked_in = _worked_in(facts)
        if not worked_in:
            return repo in folder.names
        if is_below(worked_in, folder.path):
            return folder.is_repository or is_below(folder.path, worked_in)
        if not folder.is_repository or repo not in folder.names:
            return False
        is_there = self.looked_at[worked_in] = os.path.isdir(worked_in)
        return not is_there

    def _number(self, uid: str) -> int | None:
        if uid not in self._numbers:
            row: Any = self._db.execute("SELECT number FROM session WHERE uid = ?", (uid,)).fetchone()
            if row is None:
                return None
            self._numbers[uid] = row[0]
        return self._numbers[uid]

    def _event(self, key: int, bits: int, ts: int | None, block: int, entry: int) -> RecentEvent:
        place = (key >> SEQ_BITS << SEQ_BITS) + block
        return RecentEvent(
            key & SEQ_MASK,
            kind_of_bits(bits),
            ts,
            partial(self._load, place, entry),
            is_failed=bool(bits & FAILED),
            is_sidechain=is_sidechain(bits),
        )

    def _load(self, place: int, entry: int) -> tuple[Payload, str]:
        entries = self._frames.get(place)
        if entries is None:
            with store_errors():
                data = self._db.execute("SELECT data FROM block WHERE key = ?", (place,)).get
            entries = self._frames[place] = open_frame(data) if data else []
        if entry >= len(entries):
            raise StoreCorrupt("the body of a stored event is missing", hint=REBUILD_HINT)
        stored = decode_entry(entries[entry])
        return payload_without_record(stored.body), stored.summary


def _worked_in(facts: SessionFacts) -> str:
    return facts.repo_root or facts.cwd_first or facts.cwd


def _session(row: tuple[Any, ...]) -> RecentSession:
    _number, uid, agent, _repo, branch, started, ended, turns, kinds, facts = row
    title = facts.title or facts.first_human
    return RecentSession(uid, agent, title, branch, started, ended, turns, decode_counts(kinds))

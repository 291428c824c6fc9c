# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Writes session rows: finds or creates them, merges patches, maintains roots and search exclusion.

A bulk import keeps sessions with too few messages out of the index. They are archived and stored as all others are; a
search does not find what was said in them. One that grows past the least number of messages is indexed whole, whoever
takes the rest in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw
import msgspec

from recollect.errors import BrokenInvariant
from recollect.model.ids import session_uid
from recollect.model.own import INTERNAL_ORIGINATOR
from recollect.model.payloads import KINDS
from recollect.model.sessions import SessionBasics, SessionPatch, named_after, repo_name
from recollect.model.time import month_of
from recollect.paths import DATABASE_NAME
from recollect.store.connection import of_db, open_to_read
from recollect.store.row_keys import SEQ_BITS, pack_text, span_of
from recollect.store.rows import SessionPart
from recollect.store.sources import log_changes


class SessionFacts(SessionBasics, omit_defaults=True):
    """What of a session no question filters on, stored as one value."""

    is_internal: bool = False
    """A program of ours ran it: kept and shown, never remembered."""

    def take(self, patch: SessionPatch) -> None:
        """Merge a patch: the newest title, cwd and commit, the first of everything else."""
        self.began(patch)
        self.title = patch.title or self.title
        self.first_human = named_after(self.first_human, patch.first_human)
        self.cwd_first = self.cwd_first or patch.cwd_first or patch.cwd
        for model in patch.models:
            self.saw_model(model)


class FolderFacts(msgspec.Struct):
    """Of the facts of a session only where it worked."""

    cwd: str = ""
    cwd_first: str = ""
    repo_root: str = ""
    git_remote: str = ""


encode_facts = msgspec.msgpack.Encoder().encode
decode_facts = msgspec.msgpack.Decoder(SessionFacts).decode
decode_folders = msgspec.msgpack.Decoder(FolderFacts).decode
decode_counts = msgspec.json.Decoder(dict[str, int]).decode


def encode_counts(counts: dict[str, int]) -> str:
    """Return counts per kind as stored."""
    return msgspec.json.encode(counts).decode()


def repo_of(facts: SessionFacts) -> str:
    """Return the name of the repository that a session worked in, see `model.sessions.repo_name`."""
    return repo_name(facts.repo_root, facts.git_remote, facts.cwd_first or facts.cwd)


def domain_of(repo: str, domains: Mapping[str, str]) -> str:
    """Return the domain that the configuration gives a repository, "" where it gives none."""
    return domains.get(repo) or domains.get(repo.lower(), "")


def is_internal(facts: SessionFacts, patch: SessionPatch, own_folders: Sequence[str]) -> bool:
    """Return whether a session is our own: started by our program, or in the memory's own folder."""
    if facts.is_internal or INTERNAL_ORIGINATOR in (facts.originator, patch.originator):
        return True
    cwd = facts.cwd_first or patch.cwd_first or patch.cwd
    return bool(cwd) and any(is_below(cwd, folder) for folder in own_folders)


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is a folder or is inside it. On Windows neither slashes nor case matter."""
    path, folder = _comparable(path), _comparable(folder)
    return path == folder or path.startswith(folder + "/")


def _comparable(path: str) -> str:
    is_windows = path[1:2] == ":" or path.startswith("\\\\")
    return (path.replace("\\", "/").casefold() if is_windows else path).rstrip("/")


UNDATED = "undated"
_COLUMNS = (
    "number, shard, next_seq, next_block, root_uid, parent_uid, git_branch, started_at, ended_at, event_count, "
    "turn_count, kind_counts, facts"
)


class SessionRow(msgspec.Struct):
    """A session while a slice is written to it."""

    number: int
    uid: str
    agent: str
    shard: str
    next_seq: int
    next_block: int
    root_uid: str
    parent_uid: str
    git_branch: str
    started_at: int | None
    ended_at: int | None
    event_count: int
    turn_count: int
    kind_counts: dict[str, int]
    facts: SessionFacts
    is_new: bool

    def count(self, kind: int, by: int) -> None:
        """Count a visible event more or less."""
        name = KINDS[kind]
        self.event_count += by
        left = self.kind_counts.get(name, 0) + by
        if left > 0:
            self.kind_counts[name] = left
        else:
            self.kind_counts.pop(name, None)


def load_session(db: apsw.Connection, agent: str, part: SessionPart, observed_at: int) -> SessionRow:
    """Return the row of a part's session, made where it is new.

    Its shard is the UTC month of its first event with a time at first sight, and never changes.
    """
    uid = session_uid(agent, part.native_id)
    found: Any = db.execute(f"SELECT {_COLUMNS} FROM session WHERE uid = ?", (uid,)).fetchone()
    if found is not None:
        number, shard, *middle, counts, facts = found
        if middle[0] + len(part.events) >= 1 << SEQ_BITS:
            raise BrokenInvariant(f"a session has fewer than {1 << SEQ_BITS} events ({uid})")
        return SessionRow(*(number, uid, agent, shard, *middle, decode_counts(counts), decode_facts(facts), False))
    first = next((event.ts for event in part.events if event.ts is not None), part.patch.started_at)
    shard = month_of(first) if first is not None else UNDATED
    db.execute(
        "INSERT INTO session (uid, agent, native_id, shard, root_uid, facts, discovered_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (uid, agent, pack_text(part.native_id), shard, uid, encode_facts(SessionFacts()), observed_at),
    )
    row = SessionRow(
        db.last_insert_rowid(), uid, agent, shard, 0, 0, uid, "", "", None, None, 0, 0, {}, SessionFacts(), is_new=True
    )
    _place_in_tree(db, row)
    return row


def save_session(
    db: apsw.Connection, row: SessionRow, part: SessionPart, *, domains: Mapping[str, str], observed_at: int
) -> None:
    """Merge a part's patch into its session and store the row."""
    patch = part.patch
    row.facts.take(patch)
    row.git_branch = patch.git_branch or row.git_branch
    if patch.started_at is not None and (row.started_at is None or patch.started_at < row.started_at):
        row.started_at = patch.started_at
    if patch.ended_at is not None and (row.ended_at is None or patch.ended_at > row.ended_at):
        row.ended_at = patch.ended_at
    parent = session_uid(row.agent, row.facts.parent_session) if row.facts.parent_session else ""
    if parent not in (row.parent_uid, row.uid):
        row.parent_uid = parent
        db.execute("UPDATE session SET parent_uid = ? WHERE number = ?", (parent, row.number))
        _place_in_tree(db, row)
    repo = repo_of(row.facts)
    db.execute(
        f"{_SAVE_COUNTS}, repo = ?, domain = ?, git_branch = ?, started_at = ?, ended_at = ?, facts = ?, "
        "ingested_at = ? WHERE number = ?",
        (*_counts_of(row), repo, domain_of(repo, domains), row.git_branch, row.started_at, row.ended_at,
         encode_facts(row.facts), observed_at, row.number),
    )  # fmt: skip


def save_counts(db: apsw.Connection, row: SessionRow) -> None:
    """Store what a repeated slice or a hidden event can change: counts and numbers only."""
    db.execute(f"{_SAVE_COUNTS} WHERE number = ?", (*_counts_of(row), row.number))


_SAVE_COUNTS = "UPDATE session SET next_seq = ?, next_block = ?, event_count = ?, turn_count = ?, kind_counts = ?"


def _counts_of(row: SessionRow) -> tuple[object, ...]:
    return row.next_seq, row.next_block, row.event_count, row.turn_count, encode_counts(row.kind_counts)


def _place_in_tree(db: apsw.Connection, row: SessionRow) -> None:
    """Set the root of a session and of all below it.

    `root_uid` is the topmost uid that the parent links lead to, stored or not, so that children group before their
    parent arrives. Links in a circle have the least uid of the circle as root.
    """
    way = [row.uid]
    parent = row.parent_uid
    while parent and parent not in way:
        way.append(parent)
        found = db.execute("SELECT parent_uid FROM session WHERE uid = ?", (parent,)).fetchone()
        parent = found[0] if found else ""
    row.root_uid = min(way[way.index(parent) :]) if parent else way[-1]
    db.execute("UPDATE session SET root_uid = ? WHERE root_uid = ? OR number = ?", (row.root_uid, row.uid, row.number))


Standing = Literal["indexed", "short", "grown"]


class ShortSession(NamedTuple):
    """A session that is not in the index. messages: what people and the model said in it; least: how many it takes."""

    session_uid: str
    agent: str
    messages: int
    least: int


def message_count(turn_count: int, kind_counts: dict[str, int]) -> int:
    """Return how many messages people and the model wrote. What a program put in as the user's is none."""
    return turn_count + kind_counts.get("assistant_message", 0)


def _all(db: apsw.Connection) -> list[ShortSession]:
    if not db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'unindexed'").get:
        return []  # of before there was such a thing
    rows: Iterable[Any] = db.execute(
        "SELECT uid, agent, messages, least FROM unindexed JOIN session ON number = session ORDER BY uid"
    )
    return [ShortSession(*row) for row in rows]


class ShortSessions:
    """Keeps the table of them, inside the writer's transactions.

    `least_of` is what an import asks of the sessions that it sees first, by their agent; 0: all are indexed. Sessions
    of subagents are never short: they are a part of the one that began them.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self.least_of: Callable[[str], int] = lambda _agent: 0

    def settle(self, session: SessionRow, *, is_subagent: bool) -> Standing:
        """Return whether a slice's part of a session is to be indexed.

        grown: it was short until now, and its earlier events are missing in the index too.
        """
        if session.is_new:
            known, least = False, 0 if is_subagent else self.least_of(session.agent)
        else:
            row: Any = self._db.execute("SELECT least FROM unindexed WHERE session = ?", (session.number,)).get
            known, least = row is not None, row or 0
        if not known and not least:
            return "indexed"
        messages = message_count(session.turn_count, session.kind_counts)
        if messages < least and not is_subagent:
            self._db.execute("INSERT OR REPLACE INTO unindexed VALUES (?, ?, ?)", (session.number, messages, least))
            return "short"
        if known:
            self._db.execute("DELETE FROM unindexed WHERE session = ?", (session.number,))
        return "grown" if known else "indexed"

    def lift(self, uids: Iterable[str]) -> int:
        """Index sessions whatever their length; return how many that changes. The change log informs the index."""
        lifted = 0
        for uid in uids:
            found: Any = self._db.execute(
                "SELECT number, next_seq FROM session JOIN unindexed ON session = number WHERE uid = ?", (uid,)
            ).fetchone()
            if found is not None:
                self._db.execute("DELETE FROM unindexed WHERE session = ?", (found[0],))
                log_changes(self._db, found[0], [(0, found[1] - 1)])
                lifted += 1
        return lifted

    def ask_less(self, uid: str, least: int) -> None:
        """From now on a session is indexed from so many messages on, where more were asked of it before."""
        number = self._db.execute("SELECT number FROM session WHERE uid = ?", (uid,)).get
        self._db.execute("UPDATE unindexed SET least = ?1 WHERE least > ?1 AND session = ?2", (least, number))

    all = of_db(_all)

    def carry(self, kept: Iterable[ShortSession]) -> list[int]:
        """Keep sessions out of an index that was made without them, after a rebuild; return their keys.

        Those that are long enough by now, or do not exist, stay as they are.
        """
        keys: list[int] = []
        for one in kept:
            found: Any = self._db.execute(
                "SELECT number, turn_count, kind_counts FROM session WHERE uid = ?", (one.session_uid,)
            ).fetchone()
            if found is None:
                continue
            number = found[0]
            messages = message_count(found[1], decode_counts(found[2]))
            if messages < one.least:
                self._db.execute("INSERT OR REPLACE INTO unindexed VALUES (?, ?, ?)", (number, messages, one.least))
                span = span_of(number)
                keys += [key for (key,) in self._db.execute("SELECT key FROM event WHERE key BETWEEN ? AND ?", span)]
        return keys


def short_sessions_of(home: Path) -> list[ShortSession]:
    """Return the uids of a home's sessions that are not indexed. Raises StoreError and its subclasses."""
    if not (home / DATABASE_NAME).exists():
        return []
    with open_to_read(home) as db:
        return _all(db)

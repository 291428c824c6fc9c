"""Validates and names diary entries."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from recollect.errors import UnknownName, UsageError
from recollect.model.learnings.notes import DiaryEntry
from recollect.store.notes import NoteReader

MAX_CHARS = 50_000
"""Of an entry's text; more is a document."""
MAX_LINE_CHARS = 2_000
MAX_LINES = 50
MAX_SESSIONS = 20
MAX_AGENT_CHARS = 60


class NewEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a diary as somebody writes it. Texts are redacted by who keeps it."""

    agent: str
    text: str
    repo: str = ""
    topic: str = ""
    decided: tuple[str, ...] = ()
    discovered: tuple[str, ...] = ()
    left_pending: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


def checked_entry(new: NewEntry) -> NewEntry:
    """Return an entry with its texts tidied. Raises UsageError for one that is empty, too long or nobody's."""
    agent = diary_agent(new.agent)
    if not agent or len(agent) > MAX_AGENT_CHARS:
        raise UsageError("a diary belongs to an agent: name it", hint="--agent NAME: an agent's, or your own")
    lists = {name: _lines(getattr(new, name), name) for name in ("decided", "discovered", "left_pending")}
    text, topic = new.text.strip(), " ".join(new.topic.split())
    if not text and not any(lists.values()):
        raise UsageError("a diary entry needs text")
    if len(text) > MAX_CHARS or len(topic) > MAX_LINE_CHARS:
        raise UsageError(f"a diary entry has at most {MAX_CHARS:,} characters, its topic {MAX_LINE_CHARS:,}")
    if len(new.sessions) > MAX_SESSIONS:
        raise UsageError(f"a diary entry names at most {MAX_SESSIONS} sessions")
    return msgspec.structs.replace(
        new, agent=agent, text=text, topic=topic, sessions=tuple(dict.fromkeys(new.sessions)), **lists
    )


def diary_agent(name: str) -> str:
    """Return whose diary a name means: lower case, words joined by `-`."""
    return "-".join(name.casefold().replace("_", " ").split())


def entry_id(new: NewEntry, written_at: int) -> str:
    """Return `d` and 20 hex digits: a hash of what an entry says, whose it is, and when it was written.

    The same entry written again at the same instant is the same.
    """
    name = blake2b(digest_size=10, person=b"recollect.diary")
    name.update(msgspec.json.encode((new, written_at), order="deterministic"))
    return f"d{name.hexdigest()}"


def made_entry(new: NewEntry, *, written_at: int, batch: str = "") -> DiaryEntry:
    """Return the entry to keep, of a checked and redacted one."""
    return DiaryEntry(
        id=entry_id(new, written_at),
        agent=new.agent,
        text=new.text,
        written_at=written_at,
        repo=new.repo,
        topic=new.topic,
        decided=new.decided,
        discovered=new.discovered,
        left_pending=new.left_pending,
        sessions=new.sessions,
        batch=batch,
    )


def find_entry(notes: NoteReader, name: str) -> DiaryEntry:
    """Return the entry of an id or a unique prefix. Raises UnknownName."""
    wanted = name.strip().removeprefix("diary:").partition("#")[0]
    found = notes.named_diary(wanted) if wanted else []
    if len(found) != 1:
        nearest = tuple(entry.id for entry in found[:3])
        raise UnknownName("diary entry", name, nearest=nearest, hint="`recollect diary read` lists them")
    return found[0]


def _lines(lines: tuple[str, ...], name: str) -> tuple[str, ...]:
    kept = tuple(" ".join(line.split()) for line in lines if line.strip())
    if len(kept) > MAX_LINES or any(len(line) > MAX_LINE_CHARS for line in kept):
        raise UsageError(
            f"{name.replace('_', ' ')}: at most {MAX_LINES} lines of at most {MAX_LINE_CHARS:,} characters each"
        )
    return kept

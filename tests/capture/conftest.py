"""An invented agent that writes in every way there is, its folder, and a memory that reads it.

So a test of a container is about nothing else. What the agent writes says what it means: `{"id": "n1", "say": "..."}`
is a person's, `answer` the model's, `compacted` shortens history; everything else is unknown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from recollect.agents.kit.adapter import first_line_name
from recollect.agents.registry import adapters
from recollect.config import AgentConfig, Config, IngestConfig
from recollect.ingest.report import AgentSync
from recollect.ingest.worker import pool
from recollect.memory import Memory, SyncReport
from recollect.model.capabilities import AgentFacts, Capabilities, Member, Place, Root, Table
from recollect.model.events import Draft, Event
from recollect.model.payloads import AssistantMessage, Compaction, Payload, Rewind, Unknown, UserMessage
from recollect.model.records import Parsed, Record, SourceInfo
from recollect.model.text import flatten

SLUG = "notebook"
NOTES = Table(
    name="note", document="book", order=("at", "id"), exclude=("token",), json=("body",), zstd_json=("packed",)
)
PARTS = Table(name="part", document="book", order=("at", "note", "id"), json=("body",))
KEYS = Table(
    name="kv", order=("key",), json=("value",), keys=("title", "chat:*"), exclude=("owner",), document_in_key=False
)
STAMPED = Table(name="note", document="book", order=("at", "id"), json=("body",), stamp="changed")
FACTS = AgentFacts(
    slug="notebook",
    name="Notebook",
    aliases=("note-book",),
    roots=(Root("NOTEBOOK_HOME", ".notebook"),),
    places=(
        Place(role="rows", container="sqlite", patterns=("book.db",), tables=(NOTES, PARTS)),
        Place(role="keys", container="sqlite", patterns=("keys.db",), tables=(KEYS,)),
        Place(role="stamped", container="sqlite", patterns=("stamped.db",), tables=(STAMPED,)),
        Place(
            role="folder",
            container="directory",
            patterns=(),
            members=(
                Member(table="book", pattern="store/book/{shelf}/{document}.json"),
                Member(table="note", pattern="store/note/{document}/{note}.json"),
                Member(table="part", pattern="store/part/{note}/{part}.json"),
            ),
        ),
        Place(role="page", container="snapshot", patterns=("pages/*.json",), split=("notes", "more.notes")),
        Place(role="told", container="snapshot", patterns=("told/*.json",), split=("notes",), tells_rewinds=True),
        Place(role="log", container="patchlog", patterns=("logs/*.jsonl",)),
        Place(role="lines", container="jsonl", patterns=("lines/*.jsonl",)),
        Place(role="packed", container="jsonl", patterns=("lines/*.jsonl.zst",), is_compressed=True),
        Place(role="text", container="text", patterns=("texts/*.txt",)),
        Place(role="export", container="export", patterns=("export.json",), document_keys=("conversation_id", "id")),
    ),
    capabilities=Capabilities(
        container="sqlite",
        rewrites_history=True,
        timestamps="no",
        usage="no",
        usage_authority="none",
        thinking="no",
        edits="no",
        lineage="no",
        session_end="no",
        kinds=("user_message", "assistant_message", "compaction", "unknown"),
        notes="invented",
        verified_version="1",
        verified_on="2026-11-21",
        evidence="none",
    ),
    parser_version=1,
)


class Nothing(msgspec.Struct, frozen=True):
    """The state: there is none."""


class NotebookAdapter:
    """Reads the invented agent's files."""

    facts = FACTS
    state_type = Nothing

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a line of notes says so."""
        del path
        return "lines" if head.startswith(b'{"notebook":') else None

    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`."""
        return info.place

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`."""
        return info.document or info.stem or first_line_name(head)

    def begin(self, info: SourceInfo) -> Nothing:
        """See `Adapter.begin`."""
        del info
        return Nothing()

    def parse(self, record: Record, state: Nothing) -> Parsed[Nothing]:
        """See `Adapter.parse`."""
        values = [change.value for change in record.changed] if record.changed else [record.value]
        return Parsed(state, tuple(draft for value in values for draft in _drafts(record, value)))


def _drafts(record: Record, value: Any) -> list[Draft]:
    found = [item for item in _dicts(value) if "say" in item or "answer" in item or "compacted" in item]
    if not found:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return [Draft(Unknown(type=record.at, text=text.encode("utf-8", "replace").decode()))]
    return [_draft(item) for item in found]


def _draft(item: dict[str, Any]) -> Draft:
    payload: Payload = UserMessage(text=str(item.get("say")))
    if "answer" in item:
        payload = AssistantMessage(text=str(item["answer"]))
    elif "compacted" in item:
        payload = Compaction(summary=str(item["compacted"]))
    name = str(item["id"]) if "id" in item else None
    return Draft(payload, role="assistant" if "answer" in item else "user", native_id=name)


def _dicts(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a value that say something themselves, in order."""
    if isinstance(value, list):
        return [item for inner in value for item in _dicts(inner)]
    if not isinstance(value, dict):
        return []
    inner = [item for child in value.values() for item in _dicts(child)]
    return [value, *inner]


class Desk(NamedTuple):
    """A memory that knows the invented agent only by its folder `root`."""

    root: Path
    memory: Memory

    def put(self, name: str, content: bytes | str | Any) -> Path:
        """Write a file below the root: bytes, text, or a value as JSON."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    def sync(self) -> AgentSync:
        """Take in what is new."""
        return self.report().agents[SLUG]

    def report(self) -> SyncReport:
        """Take in what is new; return the whole report."""
        return self.memory.sync(agents=[SLUG])

    def events(self, session: str) -> list[Event]:
        """Return the events of a session by its native id."""
        return list(self.memory.events(f"{SLUG}:{session}"))

    def said(self, session: str) -> list[str]:
        """Return what a person said in a session, in order."""
        return [e.payload.text for e in self.events(session) if isinstance(e.payload, UserMessage)]

    def dropped(self, session: str) -> list[int | None]:
        """Return how many turns each rewind of a session left behind."""
        return [e.payload.turns_dropped for e in self.events(session) if isinstance(e.payload, Rewind)]

    def kept(self) -> str:
        """Return every text and name in every event."""
        sessions = self.memory.sessions(limit=1000, sync=False).sessions
        events = [event for session in sessions for event in self.memory.events(session.session_uid)]
        return "\n".join(flatten(msgspec.to_builtins(event.payload)) for event in events)

    def raw(self, session: str, revision: int | None = None) -> bytes:
        """Return the exact bytes of a revision of a session."""
        return b"".join(self.memory.maintenance.export_bytes(f"{SLUG}:{session}", revision=revision, format="raw"))

    def is_whole(self) -> bool:
        """Tell whether everything stored is as it was read."""
        return not any(d.is_loss for d in self.memory.maintenance.verify().defects)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    yield from _desk(tmp_path, monkeypatch, IngestConfig())


@pytest.fixture
def small_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A memory that reads in slices of 64 KiB."""
    yield from _desk(tmp_path, monkeypatch, IngestConfig(slice_bytes=64 * 1024))


def _desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ingest: IngestConfig) -> Iterator[Desk]:
    monkeypatch.setitem(adapters(), SLUG, NotebookAdapter())
    monkeypatch.setattr(pool, "SMALL_BYTES", 1 << 40)  # worker processes don't know the invented agent
    root = tmp_path / "agent"
    root.mkdir()
    config = Config(agents={SLUG: AgentConfig(variables={"NOTEBOOK_HOME": str(root)})}, ingest=ingest)
    with Memory.open(tmp_path / "home", config=config, env={"HOME": str(tmp_path / "nobody")}) as memory:
        yield Desk(root, memory)

"""What agents wrote, the memory of it, and what must hold of that memory whatever went wrong."""

from __future__ import annotations

import os
import random
import shutil
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from recollect.config import Config
from recollect.files import DRAFT_SUFFIX
from recollect.maintenance.export import raw_bytes, raw_files
from recollect.memory import DiaryQuestion, FactQuestion, Memory
from recollect.store.insights import NodeFilter
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from tests.examples import IS_THOROUGH

QUESTIONS = ("question", '"answer 3 2"', "reply -words", "prompt", "decided")
SETTINGS = f"""[ingest]
slice_bytes = 65536

[embedding]
in_background = false
contextual = {str(IS_THOROUGH).lower()}
"""


class World(NamedTuple):
    """Two agents' folders below `root`, growing the same in every run of a seed."""

    root: Path
    claude: list[ClaudeTranscript]
    codex: list[CodexRollout]

    @property
    def env(self) -> dict[str, str]:
        """What makes a memory read these agents alone."""
        root = self.root
        return {"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex")}

    def transcripts(self) -> dict[str, Path]:
        """Every transcript by the uid of its session."""
        return {one.uid: one.path for one in (*self.claude, *self.codex)}

    def grow(self, round_: int) -> None:
        """Let every agent write some more; a Claude Code session may be caught in the middle of a line."""
        chance = random.Random(round_)
        for i, one in enumerate(self.claude):
            if one.path.exists() and not one.path.read_bytes().endswith(b"\n"):
                one.raw(b' the rest of it"},"isSidechain":false}\n')
            one.user(f"question {i} {round_} of round{round_}")
            one.tool("Bash", {"command": f"make {round_}"}, f"output {i} {round_} " + "words and more " * 150)
            one.assistant(f"answer {i} {round_}: we decided to use the cache{chance.randrange(100)} for that")
            one.user(f"Remember: the notes of part {i % 2} are kept in docs/part{i % 2}.md")
            one.user(f"No, use pnpm{round_ % 2} instead of npm for part {i}.")
            one.assistant(f"Noted for part {i}.")
        for i, two in enumerate(self.codex):
            two.turn(f"prompt {i} {round_}", f"reply {i} {round_} " + "text " * 100)

    def begin_a_line(self) -> None:
        """Leave the first session with a line that is not finished yet, as a reader sees it while an agent writes."""
        first = self.claude[0]
        head = f'{{"type":"user","uuid":"half-{first.path.stat().st_size}","sessionId":"{first.session}",'
        first.raw(head.encode() + b'"timestamp":"2026-08-02T10:00:00.000Z","message":{"role":"user","content":"half of')


def make_world(root: Path, *, sessions: int = 4, rounds: int = 4) -> World:
    """Write a small history: sessions of two agents, one of them several slices long."""
    claude = [ClaudeTranscript(root / "claude", f"s{i}", cwd=f"/w/p{i % 2}") for i in range(sessions)]
    long = ClaudeTranscript(root / "claude", "long")
    for j in range(8):  # a few long texts: each is a record, and of each only so much is embedded
        long.user(f"long {j} " + f"{j * 7919 % 1000} words " * 1_600)
    world = World(root, [*claude, long], [CodexRollout(root / "codex", f"c{i}") for i in range(2)])
    for round_ in range(rounds):
        world.grow(round_)
    return world


def prepare_home(home: Path) -> Path:
    """Make an empty home with settings that give many small steps."""
    home.mkdir(parents=True, mode=0o700)
    (home / "config.toml").write_text(SETTINGS)
    return home


def copy_home(template: Path, home: Path) -> Path:
    """Make `home` what `template` is."""
    shutil.rmtree(home, ignore_errors=True)
    return Path(shutil.copytree(template, home))


def opened(home: Path, env: dict[str, str]) -> Memory:
    """Open a home as a process of its own would."""
    return Memory.open(home, env={**env, "RECOLLECT_HOME": str(home)})


def state(memory: Memory) -> dict[str, Any]:
    """Everything a user can see, without what depends on when it was seen."""
    sessions = memory.sessions(limit=1000, sync=False).sessions
    uids = sorted(s.session_uid for s in sessions)
    return {
        "events": {u: events_of(memory, u) for u in uids},
        "rows": {s.session_uid: (s.title, s.event_count, s.repo, s.kind_counts, s.outcome) for s in sessions},
        "raw": {u: lines_of(memory, u) for u in uids},
        "usage": memory.usage.report(by="total").total,
        "found": {q: found(memory, q) for q in QUESTIONS},
        "digests": {u: digest_of(memory, u) for u in uids},
        "nodes": sorted(nodes_of(memory), key=lambda node: node.id),
        **learned(memory),
        **written(memory),
    }  # fmt: skip


def written(memory: Memory) -> dict[str, Any]:
    """Everything else that a person said of the memory, without when."""
    retention = memory.maintenance.retention
    revealed = [entry.value for entry in memory.maintenance.reveal.log() if entry.value.get("as") != "export"]
    return {
        "tags": sorted((tag.name, tag.session_uid) for tag in memory.notes.tags()),
        "pins": sorted(pin.session_uid for pin in retention.pins()),
        "retired": sorted(batch.id for batch in memory.notes.batches.list() if batch.undone_at is not None),
        "revealed": sorted({str(value["session_uid"]) for value in revealed}),
    }


def learned(memory: Memory) -> dict[str, Any]:
    """Everything that was learned, written down and taken of documents, without when and in which run."""
    return {
        "learnings": sorted(
            (one.id, one.kind, one.state, one.text, sorted((e.session_uid, e.event_id, e.part) for e in one.evidence))
            for one in memory.learn.learnings()
        ),
        "facts": sorted((f.subject, f.predicate, f.object) for f in memory.notes.facts.find(FactQuestion()).facts),
        # A command that was killed after its entry was written may write it again when it is repeated.
        "diary": sorted(
            {(e.agent, e.repo, e.text) for e in memory.notes.diary.read(DiaryQuestion(), limit=1000).entries}
        ),
        "documents": sorted(
            (file.path, file.parts) for one in memory.documents.list() for file in memory.documents.show(one.name).files
        ),
        "found learnings": found(memory, "kind:learning npm"),
        "found documents": found(memory, "kind:document handbook"),
    }


def lines_of(memory: Memory, uid: str) -> list[bytes]:
    """Return every archived line of a session, of whatever files: drops of hooks that two syncs took are two files."""
    session = memory.session(uid)
    with memory.archive() as archive:
        files = raw_files(memory.reader(), session)
        contents = [b"".join(raw_bytes(memory.reader(), archive, file)) for file in files]
    return sorted(line for content in contents for line in content.splitlines(keepends=True))


def events_of(memory: Memory, uid: str) -> list[tuple[Any, ...]]:
    """Return what a user sees of a session's events."""
    return [(e.seq, e.event_id, e.part, e.kind, e.summary, e.turn_index) for e in memory.events(uid)]


def found(memory: Memory, query: str) -> list[tuple[str, int, str]]:
    """Return what a search finds, in an order of its own: ranking depends on how the index was cut into segments."""
    hits = memory.search(query, limit=1000, sync=False).hits
    return sorted((h.session_uid, h.seq, h.event_id) for h in hits)


def digest_of(memory: Memory, uid: str) -> Any:
    """Return a session's digest as it is stored, None if it has none yet."""
    return memory.distilled().digest(uid)


def nodes_of(memory: Memory) -> list[Any]:
    """Return every node that stands."""
    return [item.node for item in memory.distilled().nodes(NodeFilter())]


class Seen(NamedTuple):
    """What a memory held at one moment: events and raw bytes by session."""

    events: dict[str, list[tuple[int, str, int]]]
    raw: dict[str, int]


NOTHING = Seen({}, {})


def assert_whole(home: Path, world: World, before: Seen = NOTHING) -> Seen:
    """Look at a home just after something went wrong, with nothing repaired yet; return what it holds.

    The database is sound, everything stored can be given back and is what the agent wrote, nothing that was there
    before is missing, and every question is answered.
    """
    if not (home / "memory.db").exists():
        assert before == NOTHING
        return NOTHING
    assert_database_is_sound(home)
    with opened(home, world.env) as memory:
        report = memory.maintenance.verify()
        assert report.ok, report.defects[:3]
        sessions = memory.sessions(limit=1000, sync=False).sessions
        paths = world.transcripts()
        raw: dict[str, int] = {}
        events: dict[str, list[tuple[int, str, int]]] = {}
        for session in sessions:
            uid = session.session_uid
            given = b"".join(memory.maintenance.export_bytes(uid, format="raw"))
            if uid in paths:  # hooks tell of sessions that have no transcript
                assert paths[uid].read_bytes().startswith(given), f"{uid}: not what the agent wrote"
            raw[uid] = len(given)
            events[uid] = [(e.seq, e.event_id, e.part) for e in memory.events(uid)]
            assert len({(i, p) for _, i, p in events[uid]}) == len(events[uid]), f"{uid}: doubled events"
        for question in QUESTIONS:
            memory.search(question, sync=False)
    for uid, known in before.events.items():
        assert events.get(uid, [])[: len(known)] == known, f"{uid}: events that were there are gone"
        assert raw[uid] >= before.raw[uid], f"{uid}: bytes that were there are gone"
    return Seen(events, raw)


def assert_sound(home: Path, world: World, _before: Seen = NOTHING) -> Seen:
    """As `assert_whole`, where things are taken away on purpose: whatever is left is whole and can be asked."""
    assert_database_is_sound(home)
    with opened(home, world.env) as memory:
        report = memory.maintenance.verify()
        assert report.ok, report.defects[:3]
        for session in memory.sessions(limit=1000, sync=False).sessions:
            events = [(e.event_id, e.part) for e in memory.events(session.session_uid)]
            assert len(set(events)) == len(events), f"{session.session_uid}: doubled events"
        for question in QUESTIONS:
            memory.search(question, sync=False)
    return NOTHING


def assert_database_is_sound(home: Path) -> None:
    """Ask SQLite itself."""
    connection = apsw.Connection(str(home / "memory.db"))
    try:
        connection.set_busy_timeout(5000)
        assert connection.execute("PRAGMA integrity_check").get == "ok"
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    finally:
        connection.close()


def assert_same(home: Path, world: World, expected: dict[str, Any]) -> None:
    """A home that was brought to its end is as one where nothing ever went wrong, and nothing is left lying about."""
    with opened(home, world.env) as memory:
        report = memory.maintenance.verify()
        assert report.ok, report.defects[:3]
        got = state(memory)
        for part, value in expected.items():
            assert got[part] == value, (part, difference(got[part], value))
        again = memory.sync()
        assert (again.events, again.state) == (0, "done"), again.notes
    left = leftovers(home)
    assert left == [], left


def difference(got: Any, wanted: Any) -> Any:
    """Return what two values differ in, as short as can be."""
    if isinstance(got, dict) and isinstance(wanted, dict):
        keys = {k for k in got.keys() | wanted.keys() if got.get(k) != wanted.get(k)}
        return {k: difference(got.get(k), wanted.get(k)) for k in sorted(keys)}
    if isinstance(got, list | tuple) and isinstance(wanted, list | tuple):
        return [pair for pair in zip_longest(got, wanted) if pair[0] != pair[1]][:3]
    return (got, wanted) if len(repr(got)) < 400 else "much"


def leftovers(home: Path) -> list[str]:
    """Return files and folders of unfinished work."""
    names = ("rebuild", "compact", "staging", "incoming")
    tops = [name for name in names if (home / name).exists()]
    parts = [p for p in home.rglob("*") if p.suffix in (DRAFT_SUFFIX, ".partial") and p.is_file()]
    # A key's draft goes with the next rotation: before that nobody can tell whether its writer still lives.
    parts = [p for p in parts if p.parent != home / "keys"]
    return tops + [os.fspath(p.relative_to(home)) for p in parts]


def config_of_tests() -> Config:
    """Return the configuration that a prepared home has."""
    from recollect.config import load_config

    return load_config(None)

"""The shared corpus taken in at once, as a user takes in a folder: whose each file is, and why the rest is nobody's."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from recollect.agents.registry import adapters
from recollect.config import Config
from recollect.memory import Memory, SyncReport
from recollect.model.text import flatten

pytestmark = pytest.mark.corpus

REVIEWED = tomllib.loads((Path(__file__).parent / "corpus.toml").read_text("utf-8"))["files"]
EMPTY = "is empty"


class Taken(NamedTuple):
    """What became of the corpus: the agents that took each file, what was said of the others, and the memory."""

    memory: Memory
    report: SyncReport
    agents: dict[str, set[str]]
    reasons: dict[str, str]
    sizes: dict[str, int]


@pytest.fixture(scope="module")
def taken(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Taken]:
    corpus = shared / "corpus"
    index = json.loads((corpus / "index.json").read_text("utf-8"))
    work = tmp_path_factory.mktemp("corpus")
    with Memory.open(work / "home", config=Config(), env={"HOME": str(work)}) as memory:
        report = memory.take_in([corpus])
        below = f"{corpus.absolute()}/"
        agents: dict[str, set[str]] = {}
        for source in memory.reader().sources():
            agents.setdefault(source.path.partition("#")[0].removeprefix(below), set()).add(source.agent)
        skipped = [s for line in report.agents.values() for s in line.skipped]
        reasons = {s.path.removeprefix(below): s.reason for s in [*report.untaken, *skipped]}
        sizes = {entry["path"]: entry["bytes"] for entry in index["files"]}
        yield Taken(memory, report, agents, reasons, sizes)


def reviewed(path: str) -> dict[str, str]:
    for entry in REVIEWED:
        if fnmatchcase(path, entry["path"]):
            return entry
    return {}


def test_every_file_is_a_source_or_said_to_be_none(taken: Taken) -> None:
    assert [p for p in taken.sizes if p not in taken.agents and not taken.reasons.get(p)] == []


def test_every_file_is_taken_by_its_agent_or_by_nobody_for_a_reviewed_reason(taken: Taken) -> None:
    known = adapters()
    wrong = []
    for path, size in taken.sizes.items():
        entry = reviewed(path)
        said, got = taken.reasons.get(path, ""), taken.agents.get(path, set())
        if size == 0:
            is_right = not got and said == EMPTY
        elif "refused" in entry:
            is_right = not got and entry["refused"] in said
        else:
            is_right = got == ({entry["agent"]} if entry.get("agent") in known else set()) and bool(entry)
        if not is_right:
            wrong.append(f"{path}: {sorted(got) or said}, reviewed: {entry}")
    assert wrong == []


def test_no_reviewed_entry_is_stale(taken: Taken) -> None:
    used = {id(reviewed(path)) for path in taken.sizes}
    assert [entry["path"] for entry in REVIEWED if id(entry) not in used] == []


def test_all_that_was_taken_is_whole(taken: Taken) -> None:
    report = taken.memory.maintenance.verify()
    assert [d for d in report.defects if d.is_loss] == []


def test_every_record_that_was_taken_gave_events(taken: Taken) -> None:
    silent = [line.agent for line in taken.report.agents.values() if line.records and not line.events]
    assert silent == []


def test_taking_the_corpus_in_again_adds_nothing(taken: Taken, shared: Path) -> None:
    again = taken.memory.take_in([shared / "corpus"])
    assert (again.bytes, again.events) == (0, 0)


class Laid(NamedTuple):
    """Files of the corpus where their agent would have them."""

    agent: str
    source: str
    target: str
    texts: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


_DEJA = "multi-synthetic/vshulcz__deja-vu/fixtures/registry"
_SESSIONS = "jazzyalex__agent-sessions/Resources/Fixtures/stage0/agents"
_PROJECTS = "claude-code/handgemacht-ai__claude-code-log/test/test_data/real_projects"
DATABASES = (
    Laid(
        "goose", f"{_DEJA}/goose/sessions/goose.sql", "goose/sessions/sessions.db",
        ("inspect the sqlite fixture", "the sqlite rows are readable"),
    ),
    Laid(
        "hermes", f"{_DEJA}/hermes/profiles/architect/hermes.sql", ".hermes/profiles/architect/state.db",
        ("the retry loop in the fetcher never backs off", "why did we pick msgpack over json for the wire format"),
    ),
    Laid(
        "opencode", f"{_DEJA}/opencode/opencode.sql", "opencode/opencode.db",
        ("inspect the sqlite fixture", "the sqlite rows are readable"),
    ),
    Laid(
        "zed", f"{_DEJA}/zed/zed.sql", "zed/threads/threads.db",
        (
            "does the pre-compression thread shape still load?", "agent-1 threads still parse",
            "where does zed keep its agent threads?", "in threads.db under the data dir",
        ),
    ),
)  # fmt: skip
FOLDERS = (
    Laid("opencode", f"opencode/{_SESSIONS}/opencode/storage_v2", "opencode/storage", beside=("migration",)),
    Laid("opencode", "opencode/git-ai-project__git-ai/tests/fixtures/opencode-storage", "opencode/storage"),
    Laid("claude", f"{_PROJECTS}/-experiments-worktrees", ".claude/projects/-experiments-worktrees"),
    Laid(
        "cursor", "cursor/jazzyalex__agent-sessions/AgentSessionsTests/Fixtures/Cursor/test-store.db",
        ".cursor/chats/5f2b/one/store.db",
    ),
    Laid("kimi", f"kimi-cli/{_SESSIONS}/kimi/state.json", ".kimi-code/sessions/wd_project/session_1/state.json"),
    Laid("kiro", "peers/moraine/fixtures/kiro/session.json", ".kiro/sessions/cli/session.json"),
    Laid(
        "cline", "cline/cline__cline/sdk/packages/core/fixtures/session/session.json",
        ".cline/data/sessions/1784094124598_rruoq/1784094124598_rruoq.json",
    ),
)  # fmt: skip


@pytest.mark.parametrize("laid", DATABASES, ids=lambda laid: laid.agent)
def test_databases_of_the_corpus_are_built_and_taken(laid: Laid, shared: Path, tmp_path: Path) -> None:
    database = tmp_path / "import" / laid.target
    database.parent.mkdir(parents=True)
    connection = sqlite3.connect(database)
    connection.executescript((shared / "corpus" / laid.source).read_text("utf-8"))
    connection.close()
    with Memory.open(tmp_path / "home", config=Config(), env={"HOME": str(tmp_path)}) as memory:
        report = memory.take_in([tmp_path / "import"])
        assert [s for s in [*report.untaken, *report.agents[laid.agent].skipped] if s.is_failure] == []
        assert {s.agent for s in memory.reader().sources()} == {laid.agent}
        sessions = memory.sessions(limit=100, sync=False).sessions
        events = [e for session in sessions for e in memory.events(session.session_uid)]
        said = "\n".join(flatten(msgspec.to_builtins(e.payload)) for e in events)
        assert [text for text in laid.texts if text not in said] == []
        assert not any(d.is_loss for d in memory.maintenance.verify().defects)


@pytest.mark.parametrize("laid", FOLDERS, ids=lambda laid: laid.source.rpartition("/")[2])
def test_files_laid_out_as_their_agent_does_are_taken(laid: Laid, shared: Path, tmp_path: Path) -> None:
    source, target = shared / "corpus" / laid.source, tmp_path / "import" / laid.target
    if source.is_dir():
        shutil.copytree(source, target, copy_function=shutil.copyfile)
    else:
        target.parent.mkdir(parents=True)
        shutil.copyfile(source, target)
    with Memory.open(tmp_path / "home", config=Config(), env={"HOME": str(tmp_path)}) as memory:
        report = memory.take_in([tmp_path / "import"])
        untaken = {Path(s.path).name for s in report.untaken if s.reason != EMPTY}
        assert untaken == set(laid.beside)
        assert {s.agent for s in memory.reader().sources()} == {laid.agent}
        assert report.agents[laid.agent].events > 0
        assert not any(d.is_loss for d in memory.maintenance.verify().defects)

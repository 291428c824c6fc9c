"""Agents that the configuration describes, from files to answers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.agents import registry
from recollect.agents.formats.flat import adapter_of
from recollect.config import AgentConfig, Config, FormatConfig, config_toml
from recollect.errors import ConfigError, UnknownName
from recollect.ingest.worker import pool
from recollect.memory import EventFilter, Memory
from recollect.testing.suite import run_all
from tests.cli.conftest import recollect

__all__ = ["recollect"]
SAID = ({"role": "user", "content": "polish the samovar"}, {"role": "assistant", "content": "done", "mood": "good"})


@pytest.fixture(autouse=True)
def _forgets_what_was_described() -> Iterator[None]:
    known, before = registry.adapters(), set(registry.adapters())
    yield
    for slug in known.keys() - before:
        del known[slug]


def config(folder: Path, slug: str = "mine", **described: Any) -> Config:
    return Config(agents={slug: AgentConfig(roots=(str(folder),), format=FormatConfig(**described))})


def lines(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def opened(tmp_path: Path, wanted: Config, home: str = "memory") -> Memory:
    return Memory.open(tmp_path / home, config=wanted, env={"HOME": str(tmp_path / "nobody")})


def told(memory: Memory, uid: str) -> list[tuple[str, str]]:
    return [(event.kind, getattr(event.payload, "text", "")) for event in memory.events(uid)]


def test_lines_are_taken_in_found_and_given_back(tmp_path: Path) -> None:
    path = lines(tmp_path / "mine/a/one.jsonl", *SAID)
    with opened(tmp_path, config(tmp_path / "mine")) as memory:
        assert memory.sync().agents["mine"].events == 3
        (hit,) = memory.search("samovar agent:mine", sync=False).hits
        assert hit.session_uid == "mine:one"
        assert [row.name for row in memory.reader().stats().drift] == ["record.mood"]
        assert memory.maintenance.verify().ok
        assert b"".join(memory.maintenance.export_bytes("mine:one", format="raw")) == path.read_bytes()
        assert memory.sync().agents["mine"].events == 0


def test_documents_are_split_and_a_rewrite_adds_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "mine/chat-1.json"
    path.parent.mkdir()
    described = {"container": "snapshot", "patterns": ("*.json",), "split": ("log",), "session": "key"}
    with opened(tmp_path, config(tmp_path / "mine", **described)) as memory:
        for end in (1, 2):
            path.write_text(json.dumps({"key": "k-1", "title": "Tea", "log": SAID[:end]}))
            memory.sync()
        assert told(memory, "mine:k-1") == [
            ("unknown", "title: Tea"), ("user_message", "polish the samovar"), ("assistant_message", "done"),
            ("unknown", "mood: good"),
        ]  # fmt: skip


def test_a_file_of_text_is_a_conversation(tmp_path: Path) -> None:
    path = tmp_path / "mine/today.md"
    path.parent.mkdir()
    path.write_text("## User\n\npolish the samovar\n\n## Assistant\n\ndone\n")
    with opened(tmp_path, config(tmp_path / "mine", container="text", patterns=("*.md",))) as memory:
        memory.sync()
        uid = memory.sessions(sync=False).sessions[0].session_uid
        assert told(memory, uid) == [("user_message", "polish the samovar"), ("assistant_message", "done")]


def test_a_table_of_a_database_holds_sessions_and_no_other_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    database = sqlite3.connect(tmp_path / "mine/chat.db")
    database.execute("CREATE TABLE turns (n INTEGER PRIMARY KEY, chat TEXT, role TEXT, body TEXT)")
    database.execute("CREATE TABLE keys (secret TEXT)")
    database.execute("INSERT INTO keys VALUES ('not for reading')")
    for n, (chat, role, body) in enumerate(
        (("a", "user", "polish the samovar"), ("b", "user", "hello"), ("a", "assistant", "done"))
    ):
        written = json.dumps({"said": body})
        database.execute("INSERT INTO turns VALUES (?, ?, ?, ?)", (n, chat, role, written))
    database.commit()
    database.close()
    described = {
        "container": "sqlite", "patterns": ("chat.db",), "table": "turns", "session": "chat", "order": ("n",),
        "json": ("body",), "text": "body.said", "id": "n",
    }  # fmt: skip
    with opened(tmp_path, config(tmp_path / "mine", **described)) as memory:
        memory.sync()
        assert told(memory, "mine:a") == [("user_message", "polish the samovar"), ("assistant_message", "done")]
        assert told(memory, "mine:b") == [("user_message", "hello")]
        assert not memory.search("reading", sync=False).hits
        assert memory.maintenance.verify().ok


def test_a_changed_description_derives_what_is_stored_anew_though_the_files_are_gone(tmp_path: Path) -> None:
    path = lines(tmp_path / "mine/one.jsonl", {"role": "user", "content": "hello", "note": "samovar"})
    with opened(tmp_path, config(tmp_path / "mine")) as memory:
        memory.sync()
        assert told(memory, "mine:one")[0] == ("user_message", "hello")
    path.unlink()
    with opened(tmp_path, config(tmp_path / "mine", text="note", skip=("content",))) as memory:
        assert any("rebuilt from the archive" in note for note in memory.sync().notes)
        assert told(memory, "mine:one") == [("user_message", "samovar")]


def test_an_agent_of_another_memorys_configuration_is_not_looked_for(tmp_path: Path) -> None:
    path = lines(tmp_path / "mine/one.jsonl", *SAID)
    with opened(tmp_path, config(tmp_path / "mine")), opened(tmp_path, Config(), "other") as other:
        assert "mine" not in other.sync().agents
        assert "mine" not in [agent.slug for agent in other.agents.list()]
        assert not [c for c in other.maintenance.doctor().checks if "mine" in c.name or "mine" in c.detail]
        with pytest.raises(UnknownName):
            other.sync(agents=["mine"])
        with pytest.raises(UnknownName):
            list(other.parse(path, agent="mine"))


def test_two_memories_may_describe_one_name_each_in_its_way(tmp_path: Path) -> None:
    lines(tmp_path / "mine/one.jsonl", {"role": "user", "content": "first", "body": "second"})
    first = opened(tmp_path, config(tmp_path / "mine", skip=("body",)))
    second = opened(tmp_path, config(tmp_path / "mine", text="body", skip=("content",)), "other")
    with first, second:
        first.sync()
        second.sync()
        assert told(first, "mine:one") == [("user_message", "first")]
        assert told(second, "mine:one") == [("user_message", "second")]


def test_worker_processes_know_what_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SMALL_BYTES", 0)
    lines(tmp_path / "mine/one.jsonl", *SAID)
    with opened(tmp_path, config(tmp_path / "mine")) as memory:
        assert memory.sync().agents["mine"].events == 3


@pytest.mark.parametrize(
    ("slug", "described", "said"),
    [
        ("claude", {}, "there is an agent of this name already"),
        ("mine", {"container": "sqlite"}, "`table` names the table"),
    ],
)
def test_what_cannot_be_used_is_a_line_of_the_doctor_and_stops_nothing(
    tmp_path: Path, slug: str, described: dict[str, Any], said: str
) -> None:
    with opened(tmp_path, config(tmp_path, slug, **described)) as memory:
        assert memory.sync().state == "done"
        report = memory.maintenance.doctor()
        (check,) = [c for c in report.checks if "cannot be loaded" in c.detail]
        assert (check.name, check.state, said in check.detail, report.ok) == (f"agent {slug}", "warn", True, True)
    with opened(tmp_path, Config(), "other") as other:
        assert not [c for c in other.maintenance.doctor().checks if "cannot be loaded" in c.detail]


@pytest.mark.parametrize(
    ("slug", "said"),
    [
        ("cluade", "no agent called 'cluade'; did you mean claude, claudeai?"),
        ("gone-away", "no agent called 'gone-away'"),
    ],
)
def test_settings_of_an_agent_that_nobody_knows_are_told(tmp_path: Path, slug: str, said: str) -> None:
    note = f"[agents.{slug}] of the configuration changes nothing: {said}"
    with opened(tmp_path, Config(agents={slug: AgentConfig(enabled=False)})) as memory:
        assert memory.sync().notes == [note]
        (check,) = [c for c in memory.maintenance.doctor().checks if c.name == f"agent {slug}"]
        assert (check.state, check.detail) == ("warn", note)


@pytest.mark.parametrize("name", ["claude-code", "CC", "Claude Code"])
def test_settings_hold_by_whatever_name_an_agent_is_called(tmp_path: Path, name: str) -> None:
    with opened(tmp_path, Config(agents={name: AgentConfig(enabled=False)})) as memory:
        assert memory.sync().notes == []
        assert [agent.slug for agent in memory.agents.list() if not agent.enabled] == ["claude"]


def test_two_tables_of_one_agent_are_refused(tmp_path: Path) -> None:
    twice = Config(agents={"claude": AgentConfig(), "cc": AgentConfig(enabled=False)})
    with pytest.raises(ConfigError, match=r"\[agents.claude\] and \[agents.cc\] are one agent"):
        opened(tmp_path, twice)


def test_a_described_agent_keeps_a_slug_that_is_a_name_of_ours(tmp_path: Path) -> None:
    lines(tmp_path / "mine/one.jsonl", *SAID)
    with opened(tmp_path, config(tmp_path / "mine", "cc")) as memory:
        assert memory.sync().agents["cc"].events == 3
        assert memory.search("samovar agent:cc", sync=False).hits[0].session_uid == "cc:one"


def test_a_described_agent_is_found_by_its_name_and_without_its_description_by_its_slug(tmp_path: Path) -> None:
    lines(tmp_path / "mine/one.jsonl", *SAID)
    with opened(tmp_path, config(tmp_path / "mine", "cc", name="My Tool")) as memory:
        memory.sync()
        assert memory.sessions(where=EventFilter(agents=("my_tool",)), sync=False).total == 1
    with opened(tmp_path, Config()) as memory:
        assert memory.sessions(where=EventFilter(agents=("cc",)), sync=False).total == 1
        assert memory.search("samovar agent:CC", sync=False).hits[0].session_uid == "cc:one"
        with pytest.raises(UnknownName):
            memory.sessions(where=EventFilter(agents=("my_tool",)), sync=False)


def test_the_command_line_knows_what_is_described(
    tmp_path: Path, isolated_home: Path, recollect: Callable[..., Any]
) -> None:
    path = lines(tmp_path / "mine/one.jsonl", *SAID)
    (isolated_home / "recollect").mkdir()
    (isolated_home / "recollect/config.toml").write_text(config_toml(config(tmp_path / "mine", name="My Tool")))
    parsed = recollect("parse", str(path), "--as", "mine")
    assert [json.loads(line)["kind"] for line in parsed.out.splitlines()] == [
        "user_message", "assistant_message", "unknown",
    ]  # fmt: skip
    assert recollect("sync", "--json").data["agents"]["mine"]["events"] == 3
    assert "My Tool (mine): 1 session, 3 events" in recollect("agents").out
    assert f"1 source in {tmp_path / 'mine'}" in recollect("doctor").out
    assert recollect("parse", str(path), "--as", "yours").code == 2


def test_a_described_agent_keeps_every_rule_of_the_suite(tmp_path: Path) -> None:
    call = {
        "role": "assistant",
        "tool": "edit",
        "call": "c1",
        "args": {"path": "a.py", "old": "OLD = 1", "new": "NEW = 1"},
    }
    stories: dict[str, list[Any]] = {
        "dialogue": [
            {"role": "system", "content": "Be kind.", "cwd": "/w"},
            {"role": "user", "content": "Which files are here?", "cwd": "/w/sub"},
            {"role": "assistant", "content": "There are two: a.py and b.py."},
        ],
        "edit": [
            {"role": "user", "content": "Rename the constant."}, call,
            {"role": "tool", "call": "c1", "content": "done", "ok": True}, {"role": "assistant", "content": "Renamed."},
        ],
        "unknown_record": [
            {"role": "user", "content": "Which files are here?", "novelty": "x"},
            {"role": "assistant", "content": "There are two: a.py and b.py."},
            {"role": "from_the_future", "content": "a hovercraft"},
        ],
    }  # fmt: skip
    for scenario, records in stories.items():
        lines(tmp_path / f"fixtures/mine/1/{scenario}/logs/one.jsonl", *records)
    described = {"tool_name": "tool", "tool_call": "call", "tool_arguments": "args", "tool_ok": "ok"}
    results = run_all(adapter_of("mine", described), tmp_path / "fixtures", tmp_path / "work")
    assert [(r.fixture, r.problems) for r in results if r.problems] == []
    assert len(results) == len(stories) + 1
    assert "mine" not in registry.adapters()

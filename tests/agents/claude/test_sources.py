"""Whose a source is, what its session is called, and what stands beside the transcripts."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from recollect.capture.discover import RootDir, discover
from recollect.model.records import SourceInfo
from tests.agents.claude.transcripts import (
    ADAPTER,
    AT_US,
    OTHER,
    PATH,
    SESSION,
    Told,
    assistant,
    envelope,
    lifecycle,
    said,
    source,
    user,
)


def head_of(*records: object) -> bytes:
    return b"".join(msgspec.json.encode(r) + b"\n" for r in records)


def identify(role: str, path: str, head: bytes = b"") -> str:
    return ADAPTER.identify(SourceInfo("claude", role, path), head)


@pytest.mark.parametrize(
    "record",
    [
        user("hello"),
        assistant(said("hello")),
        envelope("system", "s-1", subtype="turn_duration"),
        envelope("progress", "p-1", data={}),
        {"type": "summary", "summary": "x", "leafUuid": "u"},
        {"type": "file-history-snapshot", "messageId": "u", "snapshot": {}},
        {"type": "permission-mode", "permissionMode": "plan", "sessionId": SESSION},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION},
    ],
)
def test_a_transcript_is_recognised_by_any_of_its_records(record: object) -> None:
    assert ADAPTER.recognise("somewhere/full.jsonl", head_of(record)) == "transcript"


def test_a_subagent_is_recognised_by_its_records_or_its_name() -> None:
    assert ADAPTER.recognise("x.jsonl", head_of(user("go", isSidechain=True, agentId="a1"))) == "subagent"
    assert ADAPTER.recognise("agent-a1.jsonl", head_of(user("go"))) == "subagent"


def test_a_prompt_history_is_recognised() -> None:
    assert ADAPTER.recognise("h.jsonl", head_of({"display": "hi", "pastedContents": {}, "timestamp": 1})) == "history"


def test_a_first_line_longer_than_the_head_is_recognised_by_its_envelope() -> None:
    cut = head_of(user("long " * 20_000))[:65_536]
    assert ADAPTER.recognise("x.jsonl", cut) == "transcript"
    assert identify("transcript", "x.jsonl", cut) == SESSION


@pytest.mark.parametrize(
    "record",
    [
        {"timestamp": "2026-08-01T09:00:00Z", "type": "session_meta", "payload": {"id": SESSION}},
        {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "parts": [{"text": "hi"}]}},
        {"type": "system", "uuid": "u", "sessionId": "s", "subtype": "ui_telemetry", "systemPayload": {}},
        {"type": "message", "role": "user", "content": "hi"},
        {"session_id": "s", "ts": 1, "text": "hi"},
        ["user"],
        "user",
        {"type": ["user"], "sessionId": "s"},
        {},
    ],
)
def test_what_others_wrote_is_not_recognised(record: object) -> None:
    assert ADAPTER.recognise("x.jsonl", head_of(record)) is None


@pytest.mark.parametrize("head", [b"", b"\n\n", b"{", b"\xff\xfe{}", b"not json\n", b"[" * 70_000])
def test_bytes_that_are_no_transcript_are_not_recognised(head: bytes) -> None:
    assert ADAPTER.recognise("x.jsonl", head) is None


@pytest.mark.parametrize(
    ("role", "path", "session"),
    [
        ("transcript", PATH, SESSION),
        ("transcript", "full.jsonl", OTHER),
        ("subagent", f"projects/-w/{SESSION}/subagents/agent-a1.jsonl", f"{SESSION}/agent-a1"),
        ("subagent", f"projects/-w/{SESSION}/subagents/workflows/wf-1/agent-a1.jsonl", f"{SESSION}/agent-a1"),
        ("subagent", "projects/-w/agent-a1.jsonl", f"{OTHER}/agent-a1"),
        ("subagent_meta", f"projects/-w/{SESSION}/subagents/agent-a1.meta.json", f"{SESSION}/agent-a1"),
        ("spill", f"projects/-w/{SESSION}/tool-results/b1.txt", SESSION),
        ("title", f"projects/-w/{SESSION}/custom-title.json", SESSION),
        ("backup", f"file-history/{SESSION}/ab12@v1", SESSION),
        ("tasks", f"tasks/{SESSION}/1.json", SESSION),
        ("todos", f"todos/{SESSION}-agent-{SESSION}.json", SESSION),
        ("history", "history.jsonl", "history"),
        ("transcript", f"local-agent-mode-sessions/a/b/local_77/.claude/projects/-s/{OTHER}.jsonl", "local_77"),
        ("desktop_meta", "local-agent-mode-sessions/a/b/local_77.json", "local_77"),
    ],
)
def test_a_source_belongs_to_the_session_that_its_place_says(role: str, path: str, session: str) -> None:
    assert identify(role, path, head_of(user("x", sessionId=OTHER))) == session


def test_a_transcript_without_any_name_is_called_after_its_first_line() -> None:
    name = identify("transcript", "notes.jsonl", b'{"a":1}\n')
    assert name.startswith("file-")
    assert len(name) == len("file-") + 16
    assert name == identify("transcript", "other.jsonl", b'{"a":1}\n{"b":2}\n')


def test_a_moved_transcript_keeps_its_key() -> None:
    keys = {ADAPTER.source_key(source(path=f"projects/{p}/{SESSION}.jsonl")) for p in ("-w-demo", "-w-demo-worktree")}
    assert keys == {f"session/{SESSION}"}


def test_transcripts_with_an_everyday_name_have_their_path_as_key() -> None:
    assert ADAPTER.source_key(source(path="a/full.jsonl")) != ADAPTER.source_key(source(path="b/full.jsonl"))


def test_a_subagent_names_the_session_that_started_it() -> None:
    info = source("subagent", f"projects/-w/{SESSION}/subagents/agent-a1.jsonl", f"{SESSION}/agent-a1")
    told = Told([user("count the files", isSidechain=True, agentId="a1")], info)
    assert told.one("session_start").parent_session == SESSION
    assert told.one("user_message").origin == "human"
    assert ADAPTER.source_key(info) == f"{SESSION}/agent-a1"


def test_a_transcript_that_goes_on_from_another_session_says_so() -> None:
    assert Told([user("x", sessionId=OTHER)]).one("session_start").resumed_from == OTHER


def test_the_prompt_history_gives_human_words_to_the_sessions_it_names() -> None:
    lines = [
        {"display": "fix it", "pastedContents": {}, "timestamp": AT_US // 1000, "project": "/w", "sessionId": OTHER},
        {
            "display": "see [Pasted text #1]",
            "pastedContents": {"1": {"type": "text", "content": "a log"}},
            "project": "/w",
        },
        {"display": "/help", "pastedContents": {}, "timestamp": AT_US // 1000, "project": "/w", "sessionId": OTHER},
    ]
    told = Told(lines, source("history", "history.jsonl", "history"))
    prompts = [d for d in told.drafts if d.role == "user"]
    assert [(d.payload.text, d.payload.origin) for d in prompts] == [  # type: ignore[union-attr]
        ("fix it", "human"),
        ("see [Pasted text #1]\na log", "human"),
        ("/help", "command"),
    ]
    assert prompts[0].session == prompts[2].session == OTHER
    assert (prompts[1].session or "").startswith("history/")
    assert (prompts[0].ts, prompts[0].ts_quality) == (AT_US, "exact")
    assert {p.cwd for p in lifecycle(told, "cwd")} == {"/w"}


def test_a_file_backup_is_a_checkpoint() -> None:
    told = Told(["x = 1\n"], source("backup", f"file-history/{SESSION}/ab12@v1"))
    edit = told.one("file_edit")
    assert (edit.operation, edit.backup, edit.before) == ("checkpoint", "ab12@v1", "x = 1\n")


def test_todos_and_tasks_are_told_with_their_state() -> None:
    todo = Told([{"content": "write docs", "status": "pending"}], source("todos", f"todos/{SESSION}-agent-x.json"))
    task = Told([{"id": "1", "subject": "write docs", "status": "done"}], source("tasks", f"tasks/{SESSION}/1.json"))
    assert (todo.one("lifecycle").name, todo.one("lifecycle").text) == ("todo", "write docs")
    assert (task.one("lifecycle").name, task.one("lifecycle").detail) == ("task", {"id": "1", "status": "done"})


def test_the_sidecar_of_a_subagent_tells_its_type() -> None:
    path = f"projects/-w/{SESSION}/subagents/agent-a1.meta.json"
    info = source("subagent_meta", path, f"{SESSION}/agent-a1")
    told = Told([{"agentType": "explorer", "description": "look around"}], info)
    assert (told.one("session_start").agent_name, told.one("session_start").parent_session) == ("explorer", SESSION)
    assert told.one("lifecycle").text == "description: look around"


def test_titles_are_lifecycle_events_and_name_no_session() -> None:
    told = Told([{"customTitle": "Parser work"}], source("title", f"projects/-w/{SESSION}/custom-title.json"))
    assert told.one("lifecycle").title == "Parser work"


def test_the_summary_of_another_session_sets_no_title() -> None:
    summary = Told([{"type": "summary", "summary": "Other work", "leafUuid": "z-9"}]).one("lifecycle")
    assert (summary.title, summary.text, summary.detail) == ("", "Other work", {"leaf": "z-9"})


def test_no_place_can_hold_a_credential() -> None:
    forbidden = (".credentials.json", "settings", "shell-snapshots", "statsig", "telemetry", "debug", "plugins", "ide/")
    patterns = [p for place in ADAPTER.facts.places for p in place.patterns]
    assert not [p for p in patterns if any(word in p for word in forbidden)]
    assert all(p.split("/")[0] not in ("*", "**") for p in patterns)


def test_only_what_is_named_is_found_beside_credentials(tmp_path: Path) -> None:
    desktop = "local-agent-mode-sessions/a/b/local_7"
    wanted = {
        f"projects/-w/{SESSION}.jsonl": "transcript",
        "projects/-w/agent-a1.jsonl": "subagent",
        f"projects/-w/{SESSION}/subagents/workflows/w/agent-a2.jsonl": "subagent",
        f"projects/-w/{SESSION}/tool-results/b1.txt": "spill",
        f"file-history/{SESSION}/ab12@v1": "backup",
        "history.jsonl": "history",
        f"{desktop}.json": "desktop_meta",
        f"{desktop}/.claude/projects/-s/{OTHER}.jsonl": "transcript",
    }
    unwanted = (
        ".credentials.json",
        "settings.json",
        "plugins/local_1.json",
        "debug/x.txt",
        "ide/1.lock",
        "shell-snapshots/x.sh",
        "projects/-w/memory/x.jsonl",
        f"projects/-w/{SESSION}.orphaned-1.jsonl",
        f"{desktop}/audit.jsonl",
        f"{desktop}/.claude/.credentials.json",
    )
    for name in (*wanted, *unwanted):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}\n")
    found = discover(ADAPTER, [RootDir(str(tmp_path), True)], known_roles={}, read_head=lambda path: b"")
    assert {s.relative: s.place.role for s in found.sources} == wanted


@pytest.mark.corpus
def test_every_shared_transcript_is_recognised_and_no_other(shared: Path) -> None:
    ours = [p for p in (shared / "corpus" / "claude-code").rglob("*.jsonl") if p.stat().st_size]
    others = [p for name in ("codex", "qwen-code", "pi") for p in (shared / "corpus" / name).rglob("*.jsonl")]
    assert [p for p in ours if not ADAPTER.recognise(p.name, p.read_bytes()[:65_536])] == []
    assert [p for p in others if ADAPTER.recognise(p.name, p.read_bytes()[:65_536])] == []

"""Which sources are found: those the allow-list names, inside their root, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.agents.registry import adapter
from recollect.capture.discover import Discovery, RootDir, discover, roots_of
from recollect.capture.sources import read_head
from recollect.config import AgentConfig, Config

LINE = b'{"type":"user","uuid":"u-1","sessionId":"5f0c","cwd":"/w","timestamp":"2026-08-01T09:00:00.000Z",'
LINE += b'"message":{"role":"user","content":"hello"}}\n'
UUID = "5f0c0000-0000-4000-8000-000000000001"


def put(path: Path, data: bytes = LINE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def look(root: Path, *, is_home: bool = True, roles: dict[str, str] | None = None) -> Discovery:
    return discover(adapter("claude"), [RootDir(str(root), is_home)], known_roles=roles or {}, read_head=read_head)


def found(result: Discovery) -> dict[str, str]:
    return {s.relative: s.place.role for s in result.sources}


def test_transcripts_subagents_and_histories_are_found_and_secrets_are_not(tmp_path: Path) -> None:
    put(tmp_path / f"projects/-w/{UUID}.jsonl")
    put(tmp_path / f"projects/-w/{UUID}/subagents/agent-1.jsonl")
    put(tmp_path / f"projects/-w/{UUID}/tool-results/abc.txt")
    put(tmp_path / "projects/-w/agent-2.jsonl")
    put(tmp_path / "history.jsonl")
    put(tmp_path / ".credentials.json")
    put(tmp_path / "settings.json")
    put(tmp_path / "shell-snapshots/x.jsonl")
    put(tmp_path / "projects/-w/memory/notes.jsonl")
    put(tmp_path / f"projects/-w/{UUID}.orphaned-1.jsonl")
    assert found(look(tmp_path)) == {
        f"projects/-w/{UUID}.jsonl": "transcript",
        f"projects/-w/{UUID}/subagents/agent-1.jsonl": "subagent",
        f"projects/-w/{UUID}/tool-results/abc.txt": "spill",
        "projects/-w/agent-2.jsonl": "subagent",
        "history.jsonl": "history",
    }


def test_a_folder_named_like_a_transcript_is_reported_not_read(tmp_path: Path) -> None:
    (tmp_path / f"projects/-w/{UUID}.jsonl").mkdir(parents=True)
    result = look(tmp_path)
    assert not result.sources
    assert [r.reason for r in result.refused] == ["is a folder, not a file"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_link_that_leaves_the_root_is_refused_and_one_inside_is_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    outside = put(tmp_path / "outside.jsonl")
    inside = put(root / f"projects/-w/{UUID}.jsonl")
    (root / "projects/-v").mkdir()
    (root / "projects/-v/a.jsonl").symlink_to(outside)
    (root / "projects/-v/b.jsonl").symlink_to(inside)
    (root / "projects/-u").symlink_to(tmp_path)
    result = look(root)
    assert sorted(found(result)) == ["projects/-v/b.jsonl", f"projects/-w/{UUID}.jsonl"]
    assert {Path(r.path).name for r in result.refused} == {"a.jsonl", "-u"}
    assert all("leaves" in r.reason for r in result.refused)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_a_pipe_named_like_a_transcript_is_never_opened(tmp_path: Path) -> None:
    (tmp_path / "projects/-w").mkdir(parents=True)
    os.mkfifo(tmp_path / f"projects/-w/{UUID}.jsonl")
    result = look(tmp_path)
    assert not result.sources
    assert [r.reason for r in result.refused] == ["is not a regular file"]


def test_an_absent_root_is_said_to_be_absent(tmp_path: Path) -> None:
    result = look(tmp_path / "nothing")
    assert result.absent_roots == [str(tmp_path / "nothing")]
    assert not result.roots


def test_a_folder_of_transcripts_in_no_layout_is_told_by_content(tmp_path: Path) -> None:
    put(tmp_path / "a/b/full.jsonl")
    put(tmp_path / "a/b/other.jsonl", b'{"completely": "different"}\n')
    put(tmp_path / "a/b/notes.txt")
    assert found(look(tmp_path, is_home=False)) == {"a/b/full.jsonl": "transcript"}


def test_a_known_file_is_not_opened_again_to_tell_what_it_is(tmp_path: Path) -> None:
    path = put(tmp_path / "full.jsonl", b"")
    assert found(look(tmp_path, is_home=False, roles={str(path): "transcript"})) == {"full.jsonl": "transcript"}


def test_roots_come_from_the_variable_the_override_and_the_configuration(tmp_path: Path) -> None:
    claude = adapter("claude")
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "one")}
    assert str(tmp_path / "one") in [r.path for r in roots_of(claude, Config(), env)]
    settings = AgentConfig(variables={"CLAUDE_CONFIG_DIR": "~/two"}, roots=("~/three",))
    roots = roots_of(claude, Config(agents={"claude": settings}), env)
    assert RootDir(str(tmp_path / "two"), True) in roots
    assert RootDir(str(tmp_path / "three"), False) in roots
    assert str(tmp_path / "one") not in [r.path for r in roots]


@pytest.mark.parametrize("value", ["{root}/kept/my chats.sqlite", "../../../kept/my chats.sqlite"])
def test_a_database_that_a_variable_names_is_found_by_any_name_and_nothing_beside_it(
    tmp_path: Path, value: str
) -> None:
    database = put(tmp_path / "kept" / "my chats.sqlite")
    put(tmp_path / "kept" / "opencode.db")
    env = {"HOME": str(tmp_path), "OPENCODE_DB": value.format(root=tmp_path)}
    opencode = adapter("opencode")
    result = discover(opencode, roots_of(opencode, Config(), env), known_roles={}, read_head=read_head)
    assert {(s.path, s.place.role) for s in result.sources} == {
        (str(database), "transcript"), (str(database), "session"),
    }  # fmt: skip
    assert str(database) in result.roots
    database.unlink()
    result = discover(opencode, roots_of(opencode, Config(), env), known_roles={}, read_head=read_head)
    assert (result.sources, str(database) in result.absent_roots) == ([], True)


def test_a_database_in_memory_is_nowhere(tmp_path: Path) -> None:
    without = {"HOME": str(tmp_path)}
    opencode = adapter("opencode")
    assert roots_of(opencode, Config(), {**without, "OPENCODE_DB": ":memory:"}) == roots_of(opencode, Config(), without)


def test_a_database_below_its_agents_own_folder_is_found_once(tmp_path: Path) -> None:
    database = put(tmp_path / ".local/share/opencode/opencode.db")
    opencode = adapter("opencode")
    env = {"HOME": str(tmp_path), "OPENCODE_DB": "opencode.db"}
    result = discover(opencode, roots_of(opencode, Config(), env), known_roles={}, read_head=read_head)
    assert sorted((s.path, s.place.role) for s in result.sources) == [
        (str(database), "session"), (str(database), "transcript"),
    ]  # fmt: skip


def test_without_any_setting_the_agents_own_default_below_the_users_home_counts(tmp_path: Path) -> None:
    roots = roots_of(adapter("codex"), Config(), {"HOME": str(tmp_path)})
    assert [r.path for r in roots] == [str(tmp_path / ".codex")]

"""Folders that users name: whose each file is, told by the agent's own folder, by content, by layout, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
import zstandard

from recollect.agents.registry import adapters
from recollect.capture import detect_agents
from recollect.capture.detect_agents import Sorted, sort_out
from recollect.capture.sources import read_head
from recollect.testing.fixtures import Fixture, fixtures_in, lay_out

FIXTURES = Path(__file__).resolve().parents[1] / "conformance/fixtures"
SLUGS = sorted({fixture.agent for fixture in fixtures_in(FIXTURES)} & adapters().keys())
LOOK_ALIKE = {
    "kilo": {"cline"}, "openclaude": {"claude"}, "openclaw": {"pi"}, "qoder": {"claude"}, "roo": {"cline"},
    "traex": {"codex"},
}  # fmt: skip
"""Forks whose files are those of another agent; outside of their own folder nobody can tell them."""


BY_SCHEMA = ("crush", "forge", "goose", "hermes", "kiro", "opencode", "shelley")
"""Agents whose databases are told from all others by their tables and columns."""


def look(folder: Path, *, known: dict[str, tuple[str, str]] | None = None, only: str = "") -> Sorted:
    chosen = {only: adapters()[only]} if only else adapters()
    return sort_out(str(folder), chosen, known=known or {}, read_head=read_head, is_said=bool(only))


def told(found: Sorted, folder: Path) -> dict[str, str]:
    """Return the agent of every file that was taken, and the reason of every other, by its path below the folder."""
    taken = {s.path: slug for slug, sources in found.sources.items() for s in sources}
    refused = {one.path: one.reason for one in found.untaken}
    return {Path(path).relative_to(folder).as_posix(): said for path, said in {**refused, **taken}.items()}


def home_of(slug: str) -> str:
    """Return the folder in which an agent keeps its data, below the user's home."""
    roots = adapters()[slug].facts.roots
    return "/".join(filter(None, (roots[0].default, roots[0].below))) if roots else slug


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def fixtures_of(slug: str) -> list[Fixture]:
    return list(fixtures_in(FIXTURES, slug))


@pytest.mark.parametrize("slug", SLUGS)
def test_what_lies_in_a_copy_of_an_agents_own_folder_is_that_agents(slug: str, tmp_path: Path) -> None:
    for fixture in fixtures_of(slug):
        lay_out(fixture, tmp_path / fixture.version / fixture.scenario / home_of(slug))
    assert {p: a for p, a in told(look(tmp_path), tmp_path).items() if a not in (slug, EMPTY)} == {}


@pytest.mark.parametrize("slug", SLUGS)
def test_a_file_in_a_folder_that_says_nothing_is_never_taken_for_another_agents(slug: str, tmp_path: Path) -> None:
    allowed = {slug, EMPTY, UNKNOWN, *LOOK_ALIKE.get(slug, ())}
    for fixture in fixtures_of(slug):
        for path in lay_out(fixture, tmp_path / "laid" / fixture.version / fixture.scenario):
            put(tmp_path / "some" / fixture.version / fixture.scenario / path.name, path.read_bytes())
    said = told(look(tmp_path / "some"), tmp_path / "some")
    assert {p: a for p, a in said.items() if a not in allowed and "together" not in a} == {}


EMPTY = "is empty"
UNKNOWN = "belongs to no known agent"
CLAUDE = (
    '{"type":"user","uuid":"u-1","sessionId":"5f0c","timestamp":"2026-08-01T09:00:00.000Z","cwd":"/w",'
    '"message":{"role":"user","content":"hello"}}\n'
)
CODEX = '{"timestamp":"2026-08-01T09:00:00Z","type":"session_meta","payload":{"id":"t-1","cwd":"/w"}}\n'


def test_content_counts_and_not_the_name(tmp_path: Path) -> None:
    put(tmp_path / "a/gemini-session.jsonl", CLAUDE)
    put(tmp_path / "b/notes.txt", CODEX)
    put(tmp_path / "c/claude.jsonl", '{"something": "else"}\n')
    assert told(look(tmp_path), tmp_path) == {
        "a/gemini-session.jsonl": "claude", "b/notes.txt": "codex", "c/claude.jsonl": UNKNOWN,
    }  # fmt: skip


def test_the_agents_own_folder_counts_before_the_content(tmp_path: Path) -> None:
    put(tmp_path / "old/.qoder/projects/-w/5f0c.jsonl", CLAUDE)
    put(tmp_path / "old/qoder/projects/-w/5f0c.jsonl", CLAUDE)
    put(tmp_path / "old/else/projects/-w/5f0c.jsonl", CLAUDE)
    assert told(look(tmp_path), tmp_path) == {
        "old/.qoder/projects/-w/5f0c.jsonl": "qoder", "old/qoder/projects/-w/5f0c.jsonl": "qoder",
        "old/else/projects/-w/5f0c.jsonl": "claude",
    }  # fmt: skip


def test_a_folder_inside_of_an_agents_own_may_be_named(tmp_path: Path) -> None:
    put(tmp_path / ".qoder/projects/-w/5f0c.jsonl", CLAUDE)
    for named in (".qoder", ".qoder/projects", ".qoder/projects/-w", ".qoder/projects/-w/5f0c.jsonl"):
        (source,) = look(tmp_path / named).sources["qoder"]
        assert source.relative == "projects/-w/5f0c.jsonl"


def test_a_layout_of_words_that_anybody_uses_says_nothing(tmp_path: Path) -> None:
    for name in (
        "sessions/a.json",
        "sessions/sessions.json",
        "x/sessions/a/b/c.jsonl",
        "tasks/1/2.json",
        "logs/a.json",
    ):
        put(tmp_path / name, '{"something": "else"}')
    assert set(told(look(tmp_path), tmp_path).values()) == {UNKNOWN}


def test_a_layout_that_only_one_agent_has_is_enough(tmp_path: Path) -> None:
    put(tmp_path / "any/where/tasks/1/api_conversation_history.json", "[]")
    put(tmp_path / "any/.aider.chat.history.md", "nothing of note")
    assert told(look(tmp_path), tmp_path) == {
        "any/where/tasks/1/api_conversation_history.json": "cline", "any/.aider.chat.history.md": "aider",
    }  # fmt: skip


def test_a_database_is_told_by_its_name_and_given_to_every_place_that_reads_it(tmp_path: Path) -> None:
    fixture = next(f for f in fixtures_in(FIXTURES, "opencode") if any(f.folder.rglob("opencode.db.sql")))
    lay_out(fixture, tmp_path)
    found = look(tmp_path)
    roles = {s.place.role for s in found.sources["opencode"] if s.path.endswith("opencode.db")}
    assert len(roles) > 1
    put(tmp_path / "text/opencode.db", "not a database at all")
    assert told(look(tmp_path), tmp_path)["text/opencode.db"] == UNKNOWN


def test_a_database_of_another_agents_name_is_told_by_its_tables(tmp_path: Path) -> None:
    for name in ("db/sessions.db", "sessions.db"):
        database = put(tmp_path / name, b"")
        connection = sqlite3.connect(database)
        connection.execute("CREATE TABLE something_else (x)")
        connection.close()
    assert set(told(look(tmp_path), tmp_path).values()) == {UNKNOWN}


@pytest.mark.parametrize("slug", [*BY_SCHEMA, "cline", "cursor", "vscode", "windsurf", "zed"])
def test_a_database_of_any_name_is_told_by_its_schema_and_never_taken_for_another_agents(
    slug: str, tmp_path: Path
) -> None:
    said = set()
    for fixture in fixtures_of(slug):
        for path in lay_out(fixture, tmp_path / "laid" / fixture.version / fixture.scenario):
            if path.read_bytes().startswith(b"SQLite format 3"):
                folder = tmp_path / "some" / fixture.version / fixture.scenario
                put(folder / "a copy.bin", path.read_bytes())
                said |= set(told(look(folder), folder).values())
    assert said <= {slug, UNKNOWN}
    assert (slug in said) == (slug in BY_SCHEMA)


def test_a_database_that_two_agents_write_alike_is_nobodys_until_it_is_said(tmp_path: Path) -> None:
    fixture = next(f for f in fixtures_in(FIXTURES, "opencode") if any(f.folder.rglob("opencode.db.sql")))
    (path,) = [path for path in lay_out(fixture, tmp_path / "laid") if path.name == "opencode.db"]
    put(tmp_path / "some" / "copy.bin", path.read_bytes())
    twins = {"one": adapters()["opencode"], "two": adapters()["opencode"]}
    found = sort_out(str(tmp_path / "some"), twins, known={}, read_head=read_head)
    assert told(found, tmp_path / "some") == {"copy.bin": "may belong to one or two: choose with --as"}


def test_credentials_are_taken_in_no_folder(tmp_path: Path) -> None:
    secrets = [".claude/.credentials.json", ".codex/auth.json", ".pi/agent/auth.json", ".gemini/oauth_creds.json"]
    for name in secrets:
        put(tmp_path / name, '{"token": "synthetic-token", "refresh": "synthetic"}')
    assert set(told(look(tmp_path), tmp_path).values()) == {UNKNOWN}


def test_a_file_that_was_taken_before_stays_its_agents_even_if_its_content_no_longer_tells(tmp_path: Path) -> None:
    path = put(tmp_path / "x/5f0c.jsonl", '{"something": "else"}\n')
    known = {str(path): ("claude", "transcript")}
    assert told(look(tmp_path, known=known), tmp_path) == {"x/5f0c.jsonl": "claude"}
    at_home = put(tmp_path / ".qoder/projects/-w/5f0c.jsonl", "cut")
    (source,) = look(tmp_path / ".qoder", known={str(at_home): ("qoder", "transcript")}).sources["qoder"]
    assert source.relative == "projects/-w/5f0c.jsonl"


def test_the_user_may_say_whose_files_they_are(tmp_path: Path) -> None:
    put(tmp_path / "a/lines.jsonl", '{"something": "else"}\n')
    put(tmp_path / "b/document.json", '{"something": "else"}')
    put(tmp_path / "c/page.md", "# text")
    assert told(look(tmp_path, only="codex"), tmp_path)["a/lines.jsonl"] == "codex"
    assert told(look(tmp_path, only="continue"), tmp_path)["b/document.json"] == "continue"
    assert told(look(tmp_path, only="aider"), tmp_path)["c/page.md"] == "aider"


def test_links_and_folders_of_tools_are_left_out(tmp_path: Path) -> None:
    real = put(tmp_path / "a/one.jsonl", CLAUDE)
    (tmp_path / "a/link.jsonl").symlink_to(real)
    (tmp_path / "loop").symlink_to(tmp_path)
    for name in (".git", "node_modules", ".venv", "__pycache__"):
        put(tmp_path / name / "two.jsonl", CLAUDE)
    assert told(look(tmp_path), tmp_path) == {"a/one.jsonl": "claude"}


def test_empty_files_and_what_is_not_there_are_said(tmp_path: Path) -> None:
    put(tmp_path / "a.jsonl", "")
    assert told(look(tmp_path), tmp_path) == {"a.jsonl": EMPTY}
    assert [r.is_failure for r in look(tmp_path / "gone").untaken] == [True]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    put(tmp_path / "a.jsonl", CLAUDE).chmod(0)
    assert [r.is_failure for r in look(tmp_path).untaken] == [True]


def test_a_folder_of_far_too_many_files_is_looked_at_in_part_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detect_agents, "_MANY", 3)
    for number in range(5):
        put(tmp_path / f"{number}.jsonl", CLAUDE)
    found = look(tmp_path)
    assert len(found.sources["claude"]) == 3
    assert [r.is_failure for r in found.untaken] == [True]


def test_a_compressed_file_is_told_by_what_is_in_it(tmp_path: Path) -> None:
    put(tmp_path / "rollout-1.jsonl.zst", zstandard.compress(CODEX.encode()))
    put(tmp_path / "broken.jsonl.zst", b"\x28\xb5\x2f\xfd broken")
    said = told(look(tmp_path), tmp_path)
    assert said["rollout-1.jsonl.zst"] == "codex"
    assert said["broken.jsonl.zst"] != "codex"


def test_a_glued_first_line_is_told_by_its_first_record(tmp_path: Path) -> None:
    record = {
        "uuid": "1", "sessionId": "s", "timestamp": "2026-08-01T09:00:00Z", "type": "user",
        "message": {"role": "user", "parts": [{"text": "hello"}]},
    }  # fmt: skip
    put(tmp_path / "a.jsonl", json.dumps(record) + json.dumps(record))
    assert told(look(tmp_path), tmp_path) == {"a.jsonl": "qwen"}


def test_the_files_of_a_folder_are_the_same_in_any_order_of_adapters(tmp_path: Path) -> None:
    for slug in ("claude", "codex", "gemini", "qwen", "iflow", "grok", "pi"):
        fixture = next(f for f in fixtures_of(slug) if f.scenario == "tool")
        shutil.copytree(fixture.folder, tmp_path / slug / "copy")
    one = told(look(tmp_path), tmp_path)
    backwards = dict(reversed(adapters().items()))
    two = told(sort_out(str(tmp_path), backwards, known={}, read_head=read_head), tmp_path)
    assert one == two

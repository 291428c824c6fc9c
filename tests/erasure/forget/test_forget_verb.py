"""`recollect forget`, as a person or a program gives it, in a temporary home."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.errors import UsageError
from recollect.memory import ForgetReport, ForgetSelection, ForgottenList, Memory
from recollect.testing.builders import ClaudeTranscript

Recollect = Callable[..., Any]


@pytest.fixture
def one(isolated_home: Path) -> ClaudeTranscript:
    transcript = ClaudeTranscript(isolated_home / ".claude", "one")
    transcript.user("please deploy zanzibarquux")
    transcript.assistant("done")
    return transcript


def test_from_looking_to_the_list(one: ClaudeTranscript, recollect: Recollect) -> None:
    assert recollect("sync").code == 0
    looked = recollect("forget", "--session", one.uid, "--dry-run", "--json")
    planned = msgspec.json.decode(looked.out, type=ForgetReport)
    assert (looked.code, planned.state, planned.sessions[0].session_uid) == (0, "planned", one.uid)
    text = recollect("forget", "--session", one.uid, "--dry-run")
    assert (text.code, one.uid in text.out, "would go" in text.out) == (0, True, True)
    assert "these are all sessions of the memory" in text.out
    done = recollect("forget", "--session", one.uid, "--yes", "--json")
    report = msgspec.json.decode(done.out, type=ForgetReport)
    assert (done.code, report.state, report.whole_sessions, report.sessions) == (0, "done", 1, [])
    assert recollect("search", "zanzibarquux", "--json").data["total"] == 0
    listed = recollect("forget", "--list", "--json")
    groups = msgspec.json.decode(listed.out, type=ForgottenList).groups
    assert (listed.code, [(g.kind, g.count) for g in groups]) == (0, [("session", 1)])
    assert "sessions" in recollect("forget", "--list").out
    nothing = recollect("forget", "--pattern", "zanzibarquux", "--yes")
    assert (nothing.code, "nothing in the memory" in nothing.out) == (1, True)


def test_the_sum_counts_all_that_is_listed(one: ClaudeTranscript, recollect: Recollect) -> None:
    one.user("No, never use zanzibarquux here. We decided to use plovers instead.")
    one.assistant("We use plovers.")
    assert recollect("sync").code == 0
    assert recollect("learnings", "add", "Say wombat before zanzibarquux.").code == 0
    asked = ("forget", "--pattern", "zanzibarquux", "--dry-run")
    listed = recollect(*asked, "--json").data["learned"]
    assert f", {len(listed)} learnings, decisions and notes; " in recollect(*asked).out.partition("would go: ")[2]
    assert "would go: 1 learning, decision or note; 0 B" in recollect("forget", "--pattern", "wombat", "--dry-run").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--yes",),
        ("--session", "claude:x"),  # nobody can be asked
        ("--pattern", "(", "--yes"),
        ("--pattern", ".*", "--yes"),
        ("--pattern", ".+", "--yes"),
        ("--pattern", r"\w", "--yes"),
        ("--pattern", r"\S+", "--yes"),
        ("--pattern", "(?s).", "--yes"),
        ("--pattern", "[^x]", "--yes"),
        ("--pattern", ".*", "--repo", "x", "--yes"),
        ("--repo", "no-such", "--yes"),
        ("--since", "not a time", "--yes"),
        ("--list", "--repo", "x"),
        ("--session", "claude:none", "--yes"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error_and_changes_nothing(
    one: ClaudeTranscript, recollect: Recollect, arguments: tuple[str, ...]
) -> None:
    recollect("sync")
    refused = recollect("forget", *arguments)
    assert refused.code == 2, refused
    assert "Traceback" not in refused.err
    assert recollect("sessions", "--json").data["total"] == 1


def test_a_wrong_pattern_is_named_before_it_asks_for_a_yes(recollect: Recollect) -> None:
    assert "'[' is not a regular expression" in recollect("forget", "--pattern", "[").err


def test_an_empty_memory_has_nothing_to_forget(recollect: Recollect) -> None:
    nothing = recollect("forget", "--repo", "x", "--yes", "--json")
    assert (nothing.code, nothing.data["state"]) == (1, "nothing")
    assert recollect("forget", "--list").code == 1


def test_who_names_nothing_is_told_to_name_something(one: ClaudeTranscript, recollect: Recollect) -> None:
    for arguments in ((), ("--yes",), ("--dry-run",)):
        refused = recollect("forget", *arguments)
        assert (refused.code, "no option says what to forget" in refused.err) == (2, True)


def test_a_pattern_with_a_scope_is_not_said_to_erase_everything(one: ClaudeTranscript, recollect: Recollect) -> None:
    recollect("sync")
    refused = recollect("forget", "--pattern", ".*", "--session", one.uid, "--dry-run")
    assert (refused.code, "everything" in refused.err, "leave it out" in refused.err) == (2, False, True)


def test_a_pattern_that_leaves_no_session_is_refused_and_only_shown_by_a_dry_run(
    one: ClaudeTranscript, isolated_home: Path, recollect: Recollect
) -> None:
    ClaudeTranscript(isolated_home / ".claude", "two").user("please undo zanzibarquux")
    recollect("sync")
    refused = recollect("forget", "--pattern", "e", "--yes")
    assert (refused.code, "selects all 2 sessions" in refused.err, "delete " in refused.err) == (2, True, True)
    assert recollect("sessions", "--json").data["total"] == 2
    shown = recollect("forget", "--pattern", "e", "--dry-run")
    assert (shown.code, "these are all sessions of the memory" in shown.out) == (0, True)
    with Memory.open() as memory, pytest.raises(UsageError, match="selects all 2 sessions"):
        memory.maintenance.forgetting.plan(ForgetSelection(pattern="e"), is_dry=False)


def test_instruction_files_of_agents_and_repositories_that_contain_it_are_named(
    isolated_home: Path, recollect: Recollect
) -> None:
    repository = isolated_home / "shop"
    repository.mkdir()
    transcript = ClaudeTranscript(isolated_home / ".claude", "one", cwd=str(repository))
    transcript.user("please deploy zanzibarquux")
    holding = [isolated_home / ".claude" / "CLAUDE.md", repository / "AGENTS.md"]
    for path in (*holding, repository / "README.md"):
        path.write_text("Deploy zanzibarquux first.\n" if path in holding else "Nothing.\n", "utf-8")
    recollect("sync")
    expected = sorted(str(path) for path in (transcript.path, *holding))
    for how in ("--dry-run", "--yes"):
        assert recollect("forget", "--pattern", "zanzibarquux", how, "--json").data["files"] == expected


def test_a_pattern_that_only_its_case_keeps_from_matching_says_so(one: ClaudeTranscript, recollect: Recollect) -> None:
    recollect("sync")
    for arguments in (("--dry-run",), ("--yes",)):
        nothing = recollect("forget", "--pattern", "ZanzibarQuux", *arguments)
        assert (nothing.code, "'(?i)ZanzibarQuux' would match" in nothing.out) == (1, True)
    assert "would match" not in recollect("forget", "--pattern", "nowhere at all", "--yes").out

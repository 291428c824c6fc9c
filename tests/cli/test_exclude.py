"""`recollect exclude`: a repository is kept out, listed, and let in again; the rest of the configuration stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.testing.builders import ClaudeTranscript
from tests.cli.conftest import Outcome


@pytest.fixture
def claude_home(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECOLLECT_HOME", str(isolated_home / "memory"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(isolated_home / "claude"))
    return isolated_home / "claude"


@pytest.fixture
def config(claude_home: Path) -> Path:
    folder = claude_home.parent / "memory"
    folder.mkdir()
    return folder / "config.toml"


def test_a_repository_is_kept_out_and_let_in_again(
    recollect: Callable[..., Outcome], claude_home: Path, config: Path
) -> None:
    config.write_text("# mine\n[privacy]\nallow = ['x']  # kept\n", "utf-8")
    ClaudeTranscript(claude_home, "kept", cwd="/w/shop").user("zkept")
    assert recollect("exclude").out.startswith("no repository is excluded")
    told = recollect("exclude", "payroll", "payroll", "--json").data
    assert told == {"exclude_repos": ["payroll"], "stored_sessions": 0, "stored_repos": []}
    assert config.read_text("utf-8").startswith("# mine\n[privacy]\nallow = ['x']  # kept\n")
    ClaudeTranscript(claude_home, "hidden", cwd="/w/payroll").user("zhidden")
    told = "note: not kept: 1 session of excluded repositories"
    assert told in recollect("sync").out
    assert told not in recollect("sync").out, "it was not read again"
    assert recollect("search", "zhidden").code == 1
    assert recollect("search", "zkept").code == 0
    assert recollect("exclude", "payroll", "--remove").code == 0
    assert recollect("search", "zhidden").code == 0


def test_what_came_before_is_counted_and_its_end_is_named(
    recollect: Callable[..., Outcome], claude_home: Path, config: Path
) -> None:
    ClaudeTranscript(claude_home, "one", cwd="/w/payroll").user("zone")
    assert recollect("sync").code == 0
    shown = recollect("exclude", "payroll").out
    assert "already stored: 1 session" in shown
    assert "`recollect forget --repo payroll`" in shown
    assert "forget --repo payroll" in recollect("doctor").out


def test_what_several_patterns_left_is_erased_with_each_of_them(
    recollect: Callable[..., Outcome], claude_home: Path, config: Path
) -> None:
    folder = str(Path("~/work/tools").expanduser())
    ClaudeTranscript(claude_home, "one", cwd="/w/payroll").user("zone")
    ClaudeTranscript(claude_home, "two", cwd=folder).user("ztwo")
    assert recollect("sync").code == 0
    assert "`recollect forget --repo '~/work/t*'`" in recollect("exclude", "~/work/t*").out
    several = "`recollect forget --repo PATTERN`, once for each that is excluded"
    assert several in recollect("exclude", "payroll").out
    assert several in recollect("doctor").out
    for pattern in ("payroll", "~/work/t*"):
        assert recollect("forget", "--repo", pattern, "--yes").code == 0
    assert "already stored" not in recollect("exclude").out


def test_a_name_that_no_repository_has_may_be_a_slip(
    recollect: Callable[..., Outcome], claude_home: Path, config: Path
) -> None:
    ClaudeTranscript(claude_home, "one", cwd="/w/payroll").user("zone")
    assert recollect("sync").code == 0
    slip = recollect("exclude", "payrol")
    assert "no repository called 'payrol'; did you mean payroll?" in slip.out
    assert "no repository" not in recollect("exclude", "payroll", "/w/elsewhere").out


def test_a_folder_is_kept_whole(
    recollect: Callable[..., Outcome], config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(config.parent)
    told = recollect("exclude", ".", "~/clients/*", "a/b", "--json").data
    here = os.path.abspath(config.parent)
    assert told["exclude_repos"] == [here, "~/clients/*", os.path.join(here, "a", "b")]


@pytest.mark.parametrize("name", ["", "  ", "*", "**/*", "/"])
def test_a_name_that_means_no_repository_is_refused(
    recollect: Callable[..., Outcome], claude_home: Path, name: str
) -> None:
    done = recollect("exclude", "payroll", name)
    assert (done.code, done.out) == (2, "")
    assert f"{name!r} names no repository" in done.err
    assert recollect("exclude", "--json").data["exclude_repos"] == []


def test_what_cannot_be_is_said_and_changes_nothing(recollect: Callable[..., Outcome], config: Path) -> None:
    config.write_text("[privacy]\nexclude_repos = ['payroll']\n", "utf-8")
    assert recollect("exclude", "--remove").code == 2
    unknown = recollect("exclude", "payrol", "--remove")
    assert unknown.code == 2
    assert "payroll" in unknown.err
    config.write_text("[privacy\n", "utf-8")
    assert recollect("exclude", "shop").code == 2
    assert config.read_text("utf-8") == "[privacy\n"

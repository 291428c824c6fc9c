"""`recollect setup` as a person types it: shown first, done when agreed, nothing chosen silently, probed afterwards."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recollect.cli.main import run
from tests.setup.configurations import CONFIGURATIONS


class Outcome(NamedTuple):
    """What a run gave; `data` with `--json`."""

    code: int
    out: str
    err: str
    data: Any


class Terminal(io.StringIO):
    """Standard input with a person at it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def home(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with Claude Code and Kimi Code in it; no agent's program is on the PATH."""
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for slug in ("claude", "kimi"):
        for name, text in CONFIGURATIONS[slug].items():
            path = isolated_home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    return isolated_home


@pytest.fixture
def recollect(home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    def call(*argv: str, answers: str | None = None) -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.StringIO() if answers is None else Terminal(answers))
        capfd.readouterr()
        code = run(("setup", *argv))
        sys.stdout.flush()
        said = capfd.readouterr()
        return Outcome(code, said.out, said.err, json.loads(said.out) if "--json" in argv else None)

    return call


def contents(home: Path) -> dict[str, bytes]:
    """Everything below the home but the memory."""
    found = sorted(p for p in home.rglob("*") if p.is_file() and home / "recollect" not in p.parents)
    return {str(p.relative_to(home)): p.read_bytes() for p in found}


def test_a_dry_run_shows_every_file_and_line_and_does_nothing(home: Path, recollect: Callable[..., Outcome]) -> None:
    before = contents(home)
    shown = recollect("--dry-run", "--diff")
    assert shown.code == 0
    assert contents(home) == before
    assert not (home / "recollect").exists()
    for name in (".claude.json", ".claude/settings.json", ".claude/skills/recall/SKILL.md", ".kimi-code/config.toml"):
        assert str(home / name) in shown.out
    assert '+    "recollect": {' in shown.out
    assert "EXAMPLE-NOT-A-TOKEN" not in shown.out
    assert "then probe: start `" in shown.out
    assert '"autoMemoryEnabled": false' in shown.out
    short = recollect("--dry-run").out
    assert f"write skill: {home / '.claude/skills/recall/SKILL.md'}, +" in short
    assert '+    "recollect": {' not in short


def test_what_was_agreed_is_done_probed_and_taken_out_exactly(home: Path, recollect: Callable[..., Outcome]) -> None:
    before = contents(home)
    done = recollect("claude", "--yes")
    assert done.code == 0, done.out
    assert "probe MCP server: ok: starts and lists" in done.out
    assert "probe hook: ok" in done.out
    after = contents(home)
    again = recollect("claude", "--yes")
    assert (again.code, contents(home)) == (0, after)
    assert "nothing to do" in again.out
    assert recollect("claude", "--remove", "--yes").code == 0
    assert contents(home) == before
    assert not (home / "recollect" / "setup.json").exists()


def test_each_agent_is_asked_about(home: Path, recollect: Callable[..., Outcome]) -> None:
    before = contents(home)
    asked = recollect("--mode", "push", answers="n\ny\n")
    assert asked.code == 0, asked.err
    assert "Do this for Claude Code?" in asked.out
    changed = {name for name, data in contents(home).items() if before.get(name) != data}
    assert changed == {".kimi-code/config.toml"}


@pytest.mark.parametrize("words", [(), ("--yes",), ("--remove", "--yes"), ("--json",), ("--diff",)])
def test_without_names_and_without_a_person_nothing_is_chosen(
    home: Path, recollect: Callable[..., Outcome], words: tuple[str, ...]
) -> None:
    if "--remove" in words:
        assert recollect("kimi", "--mode", "push", "--yes").code == 0
    before = contents(home)
    refused = recollect(*words)
    assert refused.code == 2
    assert "name the agents" in (refused.out if "--json" in words else refused.err)
    if "--remove" in words:
        assert "hint: recollect setup kimi --remove --yes" in refused.err
    if "--diff" in words:
        assert "hint: recollect setup --dry-run --diff" in refused.err
    assert contents(home) == before


def test_with_names_but_nobody_to_ask_it_wants_an_agreement(home: Path, recollect: Callable[..., Outcome]) -> None:
    refused = recollect("claude")
    assert (refused.code, "--yes" in refused.err) == (2, True)


def test_an_agent_that_is_not_here_is_not_touched(home: Path, recollect: Callable[..., Outcome]) -> None:
    before = contents(home)
    report = recollect("codex", "--yes", "--json")
    assert report.code == 1
    assert [(a["slug"], a["state"]) for a in report.data["agents"]] == [("codex", "not_found")]
    assert contents(home) == before


def test_an_agent_that_setup_does_not_know_is_named(recollect: Callable[..., Outcome]) -> None:
    assert recollect("nonsense", "--dry-run").code == 2
    unknown = recollect("aider", "--dry-run")
    assert unknown.code == 2
    assert "claude" in unknown.err


def test_a_blocked_part_is_told_and_the_rest_is_done(home: Path, recollect: Callable[..., Outcome]) -> None:
    (home / ".claude" / "settings.json").write_text('{"model": "opus",}')
    report = recollect("claude", "--yes", "--json")
    assert report.code == 3
    (agent,) = report.data["agents"]
    assert agent["state"] == "incomplete"
    blocked = [step for step in agent["steps"] if step["action"] == "blocked"]
    assert [(step["kind"], step["path"]) for step in blocked] == [("hooks", str(home / ".claude" / "settings.json"))]
    assert "line 1" in blocked[0]["detail"]
    assert (home / ".claude" / "skills" / "recall" / "SKILL.md").exists()


def test_its_own_memory_is_only_turned_off_when_that_was_asked(home: Path, recollect: Callable[..., Outcome]) -> None:
    settings = home / ".claude" / "settings.json"
    recollect("claude", "--mode", "push", "--yes")
    assert b'"autoMemoryEnabled": true' in settings.read_bytes()
    recollect("claude", "--mode", "push", "--disable-native-memory", "--yes")
    assert b'"autoMemoryEnabled": false' in settings.read_bytes()
    recollect("claude", "--remove", "--yes")
    assert settings.read_bytes() == CONFIGURATIONS["claude"][".claude/settings.json"].encode()


def test_where_our_plugin_is_turned_on_nothing_is_written_twice(home: Path, recollect: Callable[..., Outcome]) -> None:
    recollect("claude", "--yes")
    path = home / ".claude" / "settings.json"
    plugin = b'{"enabledPlugins": {"recollect@recollect": true},'
    path.write_bytes(path.read_bytes().replace(b"{", plugin, 1))
    report = recollect("claude", "--yes")
    assert (report.code, "our plug-in provides it" in report.out) == (0, True)
    original = CONFIGURATIONS["claude"][".claude/settings.json"].encode()
    assert path.read_bytes() == original.replace(b"{", plugin, 1)
    assert b"recollect" not in (home / ".claude.json").read_bytes()


def test_push_registers_no_tools_and_pull_no_hooks(home: Path, recollect: Callable[..., Outcome]) -> None:
    recollect("claude", "--mode", "push", "--yes")
    assert b"recollect" not in (home / ".claude.json").read_bytes()
    assert not (home / ".claude" / "skills" / "recall").exists()
    recollect("claude", "--mode", "pull", "--yes")
    assert b'"recollect"' in (home / ".claude.json").read_bytes()
    assert b"recollect" not in (home / ".claude" / "settings.json").read_bytes()


def test_who_also_runs_these_hooks_is_said(home: Path, recollect: Callable[..., Outcome]) -> None:
    assert "Grok Build also runs the hooks of Claude Code" not in recollect("claude", "--dry-run").out
    (home / ".grok").mkdir()
    assert "Grok Build also runs the hooks of Claude Code" in recollect("claude", "--dry-run").out
    assert "Grok Build also runs the hooks of Claude Code" not in recollect("claude", "--mode", "pull", "--dry-run").out


def test_files_for_instructions_are_never_made(home: Path, recollect: Callable[..., Outcome]) -> None:
    recollect("claude", "kimi", "--yes")
    names = {Path(name).name for name in contents(home)}
    assert not names & {"CLAUDE.md", "AGENTS.md", "MEMORY.md", "GEMINI.md", "QWEN.md"}


class TestDoctor:
    """What doctor says of an agent that was set up."""

    @pytest.fixture
    def doctor(self, recollect: Callable[..., Outcome], capfd: pytest.CaptureFixture[str]) -> Callable[[], Any]:
        def check() -> Any:
            capfd.readouterr()
            run(("doctor", "--json"))
            checks = json.loads(capfd.readouterr().out)["checks"]
            return next((c for c in checks if c["name"].startswith("setup")), None)

        return check

    def test_nothing_where_nothing_was_set_up(self, doctor: Callable[[], Any]) -> None:
        assert doctor() is None

    def test_all_is_well_and_who_else_injects_is_said(
        self, recollect: Callable[..., Outcome], doctor: Callable[[], Any]
    ) -> None:
        recollect("claude", "--yes")
        check = doctor()
        assert check["state"] == "ok"
        assert "auto memory" in check["detail"]
        assert '"autoMemoryEnabled": false' in check["hint"]

    def test_settings_that_were_lost_or_edited(
        self, home: Path, recollect: Callable[..., Outcome], doctor: Callable[[], Any]
    ) -> None:
        recollect("claude", "--yes")
        (home / ".claude" / "settings.json").write_bytes(CONFIGURATIONS["claude"][".claude/settings.json"].encode())
        check = doctor()
        assert check["state"] == "warn"
        assert "9 of 9 of our settings are missing or edited" in check["detail"]
        assert check["hint"] == "run `recollect setup claude` again"

    def test_a_server_that_does_not_start_any_more(
        self, home: Path, recollect: Callable[..., Outcome], doctor: Callable[[], Any]
    ) -> None:
        recollect("claude", "--mode", "pull", "--yes")
        path = home / ".claude.json"
        path.write_text(path.read_text().replace('"mcp"', '"no-such-verb"'))
        details = "; ".join((doctor()["detail"], *doctor()["details"]))
        assert "does not answer" in details

    def test_a_plugin_of_ours_beside_the_settings(
        self, home: Path, recollect: Callable[..., Outcome], doctor: Callable[[], Any]
    ) -> None:
        recollect("claude", "--mode", "push", "--yes")
        path = home / ".claude" / "settings.json"
        path.write_bytes(path.read_bytes().replace(b"{", b'{"enabledPlugins": {"recollect@recollect": true},', 1))
        assert "every hook runs twice" in doctor()["detail"]

    def test_hooks_that_the_agent_does_not_trust_yet(
        self, home: Path, recollect: Callable[..., Outcome], doctor: Callable[[], Any]
    ) -> None:
        (home / ".codex").mkdir()
        recollect("codex", "--mode", "push", "--yes")
        assert doctor()["detail"] == "0 of 8 hooks are allowed in the agent"
        hooks = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]
        lines = []
        for event, groups in hooks.items():
            label = "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
            for number in range(len(groups)):
                key = f"{home}/.codex/hooks.json:{label}:{number}:0"
                lines.append(f'[hooks.state."{key}"]\ntrusted_hash = "sha256:0"\n')
        (home / ".codex" / "config.toml").write_text("".join(lines))
        assert doctor()["state"] == "ok"

    def test_hooks_that_the_person_turned_off(
        self, home: Path, recollect: Callable[..., Outcome], doctor: Callable[[], Any]
    ) -> None:
        path = home / ".claude" / "settings.json"
        path.write_text('{"disableAllHooks": true}')
        told = recollect("claude", "--mode", "push", "--yes")
        assert f"turn hooks off: `disableAllHooks` in {path}" in told.out
        assert "turn hooks off" in doctor()["detail"]

    def test_an_agent_that_is_gone(
        self, home: Path, recollect: Callable[..., Outcome], doctor: Callable[[], Any]
    ) -> None:
        recollect("kimi", "--mode", "push", "--yes")
        shutil.rmtree(home / ".kimi-code")
        assert doctor()["detail"] == "the agent is gone"
        assert recollect("kimi", "--remove", "--yes").code == 0
        assert doctor() is None

    def test_a_damaged_manifest(self, home: Path, doctor: Callable[[], Any]) -> None:
        (home / "recollect").mkdir()
        (home / "recollect" / "setup.json").write_text("[]")
        assert doctor()["state"] == "fail"

    def test_what_an_older_version_set_up_is_brought_up_to_date(
        self, home: Path, recollect: Callable[..., Outcome], doctor: Callable[[], Any]
    ) -> None:
        """As after an upgrade that moved the program: nothing was edited by hand, so `--fix` may write it."""
        recollect("kimi", "--mode", "push", "--yes")
        config = home / ".kimi-code" / "config.toml"
        manifest = home / "recollect" / "setup.json"
        before = config.read_text()
        for path in (config, manifest):
            text = path.read_text().replace("umask 077", "umask 022")
            assert text != path.read_text()
            path.write_text(text)
        assert doctor()["id"] == "outdated"
        assert run(("doctor", "--fix")) == 0
        assert doctor()["state"] == "ok"
        assert config.read_text() == before


def test_where_nothing_is_set_up_there_is_nothing_to_take_out(recollect: Callable[..., Outcome]) -> None:
    said = recollect("--remove")
    assert (said.code, said.out) == (1, "nothing is set up; `recollect setup --help` says more\n")


def test_a_removal_asks_only_if_there_is_something_to_remove(home: Path, recollect: Callable[..., Outcome]) -> None:
    nothing = recollect("claude", "--remove")
    assert (nothing.code, "nothing to do" in nothing.out) == (0, True)
    recollect("claude", "--yes")
    before = contents(home)
    refused = recollect("claude", "--remove")
    assert (refused.code, "--yes" in refused.err, contents(home)) == (2, True, before)


def test_the_tools_that_write_are_turned_on_and_off_and_the_skill_tells_of_them(
    home: Path, recollect: Callable[..., Outcome]
) -> None:
    config, skill = home / "recollect" / "config.toml", home / ".claude" / "skills" / "recall" / "SKILL.md"
    config.parent.mkdir()
    config.write_text("# mine\n[context]\nbudget_tokens = 900\n")
    before = contents(home)
    shown = recollect("claude", "--write", "--dry-run", "--diff")
    assert "+writing_tools = true" in shown.out
    assert "`diary_write` at the end of a piece of work" in shown.out
    assert (contents(home), config.read_text()) == (before, "# mine\n[context]\nbudget_tokens = 900\n")

    done = recollect("claude", "--write", "--yes", "--json")
    assert done.code == 0, done.err
    assert config.read_text() == "# mine\n[context]\nbudget_tokens = 900\n\n[mcp]\nwriting_tools = true\n"
    assert [(step["kind"], step["action"]) for step in done.data["settings"]] == [("writing_tools", "add")]
    (probe,) = (one for one in done.data["agents"][0]["probes"] if one["name"] == "MCP server")
    assert "diary_write" in probe["detail"]
    assert "`fact_invalidate`" in skill.read_text()

    again = recollect("claude", "--write", "--yes", "--json")
    assert ([step["action"] for step in again.data["settings"]], again.data["agents"][0]["state"]) == (
        ["none"],
        "unchanged",
    )
    assert recollect("claude", "--yes").code == 0
    assert "writing_tools = true" in config.read_text()

    assert recollect("claude", "--no-write", "--yes").code == 0
    assert "writing_tools = false" in config.read_text()
    assert "diary_write" not in skill.read_text()


def test_nothing_is_set_up_where_the_tools_that_write_are_declined(
    home: Path, recollect: Callable[..., Outcome]
) -> None:
    before = contents(home)
    declined = recollect("claude", "--write", answers="n\n")
    assert declined.code == 2
    assert "nothing was done" in declined.err
    assert contents(home) == before
    assert not (home / "recollect" / "config.toml").exists()
    refused = recollect("claude", "--write", "--remove", "--yes")
    assert refused.code == 2
    assert "--write and --no-write cannot be used with --remove" in refused.err


def test_a_configuration_that_cannot_be_read_is_named(home: Path, recollect: Callable[..., Outcome]) -> None:
    config = home / "recollect" / "config.toml"
    config.parent.mkdir()
    config.write_text("[mcp\n")
    broken = recollect("claude", "--write", "--yes")
    assert broken.code != 0
    assert str(config) in broken.err

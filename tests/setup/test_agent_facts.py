"""What is particular to one agent, and what every declaration must have."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.agents.install.contract import ConfigFile, Folder, Hooks, InstallContext, Mcp, OwnFile, Platform
from recollect.agents.install.described import installs
from recollect.agents.install.documents import apply_edits, load, new_document
from recollect.agents.opencode.server import is_second
from recollect.maintenance import agent_checks
from recollect.maintenance.reports import Check
from recollect.maintenance.setup.planner import SetupOptions
from tests.setup.configurations import CONFIGURATIONS
from tests.setup.desk import BOTH, OUT, SERVER, Desk, done
from tests.setup.shims import given_for

PLATFORMS: tuple[Platform, ...] = ("linux", "macos", "windows")
OURS = ("cursor", "opencode", "codewhale", "grok", "vscode", "copilot", "windsurf", "zed", "goose", "hermes", "pi")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "setup.md"
every_install = pytest.mark.parametrize("slug", installs())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def given_on(platform: Platform, slug: str, home: Path) -> InstallContext:
    return msgspec.structs.replace(given_for(slug, home), platform=platform)


def document(part: ConfigFile, given: InstallContext) -> Any:
    """Return what a part writes into a file that is not there yet."""
    return load(apply_edits(new_document(part.frame, part.format), part.format, part.edits(given)).text, part.format)


def hooks_of(slug: str, given: InstallContext) -> dict[str, Any]:
    """Return the hooks of an agent that are JSON or a part of its settings."""
    hooks = installs()[slug].hooks
    assert isinstance(hooks, Hooks)
    whole = document(hooks.part, given) if isinstance(hooks.part, ConfigFile) else json.loads(hooks.part.text(given))
    return dict(whole["hooks"])


def problems(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what `doctor` says of each agent that is set up; its server answers."""
    monkeypatch.setattr(agent_checks, "probe_server", lambda _launch, _env: Check("MCP server", "ok", ""))
    return [check.state for check in agent_checks.setup_checks(desk.memory, desk.machine)]


# What every declaration has


@every_install
def test_its_facts_have_sources(slug: str) -> None:
    install = installs()[slug]
    assert install.slug == slug
    assert install.sources
    for source in install.sources:
        assert source.url.startswith("https://")
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", source.read_on)
        assert source.what
    assert install.verified_version


@every_install
def test_every_place_is_known_on_every_platform(slug: str) -> None:
    install = installs()[slug]
    folders: list[Folder] = list(install.folders)
    folders += [memory.place.folder for memory in install.native_memory]
    for part in (install.mcp, install.hooks, install.skill):
        if isinstance(part, Mcp):
            folders.append(part.file.place.folder)
        elif isinstance(part, Hooks):
            folders.append(part.part.place.folder)
        elif isinstance(part, OwnFile):
            folders.append(part.place.folder)
    for folder in folders:
        for platform in PLATFORMS:
            templates = folder.templates(platform)
            assert templates
            assert all(template.startswith(("~", "$")) and "\\" not in template for template in templates)


@every_install
@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_it_writes_parses_on_every_platform(slug: str, platform: Platform, tmp_path: Path) -> None:
    install = installs()[slug]
    given = given_on(platform, slug, tmp_path)
    if isinstance(install.mcp, Mcp):
        assert "recollect" in str(document(install.mcp.file, given))
    if isinstance(install.hooks, Hooks) and isinstance(install.hooks.part, ConfigFile):
        assert document(install.hooks.part, given)
    elif isinstance(install.hooks, Hooks) and install.hooks.part.place.names[0].endswith(".json"):
        assert set(hooks_of(slug, given)) == {event.event for event in install.hooks.events}


@every_install
def test_every_event_is_named_once(slug: str) -> None:
    hooks = installs()[slug].hooks
    if isinstance(hooks, Hooks):
        names = [(event.event, event.matcher) for event in hooks.events]
        assert len(set(names)) == len(names)


@every_install
def test_the_page_tells_where_everything_goes(slug: str) -> None:
    (text,) = [part for part in PAGE.read_text("utf-8").split("\n## ") if f"`recollect setup {slug}`" in part]
    install = installs()[slug]
    parts = [getattr(install.mcp, "file", None), getattr(install.hooks, "part", None), install.skill]
    for part in parts:
        if isinstance(part, ConfigFile | OwnFile):
            assert any(name.rpartition("/")[2] in text for name in part.place.names)
    assert len(text.splitlines()) <= 64


@every_install
def test_doctor_finds_it_as_it_was_set_up(slug: str, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(CONFIGURATIONS[slug])
    desk.make_folders(slug)
    desk.do(slug)
    hooks = installs()[slug].hooks
    needs_consent = isinstance(hooks, Hooks) and hooks.trust is not None
    assert problems(desk, monkeypatch) == ["warn" if needs_consent else "ok"]


# Particular ones


def test_copilot_and_vscode_read_the_same_folder_and_each_runs_its_own(tmp_path: Path) -> None:
    """VS Code takes `windows`, `linux` or `osx` first; Copilot CLI knows `bash` and `powershell` only."""
    names = (("linux", "linux", "bash"), ("macos", "osx", "bash"), ("windows", "windows", "powershell"))
    for platform, first, other in names:
        copilot = hooks_of("copilot", given_on(platform, "copilot", tmp_path))  # type: ignore[arg-type]
        vscode = hooks_of("vscode", given_on(platform, "vscode", tmp_path))  # type: ignore[arg-type]
        for hooks, runs, stays_silent in ((copilot, other, first), (vscode, first, other)):
            for (handler,) in hooks.values():
                assert "spool" in handler[runs]
                assert handler[stays_silent] == "exit 0"
                assert "command" not in handler  # it would be run where no other is named


def test_a_skill_that_two_agents_read_stays_until_the_last_is_taken_out(desk: Desk) -> None:
    desk.write(CONFIGURATIONS["vscode"] | CONFIGURATIONS["copilot"])
    before = desk.tree()
    skill = desk.home / ".copilot/skills/recall/SKILL.md"
    for first, last in (("vscode", "copilot"), ("copilot", "vscode")):
        desk.do("vscode")
        assert ("skill", "none") in done(desk.do("copilot"))
        desk.do(first, OUT)
        assert skill.is_file()
        assert not desk.plan(last).changes
        desk.do(last, OUT)
        assert desk.tree() == before


def test_vscode_is_not_taken_for_copilot(desk: Desk) -> None:
    desk.write(CONFIGURATIONS["vscode"])
    desk.do("vscode")
    assert (desk.home / ".copilot/hooks").is_dir()
    assert not desk.planner("copilot")._found.is_installed


def test_vscode_of_another_name_is_found(desk: Desk) -> None:
    desk.write({".config/VSCodium/User/settings.json": "{}"})
    desk.do("vscode")
    assert (desk.home / ".config/VSCodium/User/mcp.json").is_file()


@pytest.mark.parametrize(
    ("version", "second"), [("", False), ("1.18.34", False), ("2.0.18", True), ("v2.1.0-beta.1", True), ("dev", False)]
)
def test_opencode_is_told_in_the_form_of_its_version(version: str, second: bool, tmp_path: Path) -> None:
    assert is_second(version) is second
    mcp = installs()["opencode"].mcp
    assert isinstance(mcp, Mcp)
    given = msgspec.structs.replace(given_for("opencode", tmp_path), version=version)
    written = document(mcp.file, given)
    assert written["$schema"] == "https://opencode.ai/config.json"
    servers = written["mcp"]["servers"] if second else written["mcp"]
    assert servers["recollect"]["command"] == [given.server.command, *given.server.args]
    assert ("enabled" in servers["recollect"]) is not second


def test_opencode_of_the_next_version_gets_the_other_form(desk: Desk) -> None:
    desk.write(CONFIGURATIONS["opencode"])
    before = desk.tree()
    desk.do("opencode")
    desk.put_program("opencode", 'print("2.0.18")')
    desk.machine = desk.machine._replace(env={**desk.machine.env, "PATH": f"{desk.bin}:/usr/bin:/bin"})
    desk.do("opencode")
    text = (desk.home / ".config/opencode/opencode.jsonc").read_text()
    assert text.count('"recollect":') == 1
    assert '"servers"' in text
    desk.do("opencode", OUT)
    assert desk.tree() == before


def test_opencode_of_either_version_is_found_as_it_was_set_up(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("1.18.34", "2.0.18"):
        desk.put_program("opencode", f'print("{version}")')
        desk.machine = desk.machine._replace(env={**desk.machine.env, "PATH": f"{desk.bin}:/usr/bin:/bin"})
        desk.do("opencode")
        assert problems(desk, monkeypatch) == ["ok"]


def test_pi_without_a_server_is_as_it_was_set_up(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.make_folders("pi")
    desk.do("pi")
    assert problems(desk, monkeypatch) == ["ok"]


def test_opencode_keeps_the_name_of_a_configuration_that_is_there(desk: Desk) -> None:
    desk.write({".config/opencode/opencode.json": "{}\n"})
    desk.do("opencode")
    assert not (desk.home / ".config/opencode/opencode.jsonc").exists()
    assert "recollect" in (desk.home / ".config/opencode/opencode.json").read_text()


def test_codewhale_is_not_given_both_names_of_its_servers(desk: Desk) -> None:
    """One is an alias of the other; a file with both cannot be read by CodeWhale."""
    desk.write({".codewhale/mcp.json": '{\n  "mcpServers": {"git": {"command": "uvx"}}\n}\n'})
    before = desk.tree()
    desk.do("codewhale")
    written = json.loads((desk.home / ".codewhale/mcp.json").read_text())
    assert set(written) == {"mcpServers"}
    assert set(written["mcpServers"]) == {"git", "recollect"}
    assert not desk.plan("codewhale").changes
    desk.do("codewhale", OUT)
    assert desk.tree() == before


def test_codewhale_under_its_earlier_name_is_found(desk: Desk) -> None:
    desk.write({".deepseek/mcp.json": "{}"})
    desk.do("codewhale")
    assert "recollect" in (desk.home / ".deepseek/mcp.json").read_text()
    assert not (desk.home / ".codewhale").exists()


def test_hermes_tells_which_hooks_were_allowed(desk: Desk) -> None:
    hooks = installs()["hermes"].hooks
    assert isinstance(hooks, Hooks)
    assert hooks.trust is not None
    assert hooks.trust.allows is not None
    given = given_for("hermes", desk.home)
    ours = hooks_of("hermes", given)["post_tool_call"][0]["command"]
    approvals = [{"event": "post_tool_call", "command": ours}, {"event": "on_session_end", "command": "other hermes x"}]
    assert hooks.trust.allows({"approvals": approvals}, "", "post_tool_call", 0)
    assert not hooks.trust.allows({"approvals": approvals}, "", "on_session_end", 0)
    assert not hooks.trust.allows({"approvals": approvals}, "", "on_session_start", 0)
    assert not hooks.trust.allows({}, "", "post_tool_call", 0)
    damaged = [3, {"event": "post_tool_call", "command": 1}]
    assert not hooks.trust.allows({"approvals": damaged}, "", "post_tool_call", 0)


def test_hermes_keeps_the_rest_of_its_configuration(desk: Desk) -> None:
    desk.write(CONFIGURATIONS["hermes"])
    before = load((desk.home / ".hermes/config.yaml").read_text(), "yaml")
    desk.do("hermes", SetupOptions("both", turns_native_memory_off=True))
    text = (desk.home / ".hermes/config.yaml").read_text()
    after = load(text, "yaml")
    assert "# What it remembers" in text
    assert after["mcp_servers"].pop("recollect")
    assert len(after["hooks"].pop("post_tool_call")) == 2
    assert set(after["hooks"]) == {"on_session_start", "subagent_stop", "on_session_end"}
    assert after["memory"] == {**before["memory"], "memory_enabled": False, "user_profile_enabled": False}
    assert (after["model"], after["hooks_auto_accept"]) == (before["model"], before["hooks_auto_accept"])


def test_goose_is_not_given_half_an_extension(desk: Desk) -> None:
    """An extension of `enabled` alone has no type; goose could not read it."""
    desk.write({".config/goose/config.yaml": "GOOSE_MODEL: x\n"})
    desk.do("goose", SetupOptions("both", turns_native_memory_off=True))
    extensions = load((desk.home / ".config/goose/config.yaml").read_text(), "yaml")["extensions"]
    assert set(extensions) == {"recollect"}
    assert {"type", "name", "cmd", "args", "enabled", "timeout"} <= set(extensions["recollect"])


def test_grok_keeps_its_comments(desk: Desk) -> None:
    desk.write(CONFIGURATIONS["grok"])
    desk.do("grok")
    text = (desk.home / ".grok/config.toml").read_text()
    assert "# Linear, for the team" in text
    servers = tomllib.loads(text)["mcp_servers"]
    assert servers["recollect"]["args"] == SERVER[1:]
    assert set(servers) == {"linear", "files", "recollect"}


def test_zed_keeps_its_comments(desk: Desk) -> None:
    desk.write(CONFIGURATIONS["zed"])
    desk.do("zed", BOTH)
    text = (desk.home / ".config/zed/settings.json").read_text()
    assert "/* one theme for day, one for night */" in text
    assert "// evenings" in text
    entry = load(text, "jsonc")["context_servers"]["recollect"]
    assert (entry["source"], entry["args"]) == ("custom", SERVER[1:])


def test_an_agent_without_hooks_says_so(desk: Desk) -> None:
    for slug in ("zed", "codewhale"):
        desk.make_folders(slug)
        (step,) = desk.do(slug, SetupOptions("push"))
        assert (step.kind, step.action) == ("hooks", "unsupported")
        assert step.detail


def test_windows_gets_no_posix_line(tmp_path: Path) -> None:
    for slug in OURS:
        install = installs()[slug]
        if not isinstance(install.hooks, Hooks) or slug in ("opencode", "pi"):
            continue
        text = json.dumps(hooks_of(slug, given_on("windows", slug, tmp_path)))
        assert "umask" not in text, slug
        assert "__main__.py" in text, slug

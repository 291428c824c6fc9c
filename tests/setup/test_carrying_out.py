"""Writing settings: whole or not at all, never over somebody else's change, and again after a crash."""

from __future__ import annotations

import json
import os
import signal
import stat
from pathlib import Path

import pytest

from recollect.errors import SettingsChanged, SettingsError
from recollect.maintenance.setup.agent_settings import read_settings, replace_settings
from recollect.maintenance.setup.planner import SetupOptions
from recollect.maintenance.setup.setup import BACKUPS, Carrier
from tests import program
from tests.setup.configurations import CONFIGURATIONS
from tests.setup.desk import BOTH, OUT, Desk

OFF = SetupOptions("both", turns_native_memory_off=True)
CHILD = """
import os, signal, sys
from pathlib import Path
from recollect.maintenance.setup.planner import SetupOptions
from tests.setup.desk import Desk

folder, slug, mode, kill_at = sys.argv[1:]
left = int(kill_at)

def counted(real):
    def call(*args, **options):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*args, **options)
    return call

desk = Desk(Path(folder))
for name in ("replace", "unlink", "mkdir", "rmdir", "fsync"):
    setattr(os, name, counted(getattr(os, name)))
desk.do(slug, SetupOptions(mode or None, turns_native_memory_off=bool(mode)))
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.write(CONFIGURATIONS["claude"])
    made.write(CONFIGURATIONS["kimi"])
    return made


def kill_at(desk: Desk, repository: Path, slug: str, wish: SetupOptions, moment: int) -> bool:
    """Carry out in a process that kills itself before its n-th change of the disk; tell whether it was killed."""
    done = program.run_script(CHILD, desk.home.parent, slug, wish.mode or "", moment, cwd=repository)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


@pytest.mark.parametrize("slug", ["claude", "kimi"])
def test_killed_at_any_moment_the_same_command_finishes_the_work(desk: Desk, repository: Path, slug: str) -> None:
    nothing = desk.tree()
    desk.do(slug, OFF)
    everything = desk.tree()
    desk.do(slug, OUT)
    assert desk.tree() == nothing
    moment = 0
    while kill_at(desk, repository, slug, OFF, moment):
        desk.do(slug, OFF)
        assert desk.tree() == everything, f"put in, killed at {moment}"
        assert kill_at(desk, repository, slug, OUT, moment % 5)
        desk.do(slug, OUT)
        assert desk.tree() == nothing, f"taken out, killed at {moment}"
        assert not desk.manifest().agents
        moment += 3
    assert moment > 10


def test_killed_while_putting_in_it_can_be_taken_out_at_once(desk: Desk, repository: Path) -> None:
    nothing = desk.tree()
    for moment in range(0, 30, 4):
        kill_at(desk, repository, "claude", OFF, moment)
        desk.do("claude", OUT)
        left = {name: entry for name, entry in desk.tree().items() if not name.endswith(".recollect-new")}
        assert left == nothing, f"killed at {moment}"


def test_a_file_that_changed_after_the_plan_was_shown_is_not_written(desk: Desk) -> None:
    planner = desk.planner("claude")
    plan = planner.plan(BOTH)
    settings = desk.home / ".claude" / "settings.json"
    settings.write_text('{"model": "opus"}')
    before = desk.tree()
    with pytest.raises(SettingsChanged, match=r"settings\.json was changed"):
        Carrier(desk.memory, planner, desk.machine.env).carry_out(plan, BOTH)
    assert desk.tree() == before


def test_a_file_that_changes_while_it_is_written_keeps_that_change(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = desk.home / ".claude" / "settings.json"
    before = read_settings(str(path))
    sync = os.fsync

    def change_meanwhile(handle: int) -> None:
        path.write_text("theirs")
        sync(handle)

    monkeypatch.setattr(os, "fsync", change_meanwhile)
    with pytest.raises(SettingsChanged):
        replace_settings(before, b"ours")
    assert path.read_text() == "theirs"
    assert [p.name for p in path.parent.iterdir() if p.is_file()] == ["settings.json"]


def test_mode_bits_stay_and_a_new_file_is_private(desk: Desk) -> None:
    settings = desk.home / ".claude" / "settings.json"
    settings.chmod(0o644)
    desk.do("claude")
    assert stat.S_IMODE(settings.stat().st_mode) == 0o644
    skill = desk.home / ".claude" / "skills" / "recall" / "SKILL.md"
    assert stat.S_IMODE(skill.stat().st_mode) == 0o600


def test_the_first_bytes_are_kept_until_they_are_back(desk: Desk) -> None:
    first = (desk.home / ".claude.json").read_bytes()
    desk.do("claude")
    desk.do("claude", SetupOptions("pull"))
    backups = desk.memory / BACKUPS
    kept = {path.name.partition("-")[2]: path for path in backups.iterdir()}
    assert kept[".claude.json"].read_bytes() == first
    assert stat.S_IMODE(kept[".claude.json"].stat().st_mode) == 0o600
    desk.do("claude", OUT)
    assert not backups.exists()


def test_a_file_that_others_changed_since_keeps_its_backup(desk: Desk) -> None:
    desk.do("claude")
    settings = desk.home / ".claude" / "settings.json"
    changed = settings.read_bytes().replace(b'"permissions"', b'"model": "opus",\r\n    "permissions"')
    settings.write_bytes(changed)
    desk.do("claude", OUT)
    original = CONFIGURATIONS["claude"][".claude/settings.json"].encode()
    assert settings.read_bytes() == original.replace(b'"permissions"', b'"model": "opus",\r\n    "permissions"')
    assert [path.name.partition("-")[2] for path in (desk.memory / BACKUPS).iterdir()] == ["settings.json"]


def test_settings_that_the_agent_laid_out_anew_are_left_so_and_can_be_taken_out(desk: Desk) -> None:
    path = desk.home / ".claude" / "settings.json"
    first = json.loads(path.read_bytes())
    desk.do("claude")
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=7, sort_keys=True))
    before = desk.tree()
    assert not desk.plan("claude").changes
    desk.do("claude")
    assert desk.tree() == before
    desk.do("claude", OUT)
    assert json.loads(path.read_bytes()) == first


def test_a_moved_program_replaces_what_the_old_one_wrote(desk: Desk) -> None:
    nothing = desk.tree()
    desk.do("claude")
    old = desk.machine.program
    desk.machine = desk.machine._replace(program=old._replace(recollect="/new/recollect", python="/new/python"))
    desk.do("claude")
    settings = (desk.home / ".claude" / "settings.json").read_text()
    assert old.recollect not in settings
    assert settings.count("/new/python") == 4  # start, compact, flush, end
    assert old.recollect not in (desk.home / ".claude.json").read_text()
    desk.do("claude", OUT)
    assert desk.tree() == nothing


def test_a_manifest_that_cannot_be_read_stops_everything(desk: Desk) -> None:
    (desk.memory / "setup.json").write_text("{")
    before = desk.tree()
    with pytest.raises(SettingsError, match=r"setup\.json cannot be read"):
        desk.do("claude")
    assert desk.tree() == before


@pytest.mark.parametrize("kind", ["folder", "loop", "not text"])
def test_what_is_no_file_of_text_is_left_alone_and_named(desk: Desk, kind: str) -> None:
    path = desk.home / ".claude.json"
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    else:
        path.write_bytes(b'{"a": "\xff"}')
    before = desk.tree()
    blocked = [step for step in desk.plan("claude").steps if step.action == "blocked"]
    assert [step.path for step in blocked] == [str(path)]
    assert desk.tree() == before


def test_a_folder_that_cannot_be_made_is_named(desk: Desk) -> None:
    (desk.home / ".claude" / "skills" / "recall").write_text("a file of theirs")
    steps = desk.do("claude")
    assert [step.kind for step in steps if step.action == "blocked"] == ["skill"]

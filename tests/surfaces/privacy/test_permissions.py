"""Everything in a memory's home is its owner's alone, whatever the umask and whichever verb wrote it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import recollect.hook
from recollect.agents.registry import adapters
from recollect.cli.first_run import lay_out
from tests.archive.keyrings import Keyrings
from tests.surfaces.privacy.servers import serving

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's; Windows has the profile's own rights")

VERBS: tuple[tuple[str, ...], ...] = (
    ("doctor",),
    ("sync",),
    ("search", "test"),
    ("search", "*est*"),
    ("sessions",),
    ("stats",),
    ("timeline",),
    ("decisions",),
    ("context",),
    ("usage",),
    ("retro", "--since", "2026-09-01"),
    ("verify",),
    ("doctor",),
    ("embed",),
    ("rebuild", "index"),
    ("rebuild", "all"),
    ("keys", "rotate"),
    ("keys", "move", "keyring"),
    ("keys", "move", "file"),
    ("reveal", "--log"),
    ("service", "install", "--dry-run", "--manager", "cron"),
    ("service", "status"),
    ("config",),
    ("agents",),
)


def open_to_others(folder: Path) -> list[str]:
    """Return every file and folder that somebody but its owner may do anything with."""
    found = [folder, *folder.rglob("*")]
    return [f"{stat.filemode(path.lstat().st_mode)} {path}" for path in found if path.lstat().st_mode & 0o077]


_EVERY_VERB = """
import json, os, sys
from recollect.__main__ import main
for argv in json.loads(sys.argv[1]):
    os.umask(0)
    sys.argv = ["recollect", *argv]
    print("==", *argv, main(), flush=True)
"""


def test_no_verb_leaves_anything_open_to_others(
    isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Keyrings(tmp_path, monkeypatch)
    sample = tmp_path / "sample-of-all"
    sample.mkdir()
    lay_out(sample, tuple(adapters()))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(sample / "sample" / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(sample / "sample" / "codex"))
    home = Path(os.environ["RECOLLECT_HOME"])
    for verbs in (VERBS[:2], VERBS[2:]):  # the home is made; then everything is done in it
        command = [sys.executable, "-c", _EVERY_VERB, json.dumps(verbs)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        codes = [line for line in done.stdout.splitlines() if line.startswith("== ")]
        assert len(codes) == len(verbs), done.stderr
        assert [line for line in codes if not line.endswith((" 0", " 1"))] == [], done.stderr
        assert open_to_others(home) == []


def test_a_program_that_uses_the_library_lets_nobody_into_its_memory(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from recollect import Memory\n"
        "from recollect.agents.registry import adapters; from recollect.cli.first_run import lay_out\n"
        "os.umask(0); home = Path(sys.argv[1]); home.mkdir(mode=0o700)\n"
        "with Memory.open(home, config=lay_out(home, tuple(adapters()))) as memory:\n"
        "    assert memory.sync().state == 'done'; assert memory.search('test').hits\n"
    )
    home = tmp_path / "home"
    subprocess.run([sys.executable, "-c", script, str(home)], check=True)
    folders = [
        home,
        *(path for path in home.rglob("*") if path.is_dir() and home / "sample" not in (path, *path.parents)),
    ]
    assert len(folders) > 5
    assert [path for path in folders if path.stat().st_mode & 0o077] == []


def test_a_hook_leaves_nothing_open_to_others(isolated_home: Path) -> None:
    home = Path(os.environ["RECOLLECT_HOME"])
    home.mkdir(mode=0o700)
    (home / "spool").mkdir(mode=0o700)  # set-up makes both
    payload = b'{"hook_event_name": "SessionStart", "session_id": "5f0c", "cwd": "/work"}'
    hook = Path(recollect.hook.__file__).with_name("__main__.py")
    for command in (["-m", "recollect", "hook"], ["-S", str(hook)]):
        argv = [sys.executable, *command, "claude", "spool", str(home / "spool"), sys.executable]
        subprocess.run(argv, input=payload, check=True, umask=0)
    assert any(path.is_file() for path in home.rglob("*"))
    assert open_to_others(home) == []


@pytest.mark.skipif(sys.platform != "linux", reason="that it serves is seen in /proc")
@pytest.mark.parametrize("argv", [("up", "--port", "0"), ("mcp", "--http", "--port", "0")], ids=lambda argv: argv[0])
def test_a_server_leaves_nothing_open_to_others(isolated_home: Path, tmp_path: Path, argv: tuple[str, ...]) -> None:
    home = Path(os.environ["RECOLLECT_HOME"])
    with serving(argv, tmp_path / "said", umask=0):
        assert open_to_others(home) == []
    assert any(path.is_file() for path in home.rglob("*"))
    assert open_to_others(home) == []

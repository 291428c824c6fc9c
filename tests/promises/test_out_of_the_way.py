"""Never in the agent's way: its folder is read by an allow-list of names, and left exactly as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ingest.conftest import World

CREDENTIALS = (
    "claude/.credentials.json",
    "claude/.claude.json",
    "claude/settings.json",
    "claude/projects/-w-demo/.env",
    "claude/projects/-w-demo/credentials.json",
    "codex/auth.json",
    "codex/config.toml",
    "codex/sessions/2026/08/01/auth.json",
    ".claude.json",
)
SPY = """
import os, sys
_log = os.open(os.environ["SPY_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
_root = os.environ["SPY_ROOT"]
def _spy(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)):
        path = os.path.abspath(os.fsdecode(args[0]))
        if path.startswith(_root):
            os.write(_log, f"{os.getpid()}\\t{args[2]}\\t{path}\\n".encode())
sys.addaudithook(_spy)
"""
SYNC = """
import os, sys
import recollect.ingest.worker.pool as pool
from recollect.memory import Memory
if sys.argv[2] == "processes":
    pool.SMALL_BYTES = 0
    pool.own_command = lambda *, module: (sys.executable, "-m", module)  # isolated, they would not load the spy
with Memory.open(sys.argv[1]) as memory:
    assert memory.sync().state == "done"
    assert memory.search("visible", sync=False).hits
    memory.maintenance.doctor()
    memory.agents.list()
print(os.getpid())
"""


def plant(world: World) -> list[Path]:
    """Write history of both agents with credentials beside it; return the credential files."""
    world.claude().user("visible words")
    world.codex().turn("visible words", "and an answer")
    planted = [world.root / name for name in CREDENTIALS]
    for path in planted:
        path.write_text(json.dumps({"token": "made up"}))
    return planted


def what_is_there(folder: Path) -> dict[str, tuple[int, int, int, int, bytes]]:
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        facts = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (facts.st_mode, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, content)
    return found


def test_the_agents_folder_is_left_exactly_as_it_was(world: World) -> None:
    plant(world)
    before = [what_is_there(home) for home in (world.claude_home, world.codex_home)]
    world.memory.sync()
    world.memory.search("visible")
    world.memory.maintenance.verify()
    world.memory.maintenance.doctor()
    world.memory.maintenance.rebuild("all")
    assert [what_is_there(home) for home in (world.claude_home, world.codex_home)] == before


@pytest.mark.parametrize("where", ["here", "processes"])
def test_no_process_opens_a_credential_file_or_anything_for_writing(world: World, where: str) -> None:
    """Every Python process that the sync starts is watched, by an audit hook on each opening of a file."""
    planted = {str(path) for path in plant(world)}
    spy = world.root / "spy"
    spy.mkdir()
    (spy / "sitecustomize.py").write_text(SPY)
    log = world.root / "opened.log"
    watched = {"PYTHONPATH": str(spy), "SPY_LOG": str(log), "SPY_ROOT": str(world.root)}
    done = subprocess.run(
        [sys.executable, "-c", SYNC, str(world.memory.home), where],
        env={**os.environ, **world.env, **watched}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    opened = [line.split("\t") for line in log.read_text().splitlines()]
    theirs = [
        (process, int(flags), path)
        for process, flags, path in opened
        if path.startswith((str(world.claude_home), str(world.codex_home))) or path in planted
    ]
    assert len({path for _, _, path in theirs if path.endswith(".jsonl")}) == 2
    assert {path for _, _, path in theirs} & planted == set()
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    assert [path for _, flags, path in theirs if flags & writing] == []
    assert ({process for process, _, _ in theirs} == {done.stdout.strip()}) == (where == "here")


@pytest.mark.skipif(os.name == "nt", reason="making links needs a privilege there")
def test_a_link_that_leads_out_of_the_agents_folder_is_not_followed(world: World) -> None:
    plant(world)
    outside = world.root / "private/diary.jsonl"
    outside.parent.mkdir()
    outside.write_text('{"type":"user","message":{"role":"user","content":"my own diary"}}\n')
    (world.claude_home / "projects/-w-demo/linked.jsonl").symlink_to(outside)
    report = world.memory.sync()
    assert not world.memory.search("diary", sync=False).hits
    assert [Path(s.path).name for s in report.agents["claude"].skipped] == ["linked.jsonl"]

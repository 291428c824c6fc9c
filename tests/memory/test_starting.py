"""A search loads only what a search needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.store.meta import FILE_NAME
from recollect.testing.builders import ClaudeTranscript
from recollect.wire import RUN_FOLDER

NOT_NEEDED = (
    "recollect.agents.registry", "recollect.archive.archive", "recollect.ingest.sync", "recollect.ingest.worker",
    "recollect.ingest.parse", "recollect.privacy.detectors", "recollect.store.writer", "recollect.maintenance",
    "cryptography", "genai_prices", "numpy", "rich",
)  # fmt: skip
PROGRAM = f"""
import sys
from recollect.config import Config
from recollect.memory import Memory
with Memory.open(sys.argv[1], config=Config(), env={{"HOME": sys.argv[1]}}) as memory:
    memory.search("zebra", sync=False)
print(",".join(name for name in {NOT_NEEDED!r} if name in sys.modules))
"""


def test_a_search_without_syncing_loads_neither_parsers_nor_detectors_nor_upkeep(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "memory")]
    subprocess.run(command, capture_output=True, check=True)  # makes the memory, which takes a writer
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("", "", 0)


def test_what_a_program_reads_of_the_command_is_printed_without_loading_the_renderer(tmp_path: Path) -> None:
    ran = (
        "import sys\nfrom recollect.cli.main import run\n"
        "status = run(['search', 'zebra'])\n"
        "print(status, 'rich' in sys.modules, file=sys.stderr)\n"
    )
    home = tmp_path / "home"
    env = {**os.environ, "HOME": str(tmp_path), "RECOLLECT_HOME": str(home), "FORCE_COLOR": "", "TTY_COMPATIBLE": ""}
    done = subprocess.run([sys.executable, "-c", ran], capture_output=True, text=True, check=False, env=env)
    assert (done.stdout.splitlines()[0], done.stderr) == ("nothing found", "1 False\n")


WRITING = (
    "recollect.archive.archive",
    "recollect.ingest.sync",
    "recollect.privacy.detectors",
    "recollect.store.writer",
)
LEARNING = ("recollect.ingest.learnings.keep", "recollect.insights.decisions", "recollect.insights.language")
BUDGETS = {
    ("--help",): ("msgspec.inspect", "recollect.cli.commands", "recollect.memory", "rich"),
    ("search", "zebra", "--no-sync"): (*WRITING, *LEARNING, "numpy", "rich", "multiprocessing", "concurrent.futures"),
    ("sessions", "--no-sync"): (*WRITING, *LEARNING, "numpy", "recollect.recall.search"),
    ("usage", "--no-sync", "--json"): (*WRITING, *LEARNING, "numpy", "recollect.recall.search", "rich"),
    ("sync", "--json"): (*LEARNING, "numpy", "recollect.recall.search", "rich", "recollect.ingest.worker.pool"),
}
"""What a command must not load, by the command; of a sync one that finds nothing new."""
LOADED = """
import sys
from recollect.cli.main import run
run(sys.argv[2:])
print(*(name for name in sys.argv[1].split(",") if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize("command", BUDGETS, ids=" ".join)
def test_a_command_loads_nothing_that_it_does_not_need(tmp_path: Path, command: tuple[str, ...]) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "RECOLLECT_HOME": str(tmp_path / "memory"), "FORCE_COLOR": ""}
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        env.pop(name, None)
    subprocess.run([sys.executable, "-m", "recollect", "sync"], env=env, capture_output=True, check=True)
    arguments = [sys.executable, "-c", LOADED, ",".join(BUDGETS[command]), *command]
    done = subprocess.run(arguments, env=env, capture_output=True, text=True, check=False)
    assert done.stderr == "\n"


def test_a_sync_of_one_line_loads_no_numpy_and_compiles_nothing_that_the_last_one_compiled(tmp_path: Path) -> None:
    talk = ClaudeTranscript(tmp_path / "claude", "one")
    env = {
        **os.environ, "COLUMNS": "", "HOME": str(tmp_path), "RECOLLECT_HOME": str(tmp_path / "memory"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex"),
    }  # fmt: skip
    program = (
        "import sys\nfrom recollect.cli.main import run\nrun(['sync'])\n"
        "print([name for name in ('numpy', 'dataclasses', 'html') if name in sys.modules])"
    )
    loaded, kept = [], []
    for _ in range(3):
        talk.user("we decided to keep the queue in SQLite, and never in Redis")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env)
        loaded.append(done.stdout.splitlines()[-1])
        kept.append((tmp_path / "memory" / RUN_FOLDER / FILE_NAME).stat().st_ino)
    assert loaded[1:] == ["[]", "[]"]  # the first sync makes the memory
    assert kept[1] == kept[2]


def test_looking_for_changes_where_there_are_none_loads_no_numpy_and_compiles_no_pattern_of_a_secret(
    tmp_path: Path,
) -> None:
    """Both take as long as all else that a short command does."""
    program = (
        "import sys\nfrom recollect.config import Config\nfrom recollect.memory import Memory\n"
        "with Memory.open(sys.argv[1], config=Config(), env={'HOME': sys.argv[1]}) as memory:\n"
        "    memory.search('zebra')\n"
        "from recollect.privacy.detectors import DEFAULT\n"
        "print('numpy' in sys.modules, sum('compiled' in vars(detector.pattern) for detector in DEFAULT))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "memory")], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("False 0", "")


def test_every_name_of_the_door_can_be_imported() -> None:
    import recollect.memory

    assert all(getattr(recollect.memory, name) is not None for name in dir(recollect.memory))

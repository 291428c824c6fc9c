"""However large a line, a file or a folder is: all of it is taken in, with bounded memory and few open files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from recollect.testing.builders import ClaudeTranscript
from tests.faults.support.trials import Bench
from tests.faults.support.worlds import opened, prepare_home

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fork is POSIX")
LINE_BYTES = 200_000_000
FILES = 1_500
FEW_OPEN_FILES = 64
MOST_BYTES = 300_000_000
"""Of one process: what the whole of them may have is a benchmark."""
SCRIPT = """
import resource, sys
from recollect.cli.main import run
code = run(["sync", "--json"])
peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print("peak", max(peaks) * (1 if sys.platform == "darwin" else 1024))
raise SystemExit(code)
"""


def peak_of(output: str) -> int:
    return int(output.rsplit("peak ", 1)[1].split(maxsplit=1)[0])


def test_a_line_of_200_megabytes_is_kept_exactly_and_never_held(bench: Bench, tmp_path: Path) -> None:
    one = ClaudeTranscript(tmp_path / "claude", "one")
    one.user("before the long line")
    piece = json.dumps(" ".join(f"{n * 7919 % 100_003}" for n in range(170_000))).encode()[1:-1]
    with one.path.open("ab") as handle:
        handle.write(b'{"type":"assistant","uuid":"giant","note":"haystackneedle","x":"')
        for _ in range(LINE_BYTES // len(piece) + 1):
            handle.write(piece)
        handle.write(b'"}\n')
    one.user("after the long line")
    assert one.path.stat().st_size > LINE_BYTES
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    home = prepare_home(tmp_path / "home")
    (home / "config.toml").write_text("[embedding]\nin_background = false\n")
    ended = bench.nursery.run((), home=home, env=env, script=SCRIPT)
    assert ended.code == 0, ended
    assert peak_of(ended.output) < MOST_BYTES
    with opened(home, env) as memory:
        assert memory.maintenance.verify().ok
        with one.path.open("rb") as handle:
            for given in memory.maintenance.export_bytes(one.uid, format="raw"):
                assert handle.read(len(given)) == given
            assert not handle.read(1)
        assert [e.kind for e in memory.events(one.uid)].count("unknown") == 1
        assert memory.search("haystackneedle", sync=False).hits
        assert memory.search('"after the long line"', sync=False).hits


def test_thousands_of_files_need_few_open_ones(bench: Bench, tmp_path: Path) -> None:
    for number in range(FILES):
        ClaudeTranscript(tmp_path / "claude", f"s{number}", cwd=f"/w/p{number % 40}").user(f"word{number} of many")
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    home = prepare_home(tmp_path / "home")
    (home / "config.toml").write_text("[embedding]\nin_background = false\n")
    ended = bench.nursery.run((), home=home, env=env, script=SCRIPT, open_files=FEW_OPEN_FILES)
    assert ended.code == 0, ended
    assert peak_of(ended.output) < MOST_BYTES
    with opened(home, env) as memory:
        assert memory.maintenance.verify().ok
        assert memory.stats().sessions == FILES
        assert memory.search(f"word{FILES // 2}", sync=False).total == 1
        again = memory.sync()
        assert (again.events, again.agents["claude"].unchanged) == (0, FILES)

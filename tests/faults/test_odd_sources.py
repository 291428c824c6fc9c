"""Sources that vanish, shrink, are replaced or cannot be read while they are read: said, and right the next time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.testing.builders import ClaudeTranscript
from tests.faults.support.trials import Bench
from tests.faults.support.worlds import assert_database_is_sound, opened, prepare_home

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fork is POSIX")

HAPPENS = {
    "vanishes": "os.unlink(path)",
    "shrinks": "os.truncate(path, size // 2)",
    "is emptied": "os.truncate(path, 0)",
    "grows": 'open(path, \'ab\').write(b\'{"type":"user","uuid":"late","message":{}}\\n\')',
    "is replaced": "open(path + '.other', 'wb').write(old[::-1]); os.replace(path + '.other', path)",
    "is rewritten in place": "open(path, 'r+b').write(b'{}' * 300)",
    "becomes a folder": "os.unlink(path); os.mkdir(path)",
}
"""What happens to a file right when it is opened, as Python."""
SCRIPT = """
import os, sys
path, moment = {path!r}, {moment}
old, size, seen = open(path, "rb").read(), os.path.getsize(path), 0
def happen(event, arguments):
    global seen
    if event == "open" and arguments[0] == path and not (arguments[2] & (os.O_WRONLY | os.O_RDWR)):
        seen += 1
        if seen == moment:
            {happens}
sys.addaudithook(happen)
from recollect.cli.main import run
raise SystemExit(run(["sync", "--json"]))
"""


@pytest.mark.parametrize("moment", [1, 2, 3])
@pytest.mark.parametrize("what", HAPPENS)
def test_whatever_happens_to_a_file_while_it_is_read_the_next_sync_is_right(
    bench: Bench, tmp_path: Path, what: str, moment: int
) -> None:
    one, two = (ClaudeTranscript(tmp_path / "claude", name) for name in ("one", "two"))
    for number in range(30):
        one.user(f"said {number} " + "words " * 500)
        two.user(f"steady {number}")
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    home = prepare_home(tmp_path / "home")
    assert bench.nursery.run(("sync",), home=home, env=env).code == 0
    whole = one.path.read_bytes()
    one.user("said last")
    two.user("steady last")
    final = one.path.read_bytes()
    script = SCRIPT.format(path=str(one.path), moment=moment, happens=HAPPENS[what])
    ended = bench.nursery.run((), home=home, env=env, script=script)
    assert ended.code in (0, 3), ended
    assert not ended.is_bug, ended
    assert_database_is_sound(home)
    with opened(home, env) as memory:
        assert memory.maintenance.verify().ok
        assert [e.payload.text for e in memory.events(two.uid) if e.kind == "user_message"][-1] == "steady last"  # type: ignore[union-attr]
        first = b"".join(memory.maintenance.export_bytes(one.uid, revision=1, format="raw"))
        assert first.startswith(whole), "what was stored before is what it was"
    if one.path.is_dir():
        one.path.rmdir()
    one.path.write_bytes(final)
    assert bench.nursery.run(("sync",), home=home, env=env).code == 0
    with opened(home, env) as memory:
        assert memory.maintenance.verify().ok
        assert b"".join(memory.maintenance.export_bytes(one.uid, format="raw")) == final
        said = [e.payload.text for e in memory.events(one.uid) if e.kind == "user_message"]  # type: ignore[union-attr]
        assert [text.split()[1] for text in said if text.startswith("said")] == [*map(str, range(30)), "last"]
        assert memory.sync().events == 0


def test_what_is_no_file_or_cannot_be_read_is_said_and_the_rest_goes_on(bench: Bench, tmp_path: Path) -> None:
    one = ClaudeTranscript(tmp_path / "claude", "one")
    one.user("the sound one")
    folder = one.path.parent
    os.mkfifo(folder / "pipe.jsonl")  # opening it would wait for ever
    (folder / "folder.jsonl").mkdir()
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "dangling.jsonl").symlink_to("nowhere")
    (folder / "outside.jsonl").symlink_to("/etc/passwd")
    (folder / "empty.jsonl").touch()
    (folder / "noise.jsonl").write_bytes(os.urandom(100_000))
    (folder / "zeros.jsonl").write_bytes(bytes(3_000_000))
    two = ClaudeTranscript(tmp_path / "claude", "two")
    two.user("the oddly named one")
    two.path.rename(folder / "odd\nname.jsonl")
    (folder / os.fsdecode(b"no\xfftext.jsonl")).write_bytes(one.path.read_bytes())
    locked = folder / "locked.jsonl"
    locked.write_bytes(one.path.read_bytes())
    locked.chmod(0)  # who runs the tests as root can read it all the same
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    home = prepare_home(tmp_path / "home")
    ended = bench.nursery.run(("sync", "--json"), home=home, env=env)
    assert ended.code in (0, 3), ended
    assert not ended.is_bug, ended
    with opened(home, env) as memory:
        report = memory.sync()
        assert report.events == 0
        said = {Path(s.path).name: s.reason for s in report.agents["claude"].skipped}
        assert said.keys() >= {"pipe.jsonl", "folder.jsonl", "outside.jsonl", "empty.jsonl", "no?text.jsonl"}
        assert memory.maintenance.verify().ok
        assert memory.search("sound", sync=False).hits
        assert memory.search("oddly", sync=False).hits
        assert not memory.search("root:x", sync=False).hits

"""A pass over what changed leaves what a pass over everything leaves, and looks nowhere else."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.capture.scope import Scope
from recollect.ingest.operations import take_changes
from recollect.memory import Memory, SyncReport
from recollect.testing.builders import ClaudeTranscript
from tests.ingest.conftest import World, texts

STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "new", "move", "delete", "rewrite"]), st.integers(0, 3)), max_size=8
)


def take(memory: Memory, *paths: Path) -> SyncReport:
    """Take in what changed at some paths of Claude Code."""
    scope = Scope(map(str, paths), agents=("claude",))
    return take_changes(memory, scope, should_stop=lambda: False)


def seen(memory: Memory) -> tuple[object, ...]:
    """What two memories must have in common, whatever the times at which they looked."""
    sources = sorted((r.path, r.key, r.status, r.revision, r.committed_bytes) for r in memory.reader().sources())
    sessions = memory.sessions(sync=False, limit=100).sessions
    said = sorted((s.session_uid, tuple(texts(list(memory.events(s.session_uid))))) for s in sessions)
    return sources, said


def step(talks: list[ClaudeTranscript], home: Path, what: str, which: int, number: int) -> list[Path]:
    """Do to the transcripts what an agent or its user may do; return the paths that the system would tell of."""
    if what == "new" or not talks:
        talk = ClaudeTranscript(home, f"talk {number}", cwd=f"/w/{which}")
        talk.user(f"it begins at step {number}")
        talks.append(talk)
        return [talk.path]
    talk = talks[which % len(talks)]
    if what == "append":
        talk.user(f"step {number} said more")
    elif what == "rewrite":
        talk.path.write_bytes(talk.path.read_bytes().replace(b"begins", b"starts"))
    elif what == "move":
        folder = talk.path.parent.parent / f"-moved-{number}"
        folder.mkdir()
        before, talk.path = talk.path, talk.path.rename(folder / talk.path.name)
        return [before, talk.path]
    else:
        talk.path.unlink()
        talks.remove(talk)
    return [talk.path]


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_confined_passes_leave_what_whole_passes_leave(tmp_path_factory: object, steps: list[tuple[str, int]]) -> None:
    root: Path = tmp_path_factory.mktemp("confined")  # type: ignore[attr-defined]
    env = {"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex")}
    talks: list[ClaudeTranscript] = []
    with Memory.open(root / "confined", env=env) as confined, Memory.open(root / "whole", env=env) as whole:
        confined.sync()
        whole.sync()
        for number, (what, which) in enumerate(steps):
            take(confined, *step(talks, root / "claude", what, which, number))
            whole.sync()
        assert seen(confined) == seen(whole)
        before = seen(confined)
        assert confined.sync().events == 0, "nothing was left for the pass over everything"
        assert seen(confined) == before


def test_what_changed_elsewhere_waits(world: World) -> None:
    one, two = world.claude("one"), world.claude("two")
    one.user("first")
    two.user("second")
    world.memory.sync()
    one.user("more of the first")
    two.user("more of the second")
    report = take(world.memory, one.path)
    assert (report.events, list(report.agents)) == (1, ["claude"])
    assert texts(list(world.memory.events(two.uid))) == ["second"]
    assert world.memory.sync().events == 1


def test_a_folder_stands_for_all_in_it(world: World) -> None:
    talks = [world.claude(name) for name in ("one", "two")]
    for talk in talks:
        talk.user("it begins")
    report = take(world.memory, talks[0].path.parent)
    assert report.agents["claude"].new == 2


def test_a_copy_is_no_move_while_the_first_still_stands(world: World) -> None:
    talk = world.claude("one")
    talk.user("it begins")
    world.memory.sync()
    copy = talk.path.parent.with_name("-w-copy") / talk.path.name
    copy.parent.mkdir()
    copy.write_bytes(talk.path.read_bytes())
    report = take(world.memory, copy)
    assert (report.agents["claude"].moved, report.agents["claude"].new) == (0, 1)
    states = {row.path: row.status for row in world.memory.reader().sources("claude")}
    assert states == {str(talk.path): "active", str(copy): "active"}


def test_a_volume_that_is_gone_but_for_its_folder_is_not_a_deletion(world: World) -> None:
    talk = world.claude("one")
    talk.user("it begins")
    world.memory.sync()
    world.claude_home.rename(world.root / "away")
    world.claude_home.mkdir()
    world.memory.sync()
    take(world.memory, talk.path)
    assert {row.status for row in world.memory.reader().sources("claude")} == {"active"}


def test_a_pass_ends_when_it_is_told_to_and_the_next_goes_on(world: World) -> None:
    talks = [world.claude(f"talk {number}") for number in range(20)]
    for talk in talks:
        for turn in range(20):
            talk.user(f"request {turn} " + "x" * 20_000)
    report = take_changes(world.memory, None, should_stop=lambda: True)
    assert report.state == "interrupted"
    assert world.memory.sync().state == "done"
    assert world.memory.stats().sessions == 20
    assert world.memory.maintenance.verify().ok

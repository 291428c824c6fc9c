"""Sessions that have ended are analysed, once, whole, and the same whatever happened on the way."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from recollect.config import Config, DistillConfig, GateConfig, GateRuleConfig
from recollect.errors import ConfigError
from recollect.memory import DistillingFacet, Memory, NewDecision, SyncProgress
from recollect.model.insights.nodes import Marker, Speaker
from recollect.serve.mcp.freshness import Freshness
from recollect.store import insight_feed as feeding
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from tests import program
from tests.ingest.conftest import World
from tests.ingest.insights.plain_stages import PLAIN, WordGate

BY_HAND = Config(distill=DistillConfig(enabled=False))
"""A sync then takes in only; the test says when to distill and with which stages."""


def kept(memory: Memory) -> list[tuple[bytes, int, int | None]]:
    """Every node as it is stored, with when it was recorded and revoked."""
    return [
        (msgspec.json.encode(item.node), item.recorded_at, item.revoked_at) for item in memory.nodes(with_revoked=True)
    ]


def told(memory: Memory) -> dict[str, Any]:
    """Everything that was distilled, without what depends on when it was seen."""
    uids = [s.session_uid for s in memory.sessions(limit=100, sync=False).sessions]
    return {
        "nodes": [node for node, _, _ in kept(memory)],
        "digests": [memory.digest(uid) for uid in sorted(uids)],
        "decisions": [(v.decision.id, v.state, v.links, v.episodes) for v in memory.decisions().decisions],
    }


def tell_a_story(world: World) -> ClaudeTranscript:
    one = world.claude("one")
    one.user("decide: postgres not mysql because it is free")
    one.write("/w/demo/db.py", "import postgres\n" * 400)
    one.tool("Bash", {"command": "pytest -q"}, "3 passed")
    one.assistant("done. decide: black")
    return one


@pytest.fixture
def memory(world: World) -> Memory:
    return world.again(BY_HAND)


def test_a_sync_analyses_what_has_ended(world: World) -> None:
    one = tell_a_story(world)
    report = world.memory.sync()
    assert (report.state, report.notes, report.distilled_sessions) == ("done", [], 1)
    digest = world.memory.digest(one.uid)
    assert digest is not None
    session = world.memory.session(one.uid)
    assert session.analyzed_at is not None
    assert (session.outcome, session.outcome_reason) == (digest.outcome, "; ".join(digest.outcome_reasons))
    assert report.stage_seconds["distill"] > 0


def test_nothing_new_is_nothing_to_analyse(world: World) -> None:
    tell_a_story(world)
    world.memory.sync()
    before = kept(world.memory)
    assert world.memory.sync().distilled_sessions == 0
    assert kept(world.memory) == before


def test_an_analysis_gives_decisions_with_episodes_and_evidence(world: World, memory: Memory) -> None:
    one = tell_a_story(world)
    memory.sync()
    assert memory.distilling.run(stages=PLAIN).sessions == 1
    black, postgres = memory.decisions().decisions
    assert (black.decision.chosen, postgres.decision.rejected) == (("black",), ("mysql",))
    assert postgres.citation == f"{one.uid}#1"
    (episode,) = (item.node for item in memory.nodes(kinds=("episode",)))
    assert postgres.episodes == (episode.id,)
    assert len(episode.location.record_sha256) == 64
    assert [v.decision.id for v in memory.decisions(path="db.py").decisions] == [
        black.decision.id,
        postgres.decision.id,
    ]
    assert memory.decisions(path="b.py").decisions == ()


def test_a_session_that_grows_is_analysed_again_and_the_rest_is_not(world: World, memory: Memory) -> None:
    one, two = tell_a_story(world), world.claude("two")
    two.user("decide: tabs")
    memory.sync()
    assert memory.distilling.run(stages=PLAIN).sessions == 2
    two.user("decide: spaces")
    memory.sync()
    report = memory.distilling.run(stages=PLAIN)
    assert (report.sessions, report.revoked) == (1, 0)
    assert {v.decision.chosen for v in memory.decisions().decisions} == {
        ("postgres",),
        ("black",),
        ("tabs",),
        ("spaces",),
    }
    assert memory.session(one.uid).analyzed_at is not None


def test_in_whatever_pieces_it_came_the_nodes_are_the_same(world: World, memory: Memory, tmp_path: Path) -> None:
    one = tell_a_story(world)
    whole = one.path.read_bytes()
    memory.sync()
    memory.distilling.run(stages=PLAIN)
    expected = told(memory)
    root = tmp_path / "pieces"
    path = root / "claude" / one.path.relative_to(world.claude_home)
    path.parent.mkdir(parents=True)
    env = {"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex")}
    with Memory.open(root / "memory", config=BY_HAND, env=env) as other:
        for end in (1, 400, len(whole) // 2, len(whole) - 1, len(whole)):
            path.write_bytes(whole[:end])
            other.sync()
            other.distilling.run(stages=PLAIN)
        assert told(other) == expected


def test_a_rebuild_says_the_same_and_keeps_what_was_revoked_and_added(world: World, memory: Memory) -> None:
    one = tell_a_story(world)
    memory.sync()
    memory.distilling.run(stages=PLAIN)
    one.user("decide: redis")
    memory.sync()
    memory.distilling.run(stages=PLAIN)
    text = one.path.read_bytes()
    one.path.write_bytes(text.replace(b"decide: black", b"decided black"))  # the agent rewrote its file
    memory.sync()
    assert memory.distilling.run(stages=PLAIN).revoked > 0
    memory.decisions_facet.add(NewDecision("We keep it small", session=one.uid))
    before, decided = kept(memory), memory.decisions().decisions
    assert any(revoked_at is not None for _, _, revoked_at in before)
    assert len({recorded_at for _, recorded_at, _ in before}) > 1
    memory.maintenance.rebuild("all")
    report = memory.distilling.run(stages=PLAIN)
    assert (report.sessions, report.nodes, report.revoked) == (1, 0, 0)
    assert kept(memory) == before
    assert memory.decisions().decisions == decided


def test_a_rebuild_without_the_old_database_says_the_same(world: World, memory: Memory) -> None:
    one = tell_a_story(world)
    memory.sync()
    one.user("decide: redis")
    memory.sync()
    memory.distilling.run(stages=PLAIN)
    before = kept(memory)
    assert len({recorded_at for _, recorded_at, _ in before}) == 2
    memory.close()
    for path in memory.home.glob("memory.db*"):
        path.unlink()
    memory.maintenance.rebuild("all")
    memory.distilling.run(stages=PLAIN)
    assert kept(memory) == before


def test_a_decision_whose_words_changed_is_revoked_and_not_deleted(world: World, memory: Memory) -> None:
    one = world.claude()
    one.user("decide: tabs")
    memory.sync()
    memory.distilling.run(stages=PLAIN)
    (tabs,) = memory.decisions().decisions
    one.path.write_bytes(one.path.read_bytes().replace(b"decide: tabs", b"decide nothing"))
    memory.sync()
    memory.distilling.run(stages=PLAIN)
    assert memory.decisions().decisions == ()
    (revoked,) = memory.decisions(states=("revoked",)).decisions
    assert (revoked.decision, revoked.state) == (tabs.decision, "revoked")
    assert revoked.revoked_at is not None


def test_sessions_of_one_repository_are_related(world: World, memory: Memory) -> None:
    tell_a_story(world)
    two = world.claude("two")
    two.user("nothing yet")
    two.user("decide: mysql not postgres")
    memory.sync()
    memory.distilling.run(stages=PLAIN)
    states = {v.decision.chosen: v.state for v in memory.decisions().decisions}
    assert states == {("black",): "holds", ("postgres",): "reversed", ("mysql",): "holds"}


def test_a_session_under_way_waits_until_it_is_idle(world: World, memory: Memory) -> None:
    one = tell_a_story(world)
    memory.sync()
    ended_at = memory.session(one.uid).ended_at
    assert ended_at is not None
    early = DistillingFacet(memory, lambda: ended_at + 299_999_999).run(stages=PLAIN)
    assert (early.sessions, early.under_way) == (0, 1)
    assert DistillingFacet(memory, lambda: ended_at + 300_000_000).run(stages=PLAIN).sessions == 1


def test_one_session_is_analysed_on_demand_also_under_way(world: World) -> None:
    one, two = tell_a_story(world), world.claude("two")
    two.user("decide: tabs")
    idle = Config(distill=DistillConfig(enabled=False, idle_seconds=604_800))
    with world.again(idle) as memory:
        memory.sync()
        report = memory.distilling.run(sessions=[two.uid], stages=PLAIN)
        assert report.sessions == 1
        assert memory.digest(two.uid) is not None
        assert memory.digest(one.uid) is not None or memory.session(one.uid).analyzed_at is None


def test_it_can_be_stopped_after_any_session_and_goes_on(world: World, memory: Memory) -> None:
    for number in range(5):
        world.claude(f"s{number}").user(f"decide: option{number}")
    memory.sync()
    seen: list[tuple[int, int]] = []
    report = memory.distilling.run(
        stages=PLAIN, progress=lambda done, total: seen.append((done, total)), should_stop=lambda: len(seen) > 2
    )
    assert (report.state, report.sessions) == ("interrupted", 2)
    assert seen == [(0, 5), (1, 5), (2, 5)]
    assert len(memory.decisions().decisions) == 2
    assert memory.distilling.run(stages=PLAIN).sessions == 3
    assert len(memory.decisions().decisions) == 5


def test_other_rules_in_the_configuration_analyse_everything_anew(world: World, memory: Memory) -> None:
    tell_a_story(world)
    memory.sync()
    memory.distilling.run(stages=PLAIN)
    rules = GateConfig((GateRuleConfig("own.rule", "choice", "go with"),))
    with world.again(Config(distill=BY_HAND.distill, gate=rules)) as other:
        assert other.distilling.health().unfit == 1
        assert other.distilling.run(stages=PLAIN).sessions == 1
        assert other.distilling.health().unfit == 0


def test_a_rule_that_cannot_be_used_is_named(world: World) -> None:
    tell_a_story(world)
    rules = GateConfig((GateRuleConfig("own.broken", "choice", "(unclosed"),))
    with world.again(Config(distill=BY_HAND.distill, gate=rules)) as memory:
        memory.sync()
        with pytest.raises(ConfigError, match=r"own\.broken"):
            memory.distilling.run()


def test_a_pattern_of_tasks_that_cannot_be_used_is_named(world: World) -> None:
    tell_a_story(world)
    with world.again(Config(distill=DistillConfig(enabled=False, task_patterns=("OPS-(",)))) as memory:
        memory.sync()
        with pytest.raises(ConfigError, match=r"OPS-\("):
            memory.distilling.run(stages=PLAIN)


def test_patterns_of_tasks_are_those_of_the_configuration(world: World) -> None:
    one = world.claude()
    one.user("decide: tabs, for MYTASK:17")
    with world.again(Config(distill=DistillConfig(enabled=False, task_patterns=(r"MYTASK:\d+",)))) as memory:
        memory.sync()
        memory.distilling.run(stages=PLAIN)
        digest = memory.digest(one.uid)
    assert digest is not None
    assert digest.task_ref is not None
    assert digest.task_ref.ref == "MYTASK:17"


def test_switched_off_nothing_is_analysed_and_the_change_log_is_not_kept_for_it(world: World, memory: Memory) -> None:
    one = tell_a_story(world)
    memory.sync()
    one.user("more")
    assert memory.sync().distilled_sessions == 0
    assert memory.digest(one.uid) is None
    db = apsw.Connection(str(memory.home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert db.execute("SELECT count(*) FROM change").get == 0
    db.close()
    assert memory.distilling.run(stages=PLAIN).sessions == 1


def test_a_server_analyses_beside_its_answers(world: World) -> None:
    one = tell_a_story(world)
    fresh = Freshness(lambda: world.memory)
    fresh.start()
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and thread.daemon:
            thread.join(60)
    assert world.memory.digest(one.uid) is not None


def test_what_the_memory_gave_to_an_agent_decides_nothing(world: World, memory: Memory) -> None:
    one = world.claude()
    one.user("hello")
    one.user("<recollect-memory>decide: nonsense</recollect-memory>")
    internal = world.claude("internal", cwd=str(memory.home))
    internal.user("decide: ours")
    memory.sync()
    memory.distilling.run(stages=PLAIN)
    assert memory.decisions().decisions == ()
    assert memory.digest(one.uid) is not None
    assert memory.digest(internal.uid) is None
    assert memory.distilling.run(stages=PLAIN).sessions == 0


def test_a_session_of_two_sources_has_one_order_whichever_came_first(world: World, tmp_path: Path) -> None:
    """A transcript, and a prompt history that knows one prompt more."""
    one = world.claude()
    one.user("decide: tabs")
    one.assistant("fine")
    history = world.claude_home / "history.jsonl"
    line = {"display": "decide: spaces", "timestamp": 1_785_574_803_000, "project": "/w/demo", "sessionId": one.session}
    text = msgspec.json.encode(line) + b"\n"
    told_by: list[Any] = []
    for order in ("history first", "transcript first"):
        with Memory.open(tmp_path / order, config=BY_HAND, env=world.env) as memory:
            if order == "transcript first":
                history.unlink()
                memory.sync()
                history.write_bytes(text)
            else:
                history.write_bytes(text)
                transcript, kept_bytes = one.path, one.path.read_bytes()
                transcript.unlink()
                memory.sync()
                transcript.write_bytes(kept_bytes)
            memory.sync()
            memory.distilling.run(stages=PLAIN)
            nodes = [item.node for item in memory.nodes(kinds=("decision",))]
            told_by.append([(n.id, n.chosen, n.ts) for n in nodes])  # type: ignore[union-attr]
    assert told_by[0] == told_by[1]
    assert [chosen for _, chosen, _ in told_by[0]] == [("tabs",), ("spaces",)]


def test_a_sync_says_how_far_it_is(world: World) -> None:
    for number in range(3):
        world.codex(f"c{number}").turn("a question", "an answer")
    seen: list[SyncProgress] = []
    world.memory.sync(progress=seen.append)
    distilling = [(at.done_sources, at.total_sources) for at in seen if at.stage == "distill"]
    assert distilling == [(0, 3), (1, 3), (2, 3), (3, 3)]


CHILD = """
import os, sys
sys.path.insert(0, os.getcwd())
from pathlib import Path
from recollect.config import Config, DistillConfig
from recollect.memory import Memory
from tests.ingest.insights.plain_stages import PLAIN
import recollect.store.insight_writer as writing
step = int(sys.argv[2])
names = ("_save_analysis", "_save_digest", "_save_nodes", "_save_session", "relate", "note_changes")
count = 0
def wrapped(name):
    whole = getattr(writing.InsightWriter, name)
    def call(*arguments, **named):
        global count
        result = whole(*arguments, **named)
        count += 1
        if count == step:
            os.kill(os.getpid(), 9)
        return result
    setattr(writing.InsightWriter, name, call)
for name in names:
    wrapped(name)
memory = Memory.open(sys.argv[1], config=Config(distill=DistillConfig(enabled=False)))
memory.distilling.run(stages=PLAIN)
memory.close()
print("done", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
def test_killed_at_any_step_it_goes_on_and_comes_to_the_same(world: World, memory: Memory, repository: Path) -> None:
    tell_a_story(world)
    two = world.claude("two")
    two.user("nothing yet")
    two.user("decide: mysql not postgres")
    memory.sync()
    with Memory.open(world.root / "calm", config=BY_HAND, env=world.env) as calm:
        calm.sync()
        calm.distilling.run(stages=PLAIN)
        expected = told(calm)
    memory.close()
    killed = 0
    for step in range(1, 14):
        done = program.run_script(CHILD, memory.home, step, cwd=repository, env={**os.environ, **world.env})
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        killed += done.returncode != 0
        with world.again(BY_HAND) as between:  # whatever is there is whole
            for uid in (item.node.session_uid for item in between.nodes()):
                assert between.digest(uid) is not None
    assert killed >= 4
    memory.distilling.run(stages=PLAIN)
    assert told(memory) == expected


def test_the_same_run_twice_changes_nothing(world: World, memory: Memory) -> None:
    one = tell_a_story(world)
    memory.sync()
    memory.distilling.run(stages=PLAIN)
    before = kept(memory)
    report = memory.distilling.run(sessions=[one.uid], stages=PLAIN)
    assert (report.sessions, report.nodes, report.revoked) == (1, 0, 0)
    assert kept(memory) == before


class Stumbles(WordGate):
    """A gate with a mistake in it."""

    def markers(self, text: str, speaker: Speaker) -> tuple[Marker, ...]:
        if "stumble" in text:
            raise KeyError(text)
        return super().markers(text, speaker)


def test_a_mistake_of_ours_in_one_session_is_told_and_stops_no_other(world: World, memory: Memory) -> None:
    world.claude("one").user("decide: tabs")
    two = world.claude("two")
    two.user("stumble over this secret")
    memory.sync()
    report = memory.distilling.run(stages=PLAIN._replace(gate=Stumbles()))
    assert (report.state, report.sessions) == ("done", 1)
    (note,) = report.notes
    assert note.startswith(f"{two.uid} could not be analysed: a bug of Recollect, KeyError in test_distilling.py")
    assert "secret" not in note
    assert memory.distilling.health().waiting == 1
    assert memory.distilling.run(stages=PLAIN).sessions == 1


def test_of_a_very_long_session_it_is_told_how_much_was_not_read(
    world: World, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding, "MAX_EVENTS", 10)
    one = world.claude("one")
    for number in range(30):
        one.user(f"decide: part{number}")
    memory.sync()
    report = memory.distilling.run(stages=PLAIN)
    assert report.sessions == 1
    assert report.notes == [f"{one.uid} is very long: 10 events at its beginning and end were analysed, 21 between not"]
    assert {view.decision.chosen[0] for view in memory.decisions().decisions} >= {"part0", "part29"}


def test_codex_and_claude_alike(world: World, memory: Memory) -> None:
    rollout: CodexRollout = world.codex()
    rollout.turn("decide: rust not go", "fine")
    memory.sync()
    memory.distilling.run(stages=PLAIN)
    (view,) = memory.decisions().decisions
    assert (view.decision.chosen, view.decision.rejected) == (("rust",), ("go",))
    assert view.citation.startswith(rollout.uid)

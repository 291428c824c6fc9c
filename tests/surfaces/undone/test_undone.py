"""What a person went back from no longer holds: it is kept, shown on demand, and marked wherever it is found."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect.config import Config, RetentionConfig
from recollect.memory import BlameQuestion, FactQuestion, LearningFilter, Memory
from recollect.model.insights.nodes import Binding, Decision, Episode
from recollect.model.learnings.learnings import GIVEN_STATES
from recollect.model.undone import UNDONE
from recollect.serve.mcp.bounded_answer import Caller, Cursors
from recollect.serve.mcp.handler import ToolHandler
from recollect.testing.builders import ClaudeTranscript, stable_uuid
from tests.ingest.conftest import World
from tests.surfaces.looking_back.desk import bash, edit

BRANCH = (
    "Actually, use Redis for the cache instead of sqlite3. Never run the tests with xdist. Remember that the staging "
    "port is 7001. Remind me to rotate the sentry key."
)


class Story:
    """A repository, sessions of Claude Code in it on days of their own, and the memory of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.repo = world.root / "shop"
        (self.repo / ".git").mkdir(parents=True)
        self._days = 0

    def claude(self, name: str = "one") -> ClaudeTranscript:
        self._days += 1
        session = ClaudeTranscript(self.world.claude_home, name, cwd=str(self.repo))
        session._at += timedelta(days=self._days)
        return session

    def learned(self) -> Memory:
        """Take in what was written, as an hour later."""
        self.world.memory.sync()
        self.world.memory.distilling.run()
        return self.world.memory

    def states(self) -> dict[str, str]:
        """The state of every decision, by its words."""
        answer = self.learned().decisions(states=("holds", "superseded", "reversed", "contradicted", "undone"))
        return {view.decision.statement: view.state for view in answer.decisions}

    def learnings(self) -> dict[str, str]:
        return {one.text: one.state for one in self.learned().learn.learnings()}

    def context(self) -> str:
        return self.learned().context(cwd=str(self.repo)).text

    def blame(self, line: str | None) -> Any:
        question = BlameQuestion("cache.py", line, root=str(self.repo))
        return self.learned().blame(question).blame


@pytest.fixture
def story(world: World) -> Story:
    return Story(world)


def begun(story: Story, name: str = "one") -> tuple[ClaudeTranscript, str]:
    """A decision and an edit; return the session and the record that the person goes back to."""
    session = story.claude(name)
    session.user("Let us use sqlite3 instead of Redis for the cache.")
    edit(session, story.repo / "cache.py", "", "import sqlite3\nSIZE = 10\n")
    return session, session.assistant("Done. SQLite it is.")


def abandoned(story: Story, name: str = "one") -> ClaudeTranscript:
    """A branch with a decision, learnings, an action, a failure and edits, and the rewind that leaves it."""
    session, base = begun(story, name)
    wander(story, session)
    session.user("Remember that the release branch is trunk.", parentUuid=base)
    session.assistant("Noted: the release branch is trunk.")
    return session


def wander(story: Story, session: ClaudeTranscript) -> None:
    session.user(BRANCH)
    bash(session, "pytest tests/unit", "E   ImportError: no module named redis\n1 failed", is_error=True)
    edit(session, story.repo / "cache.py", "import sqlite3\n", "import redis_client\n")
    bash(session, "pytest tests/unit", "5 passed")
    bash(session, "npm run build", "error: the build failed badly", is_error=True)
    bash(session, "npm run build", "error: the build failed badly", is_error=True)
    session.assistant("I moved the cache to Redis.")


def test_a_decision_of_an_abandoned_branch_is_undone_and_what_it_superseded_holds(story: Story) -> None:
    abandoned(story)
    assert story.states() == {
        "Let us use sqlite3 instead of Redis for the cache.": "holds",
        "Actually, use Redis for the cache instead of sqlite3.": "undone",
        "Never run the tests with xdist.": "undone",
    }
    answer = story.world.memory.decisions()
    assert [view.decision.statement for view in answer.decisions] == [
        "Let us use sqlite3 instead of Redis for the cache."
    ]
    assert answer.left_out == {"undone": 2}


def test_learnings_and_actions_of_an_abandoned_branch_are_undone(story: Story) -> None:
    abandoned(story)
    states = story.learnings()
    assert states.pop("the release branch is trunk.") == "active"
    assert set(states.values()) == {"undone"}
    assert "rotate the sentry key." in states
    assert "the staging port is 7001." in states
    assert not story.world.memory.learn.actions()


def test_a_context_tells_nothing_of_an_abandoned_branch(story: Story) -> None:
    abandoned(story)
    said = story.context()
    assert "release branch is trunk" in said
    assert "use sqlite3" in said
    for word in ("use Redis", "7001", "xdist", "sentry", "npm", "pytest", "ImportError"):
        assert word not in said


def test_a_rewind_that_comes_later_undoes_what_was_stored(story: Story) -> None:
    session, base = begun(story)
    wander(story, session)
    assert story.states()["Actually, use Redis for the cache instead of sqlite3."] == "holds"
    assert story.learnings()["the staging port is 7001."] == "active"
    assert "7001" in story.context()
    session.user("Remember that the release branch is trunk.", parentUuid=base)
    session.assistant("Noted.")
    assert story.states()["Actually, use Redis for the cache instead of sqlite3."] == "undone"
    assert story.learnings()["the staging port is 7001."] == "undone"
    assert "7001" not in story.context()


def test_a_confirmation_in_an_abandoned_branch_confirms_nothing(story: Story) -> None:
    session = story.claude()
    session.user("The cache is slow.")
    base = session.assistant("Would you like me to use Redis instead of SQLite for the cache?")
    session.user("yes")
    session.assistant("Done.")
    session.user("What does SQLite cost us per request?", parentUuid=base)
    session.assistant("About two milliseconds.")
    assert set(story.states().values()) == {"undone"}


def test_a_proposal_of_an_abandoned_branch_is_not_confirmed_after_the_rewind(story: Story) -> None:
    session = story.claude()
    session.user("The cache is slow.")
    base = session.assistant("I can look at it.")
    session.user("What would you do?")
    session.assistant("Would you like me to use Redis instead of SQLite for the cache?")
    session.user("yes", parentUuid=base)
    session.assistant("I look at it now.")
    assert story.states() == {}


def test_a_learning_keeps_the_evidence_that_was_not_undone(story: Story) -> None:
    abandoned(story)
    other = story.claude("two")
    other.user("Remember that the staging port is 7001.")
    other.assistant("Noted.")
    assert story.learnings()["the staging port is 7001."] == "active"
    (one,) = story.world.memory.learn.learnings(LearningFilter(words=("7001",)))
    assert {evidence.session_uid for evidence in one.evidence} == {other.uid}
    assert "7001" in story.context()


def test_an_action_told_as_done_in_an_abandoned_branch_is_still_open(story: Story) -> None:
    session = story.claude()
    session.user("Remind me to update the changelog for release four.")
    base = session.assistant("Noted.")
    session.user("Do it now.")
    session.assistant("I updated the changelog for release four.")
    session.user("What is the weather like?", parentUuid=base)
    session.assistant("I cannot know.")
    assert story.learnings()["update the changelog for release four."] != "done"
    session.user("Do it at last.")
    session.assistant("I updated the changelog for release four.")
    assert story.learnings()["update the changelog for release four."] == "done"


def test_a_failure_after_a_rewind_is_not_fixed_by_what_was_undone(story: Story) -> None:
    session = story.claude()
    session.user("Make the tests pass.")
    bash(session, "pytest tests/unit", "E   KeyError: 'size'\n1 failed", is_error=True)
    base = session.assistant("They fail.")
    session.user("Fix it.")
    edit(session, story.repo / "cache.py", "a\n", "b\n")
    bash(session, "pytest tests/unit", "5 passed")
    session.assistant("Fixed.")
    session.user("Leave it for now.", parentUuid=base)
    session.assistant("All right.")
    said = story.context()
    assert "not seen to pass since" in said
    assert "cache.py" not in said


def test_the_digest_tells_how_the_branch_ended_that_was_kept(story: Story) -> None:
    session = abandoned(story)
    digest = story.learned().digest(session.uid)
    assert digest.last_assistant == "Noted: the release branch is trunk."
    assert not digest.error_snippets
    assert digest.cost.turns == 3, "what was spent was spent"


def test_an_undone_first_prompt_is_not_what_a_session_is_called(world: World) -> None:
    session = world.codex()
    session.turn("Use Redis for everything.", "I do.")
    world.memory.sync()
    assert world.memory.session(session.uid).title == "Use Redis for everything."
    session.line("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    session.turn("Use SQLite for everything.", "I do.")
    world.memory.sync()
    assert world.memory.session(session.uid).title == "Use SQLite for everything."


def test_the_same_words_said_again_are_a_hit_that_holds(world: World) -> None:
    session = world.codex()
    session.turn("Start with the parser.", "Yes.")
    session.turn("Move the tokenizer into a crate of its own.", "Which name?")
    session.line("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    session.turn("Move the tokenizer into a crate of its own.", "I call it lexis.")
    hits = world.memory.search("tokenizer crate", limit=10).hits
    assert [(hit.kind, hit.is_undone) for hit in hits if "tokenizer" in hit.snippet] == [("user_message", False)]


def test_a_prompt_is_not_answered_with_what_was_undone(story: Story) -> None:
    abandoned(story)
    memory = story.learned()
    asked = "moved the cache to Redis with a redis client library"
    assert any(hit.is_undone for hit in memory.search(asked).hits)
    said = memory.context(cwd=str(story.repo), event="prompt", prompt=asked).text
    assert "I moved the cache" not in said


def test_what_a_branch_within_a_branch_said_is_undone_with_it(world: World) -> None:
    session = world.codex()
    session.turn("Remember that the staging port is 7001.", "Noted.")
    session.turn("Remember that the staging port is 7002.", "Noted.")
    session.turn("Remember that the staging port is 7003.", "Noted.")
    session.line("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    session.turn("Remember that the staging port is 7004.", "Noted.")
    session.line("event_msg", {"type": "thread_rolled_back", "num_turns": 2})
    session.turn("Go on.", "I do.")
    world.memory.sync()
    states = {one.text: one.state for one in world.memory.learn.learnings()}
    assert states == {
        "the staging port is 7001.": "active",
        "the staging port is 7002.": "undone",
        "the staging port is 7003.": "undone",
        "the staging port is 7004.": "undone",
    }


def test_episodes_do_not_cross_a_rewind(story: Story) -> None:
    session = story.claude()
    session.user("Make the cache larger.")
    edit(session, story.repo / "cache.py", "SIZE = 1\n", "SIZE = 2\n")
    base = session.assistant("Done.")
    session.user("Larger.")
    edit(session, story.repo / "cache.py", "SIZE = 2\n", "SIZE = 3\n")
    session.assistant("Done.")
    session.user("A bit larger.", parentUuid=base)
    edit(session, story.repo / "cache.py", "SIZE = 2\n", "SIZE = 4\n")
    session.assistant("Done.")
    episodes = [node for node in story.learned().nodes(kinds=("episode",)) if isinstance(node.node, Episode)]
    assert [(one.node.is_undone, len(one.node.edits)) for one in episodes] == [(False, 1), (False, 1), (True, 1)]


def test_blame_names_the_kept_edit_and_its_decision(story: Story) -> None:
    abandoned(story)
    found = story.blame("import sqlite3").found
    assert not found.is_undone
    assert [bound.statement for bound in found.decisions] == ["Let us use sqlite3 instead of Redis for the cache."]


def test_blame_tells_an_undone_edit_only_where_no_kept_one_tells_the_line(story: Story) -> None:
    session = abandoned(story)
    answer = story.blame("import redis_client")
    assert (answer.found.session_uid, answer.found.is_undone, answer.found.decisions) == (session.uid, True, ())
    assert "a rewind left it behind" in answer.reason


def test_a_line_that_an_undone_edit_wrote_again_is_blamed_on_who_brought_it(story: Story) -> None:
    session, base = begun(story)
    session.user("Write it again.")
    edit(session, story.repo / "cache.py", "", "import sqlite3\nSIZE = 99\n")
    session.assistant("Done.")
    session.user("Thanks, as it was.", parentUuid=base)
    session.assistant("It is.")
    found = story.blame("import sqlite3").found
    assert (found.turn_index, found.is_undone) == (1, False)
    assert story.blame(None).found.turn_index == 1


def test_no_decision_of_an_abandoned_branch_is_bound(story: Story) -> None:
    abandoned(story)
    nodes = [kept.node for kept in story.learned().nodes()]
    undone = {node.id for node in nodes if isinstance(node, Decision) and node.is_undone}
    assert undone
    assert undone.isdisjoint(node.source for node in nodes if isinstance(node, Binding))


def test_undone_events_are_marked_wherever_they_are_shown(story: Story) -> None:
    session = abandoned(story)
    memory = story.learned()
    undone = {event.seq for event in memory.events(session.uid) if event.is_undone}
    assert {e.seq for e in memory.timeline(session=session.uid).entries if e.is_undone} == undone
    hits = memory.search("redis").hits
    assert hits
    assert {hit.is_undone for hit in hits if hit.seq in undone} == {True}
    assert {hit.is_undone for hit in hits if hit.seq not in undone} <= {False}
    exported = {form: exported_as(memory, session.uid, form) for form in ("events", "markdown", "claude-jsonl")}
    assert exported["events"].count('"is_undone":true') == len(undone)
    assert f", {UNDONE})" in exported["markdown"]
    assert '"isUndone":true' in exported["claude-jsonl"]


def exported_as(memory: Memory, uid: str, form: Any) -> str:
    return b"".join(memory.maintenance.export_bytes(uid, format=form)).decode()


def test_what_agents_ask_is_answered_with_the_mark(story: Story) -> None:
    session = abandoned(story)
    desk = ToolHandler(story.learned(), Cursors(b"k"), Caller((str(story.repo),)), [])
    assert "undone by a rewind" in desk.answer("search", {"query": "moved the cache to Redis"})
    summary = desk.answer("get_session", {"session": session.uid})
    assert "release branch is trunk" in summary
    assert "Failed tool calls" not in summary
    (seq,) = [e.seq for e in story.world.memory.events(session.uid) if e.summary == "I moved the cache to Redis."]
    assert "undone by a rewind" in desk.answer("open", {"id": f"{session.uid}#{seq}"})


def test_a_rebuild_marks_the_same_events(story: Story) -> None:
    session = abandoned(story)
    memory = story.learned()
    before = [(event.seq, event.is_undone) for event in memory.events(session.uid)]
    memory.maintenance.rebuild("all")
    assert [(event.seq, event.is_undone) for event in memory.events(session.uid)] == before
    assert any(is_undone for _, is_undone in before)


def test_sessions_that_an_earlier_version_stored_are_marked_at_the_next_sync(story: Story) -> None:
    session = abandoned(story)
    memory = story.learned()
    before = [(event.seq, event.is_undone) for event in memory.events(session.uid)]
    forget_marks(memory.home)
    assert not any(event.is_undone for event in memory.events(session.uid))
    memory.sync()
    assert [(event.seq, event.is_undone) for event in memory.events(session.uid)] == before


def forget_marks(home: Path) -> None:
    """Leave the database as a version before the marks left it."""
    db = apsw.Connection(str(home / "memory.db"))
    db.execute("UPDATE event SET bits = bits & ~(256 << 10)")
    db.execute("DELETE FROM meta WHERE key = 'undone_events'")
    db.close()


def test_a_fact_that_rests_on_something_undone_is_not_told(story: Story) -> None:
    session, base = begun(story)
    wander(story, session)
    memory = story.learned()
    memory.notes.seeding.seed()
    assert "Redis for the cache" in {fact.object for fact in memory.notes.facts.find(FactQuestion()).facts}
    session.user("Go on with something else.", parentUuid=base)
    session.assistant("All right.")
    facts = story.learned().notes.facts
    assert "Redis for the cache" not in {fact.object for fact in facts.find(FactQuestion()).facts}
    (kept,) = [f for f in facts.find(FactQuestion(is_history=True)).facts if f.object == "Redis for the cache"]
    assert kept.is_undone


def test_given_states_hold_nothing_undone() -> None:
    assert UNDONE not in GIVEN_STATES


def test_what_was_evicted_is_undone_by_a_later_rewind(story: Story) -> None:
    session, base = begun(story)
    wander(story, session)
    assert story.states()["Never run the tests with xdist."] == "holds"
    config = Config(retention=RetentionConfig(raw_soft_cap_bytes=0))
    with story.world.again(config) as memory:
        assert memory.maintenance.retention.evict().sessions
    session.user("Go on with something else.", parentUuid=base)
    session.assistant("All right.")
    assert story.states() == {
        "Let us use sqlite3 instead of Redis for the cache.": "holds",
        "Actually, use Redis for the cache instead of sqlite3.": "undone",
        "Never run the tests with xdist.": "undone",
    }


def test_a_fork_that_kept_what_its_origin_undid_still_decides_it(story: Story) -> None:
    session, base = begun(story)
    session.user("Never run the tests with xdist.")
    session.assistant("I won't.")
    copied = session.path.read_bytes().replace(session.session.encode(), stable_uuid("fork").encode())
    session.user("Go on with something else.", parentUuid=base)
    session.assistant("All right.")
    session.path.with_name(f"{stable_uuid('fork')}.jsonl").write_bytes(copied)
    assert story.states()["Never run the tests with xdist."] == "holds"

"""What holds for any session, whatever happens in it."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.decisions.bindings import PathAndTimeBinder
from recollect.insights.decisions.relations import SubjectRelator
from recollect.insights.episodes import EditGrouper
from recollect.insights.prov_export import to_prov
from recollect.insights.session_events import SessionEvents
from recollect.insights.stages import Lineage
from recollect.model.insights.nodes import Binding, Decision, Episode
from recollect.model.payloads import FileEdit, Lifecycle, Rewind, SessionStart, ToolCall, ToolResult
from tests.insights.episodes.stories import Story, decided, lightened

_NAMES = ("Redis", "Memcached", "a list", "cache.py")
_PATHS = st.sampled_from(["cache.py", "/w/a/cache.py", "b\\c.py", "", "~/x", "../up.py"])
_OPTIONS = st.lists(st.sampled_from(_NAMES), max_size=2).map(tuple)

_EVENTS = st.one_of(
    st.tuples(st.just("human"), st.sampled_from(_NAMES)),
    st.tuples(st.just("decide"), _OPTIONS, _OPTIONS, st.sampled_from(["adopt", "ban", "reverse", "reject", "prefer"])),
    st.builds(
        FileEdit, _PATHS, st.sampled_from(["create", "modify", "delete", "rename", "checkpoint"]),
        st.none() | st.just("import redis"), st.none() | st.just("import memcached"), st.just(""), _PATHS,
        st.sampled_from(["", "c1", "c2"]),
    ),
    st.builds(ToolCall, st.sampled_from(["", "c1", "c2"]), st.just("Bash"), st.sampled_from(["shell", "edit"]),
              st.sampled_from([{"command": "echo redis > cache.py"}, {"command": "git commit"}, None, "x"])),
    st.builds(ToolResult, st.sampled_from(["", "c1", "c2"]), st.just(""), st.sampled_from([None, True, False]),
              st.sampled_from([None, 0, 1]), st.just("[main 1a2b3c4] x")),
    st.builds(SessionStart, st.sampled_from(["", "/w/a", "/w/b"]), st.sampled_from(["", "/w/a"])),
    st.builds(Lifecycle, st.sampled_from(["cwd", "branch", "commit"]), detail=st.just({"commit": "0a0b0c0"}),
              cwd=st.sampled_from(["", "/w/b"]), branch=st.sampled_from(["", "x"])),
    st.builds(Rewind, st.sampled_from(["", "e0", "e2", "nowhere"]), st.sampled_from([None, 0, 1, 9])),
)  # fmt: skip


class Told(NamedTuple):
    """A session with what was decided in it."""

    stream: SessionEvents
    decisions: list[Decision]


@st.composite
def told(draw: st.DrawFn, uid: str = "one:1") -> Told:
    """Any session: events of any kind in any order, some with times, times that go back too."""
    story = Story(uid, timed=draw(st.booleans()))
    decisions: list[Decision] = []
    for item in draw(st.lists(_EVENTS, max_size=25)):
        story.minutes(draw(st.sampled_from([0, 0, 3, 200, -5])))
        _happens(story, decisions, item)
    return Told(story.stream(), decisions)


def _happens(story: Story, decisions: list[Decision], item: Any) -> None:
    if not isinstance(item, tuple):
        story.happens(item)
    elif item[0] == "human":
        story.human(item[1])
    else:
        _, chosen, rejected, polarity = item
        event = story.human(f"{polarity} {' '.join((*chosen, *rejected))}")
        decisions.append(decided(event, chosen=chosen, rejected=rejected, polarity=polarity, paths=("cache.py",)))


def distilled(session: Told) -> tuple[list[Episode], list[Binding]]:
    episodes = EditGrouper().episodes(session.stream, ())
    return episodes, PathAndTimeBinder().bindings(session.stream, (), session.decisions, episodes)


@given(told())
def test_every_edit_is_in_one_episode_and_every_place_is_real(session: Told) -> None:
    episodes, _ = distilled(session)
    places = session.stream.positions
    edits = [e for episode in episodes for e in episode.edits]
    keys = [(e.evidence.event_id, e.evidence.part, e.path, e.operation) for e in edits]
    at = [places[e.evidence.event_id, e.evidence.part] for e in edits]
    assert at == sorted(at)
    assert len(set(keys)) == len(keys)
    payloads = [e.payload for e in session.stream.events if isinstance(e.payload, FileEdit)]
    stated = [p for p in payloads if p.operation != "checkpoint" and (p.path or p.new_path)]
    assert len([e for e in edits if e.evidence.role == "edit"]) <= len(stated)
    for episode in episodes:
        assert episode.status == "derived"
        assert episode.edits
        assert episode.evidence
        assert 0 < episode.confidence <= 1
        assert abs(episode.confidence - sum(episode.features.values())) < 0.001
        assert episode.location == session.stream.events[places[episode.evidence[0].event_id, 0]].location


@given(told())
def test_a_use_is_never_later_than_what_came_of_it(session: Told) -> None:
    episodes, bindings = distilled(session)
    places = session.stream.positions
    sources = {d.id: d for d in session.decisions}
    of_episode = {e.id: {(r.evidence.event_id, r.evidence.part) for r in e.edits} for e in episodes}
    for binding in bindings:
        said = sources[binding.source].evidence[-1]
        edit = binding.evidence[0]
        assert (edit.event_id, edit.part) in of_episode[binding.episode]
        assert places[said.event_id, said.part] < places[edit.event_id, edit.part]
        assert binding.t_use is None or binding.t_gen is None or binding.t_use <= binding.t_gen
        assert binding.confidence >= 0.6
        assert binding.status == "derived"
    assert len({b.id for b in bindings}) == len(bindings)


@given(told())
def test_the_same_events_give_the_same_and_ids_are_stable_when_more_follow(session: Told) -> None:
    assert distilled(session) == distilled(session)
    episodes, bindings = distilled(session)
    story = Story("one:1")
    story.goes_on(session.stream.events)
    story.human("something else entirely, which has nothing to do with what was said before" * 5)
    story.happens(FileEdit("elsewhere.py", after="x"))
    longer = distilled(Told(story.stream(), session.decisions))
    assert [e.id for e in longer[0]][: len(episodes)] == [e.id for e in episodes]
    assert {b.id for b in bindings} <= {b.id for b in longer[1]}


@given(told(), st.integers(1, 20))
def test_light_and_whole_events_give_the_same(session: Told, limit: int) -> None:
    light = lightened(session.stream.events, limit)
    assert distilled(Told(light, session.decisions)) == distilled(session)


@given(told("one:parent"), told("one:child"), st.randoms(use_true_random=False))
def test_relations_do_not_depend_on_order_and_never_point_back_in_time(
    parent: Told, child: Told, shuffle: random.Random
) -> None:
    lineage = {
        "one:parent": Lineage("", "one:parent", "shop"),
        "one:child": Lineage("one:parent", "one:parent", "shop"),
    }
    decisions = [*parent.decisions, *child.decisions]
    episodes = distilled(child)[0]
    found = SubjectRelator().relate(decisions, episodes, lineage)
    shuffle.shuffle(decisions)
    assert SubjectRelator().relate(decisions, list(reversed(episodes)), lineage) == found
    times = {d.id: d.ts for d in decisions}
    for link in found.links:
        older, newer = times[link.older], times[link.newer]
        assert link.newer != link.older
        if link.relation != "contradicts" and older is not None and newer is not None:
            assert older <= newer
    for binding in found.bindings:
        assert binding.t_use is not None
        assert binding.t_gen is not None
        assert binding.t_use <= binding.t_gen
    assert to_prov([*decisions, *episodes, *found.bindings], found.links)

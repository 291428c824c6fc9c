"""What a session decided is bound to what its subagents did of it."""

from __future__ import annotations

from recollect.insights.decisions.relations import SubjectRelator
from recollect.insights.episodes import EditGrouper
from recollect.insights.stages import Lineage
from recollect.model.insights.nodes import Binding, Decision, Episode
from tests.insights.episodes.stories import START_US, Story, decided

LINEAGE = {"one:parent": Lineage("", "one:parent", "shop"), "one:child": Lineage("one:parent", "one:parent", "shop")}


def episodes_of(story: Story) -> list[Episode]:
    return EditGrouper().episodes(story.stream(), ())


def bound(decisions: list[Decision], episodes: list[Episode]) -> list[Binding]:
    return SubjectRelator().relate(decisions, episodes, LINEAGE).bindings


def parent(text: str, *, chosen: tuple[str, ...], minutes: float = 0) -> Decision:
    story = Story("one:parent")
    story.minutes(minutes)
    return decided(story.human(text), chosen=chosen)


def child(path: str, command: str = "") -> Story:
    story = Story("one:child")
    story.minutes(5)
    story.human("Do as you are told.")
    story.edits(path)
    if command:
        story.runs(command)
    return story


def test_a_named_path_binds_the_episode_of_a_subagent() -> None:
    decision = parent("the retries go into net/client.py", chosen=("net/client.py",))
    (episode,) = episodes_of(child("/w/shop/net/client.py"))
    (binding,) = bound([decision], [episode])
    assert (binding.source, binding.episode, binding.session_uid) == (decision.id, episode.id, "one:child")
    assert (binding.used_session, binding.generated_session) == ("one:parent", "one:child")
    assert binding.features == {"path_said": 0.50, "subagent": 0.15, "soon": 0.10}
    assert (binding.t_use or 0) <= (binding.t_gen or 0)


def test_an_option_in_a_command_of_the_subagent_counts() -> None:
    decision = parent("use Vite", chosen=("Vite",))
    (episode,) = episodes_of(child("package.json", "npm install vite"))
    assert [b.features.get("option_written") for b in bound([decision], [episode])] == [0.35]


def test_nothing_is_bound_to_another_file_an_earlier_episode_or_a_stranger() -> None:
    decision = parent("the retries go into net/client.py", chosen=("net/client.py",))
    (other,) = episodes_of(child("README.md"))
    (right,) = episodes_of(child("net/client.py"))
    assert bound([decision], [other]) == []
    assert bound([parent("in net/client.py", chosen=("net/client.py",), minutes=9)], [right]) == []
    assert SubjectRelator().relate([decision], [right], {}).bindings == []


def test_the_last_decision_on_a_subject_governs() -> None:
    first = parent("use Vite in vite.config.js", chosen=("Vite",))
    second = parent("Vite it is, in vite.config.js", chosen=("Vite",), minutes=1)
    (episode,) = episodes_of(child("vite.config.js"))
    assert [b.source for b in bound([first, second], [episode])] == [second.id]


def test_without_times_nobody_knows_what_came_first() -> None:
    story = Story("one:parent", timed=False)
    decision = decided(story.human("in net/client.py"), chosen=("net/client.py",))
    (episode,) = episodes_of(child("net/client.py"))
    assert episode.ts is not None
    assert episode.ts > START_US
    assert bound([decision], [episode]) == []

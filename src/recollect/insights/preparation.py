"""The pipeline from events to signals, nodes and a digest: one session first, then across sessions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from recollect.config import GateRuleConfig
from recollect.insights.digests import digest_of, session_of
from recollect.insights.session_events import Load, SessionEvents, by_session, speaker_of, words_of_talk
from recollect.insights.stages import Gated, Lineage, Relations, Stages
from recollect.model.events import Event
from recollect.model.insights.digests import Digest
from recollect.model.insights.nodes import Binding, Conversation, Decision, Episode, Node
from recollect.model.insights.signals import Signal
from recollect.model.sessions import Session

_NodeType = TypeVar("_NodeType", Conversation, Decision, Episode)


class Analysis(NamedTuple):
    """What one session gave. nodes: conversations, decisions, episodes, bindings, each kind in canonical order."""

    session: Session
    signals: list[Signal]
    nodes: list[Node]
    digest: Digest


def default_stages(rules: Sequence[GateRuleConfig] = (), *, is_ranked: bool = False) -> Stages:
    """Return the stages that ship. rules: of the configuration. is_ranked: learned weights find decisions too.

    Raises ConfigError for a rule that cannot be used.
    """
    from recollect.insights.decisions import ClauseDecider
    from recollect.insights.decisions.bindings import PathAndTimeBinder
    from recollect.insights.decisions.gate import RuleGate
    from recollect.insights.decisions.relations import SubjectRelator
    from recollect.insights.decisions.segment import TurnSegmenter
    from recollect.insights.episodes import EditGrouper
    from recollect.insights.signals.observer import RuleObserver

    ranker = None
    if is_ranked:
        from recollect.insights.decisions.ranked import DecisionRanker

        ranker = DecisionRanker()
    return Stages(
        RuleObserver(), RuleGate(rules), TurnSegmenter(), ClauseDecider(), EditGrouper(), PathAndTimeBinder(),
        SubjectRelator(), ranker,
    )  # fmt: skip


def analyse(
    events: Iterable[Event], *, session: Session | None = None, stages: Stages | None = None, load: Load | None = None,
    task_patterns: Sequence[str] = (),
) -> Analysis:  # fmt: skip
    """Return the analysis of one session's events. session: its known facts, else taken from the events.

    load: see `SessionEvents`. task_patterns: see `task_refs`; empty: the standard ones. Pure: the same events give the
    same result, whatever else is stored. Undone events are marked (`model.undone.marked`): the session is read without
    them, and their decisions and edits are reported as undone.
    """
    stages = stages or default_stages()
    stream = SessionEvents(events, load=load)
    kept = stream.kept
    about = session or session_of(stream.events)
    signals = stages.observer.signals(kept)
    gated = gate(kept, stages)
    conversations = stages.segmenter.conversations(kept, gated)
    decisions = stages.decider.decisions(kept, conversations)
    episodes = stages.grouper.episodes(kept, signals)
    if stages.ranker is not None:
        decisions = [one for one in stages.ranker.decisions(kept, decisions) if not _is_of_agent(one, about)]
    sure = [one for one in decisions if one.status != "ranked"]
    bindings = stages.binder.bindings(kept, conversations, sure, episodes)
    if ranked := [one for one in decisions if one.status == "ranked"]:
        bindings += _of_ranked(stages.binder.bindings(kept, [], ranked, episodes), bindings)
    digest = digest_of(stream, about, signals, gated, patterns=task_patterns or None)
    if kept is not stream:
        left = _left_behind(stream, stages)
        conversations, decisions, episodes = conversations + left[0], decisions + left[1], episodes + left[2]
    return Analysis(about, signals, [*conversations, *decisions, *episodes, *bindings], digest)


def _is_of_agent(decision: Decision, about: Session) -> bool:
    """Return whether the weights found it in a message with the user's role that an agent wrote: the prompt for its
    subagent."""
    return decision.status == "ranked" and bool(about.parent_session) and decision.speaker == "human"


def _of_ranked(bindings: Sequence[Binding], settled: Sequence[Binding]) -> list[Binding]:
    """Return bindings of ranked decisions, as ranked, to episodes without a surer origin."""
    explained = {binding.episode for binding in settled}
    return [
        msgspec.structs.replace(binding, status="ranked") for binding in bindings if binding.episode not in explained
    ]


class _LeftBehind(NamedTuple):
    """Nodes of branches that rewinds left behind."""

    conversations: list[Conversation]
    decisions: list[Decision]
    episodes: list[Episode]


def _left_behind(stream: SessionEvents, stages: Stages) -> _LeftBehind:
    """Return the analysis of branches that rewinds undid, read together with the kept part."""
    undone = {(event.event_id, event.part) for event in stream.events if event.is_undone}
    gated = [found for found in gate(stream, stages) if found.event.is_undone]
    conversations = stages.segmenter.conversations(stream, gated)
    decisions = stages.decider.decisions(stream, conversations)
    signals = stages.observer.signals(stream)
    episodes = [
        episode
        for episode in stages.grouper.episodes(stream, signals)
        if (episode.evidence[0].event_id, episode.evidence[0].part) in undone
    ]
    return _LeftBehind(_as_undone(conversations), _as_undone(decisions), _as_undone(episodes))


def _as_undone(nodes: Sequence[_NodeType]) -> list[_NodeType]:
    return [msgspec.structs.replace(node, is_undone=True) for node in nodes]


def gate(stream: SessionEvents, stages: Stages) -> list[Gated]:
    """Return the messages of a session in which the gate found something."""
    found = []
    for event in stream.talk():
        text, speaker = words_of_talk(event), speaker_of(event)
        markers = stages.gate.markers(text, speaker)
        if markers:
            found.append(Gated(event, text, speaker, markers))
    return found


def prepare(events: Iterable[Event], *, stages: Stages | None = None) -> list[Node]:
    """Return the nodes of any number of sessions: of each in turn, then the bindings that reach over sessions."""
    stages = stages or default_stages()
    analyses = [analyse(of_one, stages=stages) for of_one in by_session(events).values()]
    return [*(node for analysis in analyses for node in analysis.nodes), *relate(analyses, stages).bindings]


def relate(analyses: Sequence[Analysis], stages: Stages) -> Relations:
    """Return what the decisions and episodes of several sessions have to do with each other."""
    lineage = {
        a.session.session_uid: Lineage(a.session.parent_session, a.session.root_session, a.session.repo)
        for a in analyses
    }
    nodes = [node for analysis in analyses for node in analysis.nodes]
    decisions = [node for node in nodes if isinstance(node, Decision)]
    episodes = [node for node in nodes if isinstance(node, Episode)]
    return stages.relator.relate(decisions, episodes, lineage)

"""Binds decisions of a session to episodes of the subagents that it started."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from recollect.insights.decisions.bindings.evidence import MAX_PATHS, content_features, subject_of, written
from recollect.insights.stages import Lineage
from recollect.insights.subjects import READ_CHARS
from recollect.model.insights.nodes import Binding, Decision, Episode, node_id

LINEAGE = 15
SOON = 10
"""Contributions in hundredths: the session was started by that of the decision; within an hour of the decision."""
SOON_US = 60 * 60 * 1_000_000
THRESHOLD = 60
MAX_DECISIONS = 40
"""Decisions of the parent that one episode is compared with, the last ones before it."""


def lineage_bindings(
    decisions: Iterable[Decision], episodes: Iterable[Episode], lineage: Mapping[str, Lineage]
) -> list[Binding]:
    """Return bindings of a session's decisions to its subagents' episodes, ordered by (episode, source).

    An episode here is its paths and commands: a decision is bound by a path or an option that stands in them. Only
    where both times are known, and the decision is not later.
    """
    of_session: dict[str, list[tuple[int, str, Decision]]] = {}
    for decision in decisions:
        if decision.ts is not None:
            of_session.setdefault(decision.session_uid, []).append((decision.ts, decision.id, decision))
    for told in of_session.values():
        told.sort(key=lambda item: item[:2])
    found: list[Binding] = []
    for episode in episodes:
        about = lineage.get(episode.session_uid)
        at = episode.started_at if episode.started_at is not None else episode.ts
        if about is None or not about.parent or about.parent == episode.session_uid or at is None:
            continue
        told = of_session.get(about.parent, [])
        before = bisect_right(told, at, key=lambda item: item[0])
        found += _of_episode(episode, at, [item[2] for item in told[max(0, before - MAX_DECISIONS) : before]])
    return sorted(found, key=lambda binding: (binding.episode, binding.source))


def _of_episode(episode: Episode, at: int, decisions: Sequence[Decision]) -> list[Binding]:
    if not decisions:
        return []
    commands = "\n".join(command.command for command in episode.commands)[:READ_CHARS]
    wrote = written(episode.paths[: 5 * MAX_PATHS], commands, "")
    found: list[Binding] = []
    taken: set[str] = set()
    for decision in reversed(decisions):
        subject = subject_of(decision, None)
        if taken & subject.keys():
            continue  # a later decision on the same subject governs
        taken |= subject.keys()
        features = content_features(subject, wrote)
        if not features or "unrelated" in features:
            continue
        features["subagent"] = LINEAGE
        if decision.ts is not None and at - decision.ts <= SOON_US:
            features["soon"] = SOON
        confidence = min(100, sum(features.values()))
        if confidence >= THRESHOLD:
            found.append(_binding(decision, episode, at, {**features}, confidence))
    return found


def _binding(decision: Decision, episode: Episode, at: int, features: dict[str, int], confidence: int) -> Binding:
    return Binding(
        id=node_id("binding", decision.id, episode.id),
        session_uid=episode.session_uid,
        location=episode.location,
        ts=at,
        turn_index=episode.turn_index,
        confidence=confidence / 100,
        features={name: value / 100 for name, value in features.items()},
        evidence=(*episode.evidence[:1], *decision.evidence[:2]),
        source=decision.id,
        episode=episode.id,
        relation="produced",
        used_session=decision.session_uid,
        generated_session=episode.session_uid,
        t_use=decision.ts,
        t_gen=at,
    )

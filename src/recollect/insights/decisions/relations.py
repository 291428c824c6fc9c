"""Relates decisions: links, conflicts, lineage, and what is outdated."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from recollect.insights.decisions.evidence import (
    MAX_PATHS,
    binding_of,
    content_features,
    shares,
    subject_of,
    total,
    written,
)
from recollect.insights.stages import Lineage, Relations
from recollect.insights.subjects import READ_CHARS, ends_with_path, is_distinctive, phrase, words_in
from recollect.late import late_pattern
from recollect.model.insights.nodes import Binding, Decision, Episode, Link, Relation

SOON_US = 60 * 60 * 1_000_000
LINEAGE_THRESHOLD = 60
MAX_DECISIONS = 40
"""Decisions of the parent that one episode is compared with, the last ones before it."""


def lineage_bindings(
    decisions: Iterable[Decision], episodes: Iterable[Episode], lineage: Mapping[str, Lineage]
) -> list[Binding]:
    """Return bindings of a session's decisions to its subagents' episodes, ordered by (episode, source).

    An episode here is its paths and commands: a path or option in them binds a decision. Only if both times are known,
    and the decision is not later.
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
        features.append("subagent")
        if decision.ts is not None and at - decision.ts <= SOON_US:
            features.append("soon")
        if total(features) >= LINEAGE_THRESHOLD:
            first = episode.evidence[0]
            found.append(binding_of(decision, episode, features, first, ts=at, turn_index=episode.turn_index))
    return found


_PLACE: Final = late_pattern(
    r"\b(?:for|in|of|on|as|für|im|in|bei|als)\s+(?:(?:the|our|this|all|a|an|der|die|das|den|dem|unsere?[nrm]?)\s+)?"
    r"([\w-]+(?:\s+[\w-]+){0,2}?)(?=[.,;:!?)]|\s+(?:and|or|to|so|because|since|instead|after|with|for|in|on|as|of|from"
    r"|over|und|oder|weil|damit|statt|nach|mit|für)\b|\s*$)",
    re.IGNORECASE,
)
"""What a decision is for, or where it counts: "the auth module" of "use scrypt for the auth module"."""
_CHANGE: Final = late_pattern(
    r"^\W*(?:no|nope|nein|nee)\b|"
    r"\b(?:switch|instead|actually|on reflection|after all|(?:go|going|went) back|replace|move (?:over|from)|drop|"
    r"no longer|changed? my mind|stattdessen|doch (?:lieber )?|wechseln|umsteigen|ersetzen|zurück zu)\b",
    re.IGNORECASE,
)
"""Words of who changes what was decided before."""


class Stance(NamedTuple):
    """A decision in comparable form.

    for_, against: keys of options (`subjects.phrase`) that it accepts and rejects; distinctive: those that are names.
    question: its content words as one key, "" without a question. places: keys of its purpose and scope. is_change: it
    says that it changes an earlier decision.
    """

    decision: Decision
    for_: frozenset[str]
    against: frozenset[str]
    distinctive: frozenset[str]
    question: str
    places: frozenset[str]
    is_change: bool

    @property
    def authority(self) -> int:
        """A person's word counts more than the assistant's."""
        return 1 if self.decision.speaker == "human" else 0


def stance_of(decision: Decision) -> Stance:
    """Return a decision's stance. A ban or rejection rejects every option."""
    is_against = decision.polarity in ("ban", "reject")
    taken = {} if is_against else _keys(decision.chosen)
    turned_down = _keys((*decision.rejected, *decision.chosen) if is_against else decision.rejected)
    return Stance(
        decision=decision,
        for_=frozenset(taken),
        against=frozenset(turned_down) - frozenset(taken),
        distinctive=frozenset(key for key, option in {**taken, **turned_down}.items() if is_distinctive(option)),
        question=" ".join(words_in(decision.question)),
        places=places_in(decision.statement),
        is_change=decision.polarity == "reverse" or _CHANGE.search(decision.statement) is not None,
    )


def places_in(text: str) -> frozenset[str]:
    """Return the keys of what words are for, and of where they count."""
    return frozenset(key for found in _PLACE.finditer(text) if (key := phrase(found[1])))


def _keys(options: Iterable[str]) -> dict[str, str]:
    return {key: option for option in options if (key := phrase(option))}


def is_before(one: Decision, other: Decision) -> bool | None:
    """Return whether one decision was made before the other, None if unknown.

    By their times; without them, or at equal times, by their places if both are in one source.
    """
    if one.ts is not None and other.ts is not None and one.ts != other.ts:
        return one.ts < other.ts
    if one.session_uid == other.session_uid and one.location.source_id == other.location.source_id:
        places = [place_of(decision) for decision in (one, other)]
        if places[0] != places[1]:
            return places[0] < places[1]
    return None


def place_of(decision: Decision) -> tuple[int, int, int, int]:
    """Return a decision's place in its source. Within one record (some sources are one) events are ordered by their
    numbers.
    """
    at = decision.location
    last = decision.evidence[-1] if decision.evidence else None
    return at.revision, at.record_index, last.seq if last else 0, last.start if last else 0


CONFIDENCE: Final = 0.75
_MOST_OTHERS: Final = 4
"""What is turned down is at least this part of the words of what it ends; half of them, if it is one word and nothing
is taken instead: a ban of passwords in the repository ends no policy for passwords."""


def outdated(ranked: Iterable[Decision], stances: Iterable[Stance]) -> Iterator[Link]:
    """Yield a link from the first later decision that speaks against each ranked one. Stances: of the same place."""
    by_word: dict[str, list[tuple[frozenset[str], Stance]]] = {}
    for stance in stances:
        for name in stance.against:
            words = frozenset(name.split())
            by_word.setdefault(min(words), []).append((words, stance))
    for decision in ranked:
        said = set(words_in(decision.statement))
        against = [
            stance
            for word in sorted(said)
            for words, stance in by_word.get(word, ())
            if words <= said and (_MOST_OTHERS if len(words) > 1 or stance.for_ else 2) * len(words) >= len(said)
        ]
        later = [stance for stance in against if _speaks_against(stance, decision, said)]
        if later:
            newer = min(later, key=lambda stance: (stance.decision.ts or 0, stance.decision.id)).decision
            yield Link(
                newer=newer.id, older=decision.id, relation="supersedes", since=newer.ts, confidence=CONFIDENCE,
                features={"turned_down": CONFIDENCE},
            )  # fmt: skip


def _speaks_against(stance: Stance, decision: Decision, said: set[str]) -> bool:
    """Return whether a decision is later, and accepts nothing that the words name."""
    is_later = is_before(decision, stance.decision) is True and stance.decision.scope != "session"
    return is_later and not any(said >= set(name.split()) for name in stance.for_)


THRESHOLD = 75
MAX_OPEN = 8
"""Standing decisions of the other side that a new one is compared with, newest first."""


class _Topic(NamedTuple):
    """What two decisions may disagree on: one option, one question, what both turned down, or what both are for."""

    kind: str
    key: str


def conflicts(stances: Iterable[Stance], roots: Mapping[str, str]) -> list[Link]:
    """Return the links between decisions, ordered by (newer, older); the same for any order of `stances`.

    roots: the root session of each session; a decision for one session counts within its root only. Decisions without
    an order contradict each other. Each decision is compared with at most `MAX_OPEN` standing ones for each topic.
    """
    timelines: dict[_Topic, list[Stance]] = {}
    for stance in sorted(stances, key=_order):
        for topic in _topics(stance):
            timelines.setdefault(topic, []).append(stance)
    found: dict[tuple[str, str], Link] = {}
    for topic, timeline in timelines.items():
        if len(timeline) > 1:
            for link in _along(topic, timeline, roots):
                key = (link.newer, link.older)
                if key not in found or found[key].confidence < link.confidence:
                    found[key] = link
    return [found[key] for key in sorted(found)]


def _order(stance: Stance) -> tuple[bool, int, str, str, tuple[int, ...], str]:
    d = stance.decision
    return (d.ts is None, d.ts or 0, d.session_uid, d.location.source_id, place_of(d), d.id)


def _topics(stance: Stance) -> Iterator[_Topic]:
    for key in stance.for_ | stance.against:
        yield _Topic("option", key)
    if stance.for_:
        for key in stance.against:
            yield _Topic("rejected", key)
        if stance.question:
            yield _Topic("question", stance.question)
    for key in stance.places:
        yield _Topic("place", key)


def _along(topic: _Topic, timeline: list[Stance], roots: Mapping[str, str]) -> Iterator[Link]:
    """Yield the links of one topic. A superseded decision is dropped, so that the work is linear."""
    standing: list[Stance] = []
    for stance in timeline:
        compared = 0
        for other in reversed(standing):
            if compared >= MAX_OPEN:
                break
            if not _disagree(topic, other, stance):
                continue
            if topic.kind == "place" and compared:
                break  # several may stand for one place; only of the newest it is plain that it is the one changed
            compared += 1
            link = _link(topic, other, stance, roots)
            if link is not None:
                yield link
                if link.relation != "contradicts":
                    standing.remove(other)
        standing.append(stance)
        del standing[: -4 * MAX_OPEN]


def _disagree(topic: _Topic, one: Stance, other: Stance) -> bool:
    if topic.kind == "option":
        return (topic.key in one.for_) != (topic.key in other.for_)
    if topic.kind == "place":
        return other.is_change and _is_replaced(one, other)
    return not one.for_ & other.for_


def _is_replaced(older: Stance, newer: Stance) -> bool:
    """Return whether one of two decisions for the same place accepts what is incompatible with the other."""
    if older.for_ and newer.for_:
        return not older.for_ & newer.for_
    return any(set(taken.split()) <= set(key.split()) for taken in newer.for_ for key in older.against) or any(
        set(taken.split()) <= set(key.split()) for taken in older.for_ for key in newer.against
    )


def _link(topic: _Topic, one: Stance, other: Stance, roots: Mapping[str, str]) -> Link | None:
    order = is_before(one.decision, other.decision)
    older, newer = (other, one) if order is False else (one, other)
    if not _may_meet(older, newer, roots):
        return None
    features = _features(topic, older, newer)
    confidence = total(features)
    if confidence < THRESHOLD:
        return None
    relation: Relation = "contradicts"
    if order is not None and newer.decision.polarity == "reverse":
        relation = "reverses"
    elif order is not None and newer.authority >= older.authority:
        relation = "supersedes"
    return Link(
        newer=newer.decision.id,
        older=older.decision.id,
        relation=relation,
        since=newer.decision.ts if order is not None else max(_times(older, newer), default=None),
        confidence=confidence / 100,
        features=shares(features),
    )


def _times(*stances: Stance) -> list[int]:
    return [stance.decision.ts for stance in stances if stance.decision.ts is not None]


def _may_meet(one: Stance, other: Stance, roots: Mapping[str, str]) -> bool:
    """Say whether both could hold at one place: not what one message said or answered, nor what is for other files."""
    a, b = one.decision, other.decision
    if a.id == b.id:
        return False
    if a.conversation and a.conversation == b.conversation and not other.is_change:
        return False
    if not _events(a).isdisjoint(_events(b)):
        return False
    if "session" in (a.scope, b.scope) and roots.get(a.session_uid, a.session_uid) != roots.get(
        b.session_uid, b.session_uid
    ):
        return False
    if "path" in (a.scope, b.scope) and a.paths and b.paths:
        return _share_path(a.paths, b.paths)
    return True


def _events(decision: Decision) -> set[tuple[str, str, int]]:
    """Return the messages that a decision rests on: an answer rests on the proposal too."""
    return {(e.session_uid, e.event_id, e.part) for e in decision.evidence}


def _share_path(paths: Iterable[str], others: Iterable[str]) -> bool:
    others = list(others)[:32]
    return any(ends_with_path(p, o) or ends_with_path(o, p) for p in list(paths)[:32] for o in others)


def _features(topic: _Topic, older: Stance, newer: Stance) -> list[str]:
    found: list[str] = []
    names = older.distinctive | newer.distinctive
    if topic.kind == "option":
        found.append("same_option")
        found.append("explicit")
        if topic.key in names:
            found.append("named")
        if older.for_ & newer.against and newer.for_ & older.against:
            found.append("swapped")
    elif topic.kind == "place":
        found.append("same_place")
        if newer.is_change:
            found.append("change")
    elif topic.kind == "question":
        found.append("same_question")
        if older.for_ & names or newer.for_ & names:
            found.append("named")
    else:
        found.append("same_rejected")
        if topic.key in names:
            found.append("named")
    if topic.kind != "question" and older.question and older.question == newer.question:
        found.append("shared_question")
    if newer.decision.polarity == "reverse":
        found.append("reversal")
    if _share_path(older.decision.paths, newer.decision.paths):
        found.append("shared_path")
    if older.decision.session_uid == newer.decision.session_uid:
        found.append("same_session")
    return found


class SubjectRelator:
    """The relator that ships. Rules and examples: docs/development/insight-rules.md, "Links"."""

    def relate(
        self, decisions: Iterable[Decision], episodes: Iterable[Episode], lineage: Mapping[str, Lineage]
    ) -> Relations:
        """Return how decisions of one repository follow each other, and bindings across subagents.

        Decisions of scope "user" meet those of every repository. A session without a repository uses its root
        session's. An undone decision relates to nothing: what it superseded holds. A ranked decision can only be
        superseded. The order of the input does not matter.
        """
        kept = [decision for decision in decisions if not decision.is_undone]
        given = [decision for decision in kept if decision.status != "ranked"]
        roots = {uid: about.root or uid for uid, about in lineage.items()}
        of_user = [stance_of(d) for d in given if d.scope == "user"]
        groups: dict[str, list[Stance]] = {}
        for decision in given:
            if decision.scope != "user":
                groups.setdefault(_group(decision, lineage), []).append(stance_of(decision))
        ranked: dict[str, list[Decision]] = {}
        for decision in kept:
            if decision.status == "ranked":
                ranked.setdefault(_group(decision, lineage), []).append(decision)
        found: dict[tuple[str, str], Link] = {}
        for group in [*groups.values(), []]:
            for link in conflicts([*group, *of_user], roots):
                found.setdefault((link.newer, link.older), link)
        for name, unsure in ranked.items():
            for link in outdated(unsure, [*groups.get(name, ()), *of_user]):
                found[link.newer, link.older] = link
        bindings = lineage_bindings(given, (e for e in episodes if not e.is_undone), lineage)
        return Relations([found[key] for key in sorted(found)], bindings)


def _group(decision: Decision, lineage: Mapping[str, Lineage]) -> str:
    about = lineage.get(decision.session_uid)
    if about is not None and about.repo:
        return f"repo {about.repo}"
    return f"root {(about.root if about else '') or decision.session_uid}"

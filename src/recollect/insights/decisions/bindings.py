"""Binds decisions and conversations to the episodes that followed from them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from recollect.insights.commands import command_of
from recollect.insights.decisions.evidence import (
    FAR_TURNS,
    THRESHOLD,
    THRESHOLD_OF_OTHER_TURNS,
    Subject,
    Written,
    binding_of,
    content_features,
    names_path,
    subject_of,
    subject_of_talk,
    total,
    written,
)
from recollect.insights.edit_lines import lines_of, whole_edit
from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.insights.subjects import READ_CHARS, ends_with_path
from recollect.model.events import Event
from recollect.model.insights.nodes import Binding, Conversation, Decision, EditRef, Episode
from recollect.model.payloads import FileEdit


class Place(NamedTuple):
    """The place of a subject, its keys, and the keys that end its reach when a later subject has them."""

    position: int
    said: Collection[Hashable]
    ended_by: Collection[Hashable]


def taken_over(subjects: Sequence[Place], end: int) -> list[int]:
    """Return for each subject (in order of place) the place of the later one that ends it, `end` without one.
    Subjects of one place do not end each other. Linear in the number of keys.
    """
    found = [end] * len(subjects)
    following: dict[Hashable, tuple[int, int]] = {}
    for i in range(len(subjects) - 1, -1, -1):
        place = subjects[i].position
        for key in subjects[i].ended_by:
            first, beyond = following.get(key, (end, end))
            found[i] = min(found[i], first if first > place else beyond)
        for key in subjects[i].said:
            first, beyond = following.get(key, (end, end))
            if first != place:
                following[key] = (place, first)
    return found


MAX_EPISODES = 40
"""Episodes after a decision that are looked at."""
MAX_EDITS = 60
"""Edits of an episode that are looked at, the first ones after the decision."""


_FAR_OFF = frozenset(("later_turn", "far"))
_AT_ONCE = ("same_turn", "nearest", "unrelated")


class _Source(NamedTuple):
    """A decision or conversation, its place, and the end of its reach."""

    node: Decision | Conversation
    subject: Subject
    position: int
    until: int
    is_confirmed: bool


class _Edit(NamedTuple):
    """An edit of an episode in its place."""

    position: int
    ref: EditRef
    event: Event


class PathAndTimeBinder:
    """The binder that ships. Features, weights and examples: docs/development/insight-rules.md, "Bindings"."""

    def bindings(
        self,
        session: SessionEvents,
        conversations: Sequence[Conversation],
        decisions: Sequence[Decision],
        episodes: Sequence[Episode],
    ) -> list[Binding]:
        """Return the bindings, ordered by (episode, source) in canonical order.

        Binds a conversation only if no decision was found in it. A decision that a later one on the same subject
        replaced leads to nothing any more. session: without undone events.
        """
        if not (episodes and (decisions or conversations)):
            return []
        sources = _sources(session, conversations, decisions)
        looked = _Looking(session, episodes, Counter(source.position for source in sources))
        found: list[tuple[int, int, Binding]] = []
        for order, source in enumerate(sources):
            for number, binding in looked.bound(source):
                found.append((number, order, binding))
        return [binding for _, _, binding in sorted(found, key=lambda item: item[:2])]


def _sources(
    session: SessionEvents, conversations: Sequence[Conversation], decisions: Sequence[Decision]
) -> list[_Source]:
    talk = {conversation.id: conversation for conversation in conversations}
    placed = sorted(((_place(session, d), i, d) for i, d in enumerate(decisions)), key=lambda item: item[:2])
    subjects = [(place, subject_of(d, talk.get(d.conversation))) for place, _, d in placed]
    ends = taken_over(_placed(session, subjects), len(session.events))
    found = [
        _Source(d, subject, place, end, _is_confirmed(d))
        for (place, _, d), (_, subject), end in zip(placed, subjects, ends, strict=True)
        if place >= 0
    ]
    read = {decision.conversation for decision in decisions}
    for conversation in conversations:
        place = _place(session, conversation)
        if conversation.id not in read and place >= 0:
            found.append(_Source(conversation, subject_of_talk(conversation), place, len(session.events), False))
    return found


def _placed(session: SessionEvents, subjects: Sequence[tuple[int, Subject]]) -> list[Place]:
    """Return the keys of each subject that a later one can take over: its options and, within its turn, a name that
    one of the two wants to remove and the other does not.
    """
    going = {name for _, subject in subjects for name in subject.dropped}
    found = []
    for place, subject in subjects:
        said: list[Hashable] = [*subject.keys()]
        ended_by = said
        if going and not going.isdisjoint((*subject.names, *subject.dropped)):
            turn = session.events[place].turn_index
            kept = [name for name in subject.names if name in going]
            ended_by = [
                *said,
                *((turn, name, False) for name in kept),
                *((turn, name, True) for name in subject.dropped),
            ]
            said = [*said, *((turn, name, True) for name in kept), *((turn, name, False) for name in subject.dropped)]
        found.append(Place(place, said, ended_by))
    return found


def _place(session: SessionEvents, node: Decision | Conversation) -> int:
    """Return a node's place: the last event that it rests on, -1 if none is of this session."""
    places = session.positions
    said = [e for e in node.evidence if e.role != "context"]
    return max((places.get((e.event_id, e.part), -1) for e in said), default=-1)


def _is_confirmed(decision: Decision) -> bool:
    return any(evidence.role == "confirmation" for evidence in decision.evidence)


class _Looking:
    """Looks at the edits of a session; what an edit wrote is read once."""

    def __init__(self, session: SessionEvents, episodes: Sequence[Episode], said_at: Mapping[int, int]) -> None:
        self._session = session
        self._said_at = said_at
        self._episodes = [(episode, _edits(session, episode)) for episode in episodes]
        self._lasts = [edits[-1].position if edits else -1 for _, edits in self._episodes]
        self._written: dict[tuple[int, str], Written] = {}
        self._compactions = [i for i, event in enumerate(session.events) if event.kind == "compaction"]
        self._is_other: dict[tuple[str, str], bool] = {}

    def bound(self, source: _Source) -> Iterator[tuple[int, Binding]]:
        """Yield the bindings of a source, each with the number of its episode."""
        first = bisect_left(self._lasts, source.position + 1)
        is_nearest = True
        for number in range(first, min(first + MAX_EPISODES, len(self._episodes))):
            episode, edits = self._episodes[number]
            after = [edit for edit in edits if source.position < edit.position < source.until][:MAX_EDITS]
            if not after:
                if edits and edits[0].position >= source.until:
                    return
                continue
            best = self._best(source, after, is_nearest=is_nearest)
            is_nearest = False
            if best is not None:
                binding = _binding(source.node, episode, *best)
                if binding is not None:
                    yield number, binding

    def _best(self, source: _Source, edits: Sequence[_Edit], *, is_nearest: bool) -> tuple[_Edit, list[str]] | None:
        """Return the edit that speaks most for the source, the first of equal ones, None below the threshold."""
        best: tuple[_Edit, list[str]] | None = None
        most = 0
        paths = source.subject.paths
        for edit in edits:
            features = self._place_features(source, edit, is_nearest=is_nearest)
            if (
                not _FAR_OFF.isdisjoint(features)
                and not is_nearest
                and not names_path(source.subject, (edit.ref.path,))
            ):
                continue  # what its text could add would not reach the threshold
            is_other = bool(paths) and "same_turn" not in features and self._is_other_file(source, edit.ref.path)
            features += content_features(source.subject, self._wrote(edit, source.subject), is_other_file=is_other)
            features += self._turn_features(source, edit, features)
            confidence = total(features)
            if confidence > most:
                best, most = (edit, features), confidence
        if best is None:
            return None
        if most < THRESHOLD and self._is_asked(source, best[1]):
            return best[0], [*_AT_ONCE, "asked"]
        return best if most >= (THRESHOLD if "same_turn" in best[1] else THRESHOLD_OF_OTHER_TURNS) else None

    def _is_asked(self, source: _Source, found: Collection[str]) -> bool:
        """Say whether a person decided this alone right before an edit. It may say it in other words: code that backs
        off need not say "backoff".
        """
        node, at = source.node, source.position
        return (
            set(_AT_ONCE) <= set(found)
            and {"other_path", "deleted", "compacted", "confirmed"}.isdisjoint(found)
            and isinstance(node, Decision)
            and node.polarity in ("adopt", "prefer")
            and self._session.events[at].kind == "user_message"
            and self._said_at[at] == 1
            and not source.subject.has_code()
        )

    def _is_other_file(self, source: _Source, path: str) -> bool:
        """Say whether a path only has a name that the deciding words say, and their own turn edited the file of it."""
        key = (source.node.id, path)
        if key not in self._is_other:
            self._is_other[key] = self._is_another(source, path)
        return self._is_other[key]

    def _is_another(self, source: _Source, path: str) -> bool:
        said = [name for name in source.subject.paths if ends_with_path(path, name)]
        if not said or any("/" in name for name in said):
            return False
        turn = self._session.events[source.position].turn_index
        own = {edit.ref.path for edit in self._edits_of_turns.get(turn, ())}
        named = [known for known in own if any(ends_with_path(known, name) for name in said)]
        return bool(named) and not any(ends_with_path(path, known) or ends_with_path(known, path) for known in named)

    @cached_property
    def _edits_of_turns(self) -> dict[int, list[_Edit]]:
        found: dict[int, list[_Edit]] = {}
        for edit in (edit for _, edits in self._episodes for edit in edits):
            found.setdefault(edit.event.turn_index, []).append(edit)
        return found

    @cached_property
    def _messages(self) -> list[int]:
        """The places of messages, in order."""
        said = ("user_message", "assistant_message")
        return [place for place, event in enumerate(self._session.events) if event.kind in said]

    def _place_features(self, source: _Source, edit: _Edit, *, is_nearest: bool) -> list[str]:
        at = self._session.events[source.position]
        turns = edit.event.turn_index - at.turn_index
        found: list[str] = []
        if turns == 0:
            found.append("same_turn")
            if source.is_confirmed:
                found.append("confirmed")
        elif turns == 1:
            found.append("next_turn")
        else:
            found.append("far" if turns > FAR_TURNS else "later_turn")
        if is_nearest:
            found.append("nearest")
        if edit.ref.operation == "delete" and not source.subject.takes_out:
            found.append("deleted")
        if bisect_right(self._compactions, edit.position) > bisect_right(self._compactions, source.position):
            found.append("compacted")
        return found

    def _turn_features(self, source: _Source, edit: _Edit, found: Sequence[str]) -> list[str]:
        """Return what an edit's turn says for it: it follows the assistant's own words, and its file is the only one
        edited after the decision. An edit without the mentioned code does not count.
        """
        is_unrelated = "unrelated" in found
        if "same_turn" not in found or not isinstance(source.node, Decision):
            return []
        if is_unrelated and source.subject.has_code():
            return []
        told: list[str] = []
        if self._is_announced(source, edit):
            told.append("announced")
        if (told or not is_unrelated) and self._is_sole(source):
            told.append("sole")
        return told

    def _is_announced(self, source: _Source, edit: _Edit) -> bool:
        if self._session.events[source.position].kind != "assistant_message":
            return False
        after = bisect_left(self._messages, source.position + 1)
        return after == len(self._messages) or self._messages[after] > edit.position

    def _is_sole(self, source: _Source) -> bool:
        """Say whether one file alone is edited behind a source, in its turn and as far as it reaches."""
        turn = self._session.events[source.position].turn_index
        edits = self._edits_of_turns.get(turn, ())
        return len({edit.ref.path for edit in edits if source.position < edit.position < source.until}) == 1

    def _wrote(self, edit: _Edit, subject: Subject) -> Written:
        """Return what an edit wrote; its text is read only for a subject with words to look for."""
        if not subject.has_words():
            payload = edit.event.payload
            moved_to = payload.new_path if isinstance(payload, FileEdit) else ""
            return written([path for path in (edit.ref.path, moved_to) if path], "", "")
        key = (edit.position, edit.ref.path)
        if key not in self._written:
            self._written[key] = _read(self._session, edit)
        return self._written[key]


def _read(session: SessionEvents, edit: _Edit) -> Written:
    if isinstance(edit.event.payload, FileEdit):
        stated = whole_edit(session, edit.event)
        lines = lines_of(stated)
        paths = tuple(path for path in (stated.path, stated.new_path) if path)
        return written(paths, _text(lines.added), _text(lines.removed))
    command = command_of(session, edit.event)
    if edit.ref.operation == "delete":
        return written((edit.ref.path,), "", command)
    return written((edit.ref.path,), command, "")


def _text(lines: Sequence[str] | None) -> str:
    kept: list[str] = []
    chars = 0
    for line in lines or ():
        kept.append(line)
        chars += len(line) + 1
        if chars > READ_CHARS:
            break
    return "\n".join(kept)


def _edits(session: SessionEvents, episode: Episode) -> list[_Edit]:
    found = []
    for ref in episode.edits:
        position = session.positions.get((ref.evidence.event_id, ref.evidence.part))
        if position is not None:
            found.append(_Edit(position, ref, session.events[position]))
    return found


def _binding(source: Decision | Conversation, episode: Episode, edit: _Edit, features: Sequence[str]) -> Binding | None:
    """Return the binding, None where its times contradict the order of the events."""
    event = edit.event
    if source.ts is not None and event.ts is not None and source.ts > event.ts:
        return None
    evidence = evidence_of(event, "edit" if isinstance(event.payload, FileEdit) else "command")
    return binding_of(source, episode, features, evidence, ts=event.ts, turn_index=event.turn_index)

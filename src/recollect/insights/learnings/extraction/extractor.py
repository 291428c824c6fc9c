"""Extracts from a session in one pass: what was said, what was run, and what both teach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, assert_never

import msgspec

from recollect.insights.language.pack import Meaning
from recollect.insights.learnings.extraction.attempts import Attempts
from recollect.insights.learnings.extraction.candidates import Draft, Extracted, Place, evidence_of, learning_of, merged
from recollect.insights.learnings.extraction.places import named_path, root_of
from recollect.insights.learnings.extraction.scored import ScoredMessage, WorthKeeping
from recollect.insights.learnings.extraction.spoken import (
    OpenSentence,
    Said,
    left_open,
    priority_of,
    statement_in,
    things_said,
)
from recollect.insights.learnings.extraction.stated import left_to_do, names_of_tests, versions
from recollect.insights.scorer import SentenceScorer, Turn
from recollect.insights.session_events import SessionEvents
from recollect.model.events import Event
from recollect.model.learnings.learnings import Author, Learning, LearningEvidence, LearningKind, Priority
from recollect.model.own import INTERNAL_ORIGINATOR, without_own_blocks
from recollect.model.payloads import AssistantMessage, ToolCall, UserMessage
from recollect.model.sessions import Session
from recollect.model.text import one_line, summary_of

if TYPE_CHECKING:
    from recollect.store.insight_feed import AnalysisInput

_OF_PEOPLE: Final = ("human", "queued")
_MOST_OPEN: Final = 6
"""Things left to do of a message, at most: more are a pasted list."""
_AUTHORS: Final[tuple[Author, Author]] = ("user", "assistant")


def extract(observed: AnalysisInput, *, scorer: SentenceScorer | None = None) -> Extracted:
    """Return what a session teaches, without a model. Pure and deterministic: same events, same learnings.

    scorer: finds what no rule understands, refuses what rules misunderstand; None: rules alone. Events of subagents,
    injected messages and sessions of our own teach nothing that somebody said. What only branches teach that rewinds
    left behind has the state "undone".
    """
    if observed.session.originator == INTERNAL_ORIGINATOR:
        return Extracted([])
    events = SessionEvents(observed.events, load=observed.load)
    found = _extracted(observed.session, events.kept, scorer)
    if events.kept is not events:
        known = {one.id for one in found}
        left = (one for one in _extracted(observed.session, events, scorer) if one.id not in known)
        found += [msgspec.structs.replace(one, state="undone") if one.state == "active" else one for one in left]
    return Extracted(found)


def _extracted(session: Session, events: SessionEvents, scorer: SentenceScorer | None) -> list[Learning]:
    attempts = Attempts(events, root_of(session, events))
    # What "people" say to a subagent is the words of the agent that started it.
    is_of_person = not session.parent_session
    spoken = list(_spoken(events, attempts.root, scorer)) if is_of_person else []
    asked = [draft.text for draft in spoken if draft.kind == "action"]
    drafts = [
        *spoken,
        *attempts.works(),
        *attempts.repairs(),
        *versions(attempts),
        *names_of_tests(attempts),
        *(left_to_do(events, asked) if is_of_person else ()),
    ]
    made = (learning_of(draft, session) for draft in drafts)
    return merged(one for one in made if one is not None)


def _spoken(session: SessionEvents, root: str, scorer: SentenceScorer | None) -> Iterator[Draft]:
    messages = list(_messages(session))
    scored = None if scorer is None else ScoredMessage.each(scorer, [one.turn for one in messages])
    for event, turn, before, asked in messages:
        heard = things_said(turn.text, after_work=before is not None)
        opened = list(islice(left_open(turn.text, of_human=True), _MOST_OPEN))
        if scored is not None:
            found = next(scored)
            heard = [said for said in heard if found.agrees(said)]
            known: list[Said | OpenSentence] = [*heard, *(one for one in opened if one.is_named)]
            worthy = [one for one in found.worth_keeping(known) if one.kind == "action" or not _overlaps(one, opened)]
            yield from (_draft_of_worth(worth, turn.text, event, root) for worth in worthy)
            opened = [one for one in opened if not _overlaps(one, worthy)]
        for one in opened:
            if not _overlaps(one, heard):
                said_open = turn.text[one.start : one.end]
                evidence = [evidence_of(event, "user", said_open)]
                features = {"left by name": 0.7} if one.is_named else {"left open": 0.5}
                yield Draft("action", said_open, Place("repo"), "user", evidence, features, priority_of(turn.text))
        for said in heard:
            if said.text:
                yield _draft_of(said, event, before, root)
            elif (meant := _meant(said, event, (asked, before))) is not None:
                yield meant


class _Span(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def _overlaps(one: _Span, others: Iterable[_Span]) -> bool:
    return any(other.start < one.end and one.start < other.end for other in others)


class _Message(NamedTuple):
    """What a person typed. before: what the assistant said or did last; asked: the person's message before it."""

    event: Event
    turn: Turn
    before: Event | None
    asked: Event | None


def _messages(session: SessionEvents) -> Iterator[_Message]:
    before: Event | None = None
    asked: Event | None = None
    answered = ""
    for event in session.of(UserMessage, AssistantMessage, ToolCall):
        payload = event.payload
        if event.is_sidechain:
            continue
        if isinstance(payload, UserMessage):
            if payload.origin in _OF_PEOPLE and payload.text:
                yield _Message(event, Turn(without_own_blocks(payload.text), "human", answered), before, asked)
                asked = event
        elif isinstance(payload, ToolCall):
            before = event
        elif isinstance(payload, AssistantMessage) and payload.text:
            before, answered = event, payload.text


def _draft_of_worth(worth: WorthKeeping, text: str, event: Event, root: str) -> Draft:
    said = text[worth.start : worth.end].strip()
    path = named_path(said, root)
    place = Place("path", path) if path and worth.kind != "action" else Place("repo")
    if worth.kind == "preference" and not path and worth.is_for_all:
        place = Place("user")
    evidence = [evidence_of(event, "user", said)]
    return Draft(worth.kind, said, place, "user", evidence, {"scorer": worth.confidence}, status="ranked")


def _meant(said: Said, event: Event, earlier: tuple[Event | None, Event | None]) -> Draft | None:
    """Return what "remember that" means where the message says nothing else: what the user stated in the message
    before, else what the assistant answered; the words stay whose they are. None where neither, or both, state
    something."""
    stated: list[tuple[Event, Author, str, bool]] = []
    for message, author in zip(earlier, _AUTHORS, strict=True):
        text = without_own_blocks(getattr(message.payload, "text", "")) if message is not None else ""
        words, is_order = statement_in(text, said.language, of_human=author == "user") if text else ("", False)
        if message is not None and words and not (is_order and author == "assistant"):
            stated.append((message, author, words, is_order))
    if len(stated) != 1:
        return None
    message, author, words, is_order = stated[0]
    evidence = [evidence_of(message, author, words)]
    features = {said.rule_id: said.rule.weight}
    return Draft(_kind_of("explicit", is_order=is_order), words, Place("repo"), author, evidence, features)


def _kind_of(meaning: Meaning, *, is_order: bool) -> LearningKind:
    match meaning:
        case "correction" | "action":
            return meaning
        case "rule":
            return "preference"
        case "explicit":
            return "preference" if is_order else "fact"
        case "place":
            return "fact"
        case _:
            assert_never(meaning)


def _draft_of(said: Said, event: Event, before: Event | None, root: str) -> Draft:
    meaning = said.rule.meaning
    evidence: list[LearningEvidence] = [evidence_of(event, "user", said.text)]
    features = {said.rule_id: said.rule.weight}
    kind = _kind_of(meaning, is_order=said.is_order)
    path = named_path(said.text, root)
    place = Place("path", path) if path and meaning != "action" else Place("repo")
    if kind == "preference" and not path and said.is_for_all:
        place = Place("user")
    priority: Priority = ""
    if meaning == "correction" and before is not None:
        evidence.append(evidence_of(before, "assistant", one_line(summary_of(before.payload), 200)))
        features["after the assistant's act"] = 0.05
    if meaning == "action":
        priority = priority_of(getattr(event.payload, "text", ""), said.language)
    return Draft(kind, said.text, place, "user", evidence, features, priority)

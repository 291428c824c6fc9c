"""Finds pending actions that a session completed. Pure.

Careful: an action that stays too long is one line too many, one that goes too soon is forgotten. Four things count, in
a later turn than the one that asked for it: the command that the action names in backticks ended well; a commit with
just the action's words was made; a sentence of the user or the assistant says with the action's words, and of nothing
else, that it is done; or the user says no more than its verb ("rotated") where that can mean one action only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from recollect.insights.commands import simple_commands
from recollect.insights.language.prose_mask import project
from recollect.insights.language.sentences import sentences
from recollect.insights.learnings.action_words import Worded, is_bare, is_told_done, names_action, worded
from recollect.insights.learnings.identity import bounded, normalised
from recollect.insights.session_events import SessionEvents
from recollect.insights.signals.calls import endings_of
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.learnings.learnings import Author, Learning, LearningEvidence
from recollect.model.payloads import AssistantMessage, ToolResult, UserMessage

if TYPE_CHECKING:
    from recollect.store.insight_feed import AnalysisInput

_CODE = late_pattern(r"`([^`\n]{2,200})`")
_LEFT = (
    r"\b(?:not|never|isn't|wasn't|hasn't|todo|still|yet|should|must|need|needs|will|would|going to|later|if|when"
    r"|have to|has to|had to|want to|wants to|being|\w+ed (?:me|us|him|her|them)|whether|once|until"
    r"|before|after|tr(?:y|ied|ying)|fail\w*|couldn't|can't|cannot|almost|nearly|partly|partially|half|said"
    r"|says|thinks|claims|supposed|last (?:week|month|year|time)|years? ago|months? ago|who|why|how"
    r"|undo|undid|revert\w*"
    r"|again|nicht|noch|kein|keine|sollte|sollten|muss|müssen|werde|wird|später|wenn|sobald|bis|ob|bevor|nachdem|fast|beinahe"
    r"|teilweise|halb|versucht|gescheitert|sagt|sagte|meint|meinte|angeblich|letzte\w* (?:woche|monat|jahr|mal))\b"
    r"|\?|n't\b"
)
_LOW_NOT_DONE = late_pattern(_LEFT)
_NOT_DONE = late_pattern(_LEFT, re.IGNORECASE)
"""The same in any case, which takes several times as long. Only of ASCII is the lower case the same."""
_WHEN = late_pattern(
    r"\s\b(?:before|until|till|once|bevor|bis|vor de[rmn]|avant|antes de)\b[^,.;:]*(?=[.!]?\s*$)", re.IGNORECASE
)
"""Until when something is to be done: nobody says that again when it is."""
_PREFIX = late_pattern(r"\s*(?:[a-z]+(?:\([^)\n]*\))?!?:\s+|\[[^\]\n]{1,20}\]\s+)")
"""What conventions put before the words of a commit."""
_UNFINISHED = late_pattern(
    r"\b(?:wip|todo|start\w*|begin|prepare\w*|draft|try|attempt|revert\w*|undo|partial\w*)\b", re.IGNORECASE
)
_LOOKED_BACK = 2_000
_ONE_WORD = 60
"""Characters of a message that may say no more than that something was done."""
_MESSAGE_OPTIONS = ("-m", "--message", "-am")


class _Report(NamedTuple):
    """What an event says: a text, or a command that ended well; what the user says in one word ("rotated")."""

    event: Event
    text: str
    command: str = ""
    verb: str = ""


def closed_actions(of_session: AnalysisInput, pending: Sequence[Learning]) -> list[Learning]:
    """Return those of the pending actions that the session shows to be done: with `done_at`, and the event that shows
    it as their only evidence. At the first such event of each that was not undone."""
    session = SessionEvents(of_session.events, load=of_session.load).kept
    actions = [(one, _asked_at(one), _commands_of(one), worded(_WHEN.sub("", one.text))) for one in pending]
    if not actions or not session.events:
        return []
    turns = {(event.event_id, event.part): event.turn_index for event in session.events}
    found: dict[str, Learning] = {}
    every = [words for _, _, _, words in actions]
    for told in _tellings(session):
        event = told.event
        later = [one for one in actions if one[0].id not in found and _is_later(event, one[0], one[1], turns)]
        if event.ts is None or not later:
            continue
        done = () if told.command else tuple(_done_sentences(told.text, event, every))
        commits = tuple(_commits_in(told.command))
        of_verb = {words.stems for one, _, _, words in later if one.done_at is None and told.verb in words.stems}
        for action, _, commands, words in later:
            is_done = (
                normalised(told.command) in commands
                or any(is_told_done(words, said) for said in done)
                or any(names_action(words, said) for said in commits)
                or (of_verb == {words.stems} and _is_meant(words, told, session))
            )
            if is_done:
                found[action.id] = _closed(action, event, session.uid, told.text)
    return list(found.values())


def _is_meant(action: Worded, told: _Report, session: SessionEvents) -> bool:
    """Return whether "rotated" means an action: nothing else was to be rotated at the last mention."""
    for event in reversed(session.events[: session.events.index(told.event)]):
        payload = event.payload
        if isinstance(payload, UserMessage | AssistantMessage) and not event.is_sidechain:
            said = worded(payload.text[:_LOOKED_BACK])
            if told.verb in said.stems:
                return names_action(action, said)
    return True


def _tellings(session: SessionEvents) -> Iterator[_Report]:
    """Yield what people and agents say, and the commands that ended well, at the event of their result."""
    tried = session.once(endings_of)
    for event in session.of(UserMessage, AssistantMessage, ToolResult):
        payload = event.payload
        if isinstance(payload, UserMessage):
            if payload.origin == "human":
                is_short = len(payload.text) <= _ONE_WORD and not _is_left(payload.text)
                yield _Report(event, payload.text, verb=is_bare(worded(payload.text)) if is_short else "")
        elif isinstance(payload, AssistantMessage):
            if not event.is_sidechain:
                yield _Report(event, payload.text)
        elif isinstance(payload, ToolResult):
            one = tried.get(payload.call_id)
            if one is not None and one.commands and one.call.result is event and one.ending == "ok":
                yield _Report(event, one.exact, command=one.exact)


def _commits_in(command: str) -> Iterator[Worded]:
    """Yield the words of the commits that a command made, without those that say that something is left."""
    if "commit" not in command:
        return
    for simple in simple_commands(command):
        words = simple.words
        if simple.program != "git" or "commit" not in words:
            continue
        for option, message in pairwise(words):
            subject = _PREFIX.sub("", message.partition("\n")[0])
            if option in _MESSAGE_OPTIONS and not (_UNFINISHED.search(subject) or _is_left(subject)):
                yield worded(subject)
                break


def _done_sentences(text: str, event: Event, actions: Sequence[Worded]) -> Iterator[Worded]:
    """Yield the words of the sentences that say of something that it is done, and say so of now; none for a message
    that lacks most words of every action."""
    low = text.lower()
    if not any(2 * sum(stem[:-1].lower() in low for stem in one.stems) >= len(one.stems) for one in actions):
        return
    prose = project(text, of_human=event.kind == "user_message")
    for start, end in sentences(prose):
        sentence = text[start:end] if prose[start:end].strip() else ""
        if sentence and not _is_left(sentence):
            said = worded(sentence)
            if said.says_done or said.past:
                yield said


def _is_left(text: str) -> bool:
    """Return whether words say that something is left to do, or leave it open."""
    found = _LOW_NOT_DONE.search(text.lower()) if text.isascii() else _NOT_DONE.search(text)
    return found is not None


def _is_later(event: Event, action: Learning, asked_at: int, turns: dict[tuple[str, int], int]) -> bool:
    if event.ts is None or event.ts <= asked_at:
        return False
    here = [turns[e.event_id, e.part] for e in action.evidence if (e.event_id, e.part) in turns]
    return event.turn_index > max(here) if here else True


def _asked_at(action: Learning) -> int:
    return max((e.ts for e in action.evidence if e.ts is not None), default=action.recorded_at)


def _commands_of(action: Learning) -> frozenset[str]:
    return frozenset(normalised(code) for code in _CODE.findall(action.text))


def _closed(action: Learning, event: Event, uid: str, text: str) -> Learning:
    author: Author = (
        "user" if event.kind == "user_message" else "assistant" if event.kind == "assistant_message" else "tool"
    )
    evidence = LearningEvidence(uid, event.event_id, event.part, author, event.seq, event.ts, bounded(text))
    return msgspec.structs.replace(
        action, done_at=event.ts, evidence=(evidence,), batch="", recorded_at=0, updated_at=0
    )

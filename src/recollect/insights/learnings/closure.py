"""Which pending actions a session shows to be done. Pure.

Careful: an action that stays too long is one line too many, one that goes too soon is forgotten. Only two things count,
in a later turn than the one that asked for it: the command that the action names in backticks ended well; or a sentence
of the user or the assistant says that something is done, in nearly the words of the action.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from recollect.insights.learnings.extraction.observed import Observed, Reading, kept_of
from recollect.insights.learnings.identity import bounded, normalised
from recollect.model.events import Event
from recollect.model.learnings.learnings import Author, Learning, LearningEvidence
from recollect.model.payloads import AssistantMessage, ToolCall, ToolResult, UserMessage

LEAST_WORDS = 3
"""An action of fewer words that count is never closed by what somebody says."""
SHARE = 0.8
"""So many of the action's words a sentence must have."""
_CODE = re.compile(r"`([^`\n]{2,200})`")
_WORD = re.compile(r"[\w./-]{3,}")
_ENDING = re.compile(r"(?<=\w{4})(?:ing|ed|es|e|s)$")
"""What is left off to compare words: who was asked to update something says that it is updated."""
_DONE = re.compile(
    r"\b(?:done|finished|completed|fixed|resolved|implemented|added|removed|updated|merged|released|shipped|deployed"
    r"|erledigt|fertig|umgesetzt|behoben|abgeschlossen|hinzugefügt|entfernt|aktualisiert)\b",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"\b(?:not|never|n't|isn't|wasn't|hasn't|todo|still|yet|should|must|need|needs|will|would|going to|later|if|when"
    r"|once|until|nicht|noch|kein|keine|sollte|muss|müssen|werde|wird|später|wenn|sobald|bis)\b|\?|n't\b",
    re.IGNORECASE,
)
_FILLERS = frozenset(
    "the and for that this with from into later next time should must have need remember remind todo please also then "
    "der die das und für mit von später bitte noch muss müssen soll sollte auch dann nicht vergessen".split()
)


def closed_actions(of_session: Observed, pending: Sequence[Learning], reading: Reading) -> list[Learning]:
    """Return those of the pending actions that the session shows to be done: with `done_at`, and the event that shows
    it as their only evidence. At the first such event of each that was not undone."""
    of_session = kept_of(of_session)
    actions = [(one, _asked_at(one), _commands_of(one), _words_of(one.text)) for one in pending]
    events = of_session.events
    if not actions or not events:
        return []
    turns = {(event.event_id, event.part): event.turn_index for event in events}
    found: dict[str, Learning] = {}
    for event, text, is_command in _tellings(of_session, wants_commands=any(commands for _, _, commands, _ in actions)):
        sentences = [] if is_command else list(_done_sentences(text, event, reading))
        for action, asked_at, commands, words in actions:
            if action.id in found or not _is_later(event, action, asked_at, turns):
                continue
            is_done = normalised(text) in commands if is_command else _is_told(words, sentences)
            if is_done and event.ts is not None:
                found[action.id] = _closed(action, event, of_session.session.session_uid, text)
    return list(found.values())


def _tellings(of_session: Observed, *, wants_commands: bool) -> Iterator[tuple[Event, str, bool]]:
    """Yield what people and agents say, and the commands that ended well, at the event of their result."""
    calls: dict[str, str] = {}
    for event in of_session.events:
        payload = event.payload
        if isinstance(payload, UserMessage):
            if payload.origin == "human":
                yield event, payload.text, False
        elif isinstance(payload, AssistantMessage):
            if not event.is_sidechain:
                yield event, payload.text, False
        elif wants_commands and isinstance(payload, ToolCall):
            command = _command_of(payload)
            if command:
                calls[payload.call_id] = command
        elif wants_commands and isinstance(payload, ToolResult):
            command = calls.pop(payload.call_id, "")
            if command and payload.ok is not False and not payload.exit_code and (payload.ok or payload.exit_code == 0):
                yield event, command, True


def _command_of(call: ToolCall) -> str:
    arguments = call.arguments
    if call.canonical != "shell" or not isinstance(arguments, dict):
        return ""
    command = arguments.get("command") or arguments.get("cmd") or ""
    if isinstance(command, list):
        command = command[-1] if command and isinstance(command[-1], str) else ""
    return command if isinstance(command, str) else ""


def _done_sentences(text: str, event: Event, reading: Reading) -> Iterator[frozenset[str]]:
    """Yield the words of the sentences that say of something that it is done, and say so of now."""
    if not _DONE.search(text):
        return
    prose = reading.prose(text, of_human=event.kind == "user_message")
    for start, end in reading.sentences(prose):
        sentence = prose[start:end]
        if _DONE.search(sentence) and not _NOT_DONE.search(sentence):
            yield _words_of(sentence)


def _is_told(words: frozenset[str], sentences: Sequence[frozenset[str]]) -> bool:
    if len(words) < LEAST_WORDS:
        return False
    return any(len(words & said) >= SHARE * len(words) for said in sentences)


def _is_later(event: Event, action: Learning, asked_at: int, turns: dict[tuple[str, int], int]) -> bool:
    if event.ts is None or event.ts <= asked_at:
        return False
    here = [turns[e.event_id, e.part] for e in action.evidence if (e.event_id, e.part) in turns]
    return event.turn_index > max(here) if here else True


def _asked_at(action: Learning) -> int:
    return max((e.ts for e in action.evidence if e.ts is not None), default=action.recorded_at)


def _commands_of(action: Learning) -> frozenset[str]:
    return frozenset(normalised(code) for code in _CODE.findall(action.text))


def _words_of(text: str) -> frozenset[str]:
    return frozenset(_ENDING.sub("", w) for w in _WORD.findall(normalised(text)) if w not in _FILLERS)


def _closed(action: Learning, event: Event, uid: str, text: str) -> Learning:
    author: Author = (
        "user" if event.kind == "user_message" else "assistant" if event.kind == "assistant_message" else "tool"
    )
    evidence = LearningEvidence(uid, event.event_id, event.part, author, event.seq, event.ts, bounded(text))
    return msgspec.structs.replace(
        action, done_at=event.ts, evidence=(evidence,), batch="", recorded_at=0, updated_at=0
    )

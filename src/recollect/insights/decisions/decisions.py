"""Finds decisions in conversations by the rules that matched."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from recollect.insights.decisions.segment import JOIN, moved
from recollect.insights.language.answers import Answer, Kind, Proposal, alternatives_in, answers, proposal_of
from recollect.insights.language.changed_next import is_changed_next
from recollect.insights.language.left_open import SAYS_LEFT, put_off_in
from recollect.insights.language.options import Range, is_named
from recollect.insights.language.pack import POLARITY
from recollect.insights.language.prose_mask import CAP, lower, project
from recollect.insights.language.reader import Reading, readings, words_of
from recollect.insights.language.sentences import sentences
from recollect.insights.session_events import SessionEvents, evidence_of, speaker_of, words_of_talk
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.insights.nodes import (
    Conversation,
    Decision,
    EvidenceRole,
    Marker,
    Option,
    Polarity,
    Speaker,
    node_id,
)
from recollect.privacy.password_sentences import tells_credential


class Found(NamedTuple):
    """A decision in the making. start, end: the deciding words in the message; order: where its rule matched."""

    start: int
    end: int
    order: int
    polarity: Polarity
    chosen: tuple[str, ...]
    rejected: tuple[str, ...]
    markers: tuple[Marker, ...]
    features: frozenset[str]
    rationale: str = ""
    consequences: str = ""
    question: str = ""
    language: str = ""
    is_answer: bool = False


HUNDREDTHS: Final[Mapping[str, int]] = {
    "strong_rule": 60, "soft_rule": 40, "own_rule": 50, "answer_to_question": 55, "order_to_do_it": 55,
    "option_by_label": 70, "contrast": 15, "named_option": 10, "reason": 10, "human": 10, "several_rules": 5,
}  # fmt: skip
"""What each feature adds. The first six say where the decision comes from; a decision has exactly one of them."""

LEAST: Final = 50
"""Below this no decision is made."""
MOST: Final = 99


def confidence_of(features: Collection[str]) -> tuple[float, dict[str, float]]:
    """Return the confidence (0 to 1) and what each feature contributed, in the order of `HUNDREDTHS`."""
    added = {name: value for name, value in HUNDREDTHS.items() if name in features}
    return min(MOST, sum(added.values())) / 100, {name: value / 100 for name, value in added.items()}


_FEATURES: Final[dict[Kind, str]] = {
    "yes": "answer_to_question", "no": "answer_to_question", "do_it": "order_to_do_it", "option": "option_by_label",
}  # fmt: skip
_STOP: Final = late_pattern(r"[.?!\n。？！]|$")


def confirmed(text: str, marker: Marker, said: str) -> Found | None:
    """Return what the answer `marker` in `text` takes (or turns down) of the reply `said`; None for nothing."""
    answer = next((a for a in answers(text) if (a.start, a.end) == (marker.start, marker.end)), None)
    if answer is None:
        return None
    proposal = proposal_of(said, answer.language)
    if proposal is None:
        return None
    chosen, rejected = _taken(answer, proposal, said)
    if not chosen and not rejected:
        return None
    feature = _FEATURES[answer.kind]
    polarity: Polarity = "reject" if not chosen else "adopt"
    return Found(
        start=0 if answer.is_bare else answer.start,
        end=len(text.rstrip()) if answer.is_bare else answer.end,
        order=answer.start,
        polarity=polarity,
        chosen=tuple(_words_of_reply(said, s) for s in chosen),
        rejected=tuple(_words_of_reply(said, s) for s in rejected),
        markers=(marker,),
        features=frozenset({feature, "human"} | ({"contrast"} if chosen and rejected else set())),
        question=" ".join(said[slice(*proposal.asked)].split()),
        language=answer.language,
        is_answer=True,
    )


def _taken(answer: Answer, proposal: Proposal, said: str) -> tuple[list[Range], list[Range]]:
    """Return the ranges of the reply that an answer takes and turns down."""
    meant = [s for s in (proposal.offered, proposal.suggested) if s != (0, 0)]
    if answer.kind == "option":
        return _labelled(answer.label, proposal, said)
    if answer.kind == "no":
        return [], meant[:1]
    return meant[:1], []


def _labelled(label: str, proposal: Proposal, said: str) -> tuple[list[Range], list[Range]]:
    listed = list(proposal.listed)
    if label.startswith("#"):
        place = int(label[1:]) - 1
        spans = [o.span for o in listed] or _between(proposal, said)
        return (spans[place : place + 1], spans[:place] + spans[place + 1 :]) if place < len(spans) else ([], [])
    chosen = [o.span for o in listed if o.label == label]
    return chosen, [o.span for o in listed if o.label != label] if chosen else []


def _between(proposal: Proposal, said: str) -> list[Range]:
    """Return the alternatives separated by "or" in an offer or suggestion."""
    low = lower(said[:CAP])
    # "There are two ways: a queue or a table. Which one?"
    before = [(max(s.start, low.rfind(":", *s) + 1), s.end - 1) for s in sentences(low[: proposal.asked[0]])[-1:]]
    for span in (proposal.offered, proposal.suggested, proposal.asked, *before):
        start, end = span
        stop = _STOP.search(low, end)  # the second alternative may stand behind a word that ends an option
        parts = alternatives_in(low, (start, stop.start() if stop else len(low))) if span != (0, 0) else []
        if len(parts) > 1:
            return parts
    return []


def _words_of_reply(said: str, span: Range) -> str:
    return " ".join(said[slice(*span)].split())


_PATH: Final = late_pattern(
    r"(?<![\w./-])(?:[\w.-]{1,60}/){1,12}[\w.*-]{0,60}|(?<![\w./-])[\w-]{1,60}\.(?:[a-z]{1,4}|json|toml|yaml|lock)(?![\w/])"
)
_PATHS: Final = 8


class _Statement(NamedTuple):
    """The message of a conversation that decides, its markers in its own characters, and what it answers."""

    event: Event
    text: str
    speaker: Speaker
    markers: tuple[Marker, ...]
    reply: Event | None


class ClauseDecider:
    """Makes a decision of each reading whose rule matched; an answer accepts a proposal."""

    def decisions(self, session: SessionEvents, conversations: Sequence[Conversation]) -> list[Decision]:
        """Return the decisions, in order of conversations and of their words."""
        found: list[Decision] = []
        for conversation in conversations:
            statement = _statement(session, conversation)
            if statement is not None:
                found += _of_conversation(conversation, statement)
        return found


def _statement(session: SessionEvents, conversation: Conversation) -> _Statement | None:
    """Return the deciding message of a conversation, None where its events are not in the session."""
    if not conversation.evidence:
        return None
    last = conversation.evidence[-1]
    position = session.positions.get((last.event_id, last.part))
    if position is None:
        return None
    event = session.events[position]
    text = words_of_talk(event)
    lead = sum(e.end - e.start + len(JOIN) for e in conversation.evidence[:-1])
    markers = tuple(moved(marker, last.start - lead) for marker in conversation.markers)
    reply = None
    if len(conversation.evidence) > 1:
        first = conversation.evidence[0]
        at = session.positions.get((first.event_id, first.part))
        reply = session.events[at] if at is not None else None
    return _Statement(event, text, speaker_of(event), markers, reply)


def _of_conversation(conversation: Conversation, statement: _Statement) -> list[Decision]:
    fired = {(m.rule, m.start, m.end): m for m in statement.markers}
    found: list[Found] = []
    for reading in readings(statement.text, statement.speaker):
        marker = fired.pop((reading.rule_id, reading.start, reading.end), None)
        said = statement.text[reading.sentence.start : reading.sentence.end]
        if marker and not (
            SAYS_LEFT.match(said) or _is_left(statement.text, reading) or _is_changed_next(statement.text, reading)
        ):
            found.append(_by_reading(statement, reading, marker))
    answer = next((m for m in statement.markers if m.category == "confirmation" and m.language), None)
    if answer is not None and not found and statement.reply is not None:
        accepted = confirmed(statement.text, answer, words_of_talk(statement.reply))
        if accepted is not None:
            found.append(accepted)
    taken = {(m.start, m.end) for m in statement.markers if m.language}
    found += [_by_own_rule(statement, m) for m in fired.values() if not m.language and (m.start, m.end) not in taken]
    return [
        _decision(conversation, statement, one)
        for one in _merged(found)
        if confidence_of(one.features)[0] * 100 >= LEAST and not _tells_credential(statement.text, one)
    ]


def _tells_credential(text: str, one: Found) -> bool:
    said = (text[one.start : one.end], one.rationale, one.consequences, one.question, *one.chosen, *one.rejected)
    return any(map(tells_credential, said))


def _is_left(text: str, reading: Reading) -> bool:
    """Return whether the deciding words only put something off: one that says why it is put off decides."""
    return reading.reason == (0, 0) and any(put_off_in(text[reading.start : reading.end]))


def _is_changed_next(text: str, reading: Reading) -> bool:
    """Return whether what a reading takes is how things are, and is changed by the words behind it."""
    last = max((end for _, end in reading.chosen), default=0)
    return bool(last) and is_changed_next(text, reading.sentence.start, last)


def _by_reading(statement: _Statement, reading: Reading, marker: Marker) -> Found:
    text = statement.text
    features = {"strong_rule" if reading.rule.strength == "strong" else "soft_rule"}
    if reading.chosen and reading.rejected:
        features.add("contrast")
    if reading.is_named:
        features.add("named_option")
    if rationale := _rationale(text, reading):
        features.add("reason")
    if statement.speaker == "human":
        features.add("human")
    return Found(
        start=reading.sentence.start,
        end=max(reading.sentence.end, reading.end),
        order=reading.start,
        polarity=reading.polarity,
        chosen=tuple(_words(text, span) for span in reading.chosen),
        rejected=tuple(_words(text, span) for span in reading.rejected),
        rationale=rationale,
        consequences=_consequences(text, reading),
        language=reading.language,
        markers=(marker,),
        features=frozenset(features),
    )


def _by_own_rule(statement: _Statement, marker: Marker) -> Found:
    """Return what a rule of the configuration found: its words name the option, the sentence is the statement."""
    text = statement.text
    start = max(text.rfind(c, 0, marker.start) + 1 for c in "\n.!?")
    ends = [at for c in "\n.!?" if (at := text.find(c, marker.end)) >= 0]
    end = min(ends, default=len(text))
    while start < marker.start and text[start].isspace():
        start += 1
    option = text[marker.start : marker.end].strip()
    polarity = POLARITY[marker.category]
    is_against = polarity in ("reject", "ban")
    features = {"own_rule", "human"} if statement.speaker == "human" else {"own_rule"}
    if is_named(text, project(text, of_human=True), (marker.start, marker.end)):
        features.add("named_option")
    return Found(
        start=start,
        end=end,
        order=marker.start,
        polarity=polarity,
        chosen=() if is_against else (option,),
        rejected=(option,) if is_against else (),
        markers=(marker,),
        features=frozenset(features),
    )


def _merged(found: list[Found]) -> list[Found]:
    """Join a rejection with the choice of the next sentence: "don't mock X. mock Y" is one choice."""
    merged: list[Found] = []
    for one in sorted(found, key=lambda f: f.order):
        before = merged[-1] if merged else None
        is_pair = (
            before is not None
            and before.polarity in ("ban", "reject")
            and one.polarity == "adopt"
            and not before.chosen
            and not one.rejected
            and one.start - before.end <= 3
            and _same_verb(before, one)
        )
        if is_pair and before is not None:
            merged[-1] = before._replace(
                end=one.end,
                polarity="adopt",
                chosen=one.chosen,
                rationale=before.rationale or one.rationale,
                markers=before.markers + one.markers,
                features=before.features | one.features | {"contrast"},
            )
        else:
            merged.append(one)
    return merged


def _same_verb(before: Found, after: Found) -> bool:
    """Whether two options begin with the same word, or are in one sentence."""
    if before.start == after.start:
        return True
    verbs = {option.split()[0].lower() for option in before.rejected if option.split()}
    words = {m.text.split()[0].lower() for m in after.markers if m.text.split()}
    words |= {option.split()[0].lower() for option in after.chosen if option.split()}
    return bool(verbs & words)


def _decision(conversation: Conversation, statement: _Statement, one: Found) -> Decision:
    event = statement.event
    confidence, features = confidence_of(one.features)
    text = statement.text[one.start : one.end]
    last = conversation.evidence[-1]
    evidence = [e for e in conversation.evidence[:-1] if one.is_answer]
    role: EvidenceRole = "confirmation" if last.role == "confirmation" else "statement"
    evidence.append(evidence_of(event, role, one.start, one.end))
    options = (*(Option(o, True) for o in one.chosen), *(Option(o, False) for o in one.rejected))
    return Decision(
        id=node_id("decision", event.session_uid, event.event_id, event.part, one.start, one.end, one.order),
        session_uid=event.session_uid,
        location=evidence[0].location,
        ts=event.ts,
        turn_index=event.turn_index,
        confidence=confidence,
        features=features,
        evidence=tuple(evidence),
        statement=text.strip(),
        polarity=one.polarity,
        speaker=statement.speaker,
        question=one.question,
        options=tuple(dict.fromkeys(options)),
        rationale=one.rationale,
        consequences=one.consequences,
        scope=_scope(text, one, statement.speaker),
        paths=_paths(text),
        language=one.language,
        markers=one.markers,
        conversation=conversation.id,
    )


def _scope(text: str, one: Found, speaker: Speaker) -> Literal["session", "repo", "user", "path"]:
    """Return what a decision holds for: its words say so, else a ban with paths holds for them, else the repository."""
    low = text.lower()
    words = words_of(one.language) if one.language else None
    if words is not None and words.has("for_session", low, 0, len(low)):
        return "session"
    if words is not None and speaker == "human" and words.has("for_user", low, 0, len(low)):
        return "user"
    return "path" if one.polarity == "ban" and _paths(text) else "repo"


def _paths(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(m[0] for m in _PATH.finditer(text[:2_000]) if not m[0].startswith("//")))[:_PATHS]


def _rationale(text: str, reading: Reading) -> str:
    """Return the reason of a reading; a clause that holds the deciding words says nothing beside them."""
    start, end = reading.reason
    return "" if start <= reading.start and reading.end <= end else text[start:end].strip()


def _consequences(text: str, reading: Reading) -> str:
    """Return what follows from the decision, where the words after it say so."""
    low = text[reading.end : reading.sentence.end + 300].lower()
    found = words_of(reading.language).has("consequences", low, 0, len(low))
    if found is None:
        return ""
    rest = text[reading.end + found.start() : reading.end + len(low)]
    return re.split(r"(?<=[.!?。])\s|\n", rest, maxsplit=1)[0].strip()


def _words(text: str, span: tuple[int, int]) -> str:
    words = " ".join(text[slice(*span)].split())
    is_code = len(words) > 2 and words[0] == words[-1] == "`" and "`" not in words[1:-1]
    return words[1:-1] if is_code else words

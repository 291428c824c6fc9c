"""Orders candidates. All numbers that decide the order are in `Weights`.

Evidence for the values, what was tried and what lost: docs/development/recall-tuning.md. They were chosen on the
development sets
of two benchmarks and kept round. The words of `intent_of` were written with the same questions in view, so that figures
on them flatter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from recollect.index.query.candidates import Candidate, QueryPlan
from recollect.index.query.grammar import is_question
from recollect.index.query.query_units import Unit
from recollect.late import late_pattern
from recollect.store.row_keys import SEQ_MASK
from recollect.store.rows import SessionKey

Intent = Literal["reason", "command", "output", "other"]
"""What kind of event a question most likely is answered by."""

_REASON = late_pattern(r"\W*(?:and |but |so )?why\b", re.I)
_NOUN = (
    r"\b(?:which|what)(?!\s+(?:the|an?|this|that|these|those|my|our|your|its|their|we|you|i|it|they)\b)"
    r"(?:\s+\S+){0,3}?\s+"
)
"""What is asked for by its name. `on which the version blocks` asks for nothing: an article begins a clause."""
_OUTPUT = late_pattern(_NOUN + r"(?:versions?|release|commit|host ?name|number|count)\b|\bhow many\b", re.I)
_COMMAND = late_pattern(
    _NOUN + r"(?:commands?|invocation|script|options?|flags?|subject line)\b"
    r"|\b(?:which|what|how)\b.{0,60}?\bdid (?:we|you|i)\b.{0,40}?\b(?:run|install|merge|start|call)\b",
    re.I | re.S,
)


def intent_of(question: str) -> Intent:
    """Tell from a question's words what kind of event is wanted; "other" for most."""
    if _REASON.match(question):
        return "reason"
    if _OUTPUT.search(question):
        return "output"
    if _COMMAND.search(question):
        return "command"
    return "other"


class Weights(msgspec.Struct, frozen=True):
    """All parameters of the order. A candidate's score is

        voice * (bm25 * (1 + coverage * covered²) + exact * covered_exactly + neighbours + session + meaning)

    and more in its period, with bm25 divided by the sum of idf, so that scores lie near 0..3 whatever the length of the
    question, and with meaning made of cosine similarities.
    """

    coverage: float = 1.0
    exact: float = 0.5
    together: float = 0.03
    """For each pair of the question's words standing together, at most four."""
    next_to: float = 0.1
    """Of the bm25 of the two events beside it."""
    near: float = 0.02
    """Of the bm25 of the events two and three places away."""
    talk_next_to: float = 0.6
    """The same where both are said, by a person or the agent: an answer leaves out the words of its question."""
    talk_near: float = 0.3
    meaning: float = 1.0
    """Of its similarity to the question."""
    unknown_meaning: float = 0.5
    """What has no vector (tools) gets this share of the mean similarity of what has one."""
    session_meaning: float = 1.75
    """Of the mean similarity of the session's SESSION_MEANINGS nearest events: one near event may be an accident."""
    context: float = 0.1
    """For what the event and its neighbours cover together."""
    session_coverage: float = 0.4
    session_best: float = 0.1
    """Of the sum of the five best of the session, which long sessions cannot grow without end."""
    in_period: float = 5.0
    """A date said in passing prefers, strongly, but excludes nothing."""
    recency: float = 0.06
    """A share of the score, for an event of today; halved every 90 days. A decision and its reversal say nearly the
    same words: the newer one comes first, and little else changes place (arm "superseded" of the generated corpus)."""
    session_length: float = 0.04
    """A share of the score of a keyword search, taken off for each factor of e in the session's events beyond a
    hundred: the longer a session, the greater its chance to hold a few words by accident (arm "marathon"). Not for
    questions, whose many words tell the session better than its length does."""
    asked: float = 0.5
    """For a prompt that is the question itself, asked again: what somebody once asked does not answer (arm "asked")."""
    reply: float = 1.0
    prompt: float = 0.6
    thinking: float = 0.85
    shell: float = 1.0
    edit: float = 0.5
    plan: float = 0.65
    tool_input: float = 0.9
    tool_output: float = 0.7
    instructions: float = 1.0
    other: float = 0.3
    note: float = 1.0
    document: float = 0.9
    """A little below a reply: what is written down is said to nobody and stays when it is no longer so."""
    former: float = 0.4
    """What was learned, noted or to be done and does not hold any more."""
    reason_talk: float = 2.0
    """Talk, thinking and what is written down, asked why."""
    command_shell: float = 2.0
    """Commands, asked for a command."""
    output_result: float = 2.0
    """Output, asked for a version, a number, a commit."""


WEIGHTS = Weights()
_RECENCY_HALF_US = 90 * 86_400_000_000
_SHORT_SESSION_EVENTS = 100
_SAME_QUESTION = 0.9
"""The share of a question's rareness that a prompt holds word for word when it is that question."""
_TALK = frozenset(("reply", "prompt", "thinking"))
_REASONED = _TALK | {"note", "document"}
_SAID = frozenset(("reply", "prompt"))
SESSION_MEANINGS = 5


class Ranked(NamedTuple):
    """A candidate with its place decided. covered: share of the question's weight of rareness that it has."""

    candidate: Candidate
    score: float
    covered: float


class Masses(dict[int, float]):
    """What share of the question's rareness, 0..1, the units hold whose bits are set. Absent units count for nothing.

    It is worked out when it is first looked up.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        super().__init__()
        self._weights = [0.0 if u.is_absent else u.idf for u in units]
        self._total = sum(self._weights) or 1.0

    def __missing__(self, mask: int) -> float:
        share = self[mask] = sum(w for i, w in enumerate(self._weights) if mask >> i & 1) / self._total
        return share


def rank(
    candidates: Mapping[int, Candidate],
    wanted: QueryPlan,
    *,
    question: str,
    sessions: Mapping[int, SessionKey],
    now_us: int,
    weights: Weights = WEIGHTS,
) -> list[Ranked]:
    """Return all candidates, best first; ties by time (newest first), session and place in it.

    question: the query's text, which tells what kind of event is wanted.
    sessions: each candidate's session by its number. The number follows the order of arrival, which must not show.
    """
    asks = is_question(question)
    meanings = _meanings(candidates, weights)
    units = wanted.all_units
    masses = Masses(units)
    scale = sum(u.idf for u in units if not u.is_absent) or 1.0
    by_session: dict[int, list[Candidate]] = {}
    for candidate in candidates.values():
        by_session.setdefault(candidate.session, []).append(candidate)
    of_session = {number: _session_gain(members, masses, scale, weights) for number, members in by_session.items()}
    session_meaning = (
        {number: _session_meaning(members, meanings, weights) for number, members in by_session.items()}
        if meanings
        else dict.fromkeys(by_session, 0.0)
    )
    lengths = {number: 1.0 if asks else _length_factor(sessions.get(number), weights) for number in by_session}
    voices = _voices(intent_of(question), weights)
    placed = []
    for candidate in candidates.values():
        session = candidate.session
        covered = masses[candidate.has]
        own = _score(candidate, covered, candidates, masses=masses, scale=scale, weights=weights)
        meaning = weights.meaning * meanings.get(candidate.key, 0.0) + session_meaning[session]
        score = voices[candidate.voice] * (own + of_session[session] * covered + meaning)
        score *= lengths[session] * (1 + weights.recency * _recency(candidate.ts, now_us))
        if asks and candidate.voice == "prompt" and masses[candidate.exact] > _SAME_QUESTION:
            score *= weights.asked
        placed.append(Ranked(candidate, score + (weights.in_period if candidate.in_period else 0.0), covered))
    placed.sort(key=lambda item: _place(item, sessions))
    return placed


def _place(item: Ranked, sessions: Mapping[int, SessionKey]) -> tuple[float, bool, int, bool, str, int]:
    candidate = item.candidate
    ts = candidate.ts
    # Scores are sums over neighbours in any order: what differs in the tenth digit only is equal.
    session = sessions.get(candidate.session)
    uid = session.session_uid if session is not None else ""
    is_fork = session is not None and session.origin_uid != ""  # what it repeats comes after the original
    return (-round(item.score, 9), ts is None, -(ts or 0), is_fork, uid, candidate.key & SEQ_MASK)


def _score(
    candidate: Candidate, covered: float, all_: Mapping[int, Candidate], *, masses: Masses, scale: float,
    weights: Weights,
) -> float:  # fmt: skip
    bm25 = candidate.score / scale
    neighbours = 0.0
    around = candidate.has
    is_said = candidate.voice in _SAID
    for keys, of_any, of_said in (
        (candidate.beside, weights.next_to, weights.talk_next_to),
        (candidate.further, weights.near, weights.talk_near),
    ):
        for key in keys:
            if (neighbour := all_.get(key)) is not None:
                around |= neighbour.has
                share = of_said if is_said and neighbour.voice in _SAID else of_any
                neighbours += share * neighbour.score / scale
    return (
        bm25 * (1 + weights.coverage * covered * covered)
        + weights.exact * masses[candidate.exact]
        + weights.together * min(candidate.together, 4)
        + neighbours
        + weights.context * masses[around] * covered
    )


def _session_gain(members: Sequence[Candidate], masses: Masses, scale: float, weights: Weights) -> float:
    together = 0
    scores: list[float] = []
    for member in members:
        if not member.is_extra:
            together |= member.has
            scores.append(member.score / scale)
    scores.sort(reverse=True)
    return weights.session_coverage * masses[together] + weights.session_best * sum(scores[:5])


def _meanings(candidates: Mapping[int, Candidate], weights: Weights) -> dict[int, float]:
    """Return what counts as each candidate's similarity; nothing where no similarity is known."""
    known = {key: max(c.similarity, 0.0) for key, c in candidates.items() if c.similarity is not None}
    if not known:
        return {}
    unknown = weights.unknown_meaning * sum(known.values()) / len(known)
    return {key: known.get(key, unknown) for key in candidates}


def _session_meaning(members: Sequence[Candidate], meanings: Mapping[int, float], weights: Weights) -> float:
    best = sorted((meanings.get(m.key, 0.0) for m in members if not m.is_extra), reverse=True)[:SESSION_MEANINGS]
    return weights.session_meaning * sum(best) / SESSION_MEANINGS


def _voices(intent: Intent, weights: Weights) -> dict[str, float]:
    voices = {
        "reply": weights.reply, "prompt": weights.prompt, "thinking": weights.thinking, "shell": weights.shell,
        "edit": weights.edit, "plan": weights.plan, "tool_input": weights.tool_input,
        "tool_output": weights.tool_output, "instructions": weights.instructions, "other": weights.other,
        "note": weights.note, "document": weights.document, "former": weights.former,
    }  # fmt: skip
    if intent == "reason":
        voices.update({voice: voices[voice] * weights.reason_talk for voice in _REASONED})
    elif intent == "command":
        voices["shell"] *= weights.command_shell
    elif intent == "output":
        voices["tool_output"] *= weights.output_result
    return voices


def _length_factor(session: SessionKey | None, weights: Weights) -> float:
    events = session.event_count if session is not None else 0
    return max(0.5, 1 - weights.session_length * math.log1p(events / _SHORT_SESSION_EVENTS))


def _recency(ts: int | None, now_us: int) -> float:
    if ts is None:
        return 0.0
    return float(0.5 ** (max(0, now_us - ts) / _RECENCY_HALF_US))

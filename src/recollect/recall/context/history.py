"""Earlier work here: valid decisions, the diary, recent sessions, and what matches a prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.model.insights.nodes import Decision
from recollect.model.learnings.notes import DiaryEntry
from recollect.model.own import without_own_blocks
from recollect.model.payloads import AssistantMessage
from recollect.model.text import one_line
from recollect.model.time import day_of
from recollect.recall.context.learnings import LearnedHere, as_words, quotable, says_again
from recollect.recall.context.lines import ContextLine, ContextRequest, SourceLines, window
from recollect.recall.related_events import EarlierStatement
from recollect.store.context_rows import RecentSession

if TYPE_CHECKING:
    from recollect.recall.answers import Hit, SearchAnswer
from recollect.units import plural

STATEMENT_CHARS = 220
REASON_CHARS = 120
SURE = 0.6
"""Confidence from which on what an assistant said is told, where it gives a reason or turns something down: "now I'll
fix the tests" decides nothing. A person's words are told at any."""
SURE_RANKED = 0.8
"""Confidence from which on a person's words are told of which only learned weights say that they decide."""
_NAMES = 6


class DecidedHere:
    """Decisions in this repository that nothing has superseded, reversed or revoked. Omits repeated wordings and
    what is shown above as a learning.
    """

    heading = "Decided here (newest first):"

    def __init__(self, learned: LearnedHere) -> None:
        self._learned = learned

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return a line for each of the newest decisions, but those of the present session."""
        if asked.folder is None:
            return SourceLines(())
        learned = self._learned.told(asked)
        told = set(map(as_words, asked.said))
        held = [
            decision
            for decision in asked.reader.decisions_in(asked.folder, [s.session_uid for s in asked.sessions[0]])
            if decision.citation.partition("#")[0] != asked.session
            and decision.citation
            and _is_sure(decision)
            and not says_again(decision.statement, learned)
            and not _is_told(decision, told)
        ]
        shown = held[: max(1, asked.room * 3 // 10)]
        lines = [_decision_line(asked, decision, 1 - place / (2 * len(shown))) for place, decision in enumerate(shown)]
        return SourceLines(lines)  # older decisions are found by asking


def _is_sure(decision: Decision) -> bool:
    if decision.speaker == "human":
        return decision.status != "ranked" or decision.confidence >= SURE_RANKED
    return decision.confidence >= SURE and bool(decision.rejected or decision.rationale)


def _is_told(decision: Decision, told: set[str]) -> bool:
    """Return whether the words of a decision are among those, and add them."""
    words = as_words(decision.statement)
    if words in told:
        return True
    told.add(words)
    return False


def _decision_line(asked: ContextRequest, decision: Decision, worth: float) -> ContextLine:
    who = "decided" if decision.speaker == "human" else "the agent decided"
    who = f"maybe {who}" if decision.status == "ranked" else who
    text = f"{who}: “{one_line(without_own_blocks(decision.statement), STATEMENT_CHARS)}”"
    if decision.rationale and decision.rationale not in decision.statement:
        text += f" ({one_line(decision.rationale, REASON_CHARS)})"
    names = (*decision.chosen, *decision.rejected, *decision.paths)
    later = asked.said_later(EarlierStatement(decision.statement, names, decision.ts, decision.citation))
    shown = tuple(name for name in names[:_NAMES] if len(name) > 2)
    return ContextLine(text, decision.citation, decision.ts, worth, shown, later=later)


TEXT_CHARS = 200
PART_CHARS = 120


class DiaryHere:
    """The newest entries of the agent's diary about the folder or about nothing in particular."""

    heading = "From this agent's diary (newest last):"

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return a line for each of the newest entries. Without an agent: of all agents."""
        entries, total = asked.reader.diary_in(asked.folder, agent=asked.agent, limit=max(1, asked.room // 5))
        lines = [_diary_line(entry, asked, 0.6 + 0.35 * place / len(entries)) for place, entry in enumerate(entries, 1)]
        return SourceLines(lines, total - len(entries))


def _diary_line(entry: DiaryEntry, asked: ContextRequest, worth: float) -> ContextLine:
    who = "" if asked.agent else f" {entry.agent}"
    topic = f" ({quotable(entry.topic, 60)})" if entry.topic else ""
    text = f"{day_of(entry.written_at)}{who}{topic}: “{quotable(entry.text, TEXT_CHARS)}”"
    parts = (("decided", entry.decided), ("discovered", entry.discovered), ("left pending", entry.left_pending))
    for name, said in parts:
        if said:
            text += f"; {name}: “{quotable('; '.join(said), PART_CHARS)}”"
    return ContextLine(text, f"diary:{entry.id}", entry.written_at, worth)


TITLE_CHARS = 90
LAST_WORDS_CHARS = 170
_REPLIES = 4
"""Replies looked at from the end, until one says something."""
_SENTENCE_END = r"(?<=[.!?。！？])\s+"


class WorkedOn:
    """Recent root sessions: when, agent, branch, the request, the assistant's last words."""

    heading = "Worked on here before, oldest first:"

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return a line for each of the newest sessions in the folder, but the present one."""
        shown = max(1, asked.room * 3 // 10)
        newest, total = asked.sessions
        chosen = window(newest, total, shown)
        made = [
            _session_line(asked, session, place / len(chosen))
            for place, session in enumerate(chosen, 1)
            if session.title
        ]
        lines = [line for line in made if line is not None]
        return SourceLines(lines)  # that there were sessions before goes without saying


def _session_line(asked: ContextRequest, session: RecentSession, newness: float) -> ContextLine | None:
    """Return a session's line; None for one in which the agent never answered."""
    replies = asked.reader.events(session.session_uid, ("assistant_message",), limit=_REPLIES)
    said = [(e, t) for e in replies if isinstance(e.payload, AssistantMessage) and (t := last_words(e.payload.text))]
    if not said:
        return None
    last, words = said[-1]
    edits = session.kind_counts.get("file_edit", 0)
    facts = [day_of(session.started_at) if session.started_at is not None else "undated", session.agent]
    if session.branch:
        facts.append(f"on {session.branch}")
    counts = plural(session.turn_count, "turn")
    if edits:
        counts += f", {plural(edits, 'edit')}"
    title = one_line(without_own_blocks(session.title), TITLE_CHARS)
    text = f"{' '.join(facts)}: “{title}” ({counts}); it ended with: “{words}”"
    return ContextLine(text, f"{session.session_uid}#{last.seq}", session.started_at, 0.2 + 0.65 * newness)


def last_words(text: str, limit: int = LAST_WORDS_CHARS) -> str:
    """Return the end of a text, in whole sentences if they fit."""
    line = " ".join(without_own_blocks(text).split())
    if len(line) <= limit:
        return line
    kept = ""
    for sentence in reversed(re.split(_SENTENCE_END, line[-4 * limit :])[1:]):
        longer = f"{sentence} {kept}".rstrip()
        if len(longer) > limit:
            break
        kept = longer
    return kept if len(kept) >= limit // 4 else "…" + line[-limit + 1 :].lstrip()


MAX_LINES = 3
MIN_WORDS = 4
"""A prompt of fewer telling words (`continue`, `yes, do that`) is about the conversation, not about the past."""
MAX_WORDS = 32
SNIPPET_CHARS = 220
_WORD = re.compile(r"[^\W_][\w./#@-]*[^\W_]|[^\W_]")
_SHORT = 4
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_EMPTY_WORDS = frozenset(
    "this that with from have what when where which would could should please make like just then than them they there "
    "these those your into some does done also and the for are you can how why not now yes okay sure thanks thank "
    "continue proceed again next again good great fine looks look help".split()
)


def question_of(prompt: str) -> str:
    """Return the words of a prompt to search for, "" if it is too short or trivial. Its signs are not operators."""
    words = [word for word in _WORD.findall(_CODE.sub(" ", prompt)) if word.lower() not in _EMPTY_WORDS]
    telling = {word.lower() for word in words if len(word) >= _SHORT or not word.isascii()}
    return " ".join(words[:MAX_WORDS]) if len(telling) >= MIN_WORDS else ""


class Prompted:
    """The hits of a search for the prompt's words, where they are sure."""

    heading = "Said or done here before, perhaps about this:"

    def __init__(self, answer: SearchAnswer) -> None:
        self._answer = answer

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return at most three hits of other sessions; none where the search is not sure that they are about it."""
        if self._answer.abstained or self._answer.match_level not in ("exact", "stemmed"):
            return SourceLines(())
        chosen = _chosen(self._answer.hits, asked.session)
        return SourceLines([_hit_line(hit, 1 - place / 10) for place, hit in enumerate(chosen)])


def _chosen(hits: Sequence[Hit], session: str) -> list[Hit]:
    """Return the best hit of each of the first sessions, what people and models said before what tools put out."""
    found: dict[str, Hit] = {}
    for hit in hits:
        is_other = session not in (hit.session_uid, hit.root_session_uid) and not hit.is_undone
        if is_other and hit.match_level in ("exact", "stemmed") and hit.kind != "instructions":
            found.setdefault(hit.root_session_uid, hit)
    return list(found.values())[:MAX_LINES]


def _hit_line(hit: Hit, worth: float) -> ContextLine:
    day = day_of(hit.ts) if hit.ts is not None else "undated"
    snippet = " ".join((hit.snippet or hit.summary).split())
    snippet = snippet if len(snippet) <= SNIPPET_CHARS else snippet[: SNIPPET_CHARS - 1].rstrip() + "…"
    text = f"{day} {hit.agent}, {hit.kind.replace('_', ' ')}: “{snippet}”"
    return ContextLine(text, f"{hit.session_uid}#{hit.seq}", hit.ts, worth)

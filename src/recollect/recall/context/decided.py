"""What was decided here and still holds: a line per decision, the newest first."""

from __future__ import annotations

from recollect.model.own import without_own_blocks
from recollect.model.text import one_line
from recollect.recall.context.learnings.learnings import LearnedHere, as_words, says_again
from recollect.recall.context.sources import Asked, Candidate, Found
from recollect.store.recent import RecentDecision

STATEMENT_CHARS = 220
REASON_CHARS = 120
SURE = 0.6
"""Confidence from which on what an assistant said is told, where it gives a reason or turns something down: "now I'll
fix the tests" decides nothing. A person's words are told at any."""
SURE_RANKED = 0.8
"""Confidence from which on a person's words are told of which only learned weights say that they decide."""
_NAMES = 6


class DecidedHere:
    """Decisions in this repository that nothing has superseded, reversed or revoked. What was said in the same words
    before, or stands above as something learned, is not said again."""

    name = "decisions"
    heading = "Decided here, and it still holds (newest first):"

    def __init__(self, learned: LearnedHere) -> None:
        self._learned = learned

    def candidates(self, asked: Asked) -> Found:
        """Return a line for each of the newest decisions, but those of the present session."""
        if asked.folder is None:
            return Found(())
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
        lines = [_line(decision, 1 - place / (2 * len(shown))) for place, decision in enumerate(shown)]
        return Found(lines)  # older decisions are found by asking


def _is_sure(decision: RecentDecision) -> bool:
    if decision.speaker == "human":
        return decision.status != "ranked" or decision.confidence >= SURE_RANKED
    return decision.confidence >= SURE and bool(decision.rejected or decision.rationale)


def _is_told(decision: RecentDecision, told: set[str]) -> bool:
    """Tell whether the words of a decision are among those, and add them."""
    words = as_words(decision.statement)
    if words in told:
        return True
    told.add(words)
    return False


def _line(decision: RecentDecision, worth: float) -> Candidate:
    who = "decided" if decision.speaker == "human" else "the agent decided"
    who = f"maybe {who}" if decision.status == "ranked" else who
    text = f"{who}: “{one_line(without_own_blocks(decision.statement), STATEMENT_CHARS)}”"
    if decision.rationale and decision.rationale not in decision.statement:
        text += f" ({one_line(decision.rationale, REASON_CHARS)})"
    names = (*decision.chosen, *decision.rejected, *decision.paths)[:_NAMES]
    return Candidate(text, decision.citation, decision.ts, worth, tuple(name for name in names if len(name) > 2))

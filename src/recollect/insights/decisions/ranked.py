"""Finds decisions that no rule finds, with the scorer (status `ranked`), and refuses tasks that a rule took for one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from recollect.insights.language.changed_next import is_changed_next
from recollect.insights.language.left_open import SAYS_LEFT, leaves_open
from recollect.insights.language.prose_mask import lower
from recollect.insights.language.reader import languages, words_of
from recollect.insights.language.substance import names_something
from recollect.insights.scorer import SentenceScorer
from recollect.insights.scorer.features import TokenSentence, TurnOfEvent, turns_of
from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.model.insights.nodes import Decision, Polarity, node_id
from recollect.privacy.password_sentences import tells_credential

OF_A_TURN: Final = 3
"""Decisions of a message, at most: the likeliest."""
_ORDERING: Final = frozenset(("en", "de", "fr", "es"))
"""Languages of which it is known how a sentence that chooses begins."""
_CHOOSES: Final = re.compile(
    r"\W*(?:(?:ok|okay|please|yes|no|then|bitte)\W+)*(?:use|go (?:with|for)|adopt|stick|stay|keep|choose|pick|opt"
    r"|prefer|we|let['’]?s|i (?:want|prefer|['’]d)|nimm|nehm\w*|verwende\w*|benutz\w*|nutz\w*|bleib\w*|wir|lass uns|ich"
    r"|on|nous|utilis\w*|pren\w*|gard\w*|usa\w*|usemos|vamos|quiero|manten\w*|prefier\w*)\b",
    re.IGNORECASE,
)
_REPAIR: Final = re.compile(
    r"(?:^|[.,;:!–—-]\s*|\b(?:and|so|und)\s+)"
    r"(?:(?:please|pls|then|now|just|can you|could you|bitte|dann|mal|kannst du|könntest du)[\s,]+)*"
    r"(?:(?:fix|repair|mend|restore|resolve|debug)(?:\s+(?:it|that|this|them))?|sort (?:it|that|this|them) out"
    r"|(?:get|make) (?:it|that|this|them) (?:work|run|pass)\w*"
    r"|(?:repariere?|behebe?|fixe?) (?:es|das|ihn|sie|dies)"
    r"|(?:(?:es|das|ihn|sie) )?(?:bitte )?(?:reparieren|beheben|fixen))"
    r"(?:\s+(?:please|pls|again|asap|now|first|bitte|wieder|mal|jetzt))*\s*(?:[.!?]|$)",
    re.IGNORECASE,
)
"""Asks to repair what was named before."""
LEAST_NAMES: Final = 2
"""Words that name something, at least, in a statement."""


class DecisionRanker:
    """The ranker that ships. Immutable, safe from threads."""

    def __init__(self, scorer: SentenceScorer | None = None) -> None:
        """scorer: by default with the weights that ship."""
        self._scorer = scorer or SentenceScorer()

    def decisions(self, session: SessionEvents, known: Sequence[Decision]) -> list[Decision]:
        """Return what rules found, without plain orders that the weights take for no decision, and what only the
        weights find, in order. Without weights, what rules found.
        """
        if self._scorer.missing:
            return list(known)
        taken: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for decision in known:
            for piece in decision.evidence:
                taken.setdefault((piece.event_id, piece.part), []).append((piece.start, piece.end))
        plain: dict[tuple[str, int], list[Decision]] = {}
        for decision in filter(_is_plain_order, known):
            plain.setdefault((decision.evidence[-1].event_id, decision.evidence[-1].part), []).append(decision)
        found: list[Decision] = []
        tasks: set[str] = set()
        turns = list(turns_of(session))
        of_turns = self._scorer.likely_of([one.turn for one in turns], "decision")
        for one, likely in zip(turns, of_turns, strict=True):
            at = (one.event.event_id, one.event.part)
            if likely:
                found += self._of_turn(one, likely, taken.get(at, []))
            for order in plain.get(at, ()):
                said = [(order.evidence[-1].start, order.evidence[-1].end)]
                is_likely = any(_overlaps(sentence, said) for _, sentence in likely)
                if not is_likely or _asks_repair(one.turn.text, *said[0]):
                    tasks.add(order.id)
        return in_order(session, [*(one for one in known if one.id not in tasks), *found])

    def _of_turn(
        self, one: TurnOfEvent, likely: Sequence[tuple[int, TokenSentence]], taken: Sequence[tuple[int, int]]
    ) -> list[Decision]:
        new = [scored for scored in likely if not _overlaps(scored[1], taken)]
        best = sorted(new, key=lambda scored: -scored[0])[:OF_A_TURN]
        found = (
            _decision(one, sentence, self._scorer.confidence("decision", score) / 100)
            for score, sentence in sorted(best, key=lambda scored: scored[1].start)
        )
        return [decision for decision in found if decision is not None]


def _is_plain_order(decision: Decision) -> bool:
    """Return whether a decision may be a mere task ("put a spinner on the button"): a person orders something, without
    a reason and without turning something else down, in words that neither set a rule nor choose."""
    return (
        decision.speaker == "human"
        and not decision.rationale
        and not (decision.chosen and decision.rejected)
        and decision.evidence[-1].role == "statement"
        and all(one.category == "choice" and one.language in _ORDERING for one in decision.markers)
        and not any(_CHOOSES.match(words) for words in (decision.statement, *(one.text for one in decision.markers)))
    )


def _asks_repair(text: str, start: int, end: int) -> bool:
    """Return whether a sentence only says what is broken, and it or the next one asks to repair that."""
    said, after = text[start:end].strip(), text[len(text[:end].rstrip(" .!")) :]
    is_asked = _REPAIR.search(said) is not None or _REPAIR.match(after) is not None
    return is_asked and _CHOOSES.match(said) is None


def in_order(session: SessionEvents, decisions: Iterable[Decision]) -> list[Decision]:
    """Return decisions by the place of the words that decide."""

    def place(decision: Decision) -> tuple[int, int]:
        last = decision.evidence[-1]
        return session.positions[last.event_id, last.part], last.start

    return sorted(decisions, key=place)


def _overlaps(sentence: TokenSentence, ranges: Sequence[tuple[int, int]]) -> bool:
    return any(start < sentence.end and sentence.start < end for start, end in ranges)


def _decision(one: TurnOfEvent, sentence: TokenSentence, confidence: float) -> Decision | None:
    """Return a sentence as a decision, without options, because nothing identifies them reliably.

    None if it contains a credential, says what is left to do or how something is that is changed next or to be
    repaired, or names too little to be understood by itself ("yes, continue").
    """
    event, (_, start, end) = one.event, sentence
    said = one.turn.text[start:end].strip()
    is_cut = said.count("**") % 2 and one.turn.text.endswith("**", 0, start)  # "**Fix:** it strips …" without its first
    statement = f"**{said}" if is_cut else said
    language = next(iter(languages(lower(statement))), "en")
    if (
        tells_credential(statement)
        or leaves_open(lower(statement))
        or SAYS_LEFT.match(statement)
        or is_changed_next(one.turn.text, start, end - 1)
        or (one.turn.speaker == "human" and _asks_repair(one.turn.text, start, end))
        or names_something(statement, words_of(language)) < LEAST_NAMES
    ):
        return None
    polarity = _polarity(statement, language)
    evidence = evidence_of(event, "statement", start, end)
    return Decision(
        id=node_id("decision", event.session_uid, event.event_id, event.part, start, end, "ranked"),
        session_uid=event.session_uid,
        location=evidence.location,
        ts=event.ts,
        turn_index=event.turn_index,
        status="ranked",
        confidence=confidence,
        features={"scorer": confidence},
        evidence=(evidence,),
        statement=statement,
        polarity=polarity,
        speaker=one.turn.speaker,
        language=language,
    )


def _polarity(statement: str, language: str) -> Polarity:
    """Return "reject" where the sentence holds a negator, else "adopt"."""
    low = lower(statement)
    return "reject" if words_of(language).has("negators", low, 0, len(low)) else "adopt"

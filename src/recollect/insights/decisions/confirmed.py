"""What an answer decides: the option that it names, or what was offered or suggested."""

from __future__ import annotations

import re
from typing import Final

from recollect.insights.decisions.found import Found
from recollect.insights.language.answers import Answer, Kind, answers
from recollect.insights.language.options import Range
from recollect.insights.language.projection import CAP, lower
from recollect.insights.language.proposals import Proposal, alternatives_in, proposal_of
from recollect.insights.language.sentences import sentences
from recollect.model.insights.nodes import Marker, Polarity

_FEATURES: Final[dict[Kind, str]] = {
    "yes": "answer_to_question", "no": "answer_to_question", "do_it": "order_to_do_it", "option": "option_by_label",
}  # fmt: skip
_STOP: Final = re.compile(r"[.?!\n。？！]|$")


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
        chosen=tuple(_words(said, s) for s in chosen),
        rejected=tuple(_words(said, s) for s in rejected),
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
    """Return the alternatives that "or" separates in what was offered or suggested."""
    low = lower(said[:CAP])
    # "There are two ways: a queue or a table. Which one?"
    before = [(max(s.start, low.rfind(":", *s) + 1), s.end - 1) for s in sentences(low, 0, proposal.asked[0])[-1:]]
    for span in (proposal.offered, proposal.suggested, proposal.asked, *before):
        start, end = span
        stop = _STOP.search(low, end)  # the second alternative may stand behind a word that ends an option
        parts = alternatives_in(low, (start, stop.start() if stop else len(low))) if span != (0, 0) else []
        if len(parts) > 1:
            return parts
    return []


def _words(said: str, span: Range) -> str:
    return " ".join(said[slice(*span)].split())

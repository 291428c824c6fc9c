"""A decision in the shapes in which others write decisions down: MADR, QOC, IBIS and Kruchten's ontology.

Pure functions; what nobody said stays empty. Each shape asks another question, so none is another with new names:
MADR what was decided and what follows; QOC which criteria speak for which option; IBIS who argued what about an issue;
Kruchten what kind of decision it is, in which state, and how it stands to others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from recollect.model.insights.nodes import Binding, Decision, DecisionState, Link
from recollect.model.text import one_line
from recollect.model.time import to_datetime

_TITLE_CHARS = 100


class Madr(msgspec.Struct, frozen=True):
    """A Markdown architectural decision record. Source of the headings: MADR 4.0, adr-template.md."""

    title: str
    status: Literal["accepted", "rejected", "deprecated", "superseded"]
    date: str
    """YYYY-MM-DD in UTC, "" where no time is known."""
    decision_makers: tuple[str, ...]
    context: str
    """The question; "" where nobody asked one."""
    considered_options: tuple[str, ...]
    chosen: tuple[str, ...]
    justification: str
    consequences: tuple[str, ...]
    more_information: tuple[str, ...]

    def markdown(self) -> str:
        """Return it as a Markdown page in the order of the template; headings without content are left out."""
        front = [f"status: {self.status}", f"date: {self.date}", f"decision-makers: {', '.join(self.decision_makers)}"]
        lines = ["---", *(line.rstrip() for line in front), "---", "", f"# {self.title}", ""]
        if self.context:
            lines += ["## Context and Problem Statement", "", self.context, ""]
        if self.considered_options:
            lines += ["## Considered Options", "", *(f"* {option}" for option in self.considered_options), ""]
        because = f", because {self.justification}" if self.justification else ""
        names = ", ".join(f'"{option}"' for option in self.chosen)
        outcome = f"Chosen option: {names}{because}." if names else f"{self.title}{because}."
        lines += ["## Decision Outcome", "", outcome, ""]
        if self.consequences:
            lines += ["### Consequences", "", *(f"* {text}" for text in self.consequences), ""]
        if self.more_information:
            lines += ["## More Information", "", *(f"* {text}" for text in self.more_information), ""]
        return "\n".join(lines)


class Assessment(msgspec.Struct, frozen=True):
    """How an option does on a criterion: it supports it, or not."""

    option: str
    criterion: str
    supports: bool


class Qoc(msgspec.Struct, frozen=True):
    """Questions, options, criteria. Source: MacLean, Young, Bellotti, Moran, 1991."""

    question: str
    options: tuple[str, ...]
    criteria: tuple[str, ...]
    assessments: tuple[Assessment, ...]
    decided: tuple[str, ...]


class Position(msgspec.Struct, frozen=True):
    """A position on an issue: who took it, and whether it was resolved so."""

    text: str
    is_accepted: bool
    taken_by: str


class Argument(msgspec.Struct, frozen=True):
    """A statement that supports or objects to a position."""

    text: str
    position: str
    relation: Literal["supports", "objects-to"]


class Ibis(msgspec.Struct, frozen=True):
    """An issue, the positions on it and the arguments about them. Source: Kunz, Rittel, 1970."""

    issue: str
    positions: tuple[Position, ...]
    arguments: tuple[Argument, ...]


class KruchtenRelation(msgspec.Struct, frozen=True):
    """How a decision stands to another, to an alternative, or to what came of it (`target`: an id, or its words)."""

    relation: Literal["overrides", "conflicts with", "is alternative to", "traces to"]
    target: str


class Kruchten(msgspec.Struct, frozen=True):
    """A decision in the ontology of Kruchten (2004). kind: existence, ban (non-existence), or property (a rule or
    constraint that outlives the case). state: of his state machine, as far as transcripts can tell."""

    epitome: str
    rationale: str
    scope: str
    kind: Literal["existence", "ban", "property"]
    state: Literal["tentative", "decided", "challenged", "rejected", "obsolesced"]
    author: str
    timestamp: str
    """ISO 8601 in UTC, "" where no time is known."""
    relations: tuple[KruchtenRelation, ...]


def to_madr(decision: Decision, *, state: DecisionState = "holds", episodes: Iterable[str] = ()) -> Madr:
    """Return a decision as a MADR record. state: what holds now (`state_at`); episodes: ids of what came of it.

    An option that was turned down is accepted as a decision: the record says that it is not taken. Only a proposal that
    was rejected has status "rejected".
    """
    status: Literal["accepted", "rejected", "deprecated", "superseded"] = "accepted"
    if state in ("superseded", "reversed"):
        status = "superseded"
    elif state in ("undone", "revoked"):
        status = "deprecated"
    elif decision.polarity == "reject" and not decision.chosen:
        status = "rejected"
    refused = "Must not be used" if decision.polarity == "ban" else "Not taken"
    return Madr(
        title=_title(decision),
        status=status,
        date=_iso(decision.ts)[:10],
        decision_makers=(decision.speaker,),
        context=decision.question,
        considered_options=tuple(dict.fromkeys(option.text for option in decision.options)),
        chosen=decision.chosen,
        justification=_clause(decision.rationale),
        consequences=(
            *([decision.consequences] if decision.consequences else []),
            *(f"{refused}: {option}" for option in decision.rejected),
        ),
        more_information=(
            f"Session {decision.session_uid}, {decision.id}",
            *([f"Applies to {', '.join(decision.paths)}"] if decision.paths else []),
            *(f"Led to {episode}" for episode in episodes),
        ),
    )


def to_qoc(decision: Decision) -> Qoc:
    """Return a decision as questions, options and criteria.

    The rationale is the one criterion that is known: chosen options support it, those turned down do not. Without a
    rationale there are no assessments.
    """
    criteria = (_clause(decision.rationale),) if decision.rationale else ()
    return Qoc(
        question=decision.question or f"What about: {_title(decision)}?",
        options=tuple(dict.fromkeys(option.text for option in decision.options)),
        criteria=criteria,
        assessments=tuple(
            Assessment(option.text, criterion, option.is_chosen)
            for criterion in criteria
            for option in decision.options
        ),
        decided=decision.chosen,
    )


def to_ibis(decision: Decision) -> Ibis:
    """Return a decision as an issue with positions. The statement argues for what was chosen, or, where nothing was,
    against what was turned down; the rationale supports the same."""
    positions = tuple(Position(o.text, o.is_chosen, decision.speaker if o.is_chosen else "") for o in decision.options)
    targets = [position for position in positions if position.is_accepted] or list(positions)
    arguments = tuple(
        Argument(text, position.text, "supports" if position.is_accepted else "objects-to")
        for text in (decision.statement, decision.rationale)
        if text
        for position in targets
    )
    return Ibis(decision.question or _title(decision), positions, arguments)


def to_kruchten(
    decision: Decision, *, state: DecisionState = "holds", links: Iterable[Link] = (), bindings: Iterable[Binding] = ()
) -> Kruchten:
    """Return a decision in Kruchten's ontology, with those of the links and bindings that it is an end of."""
    relations = [KruchtenRelation("is alternative to", option) for option in decision.rejected if decision.chosen]
    for link in links:
        if link.relation == "contradicts" and decision.id in (link.newer, link.older):
            other = link.older if decision.id == link.newer else link.newer
            relations.append(KruchtenRelation("conflicts with", other))
        elif link.newer == decision.id:
            relations.append(KruchtenRelation("overrides", link.older))
    relations += [KruchtenRelation("traces to", b.episode) for b in bindings if b.source == decision.id]
    return Kruchten(
        epitome=_title(decision),
        rationale=decision.rationale,
        scope=decision.scope if not decision.paths else ", ".join(decision.paths),
        kind=_kind(decision),
        state=_state(decision, state),
        author=decision.speaker,
        timestamp=_iso(decision.ts),
        relations=tuple(relations),
    )


def _kind(decision: Decision) -> Literal["existence", "ban", "property"]:
    if decision.polarity == "ban":
        return "ban"
    is_lasting = any(marker.category in ("rule", "preference") for marker in decision.markers)
    return "property" if is_lasting or decision.polarity == "prefer" else "existence"


def _state(
    decision: Decision, state: DecisionState
) -> Literal["tentative", "decided", "challenged", "rejected", "obsolesced"]:
    if state in ("superseded", "reversed", "undone", "revoked"):
        return "obsolesced"
    if state == "contradicted":
        return "challenged"
    if decision.polarity == "reject" and not decision.chosen:
        return "rejected"
    return "tentative" if decision.polarity == "prefer" else "decided"


def _title(decision: Decision) -> str:
    return one_line(decision.statement, _TITLE_CHARS).rstrip(".")


def _clause(rationale: str) -> str:
    """Return a rationale as it stands behind "because"."""
    text = one_line(rationale, 400).rstrip(".")
    return text[8:] if text.lower().startswith("because ") else text


def _iso(at: int | None) -> str:
    return "" if at is None else to_datetime(at).isoformat(timespec="seconds")

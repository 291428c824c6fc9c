"""The decisions of a retrospective: made, superseded, reversed, contradicted, revoked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recollect.insights.retro.fixes import cite
from recollect.insights.retro.report import (
    EVIDENCE,
    MAX_LINES,
    MAX_SESSIONS,
    ChangeLine,
    Decided,
    DecisionLine,
)
from recollect.insights.retro.tally import Listing
from recollect.model.insights.nodes import Decision, DecisionState, Link


class DecisionFacts(NamedTuple):
    """A decision, its state now, and the links that it is the newer or the older side of."""

    decision: Decision
    state: DecisionState
    repo: str
    links: tuple[Link, ...] = ()


def decided_in(decisions: Sequence[DecisionFacts], since: int, until: int, listing: Listing) -> Decided:
    """Return the decisions of [since, until), each once, newest first.

    decisions: of all times, to find changes. Ranked ones are too uncertain to count.
    """
    all_made = [
        d for d in decisions if d.state != "undone" and d.decision.ts is not None and since <= d.decision.ts < until
    ]
    made = [facts for facts in all_made if facts.decision.status != "ranked"]
    decisions = [facts for facts in decisions if facts.decision.status != "ranked"]
    standing = [d for d in made if d.state != "revoked"]
    changes = _changes(decisions, since, until)
    of_kind = [change.relation for change in changes]
    standing.sort(key=lambda d: (-(d.decision.ts or 0), d.decision.id))
    told = _told(standing)
    return Decided(
        made=len(told),
        superseded=of_kind.count("supersedes"),
        reversed=of_kind.count("reverses"),
        contradicted=of_kind.count("contradicts"),
        revoked=len(made) - len(standing),
        decisions=tuple(listing.cut("decisions", ((line, 1) for line in told), MAX_SESSIONS)),
        changes=tuple(listing.cut("changes", ((change, 1) for change in changes), MAX_LINES)),
        uncertain=sum(d.decision.status == "ranked" and d.state != "revoked" for d in all_made),
    )


def _told(standing: Sequence[DecisionFacts]) -> list[DecisionLine]:
    """Return decisions as lines; those that only repeat another, in a fork or later, are one, that of the newest."""
    said: dict[object, list[DecisionFacts]] = {}
    for facts in standing:
        said.setdefault((facts.repo, facts.state, facts.decision.said()), []).append(facts)
    return [_line(newest, others) for newest, *others in said.values()]


def _line(facts: DecisionFacts, others: Sequence[DecisionFacts]) -> DecisionLine:
    d = facts.decision
    evidence = tuple(dict.fromkeys(place for one in (facts, *others) for place in _cited(one.decision)))
    return DecisionLine(
        d.id, d.ts, facts.repo, d.speaker, d.polarity, d.statement, d.chosen, d.rejected, facts.state,
        evidence[:EVIDENCE],
    )  # fmt: skip


def _changes(decisions: Sequence[DecisionFacts], since: int, until: int) -> list[ChangeLine]:
    by_id = {facts.decision.id: facts for facts in decisions}
    found: dict[tuple[str, str, str], ChangeLine] = {}
    for facts in decisions:
        for link in facts.links:
            newer, older = by_id.get(link.newer), by_id.get(link.older)
            if newer is None or older is None:
                continue
            at = link.since if link.since is not None else newer.decision.ts
            if at is not None and since <= at < until:
                evidence = (*_cited(newer.decision)[:1], *_cited(older.decision)[:1])
                found[link.newer, link.older, link.relation] = ChangeLine(
                    link.relation, at, newer.repo, newer.decision.statement, older.decision.statement, evidence
                )
    return [found[key] for key in sorted(found, key=lambda key: (-(found[key].since or 0), key))]


def _cited(decision: Decision) -> tuple[str, ...]:
    """Return a decision's citation. One added by hand may have none: then its id."""
    found = tuple(dict.fromkeys(cite(evidence) for evidence in decision.evidence if evidence.session_uid))
    return found[:EVIDENCE] or ((decision.session_uid,) if decision.session_uid else (decision.id,))

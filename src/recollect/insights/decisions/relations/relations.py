"""Relates what several sessions gave: which decision holds, and what subagents did of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from recollect.insights.decisions.relations.conflicts import conflicts
from recollect.insights.decisions.relations.lineage import lineage_bindings
from recollect.insights.decisions.relations.outdated import outdated
from recollect.insights.decisions.relations.stances import Stance, stance_of
from recollect.insights.stages import Lineage, Relations
from recollect.model.insights.nodes import Decision, DecisionState, Episode, Link


class SubjectRelator:
    """The relator that ships. Rules and examples: docs/distill.md, "Links"."""

    def relate(
        self, decisions: Iterable[Decision], episodes: Iterable[Episode], lineage: Mapping[str, Lineage]
    ) -> Relations:
        """Return how decisions of one repository follow each other, and bindings over subagents.

        Decisions of scope "user" meet those of every repository. A session without a repository stands with its root
        session. What was undone relates to nothing: what it superseded holds. A ranked decision can
        only be superseded. The same for any order of what is given.
        """
        kept = [decision for decision in decisions if not decision.is_undone]
        given = [decision for decision in kept if decision.status != "ranked"]
        roots = {uid: about.root or uid for uid, about in lineage.items()}
        of_user = [stance_of(d) for d in given if d.scope == "user"]
        groups: dict[str, list[Stance]] = {}
        for decision in given:
            if decision.scope != "user":
                groups.setdefault(_group(decision, lineage), []).append(stance_of(decision))
        ranked: dict[str, list[Decision]] = {}
        for decision in kept:
            if decision.status == "ranked":
                ranked.setdefault(_group(decision, lineage), []).append(decision)
        found: dict[tuple[str, str], Link] = {}
        for group in [*groups.values(), []]:
            for link in conflicts([*group, *of_user], roots):
                found.setdefault((link.newer, link.older), link)
        for name, unsure in ranked.items():
            for link in outdated(unsure, [*groups.get(name, ()), *of_user]):
                found[link.newer, link.older] = link
        bindings = lineage_bindings(given, (e for e in episodes if not e.is_undone), lineage)
        return Relations([found[key] for key in sorted(found)], bindings)


def _group(decision: Decision, lineage: Mapping[str, Lineage]) -> str:
    about = lineage.get(decision.session_uid)
    if about is not None and about.repo:
        return f"repo {about.repo}"
    return f"root {(about.root if about else '') or decision.session_uid}"


_WORST: tuple[DecisionState, ...] = ("holds", "contradicted", "superseded", "reversed")
_STATES: Mapping[str, DecisionState] = {
    "supersedes": "superseded",
    "reverses": "reversed",
    "contradicts": "contradicted",
}


def state_at(decisions: Iterable[Decision], links: Sequence[Link], at: int | None) -> dict[str, DecisionState]:
    """Return what held at a time, by id of the decision; those that came later are left out.

    at: UTC microseconds, None for now. A decision without a time is taken as old. A link counts from its `since` on,
    and only where both its ends are given; leave out decisions that were revoked, and what they superseded holds again.
    A contradiction holds for both sides. What was undone has no links, and is undone at any time.
    """
    given = {d.id: d for d in decisions if at is None or d.ts is None or d.ts <= at}
    known = given.keys()
    found: dict[str, DecisionState] = {
        decision_id: "undone" if given[decision_id].is_undone else "holds" for decision_id in sorted(known)
    }
    for link in links:
        state = _STATES.get(link.relation)
        is_in_force = at is None or link.since is None or link.since <= at
        if state is None or not is_in_force or link.newer not in known or link.older not in known:
            continue
        for side in (link.older, link.newer) if state == "contradicted" else (link.older,):
            found[side] = max(found[side], state, key=_WORST.index)
    return found

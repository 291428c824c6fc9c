"""Finds facts that contradict each other. Pure.

Two ways: a predicate that has one object at a time has two (`runs_on Python 3.11`, `runs_on Python 3.12`), or a
predicate and its opposite have the same (`uses Redis`, `avoids Redis`). Both only where they hold at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import msgspec

from recollect.errors import UsageError
from recollect.model.learnings.names import normal_name, normal_predicate
from recollect.model.learnings.notes import Fact


def check_interval(begin: int | None, end: int | None) -> None:
    """Raise UsageError for an interval in which nothing could hold: one that ends before it begins, or at once."""
    if begin is not None and end is not None and end <= begin:
        how = "at the instant" if end == begin else "before"
        raise UsageError(f"this fact would end {how} it begins, so it would never hold", hint="give a later end")


def overlap(one: tuple[int | None, int | None], other: tuple[int | None, int | None]) -> bool:
    """Return whether two intervals share an instant. Adjacent ones do not."""
    begins = [begin for begin, _end in (one, other) if begin is not None]
    ends = [end for _begin, end in (one, other) if end is not None]
    return not begins or not ends or max(begins) < min(ends)


SINGLE_VALUED = frozenset(
    {
        "is", "is_at", "is_called", "is_in", "is_named", "is_on", "runs_on", "runs_at", "lives_in", "lives_at",
        "located_in", "hosted_on", "deployed_on", "deployed_to", "deploys_to", "owned_by", "maintained_by", "led_by",
        "reports_to", "works_for", "works_at", "has_version", "version", "version_is", "has_status", "status",
        "has_name", "has_port", "port", "listens_on", "default_branch", "has_default_branch", "licensed_under",
        "written_in", "has_owner", "has_url", "url", "timezone", "has_timezone",
    }
)  # fmt: skip
"""Predicates with one object at a time. A person adds to them with the fact `PREDICATE has_cardinality one`."""
CARDINALITY = "has_cardinality"
_ONE = "one"
_OPPOSITES = (
    ("uses", "avoids"), ("uses", "rejected"), ("adopted", "rejected"), ("adopted", "banned"), ("uses", "banned"),
    ("prefers", "avoids"), ("likes", "dislikes"), ("allows", "forbids"), ("requires", "forbids"), ("supports", "lacks"),
    ("enables", "disables"), ("has", "lacks"),
)  # fmt: skip
_NEGATIONS = ("not_", "does_not_", "do_not_", "is_not_", "never_", "no_longer_")


class Contradiction(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two facts that cannot hold together. reason: "single_valued" or "opposite"."""

    fact: Fact
    other: Fact
    reason: str


def single_valued(facts: Iterable[Fact]) -> frozenset[str]:
    """Return the predicates with one object at a time: those that are known, and those that facts name."""
    named = (normal_predicate(f.subject) for f in facts if normal_name(f.object) == _ONE)
    return SINGLE_VALUED | frozenset(named)


def contradict(one: Fact, other: Fact, single: frozenset[str] = SINGLE_VALUED) -> str:
    """Return why two facts cannot hold together, "" where they can."""
    if one.id == other.id or one.is_retracted or other.is_retracted:
        return ""
    if one.repo and other.repo and one.repo != other.repo:
        return ""
    if normal_name(one.subject) != normal_name(other.subject):
        return ""
    if not overlap((one.valid_from, one.valid_to), (other.valid_from, other.valid_to)):
        return ""
    is_same = normal_name(one.object) == normal_name(other.object)
    predicates = (normal_predicate(one.predicate), normal_predicate(other.predicate))
    if predicates[0] == predicates[1]:
        return "" if is_same or predicates[0] not in single else "single_valued"
    return "opposite" if is_same and _are_opposites(*predicates) else ""


def contradictions_of(
    fact: Fact, others: Iterable[Fact], single: frozenset[str] = SINGLE_VALUED
) -> list[Contradiction]:
    """Return what contradicts a fact, in the order of the others."""
    return [Contradiction(fact, other, why) for other in others if (why := contradict(fact, other, single))]


def contradictions_among(facts: Iterable[Fact], single: frozenset[str] = SINGLE_VALUED) -> list[Contradiction]:
    """Return every pair that cannot hold together, the newer fact of each first."""
    by_subject: dict[str, list[Fact]] = {}
    for fact in facts:
        by_subject.setdefault(normal_name(fact.subject), []).append(fact)
    newest_first = (sorted(same, key=_newest_first) for same in by_subject.values())
    return [
        Contradiction(one, other, why)
        for same in newest_first
        for one, other in combinations(same, 2)
        if (why := contradict(one, other, single))
    ]


def _newest_first(fact: Fact) -> tuple[int, str]:
    return (-(fact.recorded_at if fact.valid_from is None else fact.valid_from), fact.id)


def _are_opposites(one: str, other: str) -> bool:
    if (one, other) in _OPPOSITES or (other, one) in _OPPOSITES:
        return True
    return _negated(one, other) or _negated(other, one)


def _negated(one: str, other: str) -> bool:
    """Return whether the first predicate negates the second: `does_not_use` and `uses`, `is_not_in` and `is_in`."""
    for negation in _NEGATIONS:
        if one.startswith(negation):
            rest = one.removeprefix(negation)
            plain = {rest, f"{rest}s", f"{rest}es"} | ({f"is_{rest}"} if negation == "is_not_" else set())
            return other in plain
    return one == "is_not" and other == "is"

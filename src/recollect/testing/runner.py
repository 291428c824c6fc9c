"""Runs the whole conformance suite over an adapter's fixtures, from outside the project's own tests."""

from __future__ import annotations

from pathlib import Path

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.guard import GuardedAdapter
from recollect.agents.registry import adapter as find_adapter
from recollect.agents.registry import adapters
from recollect.testing.fixtures import Fixture, fixtures_in
from recollect.testing.suite import check_fixture, check_growth, check_rebuild, check_twice

ALL = "(all fixtures)"


class Result(msgspec.Struct, frozen=True):
    """What is wrong with one fixture; nothing where it keeps every rule."""

    fixture: str
    problems: tuple[str, ...]


def run_all(adapter: Adapter | str, folder: Path, work: Path) -> list[Result]:
    """Check every fixture of an adapter, given itself or by its slug. Raises UnknownName.

    The last result is about all of them together: every kind that is declared must appear in some fixture.
    """
    if isinstance(adapter, str):
        return _run(find_adapter(adapter), folder, work)
    known, slug = adapters(), adapter.facts.slug
    before = known.get(slug)
    known[slug] = adapter if adapter.facts.is_configured else GuardedAdapter(adapter)
    try:
        return _run(known[slug], folder, work)
    finally:
        if before is None:
            del known[slug]
        else:
            known[slug] = before


def _run(chosen: Adapter, folder: Path, work: Path) -> list[Result]:
    results: list[Result] = []
    seen: set[str] = set()
    for number, fixture in enumerate(fixtures_in(folder, chosen.facts.slug)):
        outcome = check_fixture(fixture, work / f"{number}")
        seen |= outcome.kinds
        results.append(Result(fixture.name, (*outcome.problems, *_further(fixture, work / f"{number}-more"))))
    if results:
        missing = sorted(set(chosen.facts.capabilities.kinds) - seen)
        problems = tuple(f"the kind {kind} is declared, but no fixture shows it" for kind in missing)
        results.append(Result(ALL, problems))
    return results


def _further(fixture: Fixture, work: Path) -> list[str]:
    problems = check_growth(fixture, work / "growth")
    problems += check_twice(fixture, work / "twice")
    return problems + check_rebuild(fixture, work / "rebuild")

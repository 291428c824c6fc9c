"""Fixtures of different agents are checked together in one memory: making it costs more than what is taken in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect.testing.fixtures import Fixture

Law = Callable[[Sequence[Fixture], Path], Sequence[Any]]
Together = Callable[[Law, Fixture], Any]
_FAMILIES = {"kilo": "cline", "roo": "cline"}
"""Agents that number responses alike: what two of them tell of one response counts once."""
_MOST = 20
"""For more, worker processes start, which takes a second."""


def batches_of(fixtures: Iterable[Fixture]) -> list[list[Fixture]]:
    """Put fixtures into groups that can share a memory: each is of another agent."""
    batches: list[list[Fixture]] = []
    taken: list[set[str]] = []
    for fixture in fixtures:
        family = _FAMILIES.get(fixture.agent, fixture.agent)
        at = next((at for at, there in enumerate(taken) if family not in there and len(there) < _MOST), len(taken))
        if at == len(taken):
            batches.append([])
            taken.append(set())
        batches[at].append(fixture)
        taken[at].add(family)
    return batches


def each_of(fixtures: Iterable[Fixture]) -> pytest.MarkDecorator:
    """Run a test for each fixture, those that are checked together one after the other."""
    ordered = [fixture for batch in batches_of(fixtures) for fixture in batch]
    return pytest.mark.parametrize("fixture", ordered, ids=lambda fixture: fixture.name)


@pytest.fixture(scope="module")
def _found() -> dict[tuple[str, str], Any]:
    return {}


@pytest.fixture
def together(request: pytest.FixtureRequest, tmp_path: Path, _found: dict[tuple[str, str], Any]) -> Together:
    """Return what a law gives for a fixture: the first that asks checks all that were selected and go with it."""

    def check(law: Law, fixture: Fixture) -> Any:
        test = request.node.nodeid.partition("[")[0]
        if (test, fixture.name) not in _found:
            selected = (item for item in request.session.items if item.nodeid.partition("[")[0] == test)
            batches = batches_of(item.callspec.params["fixture"] for item in selected)  # type: ignore[attr-defined]
            batch = next(batch for batch in batches if fixture in batch)
            for one, result in zip(batch, law(batch, tmp_path), strict=True):
                _found[test, one.name] = result
        return _found[test, fixture.name]

    return check

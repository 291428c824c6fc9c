"""The events of the shared transcripts that people judged, parsed once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from recollect.ingest.parse import parse_file
from recollect.model.events import Event

EventsOf = Callable[[str], tuple[Event, ...]]


@pytest.fixture(scope="package")
def events_of(shared: Path) -> EventsOf:
    """Return a function that gives the events of a file of the shared corpus."""

    @cache
    def parsed(file: str) -> tuple[Event, ...]:
        return tuple(parse_file(shared / "corpus" / file))

    return parsed

"""What every check is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from recollect.agents.base import Adapter
from recollect.agents.registry import adapters_with
from recollect.config import Config
from recollect.index.vectors.vector_index import VectorCoverage
from recollect.maintenance.reports import DaemonSeen, DistillHealth, LearningHealth
from recollect.store.ports import Reader


class Desk:
    """One home on one machine. `open_reader` may raise; that is a finding. now_us: the time, UTC microseconds."""

    def __init__(
        self, folder: Path, config: Config, env: Mapping[str, str], open_reader: Callable[[], Reader], *,
        asks: Asks, now_us: int,
    ) -> None:  # fmt: skip
        self.folder = folder
        self.config = config
        self.env = env
        self.open_reader = open_reader
        self.asks = asks
        self.now_us = now_us

    @cached_property
    def known(self) -> dict[str, Adapter]:
        """The agents that are known, with those of the configuration."""
        return adapters_with(self.config.formats())


class Asks:
    """What is answered above this package: vectors, distilling and learning have facets, the daemon its own folder."""

    def __init__(
        self, *, vectors: Callable[[], VectorCoverage | None], entry_vectors: Callable[[], VectorCoverage | None],
        passages: Callable[[], VectorCoverage | None], distilled: Callable[[], DistillHealth],
        learning: Callable[[], LearningHealth], daemon: Callable[[], DaemonSeen],
    ) -> None:  # fmt: skip
        """vectors, entry_vectors: of events and of entries. passages: sessions that the contextual model has read."""
        self.vectors = vectors
        self.entry_vectors = entry_vectors
        self.passages = passages
        self.distilled = distilled
        self.learning = learning
        self.daemon = daemon

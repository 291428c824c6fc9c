"""`memory.agents`: which agents can be read, where their history is, and what is stored of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from recollect.agents.registry import adapters_with, slug_of
from recollect.capture.discover import roots_of
from recollect.config import Config
from recollect.errors import UnknownName
from recollect.insights.notes.diary import diary_agent
from recollect.model.capabilities import Capabilities
from recollect.store.reader import Reader
from recollect.store.rows import DriftRow


class AgentView(msgspec.Struct, frozen=True):
    """One agent. roots: folders that are there; absent_roots: those that are not."""

    slug: str
    name: str
    enabled: bool
    roots: tuple[str, ...]
    absent_roots: tuple[str, ...]
    sessions: int
    events: int
    sources: int
    source_bytes: int
    capabilities: Capabilities


class AgentsFacet:
    """The agents this version knows."""

    def __init__(self, reader: Callable[[], Reader], config: Config, env: Mapping[str, str]) -> None:
        self._reader = reader
        self._config = config
        self._env = env

    def slug(self, name: str) -> str:
        """Return the slug of an agent by any of its names. Raises UnknownName, which names the nearest.

        What is stored of an agent whose package is gone is found by its slug, a person's diary by the person's name.
        """
        formats = self._config.formats()
        known = adapters_with(formats) if formats else None
        try:
            return slug_of(name, known, stored=lambda: self._reader().names("agent"))
        except UnknownName:
            if diary_agent(name) in self._reader().entries.agents():
                return diary_agent(name)
            raise

    def drift(self) -> tuple[DriftRow, ...]:
        """Return what agents wrote that no parser knows, by agent and version, the most frequent first."""
        return self._reader().stats().drift

    def list(self) -> tuple[AgentView, ...]:
        """Return every known agent with its folders and what is stored of it."""
        counts = {a.agent: a for a in self._reader().stats().agents}
        views = []
        for slug, known in adapters_with(self._config.formats()).items():
            is_looked_for = not known.facts.is_import_only
            roots = roots_of(known, self._config, self._env) if is_looked_for else []
            count = counts.get(slug)
            views.append(
                AgentView(
                    slug=slug,
                    name=known.facts.name,
                    enabled=self._config.agent(slug).enabled,
                    roots=tuple(r.shown for r in roots if r.is_there),
                    absent_roots=tuple(r.shown for r in roots if not r.is_there),
                    sessions=count.sessions if count else 0,
                    events=count.events if count else 0,
                    sources=count.sources if count else 0,
                    source_bytes=count.source_bytes if count else 0,
                    capabilities=known.facts.capabilities,
                )
            )
        return tuple(views)

"""The only list of adapters: our own, those of installed packages, and those that the configuration describes.

Our own are loaded when they are first asked for more than their facts. A package adds an agent by an entry point in the
group `recollect.agents`, whose name is the slug and whose object is the adapter (a class without arguments, or an
instance). What cannot be loaded is in `failures`, for `recollect doctor`; it never stops the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

from recollect.agents.base import Adapter
from recollect.errors import RecollectError, UnknownName
from recollect.model.capabilities import AgentFacts
from recollect.model.records import SourceInfo

GROUP = "recollect.agents"
_OWN: tuple[tuple[str, str], ...] = (
    ("claude", "claude.parse:ClaudeAdapter"),
    ("codex", "codex.parse:CodexAdapter"),
)
"""Folder of the facts, and module and class of the parser, in the order in which agents are shown."""


class Failure(NamedTuple):
    """An adapter that could not be loaded: its slug, where it comes from, and why."""

    slug: str
    source: str
    reason: str


class LazyAdapter:
    """An adapter whose parser is imported when it is first needed. Facts are there at once."""

    def __init__(self, facts: AgentFacts, path: str) -> None:
        self.facts = facts
        self._path = path
        self._adapter: Adapter | None = None

    def _load(self) -> Adapter:
        if self._adapter is None:
            module, _, name = self._path.partition(":")
            self._adapter = getattr(import_module(module), name)()
        return self._adapter

    @property
    def state_type(self) -> type[Any]:
        """See `Adapter.state_type`."""
        return self._load().state_type

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`."""
        return self._load().recognise(path, head)

    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`."""
        return self._load().source_key(info)

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`."""
        return self._load().identify(info, head)

    def begin(self, info: SourceInfo) -> Any:
        """See `Adapter.begin`."""
        return self._load().begin(info)

    @property
    def parse(self) -> Any:
        """See `Adapter.parse`; the parser's own method, because it is called for every record."""
        return self._load().parse


@cache
def adapters() -> dict[str, Adapter]:
    """Return every adapter by slug, in the order in which they are shown. The caller must not change it."""
    found: dict[str, Adapter] = {}
    for folder, path in _OWN:
        facts: AgentFacts = import_module(f"recollect.agents.{folder}.declare").FACTS
        found[facts.slug] = LazyAdapter(facts, f"recollect.agents.{path}")
    _add_installed(found)
    return found


def define(formats: Mapping[str, Mapping[str, Any]]) -> None:
    """Add the agents that a configuration describes, by slug (see `agents.generic`). Idempotent.

    A description that cannot be used becomes a failure. A slug of ours is not taken over.
    """
    if not formats:
        return
    from recollect.agents.generic.parse import adapter_of

    known = adapters()
    for slug, described in formats.items():
        taken = known.get(slug)
        if taken is not None and not taken.facts.is_configured:
            _fail(slug, "the configuration", "there is an agent of this name already")
            continue
        try:
            known[slug] = adapter_of(slug, described)
        except ValueError as error:
            _fail(slug, "the configuration", str(error))


def failures() -> tuple[Failure, ...]:
    """Return the adapters that could not be loaded."""
    adapters()
    return tuple(_failed)


def adapter(name: str) -> Adapter:
    """Return an adapter by slug or by another spelling. Raises UnknownName."""
    known = adapters()
    wanted = name.strip().lower()
    for a in known.values():
        if wanted == a.facts.slug or wanted in a.facts.aliases:
            return a
    raise UnknownName("agent", name, nearest=tuple(known), hint="`recollect agents` lists them")


_failed: list[Failure] = []
_LOADING = (
    ArithmeticError, AssertionError, AttributeError, EOFError, ImportError, LookupError, NameError, OSError,
    RecollectError, RuntimeError, SyntaxError, TypeError, ValueError,
)  # fmt: skip
"""What importing somebody else's module may raise without being a reason to stop."""


def _fail(slug: str, source: str, reason: str) -> None:
    failure = Failure(slug, source, reason)
    if failure not in _failed:
        _failed.append(failure)


def _add_installed(found: dict[str, Adapter]) -> None:
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        source = f"the package {point.dist.name}" if point.dist is not None else point.value
        try:
            loaded = point.load()
            installed = loaded() if isinstance(loaded, type) else loaded
            facts = msgspec.convert(installed.facts, AgentFacts)
        except _LOADING as error:
            _fail(point.name, source, f"{type(error).__name__}: {error}")
            continue
        if facts.slug in found:
            _fail(facts.slug, source, "there is an agent of this name already")
        else:
            found[facts.slug] = installed

"""The list of all adapters: built-in, from installed packages, and described in the configuration.

Our own are the files in `formats`; a parser is loaded when it is first asked for more than its agent's facts. An agent
that writes another agent's format has facts of its own and the other's parser (`like`). A package adds an agent by an
entry point in the group `recollect.agents`, whose name is the slug and whose object is the adapter (a class without
arguments, or an instance). What cannot be loaded is in `failures`, for `recollect doctor`; it never stops the others.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

from recollect.agent_names import OWN, letters
from recollect.agents.base import Adapter
from recollect.agents.facts import Entry, entries
from recollect.agents.guard import GuardedAdapter, usable
from recollect.config import Config
from recollect.errors import ConfigError, RecollectError, UnknownName
from recollect.model.capabilities import HOOK_PLACE, AgentFacts
from recollect.model.events import Draft
from recollect.model.payloads import TokenUsage
from recollect.model.records import Parsed, Record, SourceInfo

GROUP = "recollect.agents"
CONFIGURATION = "the configuration"
"""Where a described agent comes from, as `Failure.source` says it."""
_DESCRIBED = "formats.parse:FormatAdapter"
"""Reads the agents whose file says how."""


class Failure(NamedTuple):
    """An adapter that could not be loaded: its slug, where it comes from, and why."""

    slug: str
    source: str
    reason: str


class LazyAdapter:
    """An adapter whose parser is imported on first use. Facts are available at once."""

    def __init__(self, facts: AgentFacts, path: str, arguments: tuple[str, ...] = ()) -> None:
        self.facts = facts
        self._path = path
        self._arguments = arguments
        self._adapter: Adapter | None = None

    def _load(self) -> Adapter:
        if self._adapter is None:
            self._adapter = _named(self._path)(*self._arguments)
        return self._adapter

    @property
    def state_type(self) -> type[Any]:
        return self._load().state_type

    def recognise(self, path: str, head: bytes) -> str | None:
        return self._load().recognise(path, head)

    def source_key(self, info: SourceInfo) -> str:
        return self._load().source_key(info)

    def identify(self, info: SourceInfo, head: bytes) -> str:
        return self._load().identify(info, head)

    def begin(self, info: SourceInfo) -> Any:
        return self._load().begin(info)

    @property
    def parse(self) -> Any:
        """See `Adapter.parse`; the parser's own method, because it is called for every record."""
        return self._load().parse


class NamesakeAdapter(LazyAdapter):
    """An agent's own facts and names around the parser of the agent whose format it writes.

    By content its files are the other agent's, so only their place identifies them. Names of responses get the slug as
    a prefix: neither agent counts for the other.
    """

    def __init__(self, facts: AgentFacts, path: str, spelling: str = "") -> None:
        super().__init__(facts, path)
        self._spelling = spelling
        self._as_other_spells: Any = None

    def recognise(self, path: str, head: bytes) -> str | None:
        return None

    @property
    def parse(self) -> Any:
        return self._parse

    def _parse(self, record: Record, state: Any) -> Parsed[Any]:
        if self._spelling:
            if self._as_other_spells is None:
                self._as_other_spells = _named(self._spelling)
            record = self._as_other_spells(record)
        parsed: Parsed[Any] = self._load().parse(record, state)
        if not any(isinstance(draft.payload, TokenUsage) and draft.payload.dedupe_key for draft in parsed.events):
            return parsed
        return msgspec.structs.replace(parsed, events=tuple(map(self._with_own_key, parsed.events)))

    def _with_own_key(self, draft: Draft) -> Draft:
        usage = draft.payload
        if not isinstance(usage, TokenUsage) or not usage.dedupe_key:
            return draft
        own = msgspec.structs.replace(usage, dedupe_key=f"{self.facts.slug}:{usage.dedupe_key}")
        return msgspec.structs.replace(draft, payload=own)


def _named(path: str) -> Any:
    """Return what a path `module:name` below this package names."""
    module, _, name = path.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)


@cache
def adapters() -> dict[str, Adapter]:
    """Return every adapter by slug, in the order in which they are shown. The caller must not change it."""
    found: dict[str, Adapter] = {slug: GuardedAdapter(_own(entry)) for slug, entry in entries().items()}
    return found | _installed()


def _own(entry: Entry) -> LazyAdapter:
    """Return the adapter of one of our agents. A class for several agents gets its agent."""
    if entry.like:
        return NamesakeAdapter(entry.facts, entries()[entry.like].parser, entry.spelling)
    takes_slug = bool(entry.family) or not entry.parser
    return LazyAdapter(entry.facts, entry.parser or _DESCRIBED, (entry.facts.slug,) if takes_slug else ())


def for_role(adapter: Adapter, role: str) -> Adapter:
    """Return who reads an agent's sources of a role: the adapter itself, or the reader of what its hooks told."""
    facts = adapter.facts
    if role != HOOK_PLACE.role or facts.hooks is None:
        return adapter
    from recollect.agents.kit.hooks import HookReader

    return GuardedAdapter(HookReader(facts, facts.hooks))


def define(formats: Mapping[str, Mapping[str, Any]]) -> None:
    """Add the agents that a configuration describes, by slug (see `formats.configured`). Idempotent.

    An unusable description becomes a failure. One of our slugs is not replaced.
    """
    if not formats:
        return
    from recollect.agents.formats.flat import adapter_of

    known = adapters()
    for slug, described in formats.items():
        taken = known.get(slug)
        if taken is not None and _defined.get(slug) == described:
            continue
        _failed[:] = [f for f in _failed if (f.slug, f.source) != (slug, CONFIGURATION)]
        if taken is not None and not taken.facts.is_configured:
            _fail(slug, CONFIGURATION, "there is an agent of this name already")
            continue
        try:
            known[slug] = adapter_of(slug, described)
            _defined[slug] = described
        except ValueError as error:
            known.pop(slug, None)
            _defined.pop(slug, None)
            _fail(slug, CONFIGURATION, str(error))


def adapters_with(formats: Mapping[str, Mapping[str, Any]]) -> dict[str, Adapter]:
    """Return every adapter that a configuration with these formats knows, by slug, its own formats defined.

    Agents that another configuration of this process describes are left out.
    """
    define(formats)
    return {slug: a for slug, a in adapters().items() if not a.facts.is_configured or slug in formats}


def failures(formats: Iterable[str] | None = None) -> tuple[Failure, ...]:
    """Return the adapters that could not be loaded. formats: of the described ones only these slugs."""
    adapters()
    return tuple(f for f in _failed if formats is None or f.source != CONFIGURATION or f.slug in formats)


def adapter(name: str, known: Mapping[str, Adapter] | None = None) -> Adapter:
    """Return an adapter by any name of its agent, of all adapters or of those given. Raises as `slug_of` does."""
    known = adapters() if known is None else known
    return known[slug_of(name, known)]


def slug_of(
    name: str, known: Mapping[str, Adapter] | None = None, *, stored: Callable[[], Iterable[str]] = tuple
) -> str:
    """Return the slug of the agent with this slug, name or alias. Only letters and digits count.

    known: the possible agents, by default our own and those of installed packages; none of ours is then imported.
    stored: returns further slugs, of agents known earlier. Two agents may have the same name: an exact slug wins, then
    any other spelling of a slug, then a name of ours, then one of a package. Raises UnknownName, which names the
    nearest.
    """
    named = _spellings(known)
    if name in named:
        return name
    gone = sorted(stored())
    if name in gone:
        return name
    slugs = {letters(spelled): slug for slug, spellings in reversed(named.items()) for spelled in spellings}
    slugs |= {letters(slug): slug for slug in reversed((*named, *gone))}
    slugs.pop("", None)
    wanted = letters(name)
    if wanted in slugs:
        return slugs[wanted]
    import difflib

    near = tuple(dict.fromkeys(slugs[found] for found in difflib.get_close_matches(wanted, slugs)))
    raise UnknownName("agent", name, nearest=near, hint="`recollect agents --all` lists them")


def _spellings(known: Mapping[str, Adapter] | None) -> dict[str, Sequence[str]]:
    """Return the names and aliases of agents by slug; for known see `slug_of`."""
    if known is None:
        return {slug: names.split() for slug, names in OWN.items()} | _spellings(_installed())
    return {slug: (a.facts.name, *a.facts.aliases) for slug, a in known.items()}


def with_slugs(config: Config) -> Config:
    """Return a configuration whose tables `[agents.NAME]` are named by slug.

    A table that describes an agent keeps its name, and so does one of an unknown agent, see `strangers`. Raises
    ConfigError for two tables of one agent.
    """
    formats = config.formats()
    known = adapters_with(formats) if formats else None
    slugs: dict[str, str] = {}
    for name in config.agents:
        slug = name
        if name not in formats:
            with suppress(UnknownName):
                slug = slug_of(name, known)
        if slug in slugs:
            said = f"[agents.{slugs[slug]}] and [agents.{name}] are one agent; write one table"
            raise ConfigError(said, key=f"agents.{name}")
        slugs[slug] = name
    return msgspec.structs.replace(config, agents={slug: config.agents[name] for slug, name in slugs.items()})


def strangers(configured: Iterable[str], known: Mapping[str, Adapter]) -> dict[str, str]:
    """Return a note on each configured slug that names no agent.

    A note, not an error: the package that brings the agent may only be missing at the moment.
    """
    notes: dict[str, str] = {}
    failed = {failure.slug for failure in failures()}
    for slug in configured:
        try:
            slug_of(slug, known)
        except UnknownName as unknown:
            if slug not in failed:
                notes[slug] = f"[agents.{slug}] of the configuration changes nothing: {unknown}"
    return notes


_failed: list[Failure] = []
_defined: dict[str, Mapping[str, Any]] = {}
_LOADING = (
    ArithmeticError, AssertionError, AttributeError, EOFError, ImportError, LookupError, NameError, OSError,
    RecollectError, RuntimeError, SyntaxError, SystemExit, TypeError, ValueError,
)  # fmt: skip
"""What importing somebody else's module may raise without being a reason to stop."""


def _fail(slug: str, source: str, reason: str) -> None:
    failure = Failure(slug, source, reason)
    if failure not in _failed:
        _failed.append(failure)


def _is_any_installed() -> bool:
    """Return whether some package may have an entry point of ours. The standard reader takes ten times as long."""
    wanted = f"[{GROUP}]".encode()
    for folder in filter(os.path.isdir, sys.path):
        with suppress(OSError):
            for name in os.listdir(folder):
                if name.endswith((".dist-info", ".egg-info")) and _is_in(wanted, folder, name, "entry_points.txt"):
                    return True
    return False


def _is_in(wanted: bytes, *path: str) -> bool:
    try:
        with open(os.path.join(*path), "rb") as handle:
            return wanted in handle.read()
    except OSError:
        return False


@cache
def _installed() -> dict[str, Adapter]:
    """Return the adapters of installed packages by slug. One that cannot be used is a failure."""
    found: dict[str, Adapter] = {}
    if not _is_any_installed():
        return found
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        source = f"the package {point.dist.name}" if point.dist is not None else point.value
        try:
            installed = usable(point.load())
        except _LOADING as error:
            _fail(point.name, source, f"{type(error).__name__}: {error}")
            continue
        slug = installed.facts.slug
        if slug in OWN or slug in found:
            _fail(slug, source, "there is an agent of this name already")
        else:
            found[slug] = GuardedAdapter(installed)
    return found

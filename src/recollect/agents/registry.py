"""The only list of adapters: our own, those of installed packages, and those that the configuration describes.

Our own are loaded when they are first asked for more than their facts. An agent that writes another agent's format has
facts of its own and the other's parser (`Namesake`): only here do two agents meet. A package adds an agent by an entry
point in the group `recollect.agents`, whose name is the slug and whose object is the adapter (a class without
arguments, or an instance). What cannot be loaded is in `failures`, for `recollect doctor`; it never stops the others.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.guard import GuardedAdapter, usable
from recollect.errors import RecollectError, UnknownName
from recollect.model.capabilities import HOOK_PLACE, AgentFacts
from recollect.model.events import Draft
from recollect.model.payloads import TokenUsage
from recollect.model.records import Parsed, Record, SourceInfo

GROUP = "recollect.agents"
CONFIGURATION = "the configuration"
"""Where a described agent comes from, as `Failure.source` says it."""
_OWN: tuple[tuple[str, str], ...] = (
    ("claude", "claude.parse:ClaudeAdapter"),
    ("codex", "codex.parse:CodexAdapter"),
    ("grok", "grok.parse:GrokAdapter"),
    ("opencode", "opencode.parse:OpencodeAdapter"),
    ("codewhale", "codewhale.parse:WhaleAdapter"),
    ("hermes", "hermes.parse:HermesAdapter"),
    ("gemini", "gemini.parse:GeminiAdapter"),
    ("cursor", "cursor.parse:CursorAdapter"),
    ("vscode", "vscode.parse:VSCodeAdapter"),
    ("copilot", "copilot.parse:CopilotAdapter"),
    ("windsurf", "windsurf.parse:WindsurfAdapter"),
    ("zed", "zed.parse:ZedAdapter"),
    ("pi", "pi.parse:PiAdapter"),
    ("openclaw", "openclaw.parse:OpenClawAdapter"),
    ("kimi", "kimi.parse:KimiAdapter"),
    ("qwen", "qwen.parse:QwenAdapter"),
    ("cline", "cline.parse:ClineAdapter"),
    ("roo", "roo.parse:RooAdapter"),
    ("kilo", "kilo.parse:KiloAdapter"),
    ("aider", "aider.parse:AiderAdapter"),
    ("goose", "goose.parse:GooseAdapter"),
    ("amp", "amp.parse:AmpAdapter"),
    ("kiro", "kiro.parse:KiroAdapter"),
    ("continue_", "continue_.parse:ContinueAdapter"),
    ("openhands", "openhands.parse:OpenHandsAdapter"),
    ("sweagent", "sweagent.parse:SweAgentAdapter"),
    ("crush", "crush.parse:CrushAdapter"),
    ("chatgpt", "chatgpt.parse:ChatGPTAdapter"),
    ("claudeai", "claudeai.parse:ClaudeAIAdapter"),
    ("slack", "slack.parse:SlackAdapter"),
    ("droid", "droid.parse:DroidAdapter"),
    ("vibe", "vibe.parse:VibeAdapter"),
    ("gptme", "gptme.parse:GptmeAdapter"),
    ("poolside", "poolside.parse:PoolsideAdapter"),
    ("dsh", "dsh.parse:DshAdapter"),
    ("codebuff", "codebuff.parse:CodebuffAdapter"),
    ("antigravity", "antigravity.parse:AntigravityAdapter"),
    ("forge", "forge.parse:ForgeAdapter"),
    ("iflow", "iflow.parse:IflowAdapter"),
    ("qoder", "qoder.parse:QoderAdapter"),
    ("otel", "otel.parse:OtelAdapter"),
    ("shelley", "shelley.parse:ShelleyAdapter"),
    ("posit", "posit.parse:PositAdapter"),
    ("reasonix", "reasonix.parse:ReasonixAdapter"),
    ("zencoder", "zencoder.parse:ZencoderAdapter"),
    ("commandcode", "commandcode.parse:CommandCodeAdapter"),
    ("cortex", "cortex.parse:CortexAdapter"),
    ("copaw", "copaw.parse:CopawAdapter"),
    ("workbuddy", "workbuddy.parse:WorkBuddyAdapter"),
)
"""Folder of the facts, and module and class of the parser, in the order in which agents are shown."""


class Namesake(NamedTuple):
    """An agent that writes another agent's format: the folder of its own facts, and the other's module and class.

    spelling: module and function that put a record it spells in its own way into the other's spelling.
    """

    folder: str
    path: str
    spelling: str = ""


_NAMESAKES: tuple[Namesake, ...] = (
    Namesake("openclaude", "claude.parse:ClaudeAdapter", "openclaude.spelling:as_claude_spells"),
    Namesake("traex", "codex.parse:CodexAdapter"),
)
"""Shown after our own, in this order."""


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
            self._adapter = _named(self._path)()
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


class NamesakeAdapter(LazyAdapter):
    """A `Namesake`: its own facts and names around the parser of the agent whose format it writes.

    By content its files are the other agent's, so they are told by their place only. What names a response over all
    files gets the slug in front: neither agent counts for the other.
    """

    def __init__(self, facts: AgentFacts, path: str, spelling: str = "") -> None:
        super().__init__(facts, path)
        self._spelling = spelling
        self._as_other_spells: Any = None

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`."""
        del path, head
        return None

    @property
    def parse(self) -> Any:
        """See `Adapter.parse`."""
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
    """Return what a path `module:name` names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


@cache
def adapters() -> dict[str, Adapter]:
    """Return every adapter by slug, in the order in which they are shown. The caller must not change it."""
    found: dict[str, Adapter] = {}
    for folder, path in _OWN:
        facts: AgentFacts = import_module(f"recollect.agents.{folder}.declare").FACTS
        found[facts.slug] = GuardedAdapter(LazyAdapter(facts, f"recollect.agents.{path}"))
    for namesake in _NAMESAKES:
        facts = import_module(f"recollect.agents.{namesake.folder}.declare").FACTS
        spelling = f"recollect.agents.{namesake.spelling}" if namesake.spelling else ""
        found[facts.slug] = GuardedAdapter(NamesakeAdapter(facts, f"recollect.agents.{namesake.path}", spelling))
    _add_installed(found)
    return found


def for_role(adapter: Adapter, role: str) -> Adapter:
    """Return who reads an agent's sources of a role: the adapter itself, or the reader of what its hooks told."""
    facts = adapter.facts
    if role != HOOK_PLACE.role or facts.hooks is None:
        return adapter
    from recollect.agents.kit.hooks.reader import HookReader

    return GuardedAdapter(HookReader(facts, facts.hooks))


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
    """Return an adapter by slug, name or alias, of all or of those given; case, spaces and signs don't count.

    Where two agents have the same name, a slug goes before a name, and our own agents before those of packages.
    Raises UnknownName, which names the nearest.
    """
    known = adapters() if known is None else known
    if name in known:
        return known[name]
    names = names_of(known)
    wanted = _letters(name)
    if wanted in names:
        return known[names[wanted]]
    near = tuple(dict.fromkeys(names[found] for found in difflib.get_close_matches(wanted, names)))
    raise UnknownName("agent", name, nearest=near, hint="`recollect agents --all` lists them")


def names_of(known: Mapping[str, Adapter]) -> dict[str, str]:
    """Return the slugs of agents by every name that they have, in letters and digits alone."""
    names = {_letters(slug): slug for slug in known}
    for slug, a in known.items():
        for name in (a.facts.name, *a.facts.aliases):
            names.setdefault(_letters(name), slug)
    return names


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.lower())


def strangers(configured: Iterable[str], known: Mapping[str, Adapter]) -> dict[str, str]:
    """Return a note on each configured slug that is no adapter's own: another spelling of one, or nobody's.

    A note, not an error: the package that brings the agent may only be missing at the moment.
    """
    notes: dict[str, str] = {}
    failed = {failure.slug for failure in failures()}
    for slug in configured:
        if slug in known or slug in failed:
            continue
        try:
            wrong = UnknownName("agent", slug, nearest=(adapter(slug, known).facts.slug,))
        except UnknownName as unknown:
            wrong = unknown
        notes[slug] = f"[agents.{slug}] of the configuration changes nothing: {wrong}"
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
    """Tell whether some package may have an entry point of ours. The standard reader takes ten times as long."""
    wanted = f"[{GROUP}]".encode()
    for folder in filter(os.path.isdir, sys.path):
        for path in glob.iglob(os.path.join(glob.escape(folder), "*.*-info", "entry_points.txt")):
            with suppress(OSError), open(path, "rb") as handle:
                if wanted in handle.read():
                    return True
    return False


def _add_installed(found: dict[str, Adapter]) -> None:
    if not _is_any_installed():
        return
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        source = f"the package {point.dist.name}" if point.dist is not None else point.value
        try:
            installed = usable(point.load())
        except _LOADING as error:
            _fail(point.name, source, f"{type(error).__name__}: {error}")
            continue
        slug = installed.facts.slug
        if slug in found:
            _fail(slug, source, "there is an agent of this name already")
        else:
            found[slug] = GuardedAdapter(installed)

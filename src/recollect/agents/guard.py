"""Isolates failing adapters, and checks third-party adapters when they load."""

from typing import Any

import msgspec

from recollect.agents.base import Adapter
from recollect.errors import where_raised
from recollect.model.capabilities import AgentFacts
from recollect.model.events import Draft
from recollect.model.payloads import Unknown
from recollect.model.records import Defect, Parsed, Record, SourceInfo
from recollect.model.text import flatten

RAISED = "parser_raised"
"""The defect's code where a parser raised; the record is kept as `unknown`."""
IDENTIFY_RAISED = "identify_raised"
"""The defect's code where an adapter could not say which session a source is of; its place names it."""
_MEMBERS = ("state_type", "recognise", "source_key", "identify", "begin", "parse")


def usable(loaded: Any) -> Adapter:
    """Return the adapter that a class without arguments, or an instance, is. Raises TypeError for anything else.

    `begin` is tried for every place: a source cannot be read without a state. What it raises goes through.
    """
    found = loaded() if isinstance(loaded, type) else loaded
    missing = [name for name in _MEMBERS if not hasattr(found, name)]
    if not isinstance(getattr(found, "facts", None), AgentFacts):
        missing.insert(0, "facts (an AgentFacts)")
    if missing:
        raise TypeError(f"{type(found).__name__} is no adapter, it has no {', '.join(missing)}")
    if not issubclass(found.state_type, msgspec.Struct):
        raise TypeError(f"the state_type of {type(found).__name__} is no msgspec.Struct")
    adapter: Adapter = found
    for place in adapter.facts.places:
        adapter.begin(SourceInfo(adapter.facts.slug, place.role, "name", session="name"))
    return adapter


def unguarded(adapter: Adapter) -> Adapter:
    """Return an adapter that lets its exceptions through, for those who look for them."""
    return adapter.inner if isinstance(adapter, GuardedAdapter) else adapter


def raised_by(adapter: Adapter) -> list[str]:
    """Return what an adapter raised when it was asked about files, each once, and forget it: whoever asks tells it."""
    return adapter.take_raised() if isinstance(adapter, GuardedAdapter) else []


class GuardedAdapter:
    """An adapter that may raise: then it gives nothing, and its record is kept as `unknown`.

    Every exception is reported: as a defect of the record or, without a record, through `raised_by`.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.facts = adapter.facts
        self.inner = adapter
        self._raised: dict[str, None] = {}

    @property
    def state_type(self) -> type[Any]:
        return self.inner.state_type

    def recognise(self, path: str, head: bytes) -> str | None:
        try:
            return self.inner.recognise(path, head)
        except Exception as error:  # noqa: BLE001 - one file that it can't tell must not keep all others out; it is told
            self._note("recognise", error)
            return None

    def source_key(self, info: SourceInfo) -> str:
        try:
            return self.inner.source_key(info)
        except Exception as error:  # noqa: BLE001 - as in `recognise`; the place names a source as well
            self._note("source_key", error)
            return info.place

    def identify(self, info: SourceInfo, head: bytes) -> str:
        try:
            name = self.inner.identify(info, head)
        except Exception as error:  # noqa: BLE001 - as in `recognise`; the place names a session as well
            self._note("identify", error)
            name = ""
        return name or info.place

    def begin(self, info: SourceInfo) -> Any:
        return self.inner.begin(info)

    def parse(self, record: Record, state: Any) -> Parsed[Any]:
        try:
            return self.inner.parse(record, state)
        except Exception as error:  # noqa: BLE001 - as in `recognise`; a defect tells it, and the record is kept
            defect = Defect(RAISED, where_raised(error), record.index)
            text = record.value if isinstance(record.value, str) else flatten(record.value)
            return Parsed(state, (Draft(Unknown(RAISED, text)),), (defect,))

    def take_raised(self) -> list[str]:
        found = list(self._raised)
        self._raised.clear()
        return found

    def _note(self, question: str, error: Exception) -> None:
        self._raised[f"{question} raised {where_raised(error)}"] = None

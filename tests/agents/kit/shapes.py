"""What an agent's records look like, as far as tests need it that put anything into them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hypothesis import strategies as st

from recollect.agents.base import Adapter
from recollect.model.records import SourceInfo
from recollect.testing.strategies import any_json


@dataclass(frozen=True)
class Shape:
    """The fields and kinds of one agent's records.

    `names` and `kinds` are words with blanks between them: fields that a parser asks for, and values that it knows.
    `large(text, index)` is a record with `text` wherever a parser could keep it; it stands at `large_at` of its
    document. `places` are those of a document's parts.
    """

    adapter: Adapter
    path: str
    names: str
    kinds: str
    large: Callable[[str, int], Any]
    places: tuple[str, ...] = ("",)
    large_at: str = ""

    @property
    def slug(self) -> str:
        return self.adapter.facts.slug

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(place.role for place in self.adapter.facts.places)

    def info(self, role: str) -> SourceInfo:
        """Return a source of that role."""
        return SourceInfo(self.slug, role, self.path, session="s")

    @cached_property
    def records(self) -> st.SearchStrategy[Any]:
        """Records with known fields and kinds, three levels deep, and anything in them."""
        names, kinds = st.sampled_from(self.names.split()), st.sampled_from(self.kinds.split())
        inner = st.dictionaries(names, kinds | any_json(), max_size=5)
        block = st.dictionaries(names, kinds | inner | st.lists(inner, max_size=2) | any_json(), max_size=6)
        return st.dictionaries(names, kinds | block | st.lists(block, max_size=3) | any_json(), max_size=8)

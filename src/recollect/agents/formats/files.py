"""The TOML files beside this module: which there are, the facts in one, and its description."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from recollect.model.capabilities import AgentFacts

if TYPE_CHECKING:
    from recollect.agents.formats.language import Format

_ENDING = ".toml"
_FORMAT = "format"
_LIKE = "like"


def described_agents() -> tuple[str, ...]:
    """Return the slugs of the agents that have a file, in the order of the alphabet. No file is read."""
    found = (entry.name for entry in files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(_ENDING) for name in found if name.endswith(_ENDING)))


@cache
def facts_of(slug: str) -> AgentFacts:
    """Return the facts in an agent's file: everything in it but how its records are read."""
    facts = {key: value for key, value in _read(slug).items() if key not in (_FORMAT, _LIKE)}
    return msgspec.convert({"slug": slug, **facts}, AgentFacts)


def form_of(slug: str) -> Format:
    """Return how an agent's records are read."""
    from recollect.agents.formats.language import Format

    return msgspec.convert(_read(slug)[_FORMAT], Format)


def like(slug: str) -> str:
    """Return the slug of the agent whose format this one writes, "" where its file says how to read its own."""
    return str(_read(slug).get(_LIKE, ""))


@cache
def _read(slug: str) -> dict[str, Any]:
    written = files(__package__).joinpath(f"{slug}{_ENDING}").read_bytes()
    return dict(msgspec.toml.decode(written))

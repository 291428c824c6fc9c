"""Reads the TOML files in `formats`: each agent's facts, its parser and, for some, its record description.

`facts.json`, written by `make docs`, holds the facts and the names of parsers. A process loads only that: Python takes
five times as long to read TOML. A file that is not in it yet counts as well. `fields.json` holds `fields` in the same
way; a parser loads it.

What a file may say beside the fields of `AgentFacts`: `parser`, module and class of the code that reads the records;
`family`, what an agent of a family whose class takes the slug has of its own; `like`, the agent whose format this one
writes, and `spelling`, the function that puts a record into that one's spelling; `extends`, the agent whose file says
what this one leaves out; `kinds_but`, the kinds of events that it can't give, in place of `kinds`; `heads`, how its
sources begin (`kit.language.HeadTest`). In paths, `{a,b}` stands for one path with each.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from recollect.agent_names import OWN
from recollect.model.capabilities import AgentFacts
from recollect.model.payloads import KINDS

INDEX = "facts.json"
FIELDS_INDEX = "fields.json"
_FOLDER = Path(__file__).with_name("formats")
_ENDING = ".toml"
_FORMAT = "format"
_INSTALL = "install"
_FIELDS = "fields"
_HEADS = "heads"
_BESIDE = ("parser", "family", "like", "spelling")
_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")


FieldsTable = dict[str, str | dict[str, str]]
"""Names of fields with blanks between them, by the object that has them, or by its type in a table below."""


class Entry(msgspec.Struct, frozen=True):
    """What a file says of an agent beside how its records are read; see the module."""

    facts: AgentFacts
    parser: str = ""
    family: dict[str, Any] = {}
    like: str = ""
    spelling: str = ""


def described_agents() -> tuple[str, ...]:
    """Return the slugs of the agents that have a file, in the order in which they are shown. No file is read."""
    names = (entry.name for entry in _FOLDER.iterdir())
    found = {name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING)}
    return (*(slug for slug in OWN if slug in found), *sorted(found - OWN.keys()))


@cache
def entries() -> dict[str, Entry]:
    """Return every agent by slug, in the order in which they are shown."""
    index = _FOLDER / INDEX
    known = msgspec.json.decode(index.read_bytes(), type=dict[str, Entry]) if index.is_file() else {}
    return {slug: known[slug] if slug in known else _entry(written_entry(slug)) for slug in described_agents()}


def facts_of(slug: str) -> AgentFacts:
    """Return the facts of an agent."""
    return entries()[slug].facts


def known_fields(slug: str) -> dict[str, frozenset[str]]:
    """Return the fields that an agent's parser knows, by the object that has them."""
    found = _fields_of(slug).items()
    return {name: frozenset(fields.split()) for name, fields in found if isinstance(fields, str)}


def known_by_type(slug: str, name: str) -> dict[str, frozenset[str]]:
    """Return the fields that an agent's parser knows of objects of several types, by the type."""
    found = _fields_of(slug)[name]
    return {kind: frozenset(fields.split()) for kind, fields in found.items()} if isinstance(found, dict) else {}


def _fields_of(slug: str) -> FieldsTable:
    known = _fields()
    return known[slug] if slug in known else written_fields(slug)


@cache
def _fields() -> dict[str, FieldsTable]:
    index = _FOLDER / FIELDS_INDEX
    return msgspec.json.decode(index.read_bytes(), type=dict[str, FieldsTable]) if index.is_file() else {}


def written_fields(slug: str) -> FieldsTable:
    """Return the names of known fields that an agent's file says."""
    found: FieldsTable = _read(slug).get(_FIELDS, {})
    return found


def format_table(slug: str) -> dict[str, Any]:
    """Return how an agent's file says that its records are read."""
    found: dict[str, Any] = _read(slug)[_FORMAT]
    return found


def heads_table(slug: str) -> list[dict[str, Any]]:
    """Return how an agent's file says that its sources begin."""
    found: list[dict[str, Any]] = _read(slug).get(_HEADS, [])
    return found


def install_table(slug: str) -> dict[str, Any]:
    """Return what an agent's file says for `recollect setup`; `agents.install.described` explains it."""
    found: dict[str, Any] = _read(slug)[_INSTALL]
    return found


def written_entry(slug: str) -> dict[str, Any]:
    """Return what an agent's file says, as `Entry` takes it."""
    written = _read(slug)
    if "extends" in written:
        written = _read(written["extends"]) | written
    facts = {
        key: value
        for key, value in written.items()
        if key not in (*_BESIDE, _FORMAT, _INSTALL, _FIELDS, _HEADS, "extends")
    }
    facts["roots"] = [dict(zip(root, one, strict=True)) for root in facts["roots"] for one in _spread_root(root)]
    facts["places"] = [_spread_place(place) for place in facts["places"]]
    facts["capabilities"] = _with_kinds(facts["capabilities"])
    return {"facts": {"slug": slug, **facts}, **{key: written[key] for key in _BESIDE if key in written}}


def _entry(written: dict[str, Any]) -> Entry:
    return msgspec.convert(written, Entry)


def _with_kinds(capabilities: dict[str, Any]) -> dict[str, Any]:
    """Return capabilities with every kind of event. Raises ValueError for an unknown kind."""
    missing = capabilities.get("kinds_but")
    if missing is None:
        return capabilities
    unknown = set(missing) - set(KINDS)
    if unknown:
        raise ValueError(f"no kinds of events: {', '.join(sorted(unknown))}")
    rest = {key: value for key, value in capabilities.items() if key != "kinds_but"}
    return {**rest, "kinds": [kind for kind in KINDS if kind not in missing]}


def _spread_root(root: dict[str, Any]) -> list[list[Any]]:
    """Return the values of a root, once for each choice in one of them."""
    found: list[list[Any]] = [[]]
    for value in root.values():
        found = [[*before, one] for before in found for one in (spread(value) if isinstance(value, str) else [value])]
    return found


def _spread_place(place: dict[str, Any]) -> dict[str, Any]:
    return place | {
        key: [one for path in place[key] for one in spread(path)] for key in ("patterns", "exclude") if key in place
    }


def spread(path: str) -> list[str]:
    """Return a path with each of its choices: `{a,b}/c` is `a/c` and `b/c`."""
    choice = _CHOICE.search(path)
    if choice is None:
        return [path]
    before, after = path[: choice.start()], path[choice.end() :]
    return [one for word in choice[1].split(",") for one in spread(before + word + after)]


@cache
def _read(slug: str) -> dict[str, Any]:
    written = (_FOLDER / f"{slug}{_ENDING}").read_bytes()
    return dict(msgspec.toml.decode(written))

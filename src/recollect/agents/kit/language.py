"""The description language for an agent's records. This module defines and documents all its words.

A path is dotted ("metadata.cwd"; a number is the place in a list); several with blanks between them are tried in order.
Names of fields stand in one text with blanks between them. A condition names paths: a list is of the values that may
stand there, a text is a regular expression that is searched in the text.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import msgspec

from recollect.agents.facts import heads_table
from recollect.agents.kit.values import head_objects, mapping, text
from recollect.model.payloads import Json
from recollect.model.text import flatten

When = Mapping[str, tuple[Json, ...] | str]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a description: an unknown key is an error."""


class TextValue(_Table, frozen=True, kw_only=True):
    """A text of a record that is not just the value at a path."""

    path: str
    pattern: str = ""
    """Only what its first group finds."""
    flat: bool = False
    """What is no text counts with all the text in it."""
    when: When = {}
    """Else it is empty."""


Text = str | TextValue


class HeadTest(_Table, frozen=True, kw_only=True):
    """How the beginning of a file identifies this agent and the role. All conditions must hold."""

    role: str
    path: str = ""
    """A regular expression that is searched in the file's path."""
    matches: tuple[str, ...] = ()
    """Regular expressions that are searched in it; none of those of `unless` may be found."""
    unless: tuple[str, ...] = ()
    lines: int = 1
    """The rest must hold of one of so many first lines, decoded."""
    has: str = ""
    lacks: str = ""
    when: When = {}


class SessionName(_Table, frozen=True, kw_only=True):
    """How a session is named: by a field of the first line, else by the file's stem, else by a hash of that line."""

    field: str = ""
    strip: str = ""
    """An ending that is taken off the stem."""
    without: str = ""
    """Where given, all folders of the path but these stand before the stem, joined by ":"."""
    below: str = ""
    """A subagent's file is in a folder of this name; the folder around is named after its parent, which stands
    before the stem, with `joint` between them."""
    joint: str = "/"
    is_folder: bool = False
    """The file's folder is named after the session."""


class NoteRule(_Table, frozen=True, kw_only=True):
    """An event of the session's life (`Lifecycle`), or an instruction. Emitted if one of its values exists."""

    name: str = ""
    source: str = ""
    """Makes it an instruction: whose."""
    id: str = ""
    """Names the event; "/x" stands behind the record's own name."""
    text: Text = ""
    title: Text = ""
    cwd: Text = ""
    detail: str = ""
    members: Mapping[str, str] = {}
    """Members of the detail, by name."""
    flags: Mapping[str, str] = {}
    """Members that say whether a field is true."""
    rest: str | None = None
    """The detail is the record without these fields."""
    when: When = {}
    always: bool = False


class KnownFields(_Table, frozen=True, kw_only=True):
    """Fields of an object that are known; others that say something are kept as `unknown` and counted as drift."""

    name: str
    fields: str
    at: str = ""
    """The object's path, "" for the record."""
    values: Mapping[str, str] = {}
    """Of a field, the values that are known."""
    id: str = ""
    """Stands in the name of what is kept, instead of the record's."""


class UsageFields(_Table, frozen=True, kw_only=True):
    """The tokens that a response cost, in the object at a path: each at the first of its paths that has a number."""

    at: str
    input: str
    output: str
    cache_read: str
    cache_write: str
    cache_write_1h: str = ""
    """A part of `cache_write`."""
    reasoning: str = ""
    includes_read: str = ""
    """Where this field is there, the input includes what was read from the cache."""
    response: str = ""
    """Names the response, which counts once; else the record does."""
    no_writes: str = ""
    """A regular expression for models that don't write a cache: what they are said to have written is input."""


class BlockType(_Table, frozen=True, kw_only=True):
    """One type of block of a message's content."""

    kind: Literal["text", "thinking", "call", "result", "media"]
    fields: str
    inside: str = ""
    """The object in it that holds all but the type; `inner`: its fields."""
    inner: str = ""
    text: str = "text"
    id: str = "id"
    name: str = "name"
    arguments: str = "input"
    decoded: bool = False
    """Arguments may be JSON in a text."""
    output: str = "content"
    ok: str = ""
    """Where a word says how it went; `words`: what each says."""
    words: Mapping[str, bool] = {}
    failed: str = ""
    """A regular expression for the beginning of what a failed tool gave back."""
    exit_code: str = ""
    """The same, with the exit code as its group."""


class ResultPieces(_Table, frozen=True, kw_only=True):
    """Results of the AI SDK whose content is a list of pieces."""

    fields: str
    exit_code: str
    """A field of a piece."""
    injected: tuple[When, ...]
    """Conditions for pieces that the harness wrote."""
    child: str
    """A regular expression whose group is the session that the call started."""


class Rule(_Table, frozen=True, kw_only=True):
    """What to read out of the records that it fits; the first rule that fits a record counts."""

    places: str = ""
    """Roles of their sources, or `at`: where they stand in their document; one of both is enough."""
    at: str | None = None
    has: str = ""
    lacks: str = ""
    when: When = {}
    first: str = ""
    """Paths that are enough as long as no record told the session's start."""
    inside: str = ""
    """The message in the record, where it is not the record itself."""
    time: str = ""
    is_local: bool = False
    """Times have no zone, so they are inferred."""
    id: str = ""
    """Names the record's events, behind the `prefix`. is_number: a whole number does."""
    prefix: str = ""
    is_number: bool = False
    unnamed: str = ""
    """Without an id they are named by their content, behind this; else by the record's hash."""
    role: str = ""
    """Who speaks; another than the `speakers` is unknown."""
    speakers: str | None = None
    model: str = ""
    marks: str = ""
    """A list of words about the message: `compressed` where a compaction put it away, which then stands before the next
    that was not; `hint` where no person wrote it."""
    compressed: str = ""
    hint: str = ""
    start: Mapping[str, Text] | None = None
    """Fields of `SessionStart`; `version`: the path of the agent's version, which may be a number."""
    version: str = ""
    always_start: bool = False
    start_id: str = "start"
    changes: bool = False
    """The start is told once, and later each change of folder and branch."""
    content: str = ""
    blocks: Literal["", "aisdk", "own", "items", "claude"] = ""
    """How the content is written. "items": records are items of the OpenAI Agents SDK. "claude": they are in Claude
    Code's manner; `kept`: types known to stand beside the conversation."""
    kept: str = ""
    usage: UsageFields | None = None
    notes: tuple[NoteRule, ...] = ()
    known: tuple[KnownFields, ...] = ()


class Format(_Table, frozen=True, kw_only=True):
    """How the records of one agent are read."""

    rules: tuple[Rule, ...]
    session: SessionName = SessionName()
    blocks: Mapping[str, BlockType] = {}
    """Own types of blocks."""
    trims: bool = False
    """White space around each of their texts says nothing."""
    injected: tuple[When, ...] = ()
    """Conditions for blocks, and for pieces of results, that the harness wrote."""
    instructions: Mapping[str, str] = {}
    """Types of blocks that are instructions, with their fields."""
    extras: str = ""
    """Fields that the agent adds to all blocks of the AI SDK, or to all items."""
    renamed: Mapping[str, Mapping[str, str]] = {}
    """Blocks of the AI SDK under other names: the `type` that is meant, and what its fields are by those written."""
    pieces: ResultPieces | None = None
    summary: str = ""
    """A regular expression for a note in the model's answer that is not part of it."""


@cache
def heads_of(slug: str) -> tuple[HeadTest, ...]:
    """Return how files of an agent begin, as its own file says."""
    return msgspec.convert(heads_table(slug), tuple[HeadTest, ...])


def is_told(told: HeadTest, path: str, head: bytes) -> bool:
    """Say whether a file begins as told."""
    if told.path and not re.search(told.path, path):
        return False
    if not all(re.search(pattern.encode(), head) for pattern in told.matches):
        return False
    if any(re.search(pattern.encode(), head) for pattern in told.unless):
        return False
    return not told.has or any(
        has_all(line, told.has) and not has_any(line, told.lacks) and holds(line, told.when)
        for line in head_objects(head.lstrip(), told.lines)
    )


def at_path(value: Json, path: str) -> Json:
    """Return the value at a path, None without one."""
    for step in _steps(path):
        if isinstance(value, list) and step.isdecimal():
            value = value[int(step)] if int(step) < len(value) else None
        else:
            value = mapping(value).get(step)
    return value


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split(".")) if path else ()


@cache
def names(written: str) -> frozenset[str]:
    """Return the names in one text."""
    return frozenset(written.split())


@cache
def paths(written: str) -> tuple[str, ...]:
    """Return the paths in one text, in order."""
    return tuple(written.split())


def has_all(value: Json, written: str) -> bool:
    """Say whether a record has a field at each of some paths."""
    return all(path.rpartition(".")[2] in mapping(at_path(value, path.rpartition(".")[0])) for path in paths(written))


def has_any(value: Json, written: str) -> bool:
    """Say whether a record has a field at one of some paths."""
    return any(has_all(value, path) for path in paths(written))


def holds(value: Json, when: When) -> bool:
    """Say whether a condition holds of a record; an empty one does."""
    return all(_fits(at_path(value, path), wanted) for path, wanted in when.items())


def _fits(found: Json, wanted: tuple[Json, ...] | str) -> bool:
    if isinstance(wanted, str):
        return re.search(wanted, text(found)) is not None
    return any(type(found) is type(one) and found == one for one in wanted)


def shown(value: Any, said: Text) -> tuple[str, str]:
    """Return a text of a record, and the path of a value there that is no text."""
    asked = said if isinstance(said, TextValue) else TextValue(path=said)
    if not holds(value, asked.when):
        return "", ""
    odd = ""
    for path in paths(asked.path):
        found = at_path(value, path)
        if asked.flat and not isinstance(found, str):
            found = flatten(found)
        if isinstance(found, str) and found:
            match = re.search(asked.pattern, found) if asked.pattern else None
            return (match[1] if match else "" if asked.pattern else found), ""
        odd = odd or (path if found is not None and found != "" else "")
    return "", odd

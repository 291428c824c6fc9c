"""Input and output of a parser."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import msgspec

from recollect.model.events import Draft
from recollect.model.payloads import Json

State = TypeVar("State")
ZSTD_SUFFIXES = (".zst", ".zstd")
"""How the names of compressed sources end."""


class SourceInfo(msgspec.Struct, frozen=True):
    """What an adapter may know of a source: never an absolute path of this machine.

    path: relative to the agent's root, "/"-separated. role: as in the adapter's `Place`.
    session: native id of the session, as `identify` gave it. document: of a sqlite or directory source, the name
    of its logical document; "" for files.
    """

    agent: str
    role: str
    path: str
    session: str = ""
    document: str = ""

    @classmethod
    def of(cls, agent: str, role: str, relative: str, session: str = "") -> SourceInfo:
        """Return the info of a source by its stored place, which for a document ends in `#role/document`."""
        path, mark, document = relative.partition(f"#{role}/")
        return cls(agent, role, path if mark else relative, session, document)

    @property
    def place(self) -> str:
        """The path, with the role and the document in it where it is not a file's: see `of`."""
        return f"{self.path}#{self.role}/{self.document}" if self.document else self.path

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def folders(self) -> list[str]:
        """The folders that it lies in, the outermost first."""
        return self.path.split("/")[:-1]

    @property
    def folder(self) -> str:
        """The folder that it lies in, "" for the root."""
        return self.path.rpartition("/")[0].rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name without its extensions (`.jsonl`, `.jsonl.zst`, `.json`, `.txt`)."""
        name = self.name
        for suffix in (*ZSTD_SUFFIXES, ".jsonl", ".json", ".txt"):
            name = name.removesuffix(suffix)
        return name


class Record(msgspec.Struct, frozen=True, gc=False):
    """One unit of a source, decoded.

    value: the decoded JSON (any type!), or the text of a whole-file text source. raw: its exact bytes.
    index: 0-based ordinal in the revision. at: where the record stands in its document: the path of a split array
    for its elements ("messages"), the path of the object around for its other members ("" at the top), the table's
    name for a row. changed: of a patch log, the elements that this line changed, as they are now.
    """

    value: Json
    raw: bytes
    index: int
    at: str = ""
    changed: tuple[Changed, ...] = ()


class Changed(NamedTuple):
    """An element of a folded document that a line of a patch log changed: its path, and its value after the line.

    path: keys and indexes from the top. is_gone: the element stands there no more; value is then what it was.
    """

    path: tuple[str | int, ...]
    value: Json
    is_gone: bool = False


class Drift(NamedTuple):
    """Something of the agent's format that this version of the parser does not know.

    kind: "type" (a record or block type), "field" or "value". name: "type", "where.field" or "where=value".
    """

    kind: str
    name: str


class Defect(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Content that could not be read or had to be bent; located and counted, never fatal.

    code: snake_case and stable: not_json, invalid_utf8, too_deep, too_large, number_out_of_range,
    wrong_type, bad_timestamp, bad_arguments, open_tail …
    """

    code: str
    detail: str = ""
    record_index: int = -1
    offset_bytes: int = -1


class Parsed(msgspec.Struct, Generic[State], frozen=True):
    """What a parser made of one record: events in order, defects, drift, and the state for the next record."""

    state: State
    events: tuple[Draft, ...] = ()
    defects: tuple[Defect, ...] = ()
    drift: tuple[Drift, ...] = ()


class LedgerDefect(msgspec.Struct, frozen=True):
    """One thing that is not as it should be, with its place."""

    code: str
    detail: str
    source_id: str = ""
    path: str = ""
    revision: int = 0
    record_index: int = -1
    offset_bytes: int = -1
    is_loss: bool = False
    """True: stored bytes are missing or damaged. False: the agent wrote something unreadable; it is kept."""

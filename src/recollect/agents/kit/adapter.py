"""The base adapter: a new one adds its facts, its state and its reading of one record."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, ClassVar, Generic, TypeVar, get_args

import msgspec

from recollect.agents.facts import facts_of
from recollect.agents.kit.language import heads_of, is_told, shown
from recollect.agents.kit.values import instant, number, whole
from recollect.model import payloads as kinds
from recollect.model.capabilities import AgentFacts
from recollect.model.events import Draft, Role, TsQuality
from recollect.model.records import Defect, Drift, Parsed, Record, SourceInfo
from recollect.model.text import flatten

# The record in hand: what most parsers need to read one record and to give its events.
#
# A parser keeps its memory in a frozen `BaseState` and does its work on a `Reading`, which lives for one `parse` call.
# Every reader is tolerant: a missing field reads as empty, one of a wrong type as empty with a counted defect.

MAX_NAME_CHARS = 200
_MAX_FACT_CHARS = 1000
_EMPTY: dict[str, Any] = {}


class BaseState(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What every parser remembers: whose source it reads, the newest time it saw (UTC microseconds), the newest event.

    newest: the name of the last event of the session itself; "" where it has none.
    """

    session: str = ""
    role: str = ""
    name: str = ""
    document: str = ""
    ts: int | None = None
    is_started: bool = False
    newest: str = ""


_ROLES: dict[type[kinds.Payload], Role] = {
    kinds.UserMessage: "user",
    kinds.AssistantMessage: "assistant",
    kinds.Thinking: "assistant",
    kinds.ToolCall: "assistant",
    kinds.ToolResult: "tool",
    kinds.FileEdit: "tool",
}


def role_of(payload: kinds.Payload) -> Role:
    """Return who speaks in an event. What none of them says is the system's, as are copies of files that it keeps."""
    role = _ROLES.get(type(payload), "system")
    return "system" if role == "tool" and getattr(payload, "operation", "") == "checkpoint" else role


Said = kinds.UserMessage | kinds.AssistantMessage | kinds.Thinking | kinds.Instructions
S = TypeVar("S", bound=BaseState)
T = TypeVar("T")


class FieldReader:
    """Tolerant readers of a record's fields: a missing one is empty, one of a wrong type a counted defect."""

    __slots__ = ("defects", "drift", "index")

    def __init__(self, index: int) -> None:
        self.index = index
        self.defects: list[Defect] = []
        self.drift: list[Drift] = []

    def wrong(self, field: str, code: str = "wrong_type") -> None:
        """Count a defect of a field of this record."""
        self.defects.append(Defect(code, detail=field[:MAX_NAME_CHARS], record_index=self.index))

    def readable(self, found: tuple[T, bool], field: str) -> T:
        """Return decoded bytes; undecodable ones are a defect of the field."""
        if not found[1]:
            self.wrong(field, "bad_base64")
        return found[0]

    def text(self, source: dict[str, Any], name: str) -> str:
        """Return a text field."""
        value = source.get(name)
        if isinstance(value, str):
            return value
        if value is not None:
            self.wrong(name)
        return ""

    def mapping(self, source: dict[str, Any], name: str) -> dict[str, Any]:
        """Return an object field; not a copy."""
        value = source.get(name)
        if isinstance(value, dict):
            return value
        if value is not None:
            self.wrong(name)
        return _EMPTY

    def items(self, source: dict[str, Any], name: str) -> list[Any]:
        """Return an array field; not a copy."""
        value = source.get(name)
        if isinstance(value, list):
            return value
        if value is not None:
            self.wrong(name)
        return []

    def whole(self, source: dict[str, Any], name: str) -> int | None:
        """Return a whole-number field (also when written as text)."""
        value = source.get(name)
        if value is None:
            return None
        found = whole(value)
        if found is None:
            self.wrong(name)
        return found

    def count(self, source: dict[str, Any], name: str) -> int:
        """Return a number of things: missing and negative read as 0, the latter with a defect."""
        found = self.whole(source, name) or 0
        if found < 0:
            self.wrong(name, "number_out_of_range")
            return 0
        return found


class Reading(FieldReader, Generic[S]):
    """One record while it is read. `value` is the record if it is a JSON object, else an empty one."""

    __slots__ = (
        "_changes", "at", "events", "is_sidechain", "last_ts", "native_id", "parent_id", "record", "state", "ts",
        "ts_quality", "value",
    )  # fmt: skip

    def __init__(self, record: Record, state: S) -> None:
        super().__init__(record.index)
        self.record = record
        self.value: dict[str, Any] = record.value if isinstance(record.value, dict) else _EMPTY
        self.at = record.at
        self.state = state
        self.events: list[Draft] = []
        self.native_id: str | None = None
        """Names the record's events unless `add` is given another id. None: named by a hash of the record."""
        self.parent_id: str | None = None
        self.is_sidechain = False
        self.last_ts = state.ts
        self.ts = state.ts
        self.ts_quality: TsQuality = "missing" if state.ts is None else "inferred"
        self._changes: dict[str, Any] = {}

    def date(self, written: object, field: str = "timestamp") -> None:
        """Set the record's time (ISO text, or a number of s, ms or us). Without one the last time holds, inferred."""
        at = instant(written)
        if at is not None:
            self.ts = self.last_ts = at
            self.ts_quality = "exact"
        elif written is not None and written != "":
            self.wrong(field, "bad_timestamp")

    def infer(self, at: int | None) -> None:
        """Take a time that the record does not state (UTC microseconds), marked as inferred."""
        if at is not None:
            self.ts = self.last_ts = at
            self.ts_quality = "inferred"

    def add(
        self,
        payload: kinds.Payload,
        role: Role | None = None,
        *,
        native_id: str | None = None,
        session: str | None = None,
        replaces: tuple[str, int] | None = None,
        follows: str | None = None,
    ) -> None:
        """Emit one more event, at the record's time.

        role: else the one that speaks in such an event. native_id: names this event alone, see `native_id`.
        """
        self.events.append(
            Draft(
                payload,
                role or role_of(payload),
                self.ts,
                self.ts_quality,
                native_id or self.native_id,
                self.parent_id,
                self.is_sidechain,
                session,
                replaces,
                follows,
            )
        )

    def below(self, name: str) -> str | None:
        """Return a second event name of the record, below its own name, None without one."""
        return f"{self.native_id}/{name}" if self.native_id else None

    def say(self, payload: Said, *, native_id: str | None = None, session: str | None = None) -> None:
        """Emit words, if there are any, or what stands for them."""
        if payload.text or getattr(payload, "parts", None) or getattr(payload, "is_encrypted", False):
            self.add(payload, native_id=native_id, session=session)

    def note(
        self, name: str, text: str = "", *, native_id: str | None = None, session: str | None = None, **more: Any
    ) -> None:
        """Emit a `lifecycle` event, if there is anything to say. more: its other fields."""
        if text or any(value for field, value in more.items() if field != "call_id"):
            self.add(kinds.Lifecycle(name, text, **more), native_id=native_id, session=session)

    def start(self, *, native_id: str = "start", session: str | None = None, **facts: str) -> None:
        """Emit the session's start. facts: fields of `SessionStart`."""
        self.add(kinds.SessionStart(**facts), native_id=native_id, session=session)

    def told(self, source: Mapping[str, Any], **paths: str) -> dict[str, str]:
        """Return texts of an object under other names, each from the first of its paths (`git.branch branch`)."""
        found = {name: shown(source, written) for name, written in paths.items()}
        for _, odd in found.values():
            if odd:
                self.wrong(odd.rpartition(".")[2])
        return {name: said for name, (said, _) in found.items()}

    def see(self, *, is_first_told: bool = True, session: str | None = None, **facts: str) -> None:
        """Remember the session's `cwd`, `branch` or `model` in the state, and emit each that is another than before.

        is_first_told: also the first one, which is else the session's own.
        """
        for fact, value in facts.items():
            kept = value[:_MAX_FACT_CHARS].encode("utf-8", "replace").decode("utf-8")
            before = self.now(fact)
            if kept and kept != before:
                self.set(**{fact: kept})
                if before or is_first_told:
                    self.note(fact, native_id=self.below(fact), session=session, **{fact: value})

    def counts(self, source: dict[str, Any], names: Iterable[str]) -> list[int]:
        """Return several numbers of things."""
        return [self.count(source, name) for name in names]

    def spend(
        self,
        model: str,
        counts: Iterable[int],
        key: str,
        role: Role | None = None,
        *,
        native_id: str | None,
        **more: Any,
    ) -> None:
        """Emit the tokens of a response, unless all of them are 0.

        counts: what went in and was not cached, what came out, what was read from the cache and written to it.
        more: other fields of `TokenUsage`.
        """
        put, got, read, written = (*counts, 0, 0)[:4]
        if put or got or read or written:
            spent = kinds.TokenUsage(model, put, got, read, written, dedupe_key=key, **more)
            self.add(spent, role, native_id=native_id)

    def entitle(self, title: str, native_id: str = "title", session: str | None = None) -> None:
        """Emit the session's title, if there is one."""
        self.note("title", title=title, native_id=native_id, session=session)

    def unknown(self, kind: str, value: Any = None, *, native_id: str | None = None) -> None:
        """Emit a record or block of a type that this version does not know: searchable, and counted as drift."""
        note_type(self.drift, kind)
        body = self.record.value if value is None else value
        self.add(kinds.Unknown(kind, body if isinstance(body, str) else flatten(body)), native_id=native_id)

    def kept(self, kind: str, value: Any = None, *, native_id: str | None = None) -> None:
        """Emit a record that is known but has no kind of its own: searchable as `unknown`, no drift."""
        body = self.record.value if value is None else value
        self.add(kinds.Unknown(kind, body if isinstance(body, str) else flatten(body)), native_id=native_id)

    def extra(self, value: dict[str, Any], known: Set[str], where: str, *, native_id: str | None = None) -> None:
        """Emit the fields of an object that this version does not know, if they say anything; counted as drift.

        where: the object's type as people would name it ("message", "tool_call.state").
        """
        found = note_fields(self.drift, value, known, where)
        if found:
            name = native_id or self.native_id
            self.add(kinds.Unknown("fields", flatten(found)), native_id=f"{name}/{where}/fields" if name else None)

    def odd_value(self, where: str, value: object, known: Set[str]) -> None:
        """Count as drift a value outside the list that this version knows. where: as in `extra`, with its field."""
        note_value(self.drift, where, value, known)

    def money(self, source: dict[str, Any], name: str) -> float | None:
        """Return an amount of money, None without one."""
        return number(source.get(name))

    def newest(self) -> str:
        """Return the name of the newest event so far, which the next one follows. "" without one."""
        if not self.events:
            return self.state.newest
        # The name of the last of some events in the session itself, `before` without one.
        before = self.state.newest
        for draft in reversed(self.events):
            if draft.session is None:
                name = draft.native_id or ""
                return name if len(name) <= MAX_NAME_CHARS and name.isprintable() else ""
        return before

    def set(self, **changes: Any) -> None:
        """Change fields of the state that the next record will see; `now` reads them back."""
        self._changes.update(changes)

    def now(self, name: str) -> Any:
        """Return a field of the state as changed so far."""
        return self._changes[name] if name in self._changes else getattr(self.state, name)

    def finish(self) -> Parsed[S]:
        """Return everything this record gave and the state after it."""
        changes = self._changes
        if self.last_ts != self.state.ts:
            changes["ts"] = self.last_ts
        newest = self.newest()
        if newest != self.state.newest:
            changes["newest"] = newest
        state = msgspec.structs.replace(self.state, **changes) if changes else self.state
        return Parsed(state, tuple(self.events), tuple(self.defects), tuple(self.drift))


def remember(known: tuple[str, ...], name: str, limit: int = 64) -> tuple[str, ...]:
    """Return a bounded list of names with one more at its end; too long a name is not remembered."""
    return (*known, name)[-limit:] if name and len(name) <= MAX_NAME_CHARS else known


# Drift noted into a list: for parsers with a reading of their own. Named as in `Reading`.
#
# Every function costs one comparison where nothing is new, which is the rule.

MAX_DRIFT_CHARS = 80


def note_type(drift: list[Drift], name: str) -> None:
    """Note a record or block of a type that the parser does not know."""
    drift.append(Drift("type", name[:MAX_DRIFT_CHARS]))


def note_fields(drift: list[Drift], value: dict[str, Any], known: Set[str], where: str) -> dict[str, Any] | None:
    """Note the fields of an object that are not known and say something; return them, None if there are none."""
    if value.keys() <= known:
        return None
    found = unknown_fields(value, known)
    if found is not None:
        drift += [Drift("field", f"{where}.{name}"[:MAX_DRIFT_CHARS]) for name in found]
    return found


def note_value(drift: list[Drift], where: str, value: object, known: Set[str]) -> None:
    """Note a text that is none of the known ones. where: the object's type and the field."""
    if value and isinstance(value, str) and value not in known:
        drift.append(Drift("value", f"{where}={value}"[:MAX_DRIFT_CHARS]))


def unknown_fields(value: dict[str, Any], known: Set[str]) -> dict[str, Any] | None:
    """Return the fields of a value that are not known and say something; None if there are none, which is the rule."""
    if value.keys() <= known:
        return None
    return {k: v for k, v in value.items() if k not in known and v not in (None, "", [], {})} or None


_DIGITS = 16


class KitAdapter(Generic[S]):
    """An adapter whose parser works on a `Reading`. A subclass names its `slug` or sets `facts`, and defines `read`."""

    facts: AgentFacts
    slug: str = ""
    """The agent whose file in `formats` describes it, "" for one that has none."""
    state_type: type[S]
    readers: ClassVar[Mapping[str, Callable[[Any], None]]] = {}
    """What gives the events of a record, by the role of its source; "": of any other."""

    def __init_subclass__(cls, slug: str = "", **more: Any) -> None:
        """Take the state's type from the brackets behind the base. slug: whose file in `formats` has the facts."""
        super().__init_subclass__(**more)
        for base in cls.__dict__.get("__orig_bases__", ()):
            if isinstance(state_type := get_args(base)[0], type):
                cls.state_type = state_type
        if slug:
            cls.facts, cls.slug = facts_of(slug), slug

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: by `heads` of the agent's file; where it has none, only the place tells."""
        heads = heads_of(self.slug) if self.slug else ()
        return next((told.role for told in heads if is_told(told, path, head)), None)

    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`: the path below the root, and the document in it."""
        return info.place

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the document, else the file's stem, else a hash of its first line."""
        return info.document or info.stem or first_line_name(head)

    def begin(self, info: SourceInfo) -> S:
        known = {"session": info.session, "role": info.role, "name": info.name, "document": info.document}
        return self.state_type(**known | self.told_by(info))

    def told_by(self, info: SourceInfo) -> dict[str, Any]:
        """Return what else a source's place tells the first record: fields of the state."""
        return {}

    def parse(self, record: Record, state: S) -> Parsed[S]:
        reading = Reading(record, state)
        self.read(reading)
        return reading.finish()

    def read(self, reading: Reading[S]) -> None:
        """Emit the events of one record: an object as `readers` says, anything else as odd."""
        read = self.readers.get(reading.state.role) or self.readers.get("")
        if read is None or not isinstance(reading.record.value, dict):
            read_odd(reading)
        else:
            read(reading)


def read_odd(reading: Reading[Any]) -> None:
    """Emit a record that is not what its source should hold: the type of its value and all its text."""
    value = reading.record.value
    reading.wrong("record")
    reading.add(kinds.Unknown(type(value).__name__, value if isinstance(value, str) else flatten(value)))


def read_row(reading: Reading[S], readers: Mapping[str, Callable[[Reading[S]], None]]) -> None:
    """Emit the events of one row by the table it is of; one of another table is unknown."""
    if not isinstance(reading.record.value, dict):
        read_odd(reading)
        return
    read = readers.get(reading.at)
    if read is None:
        reading.unknown(reading.at or "row")
    else:
        read(reading)


def first_line_name(head: bytes) -> str:
    """Return a name for a session whose agent gives none, made of its first line: `file-<16 hex>`."""
    line = head.lstrip().partition(b"\n")[0]
    return f"file-{hashlib.sha256(line).hexdigest()[:_DIGITS]}"

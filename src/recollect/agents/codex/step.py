"""The parser's state between records, and the parsing of one record."""

import hashlib
from typing import Literal, TypeVar

import msgspec

from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit.adapter import note_fields, role_of
from recollect.agents.kit.values import instant, whole, word_set
from recollect.model.events import Draft, Role, TsQuality
from recollect.model.payloads import Json, Payload
from recollect.model.records import Defect, Drift, Parsed
from recollect.model.text import flatten

MAX_REMEMBERED = 64
"""Twins, calls and instructions remembered each: bounds the state whatever the source holds."""
_MAX_TEXT = 4096
_MAX_CALL_ID = 64

Key = TypeVar("Key", bound=int | str)
Known = Literal["calls", "settled", "patched"]
"""What is remembered of a call: that it was given, its outcome, its patch as file edits."""


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is carried from record to record; under 128 KiB whatever the source holds.

    unpaired: dialogue that still waits for its twin, as hashes; unpaired_before: the same of the turn before.
    calls, settled, patched: ids of the calls given, of those whose outcome is known, and of those whose patch was
    given as file edits. usage: the last token totals; resets: how often they fell.
    owner: the thread that keys of usage are counted under (see `tools`).
    """

    role: str
    last_ts: int | None = None
    is_started: bool = False
    thread_id: str = ""
    forked_from: str = ""
    owner: str = ""
    turn_id: str = ""
    model: str = ""
    cwd: str = ""
    settings: int = 0
    instructions: tuple[int, ...] = ()
    unpaired: tuple[int, ...] = ()
    unpaired_before: tuple[int, ...] = ()
    calls: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    patched: tuple[str, ...] = ()
    compactions: tuple[str, ...] = ()
    usage: tuple[int, ...] = ()
    resets: int = 0


class Step:
    """The work on one record: the state so far, the record's time, and what came out of it."""

    __slots__ = ("defects", "drift", "events", "index", "last_ts", "quality", "state", "ts")

    def __init__(self, state: State, index: int) -> None:
        self.state = state
        self.index = index
        self.last_ts = state.last_ts
        self.ts: int | None = None
        self.quality: TsQuality = "missing"
        self.events: list[Draft] = []
        self.defects: list[Defect] = []
        self.drift: list[Drift] = []

    def emit(self, payload: Payload, role: Role | None = None, *, session: str | None = None) -> None:
        """Add an event at the record's time."""
        self.events.append(Draft(payload, role or role_of(payload), self.ts, self.quality, session=session))

    def defect(self, code: str, detail: str) -> None:
        """Note content that could not be read as meant."""
        self.defects.append(Defect(code, detail[:200], self.index))

    def set(self, **changes: object) -> None:
        self.state = msgspec.structs.replace(self.state, last_ts=self.last_ts, **changes)

    def finish(self) -> Parsed[State]:
        """Return what came out of the record."""
        if self.last_ts != self.state.last_ts:
            self.set()
        return Parsed(self.state, tuple(self.events), tuple(self.defects), tuple(self.drift))

    def at(self, value: Json) -> None:
        """Take the record's time; where it has none, the last one seen stands in, marked inferred."""
        ts = instant(value)
        if ts is not None:
            self.ts = self.last_ts = ts
            self.quality = "exact"
            return
        if value is not None:
            self.defect("bad_timestamp", flatten(value))
        self.ts = self.last_ts
        self.quality = "missing" if self.ts is None else "inferred"

    def wrong(self, value: Json, name: str) -> None:
        """Note a value of another type than is meant; a missing one is fine."""
        if value is not None:
            self.defect("wrong_type", f"{name} is {type(value).__name__}")

    def text(self, value: Json, name: str) -> str:
        """Return text. What is not text is a defect, and its readable content is given all the same."""
        if isinstance(value, str):
            return value
        if value is None:
            return ""
        self.wrong(value, name)
        return flatten(value)

    def mapping(self, value: Json, name: str) -> dict[str, Json]:
        """Return an object, or an empty one and a defect."""
        if isinstance(value, dict):
            return value
        self.wrong(value, name)
        return {}

    def items(self, value: Json, name: str) -> list[Json]:
        """Return a list, or an empty one and a defect."""
        if isinstance(value, list):
            return value
        self.wrong(value, name)
        return []

    def whole(self, value: Json, name: str) -> int | None:
        """Return a whole number, or None and a defect."""
        number = whole(value)
        if number is None:
            self.wrong(value, name)
        return number

    def begin_turn(self, turn_id: str) -> bool:
        """Note that a turn begins; False when it was known already or has no id."""
        turn_id = bounded(turn_id)
        if not turn_id or turn_id == self.state.turn_id:
            return False
        # A twin can stand on the other side of the line that opens its turn, so one turn of grace.
        self.set(turn_id=turn_id, unpaired_before=self.state.unpaired, unpaired=(), compactions=())
        return True

    def is_new_instruction(self, text: str) -> bool:
        """Return whether these instructions are new in this source, and remember them."""
        key = hash_text(text)
        if key in self.state.instructions:
            return False
        self.set(instructions=remember(self.state.instructions, key))
        return True

    def knows(self, what: Known, call_id: str) -> bool:
        """Return whether this is remembered of the call (of the last ones)."""
        return bool(call_id) and _short_id(call_id) in getattr(self.state, what)

    def note(self, what: Known, call_id: str) -> None:
        """Remember this of the call."""
        if call_id:
            self.set(**{what: remember(getattr(self.state, what), _short_id(call_id))})


# The two channels that tell the same story, and what of it they repeat: the low bits of a twin's key.
ITEM, EVENT = 0, 1
USER, ASSISTANT, THINKING, SEARCH = 0, 2, 4, 6


def is_twin(step: Step, text: str, what: int, channel: int) -> bool:
    """Return whether `text` was already given from the other channel; pairs are one to one.

    Otherwise remember it, so that its twin is known when it comes. The same text twice in one channel is two
    messages ("yes", "yes"); only a message of the other channel takes one away.
    Evidence: format notes: Codex, representation ("every turn exists twice").
    """
    key = (hash_text(text.strip()) & ~7) | what | channel
    state = step.state
    if key ^ 1 in state.unpaired:
        step.set(unpaired=_without(state.unpaired, key ^ 1))
        return True
    if key ^ 1 in state.unpaired_before:
        step.set(unpaired_before=_without(state.unpaired_before, key ^ 1))
        return True
    step.set(unpaired=remember(state.unpaired, key))
    return False


def hash_text(text: str) -> int:
    """Return 64 bits that name a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def remember(known: tuple[Key, ...], key: Key) -> tuple[Key, ...]:
    """Return `known` with `key` at its end, the oldest left out beyond the bound."""
    return (*known[1 - MAX_REMEMBERED :], key)


def bounded(text: str) -> str:
    """Return a text fit for the state: short, and of characters that can be encoded."""
    text = text[:_MAX_TEXT]
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _without(known: tuple[int, ...], key: int) -> tuple[int, ...]:
    at = known.index(key)
    return known[:at] + known[at + 1 :]


def _short_id(call_id: str) -> str:
    return call_id if len(call_id) <= _MAX_CALL_ID and call_id.isascii() else f"#{hash_text(call_id):016x}"


# Fields that this version knows, by type of record; any other that says something is counted as drift.
#
# The lists in the agent's file hold every field of the format notes and of the rollouts they were checked against, also
# where it is only bookkeeping of the agent. Types whose whole payload is given as detail, and those that nobody has
# described, have none.

_FIELDS = known_fields("codex")
_OF_ITEMS = word_set("type id status timestamp metadata internal_chat_message_metadata_passthrough")
_KNOWN = {
    **known_by_type("codex", "records"),
    **{f"response_item/{kind}": fields | _OF_ITEMS for kind, fields in known_by_type("codex", "items").items()},
    **{f"event_msg/{kind}": fields | {"type", "turn_id"} for kind, fields in known_by_type("codex", "events").items()},
    **{
        f"item_completed/{kind}": fields | {"type", "id"}
        for kind, fields in known_by_type("codex", "completed").items()
    },
}
_KNOWN["event_msg/turn_started"] = _KNOWN["event_msg/task_started"]
_KNOWN["event_msg/turn_complete"] = _KNOWN["event_msg/task_complete"]


def note_envelope(step: Step, record: dict[str, Json]) -> None:
    """Note the unknown fields around a payload."""
    note_fields(step.drift, record, _FIELDS["envelope"], "record")


def note_payload(step: Step, tag: str, payload: dict[str, Json]) -> None:
    """Note the unknown fields of a payload. tag: `kind`, or `kind/type` where the payload says what it is."""
    known = _KNOWN.get(tag)
    if known is not None:
        note_fields(step.drift, payload, known, tag)

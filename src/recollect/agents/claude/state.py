"""The parser's state between records, and the record being parsed.

The state is bounded whatever the length of a transcript: see the limits below. All texts in it are short marks.
"""

import hashlib
from typing import Annotated, Any
from zlib import crc32

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import FieldReader, note_fields, role_of
from recollect.agents.kit.values import instant, number
from recollect.model.events import Draft, Role, TsQuality
from recollect.model.payloads import Payload, Rewind, TokenUsage
from recollect.model.records import Defect, Parsed

MAX_TURNS = 200
"""Human turns within which a rewind is seen."""
MAX_BLOCKS = 12
"""Blocks remembered of the last response, which a longer streaming snapshot may supersede."""
MAX_BACKUPS = 256
"""File backups remembered; snapshot records list all tracked files again and again."""
MAX_CALLS = 32
"""Tool calls without a result that are remembered, so that a result can name its tool."""
MAX_LEFT = 8
"""Branches that a rewind left, and that the person may go back to."""
MAX_NAME = 200
"""Ids longer than this are no ids of the agent and are not remembered."""

_ENDS_CHARS = 120

EMPTY: dict[str, Any] = {}


class Block(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One block of a model response already given as an event: where it is, and what it was."""

    kind: str
    """"text" or "thinking", else the id of a tool call."""
    native_id: str
    part: int
    length: int
    checksum: int


class Turn(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One human turn on the current branch: marks of its parent's id and of its own.

    before: the event that stood before it, "" where that has no name.
    """

    parent: bytes
    child: bytes
    before: str = ""


class Branch(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A branch that a rewind left: the mark of its last record's id, and the name of its newest event."""

    leaf: bytes
    newest: str


class Call(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A tool call whose result has not come yet."""

    call_id: str
    name: str


class Output(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How much of a running command's output was given already."""

    call_id: str = ""
    length: int = 0
    mark: bytes = b""


class ClaudeState(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """State after a record. `ts` in UTC microseconds; `leaf` is the id of the last record that has one.

    newest: the name of the newest event; "" where it has none.
    """

    session: str = ""
    role: str = ""
    name: str = ""
    parent_session: str = ""
    is_started: bool = False
    cwd: str = ""
    branch: str = ""
    ts: int | None = None
    leaf: str = ""
    turns: tuple[Turn, ...] = ()
    reply_id: str = ""
    blocks: tuple[Block, ...] = ()
    backups: tuple[bytes, ...] = ()
    calls: tuple[Call, ...] = ()
    output: Output = Output()
    prompt_session: str = ""
    newest: str = ""
    left: tuple[Branch, ...] = ()


def mark(value: str) -> bytes:
    """Return six bytes that stand for a text: enough to tell a few hundred apart."""
    return hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=6).digest()


class Reading(FieldReader):
    """The record in hand: its envelope, the events, defects and drift it gave so far, and the state it will leave.

    Lives for one `parse` call.
    """

    __slots__ = (
        "backups", "blocks", "branch", "calls", "cwd", "events", "is_sidechain", "is_started", "last_ts", "left",
        "native_id", "output", "parent_id", "prompt_session", "record", "reply_id", "state", "ts", "ts_quality",
        "turns",
    )  # fmt: skip

    def __init__(self, record: dict[str, Any], index: int, state: ClaudeState) -> None:
        super().__init__(index)
        self.record = record
        self.state = state
        self.events: list[Draft] = []
        self.cwd = state.cwd
        self.branch = state.branch
        self.is_started = state.is_started
        self.turns = state.turns
        self.left = state.left
        self.reply_id = state.reply_id
        self.blocks = state.blocks
        self.backups = state.backups
        self.calls = state.calls
        self.output = state.output
        self.prompt_session = state.prompt_session
        native_id = record.get("uuid")
        parent_id = record.get("parentUuid")
        self.native_id = native_id if type(native_id) is str and native_id else self.text(record, "uuid") or None
        self.parent_id = parent_id if type(parent_id) is str and parent_id else self.text(record, "parentUuid") or None
        self.is_sidechain = record.get("isSidechain") is True
        self.last_ts = state.ts
        self.ts: int | None = None
        self.ts_quality: TsQuality = "missing"
        self._date(record.get("timestamp"))

    def _date(self, written: object) -> None:
        at = instant(written)
        if at is not None:
            self.ts = self.last_ts = at
            self.ts_quality = "exact"
            return
        if written is not None and written != "":
            self.defects.append(Defect("bad_timestamp", detail="timestamp", record_index=self.index))
        if self.last_ts is not None:
            self.ts = self.last_ts
            self.ts_quality = "inferred"

    def add(
        self,
        payload: Payload,
        role: Role | None = None,
        *,
        replaces: tuple[str, int] | None = None,
        session: str | None = None,
    ) -> None:
        """Emit one more event of this record."""
        self.events.append(
            Draft(
                payload,
                role or role_of(payload),
                self.ts,
                self.ts_quality,
                self.native_id,
                self.parent_id,
                self.is_sidechain,
                session,
                replaces,
            )
        )

    def add_aside(self, payload: Payload) -> None:
        """Emit an event that depends on what came before this record, not on the record alone.

        It has no native id, so that the parts of the record's own events are the same wherever the file begins:
        a rewritten file or a fork that copied only some records must not rename them.
        """
        self.events.append(Draft(payload, "system", self.ts, self.ts_quality, is_sidechain=self.is_sidechain))

    def add_rewind(self, rewind: Rewind) -> str:
        """Emit a rewind that this record shows, before the record's own events; return its name."""
        name = f"{self.native_id}/rewind"
        draft = Draft(rewind, "system", self.ts, self.ts_quality, name, self.parent_id, self.is_sidechain)
        self.events.insert(0, draft)
        return name if len(name) <= MAX_NAME else ""

    def superseded(self, message_id: str, kind: str, body: str) -> tuple[str, int] | None:
        """Return the place of an earlier block that this one repeats or extends, and remember this one.

        Call it directly before `add`: the block's part is the number of the record's own events so far. A block
        without a message id or a record id is never remembered; a tool call (kind = its id) is superseded whatever
        it held.
        Evidence: format notes: Claude Code, trap 2.
        """
        native_id = self.native_id
        if native_id is None or not message_id or len(message_id) + len(kind) + len(native_id) > MAX_NAME:
            return None
        length = len(body)
        part = sum(event.native_id is not None for event in self.events)
        here = Block(kind, native_id, part, length, _ends_checksum(body, length) if body else 0)
        if message_id != self.reply_id:
            self.reply_id = message_id
            self.blocks = (here,)
            return None
        found = next((b for b in reversed(self.blocks) if _extends(here, body, b)), None)
        if found is None:
            self.blocks = (*self.blocks, here)[-MAX_BLOCKS:]
            return None
        self.blocks = (*(b for b in self.blocks if b is not found), here)
        return (found.native_id, found.part) if found.native_id != native_id else None

    def forget_reply(self) -> None:
        """What follows a finished response under the same id is new text, not a longer snapshot."""
        self.reply_id = ""
        self.blocks = ()

    def remember_call(self, call_id: str, name: str) -> None:
        """Keep the name of a tool until its result comes."""
        if call_id and len(call_id) + len(name) <= MAX_NAME:
            self.calls = (*self.calls, Call(call_id, name))[-MAX_CALLS:]

    def called(self, call_id: str) -> str:
        """Return the name of the tool that a result belongs to, "" if not known, and forget the call."""
        calls = self.calls
        for i in range(len(calls) - 1, -1, -1):
            if calls[i].call_id == call_id:
                self.calls = calls[:i] + calls[i + 1 :]
                return calls[i].name
        return ""

    def remember_turn(self, turn: Turn, *, since: int = MAX_TURNS) -> None:
        """Add a human turn to the current branch, which continues after its first `since` turns."""
        self.turns = (*self.turns[:since], turn)[-MAX_TURNS:]

    def leave_branch(self) -> None:
        """Remember where the branch that a rewind leaves had come to: the person may go back there."""
        if self.state.leaf and self.state.newest:
            self.left = (*self.left, Branch(mark(self.state.leaf), self.state.newest))[-MAX_LEFT:]

    def finish(self) -> Parsed[ClaudeState]:
        before = self.state
        after = ClaudeState(
            before.session,
            before.role,
            before.name,
            before.parent_session,
            self.is_started,
            self.cwd,
            self.branch,
            self.last_ts,
            self.leaf_after(),
            self.turns,
            self.reply_id,
            self.blocks,
            self.backups,
            self.calls,
            self.output,
            self.prompt_session,
            _name_of(self.events[-1]) if self.events else before.newest,
            self.left,
        )
        return Parsed(after, tuple(self.events), tuple(self.defects), tuple(self.drift))

    def leaf_after(self) -> str:
        """Return the id of the record that the next one normally has as its parent."""
        if self.native_id is None or self.is_sidechain != (self.state.role == "subagent"):
            return self.state.leaf
        return self.native_id[-MAX_NAME:]


def _name_of(event: Draft) -> str:
    name = event.native_id or ""
    return name if len(name) <= MAX_NAME and name.isprintable() and event.session is None else ""


def _extends(new: Block, body: str, old: Block) -> bool:
    if new.kind != old.kind:
        return False
    if new.kind not in ("text", "thinking"):
        return True
    if not old.length or old.length > new.length:
        return False
    return _ends_checksum(body, old.length) == old.checksum


def _ends_checksum(body: str, length: int) -> int:
    """Return a checksum of the first `length` characters by their two ends: texts are long and records are many."""
    ends = body[:_ENDS_CHARS] + body[length - _ENDS_CHARS : length] if length > _ENDS_CHARS else body[:length]
    return crc32(ends.encode("utf-8", "surrogatepass"))


# Tokens: every line of a response repeats its usage, so each sighting names the response it belongs to.
#
# The store counts each (message id, request id) once over all files: the sighting with the most output.
# Evidence: format notes: Claude Code, traps 1, 3 and 12.

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]

_KNOWN = known_fields("claude")
SYNTHETIC = "<synthetic>"
"""The "model" of messages that the CLI wrote itself; they cost nothing."""


class CacheWrites(msgspec.Struct, gc=False):
    """`usage.cache_creation`: tokens written to the cache, by how long they are kept."""

    ephemeral_5m_input_tokens: Count = 0
    ephemeral_1h_input_tokens: Count = 0


class Usage(msgspec.Struct, gc=False):
    """`message.usage` as current versions write it. `input_tokens` is what no cache held."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_input_tokens: Count = 0
    cache_creation_input_tokens: Count = 0
    cache_creation: CacheWrites | None = None


def read_usage(reading: Reading, message: dict[str, Any], message_id: str, model: str) -> None:
    """Emit the token usage of an assistant record, if it carries any."""
    written = message.get("usage")
    if written is None or model == SYNTHETIC:
        return
    if not isinstance(written, dict):
        reading.wrong("message.usage")
        return
    try:
        usage = msgspec.convert(written, Usage)
    except msgspec.ValidationError:
        usage = _odd_usage(reading, written)
    note_fields(reading.drift, written, _KNOWN["state_record"], "usage")
    writes = written.get("cache_creation")
    if isinstance(writes, dict):
        note_fields(reading.drift, writes, _KNOWN["cache"], "usage.cache_creation")
    request_id = reading.text(reading.record, "requestId")
    response = message_id or ("" if request_id else reading.native_id or "")
    split = usage.cache_creation
    short, long = (split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens) if split else (0, 0)
    # What the split doesn't name is kept five minutes, the default.
    short += max(0, usage.cache_creation_input_tokens - short - long)
    reading.add(
        TokenUsage(
            model,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens,
            short,
            long,
            dedupe_key=f"{response}:{request_id}" if response or request_id else "",
        ),
        "assistant",
    )


def _odd_usage(reading: Reading, written: dict[str, Any]) -> Usage:
    """Return what can be read of a usage with nulls, numbers as text or wrong types, counting the latter."""
    count = reading.count
    split = reading.mapping(written, "cache_creation")
    writes = CacheWrites(count(split, "ephemeral_5m_input_tokens"), count(split, "ephemeral_1h_input_tokens"))
    return Usage(
        count(written, "input_tokens"),
        count(written, "output_tokens"),
        count(written, "cache_read_input_tokens"),
        count(written, "cache_creation_input_tokens"),
        writes,
    )


def read_cost_state(reading: Reading) -> None:
    """Give Claude's own totals per model. They hold side calls that no message shows, so they are never added up."""
    for model, spent in reading.mapping(reading.record, "modelUsage").items():
        if not isinstance(spent, dict):
            reading.wrong("modelUsage")
            continue
        note_fields(reading.drift, spent, _KNOWN["state"], "cost-state.modelUsage")
        count = reading.count
        reading.add(
            TokenUsage(
                model,
                count(spent, "inputTokens"),
                count(spent, "outputTokens"),
                count(spent, "cacheReadInputTokens"),
                count(spent, "cacheCreationInputTokens"),
                cost_usd=number(spent.get("costUSD")),
                dedupe_key=f"cost-state:{reading.state.session}:{model}",
                is_additive=False,
            )
        )

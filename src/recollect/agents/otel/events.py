"""Turns one item into events: session, messages, calls, results and tokens.

Only calls of a model count tokens; what agents and tools above them state is a sum of theirs.
"""

import hashlib
from collections import Counter
from typing import Any, NamedTuple

import msgspec

from recollect.agents.kit.calls import edits_asked, edits_of, with_call, without_call
from recollect.agents.kit.names import content_sha256, is_storable
from recollect.agents.kit.values import Json, mapping, number, text, whole
from recollect.agents.otel.messages import (
    Memory,
    Message,
    MessageAnswer,
    MessageCall,
    Messages,
    Reading,
    decoded,
    mark,
    result_text,
)
from recollect.agents.otel.wire import Item, amount, is_known
from recollect.model import payloads as kinds
from recollect.model.events import Role
from recollect.model.records import Drift
from recollect.model.tools import canonical_tool

# One item while it is told: which session it is of, and how its messages, calls and results become events.
#
# A call of a model repeats the whole history, so messages are named by what they say and, among equal ones, by number:
# the history said again has the names that it had. Names and payloads must not depend on which call repeats a message;
# that is why an answer's event has no model and no reason to stop (the span's own event has them).

_USERS = frozenset(("user", "human"))
_ASSISTANTS = frozenset(("assistant", "model", "ai"))
_SYSTEMS = frozenset(("system", "developer"))
_TOOLS = frozenset(("tool", "function"))
_SPOKEN = frozenset(("user", "assistant", "thinking", "tool"))
"""Messages of which equal ones are told apart."""
_EXIT_CODES = ("exit_code", "exitCode", "returncode")
_CANCELLED = ("abort", "cancel", "interrupt")


class Telling:
    """An item, its attributes under today's names, and the session that its events belong to."""

    def __init__(
        self, reading: Reading, memory: Memory, item: Item, says: dict[str, Json], session: str | None
    ) -> None:
        self.reading = reading
        self.memory = memory
        self.item = item
        self.says = says
        self.session = session
        self.scope = session if session is not None else reading.state.session
        self.span = item.key or f"r-{_named_by_content(reading, item)}"
        """The span that it is, or that it belongs to."""
        self.key = self.span if item.is_span else f"log-{_named_by_content(reading, item)}"
        """Names the item's own event."""
        self.is_fresh = memory.known(self.scope) is None
        self.exception = ""
        """What an exception noted inside the span says."""
        self.is_prompted_by_agent = False
        """What stands in the user's role was written by another agent."""

    def text(self, name: str) -> str:
        return text(self.says.get(name))

    def add(
        self, payload: kinds.Payload, name: str, at: int | None, *, role: Role | None = None, is_exact: bool = True
    ) -> None:
        """Emit an event of the item's session at a time; without one, at the newest time known, inferred."""
        reading = self.reading
        reading.ts, reading.ts_quality = reading.last_ts, "missing" if reading.last_ts is None else "inferred"
        if at is not None:
            reading.ts, reading.ts_quality = at, "exact" if is_exact else "inferred"
            reading.last_ts = at if reading.last_ts is None else max(at, reading.last_ts)
        reading.parent_id = self.span if name != self.span else self._parent()
        reading.add(payload, role, native_id=name, session=self.session)

    def drifted(self, kind: str, name: str) -> None:
        """Count something that this version does not know."""
        self.reading.drift.append(Drift(kind, name[:80]))

    def see_names(self) -> None:
        """Count attributes of the conventions that this version does not know; they are kept like all others."""
        for name in self.says:
            if not is_known(name):
                self.drifted("field", f"attributes.{name}")

    def _parent(self) -> str | None:
        item = self.item
        if not item.parent:
            return None
        return f"{item.trace}:{item.parent}" if item.trace else item.parent


def tell_input(telling: Telling, found: Messages, *, is_leaf: bool, attribute: str) -> Counter[str]:
    """Emit the messages that went into a model; return how often each text stands among them."""
    messages = found.messages
    counts: Counter[str] = Counter()
    last_answer = max((i for i, m in enumerate(messages) if m.role in _ASSISTANTS), default=-1)
    has_history = last_answer >= 0 or any(m.results for m in messages)
    names = {call.call_id: call.name for m in messages for call in m.calls if call.call_id}
    for index, message in enumerate(messages):
        is_new = index > last_answer
        turn = _Turn(telling, counts, at=telling.item.start, is_exact=is_new, is_leaf=is_leaf, has_history=has_history)
        turn.tell(message)
        for given in message.results:
            named = given.call_id or turn.numbered(f"given-{content_sha256(_plain(given.content))}")
            whole_given = msgspec.structs.replace(given, call_id=named, name=names.get(named, given.name))
            _tell_earlier(telling, whole_given, is_new=is_new, has_id=bool(given.call_id))
    if found.rest:
        _tell_cut(telling, found.rest, attribute)
    return counts if has_history else Counter()


def tell_output(telling: Telling, found: Messages, before: Counter[str], *, is_leaf: bool, attribute: str) -> None:
    """Emit what a model answered. before: how often each text stands in the history that led to it."""
    turn = _Turn(
        telling, Counter(before), at=telling.item.end, is_exact=True, is_leaf=is_leaf, has_history=bool(before)
    )
    for message in found.messages:
        turn.tell(message)
        for given in message.results:
            tell_result(telling, given, at=telling.item.end)
    if found.rest:
        _tell_cut(telling, found.rest, attribute)


def tell_call(telling: Telling, asked: MessageCall, at: int | None, *, is_exact: bool = True) -> None:
    """Emit a tool call, and remember it for its result. One that was given with its arguments is not given again."""
    call_id, memory = asked.call_id, telling.memory
    name = f"call:{call_id}"
    has_arguments = asked.arguments not in (None, "", {}, [])
    if memory.is_seen(telling.scope, name, "whole"):
        return
    if not memory.see(telling.scope, name, "whole" if has_arguments else "bare"):
        return
    if not asked.is_whole:
        telling.reading.wrong("arguments", "bad_arguments")
    edits = edits_asked(asked.name, asked.arguments)
    memory.waiting = with_call(memory.waiting, _waiting(telling, call_id), asked.name, edits)
    telling.add(
        kinds.ToolCall(call_id, asked.name, canonical_tool(asked.name), asked.arguments), name, at, is_exact=is_exact
    )


def tell_result(
    telling: Telling, given: MessageAnswer, *, at: int | None, ok: bool | None = None, duration_ms: int | None = None,
    arguments: Json = None,
) -> None:  # fmt: skip
    """Emit a tool's result, and the edits that its call asked for where it did not fail."""
    memory, call_id = telling.memory, given.call_id or telling.key
    waiting, memory.waiting = without_call(memory.waiting, _waiting(telling, call_id))
    tool = given.name or (waiting.name if waiting else "")
    content, _ = decoded(given.content)
    structured = content if isinstance(content, dict) else None
    exit_code = next((c for key in _EXIT_CODES if (c := whole(mapping(content).get(key))) is not None), None)
    if given.is_error or (exit_code is not None and exit_code != 0):
        ok = False
    memory.see(telling.scope, f"result:{call_id}")
    result = kinds.ToolResult(call_id, tool, ok, exit_code, result_text(content), structured, duration_ms)
    if ok is not False:
        operation: Any = "create" if tool.startswith("create") else "modify"
        edits = list(edits_of(arguments, operation)) if arguments and canonical_tool(tool) == "edit" else []
        if not edits and waiting is not None:
            edits = list(waiting.edits)
        for number, edit in enumerate(edits, 1):
            telling.add(msgspec.structs.replace(edit, call_id=call_id), f"edit:{call_id}:{number}", at)
    telling.add(result, f"result:{call_id}", at)


def is_cancelled(*said: str) -> bool:
    """Say whether an error's type or text tells that somebody stopped it."""
    return any(word in text.lower() for text in said for word in _CANCELLED)


class _Turn(NamedTuple):
    """The messages of one list while they are given."""

    telling: Telling
    counts: Counter[str]
    at: int | None
    is_exact: bool
    is_leaf: bool
    has_history: bool

    def tell(self, message: Message) -> None:
        """Emit a message, without the results in it."""
        telling, role = self.telling, message.role
        if not message.are_media_readable:
            telling.reading.wrong("parts", "bad_base64")
        if message.thinking:
            self._say(kinds.Thinking(message.thinking), "thinking", message.thinking)
        said, parts = message.text, tuple(message.parts)
        content = [said, [part.sha256 or part.url or part.path for part in parts]] if parts else said
        if said or parts:
            if role in _USERS:
                origin: Any = "injected" if telling.is_prompted_by_agent else "human"
                self._say(kinds.UserMessage(said, origin, parts), "user", content)
            elif role in _ASSISTANTS:
                self._say(kinds.AssistantMessage(said, parts=parts), "assistant", content)
            elif role in _SYSTEMS:
                self._say(kinds.Instructions(said, role), "instructions", content)
            elif role in _TOOLS:
                self._say(kinds.Unknown("tool", said), "tool", content, "tool")
            else:
                telling.drifted("value", f"message.role={role}")
                self._say(kinds.Unknown(f"message.{role}", said), "message", content)
        for call in message.calls:
            call_id = call.call_id or self.numbered(f"call-{content_sha256([call.name, _plain(call.arguments)])}")
            named = msgspec.structs.replace(call, call_id=call_id)
            tell_call(telling, named, self.at, is_exact=self.is_exact)
        for kind, part in message.odd:
            telling.drifted("type", f"part.{kind}")
            self._say(kinds.Unknown(kind, result_text(part)), "part", part)
        if message.extra:
            for name in message.extra:
                telling.drifted("field", f"message.{name}")
            self._say(kinds.Unknown("fields", result_text(message.extra)), "fields", message.extra)

    def _say(self, payload: kinds.Payload, kind: str, content: Json, role: Role | None = None) -> None:
        """Emit a text under its name, unless it was given. What nobody says (instructions) has no number."""
        telling = self.telling
        base = f"{kind}-{content_sha256(_plain(content))}"
        name = self.numbered(base) if kind in _SPOKEN else base
        if name and telling.memory.see(telling.scope, name):
            telling.add(payload, name, self.at, role=role, is_exact=self.is_exact)

    def numbered(self, base: str) -> str:
        """Return a name with its number among equal ones, "" for a log record that came before."""
        telling = self.telling
        if not telling.item.is_span:
            number = _number_in_logs(telling, base)
            return "" if not number else base if number == 1 else f"{base}/{number}"
        self.counts[base] += 1
        number = telling.memory.number(
            (telling.scope, base),
            (telling.span if self.is_leaf else "", telling.item.trace),
            start=telling.item.start or 0,
            at_least=self.counts[base] if self.has_history or self.counts[base] > 1 else 0,
        )
        self.counts[base] = max(number, self.counts[base])
        return base if number == 1 else f"{base}/{number}"


def _number_in_logs(telling: Telling, base: str) -> int:
    """Return the number of a text among equal ones where every message of a history is a log record of its own.

    Records of one span count; the same at the same time is one that was sent again (0).
    """
    memory = telling.memory
    if not memory.see("log", telling.scope, telling.span, base, str(telling.item.start)):
        return 0
    number = 1
    while not memory.see("nth", telling.scope, telling.span, base, str(number)):
        number += 1
    return number


def _tell_earlier(telling: Telling, given: MessageAnswer, *, is_new: bool, has_id: bool) -> None:
    """Emit a result that stands in a history. Its own span says more (how it went), so that one is never replaced.

    What came before anything else that is known of the session may have been given from another file; it is kept as
    unknown, under a name of its own.
    """
    memory, call_id = telling.memory, given.call_id
    if memory.is_seen(telling.scope, f"result:{call_id}"):
        return
    if is_new and not (telling.is_fresh and has_id):
        tell_result(telling, given, at=telling.item.start)
    elif memory.see(telling.scope, f"earlier:{call_id}"):
        kept = kinds.Unknown("earlier_tool_result", result_text(given.content))
        telling.add(kept, f"earlier:{call_id}", telling.item.start, is_exact=False)


def _tell_cut(telling: Telling, rest: str, attribute: str) -> None:
    """Keep the text of an attribute that was cut: it begins like JSON and is none."""
    telling.reading.wrong(attribute, "bad_json")
    name = f"cut-{content_sha256(rest)}"
    if telling.memory.see(telling.scope, name):
        telling.add(kinds.Unknown(attribute, rest), name, telling.item.start)


def _waiting(telling: Telling, call_id: str) -> str:
    """Return the name under which a call waits: ids are only unique in their session."""
    return f"{mark(telling.scope, call_id):x}" if call_id and is_storable(call_id) else ""


def _named_by_content(reading: Reading, item: Item) -> str:
    """Return a name for an item without ids of its own: made of its record's bytes and of what it says."""
    raw = hashlib.sha256(reading.record.raw).hexdigest()
    return content_sha256(raw, item.name, item.trace, item.span, str(item.start), str(item.attributes), str(item.body))


def _plain(value: Json) -> Json:
    return value if value is not None else ""


_INPUT = "gen_ai.usage.input_tokens"
_OUTPUT = "gen_ai.usage.output_tokens"
_READ = "gen_ai.usage.cache_read.input_tokens"
_WRITTEN = "gen_ai.usage.cache_creation.input_tokens"
_THOUGHT = "gen_ai.usage.reasoning.output_tokens"
_COSTS = ("gen_ai.usage.cost", "gen_ai.usage.cost_usd", "cost_usd")
NAMES = (_INPUT, _OUTPUT, _READ, _WRITTEN, _THOUGHT, *_COSTS)


def tell_usage(telling: Telling, model: str, *, is_additive: bool, excludes_cached: bool = False) -> None:
    """Emit the tokens that an item states, if it does.

    The conventions count cached tokens in the input; a sender whose input is smaller than its cached tokens does not.
    The response's id names the call, so that a framework's span around a client's span counts once with it.
    """
    says = telling.says
    if all(says.get(name) is None for name in (_INPUT, _OUTPUT, _READ, _WRITTEN)):
        return
    counts = {name: amount(says.get(name)) for name in (_INPUT, _OUTPUT, _READ, _WRITTEN, _THOUGHT)}
    for name, count in counts.items():
        if count is None and says.get(name) is not None:
            telling.reading.wrong(name)
    whole, output, read, written, thought = (count or 0 for count in counts.values())
    cached = read + written
    costs = (number(says.get(name)) for name in _COSTS)
    usage = kinds.TokenUsage(
        model=model,
        input_tokens=whole if excludes_cached or cached > whole else whole - cached,
        output_tokens=output if thought <= output else output + thought,
        cache_read_tokens=read,
        cache_write_5m_tokens=written,
        reasoning_tokens=thought,
        cost_usd=next((cost for cost in costs if cost is not None), None),
        dedupe_key=telling.text("gen_ai.response.id") or telling.text("request_id") or telling.span,
        is_additive=is_additive,
    )
    owner = telling.span if is_additive else telling.key
    telling.add(usage, f"{owner}/usage", telling.item.end, role="assistant")

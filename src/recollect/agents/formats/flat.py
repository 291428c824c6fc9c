"""Agents described in the configuration: their facts, and records that are one flat message each.

What no path names is kept, so that nobody has to know all of a format: a file in this package lists what it knows.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.kit.adapter import MAX_NAME_CHARS, KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.calls import TurnState, arrived, edits_asked, expect, file_edits
from recollect.agents.kit.content import chat_content, without_opaque
from recollect.agents.kit.language import at_path
from recollect.agents.kit.names import MAX_PATH_CHARS, Marks, content_name, count_name, is_storable, numbered, short
from recollect.agents.kit.values import Json, decoded_json, group_in, text
from recollect.config import FormatConfig
from recollect.model import payloads as kinds
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Table
from recollect.model.records import SourceInfo
from recollect.model.tools import canonical_tool

# Finds the speaker: by the role, or in text files by the lines that begin a turn.

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


class Turn(NamedTuple):
    """A piece of a text: its speaker ("" before the first turn), the word that marks it, and the words."""

    speaker: str
    word: str
    said: str


class Speakers:
    """Tells who speaks by the words of a description, in any case."""

    def __init__(self, format_: FormatConfig) -> None:
        self._who = {
            word.lower(): speaker
            for speaker, words in (
                ("user", format_.user_roles),
                ("assistant", format_.assistant_roles),
                ("system", format_.system_roles),
                ("tool", format_.tool_roles),
            )
            for word in words
        }
        words = "|".join(sorted((re.escape(word) for word in self._who if word), key=len, reverse=True)) or "(?!)"
        # `User: text`, `**User:** text`, or a heading `## User`.
        self.line = re.compile(
            rf"(?:\#{{1,6}}[ \t]+(?P<heading>{words})[ \t]*:?[ \t]*|"
            rf"(?:\*\*|__)?(?P<word>{words})(?:\*\*|__)?:(?:\*\*|__)?(?:[ \t]+(?P<rest>.*))?)",
            re.IGNORECASE,
        )

    def who(self, role: str) -> str:
        """Return user, assistant, system or tool; "" for a word that the description doesn't have."""
        return self._who.get(role.lower(), "")


def turns_of(text: str, speakers: Speakers) -> Iterator[Turn]:
    """Yield the turns of a text in order. A line in a fenced block begins none."""
    word = ""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        opened = _FENCE.match(line)
        if opened and not fence:
            fence = opened[1]
        elif opened and opened[1].startswith(fence):
            fence = ""
        begun = None if fence or opened else speakers.line.fullmatch(line)
        if begun is None:
            lines.append(line)
            continue
        yield from _turn(speakers, word, lines)
        word = begun["heading"] or begun["word"]
        lines = [begun["rest"]] if begun["rest"] else []
    yield from _turn(speakers, word, lines)


def _turn(speakers: Speakers, word: str, lines: list[str]) -> Iterator[Turn]:
    said = "\n".join(lines).strip()
    if word or said:
        yield Turn(speakers.who(word), word, said)


_MAX_SESSIONS = 32
"""Sessions of one file whose folder and model are remembered; one that was forgotten begins again."""


class Fields:
    """A record whose fields are taken one by one; `left` is the rest."""

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value
        self._used: set[str] = set()

    def value(self, path: str) -> Json:
        """Take the value at a path, None without one."""
        found = at_path(self._value, path) if path else None
        if found is not None:
            self._used.add(path)
        return found

    def text(self, path: str) -> str:
        """Take the text at a path. Anything else stays."""
        found = text(at_path(self._value, path)) if path else ""
        if found:
            self._used.add(path)
        return found

    def use(self, path: str) -> None:
        """Mark the value at a path as used."""
        self._used.add(path)

    def give_back(self, path: str) -> None:
        """Mark a taken value as unused again."""
        self._used.discard(path)

    def left(self) -> dict[str, Json]:
        """Return the fields that were not taken, those inside objects by dotted names."""
        return dict(self._left(self._value, ""))

    def _left(self, value: dict[str, Any], above: str) -> Iterator[tuple[str, Json]]:
        for key, item in value.items():
            path = f"{above}{key}"
            if path in self._used:
                continue
            if isinstance(item, dict) and any(used.startswith(f"{path}.") for used in self._used):
                yield from self._left(item, f"{path}.")
            else:
                yield path, item


class Known(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a session of the source last said of itself."""

    name: str
    cwd: str = ""
    model: str = ""


class FlatState(TurnState, frozen=True):
    """What is carried from record to record."""

    sessions: tuple[Known, ...] = ()


class FlatAdapter(KitAdapter[FlatState]):
    """The adapter of an agent that a configuration describes. Its files are known by their place only."""

    def __init__(self, slug: str, format_: FormatConfig) -> None:
        self.format = format_
        self.facts = facts_of(slug, format_)
        self.speakers = Speakers(format_)

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the document, what the first records say, the file's stem, a hash of its start."""
        return info.document or self._said_session(head) or info.stem or first_line_name(head)

    def read(self, reading: Reading[FlatState]) -> None:
        value = reading.record.value
        if self.format.container == "text" and isinstance(value, str):
            # Parse the turns of a text file; text before the first one is kept.
            marks: Marks = ()
            for speaker, word, said in turns_of(value, self.speakers):
                name, marks = count_name(marks, content_name(word.lower(), said))
                match speaker:
                    case "user":
                        reading.add(kinds.UserMessage(said), native_id=name)
                    case "assistant":
                        reading.add(kinds.AssistantMessage(said), native_id=name)
                    case "system":
                        reading.add(kinds.Instructions(said, source=word), native_id=name)
                    case "tool":
                        reading.add(kinds.ToolResult(name=word, text=said), native_id=name)
                    case _:
                        reading.kept("text", said, native_id=name)
        elif not isinstance(value, dict):
            read_odd(reading)
        elif self.format.split and reading.at not in self.format.split:
            # Parse what surrounds the messages of a document.
            reading.native_id = "document"
            fields = Fields(reading.value)
            fields.text(self.format.session)
            tell_session(reading, self, fields, None)
            for path in self.format.skip:
                fields.use(path)
            left = without_opaque(fields.left())
            if left:
                name = f"document/{content_name(left)}"
                reading.extra(left, frozenset(), "document", native_id=name)
        else:
            _Message(self, reading).read()

    def _said_session(self, head: bytes) -> str:
        """Return the session that the beginning of a file names. A head may end within a record."""
        path = self.format.session
        if not path or self.format.container in ("sqlite", "text"):
            return ""
        if self.format.container == "jsonl":
            for line in head.split(b"\n"):
                name = text(at_path(decoded_json(line), path))
                if name:
                    return name[:MAX_NAME_CHARS]
            return ""
        key = re.escape(msgspec.json.encode(path.rpartition(".")[2]))
        return group_in(re.compile(rb"%s\s*:\s*\"([^\"\\]{1,%d})\"" % (key, MAX_NAME_CHARS)), head)


class _Message:
    """One record that is a message, a call of a tool or its result."""

    def __init__(self, adapter: FlatAdapter, reading: Reading[FlatState]) -> None:
        self._adapter = adapter
        self._format = adapter.format
        self._reading = reading
        self._fields = Fields(reading.value)
        self._session: str | None = None

    def read(self) -> None:
        reading, fields = self._reading, self._fields
        session = fields.text(self._format.session)
        self._session = session[:MAX_NAME_CHARS] if session and session != reading.state.session else None
        time = fields.value(self._format.time)
        reading.date(time, "time")
        self._name()
        role = fields.text(self._format.role)
        speaker = self._adapter.speakers.who(role)
        name = fields.text(self._format.tool_name)
        result = fields.value(self._format.tool_result)
        if not speaker and not name and result is None:
            reading.unknown(role[:MAX_NAME_CHARS] or "record", without_opaque(reading.value))
            self._settle()
            return
        tell_session(reading, self._adapter, fields, self._session)
        self._say(speaker, role, bool(name) or result is not None)
        self._tool(speaker, name, result)
        for path in self._format.skip:
            fields.use(path)
        left = without_opaque(fields.left())
        if left:
            reading.extra(left, frozenset(), "record")
        self._settle()

    def _name(self) -> None:
        """Name the record's events: by its own id, in a file that is rewritten by its content, else not."""
        reading = self._reading
        own = self._fields.value(self._format.id)
        if isinstance(own, int) and not isinstance(own, bool):
            own = str(own)
        if isinstance(own, str) and own:
            reading.native_id = own[:MAX_NAME_CHARS]
        elif self._format.container != "jsonl":
            reading.native_id = numbered(reading, content_name(reading.value))

    def _add(self, payload: Any, what: str = "") -> None:
        reading = self._reading
        name = f"{reading.native_id}/{what}" if what and reading.native_id else None
        reading.add(payload, native_id=name)

    def _say(self, speaker: str, role: str, is_tools: bool) -> None:
        fields = self._fields
        thought = fields.value(self._format.thinking)
        if thought not in (None, "", []):
            self._add(kinds.Thinking(_said(thought)[0]), "thinking")
        if speaker not in ("user", "assistant", "system"):
            return
        said, parts = _said(fields.value(self._format.text))
        if not said and not parts and (is_tools or thought):
            return
        if speaker == "user":
            self._add(kinds.UserMessage(said, parts=parts))
        elif speaker == "assistant":
            model = text(at_path(self._reading.value, self._format.model))
            self._add(kinds.AssistantMessage(said, model=model, parts=parts))
        else:
            self._add(kinds.Instructions(said, source=role))

    def _tool(self, speaker: str, name: str, result: Json) -> None:
        """Emit a call, a result, or both of one record; an edit where a call of an editor ended well."""
        reading, fields = self._reading, self._fields
        is_result = result is not None or speaker == "tool"
        call_id = fields.text(self._format.tool_call) or reading.native_id or ""
        arguments = _arguments(fields.value(self._format.tool_arguments))
        if name and (not is_result or arguments is not None):
            canonical = canonical_tool(name)
            self._add(kinds.ToolCall(call_id, name, canonical, arguments), "call")
            expect(reading, call_id, name, edits_asked(name, arguments))
        if not is_result:
            return
        ok, code = self._outcome()
        text, parts = _said(fields.value(self._format.text) if result is None else result)
        call = arrived(reading, call_id)
        done = kinds.ToolResult(call_id, name or (call.name if call else ""), ok, code, text, parts=parts)
        self._add(done, "result")
        if call is not None and ok is not False and self._format.tool_call:
            for number, edit in enumerate(file_edits(call)):
                self._add(edit, f"edit/{number}")

    def _outcome(self) -> tuple[bool | None, int | None]:
        written = self._fields.value(self._format.tool_ok)
        if isinstance(written, bool):
            return written, None
        if isinstance(written, int):
            return written == 0, written if -(2**31) <= written < 2**31 else None
        if written is not None:
            self._fields.give_back(self._format.tool_ok)
            self._reading.wrong("tool_ok")
        return None, None

    def _settle(self) -> None:
        """Put the events into the session that the record names."""
        if self._session is not None:
            events = self._reading.events
            events[:] = [msgspec.structs.replace(draft, session=self._session) for draft in events]


def adapter_of(slug: str, described_as: Mapping[str, Any]) -> Adapter:
    """Return the adapter of a described agent. Raises ValueError with a sentence for people."""
    return FlatAdapter(slug, described(slug, described_as))


def tell_session(reading: Reading[FlatState], adapter: FlatAdapter, fields: Fields, session: str | None) -> None:
    """Emit the start of a session, and its folder and model where they change."""
    cwd = short(fields.text(adapter.format.cwd), MAX_PATH_CHARS)
    model = short(fields.text(adapter.format.model))
    name = session or reading.state.session
    known: tuple[Known, ...] = reading.now("sessions")
    before = next((one for one in known if one.name == name), None)
    now = Known(name, cwd or (before.cwd if before else ""), model or (before.model if before else ""))
    if now == before or not (cwd or model) or not is_storable(name):
        return
    own = reading.native_id
    if before is None:
        reading.start(cwd=cwd, model=model)
    else:
        if now.cwd != before.cwd:
            reading.add(kinds.Lifecycle("cwd", cwd=cwd), native_id=f"{own}/cwd" if own else None)
        if now.model != before.model:
            reading.add(kinds.Lifecycle("model", model=model), native_id=f"{own}/model" if own else None)
    reading.set(sessions=(*(one for one in known if one.name != name), now)[-_MAX_SESSIONS:])


def _said(content: Json) -> tuple[str, tuple[kinds.Part, ...]]:
    """Return the text and images of any content."""
    text, parts, _ = chat_content(without_opaque(content) if isinstance(content, dict) else content)
    return text, parts


def _arguments(value: Json) -> Json:
    """Return a call's arguments; several agents write them as JSON in a text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return decoded_json(value, value)
    return value


VERSION = 1
"""Raised when this reader gives something else of the same description."""
ROLE = "messages"
_SLUG = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_NO_MEANING = ("name", "patterns", "exclude")
"""What can be changed without reading again what is stored."""


def described(slug: str, format_: Mapping[str, Any]) -> FormatConfig:
    """Return a description as it can be used. Raises ValueError with a sentence for people."""
    try:
        found = msgspec.convert(format_, FormatConfig)
    except msgspec.ValidationError as error:
        raise ValueError(f"the format cannot be used: {error}") from error
    problem = _problem(slug, found)
    if problem:
        raise ValueError(problem)
    return found


def facts_of(slug: str, format_: FormatConfig) -> AgentFacts:
    """Return the facts of a described agent."""
    is_database = format_.container == "sqlite"
    table = Table(name=format_.table, document=format_.session, order=format_.order, json=format_.json)
    place = Place(
        role=ROLE,
        container=format_.container,
        patterns=format_.patterns,
        exclude=format_.exclude,
        split=format_.split,
        tables=(table,) if is_database else (),
    )
    is_text = format_.container == "text"
    return AgentFacts(
        slug=slug,
        name=format_.name or slug,
        aliases=(),
        roots=(),
        places=(place,),
        capabilities=Capabilities(
            container=format_.container,
            rewrites_history=format_.container != "jsonl",
            timestamps="exact" if format_.time and not is_text else "no",
            usage="no",
            usage_authority="none",
            thinking="exact" if format_.thinking and not is_text else "no",
            edits="partly" if "file_edit" in _kinds(format_) else "no",
            lineage="no",
            session_end="no",
            kinds=_kinds(format_),
            notes="Described in the configuration.",
            verified_version="unverified",
            verified_on="",
            evidence="the configuration",
        ),
        is_configured=True,
        parser_version=version_of(format_),
    )


def version_of(format_: FormatConfig) -> int:
    """Return a number that changes with the description: stored sessions are then derived again."""
    meaning = msgspec.to_builtins(format_)
    for key in _NO_MEANING:
        del meaning[key]
    written = msgspec.json.encode([VERSION, meaning], order="sorted")
    return int.from_bytes(hashlib.sha256(written).digest()[:4], "big") >> 1 or 1


def _kinds(format_: FormatConfig) -> tuple[str, ...]:
    if format_.container == "text":
        return ("user_message", "assistant_message", "tool_result", "instructions", "unknown")
    kinds = ["user_message", "assistant_message", "tool_result", "instructions", "unknown"]
    kinds += ["session_start", "lifecycle"] if format_.cwd or format_.model else []
    kinds += ["thinking"] if format_.thinking else []
    kinds += ["tool_call"] if format_.tool_name else []
    kinds += ["file_edit"] if format_.tool_name and format_.tool_call else []
    return tuple(kinds)


def _problem(slug: str, format_: FormatConfig) -> str:
    """Return what makes a description unusable, "" if nothing does."""
    if not _SLUG.fullmatch(slug):
        return f"an agent is named by lower-case letters, digits, - and _, beginning with a letter, not {slug!r}"
    if not format_.patterns:
        return "`patterns` names no file"
    for pattern in (*format_.patterns, *format_.exclude):
        if not pattern or pattern.startswith(("/", "~")) or ".." in pattern.split("/") or "\\" in pattern:
            return f"the pattern {pattern!r} must lie below `roots`: no / or ~ at its start, no .. and no backslash"
    if format_.split and format_.container != "snapshot":
        return "`split` is for the container `snapshot` only"
    if bool(format_.table) != (format_.container == "sqlite"):
        return "`table` names the table of the container `sqlite`, and of no other"
    if not format_.role and format_.container != "text":
        return "`role` says where a record tells who speaks; without it nothing can be told apart"
    words = [w.lower() for w in (*format_.user_roles, *format_.assistant_roles, *format_.system_roles)]
    words += [w.lower() for w in format_.tool_roles]
    twice = sorted({word for word in words if words.count(word) > 1})
    if twice:
        return f"the role {twice[0]!r} can be of one speaker only"
    return ""

"""Aider: parses a whole file into the events of all its chats."""

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from recollect.agents.kit.adapter import BaseState, KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.names import content_sha256
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.time import parse_iso

# The Markdown of a chat history, taken apart: chats, and the blocks of a chat.
#
# A line that starts with `#### ` was typed, one that starts with `> ` was printed by Aider, every other was said by the
# model. Aider ends its own lines with two spaces; models write headings and quotations too, without them.
# Evidence: format notes: Aider, "Grammar" and traps; aider/io.py.

HEADER = re.compile(r"^# aider chat started at (\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d)?)[ \t]*\r?$", re.MULTILINE)
_OWN_END = "  "
_PROMPT = "#### "
_FENCE = "```"
_STATUS = re.compile(
    r"> (?:Tokens: [\d.,]+k? (?:sent|tokens)|Applied edit to |Commit [0-9a-f]{7,40} |Creating empty file |"
    r"Aider v\d|Main model: |Models?: |\^C )"
)
"""Lines that Aider prints and nobody else writes; some versions end them without spaces."""

Kind = Literal["user", "printed", "said"]


class Chat(NamedTuple):
    """One chat: the time in its header ("" for what stands before the first header), and its text."""

    started: str
    body: str
    is_last: bool


class Block(NamedTuple):
    """Lines of one kind that stand together, without their marks."""

    kind: Kind
    text: str


def chats_of(history: str) -> list[Chat]:
    """Return the chats of a file in order. Text before the first header is a chat whose beginning was cut off."""
    headers = list(HEADER.finditer(history))
    first = headers[0].start() if headers else len(history)
    found = [Chat("", history[:first], not headers)] if history[:first].strip() else []
    for i, header in enumerate(headers):
        is_last = i + 1 == len(headers)
        end = len(history) if is_last else headers[i + 1].start()
        found.append(Chat(header[1], history[header.end() : end], is_last))
    return found


def blocks_of(body: str) -> Iterator[Block]:
    """Yield the blocks of a chat in order. An empty line ends a prompt: inside one, empty lines are marked too."""
    lines = body.replace("\r\n", "\n").split("\n")
    is_strict = any(line.startswith(_PROMPT) and line.endswith(_OWN_END) for line in lines)
    kind: Kind | None = None
    held: list[str] = []
    is_fenced = False
    for line in lines:
        found = _kind_of(line, kind, is_strict=is_strict, is_fenced=is_fenced)
        if found == "said":
            is_fenced ^= line.startswith(_FENCE)
        else:
            is_fenced = is_fenced and not line
        if found is None:
            if kind == "said":
                held.append(line)
            elif kind == "user":
                yield from _closed(kind, held)
                kind, held = None, []
            continue
        if found != kind:
            yield from _closed(kind, held)
            kind, held = found, []
        held.append(_unmarked(line, found))
    yield from _closed(kind, held)


def _kind_of(line: str, before: Kind | None, *, is_strict: bool, is_fenced: bool) -> Kind | None:
    """Return what a line is; None for an empty one, which belongs to what is said around it."""
    is_own = line.endswith(_OWN_END)
    if line.startswith("####") and (line.startswith(_PROMPT) or not line[4:].strip()):
        return "user" if is_own or not (is_strict or is_fenced) else "said"
    if line.startswith("> ") or line.rstrip() == ">":
        return "printed" if is_own or before != "said" or _STATUS.match(line) else "said"
    return "said" if line.strip() else None


def _unmarked(line: str, kind: Kind) -> str:
    if kind == "user":
        return line[len(_PROMPT) :].rstrip()
    return line[2:].rstrip() if kind == "printed" else line


def _closed(kind: Kind | None, lines: list[str]) -> Iterator[Block]:
    body = "\n".join(lines).strip("\n")
    if kind is not None and (body.strip() or kind == "user"):
        yield Block(kind, body)


# One chat: its prompts, answers and what Aider printed, as events.
#
# Blocks have no ids. They are named by their number among blocks of their kind in the chat: the last one grows while
# Aider prints, and is then a longer version of the same event.
# Evidence: format notes: Aider; recorded chats.

AiderReading = Reading[BaseState]

_VERSION = re.compile(r"^Aider v?(\S+)", re.MULTILINE)
_MODEL = re.compile(r"^(?:Main model|Models?): (\S+?),? with ", re.MULTILINE)
_CWD = re.compile(r"^(?:Cur|Git) working dir: (.+)$", re.MULTILINE)
_APPLIED = re.compile(r"(Applied edit to|Creating empty file) (.+)\Z")
_COMMIT = re.compile(r"Commit ([0-9a-f]{7,40})\b ?(.*)\Z")
_TOKENS = re.compile(r"Tokens: (.+)\Z")
_COUNT = re.compile(r"([\d.,]+)(k?) (sent|cache write|cache hit|cached|received)\b")
_COST = re.compile(r"Cost: \$([\d.]+) (?:message|request|send)\b")
_INTERRUPTED = re.compile(r"\^C (?:KeyboardInterrupt|again to exit)")
_UNDONE = re.compile(r"^(?:Removed: [0-9a-f]{7,40}|Undid |Reverted )", re.MULTILINE)
_REMOVED = re.compile(r"^Removed: ([0-9a-f]{7,40})", re.MULTILINE)
_RUN = re.compile(r"(?:/(run|test|git|lint)\b|(!))")
_REFLECTED = ("# Fix any errors below, if possible.", "The LLM did not conform to the edit format")
_THOUGHT = re.compile(
    r"<(thinking-content-[0-9a-f]{4,64})>\s*(?P<tagged>.*?)\s*</\1>"
    r"|(?:^-{4,}[ \t]*\n)?^► \*\*THINKING\*\*[ \t]*\n(?P<shown>.*?)(?:^-{4,}[ \t]*\n)?^► \*\*ANSWER\*\*[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_MAX_DIGITS = 18


class _Turn(NamedTuple):
    """A human turn: the event before its prompt, and the commits that its edits became."""

    before: str
    commits: set[str]


class Teller:
    """Gives the events of one chat, in the chat's own session."""

    def __init__(self, reading: AiderReading, session: str | None) -> None:
        self._reading = reading
        self._session = session
        self._counts: dict[str, int] = {}
        self._model = ""
        self._cwd = ""
        self._command = ""
        self._newest = ""
        self._turns: list[_Turn] = []
        self._removed: set[str] = set()

    def tell(self, chat: Chat, blocks: list[Block]) -> None:
        """Give every event of the chat."""
        at = parse_iso(chat.started)
        # The time of a header is local and has no zone: read as UTC, and said to be inferred.
        self._reading.infer(at)
        if chat.started:
            # Emit the session's start, with what Aider printed before the first prompt.
            head = blocks[0].text if blocks and blocks[0].kind == "printed" else ""
            version, model = _VERSION.search(head), _MODEL.search(head)
            self._model = model[1] if model else ""
            self._cwd = _first_cwd(head)
            start = kinds.SessionStart(cwd=self._cwd, model=self._model, tool_version=version[1] if version else "")
            self._add(start, "start")
        for block in blocks:
            if block.kind == "user":
                self._user(block.text)
            elif block.kind == "printed":
                self._printed(block.text)
            else:
                # Emit an answer, and before it the thoughts that are marked in it.
                for thought in _THOUGHT.finditer(block.text):
                    text = (thought["tagged"] or thought["shown"] or "").strip()
                    if text:
                        self._add(kinds.Thinking(text), self._named("thinking"))
                rest = _THOUGHT.sub("", block.text).strip("\n")
                if rest.strip():
                    self._add(kinds.AssistantMessage(rest, self._model), self._named("said"))
                self._command = ""
        if chat.started and not chat.is_last:
            self._add(kinds.SessionEnd("next chat"), "end")

    def _add(self, payload: kinds.Payload, name: str, role: Any = None) -> None:
        self._reading.add(payload, role, native_id=name, session=self._session)
        self._newest = name

    def _named(self, kind: str) -> str:
        number = self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind}/{number}"

    def _user(self, said: str) -> None:
        prompt = "" if said == "<blank>" else said
        found = _RUN.match(prompt)
        self._command = (found[1] or "run") if found else prompt.partition(" ")[0] if prompt.startswith("/") else ""
        origin: kinds.Origin = "human"
        if prompt.startswith(_REFLECTED):
            origin = "injected"
        elif prompt.startswith(("/", "!")):
            origin = "command"
        if origin == "human":
            self._turns.append(_Turn(self._newest, set()))
        self._add(kinds.UserMessage(prompt, origin), self._named("user"))

    def _printed(self, body: str) -> None:
        """Emit what Aider printed: the output of a command that was run, else a notice; and what single lines tell."""
        name = self._named("printed")
        if self._command in ("run", "test", "git", "lint"):
            self._add(kinds.ToolResult(name=self._command, text=body), name)
        else:
            self._add(kinds.Lifecycle("notice", text=body), name)
        if self._command == "/undo" and _UNDONE.search(body):
            self._removed.update(_REMOVED.findall(body))
            self._add(self._undone(), self._named("rewind"))
        if self._command not in ("run", "test", "git", "lint"):
            # Emit a change of model or folder that a notice tells.
            model = _MODEL.search(body)
            if model and model[1] != self._model:
                self._model = model[1]
                self._add(kinds.Lifecycle("model", model=self._model), self._named("model"))
            cwd = _first_cwd(body)
            if cwd and cwd != self._cwd:
                self._cwd = cwd
                self._add(kinds.Lifecycle("cwd", cwd=cwd), self._named("cwd"))
        for line in body.split("\n"):
            self._line(line)

    def _undone(self) -> kinds.Rewind:
        """Return where `/undo` goes back to: before the last turns of which every commit is removed. A turn without
        commits was a talk, and what stands before it is not told as undone."""
        kept = ""
        while self._turns and self._turns[-1].commits and self._turns[-1].commits <= self._removed:
            kept = self._turns.pop().before
        return kinds.Rewind(kept)

    def _line(self, line: str) -> None:
        applied, commit, tokens = _APPLIED.match(line), _COMMIT.match(line), _TOKENS.match(line)
        if applied:
            is_new = applied[1].startswith("Creating")
            self._add(kinds.FileEdit(applied[2].strip(), "create" if is_new else "modify"), self._named("edit"))
        elif commit:
            if self._turns and not self._command:
                self._turns[-1].commits.add(commit[1])
            self._add(kinds.Lifecycle("commit", text=commit[2], detail={"commit": commit[1]}), self._named("commit"))
        elif tokens:
            self._usage(tokens[1])
        elif _INTERRUPTED.match(line):
            self._add(kinds.Lifecycle("interrupted", text=line), self._named("interrupted"))

    def _usage(self, line: str) -> None:
        """Emit the tokens of a response, as Aider rounded them. What was sent includes what came from a cache."""
        counts = {name: _number(digits, kilo) for digits, kilo, name in _COUNT.findall(line)}
        if not counts:
            return
        read = counts.get("cache hit", 0) + counts.get("cached", 0)
        written = counts.get("cache write", 0)
        sent = max(0, counts.get("sent", 0) - (read + written if "sent" in counts else 0))
        cost = _COST.search(line)
        name = self._named("usage")
        key = f"{self._session or self._reading.state.session}:{name}"
        spent = kinds.TokenUsage(
            self._model,
            sent,
            counts.get("received", 0),
            read,
            written,
            cost_usd=_money(cost[1]) if cost else None,
            dedupe_key=key,
        )
        self._add(spent, name, "assistant")


def session_of(chat: Chat, blocks: list[Block]) -> str:
    """Return a chat's name: when it started, and a hash of its first prompt.

    Other repositories have chats of the same second, so the time alone is not enough; a prompt is written whole.
    """
    first = next((block.text for block in blocks if block.kind == "user"), chat.body)
    return f"{re.sub('[^0-9]', '', chat.started)}-{content_sha256(first)[:8]}"


def read_history(reading: AiderReading, chats: list[Chat]) -> None:
    """Emit the events of all chats of a file. The last one waits for its first prompt, which names it."""
    seen: dict[str, int] = {}
    for chat in chats:
        blocks = list(blocks_of(chat.body))
        is_named = any(block.kind == "user" for block in blocks)
        if not blocks or (chat.started and chat.is_last and not is_named):
            continue
        name: str | None = None
        if chat.started:
            name = session_of(chat, blocks)
            seen[name] = seen.get(name, 0) + 1
            name = f"{name}/{seen[name]}" if seen[name] > 1 else name
        Teller(reading, name).tell(chat, blocks)


def _first_cwd(body: str) -> str:
    found = {line.partition(" ")[0]: line.partition(": ")[2].strip() for line in body.split("\n") if _CWD.match(line)}
    return found.get("Cur") or found.get("Git") or ""


def _number(digits: str, kilo: str) -> int:
    plain = digits.replace(",", "").rstrip(".")
    if not plain or plain.count(".") > 1 or len(plain) > _MAX_DIGITS:
        return 0
    return round(float(plain) * (1000 if kilo else 1))


def _money(digits: str) -> float | None:
    plain = digits.rstrip(".")
    return float(plain) if plain and plain.count(".") <= 1 and len(plain) <= _MAX_DIGITS else None


_TYPED = re.compile(r"^# (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?)[ \t]*\r?\n((?:\+.*(?:\n|\Z))+)", re.MULTILINE)


class AiderAdapter(KitAdapter[BaseState], slug="aider"):
    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a header of a chat, in a file of Markdown."""
        text = head.decode("utf-8", "replace")
        if path.endswith((".md", ".markdown")) and HEADER.search(text):
            return "chat_history"
        return None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: a name for the file. Its chats are sessions of their own, see `Draft.session`.

        Only what stands before the first header, in a file whose beginning was cut off, goes by this name.
        """
        return first_line_name(head)

    def read(self, reading: AiderReading) -> None:
        """Emit the events of a whole file."""
        value = reading.record.value
        if not isinstance(value, str):
            read_odd(reading)
        elif reading.state.role == "input_history":
            # Emit what was typed at the prompt, with its time. It names no chat, so it is no message of one.
            seen: dict[str, int] = {}
            for found in _TYPED.finditer(value):
                said = "\n".join(line[1:].rstrip("\r") for line in found[2].splitlines())
                name = f"typed:{content_sha256([found[1], said])}"
                seen[name] = seen.get(name, 0) + 1
                reading.infer(parse_iso(found[1]))
                nth = f"/{seen[name]}" if seen[name] > 1 else ""
                reading.add(kinds.Lifecycle("prompt_history", text=said), native_id=f"{name}{nth}")
            rest = _TYPED.sub("", value).strip()
            if rest:
                reading.kept("input_history", rest, native_id="rest")
        else:
            read_history(reading, chats_of(value))

"""Splits shell commands into simple commands and finds what each is about.

A small reader, not a shell: quotes, escapes, here-documents, separators and redirections are understood, nothing is
expanded. Linear in the command's length, of which the first 8,192 characters are read unless more are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from recollect.insights.session_events import SessionEvents
from recollect.late import PATTERNS, late_pattern
from recollect.model.events import Event
from recollect.model.payloads import Json, ToolCall

READ_CHARS = 8192
_KEPT_CHARS = 512
"""Characters up to which what a command comes to is kept for the next time."""
_KEYS = ("command", "cmd", "commands", "script", "CommandLine", "command_line", "code", "input")
_PIECE = (
    r"(?P<space>(?:[ \t\r]|\\\n)+)|(?P<heredoc><<-?[ \t]*\\?['\"]?(?P<mark>\w+)['\"]?)"
    r"|(?P<into>(?:\d|&)?>>?(?:&\d|&-)?|<+)"
    r"|(?P<word>(?:'[^']*'?|\"(?:[^\"\\]|\\.)*\"?|\\.|[^\s'\"\\;&|()<>#]|(?<=\S)#)+)"
    r"|(?P<and>&&)|(?P<or>\|\|)|(?P<pipe>\|&?)|(?P<end>[;&\n()])|(?P<comment>#[^\n]*)|(?P<other>.)"
)
_QUOTED = r"'(?P<single>[^']*)'?|\"(?P<double>(?:[^\"\\]|\\.)*)\"?|\\(?P<escaped>.)"
_ESCAPED = r"\\([\\\"$`])"
_WINDOWS_PATH = r"(?:[A-Za-z]:|\.{1,2})\\"
"""How a word begins in which a backslash stands between folders and escapes nothing."""
_ASSIGNED = r"[A-Za-z_]\w*\+?=.*"
CHECKS = late_pattern(
    r"(?:\b|_)(?:build|compile|check|lint|typecheck|type-check|tsc|mypy|ruff|eslint|clippy|vet|golangci-lint|pyright)\b"
)
"""Words of commands that build or check; if the last one fails, the work is unfinished, as after a failing test."""

_ONE = frozenset(
    "sudo command builtin exec time nohup nice env stdbuf xvfb-run npx bunx rtk doas setsid then do".split()
)
"""Words that run the command behind them, options of theirs skipped."""
_TWO = frozenset((
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("rye", "run"),
    ("bundle", "exec"), ("pnpm", "exec"), ("pnpm", "dlx"), ("npm", "exec"), ("yarn", "exec"), ("yarn", "dlx"),
    ("mise", "exec"), ("mise", "x"), ("direnv", "exec"), ("conda", "run"), ("coverage", "run"), ("nix", "develop"),
))  # fmt: skip
_PYTHONS = late_pattern(r"(?:python|pypy)[\d.]*(?:\.exe)?", re.IGNORECASE)
_PREPARING = frozenset(
    "cd pushd popd export set source . mkdir echo printf true : sleep ulimit umask unset local alias setopt".split()
)
"""Commands that only prepare what follows: what a line of commands is about comes after them."""
LOOKING = frozenset(
    "ls cat head tail less more bat grep egrep fgrep rg ag find fd tree stat file wc which whereis type pwd ps df du "
    "date env printenv id whoami uname man jq sort uniq cut diff cmp ping nslookup".split()
)
"""Programs that only look."""
_WITH_SUBCOMMAND = frozenset(
    "git npm yarn pnpm bun deno go cargo docker docker-compose kubectl helm make just task mise gradle gradlew mvn "
    "mvnw dotnet gh glab aws gcloud az terraform pip pip3 uv poetry brew apt apt-get systemctl mix rake bundle"
    " rails php "
    "composer swift xcodebuild ctest cmake python python3 node ruby perl bash sh zsh pwsh powershell tox nox sbt "
    "choco winget".split()
)
"""Programs whose first word that is no option says what they do."""


class Redirection(NamedTuple):
    """Output that goes to a file; is_append: `>>`."""

    path: str
    is_append: bool


class Simple(NamedTuple):
    """A simple command: its words without quotes, wrappers and leading assignments.

    joint: what follows it: "&&", "||", "|", ";" or "" at the end. outputs: where its output goes. runs_for: words
    before `words` that only run it (`uv run`, `FOO=1`, `sudo`). document: its here-document, "" for none.
    """

    words: tuple[str, ...]
    joint: str
    outputs: tuple[Redirection, ...] = ()
    runs_for: tuple[str, ...] = ()
    document: str = ""

    @property
    def to_file(self) -> str:
        """The file of its output, "" for the terminal."""
        return self.outputs[-1].path if self.outputs else ""

    @property
    def program(self) -> str:
        """The program's name without its folder and without `.exe`."""
        return program_of(self.words[0]) if self.words else ""


@lru_cache(maxsize=1024)
def program_of(word: str) -> str:
    """Return a program's name without its folder and without `.exe`."""
    name = word.replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name[-4:].lower() == ".exe" else name


def command_of(session: SessionEvents, event: Event) -> str:
    """Return the command of a shell call as one text, "" without one.

    Fetches a command that a light event omits (`SessionEvents.whole`).
    """
    payload = event.payload
    if not isinstance(payload, ToolCall):
        return ""
    said, is_left_out = _said(payload.arguments)
    if is_left_out:
        whole = session.whole(event).payload
        said, _ = _said(whole.arguments if isinstance(whole, ToolCall) else None)
    return said


def _said(arguments: Json) -> tuple[str, bool]:
    """Return the command in arguments, and whether it may have been left out."""
    if isinstance(arguments, str):
        return arguments, not arguments
    if not isinstance(arguments, dict):
        return "", False
    for key in _KEYS:
        value = arguments.get(key)
        if isinstance(value, str):
            return value, not value
        if isinstance(value, list):
            words = [word for word in value if isinstance(word, str)]
            is_script = len(words) > 2 and words[1].startswith("-") and words[1].endswith("c")
            said = words[-1] if is_script else " ".join(words)
            return said, "" in words
    return "", False


def simple_commands(command: str, most: int = READ_CHARS) -> Sequence[Simple]:
    """Return the simple commands of a shell command, in order; comments left out. most: characters that are read."""
    return _kept(command) if len(command) <= _KEPT_CHARS else _read(command[:most])


@lru_cache(maxsize=1024)
def _kept(command: str) -> tuple[Simple, ...]:
    """As `_read`. In a session the same commands are run again and again, and several stages read them."""
    return tuple(_read(command))


@cache
def _scanner() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the pieces of a command, and what makes one more than words and joints."""
    return PATTERNS.compile(_PIECE, re.DOTALL), PATTERNS.compile(r"['\"\\<>()#\n]")


def _read(text: str) -> list[Simple]:
    pieces, special = _scanner()
    if special.search(text) is None:
        return _read_plain(text)
    found: list[Simple] = []
    words: list[str] = []
    outputs: list[Redirection] = []
    into = ""
    waiting: list[tuple[str, int]] = []
    at = 0
    while at < len(text):
        token = pieces.match(text, at)
        if token is None:
            break
        at = token.end()
        kind = token.lastgroup
        if kind == "word":
            word = _unquoted(token.group())
            if not into:
                words.append(word)
            elif ">" in into:
                outputs.append(Redirection(word, ">>" in into))
            into = ""
        elif kind in ("heredoc", "mark"):
            waiting.append((token["mark"], len(found)))
        elif kind == "into":
            sign = token.group()
            into = "" if "&" in sign[1:] else "<" if sign.startswith("2") else sign
        elif kind in ("and", "or", "pipe", "end"):
            if words:
                found.append(_simple(words, _JOINTS.get(token.group(), ";"), outputs))
            words, outputs, into = [], [], ""
            if token.group() == "\n" and waiting:
                at = _behind(text, at, waiting, found)
                waiting = []
    if words:
        found.append(_simple(words, "", outputs))
    elif found and found[-1].joint == ";":
        found[-1] = found[-1]._replace(joint="")
    return found


def _read_plain(command: str) -> list[Simple]:
    """As `_read`, for a command of words and joints alone, as two of three are, in a quarter of the time."""
    parts = re.split(r"(&&|\|\||\|&?|[;&])", command)
    found = [
        _simple(words, _JOINTS.get(joint, ";") if joint else "", ())
        for part, joint in zip(parts[::2], [*parts[1::2], ""], strict=True)
        if (words := part.split())
    ]
    if found and not parts[-1].split() and found[-1].joint == ";":
        found[-1] = found[-1]._replace(joint="")
    return found


_JOINTS = {"&&": "&&", "||": "||", "|": "|", "|&": "|"}


def _unquoted(word: str) -> str:
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    if re.match(_WINDOWS_PATH, word):
        return word.replace("'", "").replace('"', "")
    return re.sub(_QUOTED, _inside, word, flags=re.DOTALL)


def _inside(piece: re.Match[str]) -> str:
    if piece["escaped"] is not None:
        return piece["escaped"].strip("\n")
    return piece["single"] if piece["single"] is not None else re.sub(_ESCAPED, r"\1", piece["double"])


def _behind(text: str, at: int, waiting: Sequence[tuple[str, int]], found: list[Simple]) -> int:
    """Return where here-documents that begin at a place end, and give each to its command; the end of the text for one
    that does not end.

    waiting: their marks, and the numbers of the commands.
    """
    for mark, number in waiting:
        end = re.compile(rf"^[ \t]*{re.escape(mark)}[ \t]*$", re.MULTILINE).search(text, at)
        if number < len(found):
            document = text[at : end.start() if end else len(text)].removesuffix("\n")
            found[number] = found[number]._replace(document=document)
        if end is None:
            return len(text)
        at = min(end.end() + 1, len(text))
    return at


def _simple(words: Sequence[str], joint: str, outputs: Sequence[Redirection]) -> Simple:
    start = 0
    while start < len(words):
        word = words[start]
        if word == "command" and words[start + 1 : start + 2] == ["-v"]:
            break
        if re.fullmatch(_ASSIGNED, word, re.DOTALL) or program_of(word) in _ONE:
            start = _after_options(words, start + 1) if program_of(word) in _ONE else start + 1
        elif program_of(word) == "timeout":
            start = _after_options(words, start + 1) + 1
        elif start + 1 < len(words) and (program_of(word), words[start + 1]) in _TWO:
            start = _after_options(words, start + 2)
        elif _PYTHONS.fullmatch(program_of(word)) and start + 2 < len(words) and words[start + 1] == "-m":
            start += 2
        else:
            break
    return Simple(tuple(words[start:]), joint, tuple(outputs), tuple(words[:start]))


def _after_options(words: Sequence[str], at: int) -> int:
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        at += 1
    return at


def subject_of(commands: Sequence[Simple]) -> str:
    """Return what a line of commands is about: its program, with the word that says what it does ("git commit").

    Of several commands it is the first that does more than prepare (`cd`, `export` …). "" for none.
    """
    first = commands[0] if commands else None
    chosen = next((c for c in commands if c.program and c.program not in _PREPARING), first)
    if chosen is None or not chosen.words:
        return ""
    if chosen.program not in _WITH_SUBCOMMAND:
        return chosen.program[:80]
    rest = chosen.words[1:]
    verb = next((word for i, word in enumerate(rest) if _is_verb(chosen.program, rest, i)), "")
    return f"{chosen.program} {verb}".strip()[:80]


def _is_verb(program: str, rest: tuple[str, ...], at: int) -> bool:
    if rest[at].startswith(("-", "+")) or (at == 0 and rest[at] in ("run",) and len(rest) > 1):
        return False
    return not (
        at and rest[at - 1] in ("-C", "-c", "--prefix", "-f", "-p") and program in ("git", "npm", "make", "docker")
    )


def is_preparing(simple: Simple) -> bool:
    """Return whether a simple command only prepares what follows."""
    return simple.program in _PREPARING

"""Splits shell commands into simple commands and finds what each is about.

A small reader, not a shell: quotes, escapes, here-documents, separators and redirections are understood, nothing is
expanded. Linear in the command's length, of which the first 8,192 characters are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from recollect.insights.stream import SessionEvents
from recollect.late import PATTERNS, late_pattern
from recollect.model.events import Event
from recollect.model.payloads import Json, ToolCall

READ_CHARS = 8192
_KEPT_CHARS = 512
"""Characters up to which what a command comes to is kept for the next time."""
_KEYS = ("command", "cmd", "commands", "script", "CommandLine", "command_line", "code", "input")
_PIECE = (
    r"(?P<space>[ \t\r]+)|(?P<heredoc><<-?[ \t]*\\?['\"]?(?P<mark>\w+)['\"]?)|(?P<into>(?:\d|&)?>>?(?:&\d|&-)?|<)"
    r"|(?P<word>(?:'[^']*'?|\"(?:[^\"\\]|\\.)*\"?|\\.|[^\s'\"\\;&|()<>#]|(?<=\S)#)+)"
    r"|(?P<and>&&)|(?P<or>\|\|)|(?P<pipe>\|&?)|(?P<end>[;&\n()])|(?P<comment>#[^\n]*)|(?P<other>.)"
)
_QUOTED = r"'([^']*)'?|\"((?:[^\"\\]|\\.)*)\"?|\\(.)"
_WINDOWS_PATH = r"(?:[A-Za-z]:|\.{1,2})\\"
"""How a word begins in which a backslash stands between folders and escapes nothing."""
_ASSIGNED = r"[A-Za-z_]\w*\+?=.*"

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
_WITH_SUBCOMMAND = frozenset(
    "git npm yarn pnpm bun deno go cargo docker docker-compose kubectl helm make just task mise gradle gradlew mvn "
    "mvnw dotnet gh glab aws gcloud az terraform pip pip3 uv poetry brew apt apt-get systemctl mix rake bundle"
    " rails php "
    "composer swift xcodebuild ctest cmake python python3 node ruby perl bash sh zsh pwsh powershell tox nox sbt "
    "choco winget".split()
)
"""Programs whose first word that is no option says what they do."""


class Simple(NamedTuple):
    """A simple command: its words without quotes, wrappers and leading assignments.

    joint: what follows it: "&&", "||", "|", ";" or "" at the end. to_file: the file of its output, "" for the terminal.
    runs_for: words before `words` that only run it (`uv run`, `FOO=1`, `sudo`).
    """

    words: tuple[str, ...]
    joint: str
    to_file: str = ""
    runs_for: tuple[str, ...] = ()

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


def simple_commands(command: str) -> Sequence[Simple]:
    """Return the simple commands of a shell command, in order; here-documents and comments left out."""
    return _kept(command) if len(command) <= _KEPT_CHARS else _read(command)


@lru_cache(maxsize=1024)
def _kept(command: str) -> tuple[Simple, ...]:
    """As `_read`. In a session the same commands are run again and again, and several stages read them."""
    return tuple(_read(command))


@cache
def _scanner() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the pieces of a command, and what makes one more than words and joints."""
    return PATTERNS.compile(_PIECE), PATTERNS.compile(r"['\"\\<>()#\n]")


def _read(command: str) -> list[Simple]:
    pieces, special = _scanner()
    if special.search(command, 0, READ_CHARS) is None:
        return _read_plain(command[:READ_CHARS])
    found: list[Simple] = []
    words: list[str] = []
    to_file = ""
    into = ""
    waiting: list[str] = []
    text = command[:READ_CHARS]
    scan = pieces.match
    at = 0
    while at < len(text):
        token = scan(text, at)
        if token is None:
            break
        at = token.end()
        kind = token.lastgroup
        if kind == "mark":
            kind = "heredoc"
        if kind == "word":
            word = _unquoted(token.group())
            if into:
                to_file = word if into == ">" else to_file
                into = ""
            else:
                words.append(word)
        elif kind == "heredoc":
            waiting.append(token["mark"])
        elif kind == "into":
            sign = token.group()
            into = "" if "&" in sign[1:] else ">" if ">" in sign and not sign.startswith("2") else "<"
        elif kind in ("and", "or", "pipe", "end"):
            if words:
                found.append(_simple(words, _JOINTS.get(token.group(), ";"), to_file))
            words, to_file, into = [], "", ""
            if token.group() == "\n" and waiting:
                at = _behind(text, at, waiting)
                waiting = []
    if words:
        found.append(_simple(words, "", to_file))
    elif found and found[-1].joint == ";":
        found[-1] = found[-1]._replace(joint="")
    return found


def _read_plain(command: str) -> list[Simple]:
    """As `_read`, for a command of words and joints alone, as two of three are, in a quarter of the time."""
    parts = re.split(r"(&&|\|\||\|&?|[;&])", command)
    found = [
        _simple(words, _JOINTS.get(joint, ";") if joint else "", "")
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
    return re.sub(_QUOTED, lambda m: m[1] or m[2] or m[3] or "", word)


def _behind(text: str, at: int, marks: list[str]) -> int:
    """Return where here-documents that begin at a place end; the end of the text for one that does not."""
    for mark in marks:
        end = re.compile(rf"^[ \t]*{re.escape(mark)}[ \t]*$", re.MULTILINE).search(text, at)
        if end is None:
            return len(text)
        at = end.end()
    return at


def _simple(words: list[str], joint: str, to_file: str) -> Simple:
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
    return Simple(tuple(words[start:]), joint, to_file, tuple(words[:start]))


def _after_options(words: list[str], at: int) -> int:
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

"""Finds tracker references of a session by configurable patterns.

It looks in the branch, the title, the first prompt, commits and pull requests, and paths, in that order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from recollect.errors import ConfigError
from recollect.insights.commands import Simple
from recollect.insights.session_events import SessionEvents
from recollect.insights.signals.calls import endings_of, note_of, text_of
from recollect.late import late_pattern
from recollect.model.insights.digests import TaskRef
from recollect.model.own import without_own_blocks
from recollect.model.payloads import FileEdit, Lifecycle, UserMessage
from recollect.model.sessions import Session

TaskPattern = str
"""A regular expression. Groups named `repo` and `number` make `repo#number`, `number` alone `#number`; else the whole
match is the reference."""

DEFAULT_PATTERNS: tuple[TaskPattern, ...] = (
    r"(?<![A-Za-z0-9])[A-Z][A-Z0-9]{1,15}-WP-\d{4}-T\d{2}(?![A-Za-z0-9])",
    r"https?://[\w.-]{1,80}/(?P<repo>[\w.-]{1,60}/[\w.-]{1,60})/(?:-/)?(?:issues|pull|pulls|merge_requests)/(?P<number>\d{1,7})",
    r"(?<![A-Za-z0-9])(?:GH|gh)-(?P<number>[1-9]\d{0,6})\b",
    r"(?<![\w.%+-])[A-Z][A-Z0-9]{1,9}-[1-9]\d{0,5}(?![\w.]*\d)(?![A-Za-z])",
    r"(?<![\w&#/])#(?P<number>[1-9]\d{0,6})(?![\w-])",
    r"(?i:(?:^|(?<=[/_-]))issues?[/_-]#?)(?P<number>[1-9]\d{0,6})(?![\w.])",
)
EVIDENCE_CHARS = 160
_TEXT_CHARS = 8192
_PROMPT_CHARS = 600
"""What is read of the first prompt: further down it quotes other things."""
_MAX_TEXTS = 200

Place = Literal["branch", "title", "first_prompt", "commit", "path"]

FALSE_FRIENDS = frozenset(
    """
    UTF UCS SHA MD BASE ISO IEC IEEE RFC BCP ECMA ES PEP JSR EN DIN ANSI ASCII CP LATIN CVE CWE GHSA OWASP WCAG PCI FIPS
    NIST SOC GDPR AES RSA DES RC TLS SSL HTTP HTTPS HTTP2 IPV IP TCP UDP USB PCIE DDR X H MP MPEG HEVC VP AV IA ARM AMD
    RISC INTEL CORE RTX GTX GPU CPU GPT CLAUDE OPUS SONNET HAIKU GEMINI LLAMA QWEN MISTRAL DALL GROK KIMI PHI BERT T5
    O PHASE STEP PART OPTION LEVEL TIER STAGE ROUND DAY WEEK MONTH YEAR SPRINT CHAPTER SECTION LINE LINES PAGE ROW COL
    COLUMN FIG FIGURE TABLE TOP VERSION V NODE PYTHON PY JAVA JDK GO PHP RUBY PG POSTGRES MYSQL UBUNTU DEBIAN WINDOWS
    WIN MACOS IOS ANDROID TODO FIXME NOTE E Q FY H1 H2 JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC UTC GMT INT UINT
    FLOAT F I U CRC FNV XXH MURMUR S3 EC2 T2 T3 M4 M5 C5 R5 US EU AP SA CA ME AF COVID ZIP LZ GZIP ED SECP P CURVE X509
    PKCS OAUTH SAML LTE WIFI BT A B C D PRIORITY P0 P1 P2 SEV SEVERITY ITEM POINT RULE CASE TEST EXAMPLE EX
    """.split()
)
"""What stands before a hyphen and a number in names of standards, hashes, models, steps …, and is no tracker."""
_NAMED_BEFORE = late_pattern(
    r"(?:issues?|pr|prs|pull(?: request)?s?|mr|merge request|bugs?|tickets?|task|story|epic|fix(?:es|ed)?"
    r"|close[sd]?|resolve[sd]?|refs?|see|gh|github|gitlab|re|\()[\s:(\[*`'\"]{0,4}$",
    re.IGNORECASE,
)
"""What stands before `#12` in a sentence where it names an issue, not a place in a list or a colour."""


@lru_cache(maxsize=16)
def compile_patterns(patterns: tuple[TaskPattern, ...]) -> tuple[re.Pattern[str], ...]:
    """Return compiled patterns. Raises ConfigError for an invalid regular expression."""
    found = []
    for pattern in patterns:
        try:
            found.append(re.compile(pattern))
        except re.error as e:
            key = "distill.task_patterns"
            raise ConfigError(f"{key}: {pattern!r} is not a regular expression: {e}", key=key) from e
    return tuple(found)


def task_ref_of(
    stream: SessionEvents, session: Session, patterns: Sequence[TaskPattern] | None = None
) -> TaskRef | None:
    """Return the task of a session, None without one.

    patterns: tried before `DEFAULT_PATTERNS`. Raises ConfigError for an invalid regular expression.
    """
    compiled = compile_patterns((*(patterns or ()), *DEFAULT_PATTERNS))
    for place, text in _texts(stream, session):
        found = first_ref(text, compiled, place)
        if found is not None:
            return found
    return None


def first_ref(text: str, patterns: Sequence[re.Pattern[str]], place: Place) -> TaskRef | None:
    """Return the first task that a text names, None for none. Of patterns that match at one place the first counts."""
    text = text[:_TEXT_CHARS]
    best: tuple[int, int, re.Match[str]] | None = None
    for rank, pattern in enumerate(patterns):
        for match in pattern.finditer(text):
            if best is not None and (match.start(), rank) >= best[:2]:
                break
            if match.group() and not _is_false_friend(text, match, place):
                best = (match.start(), rank, match)
                break
    if best is None:
        return None
    match = best[2]
    return TaskRef(_named(match), place, _around(text, match))


def _named(match: re.Match[str]) -> str:
    groups = match.groupdict()
    if groups.get("number"):
        return f"{groups.get('repo') or ''}#{groups['number']}"
    return match.group().strip()


def _is_false_friend(text: str, match: re.Match[str], place: Place) -> bool:
    said = match.group()
    if said.startswith("#"):
        # In prose `#1` counts things, and `#333` is a colour: a word before it must say that it is an issue.
        return place not in ("branch", "commit") and not _NAMED_BEFORE.search(text, 0, match.start())
    head, hyphen, number = said.partition("-")
    return bool(hyphen) and number.isdigit() and head in FALSE_FRIENDS


def _around(text: str, match: re.Match[str]) -> str:
    """Return the text around a match on one line, at most 160 characters."""
    room = max(0, EVIDENCE_CHARS - len(match.group())) // 2
    start = max(0, match.start() - room)
    return " ".join(text[start : start + EVIDENCE_CHARS].split())


def _texts(stream: SessionEvents, session: Session) -> Iterator[tuple[Place, str]]:
    if session.git_branch:
        yield "branch", session.git_branch
    if session.title and session.title_status == "agent":
        yield "title", session.title
    for event in stream.of(UserMessage):
        payload = event.payload
        if isinstance(payload, UserMessage) and payload.origin in ("human", "queued") and payload.text:
            yield "first_prompt", without_own_blocks(payload.text).strip()[:_PROMPT_CHARS]
            break
    for _, text in zip(range(_MAX_TEXTS), _commits(stream), strict=False):
        yield "commit", text
    if session.cwd:
        yield "path", session.cwd
    edits = (event.payload for event in stream.of(FileEdit))
    paths = dict.fromkeys(edit.path for edit in edits if isinstance(edit, FileEdit) and edit.path)
    for _, path in zip(range(_MAX_TEXTS), paths, strict=False):
        yield "path", path


def _commits(stream: SessionEvents) -> Iterator[str]:
    """Yield what names commits and pull requests: commands that make them, what those printed, and notes of agents."""
    for one in stream.once(endings_of).values():
        if not any(map(_makes_commit, one.commands)):
            continue
        yield one.exact
        if one.call.result is not None:
            yield text_of(stream, one.call.result)
    for event in stream.of(Lifecycle):
        payload = event.payload
        if isinstance(payload, Lifecycle) and payload.name in ("commit", "pr_link"):
            yield note_of(stream, event).text


_COMMITS = {"git": ("commit",), "gh": ("pr",), "glab": ("mr",), "hub": ("pull-request",)}


def _makes_commit(simple: Simple) -> bool:
    verbs = _COMMITS.get(simple.program)
    return verbs is not None and any(word in verbs for word in simple.words[1:6])

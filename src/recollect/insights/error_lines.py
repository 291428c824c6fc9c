"""The significant line of an error, and a fingerprint that ignores details."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from recollect.late import late_pattern

LOOKED_AT_CHARS = 65_536
SAMPLE_CHARS = 200
_LINE_CHARS = 400

_ANSI = late_pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_NOISE = late_pattern(
    r"\s*(?:(?:error:\s*)?exit(?:ed with)? code:?\s*-?\d+|(?:error:\s*)?command (?:exited with code|failed).*"
    r"|wall time:.*|output:"
    r"|total output lines:.*|chunk id:.*|process exited with.*|original token count:.*"
    r"|traceback \(most recent call last\):|debugger attached\.|waiting for the debugger.*|std(?:out|err):?"
    r"|</?[\w-]+>|[-=~*_#\s]*)",
    re.IGNORECASE,
)
"""Lines that frame what was printed and say nothing of it."""
_EXCEPTION = late_pattern(
    r"(?:[A-Za-z_]\w*(?:\.|::))*[A-Z]\w*(?:Error|Exception|Warning|Panic|Fault|Interrupt|Exit)\b(?:\s*[:(\[]|$)"
)
_EXCEPTION_WORDS = ("Error", "Exception", "Warning", "Panic", "Fault", "Interrupt", "Exit")
"""Without any of which no line is an exception: of most outputs no line needs the expression."""
_PANIC = late_pattern(r"(?:thread '[^']*' panicked|panic:|fatal error:|fatal:|uncaught |unhandled )", re.IGNORECASE)
_ERROR = late_pattern(
    r"(?:\[?error\]?\s*[:\]>\[(-]|error\s+TS\d+|error\[E\d+\]|err!|npm err!|.{0,120}?[:\s(]error(?:\[\w+\])?:\s"
    r"|.{0,120}?\serror\s+TS\d+)",
    re.IGNORECASE,
)
_ASSERTION = late_pattern(
    r"(?:E\s{2,}\S|FAILED\s|--- FAIL|assert\b|assertion\b|AssertionError|expected\b.*\b(?:got|but|received)\b"
    r"|not ok\s)",
    re.IGNORECASE,
)
_WORDS = (
    r"(?:error|fail|fatal|cannot|can't|could not|couldn't|not found|no such|denied|refused|rejected"
    r"|unable|invalid"
    r"|undefined|unexpected|missing|does not exist|doesn't exist|not exist|unknown|illegal|timed out|timeout"
    r"|not permitted"
    r"|not allowed|exception|panic|aborted|conflict|must be|already exists|too long|too large|unauthorized|forbidden)"
)
_FAILING, _FAILING_BEYOND_ASCII = late_pattern(_WORDS), late_pattern(_WORDS, re.IGNORECASE)

_WORDS_CHARS = 200
"""Characters of a line behind which no word of failure counts."""
_NOISE_BEGINS = frozenset("ecwotpdsſ<-=~*_#")
_PANIC_BEGINS, _ASSERTION_BEGINS = frozenset("tpfu"), frozenset("ef-an")
"""Lower-case letters without one of which at its beginning a line is none of these: most lines need no expression."""

_NONE_FAILED = late_pattern(r"\b(?:0|no|zero) (?:errors?|failures?|failed|problems?|issues?)\b", re.IGNORECASE)

_TAG = late_pattern(r"</?[A-Za-z][\w:-]{0,40}>")
_DETAILS = (
    (late_pattern(r"https?://[^\s'\"<>)\]]+"), "<url>"),
    (late_pattern(r"\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b"), "<id>"),
    (late_pattern(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (late_pattern(r"\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?\b"), "<time>"),
    (late_pattern(r"(?<!\w)'[^'\n]{0,200}'(?!\w)|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`"), "<quoted>"),
    (late_pattern(r"(?:[A-Za-z]:)?(?:[\w.@~+%-]{0,80}[\\/])+(?=[\w.@~+%-])"), ""),
    (late_pattern(r"\b0x[0-9A-Fa-f]+\b"), "<hex>"),
    (late_pattern(r"\b(?=[A-Fa-f]{0,40}\d)[0-9A-Fa-f]{7,64}\b"), "<hex>"),
    (late_pattern(r"\b(?:req|msg|toolu|call|chatcmpl|run|job|sess|session|id)[_-][A-Za-z0-9_-]{6,64}\b"), "<id>"),
    (late_pattern(r"[-+]?\d+(?:[.,]\d+)*"), "<n>"),
)
"""What is taken out of a telling line, in this order; a path keeps its last part."""


def plain(text: str) -> str:
    """Return a text without the sequences that colour a terminal."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def looked_at(text: str) -> str:
    """Return what is read of an output: all of it, or its first and last half of `LOOKED_AT_CHARS`."""
    if len(text) <= LOOKED_AT_CHARS:
        return plain(text)
    half = LOOKED_AT_CHARS // 2
    return plain(f"{text[:half]}\n{text[-half:]}")


def telling_line(text: str) -> str:
    """Return the line that says what went wrong, without colours and tags; "" for none.

    The last exception; else the first line that begins like an error or names one, an assertion, a line with a word of
    failure; else the first line that is no frame around the output.
    """
    exception, noise, none_failed = _EXCEPTION.match, _NOISE.fullmatch, _NONE_FAILED.search
    text = looked_at(text)
    may_except = "<" in text or any(word in text for word in _EXCEPTION_WORDS)
    last_exception = best = ""
    rank = len(_CHOICES) + 1
    for raw in text.splitlines():
        line = raw[:_LINE_CHARS].strip()
        if not line or (line[0].lower() in _NOISE_BEGINS and noise(line)):
            continue
        line = _TAG.sub("", line).strip() if "<" in line else line
        if may_except and exception(line):
            last_exception = line
        lowered = line.lower() if rank else ""
        for place in range(min(rank, len(_CHOICES))):
            if _CHOICES[place](line, lowered) and not none_failed(line):
                best, rank = line, place
                break
        if not best and line:
            best, rank = line, len(_CHOICES)
    return last_exception or best


def _panics(line: str, lowered: str) -> bool:
    return lowered[:1] in _PANIC_BEGINS and _PANIC.match(line) is not None


def _is_error(line: str, lowered: str) -> bool:
    return "err" in lowered and _ERROR.match(line) is not None


def _asserts(line: str, lowered: str) -> bool:
    return lowered[:1] in _ASSERTION_BEGINS and _ASSERTION.match(line) is not None


def _fails(line: str, lowered: str) -> bool:
    # In lower case, without a flag, the expression is searched for several times as fast; only ASCII is the same then.
    found = _FAILING.search(lowered) if line.isascii() else _FAILING_BEYOND_ASCII.search(line)
    return found is not None and found.start() <= _WORDS_CHARS


_CHOICES = (_panics, _is_error, _asserts, _fails)
"""What tells a line that says what went wrong, the surest first."""


def sample_of(line: str) -> str:
    """Return a telling line as a sample, on one line of at most 200 characters."""
    said = " ".join(line.split())
    return said if len(said) <= SAMPLE_CHARS else said[: SAMPLE_CHARS - 1].rstrip() + "…"


def normalised(line: str) -> str:
    """Return a telling line without its details: numbers, hashes, ids, times, quoted text, folders of paths."""
    text = " ".join(plain(line[:_LINE_CHARS]).split())
    for pattern, instead in _DETAILS:
        text = pattern.sub(instead, text)
    return text


@lru_cache(maxsize=256)
def fingerprint_of(line: str) -> str:
    """Return 16 hex digits that are equal for telling lines that differ only in details."""
    data = normalised(line).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8, person=b"recollect.error").hexdigest()

"""What an answer that is none means: whether to wait, to mend the configuration, or to ask something else.

Evidence: the error pages of Anthropic's and OpenAI's API references (2026-10): a spend limit comes as 400, 402 or 429
and is told from a rate limit only by its code; 529 is "overloaded"; a `retry-after` header says how long to wait.
"""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from recollect.errors import EndpointError, EndpointRefused, EndpointUnavailable

MAX_QUOTED_CHARS = 200
BUSY = frozenset((408, 425, 429, 500, 502, 503, 504, 529))
"""HTTP statuses after which the same question may be answered."""

_OVERLOADED = frozenset((503, 529))
_MAX_READ_BYTES = 16_384
"""Of an error's body that is not JSON."""
_LEAST_SECRET_CHARS = 8
"""A shorter header value is no key; to hide it would only garble the text."""
_QUOTA_CODES = frozenset(
    (
        "insufficient_quota", "credit_balance_exhausted", "billing_error", "billing_not_active",
        "enforced_spend_limit_reached", "organization_spend_limit_exceeded", "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded", "billing_hard_limit_reached", "insufficient_credits", "quota_exceeded",
    )
)  # fmt: skip
_QUOTA_WORDS = (
    "credit balance",
    "spend limit",
    "spending limit",
    "billing details",
    "insufficient credit",
    "usage limit",
)
"""In the message of a 400 or 403, where no code says it."""
_TOO_LARGE_CODES = frozenset(("request_too_large", "context_length_exceeded", "string_above_max_length"))
_TOO_LARGE_WORDS = ("prompt is too long", "maximum context length", "context window", "too many tokens")


class Asked(NamedTuple):
    """Whom we asked. section: of the configuration. secrets: what must not stand in a text about it."""

    url: str
    section: str
    secrets: tuple[str, ...] = ()


class _Said(NamedTuple):
    codes: frozenset[str]
    message: str


def failure(asked: Asked, status: int, headers: Mapping[str, str], data: bytes) -> EndpointError:
    """Return the error for an answer whose status is not a success."""
    said = _said(data)
    quoted = _quoted(data, asked.secrets)
    if 300 <= status < 400:
        return EndpointRefused(
            f"{asked.url} sends elsewhere (HTTP {status}); nothing is sent there",
            status=status,
            kind="request",
            hint=f"name the final address as `url` in [{asked.section}]",
        )
    if _is_quota(status, said):
        return EndpointRefused(
            f"{asked.url} has nothing left to spend (HTTP {status}){quoted}",
            status=status,
            kind="quota",
            hint="add credit or raise the limit with the provider",
        )
    if status in BUSY:
        kind = "rate" if status == 429 else "overloaded" if status in _OVERLOADED else "broken"
        return EndpointUnavailable(
            f"{asked.url} is busy or broken (HTTP {status}){quoted}",
            status=status,
            kind=kind,
            retry_after_s=retry_after(headers.get("retry-after", "")),
        )
    if status in (401, 403):
        kind, hint = "authentication", f"check the key that `key_variable` in [{asked.section}] names"
    elif status == 413 or said.codes & _TOO_LARGE_CODES or _has(said.message, _TOO_LARGE_WORDS):
        kind, hint = "too_large", ""
    else:
        kind, hint = "request", f"check `url` and `model` in [{asked.section}]"
    return EndpointRefused(f"{asked.url} refused (HTTP {status}){quoted}", status=status, kind=kind, hint=hint)


def retry_after(value: str) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or a date; None without a usable one.

    Evidence: RFC 9110, section 10.2.3.
    """
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _is_quota(status: int, said: _Said) -> bool:
    if status == 402 or said.codes & _QUOTA_CODES:
        return True
    return status in (400, 403) and _has(said.message, _QUOTA_WORDS)


def _has(message: str, words: tuple[str, ...]) -> bool:
    return any(word in message for word in words)


def _said(data: bytes) -> _Said:
    """Return what an error's body says: `{"error": {"type", "code", "message", "details": {"error_code"}}}`, or
    `{"error": text}`; of anything else its text."""
    try:
        body = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        body = None
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return _Said(
            frozenset(),
            (error if isinstance(error, str) else data[:_MAX_READ_BYTES].decode("utf-8", "replace")).lower(),
        )
    details = error.get("details")
    codes = [error.get("type"), error.get("code"), details.get("error_code") if isinstance(details, dict) else None]
    message = error.get("message")
    return _Said(
        frozenset(code for code in codes if isinstance(code, str)), message.lower() if isinstance(message, str) else ""
    )


def _quoted(data: bytes, secrets: tuple[str, ...]) -> str:
    """Return the beginning of an error's body, on one line, for people; keys that it repeats are hidden."""
    text = data[:_MAX_READ_BYTES].decode("utf-8", "replace")
    for secret in secrets:
        for word in secret.split():  # "Bearer KEY"
            if len(word) >= _LEAST_SECRET_CHARS:
                text = text.replace(word, "[key]")
    text = "".join(c if c.isprintable() else " " for c in text)
    line = " ".join(text.split())
    return f": {line[:MAX_QUOTED_CHARS]}" if line else ""

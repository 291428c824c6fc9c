"""Posts JSON to a server, with limits on time and size, and classifies errors."""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from recollect.errors import ConfigError, EndpointRefused, EndpointUnavailable, EndpointUnusable
from recollect.units import duration, size

if TYPE_CHECKING:
    import httpx2

_LOCAL = ("localhost", "127.0.0.1", "::1")


def checked_address(url: str, *, key: str, has_secret: bool, example: str) -> str:
    """Return an address without a slash at its end. Raises ConfigError for one that must not or cannot be used.

    key: of the configuration, for the error. has_secret: a key is sent there, which asks for https, or this machine.
    """
    try:
        parts = urlsplit(url)
        host, has_port = parts.hostname or "", parts.port is None or parts.port > 0
    except ValueError:
        parts, host, has_port = urlsplit(""), "", False
    if parts.scheme not in ("http", "https") or not host or not has_port:
        raise _wrong(key, f"is not an address such as {example}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise _wrong(key, "must be an address alone; a key belongs into the variable that `key_variable` names")
    if has_secret and parts.scheme == "http" and host not in _LOCAL:
        raise _wrong(key, "would show the key to the network; use https")
    return url.rstrip("/")


def is_on_this_machine(url: str) -> bool:
    """Return whether a checked address is this machine's own."""
    return urlsplit(url).hostname in _LOCAL


def _wrong(key: str, why: str) -> ConfigError:
    section, _, name = key.partition(".")
    return ConfigError(f"[{section}] {name}: {why}", key=key)


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


class Endpoint(NamedTuple):
    """Whom we asked. section: of the configuration. secrets: what must not stand in a text about it."""

    url: str
    section: str
    secrets: tuple[str, ...] = ()


class _Said(NamedTuple):
    codes: frozenset[str]
    message: str


def failure(asked: Endpoint, status: int, headers: Mapping[str, str], data: bytes) -> Exception:
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


Answer = TypeVar("Answer")

ATTEMPTS = 4
FIRST_DELAY_S = 0.5
MAX_DELAY_S = 30.0
"""No longer than this is waited between two attempts; a server that asks for more is unavailable for now."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
SECRET_HEADERS = frozenset(("authorization", "x-api-key"))


class RetryClock(NamedTuple):
    """Time and chance. jitter: 0 to 1."""

    sleep: Callable[[float], object] = time.sleep
    jitter: Callable[[], float] = random.random
    now: Callable[[], float] = time.monotonic


class PostOptions(NamedTuple):
    """How a server is asked. section: the table of the configuration that names it, for hints. attempts: 1 where the
    caller itself decides when to ask again. failure: makes the error for an answer that is no success."""

    section: str = "embedding"
    attempts: int = ATTEMPTS
    max_answer_bytes: int = MAX_ANSWER_BYTES
    failure: Callable[[Endpoint, int, Mapping[str, str], bytes], Exception] = failure


class Poster:
    """Posts to one server. Safe from many threads; connections are kept open between calls."""

    def __init__(
        self, url: str, *, timeout_s: float, headers: Callable[[], Mapping[str, str]] = dict,
        manner: PostOptions | None = None, clock: RetryClock | None = None,
    ) -> None:  # fmt: skip
        """url: without the call's own path. timeout_s: of one attempt in all. headers: asked before every call, so
        that a key is never kept; no value of theirs is ever shown."""
        self._url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._headers = headers
        self._manner = manner or PostOptions()
        self._clock = clock or RetryClock()
        self._client: httpx2.Client | None = None

    def post(self, path: str, question: object, answer: type[Answer], *, attempts: int | None = None) -> Answer:
        """Return what the server answers, decoded and checked for its type. question: bytes are sent as they are.

        Raises:
            EndpointUnavailable: not reached, too slow, too busy or broken, after every attempt.
            EndpointRefused: it does not want this question.
            EndpointUnusable: too large, no JSON, or not of the type.
        """
        body = question if isinstance(question, bytes) else msgspec.json.encode(question)
        most = attempts or self._manner.attempts
        for attempt in range(most):
            is_last = attempt == most - 1
            try:
                data = self._once(path, body)
            except EndpointUnavailable as error:
                delay = error.retry_after_s if error.retry_after_s is not None else self._delay(attempt)
                if is_last or delay > MAX_DELAY_S:
                    raise
                self._clock.sleep(delay)
            else:
                return self._decoded(data, answer)
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Close connections; a later call opens them again."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _delay(self, attempt: int) -> float:
        """Full jitter: many clients that failed together don't come back together."""
        return float(self._clock.jitter() * min(MAX_DELAY_S, FIRST_DELAY_S * 2**attempt))

    def _once(self, path: str, body: bytes) -> bytes:
        import httpx2

        if self._client is None:
            self._client = httpx2.Client(follow_redirects=False, timeout=self._timeout_s)
        own = self._headers()
        headers = {"content-type": "application/json", **own}
        ends_at = self._clock.now() + self._timeout_s
        try:
            with self._client.stream("POST", self._url + path, content=body, headers=headers) as response:
                data = self._read(response, ends_at)
                if 200 <= response.status_code < 300:
                    return data
                secrets = tuple(value for name, value in own.items() if name.lower() in SECRET_HEADERS)
                asked = Endpoint(self._url, self._manner.section, secrets)
                raise self._manner.failure(asked, response.status_code, response.headers, data)
        except httpx2.TimeoutException as error:
            raise self._slow() from error
        except httpx2.TransportError as error:
            # Connecting failed: nothing was sent. Later, the question may have been taken all the same.
            kind = "unreachable" if isinstance(error, httpx2.ConnectError) else "cut"
            raise EndpointUnavailable(f"{self._url} cannot be reached: {error}", kind=kind) from error
        except (httpx2.InvalidURL, httpx2.StreamError, httpx2.DecodingError) as error:
            raise EndpointUnusable(f"{self._url} gave an answer that cannot be read: {error}") from error

    def _read(self, response: httpx2.Response, ends_at: float) -> bytes:
        """Return the whole body, within the size and the time. A client's own timeout is for one read, not for all."""
        found = bytearray()
        most = self._manner.max_answer_bytes
        for piece in response.iter_bytes():
            found += piece
            if len(found) > most:
                raise EndpointUnusable(f"{self._url} answered more than {size(most, binary=True)}")
            if self._clock.now() > ends_at:
                raise self._slow()
        return bytes(found)

    def _slow(self) -> EndpointUnavailable:
        return EndpointUnavailable(
            f"{self._url} took longer than {duration(self._timeout_s)}",
            kind="slow",
            hint=f"see `timeout_s` in [{self._manner.section}]",
        )

    def _decoded(self, data: bytes, answer: type[Answer]) -> Answer:
        try:
            return msgspec.json.decode(data, type=answer)
        except (ValueError, RecursionError) as error:
            raise EndpointUnusable(f"{self._url} answered something else than asked: {error}") from error

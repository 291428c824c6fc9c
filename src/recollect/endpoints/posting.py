"""One question to a server as JSON, and its answer: bounded in time and size, tried again where that may help.

No redirect is followed: what is sent goes to the address that was configured, or nowhere.
"""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from recollect.errors import EndpointError, EndpointRefused, EndpointUnavailable, EndpointUnusable

if TYPE_CHECKING:
    import httpx2

Answer = TypeVar("Answer")

ATTEMPTS = 4
FIRST_DELAY_S = 0.5
MAX_DELAY_S = 30.0
"""No longer than this is waited between two attempts; a server that asks for more is unavailable for now."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_QUOTED_CHARS = 200
BUSY = frozenset((408, 425, 429, 500, 502, 503, 504, 529))
"""HTTP statuses after which the same question may be answered."""


class Poster:
    """Posts to one server. Safe from many threads; connections are kept open between calls."""

    def __init__(
        self, url: str, *, timeout_s: float, headers: Callable[[], Mapping[str, str]] = dict,
        sleep: Callable[[float], object] = time.sleep, jitter: Callable[[], float] = random.random,
        now: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """url: without the call's own path. timeout_s: of one attempt in all. headers: asked before every call, so
        that a key is never kept. sleep, jitter (0 to 1), now: the clock and the chance."""
        self._url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._headers = headers
        self._sleep = sleep
        self._jitter = jitter
        self._now = now
        self._client: httpx2.Client | None = None

    def post(self, path: str, question: Mapping[str, Any], answer: type[Answer]) -> Answer:
        """Return what the server answers, decoded and checked for its type.

        Raises:
            EndpointUnavailable: not reached, too slow, too busy or broken, after every attempt.
            EndpointRefused: it does not want this question.
            EndpointUnusable: too large, no JSON, or not of the type.
        """
        body = msgspec.json.encode(question)
        for attempt in range(ATTEMPTS):
            is_last = attempt == ATTEMPTS - 1
            try:
                data = self._once(path, body)
            except _TryAgain as failed:
                delay = failed.after_s if failed.after_s is not None else self._delay(attempt)
                if is_last or delay > MAX_DELAY_S:
                    raise failed.error from failed.__cause__
                self._sleep(delay)
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
        return float(self._jitter() * min(MAX_DELAY_S, FIRST_DELAY_S * 2**attempt))

    def _once(self, path: str, body: bytes) -> bytes:
        import httpx2

        if self._client is None:
            self._client = httpx2.Client(follow_redirects=False, timeout=self._timeout_s)
        headers = {"content-type": "application/json", **self._headers()}
        ends_at = self._now() + self._timeout_s
        try:
            with self._client.stream("POST", self._url + path, content=body, headers=headers) as response:
                data = self._read(response, ends_at)
                return self._checked(response, data)
        except httpx2.TimeoutException as error:
            raise _TryAgain(self._slow()) from error
        except httpx2.TransportError as error:
            raise _TryAgain(EndpointUnavailable(f"{self._url} cannot be reached: {error}")) from error
        except (httpx2.InvalidURL, httpx2.StreamError, httpx2.DecodingError) as error:
            raise EndpointUnusable(f"{self._url} gave an answer that cannot be read: {error}") from error

    def _read(self, response: httpx2.Response, ends_at: float) -> bytes:
        """Return the whole body, within the size and the time. A client's own timeout is for one read, not for all."""
        found = bytearray()
        for piece in response.iter_bytes():
            found += piece
            if len(found) > MAX_ANSWER_BYTES:
                raise EndpointUnusable(f"{self._url} answered more than {MAX_ANSWER_BYTES // 1024 // 1024} MB")
            if self._now() > ends_at:
                raise _TryAgain(self._slow())
        return bytes(found)

    def _slow(self) -> EndpointError:
        return EndpointUnavailable(
            f"{self._url} took longer than {self._timeout_s:g} s", hint="see `timeout_s` in [embedding]"
        )

    def _checked(self, response: httpx2.Response, data: bytes) -> bytes:
        status = response.status_code
        if 200 <= status < 300:
            return data
        said = _quoted(data)
        if 300 <= status < 400:
            raise EndpointRefused(
                f"{self._url} sends elsewhere (HTTP {status}); nothing is sent there",
                status=status,
                hint="name the final address as `url`",
            )
        if status in BUSY:
            error = EndpointUnavailable(f"{self._url} is busy or broken (HTTP {status}){said}", status=status)
            raise _TryAgain(error, after_s=_retry_after(response.headers.get("retry-after", "")))
        hint = "check the key that `key_variable` names" if status in (401, 403) else "check `url` and `model`"
        raise EndpointRefused(f"{self._url} refused (HTTP {status}){said}", status=status, hint=hint)

    def _decoded(self, data: bytes, answer: type[Answer]) -> Answer:
        try:
            return msgspec.json.decode(data, type=answer)
        except (msgspec.DecodeError, RecursionError) as error:
            raise EndpointUnusable(f"{self._url} answered something else than asked: {error}") from error


class _TryAgain(Exception):
    """One attempt failed in a way that may pass."""

    def __init__(self, error: EndpointError, *, after_s: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.after_s = after_s


def _retry_after(value: str) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or a date; None without a usable one.

    Evidence: RFC 9110, section 10.2.3.
    """
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _quoted(data: bytes) -> str:
    """Return the beginning of an error's body, on one line, for people."""
    text = "".join(c if c.isprintable() else " " for c in data[: MAX_QUOTED_CHARS * 4].decode("utf-8", "replace"))
    line = " ".join(text.split())
    return f": {line[:MAX_QUOTED_CHARS]}" if line else ""

"""One question to a server as JSON, and its answer: bounded in time and size, tried again where that may help.

No redirect is followed: what is sent goes to the address that was configured, or nowhere.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from recollect.endpoints.failing import Asked, failure
from recollect.errors import EndpointUnavailable, EndpointUnusable
from recollect.units import duration, size

if TYPE_CHECKING:
    import httpx2

Answer = TypeVar("Answer")

ATTEMPTS = 4
FIRST_DELAY_S = 0.5
MAX_DELAY_S = 30.0
"""No longer than this is waited between two attempts; a server that asks for more is unavailable for now."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
SECRET_HEADERS = frozenset(("authorization", "x-api-key"))


class Clock(NamedTuple):
    """Time and chance. jitter: 0 to 1."""

    sleep: Callable[[float], object] = time.sleep
    jitter: Callable[[], float] = random.random
    now: Callable[[], float] = time.monotonic


class Manner(NamedTuple):
    """How a server is asked. section: the table of the configuration that names it, for hints. attempts: 1 where the
    caller itself decides when to ask again."""

    section: str = "embedding"
    attempts: int = ATTEMPTS
    max_answer_bytes: int = MAX_ANSWER_BYTES


class Poster:
    """Posts to one server. Safe from many threads; connections are kept open between calls."""

    def __init__(
        self, url: str, *, timeout_s: float, headers: Callable[[], Mapping[str, str]] = dict,
        manner: Manner | None = None, clock: Clock | None = None,
    ) -> None:  # fmt: skip
        """url: without the call's own path. timeout_s: of one attempt in all. headers: asked before every call, so
        that a key is never kept; no value of theirs is ever shown."""
        self._url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._headers = headers
        self._manner = manner or Manner()
        self._clock = clock or Clock()
        self._client: httpx2.Client | None = None

    def post(self, path: str, question: Mapping[str, Any], answer: type[Answer]) -> Answer:
        """Return what the server answers, decoded and checked for its type.

        Raises:
            EndpointUnavailable: not reached, too slow, too busy or broken, after every attempt.
            EndpointRefused: it does not want this question.
            EndpointUnusable: too large, no JSON, or not of the type.
        """
        body = msgspec.json.encode(question)
        for attempt in range(self._manner.attempts):
            is_last = attempt == self._manner.attempts - 1
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
                asked = Asked(self._url, self._manner.section, secrets)
                raise failure(asked, response.status_code, response.headers, data)
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

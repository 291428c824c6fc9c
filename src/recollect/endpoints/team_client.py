"""Client of a team's server."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Self, TypeVar

import msgspec

from recollect.endpoints.http import MAX_DELAY_S, checked_address, retry_after
from recollect.errors import TeamForbidden, TeamRefused, TeamUnavailable
from recollect.model.team_messages import (
    PROTOCOL,
    PROTOCOL_HEADER,
    Joined,
    JoinRequest,
    Standing,
    Taken,
)
from recollect.units import size

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
ATTEMPTS = 4
FIRST_DELAY_S = 0.5
TIMEOUT_S = 60.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024


class _Problem(msgspec.Struct, frozen=True):
    message: str
    hint: str = ""


class _Refusal(msgspec.Struct, frozen=True):
    error: _Problem


class TeamClient:
    """Asks one team server as one machine. Every method raises TeamUnavailable, TeamRefused, TeamForbidden.

    A question that the server cannot answer now is asked again a few times: none changes anything the second time.
    """

    def __init__(self, url: str, token: str = "", *, attempts: int = ATTEMPTS) -> None:
        """Raises ConfigError for an address that must not be used: a token goes over https or stays on this machine."""
        self._url = checked_address(url, key="team.url", has_secret=True, example="https://team.example.com")
        self._token = token
        self._attempts = attempts
        self._client: httpx2.Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

    def join(self, asked: JoinRequest) -> Joined:
        """Use an invitation. Asked once: it holds once."""
        return self._once("join", msgspec.json.encode(asked), Joined)

    def standing(self) -> Standing:
        """Return how far the server is with this machine."""
        return self._ask("standing", b"{}", Standing)

    def send(self, body: bytes) -> Taken:
        """Send a compressed batch."""
        return self._ask("batch", body, Taken)

    def ask(self, name: str, asked: msgspec.Struct | None, kind: type[T]) -> T:
        """Ask the question of a name what the team knows. kind: of the answer."""
        return self._ask(name, b"{}" if asked is None else msgspec.json.encode(asked), kind)

    def leave(self) -> None:
        """Have everything of this machine withdrawn, and its token ended."""
        self._ask("leave", b"{}", dict[str, str])

    def _ask(self, name: str, body: bytes, kind: type[T]) -> T:
        for attempt in range(1, self._attempts):
            try:
                return self._once(name, body, kind)
            except _Busy as error:
                delay = error.retry_after_s
                if delay is None:
                    delay = random.random() * FIRST_DELAY_S * 2**attempt  # noqa: S311  spread, no secret
                time.sleep(min(delay, MAX_DELAY_S))
        return self._once(name, body, kind)

    def _once(self, name: str, body: bytes, kind: type[T]) -> T:
        import httpx2

        if self._client is None:
            self._client = httpx2.Client(follow_redirects=False, timeout=TIMEOUT_S)
        headers = {PROTOCOL_HEADER: str(PROTOCOL)}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        try:
            with self._client.stream("POST", f"{self._url}/v1/{name}", content=body, headers=headers) as response:
                data = self._read(response)
        except (httpx2.TransportError, httpx2.StreamError) as error:
            raise _Busy(f"{self._url} cannot be reached: {error or type(error).__name__}") from error
        except (httpx2.InvalidURL, httpx2.DecodingError) as error:
            raise TeamRefused(f"{self._url} gave an answer that cannot be read: {error}") from error
        if response.status_code != 200:
            raise self._failure(response.status_code, response.headers.get("retry-after", ""), data)
        try:
            return msgspec.json.decode(data, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise TeamRefused(f"{self._url} answered something else than asked: {error}") from error

    def _read(self, response: httpx2.Response) -> bytes:
        found = bytearray()
        for piece in response.iter_bytes():
            found += piece
            if len(found) > MAX_ANSWER_BYTES:
                raise TeamRefused(f"{self._url} answered more than {size(MAX_ANSWER_BYTES, binary=True)}")
        return bytes(found)

    def _failure(self, status: int, wait: str, data: bytes) -> Exception:
        try:
            said = msgspec.json.decode(data, type=_Refusal).error
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            said = _Problem(f"{self._url} answered with HTTP {status}", "is this the address of a team's server?")
        if status in (401, 403):
            return TeamForbidden(said.message, hint=said.hint)
        if status in (429, 500, 502, 503, 504):
            return _Busy(said.message, hint=said.hint, retry_after_s=retry_after(wait))
        if status == 426:
            return TeamRefused(said.message, hint="upgrade recollect here, or the server")
        return TeamRefused(said.message, hint=said.hint)


class _Busy(TeamUnavailable):
    def __init__(self, message: str, *, hint: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s

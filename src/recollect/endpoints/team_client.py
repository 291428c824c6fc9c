"""Client of a team's server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self, TypeVar

import msgspec

from recollect.endpoints.http import Endpoint, Poster, PostOptions, checked_address, retry_after
from recollect.errors import EndpointError, EndpointUnavailable, TeamForbidden, TeamRefused, TeamUnavailable
from recollect.model.team_messages import PROTOCOL, PROTOCOL_HEADER, Joined, JoinRequest, Standing, Taken

T = TypeVar("T")
ATTEMPTS = 4
TIMEOUT_S = 60.0


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
        address = checked_address(url, key="team.url", has_secret=True, example="https://team.example.com")
        headers = {PROTOCOL_HEADER: str(PROTOCOL), **({"authorization": f"Bearer {token}"} if token else {})}
        manner = PostOptions(section="team", attempts=attempts, failure=_failure)
        self._poster = Poster(address, timeout_s=TIMEOUT_S, headers=lambda: headers, manner=manner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._poster.close()

    def join(self, asked: JoinRequest) -> Joined:
        """Use an invitation. Asked once: it holds once."""
        return self._ask("join", asked, Joined, attempts=1)

    def standing(self) -> Standing:
        """Return how far the server is with this machine."""
        return self._ask("standing", {}, Standing)

    def send(self, body: bytes) -> Taken:
        """Send a compressed batch."""
        return self._ask("batch", body, Taken)

    def ask(self, name: str, asked: msgspec.Struct | None, kind: type[T]) -> T:
        """Ask the question of a name what the team knows. kind: of the answer."""
        return self._ask(name, {} if asked is None else asked, kind)

    def leave(self) -> None:
        """Have everything of this machine withdrawn, and its token ended."""
        self._ask("leave", {}, dict[str, str])

    def _ask(self, name: str, asked: object, kind: type[T], *, attempts: int | None = None) -> T:
        try:
            return self._poster.post(f"/v1/{name}", asked, kind, attempts=attempts)
        except EndpointUnavailable as error:
            raise TeamUnavailable(str(error), hint=error.hint if error.status else "") from error
        except EndpointError as error:
            raise TeamRefused(str(error)) from error


def _failure(asked: Endpoint, status: int, headers: Mapping[str, str], data: bytes) -> Exception:
    try:
        said = msgspec.json.decode(data, type=_Refusal).error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        said = _Problem(f"{asked.url} answered with HTTP {status}", "is this the address of a team's server?")
    if status in (401, 403):
        return TeamForbidden(said.message, hint=said.hint)
    if status in (429, 500, 502, 503, 504):
        wait = retry_after(headers.get("retry-after", ""))
        return EndpointUnavailable(said.message, status=status, hint=said.hint, retry_after_s=wait)
    return TeamRefused(said.message, hint="upgrade recollect here, or the server" if status == 426 else said.hint)

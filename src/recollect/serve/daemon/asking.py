"""How the daemon of a home is, asked now: whether its lock is held, then itself, over its socket or over HTTP."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING, Literal

import msgspec

from recollect import __version__
from recollect.errors import StoreError
from recollect.memory import LiveStatus
from recollect.serve.loopback import ADDRESS
from recollect.serve.token import home_token

if TYPE_CHECKING:
    from recollect.memory import Card, Memory

ASK_S = 2.0

DaemonState = Literal["running", "failing", "not answering", "not running"]


class DaemonAnswer(msgspec.Struct, frozen=True):
    """What was found out just now.

    state: running; failing (it answers, and some of its work fails); not answering (its lock is held, but it says
    nothing); not running. page: the address of the status page that lets a browser in, "" without HTTP; it holds the
    token. is_other_version: it was started before an upgrade of this program. no_socket: why hooks and reads cannot
    ask it, "" where they can.
    """

    state: DaemonState
    home: str
    pid: int = 0
    version: str = ""
    is_other_version: bool = False
    page: str = ""
    status: LiveStatus | None = None
    no_socket: str = ""


def ask(memory: Memory) -> DaemonAnswer:
    """Find out how the daemon of a home is. Never raises for what it finds, and starts nothing."""
    home = str(memory.home)
    if not memory.live.is_alive():
        return DaemonAnswer("not running", home)
    card = memory.live.card()
    status = memory.live.status()
    if status is None and card is not None and card.port:
        status = _over_http(memory, card)
    no_socket = card.no_socket if card is not None else ""
    if status is None:
        pid, version = (card.pid, card.version) if card is not None else (0, "")
        return DaemonAnswer("not answering", home, pid, version, no_socket=no_socket)
    page = ""
    if status.url:
        try:
            page = f"{status.url}/?token={home_token(memory.home)}"
        except StoreError:
            page = status.url
    state: DaemonState = "failing" if status.failures else "running"
    is_other = status.version != __version__
    return DaemonAnswer(state, home, status.pid, status.version, is_other, page, status, no_socket)


def _over_http(memory: Memory, card: Card) -> LiveStatus | None:
    """Ask over HTTP, where the system has no sockets of the other kind."""
    connection = http.client.HTTPConnection(ADDRESS, card.port, timeout=ASK_S)
    try:
        connection.request("GET", "/status.json", headers={"Authorization": f"Bearer {home_token(memory.home)}"})
        answer = connection.getresponse()
        return msgspec.json.decode(answer.read(), type=LiveStatus) if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError, StoreError):
        return None
    finally:
        connection.close()

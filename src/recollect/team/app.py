"""The team server over HTTP: JSON in, JSON out. Stateless, so any number can run side by side; until a signal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import anyio.to_thread
import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from recollect.errors import TeamForbidden, TeamRefused, TeamUnavailable
from recollect.memory import TeamDecisionsQuestion
from recollect.model.team_messages import (
    PROTOCOL,
    PROTOCOL_HEADER,
    Joined,
    JoinRequest,
    TeamQuestion,
    TeamSessionsQuestion,
    TeamShowQuestion,
    TeamUsageQuestion,
)
from recollect.serve.loopback import listen, serve
from recollect.team.accept import MAX_BATCH_BYTES, accept, decisions, leave, standing
from recollect.team.database import TeamDatabase, audit, credential, new_token
from recollect.team.questions import search, usage
from recollect.team.sessions import members, sessions, show
from recollect.units import size

TOKEN_DAYS = 90
_RETRY_AFTER_S = "5"
_JOIN = (
    "SELECT team, person, (extract(epoch FROM expires_at) * 1e6)::bigint FROM recollect.join_team(%s, %s, %s, %s, %s)"
)


Asked = TypeVar("Asked")


class _Status(Exception):
    """A request that is refused before it is understood."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


Answer = Callable[[TeamDatabase, str, bytes], object]
"""Answers with a value, of the database, the token that was shown, and the body."""


def make_app(database: TeamDatabase) -> Starlette:
    """Return the application."""
    answers: dict[str, Answer] = {
        "join": lambda db, _token, body: _join(db, _decoded(body, JoinRequest)),
        "standing": lambda db, token, _body: standing(db, token),
        "batch": accept,
        "search": lambda db, token, body: search(db, token, _decoded(body, TeamQuestion)),
        "sessions": lambda db, token, body: sessions(db, token, _decoded(body, TeamSessionsQuestion)),
        "show": lambda db, token, body: show(db, token, _decoded(body, TeamShowQuestion)),
        "decisions": lambda db, token, body: decisions(db, token, _decoded(body, TeamDecisionsQuestion)),
        "usage": lambda db, token, body: usage(db, token, _decoded(body, TeamUsageQuestion)),
        "members": lambda db, token, _body: members(db, token),
        "audit": lambda db, token, _body: audit(db, token),
        "leave": lambda db, token, _body: {"left": leave(db, token).machine},
    }
    routes = [_route(database, name, answer) for name, answer in answers.items()]
    return Starlette(routes=[*routes, Route("/health", _health)])


async def _health(_request: Request) -> Response:
    return _json(200, {"protocol": PROTOCOL})


def _route(database: TeamDatabase, name: str, answer: Answer) -> Route:
    async def respond(request: Request) -> Response:
        try:
            _check_protocol(request)
            token = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
            if name != "join":
                credential(token)  # what is no token at all costs the database nothing
            body = await _body(request)
            value = await anyio.to_thread.run_sync(answer, database, token, body)
        except _Status as refused:
            return _problem(refused.status, str(refused))
        except ClientDisconnect:
            return _problem(400, "the request ended early")
        except TeamRefused as refused:
            return _problem(403 if isinstance(refused, TeamForbidden) else 409, str(refused), refused.hint)
        except TeamUnavailable as error:
            said = _problem(503, str(error), error.hint)
            said.headers["retry-after"] = _RETRY_AFTER_S
            return said
        return _json(200, value)

    return Route(f"/v1/{name}", respond, methods=["POST"])


def _check_protocol(request: Request) -> None:
    spoken = request.headers.get(PROTOCOL_HEADER, "")
    if spoken != str(PROTOCOL):
        raise _Status(
            426, f"this server speaks version {PROTOCOL} of the protocol, not {spoken[:20] or 'an unknown one'}"
        )


async def _body(request: Request) -> bytes:
    """Return the body. One that is too large is not read to its end."""
    too_large = _Status(413, f"a request has at most {size(MAX_BATCH_BYTES, binary=True)}")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > MAX_BATCH_BYTES:
        raise too_large
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BATCH_BYTES:
            raise too_large
    return bytes(body)


def _decoded(body: bytes, kind: type[Asked]) -> Asked:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _Status(400, f"this is not what is asked here: {error}") from error


def _join(database: TeamDatabase, asked: JoinRequest) -> Joined:
    shown = credential(asked.code)
    token, hashed = new_token(shown.team_id)
    machine = asked.machine.replace("\0", "\ufffd")
    with database.transaction() as db:
        row = db.execute(_JOIN, (shown.team_id, shown.hashed, machine, hashed, f"{TOKEN_DAYS} days")).fetchone()
    if row is None:
        raise TeamForbidden("the team knows no such invitation, or it was used", hint="ask an owner for a new one")
    team, person, expires_at = row
    return msgspec.convert(
        {"team": team, "person": person, "machine": machine, "token": token, "expires_at": expires_at}, Joined
    )


def _json(status: int, value: object) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _problem(status: int, message: str, hint: str = "") -> Response:
    return _json(status, {"error": {"message": message, "hint": hint}})


SWEEP_EVERY_S = 3600.0
MOST_AT_ONCE = 1000
"""Connections of machines and people; a body has at most 4 MiB, and few of them are large at one time."""


def serve_team(url: str, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. tell: told the address once it can be asked for. Raises TeamUnavailable,
    TeamRefused, UsageError."""
    database = TeamDatabase(url)
    ending = threading.Event()
    sweeping = threading.Thread(target=_sweep, args=(database, ending), name="retention", daemon=True)
    try:
        with listen(port, host) as bound:
            bound.listen()
            tell(f"http://{host}:{bound.getsockname()[1]}")
            sys.stdout.flush()
            sweeping.start()
            serve(make_app(database), bound, most=MOST_AT_ONCE)
    finally:
        ending.set()
        database.close()


def _sweep(database: TeamDatabase, ending: threading.Event) -> None:
    """Remove, from time to time, what teams keep no longer. Servers beside this one leave each other's rows alone."""
    while not ending.is_set():
        with suppress(TeamUnavailable):  # the next time
            database.sweep()
        ending.wait(SWEEP_EVERY_S)

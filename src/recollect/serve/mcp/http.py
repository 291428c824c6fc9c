"""MCP over streamable HTTP at `/mcp`: on this machine, with the home's token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from recollect.serve.loopback import stranger
from recollect.serve.mcp.server import MemoryServer
from recollect.serve.token import is_token

PATH = "/mcp"
MAX_BODY_BYTES = 256 * 1024
MAX_SESSIONS = 64
IDLE_S = 1800.0


class McpRoute:
    """The route, and what must run beside it: `Starlette(routes=[mcp.route], lifespan=mcp.lifespan)`."""

    def __init__(self, server: MemoryServer, token: str) -> None:
        self._token = token
        self._sessions = StreamableHTTPSessionManager(
            server.protocol,
            max_request_body_size=MAX_BODY_BYTES,
            max_sessions=MAX_SESSIONS,
            session_idle_timeout=IDLE_S,
        )
        self.route = Route(PATH, endpoint=self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, after who sends it is known."""
        request = Request(scope)
        why = stranger(request)
        if why:
            await _refused(403, why)(scope, receive, send)
        elif not is_token(request.headers.get("authorization", ""), self._token):
            refused = _refused(401, "the header Authorization must be: Bearer, and the token of this memory's home")
            refused.headers["www-authenticate"] = "Bearer"
            await refused(scope, receive, send)
        else:
            await self._sessions.handle_request(scope, receive, send)

    def lifespan(self, _app: object) -> AbstractAsyncContextManager[None]:
        """Run while the application runs: sessions of clients live in it. Once only."""
        return self._sessions.run()


def make_app(server: MemoryServer, token: str, *, listening: Callable[[], None] | None = None) -> Starlette:
    """Return an application of this route alone. listening: called once it answers."""
    mcp = McpRoute(server, token)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with mcp.lifespan(app):
            if listening is not None:
                listening()
            yield

    return Starlette(routes=[mcp.route], lifespan=lifespan)


def _refused(status: int, why: str) -> Response:
    return Response(f"{why}\n", status, media_type="text/plain")

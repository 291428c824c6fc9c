"""The pages of the daemon: its status, the same as JSON, whether it is well; and who may see them.

Programs show the token of the home; a browser is let in with it once, and keeps a cookie instead. Cookies know no
ports: another server on this machine may be sent it, so it is worth nothing but these pages, and nothing after the
daemon has ended. Nothing here changes anything, so a request that somebody else made a browser send has no effect, and
its answer is not his to read.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from recollect.serve.loopback import stranger
from recollect.serve.token import is_token
from recollect.units import count, plural, size
from recollect.visible import encode_json

if TYPE_CHECKING:
    from recollect.memory import LiveStatus, Stats

COOKIE = "recollect-pages"
_BYTES = 32
_PRIVATE = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Visitors:
    """Lets the user's own programs and browser in, and nobody else."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._secret = secrets.token_urlsafe(_BYTES)

    def refusal(self, request: Request, *, is_public: bool = False) -> Response | None:
        """Return the answer to a request that may not see a page, None where it may. is_public: no token needed.

        A page that was asked for with `?token=` sends the browser on to itself without it, with the cookie.
        """
        why = stranger(request)
        if why:
            return private(PlainTextResponse(f"{why}\n", 403))
        if is_public:
            return None
        shown = request.query_params.get("token")
        if shown is not None and is_token(f"Bearer {shown}", self._token):
            answer = RedirectResponse(request.url.path, 303)
            answer.set_cookie(COOKIE, self._secret, httponly=True, samesite="strict")
            return private(answer)
        if is_token(request.headers.get("authorization", ""), self._token):
            return None
        cookie = request.cookies.get(COOKIE, "")
        if secrets.compare_digest(cookie.encode("utf-8", "replace"), self._secret.encode()):
            return None
        text = "this page is for the owner of the memory: `recollect up --status` shows the address with the "
        "access token\n"
        refused = PlainTextResponse(text, 401)
        refused.headers["www-authenticate"] = "Bearer"
        return private(refused)


def private(response: Response) -> Response:
    """Have a browser keep an answer to itself, and run nothing in it."""
    response.headers.update(_PRIVATE)
    return response


_HERE = Path(__file__).parent
REFRESH_S = 5
"""How often a browser asks for the status page again."""
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


class Pages:
    """The routes of one daemon."""

    def __init__(self, visitors: Visitors, status: Callable[[], LiveStatus], stats: Callable[[], Stats]) -> None:
        """status, stats: asked for every page; stats reads the database."""
        self._visitors = visitors
        self._status = status
        self._stats = stats
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=select_autoescape(default=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["ago"] = ago
        self._templates.filters["bytes"] = size
        self._templates.filters["count"] = count
        self._templates.filters["plural"] = plural
        self.routes = [
            Route("/", self._page, methods=["GET"]),
            Route("/status.json", self._json, methods=["GET"]),
            Route("/style.css", self._style, methods=["GET"]),
            Route("/healthz", self._health, methods=["GET"]),
        ]

    async def _page(self, request: Request) -> Response:
        refused = self._visitors.refusal(request)
        if refused is not None:
            return refused
        html = await run_in_threadpool(self._render)
        return private(Response(html, media_type="text/html; charset=utf-8", headers={"refresh": str(REFRESH_S)}))

    async def _json(self, request: Request) -> Response:
        refused = self._visitors.refusal(request)
        if refused is not None:
            return refused
        status = await run_in_threadpool(self._status)
        return private(Response(encode_json(status), media_type="application/json"))

    async def _style(self, request: Request) -> Response:
        refused = self._visitors.refusal(request, is_public=True)
        if refused is not None:
            return refused
        return private(Response((_HERE / "templates" / "style.css").read_bytes(), media_type="text/css"))

    async def _health(self, request: Request) -> Response:
        refused = self._visitors.refusal(request, is_public=True)
        if refused is not None:
            return refused
        failing = (await run_in_threadpool(self._status)).failures
        return private(PlainTextResponse("failing\n" if failing else "ok\n", 503 if failing else 200))

    def _render(self) -> str:
        return self._templates.get_template("status.html").render(status=self._status(), stats=self._stats())


def ago(at_us: int | None, now_us: int) -> str:
    """Return how long ago, or in how long, an instant is, in the largest unit that fits."""
    if at_us is None:
        return "not yet"
    seconds = abs(now_us - at_us) // 1_000_000
    for unit, name in _UNITS:
        if seconds >= unit:
            text = plural(seconds // unit, name)
            break
    else:
        text = f"{seconds} s"
    return f"in {text}" if at_us > now_us else f"{text} ago"

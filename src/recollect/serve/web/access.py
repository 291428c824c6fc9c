"""Access to the pages: tokens, cookies, origins, and the content policy.

Programs show the token of the home. A browser is let in with it once and keeps a cookie instead. Cookies know no ports:
another server on this machine may be sent it, so it is worth nothing but these pages, and nothing after a week. An open
page survives that its server is started again. A request that changes something must show the token of the page's own
forms too, which no other page can read.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from recollect.errors import RecollectError, UnknownName, UsageError
from recollect.serve.loopback import stranger
from recollect.serve.token import is_token

COOKIE = "recollect-pages"
LASTS_S = 7 * 86_400
_PRIVATE = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # with "no-referrer" a browser says that its forms come from nowhere
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Visitors:
    """Lets the user's own programs and browser in, and nobody else."""

    def __init__(self, token: str) -> None:
        self._token = token
        self.form_token = self._signed("form")
        """In every form of these pages and nowhere else: a form that lacks it was made by somebody else's page."""

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
            rest = request.url.remove_query_params("token").query
            answer = RedirectResponse(request.url.path + (f"?{rest}" if rest else ""), 303)
            ends = str(int(time.time()) + LASTS_S)
            value = f"{ends}.{self._signed(ends)}"
            answer.set_cookie(COOKIE, value, max_age=LASTS_S, httponly=True, samesite="strict")
            return private(answer)
        if is_token(request.headers.get("authorization", ""), self._token) or self._is_valid(
            request.cookies.get(COOKIE, "")
        ):
            return None
        text = "this page is for the owner of the memory: `recollect ui` opens it, and `recollect up --status` shows "
        text += "the address with the access token\n"
        refused = PlainTextResponse(text, 401)
        refused.headers["www-authenticate"] = "Bearer"
        return private(refused)

    def route(
        self, path: str, answer: Callable[[Request], Awaitable[Response]], *, method: str = "GET",
        is_public: bool = False, expired: Callable[[], Response] | None = None,
    ) -> Route:  # fmt: skip
        """Return the route of an answer to who may see it. expired: what a person gets whose browser is not let in."""

        async def guarded(request: Request) -> Response:
            refused = self.refusal(request, is_public=is_public)
            if refused is None:
                return private(await answer(request))
            return private(expired()) if expired is not None and refused.status_code == 401 else refused

        return Route(path, guarded, methods=[method])

    def _is_valid(self, cookie: str) -> bool:
        ends, _, shown = cookie.partition(".")
        is_ours = secrets.compare_digest(shown.encode("utf-8", "replace"), self._signed(ends).encode())
        return is_ours and int(ends) > time.time()

    def _signed(self, text: str) -> str:
        """Return what only who knows the home's token can make of a text."""
        key = self._token.encode()
        return hmac.new(key, f"pages:{text}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def is_own_form(self, shown: str) -> bool:
        """Return whether a form shows the token of these pages' own forms."""
        return secrets.compare_digest(shown.encode("utf-8", "replace"), self.form_token.encode())


def status_of(error: RecollectError) -> int:
    """Return the status of the answer to what cannot be answered."""
    return 404 if isinstance(error, UnknownName) else 400 if isinstance(error, UsageError) else 503


def private(response: Response) -> Response:
    """Have a browser keep an answer to itself, and run nothing in it but the page's own script."""
    response.headers.setdefault("cache-control", "no-store")
    response.headers.update(_PRIVATE)
    return response

"""Who may see a page: programs that show the token of the home, and a browser that was let in with it once.

A browser keeps a cookie instead of the token. Cookies know no ports: another server on this machine may be sent it, so
it is worth nothing but these pages, and nothing after the daemon has ended. Nothing here changes anything, so that a
request that somebody else made a browser send has no effect, and its answer is not his to read.
"""

from __future__ import annotations

import secrets

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from recollect.serve.loopback import stranger
from recollect.serve.token import is_token

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
        text = "this page is for the owner of the memory: `recollect up --status` shows the address that lets you in\n"
        refused = PlainTextResponse(text, 401)
        refused.headers["www-authenticate"] = "Bearer"
        return private(refused)


def private(response: Response) -> Response:
    """Have a browser keep an answer to itself, and run nothing in it."""
    response.headers.update(_PRIVATE)
    return response

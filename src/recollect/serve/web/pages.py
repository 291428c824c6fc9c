"""The server of the pages: each is a function that reads the memory and names its template."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from hashlib import sha256
from itertools import count as steps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from recollect.clock import now_us
from recollect.errors import RecollectError, UnknownName, UsageError
from recollect.memory import RELATED_LABELS
from recollect.model.ids import file_name
from recollect.paths import is_demo
from recollect.serve.answer_processes import look_for_cycles_seldom
from recollect.serve.loopback import listen, serve
from recollect.serve.token import ADDRESS, home_token
from recollect.serve.web import decisions_page as decisions
from recollect.serve.web import health_page as health
from recollect.serve.web import learnings_page as learnings
from recollect.serve.web import retro_page as retro
from recollect.serve.web import search_page as search
from recollect.serve.web import session_page as session
from recollect.serve.web import settings_page as settings
from recollect.serve.web import team_page as team
from recollect.serve.web import text
from recollect.serve.web import usage_page as usage
from recollect.serve.web.access import Visitors, status_of
from recollect.serve.web.api import api_routes
from recollect.units import count, duration, plural, short_count, size, usd
from recollect.visible import encode_json, safe, safe_line

if TYPE_CHECKING:
    from recollect.memory import ExportFormat, LiveStatus, Memory

_HERE = Path(__file__).parent
_MEDIA = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_YEAR_S = 31_536_000
_HTML = "text/html; charset=utf-8"
MAX_FORM_BYTES = 64 * 1024
STEP_S = 0.2
LOOK_STEPS = 5
BEAT_STEPS = 75
"""A comment after so many steps shows whether the browser is still there."""
AGAIN_MS = 2_000
"""After which a browser whose stream broke asks again."""
View = Callable[["Memory", Request], tuple[str, dict[str, Any]]]
"""Reads the memory for a request; returns the page's template and the values in it."""
_TITLES = {404: "Not found", 400: "This cannot be asked", 503: "This could not be read"}


def _no_page(_memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    raise UnknownName("page", request.url.path)


VIEWS: dict[str, View | tuple[View, str]] = {
    "/": search.search_page,
    "/results": (search.search_page, "_results.html"),
    "/results/decided": search.decided_part,
    "/sessions": session.sessions_page,
    "/sessions/rows": (session.sessions_page, "_session_rows.html"),
    "/session/{uid:path}/event/{seq:int}": session.event_page,
    "/session/{uid:path}/events": session.transcript_part,
    "/session/{uid:path}/outline": session.outline_part,
    "/session/{uid:path}": session.session_page,
    "/usage": usage.usage_page,
    "/usage/sessions": usage.usage_sessions_page,
    "/activity": usage.activity_page,
    "/activity/sessions": usage.hour_page,
    "/decisions": decisions.decisions_page,
    "/decisions/{id:path}": decisions.chain_page,
    "/blame": decisions.blame_page,
    "/errors": retro.errors_page,
    "/errors/content": retro.errors_content,
    "/retro": retro.retro_page,
    "/retro/content": retro.retro_content,
    "/learnings": learnings.learnings_page,
    "/learnings/rows": (learnings.learnings_page, "_learning_rows.html"),
    "/learnings/{id:path}": learnings.learning_page,
    "/actions": learnings.actions_page,
    "/facts": learnings.facts_page,
    "/diary": learnings.diary_page,
    "/documents": learnings.documents_page,
    "/entry/{uid:path}": learnings.entry_page,
    "/health/checks": health.checks_page,
    "/health/checks/content": health.checks_content,
    "/health/ingest": health.ingest_page,
    "/health/storage": health.storage_page,
    "/health/secrets": health.secrets_page,
    "/settings": settings.settings_page,
    "/settings/agents": settings.agents_page,
    "/settings/agents/plan": settings.plan_page,
    "/team": team.of_team(team.team_search_page),
    "/team/sessions": team.of_team(team.team_sessions_page),
    "/team/session/{cited:path}": team.of_team(team.team_session_page),
    "/team/decisions": team.of_team(team.team_decisions_page),
    "/team/usage": team.of_team(team.team_usage_page),
    "/team/members": team.of_team(team.team_members_page),
    "/team/audit": team.of_team(team.team_audit_page),
    "/{path:path}": _no_page,
}
"""By address. With a template, a piece of a page, which the page's script asks for."""
FORMS = {
    "/": search.saved_form, "/learnings": learnings.judge, "/actions": learnings.judge, "/facts": learnings.judge_fact
}  # fmt: skip
"""What a page's form does, by the address of the page."""


class Pages:
    """The routes of one server. status: of the daemon whose pages these are; None where no daemon serves them.

    is_ending: tells whether the server is about to end.
    """

    def __init__(
        self, visitors: Visitors, memory: Memory, status: Callable[[], LiveStatus] | None = None,
        is_ending: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self._visitors = visitors
        self._memory = memory
        self._status = status
        self._is_ending = is_ending
        self._templates = _environment()
        self._is_first = True
        self._is_demo = is_demo(memory.home)
        self._static = {path.name: path.read_bytes() for path in (_HERE / "static").iterdir()}
        self._version = sha256(b"".join(body for _, body in sorted(self._static.items()))).hexdigest()[:12]
        route = visitors.route
        self.routes = [
            route("/live", self._live),
            route("/session/{uid:path}/event/{seq:int}/image/{sha256}", self._picture),
            route("/session/{uid:path}/export", self._export),
            self._text("/session/{uid:path}/find", session.find_within, "application/json"),
            self._text("/usage.csv", usage.usage_csv, "text/csv"),
            self._text("/activity.csv", usage.activity_csv, "text/csv"),
            self._page(
                "/health", lambda memory, _: ("health.html", {"status": status and status(), "stats": memory.stats()})
            ),
            route("/static/{name:path}", self._file, is_public=True),
            route("/healthz", self._health, is_public=True),
        ]
        if status is not None:
            self.routes.append(self._text("/status.json", lambda *_: encode_json(status()), "application/json"))
        self.routes += [self._form(path, act) for path, act in FORMS.items()]
        for path, view in VIEWS.items():
            self.routes.append(self._page(path, *view) if isinstance(view, tuple) else self._page(path, view))

    def _page(self, path: str, view: View, part: str = "") -> Route:
        """Return the route of a page. part: the template of a piece of it."""

        async def answer(request: Request) -> Response:
            code, html = await run_in_threadpool(self._render, view, request, part)
            first, self._is_first = self._is_first, False
            return Response(html, code, media_type=_HTML, background=BackgroundTask(self._warm) if first else None)

        return self._visitors.route(path, answer, expired=self._expired)

    def _warm(self) -> None:
        """Load what the next pages need, while the first one is read: what redacts, templates, Markdown."""
        with suppress(RecollectError):
            if self._memory.is_there():
                self._memory.redacted_value("-")
        for name in self._templates.list_templates():
            self._templates.get_template(name)
        text.markdown("-")

    def _expired(self) -> Response:
        """Return what a person reads whose browser is not let in: it was, by a server that has ended, or never."""
        html = self._templates.get_template("expired.html").render(version=self._version)
        return Response(html, 401, {"www-authenticate": "Bearer"}, _HTML)

    def _render(self, view: View, request: Request, part: str) -> tuple[int, str]:
        """Return the status and the HTML of a page. What cannot be answered is a page that says why."""
        try:
            template, values = view(self._memory, request)
        except RecollectError as error:
            code = status_of(error)
            return code, self._html("problem.html", request, title=_TITLES[code], error=error)
        return 200, self._html(part or template, request, **values)

    def _html(self, template: str, request: Request, **values: Any) -> str:
        return self._templates.get_template(template).render(
            path=request.url.path,
            version=self._version,
            now=now_us(),
            is_demo=self._is_demo,
            form_token=self._visitors.form_token,
            **values,
        )

    def _form(self, path: str, act: Callable[[Memory, dict[str, str]], None]) -> Route:
        """Return the route of a page's forms. act: does what one asks; the browser is then back where it was."""

        async def answer(request: Request) -> Response:
            body = bytearray()
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_FORM_BYTES:
                    return PlainTextResponse("this form is too large\n", 413)
            form = dict(parse_qsl(body.decode("utf-8", "replace")))
            if not self._visitors.is_own_form(form.get("form_token", "")):
                return PlainTextResponse("this form is not of this page; reload the page\n", 403)
            try:
                await run_in_threadpool(act, self._memory, form)
            except RecollectError as error:
                html = self._html("problem.html", request, title="This was not done", error=error)
                return Response(html, 400, media_type=_HTML)
            here = form.get("here", "")
            return RedirectResponse(f"{path}?{here}" if here else path, 303)

        return self._visitors.route(path, answer, method="POST")

    def _text(self, path: str, give: Callable[[Memory, Request], str | bytes], media_type: str) -> Route:
        """Return the route of what is no page: a table as CSV, or JSON."""

        async def answer(request: Request) -> Response:
            try:
                return Response(await run_in_threadpool(give, self._memory, request), media_type=media_type)
            except RecollectError as error:
                return PlainTextResponse(f"{safe_line(str(error))}\n", status_of(error))

        return self._visitors.route(path, answer)

    async def _live(self, request: Request) -> Response:
        """Tell an open page about changes: a line at once and one for every change, until the browser goes. It
        resumes such a stream by itself."""

        async def lines() -> AsyncIterator[str]:
            mark = await run_in_threadpool(self._mark)
            yield f"retry: {AGAIN_MS}\ndata: {mark}\n\n"
            for step in steps(1):
                await asyncio.sleep(STEP_S)
                if self._is_ending() or await request.is_disconnected():
                    return
                if step % LOOK_STEPS == 0:
                    before, mark = mark, await run_in_threadpool(self._mark) or mark
                    if mark != before:
                        yield f"data: {mark}\n\n"
                if step % BEAT_STEPS == 0:
                    yield ": still here\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    def _mark(self) -> str:
        """Return the memory's change mark, "" where it cannot be read now. What has changed is ingested first: where
        no daemon is at work nobody else does."""
        try:
            self._memory.refresh()
            return self._memory.browse.change_mark()
        except RecollectError:
            return ""

    async def _picture(self, request: Request) -> Response:
        uid, seq, sha256 = (request.path_params[name] for name in ("uid", "seq", "sha256"))
        try:
            session = await run_in_threadpool(self._memory.session, uid)
            picture = await run_in_threadpool(self._memory.browse.picture, session, seq, sha256)
        except RecollectError:
            picture = None
        if picture is None:
            return PlainTextResponse("not found\n", 404)
        return Response(picture.data, media_type=picture.media_type)

    async def _export(self, request: Request) -> Response:
        """Give a session out as a file, as `recollect export` does, redacted."""
        form = request.query_params.get("format", "")
        try:
            if form not in session.EXPORTS:
                raise UsageError(f"no export has the format {form!r}", hint=f"one of {', '.join(session.EXPORTS)}")
            uid = (await run_in_threadpool(self._memory.session, request.path_params["uid"])).session_uid
        except RecollectError as error:
            code = 404 if isinstance(error, UnknownName) else 400
            html = self._html("problem.html", request, title="This was not exported", error=error)
            return Response(html, code, media_type=_HTML)
        pieces = self._memory.maintenance.export_bytes(uid, format=cast("ExportFormat", form))
        name = quote(file_name(safe(uid), session.EXPORTS[form]))
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
        return StreamingResponse(pieces, 200, headers, "text/plain; charset=utf-8")

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._static:
            return PlainTextResponse("not found\n", 404)
        answer = Response(self._static[name], media_type=_MEDIA[Path(name).suffix])
        if request.query_params.get("v") == self._version:  # the name changes with the content
            answer.headers["cache-control"] = f"private, max-age={_YEAR_S}, immutable"
        return answer

    async def _health(self, _request: Request) -> Response:
        failing = (await run_in_threadpool(self._status)).failures if self._status is not None else ()
        return PlainTextResponse("failing\n" if failing else "ok\n", 503 if failing else 200)


def _environment() -> Environment:
    """Return the templates, with the filters that every text of an agent passes."""
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update({name: getattr(text, name) for name in ("ago", "when", "stamp", "clock", "iso", "span")})
    made.filters.update(highlighted=search.highlighted, href=search.href_of, citation=search.href_of_citation)
    made.filters.update(team_href=team.team_href, cache_share=usage.cache_share, coded=text.coded, safe_text=safe)
    made.filters.update(bytes=size, count=count, plural=plural, line=safe_line, usd=usd, short=short_count)
    made.filters.update(duration=duration, zip=zip)
    made.globals["labels"] = RELATED_LABELS
    return made


def daemon_address(memory: Memory) -> str:
    """Return the address of the page of a running daemon, with the access token; "" where none serves it."""
    card = memory.live.card()
    return address(card.port, home_token(memory.home)) if card is not None and card.port else ""


def serve_pages(memory: Memory, port: int, tell: Callable[[str], None]) -> None:
    """Serve the page until SIGINT or SIGTERM. tell: told the address once it can be asked for.

    port 0: any that is free. Raises UsageError where the port is taken.
    """
    token = home_token(memory.home)
    visitors = Visitors(token)
    ended = threading.Event()
    pages = Pages(visitors, memory, is_ending=ended.is_set)
    app = Starlette(routes=[*api_routes(visitors, memory), *pages.routes])
    with listen(port) as bound:
        bound.listen()  # a browser that asks before the server begins waits
        tell(address(bound.getsockname()[1], token))
        sys.stdout.flush()
        look_for_cycles_seldom()
        serve(app, bound, stopping=ended.set)


def address(port: int, token: str) -> str:
    """Return the address of the page with the access token."""
    return f"http://{ADDRESS}:{port}/?token={token}"

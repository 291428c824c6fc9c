"""The routes: each page is a function that reads the memory and names its template."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
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
from recollect.serve.web.access import Visitors, private
from recollect.serve.web.activity_page import activity_csv, activity_page, hour_page
from recollect.serve.web.blame_page import blame_page
from recollect.serve.web.decisions_page import chain_page, decisions_page
from recollect.serve.web.health_page import checks_content, checks_page, ingest_page, secrets_page, storage_page
from recollect.serve.web.learnings_page import actions_page, judge, learning_page, learnings_page
from recollect.serve.web.live import LiveStreams
from recollect.serve.web.notes_page import diary_page, documents_page, entry_page, facts_page, judge_fact
from recollect.serve.web.retro_page import errors_content, errors_page, retro_content, retro_page
from recollect.serve.web.search_page import (
    decided_part,
    highlighted,
    href_of,
    href_of_citation,
    saved_form,
    search_page,
)
from recollect.serve.web.session_page import (
    EXPORTS,
    event_page,
    find_within,
    outline_part,
    session_page,
    transcript_part,
)
from recollect.serve.web.sessions_page import sessions_page
from recollect.serve.web.settings_page import agents_page, plan_page, settings_page
from recollect.serve.web.team_page import (
    of_team,
    team_audit_page,
    team_decisions_page,
    team_href,
    team_members_page,
    team_search_page,
    team_session_page,
    team_sessions_page,
    team_usage_page,
)
from recollect.serve.web.text import coded, markdown
from recollect.serve.web.times import ago, clock, iso, span, stamp, when
from recollect.serve.web.usage_page import cache_share, usage_csv, usage_page, usage_sessions_page
from recollect.units import count, duration, plural, short_count, size, usd
from recollect.visible import encode_json, safe, safe_line

if TYPE_CHECKING:
    from recollect.memory import ExportFormat, LiveStatus, Memory

_HERE = Path(__file__).parent
_MEDIA = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_YEAR_S = 31_536_000
_HTML = "text/html; charset=utf-8"
MAX_FORM_BYTES = 64 * 1024
View = Callable[["Memory", Request], tuple[str, dict[str, Any]]]
"""Reads the memory for a request; returns the page's template and the values in it."""


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
        self._streams = LiveStreams(memory, is_ending)
        self._templates = _environment()
        self._is_first = True
        self._is_demo = is_demo(memory.home)
        self._static = {path.name: path.read_bytes() for path in (_HERE / "static").iterdir()}
        self._version = sha256(b"".join(body for _, body in sorted(self._static.items()))).hexdigest()[:12]
        self.routes = [
            self._route("/", search_page),
            self._route("/results", search_page, "_results.html"),
            self._route("/results/decided", decided_part, "_decided.html"),
            self._route("/sessions", sessions_page),
            self._route("/sessions/rows", sessions_page, "_session_rows.html"),
            Route("/live", self._live, methods=["GET"]),
            self._form("/", saved_form),
            Route("/session/{uid:path}/event/{seq:int}/image/{sha256}", self._picture, methods=["GET"]),
            self._route("/session/{uid:path}/event/{seq:int}", event_page),
            self._route("/session/{uid:path}/events", transcript_part, "_transcript.html"),
            self._route("/session/{uid:path}/outline", outline_part, "_outline.html"),
            Route("/session/{uid:path}/find", self._find, methods=["GET"]),
            Route("/session/{uid:path}/export", self._export, methods=["GET"]),
            self._route("/session/{uid:path}", session_page),
            *self._usage(),
            *self._meaning(),
            *self._learned(),
            *self._health_and_settings(),
            *self._team(),
            Route("/static/{name:path}", self._file, methods=["GET"]),
            Route("/healthz", self._health, methods=["GET"]),
        ]
        if status is not None:
            self.routes.append(Route("/status.json", self._json, methods=["GET"]))
        self.routes.append(self._route("/{path:path}", _no_page))

    def _usage(self) -> list[Route]:
        return [
            self._route("/usage", usage_page),
            self._table("/usage.csv", usage_csv),
            self._route("/usage/sessions", usage_sessions_page),
            self._route("/activity", activity_page),
            self._table("/activity.csv", activity_csv),
            self._route("/activity/sessions", hour_page),
        ]

    def _meaning(self) -> list[Route]:
        return [
            self._route("/decisions", decisions_page),
            self._route("/decisions/{id:path}", chain_page),
            self._route("/blame", blame_page),
            self._route("/errors", errors_page),
            self._route("/errors/content", errors_content),
            self._route("/retro", retro_page),
            self._route("/retro/content", retro_content),
        ]

    def _learned(self) -> list[Route]:
        return [
            self._route("/learnings", learnings_page),
            self._form("/learnings", judge),
            self._route("/learnings/rows", learnings_page, "_learning_rows.html"),
            self._route("/learnings/{id:path}", learning_page),
            self._route("/actions", actions_page),
            self._form("/actions", judge),
            self._route("/facts", facts_page),
            self._form("/facts", judge_fact),
            self._route("/diary", diary_page),
            self._route("/documents", documents_page),
            self._route("/entry/{uid:path}", entry_page),
        ]

    def _health_and_settings(self) -> list[Route]:
        return [
            self._route("/health", self._health_page),
            self._route("/health/checks", checks_page),
            self._route("/health/checks/content", checks_content),
            self._route("/health/ingest", ingest_page),
            self._route("/health/storage", storage_page),
            self._route("/health/secrets", secrets_page),
            self._route("/settings", settings_page),
            self._route("/settings/agents", agents_page),
            self._route("/settings/agents/plan", plan_page),
        ]

    def _team(self) -> list[Route]:
        return [
            self._route("/team", of_team(team_search_page)),
            self._route("/team/sessions", of_team(team_sessions_page)),
            self._route("/team/session/{cited:path}", of_team(team_session_page)),
            self._route("/team/decisions", of_team(team_decisions_page)),
            self._route("/team/usage", of_team(team_usage_page)),
            self._route("/team/members", of_team(team_members_page)),
            self._route("/team/audit", of_team(team_audit_page)),
        ]

    def _route(self, path: str, view: View, part: str = "") -> Route:
        """Return the route of a page. part: the template of a piece of it, which the page's script asks for."""

        async def answer(request: Request) -> Response:
            refused = self._visitors.refusal(request)
            if refused is not None:
                return self._expired() if refused.status_code == 401 else refused
            code, html = await run_in_threadpool(self._render, view, request, part)
            first, self._is_first = self._is_first, False
            return private(
                Response(html, code, media_type=_HTML, background=BackgroundTask(self._warm) if first else None)
            )

        return Route(path, answer, methods=["GET"])

    def _warm(self) -> None:
        """Load what the next pages need, while the first one is read: what redacts, templates, Markdown."""
        with suppress(RecollectError):
            if self._memory.is_there():
                self._memory.redacted_value("-")
        for name in self._templates.list_templates():
            self._templates.get_template(name)
        markdown("-")

    def _expired(self) -> Response:
        """Return what a person reads whose browser is not let in: it was, by a server that has ended, or never."""
        html = self._templates.get_template("expired.html").render(version=self._version)
        return private(Response(html, 401, {"www-authenticate": "Bearer"}, _HTML))

    def _render(self, view: View, request: Request, part: str) -> tuple[int, str]:
        """Return the status and the HTML of a page. What cannot be answered is a page that says why."""
        try:
            template, values = view(self._memory, request)
        except UnknownName as error:
            return 404, self._html("problem.html", request, title="Not found", error=error)
        except UsageError as error:
            return 400, self._html("problem.html", request, title="This cannot be asked", error=error)
        except RecollectError as error:
            return 503, self._html("problem.html", request, title="This could not be read", error=error)
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
            refused = self._visitors.refusal(request)
            if refused is not None:
                return refused
            body = bytearray()
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_FORM_BYTES:
                    return private(PlainTextResponse("this form is too large\n", 413))
            form = dict(parse_qsl(body.decode("utf-8", "replace")))
            if not self._visitors.is_own_form(form.get("form_token", "")):
                return private(PlainTextResponse("this form is not of this page; reload the page\n", 403))
            try:
                await run_in_threadpool(act, self._memory, form)
            except RecollectError as error:
                html = self._html("problem.html", request, title="This was not done", error=error)
                return private(Response(html, 400, media_type=_HTML))
            here = form.get("here", "")
            return private(RedirectResponse(f"{path}?{here}" if here else path, 303))

        return Route(path, answer, methods=["POST"])

    async def _live(self, request: Request) -> Response:
        refused = self._visitors.refusal(request)
        return refused or private(self._streams.answer(request))

    async def _find(self, request: Request) -> Response:
        refused = self._visitors.refusal(request)
        if refused is not None:
            return refused
        try:
            found = await run_in_threadpool(find_within, self._memory, request)
        except RecollectError as error:
            return private(PlainTextResponse(f"{safe_line(str(error))}\n", 404))
        return private(Response(encode_json(found), media_type="application/json"))

    async def _picture(self, request: Request) -> Response:
        refused = self._visitors.refusal(request)
        if refused is not None:
            return refused
        uid, seq, sha256 = (request.path_params[name] for name in ("uid", "seq", "sha256"))
        try:
            session = await run_in_threadpool(self._memory.session, uid)
            picture = await run_in_threadpool(self._memory.browse.picture, session, seq, sha256)
        except RecollectError:
            picture = None
        if picture is None:
            return private(PlainTextResponse("not found\n", 404))
        return private(Response(picture.data, media_type=picture.media_type))

    async def _export(self, request: Request) -> Response:
        """Give a session out as a file, as `recollect export` does, redacted."""
        refused = self._visitors.refusal(request)
        if refused is not None:
            return refused
        form = request.query_params.get("format", "")
        try:
            if form not in EXPORTS:
                raise UsageError(f"no export has the format {form!r}", hint=f"one of {', '.join(EXPORTS)}")
            session = await run_in_threadpool(self._memory.session, request.path_params["uid"])
        except RecollectError as error:
            code = 404 if isinstance(error, UnknownName) else 400
            html = self._html("problem.html", request, title="This was not exported", error=error)
            return private(Response(html, code, media_type=_HTML))
        pieces = self._memory.maintenance.export_bytes(session.session_uid, format=cast("ExportFormat", form))
        answer = StreamingResponse(pieces, media_type="text/plain; charset=utf-8")
        name = quote(file_name(safe(session.session_uid), EXPORTS[form]))
        answer.headers["content-disposition"] = f"attachment; filename*=UTF-8''{name}"
        return private(answer)

    def _health_page(self, memory: Memory, _request: Request) -> tuple[str, dict[str, Any]]:
        return "health.html", {"status": self._status() if self._status is not None else None, "stats": memory.stats()}

    def _table(self, path: str, table: Callable[[Memory, Request], str]) -> Route:
        """Return the route of a table as CSV."""

        async def answer(request: Request) -> Response:
            refused = self._visitors.refusal(request)
            if refused is not None:
                return refused
            try:
                return private(Response(await run_in_threadpool(table, self._memory, request), media_type="text/csv"))
            except RecollectError as error:
                return private(PlainTextResponse(f"{error}\n", 400))

        return Route(path, answer, methods=["GET"])

    async def _json(self, request: Request) -> Response:
        refused = self._visitors.refusal(request)
        if refused is not None:
            return refused
        assert self._status is not None
        return private(Response(encode_json(await run_in_threadpool(self._status)), media_type="application/json"))

    async def _file(self, request: Request) -> Response:
        refused = self._visitors.refusal(request, is_public=True)
        if refused is not None:
            return refused
        name = request.path_params["name"]
        if name not in self._static:
            return private(PlainTextResponse("not found\n", 404))
        answer = Response(self._static[name], media_type=_MEDIA[Path(name).suffix])
        if request.query_params.get("v") == self._version:  # the name changes with the content
            answer.headers["cache-control"] = f"private, max-age={_YEAR_S}, immutable"
        return private(answer)

    async def _health(self, request: Request) -> Response:
        refused = self._visitors.refusal(request, is_public=True)
        if refused is not None:
            return refused
        failing = (await run_in_threadpool(self._status)).failures if self._status is not None else ()
        return private(PlainTextResponse("failing\n" if failing else "ok\n", 503 if failing else 200))


def _no_page(_memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    raise UnknownName("page", request.url.path)


def _environment() -> Environment:
    """Return the templates, with the filters that every text of an agent passes."""
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(ago=ago, when=when, bytes=size, count=count, plural=plural, safe_text=safe, line=safe_line)
    made.filters.update(
        stamp=stamp,
        clock=clock,
        iso=iso,
        span=span,
        highlighted=highlighted,
        coded=coded,
        href=href_of,
        citation=href_of_citation,
        team_href=team_href,
    )
    made.filters.update(usd=usd, short=short_count, duration=duration, cache_share=cache_share, zip=zip)
    made.globals["labels"] = RELATED_LABELS
    return made

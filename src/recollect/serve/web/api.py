"""JSON under `/api/v1` for `curl` and scripts with the token, with an OpenAPI document.

An endpoint is a row of a table: its path, the type of its parameters, the type of its answer, and the function that
answers. The document is made from the types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, get_origin, get_type_hints

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recollect import __version__
from recollect.client import EntryRequest, SearchRequest, SessionsRequest, ShowRequest, UsageRequest
from recollect.errors import RecollectError, UnknownName, UsageError
from recollect.memory import (
    DecisionQuestion,
    DecisionsAnswer,
    EntryView,
    LearningFilter,
    Memory,
    SearchAnswer,
    SessionPage,
    SessionView,
    UsageReport,
)
from recollect.model.learnings.learnings import Learning
from recollect.serve import requests
from recollect.serve.web.access import Visitors, status_of
from recollect.serve.web.api_views import VIEWS, ApiEndpoint, named_type
from recollect.visible import encode_json

PREFIX = "/api/v1"
_LISTED = 200


class Problem(msgspec.Struct, frozen=True):
    """Why a request was not answered. code: stable, for programs."""

    code: str
    message: str
    hint: str = ""
    retryable: bool = False


class Refusal(msgspec.Struct, frozen=True):
    """The answer to a request that cannot be answered."""

    error: Problem


class Learnings(msgspec.Struct, frozen=True):
    """What was learned, the newest evidence first."""

    learnings: tuple[Learning, ...]


ENDPOINTS = (
    ApiEndpoint(
        "/search", SearchRequest, SearchAnswer, requests.search,
        "Search everything that agents did. `query` is written in the query language.",
    ),
    ApiEndpoint(
        "/sessions", SessionsRequest, SessionPage, requests.sessions,
        "List sessions, newest first.",
    ),
    ApiEndpoint(
        "/sessions/{session}", ShowRequest, SessionView, requests.show,
        "A session with a page of its events.",
    ),
    ApiEndpoint(
        "/entries/{uid}", EntryRequest, EntryView, requests.show_entry,
        "A learning, note or document.",
    ),
    ApiEndpoint(
        "/usage", UsageRequest, UsageReport, requests.usage,
        "Tokens and cost by day, session, repository, model or agent.",
    ),
    ApiEndpoint(
        "/decisions", DecisionQuestion, DecisionsAnswer,
        lambda memory, asked: memory.decisions_facet.find(asked, limit=_LISTED),
        f"What was decided, the newest first, at most {_LISTED}.",
    ),
    ApiEndpoint(
        "/learnings", LearningFilter, Learnings,
        lambda memory, asked: Learnings(tuple(memory.learn.learnings(asked))),
        "What was learned, the newest evidence first.",
    ),
    *VIEWS,
)  # fmt: skip


def api_routes(visitors: Visitors, memory: Memory) -> list[Route]:
    """Return the routes of one server."""

    def route(path: str, give: Callable[[Request], bytes]) -> Route:
        def answered(request: Request) -> tuple[int, bytes]:
            try:
                return 200, give(request)
            except RecollectError as error:
                problem = Problem(error.code, str(error), error.hint, error.retryable)
                return status_of(error), encode_json(Refusal(problem))

        async def answer(request: Request) -> Response:
            code, body = await run_in_threadpool(answered, request)
            return Response(body, code, media_type="application/json")

        return visitors.route(PREFIX + path, answer)

    def give(endpoint: ApiEndpoint, request: Request) -> bytes:
        return encode_json(endpoint.give(memory, parameters(named_type(endpoint.asked), request)))

    def unknown(request: Request) -> bytes:
        hint = f"{PREFIX}/openapi.json describes all endpoints"
        raise UnknownName("endpoint", request.url.path, hint=hint)

    return [
        route("/openapi.json", lambda _: _encoded_document()),
        *(route(endpoint.path.replace("}", ":path}"), partial(give, endpoint)) for endpoint in ENDPOINTS),
        route("/{path:path}", unknown),
    ]


def parameters(kind: type[msgspec.Struct], request: Request) -> msgspec.Struct:
    """Return the parameters of a request: those of its path and its query. A list is a parameter said again.

    Raises UsageError for one that does not exist or has another type.
    """
    listed = {name for name, hint in get_type_hints(kind).items() if get_origin(hint) is tuple}
    given: dict[str, Any] = dict(request.path_params)
    for name in request.query_params:
        if name not in kind.__struct_fields__:
            known = ", ".join(kind.__struct_fields__)
            raise UsageError(f"no parameter is called {name!r}", hint=f"the parameters are {known}")
        values = request.query_params.getlist(name)
        given[name] = values if name in listed else values[-1]
    # `repos=` of a form means any repository.
    said = {name: value for name, value in given.items() if value not in ("", [""])}
    try:
        return msgspec.convert(said, kind, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"a parameter cannot be used: {error}", hint=f"see {PREFIX}/openapi.json") from error


def document() -> dict[str, Any]:
    """Return the OpenAPI document (3.1), made from the types."""
    kinds = [Refusal, *(named_type(e.answer) for e in ENDPOINTS), *(named_type(e.asked) for e in ENDPOINTS)]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    count = len(ENDPOINTS)
    refusal, answers, asked = schemas[0], schemas[1 : count + 1], schemas[count + 1 :]
    paths = {
        endpoint.path: {"get": _operation(endpoint, components[_name(question)], answer, refusal)}
        for endpoint, answer, question in zip(ENDPOINTS, answers, asked, strict=True)
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Recollect", "version": __version__},
        "servers": [{"url": PREFIX}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


@cache
def _encoded_document() -> bytes:
    return encode_json(document())


def _operation(endpoint: ApiEndpoint, question: Mapping[str, Any], answer: Any, refusal: Any) -> dict[str, Any]:
    given = [
        {
            "name": name,
            "in": "path" if f"{{{name}}}" in endpoint.path else "query",
            "required": name in question.get("required", ()),
            "schema": schema,
        }
        for name, schema in question.get("properties", {}).items()
        if name in named_type(endpoint.asked).__struct_fields__
    ]
    refused = {"description": "Why not", "content": {"application/json": {"schema": refusal}}}
    return {
        "summary": endpoint.summary,
        "parameters": given,
        "responses": {
            "200": {"description": "The answer", "content": {"application/json": {"schema": answer}}},
            **dict.fromkeys(("400", "404", "503"), refused),
        },
    }


def _name(reference: Mapping[str, Any]) -> str:
    return str(reference["$ref"]).rpartition("/")[2]

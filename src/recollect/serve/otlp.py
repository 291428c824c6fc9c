"""The receiver of OTLP over HTTP: agents and their SDKs send traces, logs and metrics here, and it spools them.

It follows the protocol's section on HTTP: `POST /v1/traces`, `/v1/logs` and `/v1/metrics`, as protobuf or JSON, gzipped or
not; a 200 says how much was left out, a 4xx must not be sent again, a 503 should be. Nothing is parsed for the memory
here: the next sync reads the spool like any other folder.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from recollect.errors import RecollectError, SourceRefused, StoreError
from recollect.memory import SpoolFacet, Spooled
from recollect.serve.loopback import stranger

PORT = 4318
MAX_BYTES = 16 * 1024 * 1024
"""Of a request, as sent and unpacked."""
_RETRY_AFTER_S = "5"
_JSON = "application/json"
_PROTOBUF = "application/x-protobuf"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_REJECTED = {"traces": "rejectedSpans", "logs": "rejectedLogRecords", "metrics": "rejectedDataPoints"}
_INVALID_ARGUMENT, _PERMISSION_DENIED, _UNAVAILABLE = 3, 7, 14
"""Codes of google.rpc.Status."""


class _Refused(Exception):
    """A request that gets another answer than 200. status: of HTTP; code: of google.rpc.Status."""

    def __init__(self, status: int, message: str, *, code: int = _INVALID_ARGUMENT) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class _Form(NamedTuple):
    """How a request is written; its answer is written likewise."""

    media_type: str

    @property
    def is_json(self) -> bool:
        return self.media_type == _JSON


def make_app(spool: SpoolFacet) -> Starlette:
    """Return the application. It keeps everything in the spool before it answers."""

    async def take(request: Request) -> Response:
        form = _Form(_media_type(request) if _media_type(request) in (_JSON, _PROTOBUF) else _JSON)
        signal = request.path_params["signal"]
        try:
            _check(request)
            body = _unpacked(await _body(request), request.headers.get("content-encoding", ""))
            kept = await run_in_threadpool(spool.take_otlp, signal, body, is_json=form.is_json)
            if kept.rejected and not kept.accepted:
                raise _Refused(400, kept.reason)
        except _Refused as refused:
            return _failure(form, refused)
        except SourceRefused as error:
            return _failure(form, _Refused(400, str(error)))
        except ClientDisconnect:
            return _failure(form, _Refused(400, "the request broke off"))
        except RecollectError as error:
            # Whatever keeps it from being stored may pass; the sender keeps it and tries again.
            code = 503 if isinstance(error, StoreError) else 500
            return _failure(form, _Refused(code, str(error), code=_UNAVAILABLE))
        return _success(form, signal, kept)

    return Starlette(routes=[Route(f"/v1/{signal}", _bound(take, signal), methods=["POST"]) for signal in _REJECTED])


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _check(request: Request) -> None:
    why = stranger(request)
    if why:
        raise _Refused(403, why, code=_PERMISSION_DENIED)
    if _media_type(request) not in (_JSON, _PROTOBUF):
        raise _Refused(415, f"the content type must be {_PROTOBUF} or {_JSON}")
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity", "gzip"):
        raise _Refused(415, "the content encoding must be gzip or none")

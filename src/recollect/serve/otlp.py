"""Receives OTLP over HTTP: spools agents' traces, logs and metrics.

It follows the protocol's section on HTTP: `POST /v1/traces`, `/v1/logs` and `/v1/metrics`, as protobuf or JSON, gzipped
or not; a 200 says how much was left out, a 4xx must not be sent again, a 503 should be. A sender shows the receiver's
token. Nothing is parsed for the memory here: the next sync reads the spool like any other folder.
"""

from __future__ import annotations

import zlib

import anyio
import anyio.to_thread
import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from recollect.errors import SourceRefused, StoreError
from recollect.memory import Signal, Spooled, SpoolFacet
from recollect.serve.loopback import stranger
from recollect.serve.token import is_token
from recollect.units import size

MAX_BYTES = 16 * 1024 * 1024
"""Of a request, as sent and unpacked."""
_RETRY_AFTER_S = "5"
_JSON = "application/json"
_PROTOBUF = "application/x-protobuf"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_REJECTED: dict[Signal, str] = {
    "traces": "rejectedSpans",
    "logs": "rejectedLogRecords",
    "metrics": "rejectedDataPoints",
}
_INVALID_ARGUMENT, _PERMISSION_DENIED, _UNAVAILABLE, _UNAUTHENTICATED = 3, 7, 14, 16
"""Codes of google.rpc.Status."""


class _Refused(Exception):
    """A request that gets another answer than 200. status: of HTTP; code: of google.rpc.Status."""

    def __init__(self, status: int, message: str, *, code: int = _INVALID_ARGUMENT) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def make_app(spool: SpoolFacet, token: str) -> Starlette:
    """Return the application. It keeps everything in the spool before it answers."""
    one_at_a_time = anyio.CapacityLimiter(1)  # a decoded request takes many times the memory of what was sent
    return Starlette(routes=[_route(spool, signal, token, one_at_a_time) for signal in _REJECTED])


def _route(spool: SpoolFacet, signal: Signal, token: str, limiter: anyio.CapacityLimiter) -> Route:
    def keep(body: bytes, encoding: str, is_json: bool) -> Spooled:
        kept = spool.take_otlp(signal, _unpacked(body, encoding), is_json=is_json)
        if kept.rejected and not kept.accepted:
            raise _Refused(400, kept.reason)
        return kept

    async def take(request: Request) -> Response:
        is_json = _media_type(request) != _PROTOBUF
        try:
            _check(request, token)
            body, encoding = await _body(request), request.headers.get("content-encoding", "")
            kept = await anyio.to_thread.run_sync(keep, body, encoding, is_json, limiter=limiter)
        except _Refused as refused:
            return _failure(refused, is_json=is_json)
        except SourceRefused as error:
            return _failure(_Refused(413 if error.reason == "too large" else 400, str(error)), is_json=is_json)
        except ClientDisconnect:
            return _failure(_Refused(400, "the request ended early"), is_json=is_json)
        except StoreError as error:
            # Whatever keeps it from being stored may pass; the sender keeps it and tries again.
            return _failure(_Refused(503, str(error), code=_UNAVAILABLE), is_json=is_json)
        return _success(signal, kept, is_json=is_json)

    return Route(f"/v1/{signal}", take, methods=["POST"])


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _check(request: Request, token: str) -> None:
    """Raise _Refused for a request whose body is not even read."""
    why = stranger(request)
    if why:
        raise _Refused(403, why, code=_PERMISSION_DENIED)
    if not is_token(request.headers.get("authorization", ""), token):
        why = "Authorization must be `Bearer` and the receiver's token, see `recollect help receive-opentelemetry`"
        raise _Refused(401, why, code=_UNAUTHENTICATED)
    if _media_type(request) not in (_JSON, _PROTOBUF):
        raise _Refused(415, f"the content type must be {_PROTOBUF} or {_JSON}")
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity", "gzip"):
        raise _Refused(415, "the content encoding must be gzip or none")


async def _body(request: Request) -> bytes:
    """Return the body as sent. One that is too large is not read to its end."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > MAX_BYTES:
        raise _too_large()
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BYTES:
            raise _too_large()
    return bytes(body)


def _unpacked(body: bytes, encoding: str) -> bytes:
    """Return a body unpacked, never more than its limit: a small one may stand for gigabytes."""
    if encoding.strip().lower() != "gzip":
        return body
    out = bytearray()
    rest = body
    try:
        while rest:
            member = zlib.decompressobj(_GZIP_WINDOW)
            out += member.decompress(rest, MAX_BYTES + 1 - len(out))
            if len(out) > MAX_BYTES:
                raise _too_large()
            if not member.eof:
                raise _Refused(400, "the gzipped body is incomplete")
            rest = member.unused_data
    except zlib.error as error:
        raise _Refused(400, "the body is not gzipped as it says") from error
    return bytes(out)


def _too_large() -> _Refused:
    return _Refused(413, f"the request is larger than {size(MAX_BYTES, binary=True)}")


def _success(signal: Signal, kept: Spooled, *, is_json: bool) -> Response:
    """Return an Export…ServiceResponse: empty, or with what was left out. In protobuf the three are alike."""
    if not kept.rejected:
        return _answer(200, b"{}" if is_json else b"", is_json=is_json)
    if is_json:
        partial = {_REJECTED[signal]: str(kept.rejected), "errorMessage": kept.reason}
        return _answer(200, msgspec.json.encode({"partialSuccess": partial}), is_json=True)
    partial_message = _number(1, kept.rejected) + _text(2, kept.reason)
    return _answer(200, _bytes(1, partial_message), is_json=False)


def _failure(refused: _Refused, *, is_json: bool) -> Response:
    """Return a google.rpc.Status, written like the request."""
    message = str(refused)
    status = {"code": refused.code, "message": message}
    body = msgspec.json.encode(status) if is_json else _number(1, refused.code) + _text(2, message)
    answer = _answer(refused.status, body, is_json=is_json)
    if refused.status == 503:
        answer.headers["retry-after"] = _RETRY_AFTER_S
    if refused.status == 401:
        answer.headers["www-authenticate"] = "Bearer"
    return answer


def _answer(status: int, body: bytes, *, is_json: bool) -> Response:
    return Response(body, status, media_type=_JSON if is_json else _PROTOBUF)


def _number(field: int, value: int) -> bytes:
    """Return a field of protobuf that is a number: its tag and the value, seven bits a byte."""
    out = bytearray((field << 3,))
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(field: int, value: bytes) -> bytes:
    length = _number(0, len(value))[1:]
    return bytes((field << 3 | 2,)) + length + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())

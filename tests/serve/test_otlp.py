"""The receiver over real HTTP: what it keeps, what it refuses, and that an answer means that it is on the disk."""

from __future__ import annotations

import gzip
import json
import os
import signal
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from recollect.cli.main import run
from recollect.ingest import spool as spooling
from recollect.memory import Memory
from recollect.model.payloads import AssistantMessage, UserMessage
from recollect.serve import loopback
from recollect.serve.otlp import MAX_BYTES
from recollect.serve.token import home_token
from tests.serve.conftest import JSON, PROTOBUF, Receiver
from tests.serve.requests_of_otlp import SPAN, TRACE, logs, metrics, span, traces, traces_as_protobuf

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")
TRACES = "/v1/traces"
TOKEN = "token-of-a-test" * 3
BOMB = gzip.compress(b" " * (4 * MAX_BYTES))
BASE64 = ExportTraceServiceRequest(
    resource_spans=[
        ResourceSpans(
            scope_spans=[
                ScopeSpans(
                    spans=[
                        Span(
                            trace_id=bytes.fromhex(TRACE),
                            span_id=bytes.fromhex(SPAN),
                            attributes=[KeyValue(key="image", value=AnyValue(bytes_value=b"\0" * (MAX_BYTES - 1024)))],
                        )
                    ]
                )
            ]
        )
    ]
).SerializeToString()
DEEP = b'{"resourceSpans":' + b"[" * 20_000 + b"]" * 20_000 + b"}"


def test_json_is_kept_as_it_was_sent(receiver: Receiver):
    answer = receiver.post(TRACES, json.dumps(json.loads(traces()), indent=2).encode())
    assert (answer.status, answer.json, answer.headers["content-type"]) == (200, {}, JSON)
    assert receiver.lines() == [json.loads(traces())]


def test_protobuf_is_kept_as_the_json_of_otlp_with_ids_in_hex(receiver: Receiver):
    answer = receiver.post(TRACES, traces_as_protobuf(), PROTOBUF)
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"", PROTOBUF)
    kept = receiver.lines()
    assert kept == [json.loads(traces())]
    told = kept[0]["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert (told["traceId"], told["spanId"], told["kind"]) == (TRACE, SPAN, 3)


@pytest.mark.parametrize(("signal_name", "body"), [("logs", logs()), ("metrics", metrics()), ("traces", traces())])
def test_every_signal_is_kept(receiver: Receiver, signal_name: str, body: bytes):
    assert receiver.post(f"/v1/{signal_name}", body).json == {}
    assert receiver.lines() == [json.loads(body)]


@pytest.mark.parametrize(("body", "kind"), [(traces(), JSON), (traces_as_protobuf(), PROTOBUF)])
def test_a_gzipped_request_is_unpacked(receiver: Receiver, body: bytes, kind: str):
    half = len(body) // 2
    in_two_members = gzip.compress(body[:half]) + gzip.compress(body[half:])
    for packed in (gzip.compress(body), in_two_members):
        assert receiver.post(TRACES, packed, kind, content_encoding="gzip").status == 200
    assert receiver.lines() == [json.loads(traces())] * 2


def test_an_empty_request_is_fine_and_leaves_nothing(receiver: Receiver):
    assert receiver.post(TRACES, b"{}").json == {}
    assert receiver.post(TRACES, b"", PROTOBUF).body == b""
    assert receiver.lines() == []


BAD: dict[str, tuple[int, bytes, str, dict[str, str]]] = {
    "another content type": (415, traces(), "text/plain", {}),
    "no content type": (415, traces(), "", {}),
    "another encoding": (415, traces(), JSON, {"content_encoding": "br"}),
    "no JSON": (400, b'{"resourceSpans":[', JSON, {}),
    "no object": (400, b"[]", JSON, {}),
    "another signal": (400, logs(), JSON, {}),
    "lists that are none": (400, b'{"resourceSpans":{}}', JSON, {}),
    "resources that are none": (400, b'{"resourceSpans":[1]}', JSON, {}),
    "nested without end": (400, DEEP, JSON, {}),
    "no protobuf": (400, b"\x0a\xff\xff\xff", PROTOBUF, {}),
    "JSON as protobuf": (400, traces(), PROTOBUF, {}),
    "no gzip": (400, traces(), JSON, {"content_encoding": "gzip"}),
    "half a gzip": (400, gzip.compress(traces())[:-9], JSON, {"content_encoding": "gzip"}),
    "only spans without ids": (400, traces(span(spanId="")), JSON, {}),
    "too large": (413, b" " * (MAX_BYTES + 1), JSON, {}),
    "too large once unpacked": (413, BOMB, JSON, {"content_encoding": "gzip"}),
    "as protobuf small, as JSON larger than a record": (413, BASE64, PROTOBUF, {}),
    "no token": (401, traces(), JSON, {"authorization": ""}),
    "another token": (401, traces(), JSON, {"authorization": "Bearer " + "a" * 43}),
    "another scheme": (401, traces(), JSON, {"authorization": "Basic " + "a" * 43}),
    "another host": (403, traces(), JSON, {"host": "recollect.attacker.example:4318"}),
    "a host that begins like ours": (403, traces(), JSON, {"host": "127.0.0.1.attacker.example"}),
    "a page of another host": (403, traces(), JSON, {"origin": "https://attacker.example"}),
    "a page without a host": (403, traces(), JSON, {"origin": "null"}),
}


def test_bad_requests_are_refused_say_why_and_leave_nothing(receiver: Receiver):
    for what, (status, body, kind, headers) in BAD.items():
        answer = receiver.post(TRACES, body, kind, **headers)
        assert answer.status == status, what
        assert fields_of(answer.body)[2] if kind == PROTOBUF else answer.json["message"], what
    assert receiver.lines() == []
    assert receiver.post(TRACES, traces()).status == 200


def test_a_body_without_a_length_is_cut_off_at_the_limit(receiver: Receiver):
    piece = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    head = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {receiver.token}\r\n".encode()
    with receiver.connect() as connection:
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(MAX_BYTES // 0x100000 + 1):
            connection.sendall(piece)
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_other_methods_and_places_are_not_there(receiver: Receiver):
    assert receiver.ask("GET", TRACES, None, {}).status == 405
    assert receiver.post("/v1/profiles", traces()).status == 404


@pytest.mark.parametrize("host", ["localhost:4318", "127.0.0.1", "[::1]:4318", "LOCALHOST"])
def test_every_name_of_this_machine_may_be_asked(receiver: Receiver, host: str):
    assert receiver.post(TRACES, traces(), host=host, origin="http://localhost:3000").status == 200


def test_what_is_left_out_is_said_in_json(receiver: Receiver):
    answer = receiver.post(TRACES, traces(span(1), span(2, traceId="aa"), 7, span(3, spanId="0" * 16)))
    assert answer.status == 200
    partial = answer.json["partialSuccess"]
    assert (partial["rejectedSpans"], "traceId" in partial["errorMessage"]) == ("3", True)
    assert receiver.lines() == [json.loads(traces(span(1)))]


def test_what_is_left_out_is_said_in_protobuf(receiver: Receiver):
    bad = traces_as_protobuf(1, trace=b"\0" * 16)
    answer = receiver.post(TRACES, traces_as_protobuf(0) + bad, PROTOBUF)
    partial = fields_of(fields_of(answer.body)[1])
    assert (answer.status, partial[1]) == (200, 1)
    assert b"traceId" in partial[2]


def test_a_client_on_another_machine_is_refused(tmp_path: Path):
    with Memory.open(tmp_path / "home") as memory:
        got = ask_directly(memory, client="192.0.2.7")
        assert got["status"] == 403
        assert not memory.spool.otlp_folder.exists()
        assert ask_directly(memory, client="127.0.0.1")["status"] == 200


def test_a_full_disk_is_a_request_to_send_again_and_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with Memory.open(tmp_path / "home") as memory:
        assert ask_directly(memory)["status"] == 200
        path = next(memory.spool.otlp_folder.iterdir())
        before = path.read_bytes()
        write = os.write

        def half(descriptor: int, data: Any) -> int:
            if len(data) < 100:
                raise OSError(28, "No space left on device")
            return write(descriptor, data[: len(data) // 2])

        monkeypatch.setattr(os, "write", half)
        got = ask_directly(memory)
        monkeypatch.undo()
        assert (got["status"], got["headers"]["retry-after"]) == (503, "5")
        assert path.read_bytes() == before


def test_the_token_of_the_receiver_does_not_let_anybody_read_the_memory(receiver: Receiver):
    assert receiver.token != home_token(receiver.home)


def test_a_refusal_says_how_to_show_the_token_and_reads_no_body(receiver: Receiver):
    with receiver.connect() as connection:
        connection.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n")
        answer = connection.recv(1000)
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"www-authenticate: Bearer" in answer


@pytest.mark.parametrize("limit", ["MAX_SPOOL_BYTES", "MAX_SPOOL_FILES"])
def test_a_full_spool_grows_no_further_and_asks_the_sender_to_come_again(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with Memory.open(tmp_path / "home") as memory:
        assert ask_directly(memory)["status"] == 200
        (path,) = memory.spool.otlp_folder.iterdir()
        before = path.read_bytes()
        monkeypatch.setattr(spooling, limit, len(before) if limit.endswith("BYTES") else 1)
        refused = ask_directly(memory)
        assert (refused["status"], refused["headers"]["retry-after"]) == (503, "5")
        assert [p.read_bytes() for p in memory.spool.otlp_folder.iterdir()] == [before]


def test_a_large_file_of_a_day_is_followed_by_another_and_goes_once_it_is_ingested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home = tmp_path / "home"
    with Memory.open(home, env={"HOME": str(tmp_path), "RECOLLECT_HOME": str(home)}) as memory:
        monkeypatch.setattr(spooling, "MAX_PART_BYTES", 1)
        for _ in range(2):
            assert ask_directly(memory)["status"] == 200
        first, second = sorted(memory.spool.otlp_folder.iterdir(), key=lambda path: len(path.name))
        memory.sync(agents=["otel"])
        assert list(memory.spool.otlp_folder.iterdir()) == [second]
        assert ask_directly(memory)["status"] == 200
        assert not first.exists()
        memory.sync(agents=["otel"])
        assert memory.maintenance.verify().ok


def test_files_are_for_their_owner_only(receiver: Receiver):
    receiver.post(TRACES, traces())
    (path,) = receiver.spool.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(p.stat().st_mode) for p in (receiver.spool, receiver.spool.parent, receiver.home)} == {0o700}


def test_what_was_answered_outlives_a_kill(start: Callable[[], Receiver]):
    first = start()
    for number in range(5):
        assert first.post(TRACES, traces(span(number))).status == 200
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    assert first.lines() == [json.loads(traces(span(number))) for number in range(5)]


def test_half_a_line_left_by_a_kill_does_not_swallow_the_next(start: Callable[[], Receiver]):
    first = start()
    first.post(TRACES, traces())
    (path,) = first.spool.iterdir()
    first.end(signal.SIGKILL)
    with path.open("ab") as handle:
        handle.write(b'{"resourceSpans":[{"sco')
    second = start()
    assert second.post(TRACES, traces(span(1))).status == 200
    lines = b"".join(p.read_bytes() for p in sorted(second.spool.iterdir())).splitlines()
    assert [json.loads(lines[0]), json.loads(lines[-1])] == [json.loads(traces()), json.loads(traces(span(1)))]


def test_requests_at_once_are_whole_lines(receiver: Receiver):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: receiver.post(TRACES, traces(span(n))).status, range(40)))
    assert answers == [200] * 40
    names = {line["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["spanId"] for line in receiver.lines()}
    assert len(names) == 40


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_though_a_client_is_in_the_midst_of_a_request(receiver: Receiver, number: int):
    assert receiver.post(TRACES, traces()).status == 200
    with receiver.connect() as idle, receiver.connect() as half:
        half.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n")
        half.sendall(f"Authorization: Bearer {receiver.token}\r\n".encode())
        half.sendall(b"Content-Type: application/json\r\n\r\n{")
        assert receiver.end(number) == 0
        assert idle.recv(10) == b""
    assert loopback.GRACE_S < 2
    assert receiver.lines() == [json.loads(traces())]


def test_a_port_that_is_taken_is_said(receiver: Receiver, capsys: pytest.CaptureFixture[str]):
    assert run(["otlp", "--port", str(receiver.port)]) == 2
    assert f"127.0.0.1:{receiver.port}" in capsys.readouterr().err


def test_what_was_sent_becomes_events_once(receiver: Receiver):
    receiver.post(TRACES, traces(span(1)))
    receiver.post(TRACES, traces_as_protobuf(1), PROTOBUF)
    receiver.post(TRACES, gzip.compress(traces_as_protobuf(2)), PROTOBUF, content_encoding="gzip")
    with Memory.open(receiver.home) as memory:
        report = memory.sync(agents=["otel"])
        assert (report.agents["otel"].found, report.agents["otel"].defects) == (1, {})
        said = [
            e.payload.text for e in memory.events("otel:c1") if isinstance(e.payload, UserMessage | AssistantMessage)
        ]
        assert said == ["Question 1?", "Answer 1.", "Question 2?", "Answer 2."]
        receiver.post(TRACES, traces(span(1), span(3)))
        memory.sync(agents=["otel"])
        said = [e.payload.text for e in memory.events("otel:c1") if isinstance(e.payload, UserMessage)]
        assert said == ["Question 1?", "Question 2?", "Question 3?"]


def fields_of(message: bytes) -> dict[int, Any]:
    """Return the fields of a protobuf message: numbers as numbers, all else as bytes."""
    found: dict[int, Any] = {}
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            found[tag >> 3] = number()
        else:
            length = number()
            found[tag >> 3] = message[at : at + length]
            at += length
    return found


def ask_directly(memory: Memory, *, client: str = "127.0.0.1") -> dict[str, Any]:
    """Ask the application without a network, as a client of any address."""
    import asyncio

    from recollect.serve.otlp import make_app

    got: dict[str, Any] = {}
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": TRACES, "raw_path": b"", "query_string": b"",
        "root_path": "", "scheme": "http", "server": ("127.0.0.1", 4318), "client": (client, 50000),
        "headers": [
            (b"host", b"localhost"),
            (b"content-type", JSON.encode()),
            (b"authorization", b"Bearer " + TOKEN.encode()),
        ],
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": traces(), "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = {k.decode(): v.decode() for k, v in message["headers"]}
            got.update(status=message["status"], headers=headers)

    asyncio.run(make_app(memory.spool, TOKEN)(scope, receive, send))
    return got

"""Files of OTLP requests as protobuf: messages behind their lengths, and single ones."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from recollect.capture.containers.otlp import MAX_MESSAGE_BYTES, UNREADABLE, lines_of_requests, mark_of_file
from recollect.capture.otlp import request_of_protobuf, signal_of
from recollect.config import AgentConfig, Config
from recollect.errors import SourceChanged, SourceRefused
from recollect.memory import Memory
from recollect.model.payloads import UserMessage
from recollect.model.rows import Row, decode_row
from tests.serve.requests_of_otlp import traces, traces_as_protobuf


def framed(*messages: bytes) -> bytes:
    return b"".join(len(m).to_bytes(4, "big") + m for m in messages)


def mark_of(path: Path) -> bytes:
    info = os.stat(path)
    return mark_of_file(info.st_size, info.st_mtime_ns, info.st_ino)


def rows_in(path: Path) -> list[Row]:
    found = [decode_row(json.loads(line)) for line in lines_of_requests(str(path), mark_of(path))]
    assert all(row is not None for row in found)
    return [row for row in found if row is not None]


def logs_as_protobuf() -> bytes:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=1)
    record.body.string_value = "codex.user_prompt"
    return bytes(request.SerializeToString())


def metrics_as_protobuf() -> bytes:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    request = ExportMetricsServiceRequest()
    metric = (
        request.resource_metrics.add().scope_metrics.add().metrics.add(name="exactly 16 chars", description="8 chars.")
    )
    metric.sum.data_points.add(as_int=3, time_unix_nano=1)
    return bytes(request.SerializeToString())


def test_messages_behind_their_lengths_are_rows_of_their_signal(tmp_path: Path):
    path = tmp_path / "telemetry.pb"
    path.write_bytes(framed(traces_as_protobuf(), logs_as_protobuf(), metrics_as_protobuf()))
    rows = rows_in(path)
    assert [row.at for row in rows] == ["traces", "logs", "metrics"]
    assert rows[0].value == {"request": json.loads(traces())}


def test_a_single_message_needs_no_length(tmp_path: Path):
    path = tmp_path / "traces.binpb"
    path.write_bytes(traces_as_protobuf())
    assert [row.value for row in rows_in(path)] == [{"request": json.loads(traces())}]


def test_a_message_cut_at_the_end_waits_for_its_rest(tmp_path: Path):
    path = tmp_path / "traces.pb"
    whole = framed(traces_as_protobuf(1), traces_as_protobuf(2))
    for length in (len(whole) - 1, len(framed(traces_as_protobuf(1))) + 2):
        path.write_bytes(whole[:length])
        assert len(rows_in(path)) == 1


def test_fields_of_a_later_protocol_keep_their_bytes(tmp_path: Path):
    from_the_future = traces_as_protobuf() + b"\xfa\x7f\x03new"
    path = tmp_path / "traces.pb"
    path.write_bytes(framed(from_the_future))
    (row,) = rows_in(path)
    assert row.value["request"] == json.loads(traces())
    assert set(row.value) == {"request", "raw"}


@pytest.mark.parametrize("body", [b"\x0a\x03abc", b"\x0a\x00", b"hello", bytes(range(1, 64))])
def test_what_is_no_request_is_kept_as_it_stands(tmp_path: Path, body: bytes):
    assert signal_of(body) is None
    path = tmp_path / "odd.pb"
    path.write_bytes(framed(body))
    assert [row.at for row in rows_in(path)] == [UNREADABLE]


def test_a_length_beyond_the_limit_is_refused(tmp_path: Path):
    path = tmp_path / "large.pb"
    path.write_bytes(framed(traces_as_protobuf()) + (MAX_MESSAGE_BYTES + 1).to_bytes(4, "big") + b"\x0a" * 9)
    with pytest.raises(SourceRefused):
        list(lines_of_requests(str(path), mark_of(path)))


def test_a_file_that_was_written_meanwhile_is_read_later(tmp_path: Path):
    path = tmp_path / "traces.pb"
    path.write_bytes(framed(traces_as_protobuf(1)))
    mark = mark_of(path)
    path.write_bytes(framed(traces_as_protobuf(1), traces_as_protobuf(2)))
    with pytest.raises(SourceChanged):
        list(lines_of_requests(str(path), mark))


def test_a_request_of_another_signal_is_told():
    assert [found[0] for body in (logs_as_protobuf(), metrics_as_protobuf()) if (found := signal_of(body))] == [
        "logs",
        "metrics",
    ]
    with pytest.raises(SourceRefused):
        request_of_protobuf(b"\x0a\xff", "traces")


def test_a_file_that_grows_gives_what_is_new(tmp_path: Path):
    folder = tmp_path / "collector"
    folder.mkdir()
    path = folder / "traces.pb"
    config = Config(agents={"otel": AgentConfig(roots=(str(folder),))})

    def questions(memory: Memory, messages: list[bytes]) -> tuple[Any, list[str]]:
        path.write_bytes(framed(*messages))
        line = memory.sync(agents=["otel"]).agents["otel"]
        said = [e.payload.text for e in memory.events("otel:c1") if isinstance(e.payload, UserMessage)]
        return (line.new, line.changed, line.replays), said

    with Memory.open(tmp_path / "home", config=config, env={"HOME": str(tmp_path)}) as memory:
        one, two = traces_as_protobuf(1), traces_as_protobuf(2)
        assert questions(memory, [one]) == ((1, 0, 0), ["Question 1?"])
        assert questions(memory, [one, two]) == ((0, 1, 0), ["Question 1?", "Question 2?"])
        assert memory.maintenance.verify().ok

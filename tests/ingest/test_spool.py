"""Spooled requests are plain text: they go when the archive has them, and not before."""

from __future__ import annotations

from pathlib import Path

from recollect.memory import Memory

SPAN = (
    b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331",'
    b'"name":"chat m","startTimeUnixNano":"1785600000000000000","endTimeUnixNano":"1785600001000000000","attributes":['
    b'{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},'
    b'{"key":"gen_ai.conversation.id","value":{"stringValue":"c1"}}]}]}]}]}'
)


def test_a_spooled_day_goes_when_it_is_archived_and_can_be_given_back(tmp_path: Path) -> None:
    home = tmp_path / "home"
    spool = home / "spool" / "otlp"
    spool.mkdir(parents=True, mode=0o700)
    old, unfinished, newest = spool / "2026-08-01.jsonl", spool / "2026-08-02.jsonl", spool / "2999-01-01.jsonl"
    old.write_bytes(SPAN + b"\n")
    unfinished.write_bytes(SPAN.replace(b"b7ad", b"b7ae") + b"\n" + SPAN[:40])
    newest.write_bytes(SPAN.replace(b"b7ad", b"b7af") + b"\n")
    with Memory.open(home, env={"HOME": str(tmp_path), "RECOLLECT_HOME": str(home)}) as memory:
        memory.sync()
        assert (old.exists(), unfinished.exists(), newest.exists()) == (False, True, True)
        memory.sync()
        assert memory.maintenance.verify().ok
        source = next(s for s in memory.reader().sources("otel") if s.path == str(old))
        assert source.status == "gone"
        with memory.archive() as archive:
            places = [place for place, _ in memory.reader().chunks(source.source_id, source.revision)]
            assert b"".join(archive.iter_bytes(places)) == SPAN + b"\n"

"""What people may write for a time, or as the name of a file."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.cli.options import parse_when
from recollect.model.time import to_iso

NOW = datetime(2026, 8, 10, 15, 30, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-08-01", "2026-07-31T22:00:00.000Z"),
        ("2026-08-01T09:00", "2026-08-01T07:00:00.000Z"),
        ("2026-08-01 09:00", "2026-08-01T07:00:00.000Z"),
        ("2026-08-01T09:00Z", "2026-08-01T09:00:00.000Z"),
        ("2026-08-01T09:00:00+05:30", "2026-08-01T03:30:00.000Z"),
        ("today", "2026-08-09T22:00:00.000Z"),
        ("Yesterday", "2026-08-08T22:00:00.000Z"),
        ("30min", "2026-08-10T13:00:00.000Z"),
        ("12h", "2026-08-10T01:30:00.000Z"),
        ("3d", "2026-08-07T13:30:00.000Z"),
        ("2 w", "2026-07-27T13:30:00.000Z"),
        ("6mo", "2026-02-11T13:30:00.000Z"),
        ("2y", "2024-08-10T13:30:00.000Z"),
    ],
)
def test_a_time_is_understood_in_the_local_zone(text: str, expected: str) -> None:
    us = parse_when(text, NOW)
    assert us is not None
    assert to_iso(us) == expected


@pytest.mark.parametrize("text", ["", "soon", "3", "3 years", "2026-13-01", "2026-08-01T25:00", "-3d"])
def test_what_is_no_time_is_refused(text: str) -> None:
    assert parse_when(text, NOW) is None


@given(st.text(max_size=30) | st.from_regex(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(Z|[+-]\d\d\d\d)?)?", fullmatch=True))
def test_any_text_is_a_time_or_none(text: str) -> None:
    assert parse_when(text, datetime(2026, 8, 10, tzinfo=UTC)) is None or parse_when(text, NOW) is not None


def test_without_a_zone_the_system_zone_holds() -> None:
    naive = datetime(2026, 8, 10, 15, 30)
    us = parse_when("2026-08-01", naive)
    assert us == int(datetime(2026, 8, 1).astimezone().timestamp() * 1e6)


@pytest.mark.parametrize("verb", ["parse", "replay", "verify", "redact", "watch", "import", "backup", "restore"])
def test_an_empty_name_is_not_the_working_directory(verb: str, tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "RECOLLECT_HOME": str(tmp_path / "memory")}
    command = [sys.executable, "-m", "recollect", verb, ""]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "an empty name names no file" in done.stderr
    assert not (tmp_path / "memory").exists()

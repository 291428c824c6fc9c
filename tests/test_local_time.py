"""What people write and read is in the local time zone, by the rules of the machine at that date."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.cli.options import when_option
from recollect.cli.render.layout import stamp
from recollect.local_time import LOCAL
from recollect.model.time import parse_iso, parse_time
from recollect.testing.builders import ClaudeTranscript
from tests import program
from tests.cli.conftest import recollect

__all__ = ["recollect"]
WEST = "America/Los_Angeles"
needs_tzset = pytest.mark.skipif(
    not hasattr(time, "tzset"), reason="the zone of a process is set with TZ on POSIX only"
)


@pytest.fixture
def west(monkeypatch: pytest.MonkeyPatch) -> Iterator[ZoneInfo]:
    monkeypatch.setenv("TZ", WEST)
    time.tzset()
    yield ZoneInfo(WEST)
    monkeypatch.undo()
    time.tzset()


@needs_tzset
def test_the_local_zone_has_summer_and_winter_time(west: ZoneInfo) -> None:
    for day in (
        datetime(2026, 1, 15, 9),
        datetime(2026, 7, 15, 9),
        datetime(2026, 3, 8, 12),
        datetime(2026, 11, 1, 12),
    ):
        assert day.replace(tzinfo=LOCAL).utcoffset() == day.replace(tzinfo=west).utcoffset()


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)))
def test_any_instant_comes_back_from_its_local_time(at: datetime) -> None:
    instant = at.replace(tzinfo=UTC)
    local = instant.astimezone(LOCAL)
    assert abs(local.astimezone(UTC) - instant) < timedelta(days=1)
    if 1971 <= at.year < 2100:
        assert local.astimezone(UTC) == instant


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "HOME": str(tmp_path),
        "RECOLLECT_HOME": str(tmp_path / "memory"),
        "TZ": WEST,
        "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude"),
    }
    return program.run_text(*arguments, env=env, cwd=tmp_path)


@given(st.integers(0, 4_000_000_000_000_000))
def test_any_day_that_is_shown_names_a_period_with_that_instant(us: int) -> None:
    day = parse_time(stamp(us)[:10], 0, LOCAL)
    assert day is not None
    assert day.start_us <= us < day.end_us


@needs_tzset
@pytest.mark.parametrize(
    ("option", "text", "meant"),
    [
        ("after", "2026-03-01", "2026-03-01T08:00Z"),
        ("before", "2026-03", "2026-03-01T08:00Z"),
        ("since", "2026-03", "2026-03-01T08:00Z"),
        ("until", "2026-03-01", "2026-03-02T08:00Z"),
        ("until", "2026-03", "2026-04-01T07:00Z"),
        ("until", "2026-03-01T09:00", "2026-03-01T17:00Z"),
    ],
)
def test_until_includes_its_period_and_every_other_option_is_its_start(
    west: ZoneInfo, option: str, text: str, meant: str
) -> None:
    @click.command()
    @when_option(f"--{option}", "")
    def command(**given: int) -> int:
        return given[option]

    assert command.main([f"--{option}", text], standalone_mode=False) == parse_iso(meant)


@needs_tzset
def test_an_import_tells_why_in_the_time_that_was_written(tmp_path: Path) -> None:
    transcript = ClaudeTranscript(tmp_path / ".claude", "one")  # of 2026-08-01, 09:00 UTC
    transcript.user("Where is the aqueduct?")
    done = run(tmp_path, "import", "--since", "2026-08-01T05:00", "--dry-run")
    assert "(2026-08-01 02:00) is older than 2026-08-01 05:00" in done.stdout, done


@needs_tzset
def test_a_fact_begins_on_the_day_that_was_written(tmp_path: Path) -> None:
    added = run(tmp_path, "facts", "add", "shop-api", "runs_on", "Python 3.12", "--from", "2026-03-01")
    assert added.returncode == 0, added.stderr
    assert "2026-03-01" in added.stdout
    assert "2026-02-28" not in added.stdout
    [fact] = json.loads(run(tmp_path, "facts", "--json").stdout)["facts"]
    assert fact["valid_from"] == round(datetime(2026, 3, 1, tzinfo=ZoneInfo(WEST)).timestamp() * 1e6)


@needs_tzset
def test_a_query_and_an_option_mean_the_same_day(tmp_path: Path) -> None:
    project = tmp_path / ".claude" / "projects" / "-w"
    project.mkdir(parents=True)
    for number, hour in enumerate(("2026-03-01T07:59:59Z", "2026-03-01T08:00:00Z")):  # midnight in winter: 08:00 UTC
        record = {
            "type": "user", "uuid": f"0000000{number}-0000-4000-8000-000000000000", "timestamp": hour, "cwd": "/w",
            "sessionId": f"1111111{number}-0000-4000-8000-000000000000", "parentUuid": None, "isSidechain": False,
            "userType": "external", "version": "2.0.0", "message": {"role": "user", "content": f"lighthouse {number}"},
        }  # fmt: skip
        (project / f"1111111{number}-0000-4000-8000-000000000000.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    assert run(tmp_path, "sync").returncode == 0
    by_query = json.loads(run(tmp_path, "search", "--json", "lighthouse after:2026-03-01").stdout)["hits"]
    by_option = json.loads(run(tmp_path, "search", "--json", "lighthouse", "--after", "2026-03-01").stdout)["hits"]
    assert [hit["session_uid"] for hit in by_query] == [hit["session_uid"] for hit in by_option]
    assert len(by_query) == 1


@pytest.mark.parametrize("when", ["monday", "2026-11", "last week", "3m", "3mo", "3 days ago", "now"])
def test_every_form_is_accepted_wherever_a_time_is(when: str, recollect: Callable[..., Any]) -> None:
    for command in (("timeline", "--after"), ("sessions", "--before"), ("retro", "--since"), ("decisions", "--at")):
        done = recollect(*command, when)
        assert "is not a time" not in done.err, done.err
        assert done.code in (0, 1), done.err

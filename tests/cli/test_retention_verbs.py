"""`evict`, `pin` and `stats storage`, as a person runs them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome

Recollect = Callable[..., Outcome]


@pytest.fixture
def synced(history: Path, recollect: Recollect) -> list[str]:
    """Return the uids of the sample's sessions, in a memory of their own with nothing evicted."""
    assert history.exists()
    assert recollect("sync", "--json").code == 0
    return [session["session_uid"] for session in recollect("sessions", "--limit", "1000", "--json").data["sessions"]]


def configure(text: str) -> None:
    (Path(os.environ["RECOLLECT_HOME"]) / "config.toml").write_text(text)


def test_nothing_goes_below_the_caps(synced: list[str], recollect: Recollect) -> None:
    assert synced
    dry = recollect("evict", "--dry-run", "--json")
    assert (dry.code, dry.data["sessions"], dry.data["is_dry_run"]) == (0, [], True)
    assert "nothing would be evicted" in recollect("evict", "--dry-run").out
    assert "nothing had to be evicted" in recollect("evict").out


def test_what_a_dry_run_tells_is_what_goes(synced: list[str], recollect: Recollect) -> None:
    configure("[retention]\nraw_soft_cap_bytes = 0\n")
    told = recollect("evict", "--dry-run", "--json").data
    assert told["sessions"]
    assert recollect("evict", "--dry-run").out.count("above the soft cap") == len(told["sessions"])
    done = recollect("evict", "--json")
    assert done.code == 0
    assert done.data["sessions"] == told["sessions"]
    assert done.data["left_bytes"] == 0
    gone = told["sessions"][0]["session_uid"]
    assert gone in synced
    shown = recollect("show", gone, "--no-sync", "--json").data
    assert shown["session"]["evicted_at"] is not None
    assert any("raw text was evicted on" in note for note in shown["notes"])
    assert "raw text was evicted on" in recollect("show", gone, "--no-sync").out
    assert "raw text was evicted on" in recollect("digest", gone).out
    assert recollect("digest", gone, "--json").code == 0
    assert recollect("verify", "--json").data["ok"]


def test_a_pin_is_kept_listed_and_taken_back(synced: list[str], recollect: Recollect) -> None:
    uid = synced[0]
    assert recollect("pin").code == 1
    assert [pin["session_uid"] for pin in recollect("pin", uid, "--json").data["pins"]] == [uid]
    configure("[retention]\nraw_soft_cap_bytes = 0\n")
    assert uid not in {s["session_uid"] for s in recollect("evict", "--dry-run", "--json").data["sessions"]}
    listed = recollect("pin")
    assert listed.code == 0
    assert uid in listed.out
    assert recollect("pin", uid, "--remove").code == 0
    assert recollect("pin", uid, "--remove").code == 1
    assert recollect("pin", "--remove").code == 2
    assert recollect("pin", "claude:nobody").code == 2
    recollect("evict")
    assert "already evicted" in recollect("pin", uid).err


def test_what_everything_takes_is_told(synced: list[str], recollect: Recollect) -> None:
    cost = recollect("stats", "storage", "--json").data
    assert cost["sessions"] == len(synced)
    assert {line["name"] for line in cost["agents"]} == {uid.partition(":")[0] for uid in synced}
    assert sum(line["sessions"] for line in cost["repos"]) == len(synced)
    assert cost["total_bytes"] > cost["raw_bytes"] > 0
    shown = recollect("stats", "storage").out
    assert "soft cap" in shown
    assert "search index" in shown
    assert recollect("stats", "storage", "--since", "7d").code == 2

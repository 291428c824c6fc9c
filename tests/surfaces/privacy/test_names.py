"""A secret in a session's id, its folder, its branch or its working directory is shown as a marker, and still opens."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect import visible
from tests import program
from tests.cli.conftest import Outcome, recollect
from tests.privacy.planted_secrets import kinds_in

__all__ = ["recollect"]

Recollect = Callable[..., Outcome]
ID, FOLDER, CWD, BRANCH = ("gh" + "p_" + f"{first}B3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z07" for first in "AKQZ")
UID = f"claude:{ID}"
VERBS = (
    ("sync",), ("sessions",), ("search", "zebra"), ("show", UID), ("timeline",), ("digest", UID), ("decisions",),
    ("usage", "--by", "session"), ("stats",), ("verify",), ("doctor",), ("retro",), ("stats", "storage"), ("agents",),
    ("export", UID), ("sources",), ("learnings",), ("import", "--dry-run"),
)  # fmt: skip


@pytest.fixture
def transcript(isolated_home: Path, recollect: Recollect, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the transcript of a memory that has ingested it."""
    monkeypatch.setattr(visible, "_hidden", {})
    monkeypatch.chdir(isolated_home)
    path = isolated_home / ".claude" / "projects" / f"-work-{FOLDER}" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    common = {"sessionId": ID, "timestamp": "2026-10-01T10:00:00.000Z", "cwd": f"/work/{CWD}", "version": "2.0.0"}
    common["gitBranch"] = f"fix/{BRANCH}"
    said = "we decided to use the zebra because it is striped"
    answer = {"id": "m1", "role": "assistant", "model": "m", "content": [{"type": "text", "text": said}]}
    records: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u1", **common, "message": {"role": "user", "content": "where is the zebra"}},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1", **common, "message": answer},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    recollect("sync")
    return path


def secrets_in(outcome: Outcome) -> list[str]:
    return [secret for secret in (ID, FOLDER, CWD, BRANCH) if secret in outcome.out + outcome.err]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_no_verb_shows_a_secret_of_a_name(verb: tuple[str, ...], transcript: Path, recollect: Recollect) -> None:
    assert secrets_in(recollect(*verb)) == []
    assert secrets_in(recollect(*verb, "--json")) == []


@pytest.mark.parametrize("form", ["events", "claude-jsonl", "markdown", "nodes", "prov"])
def test_no_export_but_raw_shows_a_secret_of_a_name(form: str, transcript: Path, recollect: Recollect) -> None:
    done = recollect("export", UID, "--format", form, "--out", "out", "--json")
    assert secrets_in(done) == []
    (name,) = os.listdir("out")
    assert done.data["files"][0]["path"] == str(Path("out", name))
    assert ID not in name
    assert secrets_in(done._replace(out=Path("out", name).read_text("utf-8"))) == []


def test_the_name_that_is_shown_opens_the_session(transcript: Path, recollect: Recollect) -> None:
    shown = recollect("sessions", "--json").data["sessions"][0]["session_uid"]
    assert kinds_in(shown) == {"github_token"}
    events = recollect("show", shown, "--json").data["events"]
    assert [event["kind"] for event in events] == ["session_start", "user_message", "assistant_message"]
    assert recollect("search", "zebra", "--json").data["hits"][0]["session_uid"] == shown
    assert recollect("export", shown, "--out", "-").out
    raw = recollect("export", shown, "--raw", "--out", "-")
    assert raw.out.encode() == transcript.read_bytes()


def test_a_process_of_its_own_shows_no_secret_of_a_name_either(transcript: Path) -> None:
    for verb in (("search", "zebra", "--no-sync"), ("context",), ("parse", str(transcript))):
        done = program.run_text(*verb)
        assert ID not in done.stdout + done.stderr


def test_a_reveal_shows_what_it_is_asked_for(transcript: Path, recollect: Recollect) -> None:
    with transcript.open("a") as file:
        message = {"role": "user", "content": f"the token is {ID}"}
        file.write(json.dumps({"type": "user", "uuid": "u3", "sessionId": ID, "message": message}) + "\n")
    recollect("sync")
    assert ID in recollect("reveal", UID, "--yes").out

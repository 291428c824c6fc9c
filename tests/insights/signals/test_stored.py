"""Sessions as the store gives them, light, mean the same as whole ones."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from recollect import Memory
from recollect.privacy.redact import Redactor
from recollect.store import insight_feed as feeding
from recollect.store import insight_feed as light_reading
from recollect.store.insight_feed import SessionFeed
from recollect.testing.builders import ClaudeTranscript
from tests.insights.signals.stories import digest_from, signals_of

LONG = "a line of output that says nothing\n" * 100


@pytest.mark.parametrize("kept_bytes", [4 << 20, 0])
def test_a_stored_session_means_the_same_light_and_whole(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch, kept_bytes: int
) -> None:
    """However much is kept of what was read: a session with much more is read again where it is needed."""
    monkeypatch.setattr(light_reading, "_KEPT_BODIES_BYTES", kept_bytes)
    monkeypatch.setattr(feeding, "_KEPT_WHOLE_BYTES", kept_bytes)
    told = ClaudeTranscript(isolated_home / ".claude", "stored", cwd="/w/demo", branch="ABC-3")
    told.user("make it work")
    told.tool("Bash", {"command": "pytest -q"}, f"Exit code 1\n{LONG}ValueError: boom\n1 failed in 0.3s", is_error=True)
    told.tool("Bash", {"command": f"cat > x.py <<'E'\n{LONG}E\npytest -q x.py"}, f"{LONG}7 passed in 0.2s")
    told.tool("Edit", {"file_path": "/w/demo/x.py", "old_string": LONG, "new_string": "b"}, LONG, is_error=True)
    told.tool("Bash", {"command": "git commit -qm 'done'"}, LONG)
    told.assistant(LONG + "Done.")
    with Memory.open(isolated_home / "recollect") as memory:
        memory.sync()
        with memory.writing() as (_, _, _, archive, keys):
            feed = SessionFeed(memory.home, archive, Redactor(keys.marker_key))
            try:
                stored = feed.read(told.uid)
                assert stored is not None
                light = list(stored.events)
                whole = [msgspec.structs.replace(event, payload=stored.load(event).payload) for event in light]
                assert light != whole
                found = signals_of(light, load=stored.load)
                assert found == signals_of(whole)
                assert digest_from(light, stored.load) == digest_from(whole)
            finally:
                feed.close()
        memory.distilling.run(sessions=[told.uid])
        digest = memory.digest(told.uid)
    runs = [s for s in found if type(s).__name__ == "TestRun"]
    assert [(r.framework, r.passed, r.failed) for r in runs] == [("pytest", None, 1), ("pytest", 7, None)]
    assert digest is not None
    assert [s.sample for s in digest.error_snippets] == ["ValueError: boom", "a line of output that says nothing"]
    assert digest.task_ref is not None
    assert digest.task_ref.ref == "ABC-3"

"""What a memory holds that was used for a while: a file that agents edited, notes, documents, a secret."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from recollect import Memory
from recollect.memory import NewEntry, NewFact, NewLearning
from recollect.testing.builders import ClaudeTranscript

REPO = "shop"
FILE = "src/retry.py"
ASKED = "Retry the webhook at most five times. Use exponential backoff, not a fixed delay."
FIRST = "def delays():\n    return [1, 2, 4]\n"
CHANGED = "def delays():\n    return [2**number for number in range(5)]\n"
BY_HAND = "# written by hand, by nobody's agent\n"
SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA2cD4"


def write_edits(claude: Path, work: Path, suffix: str = "") -> None:
    """Write a repository with one file, and the session that wrote it, ran into an error, fixed it, and met a secret.

    suffix: ends what was said and what stands in the file.
    """
    root = work / REPO
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    file = root / FILE
    file.parent.mkdir()
    file.write_text(f"{CHANGED}{BY_HAND.rstrip()}{suffix}\n")
    session = ClaudeTranscript(claude, "shop", cwd=str(root), start=datetime.now(UTC) - timedelta(days=3))
    session.user("Write the delays between retries of the webhook.")
    session.write(str(file), FIRST)
    for attempt in range(2):
        failed = attempt == 0
        said = f"NameError: name 'delay' is not defined{suffix}" if failed else "1 passed"
        session.tool("Bash", {"command": "pytest -q tests/test_retry.py"}, said, is_error=failed)
        if failed:
            session.user(f"{ASKED}{suffix}")
            before, after = (text.splitlines()[1] for text in (FIRST, CHANGED))
            hunk = {"oldStart": 2, "oldLines": 1, "newStart": 2, "newLines": 1, "lines": [f"-{before}", f"+{after}"]}
            edit = {"file_path": str(file), "old_string": before, "new_string": after}
            noted = {"filePath": str(file), "oldString": before, "newString": after, "structuredPatch": [hunk]}
            session.tool("Edit", edit, "edited", toolUseResult=noted)
    session.assistant(f"The token in .env is {SECRET}; keep it out of the code.")


def write_notes(memory: Memory, folder: Path, suffix: str = "") -> None:
    """Add facts, a diary entry, an action and a document. suffix: ends what they say."""
    facts = memory.notes.facts
    facts.add(NewFact(subject="shop", predicate="runs_on", object=f"PostgreSQL 17{suffix}", repo=REPO))
    old = facts.add(NewFact(subject="shop", predicate="deployed_by", object="hand", repo=REPO)).fact
    facts.end(old.id)
    memory.notes.diary.write(
        NewEntry(
            agent="claude", text=f"The **webhook** retries five times now.{suffix}", repo=REPO, topic="webhook",
            decided=("exponential backoff",), left_pending=("measure it",),
        )
    )  # fmt: skip
    memory.learn.add(
        NewLearning(kind="action", text=f"Measure the retries of the webhook.{suffix}", repo=REPO, scope="repo")
    )
    folder.mkdir(parents=True)
    (folder / "webhook.md").write_text(f"# Webhook\n\nIt answers within ten seconds.{suffix}\n")
    memory.documents.add(folder, collection="handbook")

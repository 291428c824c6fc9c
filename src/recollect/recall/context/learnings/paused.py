"""One line where a model that was to be asked about sessions cannot be: nobody looks at a log."""

from __future__ import annotations

from recollect.model.text import one_line
from recollect.recall.context.sources import Asked
from recollect.store.recent import TOLD_NOTE

REASON_CHARS = 120


def notice(asked: Asked) -> str:
    """Return the line, "" where nothing is held up. `insights.learnings.queue.pause` says what is worth a line."""
    reason = asked.reader.learning_note(TOLD_NOTE).decode("utf-8", "replace")
    return f"Recollect: learning is paused: {one_line(reason, REASON_CHARS)}; see `recollect doctor`." if reason else ""

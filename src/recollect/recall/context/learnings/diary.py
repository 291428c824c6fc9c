"""What this agent wrote into its diary about this repository: the newest entries, the newest last."""

from __future__ import annotations

from recollect.model.time import day_of
from recollect.recall.context.learnings.learnings import quotable
from recollect.recall.context.sources import Asked, Candidate, Found
from recollect.store.recent import RecentDiary

TEXT_CHARS = 200
PART_CHARS = 120


class DiaryHere:
    """The newest entries of the agent's diary about the folder or about nothing in particular."""

    name = "diary"
    heading = "From this agent's diary (newest last):"

    def candidates(self, asked: Asked) -> Found:
        """Return a line for each of the newest entries. Without an agent: of all agents."""
        entries, total = asked.reader.diary_in(asked.folder, agent=asked.agent, limit=max(1, asked.room // 5))
        lines = [_line(entry, asked, 0.6 + 0.35 * place / len(entries)) for place, entry in enumerate(entries, 1)]
        return Found(lines, total - len(entries))


def _line(entry: RecentDiary, asked: Asked, worth: float) -> Candidate:
    who = "" if asked.agent else f" {entry.agent}"
    topic = f" ({quotable(entry.topic, 60)})" if entry.topic else ""
    text = f"{day_of(entry.written_at)}{who}{topic}: “{quotable(entry.text, TEXT_CHARS)}”"
    parts = (("decided", entry.decided), ("discovered", entry.discovered), ("left pending", entry.left_pending))
    for name, said in parts:
        if said:
            text += f"; {name}: “{quotable('; '.join(said), PART_CHARS)}”"
    return Candidate(text, f"diary:{entry.id}", entry.written_at, worth)

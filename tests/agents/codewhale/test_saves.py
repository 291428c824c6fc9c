"""A session as CodeWhale saves it, turn by turn, with checkpoints, undos, compactions and a journal.

Whichever of the saves were seen, no prompt is there that nobody typed, and no rewind that nobody made.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

from recollect.config import AgentConfig, Config
from recollect.memory import Memory
from recollect.model.payloads import Rewind, UserMessage
from recollect.store.insight_feed import SessionFeed
from tests.agents.codewhale.documents import SESSION, document, entry, message

Journal = Literal["none", "fresh", "grown"]
"""fresh: made anew of the messages with every save, as the interface does. grown: with branches and compactions."""
LONG = "Please run the whole test suite again and tell me what fails, with the names of all the tests."
STEPS = 14


class Session:
    """What CodeWhale holds of a session under way, and what it writes."""

    def __init__(self, random: Random, journal: Journal, summary: Literal["message", "prompt"]) -> None:
        self._random = random
        self._journal = journal
        self._summary = summary
        self._messages: list[dict[str, Any]] = []
        self._entries: list[dict[str, Any]] = []
        self._leaf = ""
        self._prompt = "Be kind."
        self.minutes = 0
        self.typed: list[str] = []
        self.undos = 0
        self.is_answered = True

    def step(self) -> None:
        """Let one thing happen."""
        self.minutes += 1
        if not self.is_answered:
            self._add("assistant", self._random.choice(("Done.", f"Done: number {self.minutes}, and all tests pass.")))
            self.is_answered = True
            return
        match self._random.choice(("ask", "ask", "ask", "undo", "compact")) if self._messages else "ask":
            case "undo":
                self._undo()
            case "compact":
                self._compact()
            case _:
                # Which of two equal messages a branch holds, a journal doesn't tell.
                again = LONG if self._journal != "grown" else f"{LONG} Number {self.minutes}."
                text = self._random.choice(("yes", "continue", again, f"Do {self.minutes}."))
                self.typed.append(text)
                self._add("user", text)
                self.is_answered = False

    def saved(self) -> str:
        """Return the document that is written now."""
        entries, leaf = self._entries, self._leaf
        if self._journal == "fresh":
            entries, leaf = [], ""
            for at, said in enumerate(self._messages):
                entries.append(entry(f"{self.minutes}-{at}", leaf, message=said))
                leaf = f"{self.minutes}-{at}"
        kept = {"entries": entries, "leaf": leaf} if self._journal != "none" else {}
        at = f"2026-08-01T10:{self.minutes:02}:00Z"
        return json.dumps(document(self._messages, system_prompt=self._prompt, updated_at=at, **kept))

    def _add(self, role: str, text: str) -> None:
        self._messages = [*self._messages, message(role, text)]
        self._append("message", message=self._messages[-1])

    def _append(self, kind: str, **fields: Any) -> None:
        self._entries = [*self._entries, entry(f"e{len(self._entries)}", self._leaf, kind, **fields)]
        self._leaf = self._entries[-1]["id"]

    def _undo(self) -> None:
        asked = [at for at, said in enumerate(self._messages) if said["role"] == "user"]
        if asked:
            parents = {one["id"]: one["parent_id"] for one in self._entries}
            for _ in self._messages[asked[-1] :]:
                self._leaf = parents[self._leaf] or ""
            self._messages = self._messages[: asked[-1]]
            self.undos += 1

    def _compact(self) -> None:
        kept = [said for said in self._messages if said["role"] != "system"]
        kept = kept[len(kept) - self._random.randint(0, min(4, len(kept))) :]
        while kept and len(kept[0]["content"][0]["text"]) <= 64:
            kept = kept[1:]  # a short message that stands first is renamed, see README.md
        said = f"Number {self.minutes}: much was done."
        self._append("compaction", summary=said)
        if self._summary == "message":
            self._messages = [message("system", f"[compaction summary] {said}")]
        else:
            self._messages = []
            self._prompt = f"Be kind.\n<!-- compaction-summary:begin -->\n{said}\n<!-- compaction-summary:end -->"
        for one in kept:
            self._messages.append(one)
            self._append("message", message=one)


@pytest.mark.parametrize(("journal", "summary"), [("none", "prompt"), ("fresh", "message"), ("grown", "message")])
@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("seed", range(2))
def test_whichever_saves_were_seen_nothing_is_told_that_did_not_happen(
    journal: Journal, summary: Literal["message", "prompt"], share: float, seed: int, tmp_path: Path
) -> None:
    random = Random(f"{journal} {share} {seed}")
    session = Session(random, journal, summary)
    folder = tmp_path / "root/sessions"
    (folder / "checkpoints").mkdir(parents=True)
    checkpoint = folder / f"checkpoints/{SESSION}.json"
    config = Config(agents={"codewhale": AgentConfig(roots=(str(tmp_path / "root"),))})
    with Memory.open(tmp_path / "home", config=config, env={"HOME": str(tmp_path)}) as memory:
        for step in range(STEPS):
            session.step()
            if session.is_answered:
                (folder / f"{SESSION}.json").write_text(session.saved())
                checkpoint.unlink(missing_ok=True)
            else:
                checkpoint.write_text(session.saved())
            if random.random() < share or step == STEPS - 1:
                memory.sync()
    feed = SessionFeed(tmp_path / "home", None, None)
    told = feed.read(f"codewhale:{SESSION}")
    assert told is not None
    events = told.events
    feed.close()
    prompts = [e.payload.text for e in events if isinstance(e.payload, UserMessage) and e.role == "user"]
    assert Counter(prompts) <= Counter(session.typed)
    assert {*session.typed} <= {*prompts} or share < 1
    assert len([e for e in events if isinstance(e.payload, Rewind)]) <= session.undos

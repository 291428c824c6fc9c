"""Ten agents at work at once: each a thread that writes its transcript as its product does, a record at a time."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path

from recollect.hook.event_file import keep
from recollect.testing.builders import ClaudeTranscript, CodexRollout

AGENTS = 10
TURN_S = 0.4
"""An agent begins a turn so often; ten of them come to a busy working day's records in about three minutes."""
_WORDS = "parser cache session index retry build token query merge branch layout commit socket buffer".split()


class Agent:
    """One agent. written: what its person said, in order, which is what must be found again."""

    def __init__(self, folder: Path, number: int, spool: Path) -> None:
        self._chance = random.Random(number)
        self._spool = spool
        self._number = number
        self.written: list[str] = []
        self.claude = ClaudeTranscript(folder / "claude", f"live{number}", cwd=f"/w/p{number}") if number < 6 else None
        self.codex = None if self.claude else CodexRollout(folder / "codex", f"live{number}", cwd=f"/w/p{number}")

    @property
    def uid(self) -> str:
        """Of its session."""
        return (self.claude or self._codex()).uid

    @property
    def path(self) -> Path:
        """Of its transcript."""
        return (self.claude or self._codex()).path

    def say(self, text: str) -> None:
        """Let its person say something."""
        self.written.append(text)
        if self.claude is not None:
            self.claude.user(text)
        else:
            self._codex().turn(text, "I look at it.")

    def turn(self) -> None:
        """Write a turn: a question, some tool calls with their output, an answer; the hooks tell of the question."""
        text = f"question {len(self.written)} of agent {self._number} about {self._chance.choice(_WORDS)}"
        self.say(text)
        if self.claude is None:
            return
        told = {"hook_event_name": "UserPromptSubmit", "session_id": self.claude.session, "cwd": self.claude.cwd,
                "transcript_path": str(self.claude.path), "prompt": text}  # fmt: skip
        keep(str(self._spool), "claude", json.dumps(told).encode())
        for _ in range(self._chance.randrange(1, 5)):
            output = " ".join(self._chance.choices(_WORDS, k=self._chance.randrange(20, 800)))
            self.claude.tool("Bash", {"command": f"make {self._chance.choice(_WORDS)}"}, output)
        self.claude.assistant(f"answer {len(self.written)}: we use the {self._chance.choice(_WORDS)} for that")

    def _codex(self) -> CodexRollout:
        assert self.codex is not None
        return self.codex


class Traffic:
    """All of them, from entering to leaving the block."""

    def __init__(self, folder: Path, spool: Path) -> None:
        self.agents = [Agent(folder, number, spool) for number in range(AGENTS)]
        self.turn_lock = [threading.Lock() for _ in self.agents]
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(AGENTS)]

    def __enter__(self) -> Traffic:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _work(self, number: int) -> None:
        time.sleep(number * TURN_S / AGENTS)
        while not self._is_over.wait(TURN_S):
            with self.turn_lock[number]:
                self.agents[number].turn()

    def records(self) -> int:
        """Return how many records all of them wrote."""
        return sum(agent.path.read_bytes().count(b"\n") for agent in self.agents)

    def size_bytes(self) -> int:
        """Return how much that is."""
        return sum(agent.path.stat().st_size for agent in self.agents)

"""A replayed day of real sessions: what is learned, whether its evidence is there, and what the next session is given.

Before each session comes in, the block for a start in its folder is made; when it has come in, every line of the block
is looked for in it: a line was used where the agent names its session, or something that only the line named. Agents
name many things anyway, so the same lines are also held against the session after that one: what is found there is
chance. These agents never saw the blocks, so this says what a block foresaw, not what it did.
"""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from benchmarks.learning.replayed import Replay, Transcript, transcripts
from benchmarks.support.measuring import percentile
from benchmarks.support.places import Places
from benchmarks.support.results import Section
from recollect import Memory
from recollect.config import Config
from recollect.memory import ContextBlock
from recollect.model.events import Event
from recollect.model.payloads import AssistantMessage, ToolCall, UserMessage
from recollect.model.text import flatten, searchable

QUICK = 12
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:-]{3,}[A-Za-z0-9_]")
_CITATION = re.compile(r" \[([^\]\s]+#\d+)\]")


class Used:
    """Counts lines of blocks, and how many of them a session names."""

    def __init__(self) -> None:
        self.lines = 0
        self.used = 0

    def take(self, block: ContextBlock, events: list[Event]) -> None:
        """Hold the lines of a block against what was said and done in a session."""
        asked = "\n".join(e.payload.text for e in events if isinstance(e.payload, UserMessage))
        done = "\n".join(_done(events))
        for line in block.lines:
            self.lines += 1
            uids = {citation.partition("#")[0] for citation in _CITATION.findall(line)}
            names = {n for n in _NAME.findall(_CITATION.sub("", line)) if _is_name(n) and n not in asked}
            self.used += any(word in done for word in uids | names)

    def share(self) -> float | None:
        """Return the used share of all lines, None where there was none."""
        return round(self.used / self.lines, 3) if self.lines else None


def measure(at: Places, *, is_quick: bool = False) -> Section:
    """Replay the day; returns one section."""
    chosen = transcripts(at, most=QUICK if is_quick else None)
    home, folder = at.home("learning-day"), at.cache / "corpora" / "replayed-day"
    shutil.rmtree(home, ignore_errors=True)
    replay = Replay(at, folder, chosen)
    with Memory.open(home, config=Config(agents=replay.agents())) as memory:
        figures = _replay(memory, replay, chosen)
        figures |= _learned(memory)
    shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    return Section("learning/day", "Learning: a replayed day of real sessions", figures, render(figures))


def _replay(memory: Memory, replay: Replay, chosen: list[Transcript]) -> dict[str, Any]:
    foreseen, by_chance = Used(), Used()
    blocks: list[ContextBlock] = []
    before: ContextBlock | None = None
    asked = 0
    source_bytes = 0
    started = time.perf_counter()
    learn_s = 0.0
    for number, one in enumerate(chosen):
        block = memory.context(cwd=one.cwd) if one.cwd and not one.is_side else None
        source_bytes += replay.put(number, one)
        report = memory.sync()
        learn_s += report.stage_seconds.get("learn", 0.0)
        if block is None:
            continue
        asked += 1
        events = list(memory.events(f"claude:{one.session}")) if one.session and _is_there(memory, one) else []
        if before is not None and events:
            by_chance.take(before, events)
        before = None
        if block.text:
            blocks.append(block)
            if events:
                foreseen.take(block, events)
                before = block
    tokens, lines = [b.tokens for b in blocks], [len(b.lines) for b in blocks]
    return {
        "transcripts": len(chosen),
        "mb": round(source_bytes / 1e6, 1),
        "seconds": round(time.perf_counter() - started, 1),
        "learn_cpu_seconds": round(learn_s, 2),
        "blocks": {
            "asked": asked,
            "given": len(blocks),
            "tokens_p50": percentile(tokens, 0.5) if tokens else 0,
            "tokens_p95": percentile(tokens, 0.95) if tokens else 0,
            "lines_p50": percentile(lines, 0.5) if lines else 0,
            "lines_p95": percentile(lines, 0.95) if lines else 0,
            "left_out": sum(b.left_out for b in blocks),
            "lines_looked_for": foreseen.lines,
            "used": foreseen.share(),
            "by_chance": by_chance.share(),
        },
    }


def _is_there(memory: Memory, one: Transcript) -> bool:
    found = memory.reader().session(f"claude:{one.session}")
    return found is not None and found.session_uid == f"claude:{one.session}"


def _learned(memory: Memory) -> dict[str, Any]:
    """Return what was learned, and how much of what it rests on is there and says it."""
    learnings = memory.learn.learnings()
    pieces = there = quoted = 0
    for learning in learnings:
        for seen in memory.learn.why(learning.id).evidence:
            if seen.is_revoked:
                continue
            pieces += 1
            there += seen.event is not None
            quoted += seen.event is not None and _says(seen.event, seen.evidence.quote)
    given = [one for one in learnings if one.state in ("active", "confirmed")]
    return {
        "learnings": len(learnings),
        "by_kind": dict(sorted(Counter(f"{one.kind}/{one.status}" for one in learnings).items())),
        "by_state": dict(sorted(Counter(one.state for one in learnings).items())),
        "given_sessions": len({e.session_uid for one in given for e in one.evidence}),
        "evidence": {"pieces": pieces, "resolve": there, "say_the_quote": quoted},
    }


def _says(event: Event, quote: str) -> bool:
    """Tell whether an event holds every word of a quote; what was left out of it is marked with an ellipsis."""
    text = " ".join(f"{searchable(event.payload)[1]} {flatten(event.payload)}".split())
    return all(word in text for piece in re.split(r"…|\.\.\.", quote) for word in piece.split())


def _done(events: Iterable[Event]) -> Iterable[str]:
    for event in events:
        if isinstance(event.payload, AssistantMessage):
            yield event.payload.text
        elif isinstance(event.payload, ToolCall):
            yield flatten(event.payload.arguments)


def _is_name(word: str) -> bool:
    """Tell a name from a word: it has a sign, a digit or a capital inside."""
    return any(c in "_./:-" or c.isdigit() for c in word) or word[1:] != word[1:].lower()


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    blocks, evidence = figures["blocks"], figures["evidence"]
    lines = [
        f"{figures['transcripts']} transcripts, {figures['mb']} MB, taken in one after the other in "
        f"{figures['seconds']} s; learning took {figures['learn_cpu_seconds']} s of processor time of that.",
        "",
        "| figure | measured | bar |",
        "|---|--:|---|",
        f"| learnings | {figures['learnings']} | |",
        *(f"| … {kind} | {count} | |" for kind, count in figures["by_kind"].items()),
        *(f"| … that are {state} | {count} | |" for state, count in figures["by_state"].items()),
        f"| sessions that gave any | {figures['given_sessions']} | |",
        f"| evidence that resolves | {evidence['resolve']} of {evidence['pieces']} | all |",
        f"| … and has every word of its quote | {evidence['say_the_quote']} of {evidence['pieces']} | |",
        f"| sessions given a block at their start | {blocks['given']} of {blocks['asked']} | |",
        f"| LLM tokens of a block, p50, p95 | {blocks['tokens_p50']}, {blocks['tokens_p95']} | |",
        f"| lines of a block, p50, p95 | {blocks['lines_p50']}, {blocks['lines_p95']} | |",
        f"| lines left out for want of room | {blocks['left_out']} | |",
        f"| share of {blocks['lines_looked_for']} lines that the session then names | {_percent(blocks['used'])} | |",
        f"| … that the session after it names: chance | {_percent(blocks['by_chance'])} | |",
    ]
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "none was given" if share is None else f"{share:.1%}"

"""The conformance suite: what every adapter must do with its fixtures, through a real memory.

Runnable from outside by `recollect conformance MODULE FIXTURES` and from tests by `check_fixture`. Each rule can fail;
what it found is a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.guard import RAISED, GuardedAdapter
from recollect.agents.registry import adapter as find_adapter
from recollect.agents.registry import adapters
from recollect.config import AgentConfig, Config, DistillConfig, FormatConfig
from recollect.memory import Memory
from recollect.model.events import Event
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    Rewind,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import ZSTD_SUFFIXES
from recollect.model.sessions import Session
from recollect.model.text import flatten
from recollect.model.usage import UsageTotals
from recollect.testing.fixtures import WAYS, Cut, Fixture, Saves, fixtures_in, lay_out

FUTURE_TYPE = "from_the_future"
FUTURE_FIELD = "novelty"
_INTERRUPTIONS = ("interrupted", "turn_aborted", "aborted", "cancelled", "abort")
_REWRITTEN = ("snapshot", "sqlite", "directory")
"""Containers of which a save may tell another state of the session beside its conversation."""
_MANY = 1000


class FixtureOutcome(msgspec.Struct):
    """What a fixture gave and what is wrong with it. events: by session, in order."""

    fixture: str
    problems: list[str]
    sessions: list[Session]
    events: dict[str, list[Event]]
    drift: list[str]

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of event that came."""
        return frozenset(event.kind for events in self.events.values() for event in events)

    @property
    def main(self) -> list[Event]:
        """The events of the session that tells the story: the one that branched off last, no subagent."""
        told = [s for s in self.sessions if not s.parent_session] or self.sessions
        told.sort(key=lambda s: (bool(s.forked_from), len(shape_of(self.events[s.session_uid])), s.session_uid))
        return self.events[told[-1].session_uid] if told else []


def check_fixture(fixture: Fixture, work: Path) -> FixtureOutcome:
    """Take a fixture into a new memory below `work` and apply every rule; `Outcome.problems` is what broke."""
    return check_fixtures([fixture], work)[0]


def check_fixtures(fixtures: Sequence[Fixture], work: Path) -> list[FixtureOutcome]:
    """Check fixtures, each of another agent, together in one memory: that is much faster than one by one."""
    roots = {fixture.agent: work / "root" / fixture.agent for fixture in fixtures}
    files = {fixture.agent: lay_out(fixture, roots[fixture.agent]) for fixture in fixtures}
    with _memory(work / "home", *roots.items()) as memory:
        report = memory.sync(agents=list(roots))
        outcomes = [_read(fixture, memory) for fixture in fixtures]
        losses = [f"verify: {d.code} {d.detail}" for d in memory.maintenance.verify().defects if d.is_loss]
        for fixture, outcome in zip(fixtures, outcomes, strict=True):
            root, made = roots[fixture.agent], files[fixture.agent]
            out = outcome.problems
            out += [f"not taken: {Path(s.path).name} {s.reason}" for s in report.agents[fixture.agent].skipped]
            out += _raised(memory, root)
            out += _untaken(memory, root, made)
            out += _falling(memory, outcome)
            out += losses
            out += _inexact(memory, made)
        again = memory.sync(agents=list(roots)).agents
        responses = {row.key: row.totals.responses for row in memory.usage.report(by="agent").rows}
        memory.maintenance.rebuild("all")
        anew = [_read(fixture, memory) for fixture in fixtures]
    for fixture, outcome, derived in zip(fixtures, outcomes, anew, strict=True):
        if again[fixture.agent].bytes or again[fixture.agent].events:
            outcome.problems.append("a second sync ingested something again")
        outcome.problems += _by_itself(fixture, outcome, responses.get(fixture.agent, 0))
        if derived.events != outcome.events:
            outcome.problems.append("a rebuild from the archive gave other events")
    return outcomes


def _by_itself(fixture: Fixture, outcome: FixtureOutcome, responses: int) -> Iterator[str]:
    """Hold what came against the rules that need no memory."""
    yield from _ids_and_order(outcome)
    for session in outcome.sessions:
        yield from rewind_problems(outcome.events[session.session_uid])
    declared = frozenset(find_adapter(fixture.agent).facts.capabilities.kinds)
    # An inferred rewind comes from the pipeline, for every agent that rewrites.
    yield from (f"the kind {kind} is not declared" for kind in sorted(outcome.kinds - declared - {"rewind"}))
    yield from differences(shape_of(outcome.main), fixture.scenario)
    rule = _RULES.get(fixture.scenario)
    if rule is not None:
        yield from rule(outcome, responses)


Meaning = Mapping[str, Mapping[str, object]]
"""What the sessions of a home come to, by uid and by what it is."""


def check_growth(
    fixtures: Sequence[Fixture],
    work: Path,
    meaning: Callable[[Path], Meaning] = lambda _home: {},
    cuts: Mapping[str, Cut] = MappingProxyType({}),
) -> list[list[str]]:
    """Let the files of fixtures, each of another agent, grow in steps, with a sync after each.

    What is remembered must be what one pass gives. Return the problems of each fixture.
    See `Saves` for the steps. Several sources also come one after the other, in both orders. Compared are the events of
    files of lines, and whatever `meaning` makes of a home. Seqs may differ. cuts: by agent.
    """
    roots = {fixture.agent: work / "whole" / fixture.agent for fixture in fixtures}
    files = {fixture.agent: lay_out(fixture, roots[fixture.agent]) for fixture in fixtures}
    with _memory(work / "home-whole", *roots.items()) as memory:
        memory.sync(agents=list(roots))
        whole = {fixture.agent: _named(_read(fixture, memory)) for fixture in fixtures}
        containers = {s.path: s.container for s in memory.reader().sources()}
    below = {agent: f"{root}/" for agent, root in roots.items()}
    is_rewritten = {
        agent: any(c.startswith(_REWRITTEN) for path, c in containers.items() if f"{path}/".startswith(below[agent]))
        for agent in roots
    }
    meant = meaning(work / "home-whole")
    out: dict[str, list[str]] = {agent: [] for agent in roots}
    saves = [
        Saves(root, files[agent], containers, find_adapter(agent).facts, cuts.get(agent))
        for agent, root in roots.items()
    ]
    for way in WAYS if any(len(one.sources) > 1 for one in saves) else WAYS[:1]:
        grown, home = {agent: work / way / "grown" / agent for agent in roots}, work / way / "home"
        with _memory(home, *grown.items()) as memory:
            for _ in zip_longest(*(one.steps(grown[one.facts.slug], way) for one in saves)):
                memory.sync(agents=list(roots))
            pieces = {fixture.agent: _named(_read(fixture, memory)) for fixture in fixtures}
        found = meaning(home)
        for agent, problems in out.items():
            changed = [*_differing(agent, meant, found)]
            if not is_rewritten[agent]:
                changed += _differing_events(whole[agent], pieces[agent])
            problems.extend(f"growing in pieces gives {line} ({way})" for line in changed)
    return [out[fixture.agent] for fixture in fixtures]


def _differing(agent: str, meant: Meaning, other: Meaning) -> Iterator[str]:
    """Tell what became of the sessions of an agent, and of what is no single session's."""
    for uid, found in meant.items():
        for what, one in found.items() if uid.partition(":")[0] in (agent, uid) else ():
            if other.get(uid, {}).get(what) != one:
                yield f"another {what}: {one} became {other.get(uid, {}).get(what)}"


def _differing_events(whole: Mapping[str, object], pieces: Mapping[str, object]) -> Iterator[str]:
    if whole != pieces:
        missing, added = sorted(whole.keys() - pieces.keys()), sorted(pieces.keys() - whole.keys())
        changed = [key for key in whole.keys() & pieces.keys() if whole[key] != pieces[key]]
        yield f"other events: missing {missing}, added {added}, different {changed}"


def check_twice(fixtures: Sequence[Fixture], work: Path) -> list[list[str]]:
    """Lay the files of fixtures, each of another agent, out in two roots: nothing is counted or told twice.

    Return the problems of each fixture.
    """
    one = [(fixture.agent, work / "one" / fixture.agent) for fixture in fixtures]
    two = [(fixture.agent, work / "two" / fixture.agent) for fixture in fixtures]
    for fixture, (_, first), (_, second) in zip(fixtures, one, two, strict=True):
        lay_out(fixture, first)
        lay_out(fixture, second)
    once, both = _counted(fixtures, work / "home-one", one), _counted(fixtures, work / "home-both", [*one, *two])
    out: list[list[str]] = []
    for (spent, events), (spent_twice, same) in zip(once, both, strict=True):
        problems = [] if spent == spent_twice else [f"usage is counted twice: {spent} became {spent_twice}"]
        out.append(problems if events == same else [*problems, "a copy of the files gave further events"])
    return out


def _counted(
    fixtures: Sequence[Fixture], home: Path, roots: Sequence[tuple[str, Path]]
) -> list[tuple[UsageTotals, dict[str, object]]]:
    """Return what each fixture's agent spent, and its events."""
    with _memory(home, *roots) as memory:
        memory.sync(agents=[fixture.agent for fixture in fixtures])
        spent = {row.key: row.totals for row in memory.usage.report(by="agent").rows}
        return [(spent.get(f.agent, UsageTotals()), _named(_read(f, memory))) for f in fixtures]


@contextmanager
def _memory(home: Path, *roots: tuple[str, Path]) -> Iterator[Memory]:
    """Open a home that ingests folders of agents: (slug, folder)."""
    nobody = home.with_name(f"{home.name}-nobody")
    nobody.mkdir(parents=True, exist_ok=True)
    agents: dict[str, AgentConfig] = {}
    for agent, root in roots:
        root.mkdir(parents=True, exist_ok=True)
        described = getattr(find_adapter(agent), "format", None)
        format_ = described if isinstance(described, FormatConfig) else None
        before = agents[agent].roots if agent in agents else ()
        agents[agent] = AgentConfig(roots=(*before, str(root)), format=format_)
    # Every state that was seen is analysed, so that what it seemed to say is there to be corrected.
    config = Config(agents=agents, distill=DistillConfig(idle_seconds=0))
    with Memory.open(home, config=config, env={"HOME": str(nobody)}) as memory:
        yield memory


def _read(fixture: Fixture, memory: Memory) -> FixtureOutcome:
    sessions = [s for s in memory.sessions(limit=_MANY, sync=False).sessions if s.agent == fixture.agent]
    events = {s.session_uid: list(memory.events(s.session_uid)) for s in sessions}
    drift = [f"{d.kind} {d.name}" for d in memory.reader().stats().drift if d.agent == fixture.agent]
    return FixtureOutcome(fixture.name, [], sessions, events, drift)


def _named(outcome: FixtureOutcome) -> dict[str, object]:
    """Return the events by uid, id and part: what must not depend on how the stream was cut.

    Turns are left out: an event that two sources hold has the turn of the one that came first.
    """
    return {
        f"{uid} {event.event_id} {event.part}": (event.kind, event.payload, event.ts, event.role)
        for uid, events in outcome.events.items()
        for event in events
    }


def _raised(memory: Memory, root: Path) -> Iterator[str]:
    for defect in memory.reader().defects(limit=_MANY):
        if defect.code == RAISED and Path(defect.path).is_relative_to(root):
            yield f"the parser raised {defect.detail} at record {defect.record_index} of {Path(defect.path).name}"


def _untaken(memory: Memory, root: Path, files: Sequence[Path]) -> Iterator[str]:
    """A file of a fixture that no place of the adapter matches is a mistake in one of them."""
    taken = {path for s in memory.reader().sources() for path in (s.path, s.path.partition("#")[0])}
    for path in files:
        is_taken = str(path) in taken or (str(root) in taken and path.stat().st_size > 0)
        if not is_taken and path.stat().st_size:
            yield f"no place of the adapter matches {path.relative_to(root)}"


def _inexact(memory: Memory, files: Sequence[Path]) -> Iterator[str]:
    by_path = {s.path: s for s in memory.reader().sources()}
    with memory.archive() as archive:
        for path in files:
            source = by_path.get(str(path))
            if source is None or path.suffix in ZSTD_SUFFIXES:
                continue
            places = [place for place, _ in memory.reader().chunks(source.source_id, source.revision)]
            if b"".join(archive.iter_bytes(places)) != path.read_bytes():
                yield f"{path.name} is not given back byte for byte"


def _falling(memory: Memory, outcome: FixtureOutcome) -> Iterator[str]:
    """With every version shown, the seq of a session rises by one from 0: nothing is left out or renumbered."""
    for session in outcome.sessions:
        seqs = [e.seq for e in memory.reader().events(session.session_uid, limit=None, include_hidden=True)]
        if seqs != list(range(len(seqs))):
            yield f"{session.session_uid}: seq does not rise by one from 0"


def _ids_and_order(outcome: FixtureOutcome) -> Iterator[str]:
    for uid, events in outcome.events.items():
        names = [(event.event_id, event.part) for event in events]
        if len(set(names)) != len(names):
            yield f"{uid}: two events have one name"
        if len({event.seq for event in events}) != len(events):
            yield f"{uid}: two events have one seq"
        if any((event.ts is None) != (event.ts_quality == "missing") for event in events):
            yield f"{uid}: a time and its quality contradict each other"


def rewind_problems(events: Sequence[Event]) -> Iterator[str]:
    """Hold the rewinds of a session, in canonical order, against what `Rewind` says of `to_event` and its place."""
    places: dict[str, int] = {}
    turns: list[int] = []
    for position, event in enumerate(events):
        payload = event.payload
        if isinstance(payload, Rewind):
            kept = places.get(payload.to_event)
            count = payload.turns_dropped or 0
            name = f"{event.session_uid}: the rewind {event.event_id}"
            if payload.to_event and kept is None:
                yield f"{name} names {payload.to_event}, which does not stand before it"
                continue
            if not payload.to_event and not count:
                continue
            if count > len(turns):
                yield f"{name} leaves {count} turns behind, there are {len(turns)}"
                continue
            left = [at for at in turns if at > kept] if kept is not None else turns[len(turns) - count :]
            if count and len(left) != count:
                yield f"{name} leaves {count} turns behind, {len(left)} stand behind {payload.to_event}"
            turns = [at for at in turns if at not in left]
        elif isinstance(payload, UserMessage) and payload.origin != "injected":
            turns.append(position)
        places[event.event_id] = position


def _rewind_rule(outcome: FixtureOutcome, _responses: int) -> Iterator[str]:
    """What stands between the event that is kept and the rewind is the wrong turn and its answer, and no more."""
    events = outcome.main
    rewinds = [i for i, event in enumerate(events) if isinstance(event.payload, Rewind)]
    if not rewinds:
        yield "no rewind came"
    for position in rewinds:
        left = [said for event in events[_start_of(events, position) : position] if (said := _said(event))]
        if left != ["Wrong turn.", "Oops."]:
            yield f"the rewind leaves {left} behind"
        following = next((said for event in events[position:] if (said := _said(event))), "Second.")
        if following != "Second.":
            yield f"{following!r} follows the rewind"


def _start_of(events: Sequence[Event], position: int) -> int:
    """Return the place of the first event that the rewind at a place left behind."""
    rewind = events[position].payload
    assert isinstance(rewind, Rewind)
    before = events[:position]
    if rewind.to_event:
        return max((i + 1 for i, event in enumerate(before) if event.event_id == rewind.to_event), default=position)
    turns = [i for i, event in enumerate(before) if isinstance(event.payload, UserMessage) and _said(event)]
    return turns[-rewind.turns_dropped] if rewind.turns_dropped else position


def _said(event: Event) -> str:
    payload = event.payload
    if isinstance(payload, UserMessage):
        return payload.text.strip() if payload.origin != "injected" else ""
    return payload.text.strip() if isinstance(payload, AssistantMessage) else ""


def _unknown_rule(outcome: FixtureOutcome, _responses: int) -> Iterator[str]:
    kept = "\n".join(
        f"{e.payload.type}\n{e.payload.text}"
        for events in outcome.events.values()
        for e in events
        if isinstance(e.payload, Unknown)
    )
    if FUTURE_TYPE not in kept:
        yield f"the record of type {FUTURE_TYPE} is not kept as unknown"
    if not any(FUTURE_TYPE in line for line in outcome.drift):
        yield f"the type {FUTURE_TYPE} is not counted as drift"
    if not any(line.startswith("field") and line.endswith(f".{FUTURE_FIELD}") for line in outcome.drift):
        yield f"the field {FUTURE_FIELD} is not counted as drift"


def _subagent_rule(outcome: FixtureOutcome, _responses: int) -> Iterator[str]:
    children = [s for s in outcome.sessions if s.parent_session]
    if not children:
        yield "no session says whose subagent it is"
    said = "\n".join(line for s in children for line in shape_of(outcome.events[s.session_uid]))
    if children and "Forty-two" not in said:
        yield "the subagent's session does not hold what it said"


def _fork_rule(outcome: FixtureOutcome, _responses: int) -> Iterator[str]:
    if not any(s.forked_from or s.resumed_from for s in outcome.sessions):
        yield "no session says what it was forked from"


def _interruption_rule(outcome: FixtureOutcome, _responses: int) -> Iterator[str]:
    events = [e for events in outcome.events.values() for e in events]
    told = any(isinstance(e.payload, Lifecycle) and e.payload.name in _INTERRUPTIONS for e in events)
    stopped = any(flatten(msgspec.to_builtins(e.payload)).find("abort") >= 0 for e in events)
    if not told and not stopped:
        yield "nothing says that the turn was interrupted"


def _usage_rule(outcome: FixtureOutcome, responses: int) -> Iterator[str]:
    if "token_usage" not in outcome.kinds:
        yield "no token usage came"
    elif responses != 1:
        yield f"one response is counted {responses} times"


_RULES: dict[str, Callable[[FixtureOutcome, int], Iterator[str]]] = {
    "unknown_record": _unknown_rule,
    "subagent": _subagent_rule,
    "fork": _fork_rule,
    "interruption": _interruption_rule,
    "usage": _usage_rule,
    "rewind": _rewind_rule,
}
"""What a scenario must show beside its shape, given what came and how many responses were counted."""

Shape = tuple[str, ...]

_DIALOGUE = ("user: Which files are here?", "assistant: There are two: a.py and b.py.")
_TWO_TURNS = ("user: First.", "assistant: One.", "user: Second.", "assistant: Two.")

SHAPES: dict[str, Shape] = {
    "dialogue": _DIALOGUE,
    "unknown_record": _DIALOGUE,
    "half_written": _DIALOGUE,
    "unicode": ("user: Grüße, 世界 👋", "assistant: Καλημέρα"),
    "tool": ("user: Run the tests.", "call: shell", "result: ok", "assistant: All three pass."),
    "failed_tool": ("user: Run the tests.", "call: shell", "result: failed", "assistant: One test fails."),
    "edit": ("user: Rename the constant.", "call: edit", "edit: modify a.py", "result: ok", "assistant: Renamed."),
    "thinking": ("user: Why is it slow?", "thinking: The loop is quadratic.", "assistant: Because of the loop."),
    "compaction": (*_TWO_TURNS[:2], "compaction", *_TWO_TURNS[2:]),
    "rewind": (*_TWO_TURNS[:2], "user: Wrong turn.", "assistant: Oops.", "rewind", *_TWO_TURNS[2:]),
    "fork": _TWO_TURNS,
    "subagent": ("user: Look it up.", "call: task", "result: ok", "assistant: It is forty-two."),
}
"""Of the main session: of `fork` the second one, of `subagent` the parent. Others have rules of their own."""


class _Line(NamedTuple):
    """A line of a shape. key: the call or the record it is joined by. is_bare: says that it happened, not what."""

    text: str
    key: str = ""
    is_bare: bool = False


def shape_of(events: Iterable[Event]) -> Shape:
    """Return the shape of a session: who said what, which tools ran and how they ended, in order.

    An edit stands behind its call, wherever the agent writes it; results of agents that do not say how it went count as
    ok. A compaction, or a call's result, may be told by a mark and then by its text. A rewind that only the next turn's
    own record shows stands before that turn. What agents tell beside the conversation (usage, titles, instructions) is
    no part of it.
    """
    lines: list[_Line] = []
    for event in events:
        line = _line(event)
        if line is not None:
            _place(lines, line)
    return tuple(line.text for line in lines)


def differences(shape: Sequence[str], scenario: str) -> list[str]:
    """Return how a shape differs from what its scenario should come to; nothing where they agree."""
    wanted = SHAPES.get(scenario)
    if wanted is None or tuple(shape) == wanted:
        return []
    return [f"the shape is {list(shape)}, it should be {list(wanted)}"]


def _line(event: Event) -> _Line | None:
    p = event.payload
    match p:
        case UserMessage(origin="injected") | AssistantMessage(text="") | Thinking(text=""):
            return None
        case UserMessage():
            return _Line(f"user: {p.text.strip()}", event.event_id)
        case AssistantMessage():
            return _Line(f"assistant: {p.text.strip()}")
        case Thinking():
            return _Line(f"thinking: {p.text.strip()}")
        case ToolCall():
            return _Line(f"call: {p.canonical}", p.call_id)
        case ToolResult():
            said = bool(p.text or p.parts or p.structured)
            return _Line(f"result: {'failed' if p.ok is False else 'ok'}", p.call_id, is_bare=not said)
        case FileEdit():
            return _Line(f"edit: {p.operation} {p.path.rpartition('/')[2]}", p.call_id)
        case Compaction():
            return _Line("compaction", is_bare=not p.summary)
        case Rewind():
            return _Line("rewind", event.event_id)
        case _:
            return None


def _place(lines: list[_Line], line: _Line) -> None:
    last = lines[-1] if lines else _Line("")
    if line.text.startswith("edit: "):
        for at in range(len(lines) - 1, -1, -1):
            if lines[at].text.startswith("call: ") and lines[at].key == line.key:
                lines.insert(at + 1, line)
                return
    elif line.text == "rewind" and last.text.startswith("user: ") and last.key == line.key:
        lines.insert(len(lines) - 1, line)
        return
    elif last.is_bare and not line.is_bare and last == line._replace(is_bare=True):
        lines[-1] = line
        return
    lines.append(line)


ALL = "(all fixtures)"


class Result(msgspec.Struct, frozen=True):
    """What is wrong with one fixture; nothing where it keeps every rule."""

    fixture: str
    problems: tuple[str, ...]


def run_all(adapter: Adapter | str, folder: Path, work: Path) -> list[Result]:
    """Check every fixture of an adapter, given itself or by its slug. Raises UnknownName.

    The last result is about all of them together: every kind that is declared must appear in some fixture.
    """
    if isinstance(adapter, str):
        return _run_fixtures(find_adapter(adapter), folder, work)
    known, slug = adapters(), adapter.facts.slug
    before = known.get(slug)
    known[slug] = adapter if adapter.facts.is_configured else GuardedAdapter(adapter)
    try:
        return _run_fixtures(known[slug], folder, work)
    finally:
        if before is None:
            del known[slug]
        else:
            known[slug] = before


def _run_fixtures(chosen: Adapter, folder: Path, work: Path) -> list[Result]:
    results: list[Result] = []
    seen: set[str] = set()
    for number, fixture in enumerate(fixtures_in(folder, chosen.facts.slug)):
        outcome = check_fixture(fixture, work / f"{number}")
        seen |= outcome.kinds
        results.append(Result(fixture.name, (*outcome.problems, *_further(fixture, work / f"{number}-more"))))
    if results:
        missing = sorted(set(chosen.facts.capabilities.kinds) - seen)
        problems = tuple(f"the kind {kind} is declared, but no fixture shows it" for kind in missing)
        results.append(Result(ALL, problems))
    return results


def _further(fixture: Fixture, work: Path) -> list[str]:
    (grown,) = check_growth([fixture], work / "growth")
    (doubled,) = check_twice([fixture], work / "twice")
    return grown + doubled

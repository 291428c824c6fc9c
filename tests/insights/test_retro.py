"""A retrospective adds up, whatever it is made of, and says what fixed an error from the events alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.insights.correlation import overhead_share
from recollect.insights.retro.builder import DecisionFacts, Retrospective, SessionFacts, Span, Used
from recollect.insights.retro.fixes import below, fix_of, repairs_of
from recollect.insights.retro.report import EVIDENCE, MAX_LINES, MAX_SESSIONS, Retro
from recollect.insights.session_events import SessionEvents
from recollect.insights.signals.observer import RuleObserver
from recollect.model.events import Event, SourceLocation
from recollect.model.insights import signals as kinds
from recollect.model.insights.digests import Cost, Digest
from recollect.model.insights.nodes import Decision, Evidence, Link
from recollect.model.insights.signals import EditSeen, ErrorSeen, HumanIntervention, Loop, Retry, Signal
from recollect.model.payloads import FileEdit, Payload, ToolCall, ToolResult, kind_of
from recollect.model.sessions import Session
from recollect.model.usage import UsageReport, UsageRow, UsageTotals
from tests.examples import tried

HOUR = 3_600_000_000
DAY = 24 * HOUR
BEGIN = 20_000 * DAY
SPAN = Span(BEGIN, BEGIN + 7 * DAY)
INFRA = ("mcp__*", "ToolSearch")
NOTHING = UsageReport("day", (), UsageTotals(), "")
UNUSED = Used(*[NOTHING] * len(Used._fields))
PLACE = SourceLocation("s", 0, 0, 1, 0, "00")


def no_events(_uid: str, _first: int, _last: int) -> Iterable[Event]:
    return ()


def seen(uid: str, seq: int) -> tuple[Evidence, ...]:
    return (Evidence(uid, f"e{seq}", 0, "context", PLACE, seq),)


def digest(uid: str, outcome: Any, tools: dict[str, int], turns: int) -> Digest:
    return Digest(
        uid, "claude", "shop", "", "m", BEGIN, BEGIN, outcome, ("because",), Cost(turns=turns, wall_clock_s=1.5), tools,
        1, {}, {}, {}, "", "", (), None,
    )  # fmt: skip


# Any sessions, with any signals at any time around the span

TIMES = st.none() | st.integers(BEGIN - DAY, BEGIN + 8 * DAY)
WORDS = st.sampled_from(["", "a", "b", "c"]) | st.text(max_size=8)


@st.composite
def signal(draw: st.DrawFn, uid: str, seq: int) -> Signal:
    ts, where = draw(TIMES), seen(uid, seq)
    made = {
        "error": lambda: ErrorSeen(session_uid=uid, ts=ts, evidence=where, fingerprint=draw(WORDS), sample=draw(WORDS)),
        "retry": lambda: Retry(
            session_uid=uid, ts=ts, evidence=where, tool="shell", target=draw(WORDS),
            ok=draw(st.sampled_from([True, False, None])),
        ),
        "stop": lambda: HumanIntervention(session_uid=uid, ts=ts, evidence=where, reason="denied"),
        "edit": lambda: EditSeen(session_uid=uid, ts=ts, evidence=where, path=f"/r/{draw(WORDS)}"),
        "tests": lambda: kinds.TestRun(
            session_uid=uid, ts=ts, evidence=where, framework=draw(WORDS), ok=draw(st.sampled_from([True, False, None]))
        ),
        "loop": lambda: Loop(session_uid=uid, ts=ts, evidence=where, target=draw(WORDS)),
    }  # fmt: skip
    return made[draw(st.sampled_from(sorted(made)))]()


@st.composite
def sessions(draw: st.DrawFn) -> list[SessionFacts]:
    found = []
    for number in range(draw(st.integers(0, 6))):
        uid = f"claude:{number}"
        begun = draw(st.integers(BEGIN - DAY, BEGIN + 6 * DAY))
        ended = begun + draw(st.integers(0, 3 * DAY))
        row = Session(
            uid, draw(st.sampled_from(["claude", "codex"])), repo=draw(st.sampled_from(["", "shop", "infra"])),
            domain=draw(st.sampled_from(["", "work"])), repo_root="/r", started_at=begun, ended_at=ended,
            parent_session=draw(st.sampled_from(["", "claude:0"])),
        )  # fmt: skip
        outcome = draw(st.sampled_from(["success", "fail", "abandoned", "unknown", None]))
        tools = draw(st.dictionaries(st.sampled_from(["Bash", "mcp__x__y", "ToolSearch", "a__b"]), st.integers(1, 9)))
        told = digest(uid, outcome, tools, draw(st.integers(0, 5))) if outcome else None
        signals = [draw(signal(uid, seq)) for seq in range(draw(st.integers(0, 12)))]
        found.append(SessionFacts(row, told, signals))
    return found


def told(facts: Iterable[SessionFacts], decisions: Iterable[DecisionFacts] = ()) -> Retro:
    retrospective = Retrospective(SPAN, infra=INFRA)
    for one in facts:
        retrospective.take(one)
    return retrospective.tell(UNUSED, list(decisions), no_events)


def listed(retro: Retro, name: str, counts: Iterable[int]) -> int:
    """What a list counts together, with what it leaves out."""
    return sum(counts) + (retro.unlisted[name].count if name in retro.unlisted else 0)


@given(facts=sessions())
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=tried(150))
def test_lines_and_totals_add_up(facts: list[SessionFacts]) -> None:
    retro = told(facts)
    t = retro.totals
    assert t.sessions == len(facts) == sum(line.sessions for line in retro.outcomes)
    for groups in (retro.agents, retro.domains, retro.repositories):
        assert t.sessions == sum(sum(line.sessions.values()) for line in groups)
        for count in ("errors", "retries", "interventions", "edits"):
            assert getattr(t, count) == sum(getattr(line, count) for line in groups)
    assert t.sessions == sum(sum(day.sessions.values()) for day in retro.days)
    assert t.sessions == listed(retro, "sessions", (1 for _ in retro.sessions))
    assert t.errors == listed(retro, "errors", (line.count for line in retro.errors))
    assert t.errors == sum(day.errors for day in retro.days) == sum(line.errors for line in retro.sessions)
    assert t.errors_fixed <= t.errors
    assert t.retries == listed(retro, "retries", (line.count for line in retro.retries))
    assert t.retries == sum(day.retries for day in retro.days) == sum(line.retries for line in retro.sessions)
    assert all(line.worked + line.failed <= line.count for line in retro.retries)
    assert t.interventions == sum(line.count for line in retro.interventions)
    assert t.edits == listed(retro, "files", (line.edits for line in retro.files))
    assert t.files == len(retro.files) + _lines(retro, "files")
    assert t.test_runs == sum(line.runs for line in retro.tests)
    assert all(line.passing + line.failing + line.unsaid == line.runs for line in retro.tests)
    assert t.loops == len(retro.loops) + _lines(retro, "loops")
    assert t.turns == sum(one.digest.cost.turns for one in facts if one.digest is not None)
    of = retro.overhead
    assert of.infra_calls == sum(line.calls for line in of.tools) <= of.calls
    shares = [(overhead_share(d, INFRA), sum(d.tool_histogram.values())) for _, d, _ in facts if d is not None]
    assert of.infra_calls == round(sum(share * calls for share, calls in shares))


def _lines(retro: Retro, name: str) -> int:
    return retro.unlisted[name].lines if name in retro.unlisted else 0


@given(facts=sessions())
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=tried(60))
def test_every_line_has_evidence_of_its_own_sessions_and_survives_json(facts: list[SessionFacts]) -> None:
    retro = told(facts)
    uids = {one.session.session_uid for one in facts}
    for name in (
        "outcomes",
        "agents",
        "domains",
        "repositories",
        "sessions",
        "errors",
        "retries",
        "loops",
        "interventions",
        "files",
        "tests",
    ):
        for line in getattr(retro, name):
            assert 1 <= len(line.evidence) <= EVIDENCE, (name, line)
            assert {citation.partition("#")[0] for citation in line.evidence} <= uids
    assert msgspec.json.decode(msgspec.json.encode(retro), type=Retro) == retro


@given(facts=sessions(), seed=st.randoms(use_true_random=False))
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=tried(60))
def test_figures_do_not_depend_on_the_order_of_sessions(facts: list[SessionFacts], seed: Any) -> None:
    other = list(facts)
    seed.shuffle(other)
    one, two = told(facts), told(other)
    assert (one.totals, one.days, one.overhead.share) == (two.totals, two.days, two.overhead.share)


def test_what_happened_outside_the_span_does_not_count() -> None:
    row = Session("claude:1", "claude", started_at=BEGIN - DAY, ended_at=BEGIN + DAY)
    times = (BEGIN - 1, BEGIN, SPAN.until - 1, SPAN.until)
    errors = [
        ErrorSeen(session_uid="claude:1", ts=ts, evidence=seen("claude:1", i), fingerprint="f")
        for i, ts in enumerate(times)
    ]
    retro = told([SessionFacts(row, None, errors)])
    assert (retro.totals.errors, retro.errors[0].evidence) == (2, ("claude:1#1", "claude:1#2"))


def test_every_day_of_the_span_has_a_line_quiet_or_not() -> None:
    row = Session("claude:1", "claude", started_at=BEGIN + DAY, ended_at=BEGIN + DAY)
    busy = [sum(day.sessions.values()) for day in told([SessionFacts(row, None)]).days]
    assert busy == [0, 1, 0, 0, 0, 0, 0]
    assert len(told([]).days) == 7


def test_a_group_tells_the_usage_of_its_own_sessions_and_of_those_without_one() -> None:
    row = Session("claude:1", "claude", repo="shop", started_at=BEGIN, ended_at=BEGIN)
    spent = UsageReport(
        "agent",
        (UsageRow("claude", UsageTotals(output_tokens=5)), UsageRow("codex", UsageTotals(output_tokens=7))),
        UsageTotals(output_tokens=12),
        "",
    )
    retrospective = Retrospective(SPAN, infra=INFRA)
    retrospective.take(SessionFacts(row, None))
    retro = retrospective.tell(UNUSED._replace(by_agent=spent), [], no_events)
    assert [(line.agent, sum(line.sessions.values()), line.totals.output_tokens) for line in retro.agents] == [
        ("claude", 1, 5), ("codex", 0, 7),
    ]  # fmt: skip


def test_long_lists_are_cut_and_say_so() -> None:
    uids = [f"claude:{i}" for i in range(MAX_SESSIONS + 5)]
    facts = [
        SessionFacts(
            Session(uid, "claude", started_at=BEGIN, ended_at=BEGIN),
            None,
            [ErrorSeen(session_uid=uid, ts=BEGIN, evidence=seen(uid, 1), fingerprint=uid)],
        )
        for uid in uids
    ]
    retro = told(facts)
    assert (len(retro.sessions), retro.unlisted["sessions"].lines) == (MAX_SESSIONS, 5)
    assert (len(retro.errors), retro.unlisted["errors"].count) == (MAX_LINES, MAX_SESSIONS + 5 - MAX_LINES)


# Decisions


def decision(name: str, ts: int | None, statement: str = "") -> Decision:
    return Decision(
        id=f"decision:{name}", session_uid="claude:1", location=PLACE, ts=ts, statement=statement or name,
        evidence=seen("claude:1", 3),
    )  # fmt: skip


def test_decisions_of_the_span_and_what_became_of_older_ones() -> None:
    old, new, late = decision("old", BEGIN - DAY), decision("new", BEGIN + 1), decision("late", SPAN.until)
    gone = decision("gone", BEGIN + 2)
    link = Link(new.id, old.id, "reverses", since=BEGIN + 1)
    later = Link(late.id, new.id, "supersedes", since=SPAN.until)
    decided = told(
        [],
        [
            DecisionFacts(old, "reversed", "shop", (link,)),
            DecisionFacts(new, "superseded", "shop", (link, later)),
            DecisionFacts(late, "holds", "shop", (later,)),
            DecisionFacts(gone, "revoked", "shop"),
        ],
    ).decided
    assert (decided.made, decided.reversed, decided.superseded, decided.revoked) == (1, 1, 0, 1)
    assert [(line.statement, line.state) for line in decided.decisions] == [("new", "superseded")]
    assert [(c.relation, c.older, c.newer) for c in decided.changes] == [("reverses", "old", "new")]
    assert decided.decisions[0].evidence == ("claude:1#3",)


def test_a_decision_that_was_repeated_word_by_word_counts_once() -> None:
    said = [decision(name, BEGIN + i) for i, name in enumerate(("one", "two", "three"))]
    said[:2] = [msgspec.structs.replace(d, statement="Use tqdm.") for d in said[:2]]
    decided = told([], [DecisionFacts(d, "holds", "shop") for d in said]).decided
    assert decided.made == 2
    assert [(line.id, line.statement) for line in decided.decisions] == [
        ("decision:three", "three"), ("decision:two", "Use tqdm."),
    ]  # fmt: skip


def test_a_decision_added_without_a_session_is_cited_by_its_id() -> None:
    added = Decision(id="decision:x", session_uid="", location=PLACE, ts=BEGIN, statement="keep it", origin="added")
    assert told([], [DecisionFacts(added, "holds", "shop")]).decided.decisions[0].evidence == ("decision:x",)


# What fixed an error, over events as they are stored


class Story:
    """Events of one session, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, payload: Payload) -> Event:
        seq = len(self.events)
        event = Event("claude:1", seq, f"e{seq}", 0, kind_of(payload), payload, PLACE, ts=BEGIN + seq, turn_index=1)
        self.events.append(event)
        return event

    def call(self, name: str, canonical: str, arguments: Any, *, ok: bool | None, text: str = "") -> Event:
        call_id = f"c{len(self.events)}"
        event = self.add(ToolCall(call_id=call_id, name=name, canonical=canonical, arguments=arguments))
        self.add(ToolResult(call_id=call_id, name=name, ok=ok, exit_code=None if ok is not False else 1, text=text))
        return event

    def shell(self, command: str, *, ok: bool | None = True, text: str = "") -> Event:
        return self.call("Bash", "shell", {"command": command}, ok=ok, text=text)

    def fixes(self) -> list[tuple[str, str, str]]:
        """(error, how, what) of each repair."""
        signals = RuleObserver().signals(SessionEvents(self.events))
        found = []
        for repair in repairs_of(signals):
            fix = fix_of(repair, lambda _uid, first, last: self.events[first : last + 1], root="/r")
            assert fix is not None
            found.append((repair.error.sample, fix.how, fix.what))
        return found


def test_the_last_change_before_the_success_is_the_fix() -> None:
    story = Story()
    story.shell("make all", ok=False, text="error: no rule")
    story.shell("pip install thing")
    story.add(FileEdit(path="/r/Makefile", operation="modify"))
    story.shell("git diff && cat Makefile | head -3")
    story.shell("pytest -q")
    story.shell("make all")
    assert story.fixes() == [("error: no rule", "edit", "Makefile")]


def test_an_edit_whose_result_does_not_say_what_it_changed_is_the_fix_too() -> None:
    story = Story()
    story.shell("make all", ok=False, text="error: no rule")
    story.call("Edit", "edit", {"file_path": "/r/Makefile"}, ok=True, text="The file has been updated.")
    story.shell("make all")
    assert story.fixes() == [("error: no rule", "edit", "Makefile")]


def test_failures_in_a_row_share_the_fix_that_worked() -> None:
    story = Story()
    story.shell("make all", ok=False, text="error: one")
    story.shell("touch first")
    story.shell("make all", ok=False, text="error: two")
    story.shell("touch second")
    story.shell("make all")
    assert story.fixes() == [("error: one", "command", "touch second"), ("error: two", "command", "touch second")]


def test_an_edit_that_failed_fixes_nothing() -> None:
    story = Story()
    story.shell("make all", ok=False, text="error: one")
    story.add(ToolCall(call_id="x", name="Edit", canonical="edit", arguments={"file_path": "/r/a"}))
    story.add(FileEdit(path="/r/a", call_id="x"))
    story.add(ToolResult(call_id="x", name="Edit", ok=False, text="String not found"))
    story.shell("make all")
    assert story.fixes()[0] == ("error: one", "again", "make all")


def test_a_call_put_otherwise_and_one_that_was_read_before() -> None:
    story = Story()
    story.shell("make al", ok=False, text="error: no target")
    story.shell("make al --always-make")
    assert story.fixes() == [("error: no target", "call", "make al --always-make")]
    story = Story()
    story.call("Write", "edit", {"file_path": "/r/a.py"}, ok=False, text="File has not been read yet.")
    story.call("Read", "read", {"file_path": "/r/a.py"}, ok=True, text="x")
    story.call("Write", "edit", {"file_path": "/r/a.py"}, ok=True, text="done")
    assert story.fixes() == [("File has not been read yet.", "read", "a.py")]


def test_an_error_that_never_worked_again_is_not_fixed() -> None:
    story = Story()
    story.shell("make all", ok=False, text="error: one")
    story.add(FileEdit(path="/r/Makefile"))
    story.shell("make all", ok=False, text="error: one")
    assert story.fixes() == []


@given(path=st.text(alphabet="ab/\\. ", max_size=12), root=st.text(alphabet="ab/\\", max_size=6))
def test_a_path_below_a_root_is_told_from_there(path: str, root: str) -> None:
    told_path = below(path, root)
    assert path.replace("\\", "/").endswith(told_path.replace("\\", "/"))
    folder = root.replace("\\", "/").rstrip("/")
    assert below(f"{folder}/a b", root) == ("a b" if folder else "/a b")
    assert below(f"{folder}x/a", root) == (f"{folder}x/a".removeprefix("./"))

"""Builds a `Retro` from the sessions, signals, decisions and usage of a period, one session at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, tzinfo
from typing import Any, NamedTuple, TypeVar

import msgspec

from recollect.insights.correlation import infra_calls
from recollect.insights.retro.fixes import EventsBetween, Repair, below, cite, fix_of, repairs_of
from recollect.insights.retro.report import (
    EVIDENCE,
    MAX_DAYS,
    MAX_LINES,
    MAX_SESSIONS,
    STANDINGS,
    AgentLine,
    ChangeLine,
    DayLine,
    Decided,
    DecisionLine,
    DomainLine,
    ErrorLine,
    FileLine,
    FixLine,
    GroupLine,
    InterventionLine,
    LoopLine,
    OutcomeLine,
    Overhead,
    PreviousPeriod,
    RepoLine,
    Retro,
    RetryLine,
    RunsLine,
    SessionLine,
    Spent,
    Standing,
    ToolLine,
    Totals,
    Unlisted,
)
from recollect.insights.retro.tally import Listing, Tallies, Tally
from recollect.model.insights.digests import Digest
from recollect.model.insights.nodes import Decision, DecisionState, Link
from recollect.model.insights.signals import (
    ContextPressure,
    EditSeen,
    ErrorSeen,
    HumanIntervention,
    Loop,
    Retry,
    Signal,
    TestRun,
)
from recollect.model.sessions import Session
from recollect.model.time import day_of
from recollect.model.usage import UsageReport, UsageRow, UsageTotals

FIXES = 2
"""Fixes told of one kind of error."""
_TRIES = 4
"""Repairs of one kind of error that are looked at to find them."""
OTHER_TESTS = "other"
"""Test runs of which only the command tells that they are some."""
_Line = TypeVar("_Line", bound=GroupLine)


class Span(NamedTuple):
    """The period: [since, until), UTC microseconds; repos as in `EventFilter`; zone: the time zone of days."""

    since: int
    until: int
    repos: tuple[str, ...] = ()
    zone: tzinfo = UTC


class SessionFacts(NamedTuple):
    """A session, its digest (None: not analysed) and its signals of any time."""

    session: Session
    digest: Digest | None
    signals: Sequence[Signal] = ()


class Used(NamedTuple):
    """Usage reports of the span."""

    by_model: UsageReport
    by_day: UsageReport
    by_agent: UsageReport
    by_domain: UsageReport
    by_repo: UsageReport
    by_session: UsageReport


class _Day:
    """One day while it grows."""

    def __init__(self) -> None:
        self.sessions: Counter[Standing] = Counter()
        self.counts: Counter[str] = Counter()


class _Group:
    """The sessions of one agent, domain or repository while they grow."""

    def __init__(self) -> None:
        self.standings: Tallies[Standing] = Tallies()
        self.counts: Counter[str] = Counter()

    def add(self, uid: str, standing: Standing, counts: Mapping[str, int]) -> None:
        self.standings[standing].add(uid, uid)
        self.counts.update(counts)

    def fields(self, row: UsageRow | None) -> dict[str, Any]:
        """Return what a line of `GroupLine` holds. row: its usage, None for none."""
        lines = self.standings.lines
        return {
            "sessions": _in_order({name: tally.count for name, tally in lines.items()}),
            **{name: self.counts[name] for name in ("errors", "retries", "interventions", "edits")},
            "totals": row.totals if row is not None else UsageTotals(),
            "unpriced_models": row.unpriced_models if row is not None else (),
            "evidence": tuple(uid for _, tally in self.standings.ranked() for uid in tally.evidence())[:EVIDENCE],
        }


class Retrospective:
    """Takes sessions in any order, newest first where the newest evidence is to be shown; then tells."""

    def __init__(self, span: Span, *, infra: Sequence[str]) -> None:
        """infra: shell patterns of tools that count as infrastructure (`[infra] tools`)."""
        self._span = span
        self._infra = tuple(infra)
        self._outcomes: Tallies[Standing] = Tallies()
        self._days: dict[str, _Day] = {}
        self._groups: dict[str, dict[str, _Group]] = {"agent": {}, "domain": {}, "repo": {}}
        self._sessions: list[tuple[SessionLine, str]] = []
        self._more_sessions = 0
        self._subagents = self._turns = 0
        self._wall_clock_s = 0.0
        self._errors: Tallies[str] = Tallies()
        self._error_of: dict[str, ErrorSeen] = {}
        self._error_times: dict[str, tuple[int, int]] = {}
        self._repairs: dict[str, list[tuple[Repair, str]]] = {}
        self._retries: Tallies[tuple[str, str]] = Tallies()
        self._loops: list[LoopLine] = []
        self._interventions: Tallies[str] = Tallies()
        self._compactions = 0
        self._files: Tallies[tuple[str, str]] = Tallies()
        self._tests: Tallies[str] = Tallies()
        self._failing: dict[str, list[str]] = {}
        self._calls = self._infra_calls = 0
        self._tools: Tallies[str] = Tallies()

    def take(self, facts: SessionFacts) -> None:
        """Count a session and what happened in it during the span."""
        session, digest = facts.session, facts.digest
        standing = _standing(facts)
        uid = session.session_uid
        self._outcomes[standing].add(uid, uid)
        self._subagents += bool(session.parent_session)
        if session.ended_at is not None:
            last = max(self._span.since, min(session.ended_at, self._span.until - 1))
            self._day(last).sessions[standing] += 1
        if digest is not None:
            self._turns += digest.cost.turns
            self._wall_clock_s += digest.cost.wall_clock_s
            self._take_tools(digest)
        within = [signal for signal in facts.signals if self._is_within(signal, session)]
        counts = Counter(self._take_signal(signal, session) for signal in within)
        for name, groups in self._groups.items():
            groups.setdefault(getattr(session, name), _Group()).add(uid, standing, counts)
        for repair in repairs_of(facts.signals):
            if self._is_within(repair.error, session):
                fingerprint = repair.error.fingerprint
                self._errors[fingerprint].tags["fixed"] += 1
                kept = self._repairs.setdefault(fingerprint, [])
                # The shortest way from the failure to the success tells most, and is read soonest.
                kept.append((repair, session.repo_root or session.cwd))
                kept.sort(key=lambda item: item[0].worked.seq - item[0].call)
                del kept[_TRIES:]
        if len(self._sessions) < MAX_SESSIONS:
            self._sessions.append((_session_line(facts, standing, counts), uid))
        else:
            self._more_sessions += 1

    def tell(
        self,
        used: Used,
        decisions: Sequence[DecisionFacts],
        between: EventsBetween,
        *,
        previous: PreviousPeriod | None = None,
        notes: Sequence[str] = (),
    ) -> Retro:
        """Return the retrospective. decisions: of all times; between: for what fixed the errors that are listed."""
        span, listing = self._span, Listing()
        decided = decided_in(decisions, span.since, span.until, listing)
        errors = self.error_lines(listing, between)
        return Retro(
            since=span.since,
            until=span.until,
            repos=span.repos,
            totals=self._totals(decided.made),
            outcomes=tuple(
                OutcomeLine(name, self._outcomes[name].count, self._outcomes[name].evidence())
                for name in STANDINGS
                if name in self._outcomes.lines
            ),
            spent=Spent(used.by_model.total, used.by_model.rows, used.by_model.prices_on, used.by_model.notes),
            days=self._day_lines(used.by_day),
            agents=self._group_lines("agent", "agents", AgentLine, used.by_agent, listing),
            domains=self._group_lines("domain", "domains", DomainLine, used.by_domain, listing),
            repositories=self._group_lines("repo", "repositories", RepoLine, used.by_repo, listing),
            sessions=self._session_lines(used.by_session, listing),
            errors=errors,
            retries=self._retry_lines(listing),
            loops=self._loop_lines(listing),
            interventions=tuple(
                InterventionLine(reason, line.count, len(line.sessions), line.evidence())
                for reason, line in self._interventions.ranked()
            ),
            files=self._file_lines(listing),
            tests=self._test_lines(),
            decided=decided,
            overhead=self._overhead(listing),
            unlisted=listing.unlisted,
            previous=previous,
            notes=tuple(notes),
        )

    def tell_in_short(self, used: UsageTotals, decisions: Sequence[DecisionFacts]) -> PreviousPeriod:
        """Return the totals alone, for the report of the period after this one. used: of the span; decisions: of all
        times."""
        made = decided_in(decisions, self._span.since, self._span.until, Listing()).made
        standings = _in_order({name: tally.count for name, tally in self._outcomes.lines.items()})
        return PreviousPeriod(self._span.since, self._span.until, self._totals(made), standings, used)

    # Taking

    def _is_within(self, signal: Signal, session: Session) -> bool:
        at = signal.ts if signal.ts is not None else session.started_at
        return at is not None and self._span.since <= at < self._span.until

    def _day(self, us: int) -> _Day:
        return self._days.setdefault(day_of(us, self._span.zone), _Day())

    def _take_signal(self, signal: Signal, session: Session) -> str:
        """Count a signal; return what it is counted as, "" for nothing."""
        uid, place = session.session_uid, cite(signal.evidence[0]) if signal.evidence else session.session_uid
        at = signal.ts if signal.ts is not None else session.started_at
        root = session.repo_root or session.cwd
        name = ""
        if isinstance(signal, ErrorSeen):
            name = "errors"
            self._errors[signal.fingerprint].add(uid, place)
            self._error_of.setdefault(signal.fingerprint, signal)
            if at is not None:
                first, last = self._error_times.get(signal.fingerprint, (at, at))
                self._error_times[signal.fingerprint] = (min(first, at), max(last, at))
        elif isinstance(signal, Retry):
            name = "retries"
            tag = {True: "worked", False: "failed", None: ""}[signal.ok]
            self._retries[signal.tool, below(signal.target, root)].add(uid, place, tag=tag)
        elif isinstance(signal, HumanIntervention):
            name = "interventions"
            self._interventions[signal.reason].add(uid, place)
        elif isinstance(signal, EditSeen):
            name = "edits"
            self._files[session.repo, below(signal.path, root)].add(uid, place)
        elif isinstance(signal, TestRun):
            name = "test_runs"
            self._take_run(signal, uid, place)
        elif isinstance(signal, Loop):
            places = tuple(map(cite, signal.evidence[:EVIDENCE]))
            self._loops.append(LoopLine(signal.tool, below(signal.target, root), signal.count, places))
        elif isinstance(signal, ContextPressure):
            self._compactions += 1
        if name and at is not None:
            self._day(at).counts[name] += 1
        return name

    def _take_run(self, run: TestRun, uid: str, place: str) -> None:
        framework = run.framework or OTHER_TESTS
        self._tests[framework].add(uid, place, tag={True: "passing", False: "failing", None: "unsaid"}[run.ok])
        if run.ok is False:
            self._failing.setdefault(framework, []).append(place)

    def _take_tools(self, digest: Digest) -> None:
        self._calls += sum(digest.tool_histogram.values())
        infra = infra_calls(digest, self._infra)
        self._infra_calls += sum(infra.values())
        for tool, count in infra.items():
            self._tools[tool].add(digest.session_uid, digest.session_uid, count=count)

    # Telling

    def _totals(self, decisions: int) -> Totals:
        return Totals(
            sessions=self._outcomes.total(),
            subagent_sessions=self._subagents,
            turns=self._turns,
            wall_clock_s=round(self._wall_clock_s, 3),
            errors=self._errors.total(),
            errors_fixed=sum(line.tags["fixed"] for line in self._errors.lines.values()),
            retries=self._retries.total(),
            loops=len(self._loops),
            interventions=self._interventions.total(),
            compactions=self._compactions,
            edits=self._files.total(),
            files=len(self._files.lines),
            test_runs=self._tests.total(),
            decisions=decisions,
        )

    def _day_lines(self, used: UsageReport) -> tuple[DayLine, ...]:
        """Return every day of the span, quiet ones too; of one over `MAX_DAYS`, those between two with something."""
        spent = {row.key: row.totals for row in used.rows if row.key}
        found = []
        for day in self._listed_days({*self._days, *spent}):
            grown, took = self._days.get(day, _Day()), spent.get(day, UsageTotals())
            found.append(
                DayLine(
                    day,
                    _in_order(grown.sessions),
                    **{name: grown.counts[name] for name in ("errors", "retries", "interventions", "edits")},
                    input_tokens=took.input_tokens,
                    output_tokens=took.output_tokens,
                    cache_tokens=took.cached_tokens,
                    cost_usd=took.cost_usd,
                )
            )
        return tuple(found)

    def _listed_days(self, named: set[str]) -> Iterable[str]:
        """Return the days to list. named: those with something in them."""
        first, last = (day_of(us, self._span.zone) for us in (self._span.since, self._span.until - 1))
        if date.fromisoformat(last).toordinal() - date.fromisoformat(first).toordinal() < MAX_DAYS:
            return _days_between(min(first, *named), max(last, *named)) if named else _days_between(first, last)
        return _days_between(min(named), max(named)) if named else ()

    def _group_lines(
        self, key: str, name: str, line: type[_Line], used: UsageReport, listing: Listing
    ) -> tuple[_Line, ...]:
        """Return the groups by a field of sessions, those of most sessions first. name: of the list."""
        rows, groups = {row.key: row for row in used.rows}, self._groups[key]
        found = []
        for value in sorted({*groups, *rows}):
            group = groups.get(value, _Group())
            fields: dict[str, Any] = {key: value, **group.fields(rows.get(value))}
            found.append((line(**fields), group.standings.total(), value))
        found.sort(key=lambda item: (-item[1], item[2]))
        return tuple(listing.cut(name, ((made, total) for made, total, _ in found), MAX_LINES))

    def _session_lines(self, used: UsageReport, listing: Listing) -> tuple[SessionLine, ...]:
        rows = {row.key: row.totals for row in used.rows}
        lines = []
        for line, uid in self._sessions:
            took = rows.get(uid, UsageTotals())
            lines.append(
                msgspec.structs.replace(
                    line, input_tokens=took.input_tokens, output_tokens=took.output_tokens,
                    cache_tokens=took.cached_tokens, cost_usd=took.cost_usd,
                )
            )  # fmt: skip
        if self._more_sessions:
            listing.unlisted["sessions"] = Unlisted(self._more_sessions, self._more_sessions)
        return tuple(lines)

    def error_lines(self, listing: Listing, between: EventsBetween) -> tuple[ErrorLine, ...]:
        """Return the kinds of errors, those of most sessions first: what comes again is what a report is for."""
        ranked = sorted(self._errors.lines.items(), key=lambda item: (-len(item[1].sessions), -item[1].count, item[0]))
        chosen = listing.cut("errors", (((key, tally), tally.count) for key, tally in ranked), MAX_LINES)
        return tuple(self._error_line(fingerprint, tally, between) for fingerprint, tally in chosen)

    def _error_line(self, fingerprint: str, tally: Tally, between: EventsBetween) -> ErrorLine:
        seen = self._error_of[fingerprint]
        first, last = self._error_times.get(fingerprint, (None, None))
        fixes: dict[tuple[str, str], FixLine] = {}
        for repair, root in self._repairs.get(fingerprint, ()):
            fix = fix_of(repair, between, root=root) if len(fixes) < FIXES else None
            if fix is not None:
                fixes.setdefault((fix.how, fix.what), fix)
        return ErrorLine(
            fingerprint, seen.sample, seen.tool, tally.count, len(tally.sessions), tally.tags["fixed"],
            first, last, tuple(fixes.values()), tally.evidence(),
        )  # fmt: skip

    def _retry_lines(self, listing: Listing) -> tuple[RetryLine, ...]:
        lines = (
            (
                RetryLine(
                    tool, target, tally.count, tally.tags["worked"], tally.tags["failed"],
                    len(tally.sessions), tally.evidence(),
                ),
                tally.count,
            )
            for (tool, target), tally in self._retries.ranked()
        )  # fmt: skip
        return tuple(listing.cut("retries", lines, MAX_LINES))

    def _loop_lines(self, listing: Listing) -> tuple[LoopLine, ...]:
        ranked = sorted(self._loops, key=lambda line: (-line.calls, line.tool, line.target, line.evidence))
        return tuple(listing.cut("loops", ((line, 1) for line in ranked), MAX_LINES))

    def _file_lines(self, listing: Listing) -> tuple[FileLine, ...]:
        """Return the files, those edited in most sessions first."""
        ranked = sorted(self._files.lines.items(), key=lambda item: (-len(item[1].sessions), -item[1].count, item[0]))
        lines = (
            (FileLine(repo, path, tally.count, len(tally.sessions), tally.evidence()), tally.count)
            for (repo, path), tally in ranked
        )
        return tuple(listing.cut("files", lines, MAX_LINES))

    def _test_lines(self) -> tuple[RunsLine, ...]:
        found = []
        for framework, tally in self._tests.ranked():
            tags = tally.tags
            places = dict.fromkeys((*self._failing.get(framework, [])[:EVIDENCE], *tally.evidence()))
            found.append(
                RunsLine(
                    framework, tally.count, tags["passing"], tags["failing"], tags["unsaid"], len(tally.sessions),
                    tuple(places)[:EVIDENCE],
                )
            )  # fmt: skip
        return tuple(found)

    def _overhead(self, listing: Listing) -> Overhead:
        lines = (
            (ToolLine(tool, tally.count, len(tally.sessions), tally.evidence()), tally.count)
            for tool, tally in self._tools.ranked()
        )
        share = round(self._infra_calls / self._calls, 4) if self._calls else 0.0
        return Overhead(self._calls, self._infra_calls, share, tuple(listing.cut("tools", lines, MAX_LINES)))


def _standing(facts: SessionFacts) -> Standing:
    """Return how a session came out. One that was analysed and has no digest holds nothing but our own calls."""
    if facts.digest is not None:
        return facts.digest.outcome
    return "unknown" if facts.session.analyzed_at is not None else "not analysed"


def _session_line(facts: SessionFacts, standing: Standing, counts: Mapping[str, int]) -> SessionLine:
    session, digest = facts.session, facts.digest
    reasons = digest.outcome_reasons if digest is not None else (session.outcome_reason,)
    last = next((s.evidence[0] for s in reversed(facts.signals) if s.evidence), None)
    return SessionLine(
        session_uid=session.session_uid,
        agent=session.agent,
        repo=session.repo,
        title=session.title,
        started_at=session.started_at,
        ended_at=session.ended_at,
        is_subagent=bool(session.parent_session),
        outcome=standing,
        reason=reasons[0] if reasons else "",
        turns=digest.cost.turns if digest is not None else session.turn_count,
        wall_clock_s=digest.cost.wall_clock_s if digest is not None else 0.0,
        input_tokens=0,
        output_tokens=0,
        cache_tokens=0,
        cost_usd=None,
        errors=counts.get("errors", 0),
        retries=counts.get("retries", 0),
        interventions=counts.get("interventions", 0),
        edits=counts.get("edits", 0),
        test_runs=counts.get("test_runs", 0),
        task_ref=digest.task_ref.ref if digest is not None and digest.task_ref is not None else "",
        evidence=(cite(last) if last is not None else session.session_uid,),
    )


def _in_order(sessions: Mapping[Standing, int]) -> dict[str, int]:
    return {name: sessions[name] for name in STANDINGS if name in sessions}


def _days_between(first: str, last: str) -> Iterable[str]:
    """Yield the days from one to another."""
    begin, end = date.fromisoformat(first).toordinal(), date.fromisoformat(last).toordinal()
    return (date.fromordinal(day).isoformat() for day in range(begin, end + 1))


class DecisionFacts(NamedTuple):
    """A decision, its state now, and the links that it is the newer or the older side of."""

    decision: Decision
    state: DecisionState
    repo: str
    links: tuple[Link, ...] = ()


def decided_in(decisions: Sequence[DecisionFacts], since: int, until: int, listing: Listing) -> Decided:
    """Return the decisions of [since, until), each once, newest first.

    decisions: of all times, to find changes. Ranked ones are too uncertain to count.
    """
    all_made = [
        d for d in decisions if d.state != "undone" and d.decision.ts is not None and since <= d.decision.ts < until
    ]
    made = [facts for facts in all_made if facts.decision.status != "ranked"]
    decisions = [facts for facts in decisions if facts.decision.status != "ranked"]
    standing = [d for d in made if d.state != "revoked"]
    changes = _changes(decisions, since, until)
    of_kind = [change.relation for change in changes]
    standing.sort(key=lambda d: (-(d.decision.ts or 0), d.decision.id))
    told = _told(standing)
    return Decided(
        made=len(told),
        superseded=of_kind.count("supersedes"),
        reversed=of_kind.count("reverses"),
        contradicted=of_kind.count("contradicts"),
        revoked=len(made) - len(standing),
        decisions=tuple(listing.cut("decisions", ((line, 1) for line in told), MAX_SESSIONS)),
        changes=tuple(listing.cut("changes", ((change, 1) for change in changes), MAX_LINES)),
        uncertain=sum(d.decision.status == "ranked" and d.state != "revoked" for d in all_made),
    )


def _told(standing: Sequence[DecisionFacts]) -> list[DecisionLine]:
    """Return decisions as lines; those that only repeat another, in a fork or later, are one, that of the newest."""
    said: dict[object, list[DecisionFacts]] = {}
    for facts in standing:
        said.setdefault((facts.repo, facts.state, facts.decision.said()), []).append(facts)
    return [_line(newest, others) for newest, *others in said.values()]


def _line(facts: DecisionFacts, others: Sequence[DecisionFacts]) -> DecisionLine:
    d = facts.decision
    evidence = tuple(dict.fromkeys(place for one in (facts, *others) for place in _cited(one.decision)))
    return DecisionLine(
        d.id, d.ts, facts.repo, d.speaker, d.polarity, d.statement, d.chosen, d.rejected, facts.state,
        evidence[:EVIDENCE],
    )  # fmt: skip


def _changes(decisions: Sequence[DecisionFacts], since: int, until: int) -> list[ChangeLine]:
    by_id = {facts.decision.id: facts for facts in decisions}
    found: dict[tuple[str, str, str], ChangeLine] = {}
    for facts in decisions:
        for link in facts.links:
            newer, older = by_id.get(link.newer), by_id.get(link.older)
            if newer is None or older is None:
                continue
            at = link.since if link.since is not None else newer.decision.ts
            if at is not None and since <= at < until:
                evidence = (*_cited(newer.decision)[:1], *_cited(older.decision)[:1])
                found[link.newer, link.older, link.relation] = ChangeLine(
                    link.relation, at, newer.repo, newer.decision.statement, older.decision.statement, evidence
                )
    return [found[key] for key in sorted(found, key=lambda key: (-(found[key].since or 0), key))]


def _cited(decision: Decision) -> tuple[str, ...]:
    """Return a decision's citation. One added by hand may have none: then its id."""
    found = tuple(dict.fromkeys(cite(evidence) for evidence in decision.evidence if evidence.session_uid))
    return found[:EVIDENCE] or ((decision.session_uid,) if decision.session_uid else (decision.id,))

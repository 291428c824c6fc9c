"""Renders a retrospective as sections of tables, for Markdown and HTML. Escapes all text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from recollect.cli.render.layout import stamp
from recollect.cli.terminal import safe_line
from recollect.memory import FIXED_BY, INTERVENTIONS, RELATIONS
from recollect.model.time import to_iso
from recollect.units import count, duration, plural, usd

if TYPE_CHECKING:
    from recollect.memory import ErrorLine, GroupLine, PreviousPeriod, Retro
    from recollect.model.usage import UsageTotals


SHOWN = 20
"""Lines of a table; the JSON has more."""
TEXT_CHARS = 160

Kind = Literal["text", "code", "figure", "word"]
"""word: short, never broken into lines."""
PlotName = Literal["outcomes", "cost", "trouble", "files"]


class Proof(NamedTuple):
    """Where something is shown. citation: `session_uid#seq`, a session or a node; command: what shows it; label: what
    is there, "" for the thing itself."""

    command: str
    citation: str = ""
    label: str = ""


class ReportRow(NamedTuple):
    """A line of a table, a cell for each column, and its evidence."""

    cells: tuple[str, ...]
    evidence: tuple[Proof, ...] = ()


class ReportTable(NamedTuple):
    """columns: their names and what they hold. more: what the table leaves out, "" for nothing."""

    columns: tuple[tuple[str, Kind], ...]
    rows: tuple[ReportRow, ...]
    more: str = ""


class Section(NamedTuple):
    """A heading, what is said before the tables, the name of its plot ("" for none), and tables."""

    title: str
    lead: tuple[str, ...] = ()
    plot: PlotName | Literal[""] = ""
    tables: tuple[ReportTable, ...] = ()


class Document(NamedTuple):
    """A whole report."""

    title: str
    notes: tuple[str, ...]
    sections: tuple[Section, ...]


def document_of(retro: Retro) -> Document:
    """Return what there is to tell; sections with nothing in them say so in a line."""
    where = f" · {', '.join(retro.repos)}" if retro.repos else ""
    title = f"Retrospective {stamp(retro.since)} to {stamp(retro.until)}{where}"
    return Document(
        safe_line(title),
        tuple(safe_line(note) for note in (*retro.notes, *retro.spent.notes)),
        (
            _in_short(retro), _outcomes(retro), _groups(retro), _cost(retro), _errors(retro), _retries(retro),
            _interventions(retro), _files(retro), _decisions(retro), _tests(retro), _overhead(retro), _sessions(retro),
        ),
    )  # fmt: skip


def proof(citation: str, label: str = "") -> Proof:
    """Return the evidence that a citation names, with the command that shows it."""
    return Proof(f"recollect show {shlex.quote(citation)}", citation, label)


def _proofs(citations: Iterable[str], label: str = "") -> tuple[Proof, ...]:
    return tuple(proof(citation, label) for citation in citations if citation)


def _asked(retro: Retro, verb: str, *options: str) -> tuple[Proof, ...]:
    """Return the command that gives a figure of the whole span."""
    within = ["--after", _instant(retro.since), "--before", _instant(retro.until)]
    repos = [word for repo in retro.repos for word in ("--repo", repo)]
    return (Proof(shlex.join(["recollect", verb, *options, *within, *repos])),)


def _instant(us: int) -> str:
    """Return an instant as a command takes it, no longer than it must be."""
    return to_iso(us).replace(":00.000Z", "Z")


def _table(
    columns: Sequence[tuple[str, Kind]], rows: Iterable[ReportRow], *, left_out: int = 0
) -> tuple[ReportTable, ...]:
    given = list(rows)
    if not given:
        return ()
    hidden = max(0, len(given) - SHOWN) + left_out
    more = f"and {count(hidden)} more; --json has more of them" if hidden else ""
    cleaned = (row._replace(cells=tuple(_short(cell) for cell in row.cells)) for row in given[:SHOWN])
    return (ReportTable(tuple(columns), tuple(cleaned), more),)


def _short(text: str) -> str:
    line = safe_line(text)
    return line if len(line) <= TEXT_CHARS else line[: TEXT_CHARS - 1].rstrip() + "…"


def _left_out(retro: Retro, name: str) -> int:
    return retro.unlisted[name].lines if name in retro.unlisted else 0


def _in_short(retro: Retro) -> Section:
    overhead, sessions, usage = retro.overhead, _asked(retro, "sessions"), _asked(retro, "usage", "--by", "total")
    proofs = {
        "sessions": sessions, "turns": sessions, "time in sessions": sessions, "tokens": usage, "cost": usage,
        "errors": _first(retro.errors), "retries": _first(retro.retries), "interventions": _first(retro.interventions),
        "edits": _first(retro.files), "test runs": _first(retro.tests), "decisions": _first(retro.decided.decisions),
        "infrastructure": _first(overhead.tools),
    }  # fmt: skip
    now = _figures(retro, retro.spent.total)
    if retro.totals.subagent_sessions:
        now["sessions"] += f", {count(retro.totals.subagent_sessions)} of them subagents"
    now["decisions"] = f"{count(retro.decided.made)} made, {count(retro.decided.reversed)} reversed"
    now["infrastructure"] = f"{overhead.share:.1%} of {plural(overhead.calls, 'call')}"
    rows = [ReportRow((name, now[name]), evidence) for name, evidence in proofs.items()]
    previous = retro.previous
    if previous is None:
        return Section("In short", tables=_table((("", "text"), ("", "text")), rows))
    then = _figures(previous, previous.spent)
    rows = [row._replace(cells=(*row.cells, then.get(row.cells[0], ""))) for row in rows]
    columns: tuple[tuple[str, Kind], ...] = (("", "text"), ("this period", "text"), ("the one before", "text"))
    lead = f"the one before: {stamp(previous.since)} to {stamp(previous.until)}"
    return Section("In short", (lead,), tables=_table(columns, rows))


def _figures(period: Retro | PreviousPeriod, spent: UsageTotals) -> dict[str, str]:
    """Return the figures of a period, by the name of the row."""
    t = period.totals
    return {
        "sessions": count(t.sessions),
        "turns": count(t.turns),
        "time in sessions": duration(t.wall_clock_s),
        "tokens": _tokens(spent),
        "cost": usd(spent.cost_usd),
        "errors": f"{count(t.errors)}, {count(t.errors_fixed)} of them fixed in the session",
        "retries": count(t.retries),
        "interventions": count(t.interventions),
        "edits": f"{count(t.edits)} in {plural(t.files, 'file')}",
        "test runs": count(t.test_runs),
        "decisions": f"{count(t.decisions)} made",
    }


def _tokens(spent: UsageTotals) -> str:
    return f"{count(spent.input_tokens)} in, {count(spent.output_tokens)} out, {count(spent.cached_tokens)} cached"


def _first(lines: Sequence[object]) -> tuple[Proof, ...]:
    """Return the first evidence of the first line of a list."""
    return _proofs(getattr(lines[0], "evidence", ())[:1]) if lines else ()


def _outcomes(retro: Retro) -> Section:
    total, before = retro.totals.sessions or 1, retro.previous
    rows = (
        ReportRow(
            (line.outcome, count(line.sessions), f"{line.sessions / total:.0%}",
             *((count(before.sessions.get(line.outcome, 0)),) if before is not None else ())),
            _proofs(line.evidence),
        )
        for line in retro.outcomes
    )  # fmt: skip
    bad = [line for line in retro.sessions if line.outcome in ("fail", "abandoned")]
    failed = (
        ReportRow((stamp(line.ended_at), line.outcome, line.repo, line.title, line.reason), _proofs(line.evidence))
        for line in bad
    )
    columns: tuple[tuple[str, Kind], ...] = (
        ("ended", "word"), ("outcome", "word"), ("repo", "text"), ("session", "text"), ("why", "text")
    )  # fmt: skip
    figures: tuple[tuple[str, Kind], ...] = (("outcome", "word"), ("sessions", "figure"), ("share", "figure"))
    figures += (("the period before", "figure"),) if before is not None else ()
    tables = (*_table(figures, rows), *_table(columns, failed))
    return Section("Outcomes", () if tables else ("no sessions",), "outcomes", tables)


def _cost(retro: Retro) -> Section:
    by_model = (
        ReportRow((row.key, *_usage(row.totals)), _asked(retro, "usage", "--by", "model"))
        for row in retro.spent.by_model
    )
    dear = sorted(retro.sessions, key=lambda s: (-(s.cost_usd or 0.0), -(s.input_tokens + s.output_tokens)))[:5]
    by_session = (
        ReportRow(
            (s.title, s.repo, usd(s.cost_usd), count(s.input_tokens), count(s.output_tokens), count(s.cache_tokens)),
            _proofs((s.session_uid,)),
        )
        for s in dear if s.input_tokens or s.output_tokens
    )  # fmt: skip
    figures: tuple[tuple[str, Kind], ...] = (
        ("cost", "figure"), ("input", "figure"), ("output", "figure"), ("cached", "figure")
    )  # fmt: skip
    tables = (
        *_table((("model", "text"), *figures), by_model),
        *_table((("dearest sessions", "text"), ("repo", "text"), *figures), by_session),
    )
    lead = f"total {usd(retro.spent.total.cost_usd)}, {plural(retro.spent.total.responses, 'response')}"
    dated = f"; prices as of {retro.spent.prices_on}" if retro.spent.prices_on else ""
    return Section("Cost", (lead + dated,) if retro.spent.total.responses else ("no usage",), "cost", tables)


def _groups(retro: Retro) -> Section:
    """Return a table for each of agents, domains and repositories. Domains only where a session has one."""
    agents = [(line.agent, line) for line in retro.agents]
    domains = [(line.domain, line) for line in retro.domains]
    repos = [(line.repo, line) for line in retro.repositories]
    tables = (
        *_group_table("agent", agents, _left_out(retro, "agents")),
        *(_group_table("domain", domains, _left_out(retro, "domains")) if any(name for name, _ in domains) else ()),
        *_group_table("repo", repos, _left_out(retro, "repositories")),
    )
    return Section("Agents, domains and repositories", () if tables else ("no sessions",), tables=tables)


def _group_table(name: str, lines: Sequence[tuple[str, GroupLine]], left_out: int) -> tuple[ReportTable, ...]:
    rows = (
        ReportRow(
            (key or "(none)", count(sum(line.sessions.values())), count(line.sessions.get("success", 0)),
             count(line.sessions.get("fail", 0)), count(line.errors), count(line.interventions), count(line.edits),
             usd(line.totals.cost_usd), count(line.totals.input_tokens), count(line.totals.output_tokens)),
            _proofs(line.evidence),
        )
        for key, line in lines
    )  # fmt: skip
    figures = ("sessions", "success", "fail", "errors", "interventions", "edits", "cost", "input", "output")
    return _table(((name, "text"), *((figure, "figure") for figure in figures)), rows, left_out=left_out)


def _usage(t: UsageTotals) -> tuple[str, ...]:
    return usd(t.cost_usd), count(t.input_tokens), count(t.output_tokens), count(t.cached_tokens)


def _errors(retro: Retro) -> Section:
    rows = [_error_row(line) for line in retro.errors]
    columns: tuple[tuple[str, Kind], ...] = (
        ("error", "code"), ("tool", "text"), ("times", "figure"), ("sessions", "figure"), ("fixed", "figure"),
        ("fixed by", "text"),
    )  # fmt: skip
    lead = (
        f"{plural(retro.totals.errors, 'error')}; after {count(retro.totals.errors_fixed)} of them the same call "
        "worked later in the session",
    ) if rows else ("no errors",)  # fmt: skip
    tables = _table(columns, rows, left_out=_left_out(retro, "errors"))
    return Section("Recurring errors and what fixed them", lead, "trouble", tables)


def _error_row(line: ErrorLine) -> ReportRow:
    fixes = "; ".join(f"{FIXED_BY[fix.how]} {fix.what}" for fix in line.fixes)
    evidence = _proofs(line.evidence[:2] if line.fixes else line.evidence)
    for fix in line.fixes:
        evidence += (proof(fix.evidence, "fix"), proof(fix.worked, "worked"))
    evidence = tuple({item.citation: item for item in reversed(evidence)}.values())[::-1]
    figures = (count(line.count), count(line.sessions), count(line.fixed))
    return ReportRow((line.sample, line.tool, *figures, fixes), evidence)


def _retries(retro: Retro) -> Section:
    rows = (
        ReportRow(
            (f"{line.tool} {line.target}".strip() or "the agent's own", count(line.count), count(line.worked),
             count(line.failed), count(line.sessions)),
            _proofs(line.evidence),
        )
        for line in retro.retries
    )  # fmt: skip
    columns: tuple[tuple[str, Kind], ...] = (
        ("again", "code"), ("times", "figure"), ("worked", "figure"), ("failed", "figure"), ("sessions", "figure")
    )  # fmt: skip
    loops = (
        ReportRow((f"{line.tool} {line.target}".strip(), count(line.calls)), _proofs(line.evidence))
        for line in retro.loops
    )
    tables = (
        *_table(columns, rows, left_out=_left_out(retro, "retries")),
        *_table((("in a loop", "code"), ("calls", "figure")), loops, left_out=_left_out(retro, "loops")),
    )
    return Section("Retries", ("the same call again after it failed" if tables else "no retries",), tables=tables)


def _interventions(retro: Retro) -> Section:
    rows = (
        ReportRow((INTERVENTIONS[line.reason], count(line.count), count(line.sessions)),
            _proofs(line.evidence))
        for line in retro.interventions
    )  # fmt: skip
    tables = _table((("a person …", "text"), ("times", "figure"), ("sessions", "figure")), rows)
    lead = "times that a person stopped the agent, refused it a permission, or wrote while it worked"
    said = lead if tables else f"no interventions ({lead})"
    corrected = plural(retro.corrections, "correction")
    learned = (f"{corrected} that a person made between turns: recollect learnings --kind correction",)
    return Section("Interventions", (said, *(learned if retro.corrections else ())), tables=tables)


def _files(retro: Retro) -> Section:
    rows = (
        ReportRow((line.path, line.repo, count(line.edits), count(line.sessions)), _proofs(line.evidence))
        for line in retro.files
    )
    columns: tuple[tuple[str, Kind], ...] = (
        ("file", "code"), ("repo", "text"), ("edits", "figure"), ("sessions", "figure")
    )  # fmt: skip
    tables = _table(columns, rows, left_out=_left_out(retro, "files"))
    return Section("Hot files", () if tables else ("no edits",), "files" if tables else "", tables)


def _decisions(retro: Retro) -> Section:
    decided = retro.decided
    made = (
        ReportRow((stamp(line.ts), line.statement, line.speaker, line.repo, line.state), _proofs(line.evidence))
        for line in decided.decisions
    )
    changed = (
        ReportRow((stamp(line.since), RELATIONS[line.relation], line.older, line.newer), _proofs(line.evidence))
        for line in decided.changes
    )
    columns: tuple[tuple[str, Kind], ...] = (
        ("when", "word"), ("decided", "text"), ("by", "word"), ("repo", "text"), ("now", "word")
    )  # fmt: skip
    changes: tuple[tuple[str, Kind], ...] = (("when", "word"), ("", "text"), ("before", "text"), ("after", "text"))
    tables = (
        *_table(changes, changed, left_out=_left_out(retro, "changes")),
        *_table(columns, made, left_out=_left_out(retro, "decisions")),
    )
    said = (
        f"{count(decided.made)} made, {count(decided.superseded)} superseded, {count(decided.reversed)} reversed, "
        f"{count(decided.contradicted)} contradicted"
    )
    revoked = f", {count(decided.revoked)} revoked (no longer found, or taken back)" if decided.revoked else ""
    unsure = f"{plural(decided.uncertain, 'sentence')} that may decide something left out: recollect decisions"
    return Section("Decisions", (said + revoked, *([unsure] if decided.uncertain else [])), tables=tables)


def _tests(retro: Retro) -> Section:
    rows = (
        ReportRow(
            (line.framework, count(line.runs), count(line.passing), count(line.failing), count(line.unsaid),
             count(line.sessions)),
            _proofs(line.evidence),
        )
        for line in retro.tests
    )  # fmt: skip
    figures: tuple[tuple[str, Kind], ...] = (
        ("runs", "figure"), ("passing", "figure"), ("failing", "figure"), ("not said", "figure"), ("sessions", "figure")
    )  # fmt: skip
    tables = _table((("tests", "text"), *figures), rows)
    return Section("Tests", () if tables else ("no test runs",), tables=tables)


def _overhead(retro: Retro) -> Section:
    of = retro.overhead
    lead = f"{count(of.infra_calls)} of {plural(of.calls, 'call')} ({of.share:.1%}) went to infrastructure"
    rows = (
        ReportRow((line.tool, count(line.calls), count(line.sessions)), _proofs(line.evidence)) for line in of.tools
    )
    columns: tuple[tuple[str, Kind], ...] = (("tool", "code"), ("calls", "figure"), ("sessions", "figure"))
    tables = _table(columns, rows, left_out=_left_out(retro, "tools"))
    what = "calls that only reach other tools count, which `tools` of [infra] in the configuration names"
    return Section("Infrastructure", (lead, what), tables=tables)


def _sessions(retro: Retro) -> Section:
    rows = (
        ReportRow(
            (stamp(s.started_at), s.agent, s.repo, s.title, s.outcome, count(s.turns), count(s.edits), count(s.errors),
             usd(s.cost_usd)),
            _proofs((s.session_uid,)),
        )
        for s in retro.sessions
    )  # fmt: skip
    columns: tuple[tuple[str, Kind], ...] = (
        ("began", "word"), ("agent", "word"), ("repo", "text"), ("session", "text"), ("outcome", "word"),
        ("turns", "figure"), ("edits", "figure"), ("errors", "figure"), ("cost", "figure"),
    )  # fmt: skip
    tables = _table(columns, rows, left_out=_left_out(retro, "sessions"))
    return Section("Sessions", () if tables else ("no sessions",), tables=tables)


_MARKUP = re.compile(r"([\\`*_\[\]<>|#!&~])")
SHOWN_PROOFS = 6


def to_markdown(document: Document, *, plots: dict[str, str] | None = None) -> str:
    """Return the report, ended by a newline. plots: paths of images by name. No transcript's text is markup."""
    lines = [f"# {plain(document.title)}", ""]
    for note in document.notes:
        lines += [f"> {plain(note)}", ""]
    for section in document.sections:
        lines += _section_lines(section, plots or {})
    return "\n".join(lines).rstrip("\n") + "\n"


def _section_lines(section: Section, plots: dict[str, str]) -> Iterator[str]:
    yield f"## {plain(section.title)}"
    yield ""
    for text in section.lead:
        yield plain(text)
        yield ""
    if section.plot in plots:
        yield f"![{plain(section.title)}](<{plots[section.plot]}>)"
        yield ""
    for table in section.tables:
        yield from _table_lines(table)
        yield ""


def _table_lines(table: ReportTable) -> Iterator[str]:
    yield _table_line([*(plain(name) for name, _ in table.columns), "evidence"])
    yield _table_line([*("---:" if kind == "figure" else "---" for _, kind in table.columns), "---"])
    for row in table.rows:
        cells = [_cell_text(text, kind) for text, (_, kind) in zip(row.cells, table.columns, strict=True)]
        yield _table_line([*cells, ", ".join(_proof(one) for one in row.evidence[:SHOWN_PROOFS])])
    if table.more:
        yield ""
        yield f"*{plain(table.more)}*"


def _table_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell_text(text: str, kind: Kind) -> str:
    return code(text) if kind == "code" and text else plain(text)


def _proof(one: Proof) -> str:
    label = f"{plain(one.label)} " if one.label else ""
    return label + code(one.citation or one.command)


def plain(text: str) -> str:
    """Return text in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", text)


def code(text: str) -> str:
    """Return text as code, also inside a table, where a bar must be escaped. A backtick cannot be, nor a bar behind a
    backslash; they become signs that look alike."""
    signs = text.replace("`", "\u2018").replace("\\|", "\\\u00a6")
    return f"`{signs.replace('|', chr(92) + '|')}`" if text else ""

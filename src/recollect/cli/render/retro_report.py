"""Renders a retrospective as sections of tables, for Markdown and HTML. Escapes all text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

from recollect.cli.render.layout import stamp
from recollect.cli.terminal import safe_line
from recollect.memory import FIXED_BY, INTERVENTIONS, RELATIONS, ErrorLine, GroupLine, PreviousPeriod, Retro
from recollect.model.time import to_iso
from recollect.model.usage import UsageTotals
from recollect.units import count, duration, plural, usd

SHOWN = 20
"""Lines of a table; the JSON has more."""
TEXT_CHARS = 160

Kind = Literal["text", "code", "figure", "word"]
"""word: short, never broken into lines."""
_KINDS: dict[str, Kind] = {"text": "text", "code": "code", "figure": "figure", "word": "word"}
T = TypeVar("T")
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
    columns: str, lines: Iterable[T], cells: Callable[[T], tuple[str, ...]], *, left_out: int = 0,
    evidence: Callable[[T], tuple[Proof, ...]] | None = None,
) -> tuple[ReportTable, ...]:  # fmt: skip
    """Return a table of lines, nothing without any.

    columns: their names and kinds, `file:code, edits`; of figures without the kind. evidence: of a line, by default
    what it cites.
    """
    given = list(lines)
    if not given:
        return ()
    named = [one.partition(":") for one in columns.split(", ")]
    hidden = max(0, len(given) - SHOWN) + left_out
    more = f"and {count(hidden)} more; --json has more of them" if hidden else ""
    proofs = evidence or (lambda line: _proofs(line.evidence))  # type: ignore[attr-defined]
    rows = (ReportRow(tuple(map(_short, cells(line))), proofs(line)) for line in given[:SHOWN])
    return (ReportTable(tuple((name, _KINDS[kind or "figure"]) for name, _, kind in named), tuple(rows), more),)


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
    previous = retro.previous
    if previous is None:
        tables = _table(":text, :text", proofs, lambda name: (name, now[name]), evidence=proofs.__getitem__)
        return Section("In short", tables=tables)
    then = _figures(previous, previous.spent)
    tables = _table(
        ":text, this period:text, the one before:text", proofs, lambda name: (name, now[name], then.get(name, "")),
        evidence=proofs.__getitem__,
    )  # fmt: skip
    return Section("In short", (f"the one before: {stamp(previous.since)} to {stamp(previous.until)}",), tables=tables)


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
    tables = (
        *_table(
            "outcome:word, sessions, share" + (", the period before" if before is not None else ""), retro.outcomes,
            lambda line: (
                line.outcome, count(line.sessions), f"{line.sessions / total:.0%}",
                *((count(before.sessions.get(line.outcome, 0)),) if before is not None else ()),
            ),
        ),
        *_table(
            "ended:word, outcome:word, repo:text, session:text, why:text",
            [line for line in retro.sessions if line.outcome in ("fail", "abandoned")],
            lambda line: (stamp(line.ended_at), line.outcome, line.repo, line.title, line.reason),
        ),
    )  # fmt: skip
    return Section("Outcomes", () if tables else ("no sessions",), "outcomes", tables)


def _cost(retro: Retro) -> Section:
    spent = retro.spent
    dear = sorted(retro.sessions, key=lambda s: (-(s.cost_usd or 0.0), -(s.input_tokens + s.output_tokens)))[:5]
    tables = (
        *_table(
            "model:text, cost, input, output, cached", spent.by_model, lambda row: (row.key, *_usage(row.totals)),
            evidence=lambda _: _asked(retro, "usage", "--by", "model"),
        ),
        *_table(
            "dearest sessions:text, repo:text, cost, input, output, cached",
            [s for s in dear if s.input_tokens or s.output_tokens],
            lambda s: (s.title, s.repo, usd(s.cost_usd), count(s.input_tokens), count(s.output_tokens),
                       count(s.cache_tokens)),
            evidence=lambda s: _proofs((s.session_uid,)),
        ),
    )  # fmt: skip
    lead = f"total {usd(spent.total.cost_usd)}, {plural(spent.total.responses, 'response')}"
    dated = f"; prices as of {spent.prices_on}" if spent.prices_on else ""
    return Section("Cost", (lead + dated,) if spent.total.responses else ("no usage",), "cost", tables)


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
    return _table(
        f"{name}:text, sessions, success, fail, errors, interventions, edits, cost, input, output", lines,
        lambda one: (
            one[0] or "(none)", count(sum(one[1].sessions.values())), count(one[1].sessions.get("success", 0)),
            count(one[1].sessions.get("fail", 0)), count(one[1].errors), count(one[1].interventions),
            count(one[1].edits), *_usage(one[1].totals)[:3],
        ),
        left_out=left_out, evidence=lambda one: _proofs(one[1].evidence),
    )  # fmt: skip


def _usage(t: UsageTotals) -> tuple[str, ...]:
    return usd(t.cost_usd), count(t.input_tokens), count(t.output_tokens), count(t.cached_tokens)


def _errors(retro: Retro) -> Section:
    tables = _table(
        "error:code, tool:text, times, sessions, fixed, fixed by:text", retro.errors,
        lambda line: (
            line.sample, line.tool, count(line.count), count(line.sessions), count(line.fixed),
            "; ".join(f"{FIXED_BY[fix.how]} {fix.what}" for fix in line.fixes),
        ),
        left_out=_left_out(retro, "errors"), evidence=_error_proofs,
    )  # fmt: skip
    lead = (
        f"{plural(retro.totals.errors, 'error')}; after {count(retro.totals.errors_fixed)} of them the same call "
        "worked later in the session"
    )
    return Section("Recurring errors and what fixed them", (lead if tables else "no errors",), "trouble", tables)


def _error_proofs(line: ErrorLine) -> tuple[Proof, ...]:
    evidence = _proofs(line.evidence[:2] if line.fixes else line.evidence)
    for fix in line.fixes:
        evidence += (proof(fix.evidence, "fix"), proof(fix.worked, "worked"))
    return tuple({item.citation: item for item in reversed(evidence)}.values())[::-1]


def _retries(retro: Retro) -> Section:
    tables = (
        *_table(
            "again:code, times, worked, failed, sessions", retro.retries,
            lambda line: (f"{line.tool} {line.target}".strip() or "the agent's own", count(line.count),
                          count(line.worked), count(line.failed), count(line.sessions)),
            left_out=_left_out(retro, "retries"),
        ),
        *_table(
            "in a loop:code, calls", retro.loops,
            lambda line: (f"{line.tool} {line.target}".strip(), count(line.calls)), left_out=_left_out(retro, "loops"),
        ),
    )  # fmt: skip
    return Section("Retries", ("the same call again after it failed" if tables else "no retries",), tables=tables)


def _interventions(retro: Retro) -> Section:
    tables = _table(
        "a person …:text, times, sessions", retro.interventions,
        lambda line: (INTERVENTIONS[line.reason], count(line.count), count(line.sessions)),
    )  # fmt: skip
    lead = "times that a person stopped the agent, refused it a permission, or wrote while it worked"
    said = lead if tables else f"no interventions ({lead})"
    learned = (f"{retro.corrected}: recollect learnings --kind correction",) if retro.corrected else ()
    return Section("Interventions", (said, *learned), tables=tables)


def _files(retro: Retro) -> Section:
    tables = _table(
        "file:code, repo:text, edits, sessions", retro.files,
        lambda line: (line.path, line.repo, count(line.edits), count(line.sessions)),
        left_out=_left_out(retro, "files"),
    )  # fmt: skip
    return Section("Hot files", () if tables else ("no edits",), "files" if tables else "", tables)


def _decisions(retro: Retro) -> Section:
    decided = retro.decided
    tables = (
        *_table(
            "when:word, :text, before:text, after:text", decided.changes,
            lambda line: (stamp(line.since), RELATIONS[line.relation], line.older, line.newer),
            left_out=_left_out(retro, "changes"),
        ),
        *_table(
            "when:word, decided:text, by:word, repo:text, now:word", decided.decisions,
            lambda line: (stamp(line.ts), line.statement, line.speaker, line.repo, line.state),
            left_out=_left_out(retro, "decisions"),
        ),
    )  # fmt: skip
    said = (
        f"{count(decided.made)} made, {count(decided.superseded)} superseded, {count(decided.reversed)} reversed, "
        f"{count(decided.contradicted)} contradicted"
    )
    revoked = f", {count(decided.revoked)} revoked (no longer found, or taken back)" if decided.revoked else ""
    unsure = f"{plural(decided.uncertain, 'sentence')} that may decide something left out: recollect decisions"
    return Section("Decisions", (said + revoked, *([unsure] if decided.uncertain else [])), tables=tables)


def _tests(retro: Retro) -> Section:
    tables = _table(
        "tests:text, runs, passing, failing, not said, sessions", retro.tests,
        lambda line: (line.framework, count(line.runs), count(line.passing), count(line.failing), count(line.unsaid),
                      count(line.sessions)),
    )  # fmt: skip
    return Section("Tests", () if tables else ("no test runs",), tables=tables)


def _overhead(retro: Retro) -> Section:
    of = retro.overhead
    tables = _table(
        "tool:code, calls, sessions", of.tools, lambda line: (line.tool, count(line.calls), count(line.sessions)),
        left_out=_left_out(retro, "tools"),
    )  # fmt: skip
    return Section("Infrastructure", of.told, tables=tables)


def _sessions(retro: Retro) -> Section:
    tables = _table(
        "began:word, agent:word, repo:text, session:text, outcome:word, turns, edits, errors, cost", retro.sessions,
        lambda s: (stamp(s.started_at), s.agent, s.repo, s.title, s.outcome, count(s.turns), count(s.edits),
                   count(s.errors), usd(s.cost_usd)),
        left_out=_left_out(retro, "sessions"), evidence=lambda s: _proofs((s.session_uid,)),
    )  # fmt: skip
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
        cells = [
            code(text) if kind == "code" and text else plain(text)
            for text, (_, kind) in zip(row.cells, table.columns, strict=True)
        ]
        yield _table_line([*cells, ", ".join(_proof(one) for one in row.evidence[:SHOWN_PROOFS])])
    if table.more:
        yield ""
        yield f"*{plain(table.more)}*"


def _table_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


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

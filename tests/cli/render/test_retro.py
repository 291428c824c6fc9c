"""Reports are made of any text, and none of it becomes markup."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from recollect.cli.render.retro_page import MAX_BARS, draw, to_page
from recollect.cli.render.retro_report import (
    Document,
    Kind,
    Proof,
    ReportRow,
    ReportTable,
    Section,
    document_of,
    proof,
    to_markdown,
)
from recollect.cli.render.retro_terminal import print_document, short_names
from recollect.cli.terminal import safe_line
from recollect.insights.retro.builder import Retrospective, Span, Used
from recollect.insights.retro.report import DayLine, FileLine, Retro
from recollect.model.usage import UsageReport, UsageTotals
from recollect.serve.web.plots import COLOURS, standing_alone

EVIL = "</code></td><script>alert(1)</script>\"'&lt;|`*_[x](javascript:y)"


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, tuple[str, ...]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, tuple(name for name, _ in attrs)))


def document(text: str) -> Document:
    row = ReportRow((text, text, text), (proof(text, text),))
    table = ReportTable((("a", "text"), (text, "code"), ("c", "figure")), (row,), text)
    return Document(text, (text,), (Section("Errors", (text,), "", (table,)),))


@given(text=st.text(min_size=1))
@example(text=EVIL)
@example(text="--><!--")
@example(text="</title></style>")
def test_the_tags_of_a_page_do_not_depend_on_its_texts(text: str) -> None:
    assert Tags(to_page(document(text), {})).seen == Tags(to_page(document("x"), {})).seen


@given(text=st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1))
@example(text=EVIL)
@example(text="\\|")
def test_a_table_of_markdown_keeps_its_columns_whatever_stands_in_it(text: str) -> None:
    lines = [line for line in to_markdown(document(text)).splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines} == {5}


def empty(**changes: object) -> Retro:
    unused = UsageReport("day", (), UsageTotals(), "")
    told = Retrospective(Span(0, 86_400_000_000), infra=()).tell(Used(*[unused] * 6), [], lambda *_: ())
    return msgspec.structs.replace(told, **changes)


def test_a_retrospective_of_nothing_can_be_written() -> None:
    document = document_of(empty())
    assert "no interventions" in to_markdown(document)
    assert "<table>" in to_page(document, {})
    assert draw(empty()) == ({}, "")


@given(days=st.integers(1, 40 * MAX_BARS))
def test_a_long_span_is_drawn_in_few_bars(days: int) -> None:
    from recollect.cli.render.retro_page import _grouped

    lines = [DayLine(f"2026-01-{i:05d}", {"success": 1}) for i in range(days)]
    groups = _grouped(lines)
    assert sum(len(of_group) for _, of_group in groups) == days
    assert len(groups) <= MAX_BARS or days > 30 * MAX_BARS


def test_a_plot_takes_its_colours_from_the_page_and_no_formula_from_a_path() -> None:
    path = r"src/$\frac{1}{0}$_<b>&_日本語_" + "x" * 80
    retro = empty(
        days=tuple(DayLine(f"2026-01-0{i}", {"success": i, "fail": 1}, errors=i, cost_usd=0.5) for i in range(1, 8)),
        files=(FileLine("r", path, 3, 1, ()), FileLine("r", "$x$", 2, 1, ()), FileLine("r", "y", 1, 1, ())),
    )
    plots, why = draw(retro)
    assert (sorted(plots), why) == (["cost", "files", "outcomes", "trouble"], "")
    named = set(re.findall(r"var\(--([\w-]+)\)", "".join(plots.values())))
    assert {"ink", "success", "fail", "first"} <= named <= set(COLOURS)
    assert ">$x$<" in plots["files"]
    assert "#0102" not in "".join(plots.values())
    assert draw(retro) == (plots, why)
    assert "var(" not in standing_alone(plots["cost"])


@given(text=st.text(min_size=1))
@example(text=EVIL)
@example(text="[bold]x[/bold] \x1b[2J")
def test_a_terminal_is_given_text_and_no_markup(text: str) -> None:
    written = io.StringIO()
    out = Console(file=written, width=100, force_terminal=False, markup=True)
    print_document(out, document(safe_line(text) or "x"))
    shown = written.getvalue()
    assert "\x1b" not in shown
    assert not text.startswith("[bold]") or "[bold]x[/bold] ␛[2J" in shown


def test_citations_are_as_short_as_tells_them_apart() -> None:
    uids = ["a:11112222-3", "a:11112222-4", "b:99998888-7", "b:99998888-7/agent-1", "c:x"]
    assert short_names(uids) == {
        "a:11112222-3": "a:11112222-3", "a:11112222-4": "a:11112222-4", "b:99998888-7": "b:99998888",
        "b:99998888-7/agent-1": "b:99998888-7/agent-1", "c:x": "c:x",
    }  # fmt: skip


def test_a_command_that_shows_figures_is_said_once_in_whole_minutes() -> None:
    written = io.StringIO()
    print_document(Console(file=written, width=200), document_of(empty()))
    lines = [line for line in written.getvalue().splitlines() if "recollect sessions" in line]
    assert lines == ["from: recollect sessions --after 1970-01-01T00:00Z --before 1970-01-02T00:00Z"]


def test_what_a_person_corrected_is_told_beside_what_they_interrupted() -> None:
    told = to_markdown(document_of(empty(corrections=2)))
    assert "2 corrections that a person made between turns" in told
    assert "no interventions (times that" in told


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_terminal_shows_the_words_of_a_table_however_long_its_citations_are(width: int) -> None:
    uid = "claude:5d1f0a3e-0000-4000-8000-000000000001/agent-a2018e5"
    columns: tuple[tuple[str, Kind], ...] = (
        ("repo", "text"), *((name, "figure") for name in ("sessions", "success", "interventions", "cost", "output")),
    )  # fmt: skip
    rows = (ReportRow(("orders", *["1,234,567"] * 5), (Proof("recollect show", f"{uid}#12"),)),)
    out = Console(width=width, file=io.StringIO())
    print_document(out, Document("R", (), (Section("S", tables=(ReportTable(columns, rows),)),)))
    lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert any(line.startswith("repo ") and "sessions" in line for line in lines)
    assert any(line.startswith("orders ") for line in lines)
    assert f"{uid}#12" in "".join(line.strip() for line in lines)
    assert all(len(line) <= width for line in lines)

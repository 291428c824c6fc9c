"""`retro` and `stats sessions`: the real program over a history whose figures are known."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.surfaces.looking_back.desk import BEGAN, ERROR, HOSTILE, SPAN, Desk, a_fixed_error, bash, make_desk


@pytest.fixture(scope="module")
def fonts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for matplotlib's list of fonts, which takes seconds to make."""
    return tmp_path_factory.mktemp("fonts")


@pytest.fixture
def desk(tmp_path: Path, fonts: Path) -> Desk:
    desk = make_desk(tmp_path)
    return desk._replace(env={**desk.env, "MPLCONFIGDIR": str(fonts)})


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_an_error_is_told_with_the_edit_that_fixed_it_and_where(desk: Desk) -> None:
    session = a_fixed_error(desk)
    retro = desk.run("retro", *SPAN, "--json").data
    (error,) = [e for e in retro["errors"] if "orjson" in e["sample"]]
    assert (error["count"], error["sessions"], error["fixed"], error["tool"]) == (1, 1, 1, "shell")
    (fix,) = error["fixes"]
    assert (fix["how"], fix["what"]) == ("edit", "src/app.py")
    shown = desk.run("show", fix["evidence"], "--json", "--no-sync").data
    seq = int(fix["evidence"].partition("#")[2])
    assert next(e["kind"] for e in shown["events"] if e["seq"] == seq) == "file_edit"
    assert {c.partition("#")[0] for c in (fix["failed"], fix["worked"], *error["evidence"])} == {session.uid}


def test_a_command_that_only_looks_is_no_fix(desk: Desk) -> None:
    session = desk.claude()
    session.user("build it")
    bash(session, "cargo build", "Exit code 101\nerror: linker `cc` not found", is_error=True)
    bash(session, "which cc; git log -1", "no cc")
    bash(session, "apt-get install -y gcc", "done")
    bash(session, "cat Cargo.toml", "[package]")
    bash(session, "cargo build", "Finished")
    session.assistant("It builds.")
    (error,) = desk.run("retro", *SPAN, "--json").data["errors"]
    assert [(fix["how"], fix["what"]) for fix in error["fixes"]] == [("command", "apt-get install -y gcc")]


def test_money_and_tokens_are_those_of_usage(desk: Desk) -> None:
    for name in ("one", "two", "three"):
        a_fixed_error(desk, name)
    retro = desk.run("retro", *SPAN, "--json").data
    usage = desk.run("usage", "--by", "total", "--after", SPAN[1], "--before", SPAN[3], "--json", "--no-sync").data
    assert retro["spent"]["total"] == usage["total"]
    assert usage["total"]["responses"] == 18
    assert sum(s["output_tokens"] for s in retro["sessions"]) == usage["total"]["output_tokens"]


def test_what_lies_outside_the_span_does_not_count(desk: Desk) -> None:
    a_fixed_error(desk)
    assert desk.run("retro", *SPAN, "--json").data["totals"]["sessions"] == 1
    done = desk.run("retro", "--since", "2026-08-02T00:00Z", "--until", "2026-08-03T00:00Z", "--no-sync")
    assert (done.code, done.err) == (1, "")
    assert "nothing happened from" in done.out
    later = ("--since", "2026-08-02T00:00Z", "--until", "2026-08-03T00:00Z", "--no-sync")
    assert "nothing happened in shop from" in desk.run("retro", *later, "--repo", "shop").out
    assert "no repository called 'shpo'; did you mean shop-api?" in desk.run("retro", *SPAN, "--repo", "shpo").err


def test_each_figure_stands_beside_that_of_the_period_before(desk: Desk) -> None:
    a_fixed_error(desk)
    older = desk.claude("older", start=datetime(2026, 7, 31, 9, 0, tzinfo=UTC))
    older.user("begin")
    older.assistant("I begin.")
    retro = desk.run("retro", *SPAN, "--json").data
    before = retro["previous"]
    assert (before["since"], before["until"]) == (2 * retro["since"] - retro["until"], retro["since"])
    alone = desk.run("retro", "--since", "2026-07-31T00:00Z", "--until", SPAN[1], "--json", "--no-sync").data
    assert (before["totals"], before["spent"]) == (alone["totals"], alone["spent"]["total"])
    assert alone["previous"] is None
    text = desk.run("retro", *SPAN, "--no-sync").out
    assert "the one before: 2026-07-31 00:00" in text
    turns = retro["totals"]["turns"]
    assert f"| turns | {turns} | {before['totals']['turns']} |" in text


def test_sessions_are_told_by_agent_and_by_repository(desk: Desk) -> None:
    a_fixed_error(desk)
    desk.claude("other", cwd="/w/elsewhere").user("hello there")
    retro = desk.run("retro", *SPAN, "--json").data
    (claude,) = retro["agents"]
    assert (claude["agent"], sum(claude["sessions"].values()), claude["errors"]) == ("claude", 2, 1)
    assert claude["totals"] == retro["spent"]["total"]
    assert {line["repo"]: sum(line["sessions"].values()) for line in retro["repositories"]} == {
        "shop-api": 1, "elsewhere": 1,
    }  # fmt: skip
    assert "Agents, domains and repositories" in desk.run("retro", *SPAN, "--no-sync").out


def test_the_report_of_the_last_week_is_written_once(desk: Desk) -> None:
    today = datetime.now(UTC).replace(hour=12, minute=0)
    last_monday = today - timedelta(days=today.weekday() + 7)
    session = desk.claude(start=last_monday)
    session.user("begin")
    session.assistant("I begin.")
    year, week, _ = last_monday.isocalendar()
    name = f"retro-{year:04}-W{week:02}.html"
    first = desk.run("sync", "--retro-out", "retros")
    assert first.code == 0, first.err
    assert first.out.splitlines()[-1] == f"wrote {Path('retros') / name}"
    page = desk.root / "retros" / name
    assert "I edited this" not in page.read_text("utf-8")
    page.write_text("I edited this", "utf-8")
    again = desk.run("sync", "--retro-out", "retros", "--json")
    assert (again.code, again.err) == (0, "")
    assert [path.name for path in page.parent.iterdir()] == [name]
    assert page.read_text("utf-8") == "I edited this"


def test_a_week_in_which_nothing_happened_has_no_report(desk: Desk) -> None:
    a_fixed_error(desk)
    assert desk.run("sync", "--retro-out", "retros").code == 0
    assert not (desk.root / "retros").exists()


def test_an_empty_memory_is_said_to_be_empty(desk: Desk) -> None:
    done = desk.run("retro")
    assert done.code == 1
    assert "nothing happened" in done.out
    data = desk.run("retro", "--json")
    assert (data.code, data.data["totals"]["sessions"]) == (1, 0)


def test_a_session_under_way_is_said_to_be_not_analysed(desk: Desk) -> None:
    session = desk.claude(start=datetime.now(UTC) - timedelta(minutes=1))
    session.user("begin")
    session.assistant("I begin.")
    retro = desk.run("retro", "--json").data
    assert [(line["outcome"], line["sessions"]) for line in retro["outcomes"]] == [("not analysed", 1)]
    assert any(note.startswith("not analysed yet: 1 ") for note in retro["notes"])
    assert retro["spent"]["total"]["responses"] == 1


def test_a_repository_is_told_alone(desk: Desk) -> None:
    a_fixed_error(desk)
    desk.claude("other", cwd="/w/elsewhere").user("hello there")
    assert desk.run("retro", *SPAN, "--json").data["totals"]["sessions"] == 2
    retro = desk.run("retro", *SPAN, "--repo", "shop", "--json", "--no-sync").data
    assert [line["repo"] for line in retro["repositories"]] == ["shop-api"]
    assert {s["repo"] for s in retro["sessions"]} == {"shop-api"}


def test_only_what_a_person_said_in_a_session_counts_as_a_correction(desk: Desk) -> None:
    session = desk.claude()
    session.user("Add the export of orders.")
    bash(session, "npm test", "2 passed")
    session.assistant("I installed it with npm.")
    session.user("No, that's wrong: we use pnpm, not npm.")
    session.assistant("I use pnpm now.")
    since = ("--since", "2026-08-01T00:00Z")
    assert desk.run("retro", *since, "--json").data["corrections"] == 1
    (said,) = (one for one in desk.run("learnings", "--json").data["learnings"] if one["kind"] == "correction")
    assert desk.run("learnings", "correct", said["id"], "We use pnpm 9, not npm.").code == 0
    assert desk.run("retro", *since, "--json").data["corrections"] == 0


def test_markdown_cites_every_line(desk: Desk) -> None:
    session = a_fixed_error(desk)
    text = desk.run("retro", *SPAN).out
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith(("| ---", "|  |"))]
    heads = [line for line in rows if line.endswith("| evidence |")]
    lines = [line for line in rows if line not in heads]
    assert len(lines) > 15
    cited = [line for line in lines if f"`{session.uid}" in line or "`recollect " in line]
    uncited = [line for line in lines if line not in cited]
    assert [line for line in uncited if not re.search(r"\| (0|0 .*|0\.0%.*) \|  \|$", line)] == []
    assert "an edit of src/app.py" in text
    assert "ModuleNotFoundError" in text


def three_days(desk: Desk) -> tuple[str, ...]:
    """Write what plots need: work of three days, in three files; return the span."""
    for day in range(3):
        session = a_fixed_error(desk, f"day {day}", start=BEGAN + timedelta(days=day))
        session.write(str(desk.repo / f"{day}.py"), "x = 1\n")
    return ("--since", "2026-08-01T00:00Z", "--until", "2026-08-04T00:00Z")


def test_a_page_of_one_day_has_no_plot_of_one_bar(desk: Desk) -> None:
    a_fixed_error(desk)
    assert desk.run("retro", *SPAN, "--out", "report.html").code == 0
    assert "<svg" not in (desk.root / "report.html").read_text("utf-8")


def test_the_page_loads_nothing_and_shows_plots(desk: Desk) -> None:
    done = desk.run("retro", *three_days(desk), "--out", "report.html")
    assert done.code == 0, done.err
    text = (desk.root / "report.html").read_text("utf-8")
    page = Page(text)
    assert text.count("<svg ") >= 3
    assert not {"script", "link", "iframe", "object", "embed", "img", "image", "form"} & set(page.tags)
    assert [v for n, v in page.attributes if n in ("src", "href", "xlink:href") and not v.startswith("#")] == []
    assert "url(http" not in text
    assert "@import" not in text
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = {v[1:] for n, v in page.attributes if n in ("href", "xlink:href")}
    assert links <= set(ids)
    assert "prefers-color-scheme: dark" in text
    assert "width=device-width" in text
    assert any(t.startswith("recollect show 'claude:") for t in page.texts)


def test_nothing_is_left_in_the_persons_own_folders(desk: Desk) -> None:
    a_fixed_error(desk)
    before = {path.name for path in desk.root.iterdir()}
    env = {name: value for name, value in desk.env.items() if name != "MPLCONFIGDIR"}
    assert desk._replace(env=env).run("retro", *SPAN, "--out", "report.html") == (0, "wrote report.html\n", "")
    assert {path.name for path in desk.root.iterdir()} - before == {"memory", "report.html"}


def test_no_text_of_a_transcript_is_markup_or_moves_the_terminal(desk: Desk) -> None:
    a_fixed_error(desk, prompt=HOSTILE)
    session = desk.claude("hostile")
    session.user(HOSTILE)
    for command in ("make one", "make one"):
        bash(session, command, f"Exit code 2\nerror: {HOSTILE}", is_error=True)
    for name in ("<svg onload=alert(3)>$x_1$.py", "a.py", "b.py"):
        session.write(str(desk.repo / "src" / name), "x = 1\n")
    assert desk.run("retro", *SPAN, "--out", "report.html").code == 0
    text = (desk.root / "report.html").read_text("utf-8")
    page = Page(text)
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert [name for name, _ in page.attributes if name.startswith("on")] == []
    assert "alert(1)" in "".join(page.texts)
    assert "onload=alert(3)" in "".join(page.texts)
    markdown = desk.run("retro", *SPAN, "--no-sync").out
    for raw in ("\x1b", "\u202e"):
        assert raw not in text + markdown
    outside = re.sub(r"`[^`]*`", "", markdown)
    assert not re.search(r"(?<!\\)<(script|img|svg)", outside)
    assert not re.search(r"(?<!\\)\]\(javascript", outside)


def test_markdown_in_a_file_has_its_plots_beside_it(desk: Desk) -> None:
    done = desk.run("retro", *three_days(desk), "--out", "report.md")
    named = re.findall(r"!\[[^\]]*\]\(<([^>]+)>\)", (desk.root / "report.md").read_text("utf-8"))
    assert set(named) >= {"report-outcomes.svg", "report-files.svg"}
    for name in named:
        drawn = (desk.root / name).read_text("utf-8")
        assert drawn.startswith("<svg ")
        assert "var(--" not in drawn
    assert sorted(done.out.split()[1::2]) == sorted(["report.md", *named])


def test_a_report_without_matplotlib_says_so(desk: Desk) -> None:
    a_fixed_error(desk)
    blocked = desk.root / "blocked" / "matplotlib"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError('not here')\n", "utf-8")
    path = [str(blocked.parent), *filter(None, [desk.env.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "recollect", "retro", *SPAN, "--out", "report.html"]
    subprocess.run(command, env={**desk.env, "PYTHONPATH": ":".join(path)}, cwd=desk.root, check=True)
    text = (desk.root / "report.html").read_text("utf-8")
    assert "matplotlib is not installed" in text
    assert "<svg" not in text


@pytest.mark.parametrize("out", ["report.pdf", "report"])
def test_a_file_of_another_kind_is_refused(desk: Desk, out: str) -> None:
    done = desk.run("retro", "--out", out)
    assert done.code == 2
    assert ".html" in done.err


def test_a_file_that_cannot_be_written_is_one_line(desk: Desk) -> None:
    a_fixed_error(desk)
    done = desk.run("retro", *SPAN, "--out", "nowhere/report.html")
    assert done.code == 3
    assert done.err.startswith("recollect: cannot write nowhere/report.html")


def test_stats_sessions_is_the_same_as_data(desk: Desk) -> None:
    a_fixed_error(desk)
    retro = desk.run("retro", *SPAN, "--json").data
    assert desk.run("stats", "sessions", *SPAN, "--json").data == retro
    text = desk.run("stats", "sessions", *SPAN).out
    assert "1 session" in text
    assert "success" in text
    assert ERROR.split()[-1] not in text
    assert desk.run("stats", "sessions", "--since", "2026-08-02T00:00Z", "--until", "2026-08-03T00:00Z").code == 1


def test_the_report_is_the_same_again(desk: Desk) -> None:
    a_fixed_error(desk)
    for name in ("a.html", "b.html"):
        assert desk.run("retro", *SPAN, "--out", name).code == 0
    assert (desk.root / "a.html").read_bytes() == (desk.root / "b.html").read_bytes()


def test_a_span_that_ends_before_it_begins_is_refused_in_its_own_words(desk: Desk) -> None:
    assert "--until is not after --since" in desk.run("retro", "--since", "1d", "--until", "2d").err
    done = desk.run("retro", "--since", "2999-01-01")
    assert (done.code, "--since is in the future" in done.err) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
@pytest.mark.parametrize(
    ("argv", "stages"),
    [
        (("retro", *SPAN, "--out", "page.html"), ["ingesting what changed", "looking back", "drawing plots"]),
        (("stats", "sessions", *SPAN), ["ingesting what changed", "looking back"]),
        (("blame", "shop-api/src/app.py:1"), ["ingesting what changed", "looking through recorded edits"]),
    ],
)
def test_what_takes_long_says_on_a_terminal_what_it_is_at(desk: Desk, argv: tuple[str, ...], stages: list[str]) -> None:
    a_fixed_error(desk)
    shown = on_terminal(desk, *argv)
    places = [shown.find(stage) for stage in stages]
    assert -1 not in places
    assert places == sorted(places)
    assert shown.endswith("\r\x1b[K"), "nothing of it is left"
    assert desk.run(*argv).err == ""


def on_terminal(desk: Desk, *argv: str) -> str:
    """Run the program with a terminal as its standard error; return what was written there."""
    import pty

    mine, its = pty.openpty()
    command = [sys.executable, "-m", "recollect", *argv]
    with subprocess.Popen(command, env=desk.env, cwd=desk.root, stdout=subprocess.DEVNULL, stderr=its) as process:
        os.close(its)
        parts = []
        with contextlib.suppress(OSError):  # Linux ends a terminal so
            while part := os.read(mine, 4096):
                parts.append(part)
        assert process.wait() == 0
    os.close(mine)
    return b"".join(parts).decode()

"""Lines that are no prose are covered up, whatever their case and whatever else stands in them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.language.prose_mask import project

NO_PROSE = (
    "> they said so", "| a | b |", "## Heading", "-----", "$ make test", "diff --git a/x b/x",
    "index a37849ba..95836837",
    "--- a/old.py", "+import(os);", "+  # note that", "2026-02-13T08:45:11 called", "08:45:11 called", "[info] started",
    "error: it broke", "Warnung: es fehlt", "npm warn deprecated", "pnpm error failed", "UserWarning: old",
    "TODO(ann): later", "src/app.py:12:4: wrong", "mypy error src/app.py:12", "Traceback (most recent call last)",
    'File "app.py", line 3', "at foo.bar (app.js)", "ValueError: no", "}],", '"key": 1', "// note", "<!-- note",
    "def run(self):", "private void run() {", "import os", "from os import path", "return x", "package app;",
    "for x in y:", "const x = 1", "@cached", "total += 1",
)  # fmt: skip
PROSE = (
    "Use Redis for the cache", "- we keep it small", "2. then the tests run", "**Keep** the queue",
    "`make` builds it all",
    "the index is small", "it returns from there", "Wir nehmen Postgres", "use it (as before)",
    "two ways: this or that",
)  # fmt: skip
BLANKS = st.text(" \t", max_size=3)


@given(st.sampled_from(NO_PROSE), st.sampled_from((str, str.lower, str.upper)), BLANKS)
def test_what_is_no_prose_is_covered_in_any_case(line: str, case: Callable[[str], str], before: str) -> None:
    assert not project(before + case(line), of_human=False).strip()


@given(st.lists(st.sampled_from((*NO_PROSE, *PROSE, "")), max_size=8), st.sampled_from(("é", "—", "ﬁ")))
def test_a_sign_beyond_ascii_at_its_end_does_not_make_a_line_another(lines: list[str], sign: str) -> None:
    plain = project("\n".join(lines), of_human=False)
    signed = project("\n".join(f"{line} {sign}" if line in PROSE else line for line in lines), of_human=False)
    shown = [line.rstrip().removesuffix(f" {sign}") for line in signed.split("\n")]
    assert shown == [line.rstrip() for line in plain.split("\n")]


@pytest.mark.parametrize("level", ["WARN", "ERROR", "INFO"])
def test_a_level_of_a_log_is_one_in_capitals_alone(level: str) -> None:
    assert not project(f"{level}  the disk fills", of_human=False).strip()
    assert project(f"{level.lower()}  the disk fills", of_human=False).strip()


def test_prose_stays_as_it_is() -> None:
    shown = [project(line, of_human=True) for line in PROSE]
    assert [line for line in shown if "\ue000" not in line] == [
        line.replace("*", " ") for line in PROSE if "`" not in line
    ]


def test_what_is_covered_in_a_line_may_go_over_a_page_break() -> None:
    assert project('he said "use\x0cRedis" to us', of_human=True) == f"he said {11 * chr(0xE000)} to us"

"""Search answers as text."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.cli.render.search import footer, matched_words, print_answer
from recollect.cli.terminal import Plain
from tests.cli.screens import HOSTILE, NOW_US, answer, hit, screen


def shown(*hits: object, width: int = 120, colours: bool = False, **changes: object) -> str:
    return screen(lambda out: print_answer(out, answer(*hits, **changes), now_us=NOW_US), width=width, colours=colours)


def test_a_hit_shows_where_it_comes_from_and_how_to_cite_it() -> None:
    text = shown(hit(), hit(seq=14))
    assert " 1. Fix the flaky webhook test\n" in text
    assert "codex · 1 wk ago (2026-08-01 09:00) · shop-api · tool_call shell\n" in text
    assert "    codex:0197-a#12\n" in text
    assert "    the webhook test waits for the queue\n" in text
    assert " 2. " in text


def test_the_footer_says_how_many_at_which_level_and_how_long() -> None:
    assert shown(hit()).endswith("1 of 340 events · exact · 8 ms\n")


def test_what_is_found_in_documents_is_no_event() -> None:
    assert shown(hit(), hit(kind="document"), total=2).endswith("2 of 2 hits · exact · 8 ms\n")
    assert footer(answer(hit(kind="document"), total=1)) == "1 of 1 hit · exact · 8 ms"


def test_a_footer_without_a_match_says_the_time_alone() -> None:
    assert footer(answer(total=0)) == "8 ms"


def test_further_hits_of_a_session_are_counted() -> None:
    assert "codex:0197-a#12  +1 more hit in this session" in shown(hit(more_in_session=1))


def test_notes_stand_below_the_hits() -> None:
    assert "note: catching up\n1 of 340" in shown(hit(), notes=("catching up",))


def test_nothing_found_is_said() -> None:
    assert shown().startswith("nothing found\n")


def test_a_note_that_says_nothing_found_is_not_said_twice() -> None:
    assert shown(notes=("nothing found: no word of this is stored",)).count("nothing found") == 1


def test_matched_words_are_bold_on_a_terminal_only() -> None:
    assert "\x1b[1mwebhook\x1b[0m" in shown(hit(), colours=True)
    assert "\x1b" not in shown(hit())


@pytest.mark.parametrize("fields", [{}, {"title": HOSTILE, "snippet": f"{HOSTILE} 検索 word " * 20}, {"title": ""}])
@pytest.mark.parametrize("count", [0, 2])
def test_a_program_reads_what_a_person_sees(fields: dict[str, str], count: int) -> None:
    file = io.StringIO()
    found = answer(*[hit(**fields)] * count, notes=("catching up",), learned=(hit(kind="fact"),))
    print_answer(Plain(file), found, now_us=NOW_US)
    assert file.getvalue() == screen(lambda out: print_answer(out, found, now_us=NOW_US))


def test_no_field_of_a_hit_can_control_the_terminal() -> None:
    fields = ("session_uid", "agent", "kind", "snippet", "title", "repo", "tool")
    text = shown(hit(**dict.fromkeys(fields, HOSTILE)), notes=(HOSTILE,))
    assert not set(text) & set("\x1b\x07\r\u202e")
    assert "␛[2J" in text


def test_a_hit_without_time_and_title_is_shown() -> None:
    text = shown(hit(ts=None, title="", repo="", tool=""))
    assert "(no title)" in text
    assert "codex · no time · tool_call\n" in text


def test_a_narrow_terminal_cuts_no_citation() -> None:
    uid = "claude:5f0c1111-2222-4333-8444-555566667777"
    assert f"{uid}#12\n" in shown(hit(session_uid=uid), width=20)


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("test", "tests are tested, attest not", ["tests", "tested"]),
        ("repo:shop-api -old webhook", "old webhook in shop-api", ["webhook"]),
        ('"payment webhook" OR queue', "OR payment", ["payment"]),
        ("*hook*", "webhooks", ["hook"]),
        ("支付", "在支付后", ["支付"]),
        ("a.b(c", "a b c", ["a", "b", "c"]),
    ],
)
def test_the_words_of_a_query_are_found_in_a_snippet(query: str, text: str, marked: list[str]) -> None:
    pattern = matched_words(query)
    assert pattern is not None
    assert pattern.findall(text) == marked


def test_a_query_of_filters_only_marks_nothing() -> None:
    assert matched_words("repo:x after:2026-08-01 -y") is None


@given(st.text(), st.text())
def test_any_query_and_snippet_can_be_shown(query: str, snippet: str) -> None:
    assert "1 of 340" in shown(hit(snippet=snippet), query=query)

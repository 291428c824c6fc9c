"""The query language understands what its page says, and no text makes it fail."""

from __future__ import annotations

import re
from datetime import timedelta, timezone
from pathlib import Path

from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from recollect.errors import UnknownName
from recollect.index.query.grammar import FILTERS, Question, parse, said_in_passing
from recollect.index.query.patterns import MAX_LINE_CHARS, from_regex, from_wildcard, search_any_case
from recollect.model.time import parse_iso, parse_time
from recollect.store.rows import EventFilter
from tests.examples import tried

NOW_US = parse_iso("2026-08-12T10:00:00Z") or 0  # a Wednesday


def ask(text: str) -> Question:
    return parse(text, NOW_US)


def words(question: Question) -> list[str]:
    return [clause.text for clause in question.words]


def us(text: str) -> int:
    instant = parse_iso(text)
    assert instant is not None
    return instant


def test_plain_words_are_scored_and_none_is_required() -> None:
    question = ask("why did deploy fail")
    assert words(question) == ["why", "did", "deploy", "fail"]
    assert question.must == ()


def test_a_phrase_is_required() -> None:
    question = ask('fail "host key" "single"')
    assert [[c.text for c in group] for group in question.must] == [["host key"], ["single"]]


def test_in_a_question_a_phrase_is_only_preferred() -> None:
    question = ask('why did it say "host key" again?')
    assert question.must == ()
    assert words(question) == ["why", "did", "it", "say", "host key", "host", "key", "again?"]


def test_a_sign_before_a_phrase_means_the_same_in_a_question() -> None:
    question = ask('why did it say +"host key" and not -"dry run"?')
    assert [[c.text for c in group] for group in question.must] == [["host key"]]
    assert [c.text for c in question.must_not] == ["dry run"]


def test_filters_are_no_part_of_what_a_question_says() -> None:
    question = ask('repo:"=shop" why did -agent:codex deploy fail kind:reply')
    assert question.said == "why did  deploy fail"
    assert ask('repo:"=shop" why did it say "host key"').must == ()


def test_or_joins_requirements() -> None:
    assert [[c.text for c in g] for g in ask('"a b" OR "c d" e').must] == [["a b", "c d"]]


def test_minus_excludes_words_phrases_and_filters() -> None:
    question = ask('deploy -staging -"dry run" -agent:codex -kind:thinking')
    assert [c.text for c in question.must_not] == ["staging", "dry run"]
    assert question.where_not == (EventFilter(agents=("codex",)),)
    assert question.not_kinds == ("thinking",)


def test_options_of_commands_and_numbers_are_not_exclusions() -> None:
    assert words(ask("git commit --no-verify -2 --")) == ["git", "commit", "--no-verify", "-2", "--"]


def name_of(field: str, name: str) -> str:
    if field != "agent":
        return name
    if name.lower() in ("cc", "claude"):
        return "claude"
    raise UnknownName("agent", name, nearest=("claude",))


def test_agents_are_named_by_whoever_knows_their_names() -> None:
    question = parse("x agent:CC,claude -agent:cc", NOW_US, names=name_of)
    assert (question.where.agents, question.where_not) == (("claude",), (EventFilter(agents=("claude",)),))
    assert (question.unknown, question.lost, question.notes) == ((), "", ())


def test_an_unknown_agent_is_told_and_never_stands_for_all() -> None:
    question = parse("x agent:claud,cc -agent:nobody", NOW_US, names=name_of)
    assert question.where.agents == ("claud", "claude")
    assert ([one.name for one in question.unknown], question.lost) == (["claud", "nobody"], "")
    assert question.notes[0] == "no agent called 'claud'; did you mean claude?"
    assert parse("x agent:claud", NOW_US, names=name_of).lost == "agent"
    assert not parse("x -agent:claud", NOW_US, names=name_of).lost


def test_filters_are_read_with_their_aliases() -> None:
    question = ask('agent:Claude,codex repo:web session:codex:1f kind:user tool:Bash path:"my dir/a.py" branch:main')
    assert question.where == EventFilter(
        agents=("claude", "codex"), repos=("web",), sessions=("codex:1f",), branches=("main",)
    )
    assert (question.kinds, question.tools, question.paths) == (("user_message",), ("bash",), ("my dir/a.py",))
    assert question.is_confined
    assert not question.asks_something


def test_subagents_can_be_asked_for_and_left_out() -> None:
    assert ask("x is:subagent").where.is_subagent is True
    assert ask("x -is:subagent").where.is_subagent is False


def test_an_unknown_field_is_words_and_said() -> None:
    question = ask("colour:red")
    assert words(question) == ["colour:red"]
    assert "colour:" in question.notes[0]


def test_addresses_and_errors_are_words_without_a_note() -> None:
    question = ask("https://example.org/a")
    assert words(question) == ["https://example.org/a"]
    assert question.notes == ()


def test_unknown_values_are_said() -> None:
    assert ask("x kind:foo").notes
    assert ask("x after:soon").notes
    assert ask("x is:green").notes


def test_infix_and_regular_expressions_are_patterns() -> None:
    kinds = [group[0].kind for group in ask(r"*voice* pre* /fo+bar/").must]
    assert kinds == ["pattern", "pattern", "pattern"]


def test_a_path_between_slashes_stays_words() -> None:
    assert words(ask("/home/user/x")) == ["/home/user/x"]


def test_dates_bound_the_time() -> None:
    question = ask("x after:2026-08-01 before:2026-09")
    assert (question.after_us, question.before_us) == (us("2026-08-01"), us("2026-09-01"))
    day = ask("x on:yesterday")
    assert (day.after_us, day.before_us) == (us("2026-08-11"), us("2026-08-12"))


def test_relative_dates_count_from_the_clock_given() -> None:
    period = parse_time("7d", NOW_US)
    assert period is not None
    assert period.start_us == us("2026-08-05T10:00:00Z")
    week = parse_time("last week", NOW_US)
    assert week is not None
    assert (week.start_us, week.end_us) == (us("2026-08-03"), us("2026-08-10"))
    monday = parse_time("monday", NOW_US)
    assert monday is not None
    assert monday.start_us == us("2026-08-10")


def test_a_date_said_in_passing_prefers_and_is_no_word() -> None:
    question = ask("On 8 January 2026, which function was dead code?")
    assert question.around is not None
    assert (question.around.start_us, question.around.end_us) == (us("2026-01-08"), us("2026-01-09"))
    assert "January" not in words(question)
    for text in ("in June 2025 x", "June 3rd, 2025 x", "x 2025-06-03", "New Year's Eve 2025", "yesterday x"):
        assert said_in_passing(text, NOW_US) is not None, text
    assert said_in_passing("may fail in 2025", NOW_US) is None


def test_the_last_new_years_eve_is_that_of_the_zone() -> None:
    said = said_in_passing("new year's eve", us("2026-01-01T03:00:00Z"), timezone(timedelta(hours=-8)))
    assert said is not None
    assert said.period.start_us == us("2024-12-31T08:00:00Z"), "it is still 2025 there"


@given(
    st.sampled_from(("today", "last week", "2026-11", "2026-11-03T09:00", "3 days ago", "6mo")), st.integers(-12, 14)
)
def test_a_filter_means_the_period_of_the_grammar_in_any_zone(text: str, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    period = parse_time(text, NOW_US, zone)
    assert period is not None
    assert parse(f'x after:"{text}"', NOW_US, zone).after_us == period.start_us
    assert parse(f'x before:"{text}"', NOW_US, zone).before_us == period.start_us
    on = parse(f'x on:"{text}"', NOW_US, zone)
    assert (on.after_us, on.before_us) == (period.start_us, period.end_us)


def test_a_pattern_over_words_is_taken_apart_and_verified() -> None:
    pattern, _ = from_regex(r"fetch_\w+\(timeout")
    assert pattern is not None
    assert [piece.literal for piece in pattern.pieces] == ["fetch", "timeout"]
    assert pattern.is_in("x\ncall Fetch_rows(timeout=3)")
    assert not pattern.is_in("fetch_rows(\ntimeout)")


def test_a_wildcard_with_signs_is_verified() -> None:
    pattern, _ = from_wildcard("*voice_tot*")
    assert pattern is not None
    assert pattern.is_in("the invoice_total")
    assert not pattern.is_in("invoice and total")


def test_expressions_that_could_take_for_ever_are_refused_and_said() -> None:
    for source in (r"(a+)+$", r"(a|aa)+b", r"(?=a)b", r"(a)\1", r"a*b*c*d*e*"):
        pattern, note = from_regex(source)
        assert pattern is None, source
        assert source in note


def test_a_broken_expression_is_words_and_said() -> None:
    question = ask("/[a/ x")
    assert words(question)


@given(st.text())
def test_no_text_raises(text: str) -> None:
    parse(text, NOW_US)


_SYNTAX = st.text(st.sampled_from('ab1"*/()[]{}\\:-+.|? ,^$é検\n'), max_size=40)


@given(_SYNTAX)
def test_no_syntax_raises(text: str) -> None:
    parse(text, NOW_US)
    from_regex(text)
    from_wildcard(text)


@given(st.text(max_size=20), st.booleans())
def test_no_name_of_an_agent_raises_and_an_unknown_one_is_told(name: str, is_not: bool) -> None:
    question = parse(f'x {"-" if is_not else ""}agent:"{name}"', NOW_US, names=name_of)
    assert bool(question.unknown) == any("no agent called" in note for note in question.notes)


@given(st.sampled_from(("after", "before", "on")), st.text(st.sampled_from("0123456789-dwmy :TZ"), max_size=14))
def test_no_date_raises(name: str, value: str) -> None:
    parse(f'x {name}:"{value}"', NOW_US)


def test_every_filter_is_on_the_page(repository: Path) -> None:
    page = (repository / "docs" / "reference" / "query-language.md").read_text("utf-8")
    assert [name for name in FILTERS if f"`{name}:" not in page] == []


SOURCES = st.text("aAbZ_ \\.?|()[]^$-wWdDx1", max_size=12) | st.sampled_from(
    (r"a[\W_]*b", "flush_(metric|report)", "[A-z]_b", r"\x41b", "[^a]B", r"\\Ab", "a_b$", r"a\bB", "^a_", "\u017fa")
)
TEXTS = st.text("aAbBzZ_ 1-.\n\r\u2028\\\u017f", max_size=40)


@given(SOURCES, TEXTS)
@settings(max_examples=tried(900))
def test_a_search_in_small_letters_finds_the_same(source: str, text: str) -> None:
    try:
        pattern = re.compile(source, re.IGNORECASE)
    except (re.error, FutureWarning):
        assume(False)
    found, expected = search_any_case(pattern, text), pattern.search(text)
    assert (found and found.span()) == (expected and expected.span())


@given(SOURCES, TEXTS, st.sampled_from(("", "-" * MAX_LINE_CHARS)))
@settings(max_examples=tried(900))
def test_a_pattern_is_looked_for_in_the_beginnings_of_lines(source: str, text: str, before: str) -> None:
    pattern, _note = from_regex(source)
    if pattern is None or pattern.text is None:
        reject()
    lines = [line[:MAX_LINE_CHARS] for line in (before + text).splitlines()]
    assert pattern.is_in(before + text) == any(pattern.text.search(line) for line in lines)

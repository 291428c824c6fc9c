"""The prefilter loses nothing: where an expression matches in a sentence, it says that one may."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.insights.language.pack import PackRule
from recollect.insights.language.patterns import Pattern
from recollect.insights.language.prefilter import Prefilter, Prose
from recollect.insights.language.prose_mask import folded, project
from recollect.insights.language.reader import words_of
from recollect.insights.language.sentences import Clauses, Sentence, Words, sentences
from tests.insights.languages.test_packs import LANGUAGES, examples, spoken

_BETWEEN = (
    " ",
    "\n",
    "\n\n",
    "\n- ",
    ". ",
    ", ",
    " (",
    ") ",
    " - ",
    "/",
    "-",
    "_",
    ".",
    " **",
    "** ",
    " `x` ",
)


@cache
def lines(code: str) -> tuple[str, ...]:
    """Return what the examples of a language say, each line without its speaker."""
    return tuple(spoken(line)[0] for line in examples(code)["rules"].values())


@cache
def prefilter(code: str) -> Prefilter:
    """Return the prefilter of what people say in a language."""
    return Prefilter(words_of(code), "human")


def matching(low: str, words: Words) -> Iterator[tuple[Pattern, Sentence, int]]:
    """Yield each pattern that matches, its sentence and where it begins, all of them tried everywhere."""
    patterns = [p for rule, of_rule in words.patterns if rule.speaker != "assistant" for p in of_rule]
    for sentence in sentences(low):
        clauses = Clauses(low, sentence, words)
        for pattern in patterns:
            anywhere = range(*sentence) if not pattern.is_at_start else ()
            for at in anywhere or (clauses.first if pattern.is_at_sentence else clauses.starts):
                if pattern.expression.match(low, at, sentence.end):
                    yield pattern, sentence, at


@pytest.mark.parametrize("code", LANGUAGES)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_where_an_expression_matches_there_is_a_spot(code: str, data: st.DataObject) -> None:
    pieces = data.draw(st.lists(st.sampled_from(lines(code)), min_size=1, max_size=3))
    text = "".join(piece + data.draw(st.sampled_from(_BETWEEN)) for piece in pieces)
    low = folded(project(text, of_human=True))
    spots = {
        (sentence, id(one.candidate.pattern)): one
        for sentence, of_sentence in prefilter(code).spots(Prose(low))
        for one in of_sentence
    }
    for pattern, sentence, at in matching(low, words_of(code)):
        one = spots.get((sentence, id(pattern)))
        is_seen = one is not None and (not one.candidate.begins or at in one.positions)
        assert is_seen, (pattern.written, low[at : sentence.end])


@pytest.mark.parametrize(
    ("code", "written", "text"),
    [
        ("en", "^^{chosen:4} only $", "**Staged files only** - the rest stays"),
        ("en", "^^{chosen:4} only $", "staged files only\nthen the rest of them"),
        ("en", "see {about} use {chosen}", "see http://localhost:1. use sqlite"),
        ("en", "{chosen} instead of {rejected}", "take `a, b. c` instead of `d`"),
        ("en", "do {chosen} instead of {rejected}", "do it e.g. with sqlite instead of files"),
        ("de", "ich würd* (das|es) (über|mit) {chosen} machen", "ich würde das über einen dienst machen"),
        ("de", "statt {rejected} nutz* {chosen}", "statt json nutzen wir toml"),
        ("de", "<*n-kein_wir> wir {about:2} als {chosen}", "das datum speichern wir hier als text"),
        ("de", "^<*-verb> <*-verb>? immer {chosen}", "lokale zeiten immer als utc"),
    ],
)
def test_what_stands_between_words_keeps_no_pattern_out(code: str, written: str, text: str) -> None:
    rule = PackRule("choice.tried", (written,))
    shipped = words_of(code).pack
    tried = Prefilter(Words(msgspec.structs.replace(shipped, rules=(rule,))), "human")
    low = folded(project(text, of_human=True))
    assert any(True for _ in matching(low, tried.words))
    assert list(tried.spots(Prose(low)))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("no new {rejected:4}", "no, the new one"),  # a comma, and words, between what stands side by side
        ("^for {about:3} use {chosen}", "for all of the many files that we have use one"),  # too many words
        ("(skip|drop) {rejected} , use {chosen}", "drop the cache and use one"),  # no comma
        ("^{chosen:4} only $", "staged files only where they are small"),  # goes on
        ("use {chosen} instead", "instead we use it"),  # in another order
        ("use {chosen} instead", "we use it. then that instead"),  # in two sentences
    ],
)
def test_words_that_do_not_follow_each_other_are_no_spot(written: str, text: str) -> None:
    rule = PackRule("choice.tried", (written,))
    tried = Prefilter(Words(msgspec.structs.replace(words_of("en").pack, rules=(rule,))), "human")
    assert list(tried.spots(Prose(text))) == []

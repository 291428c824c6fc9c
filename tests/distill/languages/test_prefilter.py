"""The prefilter loses nothing: where an expression matches in a sentence, it says that one may."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.distill.language.patterns import Pattern
from recollect.distill.language.prefilter import Prefilter, Said, Spot
from recollect.distill.language.projection import lower, project
from recollect.distill.language.reading import words_of
from recollect.distill.language.sentences import Clauses, Sentence, sentences
from tests.distill.languages.test_packs import LANGUAGES, examples, spoken

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


def matching(low: str, code: str) -> Iterator[tuple[Pattern, Sentence, int]]:
    """Yield each pattern that matches, its sentence and where it begins, all of them tried everywhere."""
    words = words_of(code)
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
    raw, low = lower(text), lower(project(text, of_human=True))
    found = prefilter(code).places(Said(raw))
    spots: list[Spot] = []
    if found is not None:
        spots = prefilter(code).spots(found.uncovered(low, prefilter(code).spots(found)))
    at_places = {(id(spot.candidate.pattern), spot.position) for spot in spots}
    for pattern, sentence, at in matching(low, code):
        of_pattern = [s for s in spots if s.candidate.pattern is pattern]
        begins = any(s.candidate.first >= 0 for s in of_pattern)
        is_seen = (
            (id(pattern), at) in at_places
            if begins
            else any(sentence.start <= s.position < sentence.end for s in of_pattern)
        )
        assert is_seen or pattern.rule.needs == ("reason",), (pattern.written, low[at : sentence.end])

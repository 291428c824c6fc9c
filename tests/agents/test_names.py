"""Every agent is found by every name that it has, and by no other agent's."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.registry import adapter, adapters, names_of
from recollect.errors import UnknownName

NAMES = [(slug, name) for slug, a in adapters().items() for name in (slug, a.facts.name, *a.facts.aliases)]


@pytest.mark.parametrize(("slug", "name"), NAMES)
def test_an_agent_is_found_by_each_of_its_names_however_it_is_written(slug: str, name: str) -> None:
    spellings = {
        name,
        name.upper(),
        f"  {name} ",
        name.replace("-", "_"),
        name.replace("-", " "),
        name.replace("_", ""),
    }
    assert {adapter(spelling).facts.slug for spelling in spellings} == {slug}


def test_no_two_agents_have_the_same_name() -> None:
    letters = {(slug, "".join(c for c in name.lower() if c.isalnum())) for slug, name in NAMES}
    assert [name for name, times in Counter(name for _slug, name in letters).items() if times > 1] == []


def test_a_slug_goes_before_another_agents_name() -> None:
    known = {"cc": adapters()["codex"], "claude": adapters()["claude"]}
    assert names_of(known)["cc"] == "cc"


@given(st.text(max_size=40))
def test_any_text_is_an_agent_or_an_error_that_names_agents_alone(text: str) -> None:
    found: set[str]
    try:
        found = {adapter(text).facts.slug}
    except UnknownName as unknown:
        found = set(unknown.nearest)
    assert found <= set(adapters())


def test_a_misspelt_name_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean claude"):
        adapter("claud-code")

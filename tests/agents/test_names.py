"""Every agent is found by every name that it has, and by no other agent's."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agent_names import OWN, letters, own_slug
from recollect.agents import registry
from recollect.agents.registry import adapter, adapters, slug_of
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
    for resolve in (slug_of, own_slug, lambda spelling: adapter(spelling).facts.slug):
        assert {resolve(spelling) for spelling in spellings} == {slug}


def test_no_two_agents_have_the_same_name() -> None:
    spelled = {(slug, letters(name)) for slug, name in NAMES}
    assert [name for name, times in Counter(name for _slug, name in spelled).items() if times > 1] == []


def test_the_hooks_table_has_the_agents_of_the_registry_and_their_names() -> None:
    assert {slug: {slug, *names.split()} for slug, names in OWN.items()} == {
        slug: {letters(name) for name in (slug, a.facts.name, *a.facts.aliases)} for slug, a in adapters().items()
    }


def test_no_adapter_is_imported_to_resolve_a_name() -> None:
    program = (
        "import sys; from recollect.agents.registry import slug_of; print(slug_of('cc'), slug_of('Kilo Code'));"
        "print([n for n in sys.modules if n.startswith('recollect.agents.') and n.endswith('.parse')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["claude kilo", "[]"]


def test_a_slug_goes_before_another_agents_name() -> None:
    known = {"claude": adapters()["claude"], "cc": adapters()["codex"]}
    assert (slug_of("cc", known), slug_of("C.C.", known), slug_of("claude-code", known)) == ("cc", "cc", "claude")


def test_a_name_of_ours_goes_before_one_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_installed", lambda: {"guest": adapters()["claude"], "q": adapters()["codex"]})
    assert (slug_of("cc"), slug_of("guest"), slug_of("q"), slug_of("kiro")) == ("claude", "guest", "q", "kiro")


def test_a_stored_slug_goes_before_a_name_and_behind_a_known_slug() -> None:
    stored = ("cc", "Claude", "gone-agent")
    assert slug_of("cc", stored=lambda: stored) == "cc"
    assert slug_of("gone agent", stored=lambda: stored) == "gone-agent"
    assert slug_of("claude", stored=lambda: stored) == "claude"
    assert slug_of("CLAUDE", stored=lambda: stored) == "claude"
    with pytest.raises(UnknownName, match="did you mean gone-agent"):
        slug_of("gon-agent", stored=lambda: stored)


@given(st.text(max_size=40))
def test_any_text_is_an_agent_or_an_error_that_names_agents_alone(text: str) -> None:
    found: set[str]
    try:
        found = {slug_of(text)}
    except UnknownName as unknown:
        found = set(unknown.nearest)
        assert own_slug(text) == text
    assert found <= set(adapters())


@pytest.mark.parametrize("name", ["", " ", "--", "…"])
def test_a_name_without_letters_is_nobodys(name: str) -> None:
    with pytest.raises(UnknownName):
        slug_of(name)


def test_a_misspelt_name_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean claude"):
        slug_of("claud-code")

"""Laws of editing settings as text: what isn't ours stays, what we put in goes out again, byte for byte."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from recollect.agents.install.documents import apply_edits, load, states_of, take_out
from recollect.agents.install.values import AppendItem, Edit, Format, SetKey, with_edit
from recollect.errors import SettingsInvalid, SettingsRefused
from tests.agents.install.documents import TOML_PARTS, YAML_PARTS, edits, joined, json_texts

SERVER = SetKey(("mcp_servers", "recollect"), {"command": "/opt/recollect", "args": ["mcp"], "env": {"A": "b c"}})
HOOK = AppendItem(("hooks",), {"event": "Stop", "command": "/opt/recollect 'x y' \"z\"", "timeout": 5})
MEMORY_OFF = SetKey(("features", "memories"), False, overwrites=True)
EXTENSION = SetKey(("extensions", "recollect"), {"type": "stdio", "cmd": "/opt/recollect", "args": ["mcp"], "on": True})
HOOKS_LIST = AppendItem(("hooks", "Stop"), {"command": "recollect hook", "timeout": 5})


def holds_the_laws(text: str, form: Format, wanted: list[Edit]) -> None:
    before = load(text, form)
    applied = apply_edits(text, form, wanted)
    expected: Any = before
    for undo in applied.undos:
        expected = with_edit(expected, undo.edit)
    assert load(applied.text, form) == expected
    assert set(states_of(applied.text, form, wanted)) <= {"present"}
    again = apply_edits(applied.text, form, wanted)
    assert (again.text, again.undos) == (applied.text, ())
    assert take_out(applied.text, form, applied.undos).text == text


REFUSED = re.compile(r"is not a (table|list)|already has a value")
"""What may be in the way of an edit: something of the person's, never a layout."""


def refused_with(text: str, form: Format, wanted: list[Edit]) -> str | None:
    try:
        apply_edits(text, form, wanted)
    except SettingsRefused as refused:
        return str(refused)
    return None


def distinct(wanted: list[Edit]) -> list[Edit]:
    """Leave out what contradicts an edit before it: the same place with another value, or below a value of ours."""
    kept: list[Edit] = []
    for edit in wanted:
        clashes = any(
            edit.path[: len(k.path)] == k.path or k.path[: len(edit.path)] == edit.path
            for k in kept
            if not (isinstance(k, AppendItem) and isinstance(edit, AppendItem) and k.path == edit.path)
        )
        if not clashes:
            kept.append(edit)
    return kept


@pytest.mark.parametrize("form", ["json", "jsonc"])
@given(data=st.data())
def test_any_json_gets_ours_and_loses_it_again_exactly(form: Format, data: st.DataObject) -> None:
    text = data.draw(json_texts(comments=form == "jsonc"))
    wanted = distinct(data.draw(st.lists(edits(), min_size=1, max_size=3)))
    refusal = refused_with(text, form, wanted)
    assert refusal is None or REFUSED.search(refusal)
    if refusal is None:
        holds_the_laws(text, form, wanted)


@given(text=joined(TOML_PARTS), chosen=st.permutations((SERVER, HOOK, MEMORY_OFF)), count=st.integers(1, 3))
@example(text="", chosen=[SERVER, HOOK, MEMORY_OFF], count=3)
@example(text="mcp_servers = { docs = { command = 'x' } }\n", chosen=[SERVER, MEMORY_OFF, HOOK], count=2)
@example(text="hooks = [ { event = 'Stop', command = 'x' } ] # all\n[features]\n", chosen=[HOOK, SERVER], count=2)
@example(text="mcp_servers.docs.command = 'x'\nfeatures.web = true\n", chosen=[SERVER, MEMORY_OFF], count=2)
def test_any_toml_gets_ours_and_loses_it_again_exactly(text: str, chosen: list[Edit], count: int) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)
    holds_the_laws(text, "toml", chosen[:count])


@given(text=joined(YAML_PARTS), chosen=st.permutations((EXTENSION, HOOKS_LIST)), count=st.integers(1, 2))
@example(text="", chosen=[EXTENSION, HOOKS_LIST], count=2)
@example(text="# only a comment\n", chosen=[EXTENSION, HOOKS_LIST], count=2)
@example(text="extensions: {}\nother: 1\n", chosen=[EXTENSION, HOOKS_LIST], count=2)
@example(text="hooks:\n  Stop: []  # none\nextensions:\n", chosen=[EXTENSION, HOOKS_LIST], count=2)
@example(text="extensions: {a: {x: 1}}\nhooks: {Stop: [1]}", chosen=[EXTENSION, HOOKS_LIST], count=2)
def test_any_yaml_gets_ours_and_loses_it_again_exactly(text: str, chosen: list[Edit], count: int) -> None:
    assume(not text.endswith("  end"))  # see the test of a block text without a last newline
    holds_the_laws(text, "yaml", chosen[:count])


@given(data=st.data())
def test_what_was_added_around_ours_since_stays(data: st.DataObject) -> None:
    text = data.draw(json_texts(comments=True))
    wanted = [AppendItem(("hooks", "Stop"), {"command": "/opt/recollect hook"}), SetKey(("mcp", "recollect"), {"c": 1})]
    theirs = distinct([*wanted, *data.draw(st.lists(edits(), min_size=1, max_size=2))])[2:]
    try:
        mine = apply_edits(text, "jsonc", wanted)
        both = apply_edits(mine.text, "jsonc", theirs)
        only_theirs = apply_edits(text, "jsonc", theirs)
    except SettingsRefused:
        assume(False)
        raise
    left = take_out(both.text, "jsonc", mine.undos)
    assert without_empty(load(left.text, "jsonc")) == without_empty(load(only_theirs.text, "jsonc"))


def without_empty(value: Any) -> Any:
    """Tables that we made stay while somebody else's are in them; empty ones say nothing."""
    if isinstance(value, dict):
        return {k: v for k, v in ((k, without_empty(v)) for k, v in value.items()) if v not in ({}, [])}
    return value


def test_a_block_text_without_a_last_newline_would_change_so_nothing_is_added() -> None:
    with pytest.raises(SettingsRefused, match="without changing something else"):
        apply_edits("prompt: |\n  the end", "yaml", [EXTENSION])


JSONC = """\
// my settings
{
\t"theme": "dark", // at night
\t"mcpServers": {
\t\t"docs": { "command": "npx", "args": ["-y", "docs"] } // keep
\t},
}
"""


def test_a_new_member_is_written_as_its_neighbours_are() -> None:
    applied = apply_edits(JSONC, "jsonc", [SetKey(("mcpServers", "recollect"), {"command": "r"})])
    assert applied.text == JSONC.replace(
        '["-y", "docs"] } // keep\n',
        '["-y", "docs"] }, // keep\n\t\t"recollect": {\n\t\t\t"command": "r"\n\t\t}\n',
    )


def test_an_entry_that_a_person_extended_is_still_ours_and_leaves() -> None:
    applied = apply_edits("{}", "json", [SetKey(("mcpServers", "recollect"), {"command": "r"})])
    extended = applied.text.replace('"command": "r"', '"command": "r", "timeout": 9')
    assert states_of(extended, "json", [u.edit for u in applied.undos]) == ("present",)
    assert load(take_out(extended, "json", applied.undos).text, "json") == {}


def test_a_hook_whose_time_limit_a_person_changed_leaves_too() -> None:
    edit = AppendItem(("hooks", "Stop"), {"hooks": [{"command": "/opt/recollect spool", "timeout": 5}]})
    text = '{\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"command": "say"}]}\n    ]\n  }\n}\n'
    applied = apply_edits(text, "json", [edit])
    changed = applied.text.replace('"timeout": 5', '"timeout": 60')
    assert take_out(changed, "json", applied.undos).text == text


def test_a_replaced_value_comes_back_unless_a_person_changed_it() -> None:
    text = '{\n  "autoMemoryEnabled": true\n}'
    applied = apply_edits(text, "json", [SetKey(("autoMemoryEnabled",), False, overwrites=True)])
    assert load(applied.text, "json") == {"autoMemoryEnabled": False}
    assert take_out(applied.text, "json", applied.undos).text == text
    theirs = applied.text.replace("false", '"sometimes"')
    assert take_out(theirs, "json", applied.undos) == (theirs, (applied.undos[0].edit,))


def test_what_is_gone_already_is_told() -> None:
    applied = apply_edits('{"a": 1}', "json", [SetKey(("m", "recollect"), {"c": 1})])
    assert take_out('{"a": 1}', "json", applied.undos) == ('{"a": 1}', (applied.undos[0].edit,))


def test_somebody_elses_entry_of_our_name_is_not_written_over() -> None:
    with pytest.raises(SettingsRefused, match=r"mcpServers\.recollect already has a value"):
        apply_edits(
            '{"mcpServers": {"recollect": {"command": "theirs"}}}',
            "json",
            [SetKey(("mcpServers", "recollect"), {"command": "ours"})],
        )


@pytest.mark.parametrize(
    ("text", "form", "line"),
    [
        ('{\n "a": 1,\n}', "json", 2),
        ('{\n "a": 1 // x\n}', "json", 2),
        ('{"a": 1, "a": 2}', "jsonc", 1),
        ('{"a": 1', "jsonc", 1),
        ('{"a": nul}', "json", 1),
        ("{} {}", "json", 1),
        ('{"a": "\n"}', "json", 1),
        ("/* no end", "jsonc", 1),
        ("[" * 300, "json", 1),
        ("[1]", "json", 0),
        ("a = 1\na = 2\n", "toml", 2),
        ("[x\n", "toml", 1),
        ("a: 1\n b: 2\n", "yaml", 2),
        ("- 1\n", "yaml", 0),
        ("a: 1\na: 2\n", "yaml", 2),
        ("a: 1\n---\nb: 2\n", "yaml", 2),
    ],
)
def test_what_its_agent_could_not_read_is_refused_with_the_line(text: str, form: Format, line: int) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        apply_edits(text, form, [SetKey(("m", "recollect"), {"c": 1})])
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "form"), [('{"hooks": 3}', "json"), ("hooks = 3", "toml"), ("hooks: 3", "yaml"), ('{"hooks": []}', "json")]
)
def test_something_else_in_the_place_of_a_table_is_refused(text: str, form: Format) -> None:
    with pytest.raises(SettingsRefused, match="hooks is not a table"):
        apply_edits(text, form, [AppendItem(("hooks", "Stop"), {"c": 1})])

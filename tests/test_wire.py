"""What processes must spell alike is written once, and a question reaches nobody but the daemon of the user."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import paths, wire
from recollect.agent_names import HOST_VARIABLES

SOURCE = Path(__file__).parents[1] / "src" / "recollect"
COMMON = frozenset({
    wire.PARTIAL_FOLDER, wire.HOOKS_FOLDER, wire.OTLP_FOLDER, wire.IMPORT_FOLDER, wire.WHOLE_SUFFIX, wire.RUN_FOLDER,
    wire.BAD_FOLDER, wire.KIND_CONTEXT, wire.KIND_FLUSH, wire.KIND_ENDED, wire.KIND_STATUS, wire.KIND_REQUEST,
    paths.SPOOL_FOLDER, paths.RESTORE_FOLDER, paths.RESTORE_READY, paths.CONFIG_NAME, paths.SAMPLE_FOLDER,
})  # fmt: skip
"""Words that mean other things elsewhere; every other constant is found by its spelling alone."""


def distinctive() -> dict[str, str]:
    """Return the constants of `wire`, and of the home's layout, that nobody else has a reason to spell."""
    hosts = {variable: f"HOST_VARIABLES {variable}" for variable in HOST_VARIABLES}
    named = {
        value: name
        for module in (wire, paths)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str) and value not in COMMON
    }
    return {**named, **hosts}


def modules_with(words: Collection[str]) -> Iterator[tuple[Path, ast.Module]]:
    """Parse the modules in which one of the words stands somewhere: to parse all of them takes seconds."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        if any(word in text for word in words):
            yield path, ast.parse(text)


def literals(tree: ast.Module) -> list[str]:
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts
    ]


def test_a_shared_name_is_spelled_in_one_place() -> None:
    names = distinctive()
    assert {wire.INTERNAL_VARIABLE, wire.SOCKET_NAME, wire.LOST_SUFFIX, paths.DATABASE_NAME} <= set(names)
    again = [
        f"{path.relative_to(SOURCE)}: {names[text]}"
        for path, tree in modules_with(names)
        if path.name not in ("wire.py", "paths.py", "agent_names.py")
        for text in literals(tree)
        if text in names
    ]
    assert again == []


def test_the_spools_folders_are_spelled_in_one_place() -> None:
    """A path is put together of names, so a folder's name in a join is a copy, however common the word is."""
    again = []
    for path, tree in modules_with([paths.SPOOL_FOLDER]):
        for node in ast.walk(tree):
            parts = [node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else []
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "join":
                parts = list(node.args)
            texts = [part.value for part in parts if isinstance(part, ast.Constant)]
            again += [f"{path.relative_to(SOURCE)}: {text}" for text in texts if text == paths.SPOOL_FOLDER]
    assert again == []


@given(texts=st.dictionaries(st.text(min_size=1).filter(lambda name: name != "version"), st.text()))
def test_any_texts_arrive_as_they_were_sent(texts: dict[str, str]) -> None:
    line = wire.encoded(texts)
    assert line.count(b"\n") == 1
    assert wire.texts_of(line) == texts


@given(line=st.binary())
def test_any_other_line_says_nothing(line: bytes) -> None:
    assert wire.texts_of(line) == {}


@pytest.mark.parametrize("line", [b'{"version": 2, "text": "x"}', b'["version"]', b"[" * 100_000, b""])
def test_a_line_of_another_version_or_form_says_nothing(line: bytes) -> None:
    assert wire.texts_of(line) == {}

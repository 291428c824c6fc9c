"""Modules, functions, classes and folders stay small enough to be read; exceptions are listed and only shrink."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.architecture.sizes import (
    FUNCTION_LINES,
    PARAMETERS,
    Excess,
    excess_of_folder,
    excesses_of_module,
)

CODE = ("src", "tests", "benchmarks", "scripts")
FAMILIES = ("agents", "commands", "migrations", "containers", "detectors", "tests/cli")
"""Folders of like members, by name or path: any number of modules."""
EXCEPTIONS: dict[str, str] = {}
"""What may be larger than its limit, by name as in `Excess.name`, and why. Never add; only remove."""


@cache
def measured(repository: Path) -> list[Excess]:
    found: list[Excess] = []
    for root in CODE:
        for path in sorted((repository / root).rglob("*.py")):
            found += excesses_of_module(path.read_text("utf-8"), path.relative_to(repository).as_posix())
        for folder in sorted({p.parent for p in (repository / root).rglob("*.py")}):
            name = folder.relative_to(repository).as_posix()
            if folder.name not in FAMILIES and name not in FAMILIES:
                found += excess_of_folder(folder, name)
    return found


def test_nothing_is_larger_than_its_limit(repository: Path) -> None:
    assert [x for x in measured(repository) if x.name not in EXCEPTIONS] == []


def test_every_exception_is_still_needed(repository: Path) -> None:
    assert set(EXCEPTIONS) - {x.name for x in measured(repository)} == set()


@given(lines=st.integers(1, 3 * FUNCTION_LINES), parameters=st.integers(0, 3 * PARAMETERS))
def test_the_measure_sees_what_is_too_large(lines: int, parameters: int) -> None:
    names = ", ".join(["self", *(f"p{i}" for i in range(parameters))])
    source = f"class C:\n    def f({names}):\n" + "        pass\n" * lines
    too_large = {
        "function lines": lines + 1 > FUNCTION_LINES,
        "parameters": parameters > PARAMETERS,
    }
    assert {x.what for x in excesses_of_module(source, "m.py")} == {what for what, is_so in too_large.items() if is_so}

"""Modules and packages are named for what they hold; a drawer has no name here."""

from __future__ import annotations

from pathlib import Path

DRAWERS = (
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "core",
    "manager",
    "managers",
    "misc",
    "shared",
    "base_utils",
)


def test_no_module_is_a_drawer(repository: Path) -> None:
    named = [p for root in ("src", "tests", "benchmarks", "scripts") for p in (repository / root).rglob("*")]
    assert [p for p in named if p.stem in DRAWERS and (p.is_dir() or p.suffix == ".py")] == []

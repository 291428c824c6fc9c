"""Renamed public modules. An old name works for one more release, with a warning.

A program that imports `recollect.model.timestamps` gets `recollect.model.time`, the same module with the same classes.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

RENAMED = {
    "recollect.agents.kit.access": "recollect.agents.kit.values",
    "recollect.agents.kit.addresses": "recollect.agents.kit.values",
    "recollect.agents.kit.drift": "recollect.agents.kit.adapter",
    "recollect.agents.kit.edits": "recollect.agents.kit.calls",
    "recollect.agents.kit.google_parts": "recollect.agents.kit.google_chat",
    "recollect.agents.kit.instants": "recollect.agents.kit.values",
    "recollect.agents.kit.naming": "recollect.agents.kit.names",
    "recollect.agents.kit.reading": "recollect.agents.kit.adapter",
    "recollect.agents.kit.turns": "recollect.agents.kit.calls",
    "recollect.distill": "recollect.insights",
    "recollect.distill.preparing": "recollect.insights.preparation",
    "recollect.model.distilled": "recollect.model.insights",
    "recollect.model.learned": "recollect.model.learnings",
    "recollect.model.learned.naming": "recollect.model.learnings.names",
    "recollect.model.timestamps": "recollect.model.time",
    "recollect.testing.runner": "recollect.testing.suite",
    "recollect.testing.saves": "recollect.testing.fixtures",
    "recollect.testing.shapes": "recollect.testing.suite",
}
"""Old name to new name, of modules and packages; what is below a package keeps its own name."""


class _Alias(Loader):
    """Gives the module of the new name where the old one is imported."""

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        new = new_name(old)
        warnings.warn(f"{old} is now {new}; the old name ends with the next release", DeprecationWarning, stacklevel=2)
        sys.modules[old] = importlib.import_module(new)


def new_name(old: str) -> str:
    """Return the name that a module has now, or `old` itself."""
    package = old
    while package and package not in RENAMED:
        package = package.rpartition(".")[0]
    return RENAMED[package] + old[len(package) :] if package else old


def find_spec(old: str) -> ModuleSpec | None:
    """Return how to load a module under its old name, None if there is no such module."""
    new = new_name(old)
    if new == old or importlib.util.find_spec(new) is None:
        return None
    return ModuleSpec(old, _Alias())

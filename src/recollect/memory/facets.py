"""Facets of a memory: each is declared in one line, and imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from recollect.clock import now_us
from recollect.ingest.open_home import OpenHome


class HomeFacet:
    """What the facets of one memory have in common."""

    def __init__(self, home: OpenHome, now_us: Callable[[], int] = now_us) -> None:
        self._home = home
        self._now_us = now_us


class _Lazy:
    def __init__(self, module: str, of: str) -> None:
        self._module = module
        self._of = of

    def __set_name__(self, owner: type, name: str) -> None:
        self._class = owner.__annotations__[name]

    def __get__(self, owner: object | None, owner_type: type) -> object:
        if owner is None:
            return self
        return getattr(import_module(self._module), self._class)(getattr(owner, self._of) if self._of else owner)


def facet(module: str, *, of: str = "") -> Any:
    """Return a property that creates a facet on each access. The annotation names its class.

    module: where that class is defined. of: the attribute that the facet is made from; "": the object itself.
    """
    return _Lazy(module, of)

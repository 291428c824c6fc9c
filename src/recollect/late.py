"""Values that are computed on first use, so that short commands do not pay for them."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable
from functools import cached_property
from types import ModuleType
from typing import Any, AnyStr, Generic, cast


class LatePattern(Generic[AnyStr]):
    """A regular expression, compiled when it is first tried: most of them are tried in few processes.

    Compiling all of them takes longer than all else that a short command has to do.
    """

    def __init__(self, source: AnyStr, flags: int = 0) -> None:
        self.source: AnyStr = source
        """The expression as it was written."""
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[AnyStr]:
        """The pattern itself."""
        return re.compile(self.source, self._flags)

    @cached_property
    def match(self) -> Callable[..., re.Match[AnyStr] | None]:
        """`re.Pattern.match`."""
        return self.compiled.match

    @cached_property
    def search(self) -> Callable[..., re.Match[AnyStr] | None]:
        """`re.Pattern.search`."""
        return self.compiled.search

    def __getattr__(self, name: str) -> Any:
        """Return what else a pattern has."""
        found = getattr(self.compiled, name)
        setattr(self, name, found)
        return found


def late_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what can be used as the pattern that `re.compile` returns, see `LatePattern`."""
    return cast("re.Pattern[AnyStr]", LatePattern(source, flags))


class LateModule(ModuleType):
    """A module that loads on first access."""

    def __getattr__(self, name: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


class LatePlatform(LateModule):
    """What is asked of `platform` by who loads it at once; the module itself begins with ten patterns."""

    @staticmethod
    def system() -> str:
        """What `uuid` asks."""
        return os.uname().sysname

    @staticmethod
    def python_implementation() -> str:
        """What `zstandard` asks."""
        return {"cpython": "CPython", "pypy": "PyPy"}.get(sys.implementation.name, sys.implementation.name)


class LateInspect(LateModule):
    """What click asks of `inspect` of every option; the module itself loads the parts of a compiler."""

    def cleandoc(self, text: str) -> str:
        """See `inspect.cleandoc`."""
        if "\n" not in text:
            return text.expandtabs().lstrip()
        return importlib.import_module(self.__name__).cleandoc(text)  # type: ignore[no-any-return]


def load_lightly(*wanted: str) -> None:
    """Load modules without what they load in turn and short commands do not use.

    msgspec takes `typing_extensions` where it is there, though `typing` has the same names; two modules it has for
    schemas. `uuid` and zstandard ask `platform` one question; `pathlib` quotes URLs, and who does that knows addresses.
    click asks little of `inspect`. That is a third of their loading time (Python 3.11). Whatever comes later finds the
    modules as ever.
    """
    instead: dict[str, ModuleType | None] = {
        "typing_extensions": None,
        "inspect": LateInspect("inspect"),
        **{name: LateModule(name) for name in ("textwrap", "msgspec.inspect", "ipaddress")},
    }
    if hasattr(os, "uname"):
        instead["platform"] = LatePlatform("platform")
    instead = {name: module for name, module in instead.items() if name not in sys.modules}
    sys.modules.update(instead)  # type: ignore[arg-type]  # None: how Python is told that there is no such module
    try:
        for name in wanted:
            importlib.import_module(name)
    finally:
        for name, module in instead.items():
            if name in sys.modules and sys.modules[name] is module:
                del sys.modules[name]

"""Values that are computed on first use, so that short commands do not pay for them."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable
from functools import cache, cached_property
from types import ModuleType
from typing import Any, AnyStr, Generic, TypeVar, cast

_COMPILER: Any = getattr(re, "_compiler", None)
_PARSER: Any = getattr(re, "_parser", None)
_ENGINE: Any = sys.modules.get("_sre")
ENGINE = f"{sys.version} {getattr(_ENGINE, 'MAGIC', '')}"
"""Whose compiled expressions are used here: no other Python's."""
_Given = TypeVar("_Given")
_Told = TypeVar("_Told")
Compiled = tuple[int, int, dict[str, int], bytes]
"""What Python makes of an expression: its flags, how many groups it has, the numbers of those with a name, its code."""


class KeptPatterns:
    """The expressions that this process has compiled. Whoever starts a process may give what an earlier one compiled:
    to take that over takes a fortieth of the time. Safe from many threads.

    Python offers no such thing: this calls what `re` itself calls, and leaves it to `re` where that is not there.
    """

    def __init__(self) -> None:
        self._load: Callable[[], dict[str, Compiled]] = dict
        self._given: dict[str, Compiled] | None = None
        self._new: dict[str, Compiled] = {}

    def use(self, load: Callable[[], dict[str, Compiled]]) -> None:
        """Take expressions from what `load` gives; it is called when the first one is wanted."""
        self._load, self._given = load, None

    def compile(self, source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
        """Return what `re.compile` returns. Raises re.error."""
        given = self._known()
        name = f"{int(flags)} {source!a}"  # in ASCII: a source may have halves of characters, which no file can hold
        try:
            if name in given:
                return _pattern(source, given[name])
        except (AttributeError, RuntimeError, TypeError, ValueError):
            given.pop(name, None)
        try:
            compiled = _compiled(source, int(flags))
            found = _pattern(source, compiled)
        except (AttributeError, TypeError):
            return re.compile(source, flags)
        self._new[name] = compiled
        return found

    def to_keep(self) -> dict[str, Compiled]:
        """Return everything for the next process; nothing where it has that already."""
        new, self._new = self._new, {}
        if not new or new.keys() <= self._known().keys():
            return {}
        self._given = self._known() | new
        return self._given

    def _known(self) -> dict[str, Compiled]:
        given = self._given
        if given is None:
            given = self._given = self._load()
        return given


def _compiled(source: str | bytes, flags: int) -> Compiled:
    from array import array

    parsed = _PARSER.parse(source, flags)
    code = array("I", _COMPILER._code(parsed, flags)).tobytes()
    return flags | parsed.state.flags, parsed.state.groups - 1, parsed.state.groupdict, code


def _pattern(source: AnyStr, compiled: Compiled) -> re.Pattern[AnyStr]:
    flags, groups, numbers, code = compiled
    names = {number: one for one, number in numbers.items()}
    return cast(
        "re.Pattern[AnyStr]",
        _ENGINE.compile(
            source, flags, memoryview(code).cast("I").tolist(), groups, numbers,
            tuple(map(names.get, range(groups + 1))),
        ),
    )  # fmt: skip


PATTERNS = KeptPatterns()
"""Of this process."""


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
        return PATTERNS.compile(self.source, self._flags)

    @property
    def pattern(self) -> AnyStr:
        """`re.Pattern.pattern`."""
        return self.source

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


def late_call(make: Callable[[], Callable[[_Given], _Told]]) -> Callable[[_Given], _Told]:
    """Return a function that is made when it is first called: to make what reads a large type takes a millisecond."""
    made = cache(make)

    def call(given: _Given) -> _Told:
        return made()(given)

    return call


def shipped(package: str, *names: str) -> bytes:
    """Return the content of a file that ships in a loaded package. `importlib.resources` has the same, but loads ways
    to unpack archives first. Raises OSError.
    """
    spec = sys.modules[package].__spec__
    folder: Any = getattr(spec, "submodule_search_locations", None)
    loader: Any = getattr(spec, "loader", None)
    found: bytes = loader.get_data(os.path.join(folder[0], *names))
    return found


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

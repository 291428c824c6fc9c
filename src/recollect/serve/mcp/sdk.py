"""Loads the parts of the official SDK that a plain MCP server needs.

`import mcp` loads the client, the authorisation flows and a second server framework, and the server itself all of its
HTTP side: together a good part of the time until a client has its tools (benchmarks/mcp.py). What is not needed is
imported when it is first called, a protocol version's models when a client speaks it. Nothing of the SDK is replaced;
without its HTTP side, only the default values of `Server.streamable_http_app` are missing, which such a process has no
use for.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_SERVER = "mcp.server.lowlevel.server"
_PACKAGES = ("mcp", "mcp_types")
_SHELLS = ("mcp", "mcp.server")
_METHODS = "mcp_types.methods"
_VERSIONS = ("mcp_types._v2025_11_25", "mcp_types._v2026_07_28")
"""What `mcp_types.methods` imports: the models of the messages as each version of the protocol has them. It only puts
them into tables by version, from which they are taken when a message of that version is checked."""
_ONLY_HTTP = (
    "starlette.applications",
    "starlette.middleware",
    "starlette.middleware.authentication",
    "starlette.routing",
    "mcp.server.auth.middleware.auth_context",
    "mcp.server.auth.middleware.bearer_auth",
    "mcp.server.auth.provider",
    "mcp.server.auth.routes",
    "mcp.server.auth.settings",
    "mcp.server.streamable_http",
    "mcp.server.streamable_http_manager",
    "mcp.server.transport_security",
)
"""What `mcp.server.lowlevel.server` imports for `Server.streamable_http_app` alone."""


def load(*, with_http: bool) -> None:
    """Load the SDK's server. In a process that has loaded the SDK already, does nothing.

    An SDK that is laid out otherwise is loaded whole, which only takes longer.
    """
    if any(name in sys.modules for name in _PACKAGES):
        return
    try:
        _load_in_part(with_http=with_http)
    except (ImportError, AttributeError, TypeError, LookupError):
        for name in [name for name in sys.modules if name.partition(".")[0] in _PACKAGES]:
            del sys.modules[name]
        importlib.import_module(_SERVER)


def _load_in_part(*, with_http: bool) -> None:
    # pydantic would look through every installed distribution for plug-ins of its own.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    for name in _SHELLS:
        _shell(name)
    later = () if with_http else tuple(name for name in _ONLY_HTTP if name not in sys.modules)
    with _deferred_models():
        with _standing_in({name: _LaterModels(name) for name in _VERSIONS}):
            importlib.import_module(_METHODS)
        with _standing_in({name: _Later(name) for name in later}):
            importlib.import_module(_SERVER)


@contextmanager
def _standing_in(modules: Mapping[str, ModuleType]) -> Iterator[None]:
    """Replace modules while one is imported that only needs their names."""
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in modules.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
            parent, _dot, own = name.rpartition(".")
            if vars(sys.modules.get(parent, module)).get(own) is module:  # where an import has put it
                delattr(sys.modules[parent], own)


@contextmanager
def _deferred_models() -> Iterator[None]:
    """Build models and adapters only when they are used: a session uses few of them.

    `defer_build` is part of pydantic's configuration and changes no result. Models inherit it from their bases;
    adapters of unions have no base, so for them it is the default of the argument.
    """
    from pydantic import BaseModel, ConfigDict, TypeAdapter

    defaults = TypeAdapter.__init__.__kwdefaults__ or {}
    before = defaults["config"]
    BaseModel.model_config["defer_build"] = True
    defaults["config"] = ConfigDict(defer_build=True)
    try:
        yield
    finally:
        BaseModel.model_config.pop("defer_build", None)
        defaults["config"] = before


class _Later(ModuleType):
    """Stands for a module while another imports names of it: each name is looked up when it is called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def called(*args: Any, **named: Any) -> Any:
            return getattr(importlib.import_module(self.__name__), name)(*args, **named)

        return called


class _LaterModels(ModuleType):
    """Stands for a module of models while another puts them into tables."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        model = self.__dict__[name] = _LaterModel(self.__name__, name)
        return model


class _LaterModel:
    """Stands for one model, or a union of some, in a table: the module is imported when it is used to check a message.

    That is done by its own methods, or by a `TypeAdapter` of it: both come to the model itself.
    """

    def __init__(self, module: str, name: str) -> None:
        self._place = module, name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._model(), name)

    def __get_pydantic_core_schema__(self, _source: object, handler: Any) -> Any:
        return handler.generate_schema(self._model())

    def _model(self) -> Any:
        module, name = self._place
        if module not in sys.modules:
            with _deferred_models():
                importlib.import_module(module)
        return getattr(sys.modules[module], name)


class _Shell(ModuleType):
    """A package whose `__init__` runs when something is asked of it that only this gives."""

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        if name.startswith("__") or self.__dict__.get("__ran__") or spec is None or spec.loader is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self.__dict__["__ran__"] = True
        spec.loader.exec_module(self)
        return getattr(self, name)


def _shell(name: str) -> None:
    """Put a package in its place without running its `__init__` yet; its modules are found and imported as ever."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.submodule_search_locations is None:
        return  # not installed as a package: the import itself will say what is wrong
    shell = _Shell(name)
    shell.__spec__, shell.__loader__, shell.__package__ = spec, spec.loader, name
    shell.__file__, shell.__path__ = spec.origin, list(spec.submodule_search_locations)
    sys.modules[name] = shell
    parent, _dot, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, shell)

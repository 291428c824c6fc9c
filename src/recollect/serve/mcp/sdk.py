"""The parts of the official SDK that a process needs which is an MCP server and nothing else.

`import mcp` loads the client, the authorisation flows and a second server framework, and the server itself all of its
HTTP side: together a good part of the time until a client has its tools (benchmarks/mcp.py). What is not needed is
imported when it is first called. Nothing of the SDK is replaced; without its HTTP side, only the default values of
`Server.streamable_http_app` are missing, which such a process has no use for.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

_SERVER = "mcp.server.lowlevel.server"
_PACKAGES = ("mcp", "mcp_types")
_SHELLS = ("mcp", "mcp.server")
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
    except (ImportError, AttributeError, TypeError):
        for name in [name for name in sys.modules if name.partition(".")[0] in _PACKAGES]:
            del sys.modules[name]
        importlib.import_module(_SERVER)


def _load_in_part(*, with_http: bool) -> None:
    # pydantic would look through every installed distribution for plug-ins of its own.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    for name in _SHELLS:
        _shell(name)
    _defer_models()
    later = () if with_http else tuple(name for name in _ONLY_HTTP if name not in sys.modules)
    sys.modules.update({name: _Later(name) for name in later})
    try:
        importlib.import_module(_SERVER)
    finally:
        for name in later:
            sys.modules.pop(name, None)


class _Later(ModuleType):
    """Stands for a module while another imports names of it: each name is looked up when it is called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def called(*args: Any, **named: Any) -> Any:
            return getattr(importlib.import_module(self.__name__), name)(*args, **named)

        return called


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


def _defer_models() -> None:
    """Have the models of each protocol version built when they are used: a session uses those of one.

    `defer_build` is of pydantic's configuration and changes no result.
    """
    _shell("mcp_types")
    try:
        from mcp_types._wire_base import WireModel
    except ImportError:
        return
    finally:
        del sys.modules["mcp_types"]
    WireModel.model_config["defer_build"] = True

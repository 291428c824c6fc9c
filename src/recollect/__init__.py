"""The memory of coding agents: `from recollect import Memory`."""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # a hook imports this package within milliseconds, and `typing` costs several
if TYPE_CHECKING:
    from recollect.memory import Memory

__all__ = ["Memory", "__version__"]


def __getattr__(name: str) -> object:
    if name == "Memory":
        from recollect.memory import Memory

        return Memory
    raise AttributeError(f"module 'recollect' has no attribute {name!r}")

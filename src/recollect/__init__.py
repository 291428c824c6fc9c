"""The memory of coding agents: `from recollect import Memory`."""

from __future__ import annotations

import sys

__version__ = "0.1.0"

TYPE_CHECKING = False  # a hook imports this package within milliseconds, and `typing` costs several
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from recollect.memory import Memory

__all__ = ["Memory", "__version__"]


def __getattr__(name: str) -> object:
    if name == "Memory":
        from recollect.memory import Memory

        return Memory
    raise AttributeError(f"module 'recollect' has no attribute {name!r}")


_OLD_NAMES = (
    "recollect.agents.kit.access", "recollect.agents.kit.addresses", "recollect.agents.kit.drift",
    "recollect.agents.kit.edits", "recollect.agents.kit.google_parts", "recollect.agents.kit.instants",
    "recollect.agents.kit.naming", "recollect.agents.kit.reading", "recollect.agents.kit.turns",
    "recollect.distill", "recollect.model.distilled", "recollect.model.learned", "recollect.model.timestamps",
    "recollect.testing.runner", "recollect.testing.saves", "recollect.testing.shapes",
)  # fmt: skip


class _Moved:
    """Finds modules by their names of the last release. First in line: an old folder may still hold their bytecode."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None, /) -> ModuleSpec | None:
        if not name.startswith(_OLD_NAMES):
            return None
        from recollect.moved import find_spec

        return find_spec(name)


sys.meta_path.insert(0, _Moved)

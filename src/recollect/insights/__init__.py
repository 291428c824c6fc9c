"""Works out what sessions meant, taught and left to do, without a model, I/O or a clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.insights.preparation import Analysis, analyse, default_stages, prepare

__all__ = ["Analysis", "analyse", "default_stages", "prepare"]


def __getattr__(name: str) -> Any:
    """Import what is public when it is first used: who needs a single stage does not load them all."""
    if name in __all__:
        from recollect.insights import preparation as preparing

        return getattr(preparing, name)
    raise AttributeError(f"module 'recollect.insights' has no attribute {name!r}")

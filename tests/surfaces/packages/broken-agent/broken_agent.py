"""An adapter that cannot be imported: it was written against a module that is not there."""

from recollect.agents.kit.gone import Adapter

__all__ = ["Adapter"]

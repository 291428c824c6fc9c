"""An adapter that cannot be imported: it was written against a module that is not there."""

from recollect.agents.base import Adapter

__all__ = ["Adapter"]

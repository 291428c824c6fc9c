"""What looks after a large memory: `python -m benchmarks upkeep [--quick] [--dry]`."""

from benchmarks.upkeep.verbs import measure

__all__ = ["measure"]

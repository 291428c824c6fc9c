"""An adapter that was not finished."""

from typing import ClassVar


class Halfway:
    """Has facts of a kind, and nothing else."""

    facts: ClassVar = {"slug": "halfway"}

"""What the memory does not hold, so that "no hit" is not read as "it never happened"."""

from __future__ import annotations

import msgspec


class Coverage(msgspec.Struct, frozen=True):
    """What is known to be missing. All empty: everything that was found on this machine is in the memory.

    disabled: agents with history here that the configuration leaves out. unreadable: sources that could not be read, by
    agent. notes: what the last look at the machine said.
    """

    disabled: tuple[str, ...] = ()
    unreadable: dict[str, int] = {}
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True where nothing is known to be missing."""
        return self == Coverage()

    def sentence(self, *, is_refreshing: bool = False) -> str:
        """Return one line for whoever reads an answer, "" where nothing is missing.

        is_refreshing: what has changed is being taken in at this moment.
        """
        parts: list[str] = []
        if is_refreshing:
            parts.append("catching up, the newest events may be missing")
        if self.disabled:
            parts.append(f"not read because disabled: {', '.join(self.disabled)}")
        if self.unreadable:
            counted = ", ".join(f"{agent} {count}" for agent, count in sorted(self.unreadable.items()))
            parts.append(f"unreadable sources of {counted} (recollect doctor)")
        parts += self.notes
        return f"Coverage is partial: {'; '.join(parts)}." if parts else ""

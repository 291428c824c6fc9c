"""The change between two texts as one place, so that it can be taken back exactly also when other places changed."""

from __future__ import annotations

from recollect.agents.installing.editing.edits import Patch

CONTEXT = 24
"""Characters kept on either side of a change, to find its place again."""
_TELLING = 16
"""A change shorter than this is looked for with its context only."""


def patch_between(old: str, new: str) -> Patch:
    """Return the smallest one place in which two texts differ, with what is beside it."""
    start = _shared(old, new)
    end = min(_shared(old[::-1], new[::-1]), len(old) - start, len(new) - start)
    stop = len(new) - end
    return Patch(
        left=new[max(0, start - CONTEXT) : start],
        before=old[start : len(old) - end],
        after=new[start:stop],
        right=new[stop : stop + CONTEXT],
    )


def taken_back(text: str, patch: Patch) -> str | None:
    """Return the text with a change taken back, None where it does not stand there once and only once."""
    whole = patch.left + patch.after + patch.right
    if text.count(whole) == 1:
        return text.replace(whole, patch.left + patch.before + patch.right)
    if len(patch.after) >= _TELLING and text.count(patch.after) == 1:
        return text.replace(patch.after, patch.before)
    return None


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their start."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least

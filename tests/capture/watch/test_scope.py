"""A scope covers what it says, however its paths are spelled and however many there are."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.scope import Scope

NAMES = st.sampled_from(["a", "b", "c#", "d.jsonl", "e#x", "ä"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: os.sep + os.sep.join(parts))


def is_below(path: str, each: str) -> bool:
    return path == each or path.startswith((each + os.sep, each + "#"))


@given(paths=st.lists(PATHS, max_size=20), asked=PATHS, document=st.booleans())
def test_it_covers_its_paths_and_what_lies_below_and_nothing_else(paths: list[str], asked: str, document: bool) -> None:
    scope = Scope(paths, agents=())
    asked = f"{asked}#role{os.sep}x" if document else asked
    assert scope.covers(asked) == any(is_below(asked, each) for each in scope.paths)


@given(paths=st.lists(PATHS, max_size=20), folder=PATHS)
def test_on_the_way_to_its_paths_it_names_what_leads_there(paths: list[str], folder: str) -> None:
    scope = Scope(paths, agents=())
    names = scope.names_in(folder)
    if scope.covers(folder):
        assert names is None
    else:
        depth = len(folder.split(os.sep))
        assert names == {p.split(os.sep)[depth] for p in scope.paths if p.startswith(folder + os.sep)}
    assert scope.touches(folder) == (names is None or bool(names))


def test_a_transcript_and_its_compressed_twin_are_looked_at_together() -> None:
    plain = os.sep + "x.jsonl"
    assert Scope([plain + ".zst"], agents=()).covers(plain)
    assert Scope([plain], agents=()).covers(plain + ".zst")

"""A fork repeats what its original says: the original is cited, whichever was ingested first."""

from __future__ import annotations

import pytest

from tests.ingest.conftest import World

SAID = "The staging database listens on port 6543, because 5432 belongs to the metrics service."


@pytest.mark.parametrize("is_fork_first", [False, True])
@pytest.mark.parametrize("fork", ["aaa", "zzz"])
def test_the_original_is_cited_not_its_copy(world: World, fork: str, is_fork_first: bool) -> None:
    parent = world.codex("parent")
    parent.turn("On which port is staging?", SAID)
    copied = parent.path.read_bytes()
    copy = world.codex(fork)
    copy.path.unlink()
    copy.line("session_meta", {"id": copy.session, "forked_from_id": parent.session, "cwd": "/w/demo"})
    with copy.path.open("ab") as handle:
        handle.write(copied)
    copy.turn("Go on.", "Further work of the fork, about staging.")
    if is_fork_first:
        hidden = parent.path.rename(parent.path.with_suffix(".aside"))
        world.memory.sync()
        hidden.rename(parent.path)
    world.memory.sync()
    for query in ("staging database port", "which port does the staging database listen on?"):
        said = [hit.session_uid for hit in world.memory.search(query).hits if "6543" in hit.passage]
        assert said == [parent.uid]

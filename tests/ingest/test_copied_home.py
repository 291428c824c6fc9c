"""A home whose parts were copied at different moments is brought in step, and the sync says what was so."""

from __future__ import annotations

import shutil

import pytest

from tests.ingest.conftest import World


@pytest.mark.parametrize(("kind", "said"), [("older", "told less than the database"), ("missing", "was missing")])
def test_a_sync_says_what_was_the_matter_with_the_journal(world: World, kind: str, said: str) -> None:
    one = world.claude("one")
    one.user("first words")
    world.memory.sync()
    journal = world.memory.home / "archive" / "journal.log"
    older = journal.read_bytes()
    world.claude("two").user("second words")
    world.memory.sync()
    world.memory.close()
    copy = world.root / "copy"
    shutil.copytree(world.memory.home, copy)
    (copy / "archive" / "journal.log").unlink()
    if kind == "older":
        (copy / "archive" / "journal.log").write_bytes(older)
    with type(world.memory).open(copy, env=world.env) as memory:
        notes = memory.sync().notes
        assert any(said in note and "damaged" not in note for note in notes), notes
        assert not any("journal" in note for note in memory.sync().notes)

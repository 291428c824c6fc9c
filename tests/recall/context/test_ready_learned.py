"""Blocks made ready follow what was learned and noted, the person's own files, and time."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import ready_blocks as ready
from recollect.config import Config, ContextConfig
from recollect.insights.learnings.pause import Pause, keep_pause
from recollect.recall.context import prepare_blocks as keeping
from recollect.store.learnings import open_learning_store
from tests.recall.context.conftest import Session, Shop, shop
from tests.recall.context.learned import change, keep, learned, write_diary
from tests.recall.context.test_ready import config, taken, told

__all__ = ["shop", "told"]


NOTED: dict[str, Callable[[Shop], object]] = {
    "a learning came": lambda shop: keep(shop.memory.home, learned("cents are integers", session="")),
    "one was retired": lambda shop: change(shop.memory.home, learned("before", session=""), state="retired"),
    "the model cannot be asked": lambda shop: no_key(shop.memory.home),
    "the diary was written": lambda shop: write_diary(shop.memory.home, "the tax table is wrong"),
    "another agent's diary": lambda shop: write_diary(shop.memory.home, "the tax table is wrong", agent="codex"),
    "soul.md came": lambda shop: (shop.memory.home / "soul.md").write_text("Ask before you push.\n"),
    "user.md was edited within its size": lambda shop: edit_within_size(shop.memory.home / "user.md"),
    "user.md went": lambda shop: (shop.memory.home / "user.md").unlink(),
}


def no_key(home: Path) -> None:
    refused = Pause(reason="authentication", message="the key was refused", since=1, at=1, until=2)
    with open_learning_store(home) as store, store.transaction():
        keep_pause(store, refused)


def edit_within_size(path: Path) -> None:
    """Change a file such that neither its size nor its times tell."""
    before = path.stat()
    path.write_text(path.read_text().swapcase())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("why", NOTED)
def test_no_stale_block_is_given_after_something_was_learned_noted_or_edited(
    shop: Shop, told: Session, why: str
) -> None:
    keep(shop.memory.home, learned("before", session=""))
    (shop.memory.home / "user.md").write_text("I work in utc.\n")
    shop.memory.sync()
    before = taken(shop.world, shop.path)
    assert before is not None
    assert "I work in utc." in before.text
    assert "“before”" in before.text
    NOTED[why](shop)
    assert taken(shop.world, shop.path) is None
    shop.memory.sync()
    after = taken(shop.world, shop.path)
    assert after is not None
    assert after.text == shop.memory.context_facet.block(cwd=str(shop.path), agent="claude").text
    assert (after.text != before.text) == (why != "another agent's diary")


def test_what_is_noted_while_a_sync_holds_the_stamp_is_not_forgotten(shop: Shop, told: Session) -> None:
    """The sync took the stamp away before and puts it back after; the note is in none of its sessions."""
    with shop.memory.writing() as (_, writer, _, _archive, _keys):
        with writer.transaction():
            pass
        keep(shop.memory.home, learned("cents are integers", session=""))
    assert taken(shop.world, shop.path) is None
    shop.memory.sync()
    found = taken(shop.world, shop.path)
    assert found is not None
    assert "cents are integers" in found.text


def test_a_block_made_while_something_is_noted_is_not_kept(
    shop: Shop, told: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = keeping.ReadyBlocks._made

    def noting_meanwhile(self: keeping.ReadyBlocks, reader: object, folder: object) -> bytes:
        block = made(self, reader, folder)  # type: ignore[arg-type]
        keep(shop.memory.home, learned("cents are integers", session=""))
        return block

    shutil.rmtree(shop.memory.home / ready.FOLDER)
    monkeypatch.setattr(keeping.ReadyBlocks, "_made", noting_meanwhile)
    shop.memory.sync()
    assert taken(shop.world, shop.path) is None
    monkeypatch.undo()
    shop.memory.sync()
    assert taken(shop.world, shop.path) is not None


def test_what_ends_by_itself_ends_the_block(shop: Shop, told: Session) -> None:
    ends = time.time_ns() // 1000 + 3_600_000_000
    keep(shop.memory.home, learned("rotate the key", kind="action", expires_at=ends, session=""))
    shop.memory.sync()
    path = Path(ready.block_path(str(shop.memory.home), str(shop.path)))
    block = ready.read_block(str(path))
    assert block is not None
    assert block["until"] == ends
    assert taken(shop.world, shop.path) is not None
    path.write_text(json.dumps({**block, "until": time.time_ns() // 1000}))
    assert taken(shop.world, shop.path) is None


def test_an_agent_with_a_diary_gets_its_own_block_and_others_theirs(shop: Shop, told: Session) -> None:
    write_diary(shop.memory.home, "the tax table is wrong", agent="codex")
    shop.memory.sync()
    for agent in ("claude", "codex", "gemini"):
        found = taken(shop.world, shop.path, agent=agent)
        assert found is not None
        assert ("the tax table is wrong" in found.text) == (agent == "codex")
        assert found.text == shop.memory.context_facet.block(cwd=str(shop.path), agent=agent).text
        assert found.values["citations"] == list(
            shop.memory.context_facet.block(cwd=str(shop.path), agent=agent).citations
        )


def test_a_file_whose_place_hangs_on_the_environment_is_asked_for(shop: Shop, told: Session) -> None:
    config(shop, '[context]\nsoul_file = "$SOUL/soul.md"\n')
    with shop.world.again(Config(context=ContextConfig(soul_file="$SOUL/soul.md"))) as memory:
        memory.sync()
        assert taken(shop.world, shop.path) is None

"""A derivation by a newer parser that is interrupted begins anew, and never takes the agent's file for another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from recollect.archive.packs import ChunkPlace
from recollect.errors import StoreError
from recollect.ingest import archived_slices, rebuild
from recollect.ingest.batch_writer import BatchWriter
from recollect.store.rows import SliceResult
from tests.erasure.cuts.conftest import World, world
from tests.erasure.cuts.test_what_is_left import newer

__all__ = ["world"]


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("after", [0, 1])
def test_after_a_crash_the_next_sync_finishes_it(
    world: World, monkeypatch: pytest.MonkeyPatch, is_cut: bool, after: int
) -> None:
    if is_cut:
        world.cut(world.one, *world.large_records(world.one)[2:5])
        world.cut(world.two, (0, 1 << 40))
    before = world.told()
    revisions = {row.path: (row.revision, row.committed_bytes, row.records) for row in world.memory.reader().sources()}
    newer(monkeypatch)
    whole = archived_slices.slices_of

    taken = BatchWriter.take_archived

    def taken_at_once(self: BatchWriter, result: SliceResult, places: list[ChunkPlace]) -> None:
        taken(self, result, places)
        self.flush()  # as after a large slice: what was taken by the crash is there

    def torn(*args: Any, **named: Any) -> Iterator[archived_slices.Slice]:
        for number, one in enumerate(whole(*args, **named)):
            if number == after:
                raise StoreError("the power went")
            yield one

    with monkeypatch.context() as broken:
        broken.setattr(rebuild, "slices_of", torn)
        broken.setattr(BatchWriter, "take_archived", taken_at_once)
        with pytest.raises(StoreError, match="the power went"):
            world.memory.sync()
    assert world.memory.maintenance.verify().ok  # of the source that was begun, all bytes can still be given back
    assert any("rebuilt from the archive" in note for note in world.memory.sync().notes)
    rows = world.memory.reader().sources()
    assert {row.path: (row.revision, row.committed_bytes, row.records) for row in rows} == revisions
    after_all = world.told()
    for uid, (_facts, events, _usage) in before.items():
        assert [(e.seq, e.event_id, e.part, e.kind) for e in after_all[uid][1]] == [
            (e.seq, e.event_id, e.part, e.kind) for e in events
        ]
    assert world.memory.maintenance.verify().ok
    assert not any("anew" in note for note in world.memory.sync().notes)

"""What an eviction left of a session can be forgotten too: the skeleton, its digest, and the rest of the archive."""

from __future__ import annotations

import msgspec

from recollect.config import Config, RetentionConfig
from recollect.memory import ForgetSelection, Memory
from tests.erasure.forget.nowhere import holding
from tests.ingest.conftest import World


def evicted(world: World) -> Memory:
    """Return a memory in which every session was evicted."""
    one = world.claude("one")
    one.user("please use zanzibarquux, because it is faster")
    one.tool("Bash", {"command": "make"}, "built\n" * 2_000)
    one.assistant("I decided to use zanzibarquux instead of cron.")
    other = world.claude("two")
    other.user("please use the flux capacitor, because it is faster")
    other.assistant("I decided to use the flux capacitor instead of cron.")
    world.memory.sync()
    world.memory.distilling.run(sessions=[one.uid, other.uid])
    world.memory.close()
    retention = RetentionConfig(raw_max_age_days=0, keep_gone=False)
    memory = world.again(msgspec.structs.replace(Config(), retention=retention))
    memory.maintenance.retention.evict()
    assert all(s.evicted_at is not None for s in memory.sessions(sync=False).sessions)
    return memory


def test_an_evicted_session_is_forgotten(world: World) -> None:
    with evicted(world) as memory:
        uid = world.claude("one").uid
        assert holding(memory, "zanzibarquux")
        assert memory.maintenance.forgetting.run(ForgetSelection(session=uid)).whole_sessions == 1
        assert holding(memory, "zanzibarquux") == []
        memory.sync()
        assert holding(memory, "zanzibarquux") == []
        assert memory.search("capacitor", sync=False).total > 0
        verified = memory.maintenance.verify()
        assert verified.ok, verified.defects


def test_a_text_goes_out_of_what_an_eviction_left(world: World) -> None:
    with evicted(world) as memory:
        memory.maintenance.forgetting.run(ForgetSelection(pattern="zanzibarquux"))
        assert holding(memory, "zanzibarquux") == []
        assert memory.search("capacitor", sync=False).total > 0
        memory.sync()
        assert holding(memory, "zanzibarquux") == []

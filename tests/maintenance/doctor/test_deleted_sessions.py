"""`doctor` warns before an agent deletes sessions that nothing ingests by itself."""

from __future__ import annotations

import shutil

from recollect.maintenance.reports import Check
from recollect.maintenance.service.job import ServiceRecord, save_service
from tests.agents.codewhale.documents import FIRST
from tests.ingest.conftest import World, world

__all__ = ["world"]


def warnings(world: World) -> list[Check]:
    return [check for check in world.memory.maintenance.doctor().checks if check.id == "deletes"]


def test_codewhale_near_its_limit_is_a_warning_while_no_sync_is_scheduled(world: World) -> None:
    sessions = world.root / ".codewhale" / "sessions"
    (sessions / "checkpoints").mkdir(parents=True)
    for number in range(39):
        shutil.copy(FIRST, sessions / f"0d3b2a6f-1111-4a00-8a00-{number:012}.json")
        shutil.copy(FIRST, sessions / "checkpoints" / f"{number}.json")
    assert warnings(world) == []
    shutil.copy(FIRST, sessions / f"0d3b2a6f-1111-4a00-8a00-{39:012}.json")
    (check,) = warnings(world)
    assert (check.name, check.state) == ("agent codewhale deletes sessions", "warn")
    assert "keeps 50 sessions and has 40" in check.detail
    assert "recollect service install" in check.hint
    world.memory.sync()
    assert len(warnings(world)) == 1
    save_service(world.memory.home, ServiceRecord("cron", "recollect", "scheduled", "hourly", "/opt/recollect"))
    assert warnings(world) == []

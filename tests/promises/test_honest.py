"""Honest: an answer says how it matched, health comes from checks that can fail, and no figure is made up."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec
import pytest

from recollect import __version__
from recollect.clock import now_us
from recollect.config import Config, PrivacyConfig
from recollect.erasure.retention import limits_of
from recollect.ingest.daemon_status import Card, Place
from recollect.maintenance import home_checks as health
from recollect.maintenance import home_checks as lately
from recollect.maintenance.backup.manifest import LastBackup, remember
from recollect.memory import Check
from recollect.store.audit import add_audit
from tests.ingest import conftest as homes
from tests.ingest.conftest import World, world_in


def test_words_that_are_nowhere_are_said_to_be_nowhere(world: World) -> None:
    world.claude().user("the quick brown vixen")
    world.memory.sync()
    answer = world.memory.search("pangolin", sync=False)
    assert (answer.hits, answer.total, answer.match_level, answer.abstained) == ((), 0, "none", True)
    assert any("pangolin" in note for note in answer.notes)


def test_an_answer_says_how_it_matched_and_how_many_there_are(world: World) -> None:
    for i in range(7):
        one = world.claude(f"s{i}")
        one.user(f"renaming gizmo number {i}")
    world.memory.sync()
    exact = world.memory.search("renaming gizmo", limit=3, sync=False)
    assert (len(exact.hits), exact.total, exact.match_level, exact.abstained) == (3, 7, "exact", False)
    assert world.memory.search("gizmos", sync=False).match_level == "stemmed"


def test_the_same_words_in_sessions_that_are_no_forks_are_hits_of_their_own(world: World) -> None:
    for i in range(3):
        world.claude(f"s{i}").user("please run the gizmo tests")
    world.memory.sync()
    answer = world.memory.search("gizmo", sync=False)
    assert (answer.total, len({hit.session_uid for hit in answer.hits})) == (3, 3)


def test_a_model_without_a_price_has_no_cost_and_is_named(world: World) -> None:
    one = world.claude()
    one.assistant("from a model that nobody sells", model="nobody-sells-this-1")
    world.memory.sync()
    report = world.memory.usage.report(by="model")
    assert [(r.key, r.totals.cost_usd, r.unpriced_models) for r in report.rows] == [
        ("nobody-sells-this-1", None, ("nobody-sells-this-1",))
    ]
    assert report.total.cost_usd is None
    assert any("nobody-sells-this-1" in note for note in report.notes)


class Ailment(NamedTuple):
    """A way in which a home is not well, and what doctor must say of it."""

    check: str
    state: str
    says: str
    cause: Callable[[World, pytest.MonkeyPatch], None]


def _old_python(_: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(health, "OLDEST_PYTHON", (99, 0))


def _open_to_others(world: World, _: pytest.MonkeyPatch) -> None:
    world.memory.home.chmod(0o755)


def _file_open_to_others(world: World, _: pytest.MonkeyPatch) -> None:
    (world.memory.home / "memory.db").chmod(0o644)


def _key_open_to_others(world: World, _: pytest.MonkeyPatch) -> None:
    (world.memory.home / "keys/wrapping.key").chmod(0o640)


def _rebuild_interrupted(world: World, _: pytest.MonkeyPatch) -> None:
    (world.memory.home / "rebuild").mkdir()


def _daemon_killed(world: World, _: pytest.MonkeyPatch) -> None:
    """The system takes its lock when its process ends; what it said of itself stays."""
    card = world.memory.home / "run" / "daemon.json"
    card.parent.mkdir(mode=0o700, exist_ok=True)
    card.write_bytes(msgspec.json.encode(Card(1, __version__, 0)))
    card.chmod(0o600)


def _older_daemon(world: World, patch: pytest.MonkeyPatch) -> None:
    place = Place(world.memory.home)
    place.show(Card(os.getpid(), "0.0.1", 0))
    patch.setattr(health, "place_of_this_test", place, raising=False)  # it holds the lock


def _not_on_the_path(world: World, _: pytest.MonkeyPatch) -> None:
    (world.memory.home / "setup.json").write_text('{"agents": {}, "version": 1}')


def _newer_schema(world: World, _: pytest.MonkeyPatch) -> None:
    change(world, "PRAGMA user_version = 9999")


def _much_free_room(world: World, _: pytest.MonkeyPatch) -> None:
    change(world, "CREATE TABLE large (data)", f"INSERT INTO large VALUES (zeroblob({20 << 20}))", "DROP TABLE large")


def _other_detectors(world: World, _: pytest.MonkeyPatch) -> None:
    change(world, "INSERT OR REPLACE INTO meta VALUES ('detectors', 'older')")


def _clock_was_ahead(world: World, _: pytest.MonkeyPatch) -> None:
    change(world, "UPDATE source SET observed_at = observed_at + 864000000000")


def _kept_failing(world: World, _: pytest.MonkeyPatch) -> None:
    add_audit(world.memory.home, "failure", {"code": "store_locked"}, at=now_us())


def _lost_data(world: World, _: pytest.MonkeyPatch) -> None:
    add_audit(world.memory.home, "data_loss", {"sessions": 1}, at=now_us())


def _above_the_soft_cap(_: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lately, "limits_of", lambda config: limits_of(config)._replace(soft_cap_bytes=1))


def _above_the_hard_cap(_: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lately, "limits_of", lambda config: limits_of(config)._replace(soft_cap_bytes=1, hard_cap_bytes=2))


def _audit_gone(world: World, _: pytest.MonkeyPatch) -> None:
    change(world, "ALTER TABLE audit RENAME COLUMN json TO text")


def _learning_waits(world: World, _: pytest.MonkeyPatch) -> None:
    change(world, "UPDATE job SET state = 'waiting', due_at = 1 WHERE kind = 'rules'")


def _jobs_gone(world: World, _: pytest.MonkeyPatch) -> None:
    change(world, "ALTER TABLE job RENAME COLUMN reason TO why")


def _gave_up(world: World, _: pytest.MonkeyPatch) -> None:
    change(world, "UPDATE job SET state = 'dead', reason = 'too large'")


def _old_backup(world: World, _: pytest.MonkeyPatch) -> None:
    remember(world.memory.home, LastBackup(str(world.root), 0))


def _backup_gone(world: World, _: pytest.MonkeyPatch) -> None:
    remember(world.memory.home, LastBackup(str(world.root / "unmounted"), now_us()))


def _drops_wait(world: World, _: pytest.MonkeyPatch) -> None:
    drop = world.memory.home / "spool" / "old.json"
    drop.parent.mkdir(mode=0o700, exist_ok=True)
    drop.touch(mode=0o600)
    os.utime(drop, (0, 0))


def _gives_nothing(world: World, _: pytest.MonkeyPatch) -> None:
    change(world, "UPDATE session SET event_count = 0, kind_counts = '{}' WHERE agent = 'codex'")


def _stored_though_excluded(world: World, patch: pytest.MonkeyPatch) -> None:
    (session, *_) = world.memory.sessions(sync=False).sessions
    world.memory.close()
    config = Config(privacy=PrivacyConfig(exclude_repos=(session.repo,)))
    patch.setattr(homes, "Config", lambda: config)


def change(world: World, *statements: str) -> None:
    db = apsw.Connection(str(world.memory.home / "memory.db"))
    for statement in statements:
        db.execute(statement).fetchall()
    db.close()


def _home_not_writable(world: World, patch: pytest.MonkeyPatch) -> None:
    real = health.os.access
    patch.setattr(health.os, "access", lambda path, mode: path != world.memory.home and real(path, mode))


def _disk_full(_: World, patch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")
    patch.setattr(health.shutil, "disk_usage", lambda _folder: usage._replace(free=1000))


def _nothing_stored(world: World, _: pytest.MonkeyPatch) -> None:
    shutil.rmtree(world.memory.home)
    world.memory.home.mkdir(mode=0o700)


def _key_gone(world: World, _: pytest.MonkeyPatch) -> None:
    shutil.rmtree(world.memory.home / "keys")


def _database_garbled(world: World, _: pytest.MonkeyPatch) -> None:
    (world.memory.home / "memory.db").write_bytes(b"garbage" * 4096)


def _pages_garbled(world: World, _: pytest.MonkeyPatch) -> None:
    database = world.memory.home / "memory.db"
    content = bytearray(database.read_bytes())
    content[len(content) // 2 :] = b"\x5a" * (len(content) - len(content) // 2)
    database.write_bytes(content)


def _pack_gone(world: World, _: pytest.MonkeyPatch) -> None:
    shutil.rmtree(world.memory.home / "archive/packs")


def _journal_damaged(world: World, _: pytest.MonkeyPatch) -> None:
    journal = world.memory.home / "archive/journal.log"
    content = bytearray(journal.read_bytes())
    content[len(content) // 2] ^= 1
    journal.write_bytes(content)


def _shard_gone(world: World, _: pytest.MonkeyPatch) -> None:
    shutil.rmtree(world.memory.home / "index")


def _not_indexed_yet(world: World, _: pytest.MonkeyPatch) -> None:
    db = apsw.Connection(str(world.memory.home / "memory.db"))
    db.execute("INSERT INTO change (session, first_seq, last_seq) VALUES (1, 0, 1)").fetchall()
    db.close()


def _vectors_gone(world: World, _: pytest.MonkeyPatch) -> None:
    shutil.rmtree(world.memory.home / "index/vectors")


def _vectors_damaged(world: World, _: pytest.MonkeyPatch) -> None:
    codes = next((world.memory.home / "index/vectors").rglob("codes"))
    codes.write_bytes(codes.read_bytes()[:-1])


def _passages_unreadable(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "recollect.index.vectors.contextual.weights_path", lambda: Path("weights")
    )  # also where none are
    passages = world.memory.home / "index/vectors/passages.db"
    passages.unlink(missing_ok=True)
    passages.mkdir()


def _older_parser(world: World, _: pytest.MonkeyPatch) -> None:
    db = apsw.Connection(str(world.memory.home / "memory.db"))
    db.execute("UPDATE source SET parser_version = 900").fetchall()
    db.close()


def _analysed_by_other_rules(world: World, _: pytest.MonkeyPatch) -> None:
    db = apsw.Connection(str(world.memory.home / "memory.db"))
    db.execute("UPDATE analysis SET scheme = 0").fetchall()
    db.close()


def _long_unanalysed(world: World, _: pytest.MonkeyPatch) -> None:
    db = apsw.Connection(str(world.memory.home / "memory.db"))
    db.execute("DELETE FROM analysis").fetchall()
    db.execute("UPDATE session SET ingested_at = ended_at").fetchall()
    db.close()


def _analyses_gone(world: World, _: pytest.MonkeyPatch) -> None:
    db = apsw.Connection(str(world.memory.home / "memory.db"))
    db.execute("DROP TABLE waiting").fetchall()
    db.close()


def _a_changed_format(world: World, _: pytest.MonkeyPatch) -> None:
    transcript = world.claude()
    transcript.raw(b'{"type":"from_the_future","sessionId":"x","uuid":"u"}\n')
    with world.again() as memory:
        memory.sync()


def _link_out(world: World, _: pytest.MonkeyPatch) -> None:
    outside = world.root / "outside.jsonl"
    outside.write_text("{}\n")
    (world.claude_home / "projects/-w-demo/linked.jsonl").symlink_to(outside)


def _no_codex_sessions(world: World, _: pytest.MonkeyPatch) -> None:
    shutil.rmtree(world.codex_home)
    world.codex_home.mkdir()


AILMENTS = (
    Ailment("python", "fail", "99.0", _old_python),
    Ailment("home", "warn", "read by others", _open_to_others),
    Ailment("home", "fail", "cannot be written", _home_not_writable),
    Ailment("disk", "fail", "free", _disk_full),
    Ailment("memory", "warn", "nothing is stored", _nothing_stored),
    Ailment("keys", "fail", "key", _key_gone),
    Ailment("database", "fail", "", _database_garbled),
    Ailment("database", "fail", "", _pages_garbled),
    Ailment("archive", "fail", "", _pack_gone),
    Ailment("archive", "fail", "damaged", _journal_damaged),
    Ailment("index", "fail", "missing", _shard_gone),
    Ailment("index", "warn", "not indexed yet", _not_indexed_yet),
    Ailment("vectors", "warn", "0 of", _vectors_gone),
    Ailment("vectors", "warn", "damaged", _vectors_damaged),
    Ailment("contextual model", "warn", "open", _passages_unreadable),
    Ailment("parsers", "warn", "older parser", _older_parser),
    Ailment("analyses", "warn", "under other rules", _analysed_by_other_rules),
    Ailment("analyses", "warn", "the longest for", _long_unanalysed),
    Ailment("analyses", "fail", "waiting", _analyses_gone),
    Ailment("formats", "warn", "that no parser knows (claude 1)", _a_changed_format),
    Ailment("permissions", "warn", "memory.db", _file_open_to_others),
    Ailment("permissions", "fail", "keys/wrapping.key", _key_open_to_others),
    Ailment("leftovers", "warn", "rebuild", _rebuild_interrupted),
    Ailment("leftovers", "warn", "daemon that no longer runs", _daemon_killed),
    Ailment("daemon", "warn", "0.0.1", _older_daemon),
    Ailment("program", "warn", "PATH", _not_on_the_path),
    Ailment("database", "warn", "read only", _newer_schema),
    Ailment("database room", "warn", "free pages", _much_free_room),
    Ailment("detectors", "warn", "other detectors", _other_detectors),
    Ailment("excluded repositories", "warn", "", _stored_though_excluded),
    Ailment("clock", "warn", "240 h from now", _clock_was_ahead),
    Ailment("failures", "warn", "store_locked (1)", _kept_failing),
    Ailment("failures", "fail", "", _audit_gone),
    Ailment("losses", "warn", "1 time", _lost_data),
    Ailment("retention", "warn", "oldest analysed", _above_the_soft_cap),
    Ailment("retention", "fail", "hard cap", _above_the_hard_cap),
    Ailment("learning", "warn", "the longest for", _learning_waits),
    Ailment("learning", "fail", "", _jobs_gone),
    Ailment("learning given up", "warn", "failed at the last attempt", _gave_up),
    Ailment("backup", "warn", "days old", _old_backup),
    Ailment("backup", "warn", "not available", _backup_gone),
    Ailment("hooks", "warn", "nothing ingests them", _drops_wait),
    Ailment("agent codex gives nothing", "warn", "gave no event", _gives_nothing),
    Ailment("agent claude", "warn", "linked.jsonl", _link_out),
    Ailment("agent codex", "warn", "no sessions", _no_codex_sessions),
)


def checks_of(world: World) -> dict[str, Check]:
    with world.again() as memory:
        return {check.name: check for check in memory.maintenance.doctor().checks}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world in which every check passes, made once. It remembers the place that its copies get."""
    root = tmp_path_factory.mktemp("healthy") / "world"
    with world_in(root) as world:
        for i in range(20):
            world.claude().user(f"hello {i}")
        world.codex().turn("hello", "there")
        world.memory.sync()
        world.memory.embedding.run()
        world.memory.close()
        checks = checks_of(world)
    assert {check.state for check in checks.values()} == {"ok"}
    assert set(checks) <= {a.check for a in AILMENTS}
    return root.rename(root.with_name("kept"))


@pytest.fixture
def ailing(healthy: Path) -> Iterator[World]:
    """A copy in which something may be broken."""
    root = healthy.with_name("world")
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(healthy, root)
    with world_in(root) as world:
        yield world


@pytest.mark.parametrize("ailment", AILMENTS, ids=lambda a: f"{a.check}-{a.cause.__name__.strip('_')}")
def test_every_check_of_doctor_can_fail(ailing: World, monkeypatch: pytest.MonkeyPatch, ailment: Ailment) -> None:
    ailment.cause(ailing, monkeypatch)
    found = checks_of(ailing)[ailment.check]
    assert found.state == ailment.state
    assert ailment.says in found.detail
    assert found.hint or found.state == "warn"

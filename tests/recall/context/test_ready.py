"""Blocks made ready for a session's start: given by the hook alone, and only where the memory would say the same."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import ready_blocks as ready
from recollect.agent_names import ANSWERS
from recollect.config import Config, ContextConfig
from recollect.errors import StoreError
from recollect.hook.answer_formats import answer_with
from recollect.hook.prepared_block import Ready, ready_block
from recollect.memory import Memory
from recollect.recall.context import prepare_blocks as keeping
from recollect.store.writer import open_writer
from tests import program
from tests.examples import tried
from tests.hook.processes import drops, run
from tests.ingest.conftest import World
from tests.recall.context.conftest import Session, Shop, shop
from tests.recall.context.learned import change, keep, learned, write_diary
from tests.surfaces.test_context import log, start

__all__ = ["shop"]

posix = pytest.mark.skipif(os.name == "nt", reason="permissions and processes as POSIX has them")


def taken(world: World, cwd: Path | str, session: str = "present", *, agent: str = "claude") -> Ready | None:
    """Return what the hook would take, in this process."""
    home = str(world.memory.home)
    env = {**world.env, "RECOLLECT_HOME": home}
    return ready_block(home, env, agent=agent, session=session, cwd=str(cwd), max_chars=10_000)


def fired(shop: Shop, payload: object, agent: str = "claude", event: str = "start") -> bytes:
    """Run the registered command. The program that it would ask is not there."""
    env = {name: value for name, value in shop.world.env.items() if name != "RECOLLECT_HOME"}
    done = run(agent, event, shop.memory.home, json.dumps(payload).encode(), **env)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def given_by(said: bytes) -> str:
    return json.loads(said)["hookSpecificOutput"]["additionalContext"] if said else ""


def waiting(home: Path) -> list[Path]:
    return sorted((home / "spool" / "firings").glob("*.json"))


@pytest.fixture
def told(shop: Shop) -> Session:
    session = shop.session("one").work("fix the cart total", "Cents are integers now.")
    shop.memory.sync()
    return session


# What a hook does with it


def test_the_hook_gives_it_by_itself_and_the_next_sync_counts_it(shop: Shop, told: Session) -> None:
    block = shop.memory.context(cwd=str(shop.path))
    assert given_by(fired(shop, start(shop))) == block.text
    assert "fix the cart total" in block.text
    assert len(drops(shop.memory.home)) == 1  # the event itself is kept as ever
    (firing,) = waiting(shop.memory.home)
    assert stat.S_IMODE(firing.stat().st_mode) == 0o600 or os.name == "nt"
    assert log(shop.memory) == []
    shop.memory.sync()
    assert log(shop.memory) == [("claude", "claude:present", "start", "shop", json.dumps(list(block.citations)), 1, "")]
    assert waiting(shop.memory.home) == []
    (row,) = shop.memory.context_facet.stats().given
    assert (row.spoke, row.tokens, row.left_out) == (1, block.tokens, block.left_out)


def test_it_is_given_again_and_again(shop: Shop, told: Session) -> None:
    before = given_by(fired(shop, start(shop, "a")))
    shop.memory.sync()
    assert given_by(fired(shop, start(shop, "b"))) == before != ""


@pytest.mark.parametrize("agent", sorted(ANSWERS))
def test_every_agent_gets_its_own_form(shop: Shop, told: Session, agent: str) -> None:
    said = fired(shop, start(shop), agent)
    text = shop.memory.context(cwd=str(shop.path)).text
    assert said == answer_with(agent, "start", text)
    assert (said != ANSWERS[agent][1]) == ("start" in ANSWERS[agent][0]) == (waiting(shop.memory.home) != [])


def test_nothing_to_say_is_ready_too_and_counted(shop: Shop) -> None:
    shop.session("one").user("hello?")  # never answered: not worth a line
    shop.memory.sync()
    assert shop.memory.context(cwd=str(shop.path)).text == ""
    assert fired(shop, start(shop), "gemini") == b"{}"
    assert len(waiting(shop.memory.home)) == 1
    (row,) = shop.memory.context_facet.stats().given
    assert (row.spoke, row.silent) == (0, 1)


def test_other_events_go_their_own_way(shop: Shop, told: Session) -> None:
    for payload, event in (({**start(shop), "source": "compact"}, "start"), (start(shop), "compact")):
        assert fired(shop, payload, event=event) == b""
    assert waiting(shop.memory.home) == []


def test_a_session_that_goes_on_is_asked_for_anew(shop: Shop, told: Session) -> None:
    """What the present session said is no history of it."""
    assert taken(shop.world, shop.path, told.session) is None
    assert taken(shop.world, shop.path, "") is not None
    assert taken(shop.world, shop.path, "an id of other signs") is None


def test_from_subfolders_and_worktrees_it_is_the_repositorys(shop: Shop, told: Session) -> None:
    (shop.path / "cart").mkdir()
    tree = shop.world.root / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {shop.path}/.git/worktrees/tree\n")
    text = shop.memory.context(cwd=str(shop.path)).text
    for cwd in (shop.path, shop.path / "cart", shop.path / "not-there", tree):
        found = taken(shop.world, cwd)
        assert found is not None
        assert found.text == text == shop.memory.context(cwd=str(cwd)).text
    assert taken(shop.world, shop.world.root) is None
    assert taken(shop.world, "/a\0b") is None
    assert taken(shop.world, "/\ud800") is None


def test_a_folder_that_becomes_a_repository_is_another_one(shop: Shop) -> None:
    plain = shop.world.root / "plain"
    plain.mkdir()
    shop.session("one", cwd=plain).work("fix the cart total", "Cents are integers now.")
    shop.memory.sync()
    assert taken(shop.world, plain) is not None
    (plain / ".git").mkdir()
    assert taken(shop.world, plain) is None


# What makes it stale


def config(shop: Shop, text: str) -> None:
    (shop.memory.home / "config.toml").write_text(text)


def damaged(name: str, data: bytes) -> Callable[[Shop], None]:
    def damage(shop: Shop) -> None:
        for path in (shop.memory.home / ready.FOLDER).glob("*.json"):
            if (path.name == ready.STAMP) == (name == ready.STAMP):
                path.write_bytes(data)

    return damage


def another_database(shop: Shop) -> None:
    database = shop.memory.home / "memory.db"
    shutil.copy(database, database.with_suffix(".copy"))
    os.replace(database.with_suffix(".copy"), database)


STALE: dict[str, Callable[[Shop], object]] = {
    "the configuration came": lambda shop: config(shop, "[context]\nbudget_tokens = 1200\n"),
    "the configuration cannot be read": lambda shop: (shop.memory.home / "config.toml").mkdir(),
    "another program": lambda shop: ready_stamp(shop, program="0.0.9"),
    "another format": lambda shop: ready_stamp(shop, format=99),
    "another database": another_database,
    "no database": lambda shop: (shop.memory.home / "memory.db").unlink(),
    "no stamp": lambda shop: ready.withdraw(str(shop.memory.home)),
    "no cache": lambda shop: shutil.rmtree(shop.memory.home / ready.FOLDER),
    "half a stamp": damaged(ready.STAMP, b'{"format": 1, "prog'),
    "a stamp of nothing": damaged(ready.STAMP, b"[]"),
    "a stamp that is deep": damaged(ready.STAMP, b"[" * 100_000),
    "half a block": damaged("", b'{"format": 1, "folder'),
    "a block of nothing": damaged("", b'{"format": 1}'),
    "a block of another folder": damaged("", b'{"format": 1, "folder": "/w", "is_repository": true}'),
    "not text": damaged("", b"\xff\xfe"),
}


def ready_stamp(shop: Shop, **values: object) -> None:
    path = shop.memory.home / ready.FOLDER / ready.STAMP
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize("why", STALE)
def test_in_doubt_the_memory_is_asked_and_the_next_sync_makes_it_good(shop: Shop, told: Session, why: str) -> None:
    assert taken(shop.world, shop.path) is not None
    STALE[why](shop)
    assert taken(shop.world, shop.path) is None
    assert fired(shop, start(shop)) == b""  # nobody is there to be asked
    assert waiting(shop.memory.home) == []
    if why not in ("no database", "the configuration cannot be read"):
        with shop.world.again() as memory:
            memory.close()
            memory.sync()
        assert taken(shop.world, shop.path) is not None


def test_what_is_being_written_is_not_ready(shop: Shop, told: Session) -> None:
    with open_writer(shop.memory.home) as writer:
        assert taken(shop.world, shop.path) is not None
        with writer.transaction():
            assert taken(shop.world, shop.path) is None
    assert taken(shop.world, shop.path) is None  # it did not say that all is well
    shop.memory.sync()
    assert taken(shop.world, shop.path) is not None


def test_a_stamp_that_cannot_be_taken_away_lets_nothing_be_written(shop: Shop, told: Session) -> None:
    folder = shop.memory.home / ready.FOLDER
    (folder / ready.STAMP).unlink()
    (folder / ready.STAMP).mkdir()
    with open_writer(shop.memory.home) as writer, pytest.raises(StoreError), writer.transaction():
        pass


def test_a_refresh_takes_away_what_it_touched_and_leaves_the_rest(shop: Shop, told: Session) -> None:
    other = shop.world.root / "other"
    (other / ".git").mkdir(parents=True)
    shop.session("two", cwd=other).work("paint the shed", "It is green.")
    shop.memory.sync()
    assert taken(shop.world, shop.path) is not None
    told.work("and the vat", "The vat as well.")
    with shop.world.again() as memory:
        memory.search("vat")
    assert taken(shop.world, shop.path) is None
    assert taken(shop.world, other) is not None
    shop.memory.sync()
    found = taken(shop.world, shop.path)
    assert found is not None
    assert "and the vat" not in found.text
    assert "The vat as well." in found.text


def test_the_budget_is_that_of_the_configuration(shop: Shop, told: Session) -> None:
    config(shop, "[context]\nbudget_tokens = 100\n")
    with shop.world.again(Config(context=ContextConfig(budget_tokens=100))) as memory:
        memory.sync()
        assert memory.context(cwd=str(shop.path)).text == ""
        found = taken(shop.world, shop.path)
        assert found is not None
        assert found.text == ""
    with shop.world.again() as memory:  # one that was opened with other settings than the file has
        memory.sync()
        assert taken(shop.world, shop.path) is None


def test_a_text_that_an_agent_would_not_take_whole_is_not_taken(shop: Shop, told: Session) -> None:
    home = str(shop.memory.home)
    env = {**shop.world.env, "RECOLLECT_HOME": home}
    assert ready_block(home, env, agent="claude", session="", cwd=str(shop.path), max_chars=20) is None


def test_a_repository_of_the_same_name_that_goes_away_counts_from_then_on(shop: Shop, told: Session) -> None:
    twin = shop.world.root / "elsewhere" / "shop"
    (twin / ".git").mkdir(parents=True)
    shop.session("two", cwd=twin).work("paint the shed", "It is green.")
    shop.memory.sync()
    found = taken(shop.world, shop.path)
    assert found is not None
    assert "paint the shed" not in found.text
    shutil.rmtree(twin)
    assert "paint the shed" in shop.memory.context(cwd=str(shop.path)).text
    assert taken(shop.world, shop.path) is None


# What becomes of the cache


@posix
def test_it_is_private_and_may_be_deleted(shop: Shop, told: Session) -> None:
    folder = shop.memory.home / ready.FOLDER
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert {path.suffix for path in folder.iterdir()} == {".json"}
    text = shop.memory.context(cwd=str(shop.path)).text
    shutil.rmtree(folder)
    assert shop.memory.context(cwd=str(shop.path)).text == text
    shop.memory.sync()
    found = taken(shop.world, shop.path)
    assert found is not None
    assert found.text == text


def test_it_stays_small(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "KEPT", 3)
    monkeypatch.setattr(keeping, "AT_ONCE", 2)
    for name in "abcde":
        (shop.world.root / name / ".git").mkdir(parents=True)
        shop.session(name, cwd=shop.world.root / name).work("fix the cart total", "Cents are integers now.")
    shop.memory.sync()
    blocks = [path for path in (shop.memory.home / ready.FOLDER).iterdir() if path.name != ready.STAMP]
    assert len(blocks) == 2
    assert taken(shop.world, shop.world.root / "e") is not None
    for _ in range(3):
        shop.memory.sync()
    assert len(list((shop.memory.home / ready.FOLDER).iterdir())) == 4


def test_a_cache_that_cannot_be_written_never_fails_a_sync(shop: Shop) -> None:
    shop.memory.home.mkdir(exist_ok=True)
    (shop.memory.home / ready.FOLDER).write_text("in the way")
    shop.session("one").work("fix the cart total", "Cents are integers now.")
    report = shop.memory.sync()
    assert report.state == "done"
    assert taken(shop.world, shop.path) is None


def test_damage_in_the_store_never_fails_a_sync(shop: Shop, told: Session) -> None:
    db = apsw.Connection(str(shop.memory.home / "memory.db"))
    db.execute("UPDATE block SET data = x'c1'").fetchall()
    db.close()
    shutil.rmtree(shop.memory.home / ready.FOLDER)
    report = shop.memory.sync()
    assert report.state == "done"
    assert [note for note in report.notes if "could not be prepared" in note] != []
    assert taken(shop.world, shop.path) is None


def test_a_rebuild_leaves_nothing_of_before(shop: Shop, told: Session) -> None:
    before = (shop.memory.home / ready.FOLDER / ready.STAMP).read_bytes()
    shop.memory.maintenance.rebuild("all")
    assert (shop.memory.home / ready.FOLDER / ready.STAMP).read_bytes() != before
    found = taken(shop.world, shop.path)
    assert found is not None
    assert found.text == shop.memory.context(cwd=str(shop.path)).text


def test_the_default_home_and_its_configuration(tmp_path: Path, isolated_home: Path) -> None:
    """Without RECOLLECT_HOME the configuration lies elsewhere; the hook finds the same one."""
    env = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    home = ready_home(env)
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    with Memory.open(env=env) as memory:
        assert str(memory.home) == home
        world = World(tmp_path, tmp_path / "claude", tmp_path / "codex", memory, env)
        Session(world, "one", str(tmp_path / "shop"), day=1).work("fix the cart total", "Cents are integers now.")
        memory.sync()

        def asked(**more: str) -> Ready | None:
            cwd = str(tmp_path / "shop")
            return ready_block(home, {**env, **more}, agent="claude", session="", cwd=cwd, max_chars=10_000)

        assert asked() is not None
        assert asked(RECOLLECT_HOME=home) is not None
        assert asked(RECOLLECT_HOME=str(tmp_path / "another")) is None
        from recollect.paths import config_file

        config_file(env).parent.mkdir(parents=True)
        config_file(env).write_text("[search]\nlimit = 5\n")
        assert asked() is None


def ready_home(env: dict[str, str]) -> str:
    from recollect.paths import home_text

    return home_text(env)


# Never wrong


class Scene:
    """Folders that agents work in: two repositories, one in the other, one of the same name, a folder, a worktree."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        root = shop.world.root
        self.folders = {
            "shop": shop.path,
            "inside": shop.path / "vendor" / "lib",
            "twin": root / "elsewhere" / "shop",
            "plain": root / "plain",
            "below": shop.path / "cart",
        }
        for name, folder in self.folders.items():
            folder.mkdir(parents=True, exist_ok=True)
            if name in ("inside", "twin"):
                (folder / ".git").mkdir()
        self.sessions: list[Session] = []
        self.at_all = 0
        self.noted = 0

    def do(self, step: tuple[str, int]) -> None:
        what, which = step
        names = sorted(self.folders)
        folder = self.folders[names[which % len(names)]]
        if what == "begin":
            self.sessions.append(self.shop.session(f"s{len(self.sessions)}", cwd=folder))
            self.sessions[-1].work(f"request {len(self.sessions)}", "Done.")
        elif what == "go on" and self.sessions:
            self.sessions[which % len(self.sessions)].work(f"more {which}", f"Did {which}.")
        elif what == "fail" and self.sessions:
            self.sessions[which % len(self.sessions)].shell("pytest -q", f"E  KeyError: {which}", fails=True)
        elif what == "sync":
            self.shop.memory.sync()
        elif what == "refresh":
            with self.shop.world.again() as memory:
                memory.search("request")
        elif what == "twin goes":
            shutil.rmtree(self.folders["twin"], ignore_errors=True)
        elif what == "twin comes":
            (self.folders["twin"] / ".git").mkdir(parents=True, exist_ok=True)
        elif what == "learn" and self.sessions and self.is_stored():
            session = self.sessions[which % len(self.sessions)]
            day, repo = self.at_all % 27 + 1, ("shop", "")[which % 2]
            keep(self.home, learned(f"said {which}", repo=repo, day=day, session=session.uid))
        elif what == "retire" and self.is_stored():
            change(self.home, learned(f"said {which}", repo=("shop", "")[which % 2], session=""), state="retired")
        elif what == "ends soon" and self.is_stored():
            ends = time.time_ns() // 1000 + 30_000
            keep(self.home, learned(f"ends {which}", kind="action", expires_at=ends, session=""))
        elif what == "diary" and self.is_stored():
            self.noted += 1  # an entry is known by its text
            write_diary(self.home, f"noted {self.noted}", agent=("claude", "codex")[which % 2])
        elif what == "own file" and self.is_stored():
            (self.home / ("soul.md", "user.md")[which % 2]).write_text(f"version {self.at_all % 10}\n")
        elif what == "rebuild" and (self.shop.memory.home / "keys").exists():
            self.shop.memory.maintenance.rebuild("all")

    @property
    def home(self) -> Path:
        return self.shop.memory.home

    def is_stored(self) -> bool:
        return (self.home / "memory.db").exists()

    def check(self) -> None:
        for folder in self.folders.values():
            for session in ("", "new", *(s.session for s in self.sessions[-2:])):
                found = taken(self.shop.world, folder, session)
                if found is not None:
                    self.at_all += 1
                    uid = f"claude:{session}" if session else ""
                    facet = self.shop.memory.context_facet
                    said = facet.block(cwd=str(folder), session=uid, agent="claude")
                    if found.values["until"] and (found.text != said.text):
                        assert taken(self.shop.world, folder, session) is None  # its time ended in between
                        continue
                    assert (found.text, found.values["citations"]) == (said.text, list(said.citations))


WHAT = (
    "begin", "begin", "go on", "fail", "sync", "sync", "refresh", "twin goes", "twin comes", "rebuild",
    "learn", "learn", "retire", "ends soon", "diary", "own file",
)  # fmt: skip
STEPS = st.tuples(st.sampled_from(WHAT), st.integers(0, 4))


@given(steps=st.lists(STEPS, min_size=3, max_size=10))
@settings(max_examples=tried(30, floor=10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happens_a_ready_block_is_what_the_memory_says(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    root = tmp_path_factory.mktemp("scene")
    env = {"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex")}
    with Memory.open(root / "memory", config=Config(), env=env) as memory:
        scene = Scene(Shop(World(root, root / "claude", root / "codex", memory, env)))
        for step in steps:
            scene.do(step)
            scene.check()
        for _ in range(1 + sum(what == "ends soon" for what, _ in steps)):  # one may end between a sync and its check
            scene.do(("begin", 0))
            scene.do(("sync", 0))
            scene.check()
            if scene.at_all:
                break
        assert scene.at_all


@posix
def test_a_kill_at_any_moment_leaves_nothing_that_is_wrong(shop: Shop, told: Session) -> None:
    """The stamp is away from before the first change until all that it touched is gone."""
    script = (
        "import os, sys\n"
        "from recollect import Memory\n"
        "from recollect.recall.context import prepare_blocks as keeping\n"
        "at = sys.argv[1]\n"
        "def die(*_a, **_k): os._exit(9)\n"
        "setattr(keeping.ReadyBlocks, at, die)\n"
        "Memory.open().sync()\n"
    )
    for count, at in enumerate(("settle", "_drop_touched", "_write_stamp", "make", "_made", "_drop_oldest")):
        shop.memory.sync()
        assert taken(shop.world, shop.path) is not None
        told.work(f"request {count}", f"Answer {count}.")
        env = {**os.environ, **shop.world.env, "RECOLLECT_HOME": str(shop.memory.home)}
        done = program.run_script(script, at, env=env)
        assert done.returncode == 9, at
        found = taken(shop.world, shop.path)
        assert found is None or found.text == shop.memory.context(cwd=str(shop.path)).text
        assert f"Answer {count}." in shop.memory.context(cwd=str(shop.path)).text
    shop.memory.sync()
    assert taken(shop.world, shop.path) is not None


def test_two_folders_of_one_name_in_the_cache_are_told_apart(shop: Shop, told: Session) -> None:
    path = Path(ready.block_path(str(shop.memory.home), str(shop.path)))
    path.write_text(json.dumps({**json.loads(path.read_text()), "folder": "/another"}))
    assert taken(shop.world, shop.path) is None

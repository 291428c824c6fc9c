"""What holds for every agent that can be set up, on configurations as people have them and on empty ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.agents.install.contract import ConfigFile, OwnFile, Unsupported
from recollect.agents.install.described import installs
from recollect.maintenance.setup.planner import SetupOptions
from tests.setup.configurations import CONFIGURATIONS
from tests.setup.desk import BOTH, OUT, Desk, done

SLUGS = [slug for slug in installs() if slug in CONFIGURATIONS]
EDITED = [
    slug
    for slug in SLUGS
    if not isinstance(installs()[slug].mcp, Unsupported)  # in a file that other people's servers are in too
]
MEMORIES = [slug for slug in SLUGS if installs()[slug].native_memory]
every_agent = pytest.mark.parametrize("slug", SLUGS)
every_edited = pytest.mark.parametrize("slug", EDITED)


@pytest.fixture
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Desk:
    made = Desk(tmp_path)
    slug = request.node.callspec.params.get("slug")
    if slug:
        made.write(CONFIGURATIONS[slug])
        made.make_folders(slug)
    return made


@every_agent
def test_a_plan_changes_nothing(desk: Desk, slug: str) -> None:
    before = desk.tree()
    plan = desk.plan(slug)
    assert plan.changes
    assert {step.action for step in plan.steps} <= {"add", "change", "unsupported"}
    assert desk.tree() == before
    assert not list(desk.memory.iterdir())


@every_agent
def test_it_is_found_by_its_folder(desk: Desk, slug: str, tmp_path: Path) -> None:
    assert desk.planner(slug)._found.is_installed
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    assert not Desk(elsewhere).planner(slug)._found.is_installed


@every_agent
def test_every_part_is_there_afterwards(desk: Desk, slug: str) -> None:
    desk.do(slug)
    given = desk.planner(slug).given
    for path, part in desk.files_of(slug).values():
        if isinstance(part, OwnFile):
            assert path.read_bytes().decode() == part.text(given)
        else:
            assert "recollect" in path.read_bytes().decode()


@every_agent
def test_twice_changes_nothing(desk: Desk, slug: str) -> None:
    desk.do(slug)
    once, manifest = desk.tree(), desk.manifest()
    assert not desk.plan(slug).changes
    assert {step.action for step in desk.do(slug)} <= {"none", "unsupported"}
    assert (desk.tree(), desk.manifest()) == (once, manifest)


@every_agent
@pytest.mark.parametrize("way", [("both",), ("pull",), ("push",), ("pull", "push"), ("push", "both"), ("both", "pull")])
def test_taken_out_it_is_byte_for_byte_what_it_was(desk: Desk, slug: str, way: tuple[str, ...]) -> None:
    before = desk.tree()
    for mode in way:
        desk.do(slug, SetupOptions(mode))  # type: ignore[arg-type]
    desk.do(slug, OUT)
    assert desk.tree() == before
    assert not desk.manifest().agents


@every_agent
def test_the_last_choice_alone_counts(desk: Desk, slug: str, tmp_path: Path) -> None:
    desk.do(slug, SetupOptions("both"))
    desk.do(slug, SetupOptions("pull"))
    (tmp_path / "straight").mkdir()
    other = Desk(tmp_path / "straight")
    other.write(CONFIGURATIONS[slug])
    other.make_folders(slug)
    other.machine = other.machine._replace(program=desk.machine.program, env={**other.machine.env})
    other.do(slug, SetupOptions("pull"))
    names = {kind for kind, _ in done(desk.do(slug, SetupOptions("pull")))}
    assert "hooks" not in names
    assert {name: entry[0] for name, entry in desk.tree().items() if "recollect" not in name} == {
        name: entry[0].replace(str(other.memory).encode(), str(desk.memory).encode())
        for name, entry in other.tree().items()
        if "recollect" not in name
    }


@every_agent
def test_a_home_without_configuration_is_empty_again(tmp_path: Path, slug: str) -> None:
    desk = Desk(tmp_path)
    desk.make_folders(slug)
    before = desk.tree()
    desk.do(slug)
    assert desk.tree() != before
    desk.do(slug, OUT)
    assert desk.tree() == before


@every_edited
def test_other_entries_stay_where_one_of_ours_was_changed_by_hand(desk: Desk, slug: str) -> None:
    path, part = desk.files_of(slug)["mcp"]
    assert isinstance(part, ConfigFile)
    before = path.read_text()
    desk.do(slug, SetupOptions("pull"))
    path.write_bytes(path.read_bytes().replace(b'"-m"', b'"-x"').replace(b"- -m", b"- -x"))
    desk.do(slug, OUT)
    assert path.read_text().rstrip() == before.rstrip()


@every_edited
def test_a_broken_file_is_left_alone_and_named(desk: Desk, slug: str) -> None:
    path, _ = desk.files_of(slug)["mcp"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b'{"unfinished": [\n')
    steps = desk.do(slug)
    blocked = [step for step in steps if step.action == "blocked"]
    assert {step.path for step in blocked} == {str(path)}
    assert path.read_bytes() == b'{"unfinished": [\n'
    assert ("skill", "add") in done(steps)


@every_edited
def test_a_read_only_file_is_left_alone_and_named(desk: Desk, slug: str) -> None:
    path, _ = desk.files_of(slug)["mcp"]
    before = path.read_bytes()
    path.chmod(0o400)
    assert {step.path for step in desk.do(slug) if step.action == "blocked"} == {str(path)}
    assert path.read_bytes() == before


@every_edited
def test_a_link_stays_a_link(desk: Desk, slug: str) -> None:
    path, _ = desk.files_of(slug)["mcp"]
    dotfile = desk.home / "dotfiles" / path.name
    dotfile.parent.mkdir()
    path.rename(dotfile)
    path.symlink_to(dotfile)
    before = desk.tree()
    desk.do(slug)
    assert path.is_symlink()
    assert b"recollect" in dotfile.read_bytes()
    desk.do(slug, OUT)
    assert desk.tree() == before


@every_edited
def test_a_server_of_somebody_else_under_our_name_is_not_written_over(desk: Desk, slug: str) -> None:
    desk.do(slug)
    path, _ = desk.files_of(slug)["mcp"]
    path.write_bytes(path.read_bytes().replace(b'"-m"', b'"-x"').replace(b"- -m", b"- -x"))
    (desk.memory / "setup.json").unlink()
    before = path.read_bytes()
    assert ("mcp", "blocked") in done(desk.do(slug))
    assert path.read_bytes() == before


@every_agent
def test_a_file_of_our_own_that_was_changed_by_hand_stays(desk: Desk, slug: str) -> None:
    desk.do(slug)
    path, _ = desk.files_of(slug)["skill"]
    path.write_text("mine now\n")
    assert ("skill", "blocked") in done(desk.do(slug))
    assert ("skill", "left") in done(desk.do(slug, OUT))
    assert path.read_text() == "mine now\n"


@pytest.mark.parametrize("slug", MEMORIES)
def test_its_own_memory_is_turned_off_and_on_again(desk: Desk, slug: str) -> None:
    before = desk.tree()
    desk.do(slug, SetupOptions("both", turns_native_memory_off=True))
    assert not desk.plan(slug, SetupOptions("both", turns_native_memory_off=True)).changes
    assert not desk.plan(slug).changes
    desk.do(slug, OUT)
    assert desk.tree() == before


def test_all_of_them_beside_each_other(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for slug in SLUGS:
        desk.write(CONFIGURATIONS[slug])
        desk.make_folders(slug)
    before = desk.tree()
    for slug in SLUGS:
        assert not {action for _, action in done(desk.do(slug))} & {"blocked", "left"}, slug
    for slug in SLUGS:
        assert not desk.plan(slug).changes, slug
    for slug in SLUGS:
        desk.do(slug, OUT)
        for other in SLUGS[SLUGS.index(slug) + 1 :][:1]:
            assert not desk.plan(other).changes, (slug, other)
    assert desk.tree() == before


@every_agent
def test_its_commands_name_the_agent_and_the_memory(desk: Desk, slug: str) -> None:
    desk.do(slug, BOTH)
    parts = desk.files_of(slug)
    if "hooks" not in parts:
        assert isinstance(installs()[slug].hooks, Unsupported)
        return
    text = parts["hooks"][0].read_text()
    assert slug in text
    assert str(desk.memory / "spool") in text

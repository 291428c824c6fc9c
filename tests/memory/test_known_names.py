"""A name that nobody knows is told, with the nearest one; the repository in which one works may be new."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import UnknownName
from recollect.ingest.known_names import nearest
from recollect.insights.notes.diary import NewEntry
from recollect.memory import DiaryQuestion, EventFilter, FactQuestion, LearningFilter, Memory, NewFact
from recollect.testing.builders import ClaudeTranscript


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    for repo in ("recollect", "shop-api"):
        session = ClaudeTranscript(tmp_path / "claude", f"in-{repo}", cwd=str(tmp_path / repo), branch="main")
        session.user("Where does the cache live?")
        session.tool("Bash", {"command": "ls"}, "cache.py")
        session.assistant("In cache.py.")
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "RECOLLECT_BACKGROUND": "0"}
    with Memory.open(tmp_path / "home", env=env) as opened:
        opened.sync()
        opened.notes.tag(session.uid, ["release-2"])
        yield opened


UNKNOWN = {
    "repo:recolect": "no repository called 'recolect'; did you mean recollect?",
    "repo:=recolect": "no repository called 'recolect'; did you mean recollect?",
    "repo:=shop": "no repository called 'shop'; did you mean shop-api?",
    "repo:acme/shop-api": "no repository called 'acme/shop-api'; did you mean shop-api?",
    "branch:mian": "no branch called 'mian'; did you mean main?",
    "tag:relase-2": "no tag called 'relase-2'; did you mean release-2?",
    "tool:bsh": "no tool called 'bsh'; did you mean Bash?",
    "kind:tool_resul": "no kind called 'tool_resul'; did you mean tool_result",
    "agent:claud": "no agent called 'claud'; did you mean claude",
}
KNOWN = (
    "repo:RECOLL", "repo:=Recollect", "repo:shop,recollect", "repo:=", "branch:mai", "tag:Release-2", "tool:Bash",
    "tool:shell", "tool:websearch,image", "kind:user", "kind:edit", "agent:cc",
)  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_query_with_a_name_that_nobody_knows_says_so_and_searches_nothing(memory: Memory, name: str) -> None:
    answer = memory.search(f"cache {name}", sync=False)
    assert (answer.hits, answer.learned, answer.abstained) == ((), (), False)
    assert answer.notes[0].startswith(UNKNOWN[name])
    assert any(note.startswith("nothing was searched: ") for note in answer.notes)
    with pytest.raises(UnknownName) as raised:
        memory.recall.check_names(f"cache {name}")
    assert str(raised.value).startswith(UNKNOWN[name])


@pytest.mark.parametrize("name", KNOWN)
def test_a_name_that_matches_anything_is_no_error(memory: Memory, name: str) -> None:
    memory.recall.check_names(f"cache {name} -{name}")
    assert not any("called" in note for note in memory.search(f"cache {name}", sync=False).notes)


def test_a_session_is_known_by_its_beginning_and_the_nearest_is_told(memory: Memory) -> None:
    uid = memory.sessions(sync=False).sessions[0].session_uid
    memory.recall.check_names(f"cache session:{uid} session:{uid[:12]} session:{uid.partition(':')[2]}")
    with pytest.raises(UnknownName, match=r"no session called .*; did you mean claude:"):
        memory.recall.check_names(f"cache session:{uid}x")


def test_one_known_name_of_several_is_searched_and_the_other_told(memory: Memory) -> None:
    answer = memory.search("cache repo:shop,recolect", sync=False)
    assert {hit.repo for hit in answer.hits} == {"shop-api"}
    assert "no repository called 'recolect'; did you mean recollect?" in answer.notes


def test_a_refused_name_that_nobody_knows_is_told_and_refuses_nothing(memory: Memory) -> None:
    answer = memory.search("cache -repo:recolect", sync=False)
    assert {hit.repo for hit in answer.hits} == {"shop-api", "recollect"}
    assert "no repository called 'recolect'; did you mean recollect?" in answer.notes


def test_the_repository_in_which_one_works_may_be_new(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bakery/.git").mkdir(parents=True)
    with pytest.raises(UnknownName, match="no repository called 'bakery'"):
        memory.recall.check_names("cache repo:bakery")
    memory.recall.check_names("cache repo:bakery", folders=(str(tmp_path / "bakery"),))
    monkeypatch.chdir(tmp_path / "bakery")
    memory.recall.check_names("cache repo:bakery")
    answer = memory.search("cache repo:=bakery", sync=False)
    assert answer.hits == ()
    assert not any("called" in note for note in answer.notes)
    assert memory.sessions(where=EventFilter(repos=("bakery",)), sync=False).total == 0
    assert memory.context(cwd=str(tmp_path / "bakery")).text == ""


def test_an_empty_memory_knows_no_names_and_says_nothing_of_them(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", env={"HOME": str(tmp_path)}) as empty:
        assert empty.sessions(where=EventFilter(repos=("shop",)), sync=False).total == 0
        empty.recall.check_names("cache repo:shop tag:new session:claude:one")
        with pytest.raises(UnknownName):
            empty.recall.check_names("cache agent:claud")


def test_every_question_of_the_library_names_the_nearest(memory: Memory) -> None:
    where = EventFilter(repos=("recolect",))
    notes = memory.notes
    for ask in (
        lambda: memory.sessions(where=where, sync=False),
        lambda: memory.timeline(repo="recolect", sync=False),
        lambda: memory.usage.report(where=where),
        lambda: memory.decisions(repo="recolect"),
        lambda: memory.retro(since=0, until=1, repos=("recolect",), sync=False),
        lambda: memory.learn.learnings(LearningFilter(repos=("recolect",))),
        lambda: memory.learn.actions(repos=("recolect",)),
        lambda: notes.diary.read(DiaryQuestion(repo="recolect")),
        lambda: notes.facts.contradictions(repo="recolect"),
        lambda: notes.seeding.seed(repo="recolect"),
    ):
        with pytest.raises(UnknownName, match="did you mean recollect"):
            ask()


def test_the_whole_name_of_a_repository_or_branch_never_means_others(memory: Memory, tmp_path: Path) -> None:
    other = ClaudeTranscript(tmp_path / "claude", "beside", cwd=str(tmp_path / "shop-api-2"), branch="main-2")
    other.user("Where does the cache live?")
    memory.sync()
    memory.notes.diary.write(NewEntry(agent="claude", text="A quiet day.", repo="shop-api-2"))
    memory.notes.facts.add(NewFact(subject="cache", predicate="lives_in", object="the attic", repo="shop-api-2"))
    names = [name.upper() for name in ("shop-api", "main")]
    assert memory.known_names().filter(EventFilter(repos=("Shop-API",))).repos == ("=Shop-API",)
    for field, name in zip(("repo", "branch"), names, strict=True):
        assert other.uid not in {hit.session_uid for hit in memory.search(f"cache {field}:{name}", sync=False).hits}
        assert other.uid in {hit.session_uid for hit in memory.search(f"cache -{field}:{name}", sync=False).hits}
    where = EventFilter(repos=("shop-api",))
    assert {one.repo for one in memory.sessions(where=where, sync=False).sessions} == {"shop-api"}
    assert {one.repo for one in memory.timeline(repo="shop-api", sync=False).entries} == {"shop-api"}
    assert [row.key for row in memory.usage.report(by="repo", where=where).rows] == ["shop-api"]
    assert memory.retro(since=0, until=1 << 62, repos=("shop-api",), sync=False).repos == ("shop-api",)
    assert memory.notes.diary.read(DiaryQuestion(repo="shop-api")).total == 0
    assert memory.notes.facts.find(FactQuestion(repo="shop-api")).total == 0


def test_a_part_of_several_names_means_them_all_and_says_which(memory: Memory, tmp_path: Path) -> None:
    ClaudeTranscript(tmp_path / "claude", "beside", cwd=str(tmp_path / "shop-web")).user("Where does the cache live?")
    memory.sync()
    memory.notes.diary.write(NewEntry(agent="claude", text="A quiet day.", repo="shop-web"))
    memory.notes.facts.add(NewFact(subject="cache", predicate="lives_in", object="the attic", repo="shop-web"))
    note = "'shop' is part of 2 names, and all are meant: shop-api, shop-web"
    where = EventFilter(repos=("shop",))
    for notes in (
        memory.search("cache repo:shop", sync=False).notes,
        memory.sessions(where=where, sync=False).notes,
        memory.timeline(repo="shop", sync=False).notes,
        memory.usage.report(where=where).notes,
        memory.decisions(repo="shop").notes,
        memory.retro(since=0, until=1, repos=("shop",), sync=False).notes,
        memory.recall.unanalysed(("shop",)),
    ):
        assert note in notes
    assert memory.sessions(where=where, sync=False).total == 2
    assert memory.notes.diary.read(DiaryQuestion(repo="shop")).total == 1
    assert memory.notes.facts.find(FactQuestion(repo="shop")).total == 1


def test_what_is_only_written_down_makes_a_repository_known(memory: Memory) -> None:
    memory.notes.diary.write(NewEntry(agent="claude", text="A quiet day.", repo="Bakery"))
    assert memory.notes.diary.read(DiaryQuestion(repo="bakery")).total == 1
    assert memory.sessions(where=EventFilter(repos=("bakery",)), sync=False).total == 0


@given(st.text(max_size=30), st.lists(st.text(max_size=12), max_size=8))
def test_the_nearest_are_known_and_few(name: str, known: list[str]) -> None:
    found = nearest(name, known)
    assert set(found) <= set(known)
    assert len(found) == len(set(found)) <= 3

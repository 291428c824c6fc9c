"""`recollect docs`, from a folder that a person names to what a search finds."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from recollect.capture.document_folders import FoundDocument
from recollect.cli.commands.config import result_types
from recollect.cli.main import run
from recollect.ingest import documents as refreshing
from recollect.ingest.collections import Taker
from recollect.memory import Memory
from recollect.memory.documents import DocumentsFacet

SECRET = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Recollect = Callable[..., Outcome]


@pytest.fixture
def recollect(capfd: pytest.CaptureFixture[str]) -> Recollect:
    def call(*argv: object) -> Outcome:
        capfd.readouterr()
        code = run([str(word) for word in argv])
        return Outcome(code, *capfd.readouterr())

    return call


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a project with documentation, code, an ignored folder, a link that leaves it, and a binary file."""
    top = tmp_path / "shop"
    for path, text in {
        "README.md": "# Shop\n\nA quagga sells things.\n",
        "docs/guide.md": f"# Guide\n\n## Deploy\n\nUse the zebra crossing. token: {SECRET}\n",
        "src/main.py": "quagga = 1\n",
        "drafts/plan.md": "the okapi plan\n",
        ".gitignore": "drafts/\n",
    }.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    (top / "docs/binary.txt").write_bytes(b"\x00\x01")
    outside = tmp_path / "outside.md"
    outside.write_text("the narwhal\n")
    if os.name != "nt":
        (top / "docs/outside.md").symlink_to(outside)
    return top


def uids(recollect: Recollect, query: str) -> list[str]:
    return [hit["session_uid"] for hit in recollect("search", query, "--json").data["hits"]]


def test_documents_are_found_with_sessions_and_apart(recollect: Recollect, shop: Path) -> None:
    added = recollect("docs", "add", shop, "--json")
    assert added.code == 0, added
    assert (added.data["name"], added.data["new"], added.data["redactions"]) == ("shop", 2, 1)
    assert {left["path"] for left in added.data["not_taken"]} >= {"docs/binary.txt"}
    assert uids(recollect, "zebra") == uids(recollect, "kind:document zebra") == ["document:shop/docs/guide.md"]
    assert uids(recollect, "kind:document path:docs zebra") == ["document:shop/docs/guide.md"]
    assert uids(recollect, "quagga") == ["document:shop/README.md"]
    for hidden in ("okapi", "narwhal", SECRET):
        assert uids(recollect, hidden) == []
    shown = recollect("show", "document:shop/docs/guide.md#0")
    assert shown.code == 0, shown
    assert "zebra crossing" in shown.out
    assert SECRET not in shown.out


def test_documents_of_a_folder_without_git_are_found_by_its_name(
    recollect: Recollect, shop: Path, tmp_path: Path
) -> None:
    assert not (shop / ".git").exists()
    recollect("docs", "add", shop, "--collection", "handbook")
    assert uids(recollect, "repo:shop zebra") == ["document:handbook/docs/guide.md"]
    assert recollect("docs", "list", "--json").data["collections"][0]["repo"] == "shop"
    repository = tmp_path / "bank"
    (repository / ".git").mkdir(parents=True)
    (repository / "README.md").write_text("# Bank\n\nA zebra pays.\n")
    recollect("docs", "add", repository)
    assert uids(recollect, "repo:shop zebra") == ["document:handbook/docs/guide.md"]
    assert uids(recollect, "repo:bank zebra") == ["document:bank/README.md"]


def test_a_collection_follows_the_name_of_its_wing(
    recollect: Recollect, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wing = shop / "mempalace.yaml"
    wing.write_text("wing: bazaar\n")
    recollect("docs", "add", shop)
    assert uids(recollect, "collection:bazaar zebra") == ["document:bazaar/docs/guide.md"]
    wing.write_text("wing: market\n")
    read: list[str] = []
    take = Taker.take

    def counted(self: Taker, found: FoundDocument, *rest: Any, **named: Any) -> Any:
        read.append(found.path)
        return take(self, found, *rest, **named)

    monkeypatch.setattr(Taker, "take", counted)
    recollect("sync")
    assert read == ["mempalace.yaml"]  # itself a document, and the only one that changed
    assert [view["name"] for view in recollect("docs", "list", "--json").data["collections"]] == ["market"]
    assert uids(recollect, "zebra") == uids(recollect, "collection:market zebra") == ["document:market/docs/guide.md"]
    assert recollect("search", "collection:bazaar zebra").code == 2
    assert recollect("show", "document:market/docs/guide.md#0").code == 0


def test_a_collection_that_a_person_named_keeps_its_name(recollect: Recollect, shop: Path) -> None:
    (shop / "mempalace.yaml").write_text("wing: bazaar\n")
    recollect("docs", "add", shop, "--collection", "mine")
    (shop / "mempalace.yaml").write_text("wing: market\n")
    recollect("sync")
    assert uids(recollect, "zebra") == ["document:mine/docs/guide.md"]


def test_changes_are_taken_in_by_the_next_question(
    recollect: Recollect, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refreshing, "_SHARE", 0)  # also where the first look took long
    recollect("docs", "add", shop)
    (shop / "docs/guide.md").write_text("# Guide\n\nNow a lynx.\n")
    (shop / "README.md").rename(shop / "docs/README.md")
    assert uids(recollect, "lynx") == ["document:shop/docs/guide.md"]
    assert uids(recollect, "quagga") == ["document:shop/docs/README.md"]
    assert uids(recollect, "zebra") == []
    (report,) = recollect("docs", "refresh", "shop", "--json").data["reports"]
    assert (report["unchanged"], report["new"], report["changed"], report["removed"]) == (2, 0, 0, 0)


def test_what_a_killed_refresh_had_taken_is_found_after_the_next(
    recollect: Recollect, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recollect("docs", "add", shop)
    (shop / "docs/guide.md").write_text("# Guide\n\nNow a lynx.\n")
    with monkeypatch.context() as killed:
        killed.setattr(DocumentsFacet, "_index", lambda self: [])  # it came no further than this
        assert recollect("docs", "refresh").code == 0
    assert recollect("search", "lynx kind:document", "--no-sync", "--json").data["hits"] == []
    assert recollect("docs", "refresh").code == 0
    (hit,) = recollect("search", "lynx kind:document", "--no-sync", "--json").data["hits"]
    assert hit["session_uid"] == "document:shop/docs/guide.md"


def test_a_second_add_and_a_sync_write_nothing(recollect: Recollect, shop: Path) -> None:
    recollect("docs", "add", shop)
    again = recollect("docs", "add", shop, "--json")
    assert (again.code, again.data["new"], again.data["unchanged"]) == (0, 0, 2)
    assert recollect("sync", "--json").data["documents"] == []
    assert len(recollect("undo", "--list", "--json").data["batches"]) == 1


def test_a_dry_run_lists_and_makes_nothing(recollect: Recollect, shop: Path, isolated_home: Path) -> None:
    would = recollect("docs", "add", shop, "--dry-run", "--json")
    assert (would.code, would.data["new"]) == (0, 3)
    assert would.data["files"] == ["README.md", "docs/binary.txt", "docs/guide.md"]  # what is in them nobody looked at
    assert would.data["is_dry_run"]
    assert not (isolated_home / "recollect").exists()
    assert "would take docs/guide.md" in recollect("docs", "add", shop, "--dry-run").out


def test_the_name_is_said_by_the_person_the_project_the_repository_or_the_folder(
    recollect: Recollect, shop: Path, tmp_path: Path
) -> None:
    def name(*argv: object) -> str:
        return str(recollect("docs", "add", *argv, "--dry-run", "--json").data["name"])

    assert name(shop) == "shop"
    (shop / ".git").mkdir()
    assert name(shop) == "shop"
    assert name(shop / "docs") == "shop"
    (shop / "mempalace.yaml").write_text("wing: old-shop\n")
    assert name(shop) == "old-shop"
    (shop / "recollect.toml").write_text('[documents]\ncollection = "handbook"\n')
    assert name(shop) == "handbook"
    assert name(shop, "--collection", "mine") == "mine"


def test_nothing_is_in_two_collections(recollect: Recollect, shop: Path, tmp_path: Path) -> None:
    assert recollect("docs", "add", shop).code == 0
    other = tmp_path / "elsewhere" / "shop"
    other.mkdir(parents=True)
    for argv, said in (
        ((other,), "is another folder's already"),
        ((shop, "--collection", "again"), "is the collection 'shop' already"),
        ((shop / "docs",), "is part of the collection 'shop'"),
        ((tmp_path,), "has the collection 'shop' in it"),
        ((other, "--collection", "a/b"), "cannot name a collection"),
        ((Path.home(),), "is not a project"),
    ):
        refused = recollect("docs", "add", *argv)
        assert refused.code == 2, (argv, refused)
        assert said in refused.err
    assert recollect("docs", "add", tmp_path / "gone").code == 3


def test_collections_and_files_are_listed_and_taken_out(recollect: Recollect, shop: Path) -> None:
    assert recollect("docs").code == 1
    recollect("docs", "add", shop)
    (view,) = recollect("docs", "list", "--json").data["collections"]
    assert (view["name"], view["folder"], view["documents"]) == ("shop", str(shop.resolve()), 2)
    files = {file["path"]: file for file in recollect("docs", "show", "shop", "--json").data["files"]}
    assert files["docs/guide.md"]["uid"] == "document:shop/docs/guide.md"
    assert (files["docs/binary.txt"]["state"], files["docs/binary.txt"]["reason"]) == ("listed", "is binary")
    assert recollect("docs", "show", "shp").code == 2
    assert "did you mean shop" in recollect("docs", "show", "shp").err
    removed = recollect("docs", "remove", "shop", "--json")
    assert (removed.code, removed.data["documents"]) == (0, 2)
    assert uids(recollect, "quagga") == []
    assert (shop / "README.md").exists()
    assert recollect("docs", "remove", "shop").code == 2


def test_undoing_the_run_takes_the_collection_out(recollect: Recollect, shop: Path) -> None:
    batch = recollect("docs", "add", shop, "--json").data["batch"]
    undone = recollect("undo", batch, "--json")
    assert undone.code == 0, undone
    assert uids(recollect, "quagga") == []
    assert recollect("docs", "list", "--json").data["collections"] == []
    assert uids(recollect, "zebra") == []


def test_a_folder_that_vanished_is_told_by_doctor_and_loses_nothing(recollect: Recollect, shop: Path) -> None:
    recollect("docs", "add", shop)
    assert [c["state"] for c in recollect("doctor", "--json").data["checks"] if c["id"] == "documents"] == ["ok"]
    shutil.rmtree(shop)
    refreshed = recollect("docs", "refresh")
    assert (refreshed.code, refreshed.err) == (3, "")
    assert refreshed.out.count("is not there, or empty") == 1
    assert "no document" not in refreshed.out
    synced = recollect("sync").out
    assert (synced.count("is not there, or empty"), "0 new, 0 changed" in synced) == (1, False)
    assert uids(recollect, "quagga") == ["document:shop/README.md"]
    (check,) = [c for c in recollect("doctor", "--json").data["checks"] if c["id"] == "documents"]
    assert (check["state"], "does not exist" in check["detail"]) == ("warn", True)
    assert "is missing since" in recollect("docs").out


def test_a_search_counts_what_it_finds_in_documents_as_hits(recollect: Recollect, shop: Path) -> None:
    recollect("docs", "add", shop)
    assert "\n1 of 1 hit · " in recollect("search", "zebra").out


def test_a_forgotten_document_is_gone_and_stays_out(recollect: Recollect, shop: Path, isolated_home: Path) -> None:
    recollect("docs", "add", shop)
    looked = recollect("forget", "--pattern", "quagga", "--dry-run", "--json").data
    done = recollect("forget", "--pattern", "quagga", "--yes", "--json")
    assert looked["files"] == done.data["files"] == [str(shop / "README.md")]
    assert done.code == 0, done
    assert uids(recollect, "quagga") == []
    (shop / "README.md").write_text("# Shop\n\nThe ibex, and the quagga again.\n")
    (report,) = recollect("docs", "refresh", "--json").data["reports"]
    assert (report["kept_out"], report["new"], report["unchanged"]) == (1, 0, 1)
    recollect("docs", "remove", "shop")
    assert recollect("docs", "add", shop, "--collection", "other", "--json").data["kept_out"] == 1
    assert uids(recollect, "ibex") == []
    left = [
        path for path in (isolated_home / "recollect").rglob("*") if path.is_file() and b"quagga" in path.read_bytes()
    ]
    assert left == []


def test_a_folder_that_cannot_be_read_is_refused_and_one_that_was_taken_loses_nothing(
    recollect: Recollect, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = os.scandir

    def refuse(path: Any) -> Any:
        if path == os.path.realpath(shop):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    with monkeypatch.context() as first:
        first.setattr(os, "scandir", refuse)
        refused = recollect("docs", "add", str(shop))
    assert (refused.code, refused.out, refused.err.strip()) == (
        3,
        "",
        f"recollect: cannot read {os.path.realpath(shop)}: Permission denied",
    )
    assert recollect("docs", "list", "--json").data["collections"] == []
    assert recollect("sync").code == 0
    assert recollect("docs", "add", str(shop)).code == 0
    with monkeypatch.context() as again:
        again.setattr(os, "scandir", refuse)
        refreshed = recollect("docs", "refresh").out
    assert "cannot be read (Permission denied); what was taken of it stays" in refreshed


def test_a_folder_without_documents_is_told(recollect: Recollect, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/main.py").write_text("x = 1\n")
    assert recollect("docs", "add", tmp_path / "code").code == 1
    (check,) = [c for c in recollect("doctor", "--json").data["checks"] if c["id"] == "documents"]
    assert (check["state"], "contains no document" in check["detail"]) == ("warn", True)


def test_the_shapes_are_those_of_their_schemas(recollect: Recollect, shop: Path) -> None:
    types = result_types()
    assert msgspec.json.decode(recollect("docs", "add", shop, "--json").out, type=types["docs-add"]).new == 2
    msgspec.json.decode(recollect("docs", "refresh", "--json").out, type=types["docs-refresh"])
    msgspec.json.decode(recollect("docs", "list", "--json").out, type=types["docs"])
    msgspec.json.decode(recollect("docs", "show", "shop", "--json").out, type=types["docs-show"])
    msgspec.json.decode(recollect("docs", "remove", "shop", "--json").out, type=types["docs-remove"])


def test_usage_is_told(recollect: Recollect, shop: Path) -> None:
    for argv in (("add",), ("list", "shop"), ("remove",), ("refresh", "--dry-run"), ("show", "--collection", "x")):
        assert recollect("docs", *argv).code == 2


def test_documents_outlive_a_rebuild_and_are_in_a_backup(recollect: Recollect, shop: Path, tmp_path: Path) -> None:
    recollect("docs", "add", shop)
    assert recollect("rebuild", "all").code == 0
    assert uids(recollect, "zebra") == ["document:shop/docs/guide.md"]
    assert recollect("backup", tmp_path / "backup").code == 0
    assert recollect("restore", tmp_path / "backup", "--home", tmp_path / "restored").code == 0
    with Memory.open(tmp_path / "restored") as memory:
        assert [view.documents for view in memory.documents.list()] == [2]


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_goes_on_where_it_was(recollect: Recollect, tmp_path: Path, number: int) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for each in range(500):
        (folder / f"{each:04}.md").write_text(f"# Page {each}\n\n" + "words and more of them\n" * 40)
    command = [sys.executable, "-m", "recollect", "docs", "add", str(folder), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not taken(folder):
            pass
        process.send_signal(number)
        process.communicate()
    ended = recollect("docs", "add", folder, "--json")
    assert ended.code == 0
    assert ended.data["new"] + ended.data["unchanged"] == 500
    assert len(set(uids(recollect, "kind:document page"))) > 0
    (view,) = recollect("docs", "list", "--json").data["collections"]
    assert view["documents"] == 500


def taken(folder: Path) -> int:
    """Return how many documents are there so far, as another process sees it."""
    from recollect.paths import home_dir
    from recollect.store.documents import DocumentStore

    if not (home_dir() / "memory.db").exists():
        return 0
    with DocumentStore(home_dir(), "read") as store:
        return sum(counts.taken for counts in store.counts().values())

"""Which repository a folder belongs to."""

from __future__ import annotations

from pathlib import Path

from recollect.recall.context.lines import folder_of
from recollect.store.context_rows import Folder


def test_a_folder_in_a_repository_belongs_to_its_top(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src" / "cart").mkdir(parents=True)
    found = folder_of(str(tmp_path / "shop" / "src" / "cart"), {"HOME": str(tmp_path)})
    assert found == Folder(str(tmp_path / "shop"), ("shop",), is_repository=True)


def test_a_worktree_belongs_to_the_repository_that_it_hangs_in(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git" / "worktrees" / "fix").mkdir(parents=True)
    tree = tmp_path / "shop-fix"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {tmp_path}/shop/.git/worktrees/fix\n")
    found = folder_of(str(tree), {"HOME": str(tmp_path)})
    assert found is not None
    assert found.path == str(tmp_path / "shop")


def test_a_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    part = tmp_path / "shop" / "vendor" / "money"
    part.mkdir(parents=True)
    (tmp_path / "shop" / ".git" / "modules" / "money").mkdir(parents=True)
    (part / ".git").write_text("gitdir: ../../.git/modules/money\n")
    found = folder_of(str(part), {"HOME": str(tmp_path)})
    assert found is not None
    assert found.path == str(part)


def test_a_repository_at_the_users_home_holds_nothing_but_the_home_itself(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "letters").mkdir()
    found = folder_of(str(tmp_path / "letters"), {"HOME": str(tmp_path)})
    assert found == Folder(str(tmp_path / "letters"), ("letters",), is_repository=False)


def test_a_place_that_cannot_be_is_none() -> None:
    assert folder_of("", {}) is None
    assert folder_of("/tmp/a\0b", {}) is None

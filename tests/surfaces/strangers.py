"""Agents of other people: small packages, installed as anybody would, and the program run beside them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.program import run_text

PACKAGES = Path(__file__).parent / "packages"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install every package of `packages` into one folder and return it."""
    target = tmp_path_factory.mktemp("installed")
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--no-compile", "--disable-pip-version-check")
    folders = sorted(str(path.parent) for path in PACKAGES.glob("*/pyproject.toml"))
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target", str(target), *folders], check=True
    )
    return target


def load(package: str, module: str) -> ModuleType:
    """Return a module of a package as it stands here, not installed."""
    spec = importlib.util.spec_from_file_location(module, PACKAGES / package / f"{module}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def program(
    *argv: str, beside: Path | None = None, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run `recollect` in a process of its own; beside: a folder of installed packages, which Python knows from its
    start."""
    env = {**os.environ, **variables}
    if beside is None:
        return run_text(*argv, env=env, cwd=cwd)
    env |= {"PYTHONPATH": str(beside), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-m", "recollect", *argv],
        env=env, cwd=cwd, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip

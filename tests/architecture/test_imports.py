"""The import contract holds, and each of its rules fails when it is broken."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RUN_LINTER = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"

PLANTED = {
    "direction": ("model/ids.py", "import recollect.store.ports"),
    "strangers": ("agents/codex/parse.py", "import recollect.agents.claude.parse"),
    "pure": ("model/ids.py", "import os"),
    "forgetful": ("recall/answers.py", "import recollect.agents.registry"),
    "thin": ("cli/main.py", "import recollect.store.ports"),
    "quick": ("hook/drops.py", "import msgspec"),
    "house-sqlite": ("recall/answers.py", "import apsw"),
    "house-index": ("recall/answers.py", "import tantivy"),
    "house-endpoints": ("recall/answers.py", "import httpx2"),
    "house-cli": ("recall/answers.py", "import rich"),
    "house-serve": ("recall/answers.py", "import starlette"),
    "house-otlp": ("recall/answers.py", "import opentelemetry.proto.trace.v1.trace_pb2"),
    "house-keyring": ("recall/answers.py", "import keyring"),
    "house-watching": ("capture/changes.py", "import watchfiles"),
    "house-pages": ("serve/loopback.py", "import jinja2"),
    "acyclic": ("model/ids.py", "import recollect.store.ports"),
}
"""By rule: a module and an import that the rule forbids."""

LATER = {
    "hook": {"quick": "source_modules"},
    "serve": {"house-serve": "allowed_importers"},
    "endpoints": {
        "forgetful": "source_modules",
        "thin": "protected_modules",
        "house-endpoints": "allowed_importers",
    },
    "distill": {"pure": "source_modules", "forgetful": "source_modules", "thin": "protected_modules"},
    "learn": {"forgetful": "source_modules", "thin": "protected_modules"},
    "notes": {"forgetful": "source_modules", "thin": "protected_modules"},
}
"""By package that does not exist yet: the rules (and their key) that must name it once it does.

quick: the hook imports only the standard library. house-…: an outside library has one house.
"""


def run_linter(repository: Path, source: Path) -> subprocess.CompletedProcess[str]:
    """Check the package below `source` against the repository's contract."""
    return subprocess.run(
        [sys.executable, "-c", RUN_LINTER],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": str(source), "PYTHONIOENCODING": "utf-8", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def contract(repository: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(repository / ".importlinter", "utf-8")
    return parser


def rules(repository: Path) -> set[str]:
    return {s.removeprefix("importlinter:contract:") for s in contract(repository).sections() if ":contract:" in s}


def test_the_package_keeps_the_contract(repository: Path) -> None:
    result = run_linter(repository, repository / "src")
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_rule_has_a_planted_violation(repository: Path) -> None:
    assert set(PLANTED) >= rules(repository)


@pytest.fixture(scope="module")
def told(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what the linter says of each broken contract, by its name, of a copy in which every rule is broken."""
    source = tmp_path_factory.mktemp("planted") / "src"
    shutil.copytree(repository / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    for module, statement in sorted(set(PLANTED.values())):
        planted = source / "recollect" / module
        planted.write_text(planted.read_text("utf-8") + f"\n{statement}\n", "utf-8")
    result = run_linter(repository, source)
    assert result.returncode == 1, result.stdout + result.stderr
    _, _, broken = result.stdout.partition("Broken contracts")
    parts = re.split(r"^(.+)\n-+\n", broken, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("rule", sorted(PLANTED))
def test_a_violation_is_caught(repository: Path, told: dict[str, str], rule: str) -> None:
    module, statement = PLANTED[rule]
    broken = told[contract(repository).get(f"importlinter:contract:{rule}", "name")]
    imported = statement.removeprefix("import ")
    importer = "recollect." + module.removesuffix(".py").replace("/", ".")
    inside = imported if imported.startswith("recollect.") else imported.partition(".")[0]
    if rule == "acyclic":  # it names packages
        importer, inside = ("." + name.split(".")[1] for name in (importer, imported))
    assert importer in broken
    assert inside in broken


@pytest.mark.parametrize("package", sorted(LATER))
def test_a_new_package_takes_its_place_in_the_rules(repository: Path, package: str) -> None:
    source = repository / "src" / "recollect" / package
    if not source.is_dir() and not source.with_suffix(".py").is_file():
        return
    written = contract(repository)
    for rule, key in LATER[package].items():
        modules = written.get(f"importlinter:contract:{rule}", key, fallback="").split()
        assert f"recollect.{package}" in modules, f"{rule} must name recollect.{package}"

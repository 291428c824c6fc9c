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
    "direction": ("model/ids.py", "import recollect.store.rows"),
    "strangers": ("agents/codex/parse.py", "import recollect.agents.claude.parse"),
    "pure": ("model/ids.py", "import os"),
    "apart": ("insights/notes/facts.py", "import recollect.insights.learnings.safety"),
    "forgetful": ("recall/answers.py", "import recollect.agents.registry"),
    "thin": ("cli/main.py", "import recollect.store.rows"),
    "quick": ("hook/event_file.py", "import msgspec"),
    "house-sqlite": ("recall/answers.py", "import apsw"),
    "house-index": ("recall/answers.py", "import tantivy"),
    "house-onnx": ("index/vectors/embedders.py", "import onnxruntime"),
    "house-endpoints": ("recall/answers.py", "import httpx2"),
    "house-cli": ("recall/answers.py", "import rich"),
    "house-plots": ("cli/render/retro_page.py", "import matplotlib"),
    "house-tui": ("cli/render/sessions.py", "import textual"),
    "house-serve": ("recall/answers.py", "import starlette"),
    "house-otlp": ("recall/answers.py", "import opentelemetry.proto.trace.v1.trace_pb2"),
    "house-keyring": ("recall/answers.py", "import keyring"),
    "house-watching": ("capture/changes.py", "import watchfiles"),
    "house-postgres": ("memory/team.py", "import psycopg"),
    "house-dask": ("memory/team.py", "import distributed"),
    "house-pages": ("serve/loopback.py", "import jinja2"),
    "acyclic": ("privacy/findings.py", "import recollect.privacy.matcher"),
}
"""By rule: a module and an import that the rule forbids."""


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
    if rule == "acyclic":  # it names modules without their package
        importer, inside = ("." + name.rpartition(".")[2] for name in (importer, imported))
    assert importer in broken
    assert inside in broken


def packages(repository: Path, *, above: str, below: str) -> set[str]:
    """Return the packages of the layers between two, as the contract draws them: the surfaces first."""
    layers = contract(repository).get("importlinter:contract:direction", "layers").split("\n")
    first, last = (next(i for i, layer in enumerate(layers) if name in layer.split()) for name in (above, below))
    return {f"recollect.{name}" for layer in layers[first + 1 : last] for name in re.findall(r"\w+", layer)}


def test_no_package_of_the_engine_is_open_to_the_surfaces(repository: Path) -> None:
    engine = packages(repository, above="memory", below="agents")
    assert set(contract(repository).get("importlinter:contract:thin", "protected_modules").split()) == engine


def test_the_hook_may_import_nothing_above_the_foundations(repository: Path) -> None:
    forbidden = contract(repository).get("importlinter:contract:quick", "forbidden_modules").split()
    engine = packages(repository, above="testing", below="ready_blocks")
    assert engine - {"recollect.hook"} <= set(forbidden)

"""Requirements and tests fit together: no promise without a proof or a reason, no proof that is not there."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.promises.requirements import REQUIREMENTS, Requirement

TESTS = Path(__file__).resolve().parent.parent
PROMISES = ("lossless", "deterministic", "crash_safe", "out_of_the_way", "bounded", "private", "honest")


@cache
def functions_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.startswith("test_"))


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.id)
def test_a_requirement_has_proofs_that_exist_or_a_reason(requirement: Requirement) -> None:
    assert bool(requirement.proofs) != bool(requirement.deferred)
    for proof in requirement.proofs:
        file, _, function = proof.partition("::")
        assert function in functions_of(TESTS / file), proof


def test_every_promise_has_requirements_and_every_id_is_its_own() -> None:
    ids = [r.id for r in REQUIREMENTS]
    assert len(set(ids)) == len(ids)
    assert {i.partition(".")[0] for i in ids} == set(PROMISES)


def test_every_test_of_a_promise_proves_a_requirement() -> None:
    proofs = {proof for r in REQUIREMENTS for proof in r.proofs}
    here = {
        f"promises/{path.name}::{name}"
        for path in Path(__file__).parent.glob("test_*.py")
        if path.name != Path(__file__).name
        for name in functions_of(path)
    }
    assert here - proofs == set()

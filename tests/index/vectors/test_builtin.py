"""The embedding in the package is whole, comes with its licence, and tells what is near in meaning."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import EmbeddingUnavailable
from recollect.index.vectors.builtin import FOLDER, BuiltinEmbedder

NAMES = ("made_from.json", "scales.npy", "vectors.npy", "vocabulary.txt")


def written_hashes(folder: Path) -> dict[str, str]:
    lines = (folder / "SHA256SUMS").read_text("utf-8").splitlines()
    return {name: sha256 for sha256, name in (line.split() for line in lines)}


def test_the_files_are_those_that_were_built() -> None:
    found = {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in NAMES}
    assert written_hashes(FOLDER) == found


def test_it_says_what_it_was_made_from() -> None:
    made_from = json.loads((FOLDER / "made_from.json").read_bytes())
    assert made_from["teacher"] == "all-MiniLM-L6-v2"
    assert "Apache License" in (FOLDER / "LICENSE").read_text("utf-8")
    assert "all-MiniLM-L6-v2" in (FOLDER / "NOTICE").read_text("utf-8")


def test_the_wheel_includes_it(repository: Path, tmp_path: Path) -> None:
    build = (
        "import sys; from hatchling.builders.wheel import WheelBuilder\n"
        "print(*WheelBuilder(sys.argv[1]).build(directory=sys.argv[2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", build, str(repository), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        inside = {
            name: hashlib.sha256(wheel.read(f"recollect/index/vectors/static/{name}")).hexdigest() for name in NAMES
        }
        held = set(wheel.namelist())
    assert inside == written_hashes(FOLDER)
    assert {f"recollect/index/vectors/static/{name}" for name in ("LICENSE", "NOTICE", "README.md")} <= held


def test_vectors_are_of_unit_length_and_an_empty_text_has_none() -> None:
    vectors = BuiltinEmbedder().embed(["the build failed", "", "\u0000\u200b", "x" * 5000])
    assert vectors.shape == (4, 256)
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([1, 0, 0, 0])


def test_a_paraphrase_is_nearer_than_another_subject() -> None:
    question, same, other = BuiltinEmbedder().embed(
        [
            "How do we keep passwords safe?",
            "Credentials are hashed before they are stored, and the secret never leaves the vault.",
            "The chart's legend overlaps the axis labels on small screens.",
        ]
    )
    assert question @ same > question @ other + 0.2


def test_vectors_do_not_depend_on_the_company_of_a_text() -> None:
    texts = [f"message {number} about the parser" for number in range(200)]
    embedder = BuiltinEmbedder()
    together = embedder.embed(texts)
    assert np.array_equal(together[137], BuiltinEmbedder().embed([texts[137]])[0])


def test_a_missing_file_is_said() -> None:
    with pytest.raises(EmbeddingUnavailable, match="cannot be read"):
        BuiltinEmbedder(Path("nowhere"))


@pytest.mark.parametrize("name", ["vectors.npy", "scales.npy", "vocabulary.txt"])
def test_a_damaged_file_is_said_when_it_is_needed(tmp_path: Path, name: str) -> None:
    copy = tmp_path / "static"
    shutil.copytree(FOLDER, copy)
    data = (copy / name).read_bytes()
    (copy / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(EmbeddingUnavailable):
        BuiltinEmbedder(copy).embed(["hello"])

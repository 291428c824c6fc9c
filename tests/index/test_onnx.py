"""What runs the contextual model says nothing to anybody."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")

LOAD = """
import os, pathlib
from recollect.index.vectors.onnx import open_session
try:
    open_session(pathlib.Path("no-such.onnx"))
except Exception as error:
    print(type(error).__name__, os.environ["ORT_DISABLE_TELEMETRY"])
"""


def test_loading_the_runtime_reports_nothing_and_leaves_no_id_of_the_machine(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", LOAD], env={"HOME": str(tmp_path)}, cwd=tmp_path, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["NoSuchFile", "1"]
    assert list(tmp_path.rglob("*")) == []

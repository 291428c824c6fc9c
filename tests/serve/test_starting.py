"""Nothing of the web is loaded by those who don't serve."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOOK = """
import sys
from recollect.cli.main import run
run({argv})
heavy = ("starlette", "uvicorn", "google.protobuf", "opentelemetry")
sys.exit(", ".join(name for name in heavy if name in sys.modules) or 0)
"""


@pytest.mark.parametrize("argv", [["--help"], ["otlp", "--help"], ["sync"], ["doctor"]], ids=" ".join)
def test_other_verbs_load_no_server_and_no_protobuf(argv: list[str]):
    done = subprocess.run([sys.executable, "-c", LOOK.format(argv=argv)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")

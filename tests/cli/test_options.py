"""What people may write as the name of a file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("verb", ["parse", "replay", "verify", "redact", "watch", "import", "backup", "restore"])
def test_an_empty_name_is_not_the_working_directory(verb: str, tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "RECOLLECT_HOME": str(tmp_path / "memory")}
    command = [sys.executable, "-m", "recollect", verb, ""]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "the file name is empty" in done.stderr
    assert not (tmp_path / "memory").exists()

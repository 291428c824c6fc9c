"""Kept outputs: a test compares with them, `make goldens` rewrites them, and the difference is reviewed as code."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def is_golden(name: str, content: str) -> bool:
    """Tell whether `content` is what is kept as `name`; with RECOLLECT_UPDATE_GOLDENS it is kept from now on."""
    path = FOLDER / name
    if os.environ.get("RECOLLECT_UPDATE_GOLDENS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8", newline="\n")
    return path.is_file() and path.read_text("utf-8") == content

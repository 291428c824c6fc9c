"""Where the shared material, the generated transcripts and the measured memories are; the options every script has."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]


class Places(NamedTuple):
    """shared: generator, real transcripts, questions (may be missing). cache: everything made here; can be deleted."""

    shared: Path
    cache: Path

    @property
    def generator(self) -> Path:
        """The script that writes transcripts."""
        return self.shared / "bench" / "gen_corpus.py"

    @property
    def real_corpus(self) -> Path:
        """The folder of real transcripts."""
        return self.shared / "corpus"

    def home(self, name: str) -> Path:
        """The home of a measured memory."""
        return self.cache / "homes" / name


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options of every script."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument(
        "--shared",
        type=Path,
        default=Path(os.environ.get("RECOLLECT_SHARED", REPOSITORY.parent / "shared")),
        help="folder with bench/ and corpus/ (default: RECOLLECT_SHARED, else ../shared)",
    )
    made.add_argument(
        "--cache",
        type=Path,
        default=Path(os.environ.get("RECOLLECT_BENCH_CACHE", REPOSITORY / ".benchmarks")),
        help="generated transcripts and measured memories (default: RECOLLECT_BENCH_CACHE, else .benchmarks)",
    )
    made.add_argument(
        "--corpus",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="use these generated transcripts (a folder with claude/, codex/ and manifest.json; repeatable)",
    )
    made.add_argument("--dry", action="store_true", help="print the figures, write no results")
    return made


def places(options: argparse.Namespace) -> Places:
    """Return the places, and keep this process and its children away from the user's own agents and memory."""
    cache: Path = options.cache.resolve()
    nobody = cache / "nobody"
    nobody.mkdir(parents=True, exist_ok=True)
    for variable in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        os.environ[variable] = str(nobody)
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "RECOLLECT_HOME"):
        os.environ[variable] = str(nobody / variable.lower())
    for variable, folder in (("CLAUDE_CONFIG_DIR", "claude"), ("CODEX_HOME", "codex")):
        os.environ[variable] = str(nobody / folder)
    return Places(options.shared.resolve(), cache)


def load_script(path: Path) -> ModuleType:
    """Import a script of the shared material by its path. Raises FileNotFoundError."""
    if not path.is_file():
        raise FileNotFoundError(f"no {path}; name the folder with --shared")
    if path.stem in sys.modules:
        return sys.modules[path.stem]
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # the scripts import each other by name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module

"""Write `requirements/*.txt`: every dependency with version and hashes, for all platforms and Python 3.11 and newer.

The versions in the present lock files are kept unless `--upgrade` is given. The files name no index and no host:
where packages come from is the business of whoever installs them; the hashes say that they are the right ones.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements"
OLDEST_PYTHON = "3.11"
FORBIDDEN = ("://", "file:", "--index", "--extra-index", "--find-links", "@ /")

LOCKS: dict[str, tuple[str, list[str]]] = {
    "runtime": ("what a running Recollect needs", ["pyproject.toml"]),
    "models": ("what the contextual model needs, on top of runtime.txt", ["-"]),
    "team": ("what a team's server needs, on top of runtime.txt", ["-"]),
    "build": ("what building the package needs", ["--group", "build"]),
    "dev": ("what `make check` needs, on top of runtime.txt and build.txt", ["--group", "dev"]),
}


def resolve(name: str, *, uv: Path, upgrade: bool) -> str:
    """Return the text of one lock file, resolved for every platform. Raises CalledProcessError."""
    purpose, inputs = LOCKS[name]
    # Versions in the files written before this one hold here too, so that the three never disagree.
    held = [f"--constraint={REQUIREMENTS / f'{other}.txt'}" for other in list(LOCKS)[: list(LOCKS).index(name)]]
    target = REQUIREMENTS / f"{name}.txt"
    command = [
        str(uv), "pip", "compile", "--quiet", "--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes",
        "--no-header", "--no-annotate", "--output-file", str(target), *held, *inputs,
    ]  # fmt: skip
    if upgrade:
        command.append("--upgrade")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    given = "\n".join(project["optional-dependencies"].get(name, ()))  # read where an input is "-"
    subprocess.run(command, cwd=ROOT, check=True, input=given, encoding="utf-8")
    body = target.read_text("utf-8")
    return f"# {name}: {purpose}. Written by `make lock`; don't edit.\n{body}"


def main() -> int:
    """Write the files; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--uv", type=Path, required=True, help="folder of a virtual environment that has uv")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows")
    args = parser.parse_args()
    scripts = "Scripts" if sys.platform == "win32" else "bin"
    REQUIREMENTS.mkdir(exist_ok=True)
    for name in LOCKS:
        text = resolve(name, uv=args.uv / scripts / "uv", upgrade=args.upgrade)
        found = [word for word in FORBIDDEN if word in text]
        if found:
            print(f"requirements/{name}.txt would name a place: {', '.join(found)}", file=sys.stderr)
            return 1
        (REQUIREMENTS / f"{name}.txt").write_text(text, "utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

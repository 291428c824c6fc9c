"""Build the documentation as a site of plain files, without network: `make site` → `build/site/index.html`.

The pages lie in `docs/` as people read them on a code host: `README.md` there is the list of all, and each folder is
a kind of page. This copies them, adds the table of contents that Sphinx needs, and lets Sphinx check them: a broken
link or a heading that is missing ends the build with the page's name.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md", "benchmarks/results.md")
"""Pages outside of `docs/` that stand under "Development" on the site."""
PARTS = {
    "Tutorial": ("tutorial",),
    "How to": ("how-to",),
    "Explanation": ("explanation",),
    "Reference": (".", "reference"),
    "Development": ("development", "development/decisions"),
}
CONF = """\
project = "Recollect"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Recollect"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]
"""
_LINK = re.compile(r"\[([^\]\n]*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def build(out: Path, repository: Path = ROOT) -> int:
    """Build the site of a repository into a folder; return Sphinx's exit code, which is not 0 where a page is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        stage(repository, Path(folder) / "pages")
        command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--jobs", "auto"]
        return subprocess.run([*command, f"{folder}/pages", str(out)], check=False).returncode


def stage(repository: Path, folder: Path) -> None:
    """Copy the pages to a folder as Sphinx takes them, with its configuration."""
    docs = repository / "docs"
    staged = {page: folder / page.relative_to(docs) for page in docs.rglob("*.md") if _is_page(page)}
    staged[docs / "README.md"] = folder / "index.md"
    for name in filter(lambda name: (repository / name).exists(), BESIDE):
        staged[repository / name] = folder / "development" / name.lower().replace("/", "-")
    for page, copy in staged.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(_with_links(page, copy, staged), "utf-8")
    shutil.copytree(docs / "images", folder / "images")
    with (folder / "index.md").open("a", encoding="utf-8") as index:
        index.writelines(_contents(folder, title, folders) for title, folders in PARTS.items())
    (folder / "conf.py").write_text(CONF, "utf-8")


def _is_page(path: Path) -> bool:
    return "template-agent" not in path.parts and path.name != "template.md"


def _with_links(page: Path, copy: Path, staged: dict[Path, Path]) -> str:
    """Return a page with links to where pages lie on the site.

    A file that is no page is named without a link. A file that does not exist stays a link, which Sphinx refuses.
    """

    def led(match: re.Match[str]) -> str:
        words, place, heading = match[1], match[2], match[3] or ""
        target = (page.parent / place).resolve()
        if target not in staged:
            return match[0] if target.suffix == ".png" or not target.exists() else words
        return f"[{words}]({Path(os.path.relpath(staged[target], copy.parent)).as_posix()}{heading})"

    return _LINK.sub(led, page.read_text("utf-8"))


def _contents(folder: Path, title: str, folders: tuple[str, ...]) -> str:
    """Return a part of the table of contents, its pages in the order in which the list of pages names them."""
    order = [match[2] for match in _LINK.finditer((folder / "index.md").read_text("utf-8"))]
    found = (page.relative_to(folder).as_posix() for name in folders for page in sorted((folder / name).glob("*.md")))
    pages = sorted(found, key=lambda page: order.index(page) if page in order else len(order))
    listed = "\n".join(page.removesuffix(".md") for page in pages if page != "index.md")
    return f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{listed}\n```\n"


def main() -> int:
    """Build, and say where the site is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="folder of the site (build/site)")
    out = parser.parse_args().out
    code = build(out)
    if code == 0:
        print(f"{out / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())

"""Build the documentation as a site of plain files, without network: `make site` → `build/site/index.html`.

The pages lie in `docs/` as people read them on a code host: `README.md` there is the list of all, and each folder is
a kind of page. This copies them and each file that they link to, adds the table of contents that Sphinx needs, and lets
Sphinx check them: a broken link or a heading that is missing ends the build with the page's name.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md", "benchmarks/results.md")
"""Pages outside of `docs/` that stand under "Development" on the site."""
PARTS = {
    "Tutorial": ("tutorial",),
    "How to": ("how-to",),
    "Explanation": ("explanation",),
    "Reference": (".", "reference"),
    "Development": ("development",),
}
DECISIONS = "development/decisions"
"""The records of decisions are listed below the page about them."""
FILES = "files"
"""Files that pages link to and that are no pages, such as code."""
UNSEARCHED = (DECISIONS, FILES, "development/benchmarks-results", "development/changelog")
"""Left out of the search, which is for users."""
CONF = """\
import gc
import os

gc.set_threshold(200_000)  # to look for garbage more often is an eighth of the time

project = "Recollect"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Recollect {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_search_scorer = os.path.join(os.path.dirname(__file__), "scorer.js")
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = False
myst_heading_anchors = 4
smartquotes = False
suppress_warnings = ["misc.highlighting_failure"]
"""
STYLE = """\
.content { width: min(68em, 100%); }
div.highlight pre { font-size: 0.74rem; white-space: pre-wrap; overflow-wrap: anywhere; }
td:first-child code { white-space: nowrap; }
.gp, button.copy { user-select: none; }
div.highlight { position: relative; }
button.copy { position: absolute; top: 0.4em; right: 0.4em; font-size: 0.7rem; cursor: pointer; opacity: 0; }
div.highlight:hover button.copy, button.copy:focus-visible { opacity: 1; }
"""
"""A line of 120 characters of code fits a wide window; elsewhere it goes on below. Options stay in one piece."""
COPY = """\
const copied = (block) => {
  const text = block.querySelector("pre").cloneNode(true);
  if (!block.closest(".highlight-console, .highlight-sh")) return text.textContent;
  text.querySelectorAll(".c1").forEach((comment) => comment.remove());
  const lines = text.textContent.split("\\n").map((line) => line.trimEnd()).filter(Boolean);
  const typed = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
  return (typed.length ? typed : lines).join("\\n");
};
document.querySelectorAll("div.highlight").forEach((block) => {
  const button = document.createElement("button");
  button.className = "copy";
  button.textContent = "Copy";
  button.onclick = () => navigator.clipboard.writeText(copied(block)).then(() => { button.textContent = "Copied"; });
  block.onmouseleave = () => { button.textContent = "Copy"; };
  block.append(button);
});
"""
"""Commands are copied without prompt, output and comments: the shell of a Mac takes a comment for arguments."""
SCORER = """\
var Scorer = {
  score: ([docname, , , , score, , kind]) =>
    score * (kind === "title" ? 3 : 1) * (/^(how-to|tutorial)/.test(docname) ? 1.2 : /^dev/.test(docname) ? 0.5 : 1),
  objNameMatch: 11, objPartialMatch: 6, objPrio: {}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
"""
"""What a heading says in full comes first, then pages of tasks, and pages for developers last. The other numbers are
Sphinx's own."""
_SCHEMES = re.compile(r"^!\[([^\]\n]*)\]\((\S+)-light\.png\)$", re.M)
"""A picture of which another, in dark colours, lies beside it."""
SCHEMES = "".join(
    f"```{{image}} \\2-{scheme}.png\n:alt: \\1\n:class: only-{scheme}\n```\n" for scheme in ("light", "dark")
)
_LINK = re.compile(r"\[([^\]\n]*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def build(out: Path, repository: Path = ROOT) -> int:
    """Build the site of a repository into a folder; return Sphinx's exit code, which is not 0 where a page is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        stage(repository, Path(folder) / "pages")
        command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
        command += ["--doctree-dir", f"{folder}/doctrees", f"{folder}/pages", str(out)]
        return subprocess.run(command, check=False).returncode


def stage(repository: Path, folder: Path) -> None:
    """Copy the pages to a folder as Sphinx takes them, with its configuration."""
    docs = repository / "docs"
    staged = {page: folder / page.relative_to(docs) for page in docs.rglob("*.md") if _is_page(page)}
    staged[docs / "README.md"] = folder / "index.md"
    for name in filter(lambda name: (repository / name).exists(), BESIDE):
        staged[repository / name] = folder / "development" / name.lower().replace("/", "-")
    pages = list(staged)
    for page in pages:
        copy = staged[page]
        text = _with_links(page, repository, staged, folder)
        pages += list(staged)[len(pages) :]  # what this one links to
        copy.parent.mkdir(parents=True, exist_ok=True)
        head = "---\nnosearch: true\norphan: true\n---\n\n"
        is_listed = not copy.relative_to(folder).as_posix().startswith(UNSEARCHED)
        copy.write_text(text if is_listed else head + text, "utf-8")
    shutil.copytree(docs / "images", folder / "images")
    with (folder / "index.md").open("a", encoding="utf-8") as index:
        index.writelines(_contents(folder, title, folders) for title, folders in PARTS.items())
    if records := [page.stem for page in sorted((folder / DECISIONS).glob("0*.md"))]:
        with (folder / DECISIONS / "README.md").open("a", encoding="utf-8") as index:
            index.write(_toctree("", records))
    (folder / "static").mkdir()
    (folder / "static" / "site.css").write_text(STYLE, "utf-8")
    (folder / "static" / "copy.js").write_text(COPY, "utf-8")
    (folder / "scorer.js").write_text(SCORER, "utf-8")
    (folder / "conf.py").write_text(CONF.format(version=version("recollect")), "utf-8")


def _is_page(path: Path) -> bool:
    return "template-agent" not in path.parts and path.name != "template.md"


def _text(path: Path, name: str) -> str:
    """Return a file as a page. A folder lists its files."""
    if path.is_dir():
        found = (file.relative_to(path.parent).as_posix() for file in path.rglob("*.*") if file.is_file())
        files = sorted(file for file in found if "__" not in file)
        return "\n".join((f"# {name}\n", *(f"- [{file}]({file})" for file in files), ""))
    text = path.read_text("utf-8")
    return text if path.suffix == ".md" else f"# {name}\n\n~~~~~~{path.suffix[1:] or 'text'}\n{text}~~~~~~\n"


def _with_links(page: Path, repository: Path, staged: dict[Path, Path], root: Path) -> str:
    """Return a page with links to where files lie on the site, and stage those that are new.

    A file that does not exist stays a link, which Sphinx refuses.
    """

    def led(match: re.Match[str]) -> str:
        words, place, heading = match[1], match[2], match[3] or ""
        target = (page.parent / place).resolve()
        if target.suffix == ".png" or not target.exists():
            return match[0]
        name = target.relative_to(repository).as_posix()
        there = staged.setdefault(target, root / FILES / f"{name.removesuffix('.md')}.md")
        return f"[{words}]({Path(os.path.relpath(there, staged[page].parent)).as_posix()}{heading})"

    text = _text(page, page.relative_to(repository).as_posix())
    if page.suffix != ".md" and not page.is_dir():
        return text
    return _LINK.sub(led, _SCHEMES.sub(SCHEMES, text))


def _contents(folder: Path, title: str, folders: tuple[str, ...]) -> str:
    """Return a part of the table of contents, its pages in the order in which the list of pages names them."""
    order = [match[2] for match in _LINK.finditer((folder / "index.md").read_text("utf-8"))]
    found = (page.relative_to(folder).as_posix() for name in folders for page in sorted((folder / name).glob("*.md")))
    pages = sorted(found, key=lambda page: order.index(page) if page in order else len(order))
    listed = [page.removesuffix(".md") for page in pages if page != "index.md"]
    if "development" in folders and (folder / DECISIONS).is_dir():
        listed.append(f"{DECISIONS}/README")
    return _toctree(title, listed)


def _toctree(title: str, pages: Sequence[str]) -> str:
    caption = f":caption: {title}\n" if title else ""
    return "\n".join(("", "```{toctree}", f":hidden:\n{caption}", *pages, "```", ""))


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

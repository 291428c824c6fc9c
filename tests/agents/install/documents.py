"""Generators of settings files as people write them: any layout, comments, odd indentation, both line ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from recollect.agents.install.values import AppendItem, Edit, SetKey

KEYS = ("hooks", "mcpServers", "other", "Stop", "a b", 'q"uote', "é", "recollect")
keys = st.sampled_from(KEYS)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x7f\x85\u2028\u2029"), max_size=8)
scalars = st.booleans() | st.integers(-(10**6), 10**6) | texts | st.sampled_from((1.5, -0.25, "// no comment", "a: b"))
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=12
)
tables: st.SearchStrategy[dict[str, Any]] = st.dictionaries(keys, values, max_size=4)
ours = st.fixed_dictionaries(
    {
        "command": st.sampled_from(("/opt/recollect/bin/recollect", "C:\\Tools\\recollect.exe")),
        "args": st.just(["mcp"]),
    },
    optional={"env": st.just({"RECOLLECT_HOME": "/srv/memory"}), "timeout": st.just(5)},
)
paths = st.lists(keys, min_size=1, max_size=3).map(tuple)


@st.composite
def edits(draw: st.DrawFn) -> Edit:
    path = draw(paths)
    if draw(st.booleans()):
        return AppendItem(path, {"hooks": [draw(ours)]} if draw(st.booleans()) else draw(ours))
    overwrites = draw(st.booleans())
    return SetKey((*path, "ours"), draw(ours) if not overwrites else draw(st.booleans()), overwrites)


@st.composite
def json_texts(draw: st.DrawFn, *, comments: bool) -> str:
    """Return a document in a layout of its own: gaps between any two tokens, and a comma at the end where allowed."""
    newline = draw(st.sampled_from(("\n", "\r\n")))
    gaps = ["", " ", newline, newline + "  ", newline + "\t", f"  {newline}    "]
    if comments:
        gaps += [
            f" // note, {{[{newline}  ",
            "/* , */",
            f"/* two{newline}lines */",
            f"{newline}  // own line{newline}  ",
        ]
    gap: Callable[[], str] = lambda: draw(st.sampled_from(gaps))  # noqa: E731 (a draw with a short name)

    def write(value: Any) -> str:
        if isinstance(value, dict):
            inner = [f"{json.dumps(k)}{gap()}:{gap()}{write(v)}" for k, v in value.items()]
        elif isinstance(value, list):
            inner = [write(v) for v in value]
        else:
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        ends = "," if comments and inner and draw(st.booleans()) else ""
        body = ",".join(f"{gap()}{text}{gap()}" for text in inner)
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return f"{opening}{body}{ends}{gap()}{closing}"

    bom = draw(st.sampled_from(("", "\ufeff")))
    if draw(st.booleans()):
        laid = json.dumps(draw(tables), indent=draw(st.sampled_from((2, 3, 4, "\t"))), ensure_ascii=False)
        return bom + laid.replace("\n", newline) + draw(st.sampled_from(("", newline)))
    return f"{bom}{gap()}{write(draw(tables))}{gap()}"


TOML_PARTS = (
    '# settings, mine\nmodel = "gpt-5"  # the big one\n\n',
    'approval = "never"\nroots = [\n  "/a", # first\n  "/b",\n]\n',
    "[features]\nweb = true\nmemories = true # on\n\n",
    '[mcp_servers.docs]\ncommand = "npx"\nargs = ["-y", "docs"]\n[mcp_servers.docs.env]\nKEY = "v"\n',
    '[[hooks]]\nevent = "Stop"\ncommand = "say done"\n',
    "[ projects . '/work/a.b' ]\ntrust_level   =   'trusted'\n",
    'text = """\n[mcp_servers.recollect]\nnot a table\n"""\n',
)
YAML_PARTS = (
    "# my settings\nGOOSE_MODE: smart_approve # careful\n",
    "extensions:\n  # built in\n  developer:\n    enabled: true\n    name: developer\n    type: builtin\n",
    "prompt: |\n  extensions:\n    not a key\n\n  end\n",
    "hooks:\n    Stop:\n    - command: say done\n      timeout: 5\n",
    "empty:\nflow: {a: 1, b: [x, y]}\nlist:\n- 1\n-   two: 2\n    three: 'x'\n",
    "provider: &p openai\nagain: *p\nlong: >-\n  folded\n  text\n",
)


def joined(parts: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Return documents of some of the parts in any order, in either line end, with or without the last newline."""

    @st.composite
    def documents(draw: st.DrawFn) -> str:
        chosen = draw(st.lists(st.sampled_from(parts), unique=True))
        text = draw(st.sampled_from(("", "\n"))).join(chosen)
        if draw(st.booleans()):
            text = text.removesuffix("\n")
        return text.replace("\n", "\r\n") if draw(st.booleans()) else text

    return documents()

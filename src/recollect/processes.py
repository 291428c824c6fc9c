"""How Recollect starts its own processes: isolated, so that nothing in the working directory runs.

An agent's working directory is a repository that somebody else may have written. `python -m` imports from it first
unless it is told otherwise, and `PYTHONPATH` may point into it. Standard library only, because the hook uses this.
"""

from __future__ import annotations

import os
import sys


def own_command(*arguments: str, module: str = "recollect", python: str = "") -> tuple[str, ...]:
    """Return the command that runs one of our modules with these arguments. python: by default this interpreter."""
    return (python or sys.executable, *_isolation(), "-m", module, *arguments)


def _isolation() -> tuple[str, ...]:
    """Return `-I`, or what comes nearest where that would hide Recollect itself: it is installed with `pip --user`."""
    import site

    own = site.getusersitepackages()
    return ("-E", "-P") if os.path.abspath(__file__).startswith(os.path.join(own, "")) else ("-I",)

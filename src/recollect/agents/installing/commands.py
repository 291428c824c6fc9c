"""The commands that agents run at their events, as pure functions of where the program is.

A command holds no version: Codex trusts a hook by the hash of its definition, so a command that changed with every
release would be locked again with every release. Every command ends with exit code 0 whatever happens (Claude Code and
others read 2 as "block and erase the prompt"), and prints nothing but an answer where the event has one.
"""

from __future__ import annotations

import shlex
from typing import Literal, NamedTuple

from recollect.processes import own_command
from recollect.wire import (
    HOST_VARIABLES,
    INTERNAL_VARIABLE,
    LOST_SUFFIX,
    MAX_EVENT_BYTES,
    PARTIAL_FOLDER,
    WHOLE_SUFFIX,
)

AnswerEvent = Literal["start", "compact", "prompt", "flush", "end"]
ANSWER_EVENTS: tuple[AnswerEvent, ...] = ("start", "compact", "prompt", "flush", "end")
"""start: a session begins or goes on. compact: it goes on after a compaction. prompt: the user said something.
flush: a compaction is about to begin. end: it is over. There is nothing to answer then: the daemon is told, or a sync
is started apart, so that what was said is there when it is asked for."""

_BLOCK_BYTES = 512
"""What POSIX counts `ulimit -f` in."""
_BOOT_RANDOM = "/proc/sys/kernel/random/uuid"
"""Where Linux has random names for whoever reads a line. Elsewhere process numbers must do: they are one namespace."""


class Program(NamedTuple):
    """Where the program is: absolute paths, because an agent started from a desktop has not the shell's PATH.

    recollect: the console script. python: the interpreter that it runs on. hook: the file of the hook process,
    `recollect/hook/__main__.py`. spool: the folder `spool` in the memory's home.
    """

    recollect: str
    python: str
    hook: str
    spool: str

    @property
    def command(self) -> tuple[str, ...]:
        """What agents and service managers start: the module, isolated. The script would obey `PYTHONPATH`."""
        return own_command(python=self.python)


def spool_line(program: Program, agent: str) -> str:
    """Return one line for a POSIX shell that keeps what it reads until the next sync. For events that need no answer.

    It starts two programs, `cat` and `mv`; all else is built into the shell. The payload goes to a new file in
    `spool/tmp`, mode 0600, and is renamed into `spool` once it is whole: `<agent>.<host>.<process>[.<random>].json`.
    When that fails (no room, too large, no input) an empty file that ends in `.lost` is left, so that the loss is
    counted, and the rest of the input is read, so that the agent's pipe does not break. The memory's home itself is
    never made: where it is gone, or within a program that Recollect runs, nothing is kept.
    """
    host = "".join(f"h=${{h:-${{{variable}:+{slug}}}}};" for variable, slug in HOST_VARIABLES)
    partial, whole = f"$d/{PARTIAL_FOLDER}/$n", f"$d/$n{WHOLE_SUFFIX}"
    keep = (
        # A failed redirection of a special builtin would end the shell, hence the subshells.
        f"(trap '' XFSZ;ulimit -f {MAX_EVENT_BYTES // _BLOCK_BYTES};exec cat)>{partial}"
        f"&&mv {partial} {whole}||{{ rm -f {partial};(: >$d/$n{LOST_SUFFIX});cat;}}"
    )
    return (
        f"d={shlex.quote(program.spool)};h=;{host}n={agent}.${{h:-{agent}}}.$$;umask 077;set -Cf;IFS=;"
        f'{{ if [ "${INTERNAL_VARIABLE}" ];then cat;else read -r u<{_BOOT_RANDOM}&&n=$n.$u;'
        f"[ -d $d/{PARTIAL_FOLDER} ]||mkdir $d $d/{PARTIAL_FOLDER};"
        f"while [ -e {whole} ]||[ -e {partial} ];do n=$n+;done;"
        f"{keep};fi;}}>/dev/null 2>&1;exit 0"
    )


def spool_command(program: Program, agent: str) -> tuple[str, ...]:
    """Return the command that does what `spool_line` does without a shell (Windows, and agents that run no shell)."""
    return (program.python, "-I", "-S", program.hook, agent, "spool", program.spool)


def answer_command(program: Program, agent: str, event: AnswerEvent) -> tuple[str, ...]:
    """Return the command for an event that has an answer. It keeps the payload too: one hook an event is enough."""
    return (program.python, "-I", "-S", program.hook, agent, event, program.spool)

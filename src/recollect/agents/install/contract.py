"""The contract of a set-up: what an agent declares, the commands it runs, and the list of supported agents."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from recollect.agent_names import HOST_VARIABLES
from recollect.agents.install.values import Edit, Format
from recollect.processes import own_command
from recollect.wire import INTERNAL_VARIABLE, LOST_SUFFIX, MAX_EVENT_BYTES, PARTIAL_FOLDER, WHOLE_SUFFIX

# The commands that agents run at their events, as pure functions of where the program is.
#
# A command holds no version: Codex trusts a hook by the hash of its definition, so a command that changed with every
# release would be locked again with every release. Every command ends with exit code 0 whatever happens (Claude Code
# and others read 2 as "block and erase the prompt"), and prints nothing but an answer where the event has one.

AnswerEvent = Literal["start", "compact", "prompt", "flush", "end"]
ANSWER_EVENTS: tuple[AnswerEvent, ...] = ("start", "compact", "prompt", "flush", "end")
"""start: a session begins or continues. compact: it continues after a compaction. prompt: the user said something.
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
    host = "".join(f"h=${{h:-${{{variable}:+{slug}}}}};" for variable, slug in HOST_VARIABLES.items())
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


# What an agent's file says under `[install]`: where its settings are and what of ours belongs there.
#
# All of it is data and pure functions, made by `install.described`: `maintenance.setup` resolves the places, makes the
# plan, shows it, applies it and takes it out.
# What an agent cannot do is `Unsupported` with the reason, never an omission.

Platform = Literal["linux", "macos", "windows"]
HookRole = Literal["spool", "start", "compact", "prompt", "flush", "end"]
"""What an event is to us. spool: only kept, needs no answer. start, compact, prompt: we answer with context, where the
agent takes it. flush: what was said so far is about to be dropped, so it is ingested now. end: the session is over.
The last two get no context, but the answer must be valid."""


class Source(msgspec.Struct, frozen=True):
    """Where a fact is from: what it says in our words, the page or file, and the day it was read (ISO)."""

    what: str
    url: str
    read_on: str


class Unsupported(msgspec.Struct, frozen=True):
    """The agent has no such thing, or it cannot be used: one sentence, shown by `setup` and in the agent's page."""

    reason: str


class Folder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A folder of the agent's, as path templates with `~` and `$NAME`, the preferred first, `/` as separator.

    A template whose variable is not set is passed over; the first one with a variable that is set is taken, there or
    not; of the others the first that exists, else the first. macos, windows: instead of `paths` there.
    """

    paths: tuple[str, ...]
    macos: tuple[str, ...] = ()
    windows: tuple[str, ...] = ()

    def templates(self, platform: Platform) -> tuple[str, ...]:
        """Return the templates of a platform."""
        return {"linux": (), "macos": self.macos, "windows": self.windows}[platform] or self.paths


class FilePlace(msgspec.Struct, frozen=True):
    """A file of the agent's: in a folder, by a name (`/` goes into sub-folders); of several the first that exists,
    else the first."""

    folder: Folder
    names: tuple[str, ...]


class Server(msgspec.Struct, frozen=True):
    """Our MCP server over standard input and output. env: only what it would not find itself (a home elsewhere)."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]


class Command(msgspec.Struct, frozen=True):
    """A hook's command, for agents that take a shell line and for those that take program and arguments."""

    line: str
    argv: tuple[str, ...]


class InstallContext(msgspec.Struct, frozen=True):
    """What an install needs to write its values.

    version: the agent's, from its program (`""` without one). commands: by role; `prompt` is the spooling command
    unless context per prompt is turned on. writes: the server's writing tools are turned on.
    """

    platform: Platform
    version: str
    program: Program
    server: Server
    commands: Mapping[HookRole, Command]
    writes: bool = False


class ConfigFile(msgspec.Struct, frozen=True):
    """An agent's configuration file that contains something of ours.

    frame: what a new file of ours must hold besides (`{"version": 1}`); not added to an existing one, and a file that
    we created is deleted once only its frame is left. other_names: a first key of our edits, and another name that the
    agent accepts for it; if the file has that one, it is used, because both at once would be an error.
    """

    place: FilePlace
    format: Format
    edits: Callable[[InstallContext], tuple[Edit, ...]]
    frame: Mapping[str, Any] = {}
    other_names: Mapping[str, str] = {}


class OwnFile(msgspec.Struct, frozen=True):
    """A file that is ours alone (a skill, a rule, a plug-in). Never written over one that we did not make."""

    place: FilePlace
    text: Callable[[InstallContext], str]


Part = ConfigFile | OwnFile


class McpCommand(msgspec.Struct, frozen=True):
    """The agent's own command that registers a server, without the executable: `("mcp", "add", …)`.

    After `add` the key of `Mcp.file` must be there. Where the executable is not found, or the command fails and
    left the file as it was, the file is edited instead; also where `add` is empty, because the command cannot say all.
    """

    executable: str
    add: Callable[[InstallContext], tuple[str, ...]]
    remove: tuple[str, ...]


class Mcp(msgspec.Struct, frozen=True):
    """How our server is registered: the file, and the agent's own command if it has one."""

    file: ConfigFile
    command: McpCommand | None = None


class HookEvent(msgspec.Struct, frozen=True):
    """An event as the agent names it, and what it is to us. matcher: only these, in the agent's own form."""

    event: str
    role: HookRole
    matcher: str = ""


class HookTrust(msgspec.Struct, frozen=True):
    """Where the agent remembers that the person allowed our hooks, and what the person does to allow them (`step`).

    One of the two tells it from that file's content. allows: given also the path of the file with the hooks, the event,
    and our hook's number in the event's list, whether it may run. count: how many of ours may run, None where that
    cannot be told.
    """

    place: FilePlace
    format: Format
    step: str
    allows: Callable[[Mapping[str, Any], str, str, int], bool] | None = None
    count: Callable[[Mapping[str, Any]], int | None] | None = None


class Switch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A setting by which the person turns off all hooks of the agent: the key at `path` has the value `off`."""

    place: FilePlace
    format: Format
    path: tuple[str, ...]
    off: Any


class Hooks(msgspec.Struct, frozen=True):
    """What we register for events. part: its one place. note: what its answers cannot do.

    switches: settings that would keep the agent from running them; only reported, never changed.
    """

    events: tuple[HookEvent, ...]
    part: Part
    trust: HookTrust | None = None
    note: str = ""
    switches: tuple[Switch, ...] = ()

    def roles(self) -> frozenset[HookRole]:
        """Return what the events are to us."""
        return frozenset(event.role for event in self.events)


class NativeMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A memory of the agent's own that also puts text before the model, and the setting that turns it off.

    path, off: key and value that turn it off. default_on: whether it is on where the key is missing. line: the same
    as a person would write it. variable: an environment variable that turns it off when set to 1 or true.
    """

    name: str
    place: FilePlace
    format: Format
    path: tuple[str, ...]
    off: Any
    default_on: bool
    line: str
    variable: str = ""


class CrossRead(msgspec.Struct, frozen=True):
    """This agent also runs the hooks of another one. slug: whose. note: when, and what can be done about it."""

    slug: str
    note: str


class Plugins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an agent lists the plug-ins that are turned on: a table of `NAME` or `NAME@MARKETPLACE` to true or more.

    Ours brings the same hooks: it is for people who want no `setup`, and must not be there beside it.
    """

    place: FilePlace
    format: Format
    path: tuple[str, ...]


class Install(msgspec.Struct, frozen=True, kw_only=True):
    """All set-up facts of one agent.

    folders, executables: the agent is installed if one of these exists. version_args: make the first executable found
    print its version; empty: it is not asked. steps: what the person must do afterwards. is_graphical: the agent lacks
    the shell's PATH (commands are absolute for all of them). depends_on_version: the written values differ between
    versions. verified_version: the agent's version for which the facts were read.
    """

    slug: str
    folders: tuple[Folder, ...]
    executables: tuple[str, ...]
    version_args: tuple[str, ...] = ("--version",)
    mcp: Mcp | Unsupported
    hooks: Hooks | Unsupported
    skill: OwnFile | Unsupported
    native_memory: tuple[NativeMemory, ...] = ()
    steps: tuple[str, ...] = ()
    cross_reads: tuple[CrossRead, ...] = ()
    plugins: Plugins | None = None
    is_graphical: bool = False
    depends_on_version: bool = False
    verified_version: str
    sources: tuple[Source, ...]

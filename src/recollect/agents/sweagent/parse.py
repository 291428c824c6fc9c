"""SWE-agent: parses a record into events."""

import re
from typing import Any

import msgspec

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import KitAdapter, Reading, first_line_name, read_odd
from recollect.agents.kit.calls import canonical_editor, edits_asked
from recollect.agents.kit.content import arguments_of, without_opaque
from recollect.agents.kit.names import Marks, NamingState, content_sha256, numbered
from recollect.agents.kit.values import decoded_json, mapping, number, text, word_set
from recollect.model import payloads as kinds
from recollect.model.records import SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# What the parser of a trajectory remembers: steps that the history has not repeated yet.

MAX_PENDING_CHARS = 150_000
"""Of all texts of waiting steps together: at most four bytes each, they stay below a state's 1 MiB."""
MAX_GIVEN = 512


class Step(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A step of the trajectory: what the model thought and did, and what came of it."""

    name: str
    thought: str
    action: str
    observation: str
    duration_ms: int | None
    cwd: str
    path: str

    @property
    def size(self) -> int:
        """How many characters it holds."""
        return sum(map(len, (self.name, self.thought, self.action, self.observation, self.cwd, self.path)))


class Acting(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The newest action of the history, whose result is still to come. is_given: the trajectory gave it already."""

    name: str = ""
    call_id: str = ""
    tool: str = ""
    arguments: str = ""
    duration_ms: int | None = None
    path: str = ""
    is_given: bool = False


class SweAgentState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """State after a record. steps: of the trajectory, waiting for the history; given: names of those that didn't wait.

    step_marks, marks: what was named in the trajectory, and in the history.
    """

    cwd: str = ""
    has_task: bool = False
    steps: tuple[Step, ...] = ()
    given: tuple[str, ...] = ()
    step_marks: Marks = ()
    acting: Acting = Acting()


SweAgentReading = Reading[SweAgentState]


def step_name(reading: SweAgentReading, thought: str, action: str, *, of_history: bool) -> str:
    """Return the name of a step: a hash of what was done, else of what was said, numbered among equal ones.

    Trajectory and history are counted apart, so that a step has the same name in both. Thoughts are no part of it:
    whoever prepares a demonstration edits them in one list only.
    """
    name = f"step:{content_sha256(action.strip() or thought.strip())}"
    return numbered(reading, name, "marks" if of_history else "step_marks")


def named(reading: SweAgentReading, kind: str, body: str) -> str:
    """Return the name of another message of the history: a hash of it, numbered among equal ones."""
    return numbered(reading, f"{kind}:{content_sha256(body)}")


# Actions and their results: commands of a shell, some of which are SWE-agent's own tools.
#
# Evidence: recorded trajectories of 0.7 to 1.0.

_REFUSED = re.compile(
    r"Your proposed edit has introduced new syntax error|No replacement was performed|Your edit was not applied"
)
_APPLIED = re.compile(
    r"has been edited|File (?:created|updated)|Text replaced|Replaced \d+ occurrence|\A\[File: .{1,1000}? \(\d+ "
    r"lines total\)\]"
)
_FILE = re.compile(r"\[File: (.{1,1000}?) \(\d+ lines total\)\]")
_OPEN = re.compile(r"\(Open file: (/.{1,1000}?)\)$", re.MULTILINE)
_TAIL_CHARS = 2000
_NEWS = ("replacement_text", "text")
MAX_ARGUMENT_CHARS = 20_000


def tool_of(action: str) -> tuple[str, str]:
    """Return name and canonical name of an action that is a line of a shell: its first word, where that is a tool."""
    words = action.split(None, 1)
    name = words[0] if words else ""
    found = canonical_tool(name)
    return (name, found) if found not in ("other", "mcp") else ("bash", "shell")


def add_result(reading: SweAgentReading, acting: Acting, said: str) -> None:
    """Emit the result of an action, and the edit it applied. Only of edits it is known that they failed."""
    canonical = canonical_tool(acting.tool)
    is_refused = canonical == "edit" and _REFUSED.search(said) is not None
    is_applied = canonical == "edit" and not is_refused and _APPLIED.search(said) is not None
    ok = False if is_refused else True if is_applied else None
    result = kinds.ToolResult(acting.call_id, acting.tool, ok, text=said, duration_ms=acting.duration_ms)
    reading.add(result, native_id=f"{acting.name}/result")
    if is_applied:
        for i, edit in enumerate(_edits(acting, said)):
            reading.add(edit, native_id=f"{acting.name}/edit:{i}")


def _edits(acting: Acting, said: str) -> list[kinds.FileEdit]:
    """Return what an edit changed, as the call asked for it. Line edits say what was put in, not what stood there."""
    arguments = decoded_json(acting.arguments or "{}", {})
    if not isinstance(arguments, dict) or arguments.get("command") == "view":
        return []
    found = _FILE.search(said) or _OPEN.search(said[-_TAIL_CHARS:])
    shown = found[1] if found else acting.path
    is_new = acting.tool == "create" or arguments.get("command") == "create"
    edits = [
        msgspec.structs.replace(
            edit, path=edit.path or shown, operation="create" if is_new else edit.operation, call_id=acting.call_id
        )
        for edit in edits_asked(acting.tool, arguments)
    ]
    if edits:
        return edits
    put = next((text(arguments.get(name)) for name in _NEWS if text(arguments.get(name))), None)
    return [kinds.FileEdit(shown, "create" if is_new else "modify", None, put, call_id=acting.call_id)]


# The two lists of a trajectory: the steps, and the history of messages that the model saw.
#
# Both hold the same actions and results; the history has the roles and the ids of calls, the trajectory how long a step
# took, and the last step where the history ends before it. A step waits until the history repeats it, and is given from
# there; what never comes is given at the end.
# Evidence: recorded trajectories of 0.7 to 1.0; sweagent/types.py.

_STEP = word_set("action observation response state thought execution_time query extra_info messages")
_KNOWN = known_fields("sweagent")
_MESSAGE_TYPES = frozenset(("system_prompt", "demonstration", "observation", "action", "thought", "user"))
_LONGEST_S = 10_000_000.0
_MAX_ACTION_CHARS = 4000


def read_step(reading: SweAgentReading) -> None:
    """Take a step of the trajectory; give the oldest ones where too many wait."""
    value = reading.value
    state = _object(value.get("state"))
    seconds = number(value.get("execution_time"))
    thought, action = reading.text(value, "thought"), reading.text(value, "action")
    step = Step(
        step_name(reading, thought, action, of_history=False),
        thought or text(value.get("response")),
        action,
        flatten(value.get("observation")),
        round(seconds * 1000) if seconds is not None and 0 <= seconds < _LONGEST_S else None,
        text(state.get("working_dir")),
        text(state.get("open_file")).removeprefix("n/a"),
    )
    waiting = (*reading.state.steps, step)
    size = sum(one.size for one in waiting)
    while waiting and size > MAX_PENDING_CHARS:
        size -= waiting[0].size
        _give_step(reading, waiting[0])
        waiting = waiting[1:]
    if not _is_storable(step):
        _give_step(reading, step)
        waiting = waiting[:-1]
    reading.set(steps=waiting)
    extra = value.get("extra_info")
    if extra:
        reading.kept("extra_info", without_opaque(extra), native_id=f"{step.name}/extra")
    reading.extra(value, _STEP, "step", native_id=step.name)


def _object(written: Any) -> dict[str, Any]:
    """Return an object, which old versions wrote as text."""
    return mapping(decoded_json(written) if isinstance(written, str) else written)


def _is_storable(step: Step) -> bool:
    try:
        msgspec.msgpack.encode(step)
    except UnicodeEncodeError:
        return False
    return True


def _give_step(reading: SweAgentReading, step: Step) -> None:
    if step.thought:
        reading.add(kinds.AssistantMessage(step.thought), native_id=step.name)
    tool, canonical = tool_of(step.action)
    if step.action:
        reading.add(kinds.ToolCall(step.name, tool, canonical, {"command": step.action}), native_id=f"{step.name}/call")
        acting = Acting(step.name, step.name, tool, "", step.duration_ms, step.path)
        add_result(reading, acting, step.observation)
    elif step.observation:
        reading.add(kinds.Lifecycle("observation", text=step.observation), native_id=f"{step.name}/result")
    reading.set(given=(*reading.now("given"), step.name)[-MAX_GIVEN:])


def read_item(reading: SweAgentReading) -> None:
    value = reading.value
    role = text(value.get("role"))
    said = _words(value.get("content"))
    reading.odd_value("history.message_type", value.get("message_type"), _MESSAGE_TYPES)
    if value.get("is_demo") is True or value.get("message_type") == "demonstration":
        reading.add(kinds.Instructions(said, "demonstration"), native_id=named(reading, "demo", said))
    elif role == "system":
        reading.add(kinds.Instructions(said, "system"), native_id=named(reading, "system", said))
    elif role == "assistant":
        _assistant(reading, said)
    elif role in ("user", "tool"):
        _answer(reading, role, said)
    else:
        reading.unknown(f"history/{role}", without_opaque(value))
    reading.extra(
        value,
        _KNOWN["item"],
        "history",
        native_id=named(reading, "item", said) if value.keys() - _KNOWN["item"] else None,
    )


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        blocks = [block.get("text") if isinstance(block, dict) else block for block in content]
        return "\n".join(flatten(text(b) or without_opaque(c)) for b, c in zip(blocks, content, strict=True))
    return flatten(content)


def _answer(reading: SweAgentReading, role: str, said: str) -> None:
    """Emit what came back: the result of the last action; before any action, the task; else a word of the harness.

    Without function calls, results stand in the user's role.
    """
    value, acting = reading.value, reading.state.acting
    ids = [text(one) for one in reading.items(value, "tool_call_ids")]
    if acting.name:
        waiting = tuple(one for one in reading.state.steps if one.name != acting.name)
        reading.set(acting=Acting(), steps=waiting)
        if not acting.is_given:
            add_result(reading, acting, said)
    elif role == "tool":
        call_id = ids[0] if ids else ""
        reading.add(kinds.ToolResult(call_id, text=said), native_id=named(reading, "result", f"{call_id}\n{said}"))
    elif not reading.state.has_task:
        reading.set(has_task=True)
        reading.add(kinds.UserMessage(said), native_id=named(reading, "user", said))
    else:
        reading.add(kinds.UserMessage(said, "injected"), native_id=named(reading, "user", said))


def _assistant(reading: SweAgentReading, said: str) -> None:
    value = reading.value
    thought, action = text(value.get("thought")), text(value.get("action"))
    name = step_name(reading, thought, action, of_history=True)
    steps = reading.state.steps
    step = next((one for one in steps if one.name == name), None)
    # The action before has no result in the history: it waits no longer.
    waiting = tuple(one for one in steps if one.name != reading.state.acting.name)
    reading.set(steps=waiting)
    if step is not None and step.cwd and step.cwd != reading.state.cwd:
        reading.set(cwd=step.cwd)
        reading.add(kinds.Lifecycle("cwd", cwd=step.cwd), native_id=f"{name}/cwd")
    is_given = name in reading.state.given
    if step is not None and step.thought.strip() not in f"{said}\n{thought}":
        reading.kept("thought", step.thought, native_id=f"{name}/other")
    if not is_given:
        _think(reading, name)
        # The answer as written holds the action too, in a block of its own.
        spoken = thought if thought.strip() and thought.strip() in said else said or thought
        is_action = action.strip() and not spoken.replace(action.strip(), "", 1).strip("` \t\r\n")
        if spoken.strip() and not is_action:  # it is then nothing but its action, in a block of code
            reading.add(kinds.AssistantMessage(spoken), native_id=name)
    _calls(reading, name, action, step, is_given=is_given)


def _think(reading: SweAgentReading, name: str) -> None:
    for i, block in enumerate(reading.items(reading.value, "thinking_blocks")):
        thought = text(mapping(block).get("thinking"))
        reading.add(kinds.Thinking(thought, is_encrypted=not thought), native_id=f"{name}/thinking:{i}")


def _calls(reading: SweAgentReading, name: str, action: str, step: Step | None, *, is_given: bool) -> None:
    """Emit the calls of an answer: functions, else the line of shell that it asked for."""
    acting = Acting()
    calls = [mapping(call) for call in reading.items(reading.value, "tool_calls")]
    for i, call in enumerate(calls):
        function = mapping(call.get("function"))
        tool, arguments = text(function.get("name")), arguments_of(reading, function.get("arguments"))
        call_id = text(call.get("id"))
        if not is_given:
            payload = kinds.ToolCall(call_id, tool, canonical_editor(tool, arguments), arguments)
            reading.add(payload, native_id=f"{name}/call" + (f":{i}" if i else ""))
        written = function.get("arguments")
        acting = _acting(name, call_id, tool, text(written), step)
        reading.extra(call, _KNOWN["call"], "tool_call", native_id=name)
    if not action.strip() and not calls and step is not None:
        reading.set(steps=tuple(one for one in reading.now("steps") if one is not step))
    if not calls and action.strip():
        tool, canonical = tool_of(action)
        if not is_given:
            payload = kinds.ToolCall(name, tool, canonical, {"command": action})
            reading.add(payload, native_id=f"{name}/call")
        acting = _acting(name, name, tool, "", step)
    if is_given and acting.name:
        acting = msgspec.structs.replace(acting, is_given=True)
    reading.set(acting=acting)


def _acting(name: str, call_id: str, tool: str, arguments: str, step: Step | None) -> Acting:
    found = Acting(
        name,
        call_id[:_MAX_ACTION_CHARS],
        tool[:_MAX_ACTION_CHARS],
        arguments if len(arguments) <= MAX_ARGUMENT_CHARS else "",
        step.duration_ms if step else None,
        step.path if step else "",
    )
    try:
        msgspec.msgpack.encode(found)
    except UnicodeEncodeError:
        return Acting(name)
    return found


# What stands around the two lists: how the run ended, what it cost, what it was told to do with which model.
#
# Evidence: recorded trajectories of 0.7 to 1.0; sweagent/types.py, "AgentInfo".

_VIEWS = ("edited_files70", "edited_files50", "edited_files30")


def read_around(reading: SweAgentReading) -> None:
    """Emit the members beside the lists. They may come in two records, before and after the lists."""
    value = reading.value
    config = _object(value.get("replay_config"))
    info = reading.mapping(value, "info")
    if "info" in value or "replay_config" in value:
        # Emit the steps that the history did not repeat, and of the last one it may lack only the result.
        acting = reading.now("acting")
        for step in reading.now("steps"):
            if step.name == acting.name:
                add_result(reading, acting, step.observation)
            else:
                _give_step(reading, step)
        reading.set(steps=(), acting=Acting())
    environment = reading.text(value, "environment")
    version = text(info.get("swe_agent_version"))
    if environment or not reading.state.is_started:
        reading.set(is_started=True)
        reading.start(originator=environment, tool_version=version)
    _configured(reading, config, version if not environment else "")
    _info(reading, info, text(mapping(mapping(config.get("agent")).get("model")).get("name")))
    reading.extra(value, _KNOWN["top"], "trajectory", native_id="around")


def _configured(reading: SweAgentReading, config: dict[str, Any], version: str) -> None:
    """Give model, repository and task of the configuration. Its rest holds prompts that the history has, and keys."""
    model = text(mapping(mapping(config.get("agent")).get("model")).get("name"))
    environment = mapping(config.get("env"))
    repo = mapping(environment.get("repo"))
    remote, commit = text(repo.get("github_url")), text(repo.get("base_commit"))
    if model or remote or version:
        reading.start(model=model, git_remote=remote, git_commit=commit, tool_version=version, native_id="facts")
    problem = mapping(config.get("problem_statement"))
    detail = {
        "task": text(problem.get("id")),
        "url": text(problem.get("github_url")),
        "repo": text(repo.get("repo_name")) or text(repo.get("path")),
        "image": text(mapping(environment.get("deployment")).get("image")),
    }
    reading.note("task", detail={k: v for k, v in detail.items() if v}, native_id="task")


def _info(reading: SweAgentReading, info: dict[str, Any], model: str) -> None:
    submission = flatten(info.get("submission"))
    reading.note("submission", submission, native_id="submission")
    view = next((text(info.get(name)) for name in _VIEWS if text(info.get(name))), "")
    if view:
        reading.kept("edited_files", view, native_id="edited_files")
    for name in ("review", "summarizer"):
        if info.get(name):
            reading.kept(name, without_opaque(info[name]), native_id=name)
    stats = reading.mapping(info, "model_stats")
    if stats:
        # Emit the totals of the run. The file is written again after each step: the newest ones take the place.
        sent, received = reading.count(stats, "tokens_sent"), reading.count(stats, "tokens_received")
        cost = number(stats.get("instance_cost"))
        if sent or received or cost:
            key = f"{reading.state.session}:total"
            reading.add(
                kinds.TokenUsage(model, sent, received, cost_usd=cost, dedupe_key=key), "assistant", native_id="usage"
            )
        calls = reading.count(stats, "api_calls")
        if calls:
            reading.add(kinds.Lifecycle("api_calls", detail={"count": calls}), native_id="api_calls")
        reading.extra(stats, _KNOWN["stats"], "model_stats", native_id="stats")
    status = flatten(info.get("exit_status"))
    if status:
        reading.add(kinds.SessionEnd(status), native_id="end")
    reading.extra(info, _KNOWN["info"], "info", native_id="info")


_SUFFIX = ".traj"


class SweAgentAdapter(KitAdapter[SweAgentState], slug="sweagent"):
    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the run's folder and the task: every run has a file for each task."""
        task = info.name.removesuffix(_SUFFIX)
        folders = [folder for folder in info.folders if folder != task]
        return "/".join((*folders[-2:], task)) or first_line_name(head)

    def read(self, reading: SweAgentReading) -> None:
        if not isinstance(reading.record.value, dict):
            read_odd(reading)
            return
        if reading.at in ("trajectory", "history") and not reading.state.is_started:
            reading.set(is_started=True)
            reading.start()
        if reading.at == "trajectory":
            read_step(reading)
        elif reading.at == "history":
            read_item(reading)
        else:
            read_around(reading)

"""One vocabulary for the tools of all agents."""

from __future__ import annotations

_CANONICAL: dict[str, tuple[str, ...]] = {
    "shell": (
        "process", "execute_code",
        "shell_exec", "run_terminal", "execute_bash", "execute_ipython_cell", "run_ipython",
        "bash", "shell", "exec_command", "shell_command", "local_shell", "local_shell_call", "write_stdin", "exec",
        "bashoutput", "killshell", "killbash", "run_terminal_cmd", "run_shell_command", "terminal", "container.exec",
        "unified_exec", "exec_shell", "run_terminal_command", "code_execution", "code_interpreter", "powershell",
        "taskoutput", "taskstop", "job_output", "job_kill",
    ),
    "read": ("tree",
             "read", "view", "list", "read_file", "notebookread", "ls", "list_dir", "listdir", "view_image",
        "read_many_files",
             "readfile", "readmediafile", "open", "goto", "scroll_up", "scroll_down", "cat"),
    "edit": (
        "text_editor", "writefile", "strreplacefile", "patch", "file_editor", "create", "insert",
        "edit", "write", "multiedit", "notebookedit", "apply_patch", "write_file", "replace", "str_replace_editor",
        "str_replace_based_edit_tool", "search_replace", "edit_file", "create_file",
    ),
    "search": ("search_files",
             "grep", "glob", "codesearch", "sourcegraph", "search", "codebase_search", "grep_search", "find_file",
        "search_dir", "search_file",
               "file_search", "toolsearch", "tool_search", "grep_files"),
    "fetch": ("web_extract",
             "webfetch", "agentic_fetch", "download", "websearch", "web_search", "fetch", "web_fetch", "x_search",
        "web", "web_search_call", "open_page",
              "searchweb", "fetchurl"),
    "task": ("delegate_task", "delegate",
             "task", "spawn_subagent", "subagent", "agent", "agentswarm", "spawn_agent", "dispatch_agent", "wait",
        "send_input",
             "close_agent", "resume_agent", "sendmessage", "workflow"),
    "todo": ("todo", "todo_read",
             "todowrite", "todo_write", "todos", "todoread", "update_plan", "taskcreate", "taskupdate",
        "tasklist", "taskget",
             "settodolist", "task_tracker"),
    "ask": ("clarify",
             "askuserquestion", "ask_user_question", "enter_plan_mode", "exit_plan_mode", "question",
        "plan_enter", "plan_exit", "request_user_input", "exitplanmode", "enterplanmode"),
    "skill": ("skill_view", "load_skill",
             "skill", "slashcommand"),
    "image": ("image_generation", "image_generation_call"),
}  # fmt: skip
_BY_NAME = {name: canonical for canonical, names in _CANONICAL.items() for name in names}


def canonical_tool(name: str) -> str:
    """Return the canonical name: shell, read, edit, search, fetch, task, todo, ask, skill, image, mcp or other."""
    known = _BY_NAME.get(name.lower())
    if known is not None:
        return known
    if name.startswith("mcp__") or "__" in name:
        return "mcp"
    return "other"

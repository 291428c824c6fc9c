"""One vocabulary for the tools of all agents."""

from __future__ import annotations

_CANONICAL: dict[str, tuple[str, ...]] = {
    "shell": (
        "bash", "shell", "exec_command", "shell_command", "local_shell", "local_shell_call", "write_stdin", "exec",
        "bashoutput", "killshell", "killbash", "run_terminal_cmd", "run_shell_command", "terminal", "container.exec",
        "unified_exec", "powershell", "taskoutput", "taskstop",
    ),
    "read": ("read", "view", "read_file", "notebookread", "ls", "list_dir", "listdir", "view_image", "read_many_files",
             "cat"),
    "edit": (
        "edit", "write", "multiedit", "notebookedit", "apply_patch", "write_file", "replace", "str_replace_editor",
        "str_replace_based_edit_tool", "edit_file", "create_file",
    ),
    "search": ("grep", "glob", "search", "codebase_search", "grep_search",
               "file_search", "toolsearch", "tool_search", "grep_files"),
    "fetch": ("webfetch", "websearch", "web_search", "fetch", "web_fetch", "web_search_call", "open_page"),
    "task": ("task", "agent", "spawn_agent", "dispatch_agent", "wait", "send_input",
             "close_agent", "resume_agent", "sendmessage", "workflow"),
    "todo": ("todowrite", "todoread", "update_plan", "taskcreate", "taskupdate", "tasklist", "taskget"),
    "ask": ("askuserquestion", "request_user_input", "exitplanmode", "enterplanmode"),
    "skill": ("skill", "slashcommand"),
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

"""One vocabulary for the tools of all agents."""

from __future__ import annotations

_CANONICAL: dict[str, tuple[str, ...]] = {
    "shell": (
        "run_command_in_terminal", "run_build", "python", "bash_tool", "repl", "execute", "ipython", "tmux",
        "shell_status", "shell_tail", "shell_kill", "run_in_terminal", "get_terminal_output", "create_and_run_task",
        "run_task", "get_task_output", "runtests", "run_tests", "read_bash", "write_bash", "stop_bash",
        "read_powershell", "write_powershell", "stop_powershell", "run_command", "command_status", "execute_command",
        "run_commands", "run_terminal_command", "builtin_run_terminal_command", "execute_cmd", "execute_shell_command",
        "process", "execute_code", "shell_exec", "run_terminal", "execute_bash", "execute_ipython_cell", "run_ipython",
        "bash", "shell", "exec_command", "shell_command", "local_shell", "local_shell_call", "write_stdin", "exec",
        "bashoutput", "killshell", "killbash", "run_terminal_cmd", "run_shell_command", "terminal", "container.exec",
        "unified_exec", "exec_shell", "code_execution", "code_interpreter", "powershell", "taskoutput", "taskstop",
        "job_output", "job_kill",
    ),
    "read": (
        "get_file", "get_errors", "present_files", "list_directory_tree", "read_subtree", "read_notebook_cell_output",
        "get_changed_files", "view_file", "list_directory", "read_code", "read_lints", "read_files", "list_files",
        "list_code_definition_names", "builtin_read_file", "builtin_ls", "fs_read", "read_currently_open_file", "tree",
        "read", "view", "list", "read_file", "notebookread", "ls", "list_dir", "listdir", "view_image",
        "read_many_files", "readfile", "readmediafile", "open", "goto", "scroll_up", "scroll_down", "cat",
    ),
    "edit": (
        "canmore", "artifacts", "replace_file_content", "multi_replace_file_content", "save", "append", "morph",
        "str_replace", "propose_str_replace", "propose_write_file", "replace_string_in_file",
        "multi_replace_string_in_file", "insert_edit_into_file", "edit_notebook_file", "copy_path", "move_path",
        "delete_path", "save_file", "streaming_edit_file", "append_file", "strreplace", "applypatch", "delete",
        "editnotebook", "edit_notebook", "reapply", "code_action", "write_code", "write_to_file", "replace_in_file",
        "apply_diff", "insert_content", "search_and_replace", "search_replace", "editor", "delete_file",
        "edit_existing_file", "create_new_file", "single_find_and_replace", "multi_edit", "builtin_edit_existing_file",
        "builtin_create_new_file", "builtin_single_find_and_replace", "builtin_multi_edit", "fs_write", "undo_edit",
        "text_editor", "writefile", "strreplacefile", "patch", "file_editor", "create", "insert", "edit", "write",
        "multiedit", "notebookedit", "apply_patch", "write_file", "replace", "str_replace_editor",
        "str_replace_based_edit_tool", "edit_file", "create_file",
    ),
    "search": (
        "myfiles_browser", "conversation_search", "recent_chats", "project_knowledge_search", "google_drive_search",
        "code_search", "find_files", "semantic_search", "search_workspace_symbols", "list_code_usages", "test_search",
        "find_path", "rg", "semanticsearch", "semantic_search_full", "glob_file_search", "ripgrep",
        "ripgrep_raw_search", "find", "find_by_name", "search_files", "search_codebase", "finder", "file_glob_search",
        "builtin_grep_search", "builtin_file_glob_search", "builtin_codebase", "grep", "glob", "codesearch",
        "sourcegraph", "search", "codebase_search", "grep_search", "find_file", "search_dir", "search_file",
        "file_search", "toolsearch", "tool_search", "grep_files", "search_file_content",
    ),
    "fetch": (
        "google_drive_fetch", "browser", "read_docs", "fetch_url", "fetch_webpage", "read_url_content",
        "fetch_url_content", "search_web", "builtin_fetch_url_content", "builtin_search_web", "read_web_page",
        "fetch_web_content", "web_extract", "webfetch", "agentic_fetch", "download", "websearch", "web_search", "fetch",
        "web_fetch", "x_search", "web", "web_search_call", "open_page", "searchweb", "fetchurl", "google_web_search",
    ),
    "task": (
        "research_kickoff_tool", "launch_extended_search_task", "spawn_agents", "spawn_agent_inline", "invoke_subagent",
        "runsubagent", "new_task", "use_subagents", "use_subagent", "oracle", "team_run_task", "team_spawn_teammate",
        "handoff", "delegate", "delegate_task", "task", "spawn_subagent", "subagent", "agent", "agentswarm",
        "spawn_agent", "dispatch_agent", "wait", "send_input", "close_agent", "resume_agent", "sendmessage", "workflow",
        "invoke_agent", "delegate_to_agent", "codebase_investigator",
    ),
    "todo": (
        "todo_action", "manage_todo_list", "update_todo", "update_todo_list", "todo_write", "todo_read", "todo_list",
        "checklist", "todo", "todowrite", "todos", "todoread", "update_plan", "taskcreate", "taskupdate", "tasklist",
        "taskget", "settodolist", "task_tracker", "write_todos",
    ),
    "ask": (
        "ask_user_input_v0", "askuser", "exitspecmode", "ask_user", "vscode_get_confirmation", "askquestion",
        "ask_followup_question", "plan_mode_respond", "act_mode_respond", "ask_question", "clarify", "askuserquestion",
        "ask_user_question", "enter_plan_mode", "exit_plan_mode", "question", "plan_enter", "plan_exit",
        "request_user_input", "exitplanmode", "enterplanmode",
    ),
    "skill": (
        "use_skill", "skills", "skill_view", "load_skill", "skill", "slashcommand", "activate_skill",
    ),
    "image": (
        "dalle", "image_gen", "t2uay3k", "generateimage", "generate_image", "image_generation", "image_generation_call",
    ),
    "mcp": (
        "use_mcp_tool", "access_mcp_resource",
    ),
}  # fmt: skip
_BY_NAME = {name: canonical for canonical, names in _CANONICAL.items() for name in names}
TOOL_NAMES = frozenset((*_CANONICAL, *_BY_NAME, "other"))
"""Families, and the names of tools that belong to one."""


def canonical_tool(name: str) -> str:
    """Return the canonical name: shell, read, edit, search, fetch, task, todo, ask, skill, image, mcp or other."""
    known = _BY_NAME.get(name.lower())
    if known is not None:
        return known
    if name.startswith("mcp__") or "__" in name:
        return "mcp"
    return "other"

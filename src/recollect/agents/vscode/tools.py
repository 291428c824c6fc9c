"""The names of VS Code's tools: the interface knows them by another one than the model."""

from __future__ import annotations

import re

_NAMES = {
    "copilot_searchCodebase": "semantic_search",
    "copilot_searchWorkspaceSymbols": "search_workspace_symbols",
    "copilot_listCodeUsages": "list_code_usages",
    "copilot_getVSCodeAPI": "get_vscode_api",
    "copilot_runTests1": "run_tests",
    "copilot_findFiles": "file_search",
    "copilot_findTextInFiles": "grep_search",
    "copilot_listDirectory": "list_dir",
    "copilot_getNotebookSummary": "copilot_getNotebookSummary",
    "copilot_insertEdit": "insert_edit_into_file",
    "copilot_replaceString": "replace_string_in_file",
    "copilot_multiReplaceString": "multi_replace_string_in_file",
    "copilot_editNotebook": "edit_notebook_file",
    "copilot_readNotebookCellOutput": "read_notebook_cell_output",
    "copilot_fetchWebPage": "fetch_webpage",
    "copilot_findTestFiles": "test_search",
    "copilot_getSearchResults": "get_search_view_results",
    "copilot_openSimpleBrowser": "open_simple_browser",
    "copilot_runVscodeCommand": "run_vscode_command",
    "vscode_fetchWebPage_internal": "fetch_webpage",
}
"""Where the interface's name is not the model's in camel case."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PREFIX = "copilot_"


def model_name(tool_id: str) -> str:
    """Return the name by which the model calls a tool that the interface names so."""
    known = _NAMES.get(tool_id)
    if known is not None:
        return known
    if tool_id.startswith(_PREFIX):
        return _CAMEL.sub("_", tool_id.removeprefix(_PREFIX)).lower()
    return tool_id


def is_internal(tool_id: str) -> bool:
    """Say whether a tool serves another one and is never called by the model."""
    return tool_id.endswith("_internal") and tool_id not in _NAMES

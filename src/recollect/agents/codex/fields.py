"""Fields that this version knows, by type of record; any other that says something is counted as drift.

The lists hold every field of the format notes and of the rollouts they were checked against, also where it is only
bookkeeping of the agent. Types whose whole payload is given as detail, and those that nobody has described, have none.
"""

from __future__ import annotations

from recollect.agents.codex.step import Step
from recollect.agents.kit.drift import note_fields
from recollect.model.payloads import Json

_ENVELOPE = frozenset(("timestamp", "ordinal", "type", "payload"))
_COMMAND = (
    "process_id command cwd parsed_cmd source interaction_input stdout stderr aggregated_output exit_code duration "
    "formatted_output status completed_at_ms"
)
_IMAGE = "status revised_prompt result saved_path"
_RECORDS = {
    "session_meta": "id session_id timestamp cwd originator cli_version source thread_source forked_from_id "
    "parent_thread_id agent_path agent_nickname agent_role model_provider base_instructions instructions dynamic_tools "
    "history_mode multi_agent_version memory_mode context_window git",
    "turn_context": "turn_id trace_id cwd workspace_roots model effort summary approval_policy approvals_reviewer "
    "sandbox_policy file_system_sandbox_policy permission_profile active_permission_profile collaboration_mode "
    "multi_agent_mode multi_agent_version personality realtime_active comp_hash current_date timezone network "
    "user_instructions developer_instructions base_instructions truncation_policy final_output_json_schema",
    "compacted": "message replacement_history window_number first_window_id previous_window_id window_id",
}
_ITEMS = {
    "message": "role content phase end_turn",
    "agent_message": "author recipient content",
    "reasoning": "summary content encrypted_content",
    "function_call": "call_id name namespace arguments",
    "function_call_output": "call_id output",
    "custom_tool_call": "call_id name namespace input",
    "custom_tool_call_output": "call_id output",
    "local_shell_call": "call_id action",
    "local_shell_call_output": "call_id output",
    "web_search_call": "call_id action",
    "tool_search_call": "call_id execution arguments",
    "tool_search_output": "call_id execution tools",
    "image_generation_call": f"call_id {_IMAGE}",
    "compaction": "encrypted_content",
    "compaction_summary": "encrypted_content",
    "context_compaction": "encrypted_content",
    "ghost_snapshot": "ghost_commit",
}
_OF_ITEMS = "type id status timestamp metadata internal_chat_message_metadata_passthrough"
_EVENTS = {
    "user_message": "message images image_details local_images local_image_details audio local_audio text_elements "
    "client_id kind",
    "agent_message": "message phase memory_citation",
    "agent_reasoning": "text",
    "agent_reasoning_raw_content": "text",
    "token_count": "info rate_limits",
    "task_started": "started_at model_context_window collaboration_mode_kind",
    "task_complete": "last_agent_message started_at completed_at duration_ms time_to_first_token_ms error",
    "turn_aborted": "reason started_at completed_at duration_ms",
    "exec_command_end": f"call_id {_COMMAND}",
    "mcp_tool_call_end": "call_id invocation result error duration plugin_id read_only_hint connector_id link_id "
    "app_name action_name template_id mcp_app_resource_uri",
    "patch_apply_end": "call_id stdout stderr success status changes auto_approved",
    "web_search_end": "call_id query action results",
    "image_generation_end": f"call_id {_IMAGE}",
    "view_image_tool_call": "call_id path",
    "dynamic_tool_call_request": "call_id callId turnId namespace tool arguments",
    "dynamic_tool_call_response": "call_id callId turnId namespace tool arguments content_items contentItems success "
    "error duration",
    "context_compacted": "",
    "thread_rolled_back": "num_turns",
    "thread_name_updated": "thread_id thread_name name",
    "thread_settings_applied": "thread_settings",
    "thread_goal_updated": "threadId turnId goal",
    "item_completed": "thread_id item started_at_ms completed_at_ms",
    "error": "message error codex_error_info",
    "stream_error": "message codex_error_info additional_details",
}
_COMPLETED = {
    "UserMessage": "client_id content",
    "HookPrompt": "fragments content",
    "AgentMessage": "content phase memory_citation",
    "Reasoning": "summary_text raw_content",
    "Plan": "text",
    "CommandExecution": _COMMAND,
    "DynamicToolCall": "namespace tool arguments status content_items contentItems success error duration",
    "McpToolCall": "server tool arguments status result error duration readOnlyHint connectorId mcpAppResourceUri "
    "linkId appName templateId actionName pluginId",
    "WebSearch": "query action results",
    "Extension": "kind query action results",
    "FileChange": "changes status auto_approved stdout stderr",
    "ImageView": "path",
    "ImageGeneration": _IMAGE,
    "ContextCompaction": "",
}
_KNOWN = {
    **{kind: frozenset(fields.split()) for kind, fields in _RECORDS.items()},
    **{f"response_item/{kind}": frozenset(f"{_OF_ITEMS} {fields}".split()) for kind, fields in _ITEMS.items()},
    **{f"event_msg/{kind}": frozenset(f"type turn_id {fields}".split()) for kind, fields in _EVENTS.items()},
    **{f"item_completed/{kind}": frozenset(f"type id {fields}".split()) for kind, fields in _COMPLETED.items()},
}
_KNOWN["event_msg/turn_started"] = _KNOWN["event_msg/task_started"]
_KNOWN["event_msg/turn_complete"] = _KNOWN["event_msg/task_complete"]


def note_envelope(step: Step, record: dict[str, Json]) -> None:
    """Note the unknown fields around a payload."""
    note_fields(step.drift, record, _ENVELOPE, "record")


def note_payload(step: Step, tag: str, payload: dict[str, Json]) -> None:
    """Note the unknown fields of a payload. tag: `kind`, or `kind/type` where the payload says what it is."""
    known = _KNOWN.get(tag)
    if known is not None:
        note_fields(step.drift, payload, known, tag)

"""The fields of an export that are known, as published descriptions of exports name them."""

from __future__ import annotations

CONVERSATION = frozenset(
    """id conversation_id title create_time update_time mapping current_node moderation_results plugin_ids
    conversation_template_id gizmo_id gizmo_type is_archived is_starred is_read_only is_study_mode is_do_not_remember
    safe_urls blocked_urls default_model_slug conversation_origin voice async_status disabled_tool_ids memory_scope
    context_scopes sugar_item_id sugar_item_visible pinned_time owner atlas_mode_enabled is_temporary_chat
    workspace_id is_pinned snorlax_id""".split()
)
ABOUT = (
    "gizmo_id", "gizmo_type", "conversation_template_id", "conversation_origin", "voice", "plugin_ids",
    "disabled_tool_ids", "is_archived", "is_starred", "is_study_mode", "is_do_not_remember",
    "is_temporary_chat", "moderation_results",
)  # fmt: skip
"""Those that say something about a conversation as a whole and have no place of their own."""
NODE = frozenset(("id", "message", "parent", "children"))
MESSAGE = frozenset(
    "id author create_time update_time content status end_turn weight metadata recipient channel".split()
)
AUTHOR = frozenset(("role", "name", "metadata"))
STATUSES = frozenset(
    """finished_successfully finished_partial_completion in_progress finished done requested running error cancelled
    success failed_with_in_kernel_exception""".split()
)

METADATA = frozenset(
    """is_visually_hidden_from_conversation is_visually_hidden_reasoning_group is_user_system_message
    user_context_message_data rebase_system_message rebase_developer_message is_contextual_answers_supported
    request_id message_type model_slug default_model_slug requested_model_slug resolved_model_slug
    model_switcher_deny model_adjustments parent_id timestamp_ finish_details is_complete citations
    content_references content_references_by_file search_result_groups search_queries search_model_queries
    search_display_string searched_display_string search_source search_turns_count client_reported_search_source
    _cite_metadata attachments aggregate_result command args status canvas gizmo_id targeted_reply
    targeted_reply_label voice_mode_message jit_plugin_data invoked_plugin filter_out_for_training pad can_save
    classifier_response reasoning_status reasoning_title reasoning_group_id reasoning_recap_type
    skip_reasoning_title finished_duration_sec finished_text initial_text turn_exchange_id working_turn_id turn_id
    turn_summary message_locale selected_sources selected_github_repos selected_mcp_sources serialization_metadata
    system_hints message_source image_results image_gen_async image_gen_title image_gen_multi_stream
    image_gen_task_id trigger_async_ux async_task_id async_task_type async_task_title async_task_prompt
    async_task_created_at async_task_conversation_id async_task_original_message_id async_task_status_messages
    is_async_task_result_message is_loading_message async_completion_id async_completion_message b1de6e2_s
    b1de6e2_rm safe_urls sonic_classification_result sonic_aggregation_decision debug_sonic_thread_id
    safety_plugin_status_code is_redacted redacted_at exclude_after_next_user_message exclusive_key dictation
    dictation_asset_pointer developer_mode_connector_ids caterpillar_selected_sources composer_id kwargs
    n7jupd_message n7jupd_subtool n7jupd_summary n7jupd_title n7jupd_titles n7jupd_crefs n7jupd_crefs_by_file
    n7jupd_url n7jupd_v n7jupd_schedulable deep_research_version stop_reason summarization_headline summary_type
    shared_conversation_id branching_from_conversation_id branching_from_conversation_title
    branching_from_conversation_owner branching_from_message_id permissions inline_gizmo_id paragen_variants_info
    paragen_variant_choice contextual_retry_message is_contextual_retry_user_message cloud_doc_url writing_blocks
    code_blocks story_events genui dalle gizmo real_time_audio_has_video audio_start_timestamp audio_end_timestamp
    real_author connector_source tool_invoking_message chatgpt_sdk mcp_source ada_visualizations is_study_mode
    source_analysis_msg_id""".split()
)
"""Of a message's metadata; most of it steers the page that shows it."""
REFERENCES = (
    "citations", "content_references", "search_result_groups", "search_queries", "_cite_metadata", "image_results",
)  # fmt: skip
"""Metadata that names what an answer rests on."""

"""Every promise of Recollect as requirements: an id, what must hold, and the tests that fail when it does not.

`deferred` says why a requirement has no proof yet; nothing else may be without one.
"""

from __future__ import annotations

from typing import NamedTuple


class Requirement(NamedTuple):
    """One thing that must hold. `proofs`: tests as `file::function`, below `tests/`. Either proofs or deferred."""

    id: str
    text: str
    proofs: tuple[str, ...] = ()
    deferred: str = ""


REQUIREMENTS = (
    Requirement(
        "lossless.bytes",
        "Every byte at every revision that was seen can be given back exactly, also after the agent deleted its file.",
        (
            "promises/test_lossless.py::test_any_bytes_come_back_exactly_also_after_the_file_is_gone",
            "promises/test_lossless.py::test_every_kind_of_source_comes_back_exactly",
            "histories/test_histories.py::test_any_history_of_files_is_kept_and_told_once",
            "ingest/test_sync.py::test_a_file_replaced_under_the_same_name_keeps_the_old_one",
        ),
    ),
    Requirement(
        "lossless.unknown_types",
        "A record of a type that nobody knows is kept, counted and searchable.",
        ("promises/test_lossless.py::test_a_record_of_an_unknown_type_is_kept_counted_and_found",),
    ),
    Requirement(
        "lossless.unknown_fields",
        "A field that nobody knows, in a record of a known type, is kept, counted and searchable.",
        (
            "promises/test_lossless.py::test_an_unknown_field_of_a_known_record_is_kept",
            "promises/test_lossless.py::test_an_unknown_field_of_a_known_record_is_found",
        ),
    ),
    Requirement(
        "lossless.verified",
        "`verify` proves it per source, and says which source has lost what.",
        (
            "promises/test_lossless.py::test_verify_balances_bytes_and_records_of_every_source",
            "promises/test_lossless.py::test_verify_names_the_source_that_lost_bytes",
        ),
    ),
    Requirement(
        "lossless.eviction",
        "Only a reported eviction or a `forget` takes raw bytes away, and `verify` counts those as such.",
        (
            "erasure/retention/test_sweeping.py::test_an_evicted_session_keeps_its_meaning_and_is_found",
            "erasure/forget/test_forgetting.py::test_a_whole_session_is_nowhere_and_all_others_are_as_they_were",
        ),
    ),
    Requirement(
        "deterministic.cuts",
        "However a growing file was cut into syncs and slices, the same events with the same ids come out.",
        (
            "promises/test_deterministic.py::test_a_file_taken_in_pieces_gives_the_events_of_the_whole",
            "promises/test_deterministic.py::test_small_slices_give_the_events_of_large_ones",
        ),
    ),
    Requirement(
        "deterministic.homes",
        "Another home, on another machine, gives the same events and ids.",
        ("promises/test_deterministic.py::test_another_home_gives_the_same_events_and_ids",),
    ),
    Requirement(
        "deterministic.steps",
        "Whichever states of the files were seen, order, turns, decisions and learnings are those of the last one.",
        (
            "conformance/test_conformance.py::test_which_steps_of_an_agents_files_were_seen_makes_no_difference",
            "agents/codewhale/test_saves.py::test_whichever_saves_were_seen_nothing_is_told_that_did_not_happen",
            "store/test_arrangement.py::test_the_newest_order_is_kept_and_what_it_lacks_stays_behind_what_it_followed",
        ),
    ),
    Requirement(
        "deterministic.numbers",
        "Within one home `session#seq` names one event for ever, and a number that was given goes to no other event.",
        (
            "histories/test_numbers.py::test_a_number_names_the_same_event_for_ever",
            "histories/test_numbers.py::test_sources_whose_events_came_in_another_order_keep_their_numbers",
            "histories/test_numbers.py::test_a_rebuild_that_dies_keeps_every_number",
            "histories/test_numbers.py::test_what_is_forgotten_leaves_the_numbers_of_the_rest",
            "histories/test_numbers.py::test_a_deep_check_names_the_first_event_that_would_get_another_number",
            "histories/test_numbers.py::test_a_number_under_which_nothing_is_shown_says_why",
            "formats/test_first_stage_home.py::test_every_number_that_was_cited_names_the_same_event_after_a_rebuild",
        ),
    ),
    Requirement(
        "deterministic.rebuild",
        "What is derived anew from the archive is what was derived from the files.",
        ("ingest/test_sync.py::test_a_rebuild_from_the_archive_alone_gives_the_same_memory",),
    ),
    Requirement(
        "deterministic.nodes",
        "The same holds for nodes and digests.",
        (
            "promises/test_deterministic.py::test_nodes_and_digests_do_not_depend_on_cuts_slices_or_the_home",
            "promises/test_deterministic.py::test_a_rebuild_gives_the_same_nodes_and_when_they_were_recorded",
            "ingest/insights/test_distilling.py::test_in_whatever_pieces_it_came_the_nodes_are_the_same",
            "ingest/insights/test_distilling.py::test_a_rebuild_without_the_old_database_says_the_same",
            "ingest/insights/test_distilling.py::test_a_session_of_two_sources_has_one_order_whichever_came_first",
        ),
    ),
    Requirement(
        "deterministic.evidence",
        "Every node names the exact bytes that it was made of, and `verify` says where that does not hold.",
        (
            "promises/test_lossless.py::test_verify_names_a_node_whose_evidence_is_not_what_it_was",
            "ingest/insights/test_distilling.py::test_an_analysis_gives_decisions_with_episodes_and_evidence",
        ),
    ),
    Requirement(
        "deterministic.history",
        "What was decided stays: what is not given any more is revoked, not deleted, also through a rebuild.",
        (
            "ingest/insights/test_distilling.py::test_a_decision_whose_words_changed_is_revoked_and_not_deleted",
            "ingest/insights/test_distilling.py::test_a_rebuild_says_the_same_and_keeps_what_was_revoked_and_added",
            "recall/insights/test_decisions.py::test_what_was_known_at_a_time_is_what_had_been_taken_in_by_then",
        ),
    ),
    Requirement(
        "crash_safe.killed",
        "Killed at any instruction and run again, nothing is lost or doubled.",
        (
            "faults/test_kill.py::test_kill_9_at_random_moments_leaves_the_same_memory_in_the_end",
            "faults/test_kill.py::test_an_interrupted_sync_keeps_what_it_has_and_says_so",
            "ingest/test_bad_input.py::test_a_full_disk_is_said_in_one_line_and_nothing_stored_is_lost",
            "ingest/insights/test_distilling.py::test_killed_at_any_step_it_goes_on_and_comes_to_the_same",
        ),
    ),
    Requirement(
        "crash_safe.idempotent",
        "A step that has nothing to do writes nothing.",
        (
            "ingest/insights/test_distilling.py::test_the_same_run_twice_changes_nothing",
            "ingest/test_sync.py::test_a_second_sync_writes_nothing",
            "histories/test_histories.py::test_any_history_of_files_is_kept_and_told_once",
        ),
    ),
    Requirement(
        "crash_safe.together",
        "Two processes at once give one whole memory.",
        ("faults/test_kill.py::test_two_processes_ingesting_at_once_give_one_whole_memory",),
    ),
    Requirement(
        "out_of_the_way.read_only",
        "Nothing in an agent's folder is changed, made or removed.",
        ("promises/test_out_of_the_way.py::test_the_agents_folder_is_left_exactly_as_it_was",),
    ),
    Requirement(
        "out_of_the_way.allow_list",
        "Only names on the allow-list are opened, read-only; credential files beside them never.",
        (
            "promises/test_out_of_the_way.py::test_no_process_opens_a_credential_file_or_anything_for_writing",
            "promises/test_out_of_the_way.py::test_a_link_that_leads_out_of_the_agents_folder_is_not_followed",
        ),
    ),
    Requirement(
        "out_of_the_way.isolated",
        "Nothing in the working directory is executed, by no verb and by no registered command.",
        (
            "promises/test_isolated.py::test_no_worker_runs_code_of_the_folder_that_a_verb_is_called_in",
            "promises/test_isolated.py::test_no_other_verb_runs_code_of_the_folder_that_it_is_called_in",
            "promises/test_isolated.py::test_workers_obey_no_python_variable",
            "promises/test_isolated.py::test_every_registered_command_is_an_absolute_isolated_python",
            "promises/test_isolated.py::test_no_registered_command_runs_planted_code",
            "promises/test_isolated.py::test_a_planted_matplotlibrc_changes_no_plot",
            "promises/test_isolated.py::test_only_one_module_says_how_recollect_starts_itself",
            "promises/test_isolated.py::test_an_installation_of_one_user_is_found_though_isolated",
        ),
    ),
    Requirement(
        "out_of_the_way.hooks",
        "A hook always exits 0, prints only valid output, and takes a few milliseconds.",
        (
            "hook/test_processes.py::test_any_input_is_survived",
            "hook/test_answers.py::test_every_answer_is_valid",
        ),
    ),
    Requirement(
        "bounded.memory",
        "Memory does not grow with the size of a file.",
        (
            "promises/test_bounded.py::test_memory_does_not_grow_with_the_size_of_a_file",
            "ingest/test_bad_input.py::test_a_hundred_megabyte_line_is_archived_in_pieces_and_never_decoded",
        ),
    ),
    Requirement(
        "bounded.disk",
        "Disk is bounded by a budget.",
        (
            "erasure/retention/test_choosing.py::test_the_budget_takes_the_oldest_first_and_stops_in_time",
            "erasure/retention/test_order.py::test_the_oldest_go_first_in_whatever_order_they_came",
            "erasure/retention/test_sweeping.py::test_large_results_go_alone_where_that_is_enough",
        ),
    ),
    Requirement(
        "private.redacted",
        "No secret is in a file of the home, an answer, or an export other than raw.",
        (
            "promises/test_private.py::test_no_file_of_the_home_holds_a_secret",
            "promises/test_private.py::test_no_cell_of_the_database_holds_a_secret",
            "promises/test_private.py::test_no_verb_shows_a_secret",
            "promises/test_private.py::test_no_export_but_raw_holds_a_secret",
            "promises/test_private.py::test_no_digest_node_or_signal_holds_a_secret",
            "promises/test_private.py::test_what_follows_the_memory_shows_no_secret",
        ),
    ),
    Requirement(
        "private.raw",
        "The exact bytes, secrets included, are sealed and given back on demand.",
        ("promises/test_private.py::test_a_raw_export_gives_the_secrets_back",),
    ),
    Requirement(
        "private.own_files",
        "The home can be read by its owner only.",
        ("promises/test_private.py::test_the_home_is_private_to_its_owner",),
    ),
    Requirement(
        "private.no_network",
        "Nothing leaves the machine: no module that reaches a network is loaded.",
        ("promises/test_private.py::test_no_verb_reaches_for_a_network",),
    ),
    Requirement(
        "private.reveal",
        "Raw text is shown only by an explicit, logged `reveal`.",
        (
            "surfaces/privacy/test_reveal.py::test_everything_shown_is_logged_first_without_a_word_of_it",
            "surfaces/privacy/test_reveal.py::test_what_cannot_be_logged_is_not_shown",
        ),
    ),
    Requirement(
        "private.re_derived",
        "What an older version derived is derived anew when it improves.",
        ("ingest/test_sync.py::test_a_newer_parser_derives_what_is_stored_anew_from_the_archive",),
    ),
    Requirement(
        "honest.not_remembered",
        "What a command prints of the memory is not remembered again when an agent runs it.",
        (
            "promises/test_not_remembered.py::test_a_command_that_prints_the_memory_is_declared_and_known",
            "promises/test_not_remembered.py::test_what_is_declared_to_print_the_memory_does",
            "promises/test_not_remembered.py::test_every_way_is_of_a_command_that_is_there",
            "model/test_own.py::test_a_verb_that_recalls_is_known_in_every_spelling",
        ),
    ),
    Requirement(
        "honest.search",
        "A search says how it matched, and when it found nothing.",
        (
            "promises/test_honest.py::test_words_that_are_nowhere_are_said_to_be_nowhere",
            "promises/test_honest.py::test_an_answer_says_how_it_matched_and_how_many_there_are",
            "promises/test_honest.py::test_the_same_words_in_sessions_that_are_no_forks_are_hits_of_their_own",
        ),
    ),
    Requirement(
        "honest.who_said_it",
        "Only what the user or the assistant wrote becomes a preference or an action; the rest is quoted at most.",
        (
            "serve/mcp/poisoned/test_poisoned_learning.py::test_only_what_a_person_said_is_taken_as_wanted",
            "serve/mcp/poisoned/test_poisoned_learning.py::test_no_block_holds_an_order_of_a_stranger",
            "serve/mcp/poisoned/test_poisoned_learning.py::test_the_file_about_the_user_says_only_what_the_user_said",
            "serve/mcp/poisoned/test_poisoned_learning.py::test_what_an_agent_asks_for_over_mcp_is_quoted_history",
            "serve/mcp/poisoned/test_poisoned_learning.py::test_a_model_that_was_taken_in_teaches_nothing",
        ),
    ),
    Requirement(
        "honest.undone",
        "What a person went back from is told nowhere as if it held, is kept, and is marked where it is shown.",
        (
            "model/test_undone.py::test_any_nesting_of_rewinds_leaves_what_a_list_of_kept_events_leaves",
            "surfaces/undone/test_agents.py::test_the_branch_that_was_left_is_undone_and_the_rest_holds",
            "surfaces/undone/test_undone.py::test_a_context_tells_nothing_of_an_abandoned_branch",
            "surfaces/undone/test_undone.py::test_a_decision_of_an_abandoned_branch_is_undone_and_what_it_superseded_holds",
            "surfaces/undone/test_undone.py::test_undone_events_are_marked_wherever_they_are_shown",
            "surfaces/undone/test_undone.py::test_no_decision_of_an_abandoned_branch_is_bound",
        ),
    ),
    Requirement(
        "honest.forgotten",
        "What is told rests on no record that was forgotten, and on none of the user's words that they took back.",
        (
            "erasure/forget/test_resting.py::test_with_the_record_of_a_correction_goes_the_correction",
            "recall/context/test_taken_back.py::test_a_corrected_learning_takes_its_decision_along",
        ),
    ),
    Requirement(
        "private.not_learned",
        "Nothing is learned or decided from a sentence that tells a credential.",
        (
            "privacy/test_password_sentences.py::test_nothing_is_learned_or_decided_from_a_sentence_that_tells_a_credential",
        ),
    ),
    Requirement(
        "honest.histories",
        "Of forty known histories of six agents nothing false is stated, and what is so is stated.",
        (
            "truth/test_truth.py::test_nothing_is_stated_that_is_not_so",
            "truth/test_truth.py::test_what_is_so_is_stated",
            "truth/test_truth.py::test_nothing_of_one_repository_is_told_in_another",
        ),
    ),
    Requirement(
        "honest.what_was_said",
        "What is told as the user's makes sense by itself, was said by the user, and holds everywhere only where it was"
        " said so.",
        (
            "insights/learnings/extraction/test_spoken.py::test_what_makes_no_sense_by_itself_is_not_learned",
            "insights/learnings/extraction/test_spoken.py::test_others_words_and_mails_are_not_the_users",
            "insights/learnings/extraction/test_spoken.py::test_a_preference_holds_everywhere_only_where_it_is_said_so",
            "insights/languages/test_phrasings.py::test_what_is_turned_down_is_never_taken",
            "recall/context/test_learned.py"
            "::test_one_sentence_that_gave_a_learning_or_an_action_and_a_decision_is_told_once",
        ),
    ),
    Requirement(
        "honest.done",
        "An action ends when it is told done, and nothing else ends it; in other words it is the same one.",
        (
            "insights/learnings/test_closing.py"
            "::test_done_closes_the_action_that_it_names_however_it_was_put_and_no_other",
            "insights/learnings/test_settling.py::test_an_action_in_other_words_is_the_same_with_more_evidence",
            "insights/learnings/test_settling.py::test_another_action_stays_another_one",
        ),
    ),
    Requirement(
        "honest.health",
        "Every check of `doctor` can fail, and does when what it looks at is not well.",
        ("promises/test_honest.py::test_every_check_of_doctor_can_fail",),
    ),
    Requirement(
        "honest.json",
        "JSON has every field of its schema, also those at their default, and a list is never bare.",
        (
            "formats/test_output.py::test_json_of_any_result_has_every_field_of_its_schema",
            "formats/test_output.py::test_a_result_is_one_object_that_its_schema_describes",
            "formats/test_output.py::test_a_sink_is_given_every_field",
            "cli/test_list_verbs.py::test_of_every_command_is_said_whether_it_lists",
            "cli/test_list_verbs.py::test_every_verb_that_lists_gives_an_object_with_a_named_list",
            "cli/test_list_verbs.py::test_an_empty_memory_gives_the_same_shape",
        ),
    ),
    Requirement(
        "honest.names",
        "A question about a name that nobody knows is not answered with nothing found: the nearest is named.",
        (
            "cli/test_unknown_names.py::test_every_verb_names_the_repository_that_is_nearest",
            "cli/test_unknown_names.py::test_a_name_that_nobody_knows_is_a_wrong_request",
            "cli/test_unknown_names.py::test_the_repository_in_which_one_works_may_be_new",
            "cli/test_verbs.py::test_an_unknown_agent_is_an_error_that_names_the_nearest",
            "memory/test_known_names.py::test_a_query_with_a_name_that_nobody_knows_says_so_and_searches_nothing",
            "memory/test_known_names.py::test_every_question_of_the_library_names_the_nearest",
            "serve/mcp/test_answers.py::test_a_repository_that_nobody_knows_is_noted_where_the_query_names_it",
        ),
    ),
    Requirement(
        "honest.prices",
        "A cost without a known price is not printed, and the model is named.",
        ("promises/test_honest.py::test_a_model_without_a_price_has_no_cost_and_is_named",),
    ),
)
"""In the order of the promises; an id is `promise.requirement` and never changes its meaning."""

"""Which module has which probe, so that finding one imports no other: a plain table, held to the modules by a test."""

from __future__ import annotations

_PROBES = {
    "alike": "alike_writes",
    "applied": "forward_of_function made_function called_object function_class",
    "apart": "unpacked_shape unpacked_tensor",
    "asked_cuda": "asked_cuda cuda_places",
    "attributes": "misspelled named_at",
    "averaged": "averaged_entry",
    "backwards": "reversed_array",
    "births": (
        "birth spoilt_weights made_parameter minus_infinity root_of_divisor masked_rows bound_operand zero_start "
        "deviation"
    ),
    "buffers": "computed_buffer",
    "built": "built_at",
    "call": "call argument tensors local",
    "carried": (
        "carried second_call helper_calls second_helper_call retaining_call freeing_grad carried_place filled_once "
        "filled_line"
    ),
    "checkpoint": (
        "renamed_keys load_call loaded_state refused_global changed_sizes group_sizes freezing freezing_line "
        "wrong_state partial_load"
    ),
    "columns": "index_columns",
    "corners": "square_table corner_used number_set",
    "counts": "asked_count narrow_layer",
    "cuts": "cut all_cuts block_of grad_switch reentrant_checkpoint receiver bound_in",
    "data": "unpicklable unpicklable_handle missing_key key_span option_literal option_given",
    "defaults": "default_set",
    "decided": "decided_at first_of first_entry",
    "defaulted": "device_left_out",
    "depthwise": "depthwise_groups",
    "device": "misplaced in_place misplaced_layer holder creation meta_load call_of_root",
    "dropped": "dropped_samples loaders_collating",
    "early": "read_early backward_below loss_without_backward returned_gradients gradient_loop",
    "elsewhere": "left_behind own_move foreign_result unmoved_layer layer_call late_parameter device_near",
    "pieces": "cut_beside fed_whole gradients_of_pieces",
    "placed": "placed_apart",
    "empties": "empty_mean mask_of_mean ignored_labels",
    "entries": "missing_entry other_entry",
    "entered": "entered converted_layer behind_loss",
    "extents": "counted_far offset_bound offset_source",
    "exponentials": "exponentials_summed",
    "exhausted": "exhausted iterator_made counted_loop short_loader",
    "floors": "floored",
    "freezing": "frozen_model filtered_out plain_tensors first_tensor",
    "functions": "function_return function_gradient exchanged_gradients misplaced_gradient forward_start",
    "gradients": "untracked_input tracked_from tracked_line unused_input twin_used grad_call unused_place",
    "graph": (
        "backward_of unreduced graph_operand hidden_layers misspelt_init empty_grad "
        "held_by loss_place asked_gradient grad_place reduction_place"
    ),
    "held": "step_memory kept_graphs batch_size_place",
    "heads": "unused_head",
    "hooked": "inplace_layer inplace_layers inplace_all backward_hook model_call",
    "history": "shape_history",
    "indices": "out_of_range two_signs if_too_large size_along one_hot_range",
    "inference": "inference_block kept_result",
    "keyed": "keyed_rows",
    "kept_apart": "kept_for_one_device",
    "kept_tables": "kept_table",
    "keepers": "layer_on_copy",
    "iterators": "one_batch",
    "leaves": "computed_parameter backward_before",
    "listed": "ragged_list odd_entry tensor_list",
    "losses": "loss_made",
    "memory": "asked_bytes broadcast column huge_call repeated_view largest_index",
    "mapped": "mapped_location",
    "meeting": "meeting block_beside update_place",
    "module": "called_module module_input root_input",
    "misfits": "misfit_state restored_optimizer other_optimizers",
    "moved": "moved_away",
    "nested": "part_of_owner owner_of_part resized_positions load_receiver",
    "offsets": "ends_as_offsets",
    "optimizers": "foreign_groups optimizer_load",
    "optional_layers": "shifted_numbers optional_layers first_optional",
    "origin": "view_origin bound_at",
    "outputs": "shared_output",
    "packed": "packed packed_use packed_layer",
    "otherwise": "built_here built_when_saved first_saved",
    "parts": (
        "operand_at operand_of_kind written_operand negation index_too_large subscript dimension dimension_asked "
        "index_operand mask_operand loop_of"
    ),
    "patterns": "absent_name other_name",
    "powers": "power_before",
    "products": "own_product",
    "ranges": "not_positive logits_loss as_variance",
    "ratios": "shorter_side",
    "rates": "runaway_rate",
    "rebound": (
        "updates_by_hand update_by_hand last_updates computed_leaf cleared_before backward_above cleared_first"
    ),
    "recomputed": "foreign_draw changed_state",
    "reduced": "one_number number_of left_many",
    "remade": "remade_table table_save checkpoint_name only_evaluated",
    "renormed": "renormed renormed_kept renormed_weights renormed_layer max_norm_given",
    "resized": "resized_layer decided_size",
    "restored": "kept_reports kept_report state_as_model model_makers",
    "samples": "sample_return none_sample empty_list given_dataset",
    "rewound": "read_from_behind written_before",
    "saving": "saved_plainly",
    "schedules": "plateau_step",
    "shapes": "aligned_operand joined_tensors",
    "shares": "worker_share bound_to_nothing",
    "shifted": "left_range",
    "single": "one_column",
    "sizes": (
        "divisor hidden_state made_at attention_built attention_mask view_receiver einsum_letter forward_of "
        "stacked_tensors stacked_flat grouped_channels joined_rank"
    ),
    "sometimes": "key_added",
    "spent": "used_iterator used_at",
    "sparse": "made_dense",
    "splits": "split_lengths last_length",
    "states": "odd_operand made_together made_first",
    "stored": "stored_value made_once memoised",
    "subsets": "chosen_labels",
    "toplevel": "unguarded",
    "totals": "own_share addend",
    "turns": "losses_loop",
    "twice": "once_only first_once detached_state",
    "uncollated": "uncollated",
    "unpacking": "unpacked_keys miscounted_batch",
    "untensored": "untensored returnless",
    "ungraded": "missing_gradient comprehension_end loop_statement",
    "unentered": "unentered",
    "unkept_moves": "unkept_move unkept_moves",
    "unmoved": "unmoved_model unmoved_made unmoved_handed",
    "unscaled": "blown_weights unscaled first_layer",
    "updates": "optimizer_step early_update after_backward",
    "whole": "whole_leaf whole_input",
    "windows": "sliding_window last_batch samples_in_columns",
    "wrapped": "wrapped_name wrapped_at",
    "writes": "overwritten all_overwritten leaf_write crash_span part layer_place unbound_by",
    "zeros": "zero_number zero_made zero_given",
    "zipped": "zipped_keys",
}
#: The module of each probe by the probe's name.
HOMES = {name: module for module, names in _PROBES.items() for name in names.split()}

"""Which generators search for a family, in tiers: the surest first, those of one tier equally likely. Data only."""

from __future__ import annotations

#: Generators that try numbers which are near; they are no second edit behind another.
GUESSES = ("literals.neighbours", "literals.swapped_sizes")
#: A row is a tier; `sizes.arriving` is the function `arriving` of `search_sizes.py`. The first row's generators speak
#: only where one thing can be meant.
_SHAPE = (
    "squeezed.as_before chosen.other_key chosen.entries replaced.with_norm agreed.one_setting single.batch_of_one"
    " layers.channels_last densities.summed crossed.crossed sizes.named_norm padding.fallen_short state.batch_second"
    " kept.reset begun.with_layers heads.widths"
    " broadcast.with_ones growing.windowed classes.absent packed.full_length padding.grouped sliced.sliced_alike"
    " broadcast.reduced_too axis.expanded broadcast.turned"
    " directions.both_ends numbered.one_hot_map numbered.many_hot loops.paired"
    " joined.enlarged branches.strides_too axis.repeated masks.extended masks.per_head masks.as_padding"
    " cached.over_cached state.by_channel state.by_factor"
    " directions.last_layer unused.unused unused.unlike_siblings growing.short_windows growing.filled"
    " loops.first_apart ordered.for_all colours.without_alpha colours.as_colours"
    " helpers.given_as_built companions.cut_too beside.left_too lengthened.shortened"
    " leftover.fitting_side spread.over_places spread.in_all sums.with_left_out terms.left_out"
    " terms.left_out_of_copy upstream.undone special.room_left measured.within_cut"
    " ctc.strided reflected.long_enough views.other_view views.each_with_other"
    " per_sample.in_all_alike wrappers.own_size unpadded.with_padding self_loops.weighted_too",
    "omitted.given_size leftover.last_kernel spread.each_with_each spread.table_for"
    " view.surplus crossed.exchanged kept.remade alike.given_alike alike.picked_too"
    " alike.picked_after layout.structural"
    " einsum.relettered joined.caught_up cropped.cropped cropped.assigned batch.reshaped batch.resized_view"
    " batch.created batch.own_sizes shared.counted_from_rest ordered.computed_early ordered.alike_words"
    " state.batch_taken directions.directions directions.asked backwards.from_other_end"
    " order.unpacked order.created"
    " apart.one_state apart.entries apart.ranks clips.folded thinner.with_dimension axis.joined_along"
    " axis.joined_otherwise upstream.sizes upstream.unindexed",
    "sizes.named_out sizes.rounded counted.one_more counted.one_too_many sizes.advanced sizes.arriving",
    "upstream.untransposed upstream.dimensions layout.inserted loops.carried loops.counted_up padding.strided"
    " literals.one_off literals.in_text literals.of_data",
    "padding.padded sizes.factored batch.left_out",
    "joined.resized sizes.expected sizes.own_layers sizes.passed_down index.dimensions",
    "layout.swapped",
    "literals.neighbours",
    "literals.swapped_sizes",
)
_DTYPE = (
    "crossed.crossed dtype.loaded order.taken promoted.as_given",
    "samples.cast_samples dtype.structural back.there_and_back",
    "converted.converted dtype.casts",
    "dtype.other_casts layout.swapped",
)
TIERS = {
    "shape": _SHAPE,
    "view": (
        "crossed.crossed",
        "view.copied view.as_dtype view.pairs_together view.windows headers.longer_header",
        *_SHAPE,
    ),
    "dtype": _DTYPE,
    "unsupported": _DTYPE,
    "amp": _DTYPE,
    "index": (
        "squeezed.as_before squeezed.of_dimension_asked crossed.crossed growing.windowed folded.unfolded"
        " folded.divided_alike"
        " classes.of_part companions.cut_too beside.left_too renumbered.among_kept"
        " beside.renumbered_too ordered.computed_early offsets.from_start accumulated.counted_rows ids.centred"
        " empties.with_columns"
        " spread.gathered special.room_left counted.from_zero_already ids.padded"
        " signs.as_classes measured.within_cut most.one_of_several",
        "most.lowered most.capped ranges.from_zero ranges.drawn_from_zero ranges.counted_down counted.of_indexed"
        " dtype.as_index rows.exchanged rows.turned rows.largest settings.whole index.drawn classes.coded",
        "samples.shortened samples.counted_from_one ids.renumbered ids.lengths_less topk.filled_up",
        "index.dimensions axis.joined_otherwise ids.other_size index.made index.lengths index.shifted index.ignored"
        " rows.whole_range rows.more_rows",
        "index.shifted_ids index.ranged index.terms",
        "index.inlined",
        "index.enlarged index.lengthened",
        *_SHAPE[2:],
    ),
    "device": (
        "late.moved_first",
        "holders.built_late device.moved_layer device.beside device.nested device.together",
        "holders.handed holders.attributes",
        "device.created",
        "device.used",
        "device.pinned",
    ),
    "oom": (
        "repeats.sizes_as_counts ranks.ranked lesser.sampled levels.coarser unconverted.by_unused_step"
        " logged.as_logarithms",
        "pairs.unfolded pairs.batch_first pairs.aligned pairs.distances counts.sparse counts.scaled pooled.pooled",
        "counts.numbered pairs.row_by_row bytes.flipped",
        "counts.largest counts.factors levels.larger_patches levels.longer_steps",
        "counts.fewer",
        "units.in_other_units",
        "units.in_unit_of_cells",
    ),
    "dataloader": (
        "samplers.as_batches samplers.as_single samplers.plain_indices samplers.plain_key datasets.counted_alike"
        " datasets.measured datasets.named datasets.as_tensors datasets.detached parts.all_parts"
        " parallel.named_alike companions.cut_too beside.left_too parallel.filtered_too parallel.rows_first"
        " settings.as_fractions files.below collate.as_beside",
        "transforms.cropped transforms.channels transforms.filled collate.padded_lists parallel.behind_window"
        " parallel.taken_in_order",
        "files.suffixed drawn.filled_up",
        "samples.shortened collate.present collate.plain_parts layout.structural loading.of_subset loading.per_sample"
        " calls.as_iterator",
        "transforms.resized collate.kept",
    ),
    "api": (
        "squeezed.as_before samplers.plain_key parts.stacked",
        "calls.built_first calls.together calls.unpacked settings.as_number settings.as_share settings.as_fractions"
        " steps.stepped_twice steps.with_optimizer steps.rounded_up steps.epochs_alike",
        "loading.per_sample calls.uncalled calls.as_iterator calls.parameters_of settings.whole steps.total_steps",
        "calls.given_target",
    ),
    "checkpoint": (
        "saved.with_buffers saved.folder_made saved.saved_key saved.method_called saved.saved_path"
        " ordered.loaded_otherwise",
        "loading.plain_values loading.imported loading.fitting loading.known loading.entry",
        "loading.allowed",
        "loading.trusting",
    ),
}

"""Which generators search for a family, in tiers: the surest first, those of one tier equally likely. Data only."""

from __future__ import annotations

#: Generators that try numbers which are near; they are no second edit behind another.
GUESSES = ("literals.neighbours", "literals.swapped_sizes")
#: A row is a tier; `sizes.arriving` is the function `arriving` of `search_sizes.py`. The first row's generators speak
#: only where one thing can be meant.
_SHAPE = (
    "squeezed.as_before crossed.crossed sizes.named_norm padding.fallen_short state.batch_second broadcast.with_ones"
    " broadcast.reduced_too broadcast.turned axis.expanded loops.first_apart upstream.undone",
    "crossed.exchanged apart.entries layout.structural einsum.relettered cropped.cropped batch.reshaped"
    " batch.resized_view batch.created batch.own_sizes spread.table_for ordered.computed_early order.unpacked"
    " order.created axis.joined_along axis.joined_otherwise upstream.sizes upstream.unindexed",
    "sizes.named_out sizes.rounded counted.one_more counted.one_too_many sizes.advanced sizes.arriving",
    "upstream.untransposed upstream.dimensions layout.inserted loops.carried padding.strided literals.one_off",
    "padding.padded sizes.factored batch.left_out",
    "joined.resized sizes.expected sizes.own_layers sizes.passed_down index.dimensions",
    "layout.swapped",
    "literals.neighbours",
    "literals.swapped_sizes",
)
_DTYPE = (
    "crossed.crossed dtype.loaded order.taken",
    "samples.cast_samples dtype.structural back.there_and_back",
    "converted.converted dtype.casts",
    "dtype.other_casts layout.swapped",
)
TIERS = {
    "shape": _SHAPE,
    "view": ("crossed.crossed", "view.copied view.as_dtype view.pairs_together view.windows", *_SHAPE),
    "dtype": _DTYPE,
    "unsupported": _DTYPE,
    "amp": _DTYPE,
    "index": (
        "squeezed.as_before crossed.crossed ordered.computed_early",
        "counted.of_indexed dtype.as_index rows.exchanged rows.largest settings.whole index.drawn",
        "samples.shortened samples.counted_from_one",
        "index.dimensions axis.joined_otherwise index.made index.lengths index.shifted index.ignored rows.whole_range"
        " rows.more_rows",
        "index.shifted_ids index.ranged index.terms",
        "index.inlined",
        "index.enlarged index.lengthened",
        *_SHAPE[2:],
    ),
    "device": (
        "device.moved_layer device.beside device.nested device.together",
        "holders.handed holders.attributes",
        "device.created",
        "device.used",
        "device.pinned",
    ),
    "oom": (
        "pairs.unfolded pairs.batch_first pairs.aligned pairs.distances counts.sparse counts.scaled",
        "counts.numbered pairs.row_by_row",
        "counts.largest counts.factors",
        "counts.fewer",
    ),
    "dataloader": (
        "datasets.counted_alike datasets.measured datasets.named datasets.as_tensors datasets.detached parts.all_parts"
        " settings.as_fractions",
        "collate.padded_lists",
        "samples.shortened collate.present collate.plain_parts layout.structural loading.of_subset loading.per_sample"
        " calls.as_iterator",
        "collate.kept",
    ),
    "api": (
        "squeezed.as_before parts.stacked",
        "calls.built_first calls.together calls.unpacked settings.as_number settings.as_share settings.as_fractions",
        "loading.per_sample calls.uncalled calls.as_iterator calls.parameters_of settings.whole",
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

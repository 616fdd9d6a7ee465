"""Which generators search for a family, in tiers: the surest first, those of one tier equally likely. Data only."""

from __future__ import annotations

#: Generators that try numbers which are near; they are no second edit behind another.
GUESSES = ("literals.swapped_sizes",)
#: A row is a tier; `sizes.arriving` is `arriving` of `sizes.py` beside it. The first row's generators speak
#: only where one thing can be meant.
_SHAPE = (
    "crossed.crossed sizes.named_norm padding.fallen_short upstream.undone",
    "crossed.exchanged apart.entries layout.structural batch.reshaped batch.resized_view batch.created"
    " ordered.computed_early axis.joined_otherwise joined.caught_up",
    "sizes.named_out sizes.rounded counted.one_more counted.one_too_many sizes.advanced sizes.arriving",
    "upstream.untransposed upstream.dimensions layout.inserted padding.strided literals.one_off",
    "padding.padded sizes.factored batch.left_out",
    "sizes.expected sizes.own_layers sizes.passed_down",
    "layout.swapped",
    "literals.swapped_sizes",
)
_DTYPE = (
    "crossed.crossed dtype.loaded",
    "samples.cast_samples dtype.structural",
    "converted.converted dtype.casts",
    "dtype.other_casts layout.swapped",
)
TIERS = {
    "shape": _SHAPE,
    "view": ("crossed.crossed", "view.copied view.windows", *_SHAPE),
    "dtype": _DTYPE,
    "unsupported": _DTYPE,
    "amp": _DTYPE,
    "index": (
        "crossed.crossed ordered.computed_early signs.as_classes",
        "dtype.as_index",
        "samples.shortened samples.counted_from_one",
        "axis.joined_otherwise index.made index.lengths index.shifted index.ignored",
        "index.shifted_ids index.ranged",
        "index.inlined",
        "index.enlarged",
        *_SHAPE[2:],
    ),
    "device": (
        "device.moved_layer device.beside device.nested device.together",
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
        "datasets.counted_alike datasets.measured datasets.named datasets.as_tensors datasets.detached"
        " parallel.filtered_too",
        "collate.padded_lists",
        "samples.shortened collate.present collate.plain_parts layout.structural loading.of_subset loading.per_sample"
        " calls.as_iterator",
        "collate.kept",
    ),
    "api": (
        "calls.built_first calls.together calls.unpacked",
        "loading.per_sample calls.uncalled calls.as_iterator calls.parameters_of",
        "calls.given_target",
    ),
    "checkpoint": (
        "saved.with_buffers saved.folder_made saved.saved_key saved.method_called saved.saved_path",
        "loading.plain_values loading.imported loading.fitting loading.known loading.entry",
        "loading.allowed",
        "loading.trusting",
    ),
}

"""Which generators search for a family, in tiers: the surest first, those of one tier equally likely. Data only."""

from __future__ import annotations

#: A row is a tier; `sizes.arriving` is `arriving` of `sizes.py` beside it. The first row's generators speak
#: only where one thing can be meant.
_SHAPE = (
    "crossed.crossed upstream.undone",
    "crossed.exchanged apart.entries layout.structural batch.reshaped batch.resized_view batch.created"
    " ordered.computed_early axis.joined_otherwise joined.caught_up",
    "sizes.named_out counted.one_more counted.one_too_many sizes.advanced sizes.arriving",
    "upstream.untransposed upstream.dimensions layout.inserted literals.one_off",
    "padding.padded batch.left_out",
    "sizes.expected sizes.own_layers",
    "layout.swapped",
)
_DTYPE = (
    "crossed.crossed",
    "dtype.structural",
    "converted.converted dtype.casts",
    "layout.swapped",
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
        "axis.joined_otherwise index.made index.lengths index.shifted",
        "index.ranged",
        "index.enlarged",
        *_SHAPE[2:],
    ),
    "device": (
        "device.moved_layer device.nested device.together",
        "device.created",
    ),
    "oom": (
        "pairs.unfolded pairs.distances counts.sparse",
        "counts.numbered pairs.row_by_row",
        "counts.largest counts.factors",
    ),
    "dataloader": (
        "datasets.counted_alike datasets.measured datasets.named datasets.as_tensors",
        "collate.padded_lists",
        "collate.plain_parts layout.structural loading.of_subset loading.per_sample",
        "collate.kept",
    ),
    "api": (
        "calls.built_first calls.together calls.unpacked",
        "loading.per_sample calls.uncalled",
    ),
    "checkpoint": (
        "saved.with_buffers saved.folder_made saved.saved_key saved.method_called saved.saved_path",
        "loading.plain_values loading.fitting loading.entry",
    ),
}

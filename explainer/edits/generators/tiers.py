"""Which generators search for a family, in tiers: the surest first, those of one tier equally likely. Data only."""

from __future__ import annotations

#: A row is a tier; `sizes.arriving` is `arriving` of `sizes.py` beside it. The first row's generators speak only where
#: one thing can be meant.
_SHAPE = (
    "crossed.crossed upstream.undone",
    "crossed.exchanged layout.structural batch.reshaped batch.resized_view batch.created ordered.computed_early"
    " axis.joined_otherwise",
    "sizes.rounded counted.one_more counted.one_too_many sizes.advanced sizes.arriving",
    "upstream.untransposed upstream.dimensions layout.inserted padding.strided literals.one_off",
    "padding.padded sizes.factored batch.left_out",
)
_DTYPE = (
    "crossed.crossed",
    "dtype.structural",
    "converted.converted dtype.casts",
    "dtype.other_casts",
)
TIERS = {
    "shape": _SHAPE,
    "view": ("crossed.crossed", "view.copied", *_SHAPE),
    "dtype": _DTYPE,
    "unsupported": _DTYPE,
    "amp": _DTYPE,
    "index": (
        "crossed.crossed ordered.computed_early",
        "axis.joined_otherwise index.lengths index.ignored",
        *_SHAPE[2:],
    ),
    "device": (
        "device.moved_layer device.beside device.nested device.together",
        "device.created",
        "device.used",
        "device.pinned",
    ),
    "dataloader": (
        "collate.padded_lists",
        "collate.present layout.structural",
    ),
}

"""The kinds of atomic edits, a file each: every one is a function from a place of the slice to what it offers there."""

from __future__ import annotations

from explainer.repair.atoms import (
    arguments,
    calls,
    graphs,
    indices,
    keys,
    layout,
    literals,
    names,
    patterns,
    projection,
    reductions,
    sizes,
    slices,
    statements,
    unused,
    values,
)
from explainer.repair.offer import Atom

#: Every atom by its name.
ATOMS: dict[str, Atom] = {
    "literal": literals.literal,
    "dimension": literals.dimension,
    "name": names.name,
    "size": names.size,
    "measure": names.measure,
    "swap": arguments.swap,
    "drop": arguments.drop,
    "keyword": arguments.keyword,
    "element": arguments.element,
    "call": calls.call,
    "operator": calls.operator,
    "division": calls.division,
    "unwrap": calls.unwrap,
    "key": keys.key,
    "slice": slices.slice_,
    "pattern": patterns.pattern,
    "sizes": sizes.sizes,
    "layout": layout.layout,
    "projection": projection.projection,
    "index": indices.index,
    "value": values.value,
    "statement": statements.statement,
    "order": statements.order,
    "detach": graphs.detach,
    "clone": graphs.clone,
    "cut": slices.cut,
    "uncalled": unused.uncalled,
    "parameter": unused.parameter,
    "unpacked": unused.unpacked,
    "reduction": reductions.reduction,
}

"""A rule's `edit:` entry made into candidates: the closed set of kinds, each by its name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from explainer.diagnosis import Edit, Span
from explainer.edits.candidate import Candidate
from explainer.edits.imports import with_imports
from explainer.edits.lines import EditError, shown
from explainer.edits.place import Place, place_of

#: Every kind of edit that a rule may name, and the function that makes it, as `module.function` below
#: `edits/kinds`: one is imported when a rule asks for it. Values that are places (`at`, `call`, `before`, `after`) name
#: facts.
KINDS = {
    "set-argument": "arguments.set_argument",
    "swap-arguments": "arguments.swap_arguments",
    "drop-argument": "arguments.drop_argument",
    "replace": "arguments.replace",
    "replace-literal": "arguments.replace",
    "insert-method": "methods.insert_method",
    "insert-methods": "methods.insert_methods",
    "cast": "methods.insert_method",
    "cast-all": "methods.insert_methods",
    "delete-method": "methods.delete_method",
    "wrap-call": "methods.wrap_call",
    "replace-call": "methods.replace_call",
    "replace-operator": "operators.replace_operator",
    "take-rows-first": "rows_first.take_rows_first",
    "exchange-operands": "products.exchange_operands",
    "subtract-least": "products.subtract_least",
    "replace-divisors": "products.replace_divisors",
    "out-of-place": "inplace.out_of_place",
    "all-out-of-place": "inplace.all_out_of_place",
    "recompute-after": "inplace.recompute_after",
    "recompute-detached": "recompute.recompute_detached",
    "list-of-slices": "unbound.list_of_slices",
    "copy-reads": "unbound.copy_reads",
    "feed-pieces": "unbound.feed_pieces",
    "ask-whole": "unbound.ask_whole",
    "wrap-block": "inplace.wrap_block",
    "wrap-blocks": "inplace.wrap_blocks",
    "update-in-place": "updates.update_in_place",
    "split-loop": "updates.split_loop",
    "make-leaves": "updates.make_leaves",
    "sum-backwards": "graphs.sum_backwards",
    "sum-arguments": "graphs.sum_arguments",
    "backward-of-share": "graphs.backward_of_share",
    "compute-inside": "graphs.compute_inside",
    "compute-where-read": "recompute.compute_where_read",
    "detach-after": "graphs.detach_after",
    "detach-value": "graphs.detach_value",
    "soft-prediction": "graphs.soft_prediction",
    "without-call": "graphs.without_call",
    "uncut": "graphs.uncut",
    "as-tensor": "numbers.as_tensor",
    "reduce-with-torch": "numbers.reduce_with_torch",
    "drop-decorator": "graphs.drop_decorator",
    "rename-method": "graphs.rename_method",
    "rename-attribute": "graphs.rename_attribute",
    "zip-gradients": "gradients.zip_gradients",
    "as-backward": "gradients.as_backward",
    "shape-gradient": "functions.shape_gradient",
    "sum-over": "functions.sum_over",
    "keep-on-context": "contexts.keep_on_context",
    "static-function": "statics.static_function",
    "log-domain": "logdomain.log_domain",
    "guard-all": "guards.guard_all",
    "log-sum": "logdomain.log_sum",
    "numpy-to-torch": "arrays.numpy_to_torch",
    "as-dtype": "dtypes.as_dtype",
    "only-if": "methods.only_if",
    "insert-statement": "statements.insert_statement",
    "surround-statement": "statements.surround_statement",
    "append-to-body": "statements.append_to_body",
    "delete-statement": "statements.delete_statement",
    "move-statement": "statements.move_statement",
    "move-after-loop": "statements.move_after_loop",
    "move-to-caller": "statements.move_to_caller",
    "unwrap-block": "statements.unwrap_block",
    "register-buffer": "statements.register_buffer",
    "register-buffers": "statements.register_buffers",
    "module-list": "statements.module_list",
    "module-lists": "statements.module_lists",
    "parameters": "statements.parameters",
    "wrap-rest": "statements.wrap_rest",
    "load-all-but": "loading.load_all_but",
    "load-changed": "loading.load_changed",
    "give-device": "devices.give_device",
    "keep-moved": "keeping.keep_moved",
    "key-with-device": "keyed.key_with_device",
    "test-with-device": "keyed.asked_with_device",
    "choose-device": "choosing.choose_device",
    "always-add": "restoring.always_add",
    "save-table": "tables.save_table",
    "build-as": "restoring.build_as",
    "load-apart": "restoring.load_apart",
    "order-groups": "grouping.order_groups",
    "in-model-order": "grouping.in_model_order",
    "build-and-load": "restoring.build_and_load",
    "hoist-lambda": "hoist.hoist_lambda",
    "only-with-workers": "loading.only_with_workers",
    "hoist-function": "hoist.hoist_function",
    "collate-present": "samples.collate_present",
    "return-sample": "samples.return_sample",
    "fill-key": "filling.fill_key",
    "keep-values": "keeping.keep_values",
    "group-norms": "layers.group_norms",
    "leave-unmoved": "stays.leave_unmoved",
    "only-present": "present.only_present",
    "renumber": "renumbering.renumber",
    "open-lazily": "samples.open_lazily",
    "restart-iterator": "batches.restart_iterator",
    "read-keys": "batches.read_keys",
    "first-output": "layers.first_output",
    "float-only": "averaged.float_only",
    "keep-sparse": "kept_sparse.keep_sparse",
    "build-where-used": "where_used.build_where_used",
}
#: The kinds that compute behind a statement what was computed before it: where that was, or is read, is to blame.
AGAIN = ("recompute-after", "recompute-detached")
PLACES = ("at", "call", "block", "before", "after", "kept")
#: The value that names several places which one edit touches together.
EACH = "each"


def candidates(scene: Any, spec: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[Candidate]:
    """The candidates of one `edit:` entry, its values rendered; none where a place is missing or the edit cannot be.

    A fact that is a tuple of facts stands for each of them in turn; all edits of a `with`-less spec touch one file.
    """
    for one in _spread(spec, facts):
        made = _made(scene, one)
        if made is not None:
            yield made


def edit(scene: Any, kind: str, **values: Any) -> tuple[Edit, ...]:
    """One edit by its kind; the places are facts, spans or places. EditError where it cannot be made."""
    if kind not in KINDS:
        raise EditError(f"no kind of edit is called {kind!r}; known: {', '.join(sorted(KINDS))}")
    given = {name: value for name, value in values.items() if value is not None}
    ready: dict[str, Any] = {name: place_of(scene.source, v) if name in PLACES else v for name, v in given.items()}
    if EACH in ready:
        ready[EACH] = tuple(place_of(scene.source, one) for one in ready[EACH])
    make = maker(kind)
    first = next(iter(inspect.signature(make).parameters))
    if first in ("at", "call"):  # a rule may call the place of a call either
        ready = {first if name in ("at", "call") else name: v for name, v in ready.items()}
    return make(**ready)


def maker(kind: str) -> Callable[..., tuple[Edit, ...]]:
    """The function that makes edits of a kind."""
    module, function = KINDS[kind].split(".")
    made: Callable[..., tuple[Edit, ...]] = getattr(
        importlib.import_module(f"explainer.edits.kinds.{module}"), function
    )
    return made


def _made(scene: Any, spec: Mapping[str, Any]) -> Candidate | None:
    values = {name: value for name, value in spec.items() if name not in ("kind", "title", "fix", "culprit")}
    try:
        edits = edit(scene, str(spec["kind"]), **values)
        first = _first(scene, values)
        edits = with_imports(first.source, edits)
        culprit = place_of(scene.source, spec["culprit"]).span if spec.get("culprit") else _blamed(spec, first, edits)
    except (EditError, TypeError, LookupError):
        return None
    return Candidate(edits, str(spec["kind"]), str(spec.get("title", "")), culprit, spec.get("fix"))


def _blamed(spec: Mapping[str, Any], first: Place, edits: tuple[Edit, ...]) -> Span:
    """What an edit is about; of one that computes something again behind that, what it takes away or changes."""
    if spec["kind"] not in AGAIN:
        return first.span
    taken = [edit for edit in edits if edit.after is None]
    behind = [edit for edit in edits if edit.before is not None and edit.start_line > first.span.line]
    put = any(edit.before is None for edit in edits)
    moved = taken if taken and put else behind if behind and len(edits) == 1 else []
    statement = first.source.statement_at(moved[0].start_line) if moved else None
    same = moved and moved[0].file == shown(first.source.file)
    return first.source.span(statement) if statement is not None and same else first.span


def _first(scene: Any, values: Mapping[str, Any]) -> Place:
    """The place that an edit is about: the first that its values name."""
    places = [values[name] for name in PLACES if values.get(name) is not None]
    return place_of(scene.source, [*places, *values.get(EACH, ())][0])


def _spread(spec: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The spec with the names of facts replaced by the facts."""
    ready = {
        name: facts.get(value, value) if name in (*PLACES, EACH, "culprit") and isinstance(value, str) else value
        for name, value in spec.items()
    }
    many = next((name for name in PLACES if isinstance(ready.get(name), tuple)), None)
    if many is None:
        yield ready
        return
    for fact in ready[many]:
        yield {**ready, many: fact}

"""Values out of range, losses that are not finite, samples and checkpoints that do not fit."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutations.inplace import insertion
from mutations.layout import calls, is_torch
from mutations.mutant import Change
from mutations.programs import Program, Source
from mutations.sizes import layers
from mutations.uses import chain, scope, statement

INDEX = ("index", "shape", "device-assert")
SAMPLE = ("dataloader", "shape", "dtype", "index")
SAVED = ("checkpoint",)
NAN = ("nan",)
LABELS = ("label", "target", "ids", "index", "rows", "mask", "source", "user", "item", "edges", "letter")


def shifted(program: Program, source: Source) -> Iterator[Change]:
    """Labels or indices one or more too high or too low, in the line after they were made."""
    for node in ast.walk(source.tree):
        targets = node.targets if isinstance(node, ast.Assign) else ()
        for target in targets:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                text = source.code(name)
                if isinstance(name, (ast.Name, ast.Attribute)) and any(word in text for word in LABELS):
                    for change in (" + 1", " - 1", " * 3"):
                        yield insertion(
                            source,
                            node.end_lineno,
                            node.lineno,
                            f"{text} = {text}{change}",
                            "shifted",
                            (*INDEX, "dtype"),
                        )


def subscripts(program: Program, source: Source) -> Iterator[Change]:
    """`x[:, -1]` becomes `x[:, 99]`, `x.shape[1]` `x.shape[5]`; one index more than dimensions."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Subscript):
            continue
        for one in ast.walk(node.slice):
            if isinstance(one, ast.Constant) and type(one.value) is int and one.lineno == node.lineno:
                start, end = source.span(one)
                for number in (str(one.value + 7), "99", f"{one.value}, 0, 0, 0"):
                    yield Change("subscript", (*INDEX, "api"), f"{one.value} became {number}", start, end, number)


def longer(program: Program, source: Source) -> Iterator[Change]:
    """`range(n)` becomes `range(n + 1)`, `len(x)` `len(x) + 1`, `arange(n)` `arange(n + 1)`."""
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Call)
            and node.args
            and source.code(node.func) in ("range", "len", "torch.arange", "torch.randperm")
        ):
            start, end = source.span(node.args[-1])
            if source.code(node.func) == "len":
                start, end = source.span(node)
            text = f"{source.code(node) if source.code(node.func) == 'len' else source.code(node.args[-1])} + 1"
            yield Change("longer", (*INDEX, "dataloader", "view"), text, start, end, text)


def unguarded(program: Program, source: Source) -> Iterator[Change]:
    """A clamp, an `+ eps` or a maximum left out: not finite under anomaly mode."""
    for call in calls(source, ("clamp", "clamp_min", "maximum")):
        inner = call.args[0] if is_torch(call.func.value) else call.func.value  # type: ignore[attr-defined]
        yield Change(
            "unguarded",
            NAN,
            "clamp dropped",
            *source.span(call),
            source.code(inner),
            chain(program, source, call),
            True,
        )
    for node in ast.walk(source.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            small = (
                isinstance(node.right, ast.Constant) and isinstance(node.right.value, float) and node.right.value < 0.01
            )
            if small or "eps" in source.code(node.right):
                yield Change(
                    "unguarded",
                    NAN,
                    "eps dropped",
                    *source.span(node),
                    source.code(node.left),
                    chain(program, source, node),
                    True,
                )


def samples(program: Program, source: Source) -> Iterator[Change]:
    """A dataset whose samples have different lengths, types or none; a collate function left out."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__getitem__":
            yield from _returned(program, source, node)
            yield from _too_long(source, node)
        elif isinstance(node, ast.keyword) and node.arg == "collate_fn":
            start, end = source.span(node)
            also = {
                (one.name, fun.lineno)
                for one in program.sources
                for fun in ast.walk(one.tree)
                if isinstance(fun, ast.FunctionDef) and fun.name == "__getitem__"
            }
            yield Change(
                "sample",
                SAMPLE,
                "collate_fn dropped",
                source.text.rindex(",", 0, start),
                end,
                "",
                frozenset(also),
                True,
            )


def _returned(program: Program, source: Source, node: ast.FunctionDef) -> Iterator[Change]:
    number = node.args.args[-1].arg
    for own in [one for one in ast.walk(node) if isinstance(one, ast.Return) and isinstance(one.value, ast.Tuple)]:
        for one in own.value.elts:  # type: ignore[union-attr]
            start, end = source.span(one)
            code = source.code(one)
            texts = (
                f"{code}[: 2 + {number} % 3]",
                f"None if {number} % 4 == 3 else {code}",
                f"str({code})",
                f"{code}.double()",
                f"{{{code}}}",
                f"{code}[None]",
            )
            for text in texts:
                yield Change("sample", SAMPLE, text, start, end, text, chain(program, source, one))
        last = source.span(own.value.elts[-1])  # type: ignore[union-attr]
        yield Change(
            "sample", (*SAMPLE, "api"), "last element dropped", source.span(own.value.elts[-2])[1], last[1], ""
        )  # type: ignore[union-attr]


def _too_long(source: Source, node: ast.FunctionDef) -> Iterator[Change]:
    siblings = node.parent.body if isinstance(node.parent, ast.ClassDef) else []  # type: ignore[attr-defined]
    for other in [one for one in siblings if isinstance(one, ast.FunctionDef) and one.name == "__len__"]:
        own = other.body[0]
        if isinstance(own, ast.Return) and own.value is not None:
            end = source.span(own.value)[1]
            yield Change("longer", (*INDEX, "dataloader"), "length + 1", end, end, " + 1")


def saved(program: Program, source: Source) -> Iterator[Change]:
    """Keys with a prefix or of a renamed layer, a layer of another size, a checkpoint that is not the state dict."""
    for call in calls(source, ("state_dict",)):
        code = source.code(call)
        model = source.code(call.func.value)  # type: ignore[attr-defined]
        if "optim" in model:
            continue
        loads = frozenset(
            (one.name, other.lineno) for one in program.sources for other in calls(one, ("load_state_dict",))
        )
        texts = (
            f'{{f"module.{{key}}": value for key, value in {code}.items()}}',
            f"nn.DataParallel({model}).state_dict()",
            f'{{"state_dict": {code}}}',
            f"{{key[1:]: value for key, value in {code}.items()}}",
            f'{{key: value for key, value in {code}.items() if "bias" not in key}}',
            f"list({model}.parameters())",
            f"{{key: value[:1] for key, value in {code}.items()}}",
        )
        for text in texts:
            yield Change("saved", (*SAVED, "shape"), text, *source.span(call), text, loads)
    for call in calls(source, ("load_state_dict",)):
        owner = call.func.value  # type: ignore[attr-defined]
        code = source.code(owner)
        own = statement(call)
        yield from _layers_after(source, own, code)


def _layers_after(source: Source, own: ast.stmt, model: str) -> Iterator[Change]:
    """A layer added to the model, or one replaced by a larger one, before it is loaded into."""
    also = frozenset({(source.name, own.lineno)})
    text = f'{model}.add_module("extra", torch.nn.Linear(4, 2))'
    change = insertion(source, own.lineno - 1, own.lineno, text, "saved", SAVED)
    yield Change(change.kind, change.family, change.what, change.start, change.end, change.text, also)


def renamed(program: Program, source: Source) -> Iterator[Change]:
    """An attribute that holds a layer renamed in its class: what was saved under the old name is not found."""
    if not any(next(calls(one, ("load_state_dict",)), None) for one in program.sources):
        return
    for call in layers(source):
        own = statement(call)
        around = scope(call)
        if not (
            isinstance(own, ast.Assign)
            and isinstance(own.targets[0], ast.Attribute)
            and isinstance(around, ast.FunctionDef)
        ):
            continue
        owner = around.parent  # type: ignore[attr-defined]
        start, end = source.span(owner)
        name = own.targets[0].attr
        text = source.text[start:end].replace(f"self.{name}", f"self.{name}_new")
        loads = frozenset(
            (one.name, other.lineno) for one in program.sources for other in calls(one, ("load_state_dict",))
        )
        lines = {
            (source.name, one.lineno) for one in ast.walk(owner) if isinstance(one, ast.Attribute) and one.attr == name
        }
        yield Change("renamed", SAVED, f"{name} renamed", start, end, text, loads | lines)


def broadcast(program: Program, source: Source) -> Iterator[Change]:
    """A large vector against a large column: (N, N) is more than there is."""
    for call in calls(source, ("squeeze", "unsqueeze", "flatten", "view", "reshape")):
        if "large" in program.name:
            inner = call.func.value  # type: ignore[attr-defined]
            yield Change(
                "broadcast",
                ("oom", "shape"),
                "shapes broadcast",
                *source.span(call),
                source.code(inner),
                chain(program, source, call),
                True,
            )

"""Candidates in a dataset's class for what the loader asks of it: a length, samples by number, plain values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lines import indentation, inserted
from explainer.edits.place import Place, bound_above
from explainer.source import Source, stored, walked

_LENGTH = "{indent}def __len__(self):\n{indent}    return {count}\n"


def counted_alike(evidence: Evidence) -> Iterator[Candidate]:
    """`len(self.files)` -> `len(self.kept)` in `__len__`, for the list in which `__getitem__` looks up its index."""
    if "out of range" not in evidence.message and "out of bounds" not in evidence.message:
        return
    for source, owner in _datasets(evidence):
        length, read = _method(owner, "__len__"), _read_by_index(owner)
        for node in walked(length) if length is not None else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "len" and node.args:
                place = Place(source, node.args[0])
                for name in (one for one in read if one != place.text):
                    yield from evidence.replaced(place, name, "replace", "rename", new=name, old=place.text)


def deeper(evidence: Evidence) -> Iterator[Candidate]:
    """`root.glob("*.pt")` -> `root.rglob("*.pt")`, where no sample was found: the files may lie in folders below."""
    if "num_samples=0" not in evidence.message:
        return
    for source, owner in _datasets(evidence):
        for node in walked(owner):
            if isinstance(node, ast.Call) and source.text(node.func).endswith(".glob") and len(node.args) == 1:
                place, new = Place(source, node), _below(source, node)
                if new:
                    yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text)


def _below(source: Source, node: ast.Call) -> str:
    """A search through a folder as one through all folders below it, too; empty where it is none by a plain pattern."""
    pattern, owner = node.args[0], source.text(node.func).removesuffix(".glob")
    if owner != "glob":
        return f"{owner}.rglob({source.text(pattern)})"
    joins = isinstance(pattern, ast.Call) and source.text(pattern.func).endswith("path.join")
    if not joins or not isinstance(pattern, ast.Call) or len(pattern.args) < 2:
        return ""
    parts = [source.text(one) for one in pattern.args]
    return f'glob.glob({source.text(pattern.func)}({", ".join(parts[:-1])}, "**", {parts[-1]}), recursive=True)'


def measured(evidence: Evidence) -> Iterator[Candidate]:
    """A `__len__` for a dataset without one, and `len(...)` around what it returns where that is no number."""
    for source, owner in _datasets(evidence):
        length = _method(owner, "__len__")
        if length is None and f"'{owner.name}' has no len()" in evidence.message.replace(" object", ""):
            yield from _length_added(evidence, source, owner)
        for node in walked(length) if length is not None and "interpreted as an integer" in evidence.message else ():
            if isinstance(node, ast.Return) and node.value is not None:
                place = Place(source, node.value)
                yield from evidence.replaced(place, f"len({place.text})", "replace", "length", new=f"len({place.text})")
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                place = Place(source, node)
                new = f"{source.text(node.left)} // {source.text(node.right)}"
                yield from evidence.replaced(place, new, "replace", "length", new=new)


def _length_added(evidence: Evidence, source: Source, owner: ast.ClassDef) -> Iterator[Candidate]:
    getter = _method(owner, "__getitem__") or _method(owner, "__iter__")
    if getter is None:
        return
    line = min([getter.lineno, *(one.lineno for one in getter.decorator_list)])
    counts = [f"len({name})" for name in _read_by_index(owner)] or _ranges(getter)
    for count in counts[:2]:
        text = _LENGTH.format(indent=indentation(source, line), count=count)
        edits = partial(inserted, source, line, text)
        yield from evidence.made(edits, "insert-statement", Place(source, owner), "length", new=f"return {count}")


def _ranges(function: ast.FunctionDef) -> list[str]:
    """What the loops of an `__iter__` count to: `self.n` of `range(self.n)`, `len(self.rows)` of `self.rows`."""
    loops = [one.iter for one in walked(function) if isinstance(one, ast.For)]
    found = []
    for one in loops:
        if isinstance(one, ast.Call) and ast.unparse(one.func) == "range" and len(one.args) == 1:
            found.append(ast.unparse(one.args[0]))
        elif isinstance(one, ast.Attribute):
            found.append(f"len({ast.unparse(one)})")
    return [one for one in found if "self." in one]


def named(evidence: Evidence) -> Iterator[Candidate]:
    """`def __getitem(self, i)` -> `def __getitem__(self, i)`, where the method that is wanted has almost that name."""
    found = re.search(r"should implement (__\w+__)", evidence.message)
    for source, owner in _datasets(evidence) if found is not None else ():
        for method in owner.body:
            if found is not None and isinstance(method, ast.FunctionDef) and _alike(method.name, found[1]):
                place = Place(source, method)
                text = source.text(method)
                new = text.replace(f"def {method.name}", f"def {found[1]}", 1)
                yield from evidence.replaced(place, new, "replace", "rename", new=found[1], old=method.name)


def _alike(name: str, wanted: str) -> bool:
    plain = name.replace("_", "").lower()
    return name != wanted and plain in (wanted.strip("_"), f"{wanted.strip('_')}s", wanted.strip("_")[:-1])


def as_tensors(evidence: Evidence) -> Iterator[Candidate]:
    """`TensorDataset(x, y)` -> `TensorDataset(torch.as_tensor(x), torch.as_tensor(y))` for arrays and lists."""
    if "is not callable" not in evidence.message and "has no attribute 'size'" not in evidence.message:
        return
    place = evidence.frames[-1].place if evidence.frames else None
    for node in walked(place.node) if place is not None else ():
        if place is not None and isinstance(node, ast.Call) and ast.unparse(node.func).endswith("TensorDataset"):
            texts = [place.source.text(one) for one in node.args]
            made = [one if one.startswith("torch.") else f"torch.as_tensor({one})" for one in texts]
            new = f"{place.source.text(node.func)}({', '.join(made)})"
            yield from evidence.replaced(place.at(node), new, "replace", "as-tensors", place.at(node), new=made[0])


def present(evidence: Evidence) -> Iterator[Candidate]:
    """A sample without the entries that are None: `"weight": w[i] if w is not None else None` for all of a dataset."""
    for source, owner in _datasets(evidence) if "NoneType" in evidence.message else ():
        read = _method(owner, "__getitem__")
        rows = [one.value for one in walked(read) if isinstance(one, ast.Return)] if read is not None else []
        for row in (one for one in rows if isinstance(one, ast.Dict)):
            missing = [one for one in (_given(source, value) for value in row.values) if _may_be_none(one)]
            new = f"{{key: value for key, value in {source.text(row)}.items() if value is not None}}"
            if len(missing) == 1:
                what, culprit = source.text(missing[0])[:48], Place(source, missing[0])
                yield from evidence.replaced(Place(source, row), new, "replace", "present", culprit=culprit, what=what)


def _given(source: Source, value: ast.expr) -> ast.expr:
    """What an entry's name was given above in its function, or the entry itself."""
    name = value.id if isinstance(value, ast.Name) else ""
    bound = bound_above(source.scope_at(value.lineno), name, value.lineno) if name else None
    return bound.value if isinstance(bound, ast.Assign) and len(stored(bound)) == 1 else value


def _may_be_none(value: ast.expr) -> bool:
    results = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    return any(isinstance(one, ast.Constant) and one.value is None for one in results)


def _datasets(evidence: Evidence) -> Iterator[tuple[Source, ast.ClassDef]]:
    """The classes of the program that give samples."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.ClassDef):
                based = any("Dataset" in ast.unparse(base) for base in node.bases)
                if based or _method(node, "__getitem__") is not None:
                    yield source, node


def _method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == name), None)


def _read_by_index(owner: ast.ClassDef) -> list[str]:
    """The attributes that `__getitem__` subscripts by its parameter: `self.rows` of `self.rows[index]`."""
    getter = _method(owner, "__getitem__")
    given = getter.args.args[1].arg if getter is not None and len(getter.args.args) > 1 else None
    found: dict[str, None] = {}
    for node in walked(getter) if getter is not None and given is not None else ():
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            parts = node.slice.elts[:1] if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(getattr(one, "id", None) == given for one in parts):
                found.setdefault(ast.unparse(node.value))
    return list(found)

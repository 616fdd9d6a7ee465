"""Candidates for loading: what a checkpoint should hold, which classes it may name, what a sampler is built for."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.diagnosis import Edit
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.kinds.arguments import set_argument
from explainer.edits.kinds.statements import insert_statement
from explainer.edits.lines import inserted
from explainer.edits.place import Place
from explainer.patterns import Pattern
from explainer.source import Source

_MISSING = Pattern(r"Can't get attribute '(\w+)' on <module '([\w.]+)'")
_REFUSED = Pattern(r"GLOBAL ([\w.]+) was not an allowed global|Unsupported (?:global|class):? (?:GLOBAL )?([\w.]+)")
#: What a numpy scalar or array is rebuilt from; the classes of its dtype are named besides.
_NUMPY = ("dtype", "dtypes.Float64DType", "dtypes.Float32DType", "dtypes.Int64DType", "dtypes.BoolDType")
_FILES = 60


def plain_values(evidence: Evidence) -> Iterator[Candidate]:
    """`"score": score` -> `"score": float(score)` in what is saved, where numpy's values are refused by the load."""
    if "numpy" not in evidence.message:
        return
    for source in evidence.sources_seen():
        for value in _saved_values(source):
            text = source.text(value)
            for new in (f"float({text})", f"[float(value) for value in {text}]", f"{text}.tolist()"):
                yield from evidence.replaced(Place(source, value), new, "replace", "plain", new=new, what=text[:48])


def _saved_values(source: Source) -> Iterator[ast.expr]:
    """The entries, other than state dicts and literals, of the dicts that a file saves."""
    for node in source.nodes():
        if isinstance(node, ast.Call) and source.text(node.func) == "torch.save" and node.args:
            for value in _entries(source, node.args[0], node.lineno):
                if not isinstance(value, ast.Constant) and "state_dict" not in source.text(value):
                    yield value


def _entries(source: Source, node: ast.expr, line: int) -> list[ast.expr]:
    if isinstance(node, ast.Dict):
        return node.values
    if isinstance(node, ast.Call) and source.text(node.func) == "dict":
        return [word.value for word in node.keywords]
    function = source.scope_at(line)
    if isinstance(node, ast.Name) and function is not None:
        made = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and _is(source, one, node.id)]
        return [value for one in made[:1] for value in _entries(source, one.value, -1)] if line > 0 else []
    return []


def _is(source: Source, statement: ast.Assign, name: str) -> bool:
    return source.text(statement.targets[0]) == name


def fitting(evidence: Evidence) -> Iterator[Candidate]:
    """Only the entries whose sizes are the model's, for a load with `strict=False`: that excuses keys, not sizes."""
    place = evidence.frames[-1].place if evidence.frames and "size mismatch for" in evidence.message else None
    node = place.node if place is not None else None
    if place is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return
    lenient = any(word.arg == "strict" and getattr(word.value, "value", True) is False for word in node.keywords)
    if node.func.attr == "load_state_dict" and lenient:
        model, state = place.source.text(node.func.value), place.source.text(node.args[0])
        own = f"{model}.state_dict()"
        kept = f"{{key: value for key, value in {state}.items() if key in {own} and value.shape == {own}[key].shape}}"
        yield from evidence.replaced(place.at(node.args[0]), kept, "replace", "fitting", place)


def known(evidence: Evidence) -> Iterator[Candidate]:
    """Only the entries that the model has, where nothing is missing: a head that only training needs is left out."""
    place = evidence.frames[-1].place if evidence.frames and "Unexpected key(s)" in evidence.message else None
    node = place.node if place is not None else None
    if place is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return
    lost = re.search(r"Unexpected key\(s\) in state_dict: \"(\w+)", evidence.message)
    if lost is not None and (lost[1].isdigit() or _of_model(evidence, lost[1])):  # the model has such a part
        return
    if node.func.attr == "load_state_dict" and "Missing key(s)" not in evidence.message:
        own, state = f"{place.source.text(node.func.value)}.state_dict()", place.source.text(node.args[0])
        kept = f"{{key: value for key, value in {state}.items() if key in {own}}}"
        yield from evidence.replaced(place.at(node.args[0]), kept, "replace", "known", place)


def _of_model(evidence: Evidence, name: str) -> bool:
    """Whether the model's class, or in a list or dict another class, assigns an attribute of a name."""
    owner = re.search(r"loading state_dict for (\w+)", evidence.message)
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == f"self.{name}":
                own = source.class_at(node.lineno)
                listed = isinstance(node.value, (ast.List, ast.ListComp, ast.Dict, ast.DictComp))
                if listed or (owner is not None and own is not None and own.name == owner[1]):
                    return True
    return False


def entry(evidence: Evidence) -> Iterator[Candidate]:
    """`optimizer.load_state_dict(checkpoint)` -> `checkpoint["optimizer"]`, by the keys that the program saves."""
    place = evidence.frames[-1].place if evidence.frames else None
    node = place.node if place is not None else None
    if place is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return
    if node.func.attr != "load_state_dict" or not isinstance(node.args[0], ast.Name):
        return
    for key in dict.fromkeys(key for source in evidence.sources_seen() for key in saved_keys(source)):
        new = f'{node.args[0].id}["{key}"]'
        yield from evidence.replaced(place.at(node.args[0]), new, "replace", "rename", new=new, old=node.args[0].id)


def saved_keys(source: Source) -> Iterator[str]:
    """The keys under which a file saves something of an optimizer."""
    for node in source.nodes():
        if isinstance(node, ast.Dict) and any("state_dict()" in source.text(value) for value in node.values):
            yield from (str(key.value) for key in node.keys if isinstance(key, ast.Constant))


def per_sample(evidence: Evidence) -> Iterator[Candidate]:
    """Weights of classes given to a sampler as a weight for each sample: `weights` -> `weights[labels]`."""
    if "cannot sample" not in evidence.message:
        return
    for call in _calls(evidence, "WeightedRandomSampler"):
        node: Any = call.node
        counts = [one.args[0] for one in ast.walk(node) if isinstance(one, ast.Call) and _is_len(one)]
        for labels in counts if node.args else ():
            new = f"{call.source.text(node.args[0])}[{call.source.text(labels)}]"
            yield from evidence.replaced(call.at(node.args[0]), new, "replace", "rename", new=new, old=call.text[:48])
        edits = partial(set_argument, call, "replacement", True)
        yield from evidence.made(edits, "set-argument", call, "flag", new="replacement=True", layer="the sampler")


def _is_len(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1


def _calls(evidence: Evidence, name: str) -> Iterator[Place]:
    """The program's calls of a function or class by its last name."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Call) and source.text(node.func).rpartition(".")[2] == name:
                yield Place(source, node)


def allowed(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.serialization.add_safe_globals([...])` before the load, for all that the file is known to name."""
    found, load = _REFUSED.search(evidence.message), _load(evidence)
    if found is None or load is None:
        return
    full = found[1] or found[2]
    module = full.rpartition(".")[0]
    names = [full, *(f"numpy.{one}" for one in _NUMPY)] if module.startswith("numpy") else [full]
    if full.endswith("_reconstruct"):
        names.insert(1, "numpy.ndarray")
    if module in ("__main__", "builtins", ""):
        return
    text = f"import {module.split('.')[0] if module.startswith('numpy') else module}\n"
    text += f"torch.serialization.add_safe_globals([{', '.join(names)}])"
    edits = partial(insert_statement, text, before=load)
    yield from evidence.made(edits, "insert-statement", load, "allow", what=full)


def trusting(evidence: Evidence) -> Iterator[Candidate]:
    """`weights_only=False`, for a file that the program itself has written."""
    load = _load(evidence)
    saves = any("torch.save(" in "\n".join(source.lines) for source in evidence.sources_seen())
    if load is not None and saves and _REFUSED.search(evidence.message):
        edits = partial(set_argument, load, "weights_only", False)
        yield from evidence.made(edits, "set-argument", load, "trust")


def _load(evidence: Evidence) -> Place | None:
    """The program's call of `torch.load` that failed."""
    place = evidence.frames[-1].place if evidence.frames else None
    if place is None:
        return None
    calls = [node for node in ast.walk(place.node) if isinstance(node, ast.Call)]
    loads = [node for node in calls if place.source.text(node.func).rpartition(".")[2] == "load"]
    return place.at(loads[0]) if loads else None


def imported(evidence: Evidence) -> Iterator[Candidate]:
    """The import of a class, of the program's own, where a pickle looks for it: in the script that is `__main__`."""
    found, load = _MISSING.search(evidence.message), _load(evidence)
    if found is None or load is None or not evidence.frames:
        return
    name, module = found.groups()
    script = evidence.frames[0].place.source
    wanted = script if module == "__main__" else evidence.sources(_file_of(evidence, module))
    for home in _homes(evidence, name):
        if wanted is not None and home.file != wanted.file:
            below = os.path.relpath(os.path.realpath(home.file), os.path.realpath(evidence.folder))
            text = f"from {below[:-3].replace(os.sep, '.')} import {name}"
            yield from evidence.made(partial(_import, wanted, text), "insert-statement", load, "import", new=text)


def _file_of(evidence: Evidence, module: str) -> str:
    return os.path.join(evidence.folder, *module.split(".")) + ".py"


def _homes(evidence: Evidence, name: str) -> Iterator[Source]:
    """The files of the program that define a class of a name."""
    paths = (os.path.join(folder, one) for folder, _, files in os.walk(evidence.folder) for one in files)
    for path in sorted(one for one, _ in zip(paths, range(50 * _FILES), strict=False) if one.endswith(".py"))[:_FILES]:
        source = evidence.sources(path)
        if source is not None and any(isinstance(node, ast.ClassDef) and node.name == name for node in source.nodes()):
            yield source


def _import(source: Source, text: str) -> tuple[Edit, ...]:
    body = getattr(source.tree, "body", [])
    last = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return inserted(source, (last[-1].end_lineno or 0) + 1 if last else 1, text)


def of_subset(evidence: Evidence) -> Iterator[Candidate]:
    """A sampler built for the subset that the loader reads, not for the whole set: `labels[train.indices]`."""
    if "index out of range" not in evidence.message:
        return
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Call) and source.text(node.func).endswith("DataLoader") and node.args:
                sampler = next((word.value for word in node.keywords if word.arg in ("sampler", "batch_sampler")), None)
                if sampler is not None:
                    yield from _sampled(evidence, Place(source, node), sampler)


def _sampled(evidence: Evidence, loader: Place, sampler: ast.expr) -> Iterator[Candidate]:
    source, node = loader.source, loader.node
    data = source.text(node.args[0])  # type: ignore[union-attr]
    for made in _made(loader, sampler):
        for given in [*made.args, *(word.value for word in made.keywords)]:
            text = source.text(given)
            for new in _restricted(text, data, given):
                yield from evidence.replaced(loader.at(given), new, "replace", "subset", new=new, data=data)
    for subset in _made(loader, node.args[0]):  # type: ignore[union-attr]
        if source.text(subset.func).endswith("Subset") and subset.args:
            whole = source.text(subset.args[0])
            words: dict[str, Any] = {"new": whole, "old": data}
            first = loader.at(node.args[0])  # type: ignore[union-attr]
            yield from evidence.replaced(first, whole, "replace", "rename", loader, **words)


def _restricted(text: str, data: str, given: ast.expr) -> list[str]:
    """An argument of a sampler, or of what builds one, for the samples of a subset alone."""
    if not isinstance(given, (ast.Name, ast.Attribute)):
        return [f"len({data})"] if text.startswith("len(") else []
    return [f"{text}[{data}.indices]", f"[{text}[index] for index in {data}.indices]", data]


def _made(loader: Place, value: ast.expr) -> list[ast.Call]:
    """The call that made a value: itself, or what its name is assigned in the same function, and the calls inside."""
    source = loader.source
    if isinstance(value, ast.Name):
        function = source.scope_at(loader.span.line)
        assigned = [one for one in ast.walk(function) if isinstance(one, ast.Assign)] if function else []
        found = [one.value for one in assigned if _is(source, one, value.id)]
    else:
        found = [value]
    return [node for one in found[-1:] for node in ast.walk(one) if isinstance(node, ast.Call)]

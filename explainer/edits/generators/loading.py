"""Candidates for loading: what a checkpoint should hold and a load should take, what a sampler is built for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.bindings import arguments_of, only_value
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.kinds.arguments import add_argument, set_argument
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.source import Source, called, walked

#: What a loader is not given beside a sampler of batches (torch/utils/data/dataloader.py).
_NOT_BESIDE = ("sampler", "batch_size", "shuffle", "drop_last")


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
        made = [one for one in walked(function) if isinstance(one, ast.Assign) and _is(source, one, node.id)]
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
        counts = [one.args[0] for one in walked(node) if isinstance(one, ast.Call) and _is_len(one)]
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
        yield from _of_part(evidence, loader.at(made), data)
        for inner, part in _in_function(evidence, loader.at(made), data):
            yield from _of_part(evidence, inner, part)
    for subset in _made(loader, node.args[0]):  # type: ignore[union-attr]
        if source.text(subset.func).endswith("Subset") and subset.args:
            whole = source.text(subset.args[0])
            words: dict[str, Any] = {"new": whole, "old": data}
            first = loader.at(node.args[0])  # type: ignore[union-attr]
            yield from evidence.replaced(first, whole, "replace", "rename", loader, **words)


def _of_part(evidence: Evidence, made: Place, data: str) -> Iterator[Candidate]:
    """What builds a sampler given the samples of a subset alone, argument by argument, and what makes an argument."""
    call: Any = made.node
    scope = made.source.scope_at(made.span.line)
    for given in [*call.args, *(word.value for word in call.keywords)]:
        maker = only_value(scope, given.id) if isinstance(given, ast.Name) else None
        if isinstance(maker, ast.Call) and "Sampler" in made.text:
            yield from _of_part(evidence, made.at(maker), data)
        for new in _restricted(made.source.text(given), data, given):
            yield from evidence.replaced(made.at(given), new, "replace", "subset", new=new, data=data)


def _in_function(evidence: Evidence, made: Place, data: str) -> Iterator[tuple[Place, str]]:
    """The samplers that a function of the program's makes, with the name under which it knows the subset."""
    call: Any = made.node
    for place in evidence.defined(called(call)):
        if isinstance(place.node, ast.FunctionDef):
            given = arguments_of(call, [one.arg for one in place.node.args.args])
            names = [name for name, value in given.items() if made.source.text(value) == data]
            calls = [one for one in walked(place.node) if isinstance(one, ast.Call)]
            samplers = [one for one in calls if place.source.text(one.func).endswith("Sampler")]
            yield from ((place.at(one), name) for one in samplers for name in names[:1])


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
        assigned = [one for one in walked(function) if isinstance(one, ast.Assign)] if function else []
        found = [one.value for one in assigned if _is(source, one, value.id)]
    else:
        found = [value]
    return [node for one in found[-1:] for node in walked(one) if isinstance(node, ast.Call)]


#: What draws random numbers with a generator of its own, or is one, unless it is given another.
_DRAWING = ("DataLoader", "RandomSampler", "WeightedRandomSampler", "random_split")


def drawn_there(evidence: Evidence) -> Iterator[Candidate]:
    """`DataLoader(...)` -> `generator=torch.Generator(device="cuda")`, where the default device is not the CPU."""
    found = re.match(r"Expected a '(\w+)' device type for generator but found 'cpu'", evidence.message)
    if found is None or found[1] == "cpu":
        return
    device = f'device="{found[1]}"'
    for name, new in (("Generator", device), *((one, f"generator=torch.Generator({device})") for one in _DRAWING)):
        for place in _calls(evidence, name):
            given: Any = place.node
            if not any(word.arg in (new.partition("=")[0], None) for word in given.keywords):
                edits = partial(add_argument, place, new)
                yield from evidence.made(edits, "add-argument", place, "flag", new=new, layer=name)


#: What goes with worker processes, as it is without them.
_WITHOUT = {"num_workers": "0", "persistent_workers": "False", "prefetch_factor": "None"}


def in_batches(evidence: Evidence) -> Iterator[Candidate]:
    """`sampler=s` -> `batch_sampler=s`, without what that excludes, where a dataset is asked for a list of samples."""
    if "indices must be integers or slices, not list" not in evidence.message:
        return
    for place in _calls(evidence, "DataLoader"):
        given: Any = place.node
        words = {word.arg: word for word in given.keywords}
        if "sampler" in words:
            rest = [word for word in given.keywords if word.arg not in _NOT_BESIDE]
            kept = [*map(place.source.text, given.args[:1]), *map(place.source.text, rest)]
            kept.insert(1 if given.args else 0, f"batch_sampler={place.source.text(words['sampler'].value)}")
            new = f"{place.source.text(given.func)}({', '.join(kept)})"
            yield from evidence.replaced(place, new, "replace", "flag", new="batch_sampler", layer="DataLoader")


def in_this_process(evidence: Evidence) -> Iterator[Candidate]:
    """`num_workers=4` -> `num_workers=0`, where the samples are made on a GPU, which a forked worker cannot use."""
    if "CUDA in forked subprocess" not in evidence.message:
        return
    for place in _calls(evidence, "DataLoader"):
        given: Any = place.node
        words = {word.arg: word.value for word in given.keywords if word.arg in _WITHOUT}
        if "num_workers" in words:
            changes = [(place.at(value).span, _WITHOUT[name]) for name, value in words.items()]
            edits = partial(changed, place.source, changes)
            yield from evidence.made(edits, "replace", place, "flag", new="num_workers=0", layer="DataLoader")

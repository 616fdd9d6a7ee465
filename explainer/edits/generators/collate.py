"""Candidates for samples that do not go into a batch: a collate function put before the loader that needs it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from explainer.diagnosis import Edit
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.expressions import last_cut
from explainer.edits.generators.joined import functional
from explainer.edits.generators.samples import of_parts, parts_returned
from explainer.edits.generators.slices import channels, parting
from explainer.edits.kinds.arguments import add_argument
from explainer.edits.kinds.samples import with_collate
from explainer.edits.lines import EditError
from explainer.edits.place import Place
from explainer.edits.plain_values import plain, refused
from explainer.source import called

_PADDED = '''def collate_padded(batch):
    """Pads the first item of every sample to the longest of the batch."""
    first, *others = zip(*batch)
    padded = torch.nn.utils.rnn.pad_sequence(first, batch_first=True)
    return padded, *(torch.utils.data.default_collate(list(other)) for other in others)


'''


def _by_parts(name: str, says: str, rest: str, rows: str = "(list, tuple)") -> str:
    """The source of a collate function that goes through dicts and tuples part by part, and then does the `rest`."""
    return f'''def {name}(batch):
    """{says}"""
    first = batch[0]
    if isinstance(first, dict):
        return {{key: {name}([sample[key] for sample in batch]) for key in first}}
    if isinstance(first, {rows}):
        return [{name}(list(part)) for part in zip(*batch)]
{rest}'''


_PADDED_PARTS = _by_parts(
    "collate_padded",
    "Pads the tensors of every sample with zeros to the largest of the batch; dicts and tuples part by part.",
    """\
    if not isinstance(first, torch.Tensor):
        return torch.utils.data.default_collate(batch)
    padded = first.new_zeros(len(batch), *map(max, zip(*(one.shape for one in batch))))
    for row, one in zip(padded, batch):
        row[tuple(slice(size) for size in one.shape)] = one
    return padded
""",
)
_PADDED_LISTS = _by_parts(
    "collate_padded",
    "Makes tensors of lists of numbers and pads them to the longest of the batch; dicts and tuples part by part.",
    """\
    if isinstance(first, list):
        return torch.nn.utils.rnn.pad_sequence([torch.tensor(one) for one in batch], batch_first=True)
    return torch.utils.data.default_collate(batch)
""",
    rows="tuple",
)
_KEPT = _by_parts(
    "collate_kept",
    "Collates as by default, and keeps in a list what cannot be stacked.",
    """\
    if isinstance(first, (torch.Tensor, int, float)) or type(first).__module__ == "numpy":
        return torch.utils.data.default_collate(batch)
    return batch
""",
)
_RAGGED = _by_parts(
    "collate_kept",
    "Stacks what has one size in all samples, and keeps in a list what has not.",
    """\
    if isinstance(first, torch.Tensor) and any(one.shape != first.shape for one in batch):
        return batch
    return torch.utils.data.default_collate(batch)
""",
)


def plain_parts(evidence: Evidence) -> Iterator[Candidate]:
    """A part of what `__getitem__` returns made a plain value, where a worker said which class it could not collate."""
    kind = refused(evidence.message) if "collate" in evidence.message else ""
    for place in parts_returned(evidence) if kind else ():
        new = plain(kind, place.text)
        if new:
            yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text)


def kept(evidence: Evidence) -> Iterator[Candidate]:
    """A `collate_fn` that keeps what the default one refuses in a list."""
    if refused(evidence.message) not in ("", "NoneType") and "collate" in evidence.message:
        yield from _with_function(evidence, _KEPT, "kept-objects")


def collated(evidence: Evidence) -> Iterator[Candidate]:
    """A `collate_fn` for every DataLoader that has none, where samples are of different sizes from the start.

    A program that runs with lists of them means lists: no other takes them.
    """
    crash = evidence.crash
    if crash is None or crash.function != "stack" or parting(evidence) is not None or channels(evidence) is not None:
        return
    yield from _in_lists(evidence)
    yield from _with_function(evidence, _RAGGED, "kept-objects")
    if not _at_the_end(crash):
        yield from _with_function(evidence, _PADDED, "collate")
    yield from _with_function(evidence, _PADDED_PARTS, "collate")


def _in_lists(evidence: Evidence) -> Iterator[Candidate]:
    """`collate_fn=lambda batch: tuple(zip(*batch))`: each part of the samples in a tuple of its own.

    Of a sample that is one tensor, or a dict, `zip` would take the entries, or the keys.
    """
    for call in _loaders(evidence) if of_parts(evidence) else ():
        edits = partial(add_argument, call, "collate_fn=lambda batch: tuple(zip(*batch))")
        yield from evidence.made(edits, "set-argument", call, "kept-objects")


def filled(evidence: Evidence) -> Iterator[Candidate]:
    """`wav[..., :n]` -> the same, filled up with zeros to `n`: what is cut to a size may be shorter than that."""
    step = parting(evidence)
    place = step.place if step is not None else None
    size = _cut_to(place.node, len(step.shape)) if place is not None and step is not None else None
    if place is None or size is None:
        return
    owner = place.source.text(place.node.value)  # type: ignore[union-attr]
    missing = f"max(0, {place.source.text(size)} - {owner}.size(-1))"
    new = f"{functional(place)}.pad({place.text}, (0, {missing}))"
    yield from evidence.replaced(place, new, "replace", "pad-to", what=place.text, other=place.source.text(size))


def _cut_to(node: ast.AST, rank: int) -> ast.expr | None:
    """`n` of `x[..., :n]`, which cuts the last dimension alone; None of other expressions."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, (ast.Name, ast.Attribute)):
        return None
    cut = last_cut(node, rank)
    return cut.upper if cut is not None and cut.lower is None and cut.step is None else None


def _at_the_end(crash: Step) -> bool:
    """Whether samples differ in their last size alone, as spectrograms of recordings do, and not in the first."""
    shapes = {tuple(shape) for shape, _ in crash.before}
    return len({shape[:-1] for shape in shapes}) == 1 and min(map(len, shapes)) > 1


def padded_lists(evidence: Evidence) -> Iterator[Candidate]:
    """A `collate_fn` for samples that hold lists of numbers of different lengths."""
    if "each element in list of batch" in evidence.message:
        yield from _with_function(evidence, _PADDED_LISTS, "collate")


def _with_function(evidence: Evidence, text: str, title: str) -> Iterator[Candidate]:
    for call in _loaders(evidence):
        yield from evidence.made(partial(_edits, call, text), "set-argument", call, title)


def _loaders(evidence: Evidence) -> Iterator[Place]:
    """The calls that make a loader and give it no `collate_fn`."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            loader = isinstance(node, ast.Call) and called(node) == "DataLoader"
            if loader and not any(word.arg == "collate_fn" for word in node.keywords):  # type: ignore[attr-defined]
                yield Place(source, node)  # type: ignore[arg-type]


def _edits(call: Place, function: str) -> tuple[Edit, ...]:
    if not _imports_torch(call.source.tree):
        raise EditError("the file does not import torch")
    return with_collate(call, function)


def _imports_torch(tree: ast.Module | None) -> bool:
    imports = [node for node in tree.body if isinstance(node, ast.Import)] if tree is not None else []
    return any(name.name.split(".")[0] == "torch" and name.asname is None for node in imports for name in node.names)

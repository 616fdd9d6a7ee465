"""A recording of the failing program, read for the search: steps, layers and calls with the source they stand in."""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from explainer.bindings import fields_of
from explainer.diagnosis import Edit, Span
from explainer.edits import words
from explainer.edits.candidate import Candidate
from explainer.edits.imports import with_imports
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place
from explainer.frozen import frozen, mutable
from explainer.source import Source, called

Tree = list[Any]
#: Which dimension a message is about, which is no size.
_DIMENSION = re.compile(r"\bdim(?:ension)?(?:=| )\d+")


def _numbers(message: str) -> list[int]:
    return list(dict.fromkeys(map(int, re.findall(r"(?<![A-Za-z_])\d+|(?<=\dx)\d+", message))))


@frozen
class Call:
    """A call in the user's code on the way to a layer's construction, with the integers and tensors in scope there."""

    place: Place
    scope: Mapping[str, Any]
    function: str

    def shape(self, text: str) -> list[int]:
        """The shape of the tensor that a name or an attribute holds there; empty where it holds none."""
        value = self.scope.get(text)
        return value[0] if isinstance(value, list) and value and isinstance(value[0], list) else []


@frozen
class Layer:
    """A layer: its type, the integers it was built from with their trees, the calls that led there, innermost first.

    `parameters` are the names of its constructor's, in order, without `self`.
    """

    type: str
    numbers: Mapping[str, Sequence[Tree]]
    calls: tuple[Call, ...]
    own: bool
    parameters: tuple[str, ...] = ()

    def value(self, name: str) -> int | None:
        """An integer argument's value (the first of a tuple)."""
        trees = self.numbers.get(name)
        return int(trees[0][-1]) if trees else None


@frozen
class Unlike:
    """What a call usually makes at its place: how often, the last shape, the sizes behind the first that all have."""

    times: int
    shape: list[int]
    behind: list[int] | None


@frozen
class Step:
    """A torch call: its place (the innermost of the user's frames first), shapes and dtypes before and after.

    `devices` are those of the tensors that went in, `lies` is that of what came out. `unlike`: what the call usually
    makes here of operands of the same kinds, where this time it made something of another rank or dtype, or empty.
    `greatest` is that of the few whole numbers that came out, such as lengths.
    """

    function: str
    places: tuple[Place, ...]
    inputs: tuple[int | None, ...]
    before: tuple[tuple[list[int], str], ...]
    out: tuple[tuple[list[int], str], ...]
    numbers: tuple[Tree, ...]
    layer: Layer | None
    extents: tuple[list[int] | None, ...] = ()
    devices: tuple[str, ...] = ()
    lies: str = ""
    unlike: Unlike | None = None
    greatest: int | None = None

    @property
    def place(self) -> Place | None:
        """Where the user's code made the call."""
        return self.places[0] if self.places else None

    @property
    def shape(self) -> list[int]:
        """The shape of what it made."""
        return self.out[0][0] if self.out else []

    @property
    def keeps_shape(self) -> bool:
        """Whether it made a tensor of the shape that it was given first, as norms and activations do."""
        return bool(self.before and self.out) and self.before[0][0] == self.shape

    @property
    def dtype(self) -> str:
        """The dtype of what it made."""
        return self.out[0][1] if self.out else ""


@mutable
class Evidence:
    """All that is known for the search. `steps[0]` is the failing call, then what led to it, nearest first.

    `shapes` (`repair.atoms.common`), `spots` and `uses` (`repair`), and `seen`, the program's sources, are made when
    they are asked for.
    `passed`: the same call, with the same numbers and layer, went well before, so that other data made it fail.
    `square`: what it was given then had two equal sizes, which say nothing of their order.
    `loading`: it failed as a loader fetched samples.
    `scopes`: what was in scope in functions that have returned, by file and the first line of the function.
    `outgrown`: where a length was read that was another by the crash, with what it was and what it became.
    """

    message: str
    language: str
    steps: list[Step] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    frames: list[Call] = field(default_factory=list)
    on_stack: list[Layer] = field(default_factory=list)
    sources: Callable[[str], Source | None] = lambda _: None
    folder: str = "."
    files: tuple[str, ...] = ()
    passed: bool = False
    square: bool = False
    loading: bool = False
    scopes: dict[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)
    shapes: Any = None
    spots: Any = None
    seen: list[Source] | None = None
    calls: dict[str, list[Place]] | None = None
    definitions: dict[str, list[Place]] | None = None
    modes: dict[str, list[str]] | None = None
    uses: Any = None
    above: Any = None
    departing: Any = None
    settings: dict[str, list[Place]] = field(default_factory=dict)
    outgrown: Mapping[tuple[Any, ...], tuple[int, int]] = field(default_factory=dict)

    @property
    def crash(self) -> Step | None:
        """The failing call."""
        return self.steps[0] if self.steps else None

    @property
    def apart(self) -> bool:
        """Whether the tensors that the failing call got lie on several devices."""
        return self.crash is not None and len(set(self.crash.devices)) > 1

    @property
    def placed(self) -> bool:
        """Whether the device on which tensors lie has a part in the failure: there are several, or it holds no data."""
        on_meta = self.crash is not None and "meta" in self.crash.devices
        return self.apart or on_meta or "meta tensor" in self.message

    @property
    def said(self) -> list[int]:
        """The whole numbers that the message names, each once, but those that are a part of a name: `mat1`."""
        return _numbers(self.message)

    @property
    def said_sizes(self) -> list[int]:
        """Those of them that are not the number of a dimension alone."""
        return _numbers(_DIMENSION.sub("", self.message))

    def frame_of(self, place: Place) -> Call | None:
        """The innermost failing frame of the function in which a place stands, or of the top of its file."""
        function = place.source.function_at(place.line)
        for frame in reversed(self.frames):
            same = frame.place.source.file == place.source.file
            if same and place.source.function_at(frame.place.line) is function:
                return frame
        return None

    def scope_of(self, place: Place) -> Mapping[str, Any]:
        """What was in scope in the function of a place, which has returned; empty where no call of torch told."""
        function = place.source.function_at(place.line)
        if function is None or isinstance(function, ast.Lambda):
            return {}
        first = min([one.lineno for one in function.decorator_list], default=function.lineno)
        return self.scopes.get((os.path.realpath(place.source.file), first), {})

    def calls_of(self, name: str) -> list[Place]:
        """The calls in the program of whatever has a (last) name."""
        if self.calls is None:
            self.calls = {}
            for source in self.sources_seen():
                for node in source.nodes():
                    if isinstance(node, ast.Call):
                        self.calls.setdefault(called(node), []).append(Place(source, node))
        return self.calls.get(name, [])

    def import_of(self, place: Place) -> str:
        """The statement that imports a function from where the program imports it, or others of its file; or empty."""
        name = place.node.name  # type: ignore[union-attr]
        home = os.path.splitext(os.path.basename(place.source.file))[0]
        nodes = [node for source in self.sources_seen() for node in source.nodes()]
        known = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
        own = [node.module for node in known if name in [one.name for one in node.names]]
        beside = [node.module for node in known if str(node.module).rpartition(".")[2] == home]
        return next((f"from {module} import {name}" for module in own + beside), "")

    def defined(self, name: str) -> list[Place]:
        """The functions and classes of the program that have a name."""
        if self.definitions is None:
            self.definitions = {}
            for source in self.sources_seen():
                for node in source.nodes():
                    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                        self.definitions.setdefault(node.name, []).append(Place(source, node))
        return self.definitions.get(name, [])

    def parameters(self, call: ast.Call) -> list[str]:
        """The parameters of the program's function, or class, that a call is of; none where there are several."""
        found = self.defined(called(call))
        node = found[0].node if len(found) == 1 else None
        if isinstance(node, ast.ClassDef):
            made = next((one for one in node.body if getattr(one, "name", "") == "__init__"), None)
            if made is None:
                return list(fields_of(node))
            node = made
        return [one.arg for one in node.args.args if one.arg != "self"] if isinstance(node, ast.FunctionDef) else []

    def layers_around(self) -> list[Layer]:
        """The layers of the failing call and of the steps behind it, those last that keep shapes; then all others."""
        steps = sorted(self.steps, key=lambda step: step is not self.crash and step.keeps_shape)
        near = [step.layer for step in steps if step.layer is not None]
        return list({id(layer): layer for layer in [*near, *self.on_stack, *self.layers]}.values())

    def place(self, at: Sequence[Any] | None) -> Place | None:
        """The node at a recorded position: an expression where several share the bounds."""
        source = self.sources(os.path.join(self.folder, at[0])) if at else None
        if source is None or at is None or source.tree is None:
            return None
        node = source.node_at(*at[1:])
        if isinstance(node, ast.Expr):
            node = node.value
        return Place(source, node) if node is not None else None

    def sources_seen(self) -> list[Source]:
        """The program's sources, each once, those of the failing frames first."""
        if self.seen is None:
            found: dict[str, Source] = {}
            for place in [*(f.place for f in reversed(self.frames)), *(p for step in self.steps for p in step.places)]:
                found.setdefault(os.path.realpath(place.source.file), place.source)
            for name in self.files:
                source = self.sources(os.path.join(self.folder, name))
                if source is not None:
                    found.setdefault(os.path.realpath(source.file), source)
            self.seen = list(found.values())
        return self.seen

    def replaced(
        self,
        place: Place,
        text: str,
        kind: str,
        title: str,
        culprit: Place | None = None,
        literal: bool = False,
        **values: object,
    ) -> Iterator[Candidate]:
        """The candidate that puts `text` in an expression's place; `culprit` where another place is to blame."""
        edits = functools.partial(changed, place.source, [(place.span, text)])
        return self.made(edits, kind, culprit or place, title, literal, **values)

    def made(
        self,
        edits: Callable[[], tuple[Edit, ...]],
        kind: str,
        culprit: Place,
        title: str,
        literal: bool = False,
        **values: object,
    ) -> Iterator[Candidate]:
        """A candidate, or none where the edit cannot be made. `title` names an entry of `titles.TITLES`.

        The culprit's file gets the import of a module that the edit is the first to name there.
        """
        try:
            done = with_imports(culprit.source, edits())
        except EditError:
            return
        span: Span = culprit.span
        yield Candidate(done, kind, words.title(title, self.language, **values), span, literal=literal)


def evidence_of(
    recording: Mapping[str, Any], checker: Any, message: str | None = None, sources: Any = None
) -> Evidence:
    """A checker's recording with its positions turned into places; `message` and `sources` are of an edited run."""
    scene = checker.scene
    found = Evidence(
        message or scene.crash.message,
        scene.options.language,
        sources=sources or checker.source,
        folder=checker.program.folder,
    )
    found.files, found.passed = tuple(recording["files"]), recording["passed"]
    found.square = recording["square"]
    within = (one for one in scene.crash.frames if "torch/utils/data" in one.file.replace(os.sep, "/"))
    found.loading = any(one.function.rpartition(".")[2] != "__init__" for one in within)
    home = lambda row: os.path.realpath(os.path.join(found.folder, row["file"]))  # noqa: E731
    found.scopes = {(home(row), row["line"]): row["scope"] for row in recording["scopes"]}
    found.outgrown = {tuple(at): (was, now) for at, was, now in recording["outgrown"]}
    found.layers = [_layer(found, row) for row in recording["layers"]]
    found.on_stack = [found.layers[index] for index in recording["on_stack"]]
    found.frames = [call for call in (_call(found, row) for row in recording["frames"]) if call is not None]
    found.steps = [_step(found, row) for row in recording["steps"]]
    return found


def _layer(evidence: Evidence, row: Mapping[str, Any]) -> Layer:
    calls = tuple(call for call in (_call(evidence, one) for one in row["calls"]) if call is not None)
    return Layer(row["type"], row["numbers"], calls, row["own"], tuple(row["parameters"]))


def _call(evidence: Evidence, row: Mapping[str, Any]) -> Call | None:
    place = evidence.place(row["at"])
    return Call(place, row["scope"], row["function"]) if place is not None else None


def _step(evidence: Evidence, row: Mapping[str, Any]) -> Step:
    places = tuple(place for place in (evidence.place(at) for at in row["stack"]) if place is not None)
    layer = evidence.layers[row["layer"]] if row["layer"] is not None else None
    before = tuple((shape, dtype) for shape, dtype in row["before"])
    out = tuple((shape, dtype) for shape, dtype in row["out"])
    return Step(
        row["function"],
        places,
        tuple(row["inputs"]),
        before,
        out,
        tuple(row["numbers"]),
        layer,
        tuple(row["extents"]),
        tuple(row["devices"]),
        row["lies"],
        Unlike(*row["unlike"][:3]) if row["unlike"] is not None else None,
        row["greatest"],
    )

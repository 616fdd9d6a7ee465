"""Scripts for errors of the graph: what kept a value, what wrote over it, what cut the loss off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from explainer.patterns import Pattern
from explainer.probes.scene import Scene
from explainer.reproduce.pasted import sizes_in
from explainer.reproduce.sketch import with_imports

#: The expression that leaves a node of this name behind, made from `x`, which has the shape in question.
PRODUCERS = {
    "relu": "torch.relu(x)", "sigmoid": "torch.sigmoid(x)", "tanh": "torch.tanh(x)", "exp": "torch.exp(x)",
    "sqrt": "torch.sqrt(x)", "softmax": "torch.softmax(x, -1)", "log_softmax": "torch.log_softmax(x, -1)",
    "mul": "x * 2", "div": "x / 2", "add": "x + 1", "sub": "x - 1", "pow": "x ** 2", "clone": "x.clone()",
    "native_layer_norm": "F.layer_norm(x, x.shape[-1:])", "gelu": "F.gelu(x)",
    "silu": "F.silu(x)", "leaky_relu": "F.leaky_relu(x)",
    "elu": "F.elu(x)", "softplus": "F.softplus(x)", "log": "torch.log(x)",
    "sin": "torch.sin(x)", "cos": "torch.cos(x)", "abs": "x.abs()", "neg": "-x", "sum": "x.sum(0, keepdim=True)",
    "mean": "x.mean(0, keepdim=True)", "stack": "torch.stack([x, x])[0]", "cat": "torch.cat([x])",
    "copy_slices": "x.clone()",
    "native_dropout": "F.dropout(x, 0.5)", "reciprocal": "1 / x",
    "rsqrt": "torch.rsqrt(x)",
    "clamp": "x.clamp(-1, 1)", "where": "torch.where(x > 0, x, x)", "expand": "x.expand_as(x)",
    "threshold": "F.threshold(x, 0.1, 0.0)", "hardtanh": "F.hardtanh(x)",
    "native_batch_norm": "F.batch_norm(x, None, None, training=True)",
    "mm": "x @ torch.eye(x.shape[-1])", "bmm": "x @ torch.eye(x.shape[-1])",
    "addmm": "nn.Linear(x.shape[-1], x.shape[-1])(x)",
    "convolution": "nn.Conv2d(x.shape[1], x.shape[1], 1)(x)", "view": "(x * 1).view(x.shape)",
    "unsafe_view": "x @ torch.eye(x.shape[-1])", "select": "torch.stack([x, x])[0]",
    "slice": "torch.cat([x, x])[: len(x)]",
}  # fmt: skip
#: Uses that keep `y` itself for backward, tried after those whose own result is kept.
KEEPERS = ("y * y", "y.exp().log() * y", "nn.Linear(y.shape[-1], 1)(y)", "y ** 3")
_NAMED = Pattern(r"Tensor \[(?P<shape>[\d, ]*)\]\](?:, which is output \d+ of (?P<node>\w+))?")
_CUTS = {
    "item": "torch.tensor(w.sum().item())", "data": "w.sum().data", "detach": "w.sum().detach()",
    "numpy": "torch.from_numpy(w.detach().numpy()).sum()", "index": "w.argmax().float()",
    "comparison": "(w > 0).float().mean()", "cast": "w.sum().long().float()",
    "new-tensor": "torch.tensor(w.sum().item())",
}  # fmt: skip


def overwritten(message: str, write: Any = None) -> Iterator[str]:
    """Scripts in which a value that backward needs is overwritten, for the tensor and node that a message names."""
    found = _NAMED.search(message)
    if found is None:
        return
    shape = ", ".join(map(str, sizes_in(found["shape"]))) or "()"
    node = found["node"]
    change = _change(write)
    if node is None:
        yield from _leaves(shape)
    elif _plain(node) in ("t", "as_strided"):
        yield from _weights(sizes_in(found["shape"]))
    else:
        producer = PRODUCERS.get(_plain(node), "")
        for keeper in ("y.sum()", *(f"({use}).sum()" for use in KEEPERS)) if producer else ():
            lines = [f"x = torch.rand({shape}, requires_grad=True)", f"y = {producer}", f"loss = {keeper}", change]
            yield with_imports("\n".join([*lines, "loss.backward()"]))


def _change(write: Any) -> str:
    """The write over `y`: in the user's own way where that needs nothing else."""
    operator = getattr(write, "operator", "")
    if operator in ("relu_", "sigmoid_", "tanh_", "exp_", "zero_", "neg_", "abs_", "sqrt_"):
        return f"y.{operator}()  # overwrites what backward needs"
    return "y += 1  # overwrites what backward needs"


def _leaves(shape: str) -> Iterator[str]:
    """A parameter or buffer that is changed between its use and backward."""
    for use in ("(w * x).sum()", "(w ** 2).sum()", "F.linear(x, w).sum()"):
        change = "with torch.no_grad():\n    w += 1  # overwrites what backward needs"
        lines = [f"w = torch.randn({shape}, requires_grad=True)", f"x = torch.randn({shape}, requires_grad=True)"]
        yield with_imports("\n".join([*lines, f"loss = {use}", change, "loss.backward()"]))


def _weights(shape: list[int]) -> Iterator[str]:
    """A layer's weight, which backward uses transposed, changed before backward, as an optimizer's step does."""
    if len(shape) == 2:
        change = "with torch.no_grad():\n    layer.weight += 1  # as optimizer.step() does: overwrites it"
        lines = [f"layer = nn.Linear({shape[0]}, {shape[1]})", f"x = torch.randn(2, {shape[0]}, requires_grad=True)"]
        yield with_imports("\n".join([*lines, "loss = layer(x).sum()", change, "loss.backward()"]))


def _plain(node: str) -> str:
    name = re.sub(r"Backward\d*$", "", node)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def cut_off(cut: Any) -> Iterator[str]:
    """Scripts whose loss has no graph, cut in the way that was found."""
    expression = _CUTS.get(getattr(cut, "kind", ""))
    if getattr(cut, "kind", "") in ("no-grad", "inference"):
        block = "torch.no_grad()" if cut.kind == "no-grad" else "torch.inference_mode()"
        lines = ["w = torch.randn(3, requires_grad=True)", f"with {block}:", "    loss = w.sum()", "loss.backward()"]
        yield with_imports("\n".join(lines))
    if expression:
        yield with_imports(
            f"w = torch.randn(3, requires_grad=True)\nloss = {expression}  # cuts the loss off from w\nloss.backward()"
        )


#: Inputs at which the gradient of an operation is not finite, by the name of its node.
_NAN = {
    "sqrt": "(x * 0).sqrt() * 0", "log": "(x * 0).log() * 0", "div": "(x * 0) / (x * 0)", "pow": "(x * 0) ** 0.5 * 0",
    "acos": "(x * 0 + 1).acos() * 0", "asin": "(x * 0 + 1).asin() * 0", "atan2": "torch.atan2(x * 0, x * 0)",
    "linalg_vector_norm": "(x * 0).norm() * 0", "norm": "(x * 0).norm() * 0", "exp": "(x * 0 + 1000).exp() * 0",
    "mul": "(x * 0 + 1000).exp() * 0", "rsqrt": "(x * 0).rsqrt() * 0", "reciprocal": "(1 / (x * 0)) * 0",
    "log_softmax": "torch.log_softmax(x * float('inf'), -1)", "softmax": "torch.softmax(x * float('inf'), -1)",
}  # fmt: skip


def not_finite(message: str) -> Iterator[str]:
    """A script for anomaly mode's error: the operation that the message names, at a point where it has no gradient."""
    found = re.search(r"Function '(\w+)Backward\d*' returned nan", message)
    expression = _NAN.get(_plain(found[1])) if found else None
    if expression:
        lines = ["x = torch.ones(3, requires_grad=True)", "with torch.autograd.detect_anomaly():"]
        yield with_imports("\n".join([*lines, f"    ({expression}).sum().backward()"]))


def scripts(symptom: str, scene: Scene, message: str) -> Iterator[str]:
    """Scripts for the symptoms of this family; the evidence of a live crash decides how they write or cut."""
    from explainer.probes import find

    if symptom == "inplace-modified-saved-value":
        yield from overwritten(message, find("overwritten")(scene) if scene.live else None)
    elif symptom == "anomaly-nan":
        yield from not_finite(message)
    elif symptom == "no-grad-fn" and scene.live:
        yield from cut_off(find("cut")(scene))

"""torch's own defaults, where the program has changed them."""

from __future__ import annotations

import ast

from explainer.facts import ModuleFact, SpanFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.files import calls_named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene

_TYPES = {"Double": "float64", "Half": "float16", "BFloat16": "bfloat16"}
_DTYPE = Pattern(r"(?:torch\.)?(float64|double|float16|half|bfloat16)$")
_LONG = {"double": "float64", "half": "float16"}


@probe
def default_set(scene: Scene, of: ModuleFact | None = None) -> SpanFact | None:
    """The one call that made the layer's dtype torch's default, for all that is built after it: `set_default_dtype`."""
    if of is None or of.dtype in (None, "float32"):
        return None
    calls = calls_named(scene, "set_default_dtype", "set_default_tensor_type")
    found = [(source, call) for source, call in calls if len(call.args) == 1 and _asked(call.args[0]) == of.dtype]
    return span_fact(*found[0], dtype=of.dtype) if len(found) == len(calls) == 1 else None


def _asked(node: ast.expr) -> str | None:
    """`torch.float64`, `torch.DoubleTensor`, "torch.DoubleTensor" -> float64."""
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
    plain = _DTYPE.search(text)
    return _LONG.get(plain[1], plain[1]) if plain else _TYPES.get(text.rpartition(".")[2].removesuffix("Tensor"))

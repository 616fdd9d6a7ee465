"""Plain values in place of objects that cannot go into a batch: the source for each class, by its name."""

from __future__ import annotations

from explainer.edits.place import as_operand
from explainer.patterns import Pattern

#: What makes a plain value of an object, by the name of its class; `{}` stands for its source.
PLAIN = {
    "PosixPath": "str({})", "WindowsPath": "str({})", "PurePosixPath": "str({})", "UUID": "str({})",
    "datetime": "{}.timestamp()", "date": "{}.isoformat()", "time": "{}.isoformat()", "timedelta": "{}.total_seconds()",
    "Timestamp": "{}.timestamp()", "Decimal": "float({})", "Fraction": "float({})", "complex": "torch.tensor({})",
    "range": "list({})", "set": "sorted({})", "frozenset": "sorted({})", "deque": "list({})", "generator": "list({})",
    "dict_keys": "list({})", "dict_values": "list({})", "map": "list({})", "zip": "list({})", "filter": "list({})",
    "SimpleNamespace": "vars({})", "Namespace": "vars({})", "dtype": "str({})", "device": "str({})",
    "csr_matrix": "{}.toarray()", "coo_matrix": "{}.toarray()", "csr_array": "{}.toarray()", "Series": "{}.to_numpy()",
}  # fmt: skip
_FOUND = Pattern(r"found <\w+ '([\w.<>]+)'>")


def plain(kind: str, text: str) -> str:
    """The source of an object's plain value; empty where none is known for its class."""
    form = PLAIN.get(kind, "")
    return form.format(as_operand(text) if form.startswith("{}") else text) if form else ""


def refused(message: str) -> str:
    """The class that the collate function named; empty where it named none."""
    found = _FOUND.search(message)
    return found[1].rpartition(".")[2] if found is not None else ""

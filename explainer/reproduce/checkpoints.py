"""Scripts for `load_state_dict`: a module with the parameters that the message names, and a state dict that differs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from explainer.patterns import Pattern
from explainer.reproduce.pasted import sizes_in
from explainer.reproduce.sketch import with_imports

#: More keys of a kind than this are left out.
KEYS = 4
_KEY = r"\w[\w.]{0,120}"
_SIZES = Pattern(
    rf"size mismatch for (?P<key>{_KEY}): copying a param (?:with shape|of) torch.Size\(\[(?P<saved>[\d, ]*)\]\) "
    r"from checkpoint,[^\[]*\(\[(?P<model>[\d, ]*)\]\)"
)
_MISSING = Pattern(rf"Missing key\(s\) in state_dict: ((?:\"{_KEY}\"(?:, )?)+)")
_UNEXPECTED = Pattern(rf"Unexpected key\(s\) in state_dict: ((?:\"{_KEY}\"(?:, )?)+)")
_CLASS = Pattern(r"in loading state_dict for ([A-Za-z_]\w{0,60}):")


def scripts(message: str) -> Iterator[str]:
    """One script that loads as the message tells: all sizes of missing and unexpected keys are made up."""
    text = " ".join(message.split())
    model: dict[str, str] = {}
    saved: dict[str, str] = {}
    for found in list(_SIZES.finditer(text))[:KEYS]:
        model[found["key"]] = ", ".join(map(str, sizes_in(found["model"]))) or "()"
        saved[found["key"]] = ", ".join(map(str, sizes_in(found["saved"]))) or "()"
    model.update((key, "1") for key in _keys(_MISSING, text))
    saved.update((key, "1") for key in _keys(_UNEXPECTED, text))
    if model or saved:
        yield with_imports(_body(text, model, saved))


def _keys(pattern: re.Pattern[str], text: str) -> list[str]:
    found = pattern.search(text)
    return re.findall(f'"({_KEY})"', found[1])[:KEYS] if found else []


def _body(text: str, model: dict[str, str], saved: dict[str, str]) -> str:
    named = _CLASS.search(text)
    kind = named[1] if named else "Net"
    lines = [f"class {kind}(nn.Module):", "    pass", "", f"model = {kind}()"]
    made: set[str] = set()
    for key, sizes in model.items():
        *folders, leaf = key.split(".")
        for depth in range(len(folders)):
            folder = folders[: depth + 1]
            if ".".join(folder) not in made:
                made.add(".".join(folder))
                lines.append(f'{_reached(folder[:-1])}.add_module("{folder[-1]}", nn.Module())')
        lines.append(f'{_reached(folders)}.register_parameter("{leaf}", nn.Parameter(torch.empty({sizes})))')
    given = ", ".join(f'"{key}": torch.empty({sizes})' for key, sizes in saved.items())
    return "\n".join([*lines, f"model.load_state_dict({{{given}}})"])


def _reached(folders: list[str]) -> str:
    if not folders:
        return "model"
    if all(folder.isidentifier() for folder in folders):
        return f"model.{'.'.join(folders)}"
    return f'model.get_submodule("{".".join(folders)}")'

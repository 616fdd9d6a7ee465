"""An own file in the place of a module of Python's or torch is put aside while its error is explained."""

import os
import sys


class aside:
    """Meanwhile imports find the real modules of the names that an error is about; this imports nothing itself."""

    def __init__(self, error):
        said = str(error) if isinstance(error, (ImportError, AttributeError)) else ""
        modules = list(sys.modules.items()) if said else []
        self.found = {name: module for name, module in modules if f"'{name}'" in said and _is_shadow(name, module)}

    def __enter__(self):
        self.path = list(sys.path)
        folders = {_folder(module) for module in self.found.values()}
        for name in self.found:
            del sys.modules[name]
        if folders:
            sys.path[:] = [one for one in self.path if os.path.abspath(one or os.curdir) not in folders]

    def __exit__(self, *_):
        if self.found:
            sys.path[:] = self.path
            sys.modules.update(self.found)


def _folder(module):
    """The folder in which a module, or a package's folder, lies."""
    folder = os.path.dirname(os.path.abspath(module.__file__))
    return os.path.dirname(folder) if hasattr(module, "__path__") else folder


def _is_shadow(name, module):
    file = getattr(module, "__file__", None)
    if name == "torch" and "torch._C" in sys.modules:  # the real one, wherever it lies
        return False
    if not isinstance(file, str) or (name not in sys.stdlib_module_names and name != "torch"):
        return False
    slashed = file.replace("\\", "/")
    return not (file.startswith(os.path.dirname(os.__file__)) or "-packages/" in slashed)

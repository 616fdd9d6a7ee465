"""A temporary folder that goes with the module that made it."""

import pathlib
import tempfile

_holder = tempfile.TemporaryDirectory()
WORK = pathlib.Path(_holder.name)

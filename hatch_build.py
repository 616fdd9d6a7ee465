"""Builds the wheel with the rules compiled, so that an installed catalogue loads without reading YAML."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledRules(BuildHookInterface):
    """Adds `explainer/_rules/catalogue.jsonl` to a wheel; an editable install reads `rules/` itself."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the rules; a broken rule file breaks the build."""
        if self.target_name != "wheel" or version == "editable":
            return
        sys.path.insert(0, self.root)
        from explainer.catalogue import compiled, sources
        from explainer.catalogue.packing import pack

        made = pack(Path(self.root, "rules"))
        if made.problems:
            raise ValueError("\n".join(map(str, made.problems)))
        self.scratch = tempfile.TemporaryDirectory()
        path = Path(self.scratch.name, sources.COMPILED)
        path.write_bytes(compiled.dump(made))
        build_data["force_include"][str(path)] = f"explainer/_rules/{sources.COMPILED}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the compiled file, which is in the wheel now."""
        if hasattr(self, "scratch"):
            self.scratch.cleanup()

"""Each renderer against its snapshot; `UPDATE_SNAPSHOTS=1 pytest tests/render/test_render_snapshots.py` writes them."""

import os
from pathlib import Path

import pytest
from render_samples import SAMPLES

from explainer.render import gcc, github, html, json, markdown, plain, sarif, terminal

SNAPSHOTS = Path(__file__).parent / "snapshots"
RENDERERS = {
    "txt": terminal.to_str,
    "narrated.txt": plain.render,
    "md": markdown.render,
    "github.txt": github.render,
    "json": json.render,
    "html": html.fragment,
    "gcc.txt": gcc.render,
    "sarif": sarif.render,
}
CASES = (
    [(sample, "txt") for sample in SAMPLES]
    + [
        (sample, ending)
        for sample in ("shape-zh", "inplace", "symptom", "unknown")
        for ending in ("narrated.txt", "md")
    ]
    + [("inplace", "github.txt"), ("symptom", "github.txt"), ("inplace", "json"), ("inplace", "html")]
    + [(sample, "gcc.txt") for sample in ("inplace", "symptom", "unknown")]
    + [(sample, "sarif") for sample in ("inplace", "unknown")]
)


@pytest.mark.parametrize(("sample", "ending"), CASES)
def test_output_is_as_it_was_read_and_approved(sample, ending):
    """A change of what people see is seen in review, in three languages at 80 columns."""
    path = SNAPSHOTS / f"{sample}.{ending}"
    text = RENDERERS[ending](SAMPLES[sample]())
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")

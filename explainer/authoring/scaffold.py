"""Writes the skeleton of a new rule or symptom: every key that it needs, with what belongs there."""

from __future__ import annotations

import re
from pathlib import Path

from explainer.catalogue.schemas import FAMILIES

RULE = """\
# yaml-language-server: $schema=../rule.schema.json
id: {id}
status: beta
family: {family}
symptoms: []                # ids of symptoms under which this cause is looked for: `explain rules list`
links: []                   # pages of torch's documentation
facts:                      # name -> probe; a required fact that is missing makes the rule step aside
  x: {{probe: argument, index: 0}}
require:                    # expressions over facts; all must hold
  - "x.shape[-1] > 0"
culprit: x                  # the fact whose line is to be edited
evidence: [x]
text:
  headline:                 # what is wrong, in the user's names; no cure, no full stop
    en: "{{{{ x.name }}}} is wrong"
  why:                      # the cause, every number derived in view
    en: "TODO"
fixes:
  - title:                  # words alone: say when it is right; an `id` and an `edit:` make it one that is tried
      en: "TODO"
examples:
  - name: fires
    code: |
      import torch
      raise RuntimeError("TODO")  # explain: {id}
    expect: {{headline: "TODO"}}
  - name: a near miss
    code: |
      import torch
      raise RuntimeError("TODO: another cause of the same message")
    silent: true
"""

SYMPTOM = """\
# yaml-language-server: $schema=../symptom.schema.json
id: {id}
family: {family}
exception: [RuntimeError]   # last names; [any] for any
messages:                   # every wording, once; add to them, never replace
  - seen: ["?", "?"]        # first and last torch known to say it
    pattern: 'TODO write the message (?P<size>\\d+) here'
    says: "TODO write the message 5 here"
text:
  headline:                 # what is wrong, in numbers of the message; no cure, no full stop
    en: "the size is {{{{ m.size }}}}"
  why:                      # what the message means and why torch insists
    en: "TODO: {{{{ m.size }}}}"
  causes:                   # the usual causes, most usual first
    en: ["TODO"]
links: []
near_misses:                # texts that must not match
  - "ValueError: TODO another message"
"""


def new(name: str, folder: Path, family: str = "shape") -> Path:
    """Write the skeleton of `shape/some-id` or `symptoms/some-id`; the path. Raises ValueError or FileExistsError."""
    kind, slash, id = name.partition("/")
    if not slash or not re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", id):
        raise ValueError(f"{name!r} is no FAMILY/ID, as in shape/linear-input-size")
    if kind != "symptoms" and kind not in FAMILIES:
        raise ValueError(f"{kind!r} is no family; families: {', '.join(FAMILIES)}; or symptoms/{id}")
    path = folder / kind / f"{id}.yaml"
    if path.exists():
        raise FileExistsError(f"{path} is there already")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = SYMPTOM.format(id=id, family=family) if kind == "symptoms" else RULE.format(id=id, family=kind)
    path.write_text(text, encoding="utf-8")
    return path

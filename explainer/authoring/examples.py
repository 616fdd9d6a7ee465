"""Runs the examples of rules and says where what came differs from what the rule expects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any

from explainer.authoring.check import catalogue_for, read_all
from explainer.authoring.zygote import SCRIPT
from explainer.catalogue import Rule, Symptom, sources

#: The module that runs them; another one may stand in for it.
ENTRY = "explainer.authoring.zygote"
#: No example may take longer, in seconds.
SECONDS = 60.0


class Runner:
    """One process with torch and `modules` loaded, in whose children examples run. Use it in a `with`."""

    def __init__(self, packs: tuple[Path, ...] = (), modules: tuple[str, ...] = (), entry: str = ENTRY):
        self.modules, self.entry = modules, entry
        self.packs = [str(pack.resolve()) for pack in packs]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Runner:
        command = [sys.executable, "-m", self.entry, *self.modules]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End it by a word, not by the end of its pipes: a fork of ours or of an example's may hold those open."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return
        with suppress(OSError):
            process.stdin.write("\n")
            process.stdin.flush()
        try:
            process.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                pipe.close()

    def run(
        self,
        code: str,
        files: Mapping[str, str] | None = None,
        program: str = "",
        seconds: float = SECONDS,
        **more: Any,
    ) -> dict[str, Any]:
        """How a program ended (`outcome`: raised, ended, or why there is none) and the document on its error.

        `program`: how it is tried again whole, from a `clean` process as `explain run` does or `warm`, in forks of the
        crashed one, as after `install()`; `window`: in part, as in a notebook; not at all where it is empty. `more`:
        `script` names the file that is started, `trace` asks for what became of each candidate edit, `bare` for no
        more than the error and the shapes of the parameters of the model that it names.
        """
        request = {"code": code, "files": dict(files or {}), "packs": self.packs, "program": program, **more}
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise RuntimeError("a Runner is used in a `with`")
        try:
            process.stdin.write(json.dumps({**request, "seconds": seconds}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"outcome": f"the runner ended with status {process.wait()}"}


def failures(folder: Path) -> Iterator[tuple[str, str]]:
    """Runs every example of a folder of rules: where something differs, which example, and what."""
    documents, _ = read_all(folder)
    catalogue = catalogue_for(folder, documents)
    packs = () if folder.resolve() == sources.builtin().resolve() else (folder,)
    with Runner(packs) as runner:
        for document in documents:
            name = document.value["id"]
            one = catalogue.symptoms.get(name) or catalogue.rules[name]
            for example in one.examples:
                for text in differences(one, example, runner):
                    yield f"{document.file}: {example['name']}", text


def seen(rules: Iterable[Rule]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each rule whose example can be run here, with what its words ask of the facts that the example gives."""
    with Runner() as runner:
        for rule in rules:
            for example in rule.examples:
                names = _names(rule, example, runner)
                if names is not None:
                    yield rule.id, names
                    break


def _names(rule: Rule, example: Mapping[str, Any], runner: Runner) -> Mapping[str, Any] | None:
    if example.get("silent") or not _new_enough(example):
        return None
    if "code" not in example:
        return _of_paste(rule, example)
    needed = example.get("needs") == "program" or example.get("expect", {}).get("checked")
    kind = "watch" if rule.family == "training" else "clean" if needed else ""
    answer = runner.run(example["code"], example.get("files"), kind, names=True)
    best = next(
        (each for report in answer.get("document", {}).get("reports", ()) for each in report["diagnoses"]), None
    )
    return answer["names"].get(rule.id) if best and best["rule"] == rule.id else None


def _of_paste(rule: Rule, example: Mapping[str, Any]) -> Mapping[str, Any] | None:
    from explainer.api import explain_text
    from explainer.authoring.seen import asked
    from explainer.decisions import Trace
    from explainer.probes import Options

    trace = Trace()
    with _beside(example.get("files", {})):
        explain_text(example["paste"], options=Options("en", replay=False, trace=trace, source_roots=(".",)))
    return asked(rule, trace.held[rule.id]) if rule.id in trace.held else None


def differences(one: Rule | Symptom, example: Mapping[str, Any], runner: Runner) -> list[str]:
    """What an example shows that its rule does not expect; empty where all is well."""
    found = []
    if one.family == "training" and "code" in example:
        return _of_training(one, example, runner)
    if "code" in example and example.get("needs") in (None, "program") and _new_enough(example):
        needed = example.get("needs") == "program" or example.get("expect", {}).get("checked")
        whole = "clean" if needed else ""
        answer = runner.run(example["code"], example.get("files"), whole)
        if answer["outcome"] != "raised" and not example.get("silent"):
            found.append(f"the program was to raise an error: {answer['outcome']}")
        else:
            found += _of_document(one, example, answer.get("document"))
    for text in (example[name] for name in ("paste", "recorded") if name in example):
        found += _of_text(one, example, text, runner)
    if "repaired" in example and _new_enough(example):
        ended = runner.run(example["repaired"], example.get("files"))
        if ended["outcome"] != "ended":
            found.append(f"the repaired program does not end well: {_said(ended)}")
    return found


def _of_training(one: Rule | Symptom, example: Mapping[str, Any], runner: Runner) -> list[str]:
    """An example that ends without an error, watched as `explain watch` does; a near miss stays wholly uncommented."""
    answer = runner.run(example["code"], example.get("files"), "watch")
    if answer["outcome"] != "ended":
        return [f"the program was to end without an error: {answer['outcome']}"]
    found = [each for report in answer["document"]["reports"] for each in report["diagnoses"]]
    if example.get("silent"):
        return [f"nothing was to be found: {each['headline']}" for each in found]
    if not found or found[0]["rule"] != one.id:
        return [f"{one.id} was to come first; {found[0]['rule'] if found else 'nothing'} does"]
    return [*_of_expected(example.get("expect", {}), found[0]), *_of_marks(one, example, found[0])]


def _new_enough(example: Mapping[str, Any]) -> bool:
    """Whether the torch here is one of those that an example is meant for."""
    return "torch" not in example or _numbers(version("torch")) >= _numbers(example["torch"])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split(".")[:2])


def _of_text(one: Rule | Symptom, example: Mapping[str, Any], text: str, runner: Runner) -> list[str]:
    import explainer

    with _beside(example.get("files", {})):
        document = explainer.explain(text, lang="en", rules=runner.packs).to_dict()
    return _of_document(one, {**example, "code": ""}, document)


@contextmanager
def _beside(files: Mapping[str, str]) -> Iterator[None]:
    """Where files come with a text, they lie in the working directory while it is explained."""
    if not files:
        yield
        return
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_text(content, encoding="utf-8")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def _of_document(one: Rule | Symptom, example: Mapping[str, Any], document: Mapping[str, Any] | None) -> list[str]:
    best = next((d for report in (document or {}).get("reports", ()) for d in report["diagnoses"]), None)
    wanted = example.get("expect", {}).get("rule", one.id)
    if example.get("silent"):
        said = f": {best['headline']}" if best else ""
        return [f"{one.id} was to stay silent, and comes first{said}"] if best and best["rule"] == one.id else []
    if best is None or best["rule"] != wanted:
        error = document["reports"][0]["error"] if document and document["reports"] else {}
        said = f"{error.get('type')}: {str(error.get('message'))[:160]}"
        return [f"{wanted} was to come first; {best['rule'] if best else 'nothing'} answers {said}"]
    return [*_of_expected(example.get("expect", {}), best), *_of_marks(one, example, best)]


def _of_expected(expected: Mapping[str, Any], best: Mapping[str, Any]) -> Iterator[str]:
    for field in ("headline", "certainty"):
        if field in expected and best[field] != expected[field]:
            yield f"{field} is {best[field]!r}, not {expected[field]!r}"
    if expected.get("checked") and can_check():
        first = next(iter(best["fixes"]), None)
        if first is None or first["certainty"] != "checked":
            said = f"{first['certainty']}: {first['title']}" if first else "absent"
            yield f"the first fix was to be checked, it is {said}"


def can_check() -> bool:
    """Whether fixes can be tried on this machine."""
    from explainer.replay.confine import sandbox

    return sandbox.unavailable() is None


def _of_marks(one: Rule | Symptom, example: Mapping[str, Any], best: Mapping[str, Any]) -> Iterator[str]:
    marked = marks(one.id, example)
    culprit = best["culprit"]
    if marked and culprit is None:
        yield f"no line is blamed; {_places(marked)} was to be"
    elif marked and (Path(culprit["file"]).name, culprit["line"]) not in marked:
        yield f"{Path(culprit['file']).name}:{culprit['line']} is blamed, not {_places(marked)}"


def marks(name: str, example: Mapping[str, Any]) -> set[tuple[str, int]]:
    """The (file, line) pairs of an example that end in `# explain: <name>`."""
    texts = {**example.get("files", {}), SCRIPT: example.get("code", "")}
    return {
        (Path(file).name, number)
        for file, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if line.rstrip().endswith(f"# explain: {name}")
    }


def _places(marked: set[tuple[str, int]]) -> str:
    return " or ".join(f"{file}:{line}" for file, line in sorted(marked))


def _said(answer: Mapping[str, Any]) -> str:
    reports = answer.get("document", {}).get("reports", ())
    return f"{reports[0]['error']['type']}: {reports[0]['error']['message'][:160]}" if reports else answer["outcome"]

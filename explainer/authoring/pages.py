"""The page of a rule or a symptom: what happened, why, an example and its repair, near misses, links. In markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from explainer.authoring.guides import guide
from explainer.authoring.named import Named
from explainer.authoring.seen import kept
from explainer.authoring.texts import named
from explainer.catalogue import Catalogue, Rule, Symptom
from explainer.catalogue.bounds import WordsError
from explainer.catalogue.schemas import FAMILIES
from explainer.catalogue.search import number
from explainer.catalogue.words import in_language, words

#: The headings of a page.
HEADINGS = {
    "en": {
        "wordings": "What torch says", "causes": "Usual causes", "fixes": "Fixes", "links": "More",
        "prevent": "How to prevent it", "rules": "Rules that look for the cause", "symptoms": "Looked for under",
        "fails": "An example that fails", "repaired": "The same, repaired", "silent": "Not this rule",
        "near": "Other errors that look like it", "seen": "torch {0} to {1}", "look": "Where to look",
        "case": "in the example below",
    },
    "ko": {
        "wordings": "torch 메시지", "causes": "흔한 원인", "fixes": "고치는 방법", "links": "더 보기",
        "prevent": "예방", "rules": "원인을 찾는 규칙", "symptoms": "이 규칙을 적용하는 증상",
        "fails": "실패하는 예", "repaired": "고친 예", "silent": "이 규칙이 아닌 예",
        "near": "비슷하지만 다른 오류", "seen": "torch {0} ~ {1}", "look": "어디를 볼지",
        "case": "아래 예에서",
    },
    "zh": {
        "wordings": "torch 的报错信息", "causes": "常见成因", "fixes": "修复方法", "links": "更多",
        "prevent": "如何预防", "rules": "查找成因的规则", "symptoms": "适用的症状",
        "fails": "出错的例子", "repaired": "修复后", "silent": "不属于此规则的例子",
        "near": "看似相同的其他错误", "seen": "torch {0} 至 {1}", "look": "先看哪里",
        "case": "在下面的例子中",
    },
}  # fmt: skip


def page(one: Rule | Symptom, catalogue: Catalogue, language: str = "en") -> str:
    """One page as markdown, headed by the id."""
    parts = _of_rule(one, language) if isinstance(one, Rule) else _of_symptom(one, catalogue, language)
    return "\n\n".join([f"## {one.id}", *parts]) + "\n"


def family_page(family: str, language: str = "en") -> str:
    """What a family's errors have in common, as markdown. Raises KeyError for a name that is no family."""
    head, one = in_language(HEADINGS, language), guide(family)
    parts = [f"# {family}", f"## {head['look']}", in_language(one.look, language), *_prevention(family, language, "##")]
    return "\n\n".join([*parts, *_listed(head["links"], [f"<{link}>" for link in one.links])]) + "\n"


def whole_page(one: Rule | Symptom, catalogue: Catalogue, language: str = "en") -> str:
    """A page that stands alone: where it says nothing of its own on prevention, with what its family has to say."""
    general = [] if "prevent" in one.text else _prevention(one.family, language, "###")
    return "\n\n".join([page(one, catalogue, language).rstrip(), *general]) + "\n"


def _prevention(family: str, language: str, level: str) -> list[str]:
    one, title = guide(family), in_language(HEADINGS, language)["prevent"]
    return [f"{level} {title}", in_language(one.prevent, language), _block(one.code, "python")]


def files(catalogue: Catalogue, folder: Path) -> dict[Path, str]:
    """The generated pages, one file a family and language, with their texts."""
    made = {}
    for language in HEADINGS:
        for family in FAMILIES:
            own = [one for one in everything(catalogue) if one.family == family]
            if own:
                place = folder / family if language == "en" else folder / language / family
                text = "\n".join([family_page(family, language), *(page(one, catalogue, language) for one in own)])
                made[place.with_suffix(".md")] = text
    made[folder / "README.md"] = _contents(catalogue)
    return made


def everything(catalogue: Catalogue) -> list[Rule | Symptom]:
    """All rules, then all symptoms."""
    return [*catalogue.rules.values(), *catalogue.symptoms.values()]


def _contents(catalogue: Catalogue) -> str:
    rows = ["# Rules and symptoms", "", "Made by `explain rules docs`. In Korean: [ko](ko), in Chinese: [zh](zh).", ""]
    rows += ["| family | rules | symptoms |", "|---|---|---|"]
    for family in FAMILIES:
        links = [
            ", ".join(f"[{one.id}]({family}.md#{one.id})" for one in kind.values() if one.family == family)
            for kind in (catalogue.rules, catalogue.symptoms)
        ]
        rows.append(f"| {family} | {links[0]} | {links[1]} |")
    return "\n".join([*rows, *_packs(catalogue)]) + "\n"


def _packs(catalogue: Catalogue) -> Iterator[str]:
    """A table of what the packs of other packages hold: `rules/packs/vllm/symptoms/...` is of vllm."""
    packs: dict[str, list[str]] = {}
    for one in everything(catalogue):
        _, packed, inside = one.file.partition("packs/")
        if packed:
            packs.setdefault(inside.split("/")[0], []).append(f"[{one.id}]({one.family}.md#{one.id})")
    if packs:
        yield from ("", "| package | rules and symptoms |", "|---|---|")
        yield from (f"| {name} | {', '.join(links)} |" for name, links in sorted(packs.items()))


def _of_rule(one: Rule, language: str) -> Iterator[str]:
    head, names = in_language(HEADINGS, language), kept().get(one.id)
    shown = f" *({head['case']})*" if names is not None else ""
    yield f"**{_said(one.text['headline'], names, language)}**{shown}"
    yield _said(one.text["why"], names, language)
    yield from _listed(head["fixes"], [_said(fix["title"], names, language) for fix in one.fixes])
    yield from _listed("", [_said(note, names, language) for note in one.notes])
    if "prevent" in one.text:
        yield f"### {head['prevent']}\n\n{_said(one.text['prevent'], names, language)}"
    yield f"{head['symptoms']}: {', '.join(f'`{name}`' for name in one.symptoms)}"
    yield from _of_examples(one.examples, head)
    yield from _listed(head["links"], [f"<{link}>" for link in one.links])


def _of_symptom(one: Symptom, catalogue: Catalogue, language: str) -> Iterator[str]:
    head, names = in_language(HEADINGS, language), _known(one)
    yield f"**{_said(one.text['headline'], names, language)}**"
    yield _said(one.text["why"], names, language)
    if "causes" in one.text:
        causes = in_language(one.text["causes"], language)
        yield from _listed(head["causes"], [_said({"en": cause}, names, "en") for cause in causes])
    yield from _listed(head["fixes"], [_said(fix["title"], names, language) for fix in one.fixes])
    if "prevent" in one.text:
        yield f"### {head['prevent']}\n\n{_said(one.text['prevent'], names, language)}"
    yield from _listed(head["rules"], [f"`{rule.id}`" for rule in catalogue.rules_for(one.id)])
    wordings = [f"{head['seen'].format(*message.seen)}:\n\n{_block(message.says)}" for message in one.messages]
    yield "\n\n".join([f"### {head['wordings']}", *wordings])
    yield from _of_examples(one.examples, head)
    yield from _listed(head["near"], [f"`{' '.join(text.split())}`" for text in one.near_misses])
    yield from _listed(head["links"], [f"<{link}>" for link in one.links])


def _of_examples(examples: tuple[Mapping[str, Any], ...], head: Mapping[str, str]) -> Iterator[str]:
    for example in examples:
        title = head["silent" if example.get("silent") else "fails"]
        for name in ("code", "paste"):
            if name in example:
                block = _block(example[name], "python" if name == "code" else "text")
                yield f"### {title}: {example['name']}\n\n{block}"
        if "repaired" in example:
            yield f"### {head['repaired']}\n\n{_block(example['repaired'], 'python')}"


def _listed(title: str, items: list[str]) -> Iterator[str]:
    if items:
        yield "\n".join([*([f"### {title}", ""] if title else []), *(f"- {item}" for item in items)])


def _block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def _said(texts: Mapping[str, str], names: Mapping[str, Any] | None, language: str) -> str:
    """A text with what is known (None: every name stands for itself); as it is written where that cannot be."""
    text = in_language(texts, language)
    nameless = {name.split(".")[0]: Named(name.split(".")[0]) for name in named(text)}
    for known in (names, nameless) if names is not None else (nameless,):
        with suppress(WordsError, RecursionError):
            return " ".join(words(text, known).split())
    return " ".join(text.split())


def _known(one: Symptom) -> dict[str, Any]:
    """The names of a symptom's words, as its first wording gives them."""
    import regex

    message = one.messages[0]
    found = regex.search(message.pattern, " ".join(message.says.split()), regex.DOTALL)
    given = {name: number(item) for name, item in found.groupdict().items()} if found else {}
    crash: dict[str, Any] = dict.fromkeys(("function", "code", "file", "line", "runner", "asks"))
    crash |= {"type": one.exception[0], "message": message.says}
    return {"m": {**dict.fromkeys(one.captures), **given}, "crash": crash}

"""What the search says of an edit, in the three languages: its title, and what was run."""

from __future__ import annotations

from explainer.edits.titles import MEANINGS, TITLES, Texts

RAN: Texts = {
    "en": "with this edit the program runs to the end, on CPU",
    "ko": "이 수정을 적용하면 프로그램이 CPU에서 끝까지 실행됩니다",
    "zh": "应用此修改后，程序在 CPU 上运行到结束",
}
RUNS_ON: Texts = {
    "en": "with this edit the program passes the crash and takes {steps} optimizer steps, on CPU",
    "ko": "이 수정을 적용하면 프로그램이 오류 지점을 지나 옵티마이저 스텝({steps})을 수행합니다 (CPU)",
    "zh": "应用此修改后，程序越过了出错处，并完成了 {steps} 次优化器更新（CPU）",
}
#: What was tested beside comes behind it, in as few words as may be.
RAN_AND: Texts = {"en": "runs to the end, {tested}", "ko": "끝까지 실행됨, {tested}", "zh": "运行到结束，{tested}"}
RUNS_ON_AND: Texts = {
    "en": "passes the crash, takes {steps} optimizer steps, {tested}",
    "ko": "오류 지점을 지나 옵티마이저 스텝({steps}) 수행, {tested}",
    "zh": "越过出错处，完成 {steps} 次优化器更新，{tested}",
}
CALL_RAN: Texts = {
    "en": "with this edit `{call}` runs, on CPU",
    "ko": "이 수정을 적용하면 `{call}` 부분이 CPU에서 실행됩니다",
    "zh": "应用此修改后，`{call}` 在 CPU 上可以运行",
}
PART: Texts = {
    "en": "with this edit the statements that crashed run, on CPU",
    "ko": "이 수정을 적용하면 오류가 난 문장들이 CPU에서 실행됩니다",
    "zh": "应用此修改后，出错的语句在 CPU 上可以运行",
}
PART_AND: Texts = {
    "en": "the statements that crashed run, {tested}",
    "ko": "오류가 난 문장들이 실행됨, {tested}",
    "zh": "出错的语句可以运行，{tested}",
}
PROGRESS: Texts = {
    "en": "trying edits: {tried} run, {passed} hold",
    "ko": "수정 시도 중: 실행 {tried}, 통과 {passed}",
    "zh": "正在尝试修改：已运行 {tried}，通过 {passed}",
}


def say(texts: Texts, language: str, **values: object) -> str:
    """A text in a language, English where there is none, with values filled in."""
    return texts.get(language, texts["en"]).format(**values)


def ran(ended: bool, steps: int, tested: str, language: str) -> str:
    """What was run with the edit: the whole program, or past the crash; and what was tested beside."""
    if tested:
        return say(RAN_AND if ended else RUNS_ON_AND, language, steps=steps, tested=tested)
    return say(RAN, language) if ended else say(RUNS_ON, language, steps=steps)


def part(tested: str, language: str) -> str:
    """What was run with the edit of a program of which a part alone can run again; and what was tested beside."""
    return say(PART_AND, language, tested=tested) if tested else say(PART, language)


def progress(tried: int, passed: int, language: str) -> str:
    """The line shown while edits are tried."""
    return say(PROGRESS, language, tried=tried, passed=passed)


def title(name: str, language: str, /, **values: object) -> str:
    """The title of a candidate."""
    return say(TITLES[name], language, **values)


def meaning(atom: str, language: str) -> str:
    """What speaks for an edit of an atom beside that it runs; empty where that depends on the edit."""
    return say(MEANINGS[atom], language) if atom in MEANINGS else ""

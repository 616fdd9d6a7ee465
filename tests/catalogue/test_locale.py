"""The tool's own words: complete in every language, chosen by argument, variable, locale."""

import string

import pytest

from explainer.locale import LANGUAGES, language, word
from explainer.locale.en import WORDS


def fields(template):
    """The placeholders of a template."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("key", WORDS)
def test_every_language_says_every_word_with_known_placeholders(code, key):
    assert fields(word(key, code)) <= fields(WORDS[key])
    if code != "en" and key not in ("in", "listed"):
        assert word(key, code) != WORDS[key]


def test_a_word_that_a_language_lacks_is_english(monkeypatch):
    from explainer.locale import ko

    monkeypatch.delitem(ko.WORDS, "why")
    assert word("why", "ko") == "why"


@pytest.mark.parametrize("particle", "이가은는을를와과")
def test_no_korean_particle_follows_a_placeholder(particle):
    from explainer.locale.ko import WORDS as korean

    assert not any(f"}}{particle} " in text for text in korean.values())


@pytest.mark.parametrize(
    ("asked", "environ", "expected"),
    [
        ("ko", {"EXPLAINER_LANG": "zh"}, "ko"),
        (None, {"EXPLAINER_LANG": "zh", "LANG": "ko_KR.UTF-8"}, "zh"),
        (None, {"LC_ALL": "ko_KR.UTF-8", "LANG": "en_US"}, "ko"),
        (None, {"LANG": "zh_CN.UTF-8"}, "zh"),
        (None, {"LANG": "fr_FR"}, "en"),
        (None, {}, "en"),
        ("zh-Hans", {}, "zh"),
        (None, {"LC_ALL": "C.UTF-8"}, "en"),
    ],
)
def test_the_language_is_the_first_that_is_named(asked, environ, expected):
    assert language(asked, environ) == expected

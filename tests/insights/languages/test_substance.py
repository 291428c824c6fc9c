"""Whether a sentence means something to somebody who was not there when it was said, in eight languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.language.pack import CODES
from recollect.insights.language.reader import words_of
from recollect.insights.language.substance import makes_sense, outlasts


@pytest.mark.parametrize(
    "text",
    [
        "this bug only appears on windows",
        "needs to be set to 1 for true colors",
        "ok, see main.ts",
        "Oh no, we lost the session navigation section",
        "but I don't see anything in the logs",
        "dimGray should be that, no need for linkGray",
        "the block should stay as is",
        "muss noch auf false gesetzt werden",
        "die sind jetzt aber doppelt",
        "mira el segundo archivo",
        "celle-là était mieux avant",
        "ainda aparece o mesmo erro no console",
        "там теперь пустой экран",
        "这不是我要的文件",
        "まだ同じエラーが出ます",
    ],
)
def test_what_points_lacks_its_subject_or_tells_what_is_seen_does_not_outlast_its_moment(text: str) -> None:
    assert not outlasts(text)


@pytest.mark.parametrize(
    "text",
    [
        "truncated text must stop when it encounters a new line",
        "when autocompleting filenames, don't wrap them in backticks",
        "don't use --no-git in those tests",
        "Das ist falsch, der Port ist 5433.",
        "la carte relais a besoin de 200 ms entre deux ordres",
        "El cliente HTTP debe reintentar tres veces",
        "Os testes de integração precisam do Docker",
        "Все суммы храним в копейках, а не в рублях.",
        "日志用 JSON 格式，不要用纯文本。",
        "日付はUTCで保存します",
    ],
)
def test_what_stands_alone_outlasts_its_moment(text: str) -> None:
    assert outlasts(text)


@pytest.mark.parametrize("code", CODES)
@given(text=st.text(max_size=80))
def test_any_sentence_with_a_lasting_word_outlasts_its_moment(code: str, text: str) -> None:
    words = words_of(code)
    assert all(outlasts(f"{text} {lasting}", words) for lasting in words.phrases("lasting"))
    assert words.phrases("lasting")


def test_a_language_with_a_script_of_its_own_is_judged_by_its_own_words() -> None:
    assert not makes_sense("этот лучше")
    assert not makes_sense("用这个")

"""A question in another language is read by what its words are in English; one in English stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.index.query.grammar import Question, parse
from recollect.index.query.languages import in_english
from recollect.index.query.ranking import intent_of, is_question
from tests.examples import tried


def read(text: str) -> Question:
    return in_english(parse(text, 0))


def sought(text: str) -> list[str]:
    return [clause.text for clause in read(text).words]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Warum wurde die Datei nicht gespeichert?", "why file save"),
        ("Pourquoi avons-nous supprimé l'image du dépôt ?", "why remove image repository"),
        ("¿Por qué no se guardó la contraseña en el archivo?", "what save password file"),
        ("为什么删除了这个文件?", "why remove file"),
        ("なぜファイルを削除しましたか？", "why file remove"),
    ],
)
def test_a_question_is_read_in_english(question: str, words: str) -> None:
    assert read(question).meant.rstrip("?").lower() == words


def test_an_asked_reason_is_one_in_every_language() -> None:
    for question in (
        "Warum wurde die Datei gelöscht?",
        "Pourquoi est-ce que le fichier est vide ?",
        "なぜ変更しましたか？",
    ):
        assert intent_of(read(question).meant) == "reason"


def test_words_that_only_put_the_question_are_not_sought() -> None:
    assert sought("Warum haben wir die Datei nicht mit dem Server geöffnet?") == ["Datei", "Server", "geöffnet"]


def test_a_word_is_sought_as_it_stands_and_in_english() -> None:
    english = {clause.text: forms for clause, forms in read("Welche Datei haben wir gelöscht?").english}
    assert "file" in english["Datei"]
    assert "remove" in english["gelöscht"]


def test_names_and_identifiers_stay() -> None:
    question = "Warum wurde /drop bei claude-code-log in utils.py mit max_retries gelöscht?"
    assert sought(question) == ["/drop", "claude-code-log", "utils.py", "max_retries", "gelöscht"]


def test_a_compound_is_read_by_its_parts() -> None:
    question = read("Wie heißen die Arbeitsverzeichnisse und der Checkpoint-Ordner?")
    english = {clause.text: forms for clause, forms in question.english}
    assert english["work"][-1] == "arbeitsverzeichnisse"
    assert {"work", "directory", "Checkpoint"} <= english.keys()


@pytest.mark.parametrize(
    "text",
    [
        "Why does the parser skip the last line?",
        "what does `el` mean in the de locale",
        "von Neumann",
        "Zeitstempel Verzeichnis",
        "docker compose network",
        "全文検索",
        "사용자가 왜 로그인했나요?",
        "",
    ],
)
def test_what_is_in_english_or_mere_keywords_or_unknown_stays_as_it_is(text: str) -> None:
    assert read(text) == parse(text, 0)


def test_letters_that_are_no_known_word_are_not_missed() -> None:
    question = read("推定器のエラーはなぜですか？")
    assert [clause.text for clause in question.words] == ["推定器", "エラー"]
    assert question.either == (question.words[:1] + question.words,)


def test_a_question_ends_with_the_mark_of_any_script() -> None:
    assert all(is_question(text) for text in ("改了什么？", "إلى أين؟", "Wo ist das?"))
    assert not is_question("改了什么")


def test_short_words_that_english_has_too_do_not_make_a_question_english() -> None:
    question = "Was ging am 12. Dezember 2025 schief, als ich um eine Analyse des Archivs bat?"
    assert read(question).in_english.startswith("what 12 December 2025")


@settings(max_examples=tried(200))
@given(st.text(st.sampled_from("derdie wie warum 文件为什么エラーなぜ?？'-le la que él ß"), max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    question = parse(text, 0)
    found = in_english(question)
    assert found.text == question.text
    assert found == question or found.words

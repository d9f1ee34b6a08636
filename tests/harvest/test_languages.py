"""Complete harvests of sites in other languages and charsets, with the plain install."""

from pathlib import Path

import numpy as np
import pytest

from tests.language_site import LanguageSite, Matching, serve
from upwell import api
from upwell.choose.plan import Plan
from upwell.lexicon.frequent_words import most_frequent
from upwell.net.fetch import Manners

RECORDS = 40


def records_of(language: str, is_spaced: bool, clause_words: int) -> list[tuple[str, str]]:
    """Return titles and texts made of the language's words; without spaces if it uses none, in short clauses."""
    words = [word for word in most_frequent(language, 3000)[100:] if not word.isascii() and len(word) > 1]
    drawn = np.random.default_rng(1).choice(words[:300], (RECORDS, 12 // clause_words, clause_words)).tolist()
    space, comma = (" ", ", ") if is_spaced else ("", "、")
    clauses = [[space.join(clause) for clause in record] for record in drawn]
    return [(f"{title} {i}", comma.join(text)) for i, (title, *text) in enumerate(clauses)]


@pytest.mark.parametrize(
    ("language", "charset", "matching", "is_spaced", "clause_words"),
    [
        ("ru", "koi8-r", "words", True, 3),
        ("ja", "shift_jis", "parts", False, 3),
        ("zh", "gb18030", "words", False, 1),  # SQLite's index contains only whole texts between two punctuation marks
        ("ar", "windows-1256", "parts", True, 3),
    ],
)
def test_a_site_in_another_script_is_harvested_like_one_in_english(
    tmp_path: Path, language: str, charset: str, matching: Matching, is_spaced: bool, clause_words: int
) -> None:
    """Nothing is declared and no phrase of its pages is known: words, empty answers and next pages are learned."""
    words = [word for word in most_frequent(language, 2000)[1500:] if not word.isascii()]
    records = records_of(language, is_spaced, clause_words)
    site = LanguageSite(records=records, words=words, charset=charset, matching=matching)
    with serve(site) as home:
        result = api.harvest(home, out=tmp_path, plan=Plan(budget=120), manners=Manners(rate=0))
    assert result.table.num_rows >= 0.95 * RECORDS


def test_a_form_without_results_is_tried_with_all_boxes_checked(tmp_path: Path) -> None:
    """Unchanged, the form returns nothing for any word."""
    records = records_of("ru", is_spaced=True, clause_words=3)
    site = LanguageSite(records=records, words=["Search", "Nothing", *most_frequent("en", 500)[300:]], boxes=("a", "b"))
    with serve(site) as home:
        result = api.harvest(home, out=tmp_path, plan=Plan(budget=120), manners=Manners(rate=0))
    assert result.table.num_rows >= 0.9 * RECORDS


def test_prefix_queries_return_records_without_common_words(tmp_path: Path) -> None:
    """Two thirds of the records share only prefixes with others; the source supports a star."""
    words = [word for word in most_frequent("ru", 3000)[1000:] if len(word) > 5 and word.isalpha()]
    rng = np.random.default_rng(2)
    endings = ["".join(rng.choice(list("аеиоуыя"), 5)) for _ in range(8 * RECORDS)]
    forms = [words[int(rng.integers(20))][:4] + ending for ending in endings]
    records = [
        (
            f"{forms[4 * i]} {forms[4 * i + 1]}",
            " ".join([*forms[4 * i + 2 : 4 * i + 4], words[i % 5] if i % 3 == 0 else ""]),
        )
        for i in range(2 * RECORDS)
    ]
    site = LanguageSite(records=records, words=words[500:], language="ru", matching="beginnings")
    with serve(site) as home:
        result = api.harvest(home, out=tmp_path, plan=Plan(budget=120), manners=Manners(rate=0))
    assert result.table.num_rows >= 0.95 * len(records)

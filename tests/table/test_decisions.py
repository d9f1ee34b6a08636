"""How much evidence the columns of a table need: each decision on both sides of its boundary."""

from typing import Any

import pytest

from upwell.table.extraneous_fields import prev_next_fields, query_dependent_fields
from upwell.table.rows import FieldColumns
from upwell.table.schema import PAGE_PREFIX, common_affixes, infer_columns, phrases_of, shape_rows

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def word(i: int) -> str:
    """A word of four letters, each with another beginning and end."""
    return LETTERS[i % 26] + LETTERS[i // 26 % 26] + LETTERS[(i * 7) % 26] + LETTERS[(i * 11 + 3) % 26]


def names_of(rows: list[dict[str, Any]], **how: Any) -> list[str]:
    return [column.name for column in infer_columns(rows, **how)]


@pytest.mark.parametrize(("count", "is_label"), [(4, False), (6, True)])
def test_a_label_with_a_colon_needs_some_texts(count: int, is_label: bool) -> None:
    assert bool(common_affixes({f"Year: {word(i)}" for i in range(count)})[0]) is is_label


@pytest.mark.parametrize(("count", "is_label"), [(15, False), (30, True)])
def test_a_label_without_a_colon_needs_more_texts(count: int, is_label: bool) -> None:
    assert bool(common_affixes({f"Year {word(i)}" for i in range(count)})[0]) is is_label


@pytest.mark.parametrize(("length", "is_label"), [(30, True), (60, False)])
def test_a_long_beginning_is_no_label(length: int, is_label: bool) -> None:
    label = ("label " * 20)[: length - 2] + ": "
    assert bool(common_affixes({label + word(i) for i in range(30)})[0]) is is_label


@pytest.mark.parametrize(("odd", "is_label"), [(1, True), (2, False)])
def test_few_texts_may_lack_the_label(odd: int, is_label: bool) -> None:
    """One text of 150 at each end of the alphabet may differ."""
    texts = [f"Year: {word(i)}" for i in range(150)] + [f"A{i}" for i in range(odd)]
    assert bool(common_affixes(texts)[0]) is is_label


@pytest.mark.parametrize(("count", "is_pattern"), [(14, False), (30, True)])
def test_a_pattern_needs_texts(count: int, is_pattern: bool) -> None:
    assert bool(phrases_of([f"Kept by {word(i)}; size {i} kB." for i in range(count)])) is is_pattern


@pytest.mark.parametrize(("missing", "is_pattern"), [(1, True), (8, False)])
def test_nearly_all_texts_have_the_phrases_of_a_pattern(missing: int, is_pattern: bool) -> None:
    texts = [f"Kept by {word(i)}; size {i} kB." for i in range(40 - missing)] + [word(i) for i in range(missing)]
    assert bool(phrases_of(texts)) is is_pattern


@pytest.mark.parametrize(("share", "is_column"), [(0.22, False), (0.45, True)])
def test_an_optional_phrase_stands_in_a_third_of_the_texts(share: float, is_column: bool) -> None:
    texts = [f"Kept by {word(i)};{f' site {word(i + 9)};' if i < 100 * share else ''} size {i} kB." for i in range(100)]
    assert ("site" in phrases_of(texts)) is is_column


@pytest.mark.parametrize(("length", "is_pattern"), [(30, True), (55, False)])
def test_a_phrase_is_short(length: int, is_pattern: bool) -> None:
    phrase = " ".join(word(i) for i in range(100, 130))[:length].strip()
    texts = [f"{phrase} {word(i)}{word(i + 5)}; size {i} kB." for i in range(40)]
    assert (phrase in phrases_of(texts)) is is_pattern


@pytest.mark.parametrize(("agreeing", "is_one"), [(9, True), (6, False)])
def test_a_list_column_and_a_page_column_agree_mostly(agreeing: int, is_one: bool) -> None:
    rows = [{"title": word(i), PAGE_PREFIX + "headline": word(i) if i < agreeing else word(i + 300)} for i in range(10)]
    assert (len(infer_columns(rows)) == 1) is is_one


@pytest.mark.parametrize(("both", "is_one"), [(2, False), (3, True)])
def test_columns_are_compared_in_several_rows(both: int, is_one: bool) -> None:
    rows: list[dict[str, Any]] = [{"city": word(i), "town": word(i)} for i in range(both)]
    assert (len(infer_columns(rows)) == 1) is is_one


@pytest.mark.parametrize(("different", "is_one"), [(0, True), (4, False)])
def test_two_columns_of_a_page_are_the_same_if_all_rows_agree(different: int, is_one: bool) -> None:
    rows = [{"a": word(i), "b": word(i + 500) if i < different else word(i)} for i in range(60)]
    assert (len(infer_columns(rows)) == 1) is is_one


@pytest.mark.parametrize(("length", "is_one"), [(10, False), (22, True)])
def test_a_text_that_is_cut_off_is_the_longer_one(length: int, is_one: bool) -> None:
    whole = [
        f"{word(i)} {word(i + 40)} {word(i + 80)} {word(i + 120)} {word(i + 160)} {word(i + 3)}" for i in range(12)
    ]
    rows = [{"title": f"{text[:length]}…", PAGE_PREFIX + "headline": text} for text in whole]
    assert (len(infer_columns(rows)) == 1) is is_one


@pytest.mark.parametrize(("filled", "is_one"), [(39, True), (30, False)])
def test_a_field_at_one_of_two_places_is_in_nearly_every_row(filled: int, is_one: bool) -> None:
    rows = [({"t": f"T{i}"} if i % 3 else {"t_2": f"T{i}"}) if i < filled else {"u": f"U{i}"} for i in range(40)]
    columns = [column.of for column in infer_columns(rows)]
    assert (("t_2", "t") in columns or ("t", "t_2") in columns) is is_one


@pytest.mark.parametrize(("count", "of", "is_column"), [(4, 100, False), (8, 100, True), (2, 30, True)])
def test_a_rare_field_of_a_large_table_is_no_column(count: int, of: int, is_column: bool) -> None:
    rows = [{"n": word(i), **({"odd": f"x{word(i)}"} if i < count else {})} for i in range(of)]
    assert ("odd" in names_of(rows)) is is_column


@pytest.mark.parametrize(("distinct", "is_title"), [(24, True), (17, False)])
def test_a_title_is_nearly_different_in_each_row(distinct: int, is_title: bool) -> None:
    rows = [{"li": f"by {i % 3}", "li_2": f"{word(i % distinct)} {word(i % distinct + 99)}"} for i in range(30)]
    assert ("title" in names_of(rows)) is is_title


@pytest.mark.parametrize(("units", "kind"), [(3, "integer"), (4, "text")])
def test_a_column_of_numbers_has_few_units(units: int, kind: str) -> None:
    rows = [{"size": f"{i + 1} {('km', 'miles', 'yards', 'feet')[i % units]}"} for i in range(24)]
    assert infer_columns(rows)[0].type == kind


def test_columns_of_many_rows_are_compared_in_a_sample_of_them() -> None:
    """Thousands of rows give the same columns as the first hundred."""
    rows = [{"a": word(i), PAGE_PREFIX + "b": word(i)} for i in range(3000)]
    assert [column.of for column in infer_columns(rows)] == [("a", PAGE_PREFIX + "b")]
    assert len(list(shape_rows(rows, infer_columns(rows)))) == 3000


@pytest.mark.parametrize(
    ("titles", "pages", "is_neighbour"), [(20, 20, True), (13, 20, False), (4, 4, False), (7, 7, True)]
)
def test_a_field_with_titles_of_other_records_names_a_neighbour(titles: int, pages: int, is_neighbour: bool) -> None:
    rows: list[dict[str, Any]] = [
        {"title": f"Title {i}", PAGE_PREFIX + "next": f"Title {i + 1}" if i < titles else f"Else {i}"}
        for i in range(pages)
    ]
    rows.append({"title": f"Title {pages}"})
    assert (prev_next_fields(FieldColumns.of(rows)) == {PAGE_PREFIX + "next"}) is is_neighbour


@pytest.mark.parametrize(("repeats", "is_neighbour"), [(1, True), (2, False)])
def test_a_record_that_several_pages_name_is_no_neighbour(repeats: int, is_neighbour: bool) -> None:
    rows = [{"title": f"Title {i}", PAGE_PREFIX + "of": f"Title {39 - i // repeats}"} for i in range(20)]
    rows += [{"title": f"Title {i}"} for i in range(20, 40)]
    assert (prev_next_fields(FieldColumns.of(rows)) == {PAGE_PREFIX + "of"}) is is_neighbour


@pytest.mark.parametrize(("length", "is_passage"), [(14, False), (30, True)])
def test_a_passage_is_longer_than_a_score(length: int, is_passage: bool) -> None:
    rows = [{"_url": f"http://x/{i}", "p": ("some words of a text " * 3)[:length]} for i in range(4)]
    assert ("snippet" in query_dependent_fields(FieldColumns.of(rows), {"p"}).cleaned(rows[0])) is is_passage


@pytest.mark.parametrize(("others", "stays"), [(0, False), (6, True)])
def test_a_field_that_mostly_repeats_the_address_goes(others: int, stays: bool) -> None:
    rows = [{"_url": f"http://x/p/{i}", "shown": f"/q/{i}" if i < others else f"/p/{i}"} for i in range(10)]
    assert ("shown" in query_dependent_fields(FieldColumns.of(rows), ()).cleaned(rows[9])) is stays

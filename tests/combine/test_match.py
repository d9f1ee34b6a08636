"""Columns are aligned and rows matched without labels."""

import random

import pytest

from tests.combine.shops import shops
from upwell.combine.align import align, align_two
from upwell.combine.match import match, match_rows
from upwell.combine.source_table import SourceTable, table_of_rows

COLUMNS = {("title", "name"), ("author", "written_by"), ("year", "published"), ("price", "cost")}


def f1(a: SourceTable, b: SourceTable, same: set[tuple[object, object]]) -> float:
    found = {(pair.a, pair.b) for pair in match(a, b)}
    return 2 * len(found & same) / (len(found) + len(same))


def test_columns_are_aligned_whatever_they_are_called() -> None:
    """By values and probable matches alone: meaningless names change nothing."""
    made = shops()
    a, b = table_of_rows(made.a, "a"), table_of_rows(made.b, "b")
    assert set(align_two(a, b)) == COLUMNS
    names = {"name": "c1", "written_by": "c2", "published": "c3", "cost": "c4", "_key": "_key"}
    renamed = [{names[column]: value for column, value in row.items()} for row in made.b]
    assert set(align_two(a, table_of_rows(renamed, "b"))) == {(x, names[y]) for x, y in COLUMNS}


def test_a_column_of_only_one_table_is_not_aligned() -> None:
    """Shelf numbers correspond to nothing in the other shop."""
    made, rng = shops(), random.Random(1)
    a = table_of_rows([{**row, "shelf": f"R{rng.randint(1, 99)}/{rng.randint(1, 9)}"} for row in made.a], "a")
    assert "shelf" not in dict(align_two(a, table_of_rows(made.b, "b")))


def test_three_tables_are_aligned() -> None:
    """Every column once, with its name in each table."""
    made = shops()
    third = [{"label": row["name"], "amount": row["cost"]} for row in made.b]
    tables = [table_of_rows(rows, str(i)) for i, rows in enumerate((made.a, made.b, third))]
    found = {column.columns for column in align(tables)}
    assert found == {
        ("title", "name", "label"), ("author", "written_by", None), ("year", "published", None), ("price", "cost", "amount"),
    }  # fmt: skip


def test_equal_books_are_matched_and_other_editions_are_not() -> None:
    """Although prices, spelling and the order of names differ."""
    made = shops()
    assert f1(table_of_rows(made.a, "a"), table_of_rows(made.b, "b"), made.same) > 0.95


def test_scores_are_probabilities() -> None:
    """The share of correct pairs is close to the mean score."""
    made = shops(seed=3)
    pairs = list(match(table_of_rows(made.a, "a"), table_of_rows(made.b, "b")))
    right = sum((pair.a, pair.b) in made.same for pair in pairs)
    assert abs(sum(pair.score for pair in pairs) - right) < 0.1 * len(pairs)
    assert [pair.score for pair in pairs] == sorted((pair.score for pair in pairs), reverse=True)


def test_tables_without_common_entities_have_few_matches() -> None:
    """Similar books are not the same books."""
    made = shops(shared=0)
    assert len(match_rows(table_of_rows(made.a, "a"), table_of_rows(made.b, "b"))) < 15


def test_few_matches_among_many_rows_are_found() -> None:
    """Also if the tables have very few entities in common."""
    made = shops(500, shared=0.03, seed=5)
    assert f1(table_of_rows(made.a, "a"), table_of_rows(made.b, "b"), made.same) > 0.7


def test_the_order_of_rows_and_of_tables_changes_nothing() -> None:
    """The same pairs, whichever table comes first and however its rows are ordered."""
    made, rng = shops(), random.Random(2)
    a, b = table_of_rows(made.a, "a"), table_of_rows(made.b, "b")
    found = {(pair.a, pair.b) for pair in match(a, b)}
    assert {(pair.b, pair.a) for pair in match(b, a)} == found
    shuffled = rng.sample(made.a, len(made.a))
    again = {(pair.a, pair.b) for pair in match(table_of_rows(shuffled, "a"), b)}
    assert len(again ^ found) <= 0.02 * len(found)


def test_chinese_titles_are_matched() -> None:
    """By their characters and pairs of characters."""
    rng = random.Random(4)
    titles = ["".join(chr(0x4E00 + rng.randrange(600)) for _ in range(6)) for _ in range(160)]
    a = table_of_rows([{"_key": i, "题": title} for i, title in enumerate(titles[:120])], "a")
    b = table_of_rows([{"_key": i + 40, "书名": f"《{title}》"} for i, title in enumerate(titles[40:])], "b")
    assert align_two(a, b) == [("题", "书名")]
    assert f1(a, b, {(i, i) for i in range(40, 120)}) > 0.95


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([], [{"x": 1}], []),
        ([{"x": 1}], [{"_url": "only where it came from"}], []),
        ([{"name": "Kafka on the Shore"}], [{"title": "Kafka on the shore"}, {"title": "Emma"}], [(0, 0)]),
    ],
)
def test_tiny_tables_do_not_fail(
    a: list[dict[str, object]], b: list[dict[str, object]], expected: list[tuple[int, int]]
) -> None:
    """Empty tables, tables without fields, and too few rows to learn from."""
    found = match_rows(table_of_rows(a, "a"), table_of_rows(b, "b"))
    assert [pair[:2] for pair in found] == expected


def test_models_of_a_series_do_not_hide_the_matches() -> None:
    """Rows of one catalogue are more similar to each other than to the same product in the other one, which is worded differently."""
    rng = random.Random(5)
    words = ["".join(rng.choices("bcdfglmnprstv", k=2) + rng.choices("aeiou", k=2)) for _ in range(900)]
    a, b = [], []
    for series in range(70):
        ours, theirs = rng.sample(words[:450], 9), rng.sample(words[450:], 9)
        both = rng.sample(words, 2)
        for model in range(4):
            code = f"{rng.choice('kxz')}{rng.randint(1000, 9999)}"
            a.append({"_key": f"{series}.{model}", "name": " ".join([*both, code, *ours, rng.choice(words)])})
            b.append({"_key": f"{series}.{model}", "title": " ".join([*theirs, *both, rng.choice(words), code])})
    rng.shuffle(b)
    assert f1(table_of_rows(a, "a"), table_of_rows(b, "b"), {(row["_key"], row["_key"]) for row in a}) > 0.8


def test_matched_rows_veto_columns_whose_values_disagree() -> None:
    """A rating and a volume number have the same values, but not for the same book."""
    made, rng = shops(), random.Random(6)
    a = table_of_rows([{**row, "rating": rng.randint(1, 5)} for row in made.a], "a")
    b = table_of_rows([{**row, "series_2": rng.randint(1, 5)} for row in made.b], "b")
    assert set(align_two(a, b)) == COLUMNS


def test_numbers_are_not_aligned_with_versions() -> None:
    """Tables without common rows: a number of stars is no version, whatever the columns are called."""
    rng = random.Random(8)
    a = table_of_rows([{"title": f"book {i}", "rating": f"{rng.randint(10, 50) / 10}"} for i in range(80)], "a")
    b = table_of_rows(
        [{"package": f"lib{i}", "rating": f"{rng.randint(0, 9)}.{i}.{rng.randint(0, 9)}"} for i in range(80)], "b"
    )
    assert ("rating", "rating") not in align_two(a, b)

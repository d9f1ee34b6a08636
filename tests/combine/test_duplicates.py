"""Duplicates inside one table are found as clusters."""

import json
import random
from pathlib import Path

import pytest

from tests.combine.shops import shops
from tests.command import upwell
from upwell.combine.catalogue import duplicates, match
from upwell.combine.source_table import SourceTable, table_of_rows


def books_with_copies() -> tuple[SourceTable, set[frozenset[object]]]:
    """Return a table in which every fourth book has one or two further rows, with slips of the pen."""
    rng, rows = random.Random(7), []
    groups: set[frozenset[object]] = set()
    titles = list({row["title"]: row for row in shops(200, seed=2).a}.values())
    for number, row in enumerate(titles):
        keys = [f"{number}"]
        rows.append({**row, "_key": keys[0]})
        for copy in range(number % 4 // 2 * (1 + number % 2)):
            title = str(row["title"])
            at = rng.randrange(len(title) - 1)
            keys.append(f"{number}-{copy}")
            rows.append({**row, "_key": keys[-1], "title": title[:at] + title[at + 1 :]})
        if len(keys) > 1:
            groups.add(frozenset(keys))
    return table_of_rows(rng.sample(rows, len(rows)), "books"), groups


def test_copies_with_slips_are_put_into_one_cluster() -> None:
    """Nearly all clusters are exactly right, although editions of other books are similar."""
    table, groups = books_with_copies()
    found = {frozenset(cluster.keys) for cluster in duplicates(table)}
    assert len(found & groups) > 0.9 * len(groups)
    assert len(found - groups) < 0.1 * len(groups)


def test_pairs_are_those_of_the_clusters() -> None:
    """Every pair of rows of a cluster, with its score."""
    table, _ = books_with_copies()
    clusters = duplicates(table)
    pairs = list(match(table))
    assert len(pairs) == sum(len(cluster.keys) * (len(cluster.keys) - 1) // 2 for cluster in clusters)
    assert all(0.75 <= pair.score <= 1 for pair in pairs)


@pytest.mark.parametrize(
    "rows", [[], [{"name": "Emma"}], [{"_url": "x"}, {"_url": "x"}], [{"name": "a"}, {"name": "b"}]]
)
def test_tables_without_duplicates(rows: list[dict[str, object]]) -> None:
    """Nothing is found, and nothing fails."""
    assert duplicates(table_of_rows(rows, "t")) == []


def test_the_command_prints_pairs_and_clusters(tmp_path: Path) -> None:
    """With one table: pairs as for two tables, or clusters."""
    file = tmp_path / "a.jsonl"
    names = [
        "The Silent Orchard, Ida Berg",
        "The silent orchard - Ida Berg",
        "Winter Compass, Vera Rossi",
        "A Hidden Island, Ruth Haddad",
    ]
    file.write_text("".join(json.dumps({"_key": f"k{i}", "name": name}) + "\n" for i, name in enumerate(names)))
    pair = json.loads(upwell("match", "a.jsonl", "--json", cwd=tmp_path).stdout)
    assert (pair["a"], pair["b"]) == ("k0", "k1")
    assert pair["score"] > 0.9
    assert json.loads(upwell("match", "a.jsonl", "--clusters", "--json", cwd=tmp_path).stdout)["keys"] == ["k0", "k1"]
    assert upwell("match", "a.jsonl", "a.jsonl", "--clusters", cwd=tmp_path).returncode == 2

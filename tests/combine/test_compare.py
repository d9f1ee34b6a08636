"""Comparison of several sources: the table, the summary, the total size, the report."""

import json
import random
from pathlib import Path

import pytest

from tests.browser import browser
from tests.combine.shops import shops
from tests.command import upwell
from upwell.combine.compare import compare, population_size
from upwell.combine.source_table import table_of_rows
from upwell.errors import WrongUsage
from upwell.table import parquet


def test_the_table_shows_sources_and_differences(tmp_path: Path) -> None:
    """One row per entity; prices differ by a tenth, titles agree."""
    made = shops(200)
    found = compare([table_of_rows(made.a, "north"), table_of_rows(made.b, "south")], out=tmp_path)
    shared = found.overlap["north", "south"]
    assert abs(shared - len(made.same)) < 0.1 * len(made.same)
    assert found.entities == 400 - shared
    assert [source.only_here for source in found.sources] == [200 - shared] * 2
    agreement = {column.column: column.agree / column.compared for column in found.agreement}
    assert agreement["title"] == 1
    assert agreement["price"] < 0.2
    assert {difference.kind for difference in found.differences[:10]} == {"number"}
    sizes = [difference.size for difference in found.differences if difference.kind == "number"]
    assert sizes == sorted(sizes, reverse=True)
    rows = list(parquet.read_values(tmp_path / "compared.parquet"))
    assert len(rows) == found.entities
    both = [row for row in rows if row["_sources"] == ["north", "south"]]
    assert len(both) == shared
    assert both[0]["price (south)"] == pytest.approx(1.1 * both[0]["price (north)"], rel=0.01)
    assert "price" in both[0]["_differs"]


def test_duplicate_rows_of_one_source_are_counted() -> None:
    """Rows are equal up to case and punctuation."""
    rows = [{"title": title} for title in ("Emma", "emma!", "Persuasion", "Lady Susan")]
    found = compare([table_of_rows(rows, "a"), table_of_rows(rows[2:], "b")])
    assert [source.duplicates for source in found.sources] == [1, 0]


def test_the_interval_contains_the_size_for_independent_sources() -> None:
    """The 95 % interval contains the truth nearly always."""
    held = 0
    for seed in range(100):
        rng = random.Random(seed)
        histories = [{s for s, share in enumerate((0.3, 0.4, 0.25)) if rng.random() < share} for _ in range(1000)]
        size = population_size([history for history in histories if history], 3)
        held += size.low <= 1000 and (size.high is None or size.high >= 1000)
    assert held >= 93


@pytest.mark.parametrize("copied", [0.5, 0.9])
def test_dependent_sources_give_a_lower_bound(copied: float) -> None:
    """If sources share popular entities, there is no upper bound, and the stated size is less than the truth."""
    rng, histories = random.Random(1), []
    for _ in range(3000):
        popular = rng.random() < copied / 2
        histories.append({s for s in range(3) if rng.random() < (0.8 if popular else 0.05)})
    size = population_size([history for history in histories if history], 3)
    assert size.is_lower_bound
    assert size.low <= 3000
    assert "at least" in size.statement()


def test_two_sources_give_no_upper_bound() -> None:
    """Without an overlap, the bound is the number of entities held."""
    size = population_size([{0, 1}] * 30 + [{0}] * 20 + [{1}] * 30, 2)
    assert (size.is_lower_bound, size.high) == (True, None)
    assert 80 <= size.low <= 100  # Lincoln–Petersen: 60 · 50 / 30
    assert population_size([{0}] * 5 + [{1}] * 5, 2).low == 10


def test_the_report_escapes_texts(tmp_path: Path) -> None:
    """Nothing is executed, and the page fits a phone."""
    rows = [{"title": f"<script>document.title='owned'</script> book {i}", "price": i} for i in range(8)]
    other = [{**row, "price": 2 * int(str(row["price"])) + 1} for row in rows]
    names = ["<b>a", "b", "c"]
    compare([table_of_rows(part, name) for part, name in zip((rows, other, rows), names, strict=True)], out=tmp_path)
    with browser() as page:
        page.set_viewport_size({"width": 360, "height": 700})
        page.goto((tmp_path / "compared.html").as_uri())
        assert page.title() == "<b>a, b, c – Upwell"
        assert "<script>" in page.inner_text("body")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.locator("svg g").count() >= 1


def test_match_and_compare_on_the_command_line(tmp_path: Path) -> None:
    """On files, as text and as JSON with the documented keys."""
    made = shops(120)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made.a))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made.b))
    (tmp_path / "c.csv").write_text("title,price\nEmma,3\n")
    done = upwell("match", "a.jsonl", "b.jsonl", "--json", cwd=tmp_path)
    pairs = [json.loads(line) for line in done.stdout.splitlines()]
    assert {tuple(pair) for pair in pairs} == {("a", "b", "score")}
    assert sum((pair["a"], pair["b"]) in made.same for pair in pairs) > 0.9 * len(made.same)
    done = upwell("match", "a.jsonl", "b.jsonl", "--columns", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["title"] == "name"
    done = upwell("match", "a.jsonl", "c.csv", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "no row of one table matches" in done.stderr
    done = upwell("compare", "a.jsonl", "b.jsonl", "c.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "written: compared/compared.parquet" in done.stdout
    assert (tmp_path / "compared" / "compared.html").is_file()


def test_bad_input_is_reported(tmp_path: Path) -> None:
    """One table, an empty one, a missing place."""
    (tmp_path / "a.csv").write_text("title\nEmma\n")
    (tmp_path / "empty.csv").write_text("title\n")
    for arguments, message in {
        ("a.csv",): "compare takes 2 to 20 tables or folders of harvests; 1 given",
        ("a.csv", "empty.csv"): "empty has no rows",
        ("a.csv", "gone.csv"): "is neither a file nor a folder",
    }.items():
        done = upwell("compare", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr
    with pytest.raises(WrongUsage, match="21 given"):
        compare([tmp_path / "a.csv"] * 21)

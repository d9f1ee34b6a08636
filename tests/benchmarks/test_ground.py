"""The proving ground: what a simulated source answers, and that a harvest of it is measured."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.ground.oracle import oracle
from benchmarks.ground.report import table
from benchmarks.ground.run import harvest
from benchmarks.ground.settings import SETTINGS
from benchmarks.ground.source import Collection, Setting, SimulatedSource

from upwell.choose.candidates import AnswerPage

COLOURS, ANIMALS = ("red", "green", "blue", "white", "black"), ("cat", "dog", "bird", "horse", "fish", "ant")
ROWS = [
    (
        str(i),
        [
            f"the {COLOURS[i % 5]} {ANIMALS[i % 6]} number{i}",
            f"{ANIMALS[(i // 7) % 6]} of the {COLOURS[(i // 11) % 5]} house",
        ],
    )
    for i in range(600)
]


def source(**how: object) -> SimulatedSource:
    return SimulatedSource(Collection("made", ROWS), Setting(name="made", **how))  # type: ignore[arg-type] # settings by name


def test_the_grid_is_large_enough_and_every_setting_answers() -> None:
    assert len(SETTINGS) >= 60
    for setting in SETTINGS.values():
        one = SimulatedSource(Collection("made", ROWS[:60]), setting)
        assert one.ask("cat", "", 1) is not None or setting.failures


def number(query: str, **how: object) -> int:
    found = source(**how).matches(query, "")
    return len(found) if found is not None else -1


def page(of: SimulatedSource, query: str, number: int = 1) -> AnswerPage:
    answer = of.ask(query, "", number)
    assert answer is not None
    return answer


def test_what_a_source_answers() -> None:
    """All words, any word, parts, prefixes, stems; caps, totals, pages, facets."""
    red = number("red")
    assert 0 < number("red cat") < red < number("red cat", match="any") < 600
    assert number("re", match="part") >= number("re", match="prefix") >= red
    assert number("cats", match="stem") > 0
    assert number("red", min_letters=4) == 0
    assert number("the", stops=True) == 0
    assert number("", nothing="all") == 600
    assert number("", nothing="error") == -1
    capped = source(cap=50, page=20)
    assert [len(page(capped, "the", at).records) for at in (1, 2, 3)] == [20, 20, 10]
    assert page(capped, "the").totals.total == 600
    assert not page(capped, "the", 3).has_next
    assert page(source(totals="none"), "the").totals.total is None
    with_facets = source(facets=True, cap=50)
    facet = page(with_facets, "the").links()[0]
    narrower = with_facets.matches("the", facet.url)
    assert narrower is not None
    assert len(narrower) == facet.count
    before = capped.requests
    page(capped, "the")
    assert capped.requests == before, "what was answered before is remembered"


@pytest.mark.parametrize("how", [{"nothing": "all"}, {"totals": "none"}, {"cap": 50}])
def test_a_harvest_brings_it_up_and_states_what_holds(how: dict[str, object]) -> None:
    result = harvest(source(**how))
    assert result.requests["0.95"] is not None
    for moment in result.moments:
        assert moment.low <= 600
        assert moment.lower_bound or moment.high >= 600
    again = harvest(source(**how))
    assert again == result, "every decision is deterministic"


def test_the_oracle_is_no_slower() -> None:
    for how in ({"nothing": "all"}, {"cap": 50}):
        best = oracle(source(**how), ("", "*"))
        needed = harvest(source(**how)).requests["0.95"]
        assert best["0.95"] is not None
        assert needed is not None
        assert 600 * 0.95 / 20 <= best["0.95"] <= needed


def test_the_command(tmp_path: Path) -> None:
    """A line for each setting and seed, as the contract has it; a table of them."""
    records = tmp_path / "records.jsonl"
    records.write_text(
        "".join(json.dumps({"id": key, "title": texts[0], "more": texts[1]}) + "\n" for key, texts in ROWS)
    )
    command = [
        sys.executable,
        "-m",
        "benchmarks.ground",
        "--records",
        str(records),
        "--settings",
        "all",
        "cap50",
        "--seeds",
        "1",
    ]
    ran = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [row["settings"]["cap"] for row in rows] == [0, 50]
    for row in rows:
        assert row["records"] == 600
        assert set(row["requests"]) == set(row["oracle"]) == {"0.5", "0.9", "0.95", "0.99"}
        assert {"requests", "held", "size", "low", "high", "lower_bound"} <= set(row["moments"][0])
    assert "everything" in table(rows)

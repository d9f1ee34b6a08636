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
    return SimulatedSource(Collection("made", ROWS), Setting(name="made", **how))  # type: ignore[arg-type]


def test_the_grid_is_large_enough_and_every_setting_answers() -> None:
    assert len(SETTINGS) >= 60
    for setting in SETTINGS.values():
        one = SimulatedSource(Collection("made", ROWS[:60]), setting)
        assert one.ask("cat", "", 1) is not None or setting.failures


def test_what_a_source_answers() -> None:
    """All words, any word, parts, prefixes, stems; caps, totals, pages, facets."""
    red = len(source().matches("red", ""))
    assert 0 < red < 600
    assert len(source().matches("red cat", "")) < red < len(source(match="any").matches("red cat", ""))
    assert len(source(match="part").matches("re", "")) >= len(source(match="prefix").matches("re", "")) >= red
    assert len(source(match="stem").matches("cats", "")) > 0
    assert source(min_letters=4).matches("red", "").size == 0
    assert source(stops=True).matches("the", "").size == 0
    assert len(source(nothing="all").matches("", "")) == 600
    capped = source(cap=50, page=20)
    assert [len(capped.ask("the", "", page).records) for page in (1, 2, 3)] == [20, 20, 10]
    assert capped.ask("the", "", 1).totals.total == 600
    assert not capped.ask("the", "", 3).has_next
    assert source(totals="none").ask("the", "", 1).totals.total is None
    facets = source(facets=True, cap=50).ask("the", "", 1).links
    narrower = source(facets=True, cap=50).matches("the", facets[0].url)
    assert len(narrower) == facets[0].count
    before = capped.requests
    capped.ask("the", "", 1)
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

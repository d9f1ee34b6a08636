"""Records are passed on as they arrive, and those held from before come first; a result is a table."""

import json
import sys
from pathlib import Path

import pytest

import upwell
from tests.command import upwell as run
from upwell import Manners, api
from upwell.demo import SMALL_SITE, serve

FREE = Manners(rate=0)


def test_records_held_from_before_come_first(tmp_path: Path) -> None:
    """The second call sends nothing and yields the same records; a larger budget yields them and new ones."""
    with serve(SMALL_SITE) as site:
        first = list(api.records(site.url, out=tmp_path, budget=30, manners=FREE))
        asked = len(site.received)
        second = list(api.records(site.url, out=tmp_path, budget=30, manners=FREE))
        assert len(site.received) == asked
        more = list(api.records(site.url, out=tmp_path, budget=45, manners=FREE))
    assert first
    assert second == first
    assert more[: len(first)] == first
    assert len(more) > len(first)


def test_a_result_is_a_table(tmp_path: Path) -> None:
    """Fields of the plan are keywords; the result has a length, rows, and a table for notebooks in which texts are escaped."""
    seen: list[object] = []
    with serve(SMALL_SITE) as site:
        result = api.harvest(
            site.url, out=tmp_path, budget=30, columns=("name", "people=population:int"), manners=FREE,
            on_record=lambda row: seen.append(row["name"]),
        )  # fmt: skip
        assert len(result) == len(list(result)) == len(seen) > 0
        assert "<th>name</th><th>people</th>" in result._repr_html_()
        with pytest.raises(TypeError, match=r"'bugdet'; did you mean budget\?"):
            upwell.harvest(site.url, out=tmp_path, bugdet=5)  # type: ignore[call-arg] # a misspelt name


def test_a_command_gets_each_record(tmp_path: Path) -> None:
    """`--pipe` writes JSON lines; a command that ends early does not end the harvest."""
    read = f"{sys.executable} -c \"import sys; open('seen','w').writelines(sys.stdin)\""
    with serve(SMALL_SITE) as site:
        common = ("harvest", site.url, "--rate", "0", "--budget", "30", "--engine", "inline", "--json")
        done = run(*common, "-o", "a", "--pipe", read, cwd=tmp_path)
        early = run(*common, "-o", "b", "--pipe", "true", cwd=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "seen").read_text().splitlines()]
    assert len(rows) == json.loads(done.stdout)["records"] == json.loads(early.stdout)["records"] > 0
    assert all(row["name"] and row["_url"] for row in rows)
    assert "the harvest continues without it" in early.stderr

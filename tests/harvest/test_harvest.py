"""Complete harvests of the demo site, in each layout and with each difficulty."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.browser import browser
from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Running, Switches, serve
from upwell.demo.cities import by_id
from upwell.demo.switches import LAYOUTS
from upwell.errors import NoSearchForm, NothingLearned, WrongUsage
from upwell.harvest.events import Asked, Event, Found, Learned, Looking, Stopped
from upwell.net.fetch import Manners
from upwell.source.model import load_all
from upwell.table.writers import read_keys


def harvest(site: Running, out: Path, budget: int = 120, **plan: object) -> tuple[api.Result, list[dict[str, object]]]:
    result = api.harvest(site.url, out=out, plan=Plan(budget=budget, **plan), manners=Manners(rate=0))  # type: ignore[arg-type] # a Plan's own
    return result, pq.read_table(result.records).to_pylist()


def check(rows: list[dict[str, object]], least: int) -> None:
    """Check that every record is a city, no city occurs twice, and the fields of the record are correct."""
    # the URL of "Ban Ko Sire" is left out, because its link seems to ban; the key is made from it all the same
    ids = [int(str(row["_url"] or row["_key"]).rsplit("/", 1)[-1]) for row in rows]
    assert len(set(ids)) == len(ids) >= least
    for number, row in zip(ids, rows, strict=True):
        city = by_id()[number]
        said = " ".join(str(value) for name, value in row.items() if not name.startswith("_"))
        assert city.name in said
        assert city.population in row.values() or f"{city.population:,}" in said


# The others have records without a URL (lines), header lines (pre) or two cities in a record: tests/golden/README.md.
CHECKED_LAYOUTS = [layout for layout in LAYOUTS if layout not in ("lines", "pre", "small-groups")]


@pytest.mark.parametrize("layout", CHECKED_LAYOUTS)
def test_every_layout_gives_correct_records(layout: str, tmp_path: Path) -> None:
    """Lists, tables, cards, old HTML, JSON and others."""
    with serve(Switches.parse([f"layout={layout}"])) as site:
        _, rows = harvest(site, tmp_path)
    check(rows, 700)


@pytest.mark.parametrize("setting", ["post=1", "token=1", "order=none", "page_size=50", "result_cap=40"])
def test_harvests_with_other_switches_give_correct_records(setting: str, tmp_path: Path) -> None:
    """POST, tokens, another order, other page sizes and result caps."""
    with serve(Switches.parse([setting])) as site:
        _, rows = harvest(site, tmp_path)
    check(rows, 500)


@pytest.mark.parametrize("fault", ["500", "503", "429", "reset", "truncated", "length", "loop"])
def test_faults_cost_requests_not_records(fault: str, tmp_path: Path) -> None:
    """With a fault on one answer in twenty the harvest continues."""
    with serve(Switches.parse([f"fault={fault}", "fault_rate=0.05"])) as site:
        _, rows = harvest(site, tmp_path, budget=160)
    check(rows, 300)


def test_the_files_of_a_harvest(demo: Running, tmp_path: Path) -> None:
    """The files, the summary, the columns of origin, and a report that a browser can show."""
    events: list[Event] = []
    plan, manners = Plan(budget=80), Manners(rate=0)
    result = api.harvest(demo.url, out=tmp_path, plan=plan, manners=manners, observe=events.append)
    assert {path.name for path in result.folder.iterdir()} == {
        "records.parquet",
        "source.json",
        "summary.json",
        "report.html",
        "events.jsonl",
        "datapackage.json",
        "archive",
        "state.sqlite",
        "checkpoint",
        "checkpoint-words-0",
    }
    summary = json.loads((result.folder / "summary.json").read_text())
    assert set(summary) == {
        "site", "title", "requests", "answers", "records", "overlap_rate", "size", "size_state", "coverage", "statement", "out_of_reach", "checks",
        "details", "tables", "stopped", "seconds", "bytes", "sources",
    }  # fmt: skip
    assert set(summary["answers"]) == {"multi", "single", "none", "error"}
    assert summary["requests"] <= 81
    assert summary["stopped"] == "budget"
    rows = pq.read_table(result.records).to_pylist()
    assert summary["records"] == len(rows)
    assert list(rows[0])[:8] == ["_key", "_source", "_url", "_query", "_page", "_path", "_seen", "_fetched"]
    assert json.loads((result.folder / "source.json").read_text())["rules"][0]["leader"].endswith("/li.city")
    assert isinstance(events[0], Looking)
    assert [type(e) for e in events if not isinstance(e, Looking)][:2] == [Found, Learned]
    assert isinstance(events[-1], Stopped)
    assert any(isinstance(e, Asked) and e.records for e in events)
    with browser() as page:
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(result.report.as_uri())
        assert page.locator("h1").inner_text() == summary["title"] == "Cities of the World"
        text = page.locator("body").inner_text()
        assert f"{len(rows):,} records" in text
        assert not re.search(r"pagelet|multi\b|tuple|overlap rate", text)
        assert page.locator("table.rows tbody tr").count() == 20
        assert page.locator("script, iframe, img").count() == 0
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert said == []


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_csv_and_json_lines_have_the_same_records(demo: Running, tmp_path: Path, kind: str) -> None:
    """As Parquet."""
    result = api.harvest(demo.url, out=tmp_path, plan=Plan(budget=60), manners=Manners(rate=0), format=kind)  # type: ignore[arg-type] # parametrized
    assert result.records.name == f"records.{kind}"
    assert len(read_keys(result.records)) == result.summary["records"]


def test_no_other_form_is_sent_and_no_link_that_acts_is_followed(tmp_path: Path) -> None:
    """Only robots.txt, the home page, searches and city pages were requested, and nothing was posted."""
    with serve() as site:
        harvest(site, tmp_path)
        asked = {(r.method, "/" + r.path.split("/")[1]) for r in site.received}
    assert asked <= {("GET", path) for path in ("/", "/robots.txt", "/search", "/city")}


def test_the_same_seed_gives_the_same_records(tmp_path: Path) -> None:
    """Two harvests of a site in the same state are equal."""
    keys = []
    for name in ("a", "b"):
        with serve() as site:
            _, rows = harvest(site, tmp_path / name, budget=60)
        keys.append([str(row["_url"]).rsplit("/", 1)[-1] for row in rows])
    assert keys[0] == keys[1]


def test_sites_without_a_usable_search_are_reported(tmp_path: Path) -> None:
    """A form that needs JavaScript, a login wall, a wrong form number: each message says what was found."""
    with serve(Switches(script="form")) as site, pytest.raises(NoSearchForm, match="login, mailing list"):
        harvest(site, tmp_path, browser="never")
    with serve(Switches(login_wall=True)) as site, pytest.raises(NothingLearned, match="--login"):
        harvest(site, tmp_path, browser="never")
    with serve() as site, pytest.raises(NoSearchForm, match="--form 7"):
        harvest(site, tmp_path, form=7)


def test_wrong_usage_is_reported(tmp_path: Path) -> None:
    """No URL, no such format, a folder that is a file."""
    with pytest.raises(WrongUsage, match="http"):
        api.harvest("no address", out=tmp_path)
    with pytest.raises(WrongUsage, match="xls"):
        api.harvest("http://127.0.0.1:1/", out=tmp_path, format="xls")  # type: ignore[arg-type] # wrong on purpose
    (tmp_path / "file").touch()
    with pytest.raises(WrongUsage, match="-o"):
        api.harvest("http://127.0.0.1:1/", out=tmp_path / "file")


def test_ctrl_c_keeps_the_results_so_far(tmp_path: Path) -> None:
    """An interrupted harvest exits with 3, and its records, summary and report are written."""
    with serve(Switches(latency=0.01)) as site:
        command = [
            sys.executable,
            "-m",
            "upwell.cli",
            "harvest",
            site.url,
            "-o",
            str(tmp_path),
            "--rate",
            "0",
            "--budget",
            "100000",
        ]
        running = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"})
        deadline = time.monotonic() + 60
        while len(site.received) < 80 and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=60)
    assert running.returncode == 3, stderr
    (summary,) = tmp_path.rglob("summary.json")
    assert json.loads(summary.read_text())["stopped"] == "interrupted"
    assert json.loads(summary.read_text())["records"] > 0


def test_probe_saves_the_answers(demo: Running, tmp_path: Path) -> None:
    """The answers to nonsense and words are saved with their queries, and probing ends when the kinds are stable."""
    plan = Plan(probes=100, background=3)
    summary = api.probe(demo.url, out=tmp_path, plan=plan, manners=Manners(rate=0))
    lines = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert summary.pages == len(lines) == len(list(tmp_path.glob("*.html")))
    assert summary.stable is True
    assert len(lines) < 103
    assert summary.answers["multi"] > 0
    assert summary.answers["none"] >= 3
    rows = list(api.extract(tmp_path))
    assert sum(row.kind == "multi" for row in rows) > 5


def test_a_given_source_model_is_not_learned_again(tmp_path: Path) -> None:
    """A saved source.json, alone or in the list of a site with several sources: already the first answer is read."""
    with serve(Switches()) as site:
        first, _ = harvest(site, tmp_path / "first", 60)
        one = json.loads((first.folder / "source.json").read_text())
        assert one["roles"]["arguments"]["sort"][0] == "sort"
        other = {**one, "asked_at": "/elsewhere"}
        models = load_all(json.dumps([other, one]))
        events: list[Event] = []
        plan = Plan(budget=20, models=models)
        again = api.harvest(site.url, out=tmp_path / "again", plan=plan, manners=Manners(rate=0), observe=events.append)
    check(pq.read_table(again.records).to_pylist(), 100)
    assert not [event for event in events if isinstance(event, Learned)]

"""The coverage statement is the same sentence in the terminal, the status, the report, the web pages and Python."""

import html
from pathlib import Path

import pytest

from upwell import Manners, api
from upwell.choose.plan import Plan
from upwell.cli.display import lines_of_harvest
from upwell.demo import SMALL_SITE, Switches, serve
from upwell.harvest.folders import status
from upwell.web.harvest_views import live_part
from upwell.web.harvests import Harvest
from upwell.web.live_progress import Progress


@pytest.mark.parametrize(
    ("site", "budget", "state"),
    [(SMALL_SITE, 200, "exact"), (Switches(country="GR,IT", result_cap=40), 40, "at least")],
)
def test_the_statement_is_the_same_everywhere(site: Switches, budget: int, state: str, tmp_path: Path) -> None:
    with serve(site) as running:
        result = api.harvest(running.url, out=tmp_path, plan=Plan(budget=budget), manners=Manners(rate=0))
    summary, folder = result.summary, result.folder
    assert summary["size_state"] == state
    statement = summary["statement"]
    assert statement in lines_of_harvest(result)
    assert [entry.statement for entry in status(folder)] == [statement]
    assert statement in html.unescape(result.report.read_text(encoding="utf-8"))
    progress = Progress(folder)
    assert progress.read()
    finished = Harvest(id="x", folder=folder, summary=dict(summary), is_running=False)
    assert statement in html.unescape(live_part(finished, progress))
    # while it runs, the page knows what the last event with a size says
    said = html.unescape(live_part(Harvest(id="x", folder=folder, summary={}, is_running=True), progress))
    if state == "exact":
        assert f"of the {summary['size']['estimate']:,} that the site counts" in said
    else:
        assert "there may be many more" in said

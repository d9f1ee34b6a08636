"""The progress line of a harvest."""

import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rich.console import Console

from upwell import Manners, api
from upwell.cli import progress
from upwell.cli.progress import ProgressLine
from upwell.demo import SMALL_SITE, serve
from upwell.harvest.events import Asked, Event, Looking, Stopped, Trouble
from upwell.types import Estimate, Skipped


def asked(source: str, records: int, requests: int, **more: object) -> Asked:
    size = Estimate(estimate=2.0 * records, low=1.5 * records, high=3.0 * records)
    values: dict[str, object] = {"size": size, "requests_to_goal": 40, **more}
    return Asked(
        site="example.org", query="q", requests=requests, answers={}, records=records, overlap_rate=1.0, source=source,
        **values,  # type: ignore[arg-type] # as above
    )  # fmt: skip


def test_several_sources_add_up_on_a_line_of_80_columns() -> None:
    """It shows records, coverage with its interval, forecast, requests and problems, summed over all sources."""
    line = ProgressLine(1000, visible=True)
    line.console = line.bar.live.console = Console(file=io.StringIO(), force_terminal=True, width=80)
    line.follow(asked("a", 1000, 20))
    line.follow(asked("b", 500, 21))
    line.follow(Trouble(skipped=Skipped(stage="fetch", page="x", reason="status 500")))
    line.follow(asked("b", 500, 22))
    said = line.bar.tasks[0].description
    assert said == "1,500 records, 50% (33%–67%) · 90% in ~80 · 22/1,000 requests · 1 problem"
    line.follow(asked("b", 500, 23, lower_bound=True))
    assert line.bar.tasks[0].description.startswith("1,500 records of at least 2,250 · 23/1,000 requests")
    with line.bar.live.console.capture() as shown:
        line.bar.live.console.print(line.bar.get_renderable())
    assert max(map(len, shown.get().splitlines())) <= 120  # 80 signs, and the colours


def test_a_site_that_is_over_is_added_up_and_forgotten() -> None:
    """Only running sites are kept in memory; the totals include sites that ended."""
    line = ProgressLine(1000, visible=True)
    line.follow(asked("a", 1000, 20))
    line.follow(Stopped(reason="budget", site="example.org"))
    assert not line.last
    assert not line.requests
    line.follow(asked("b", 500, 21))
    assert line.bar.tasks[0].description.startswith("1,500 records, 50% (33%–67%) · 90% in ~40 · 41/1,000 requests")


def test_without_a_terminal_there_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A file or a pipe gets a plain line at intervals; the log has every event with its source and time."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    with ProgressLine(100, visible=True, log=tmp_path / "log.jsonl") as observe:
        observe(asked("a", 10, 5, size=None))
    assert "10 records · 5/100 requests" in capsys.readouterr().err
    (line,) = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())
    assert line["event"] == "asked"
    assert line["source"] == "a"
    assert line["time"].endswith("+00:00")


def test_the_line_shows_what_is_tried_before_the_search_is_known() -> None:
    """A harvest reports each request of discovery and learning before the first record; the line names what is tried."""
    line = ProgressLine(1000, visible=True)
    shown: list[str] = []
    events: list[Event] = []

    def observe(event: Event) -> None:
        events.append(event)
        line.follow(event)
        if isinstance(event, Looking):
            shown.append(line.bar.tasks[0].description)

    with serve(SMALL_SITE) as site, TemporaryDirectory() as folder:
        api.harvest(site.url, out=folder, budget=30, manners=Manners(rate=0), observe=observe)
    first_asked = next(number for number, event in enumerate(events) if isinstance(event, Asked))
    looking = [number for number, event in enumerate(events) if isinstance(event, Looking)]
    assert len([number for number in looking if number < first_asked]) >= 5
    assert shown[0].startswith("looking for the search · 127.0.0.1:")
    assert any(said.startswith("learning the answers · “") for said in shown)

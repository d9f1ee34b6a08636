"""A harvest continued from a checkpoint sends the same requests as without interruption."""

import re
import signal
from pathlib import Path

import pytest

import upwell
from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Running, Switches, serve
from upwell.net.fetch import Manners
from upwell.signals import stopping_by_signals
from upwell.table import parquet
from upwell.table.writers import read_keys

FREE = Manners(rate=0)
BUDGETS = (71, 90, 150)


USED = [
    Switches(),
    Switches(result_cap=40),
    Switches(list_all=True, layout="table"),
    Switches(largest_page=100, post=True, token=True),
    Switches(drift_after=20, fault="500", fault_rate=0.1),
]


def harvested(site: Running, out: Path, *budgets: int) -> tuple[list[str], list[str]]:
    """Harvest with one budget after the other; return the requests and the table, without what differs between servers."""
    before = len(site.received)
    for budget in budgets:
        result = api.harvest(site.url, out=out, plan=Plan(budget=budget, details=10), manners=FREE)
    asked = [re.sub(r"&ref=\w+", "", f"{request.path}?{request.query}") for request in site.received[before:]]
    return asked, [_plain_row(row) for row in parquet.read_values(result.records)]


def _plain_row(row: dict[str, object]) -> str:
    told = {name: value for name, value in row.items() if name not in ("_page", "_fetched")}
    return re.sub(r"127\.0\.0\.1:\d+", "site", repr(told))


def checkpoint(out: Path) -> Path:
    return next(out.rglob("checkpoint"))


@pytest.mark.parametrize("switches", [Switches(), Switches(result_cap=40)])
def test_a_continued_harvest_sends_the_same_requests(tmp_path: Path, switches: Switches) -> None:
    """With a checkpoint and with a damaged one; each time from a new server, which decorates its pages in the same order."""
    with serve(switches) as site:
        whole = harvested(site, tmp_path / "whole", BUDGETS[-1])
    with serve(switches) as site:
        assert harvested(site, tmp_path / "a", *BUDGETS) == whole
    with serve(switches) as site:
        first, _ = harvested(site, tmp_path / "b", *BUDGETS[:2])
        checkpoint(tmp_path / "b").write_bytes(checkpoint(tmp_path / "b").read_bytes()[:-1000])
        rest, kept = harvested(site, tmp_path / "b", BUDGETS[2])
        assert (first + rest, kept) == whole


def is_continued(caplog: pytest.LogCaptureFixture) -> bool:
    return any("continuing from a checkpoint" in record.message for record in caplog.records)


@pytest.mark.parametrize("switches", USED)
def test_a_checkpoint_is_used(tmp_path: Path, switches: Switches, caplog: pytest.LogCaptureFixture) -> None:
    """Everything that a harvest remembers can be stored, and the next process does not read the answers again."""
    caplog.set_level("INFO", logger="upwell")
    with serve(switches) as site:
        harvested(site, tmp_path, *BUDGETS[:2])
    assert is_continued(caplog)
    assert not any("no checkpoint" in record.message for record in caplog.records)


def test_records_held_are_reported_again_after_a_break(tmp_path: Path) -> None:
    """An observer of records receives all of them, including those from before the break; each once."""
    with serve() as site:
        api.harvest(site.url, out=tmp_path, plan=Plan(budget=80), manners=FREE)
        rows = list(upwell.records(site.url, plan=Plan(budget=100), manners=FREE, out=tmp_path))
    (table,) = tmp_path.rglob("records.parquet")
    assert sorted(str(row["_key"]) for row in rows) == sorted(read_keys(table))


def test_sigterm_ends_the_test_run() -> None:
    """Even while a test harvests; the test does not continue with an interrupted harvest."""
    taken: list[str] = []
    with stopping_by_signals(lambda: taken.append("stopped")), pytest.raises(pytest.exit.Exception):
        signal.raise_signal(signal.SIGTERM)
    assert not taken

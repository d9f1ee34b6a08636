"""A server that keeps the results in its session is asked serially, and nothing is reused."""

from pathlib import Path

import upwell
from tests.harvest.kept_results import PLACES, kept_results
from upwell.choose.plan import Plan
from upwell.net.manners import Manners


def test_further_pages_with_one_address_for_all_queries_are_not_mixed_up(tmp_path: Path) -> None:
    """Records of one query are not taken for those of another, and the statement holds."""
    with kept_results() as url:
        result = upwell.harvest(url, out=tmp_path / "x", plan=Plan(budget=250), manners=Manners(rate=0))

    size = result.summary["size"]
    assert result.summary["records"] == len(PLACES)
    assert size["low"] <= len(PLACES) <= size["high"]

"""Record keys are stable."""

import random
import re
from pathlib import Path

import pytest

from tests.hostile.site import HostileSite, hostile
from upwell import api
from upwell.harvest.loop import Plan
from upwell.net.fetch import Manners

LINKS = ("/s/{token}/item/{i}", "/item/{i};jsessionid={token}", "/(S({token}))/item/{i}", "/go/{token}")


class NoTotals(HostileSite):
    """Source that lists nothing without a query and states no totals."""

    def names(self, query: str) -> list[tuple[int, str]]:
        return super().names(query)[:100] if query.strip() else []

    def answer(self, query: str, page: int, target: str) -> str:
        return re.sub(r"<p>\d+ results</p>", "", super().answer(query, page, target))


@pytest.mark.parametrize("link", LINKS)
def test_session_in_the_path_makes_no_new_records(link: str, tmp_path: Path) -> None:
    """A record whose URL changes each time is identified by its content."""
    rng = random.Random(0)
    with hostile(records=300) as site:
        site.__class__ = NoTotals
        site.record = lambda i, name: f'<a href="{link.format(i=i, token=f"{rng.getrandbits(128):032x}")}">{name}</a>'
        result = api.harvest(
            site.url, out=tmp_path, plan=Plan(budget=120, browser="never"), manners=Manners(rate=0, retries=0)
        )
    assert 200 < result.summary["records"] <= 300

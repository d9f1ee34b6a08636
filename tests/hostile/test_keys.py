"""Records are told apart by what lasts."""

import random
import re
from pathlib import Path

import pytest

from tests.hostile.site import Hostile, hostile
from upwell import api
from upwell.harvest.loop import Plan
from upwell.net.fetch import Manners

LINKS = ("/s/{token}/item/{i}", "/item/{i};jsessionid={token}", "/(S({token}))/item/{i}", "/go/{token}")


class NoTotals(Hostile):
    """A source that lists nothing without a query and does not count."""

    def names(self, query: str) -> list[tuple[int, str]]:
        return super().names(query)[:100] if query.strip() else []

    def answer(self, query: str, page: int, target: str) -> str:
        return re.sub(r"<p>\d+ results</p>", "", super().answer(query, page, target))


@pytest.mark.parametrize("link", LINKS)
def test_a_session_in_the_path_makes_no_new_records(link: str, tmp_path: Path) -> None:
    """Where the same record comes with another address each time, it is known by its content."""
    rng = random.Random(0)
    with hostile(records=300) as site:
        site.__class__ = NoTotals
        site.record = lambda i, name: f'<a href="{link.format(i=i, token=f"{rng.getrandbits(128):032x}")}">{name}</a>'
        result = api.harvest(
            site.url, out=tmp_path, plan=Plan(budget=120, browser="never"), manners=Manners(rate=0, retries=0)
        )
    assert 200 < result.summary["records"] <= 300

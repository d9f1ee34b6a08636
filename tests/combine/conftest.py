"""Harvests of two demo sites of different layout and edition: the same cities with other column names, some of them gone or grown."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import upwell
from upwell.demo import Running, serve

FREE = upwell.Manners(rate=0)


@dataclass(frozen=True)
class TwoSites:
    """The running sites and their harvests."""

    sites: tuple[Running, Running]
    folder: Path
    harvests: tuple[Path, Path]

    @property
    def names(self) -> tuple[str, str]:
        """Return host and port of each."""
        first, second = (site.url.removeprefix("http://").rstrip("/") for site in self.sites)
        return first, second


@pytest.fixture(scope="session")
def two_sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoSites]:
    """Harvest both with the same queries, so that many cities are in both."""
    folder = tmp_path_factory.mktemp("harvests")
    plan = upwell.Plan(budget=45, words=("lima", "san juan", "peru"))
    with serve() as first, serve(upwell.Switches(layout="table", edition=3)) as second:
        harvests = [upwell.harvest(site.url, out=folder, plan=plan, manners=FREE).folder for site in (first, second)]
        yield TwoSites((first, second), folder, (harvests[0], harvests[1]))

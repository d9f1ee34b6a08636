"""The 34,000 cities of GeoNames, and the search over them: every word of the query must be in the record.

`scripts/make_cities.py` has made their file.
"""

import bz2
import zlib
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from importlib import resources
from typing import Literal

from upwell.page.tokens import tokens

__all__ = ["City", "Order", "all_cities", "by_id", "cities_of", "search"]

Order = Literal["relevance", "rank", "none"]


@dataclass(frozen=True, slots=True)
class City:
    """One record of the demo site, with every field that its pages show."""

    id: int
    name: str
    country: str
    country_code: str
    continent: str
    timezone: str
    region: str
    population: int
    latitude: float
    longitude: float
    other_names: tuple[str, ...]

    @property
    def words(self) -> frozenset[str]:
        """What a query can match."""
        return frozenset(
            tokens(" ".join((self.name, self.country, self.region, self.continent, self.timezone, *self.other_names)))
        )

    @property
    def published(self) -> date:
        """A date for the layouts that show one; it is made up (from the number), the data has none."""
        return date(2012, 1, 1) + timedelta(days=self.id % 4000)


@cache
def all_cities() -> tuple[City, ...]:
    """Every city, the most populous first."""
    packed = resources.files("upwell.demo").joinpath("cities.tsv.bz2").read_bytes()
    return tuple(_city(line.split("\t")) for line in bz2.decompress(packed).decode("utf-8").splitlines())


def _city(cells: list[str]) -> City:
    number, name, country, code, continent, timezone, region, population, latitude, longitude, others = cells
    return City(
        id=int(number),
        name=name,
        country=country,
        country_code=code,
        continent=continent,
        timezone=timezone,
        region=region,
        population=int(population),
        latitude=float(latitude),
        longitude=float(longitude),
        other_names=tuple(others.split()),
    )


@cache
def cities_of(country: str) -> tuple[City, ...]:
    """The cities of a country, by its code; all where it is ""."""
    return tuple(city for city in all_cities() if city.country_code == country) if country else all_cities()


@cache
def by_id() -> dict[int, City]:
    """The cities by their number."""
    return {city.id: city for city in all_cities()}


@cache
def _ranks_by_word() -> dict[str, list[int]]:
    """For each word the ranks (indices into `all_cities()`) of the cities that have it, in ascending order."""
    ranks: dict[str, list[int]] = {}
    for rank, city in enumerate(all_cities()):
        for word in city.words:
            ranks.setdefault(word, []).append(rank)
    return ranks


@lru_cache(maxsize=4096)
def search(
    query: str, order: Order = "relevance", sort: str = "", continent: str = "", country: str = ""
) -> tuple[City, ...]:
    """All matches of a query; `sort`, where the visitor asked for one, goes before the site's own `order`."""
    words = tokens(query)
    if not words:
        return ()
    cities, ranks_by_word = all_cities(), _ranks_by_word()
    ranks = set(ranks_by_word.get(words[0], ()))
    for word in words[1:]:
        ranks.intersection_update(ranks_by_word.get(word, ()))
    matches = [cities[rank] for rank in sorted(ranks)]
    if continent:
        matches = [city for city in matches if city.continent == continent]
    if country:
        matches = [city for city in matches if city.country_code == country]
    if sort == "name":
        matches.sort(key=lambda city: city.name)
    elif sort == "population" or order == "rank":
        pass  # they are in that order
    elif order == "none":
        matches.sort(key=lambda city: zlib.crc32(f"{query}/{city.id}".encode()))
    else:
        matches.sort(key=lambda city: -sum(word in tokens(city.name) for word in words))
    return tuple(matches)

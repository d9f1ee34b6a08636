"""The 34,006 cities of GeoNames with more than 15,000 people, and the search over them.

A city matches if it contains every word of the query. `scripts/make_cities.py` writes the data file.
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
    """Record of the demo site, with all fields of its pages."""

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
        """Return the words that a query can match."""
        return frozenset(
            tokens(" ".join((self.name, self.country, self.region, self.continent, self.timezone, *self.other_names)))
        )

    @property
    def published(self) -> date:
        """Return a date for the layouts that show one; it is made up from the identifier, because the data has none."""
        return date(2012, 1, 1) + timedelta(days=self.id % 4000)


@cache
def all_cities() -> tuple[City, ...]:
    """Return all cities, the most populous first."""
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
def cities_of(countries: str) -> tuple[City, ...]:
    """Return the cities of some countries, given as comma-separated codes; all cities for an empty text."""
    codes = countries.split(",")
    return tuple(city for city in all_cities() if city.country_code in codes) if countries else all_cities()


@cache
def by_id() -> dict[int, City]:
    """Return the cities by identifier."""
    return {city.id: city for city in all_cities()}


@cache
def _ranks_by_word() -> dict[str, list[int]]:
    """Return for each word the ranks (indices into `all_cities()`) of the cities that contain it, in ascending order."""
    ranks: dict[str, list[int]] = {}
    for rank, city in enumerate(all_cities()):
        for word in city.words:
            ranks.setdefault(word, []).append(rank)
    return ranks


@lru_cache(maxsize=4096)
def search(
    query: str,
    order: Order = "relevance",
    sort: str = "",
    continent: str = "",
    country: str = "",
    list_all: bool = False,
) -> tuple[City, ...]:
    """Return all matches of a query, sorted by `sort` if the visitor chose it, otherwise in the site's own `order`.

    An empty query matches all cities if `list_all` is set, and nothing otherwise.
    """
    cities, ranks_by_word, words = all_cities(), _ranks_by_word(), tokens(query)
    if words:
        ranks = set.intersection(*(set(ranks_by_word.get(word, ())) for word in words))
        matches = [cities[rank] for rank in sorted(ranks)]
    elif list_all and not query:
        matches = list(cities)
    else:
        return ()
    if continent:
        matches = [city for city in matches if city.continent == continent]
    if country:
        matches = [city for city in matches if city.country_code == country]
    if sort == "name":
        matches.sort(key=lambda city: city.name)
    elif sort == "population" or order == "rank":
        pass  # the matches are in this order already
    elif order == "none":
        matches.sort(key=lambda city: zlib.crc32(f"{query}/{city.id}".encode()))
    else:
        matches.sort(key=lambda city: -sum(word in tokens(city.name) for word in words))
    return tuple(matches)

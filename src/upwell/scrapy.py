"""Upwell in a Scrapy project: a spider that queries a learned source, and a pipeline that writes one typed row per entity.

    class Cities(UpwellSpider):
        name = "cities"
        source = "harvest/example.org/source.json"
        queries = ("lima", "quito")
        custom_settings = {"ITEM_PIPELINES": {"upwell.scrapy.UpwellPipeline": 300}, "UPWELL_TABLE": "cities.parquet"}

Scrapy sends the requests, with its own settings for robots.txt, rate and retries; Upwell creates the requests, reads the answers and finds the
next page. Requires Scrapy: pip install 'upwell[scrapy]'.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.exceptions import DropItem

from upwell.answers.next_page import next_page_request
from upwell.combine.learned_source import LearnedSource, load_sources
from upwell.discover import interfaces
from upwell.errors import WrongUsage
from upwell.net.manners import Manners
from upwell.page.formats import read_page
from upwell.source.apply import apply
from upwell.source.paging import next_page_of, posts_elsewhere
from upwell.store.state import State
from upwell.table.build import build_tables
from upwell.table.writers import FORMATS, write
from upwell.types import Record
from upwell.urls.hosts import host_and_port, is_private_address

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from upwell.types import Request

__all__ = ["UpwellPipeline", "UpwellSpider"]


class UpwellSpider(scrapy.Spider):
    """Spider that sends queries to a learned source, follows their result pages and yields an item per match.

    On the command line: `-a source=… -a queries="lima quito"`.
    """

    name = "upwell"
    source: str | Path = ""  # a `source.json` of `upwell harvest`
    queries: str | Iterable[str] = ()
    max_pages = 0  # result pages per query; 0: all
    allow: str | Iterable[str] = ()  # addresses of the source that may be in a private network

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name, **arguments)
        if not self.source:
            raise WrongUsage(
                "the spider has no source; name a source.json of `upwell harvest`, for example with -a source=…"
            )
        self.sources: list[LearnedSource] = load_sources(Path(self.source))
        allow = self.allow.split() if isinstance(self.allow, str) else tuple(self.allow)
        for source in self.sources:
            named = source.trusted(Manners(allow=tuple(allow)))
            if is_private_address(host_and_port(source.interface.url)[0]) and not named.names(source.interface.url):
                raise WrongUsage(
                    f"{source.interface.url} is in a private network, and {self.source} names it, not you; for example -a allow={source.address}"
                )
        asked = self.queries.split() if isinstance(self.queries, str) else list(self.queries)
        if not asked:
            raise WrongUsage('the spider has no queries; for example -a queries="lima quito"')
        self.asked = asked

    async def start(self) -> AsyncIterator[scrapy.Request]:
        """Yield the requests for the first page of each query, for each source of the file."""
        for request in self.start_requests():
            yield request

    def start_requests(self) -> Iterator[scrapy.Request]:
        """Yield the same requests, for older versions of Scrapy."""
        for number, source in enumerate(self.sources):
            for query in self.asked:
                yield self._request(interfaces.fill(source.interface, query), number, query, 1)

    def _request(self, request: Request, number: int, query: str, page: int) -> scrapy.Request:
        headers = {"Content-Type": request.content_type} if request.content_type else None
        return scrapy.Request(
            request.url,
            callback=self.parse,
            method=request.method,
            body=request.body,
            headers=headers,
            cb_kwargs={"number": number, "query": query, "page": page},
        )

    def parse(self, response: Response, **known: Any) -> Iterator[dict[str, Any] | scrapy.Request]:
        """Yield the matches of an answer, then the request for its next page."""
        source, query, page = self.sources[known["number"]], str(known["query"]), int(known["page"])
        headers = {name.decode("latin-1"): values[-1].decode("latin-1") for name, values in response.headers.items()}
        tree = read_page(response.body, response.url, headers)
        reading = apply(source.model, tree, status=response.status)
        for record in reading.records:
            origin = {"_key": record.key, "_source": source.interface.url, "_url": record.url, "_query": query}
            yield {**origin, **record.fields}
        following = next_page_of(tree, reading, query, source.model.next_link)
        if following is None or page == self.max_pages or posts_elsewhere(following, tree, source.interface.url):
            return
        yield self._request(next_page_request(following, query), known["number"], query, page + 1)


class UpwellPipeline:
    """Pipeline that drops repeated items, and writes one typed row per entity to the file of the setting `UPWELL_TABLE` at the end."""

    def __init__(self, table: Path | None) -> None:
        self.table, self.state = table, State()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> UpwellPipeline:
        """Create the pipeline from the settings of a crawler."""
        place = crawler.settings.get("UPWELL_TABLE")
        format = os.path.splitext(place)[1].lstrip(".") if place else "parquet"
        if format not in FORMATS:
            raise WrongUsage(f"UPWELL_TABLE {place}: the name must end in .{', .'.join(FORMATS)}")
        return cls(Path(place) if place else None)

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Store a new item; the fields of a repeated item fill gaps of the stored one."""
        fields = {name: str(value) for name, value in item.items() if not name.startswith("_") and value is not None}
        key = str(item.get("_key") or sorted(fields.items()))
        record = Record(key=key, url=item.get("_url"), path="", text="", fields=fields)
        origin = {"_source": item.get("_source", ""), "_query": item.get("_query", ""), "_page": "", "_fetched": None}
        (is_new,) = self.state.add([record], origin)
        if not is_new:
            raise DropItem(f"{key} is a duplicate")
        return item

    def close_spider(self) -> None:
        """Write the table."""
        if self.table is None or not len(self.state):
            return
        for table in build_tables(self.state):
            name = f"{self.table.stem}-{table.kind}{self.table.suffix}" if table.kind else self.table.name
            self.table.parent.mkdir(parents=True, exist_ok=True)
            file = self.table.with_name(name)
            write(table.rows, file.parent, self.table.suffix[1:], file=file)  # type: ignore[arg-type] # checked by `from_crawler`

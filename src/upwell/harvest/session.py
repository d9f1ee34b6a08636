"""Harvest one source: probe it, then send what the chooser selects, page by page, until there is a reason to stop.

Nothing is sent from here: `steps` is a generator that yields the request it wants and is sent the response (`loop.drive`).
"""

import datetime
import hashlib
import logging
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import urljoin, urlsplit

from upwell.answers.facets import facet_links, related_queries
from upwell.answers.next_page import next_page_request
from upwell.answers.pager import NextPage
from upwell.answers.totals import StatedTotals, read_totals
from upwell.choose.candidates import LIST_MARK, AnswerPage, Candidate, OpenQuery
from upwell.choose.chooser import Chooser
from upwell.choose.facet_candidates import facet_of_earlier_run
from upwell.choose.list_candidates import MAX_LOOKS, Listing
from upwell.choose.plan import Plan, Reason
from upwell.choose.region_candidates import REGION_MARK
from upwell.choose.size import requests_to
from upwell.choose.url_repository import UrlRepository
from upwell.discover import interfaces
from upwell.discover.index_source import records_of_index
from upwell.discover.lists import RecordAddresses
from upwell.discover.steps import fetch, is_usable
from upwell.discover.without_search import DEFAULT_SITEMAP, read_sitemaps, record_pages_of
from upwell.harvest.events import Asked, Held, LazyRow, Opened, wants_records
from upwell.harvest.list_finder import ListFinder
from upwell.harvest.reader import SiteContext, SourceReader, label, with_purpose
from upwell.harvest.record_pages import RecordPageReader
from upwell.page.formats import content_type_of, is_json, read_page
from upwell.page.links import acting_urls
from upwell.page.tree import TagTree
from upwell.records.values import ValueType
from upwell.source.apply import apply
from upwell.source.paging import (
    count_on,
    counted_on,
    next_page_of,
    next_request_of_script,
    posts_elsewhere,
    small_numbers,
)
from upwell.source.script_paging import apply_changes, cursor_request, next_address, sent_size, shows_end
from upwell.table.value_types import typed_fields
from upwell.types import (
    BrowserVisit,
    Decision,
    FormInterface,
    IndexInterface,
    ListInterface,
    Record,
    RenderedPage,
    Request,
    Response,
    SearchInterface,
)
from upwell.urls.arguments import without_arguments
from upwell.urls.request_values import value_at, with_value

__all__ = ["SafePoint", "ScriptPager", "SessionSteps", "SourceSession", "plan_of_record_pages"]

logger = logging.getLogger("upwell.choose")  # of the pure package `choose`, whose decisions are carried out here

MAX_TRIALS = 6  # requests sent to find the page argument
USUAL_PAGE_ARGUMENTS = ("page", "p")  # tried where answers without a pager seem to be cut off
MIN_FULL_PAGE = 10  # records of a page that may be full
MIN_FULL_PAGES = (
    2  # full pages without a pager before the arguments are tried: before a result cap is learned from three
)
MIN_NEW_SHARE = 0.8  # share of a page that must be new to be a next page; not swept
MAX_SHIFTED_SHARE = 0.25  # share of a page that may be new after skipping one more record; not swept


class ScriptPager:
    """Pagination of requests sent by a script.

    What changes from page to page was observed in the browser, or the answer states an address or a cursor, or an argument has the name of a
    page or an offset. Otherwise it is found by trial: increasing an argument by one shows what it does: other records if it counts pages; all
    but one the same if it counts records.
    """

    def __init__(self, reader: SourceReader) -> None:
        self.reader = reader
        self._argument, self._counts_records = "", False
        self._trials = 0
        self._unshown = ""  # argument that turns the pages of a source that shows no pager
        self._unshown_trials = 0
        self.full_pages = 0  # first pages that were full and had no next page
        self.has_pager = False  # an answer of the source had a next page of its own

    @property
    def turns_unshown_pages(self) -> bool:
        """Return True if an argument was found that turns the pages of a source without a pager."""
        return bool(self._unshown)

    def without_pager(
        self, request: Request, records: Sequence[Record], query: str
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, Request | None]:
        """Return the request for the next page of an answer that has more matches than it shows, but no pager.

        Many applications understand an argument for the page although their design leaves it out.
        """
        if request.method != "GET":
            return None
        if not self._unshown and not self._unshown_trials:
            for name in USUAL_PAGE_ARGUMENTS:
                self._unshown_trials += 1
                second = with_value(request, ("argument", name, "0"), "2")
                answer = yield from self.reader.get(second, "page argument")
                after = apply(self.reader.ledger.model, answer[1], query=query).records if answer is not None else ()
                known = {record.key for record in records}
                if after and sum(record.key not in known for record in after) >= MIN_NEW_SHARE * len(after):
                    self._unshown = name
                    break
        if not self._unshown:
            return None
        page = str(value_at(request, ("argument", self._unshown, "0")) or "1")
        number = int(page) + 1 if page.isdecimal() else 2
        return with_value(request, ("argument", self._unshown, "0"), str(number))

    def next(
        self, request: Request, response: Response, records: Sequence[Record], query: str, *, is_full: bool
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, Request | None]:
        """Return the request for the page after one with these records; None if it is the last, or no way to the next is known.

        A page that is not full (`is_full`) has a next page only if it states an address or a cursor.
        """
        shown = len(records)
        changes = self.reader.interface.page_changes
        if any(change.kind == "cursor" for change in changes):
            return apply_changes(changes, request, response, shown)
        following = next_address(request, response) or (None if changes else cursor_request(request, response))
        if following is not None or not is_full:
            return following
        if changes:
            return apply_changes(changes, request, response, shown)
        if (following := next_request_of_script(request, shown)) is not None:
            return following
        for argument in small_numbers(request) if not self._argument else ():
            if self._trials >= MAX_TRIALS:
                break
            self._trials += 1
            answer = yield from self.reader.get(counted_on(request, argument, 1), "page argument")
            if answer is not None:
                self._judge(argument, records, apply(self.reader.ledger.model, answer[1], query=query).records)
            if self._argument:
                break
        if not self._argument:
            return None
        return counted_on(request, self._argument, shown if self._counts_records else 1)

    def _judge(self, argument: str, before: Sequence[Record], after: Sequence[Record]) -> None:
        known = {record.key for record in before}
        new = sum(record.key not in known for record in after)
        is_next_page = len(after) == new > 0
        is_shifted = {record.key for record in after} < known or 0 < new <= max(1, MAX_SHIFTED_SHARE * len(after))
        if is_next_page or (after and is_shifted):
            self._argument, self._counts_records = argument, not is_next_page


class SafePoint:
    """Yielded by a session between two queries: no request is pending, and its attributes contain its whole state."""


SessionSteps = Generator[Request | BrowserVisit | SafePoint, Response | RenderedPage, Reason]
REPORT_SIZE_EVERY = 10  # requests between two reports of the size, which is slow to compute
MIN_LIST = 3  # records from which on a page is a list rather than a record page
MAX_KEYS_COMPARED = 5  # first records of two answers by which they are told apart; not swept
MIN_SITEMAP_SHARE = 0.5  # share of the held records that a sitemap must contain; not swept
MIN_HELD_FOR_EXPORTS = 20  # records needed to recognize those of a download; not swept
# answers whose records `upwell learn` keeps, as an example of the table; they were fetched to learn from
LEARNED_ANSWERS = 3
GOAL_SHARE = 0.9  # share of the estimated size that the forecast refers to


def plan_of_record_pages(interface: SearchInterface, plan: Plan) -> Plan:
    """Return the plan for the record pages of a source: a sitemap leads only to record pages, so they are read first."""
    return replace(plan, details="first") if interface.via == "sitemap" else plan


class SourceSession:
    """Harvest of one source: its reader, ledger and chooser."""

    def __init__(self, interface: SearchInterface, context: SiteContext, number: int = 0) -> None:
        self.context = context
        self.is_started = self.is_over = False
        self.reader = SourceReader(interface, context)
        self.ledger, self.plan, self.observe = self.reader.ledger, context.plan, context.observe
        self.state = context.state
        self.lists = ListFinder(self.reader, context)
        urls = UrlRepository(context.scratch(number))
        self.details = RecordPageReader(
            plan_of_record_pages(interface, context.plan), context.state, interface.url, urls=urls
        )
        self.earlier_queries = tuple(q for q in context.earlier_queries if not q.startswith((LIST_MARK, REGION_MARK)))
        self.before = context.before
        self.walks_list = False  # True if the last page belongs to a list that continues
        self._has_looked_for_sitemap = self._has_looked_for_exports = False
        self._page_steps = ScriptPager(self.reader)
        self.missing: set[str] = set()  # keys that a query returned in the earlier run but not now
        # first pages' requests for the next page → query and first keys; equal for several queries if the server keeps the results
        self._next_requests: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._dead_ends: set[str] = set()  # next links that led to no list: a record may be called "Next"
        # queries or facet URLs that were read to their end → True if the result cap was reached
        self.ended: dict[str, bool] = {}
        self.chooser = Chooser(
            self.ledger,
            context.plan,
            language=self.reader.language,
            takes_text=not interface.choices and not isinstance(interface, ListInterface),
            is_about=bool(self.reader.about),
            min_chars=interface.min_chars,
            filters=interface.filters if isinstance(interface, FormInterface) else (),
            urls=urls,
        )
        self.ledger.coverage.is_only_lists = isinstance(interface, ListInterface)

    def steps(self) -> SessionSteps:
        """Harvest the source; return why nothing more is requested. A session saved at a safe point continues from there."""
        if isinstance(self.reader.interface, IndexInterface):
            self.ledger.stopped = yield from self._take_index(self.reader.interface)
            return self.ledger.stopped
        if not self.is_started:
            yield from self._start()
            self.is_started = True
        chooser, reason = self.chooser, None
        while reason is None:
            yield SafePoint()
            reason = self._reason_to_stop()
            if reason is not None:
                break
            is_busy = self.walks_list and self.reader.keeps_results  # other requests could change what the server keeps
            if not is_busy and (page := self.details.next(len(self.ledger))) is not None:
                yield from self._read_record_page(*page)
                continue
            if not self._has_looked_for_exports and len(self.ledger) >= MIN_HELD_FOR_EXPORTS and chooser.wants_lists:
                self._has_looked_for_exports = True
                chooser.lists.listings += self.lists.exports()
            if not is_busy and chooser.may_look_for_lists() and (yield from self._look_for_list()):
                continue
            chosen = chooser.next()
            decision = chooser.decision or "other"
            if isinstance(chosen, Candidate):
                chosen = yield from self._open(chosen)
            if chosen is not None:
                yield from self._fetch_page(chosen, decision)
            elif not chooser.retry():
                reason = "exhausted"
        if reason not in ("blocked", "learned"):
            yield from self._certify()
        while (
            reason not in ("blocked", "learned")
            and not self.reader.spent().limit_reached
            and (page := self.details.next(len(self.ledger), is_end=True)) is not None
        ):
            yield from self._read_record_page(*page)
            yield SafePoint()
        self.details.learn(is_end=True)
        self.ledger.stopped, self.ledger.next_yield = reason, chooser.yields.best_rate
        return reason

    def _certify(self) -> Generator[Request | BrowserVisit | SafePoint, Response | RenderedPage, None]:
        """Spend the requests that were set aside for the size on queries drawn at random (`Plan.certify`)."""
        for _ in range(self.plan.certify):
            chosen = self.chooser.next_of_sample()
            if isinstance(chosen, Candidate):
                chosen = yield from self._open(chosen)
            if chosen is None or self.reader.spent().limit_reached or self.ledger.statement.state == "exact":
                return
            yield from self._fetch_page(chosen, "size")
            yield SafePoint()

    def _start(self) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Probe the source, and start with the given or probed queries."""
        probes = yield from self.reader.probe()
        self.details.frame = frozenset(self.ledger.model.frame)
        if isinstance(self.reader.interface, ListInterface) and self.reader.interface.via == "sitemap":
            yield from self._read_sitemap(self.reader.interface)
        elif isinstance(self.reader.interface, ListInterface):
            self._open_list(self.lists.of_interface(self.reader.interface))
        else:
            given = (*self.plan.words, *(self.earlier_queries or probes))
            if not self.chooser.takes_text:  # with filters, their values are candidates
                given = () if self.chooser.regions.regions else self.reader.interface.choices
            self.chooser.start(given)

    def _take_index(self, interface: IndexInterface) -> SessionSteps:
        """Take all records of an index at once, then read record pages as far as they are wanted."""
        reader, ledger, query = self.reader, self.ledger, OpenQuery(Candidate(query=""))
        answer = yield from reader.get(interfaces.fill(interface, ""), "index")
        if answer is None:
            return "blocked"
        records = reader.wanted(records_of_index(interface, answer[0].body), "")
        ledger.answers["multi"] += 1
        ledger.page_size = len(records)
        ledger.coverage.is_index_complete = interface.is_whole
        new = ledger.add(records)
        self._keep(records, new, query, answer[0])
        self.ended[""] = False
        self._report("", answer[0], len(new))
        self.details.add([record for record in new if record.url and "#" not in record.url])
        while not reader.spent().limit_reached and (page := self.details.next(len(ledger), is_end=True)) is not None:
            yield from self._read_record_page(*page)
        self.details.learn(is_end=True)
        return "coverage" if interface.is_whole else "exhausted"

    def _read_record_page(self, key: str, url: str) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Read the page of a record."""
        answer = yield from self.reader.get(Request(url=url), "record page")
        response, tree = answer or (None, None)
        is_list = tree is not None and len(apply(self.ledger.model, tree).records) >= MIN_LIST
        if is_list:
            self.details.left_out["are lists"] += 1
        else:
            self.details.take(key, response, tree)
        if response is not None:
            self.state.note_yield(response.number, int(not is_list), 0)
        site = urlsplit(self.reader.interface.url).netloc
        pages, waiting = self.details.pages, self.details.waiting
        requests, source = self.reader.spent().requests, self.reader.interface.url
        self.observe(Opened(site=site, requests=requests, pages=pages, waiting=waiting, source=source))

    def _reason_to_stop(self) -> Reason | None:
        if limit := self.reader.spent().limit_reached:
            return limit
        if (
            self.plan.goal == "learn"
            and self.ledger.answers["multi"] + self.ledger.answers["single"] >= LEARNED_ANSWERS
        ):
            return "learned"
        reserved = min(self.plan.certify, self.plan.budget // 2)
        if reserved and self.reader.spent().requests >= self.plan.budget - reserved:
            return "budget"
        if self.reader.errors_in_a_row >= self.plan.failures:
            return "blocked"
        return self.chooser.reason_to_stop()

    def _open(self, candidate: Candidate) -> Generator[Request | BrowserVisit, Response | RenderedPage, OpenQuery]:
        if candidate.query in self.earlier_queries and "://" in candidate.query:
            facet = facet_of_earlier_run(candidate.query, self.reader.interface.query_field)
            candidate = Candidate(query=facet.query, facet=facet)
        if candidate.listing:
            request = Request(url=candidate.address, reuses=True)
        elif candidate.facet:
            link = candidate.facet.link
            request = next_page_request(NextPage(url=link.url, context=link.context), candidate.facet.query)
        elif candidate.region or not (candidate.query or self.chooser.takes_text):
            settings = candidate.region.settings if candidate.region else ()
            request = yield from self.reader.request_for_region(settings)
        else:
            request = yield from self.reader.request_for(candidate.query)
        return self.chooser.open(candidate, request)

    def _look_for_list(self) -> Generator[Request | BrowserVisit, Response | RenderedPage, bool]:
        """Open the next link that may lead to a list without a query, and read its first page; return False if no link is left."""
        records = self.lists.records()
        if records is not None and not self._has_looked_for_sitemap:
            self._has_looked_for_sitemap = True
            yield from self._look_for_sitemap(records)
        if records is not None and (seen := self.lists.seen(records)):
            for listing in seen:
                yield from self._fetch_page(self._open_list(listing), "list")
            return True
        if records is None or (url := self.lists.next(records)) is None:
            self.chooser.lists.looks = MAX_LOOKS
            return False
        response = yield from with_purpose(fetch(Request(url=url)), "list link")
        if response is None or not is_usable(response):
            return True
        self.chooser.lists.looks += 1
        tree = read_page(response.body, response.url, response.headers)
        if (judged := self.lists.judge(url, tree, records)) is not None:
            yield from self._take_page(self._open_list(judged), response, tree)
        return True

    def _read_sitemap(
        self, interface: ListInterface
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Add the record URLs of the sitemap that is the source."""
        home = self.reader.discovery.home.url
        addresses = yield from with_purpose(read_sitemaps((interface.url,), home), "sitemap")
        pages = record_pages_of(interface, addresses)
        self.chooser.lists.add_record_pages(self.lists.of_sitemap(pages, RecordAddresses.learn(pages, ())))

    def _look_for_sitemap(
        self, records: RecordAddresses
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Read the sitemaps named by robots.txt for the records of this source; their URLs are shared by all sources of the site.

        If queries have to be typed in the browser, one more request for the usual location is cheap.
        """
        context = self.lists.context
        if context.sitemap_addresses is None:
            home = self.reader.discovery.home.url
            places = context.discovery.sitemaps or (
                (urljoin(home, DEFAULT_SITEMAP),) if self.reader.interface.rendered else ()
            )
            context.sitemap_addresses = yield from with_purpose(read_sitemaps(places, home), "sitemap")
        pages = self.lists.of_sitemap(context.sitemap_addresses, records)
        if pages.keys and len(pages.keys) >= MIN_SITEMAP_SHARE * len(self.ledger):
            self.chooser.lists.add_record_pages(pages)
            if self.reader.interface.rendered:  # a query costs a visit of many requests, a record page only one
                self.chooser.takes_text = False
                self.chooser.open_queries.clear()

    def _open_list(self, listing: Listing) -> OpenQuery:
        self.chooser.lists.listings.append(listing)
        candidate = Candidate(query="", kind="list", listing=listing, address=listing.url)
        return self.chooser.open(candidate, Request(url=listing.url, reuses=True))

    def _fetch_page(
        self, query: OpenQuery, why: Decision | str
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Fetch the next page of a query, add its records, and prepare the request for the following page."""
        if query.request is None:
            raise RuntimeError("a query without a next page is closed")
        reader, ledger = self.reader, self.ledger
        answer = yield from reader.get(query.request, why)
        if answer is None or answer[0].status >= 500:
            self.chooser.fail(query)
            ledger.answers["error"] += 1
            reader.errors_in_a_row += 1
            return
        yield from self._take_page(query, *answer)

    def _take_page(
        self, query: OpenQuery, response: Response, tree: TagTree
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Read a page of a query, add its records, and prepare the request for the following page."""
        if query.request is None:
            raise RuntimeError("a query without a next page is closed")
        reader, ledger = self.reader, self.ledger
        if query.listing:
            reading = query.listing.reader.read(tree, response.status, query.candidate.address, response.body)
            ledger.answers[reading.kind] += 1
        else:
            reading = reader.read(response, tree, query.query)
        if (
            reading.kind == "single"
        ):  # its fields come from its record page, under the same names as those of other record pages
            reading = replace(reading, records=tuple(replace(record, fields={}) for record in reading.records))
        if reading.kind != "multi" and not query.listing and reader.seems_changed:
            again, late = yield from reader.learn_again()
            for earlier, earlier_query, earlier_response in late:
                late_query = OpenQuery(Candidate(query=earlier_query))
                new = self.chooser.hold(late_query, earlier.records)
                self._keep(earlier.records, new, late_query, earlier_response)
            reading = again or reading
        reading = replace(reading, records=self._without_acting_links(reading.records, tree))
        totals = StatedTotals()
        if reading.kind != "multi" and query.pages.pages:
            self._dead_ends.add(query.request.url)
        if reading.kind == "multi":
            totals = read_totals(
                tree, [record.text for record in reading.records], query.query, response.headers, ledger.model.frame
            )
        next_page = None
        if self.plan.goal == "complete":
            next_page = next_page_of(tree, reading, query.query, ledger.model.next_link)
        if next_page is not None and (
            posts_elsewhere(next_page, tree, reader.interface.url) or next_page.url in self._dead_ends
        ):
            next_page = None
        stated = max(totals.total or 0, query.stated_total or 0)
        if next_page is None and reading.records and stated > query.pages.matches + len(reading.records):
            next_page = count_on(
                query.last_url, query.request.url
            )  # the pager has fewer links than the source has pages
        query.last_url = query.request.url
        following = next_page_request(next_page, query.query) if next_page is not None else None
        is_open = False
        self._page_steps.has_pager |= following is not None
        if following is None and self._is_of_script(query, response) and reading.records:
            is_last = shows_end(response) or 0 < stated <= query.pages.matches + len(reading.records)
            if not is_last:
                following = yield from self._page_steps.next(
                    query.request,
                    response,
                    reading.records,
                    query.query,
                    is_full=query.pages.pages > 0 or len(reading.records) >= max(MIN_LIST, ledger.page_size),
                )
                is_open = following is None and sent_size(query.request, len(reading.records))
        elif (
            following is None and reading.kind == "multi" and self._may_lack_pager(query, len(reading.records), stated)
        ):
            following = yield from self._page_steps.without_pager(query.request, reading.records, query.query)
            is_open = following is None and stated > 0
        page = AnswerPage(
            records=reading.records,
            wanted=reader.wanted(reading.records, query.query),
            totals=totals,
            has_next=following is not None,
            is_open=is_open,
            is_understood=not query.listing or bool(reading.records) or not query.listing.reader.records.on(tree),
            is_refused=reading.kind == "error" and response.status < 400,
            links=lambda: (
                []
                if reader.about or query.listing or query.region
                else facet_links(
                    tree,
                    ledger.model.roles,
                    query.query,
                    record_urls=[record.url for record in reading.records if record.url],
                    with_orders=self.plan.goal == "complete",
                )
            ),
            related=related_queries(tree, ledger.model.roles, query.query)
            if self.plan.goal == "representative"
            else (),
        )
        if following is not None:  # the first pages of a list were fetched when it was found and learned
            following = replace(following, headers=reader.interface.headers, reuses=query.listing is not None)
        query.request = following
        new = self.chooser.take(query, page)
        self._keep(page.wanted, new, query, response)
        if reading.kind == "single":
            self.details.read(reading.records[0].key, tree)
        else:
            self.details.add(new)
        if self._is_kept_by_server(query, following, reading.records):
            reader.keeps_results = True
            self.chooser.ask_serially()
        self.walks_list = (query.listing is not None or reader.keeps_results) and query in self.chooser.open_queries
        self.missing.difference_update(record.key for record in page.records)
        if query.request is None or query not in self.chooser.open_queries:
            self.missing |= {key for key in self.before.get(query.asked, ()) if key not in self.ledger.held}
            self.ended[query.asked] = not query.listing and 0 < ledger.result_cap <= query.pages.matches
        self._report(query.candidate.address or query.query, response, len(new))

    def _without_acting_links(self, records: tuple[Record, ...], tree: TagTree) -> tuple[Record, ...]:
        """Remove the URLs of records whose link acts by its label ("Delete this item"), so that no record page is requested there."""
        volatile = self.ledger.model.volatile
        urls = {record.url for record in records if record.url}
        acting = acting_urls(tree, urls, lambda url: without_arguments(url, volatile) if "?" in url else url)
        if not acting:
            return records
        return tuple(replace(record, url=None) if record.url in acting else record for record in records)

    def _is_kept_by_server(self, query: OpenQuery, following: Request | None, records: Sequence[Record]) -> bool:
        """Return True if the request for the second page is that of another query with other records: the server keeps the results."""
        if query.listing or query.pages.pages != 1 or following is None or self.reader.keeps_results:
            return False
        keys = tuple(record.key for record in records[:MAX_KEYS_COMPARED])
        address = f"{following.url} {following.body.decode('latin-1')}"
        other, other_keys = self._next_requests.setdefault(address, (query.asked, keys))
        return other != query.asked and not set(other_keys) & set(keys)

    def _is_of_script(self, query: OpenQuery, response: Response) -> bool:
        """Return True if the following page is requested as a script does: a script requests the answers, or they are JSON."""
        interface = self.reader.interface
        is_of_script = interface.via == "browser" or is_json(response.body, content_type_of(response))
        return is_of_script and not interface.rendered and not query.listing and self.plan.goal == "complete"

    def _may_lack_pager(self, query: OpenQuery, shown: int, stated: int) -> bool:
        """Return True if an answer without a pager may have more matches: it states more, or is as full as others were."""
        if (
            query.listing
            or query.facet
            or self.reader.interface.rendered
            or self.plan.goal != "complete"
            or shown < MIN_LIST
        ):
            return False
        steps = self._page_steps
        if steps.has_pager or (query.pages.pages and not steps.turns_unshown_pages):
            return False
        is_full = shown >= max(MIN_FULL_PAGE, self.ledger.page_size)
        steps.full_pages += is_full and not query.pages.pages
        return stated > query.pages.matches + shown or (is_full and steps.full_pages >= MIN_FULL_PAGES)

    def _keep(self, records: Sequence[Record], new: Sequence[Record], query: OpenQuery, response: Response) -> None:
        """Store the records of a page in the state, and report the new ones."""
        page = hashlib.sha1(response.body, usedforsecurity=False).hexdigest()
        fetched_at = datetime.datetime.fromtimestamp(
            round(response.received_at or time.time()), datetime.UTC
        ).isoformat()
        origin = {"_source": self.ledger.interface.url, "_query": query.query, "_page": page, "_fetched": fetched_at}
        self.state.add_later(records, origin, asked=query.asked)
        self.state.note_yield(response.number, len(records), len(new))
        self.ledger.repetition.note(new, query.query, self.ledger.answers["none"])
        for record in new if wants_records(self.observe) else new[:1]:
            self.observe(Held(row=LazyRow(partial(_row, record, origin, self.ledger.model.columns.types))))

    def _report(self, query: str, response: Response, new: int) -> None:
        decision = response.request.decision
        chosen, runner_up = (decision.chosen, decision.runner_up) if decision is not None else (None, None)
        if logger.isEnabledFor(logging.INFO) and decision is not None:
            logger.info("request %d: %s: %s", response.number, label(decision.chosen), _yield_text(decision, new))
        ledger, requests = self.ledger, self.reader.spent().requests
        ledger.curve.append((requests, len(ledger), ledger.matches))
        size = ledger.size if len(ledger.curve) % REPORT_SIZE_EVERY == 0 else None
        if size is not None:
            ledger.sizes.append((requests, len(ledger), ledger.statement))
        to_goal = None
        if size is not None and not ledger.lower_bound:
            to_goal = requests_to([(sent, held) for sent, held, _ in ledger.curve], GOAL_SHARE * size.estimate)
        self.observe(
            Asked(
                site=urlsplit(self.reader.interface.url).netloc,
                query=query,
                requests=requests,
                answers=dict(ledger.answers),
                records=len(ledger),
                overlap_rate=ledger.overlap_rate,
                size=size,
                lower_bound=size is not None and ledger.lower_bound,
                state=ledger.state if size is not None else "",
                size_by=ledger.size_by if size is not None else "",
                requests_to_goal=to_goal,
                expected=round(self.chooser.yields.best_rate, 3),
                source=self.reader.interface.url,
                number=response.number,
                kind=chosen.kind if chosen else "",
                page=chosen.page if chosen else 1,
                expected_new=chosen.expected if chosen else None,
                new=new,
                runner_up=runner_up,
            )
        )


def _yield_text(decision: Decision, new: int) -> str:
    """Return expected and actual new records of a request, and its runner-up, for the log."""
    if decision.chosen.expected is None:
        return f"{new} new"
    runner_up = decision.runner_up
    other = (
        f"; runner-up: {label(runner_up)}, {runner_up.expected:.1f}"
        if runner_up and runner_up.expected is not None
        else ""
    )
    return f"{new} new, {decision.chosen.expected:.1f} expected{other}"


def _row(record: Record, origin: Mapping[str, object], types: Mapping[str, ValueType]) -> dict[str, object]:
    own = {"_key": record.key, "_url": record.url, "_path": record.path, **origin}
    return {**own, **typed_fields(record.fields, types)}

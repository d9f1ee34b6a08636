"""The harvest of one source: probe it, then ask page by page what the chooser says, until there is a reason to stop.

Nothing is sent from here: `steps` is a generator that yields the request it wants and is sent the response (`loop.drive`).
"""

import datetime
import hashlib
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import urljoin, urlsplit

from upwell.answers.facets import facet_links, related_queries
from upwell.answers.next_page import request_of
from upwell.answers.pager import NextPage
from upwell.answers.totals import StatedTotals, read_totals
from upwell.extract.values import Type
from upwell.harvest.answer_page import AnswerPage
from upwell.harvest.chooser import Chooser
from upwell.harvest.details import Details
from upwell.harvest.events import Asked, Held, LateRow, Opened, wants_records
from upwell.harvest.facet_questions import from_earlier_run
from upwell.harvest.list_finder import ListFinder
from upwell.harvest.list_questions import MAX_LOOKS
from upwell.harvest.listing import Listing
from upwell.harvest.open_query import LIST_MARK, OpenQuery, Question
from upwell.harvest.page_steps import PageSteps
from upwell.harvest.plan import Reason
from upwell.harvest.reader import Setting, SourceReader
from upwell.model import (
    BrowserVisit,
    IndexInterface,
    ListInterface,
    Record,
    RenderedPage,
    Request,
    Response,
    SearchInterface,
)
from upwell.page.data import read_page
from upwell.page.tree import TagTree
from upwell.queries.size import requests_to
from upwell.site import interfaces
from upwell.site.index_source import records_of_index
from upwell.site.interface_trial import is_usable
from upwell.site.lists import RecordAddresses
from upwell.site.sitemaps import USUAL_PLACE, read_sitemaps, record_pages_of
from upwell.site.steps import fetch
from upwell.source.apply import apply
from upwell.source.paging import count_on, next_page_of, posts_elsewhere
from upwell.store.typed import typed_fields
from upwell.store.url_repository import UrlRepository

__all__ = ["AtRest", "SourceSession", "Steps"]


class AtRest:
    """What a session yields between two questions: nothing is on its way, and all that it knows is in its attributes."""


Steps = Generator[Request | BrowserVisit | AtRest, Response | RenderedPage, Reason]
REPORT_SIZE_EVERY = 10  # requests; the size takes long to compute
MIN_LIST = 3  # records on a page, read as an answer, from which on it is a list and no page of one record
MIN_SITEMAP_SHARE = 0.5  # of the records held, that a sitemap must have addresses for; not swept
MIN_HELD_FOR_EXPORTS = 20  # records, by which those of data to download are known; not swept
GOAL_SHARE = 0.9  # of the estimated size, that the forecast is for


class SourceSession:
    """One source while it is harvested: its reader, its ledger and its chooser."""

    def __init__(self, interface: SearchInterface, setting: Setting, number: int = 0) -> None:
        self.setting = setting
        self.is_started = self.is_over = False
        self.reader = SourceReader(interface, setting)
        self.ledger, self.plan, self.observe = self.reader.ledger, setting.plan, setting.observe
        self.state = setting.state
        self.lists = ListFinder(self.reader, setting)
        urls = UrlRepository(setting.scratch(number))
        # what a sitemap has of a record is its page
        plan = replace(setting.plan, details="first") if interface.via == "sitemap" else setting.plan
        self.details = Details(plan, setting.state, interface.url, urls=urls)
        self.earlier_questions = tuple(q for q in setting.earlier_questions if not q.startswith(LIST_MARK))
        self.before = setting.before
        self.walks_list = False  # what came last is a page of a list without a query that goes on
        self._has_looked_for_sitemap = self._has_looked_for_exports = False
        self._page_steps = PageSteps(self.reader)
        self.missing: set[str] = set()  # keys that a question brought before, and no longer
        self._dead_ends: set[str] = set()  # links to a next page that led to no list: a record may be called "Next"
        # what was asked to its end (a query, or the address of a facet) → whether it was cut off there
        self.ended: dict[str, bool] = {}
        self.chooser = Chooser(
            self.ledger,
            setting.plan,
            language=self.reader.language,
            takes_text=not interface.choices and not isinstance(interface, ListInterface),
            is_about=bool(self.reader.about),
            min_chars=interface.min_chars,
            urls=urls,
        )
        self.ledger.coverage.is_only_lists = isinstance(interface, ListInterface)

    def steps(self) -> Steps:
        """The whole harvest of the source; ends with the reason why nothing more is asked. One that was saved at rest goes on from there."""
        if isinstance(self.reader.interface, IndexInterface):
            self.ledger.stopped = yield from self._take_index(self.reader.interface)
            return self.ledger.stopped
        if not self.is_started:
            yield from self._start()
            self.is_started = True
        chooser, reason = self.chooser, None
        while reason is None:
            yield AtRest()
            reason = self._reason_to_stop()
            if reason is not None:
                break
            if (page := self.details.next(len(self.ledger))) is not None:
                yield from self._read_record_page(*page)
                continue
            if not self._has_looked_for_exports and len(self.ledger) >= MIN_HELD_FOR_EXPORTS and chooser.wants_lists:
                self._has_looked_for_exports = True
                chooser.lists.listings += self.lists.exports()
            if chooser.may_look_for_lists() and (yield from self._look_for_list()):
                continue
            chosen = chooser.next()
            if isinstance(chosen, Question):
                chosen = yield from self._open(chosen)
            if chosen is not None:
                yield from self._fetch_page(chosen)
            elif not chooser.retry():
                reason = "exhausted"
        while (
            reason != "blocked"
            and not self.reader.spent().limit_reached
            and (page := self.details.next(len(self.ledger), is_end=True)) is not None
        ):
            yield from self._read_record_page(*page)
            yield AtRest()
        self.details.learn(is_end=True)
        self.ledger.stopped = reason
        return reason

    def _start(self) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Probes the source, and sets what is asked first."""
        probes = yield from self.reader.probe()
        self.details.frame = frozenset(self.ledger.model.frame)
        if isinstance(self.reader.interface, ListInterface) and self.reader.interface.via == "sitemap":
            yield from self._read_sitemap(self.reader.interface)
        elif isinstance(self.reader.interface, ListInterface):
            self._open_list(self.lists.of_interface(self.reader.interface))
        else:
            given = self.reader.interface.choices or (*self.plan.words, *(self.earlier_questions or probes))
            self.chooser.start(given)

    def _take_index(self, interface: IndexInterface) -> Steps:
        """Takes all records of an index at once, then reads pages of records as far as they are wanted."""
        reader, ledger, query = self.reader, self.ledger, OpenQuery(Question(query=""))
        answer = yield from reader.get(interfaces.fill(interface, ""))
        if answer is None:
            return "blocked"
        records = reader.wanted(records_of_index(interface, answer[0].body), "")
        ledger.answers["multi"] += 1
        ledger.page_size = len(records)
        ledger.coverage.is_whole_index = interface.is_whole
        new = ledger.add(records)
        self._keep(records, new, query, answer[0])
        self.ended[""] = False
        self._report("")
        self.details.add([record for record in new if record.url and "#" not in record.url])
        while not reader.spent().limit_reached and (page := self.details.next(len(ledger), is_end=True)) is not None:
            yield from self._read_record_page(*page)
        self.details.learn(is_end=True)
        return "coverage" if interface.is_whole else "exhausted"

    def _read_record_page(self, key: str, url: str) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Reads the own page of a record."""
        answer = yield from self.reader.get(Request(url=url))
        response, tree = answer or (None, None)
        is_list = tree is not None and len(apply(self.ledger.model, tree).records) >= MIN_LIST
        if is_list:
            self.details.left_out["are lists themselves"] += 1
        else:
            self.details.take(key, response, tree)
        site = urlsplit(self.reader.interface.url).netloc
        pages, waiting = self.details.pages, self.details.waiting
        requests, source = self.reader.spent().requests, self.reader.interface.url
        self.observe(Opened(site=site, requests=requests, pages=pages, waiting=waiting, source=source))

    def _reason_to_stop(self) -> Reason | None:
        if limit := self.reader.spent().limit_reached:
            return limit
        if self.reader.errors_in_a_row >= self.plan.failures:
            return "blocked"
        return self.chooser.reason_to_stop()

    def _open(self, question: Question) -> Generator[Request | BrowserVisit, Response | RenderedPage, OpenQuery]:
        if question.query in self.earlier_questions and "://" in question.query:
            facet = from_earlier_run(question.query, self.reader.interface.query_field)
            question = Question(query=facet.query, facet=facet)
        if question.listing:
            request = Request(url=question.address, reuses=True)
        elif question.facet:
            request = request_of(NextPage(url=question.facet.link.url), question.facet.query)
        else:
            request = yield from self.reader.request_for(question.query)
        return self.chooser.open(question, request)

    def _look_for_list(self) -> Generator[Request | BrowserVisit, Response | RenderedPage, bool]:
        """Opens the next link that may lead to a list without a query, and takes its first page in; whether there was such a link."""
        records = self.lists.records()
        if records is not None and not self._has_looked_for_sitemap:
            self._has_looked_for_sitemap = True
            yield from self._look_for_sitemap(records)
        if records is not None and (seen := self.lists.seen(records)):
            for known in seen:
                yield from self._fetch_page(self._open_list(known))
            return True
        if records is None or (url := self.lists.next(records)) is None:
            self.chooser.lists.looks = MAX_LOOKS
            return False
        response = yield from fetch(Request(url=url))
        if response is None or not is_usable(response):
            return True
        self.chooser.lists.looks += 1
        tree = read_page(response.body, response.url, response.headers)
        if (listing := self.lists.judge(url, tree, records)) is not None:
            yield from self._take_page(self._open_list(listing), response, tree)
        return True

    def _read_sitemap(
        self, interface: ListInterface
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Takes in the addresses of records that the sitemap has, where it is the source."""
        addresses = yield from read_sitemaps((interface.url,), self.reader.discovery.home.url)
        pages = record_pages_of(interface, addresses)
        self.chooser.lists.add_record_pages(self.lists.of_sitemap(pages, RecordAddresses.learn(pages, ())))

    def _look_for_sitemap(
        self, records: RecordAddresses
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Reads the sitemaps that robots.txt names, for the records of this source; their addresses serve all sources of the site.

        Where queries have to be typed in the browser, one more request for the usual place is cheap.
        """
        setting = self.lists.setting
        if setting.sitemap_addresses is None:
            home = self.reader.discovery.home.url
            places = setting.discovery.sitemaps or (
                (urljoin(home, USUAL_PLACE),) if self.reader.interface.rendered else ()
            )
            setting.sitemap_addresses = yield from read_sitemaps(places, home)
        pages = self.lists.of_sitemap(setting.sitemap_addresses, records)
        if pages.keys and len(pages.keys) >= MIN_SITEMAP_SHARE * len(self.ledger):
            self.chooser.lists.add_record_pages(pages)
            if self.reader.interface.rendered:  # a query costs a visit of many requests, a page one
                self.chooser.takes_text = False
                self.chooser.open_queries.clear()

    def _open_list(self, listing: Listing) -> OpenQuery:
        self.chooser.lists.listings.append(listing)
        question = Question(query="", by="list", listing=listing, address=listing.url)
        return self.chooser.open(question, Request(url=listing.url, reuses=True))

    # -- one page --------------------------------------------------------------------------------------------------------

    def _fetch_page(self, query: OpenQuery) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Fetches the next page of a query, takes its records in, and prepares the request for the page after it."""
        if query.request is None:
            raise RuntimeError("a query without a next page is closed")
        reader, ledger = self.reader, self.ledger
        answer = yield from reader.get(query.request)
        if answer is None or answer[0].status >= 500:
            self.chooser.fail(query)
            ledger.answers["error"] += 1
            reader.errors_in_a_row += 1
            return
        yield from self._take_page(query, *answer)

    def _take_page(
        self, query: OpenQuery, response: Response, tree: TagTree
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Reads a page of a query, takes its records in, and prepares the request for the page after it."""
        if query.request is None:
            raise RuntimeError("a query without a next page is closed")
        reader, ledger = self.reader, self.ledger
        if query.listing:
            reading = query.listing.read(tree, response.status, query.question.address, response.body)
            ledger.answers[reading.kind] += 1
        else:
            reading = reader.read(response, tree, query.query)
        if reading.kind == "single":  # its fields are those of its own page, under the same names as all record pages'
            reading = replace(reading, records=tuple(replace(record, fields={}) for record in reading.records))
        if reading.kind != "multi" and not query.listing and reader.seems_changed:
            again, late = yield from reader.learn_again()
            for earlier, earlier_query, earlier_response in late:
                late_query = OpenQuery(Question(query=earlier_query))
                new = self.chooser.hold(late_query, earlier.records)
                self._keep(earlier.records, new, late_query, earlier_response)
            reading = again or reading
        totals = StatedTotals()
        if reading.kind != "multi" and query.pages.pages:
            self._dead_ends.add(query.request.url)
        if reading.kind == "multi":
            totals = read_totals(tree, [record.text for record in reading.records])
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
        following = request_of(next_page, query.query) if next_page is not None else None
        if following is None and self._may_count_on(reading.records):
            following = yield from self._page_steps.next(query.request, reading.records, query.query)
        page = AnswerPage(
            records=reading.records,
            wanted=reader.wanted(reading.records, query.query),
            totals=totals,
            has_next=following is not None,
            is_understood=not query.listing or bool(reading.records) or not query.listing.records.on(tree),
            is_refused=reading.kind == "error" and response.status < 400,
            links=lambda: [] if reader.about or query.listing else facet_links(tree, ledger.model.roles, query.query),
            related=related_queries(tree, ledger.model.roles, query.query)
            if self.plan.goal == "representative"
            else (),
        )
        if following is not None:  # the first pages of a list came when it was found and learned
            following = replace(following, headers=reader.interface.headers, reuses=query.listing is not None)
        query.request = following
        new = self.chooser.take(query, page)
        self._keep(page.wanted, new, query, response)
        if reading.kind == "single":
            self.details.read(reading.records[0].key, tree)
        else:
            self.details.add(new)
        self.walks_list = query.listing is not None and query in self.chooser.open_queries
        self.missing.difference_update(record.key for record in page.records)
        if query.request is None or query not in self.chooser.open_queries:
            self.missing |= {key for key in self.before.get(query.asked, ()) if key not in self.ledger.held}
            self.ended[query.asked] = not query.listing and 0 < ledger.limit <= query.pages.matches
        self._report(query.question.address or query.query)

    def _may_count_on(self, records: Sequence[Record]) -> bool:
        """Whether a page after this one may be asked for by counting: a script makes the requests, and the page is full."""
        interface = self.reader.interface
        is_of_script = interface.via == "browser" and not interface.rendered and self.plan.goal == "complete"
        return is_of_script and len(records) >= max(MIN_LIST, self.ledger.page_size)

    def _keep(self, records: Sequence[Record], new: Sequence[Record], query: OpenQuery, response: Response) -> None:
        """Puts the records of a page into the state, and tells of those that are new."""
        page = hashlib.sha1(response.body, usedforsecurity=False).hexdigest()
        came_at = datetime.datetime.fromtimestamp(round(response.came_at or time.time()), datetime.UTC).isoformat()
        origin = {"_source": self.ledger.interface.url, "_query": query.query, "_page": page, "_fetched": came_at}
        self.state.add_later(records, origin, asked=query.asked)
        for record in new if wants_records(self.observe) else new[:1]:
            self.observe(Held(row=LateRow(partial(_row, record, origin, self.ledger.model.columns.types))))

    def _report(self, query: str) -> None:
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
                requests_to_goal=to_goal,
                expected=round(self.chooser.beliefs.best_rate, 3),
                source=self.reader.interface.url,
            )
        )


def _row(record: Record, origin: Mapping[str, object], types: Mapping[str, Type]) -> dict[str, object]:
    own = {"_key": record.key, "_url": record.url, "_path": record.path, **origin}
    return {**own, **typed_fields(record.fields, types)}

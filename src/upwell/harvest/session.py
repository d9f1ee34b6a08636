"""The harvest of one source: probe it, then ask page by page what the chooser says, until there is a reason to stop.

Nothing is sent from here: `steps` is a generator that yields the request it wants and is sent the response (`loop.drive`).
"""

import hashlib
from collections.abc import Generator, Sequence
from urllib.parse import urlsplit

from upwell.answers.facets import facet_links
from upwell.answers.next_page import request_of
from upwell.answers.pager import NextPage
from upwell.answers.totals import StatedTotals, read_totals
from upwell.harvest.chooser import UNKNOWN_PAGES, Chooser
from upwell.harvest.events import Asked, Held
from upwell.harvest.facet_questions import from_earlier_run
from upwell.harvest.ledger import NEARLY_ALL_SHARE
from upwell.harvest.open_query import OpenQuery, Question
from upwell.harvest.paging import count_on, next_page_of
from upwell.harvest.plan import Reason
from upwell.harvest.reader import EVERYTHING, Setting, SourceReader
from upwell.model import BrowserVisit, Record, RenderedPage, Request, Response, SearchInterface
from upwell.page.terms import tokens
from upwell.page.tree import TagTree

__all__ = ["SourceSession", "Steps"]

Steps = Generator[Request | BrowserVisit, Response | RenderedPage, Reason]
MAX_CHECK_PAGES = 5  # of a check query, where the source does not say how many matches there are
UNCOUNTED_FACTOR = 2.0  # a cut-off query whose matches nobody counts is taken to have at least twice as many as came
REPORT_SIZE_EVERY = 10  # requests; the size takes long to compute


class SourceSession:
    """One source while it is harvested: its reader, its ledger and its chooser."""

    def __init__(self, interface: SearchInterface, setting: Setting) -> None:
        self.reader = SourceReader(interface, setting)
        self.ledger, self.plan, self.observe = self.reader.ledger, setting.plan, setting.observe
        self.state = setting.state
        self.earlier_questions = setting.earlier_questions
        self.chooser = Chooser(
            self.ledger,
            setting.plan,
            language=self.reader.language,
            takes_text=not interface.choices,
            is_about=bool(self.reader.about),
        )

    def steps(self) -> Steps:
        """The whole harvest of the source; ends with the reason why nothing more is asked."""
        probes = yield from self.reader.probe()
        chooser, values = self.chooser, self.reader.interface.choices
        broad = () if values or self.reader.about else self.reader.broad_questions()
        chooser.start(broad, values or self.earlier_questions or (*self.plan.words, *probes), probes)
        while True:
            reason = self._reason_to_stop()
            if reason is not None:
                self.ledger.stopped = reason
                return reason
            chosen = chooser.next()
            if isinstance(chosen, Question):
                chosen = yield from self._open(chosen)
            if chosen is not None:
                yield from self._fetch_page(chosen)
            elif not chooser.retry():
                return "exhausted"

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
        if question.facet:
            request = request_of(NextPage(url=question.facet.link.url), question.facet.query)
        else:
            request = yield from self.reader.request_for(question.query)
        return self.chooser.open(question, request)

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
        response, tree = answer
        reading = reader.read(response, tree, query.query)
        if reading.kind != "multi" and reader.seems_changed:
            again, late = yield from reader.learn_again()
            for earlier, earlier_query, earlier_response in late:
                self._take(earlier.records, OpenQuery(earlier_query, None), earlier_response)
            reading = again or reading
        records = reader.wanted(reading.records, query.query)
        totals = StatedTotals()
        if reading.kind == "multi":
            totals = read_totals(tree, [record.text for record in reading.records])
        next_page = next_page_of(tree, reading, query.query) if self.plan.goal == "complete" else None
        stated = max(totals.total or 0, query.stated_total or 0)
        if next_page is None and records and stated > query.pages.matches + len(records):
            next_page = count_on(
                query.last_url, query.request.url
            )  # the pager has fewer links than the source has pages
        query.last_url = query.request.url
        end = query.pages.add_page([record.key for record in reading.records], totals, has_next=next_page is not None)
        is_repeated = query.pages.ends_with_false_page and bool(reading.records)
        new = 0 if is_repeated else self._take(records, query, response)
        query.stated_total, query.last_page_size = query.usual_total(), len(reading.records)
        query.last_page_new_share = new / max(1, len(records))
        query.new_records += new
        query.matches_with_query_text += sum(query.words <= set(tokens(record.text)) for record in _distinct(records))
        query.held_matches = None if query.held_matches is None else query.held_matches + new
        if query.is_plain and query.query in EVERYTHING and totals.total:
            ledger.stated_size = max(ledger.stated_size, totals.total)
        self.chooser.observe_page(query, len(records), new)
        following = request_of(next_page, query.query) if next_page is not None and not end else None
        query.request = None if query.is_check and self._check_is_done(query) else following
        if query.pages.pages == 1:
            self._learn_from_first_page(query, tree, records)
        self._report(query.query)
        if query.request is None:
            self._close(query, is_whole=following is None)
            if following is not None:  # a check query that has more to give is a query like others from now on
                query.request, query.is_check = following, False
                self.chooser.open_queries.append(query)

    def _check_is_done(self, query: OpenQuery) -> bool:
        """Whether a check query told what it can: the source counts what it cuts off, or the matches are too many to fetch."""
        if self.ledger.limit and self.ledger.totals_hold and query.stated_total:
            return True
        too_many = (query.stated_total or 0) > MAX_CHECK_PAGES * query.last_page_size
        return query.pages.pages >= MAX_CHECK_PAGES or too_many

    def _take(self, records: Sequence[Record], query: OpenQuery, response: Response) -> int:
        """Takes the records of a page in; gives how many are new."""
        page = hashlib.sha1(response.body, usedforsecurity=False).hexdigest()
        asked = query.facet.link.url if query.facet else query.query
        new = self.ledger.add(records)
        self.state.add(list(records), {"_source": self.ledger.interface.url, "_query": asked, "_page": page})
        for record in new:
            row = {"_key": record.key, "_url": record.url, "_query": asked, "_page": page, "_path": record.path}
            self.observe(Held(row={**row, **record.fields}))
        for record in _distinct(records):
            self.chooser.words.add_record(record.key, record.text, record.fields)
        texts = {record.key: record.text for record in records}
        if query.is_check:
            query.check_texts |= texts
        else:
            self.chooser.checks.hold(texts)
        return len(new)

    def _learn_from_first_page(self, query: OpenQuery, tree: TagTree, records: Sequence[Record]) -> None:
        """What the first page tells: whether a pair was understood, and whether there are more matches than can come."""
        ledger, chooser = self.ledger, self.chooser
        total = float(query.stated_total or 0)
        is_cut_off = bool(ledger.limit) and total > ledger.limit
        if not query.last_page_size and query.is_plain:
            chooser.words.asked(query.query, 0)
        if query.pair:
            texts = [record.text for record in _distinct(records)]
            chooser.pairs.add_first_page(query.pair, texts, query.stated_total or query.last_page_size)
            ledger.operators = chooser.pairs.understood
        if not (is_cut_off and ledger.totals_hold):
            return
        if query.is_plain:
            chooser.words.set_total(query.query, total)
        if not self.reader.about:
            chooser.facets.add_links(facet_links(tree, ledger.model.roles, query.query), query.query, total)
            if not query.facet and not (query.pair and "and" not in chooser.pairs.understood):
                chooser.pairs.add_cut_off(query.query, total, query.pair.words if query.pair else ())

    def _close(self, query: OpenQuery, *, is_whole: bool) -> None:
        """A query is over: what it tells about the source. `is_whole`: its pager was followed to its end."""
        ledger, chooser, finished = self.ledger, self.chooser, query.pages.finish()
        chooser.open_queries.remove(query)
        if is_whole and self.plan.goal == "complete":
            ledger.finish(finished)
        chooser.words.limit, chooser.words.page_size = ledger.limit, ledger.page_size
        is_cut_off = bool(ledger.limit) and finished.matches >= ledger.limit
        lists_most = finished.matches >= NEARLY_ALL_SHARE * len(ledger)
        is_broad = chooser.is_broad(query) or (query.is_plain and lists_most and finished.pages > UNKNOWN_PAGES)
        if is_broad and is_whole and not is_cut_off and (finished.pages > 1 or lists_most):
            ledger.longest_list = max(ledger.longest_list, finished.matches)
            ledger.mark(query.pages.keys, is_list=True)
        elif not is_broad:
            ledger.mark(query.pages.keys, is_list=False)
        if query.is_check:
            total = query.stated_total if ledger.totals_hold and ledger.limit else None
            came_whole = is_whole and not is_cut_off
            chooser.checks.record(ledger, query.query, query.check_texts, is_whole=came_whole, stated_total=total)
        if ledger.limit and is_whole and not is_cut_off and query.is_plain:
            chooser.words.set_exhausted(query.query)
        if is_cut_off and not ledger.totals_hold and query.is_plain:
            matches = UNCOUNTED_FACTOR * finished.matches
            chooser.pairs.add_cut_off(query.query, matches)
            if self.reader.last_tree is not None and not self.reader.about:
                links = facet_links(self.reader.last_tree, ledger.model.roles, query.query)
                chooser.facets.add_links(links, query.query, matches)

    def _report(self, query: str) -> None:
        ledger, requests = self.ledger, self.reader.spent().requests
        ledger.curve.append((requests, len(ledger), ledger.matches))
        self.observe(
            Asked(
                site=urlsplit(self.reader.interface.url).netloc,
                query=query,
                requests=requests,
                answers=dict(ledger.answers),
                records=len(ledger),
                overlap_rate=ledger.overlap_rate,
                size=ledger.size if len(ledger.curve) % REPORT_SIZE_EVERY == 0 else None,
            )
        )


def _distinct(records: Sequence[Record]) -> list[Record]:
    """Records with different keys; of those with the same key the last one."""
    return list({record.key: record for record in records}.values())

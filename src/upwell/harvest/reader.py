"""Query and read one source: fill requests, read answers with the source model, and learn the model, again if the source changes.

Nothing is sent from here: the methods are generators that yield the request they want and are sent the response (`loop.drive`).
The session and its chooser decide which queries to send. `depends_on_query` detects result lists that do not depend on the query.
"""

import logging
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar
from urllib.parse import urlsplit

import numpy as np

from upwell.answers.answer import Answer
from upwell.answers.argument_roles import learn_roles
from upwell.answers.kind import refusal_reason
from upwell.answers.next_page import next_page, next_page_request
from upwell.choose.ledger import SourceLedger
from upwell.choose.plan import Plan, Reason
from upwell.choose.record_words import Blobs, MemoryBlobs
from upwell.discover import interfaces
from upwell.discover.discovery import Discovery
from upwell.discover.form_filters import fill_region
from upwell.discover.forms import asks_for_password
from upwell.discover.lists import ListLinks, RecordAddresses
from upwell.discover.page_size import is_larger_page, larger_page_settings, with_setting
from upwell.discover.probe_words import dictionary_words, nonsense, words_of_page
from upwell.discover.steps import HOW_TO_LOG_IN, with_fresh_tokens
from upwell.errors import BudgetSpent, Forbidden, MissingExtra, NothingLearned, Unreachable
from upwell.harvest.events import Learned, Observer, Trouble
from upwell.lexicon.frequent_words import EVERYTHING, broad_queries
from upwell.logs import shown_url
from upwell.page.formats import read_page
from upwell.page.language import language_of
from upwell.page.tokens import query_words, words_of_query
from upwell.page.tree import TagTree
from upwell.source.apply import Reading, apply, misread_counts
from upwell.source.drift import DriftWatch
from upwell.source.learn import distinct_answers, learn_source
from upwell.source.model import SourceModel
from upwell.source.paging import next_page_of
from upwell.store.state import State
from upwell.types import (
    BrowserVisit,
    Decision,
    FormInterface,
    Kind,
    ListInterface,
    Record,
    RenderedPage,
    Request,
    Response,
    SearchInterface,
    Skipped,
    TypedInterface,
    WeighedCandidate,
)
from upwell.urls.arguments import path_without_query
from upwell.urls.patterns import UrlPattern

__all__ = [
    "BudgetUse",
    "SiteContext",
    "SourceReader",
    "depends_on_query",
    "keys_on",
    "label",
    "outline",
    "purpose",
    "unreadable_reason",
    "with_purpose",
]

T = TypeVar("T")
logger = logging.getLogger("upwell.harvest")
records_logger = logging.getLogger(
    "upwell.records"
)  # of the pure packages `source` and `records`, which are called here

# Outline of an answer, for the report.

MAX_TEXTS = 150  # texts shown of an answer
MAX_TEXT_LENGTH = 200  # characters shown of a text


def outline(tree: TagTree, reading: Reading) -> list[tuple[str, str]]:
    """Return the first texts of an answer, each with the path of the record that contains it, or ""."""
    records = {}
    for record in reading.records:
        row = tree.row_at(record.path)
        if row is not None:
            records[row] = (int(tree.end[row]), record.path)
    texts, current = [], (0, "")
    for text, row in zip(tree.chunks, tree.chunk_row.tolist(), strict=True):
        for above in (row, *tree.ancestors(row)):
            if above in records:
                current = records[above]
                break
        texts.append((text[:MAX_TEXT_LENGTH], current[1] if row < current[0] else ""))
    return texts[:MAX_TEXTS]


# Query dependence: a sidebar, or a box that filters nothing, shows the same list for any query.

MIN_QUERY_EFFECT = 0.1  # share of the records by which another query must change an answer more than repeating the query does; not swept


def depends_on_query(first: frozenset[str], again: frozenset[str], others: Sequence[frozenset[str]]) -> bool:
    """Return True if other queries change the keys of an answer more than repeating the same query does.

    >>> listed = frozenset("abc")
    >>> depends_on_query(listed, listed, [frozenset("xyz")]), depends_on_query(listed, listed, [listed])
    (True, False)
    """
    other = sum(_overlap(first, keys) for keys in others) / len(others)
    return _overlap(first, again) > other + MIN_QUERY_EFFECT


def keys_on(model: SourceModel, tree: TagTree) -> frozenset[str]:
    """Return the keys of the records of an answer."""
    return frozenset(record.key for record in apply(model, tree).records)


def unreadable_reason(url: str, answers: Sequence[TagTree], home: TagTree, skipped: Sequence[Skipped]) -> str:
    """Explain why no answer of a source has records, and what the user can do."""
    wants_password = any(map(asks_for_password, answers)) and not asks_for_password(home)
    if wants_password or any("login wall" in page.reason for page in skipped):
        return f"{url} answers with a login page: {HOW_TO_LOG_IN}"
    return f"{len(answers)} answers of {url} contain no list of matches; give words that it finds with --words"


def _overlap(some: frozenset[str], others: frozenset[str]) -> float:
    """Return the share of the records of two answers that both contain."""
    return len(some & others) / max(1, len(some | others))


MIN_DIFFERENT_ANSWERS = 5  # sufficiently different answers needed to learn a model; not swept
MIN_FULL_ANSWERS = 3  # answers with records needed among them
MAX_PROBE_ROUNDS = 5  # rounds of `Plan.probes` queries before the source counts as unreadable
MAX_SIZE_TRIALS = 2  # settings for larger pages that are tried
MAX_FIELDS_KEPT = 2000  # records whose fields are kept for naming the columns of lists
# Size of the answers from which on no further probes are sent, in bytes, and in elements and texts: all answers are held while a source is
# learned. Ordinary answers have 2 MB and 100,000 elements and texts in all; each of these needs 80 to 300 bytes.
MAX_PROBED_BYTES = 40_000_000
MAX_PROBED_ITEMS = 2_500_000
MAX_NONSENSE_SHARE = 0.3  # largest share of both for answers to nonsense words
LIST_PAGES = 3  # pages that the model of a list is learned from
RECENT_ANSWERS = 12  # answers that are read again when the source seems to have changed; not swept


@dataclass(frozen=True, kw_only=True)
class BudgetUse:
    """Requests sent for the site, and the limit reached, if any."""

    requests: int
    limit_reached: Reason | None
    why: str = ""  # the limit in words


@dataclass(kw_only=True)
class SiteContext:
    """State shared by all sources of a site during a harvest."""

    discovery: Discovery
    plan: Plan
    state: State
    observe: Observer
    spent: Callable[[], BudgetUse]
    scratch: Callable[[int], Blobs] = lambda number: MemoryBlobs()  # storage for each source's record words
    earlier_queries: tuple[str, ...] = ()  # queries of the run that is refreshed; sent first
    before: Mapping[str, set[str]] = field(default_factory=dict)  # keys that each query of that run returned
    # links that may lead to lists without a query, by the URL shape of the records
    list_links: dict[tuple[UrlPattern, ...], ListLinks] = field(default_factory=dict)
    sitemap_addresses: tuple[str, ...] | None = None  # page URLs; None: not read yet


def label(candidate: WeighedCandidate) -> str:
    """Describe a candidate in a few words, for the log and explanations.

    >>> label(WeighedCandidate("word", "asia", 2)), label(WeighedCandidate("given"))
    ('word “asia”, page 2', 'given, the empty query')
    """
    page = f", page {candidate.page}" if candidate.page > 1 else ""
    if not candidate.text:
        return f"{candidate.kind}, the empty query{page}"
    text = shown_url(candidate.text) if "://" in candidate.text else f"“{candidate.text}”"
    return f"{candidate.kind} {text}{page}"


def purpose(kind: str, request: Request | BrowserVisit) -> Decision:
    """Return the decision for a request that no comparison of candidates chose."""
    return Decision(WeighedCandidate(kind, request.query or request.url))


def with_purpose(
    steps: Generator[Request | BrowserVisit, Response | RenderedPage, T], kind: str
) -> Generator[Request | BrowserVisit, Response | RenderedPage, T]:
    """Run steps whose requests have no decision yet, and give each request a purpose."""
    try:
        wanted = next(steps)
        while True:
            try:
                answer = yield replace(wanted, decision=wanted.decision or purpose(kind, wanted))
            except (Unreachable, Forbidden, MissingExtra) as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return] # the result of the steps


class SourceReader:
    """Search interface and model of a source, and its latest answers."""

    def __init__(self, interface: SearchInterface, context: SiteContext) -> None:
        self.interface = interface
        self.discovery, self.plan = context.discovery, context.plan
        self.observe, self.spent = context.observe, context.spent
        self.rng = np.random.default_rng(self.plan.seed)
        self.language = language_of(self.discovery.home)
        self.about = tuple(words_of_query(self.plan.about))
        given = self.plan.models
        given = tuple(model for model in given if model.asked_at == urlsplit(interface.url).path) or given
        model = given[0] if len(given) == 1 else SourceModel()
        self.ledger = SourceLedger(interface=interface, model=model)
        self.last_tree: TagTree | None = None  # latest answer, whose form has the freshest tokens
        self.background: list[Answer] = []  # answers to nonsense words, without their responses
        self.fields_of: dict[str, Mapping[str, str]] = {}  # fields of the first records, by key
        self.errors_in_a_row = 0
        # the server keeps the results of the last query in its session: further pages have the same address for all queries
        self.keeps_results = False
        self._recent: deque[tuple[Response, str, Kind]] = deque(maxlen=RECENT_ANSWERS)
        self._drift = DriftWatch(model, window=RECENT_ANSWERS, min_answers=RECENT_ANSWERS)
        self._last_query_with_records = ""
        self._probed_share = 0.0  # share of MAX_PROBED_BYTES or MAX_PROBED_ITEMS that the answers have
        # queries answered completely before larger pages were found; they are not sent again
        self._whole_answers: dict[str, Request] = {}

    # -- probing and learning --------------------------------------------------------------------------------------------

    def probe(self) -> Generator[Request | BrowserVisit, Response | RenderedPage, tuple[str, ...]]:
        """Query nonsense and words of the site, and learn the source model; return the queries sent."""
        values = self.interface.choices  # the only queries that a form without a text field accepts
        if self.ledger.model.leader:
            return ()
        if isinstance(self.interface, ListInterface) and self.interface.via == "sitemap":
            return ()  # nothing to learn: a sitemap has only URLs
        if isinstance(self.interface, ListInterface):
            yield from self._learn_list(self.interface)
            return ()
        probes = self.plan.probes
        made_up = (*self.discovery.nonsense, *nonsense(self.rng, self.plan.background, self.language))
        of_nonsense = yield from self._answers(
            () if values else made_up[: self.plan.background], "nonsense probe", MAX_NONSENSE_SHARE
        )
        # stored in checkpoints, where their bodies would only take space
        self.background = background = [replace(answer, response=None) for answer in of_nonsense]
        own = (self.plan.about,) if self.about else (*self.plan.words, *self.discovery.working_words)
        broad = broad_queries(self.language)[len(EVERYTHING) :]
        listed = dict.fromkeys((*own, *broad, *words_of_page(self.discovery.home)))
        words = values or tuple(word for word in listed if len(word) >= self.interface.min_chars)
        answers: list[Answer] = []
        asked, further_words, misread = 0, tuple[str, ...](), None
        for start in range(0, min(len(words), MAX_PROBE_ROUNDS * probes), probes):
            batch = words[start : start + probes]
            answers += yield from self._answers(batch, "probe")
            asked += len(batch)
            different = distinct_answers(answers, background)
            if not (start or values or self.about) and len(different) < min(MIN_DIFFERENT_ANSWERS, len(answers)):
                # a source that searches parts of words returns nearly all records for each letter: what its answers share are records
                missing = MIN_DIFFERENT_ANSWERS - len(different)
                further_words = dictionary_words(self.rng, missing, self.language)
                answers += yield from self._answers(further_words, "probe")
                different = distinct_answers(answers, background)
            self._learn(different)
            if self.ledger.model.leader and not (values or self.about):
                # few words returned something: the site may be in one language and its records in another
                further = yield from self._following_pages(different)
                if further:
                    answers += further
                    self._learn(distinct_answers(answers, background))
            # what a single answer shows may be its two columns
            full = sum(bool(apply(self.ledger.model, answer.page).records) for answer in answers)
            is_sure = full >= MIN_FULL_ANSWERS or start or values or self.about
            misread = misread_counts(self.ledger.model, [answer.page for answer in answers])
            if (self.ledger.model.leader and is_sure and not misread) or self.spent().limit_reached:
                break
        if not self.ledger.model.leader and self.spent().limit_reached:
            raise BudgetSpent(f"{self.spent().why} before the answers of {self.interface.url} could be read")
        pages = [answer.page for answer in answers]
        if not self.ledger.model.leader:
            raise NothingLearned(unreadable_reason(self.interface.url, pages, self.discovery.home, self.ledger.skipped))
        if misread:
            model, self.ledger.model = self.ledger.model, SourceModel()
            raise NothingLearned(
                f"the answers of {self.interface.url} are not read correctly: one says that it shows {misread[0]} records or more, and "
                f"{misread[1]} {'was' if misread[1] == 1 else 'were'} read, in {model.pagelet}; mark a record of an answer with "
                "`upwell serve`, or give words with many matches with --words"
            )
        queries = [answer.query for answer in answers]
        roles = learn_roles(pages, queries, query_field=self.interface.query_field or "")
        self.ledger.model = replace(self.ledger.model, roles=roles)
        yield from self._check_query_dependence(answers)
        self._report_learned(len(answers) + len(background))
        if not (values or self.plan.search_interface or self.interface.rendered):
            yield from self._find_larger_pages(answers)
        return (*words[:asked], *further_words)

    def _learn(self, answers: Sequence[Answer]) -> None:
        """Learn the source model; if that fails or reads no answer right, without the places of answers to nonsense: some sources answer any word."""
        model = learn_source(answers, self.background)
        pages = [answer.page for answer in answers]
        if not model.leader or misread_counts(model, pages):
            alone = learn_source(answers, self.background, nonsense_has_records=True)
            if not model.leader or (alone.leader and not misread_counts(alone, pages)):
                model = alone
        self.ledger.model = model

    def _following_pages(
        self, answers: Sequence[Answer]
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, list[Answer]]:
        """Fetch further pages of the answers with records if there are few: differences between answers show there, too."""
        model = self.ledger.model
        readings = [(answer, reading) for answer in answers if (reading := apply(model, answer.page)).records]
        further: list[Answer] = []
        for answer, reading in readings[: max(0, MIN_FULL_ANSWERS - len(readings))]:
            query = answer.query
            following = next_page_of(answer.page, reading, query)
            fetched = (
                (yield from self.get(next_page_request(following, query), "probe, next page"))
                if following is not None
                else None
            )
            if fetched is not None:
                further.append(Answer(page=fetched[1], query=query, response=fetched[0]))
        return further

    def _check_query_dependence(
        self, answers: Sequence[Answer]
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Raise NothingLearned if nonsense returns records too and other queries change them no more than repeating the same query."""
        model = self.ledger.model
        full = [(answer, keys) for answer in answers if (keys := keys_on(model, answer.page))]
        nonsense_keys = [keys_on(model, answer.page) for answer in self.background]
        if not nonsense_keys or len(full) < 2 or not all(nonsense_keys):
            return
        first, first_keys = full[0]
        again = yield from self.get(self._fresh_request(first.query), "query dependence")
        if again is None:
            return
        other_keys = [*(keys for _, keys in full[1:]), *nonsense_keys]
        if not depends_on_query(first_keys, keys_on(model, again[1]), other_keys):
            self.ledger.model = SourceModel()
            raise NothingLearned(
                f"the records of {self.interface.url} do not depend on the query: nonsense and words return the same list; "
                "it may be a sidebar, or a box that filters nothing. Choose another form with --form, or start from the list itself"
            )

    def _learn_list(self, interface: ListInterface) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Learn the source model from the first pages of a list."""
        pages: list[TagTree] = []
        request: Request | None = interfaces.fill(interface, "")
        while request is not None and len(pages) < LIST_PAGES:
            answer = yield from self.get(request, "probe")
            if answer is None:
                break
            pages.append(answer[1])
            following = next_page(answer[1])
            request = replace(next_page_request(following), reuses=True) if following is not None else None
        records = RecordAddresses.learn(interface.examples, [*pages, *self.discovery.pages])
        without_records = [Answer(page) for page in self.discovery.pages if not records.on(page)]
        self.background = without_records[: self.plan.background]
        self.ledger.model = model = learn_source(pages, self.background, is_record_address=records.is_record)
        if not model.leader:
            raise NothingLearned(f"{len(pages)} pages of {interface.url} contain no readable list")
        self._report_learned(len(pages))

    def _report_learned(self, probes: int) -> None:
        """Report a learned model, and measure drift from here."""
        model = self.ledger.model
        records_logger.info(
            "learned from %d answers, rules: %d; records in %s, %s; fits %.0f %% of the answers",
            *(probes, len(model.rules), model.pagelet, model.leader, 100 * model.fits),
        )
        self._drift.reset(model)
        self.observe(Learned(pagelet=model.pagelet, leader=model.leader, probes=probes, source=self.interface.url))

    def _find_larger_pages(
        self, answers: Sequence[Answer]
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Try settings that show more records per page; complete answers are not requested again."""
        readings = [(answer, apply(self.ledger.model, answer.page)) for answer in answers]
        whole = [answer.query for answer, reading in readings if next_page_of(answer.page, reading, "") is None]
        partial = [(answer, reading) for answer, reading in readings if answer.query not in whole]
        if not partial:
            return
        longest, reading = max(partial, key=lambda answer: len(answer[1].records))
        tree, query, keys = longest.page, longest.query, [record.key for record in reading.records]
        before = self.interface
        next_page = next_page_of(tree, reading, query)
        settings = larger_page_settings(before, (self.discovery.home, tree), query, len(keys), next_page)
        for name, value in settings[:MAX_SIZE_TRIALS]:
            if self.spent().limit_reached:
                return
            wider = with_setting(before, name, value)
            answer = yield from self.get(interfaces.fill(wider, query), "larger page")
            if answer is None:
                continue
            wide = apply(self.ledger.model, answer[1], status=answer[0].status)
            wide_keys = [record.key for record in wide.records]
            if is_larger_page(keys, wide_keys, value, next_page_of(answer[1], wide, query)):
                self.interface = self.ledger.interface = wider
                self._whole_answers = {query: interfaces.fill(before, query) for query in whole}
                return

    def _answers(
        self, queries: Sequence[str], why: str, max_share: float = 1
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, list[Answer]]:
        """Yield the requests for some queries; return the answers to those that could be fetched.

        No further requests are sent when the answers have more than `max_share` of what may be held at once.
        """
        answers: list[Answer] = []
        for query in queries:
            if self.spent().limit_reached:
                break
            if self._probed_share > max_share:
                logger.info("no further %s: the answers so far are very large", why)
                break
            answer = yield from self.get((yield from self.request_for(query)), why)
            if answer is not None:
                items = len(answer[1]) + len(answer[1].chunks)
                self._probed_share += max(len(answer[0].body) / MAX_PROBED_BYTES, items / MAX_PROBED_ITEMS)
                answers.append(Answer(page=answer[1], query=query, response=answer[0]))
        return answers

    # -- asking and reading ----------------------------------------------------------------------------------------------

    def request_for(self, query: str) -> Generator[Request | BrowserVisit, Response | RenderedPage, Request]:
        """Return the request for a query, with a fresh form token if needed."""
        if query in self._whole_answers:
            return self._whole_answers[query]
        self.interface = yield from with_purpose(with_fresh_tokens(self.interface, self.last_tree), "form page")
        return interfaces.fill(self.interface, query)

    def request_for_region(
        self, settings: Sequence[tuple[str, str]]
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, Request]:
        """Return the request for a region of the form, with a fresh form token if needed."""
        self.interface = yield from with_purpose(with_fresh_tokens(self.interface, self.last_tree), "form page")
        if not isinstance(self.interface, FormInterface):
            raise TypeError("only a form has regions")
        return fill_region(self.interface, settings)

    def _fresh_request(self, query: str) -> Request:
        """Return a request for a query sent before; without its query text the response is not taken from memory."""
        request = interfaces.fill(self.interface, query)
        return request if isinstance(self.interface, TypedInterface) else replace(request, query="")

    def get(
        self, request: Request, why: Decision | str
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, tuple[Response, TagTree] | None]:
        """Return one answer; None if it could not be fetched, which is counted.

        `why` is the decision to send the request, or its purpose if no candidates were compared.
        """
        decision = why if isinstance(why, Decision) else purpose(why, request)
        try:
            decision = decision._replace(source=self.interface.url)
            response = yield replace(request, decision=decision, is_of_session=self.keeps_results)
            if not isinstance(response, Response):
                raise TypeError("a Request is answered by a Response")
            tree = read_page(response.body, response.url, response.headers)
            if refused := refusal_reason(response, tree):
                raise Unreachable(f"{request.url} refused the request: {refused}")
        except (Unreachable, Forbidden) as error:
            self.skip("fetch", request.url, str(error))
            return None
        self.last_tree = tree
        if isinstance(why, str):
            logger.info("request %d: %s: status %d", response.number, label(decision.chosen), response.status)
        return response, tree

    def skip(self, stage: str, page: str, reason: str) -> None:
        """Count and report a page that cannot be used."""
        skipped = Skipped(stage=stage, page=page, reason=reason)
        self.ledger.skipped.append(skipped)
        self.observe(Trouble(skipped=skipped))

    def read(self, response: Response, tree: TagTree, query: str) -> Reading:
        """Read an answer with the source model, and count its kind."""
        ledger = self.ledger
        reading = apply(ledger.model, tree, status=response.status, asked_at=self._answer_path(response), query=query)
        self._recent.append((response, query, reading.kind))
        self._drift.note(reading)
        ledger.answers[reading.kind] += 1
        self.errors_in_a_row = self.errors_in_a_row + 1 if reading.kind == "error" else 0
        ledger.page_size = max(ledger.page_size, len(reading.records))
        if reading.kind not in ledger.samples:
            ledger.samples[reading.kind] = f"{query}: {' '.join(tree.text().split())[:600]}"
        if reading.kind == "multi":
            if len(self.fields_of) < MAX_FIELDS_KEPT:
                self.fields_of.update({record.key: record.fields for record in reading.records})
            self._last_query_with_records = query
            ledger.outline = ledger.outline or outline(tree, reading)
        return reading

    def wanted(self, records: Sequence[Record], query: str) -> Sequence[Record]:
        """Return all records, or with `--about` those that this query returned or that contain its words."""
        if not self.about or query == self.plan.about:
            return records
        kept = [record for record in records if set(self.about) <= set(query_words(record.text))]
        self.ledger.filtered[f"not about {self.plan.about}"] += len(records) - len(kept)
        return kept

    def _answer_path(self, response: Response) -> str:
        """Return the path of answers: that of this response if the query is part of it or nonsense leads there too."""
        path = path_without_query(response.url, response.request.query)
        is_answer = not self.interface.query_field or any(
            path == path_without_query(answer.page.url, answer.query) for answer in self.background
        )
        return urlsplit(response.url if is_answer else self.interface.url).path

    # -- drift -----------------------------------------------------------------------------------------------------------

    @property
    def seems_changed(self) -> bool:
        """Return True if far fewer of the latest answers have records than when the source was learned."""
        return self._drift.fits_too_few

    def learn_again(
        self,
    ) -> Generator[
        Request | BrowserVisit, Response | RenderedPage, tuple[Reading | None, list[tuple[Reading, str, Response]]]
    ]:
        """Repeat a query that had records; if it has none now, the source has changed and its model is learned again.

        Return the last answer as read by the new model (None if nothing has changed), and the earlier answers that can be read now.
        """
        recent = [
            Answer(page=read_page(response.body, response.url, response.headers), query=query, response=response)
            for response, query, _ in self._recent
        ]
        kinds = [kind for _, _, kind in self._recent]
        self._recent.clear()
        self._drift.reset()
        answer = yield from self.get(self._fresh_request(self._last_query_with_records), "model check")
        if answer is None or self._apply(self.ledger.model, *answer).kind == "multi":
            return None, []
        model = learn_source([Answer(page=answer[1], query=self._last_query_with_records), *recent])
        if self._apply(model, *answer).kind != "multi":
            return None, []
        readings = [self._apply(model, response, old.page) for old in recent if (response := old.response)]
        self.ledger.model = replace(model, roles=self.ledger.model.roles)
        self.ledger.relearned += 1
        self._report_learned(len(recent) + 1)
        late = [
            (reading, old.query, old.response)
            for reading, old, kind in zip(readings, recent[:-1], kinds, strict=False)
            if kind != "multi" and old.response
        ]
        return readings[-1], late

    def _apply(self, model: SourceModel, response: Response, tree: TagTree) -> Reading:
        return apply(model, tree, status=response.status, asked_at=self._answer_path(response))

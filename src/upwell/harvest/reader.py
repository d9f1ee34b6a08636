"""One source as it is asked and read: requests are filled, answers read with the source model, the model learned and learned again.

Nothing is sent from here: the methods are generators that yield the request they want and are sent the response (`loop.drive`).
Which questions to ask is decided by the session and its chooser.
"""

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

import numpy as np

from upwell.answers.next_page import next_page, request_of
from upwell.answers.refusal import refusal
from upwell.answers.roles import learn_roles
from upwell.errors import BudgetSpent, Forbidden, NothingLearned, Unreachable
from upwell.harvest.events import Learned, Observer, Trouble
from upwell.harvest.ledger import SourceLedger
from upwell.harvest.outline import outline
from upwell.harvest.plan import Plan, Reason
from upwell.harvest.reaction import depends_on_query, keys_on, why_unreadable
from upwell.model import (
    BrowserVisit,
    Kind,
    ListInterface,
    Record,
    RenderedPage,
    Request,
    Response,
    SearchInterface,
    Skipped,
    TypedInterface,
)
from upwell.page.address_shapes import AddressShape
from upwell.page.data import read_page
from upwell.page.languages import language_of
from upwell.page.terms import query_words, words_of_query
from upwell.page.tree import TagTree
from upwell.page.url_arguments import path_without_query
from upwell.queries.frequent_words import EVERYTHING, broad_questions
from upwell.queries.record_words import Blobs, MemoryBlobs
from upwell.queries.words import dictionary, nonsense, of_page
from upwell.site import interfaces
from upwell.site.discover import Discovery
from upwell.site.lists import ListLinks, RecordAddresses
from upwell.site.page_size import is_larger_page, larger_page_settings, with_setting
from upwell.site.steps import with_fresh_tokens
from upwell.source.apply import Reading, apply
from upwell.source.drift import DriftWatch
from upwell.source.learn import distinct_answers, learn_source
from upwell.source.model import SourceModel
from upwell.source.paging import next_page_of
from upwell.store.state import State

__all__ = ["Setting", "SourceReader", "Spent"]

MIN_DIFFERENT_ANSWERS = 5  # answers to learn from that are not nearly the same; not swept
MIN_FULL_ANSWERS = 3  # of these, that have records
MAX_PROBE_ROUNDS = 5  # times `Plan.probes` queries are asked before the source counts as unreadable
MAX_SIZE_TRIALS = 2  # settings for larger pages that are tried
MAX_FIELDS_KEPT = 2000  # records whose fields are kept, to name the columns of lists by
LIST_PAGES = 3  # of a list without a query, that it is learned from
RECENT_ANSWERS = 12  # answers that are looked at again when the source seems to have changed; not swept


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What the site has cost so far."""

    requests: int
    limit_reached: Reason | None
    why: str = ""  # which limit it is, in words


@dataclass(kw_only=True)
class Setting:
    """What all sources of a site share while they are harvested."""

    discovery: Discovery
    plan: Plan
    state: State
    observe: Observer
    spent: Callable[[], Spent]
    scratch: Callable[[int], Blobs] = lambda number: MemoryBlobs()  # where each source puts away what it holds of words
    earlier_questions: tuple[str, ...] = ()  # of the run that is refreshed, asked first
    before: Mapping[str, set[str]] = field(default_factory=dict)  # the keys that each question of that run brought
    # links that may lead to lists without a query, by what the addresses of the records look like
    list_links: dict[tuple[AddressShape, ...], ListLinks] = field(default_factory=dict)
    sitemap_addresses: tuple[str, ...] | None = None  # of pages of the site; None: nobody has looked


class SourceReader:
    """A source's interface and model, and the answers that were read last."""

    def __init__(self, interface: SearchInterface, setting: Setting) -> None:
        self.interface = interface
        self.discovery, self.plan = setting.discovery, setting.plan
        self.observe, self.spent = setting.observe, setting.spent
        self.rng = np.random.default_rng(self.plan.seed)
        self.language = language_of(self.discovery.home)
        self.about = tuple(words_of_query(self.plan.about))
        given = self.plan.models
        given = tuple(model for model in given if model.asked_at == urlsplit(interface.url).path) or given
        model = given[0] if len(given) == 1 else SourceModel()
        self.ledger = SourceLedger(interface=interface, model=model)
        self.last_tree: TagTree | None = None  # the last answer: the tokens of its form are the freshest
        self.background: list[TagTree] = []  # answers to nonsense
        self.fields_of: dict[str, Mapping[str, str]] = {}  # what the first answers say of their records, by key
        self.errors_in_a_row = 0
        self._recent: deque[tuple[Response, str, Kind]] = deque(maxlen=RECENT_ANSWERS)
        self._drift = DriftWatch(model, window=RECENT_ANSWERS, min_answers=RECENT_ANSWERS)
        self._last_query_with_records = ""
        self._query_of: dict[int, str] = {}  # the query of each probed answer, by the id of its tree
        # queries whose answers came whole before larger pages were found: they are not asked again
        self._whole_answers: dict[str, Request] = {}

    # -- probing and learning --------------------------------------------------------------------------------------------

    def probe(self) -> Generator[Request | BrowserVisit, Response | RenderedPage, tuple[str, ...]]:
        """Asks for nonsense and for words of the site, and learns the source model; gives the queries that were asked."""
        values = self.interface.choices  # a form without text can be asked for these, and for nothing else
        if self.ledger.model.leader:
            return ()
        if isinstance(self.interface, ListInterface) and self.interface.via == "sitemap":
            return ()  # there is no list to learn: it has addresses only
        if isinstance(self.interface, ListInterface):
            yield from self._learn_list(self.interface)
            return ()
        probes = self.plan.probes
        made_up = (*self.discovery.nonsense, *nonsense(self.rng, self.plan.background, self.language))
        self.background = background = yield from self._answers(() if values else made_up[: self.plan.background])
        own = (self.plan.about,) if self.about else (*self.plan.words, *self.discovery.working_words)
        broad = broad_questions(self.language)[len(EVERYTHING) :]
        listed = dict.fromkeys((*own, *broad, *of_page(self.discovery.home)))
        words = values or tuple(word for word in listed if len(word) >= self.interface.min_chars)
        answers: list[TagTree] = []
        asked, dictionary_words = 0, tuple[str, ...]()
        for start in range(0, min(len(words), MAX_PROBE_ROUNDS * probes), probes):
            queries = words[start : start + probes]
            answers += yield from self._answers(queries)
            asked += len(queries)
            different = distinct_answers(answers, background)
            if not (start or values or self.about) and len(different) < min(MIN_DIFFERENT_ANSWERS, len(answers)):
                # a source that searches parts of words has nearly all records for each letter: what its answers share are records
                missing = MIN_DIFFERENT_ANSWERS - len(different)
                dictionary_words = dictionary(self.rng, missing, self.language)
                answers += yield from self._answers(dictionary_words)
                different = distinct_answers(answers, background)
            self._learn(different)
            if self.ledger.model.leader and not (values or self.about):
                # few words found something: the site may be in one language and its records in another
                further = yield from self._following_pages(different)
                if further:
                    answers += further
                    self._learn(distinct_answers(answers, background))
            # what one answer alone shows may be its two columns
            full = sum(bool(apply(self.ledger.model, tree).records) for tree in answers)
            is_sure = full >= MIN_FULL_ANSWERS or start or values or self.about
            if (self.ledger.model.leader and is_sure) or self.spent().limit_reached:
                break
        if not self.ledger.model.leader and self.spent().limit_reached:
            raise BudgetSpent(f"{self.spent().why} before the answers of {self.interface.url} were understood")
        if not self.ledger.model.leader:
            raise NothingLearned(why_unreadable(self.interface.url, answers, self.discovery.home, self.ledger.skipped))
        roles = learn_roles(
            answers, [self._query_of[id(tree)] for tree in answers], query_field=self.interface.query_field or ""
        )
        self.ledger.model = replace(self.ledger.model, roles=roles)
        yield from self._check_reaction(answers)
        self._tell_learned(len(answers) + len(background))
        if not (values or self.plan.template or self.interface.rendered):
            yield from self._find_larger_pages(answers)
        return (*words[:asked], *dictionary_words)

    def _learn(self, answers: Sequence[TagTree]) -> None:
        """Learns the source model; where nothing is learned beside nonsense, without it: some sources find something for any word."""
        queries, of_nonsense = ([self._query_of[id(tree)] for tree in trees] for trees in (answers, self.background))
        model = learn_source(answers, self.background, queries=queries, background_queries=of_nonsense)
        self.ledger.model = model if model.leader else learn_source(answers, queries=queries)

    def _following_pages(
        self, answers: Sequence[TagTree]
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, list[TagTree]]:
        """Further pages of the answers that have records, where these are few: what differs between answers shows on them, too."""
        readings = [(tree, reading) for tree in answers if (reading := apply(self.ledger.model, tree)).records]
        further: list[TagTree] = []
        for tree, reading in readings[: max(0, MIN_FULL_ANSWERS - len(readings))]:
            query = self._query_of[id(tree)]
            following = next_page_of(tree, reading, query)
            answer = (yield from self.get(request_of(following, query))) if following is not None else None
            if answer is not None:
                self._query_of[id(answer[1])] = query
                further.append(answer[1])
        return further

    def _check_reaction(
        self, answers: Sequence[TagTree]
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Raises where nonsense has records too, and another query changes them no more than the same one asked again."""
        keys_of = {id(tree): keys_on(self.ledger.model, tree) for tree in (*answers, *self.background)}
        full = [tree for tree in answers if keys_of[id(tree)]]
        if not self.background or len(full) < 2 or not all(keys_of[id(tree)] for tree in self.background):
            return
        first, others = full[0], [*full[1:], *self.background]
        again = yield from self.get(self._asked_anew(self._query_of[id(first)]))
        if again is None:
            return
        again_keys = keys_on(self.ledger.model, again[1])
        if not depends_on_query(keys_of[id(first)], again_keys, [keys_of[id(tree)] for tree in others]):
            self.ledger.model = SourceModel()
            raise NothingLearned(
                f"the records of {self.interface.url} do not depend on the query: nonsense and words bring the same kind of list; "
                "it may be a sidebar, or a box that filters nothing. Name another form with --form, or the list itself"
            )

    def _learn_list(self, interface: ListInterface) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Learns the source model from the first pages of a list."""
        pages: list[TagTree] = []
        request: Request | None = interfaces.fill(interface, "")
        while request is not None and len(pages) < LIST_PAGES:
            answer = yield from self.get(request)
            if answer is None:
                break
            pages.append(answer[1])
            following = next_page(answer[1])
            request = replace(request_of(following), reuses=True) if following is not None else None
        records = RecordAddresses.learn(interface.examples, [*pages, *self.discovery.pages])
        self.background = [page for page in self.discovery.pages if not records.on(page)][: self.plan.background]
        self.ledger.model = model = learn_source(pages, self.background, is_record_address=records.is_record)
        if not model.leader:
            raise NothingLearned(f"{len(pages)} pages of {interface.url}, none with a list that could be read")
        self._tell_learned(len(pages))

    def _tell_learned(self, probes: int) -> None:
        """A model was learned from so many answers: drift is measured from here, and those who follow are told."""
        model = self.ledger.model
        self._drift.reset(model)
        self.observe(Learned(pagelet=model.pagelet, leader=model.leader, probes=probes, source=self.interface.url))

    def _find_larger_pages(
        self, answers: Sequence[TagTree]
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
        """Tries settings that show more records on a page; answers that came whole are not asked for again."""
        readings = [(tree, apply(self.ledger.model, tree)) for tree in answers]
        whole = [self._query_of[id(tree)] for tree, reading in readings if next_page_of(tree, reading, "") is None]
        cut = [(tree, reading) for tree, reading in readings if self._query_of[id(tree)] not in whole]
        if not cut:
            return
        tree, reading = max(cut, key=lambda answer: len(answer[1].records))
        query, keys = self._query_of[id(tree)], [record.key for record in reading.records]
        before = self.interface
        next_page = next_page_of(tree, reading, query)
        settings = larger_page_settings(before, (self.discovery.home, tree), query, len(keys), next_page)
        for name, value in settings[:MAX_SIZE_TRIALS]:
            if self.spent().limit_reached:
                return
            wider = with_setting(before, name, value)
            answer = yield from self.get(interfaces.fill(wider, query))
            if answer is None:
                continue
            wide = apply(self.ledger.model, answer[1], status=answer[0].status)
            wide_keys = [record.key for record in wide.records]
            if is_larger_page(keys, wide_keys, value, next_page_of(answer[1], wide, query)):
                self.interface = self.ledger.interface = wider
                self._whole_answers = {query: interfaces.fill(before, query) for query in whole}
                return

    def _answers(
        self, queries: Sequence[str]
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, list[TagTree]]:
        """The answers to queries, as far as they can be had."""
        trees = []
        for query in queries:
            if self.spent().limit_reached:
                break
            answer = yield from self.get((yield from self.request_for(query)))
            if answer is not None:
                trees.append(answer[1])
                self._query_of[id(answer[1])] = query
        return trees

    # -- asking and reading ----------------------------------------------------------------------------------------------

    def request_for(self, query: str) -> Generator[Request | BrowserVisit, Response | RenderedPage, Request]:
        """The request that asks a query, with a fresh token where the form has one."""
        if query in self._whole_answers:
            return self._whole_answers[query]
        self.interface = yield from with_fresh_tokens(self.interface, self.last_tree)
        return interfaces.fill(self.interface, query)

    def _asked_anew(self, query: str) -> Request:
        """The request that asks a query which was asked before: without a query in it nothing is taken from memory."""
        request = interfaces.fill(self.interface, query)
        return request if isinstance(self.interface, TypedInterface) else replace(request, query="")

    def get(
        self, request: Request
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, tuple[Response, TagTree] | None]:
        """One answer, or None where it could not be had (which is counted)."""
        try:
            response = yield request
            if not isinstance(response, Response):
                raise TypeError("a Request is answered by a Response")
            tree = read_page(response.body, response.url, response.headers)
            if refused := refusal(response, tree):
                raise Unreachable(f"{request.url} refuses: {refused}")
        except (Unreachable, Forbidden) as error:
            self.skip("fetch", request.url, str(error))
            return None
        self.last_tree = tree
        return response, tree

    def skip(self, stage: str, page: str, reason: str) -> None:
        """Counts and reports a page that cannot be used."""
        skipped = Skipped(stage=stage, page=page, reason=reason)
        self.ledger.skipped.append(skipped)
        self.observe(Trouble(skipped=skipped))

    def read(self, response: Response, tree: TagTree, query: str) -> Reading:
        """Reads an answer with the source model, and counts its kind."""
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
        """All records; with `--about`, those that came for just that query or show its words."""
        if not self.about or query == self.plan.about:
            return records
        kept = [record for record in records if set(self.about) <= set(query_words(record.text))]
        self.ledger.filtered[f"not about {self.plan.about}"] += len(records) - len(kept)
        return kept

    def _answer_path(self, response: Response) -> str:
        """The path that answers come from: that of this answer, where its query is a part of it or nonsense leads there too."""
        path = path_without_query(response.url, response.request.query)
        is_answer = not self.interface.query_field or any(
            path == path_without_query(tree.url, self._query_of.get(id(tree), "")) for tree in self.background
        )
        return urlsplit(response.url if is_answer else self.interface.url).path

    # -- drift -----------------------------------------------------------------------------------------------------------

    @property
    def seems_changed(self) -> bool:
        """Whether far fewer of the last answers have records than when the source was learned."""
        return self._drift.fits_too_few

    def learn_again(
        self,
    ) -> Generator[
        Request | BrowserVisit, Response | RenderedPage, tuple[Reading | None, list[tuple[Reading, str, Response]]]
    ]:
        """Tests whether the source has changed: a query that had records is asked once more; if it has none now, the model is learned anew.

        Gives the last answer as the new model reads it (None: nothing has changed), and what can now be read of the answers before it.
        """
        recent = [
            (response, read_page(response.body, response.url, response.headers), query, kind)
            for response, query, kind in self._recent
        ]
        self._recent.clear()
        self._drift.reset()
        answer = yield from self.get(self._asked_anew(self._last_query_with_records))
        if answer is None or self._apply(self.ledger.model, *answer).kind == "multi":
            return None, []
        queries = [self._last_query_with_records, *(query for _, _, query, _ in recent)]
        model = learn_source([answer[1], *(tree for _, tree, _, _ in recent)], queries=queries)
        if self._apply(model, *answer).kind != "multi":
            return None, []
        readings = [self._apply(model, response, tree) for response, tree, _, _ in recent]
        self.ledger.model = replace(model, roles=self.ledger.model.roles)
        self.ledger.relearned += 1
        self._tell_learned(len(recent) + 1)
        late = [
            (reading, query, response)
            for reading, (response, _, query, kind) in zip(readings, recent[:-1], strict=False)
            if kind != "multi"
        ]
        return readings[-1], late

    def _apply(self, model: SourceModel, response: Response, tree: TagTree) -> Reading:
        return apply(model, tree, status=response.status, asked_at=self._answer_path(response))

"""One source, as far as it is known: asked for probes, learned, its answers read, and learned again when it has changed (DESIGN §4.2–4.3).

No request is sent here: generators yield what they want to see and are sent what came (`loop.drive`). What to ask is said in `asking`.
"""

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import numpy as np
import wordfreq

from upwell.answers.next_page import next_step
from upwell.answers.pager import NextPage
from upwell.answers.refusal import refusal
from upwell.answers.roles import learn_roles
from upwell.errors import Forbidden, NothingLearned, Unreachable
from upwell.harvest.events import Asked, Learned, Observer, Trouble
from upwell.harvest.ledger import SourceLedger
from upwell.harvest.plan import Plan, Reason
from upwell.model import Kind, Look, Record, Request, Response, SearchInterface, Seen, Skipped
from upwell.page.terms import tokens
from upwell.page.tree import TagTree
from upwell.queries.words import dictionary, nonsense, of_page
from upwell.site import interfaces
from upwell.site.discover import Discovery, fresh
from upwell.site.interface_trial import tree as as_tree
from upwell.site.page_size import grown, larger, with_setting
from upwell.source.apply import Reading, apply
from upwell.source.drift import drifted
from upwell.source.learn import apart, learn_source
from upwell.source.model import SourceModel
from upwell.store.state import State

__all__ = ["EVERYTHING", "Setting", "SourceReader", "Spent", "counted_on", "following"]

EVERYTHING = ("", "*", "%")  # what asks for everything, where it is understood
# The most frequent letters, pairs and endings in texts of Latin script, for sources that search parts of words.
LETTERS = ("e", "a", "er", "in", "ing", "ter")
FREQUENT = 4  # the most frequent words of the language that are asked for everything
DIFFERENT = 5  # answers to learn from that are not nearly the same; not swept
TRIED = 2  # settings that may show more matches on a page
RECENT = 12  # answers that are looked at again when the source seems to have changed; not swept
OUTLINED = 150  # texts of an answer that the report shows


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What the site has cost so far."""

    requests: int
    over: Reason | None  # the limit that was reached


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What all sources of a site share while they are harvested."""

    ways: Discovery
    plan: Plan
    state: State
    observe: Observer
    spent: Callable[[], Spent]


class SourceReader(ABC):
    """What is known of one source while it is harvested."""

    def __init__(self, template: SearchInterface, setting: Setting) -> None:
        ways, plan, state = setting.ways, setting.plan, setting.state
        self.template, self.ways, self.plan, self.observe = template, ways, plan, setting.observe
        self.spent = setting.spent
        self.rng = np.random.default_rng(plan.seed)
        self.language = ways.home.language
        known = [model for model in plan.models if model.asked_at == urlsplit(template.url).path] or plan.models
        model = known[0] if len(known) == 1 else SourceModel()
        self.harvest = SourceLedger(template=template, model=model, state=state)
        self.recent: deque[tuple[Response, str, Kind]] = deque(maxlen=RECENT)
        self.last: TagTree | None = None  # the last answer: tokens are taken from its form
        self.control = ""  # the last query that had matches
        self.asked_for: dict[int, str] = {}  # what each probed answer is the answer to, while they are learned from
        self.answered: dict[str, Request] = {}  # queries that came whole before it was asked for larger pages
        self.errors_in_a_row = 0
        self.about = tuple(tokens(plan.about))

    # -- probing ---------------------------------------------------------------------------------------------------------

    def _broad(self) -> tuple[str, ...]:
        try:
            frequent = wordfreq.top_n_list(self.language or "en", FREQUENT)
        except LookupError:
            frequent = wordfreq.top_n_list("en", FREQUENT)
        return (*EVERYTHING, *LETTERS, *frequent)

    def _probe(self) -> Generator[Request | Look, Response | Seen, tuple[str, ...]]:
        """Asks for nonsense and for words of the site, and learns what answers look like; the queries that were asked."""
        values = self.template.values  # a form without text can be asked for these, and for nothing else
        if self.harvest.model.leader:
            return ()
        bare = [*self.ways.background, *nonsense(self.rng, self.plan.background)][: self.plan.background]
        background = yield from self._answers(() if values else tuple(bare))
        own = (self.plan.about,) if self.about else (*self.plan.words, *self.ways.words)
        words = values or tuple(dict.fromkeys((*own, *self._broad()[len(EVERYTHING) :], *of_page(self.ways.home))))
        answers: list[TagTree] = []
        asked, further = 0, tuple[str, ...]()
        for start in range(0, min(len(words), 5 * self.plan.probes), self.plan.probes):
            some = words[start : start + self.plan.probes]
            answers += yield from self._answers(some)
            asked += len(some)
            different = apart(answers, background)
            if not (start or values or self.about) and len(different) < min(DIFFERENT, len(answers)):
                # a source that searches parts of words has nearly all for each letter: what its answers share are matches then
                further = dictionary(self.rng, DIFFERENT - len(different), self.language or "en")
                answers += yield from self._answers(further)
                different = apart(answers, background)
            self.harvest.model = learn_source(
                different, background, queries=[self.asked_for[id(tree)] for tree in different]
            )
            if self.harvest.model.leader or self.spent().over:
                break
        if not self.harvest.model.leader:
            raise NothingLearned(
                f"{len(answers)} answers of {self.template.url}, none with a list of matches; name words that it knows with --words"
            )
        roles = learn_roles(
            answers, [self.asked_for[id(tree)] for tree in answers], query_field=self.template.query_field or ""
        )
        self.harvest.model = model = replace(self.harvest.model, roles=roles)
        self.observe(Learned(pagelet=model.pagelet, leader=model.leader, probes=len(answers) + len(background)))
        if not (values or self.plan.template or self.template.rendered):
            yield from self._widen(answers)
        return (*words[:asked], *further)

    def _widen(self, answers: Sequence[TagTree]) -> Generator[Request | Look, Response | Seen, None]:
        """Asks for more matches on a page, where a setting does that; answers that came whole are not asked for again."""
        read = [(tree, apply(self.harvest.model, tree)) for tree in answers]
        whole = [self.asked_for[id(tree)] for tree, reading in read if following(tree, reading, "") is None]
        more = [(tree, reading) for tree, reading in read if self.asked_for[id(tree)] not in whole]
        if not more:
            return
        tree, reading = max(more, key=lambda one: len(one[1].records))
        query, keys = self.asked_for[id(tree)], [record.key for record in reading.records]
        narrow = self.template
        step = following(tree, reading, query)
        for name, value in larger(narrow, (self.ways.home, tree), query, len(keys), step)[:TRIED]:
            if self.spent().over:
                return
            wider = with_setting(narrow, name, value)
            answer = yield from self._get(interfaces.fill(wider, query))
            if answer is None:
                continue
            wide = apply(self.harvest.model, answer[1], status=answer[0].status)
            if grown(keys, [record.key for record in wide.records], value, following(answer[1], wide, query)):
                self.template = self.harvest.template = wider
                self.answered = {query: interfaces.fill(narrow, query) for query in whole}
                return

    def _answers(self, queries: Sequence[str]) -> Generator[Request | Look, Response | Seen, list[TagTree]]:
        """The answers to queries, those that could be had."""
        found = []
        for query in queries:
            if self.spent().over:
                break
            answer = yield from self._get((yield from self._filled(query)))
            if answer is not None:
                found.append(answer[1])
                self.asked_for[id(answer[1])] = query
        return found

    # -- sending and reading ---------------------------------------------------------------------------------------------

    def _filled(self, query: str) -> Generator[Request | Look, Response | Seen, Request]:
        if query in self.answered:
            return self.answered[query]
        self.template = yield from fresh(self.template, self.last)
        return interfaces.fill(self.template, query)

    def _get(self, wanted: Request) -> Generator[Request | Look, Response | Seen, tuple[Response, TagTree] | None]:
        """One answer, or None where it could not be had (which is counted)."""
        try:
            response = yield wanted
            if not isinstance(response, Response):
                raise TypeError("a Request is answered by a Response")
            if refused := refusal(response):
                raise Unreachable(f"{wanted.url} refuses: {refused}")
        except (Unreachable, Forbidden) as error:
            self.skip("fetch", wanted.url, str(error))
            return None
        self.last = as_tree(response)
        return response, self.last

    def skip(self, stage: str, page: str, reason: str) -> None:
        """Counts and reports a page that cannot be used."""
        skipped = Skipped(stage=stage, page=page, reason=reason)
        self.harvest.skipped.append(skipped)
        self.observe(Trouble(skipped=skipped))

    def _read(self, response: Response, tree: TagTree, query: str) -> Reading:
        harvest = self.harvest
        reading = apply(harvest.model, tree, status=response.status, asked_at=self._asked_at(response))
        self.recent.append((response, query, reading.kind))
        harvest.answers[reading.kind] += 1
        self.errors_in_a_row = self.errors_in_a_row + 1 if reading.kind == "error" else 0
        harvest.page_size = max(harvest.page_size, len(reading.records))
        harvest.samples.setdefault(reading.kind, f"{query}: {' '.join(tree.text().split())[:600]}")
        if reading.kind == "multi":
            self.control = query
            harvest.outlined = harvest.outlined or outline(tree, reading)
        return reading

    def _suspicious(self) -> bool:
        return len(self.recent) == RECENT and drifted(self.harvest.model, [kind for *_, kind in self.recent])

    def _learn_again(self) -> Generator[Request | Look, Response | Seen, Reading | None]:
        """The source seems to have changed: a question that had matches is asked once more, and if it has none now, is learned from anew.

        What the last answers hold is taken in then; without such a change, they just had no matches.
        """
        recent = [(response, as_tree(response), query, kind) for response, query, kind in self.recent]
        self.recent.clear()
        control = replace(
            interfaces.fill(self.template, self.control), query=""
        )  # without a query nothing is taken from memory
        answer = yield from self._get(control)
        if answer is None or apply(self.harvest.model, answer[1], asked_at=self._asked_at(answer[0])).kind == "multi":
            return None
        queries = [self.control, *(query for _, _, query, _ in recent)]
        model = learn_source([answer[1], *(tree for _, tree, _, _ in recent)], queries=queries)
        again = [apply(model, tree, status=r.status, asked_at=self._asked_at(r)) for r, tree, _, _ in recent]
        if apply(model, answer[1], asked_at=self._asked_at(answer[0])).kind != "multi":
            return None
        self.harvest.model = replace(model, roles=self.harvest.model.roles)
        self.harvest.relearned += 1
        self.observe(Learned(pagelet=model.pagelet, leader=model.leader, probes=len(recent) + 1))
        for one, (response, _, query, kind) in zip(again, recent[:-1], strict=False):
            if kind != "multi":
                self.take_late(one, query, response)
        return again[-1]

    @abstractmethod
    def take_late(self, reading: Reading, query: str, response: Response) -> None:
        """Takes in what an answer held that could not be read when it came."""

    def _asked_at(self, response: Response) -> str:
        """The path that answers come from; where the query is a part of the path, any."""
        return urlsplit(self.template.url if self.template.query_field else response.url).path

    def _wanted(self, records: Sequence[Record], query: str) -> Sequence[Record]:
        """All of them; where only what is about something is wanted, what came for just that, or says its words."""
        if not self.about or query == self.plan.about:
            return records
        kept = [record for record in records if set(self.about) <= set(tokens(record.text))]
        self.harvest.filtered[f"not about {self.plan.about}"] += len(records) - len(kept)
        return kept

    def _report(self, query: str) -> None:
        harvest, sent = self.harvest, self.spent().requests
        harvest.curve.append((sent, len(harvest.seen), harvest.matches))
        self.observe(
            Asked(
                site=urlsplit(self.template.url).netloc,
                query=query,
                requests=sent,
                answers=dict(harvest.answers),
                records=len(harvest.seen),
                overlap_rate=harvest.overlap_rate,
                size=harvest.size if len(harvest.curve) % 10 == 0 else None,
            )
        )


def following(tree: TagTree, reading: Reading, query: str) -> NextPage | None:
    """What to send for the next page: by the links around the matches first, because a match may be called “next” too."""
    if reading.kind != "multi":
        return None
    own = {target for record in reading.records for target in record.links}
    around = {
        row: found for row, found in tree.attributes.items() if found.get("href") not in own or not found.get("href")
    }
    step = next_step(replace(tree, attributes=around), query)
    if step is None:  # or a pager was taken for a part of the last match
        step = next_step(tree, query)
        if step is not None and urlsplit(step.url).path != urlsplit(tree.url).path:
            return None
    return step


def counted_on(before: str, here: str) -> NextPage | None:
    """The address after two that differ in one number only: many pagers stop at a tenth link, and the source goes on.

    >>> counted_on("http://h/s?q=a1&page=9", "http://h/s?q=a1&page=10").url
    'http://h/s?q=a1&page=11'
    """
    one, other = re.split(r"(\d+)", before), re.split(r"(\d+)", here)
    differ = [i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if len(one) != len(other) or len(differ) != 1 or not other[differ[0]].isdigit() or not one[differ[0]].isdigit():
        return None
    step = int(other[differ[0]]) - int(one[differ[0]])
    if step <= 0:
        return None
    return NextPage(url="".join([*other[: differ[0]], str(int(other[differ[0]]) + step), *other[differ[0] + 1 :]]))


def outline(tree: TagTree, reading: Reading) -> list[tuple[str, str]]:
    """An answer as its texts, each with the path of the record that it is in, or "": for the report, as text."""
    ends = {}
    for record in reading.records:
        row = tree.row_at(record.path)
        if row is not None:
            ends[row] = (int(tree.end[row]), record.path)
    found, inside = [], (0, "")
    for text, row in zip(tree.chunks, tree.chunk_row.tolist(), strict=True):
        for above in (row, *tree.ancestors(row)):
            if above in ends:
                inside = ends[above]
                break
        found.append((text[:200], inside[1] if row < inside[0] else ""))
    return found[:OUTLINED]

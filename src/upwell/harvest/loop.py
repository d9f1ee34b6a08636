"""The loop: find the way in, probe, learn, then ask and read until there is a reason to stop (DESIGN §4)."""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from typing import Literal
from urllib.parse import urlsplit

import numpy as np

from upwell.answers.links import next_page
from upwell.errors import Forbidden, NoSearchForm, NothingLearned, Unreachable
from upwell.harvest.events import Asked, Found, Learned, Observer, Stopped, Trouble
from upwell.harvest.learn import Reading, SourceModel, apply, learn
from upwell.model import Estimate, Record, Request, Response, Skipped, Template
from upwell.net.fetch import Fetcher, Manners
from upwell.page.tree import TagTree, read
from upwell.queries.policy import Policy, Promising
from upwell.queries.size import Checks, chao
from upwell.queries.words import nonsense, of_page, probes
from upwell.site import forms, templates

__all__ = ["Harvest", "Plan", "Probed", "Reason", "probe", "run"]

Reason = Literal["coverage", "budget", "saturated", "exhausted", "blocked", "forbidden", "interrupted"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How far a harvest goes."""

    budget: int = 1000  # requests
    coverage: float = 0.95  # share of the estimated size at which it is enough
    form: int | None = None  # which form of the page, where the judgement is not wanted
    words: tuple[str, ...] = ()  # words to probe with first, from the user
    seed: int = 0
    background: int = (
        3  # nonsense queries; Entity §5 uses 10, its failures come from the signature, not from the number
    )
    probes: int = 15  # queries from the site's own words; Thor §IV uses 100, but a harvest goes on learning as it asks
    patience: int = 30  # queries in a row without a new record, after which the source counts as saturated
    checks: int = (
        8  # every so many queries one is a check query, for the size; swept on the demo site: docs/decisions/0040
    )
    failures: int = 10  # answers in a row that are errors, after which the source counts as blocked


@dataclass
class Harvest:
    """What was brought up: the records by their key, what was learned, and what it took."""

    url: str
    template: Template
    model: SourceModel
    records: dict[str, dict[str, object]] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    curve: list[tuple[int, int]] = field(default_factory=list)  # requests sent, records held
    samples: dict[str, str] = field(default_factory=dict)  # for each kind the query of an answer and what it says
    stopped: Reason = "exhausted"
    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    checked: Estimate | None = None  # the size by check queries
    page_size: int = 0  # the most matches that an answer held
    matched: Counter[int] = field(default_factory=Counter)  # how many queries brought so many matches

    @property
    def limit(self) -> int:
        """The most matches that the source gives for a query: the greatest number, if several queries brought just it; else 0."""
        most = max(self.matched, default=0)
        return most if self.matched[most] >= 3 else 0

    @property
    def overlap_rate(self) -> float:
        """Yuan's OR: matches returned for each record held."""
        return sum(self.seen.values()) / len(self.seen) if self.seen else 0.0

    @property
    def size(self) -> Estimate:
        """How many records the source has: by check queries where there are enough of them; at least so many where it cuts off.

        A record that only words above the limit reach is out of the check queries' sight.
        """
        return self.checked if self.checked and self.checked.estimate >= len(self.records) else chao(self.seen.values())

    def add(self, record: Record, query: str, page: str) -> bool:
        """Takes a record in; a further sight of one that is held fills its gaps. Says whether it is new."""
        self.seen[record.key] += 1
        held = self.records.get(record.key)
        if held is None:
            where = {"_key": record.key, "_source": self.template.url, "_url": record.url, "_query": query}
            self.records[record.key] = {**where, "_page": page, "_path": record.path, "_seen": 1, **record.fields}
            return True
        held["_seen"] = self.seen[record.key]
        for name, value in record.fields.items():
            held.setdefault(name, value)
        return False

    def summary(self) -> dict[str, object]:
        """As `summary.json` has it (DESIGN §5)."""
        size, held = self.size, len(self.records)
        found = Counter(name for row in self.records.values() for name in row if not name.startswith("_"))
        same = {
            "requests": self.requests,
            "answers": {kind: self.answers[kind] for kind in ("multi", "single", "none", "error")},
            "records": held,
            "overlap_rate": round(self.overlap_rate, 3),
            "size": {name: round(value) for name, value in asdict(size).items()},
            "coverage": round(held / size.estimate, 4) if size.estimate else 0.0,
            "checks": {
                "skipped": len(self.skipped),
                "limit": self.limit or None,
                "size_by": "checks" if self.checked else "chao",
                "fill": {name: round(n / held, 3) for name, n in found.most_common()},
            },
            "stopped": self.stopped,
            "seconds": round(self.seconds, 1),
            "bytes": self.bytes,
        }
        return {"site": urlsplit(self.url).netloc, **same, "sources": [{"template": asdict(self.template), **same}]}


async def run(url: str, plan: Plan, manners: Manners, observe: Observer) -> Harvest:
    """Harvests one source from a home page; Ctrl-C (a cancelled task) ends it with what there is."""
    started = time.monotonic()
    rng = np.random.default_rng(plan.seed)
    async with Fetcher(manners) as net:
        home = await net.fetch(Request(url=url))
        if home.status >= 400:
            raise Unreachable(f"{url} answered with status {home.status}; is the address right?")
        tree = read(home.body, url=home.url, headers=home.headers)
        template = _way_in(tree, plan.form)
        observe(Found(template=template))
        worker = _Worker(net, template, plan, observe)
        try:
            harvest = worker.harvest = await worker.probe(tree, rng, url)
            harvest.stopped = await worker.harvest_all(tree.language)
        except asyncio.CancelledError:
            if worker.harvest is None:
                raise
            worker.harvest.stopped = "interrupted"
        except Forbidden:
            if worker.harvest is None or not worker.harvest.records:
                raise
            worker.harvest.stopped = "forbidden"
        harvest = worker.harvest
        harvest.requests, harvest.bytes = net.sent, net.bytes
        harvest.seconds = time.monotonic() - started
        observe(Stopped(reason=harvest.stopped))
        return harvest


@dataclass(frozen=True, kw_only=True)
class Probed:
    """What the probe queries brought."""

    template: Template
    answers: list[tuple[str, Response]]
    kinds: dict[str, int]
    stable: bool
    requests: int


async def probe(url: str, plan: Plan, manners: Manners, observe: Observer) -> Probed:
    """Nonsense, then dictionary words and the site's own by turns; ends when the kinds are stable (Thor §IV)."""
    rng = np.random.default_rng(plan.seed)
    async with Fetcher(manners) as net:
        home = await net.fetch(Request(url=url))
        tree = read(home.body, url=home.url, headers=home.headers)
        template = _way_in(tree, plan.form)
        observe(Found(template=template))
        worker = _Worker(net, template, plan, observe)
        background = [pair async for pair in worker.asked(nonsense(rng, plan.background))]
        kept = [(query, response) for query, response, _ in background]
        trees: list[TagTree] = []
        kinds: list[str] = []
        stable = False
        words = (*plan.words, *probes(rng, tree, plan.probes))
        for start in range(0, len(words), BATCH):
            batch = [answer async for answer in worker.asked(words[start : start + BATCH])]
            kept += [(query, response) for query, response, _ in batch]
            trees += [page for _, _, page in batch]
            model = learn(trees, [page for _, _, page in background])
            before = Counter(kinds)
            kinds = [apply(model, page, asked_at=worker.asked_at).kind for page in trees]
            stable = _settled(before, Counter(kinds), len(batch))
            if stable:
                break
        counted = Counter(kinds)
        counted["none"] += len(background)
        return Probed(template=template, answers=kept, kinds=dict(counted), stable=stable, requests=net.sent)


# Answers that are looked at together while probing; the kinds are stable when such a batch changes neither which there are nor
# the share of any by more than a tenth.
BATCH = 20


def _settled(before: Counter[str], after: Counter[str], batch: int) -> bool:
    seen, now = sum(before.values()), sum(after.values())
    if not seen or now - seen < batch or set(+before) != set(+after) or "multi" not in after:
        return False
    return all(abs(before[kind] / seen - after[kind] / now) <= 0.1 for kind in after)


def _way_in(tree: TagTree, form: int | None) -> Template:
    """The template of the form asked for, else the best one of the page."""
    if form is not None:
        known = forms.find(tree)
        if not 0 <= form < len(known) or not known[form].query_field:
            raise NoSearchForm(
                f"--form {form}: {tree.url} has {len(known)} forms, numbered from 0; see `upwell forms {tree.url}`"
            )
        return templates.of_form(known[form], tree)
    ways = templates.find(tree)
    if not ways:
        kinds = [found.kind for found in forms.find(tree)]
        there = f"{len(kinds)} forms ({', '.join(kinds)})" if kinds else "no forms"
        raise NoSearchForm(
            f"{tree.url} has {there}, none that searches; name the search page itself, or a form with --form"
        )
    return ways[0]


class _Checking:
    """Check queries among the others: a new draw whenever the records held have doubled, and the size that follows."""

    def __init__(self, every: int, language: str) -> None:
        self.every, self.language = every, language
        self.checks: Checks | None = None
        self.waiting: list[str] = []
        self.drawn_at = 0
        self.texts: dict[str, str] = {}  # of the records that other queries brought

    def next(self, harvest: Harvest, turn: int) -> str | None:
        """The check query whose turn it is, if it is the turn of one."""
        if not self.every or turn % self.every or len(self.texts) < 50:
            return None
        if len(self.texts) >= 2 * self.drawn_at:
            self.checks, self.drawn_at = Checks(limit=harvest.limit, language=self.language), len(self.texts)
            self.waiting = self.checks.draw(self.texts, np.random.default_rng(self.drawn_at), 500)
        return self.waiting.pop() if self.waiting else None

    def note(self, harvest: Harvest, query: str, found: dict[str, str], check: bool) -> None:
        """Takes in what a query brought."""
        if not check:
            self.texts.update(found)
        elif self.checks is not None:
            self.checks.add(query, found, bool(harvest.limit) and len(found) >= harvest.limit)
            harvest.checked = self.checks.size(self.texts) or harvest.checked


class _Worker:
    """The state of one harvest while it runs."""

    def __init__(self, net: Fetcher, template: Template, plan: Plan, observe: Observer) -> None:
        self.net, self.template, self.plan, self.observe = net, template, plan, observe
        self.asked_at = urlsplit(template.url).path
        self.harvest: Harvest | None = None
        self.errors_in_a_row = 0

    async def probe(self, home: TagTree, rng: np.random.Generator, url: str) -> Harvest:
        """Asks for nonsense and for words of the site, and learns what answers look like."""
        background = [tree async for _, _, tree in self.asked(nonsense(rng, self.plan.background))]
        words = tuple(dict.fromkeys((*self.plan.words, *of_page(home))))
        answers: list[TagTree] = []
        model = SourceModel()
        for start in range(0, len(words), self.plan.probes):
            some = words[start : start + self.plan.probes]
            answers += [tree async for _, _, tree in self.asked(some)]
            model = learn(answers, background)
            if model.leader or len(answers) >= 4 * self.plan.probes:
                break
        if not model.leader:
            raise NothingLearned(
                f"{len(answers)} answers of {self.template.url}, none with a list of matches; name words that it knows with --words"
            )
        self.observe(Learned(pagelet=model.pagelet, leader=model.leader, probes=len(answers) + len(background)))
        return Harvest(url=url, template=self.template, model=model)

    async def asked(self, queries: tuple[str, ...]) -> AsyncIterator[tuple[str, Response, TagTree]]:
        """The answers to queries, those that could be had."""
        for query in queries:
            answer = await self._get(templates.fill(self.template, query), query)
            if answer is not None:
                yield query, *answer

    async def _get(self, request: Request, query: str) -> tuple[Response, TagTree] | None:
        """One answer, or None where it could not be had (which is counted)."""
        try:
            response = await self.net.fetch(request)
        except (Unreachable, Forbidden) as error:
            self.observe(Trouble(skipped=Skipped(stage="fetch", page=request.url, reason=str(error))))
            if self.harvest is not None:
                self.harvest.skipped.append(Skipped(stage="fetch", page=request.url, reason=str(error)))
                self.harvest.answers["error"] += 1
            self.errors_in_a_row += 1
            return None
        return response, read(response.body, url=response.url, headers=response.headers)

    async def harvest_all(self, language: str) -> Reason:
        """Asks until the coverage, the budget, the patience or the words are used up."""
        harvest = self.harvest
        if harvest is None:
            raise RuntimeError("probe comes before harvest_all")
        policy = Promising(language=language)
        queue = list(self.plan.words)
        first = [word for word in of_page(await self._home(harvest.url)) if word not in queue]
        queue += first[: self.plan.probes]
        dry = turn = 0
        checking = _Checking(self.plan.checks, language)
        while True:
            if self.net.sent >= self.plan.budget:
                return "budget"
            if self.errors_in_a_row >= self.plan.failures:
                return "blocked"
            if dry >= self.plan.patience:
                return "saturated"
            turn += 1
            check = checking.next(harvest, turn) if not queue else None
            query = check or (queue.pop(0) if queue else policy.next())
            if query is None:
                return "exhausted"
            found, new = await self._ask(harvest, query, policy)
            policy.asked(query, len(found))
            policy.limit, policy.page_size = harvest.limit, harvest.page_size
            checking.note(harvest, query, found, bool(check))
            dry = 0 if new else dry + 1
            known = None if harvest.limit else harvest.checked
            if known and len(harvest.records) >= self.plan.coverage * known.high:
                return "coverage"

    async def _home(self, url: str) -> TagTree:
        """The home page once more: its words are asked again now that answers can be read."""
        response = await self.net.fetch(Request(url=url))
        return read(response.body, url=response.url, headers=response.headers)

    async def _ask(self, harvest: Harvest, query: str, policy: Policy) -> tuple[dict[str, str], int]:
        """One query and its further pages; the records that came, text by key, and how many of them are new."""
        request: Request | None = templates.fill(self.template, query)
        found: dict[str, str] = {}
        matches = new = 0
        before: tuple[str, ...] = ()
        while request is not None and self.net.sent < self.plan.budget:
            answer = await self._get(request, query)
            if answer is None:
                break
            response, tree = answer
            reading = apply(harvest.model, tree, status=response.status, asked_at=self.asked_at)
            self._note(harvest, reading, query, tree)
            harvest.page_size = max(harvest.page_size, len(reading.records))
            keys = tuple(record.key for record in reading.records)
            if keys == before:
                break  # the pager lies: the same page again
            before = keys
            page = hashlib.sha1(response.body, usedforsecurity=False).hexdigest()
            for record in reading.records:
                matches += 1
                new += harvest.add(record, query, page)
                found[record.key] = record.text
                policy.saw(record.key, record.text)
            self._report(harvest, query)
            following = next_page(tree) if reading.kind == "multi" else None
            request = Request(url=following) if following else None
        harvest.matched[matches] += 1
        return found, new

    def _note(self, harvest: Harvest, reading: Reading, query: str, tree: TagTree) -> None:
        harvest.answers[reading.kind] += 1
        self.errors_in_a_row = self.errors_in_a_row + 1 if reading.kind == "error" else 0
        harvest.samples.setdefault(reading.kind, f"{query}: {' '.join(tree.text().split())[:600]}")

    def _report(self, harvest: Harvest, query: str) -> None:
        harvest.curve.append((self.net.sent, len(harvest.records)))
        self.observe(
            Asked(
                query=query,
                requests=self.net.sent,
                answers=dict(harvest.answers),
                records=len(harvest.records),
                overlap_rate=harvest.overlap_rate,
                size=harvest.size if len(harvest.curve) % 10 == 0 else None,
            )
        )

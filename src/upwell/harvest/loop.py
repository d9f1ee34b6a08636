"""The loop: find the way in, probe, learn, then ask and read until there is a reason to stop (DESIGN §4)."""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Generator
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

import numpy as np

from upwell.answers.links import next_page
from upwell.errors import Forbidden, MissingExtra, NoSearchForm, NothingLearned, Unreachable
from upwell.harvest.events import Asked, Found, Learned, Observer, Stopped, Trouble
from upwell.harvest.learn import Reading, SourceModel, apply, learn
from upwell.harvest.result import Checking, Harvest, Plan, Reason
from upwell.harvest.ways import fresh, look
from upwell.model import Request, Response, Skipped, Template
from upwell.net.browser import Chromium, Look, Seen
from upwell.net.fetch import Fetcher, Manners, Recorder
from upwell.net.refusal import refusal
from upwell.page.data import as_html
from upwell.page.tree import TagTree, read
from upwell.queries.policy import Policy, Promising
from upwell.queries.words import nonsense, of_page, probes
from upwell.site import forms, templates

__all__ = ["Harvest", "Plan", "Probed", "drive", "probe", "run"]

T = TypeVar("T")


async def drive(steps: Generator[Request | Look, Response | Seen, T], net: Fetcher, chromium: Chromium) -> T:
    """Runs what yields requests (`harvest.ways`): sends each, hands back what came, until there is a result."""
    try:
        wanted = next(steps)
        while True:
            try:
                came = await (chromium.look(wanted) if isinstance(wanted, Look) else net.fetch(wanted))
            except (Unreachable, Forbidden, MissingExtra) as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(came)
    except StopIteration as end:
        result: T = end.value
        return result


async def run(
    url: str, plan: Plan, manners: Manners, observe: Observer, *, recorder: Recorder | None = None
) -> Harvest:
    """Harvests one source from a home page; Ctrl-C (a cancelled task) ends it with what there is."""
    started = time.monotonic()
    rng = np.random.default_rng(plan.seed)
    async with Fetcher(manners, typed=(url,), recorder=recorder) as net, Chromium(net) as chromium:
        tree, template = await _way_in(url, plan, net, chromium)
        observe(Found(template=template))
        worker = _Worker(net, chromium, template, plan, observe)
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
        harvest.requests, harvest.bytes, harvest.ignored_robots = net.sent, net.bytes, manners.ignore_robots
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
    async with Fetcher(manners, typed=(url,)) as net, Chromium(net) as chromium:
        tree, template = await _way_in(url, plan, net, chromium)
        observe(Found(template=template))
        worker = _Worker(net, chromium, template, plan, observe)
        background = [pair async for pair in worker.asked(nonsense(rng, plan.background))]
        kept = [(query, response) for query, response, _ in background]
        trees: list[TagTree] = []
        kinds: list[str] = []
        stable = False
        words = template.values or (*plan.words, *probes(rng, tree, plan.probes))
        asked_at = urlsplit(template.url).path if template.query_field else ""
        for start in range(0, len(words), BATCH):
            batch = [answer async for answer in worker.asked(words[start : start + BATCH])]
            kept += [(query, response) for query, response, _ in batch]
            trees += [page for _, _, page in batch]
            model = learn(trees, [page for _, _, page in background])
            before = Counter(kinds)
            kinds = [apply(model, page, asked_at=asked_at).kind for page in trees]
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


async def _way_in(url: str, plan: Plan, net: Fetcher, chromium: Chromium) -> tuple[TagTree, Template]:
    """The home page, and the template of the form asked for, else the best way in that was found."""
    if plan.form is None:
        ways = await drive(look(url, np.random.default_rng(plan.seed), plan.browser), net, chromium)
        if not ways.found:
            kinds = [found.kind for found in forms.find(ways.home)]
            there = f"{len(kinds)} forms ({', '.join(kinds)})" if kinds else "no forms"
            seen = f"and {len(ways.opened)} pages around it have no search either"
            raise NoSearchForm(
                f"{url} has {there}, none that searches, {seen}; name the search page itself, or a form with --form"
            )
        return ways.home, ways.found[0]
    home = await net.fetch(Request(url=url))
    if home.status >= 400:
        raise Unreachable(f"{url} answered with status {home.status}; is the address right?")
    tree = _read(home)
    known = forms.find(tree)
    if not 0 <= plan.form < len(known) or (template := templates.of_form(known[plan.form], tree)) is None:
        raise NoSearchForm(
            f"--form {plan.form}: {url} has {len(known)} forms, numbered from 0; see `upwell forms {url}`"
        )
    return tree, template


def _read(response: Response) -> TagTree:
    if "json" in response.headers.get("Content-Type", ""):
        return read(as_html(response.body), url=response.url)
    return read(response.body, url=response.url, headers=response.headers)


class _Worker:
    """The state of one harvest while it runs."""

    def __init__(self, net: Fetcher, chromium: Chromium, template: Template, plan: Plan, observe: Observer) -> None:
        self.net, self.chromium, self.template, self.plan, self.observe = net, chromium, template, plan, observe
        self.later: list[str] = []  # queries that brought no answer, to be asked once more
        self.failed: set[str] = set()
        self.last: TagTree | None = None  # the last answer: tokens are taken from its form
        self.home: TagTree | None = None
        self.harvest: Harvest | None = None
        self.errors_in_a_row = 0

    async def probe(self, home: TagTree, rng: np.random.Generator, url: str) -> Harvest:
        """Asks for nonsense and for words of the site, and learns what answers look like."""
        self.home = home
        values = self.template.values  # a form without text can be asked for these, and for nothing else
        background = [tree async for _, _, tree in self.asked(() if values else nonsense(rng, self.plan.background))]
        words = values or tuple(dict.fromkeys((*self.plan.words, *of_page(home))))
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
            answer = await self._get(await self._filled(query), query)
            if answer is not None:
                yield query, *answer

    def _asked_at(self, response: Response) -> str:
        """The path that answers come from; where the query is a part of the path, any."""
        return urlsplit(self.template.url if self.template.query_field else response.url).path

    async def _filled(self, query: str) -> Request:
        self.template = await drive(fresh(self.template, self.last), self.net, self.chromium)
        return templates.fill(self.template, query)

    async def _get(self, request: Request, query: str) -> tuple[Response, TagTree] | None:
        """One answer, or None where it could not be had (which is counted)."""
        try:
            asked = self.chromium if self.template.rendered else self.net
            response = await asked.fetch(request)
            if refused := refusal(response):
                raise Unreachable(f"{request.url} refuses: {refused}")
        except (Unreachable, Forbidden) as error:
            self.observe(Trouble(skipped=Skipped(stage="fetch", page=request.url, reason=str(error))))
            if self.harvest is not None:
                self.harvest.skipped.append(Skipped(stage="fetch", page=request.url, reason=str(error)))
                self.harvest.answers["error"] += 1
            self.errors_in_a_row += 1
            return None
        self.last = _read(response)
        return response, self.last

    async def harvest_all(self, language: str) -> Reason:
        """Asks until the coverage, the budget, the patience or the words are used up."""
        harvest = self.harvest
        if harvest is None:
            raise RuntimeError("probe comes before harvest_all")
        policy = Promising(language=language)
        queue = list(self.plan.words)
        first = [word for word in of_page(await self._home(harvest.url)) if word not in queue]
        queue = list(self.template.values) or queue + first[: self.plan.probes]
        dry = turn = 0
        checking = Checking(self.plan.checks, language)
        while True:
            if self.net.sent >= self.plan.budget:
                return "budget"
            if self.errors_in_a_row >= self.plan.failures:
                return "blocked"
            if dry >= self.plan.patience:
                return "saturated"
            if len(self.later) >= self.plan.failures:
                queue, self.later = queue + self.later, []  # another round for what failed (Entity §2)
            turn += 1
            check = checking.next(harvest, turn) if not queue and not self.template.values else None
            query = check or (queue.pop(0) if queue else None if self.template.values else policy.next())
            if query is None:
                if not self.later:
                    return "exhausted"
                queue, self.later = self.later, []
                continue
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
        if self.template.via == "browser" and self.home is not None:
            return self.home  # the plain page has no words
        return _read(await self.net.fetch(Request(url=url)))

    async def _ask(self, harvest: Harvest, query: str, policy: Policy) -> tuple[dict[str, str], int]:
        """One query and its further pages; the records that came, text by key, and how many of them are new."""
        request: Request | None = await self._filled(query)
        found: dict[str, str] = {}
        matches = new = 0
        before: tuple[str, ...] = ()
        while request is not None and self.net.sent < self.plan.budget:
            answer = await self._get(request, query)
            if (answer is None or answer[0].status >= 500) and query not in self.failed:
                self.failed.add(query)
                self.later.append(query)
            if answer is None:
                break
            response, tree = answer
            reading = apply(harvest.model, tree, status=response.status, asked_at=self._asked_at(response))
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
            request = Request(url=following, query=query) if following else None
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

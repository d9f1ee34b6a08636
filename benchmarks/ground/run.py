"""One harvest of a simulated source and its measurements."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.ground.oracle import SHARES
from benchmarks.ground.source import SimulatedSource
from upwell.arrays.key_set import KeySet
from upwell.choose.candidates import Candidate, OpenQuery
from upwell.choose.chooser import Chooser
from upwell.choose.ledger import SourceLedger
from upwell.choose.list_candidates import MAX_LOOKS, Listing
from upwell.choose.plan import Plan
from upwell.discover.lists import ListReader, RecordAddresses
from upwell.harvest.session import MIN_SITEMAP_SHARE
from upwell.lexicon.frequent_words import EVERYTHING, broad_queries
from upwell.page.tokens import tokens
from upwell.source.model import SourceModel
from upwell.types import FormInterface

__all__ = ["MOMENTS", "Moment", "Result", "harvest"]

MOMENTS = (
    0.05,
    0.1,
    0.25,
    0.5,
    0.75,
    0.9,
)  # shares held at which the coverage statement is recorded, in addition to the end
CERTIFIED_AT = 0.75  # share held at which the size is certified, if it is
NONSENSE = 3  # nonsense queries at the start of a harvest
HOME_WORDS = 4  # words taken from the home page, which shows some records
PATIENCE = 6  # budget of a harvest: this many times the minimum of requests, plus START
START = 300


@dataclass(frozen=True, slots=True)
class Moment:
    """Coverage statement of the ledger at a point of the harvest."""

    requests: int
    held: int
    size: float
    low: float
    high: float
    lower_bound: bool
    by: str
    share: float | None  # of MOMENTS; None: at the end of the harvest


def _open_lists(chooser: Chooser, addresses: list[str]) -> None:
    """Open the first list of a family; the others become candidates."""
    listing = _listing(chooser, addresses[0])
    listing.family = deque(addresses[1:])
    chooser.lists.listings.append(listing)
    chooser.open(Candidate(query="", kind="list", listing=listing, address=listing.url))


def _certify(chooser: Chooser, source: SimulatedSource, requests: int) -> None:
    """Spend requests on queries drawn at random."""
    for _ in range(requests):
        chosen = chooser.next_of_sample()
        if chosen is None:
            return
        query = chooser.open(chosen) if isinstance(chosen, Candidate) else chosen
        page = source.ask(query.query, "", query.pages.pages + 1)
        if page is None:
            chooser.fail(query)
        else:
            chooser.take(query, page)


def _open_sitemap(chooser: Chooser, source: SimulatedSource) -> None:
    """Add the record pages of the sitemap, as far as it is worth it (`session.SourceSession`)."""
    named, ledger = KeySet(source.sitemap), chooser.ledger
    if len(named) < MIN_SITEMAP_SHARE * len(ledger):
        return
    listing = replace(_listing(chooser, "sitemap"), kind="record pages", keys=named)
    listing.family = deque(key for key in source.sitemap if key not in ledger.held)
    chooser.lists.add_record_pages(listing)


def _listing(chooser: Chooser, address: str) -> Listing:
    records = RecordAddresses(held=chooser.ledger.held)
    return Listing(ListReader(url=address, model=chooser.ledger.model, records=records))


@dataclass
class Result:
    """Requests until each share of the records, and the statements at several moments."""

    requests: dict[str, int | None]
    moments: list[Moment] = field(default_factory=list)
    stopped: int | None = None  # requests after which the harvest would have ended
    reason: str = ""


def harvest(
    source: SimulatedSource,
    *,
    seed: int = 0,
    budget: int = 0,
    certify: int = 0,
    observe: Callable[[SourceLedger], None] | None = None,
) -> Result:
    """Harvest until nearly everything is held, even after the chooser would stop, with at most `budget` requests.

    `observe` is called after each page. With `certify`, the harvest ends at three quarters, and so many requests are spent on the size.
    """
    setting, number = source.setting, source.size
    plan = Plan(seed=seed, about=source.topic if setting.about else "")
    budget = budget or PATIENCE * -(-number // source.page_size) + START
    ledger = SourceLedger(
        interface=FormInterface(method="GET", url="http://ground/", query_field="q"), model=SourceModel()
    )
    setting = source.setting
    has_text = setting.has_search and setting.form == "text"
    filters = setting.filters if setting.has_search else ()
    chooser = Chooser(ledger, plan, language="en", takes_text=has_text, is_about=bool(plan.about), filters=filters)
    ledger.coverage.is_only_lists = not setting.has_search
    rng = np.random.default_rng([seed, 2])
    home = [w for i in rng.choice(len(source.collection), HOME_WORDS) for w in tokens(source.collection.titles[i])[-1:]]
    broad = broad_queries("en")
    probes = tuple(dict.fromkeys((*home[:2], *broad[len(EVERYTHING) :], *home)))[: plan.probes]
    families = deque(source.families)
    has_sitemap = bool(source.sitemap)
    if setting.has_search:
        chooser.start(probes if has_text else ())
    elif families:
        _open_lists(chooser, families.popleft())
    source.requests += NONSENSE if has_text or not setting.has_search else 0
    result = Result(dict.fromkeys(map(str, SHARES)))
    waiting = list(MOMENTS)

    def record(share: float | None) -> None:
        size = ledger.size
        result.moments.append(
            Moment(
                source.requests,
                len(ledger),
                size.estimate,
                size.low,
                size.high,
                ledger.lower_bound,
                ledger.size_by,
                share,
            )
        )

    while source.requests < budget:
        if (reason := chooser.reason_to_stop()) and result.stopped is None:
            result.stopped, result.reason = source.requests, reason
            record(None)
        if chooser.may_look_for_lists():
            if has_sitemap:
                has_sitemap = False
                _open_sitemap(chooser, source)
            chooser.lists.looks = chooser.lists.looks + 1 if families else MAX_LOOKS
            if families:
                source.requests += 1
                _open_lists(chooser, families.popleft())
        chosen = chooser.next()
        if chosen is None:
            if chooser.retry():
                continue
            break
        query: OpenQuery = chooser.open(chosen) if isinstance(chosen, Candidate) else chosen
        link = query.facet.link.url if query.facet else query.region.text if query.region else ""
        number_of_page = query.pages.pages + 1
        address = query.candidate.address
        page = source.open_list(address, number_of_page) if address else source.ask(query.query, link, number_of_page)
        if page is None:
            chooser.fail(query)
            continue
        chooser.take(query, page)
        ledger.page_size = max(ledger.page_size, len(page.records))
        ledger.curve.append((source.requests, len(ledger), ledger.matches))
        if observe is not None:
            observe(ledger)
        share = len(ledger) / number
        for reached in SHARES:
            if share >= reached and result.requests[str(reached)] is None:
                result.requests[str(reached)] = source.requests
        if waiting and share >= waiting[0]:
            record(waiting[0])
            if certify and share >= CERTIFIED_AT:
                _certify(chooser, source, certify)
                record(CERTIFIED_AT)
                return result
            waiting = [other for other in waiting if other > share]
        end = result.requests[str(SHARES[-1])]
        if end is not None and (result.stopped is not None or source.requests > end + START):
            break
    if result.stopped is None:
        record(None)
    return result

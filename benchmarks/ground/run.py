"""One harvest of a simulated source and its measurements."""

from dataclasses import dataclass, field

import numpy as np

from benchmarks.ground.oracle import SHARES
from benchmarks.ground.source import SimulatedSource
from upwell.choose.candidates import Candidate, OpenQuery
from upwell.choose.chooser import Chooser
from upwell.choose.ledger import SourceLedger
from upwell.choose.plan import Plan
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


@dataclass
class Result:
    """Requests until each share of the records, and the statements at several moments."""

    requests: dict[str, int | None]
    moments: list[Moment] = field(default_factory=list)
    stopped: int | None = None  # requests after which the harvest would have ended
    reason: str = ""


def harvest(source: SimulatedSource, *, seed: int = 0, budget: int = 0) -> Result:
    """Harvest until nearly everything is held, even after the chooser would stop, with at most `budget` requests."""
    number, plan = len(source.collection), Plan(seed=seed)
    budget = budget or PATIENCE * -(-number // source.page_size) + START
    ledger = SourceLedger(
        interface=FormInterface(method="GET", url="http://ground/", query_field="q"), model=SourceModel()
    )
    setting = source.setting
    has_text = setting.form == "text"
    chooser = Chooser(ledger, plan, language="en", takes_text=has_text, is_about=False, filters=setting.filters)
    rng = np.random.default_rng([seed, 2])
    home = [w for i in rng.choice(number, HOME_WORDS) for w in tokens(source.collection.titles[i])[-1:]]
    broad = broad_queries("en")
    probes = tuple(dict.fromkeys((*home[:2], *broad[len(EVERYTHING) :], *home)))[: plan.probes]
    chooser.start(probes if has_text else ())
    source.requests += NONSENSE if has_text else 0
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
        chosen = chooser.next()
        if chosen is None:
            if chooser.retry():
                continue
            break
        query: OpenQuery = chooser.open(chosen) if isinstance(chosen, Candidate) else chosen
        link = query.facet.link.url if query.facet else query.region.text if query.region else ""
        page = source.ask(query.query, link, query.pages.pages + 1)
        if page is None:
            chooser.fail(query)
            continue
        chooser.take(query, page)
        ledger.page_size = max(ledger.page_size, len(page.records))
        ledger.curve.append((source.requests, len(ledger), ledger.matches))
        share = len(ledger) / number
        for reached in SHARES:
            if share >= reached and result.requests[str(reached)] is None:
                result.requests[str(reached)] = source.requests
        if waiting and share >= waiting[0]:
            record(waiting[0])
            waiting = [other for other in waiting if other > share]
        end = result.requests[str(SHARES[-1])]
        if end is not None and (result.stopped is not None or source.requests > end + START):
            break
    if result.stopped is None:
        record(None)
    return result

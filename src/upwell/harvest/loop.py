"""Harvest one site: find its search interfaces, then query every source until there is a reason to stop.

Generators that send nothing decide what to request (`discover.discovery`, `session`); `drive` connects them to the network.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import numpy as np

from upwell.choose.plan import ENDS, Plan, Reason
from upwell.discover import forms, interfaces
from upwell.discover.browser_search import SearchOnlyPolicy
from upwell.discover.consent_page import keep_consent
from upwell.discover.declared import QUERY_MARK, interface_of_url
from upwell.discover.discovery import Discovery, discover, open_site
from upwell.discover.probe_words import nonsense, probe_words
from upwell.errors import (
    BudgetSpent,
    Forbidden,
    MissingExtra,
    NoSearchForm,
    NothingLearned,
    TookTooLong,
    Unreachable,
    UpwellError,
    Walled,
    WrongUsage,
)
from upwell.harvest.checkpoint import WRONG_VALUES, Checkpoint, CheckpointFailed, replayed_events
from upwell.harvest.events import Found, Looking, Observer, Passed, Stopped, Trouble, wants_records
from upwell.harvest.reader import BudgetUse, SiteContext, purpose
from upwell.harvest.refresh import compare_runs, merge_sightings, queries_to_repeat, start_refresh
from upwell.harvest.session import SafePoint, SessionSteps, SourceSession
from upwell.harvest.summary import SiteHarvest
from upwell.harvest.time_limit import TimeLimit
from upwell.logs import shown_url
from upwell.net.browser import Chromium
from upwell.net.fetch import Fetcher, Manners, Recorder
from upwell.net.login import session_file
from upwell.net.reading_thread import ReadingThread
from upwell.page.formats import read_page
from upwell.page.tree import TagTree
from upwell.source.apply import apply
from upwell.source.learn import learn_source
from upwell.store.state import State
from upwell.supervision import Doing
from upwell.table.user_schema import UserSchema
from upwell.types import (
    BrowserVisit,
    IndexInterface,
    RenderedPage,
    Request,
    Response,
    SearchInterface,
    Skipped,
    TypedInterface,
)

__all__ = ["Plan", "Probed", "SiteHarvest", "drive", "interleave", "probe", "run"]


logger = logging.getLogger("upwell.harvest")
discover_logger = logging.getLogger("upwell.discover")  # of the pure package `discover`, whose requests are sent here

PendingSession = tuple[SourceSession, SessionSteps, Response | RenderedPage | Exception | SafePoint | None]


def interleave(
    sessions: Sequence[SourceSession], at_safe_point: Callable[[], None] = lambda: None
) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
    """Run several sources of one site, one request each in turn, so that they share the budget; unreadable sources are skipped.

    A source that reads a list goes first, because the list may contain the records of all of them. `at_safe_point` is called whenever all of
    them are between two queries.
    """
    waiting: deque[PendingSession] = deque(
        (session, session.steps(), None) for session in sessions if not session.is_over
    )
    unreadable: NothingLearned | TookTooLong | None = None
    while waiting:
        session, steps, answer = _next_of(waiting)
        try:
            if isinstance(answer, SafePoint):
                answer = None  # None starts or continues the generator
            wanted = steps.throw(answer) if isinstance(answer, Exception) else steps.send(answer)  # type: ignore[arg-type] # None starts it
        except StopIteration as end:
            session.ledger.stopped, session.is_over = end.value, True
            continue
        except (NothingLearned, TookTooLong) as error:
            session.reader.skip("learn", session.reader.interface.url, str(error))
            unreadable, session.is_over = error, True
            continue
        if isinstance(wanted, SafePoint):
            waiting.append((session, steps, wanted))
            if all(isinstance(answer, SafePoint) for _, _, answer in waiting):
                at_safe_point()
            continue
        try:
            waiting.append((session, steps, (yield wanted)))
        except (Unreachable, Forbidden) as error:
            waiting.append((session, steps, error))
    if unreadable is not None and not any(session.ledger.is_readable for session in sessions):
        raise unreadable


def _next_of(waiting: deque[PendingSession]) -> PendingSession:
    """Remove and return the session whose turn it is: one with an answer to read, one that reads a list, else the one that waits longest."""
    has_answer = (
        i
        for i, (session, _, answer) in enumerate(waiting)
        if session.is_started and not isinstance(answer, SafePoint | None)
    )
    walks_list = (i for i, (session, _, _) in enumerate(waiting) if session.walks_list)
    at = next(chain(has_answer, walks_list), 0)
    pending = waiting[at]
    del waiting[at]
    return pending


T = TypeVar("T")
HOW_TO_CONTINUE = "the results so far are kept; run the same command with a larger limit to continue"
MIN_SCORE_SHARE = 2 / 3  # share of the best interface's score that another interface needs to be queried too


async def drive(
    steps: Generator[Request | BrowserVisit, Response | RenderedPage, T],
    net: Fetcher,
    chromium: Chromium,
    rendered: str = "",
    typed: str = "",
    observe: Observer | None = None,
    time_limit: TimeLimit | None = None,
) -> T:
    """Run a generator that yields requests: send each, pass the response back, and return its result.

    The generator runs in its own thread, because reading a page may take long. A query that was answered before is not sent again. Answers
    below the URL `rendered` are fetched with the browser; queries to the page `typed` are typed into it. A request without a decision gets
    the purpose that a search for interfaces has for it. `observe` receives an event for each request before the first one that was chosen.
    """
    is_first = True
    reads = nullcontext if time_limit is None else time_limit.reading

    def advance(
        doing: Doing, how: Callable[[], Request | BrowserVisit]
    ) -> tuple[Request | BrowserVisit | None, T | None]:
        try:
            with doing, reads():
                return how(), None
        except StopIteration as end:  # a future cannot carry StopIteration
            return None, end.value

    with ReadingThread() as thread:
        doing = Doing("choose")
        wanted, result = await thread.run(lambda: advance(doing, lambda: next(steps)))
        while wanted is not None:
            if wanted.decision is None:
                wanted = replace(wanted, decision=purpose(_purpose_of(wanted, is_first), wanted))
                discover_logger.info("%s: %s", wanted.decision.chosen.kind, _shown(wanted))
            is_first = False
            if observe is not None and (purpose_of := wanted.decision.chosen.kind) in LOOKING:
                observe(Looking(url=shown_url(wanted.url), purpose=purpose_of, query=wanted.query, requests=net.sent))
            try:
                if isinstance(wanted, BrowserVisit):
                    answer: Response | RenderedPage = await chromium.render(wanted)
                elif typed and wanted.query and wanted.url == typed:
                    answer = await chromium.fetch(wanted, is_typed=True)
                elif rendered and wanted.url.startswith(rendered):
                    answer = await chromium.fetch(wanted)
                else:
                    may_reuse = (bool(wanted.query) or wanted.reuses) and not wanted.is_of_session
                    answer = await net.fetch(wanted, reuse=may_reuse)
            except (Unreachable, Forbidden, MissingExtra) as error:
                logger.info("%s: %s", shown_url(wanted.url), net.access.hide(str(error)))
                wanted, result = await thread.run(lambda error=error: advance(doing, lambda: steps.throw(error)))  # type: ignore[misc] # bound as default
            else:
                reading = Doing("read", answer.number, wanted.url)
                wanted, result = await thread.run(
                    lambda answer=answer, reading=reading: advance(reading, lambda: steps.send(answer))  # type: ignore[misc] # bound as default
                )
    return result  # type: ignore[no-any-return] # the generator's result


# Purposes of requests that look for the search or learn its answers; the others are chosen by what they should bring.
LOOKING = frozenset((
    "start page", "discovery", "trial query", "browser visit", "consent page", "form page", "nonsense probe", "probe", "probe, next page",
    "query dependence", "larger page", "page argument",
))  # fmt: skip


def _shown(wanted: Request | BrowserVisit) -> str:
    """Return a request for the log: its query and URL."""
    return f"“{wanted.query}” {shown_url(wanted.url)}" if wanted.query else shown_url(wanted.url)


def _purpose_of(wanted: Request | BrowserVisit, is_first: bool) -> str:
    """Return the purpose of a request that a search for interfaces sends, as `harvest.explain` describes it."""
    if isinstance(wanted, BrowserVisit):
        return "browser visit"
    if wanted.is_consent:
        return "consent page"
    return "start page" if is_first else "trial query" if wanted.query else "discovery"


async def run(
    url: str,
    plan: Plan,
    manners: Manners,
    observe: Observer,
    *,
    state: State | None = None,
    recorder: Recorder | None = None,
    folder: Path | None = None,
    key: str = "",
    started: float | None = None,
) -> SiteHarvest:
    """Harvest one site from its home page; cancelling the task (Ctrl-C) ends it with the results so far.

    Checkpoints are kept in `folder` for a harvest with the same `key`. The time limit counts from `started`, on the monotonic clock.
    CheckpointFailed is raised if the harvest fails after one was loaded.
    """
    state = State() if state is None else state
    time_limit = TimeLimit(plan.seconds, time.monotonic() if started is None else started, state)
    site = SiteHarvest(url=url, state=state, ignored_robots=manners.ignore_robots, rate=manners.rate)
    async with (
        Fetcher(manners, user_urls=(url,), recorder=recorder, memory=site.state) as net,
        Chromium(net, SearchOnlyPolicy()) as chromium,
        _counted(net),
    ):

        def spent() -> BudgetUse:
            # records that a query no longer returns are checked on their record pages, with at most half of the budget
            reserved = min(sum(len(session.missing) for session in sessions), plan.budget // 2)
            why = limit_reached(plan, net.sent + reserved, net.bytes, time_limit.used)
            return BudgetUse(requests=net.sent, limit_reached="budget" if why else None, why=why)

        sessions: list[SourceSession] = []
        checkpoint = Checkpoint(folder, "" if plan.refresh else key, site.state)
        net.exhausted = lambda wait: limit_reached(plan, net.sent, net.bytes, time_limit.used + wait)
        sights = start_refresh(site.state) if plan.refresh else []
        before = merge_sightings(sights)
        site.recall_size()
        if (saved := checkpoint.load(plan=plan, observe=observe, spent=spent)) is not None:
            discovery, earlier_sessions, net.sent, net.bytes = saved
            sessions += earlier_sessions
            logger.info("continuing from a checkpoint after %d requests", net.sent)
            for event in replayed_events(site.state, sessions, has_all_records=wants_records(observe)):
                observe(event)
        else:
            try:
                async with time_limit.stops():
                    discovery = await _discover(url, plan, net, chromium, observe)
            except BudgetSpent as error:
                raise BudgetSpent(f"{error} before a search of {url} was found; {HOW_TO_CONTINUE}") from error
            context = SiteContext(
                discovery=discovery,
                plan=plan,
                state=site.state,
                observe=observe,
                spent=spent,
                scratch=checkpoint.scratch,
                earlier_queries=queries_to_repeat(sights),
                before=before,
            )
            sessions += [SourceSession(interface, context, at) for at, interface in enumerate(discovery.interfaces)]
        site.out_of_reach, site.about, site.title = discovery.out_of_reach, plan.about, discovery.home.title
        site.schema = UserSchema.parse(plan.columns, plan.drop, file=plan.schema, is_plain=plan.plain)
        site.consent_pages = discovery.consent_pages
        for consent_page in site.consent_pages:
            observe(Passed(url=consent_page.url, label=consent_page.label))
        for interface in discovery.interfaces:
            observe(Found(search_interface=interface))
        site.sources = [session.ledger for session in sessions]
        for source in site.sources:
            source.siblings = [other for other in site.sources if other is not source]
        in_browser = [interface for interface in discovery.interfaces if interface.rendered]
        typed = next((interface.url for interface in in_browser if isinstance(interface, TypedInterface)), "")
        rendered = next((t.url.partition("{")[0].partition("?")[0] for t in in_browser if t.url != typed), "")

        def save() -> None:
            is_end = spent().limit_reached is not None
            checkpoint.save_if_due(discovery, sessions, net.sent, net.bytes, is_end=is_end)

        try:
            async with time_limit.stops():
                steps = keep_consent(interleave(sessions, save), discovery.consent_pages)
                await drive(steps, net, chromium, rendered, typed, observe, time_limit)
        except asyncio.CancelledError:
            if not any(source.is_readable for source in site.sources):
                raise
            _stop(site, "interrupted")
        except BudgetSpent as error:
            if not any(source.is_readable for source in site.sources):
                raise BudgetSpent(f"{error}; {HOW_TO_CONTINUE}") from error
            _stop(site, "budget")
        except NothingLearned as error:
            if not discovery.not_shown:
                raise
            raise NothingLearned(f"{error}; JavaScript was not tried: {discovery.not_shown}") from error
        except Forbidden:
            if not len(site.state):
                raise
            _stop(site, "forbidden")
        except WRONG_VALUES as error:
            if saved is None:
                raise
            checkpoint.remove()
            raise CheckpointFailed(f"{type(error).__name__}: {error}") from error
        site.details = [session.details for session in sessions]
        site.sources = [source for source in site.sources if source.is_readable] or site.sources
        if plan.refresh and site.stopped != "interrupted":
            ended = {asked: is_cut_off for session in sessions for asked, is_cut_off in session.ended.items()}
            try:
                async with time_limit.stops():
                    site.refreshed = await compare_runs(site, before, ended, net)
            except BudgetSpent:
                _stop(site, "budget")
        for origin in sorted(net.withheld):
            reason = f"the credentials are not sent to {origin}, because you named {url}; to send them there, harvest that address"
            observe(Trouble(skipped=Skipped(stage="access", page=origin, reason=reason)))
        site.requests, site.bytes, site.seconds = net.sent, net.bytes, time_limit.elapsed
        site.keep_size()
        if site.stopped in ENDS:
            checkpoint.remove()
        logger.info(
            "%s: stopped (%s) after %d requests, %d records",
            urlsplit(url).hostname,
            site.stopped,
            net.sent,
            len(site.state),
        )
        observe(Stopped(reason=site.stopped, site=urlsplit(url).netloc))
        return site


def _log_interfaces(discovery: Discovery, min_score: float) -> None:
    """Log which search interfaces were accepted, which were rejected, and why."""
    if not discover_logger.isEnabledFor(logging.INFO):
        return
    for interface in discovery.interfaces:
        verdict = "accepted" if interface.score >= min_score else f"rejected: its score is below {min_score:.2f}"
        url, score = shown_url(interface.url), interface.score
        discover_logger.info("%s %s, found by %s, score %.2f: %s", interface.method, url, interface.via, score, verdict)
    accepted = {interface.url for interface in discovery.interfaces}
    for interface in discovery.decoys:
        if interface.url not in accepted:
            discover_logger.info(
                "%s %s: rejected: words returned nothing that nonsense does not",
                interface.method,
                shown_url(interface.url),
            )
    for reason in discovery.out_of_reach:
        discover_logger.info("not tried: %s", reason)


def limit_reached(plan: Plan, sent: int, received: int, seconds: float) -> str:
    """Return the limit of a plan that is reached, in words; "" if none is."""
    if sent >= plan.budget:
        return f"the budget of {plan.budget:,} requests is spent"
    if plan.bytes and received >= plan.bytes:
        return f"the {plan.bytes:,} bytes of --bytes were received"
    if plan.seconds and seconds >= plan.seconds:
        return f"the {plan.seconds:g} seconds of --time are over"
    return ""


@asynccontextmanager
async def _counted(net: Fetcher) -> AsyncIterator[None]:
    """Add the number of requests sent to an error."""
    try:
        yield
    except UpwellError as error:
        error.requests = net.sent
        raise


def _stop(site: SiteHarvest, why: Reason) -> None:
    for source in site.sources:
        source.stopped = why


@dataclass(frozen=True, kw_only=True)
class Probed:
    """Answers to the probe queries."""

    interface: SearchInterface
    answers: list[tuple[str, Response]]
    kinds: dict[str, int]
    stable: bool
    requests: int


async def probe(url: str, plan: Plan, manners: Manners, observe: Observer) -> Probed:
    """Query nonsense, then dictionary words and words of the site in turn, until the kinds of answers are stable (Thor §IV)."""
    rng = np.random.default_rng(plan.seed)
    started = time.monotonic()
    async with Fetcher(manners, user_urls=(url,), memory=State()) as net, Chromium(net, SearchOnlyPolicy()) as chromium:
        net.exhausted = lambda wait: limit_reached(plan, net.sent, net.bytes, time.monotonic() - started + wait)
        discovery = await _discover(url, plan, net, chromium)
        interface = discovery.interfaces[0]
        observe(Found(search_interface=interface))
        asked: list[tuple[str, Response]] = []
        if isinstance(interface, IndexInterface):  # it has no query
            asked.append(("", await net.fetch(interfaces.fill(interface, ""))))
            return Probed(interface=interface, answers=asked, kinds={"multi": 1}, stable=True, requests=net.sent)

        async def some(queries: tuple[str, ...]) -> list[TagTree]:
            trees = []
            for query in queries:
                try:
                    request = interfaces.fill(interface, query)
                    if interface.rendered:
                        response = await chromium.fetch(request, is_typed=isinstance(interface, TypedInterface))
                    else:
                        response = await net.fetch(request, reuse=True)
                except (Unreachable, Forbidden):
                    continue
                except BudgetSpent:
                    break
                asked.append((query, response))
                trees.append(read_page(response.body, response.url, response.headers))
            return trees

        background = await some(nonsense(rng, plan.background))
        trees: list[TagTree] = []
        kinds: list[str] = []
        stable = False
        words = interface.choices or tuple(dict.fromkeys((*plan.words, *probe_words(rng, discovery.home, plan.probes))))
        asked_at = urlsplit(interface.url).path if interface.query_field else ""
        for start in range(0, len(words), BATCH):
            batch = await some(words[start : start + BATCH])
            trees += batch
            model = learn_source(trees, background)
            before = Counter(kinds)
            kinds = [apply(model, page, asked_at=asked_at).kind for page in trees]
            stable = _settled(before, Counter(kinds), len(batch))
            if stable:
                break
        counted = Counter(kinds)
        counted["none"] += len(background)
        return Probed(interface=interface, answers=asked, kinds=dict(counted), stable=stable, requests=net.sent)


# Answers examined together while probing; the kinds are stable if a batch adds no kind and changes no kind's share by more than a tenth.
BATCH = 20


def _settled(before: Counter[str], after: Counter[str], batch: int) -> bool:
    seen, now = sum(before.values()), sum(after.values())
    if not seen or now - seen < batch or set(+before) != set(+after) or "multi" not in after:
        return False
    return all(abs(before[kind] / seen - after[kind] / now) <= 0.1 for kind in after)


async def look_around(url: str, plan: Plan, manners: Manners) -> Discovery:
    """Find the search interfaces of a site, sending only what trials need."""
    async with Fetcher(manners, user_urls=(url,)) as net, Chromium(net, SearchOnlyPolicy()) as chromium:
        return await drive(
            discover(url, np.random.default_rng(plan.seed), plan.browser, sitemaps=lambda: net.robots.sitemaps(url)),
            net,
            chromium,
        )


def _way_out(discovery: Discovery) -> str:
    """Return what a user can do if no search was found."""
    if discovery.not_shown:
        return f"JavaScript was not tried: {discovery.not_shown}; or give the URL of the search page itself, or choose a form with --form"
    return "give the URL of the search page itself, or choose a form with --form"


def _hint_of_session(url: str, net: Fetcher) -> str:
    """Return what follows from cookies that were given and do not open the site."""
    if not net.access.cookies:
        return ""
    return f"; the cookies that were given do not open it: the session may have expired ({session_file(urlsplit(url).hostname or '')} keeps that of --login)"


MIN_NEAREST = 0.1  # probability of being a search form from which a form is named in a message


def _nearest_form(discovery: Discovery) -> str:
    """Return which form of the pages that were opened comes closest to a search form, and how to use it; "" if none does."""
    nearest, best = "", MIN_NEAREST
    for page in discovery.pages:
        for form in forms.find(page):
            probability = form.score if form.kind == "search" else 1 - form.score
            has_choices = any(field.type in (*forms.TEXT_TYPES, "select") for field in form.fields)
            if has_choices and form.kind in ("search", "other") and probability > best:
                what = (
                    "was tried, but its answers show nothing new" if form.kind == "search" else "comes closest to one"
                )
                best, nearest = (
                    probability,
                    f"form {form.index} of {page.url} ({form.method} {form.action}) {what}: "
                    f"`upwell harvest {page.url} --form {form.index}` uses it",
                )
    return nearest


def _counted_forms(kinds: Sequence[str]) -> str:
    """Return a phrase for the forms of a page that has no search."""
    if not kinds:
        return "no form"
    return (
        f"one form ({kinds[0]}), which is no search"
        if len(kinds) == 1
        else f"{len(kinds)} forms ({', '.join(kinds)}), none of them a search"
    )


async def _discover(
    url: str, plan: Plan, net: Fetcher, chromium: Chromium, observe: Observer | None = None
) -> Discovery:
    """Return the home page with the interface that the user chose, or with all interfaces found, best first."""
    if plan.form is None and not plan.search_interface:
        discovery = await drive(
            discover(url, np.random.default_rng(plan.seed), plan.browser, sitemaps=lambda: net.robots.sitemaps(url)),
            net,
            chromium,
            observe=observe,
        )
        if discovery.wall is not None:
            raise Walled(f"{discovery.wall.reason}{_hint_of_session(url, net)}", discovery.wall.wall)
        if not discovery.interfaces:
            kinds = [form.kind for form in forms.find(discovery.home)]
            there, pages = _counted_forms(kinds), len(discovery.opened_pages)
            around = (
                "and links to no page that could have one"
                if not pages
                else "neither has the page around it that was read"
            )
            around = f"and none of the {pages:,} pages around it that were read has one" if pages > 1 else around
            if discovery.out_of_reach:
                around += f" ({discovery.out_of_reach[0]})"
            elif nearest := _nearest_form(discovery):
                around += f"; {nearest}"
            elif discovery.unused:
                around += f"; {discovery.unused[0]}"
            raise NoSearchForm(f"{url} has {there}, {around}; {_way_out(discovery)}")
        min_score = MIN_SCORE_SHARE * discovery.interfaces[0].score
        _log_interfaces(discovery, min_score)
        return replace(
            discovery, interfaces=[interface for interface in discovery.interfaces if interface.score >= min_score]
        )
    start = await drive(open_site(url, may_be_data=bool(plan.search_interface)), net, chromium)
    tree = start.page
    if plan.search_interface:
        interface = interface_of_url(plan.search_interface.replace("{query}", QUERY_MARK), "form")
        if interface is None:
            raise WrongUsage(f"--interface {plan.search_interface}: give a URL with {{query}} in place of the query")
        net.allow(interfaces.fill(interface, ""))
        return Discovery(tree, [interface], consent_pages=start.consent_pages)
    known = forms.find(tree)
    index = plan.form if plan.form is not None else -1
    if not 0 <= index < len(known) or (interface := interfaces.of_chosen_form(known[index], tree)) is None:
        raise NoSearchForm(
            f"--form {plan.form}: {url} has {len(known)} forms, numbered from 0; see `upwell forms {url}`"
        )
    net.allow(interfaces.fill(interface, ""))
    return Discovery(tree, [interface], consent_pages=start.consent_pages)

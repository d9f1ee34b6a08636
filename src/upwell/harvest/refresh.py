"""Asking again what a finished harvest holds: which questions, and what is new, changed or gone."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from upwell.errors import BudgetSpent, Forbidden, Unreachable
from upwell.harvest.summary import SiteHarvest
from upwell.model import Request
from upwell.net.fetch import Fetcher
from upwell.page.hosts import site_host
from upwell.store.state import State

__all__ = ["all_sights", "begin_again", "compare", "earlier_questions"]

GONE_STATUSES = (404, 410)


def begin_again(state: State) -> list[dict[str, set[str]]]:
    """Begins another run, unless one was cut off; what each query brought when its records came last, the longest ago first."""
    if state.note("refreshing") != "yes":
        state.start_next_run()
        state.set_note("refreshing", "yes")
    return list(state.last_sights().values())


def earlier_questions(sights: Sequence[Mapping[str, set[str]]]) -> tuple[str, ...]:
    """The queries to ask again: first those that bring what was not seen for longest, so that several small refreshes reach all."""
    return tuple(dict.fromkeys(query for of_one_run in sights for query in covering(of_one_run)))


def all_sights(sights: Sequence[Mapping[str, set[str]]]) -> dict[str, set[str]]:
    """What each query brought, of all runs together."""
    brought: dict[str, set[str]] = {}
    for of_one_run in sights:
        for query, keys in of_one_run.items():
            brought.setdefault(query, set()).update(keys)
    return brought


def covering(before: Mapping[str, set[str]]) -> Iterator[str]:
    """Few queries that brought everything: each time the one that brought most of what is left (Yuan §4.4, greedy)."""
    left = set().union(*before.values()) if before else set()
    heap = [(-len(keys), query) for query, keys in sorted(before.items())]
    heapq.heapify(heap)
    while heap and left:
        _, query = heapq.heappop(heap)
        new = len(before[query] & left)
        if new and (not heap or new >= -heap[0][0]):
            yield query
            left -= before[query]
        elif new:
            heapq.heappush(heap, (-new, query))


async def compare(
    site: SiteHarvest, before: Mapping[str, set[str]], ended: Mapping[str, bool], net: Fetcher
) -> dict[str, int]:
    """What a refreshed harvest shows of the records: new, changed, unchanged, gone; `unseen` were not asked for, or not reached.

    Gone is what a query that was asked to its end no longer brings: if its own page on the site says so too; where it has none, if
    the query was not cut off (`ended` says which were). Own pages are opened as long as the budget lasts.
    """
    found = site.state.keys_by_change()
    unseen = set(found["unseen"])
    now = site.state.keys_by_query(site.state.run_number)
    missing = {query: (before.get(query, set()) - now.get(query, set())) & unseen for query in ended}
    missing_anywhere = set().union(*missing.values()) if missing else set()
    missing_for_sure = set().union(*(keys for query, keys in missing.items() if not ended[query])) if missing else set()
    pages = {row["_key"]: row["_url"] for row in site.state.rows() if row["_key"] in missing_anywhere}
    gone = []
    for key in sorted(missing_anywhere):
        page = str(pages.get(key) or "")
        try:
            status = (await net.fetch(Request(url=page))).status if _is_on_site(page, site.url) else None
        except (Unreachable, Forbidden):
            continue
        except BudgetSpent:
            break
        if status in GONE_STATUSES or (status is None and key in missing_for_sure):
            gone.append(key)
    site.state.move_to_history(gone)
    site.state.set_note("refreshing", "no")
    counts = {kind: len(found[kind]) for kind in ("new", "changed", "unchanged")}
    return {**counts, "gone": len(gone), "unseen": len(found["unseen"]) - len(gone)}


def _is_on_site(page: str, url: str) -> bool:
    """Whether a record's own page is on the site that is harvested: nothing else is opened."""
    return urlsplit(page).scheme in ("http", "https") and site_host(page) == site_host(url)

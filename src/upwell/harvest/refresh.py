"""Refresh a finished harvest: select the queries to repeat, and find out which records are new, changed or gone."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from upwell.errors import BudgetSpent, Forbidden, Unreachable
from upwell.harvest.reader import purpose
from upwell.harvest.summary import SiteHarvest
from upwell.net.fetch import Fetcher
from upwell.store.state import State
from upwell.types import Request
from upwell.urls.hosts import site_host

__all__ = ["compare_runs", "merge_sightings", "queries_to_repeat", "start_refresh"]

GONE_STATUSES = (404, 410)


def start_refresh(state: State) -> list[dict[str, set[str]]]:
    """Start another run unless one was interrupted; return the keys each query returned, by run in which they were last seen, oldest first."""
    if state.note("refreshing") != "yes":
        state.start_next_run()
        state.set_note("refreshing", "yes")
    return list(state.last_sights().values())


def queries_to_repeat(sights: Sequence[Mapping[str, set[str]]]) -> tuple[str, ...]:
    """Return the queries to repeat, first those whose records were not seen for longest, so that several small refreshes reach all records."""
    return tuple(dict.fromkeys(query for sightings in sights for query in covering_queries(sightings)))


def merge_sightings(sights: Sequence[Mapping[str, set[str]]]) -> dict[str, set[str]]:
    """Return the keys that each query returned in all runs together."""
    merged: dict[str, set[str]] = {}
    for sightings in sights:
        for query, keys in sightings.items():
            merged.setdefault(query, set()).update(keys)
    return merged


def covering_queries(before: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield few queries that cover all records: each time the one with most uncovered records (greedy set covering, as in Yuan §5.3)."""
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


async def compare_runs(
    site: SiteHarvest, before: Mapping[str, set[str]], ended: Mapping[str, bool], net: Fetcher
) -> dict[str, int]:
    """Return the numbers of new, changed, unchanged, gone and unseen records after a refresh; `unseen` ones were not queried or not reached.

    A record is gone if a query that was read to its end no longer returns it and its record page confirms it; without a record page on the site, if
    the query was not capped (`ended` maps queries to True if capped). Record pages are opened while the budget lasts.
    """
    keys_by_change = site.state.keys_by_change()
    unseen = set(keys_by_change["unseen"])
    now = site.state.keys_by_query(site.state.run_number)
    missing = {query: (before.get(query, set()) - now.get(query, set())) & unseen for query in ended}
    missing_anywhere = set().union(*missing.values()) if missing else set()
    missing_for_sure = set().union(*(keys for query, keys in missing.items() if not ended[query])) if missing else set()
    pages = {row["_key"]: row["_url"] for row in site.state.rows() if row["_key"] in missing_anywhere}
    gone = []
    for key in sorted(missing_anywhere):
        page = str(pages.get(key) or "")
        try:
            request = Request(url=page)
            request = replace(request, decision=purpose("missing record", request))
            status = (await net.fetch(request)).status if _is_on_site(page, site.url) else None
        except (Unreachable, Forbidden):
            continue
        except BudgetSpent:
            break
        if status in GONE_STATUSES or (status is None and key in missing_for_sure):
            gone.append(key)
    site.state.move_to_history(gone)
    site.state.set_note("refreshing", "no")
    counts = {kind: len(keys_by_change[kind]) for kind in ("new", "changed", "unchanged")}
    return {**counts, "gone": len(gone), "unseen": len(keys_by_change["unseen"]) - len(gone)}


def _is_on_site(page: str, url: str) -> bool:
    """Return True if a record page is on the harvested site; no other page is opened."""
    return urlsplit(page).scheme in ("http", "https") and site_host(page) == site_host(url)

"""Describe a harvest in plain sentences, shared by the report and the web interface."""

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from upwell.report.charts import percent
from upwell.types import Estimate

__all__ = [
    "ANSWER_KINDS",
    "EVIDENCE",
    "coverage_sentence",
    "ending_sentence",
    "interface_sentence",
    "joint_state",
    "next_commands",
    "size_sentence",
    "unasked_sentence",
    "views_sentence",
    "warnings",
]

ANSWER_KINDS = {
    "multi": "a list of matches",
    "single": "the page of one match",
    "none": "no match",
    "error": "an error",
}
EVIDENCE = {  # evidence for the estimated size
    "index": "the index that the site sends to its own search",
    "total": "the total that the site states",
    "list": "a list of all records, which contains the records that queries returned",
    "lists": "the lists of the site, compared with each other",
    "numbers": "the numbers in the addresses of the records",
    "sample": "queries drawn at random for nothing but the size",
    "recaptured": "the share of records from other queries that a list of all records has shown so far",
    "bracket": "the share of the latest records that were already held",
}
ENDINGS = {
    "learned": "The source was learned; its records were not harvested.",
    "coverage": "The harvest ended because it reached its coverage goal.",
    "budget": "The harvest ended because its request budget is used up.",
    "saturated": "The harvest ended because further queries returned nothing new.",
    "exhausted": "The harvest ended because no query is left to send.",
    "blocked": "The harvest ended early because the site stopped answering.",
    "forbidden": "The harvest ended early because robots.txt does not allow it.",
    "interrupted": "The harvest was interrupted; its results so far were kept.",
}
EXACT = {  # what an exact number counts
    "index": "{number:,} in the site's own search index",
    "total": "{number:,} that the site counts",
    "lists": "{number:,} in the lists of the site",
}
NEARLY_ALL = 0.99  # largest share that is stated of an estimated size: only a size that is known can be held completely
MIN_FILL = 0.5  # warn if no column has values in this share of the rows


def size_sentence(
    records: int,
    size: Estimate,
    state: str,
    *,
    by: str = "",
    topic: str = "",
) -> str:
    """Say how complete the records are: the one sentence of the terminal, the report, the web pages, MCP and `summary.json`.

    A share is stated only if the size has an upper bound, and 100% only if the size is known exactly and all of it is held.

    >>> of = lambda estimate, low, high: Estimate(estimate=estimate, low=low, high=high)
    >>> size_sentence(100, of(100, 100, 100), "exact", by="total")
    '100 records held, 100% of the 100 that the site counts'
    >>> size_sentence(90, of(100, 95, 110), "estimated")
    '90 records held, 90% of about 100 (95 %: 95–110)'
    >>> size_sentence(100, of(100, 100, 101), "estimated")
    '100 records held, 99% of about 100 (95 %: 100–101)'
    >>> size_sentence(90, of(95, 95, 95), "at least")
    '90 records held of at least 95; there may be many more'
    >>> size_sentence(90, of(90, 90, 90), "unknown")
    '90 records held; nothing shows how many more there are'
    """
    if not records:
        return "no records held"
    held = f"{records:,} records{f' about {topic}' if topic else ''} held"
    number, low, high = round(size.estimate), round(size.low), round(size.high)
    if state == "exact":
        of = EXACT.get(by, "{number:,} that there are").format(number=number)
        return f"{held}, {percent(min(1.0, records / max(1, number)))} of the {of}"
    if state == "estimated":
        share = percent(min(NEARLY_ALL, records / max(1.0, size.estimate)))
        return f"{held}, {share} of about {number:,} (95 %: {low:,}–{high:,})"
    if state == "at least":
        return f"{held} of at least {low:,}; there may be many more"
    return f"{held}; nothing shows how many more there are"


def joint_state(states: Sequence[str]) -> str:
    """Return what is known of the size of several sources together: no more than of any one of them.

    >>> joint_state(["exact"]), joint_state(["exact", "estimated"]), joint_state(["exact", "at least"]), joint_state(["unknown"])
    ('exact', 'estimated', 'at least', 'unknown')
    """
    if not states or set(states) == {"unknown"}:
        return "unknown"
    if len(states) == 1:
        return states[0]
    # sources may have records in common, so exact sizes do not add up to an exact one
    return "estimated" if set(states) <= {"exact", "estimated"} else "at least"


def coverage_sentence(summary: Mapping[str, Any]) -> str:
    """Return the coverage statement of a summary as a sentence.

    >>> coverage_sentence({"records": 90, "statement": "90 records held, 90% of about 100 (95 %: 95–110)"})
    '90 records held, 90% of about 100 (95 %: 95–110).'
    """
    return f"{summary['statement']}." if summary["records"] else "No records are held yet."


def views_sentence(state: str, by: str, views: Sequence[str]) -> str:
    """Say what a coverage statement rests on.

    >>> views_sentence("exact", "total", ("stated total", "counted answers"))
    'The number rests on 2 views that agree: stated total, counted answers.'
    >>> views_sentence("at least", "lists", ("lists",))
    'Only one view shows how many there are (lists), and it does not vouch for itself.'
    """
    if not views:
        return ""
    if state == "exact":
        return f"The number rests on {len(views)} views that agree: {', '.join(views)}."
    if state == "estimated":
        return f"The number is based on {EVIDENCE.get(by, by)}, seen in: {', '.join(views)}."
    alone = f"Only one view shows how many there are ({views[0]}), and it does not vouch for itself."
    return alone if len(views) == 1 else f"What was seen gives no upper bound: {', '.join(views)}."


def ending_sentence(summary: Mapping[str, Any]) -> str:
    """Say why the harvest ended, and what more requests are expected to yield."""
    sentence = ENDINGS.get(summary["stopped"], "")
    if unasked := unasked_sentence(summary):
        sentence += f" {unasked}."
    more = summary["checks"].get("next_hour") or {}
    if summary["stopped"] in ("budget", "interrupted") and more.get("records"):
        sentence += f" {more['requests']:,} more requests are expected to yield about {more['records']:,} more records."
    return sentence.strip()


def unasked_sentence(summary: Mapping[str, Any]) -> str:
    """Say what the candidates may return that were not asked because the harvest ended as saturated; empty otherwise.

    >>> unasked_sentence({"stopped": "saturated", "checks": {"unasked": {"words": 1200, "records": 40, "next_request": 0.25}}})
    '1,200 words were not asked; they are expected to return at most 40 more records (the next request: 0.25)'
    """
    unasked = summary["checks"].get("unasked") or {}
    if summary["stopped"] != "saturated" or not unasked.get("words"):
        return ""
    said = f"{unasked['words']:,} words were not asked; they are expected to return at most {unasked['records']:,} more records"
    return said + (f" (the next request: {unasked['next_request']:.2g})" if unasked.get("next_request") else "")


def warnings(summary: Mapping[str, Any]) -> list[str]:
    """Return what a user should know before relying on the records."""
    problems = []
    if summary["stopped"] == "blocked":
        problems.append(
            "The site stopped answering. Wait a while, send requests more slowly (--rate 0.3), then run the same command again."
        )
    if summary["stopped"] == "forbidden":
        problems.append(
            "The site's robots.txt does not allow these searches; ask its owner for permission, or start from another page."
        )
    problems += [
        f"One search of the site could not be used, and its records are not counted: {why}"
        for why in summary["out_of_reach"]
    ]
    if summary["checks"].get("robots"):
        problems.append("robots.txt was ignored, as requested.")
    fill = summary["checks"]["fill"]
    if summary["records"] and (not fill or max(fill.values()) < MIN_FILL):
        problems.append(
            "No column is filled in most rows: the records may have been extracted incorrectly. See “How it was read” below."
        )
    return problems


def interface_sentence(interface: Mapping[str, Any]) -> str:
    """Describe how a source is queried.

    >>> interface_sentence({"method": "GET", "url": "http://a/s", "query_field": "q", "via": "form", "body": "", "rendered": False})
    'Through its search form: the query goes into the field “q” of http://a/s.'
    """
    if interface["via"] == "index":
        return f"All records were read from the index that the site sends to its own search: {interface['url']}."
    if interface["via"] == "list":
        return f"Through its lists, read page by page: {interface['url']}."
    if interface["via"] == "sitemap":
        return f"Through its sitemap, which lists the record pages: {interface['url']}."
    way = {
        "form": "Through its search form", "link": "Through a URL pattern found in its links", "search-action": "Through the search that the page declares",
        "opensearch": "Through the search that the page declares (OpenSearch)", "browser": "Through the request that its own script sends",
    }.get(str(interface["via"]), "Through its search")  # fmt: skip
    where = f"the query goes into the field “{interface['query_field']}” of {interface['url']}"
    if interface["body"]:
        where = f"the query is sent as JSON to {interface['url']}"
    elif not interface["query_field"]:
        where = f"the query is part of the URL {interface['url']}"
    shown = " Answers were read in a browser because scripts create them." if interface["rendered"] else ""
    return f"{way}: {where}.{shown}"


def next_commands(summary: Mapping[str, Any], url: str, folder: Path) -> list[tuple[str, str]]:
    """Return useful next steps with their commands, most useful first."""
    place, out, site = shlex.quote(str(folder)), shlex.quote(str(folder.parent)), shlex.quote(url)
    steps = []
    if summary["stopped"] in ("budget", "interrupted"):
        more = math.ceil(3 * max(summary["requests"], 100) / 100) * 100
        steps.append(("Continue and get more records", f"upwell harvest {site} -o {out} --budget {more}"))
    details = summary["details"]
    if details["columns"] and details["requests"]:
        adds = ", ".join(details["columns"][:4])
        steps.append(
            (
                f"Read the record pages too, which add {adds}",
                f"upwell harvest {site} -o {out} --details --budget {summary['requests'] + details['requests'] + 100}",
            )
        )
    steps.append(("Browse, filter and search in the browser", f"upwell serve {out}"))
    steps.append(("Open in a spreadsheet", f"upwell export {place} --format xlsx"))
    if summary["stopped"] not in ("budget", "interrupted"):
        steps.append(("Find out what is new, changed or gone", f"upwell harvest {site} -o {out} --refresh"))
    return steps

"""Describe a harvest in plain sentences, shared by the report and the web interface."""

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from upwell.report.charts import percent

__all__ = [
    "ANSWER_KINDS",
    "EVIDENCE",
    "coverage_sentence",
    "ending_sentence",
    "interface_sentence",
    "next_commands",
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
    "list": "a list of all records, which was read to its end",
    "recaptured": "the share of records from other queries that a list of all records has shown so far",
    "bracket": "the share of the latest records that were already held",
}
ENDINGS = {
    "coverage": "The harvest ended because it reached its coverage goal.",
    "budget": "The harvest ended because its request budget is used up.",
    "saturated": "The harvest ended because further queries returned nothing new.",
    "exhausted": "The harvest ended because no query is left to send.",
    "blocked": "The harvest ended early because the site stopped answering.",
    "forbidden": "The harvest ended early because robots.txt does not allow it.",
    "interrupted": "The harvest was interrupted; its results so far were kept.",
}
MIN_FILL = 0.5  # warn if no column has values in this share of the rows


def coverage_sentence(summary: Mapping[str, Any]) -> str:
    """Say how complete the records are, and how certain that is.

    >>> coverage_sentence({"records": 90, "size": {"estimate": 100, "low": 95, "high": 110}, "coverage": 0.9, "checks": {"lower_bound": False}})
    'That is 90% of about 100. With 95 % certainty there are between 95 and 110.'
    """
    if not summary["records"]:
        return "No records are held yet."
    size = summary["size"]
    if summary["checks"]["lower_bound"]:
        return (
            f"There are at least {size['low']:,}, and there may be many more: the answers so far give no upper bound."
        )
    share = percent(summary["records"] / max(1, size["estimate"])) if size["estimate"] > summary["records"] else "100%"
    if size["low"] == size["high"]:
        return f"That is {share} of {size['estimate']:,}."
    return f"That is {share} of about {size['estimate']:,}. With 95 % certainty there are between {size['low']:,} and {size['high']:,}."


def ending_sentence(summary: Mapping[str, Any]) -> str:
    """Say why the harvest ended, and what more requests are expected to yield."""
    sentence = ENDINGS.get(summary["stopped"], "")
    more = summary["checks"].get("next_hour") or {}
    if summary["stopped"] in ("budget", "interrupted") and more.get("records"):
        sentence += f" {more['requests']:,} more requests are expected to yield about {more['records']:,} more records."
    return sentence.strip()


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

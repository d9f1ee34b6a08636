"""What the report and the page in the browser say of a harvest, in plain words and in one place."""

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from upwell.harvest.charts import percent

__all__ = ["ANSWER_KINDS", "EVIDENCE", "commands", "ended", "held_in_words", "interface_in_words", "warnings"]

ANSWER_KINDS = {
    "multi": "a list of matches",
    "single": "the page of one match",
    "none": "no match",
    "error": "an error",
}
EVIDENCE = {  # what the size follows from
    "index": "what the site sends to its own search",
    "total": "the number that the site itself states",
    "list": "a list of everything, which was read to its end",
    "recaptured": "how much of what other queries found a list of everything has shown so far",
    "bracket": "how much of what came last was held already",
}
ENDED = {
    "coverage": "It ended because nearly everything is held.",
    "budget": "It ended because the requests that were allowed are used up.",
    "saturated": "It ended because further questions brought nothing new.",
    "exhausted": "It ended because nothing is left to ask.",
    "blocked": "It ended early: the site no longer answered.",
    "forbidden": "It ended early: the site does not allow it (robots.txt).",
    "interrupted": "It was stopped; what had come was kept.",
}
MIN_FILL = 0.5  # the fullest column should have this share


def held_in_words(summary: Mapping[str, Any]) -> str:
    """How complete, and how sure.

    >>> held_in_words({"records": 90, "size": {"estimate": 100, "low": 95, "high": 110}, "coverage": 0.9, "checks": {"lower_bound": False}})
    'That is 90% of about 100. With 95 % certainty there are between 95 and 110.'
    """
    if not summary["records"]:
        return "No record is held yet."
    size = summary["size"]
    if summary["checks"]["lower_bound"]:
        return f"There are at least {size['low']:,}, and there may be many more: nothing seen so far bounds their number from above."
    share = percent(summary["records"] / max(1, size["estimate"])) if size["estimate"] > summary["records"] else "100%"
    if size["low"] == size["high"]:
        return f"That is {share} of {size['estimate']:,}."
    return f"That is {share} of about {size['estimate']:,}. With 95 % certainty there are between {size['low']:,} and {size['high']:,}."


def ended(summary: Mapping[str, Any]) -> str:
    """Why it ended, and what more would bring."""
    said = ENDED.get(summary["stopped"], "")
    more = summary["checks"].get("next_hour") or {}
    if summary["stopped"] in ("budget", "interrupted") and more.get("records"):
        said += f" {more['requests']:,} more requests should bring about {more['records']:,} more records."
    return said.strip()


def warnings(summary: Mapping[str, Any]) -> list[str]:
    """What a person should know before relying on it."""
    found = []
    if summary["stopped"] == "blocked":
        found.append(
            "The site stopped answering. Wait a while, ask more slowly (--rate 0.3), then run the same command again."
        )
    if summary["stopped"] == "forbidden":
        found.append("The site's robots.txt does not allow these searches; ask its owner, or take another way in.")
    found += [
        f"A search of the site could not be tried; its records are not counted: {why}"
        for why in summary["out_of_reach"]
    ]
    if summary["checks"].get("robots"):
        found.append("robots.txt was ignored, because that was asked for.")
    fill = summary["checks"]["fill"]
    if summary["records"] and (not fill or max(fill.values()) < MIN_FILL):
        found.append(
            "No column is filled in most rows: the records may have been read wrongly. Look at “How it was read” below."
        )
    return found


def interface_in_words(interface: Mapping[str, Any]) -> str:
    """How a source is asked.

    >>> interface_in_words({"method": "GET", "url": "http://a/s", "query_field": "q", "via": "form", "body": "", "rendered": False})
    'By its search form: the query goes into the field “q” of http://a/s.'
    """
    if interface["via"] == "index":
        return f"Its records were taken whole, as the site sends them to its own search: {interface['url']}."
    if interface["via"] == "list":
        return f"By its own lists, which are read page by page: {interface['url']}."
    if interface["via"] == "sitemap":
        return f"By its sitemap, which names the pages of its records: {interface['url']}."
    way = {
        "form": "By its search form", "link": "By an address that its links show", "search-action": "By the search that the page declares",
        "opensearch": "By the search that the page declares (OpenSearch)", "browser": "By the request that its own script sends",
    }.get(str(interface["via"]), "By its search")  # fmt: skip
    where = f"the query goes into the field “{interface['query_field']}” of {interface['url']}"
    if interface["body"]:
        where = f"the query is sent as JSON to {interface['url']}"
    elif not interface["query_field"]:
        where = f"the query is part of the address {interface['url']}"
    shown = " Its answers were read in a browser, because only scripts show them." if interface["rendered"] else ""
    return f"{way}: {where}.{shown}"


def commands(summary: Mapping[str, Any], url: str, folder: Path) -> list[tuple[str, str]]:
    """What is useful next, and the command for it, the most useful first."""
    place, out, site = shlex.quote(str(folder)), shlex.quote(str(folder.parent)), shlex.quote(url)
    found = []
    if summary["stopped"] in ("budget", "interrupted"):
        more = math.ceil(3 * max(summary["requests"], 100) / 100) * 100
        found.append(("Go on and get more", f"upwell harvest {site} -o {out} --budget {more}"))
    details = summary["details"]
    if details["columns"] and details["requests"]:
        adds = ", ".join(details["columns"][:4])
        found.append(
            (
                f"Read the records' own pages too, which add {adds}",
                f"upwell harvest {site} -o {out} --details --budget {summary['requests'] + details['requests'] + 100}",
            )
        )
    found.append(("Browse, filter and search it in the browser", f"upwell serve {out}"))
    found.append(("Open it in a spreadsheet", f"upwell export {place} --format xlsx"))
    if summary["stopped"] not in ("budget", "interrupted"):
        found.append(("Ask again what is new, changed or gone", f"upwell harvest {site} -o {out} --refresh"))
    return found

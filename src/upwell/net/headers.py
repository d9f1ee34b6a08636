"""Headers of an answer: one value for each, how long the server asks us to wait, and what may be used again."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

import aiohttp

__all__ = ["joined_headers", "may_be_kept", "retry_after_seconds"]


@lru_cache(1024)
def _header_name(name: str) -> str:
    """A header's name as HTTP/1.1 usually writes it, whatever case the server used."""
    return "-".join(part.capitalize() for part in name.split("-"))


def joined_headers(answer: aiohttp.ClientResponse) -> dict[str, str]:
    """One value for each header: repeated ones are joined with commas, except Location, where the last one counts."""
    headers: dict[str, str] = {}
    for raw_name, value in answer.headers.items():
        name = _header_name(raw_name)
        headers[name] = f"{headers[name]}, {value}" if name in headers and name != "Location" else value
    return headers


def retry_after_seconds(retry_after: str) -> float:
    """Seconds from now in a Retry-After header, which has a number or a date (RFC 9110 §10.2.3)."""
    if not retry_after:
        return 0.0
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def may_be_kept(headers: Mapping[str, str]) -> bool:
    """Whether a cache may use a response again without asking: a file with a date, or one that says how long it is fresh (RFC 9111 §4.2)."""
    said = {name.lower(): value.lower() for name, value in headers.items()}
    control = said.get("cache-control", "")
    if any(word in control for word in ("no-store", "no-cache", "must-revalidate", "private")) or "vary" in said:
        return False
    fresh = re.search(r"max-age=(\d+)", control)
    return int(fresh[1]) > 0 if fresh else "last-modified" in said

"""Headers of an answer: one value for each, and how long the server asks us to wait."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

import aiohttp

__all__ = ["joined_headers", "retry_after_seconds"]


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

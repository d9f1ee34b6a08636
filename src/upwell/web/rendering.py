"""Rendering of templates (values are escaped, missing ones are errors, sentences come from `texts`) and formatting of values."""

import datetime
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse

from upwell.report.charts import percent
from upwell.urls.hosts import is_valid
from upwell.web.browse import RowFilter
from upwell.web.texts import ENGLISH

__all__ = ["format_number", "format_time", "render", "respond", "title_of", "truncate"]

T = ENGLISH
SHOWN_LINK = 48  # characters of a displayed link
SIGNS = {"is": "=", "has": "∋", "min": "≥", "max": "≤", "empty": "is empty", "filled": "is filled"}
NAV = (
    ("home", "/", T.nav_home),
    ("new", "/new", T.nav_new),
    ("search", "/search", T.nav_search),
    ("ask", "/ask", T.nav_ask),
    ("compare", "/compare", T.nav_compare),
)


def format_number(value: object) -> str:
    """Format a number for people: thousands separators only from 10,000, so that years stay readable."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    return f"{value:,.6g}"


def truncate(text: object, max_chars: int = 60) -> str:
    """Shorten a text to a maximum length."""
    string = str(text)
    return string if len(string) <= max_chars else string[: max_chars - 1] + "…"


def title_of(row: Mapping[str, object]) -> str:
    """Return a title for a row: its first text that is neither a number nor a URL; "" if there is none."""
    texts = (value for name, value in row.items() if isinstance(value, str) and not name.startswith("_"))
    return next((text for text in texts if any(map(str.isalpha, text)) and not _is_link(text)), "")


def format_time(moment: str) -> str:
    """Format an ISO time for people."""
    try:
        then = datetime.datetime.fromisoformat(moment)
    except ValueError:
        return moment
    return then.astimezone().strftime("%-d %b %Y, %H:%M")


def _is_link(value: object) -> bool:
    if not isinstance(value, str) or not value.startswith(("http://", "https://")):
        return False
    return not any(map(str.isspace, value)) and is_valid(value)


def _short_link(value: str) -> str:
    parts = urlsplit(value)
    return truncate(f"{parts.netloc}{parts.path}".rstrip("/"), SHOWN_LINK)


def is_picture(name: str) -> bool:
    """Return True if a column contains image URLs, judged by the name that the extraction gives them."""
    return name == "image" or name.startswith("image_") or name.endswith("_image")


def _format_value(value: object) -> str:
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    return format_number(value)


def _describe_filter(row_filter: RowFilter) -> str:
    return f"{row_filter.column} {SIGNS[row_filter.operation]} {truncate(row_filter.value, 40)}".strip()


@lru_cache(1)
def _templates() -> jinja2.Environment:
    folder = Path(__file__).parent / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.globals.update(t=T, nav=NAV, here="", given="", error="", look_help="", more=False, back="")
    environment.filters.update(
        amount=format_number,
        short=truncate,
        share=percent,
        is_link=_is_link,
        short_link=_short_link,
        is_picture=is_picture,
        format_value=_format_value,
        describe_filter=_describe_filter,
    )
    return environment


def render(name: str, **values: Any) -> str:
    """Render a template."""
    return _templates().get_template(name).render(**values)


def respond(
    request: Request, name: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """Return a rendered page as a response."""
    text = render(name, token=request.app.state.token, **values)
    return HTMLResponse(text, status, headers={"cache-control": "no-store", **(headers or {})})

"""Pages from templates: every value is escaped, what is missing is an error, and the sentences come from `texts`."""

import datetime
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse

from upwell.harvest.charts import percent
from upwell.web.browse import Filter
from upwell.web.texts import ENGLISH

__all__ = ["ago", "amount", "render", "respond", "short", "title_of"]

T = ENGLISH
SHOWN_LINK = 48  # characters
SIGNS = {"is": "=", "has": "∋", "min": "≥", "max": "≤", "empty": "is empty", "filled": "is filled"}
NAV = (
    ("home", "/", T.nav_home),
    ("new", "/new", T.nav_new),
    ("search", "/search", T.nav_search),
    ("ask", "/ask", T.nav_ask),
    ("compare", "/compare", T.nav_compare),
)


def amount(value: object) -> str:
    """A number as people read it: years stay whole."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    return f"{value:,.6g}"


def short(text: object, most: int = 60) -> str:
    """A text cut to a length."""
    said = str(text)
    return said if len(said) <= most else said[: most - 1] + "…"


def title_of(row: Mapping[str, object]) -> str:
    """What a thing is called: its first text that is neither a number nor an address; "" where it has none."""
    texts = (value for name, value in row.items() if isinstance(value, str) and not name.startswith("_"))
    return next((text for text in texts if any(map(str.isalpha, text)) and not _is_link(text)), "")


def ago(moment: str) -> str:
    """When something was, as people say it."""
    try:
        then = datetime.datetime.fromisoformat(moment)
    except ValueError:
        return moment
    return then.astimezone().strftime("%-d %b %Y, %H:%M")


def _is_link(value: object) -> bool:
    return isinstance(value, str) and value.startswith(("http://", "https://")) and not any(map(str.isspace, value))


def _short_link(value: str) -> str:
    parts = urlsplit(value)
    return short(f"{parts.netloc}{parts.path}".rstrip("/"), SHOWN_LINK)


def is_picture(name: str) -> bool:
    """Whether a column holds addresses of pictures: the reader calls them so, with a number where there are several."""
    return name == "image" or name.startswith("image_") or name.endswith("_image")


def _value_said(value: object) -> str:
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    return amount(value)


def _filter_said(one: Filter) -> str:
    return f"{one.column} {SIGNS[one.operation]} {short(one.value, 40)}".strip()


@lru_cache(1)
def _templates() -> jinja2.Environment:
    folder = Path(__file__).parent / "templates"
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), autoescape=True, undefined=jinja2.StrictUndefined
    )
    found.globals.update(t=T, nav=NAV, here="", given="", error="", look_help="", more=False, back="")
    found.filters.update(
        amount=amount,
        short=short,
        share=percent,
        is_link=_is_link,
        short_link=_short_link,
        is_picture=is_picture,
        value_said=_value_said,
        filter_said=_filter_said,
    )
    return found


def render(name: str, **values: Any) -> str:
    """A template with its values."""
    return _templates().get_template(name).render(**values)


def respond(
    request: Request, name: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """A page."""
    text = render(name, token=request.app.state.token, **values)
    return HTMLResponse(text, status, headers={"cache-control": "no-store", **(headers or {})})

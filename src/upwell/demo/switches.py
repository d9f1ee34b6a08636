"""The switches of the demo site: each makes it another kind of site, or harder to harvest."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Literal, get_args

import jinja2
from markupsafe import Markup, escape

from upwell.demo.cities import Order
from upwell.errors import WrongUsage

__all__ = ["FAULTS", "LAYOUTS", "Fault", "Layout", "Switches", "layout_after_redesign", "render"]

# --- What the demo site looks like: every layout is a folder of templates; what it does not have comes from `templates/base`.
#
# A layout has at least `records.html.j2`, the list of matches (but for `json`, whose answers need no template). It may have other
# parts of its own too: the frame of every page, the line with the total, the pager, what is said when nothing matches.

Layout = Literal[
    "list", "table", "grid", "definitions", "flat",
    "cards", "nested", "small-groups", "blocks", "old", "hidden", "lines", "pre", "articles", "microdata", "json", "rtl",
]  # fmt: skip
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
CHARSETS: dict[Layout, str] = {"old": "iso-8859-1"}  # of the layouts whose pages are not UTF-8


def layout_after_redesign(layout: Layout) -> Layout:
    """What a site of this layout turns into when its answers change (switch `drift_after`)."""
    redesigned: dict[Layout, Layout] = {"list": "table", "table": "grid", "grid": "definitions", "definitions": "flat"}
    return redesigned.get(layout, "list")


def render(name: str, layout: Layout, values: Mapping[str, object]) -> tuple[bytes, str]:
    """One page of the site as HTML, and its charset; a character that the charset lacks becomes a numeric reference."""
    charset = CHARSETS.get(layout, "utf-8")
    text = _templates(layout).get_template(f"{name}.html.j2").render(values)
    return text.encode(charset, "xmlcharrefreplace"), charset


@cache
def _templates(layout: Layout) -> jinja2.Environment:
    folders = (f"templates/{layout}", "templates/base")
    loaders = [jinja2.PackageLoader("upwell.demo", folder) for folder in folders]
    templates = jinja2.Environment(loader=jinja2.ChoiceLoader(loaders), autoescape=True, auto_reload=False)
    templates.filters["thousands"] = "{:,}".format
    templates.filters["mark"] = _mark
    return templates


def _mark(text: str, words: Collection[str]) -> Markup:
    """The text as HTML, with the words of the query marked wherever they stand alone.

    >>> _mark("San Marino & San Juan", ["san"])
    Markup('<mark>San</mark> Marino &amp; <mark>San</mark> Juan')
    """
    if not words:
        return escape(text)
    parts = re.split(rf"\b({'|'.join(map(re.escape, words))})\b", text, flags=re.I)
    return Markup().join(
        Markup("<mark>{}</mark>").format(part) if i % 2 else escape(part) for i, part in enumerate(parts)
    )


# --- (main part)

Fault = Literal["", "500", "503", "429", "hang", "reset", "truncated", "length", "loop"]
FAULTS: tuple[Fault, ...] = ("500", "503", "429", "hang", "reset", "truncated", "length", "loop")


@dataclass(frozen=True, kw_only=True)
class Switches:
    """What can be changed about the demo site; the defaults are a well-behaved site."""

    limit: int = 200  # the result cap: matches that a query can reach, over all its pages
    page_size: int = 20
    largest_page: int = 0  # answers offer page sizes up to this one (0: only `page_size`)
    order: Order = "relevance"  # relevance, rank (population) or none (arbitrary, but the same each time for a query)
    latency: float = 0.0  # seconds before each answer
    post: bool = False  # the form is sent by POST
    script: Literal["none", "form", "results"] = "none"  # what exists only after JavaScript ran
    token: bool = False  # the form holds a session token; a search without a valid one is sent to the home page
    layout: Layout = "list"  # how answers are written, see `upwell.demo.switches`
    drift_after: int = 0  # after this many answers the layout and its class names change (0: never)
    country: str = ""  # only the cities of this country, by its code: a small site
    edition: int = 0  # in a later edition a fiftieth of the cities is gone, and another fiftieth has grown
    fault: Fault = ""  # what goes wrong
    fault_rate: float = 0.0  # the share of answers on which it does
    login_wall: bool = False  # only visitors who are signed in may search
    crawl_delay: float = 0.0  # seconds, as robots.txt says
    disallow: str = "/trip"  # the path that robots.txt forbids
    seed: int = 0

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise WrongUsage(f"layout {self.layout!r} is none of {', '.join(LAYOUTS)}")
        if self.fault and self.fault not in FAULTS:
            raise WrongUsage(f"fault {self.fault!r} is none of {', '.join(FAULTS)}")
        if self.page_size < 1 or self.limit < 1:
            raise WrongUsage(f"page_size {self.page_size} and limit {self.limit} must be at least 1")

    @classmethod
    def parse(cls, settings: list[str]) -> "Switches":
        """Switches from `name=value` texts, as the command line has them."""
        types: dict[str, type[object]] = {field.name: type(field.default) for field in fields(cls)}
        values: dict[str, object] = {}
        for setting in settings:
            name, _, value = setting.partition("=")
            if name not in types:
                raise WrongUsage(f"--set {setting}: no switch {name!r}; there are {', '.join(sorted(types))}")
            kind = types[name]
            try:
                values[name] = value.lower() in ("1", "true", "yes", "on", "") if kind is bool else kind(value)  # type: ignore[call-arg] # str, int and float take a text
            except ValueError:
                raise WrongUsage(f"--set {setting}: {value!r} is not {kind.__name__}") from None
        return cls(**values)  # type: ignore[arg-type] # checked against the fields above

"""Switches and layouts of the demo site: each switch turns it into another kind of site, or makes it harder to harvest.

Each layout is a folder of templates; parts that it does not define come from `templates/base`. It has at least `records.html.j2`, the
list of matches, except for `json`, whose answers need no template.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Literal, get_args

import jinja2
from markupsafe import Markup, escape

from upwell.demo.cities import Order
from upwell.errors import WrongUsage

__all__ = ["FAULTS", "LAYOUTS", "SMALL_SITE", "Fault", "Layout", "Switches", "layout_after_redesign", "render"]

Layout = Literal[
    "list", "table", "grid", "definitions", "flat",
    "cards", "nested", "small-groups", "blocks", "old", "hidden", "lines", "pre", "articles", "microdata", "json", "rtl", "shop", "alternatives", "brands",
    "snippets",
]  # fmt: skip
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
CHARSETS: dict[Layout, str] = {"old": "iso-8859-1"}  # layouts whose pages are not UTF-8


def layout_after_redesign(layout: Layout) -> Layout:
    """Return the layout that follows this one when the site is redesigned (switch `drift_after`)."""
    redesigned: dict[Layout, Layout] = {"list": "table", "table": "grid", "grid": "definitions", "definitions": "flat"}
    return redesigned.get(layout, "list")


def render(name: str, layout: Layout, values: Mapping[str, object]) -> tuple[bytes, str]:
    """Return a page of the site as HTML and its charset; characters that the charset lacks become numeric references."""
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
    """Return a text as HTML with the words of the query marked.

    >>> _mark("San Marino & San Juan", ["san"])
    Markup('<mark>San</mark> Marino &amp; <mark>San</mark> Juan')
    """
    if not words:
        return escape(text)
    parts = re.split(rf"\b({'|'.join(map(re.escape, words))})\b", text, flags=re.I)
    return Markup().join(
        Markup("<mark>{}</mark>").format(part) if i % 2 else escape(part) for i, part in enumerate(parts)
    )


Fault = Literal["", "500", "503", "429", "hang", "reset", "truncated", "length", "loop"]
FAULTS: tuple[Fault, ...] = ("500", "503", "429", "hang", "reset", "truncated", "length", "loop")
FORMER_NAMES = {"limit": "result_cap"}  # former names of switches, accepted for one release


@dataclass(frozen=True, kw_only=True)
class Switches:
    """Settings of the demo site; the defaults are a well-behaved site."""

    result_cap: int = 200  # matches that a query can reach, over all its pages
    page_size: int = 20
    largest_page: int = 0  # answers offer page sizes up to this (0: only `page_size`)
    order: Order = "relevance"  # relevance, rank (by population) or none (arbitrary, but always the same for a query)
    latency: float = 0.0  # seconds before each answer
    post: bool = False  # the form uses POST
    script: Literal["none", "form", "results"] = "none"  # the part of the site that exists only after JavaScript ran
    token: bool = False  # the form has a session token; a search without a valid one is redirected to the home page
    layout: Layout = "list"  # how answers are written
    drift_after: int = 0  # the layout and its class names change after this many answers (0: never)
    country: str = ""  # only the cities of these countries, given as comma-separated codes: a smaller site
    list_all: bool = False  # an empty query lists all cities, as on many sites; otherwise it matches nothing
    edition: int = 0  # in editions after 0, one city in fifty is gone and another one in fifty has grown
    fault: Fault = ""  # kind of fault
    fault_rate: float = 0.0  # share of answers with that fault
    login_wall: bool = False  # searching requires signing in
    crawl_delay: float = 0.0  # seconds, stated in robots.txt
    disallow: str = "/trip"  # path that robots.txt forbids
    seed: int = 0

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise WrongUsage(f"layout {self.layout!r} does not exist; choose one of {', '.join(LAYOUTS)}")
        if self.fault and self.fault not in FAULTS:
            raise WrongUsage(f"fault {self.fault!r} does not exist; choose one of {', '.join(FAULTS)}")
        if self.page_size < 1 or self.result_cap < 1:
            raise WrongUsage(f"page_size {self.page_size} and result_cap {self.result_cap} must be at least 1")

    @classmethod
    def parse(cls, settings: list[str]) -> "Switches":
        """Parse `name=value` texts of the command line."""
        types: dict[str, type[object]] = {field.name: type(field.default) for field in fields(cls)}
        values: dict[str, object] = {}
        for setting in settings:
            name, _, value = setting.partition("=")
            name = FORMER_NAMES.get(name, name)
            if name not in types:
                raise WrongUsage(f"--set {setting}: unknown switch {name!r}; choose from {', '.join(sorted(types))}")
            kind = types[name]
            try:
                values[name] = value.lower() in ("1", "true", "yes", "on", "") if kind is bool else kind(value)  # type: ignore[call-arg] # str, int and float take a text
            except ValueError:
                raise WrongUsage(f"--set {setting}: {value!r} is not {kind.__name__}") from None
        return cls(**values)  # type: ignore[arg-type] # checked against the fields above


# The site that `upwell demo` harvests to its end: 776 cities of Italy and Greece, all within the result cap and listed by an empty query.
SMALL_SITE = Switches(country="GR,IT", result_cap=1000, list_all=True)

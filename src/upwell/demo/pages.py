"""What the demo site looks like: every layout is a folder of templates; what it does not have comes from `templates/base`.

A layout has at least `records.html.j2`, the list of matches (but for `json`, whose answers need no template). It may have other
parts of its own too: the frame of every page, the line with the total, the pager, what is said when nothing matches.
"""

import re
from collections.abc import Collection, Mapping
from functools import cache
from typing import Literal, get_args

import jinja2
from markupsafe import Markup, escape

__all__ = ["LAYOUTS", "Layout", "layout_after_redesign", "render"]

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

"""Which elements a page's own style sheets hide: rules of `<style>` that set `display` or `visibility` for a tag, class or id.

Selectors that look further than at one element (`.menu .item`, `a:hover`) are passed over, and so is what stands inside `@media` and its
like: whether these hold, only a browser knows.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

__all__ = ["StyleRule", "is_hidden", "style_rules"]

MAX_STYLE_BYTES = 1_000_000  # of a page's style sheets that are read
SELECTOR = re.compile(r"([a-z][a-z0-9]*)?((?:[.#][\w-]+)*)", re.I)
SETS = re.compile(r"(?:^|[;\s])(display|visibility)\s*:\s*([a-z-]+)", re.I)
HIDES = {("display", "none"), ("visibility", "hidden"), ("visibility", "collapse")}
OTHER_MEDIUM = re.compile(rb"media\s*=\s*(?![\"']?\s*(?:all|screen)\b)", re.I)  # a sheet for the printer and the like


class StyleRule(NamedTuple):
    """What one selector says: later rules and those with more names count more."""

    weight: tuple[int, int, int, int]  # ids, classes and tags that it names, and its place among all rules
    tag: str  # "": any
    classes: frozenset[str]
    ids: frozenset[str]
    sets: str  # display or visibility
    hides: bool


def style_rules(html: bytes) -> tuple[StyleRule, ...]:
    """The rules of a page that may hide something; none where no rule hides."""
    if b"<style" not in html and b"<STYLE" not in html:
        return ()
    rules = [rule for sheet in _sheets(html) if "none" in sheet or "hidden" in sheet for rule in _rules_of(sheet)]
    ordered = tuple(rule._replace(weight=(*rule.weight[:3], place)) for place, rule in enumerate(rules))
    return ordered if any(rule.hides for rule in ordered) else ()


def is_hidden(rules: tuple[StyleRule, ...], tag: str, attributes: Mapping[str, str | None]) -> bool:
    """Whether the rules hide an element of a tag with these attributes, if they are all that is said of it."""
    classes = frozenset((attributes.get("class") or "").split())
    name = attributes.get("id") or ""
    deciding: dict[str, StyleRule] = {}
    for rule in rules:
        if rule.tag in ("", tag) and rule.classes <= classes and rule.ids <= {name}:
            before = deciding.get(rule.sets)
            if before is None or rule.weight > before.weight:
                deciding[rule.sets] = rule
    return any(rule.hides for rule in deciding.values())


def _sheets(html: bytes) -> Iterator[str]:
    """The texts of the style sheets in a page."""
    left = MAX_STYLE_BYTES
    for begin in re.finditer(rb"<style\b", html, re.I):
        at = html.find(b">", begin.end()) + 1
        end = html.find(b"</", at, at + left) if at else -1
        if end < 0:
            return
        if not OTHER_MEDIUM.search(html[begin.end() : at]):
            yield re.sub(r"/\*.*?\*/|<!--|-->", " ", html[at:end].decode("utf-8", "replace"), flags=re.S)
        left -= end - at


@lru_cache(maxsize=64)
def _rules_of(sheet: str) -> tuple[StyleRule, ...]:
    """The rules of a sheet, which the pages of one source share."""
    return tuple(_rules(sheet))


def _rules(sheet: str) -> Iterator[StyleRule]:
    """The rules of a sheet that stand in no other block, and set what can hide."""
    depth, begin = 0, 0
    selectors = ""
    for brace in re.finditer(r"[{}]", sheet):
        if brace[0] == "{":
            if not depth:
                selectors, begin = sheet[begin : brace.start()], brace.end()
            depth += 1
            continue
        depth = max(0, depth - 1)
        if not depth:
            said = sheet[begin : brace.start()]
            begin = brace.end()
            if "@" not in selectors and "{" not in said:
                yield from _said(selectors, said)


def _said(selectors: str, declarations: str) -> Iterator[StyleRule]:
    said = [(name.lower(), value.lower()) for name, value in SETS.findall(declarations)]
    for selector in selectors.split(",") if said else ():
        found = SELECTOR.fullmatch(selector.strip())
        names = re.findall(r"([.#])([\w-]+)", found[2]) if found else ()
        if not found or not names:  # a tag alone is hidden until a script shows it, or by habit
            continue
        classes = frozenset(name for mark, name in names if mark == ".")
        ids = frozenset(name for mark, name in names if mark == "#")
        tag = (found[1] or "").lower()
        for name, value in said:
            weight = (len(ids), len(classes), bool(tag), 0)
            yield StyleRule(weight, tag, classes, ids, name, (name, value) in HIDES)

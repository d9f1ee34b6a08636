"""Which elements a page's own style sheets hide: rules of `<style>` that set `display` or `visibility` for a tag, class or id.

Selectors that look further than at one element (`.menu .item`, `a:hover`) are passed over, and so is what stands inside `@media` and its
like: whether these hold, only a browser knows.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import filterfalse
from typing import NamedTuple

from upwell.page.spots import Spot

__all__ = ["StyleRule", "StyleRules", "style_rules"]

MAX_STYLE_CHARS = 1_000_000  # of a page's style sheets that are read
MAX_KNOWN = 10_000  # elements, and spots, of which it is remembered whether the rules hide them
SELECTOR = re.compile(r"([a-z][a-z0-9]*)?((?:[.#][\w-]+)*)", re.I)
SETS = re.compile(r"(?:^|[;\s])(display|visibility)\s*:\s*([a-z-]+)", re.I)
HIDES = {("display", "none"), ("visibility", "hidden"), ("visibility", "collapse")}
ON_SCREEN = re.compile(r"\s*(?:all|screen)\b", re.I)  # else it is a sheet for the printer and the like


class StyleRule(NamedTuple):
    """What one selector says: later rules and those with more names count more."""

    weight: tuple[int, int, int, int]  # ids, classes and tags that it names, and its place among all rules
    tag: str  # "": any
    classes: frozenset[str]
    ids: frozenset[str]
    sets: str  # display or visibility
    hides: bool


class StyleRules:
    """The rules of a page's sheets, of which at least one hides something; pages with the same sheets share them."""

    def __init__(self, rules: Sequence[StyleRule]) -> None:
        self.rules = tuple(rule._replace(weight=(*rule.weight[:3], place)) for place, rule in enumerate(rules))
        hiding = [rule for rule in self.rules if rule.hides]
        # only an element that a hiding rule names by a class, or by its id, can be hidden
        self.classes = frozenset(name for rule in hiding for name in rule.classes)
        self.ids = frozenset(name for rule in hiding if not rule.classes for name in rule.ids)
        self._unnamed: set[Spot] = set()
        self._hides: dict[tuple[str, str, str], bool] = {}

    def named(self, spots: Sequence[Spot]) -> set[Spot]:
        """The spots of which a hiding rule names a class: few, and the others are remembered."""
        found = set(filterfalse(self._unnamed.__contains__, spots))
        others = {at for at in found if self.classes.isdisjoint(at.cls.split())}
        if others:
            if len(self._unnamed) >= MAX_KNOWN:
                self._unnamed.clear()
            self._unnamed |= others
        return found - others

    def hide(self, tag: str, attributes: Mapping[str, str | None]) -> bool:
        """Whether the rules hide an element of a tag with these attributes, if they are all that is said of it."""
        key = tag, attributes.get("class") or "", attributes.get("id") or ""
        if (known := self._hides.get(key)) is None:
            if len(self._hides) >= MAX_KNOWN:
                self._hides.clear()
            known = self._hides[key] = self._decide(tag, frozenset(key[1].split()), key[2])
        return known

    def _decide(self, tag: str, classes: frozenset[str], name: str) -> bool:
        deciding: dict[str, StyleRule] = {}
        for rule in self.rules:
            if rule.tag in ("", tag) and rule.classes <= classes and rule.ids <= {name}:
                before = deciding.get(rule.sets)
                if before is None or rule.weight > before.weight:
                    deciding[rule.sets] = rule
        return any(rule.hides for rule in deciding.values())


def style_rules(sheets: Iterable[tuple[str, str | None]]) -> StyleRules | None:
    """The rules that may hide something, of the texts of `<style>` elements and what each says of its medium; None where no rule hides."""
    left, read = MAX_STYLE_CHARS, []
    for sheet, medium in sheets:
        left -= len(sheet)
        if left < 0:
            break
        if ("none" in sheet or "hidden" in sheet) and (medium is None or ON_SCREEN.match(medium)):
            read.append(sheet)
    return _rules_of(tuple(read)) if read else None


@lru_cache(maxsize=64)
def _rules_of(sheets: tuple[str, ...]) -> StyleRules | None:
    """The rules of the sheets of a page, which the pages of one source share."""
    texts = [re.sub(r"/\*.*?\*/|<!--|-->", " ", sheet, flags=re.S) for sheet in sheets]
    rules = [rule for text in texts if "none" in text or "hidden" in text for rule in _rules(text)]
    return StyleRules(rules) if any(rule.hides for rule in rules) else None


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

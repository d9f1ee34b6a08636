"""Find texts that a page's own <style> sheets hide, by rules that set `display` or `visibility` for a tag, class or id.

`style_rules` parses the sheets, `kept_chunks` applies the rules to a page. Selectors that depend on more than one element (`.menu .item`,
`a:hover`) and rules inside `@media` and similar blocks are ignored: only a browser can evaluate them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import filterfalse
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from upwell.page.markup import replace_between
from upwell.page.path_signatures import PathSignature
from upwell.page.tag_tree import Attributes, Ints, attribute_by_row

__all__ = ["StyleRule", "StyleRules", "kept_chunks", "style_rules"]

MAX_STYLE_CHARS = 1_000_000  # style-sheet characters of a page that are read
MAX_CACHED = 10_000  # elements, and signatures, for which the decision of the rules is cached
SELECTOR = re.compile(r"([a-z][a-z0-9]*)?((?:[.#][\w-]+)*)", re.I)
SETS = re.compile(r"(?:^|[;\s])(display|visibility)\s*:\s*([a-z-]+)", re.I)
HIDES = {("display", "none"), ("visibility", "hidden"), ("visibility", "collapse")}
ON_SCREEN = re.compile(r"\s*(?:all|screen)\b", re.I)  # media of sheets that are read; others are for print etc.


class StyleRule(NamedTuple):
    """Declaration of one selector."""

    weight: tuple[int, int, int, int]  # specificity: ids, classes, tags; then the position among all rules
    tag: str  # "": any
    classes: frozenset[str]
    ids: frozenset[str]
    sets: str  # display or visibility
    hides: bool


class StyleRules:
    """Rules of a page's sheets, at least one of which hides something; shared by pages with the same sheets."""

    def __init__(self, rules: Sequence[StyleRule]) -> None:
        self.rules = tuple(rule._replace(weight=(*rule.weight[:3], position)) for position, rule in enumerate(rules))
        hiding = [rule for rule in self.rules if rule.hides]
        # only elements whose class or id occurs in a hiding rule can be hidden
        self.classes = frozenset(name for rule in hiding for name in rule.classes)
        self.ids = frozenset(name for rule in hiding if not rule.classes for name in rule.ids)
        self._rules_by_name: dict[str, list[int]] = {}  # rules by one of their classes, or by their id
        for at, rule in enumerate(self.rules):
            name = min(rule.classes) if rule.classes else f"#{min(rule.ids)}"
            self._rules_by_name.setdefault(name, []).append(at)
        self._unnamed: set[PathSignature] = set()
        self._hides: dict[tuple[str, str, str], bool] = {}

    def named(self, signatures: Sequence[PathSignature]) -> set[PathSignature]:
        """Return the signatures with a class that occurs in a hiding rule; the others, which are many, are cached."""
        unknown = set(filterfalse(self._unnamed.__contains__, signatures))
        unnamed = {signature for signature in unknown if self.classes.isdisjoint(signature.cls.split())}
        if unnamed:
            if len(self._unnamed) >= MAX_CACHED:
                self._unnamed.clear()
            self._unnamed |= unnamed
        return unknown - unnamed

    def hide(self, tag: str, attributes: Mapping[str, str | None]) -> bool:
        """Return True if the rules hide an element with this tag and these attributes."""
        key = tag, attributes.get("class") or "", attributes.get("id") or ""
        if (hides := self._hides.get(key)) is None:
            if len(self._hides) >= MAX_CACHED:
                self._hides.clear()
            hides = self._hides[key] = self._decide(tag, frozenset(key[1].split()), key[2])
        return hides

    def _decide(self, tag: str, classes: frozenset[str], element_id: str) -> bool:
        deciding: dict[str, StyleRule] = {}
        names = [*classes, f"#{element_id}"]
        for at in sorted(at for name in names for at in self._rules_by_name.get(name, ())):
            rule = self.rules[at]
            if rule.tag in ("", tag) and rule.classes <= classes and rule.ids <= {element_id}:
                before = deciding.get(rule.sets)
                if before is None or rule.weight > before.weight:
                    deciding[rule.sets] = rule
        return any(rule.hides for rule in deciding.values())


MAX_RULES = 5000  # safety limit: rules of a page that set `display` or `visibility`


def style_rules(sheets: Iterable[tuple[str, str | None]]) -> StyleRules | None:
    """Parse <style> sheets, given as pairs of text and `media` attribute; None if no rule hides anything."""
    left, relevant = MAX_STYLE_CHARS, []
    for sheet, medium in sheets:
        left -= len(sheet)
        if left < 0:
            break
        if ("none" in sheet or "hidden" in sheet) and (medium is None or ON_SCREEN.match(medium)):
            relevant.append(sheet)
    return _parse_sheets(tuple(relevant)) if relevant else None


@lru_cache(maxsize=64)
def _parse_sheets(sheets: tuple[str, ...]) -> StyleRules | None:
    """Parse the sheets of a page; cached because pages of one source share them."""
    texts = [replace_between(sheet, "/*", "*/", " ").replace("<!--", " ").replace("-->", " ") for sheet in sheets]
    rules = [rule for text in texts if "none" in text or "hidden" in text for rule in _parse_sheet(text)]
    rules = rules[:MAX_RULES]
    return StyleRules(rules) if any(rule.hides for rule in rules) else None


def _parse_sheet(sheet: str) -> Iterator[StyleRule]:
    """Yield the top-level rules of a sheet that set `display` or `visibility`."""
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
            declarations = sheet[begin : brace.start()]
            begin = brace.end()
            if "@" not in selectors and "{" not in declarations:
                yield from _parse_rule(selectors, declarations)


def _parse_rule(selectors: str, declarations: str) -> Iterator[StyleRule]:
    values = [(name.lower(), value.lower()) for name, value in SETS.findall(declarations)]
    for selector in selectors.split(",") if values else ():
        match = SELECTOR.fullmatch(selector.strip())
        names = re.findall(r"([.#])([\w-]+)", match[2]) if match else ()
        if not match or not names:  # a bare tag is mostly hidden only until a script shows it
            continue
        classes = frozenset(name for mark, name in names if mark == ".")
        ids = frozenset(name for mark, name in names if mark == "#")
        tag = (match[1] or "").lower()
        for name, value in values:
            weight = (len(ids), len(classes), bool(tag), 0)
            yield StyleRule(weight, tag, classes, ids, name, (name, value) in HIDES)


def kept_chunks(
    rules: StyleRules,
    attributes: Attributes,
    signatures: Sequence[PathSignature],
    signature: Ints,
    end: Ints,
    chunks: Sequence[str],
    chunk_row: Ints,
) -> NDArray[np.bool_] | None:
    """Return which chunks are not hidden; None if none is hidden, or if most of the text would be (a script will show it)."""
    hidden = _hidden_rows(rules, attributes, signatures, signature, end)
    if hidden is None:
        return None
    kept = ~hidden[chunk_row]
    if kept.all():
        return None
    chars = np.fromiter(map(len, chunks), np.int64, len(chunks))
    return kept if 2 * chars[kept].sum() >= chars.sum() else None


def _hidden_rows(
    rules: StyleRules, attributes: Attributes, signatures: Sequence[PathSignature], signature: Ints, end: Ints
) -> NDArray[np.bool_] | None:
    """Return which rows the rules hide; None if no row matches a class or id of a hiding rule."""
    rows: list[int] = []
    if named := rules.named(signatures):
        rows = np.flatnonzero(np.array([each in named for each in signatures])[signature]).tolist()
    if rules.ids:
        rows = sorted({*rows, *(row for row, name in attribute_by_row(attributes, "id").items() if name in rules.ids)})
    if not rows:
        return None
    hidden = np.zeros(len(end), dtype=bool)
    for row in rows:
        if not hidden[row]:
            own = attributes.get(row, {})
            if rules.hide(signatures[signature[row]].tag, own) and "display" not in (own.get("style") or ""):
                hidden[row : end[row]] = True
    return hidden

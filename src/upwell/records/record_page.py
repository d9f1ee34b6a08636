"""Find the texts of a record page that are data, each with its place and its label.

    place      the last three tags and classes above a text ("div.buying/span/a"), or the id of its element ("#price") if several pages
               have it
    cell       a place that includes the number of the table cell ("tbody/tr/td[2]")
    template   texts that pages of one site share at a cell: labels, and furniture (menus, headings, buttons)
    label      template text that names the following text, or the beginning of a text: "Publisher: Penguin"
    heading    the last template text before a text

A label names the rest of its line, or the next sibling cell or block. `stated_texts` reads JSON-LD, <meta>, microdata and <title>.
"""

import json
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from upwell.page.path_signatures import BROKEN, PathSignature
from upwell.page.tree import TagTree
from upwell.records.leaves import has_letter_or_digit

__all__ = [
    "COLONS",
    "JSON_LD",
    "MIN_PROSE_CHARS",
    "TITLE",
    "LocatedText",
    "PageTexts",
    "TemplateTexts",
    "TextLocator",
    "is_stated",
    "learn_template",
    "single_page_template",
    "stated_property_name",
    "stated_texts",
    "text_places",
]

MIN_SHARED_PAGES = 0.1  # share of the pages (and at least two) that contain a template text; not swept
NEARLY_ALL = 0.9  # a text on this share of the pages is furniture at any cell
LABEL_PLACE_SHARE = 0.8  # share of the texts at a cell that pages share before all of them count as labels
# Distinct shared texts at a cell per text on one page: labels occur together, values replace each other.
MAX_TEXTS_FOR_ONE = 1.5
MAX_REPEATS = 1.3  # occurrences of a label per page that has it
CONSTANT_SHARE = 0.8  # a text followed by the same text this often is not a label
VARIED_SHARE = 0.2  # distinct texts after a label, per page that has it
MAX_LABEL_CHARS = 60
MIN_PROSE_CHARS = 150  # characters of a line of prose with bold or linked parts
PROSE_SHARE = 0.5  # share of such long lines among the multi-part lines of a cell before all are read as whole texts
COLONS = (":", "：")
INLINE_LABEL = re.compile(r"\s*([^\W\d_][^:=\n]{0,40}?)\s*(?!(?<=\d):\d)[:=](?!//)\s*(?=\S)")  # "Monday 12:30" has none
NOTHING: frozenset[str] = frozenset()
MAX_CACHED_SIGNATURES = 20_000  # safety limit: signatures whose rules are cached across pages
ANY_TEXT = "*"  # among the labels of a cell: every short text there is a label, also one that no learned page has
TERM_TAGS = ("dt", "th")  # their text names the following text
CELL_TAGS = ("td", "th", "dt", "dd")
LED_SHARE = 0.9  # share of the runs of texts at a cell that follow texts at one other cell, if those are its labels
MIN_LABELS = 3  # different texts at a cell, if the tags do not say that they are labels
LESS_VARIED = 3  # times as many different values as labels, if the tags do not say which is which
NUMBER = re.compile(r"\d+")


def text_places(tree: TagTree) -> frozenset[str]:
    """Return the places where a page has texts; pages of one template share most of them."""
    return frozenset(
        tree.signatures[signature].short_path for signature in set(tree.signature[tree.chunk_row].tolist())
    )


class PageTexts:
    """Page as a sequence of its texts with a letter or digit."""

    def __init__(self, tree: TagTree) -> None:
        self.tree = tree
        self.signature_of_chunk = tree.signature[tree.chunk_row]

    @cached_property
    def ids(self) -> dict[int, str]:
        """Places of chunks whose own row has an id."""
        attributes = map(self.tree.attributes.get, self.tree.chunk_row.tolist())
        return {chunk: f"#{own['id']}" for chunk, own in enumerate(attributes) if own and own.get("id")}

    @cached_property
    def numbered_ids(self) -> set[str]:
        """Ids that differ only by a number from another on the page; they give a position, not a meaning."""
        forms = Counter(NUMBER.sub("0", place) for place in set(self.ids.values()))
        return {place for place in self.ids.values() if forms[NUMBER.sub("0", place)] > 1}

    @cached_property
    def texts(self) -> list[tuple[int, str, str]]:
        """Chunk, cell and text of each text."""
        cells = [signature.cell_path for signature in self.tree.signatures]
        rows = zip(range(len(self.tree.chunks)), self.signature_of_chunk.tolist(), self.tree.chunks, strict=True)
        return [(chunk, cells[signature], text) for chunk, signature, text in rows if has_letter_or_digit(text)]

    @cached_property
    def _breaks(self) -> list[int]:
        """Chunks that begin a line."""
        return [int(chunk) for chunk in np.flatnonzero(self.tree.chunk_gap == BROKEN)]

    def line_end(self, chunk: int) -> int:
        """Return the chunk that begins the line after that of a chunk."""
        following = bisect_right(self._breaks, chunk)
        return self._breaks[following] if following < len(self._breaks) else len(self.tree.chunks)

    def lines(self) -> Iterator[tuple[int, int]]:
        """Yield first chunk and end of each line."""
        return pairwise([0, *self._breaks, len(self.tree.chunks)])

    def scope(self, label: int) -> tuple[int, int]:
        """Return first chunk and end of the chunks that a label chunk may name."""
        tree, chunks = self.tree, self.tree.chunks
        first = label + 1
        while first < len(chunks) and not has_letter_or_digit(chunks[first]):
            first += 1
        if first == len(chunks):
            return first, first
        value_row = int(tree.chunk_row[first])
        around = int(tree.chunk_row[label])  # lowest row that contains label and value
        while not around <= value_row < tree.end[around]:
            around = int(tree.parent[around])
        if self._is_beside_empty_cell(label, around):
            return first, first
        breaks = self._breaks
        is_in_line = bisect_right(breaks, label) == bisect_right(breaks, first)
        if around == value_row or is_in_line:
            return first, self.line_end(first)
        block = value_row
        while tree.parent[block] != around:
            block = int(tree.parent[block])
        return first, int(tree.text_end[block])

    def _is_beside_empty_cell(self, label: int, around: int) -> bool:
        """Return True if a label is in a cell that others follow, but the next text is outside their row: its value is empty."""
        tree, row, cell = self.tree, int(self.tree.chunk_row[label]), -1
        while row >= 0 and row != around:
            if tree.name(row) in CELL_TAGS:
                cell = row
            row = int(tree.parent[row])
        if cell < 0 or tree.name(around) in ("tr", "dl"):
            return False
        parent = int(tree.parent[cell])
        return any(sibling > cell and tree.name(sibling) in CELL_TAGS for sibling in tree.children(parent))


@dataclass(frozen=True)
class TemplateTexts:
    """Texts that pages of one site share, by cell."""

    labels: Mapping[str, frozenset[str]]
    furniture: Mapping[str, frozenset[str]]
    inline: Mapping[str, frozenset[str]]  # labels at the beginning of a text
    ids: frozenset[str]  # places that are ids
    prose: frozenset[str]  # cells whose lines are whole texts, including bold and linked parts

    def as_dict(self) -> dict[str, object]:
        """Return the template for JSON."""
        parts = {"labels": self.labels, "furniture": self.furniture, "inline": self.inline}
        return {name: {cell: sorted(texts) for cell, texts in part.items()} for name, part in parts.items()} | {
            "ids": sorted(self.ids),
            "prose": sorted(self.prose),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "TemplateTexts":
        """Build the template from its JSON."""
        parts = {
            name: {cell: frozenset(texts) for cell, texts in saved[name].items()}
            for name in ("labels", "furniture", "inline")
        }
        return cls(**parts, ids=frozenset(saved["ids"]), prose=frozenset(saved["prose"]))


class LocatedText(NamedTuple):
    """Text of a page that is not part of the template."""

    chunk: int
    place: str
    text: str
    label: str  # "": none
    heading: str
    label_chunk: int  # chunk of the label, which is its own chunk if the label begins the text; -1: no label


class _TextRule(NamedTuple):
    """Rule for reading the texts at a signature."""

    place: str
    labels: frozenset[str]
    furniture: frozenset[str]
    inline: frozenset[str]
    prose: str  # place of the paragraph that it is part of; "" if it is not


class TextLocator:
    """Finds the texts of pages that are not part of the template.

    `wanted` are the places to read (None: all); labels are not determined at `unlabelled` places, which is faster.
    """

    def __init__(
        self, template: TemplateTexts, wanted: Collection[str] | None = None, unlabelled: Collection[str] = ()
    ) -> None:
        self.template, self.wanted, self.unlabelled = template, wanted, unlabelled
        self.rules: dict[PathSignature, _TextRule | None] = {}  # None: the texts there are not needed

    def texts(self, page: PageTexts) -> Iterator[LocatedText]:
        """Yield the texts of a page that are not part of the template, in document order."""
        tree, wanted, known_ids = page.tree, self.wanted, self.template.ids
        chunks, signatures = tree.chunks, page.signature_of_chunk.tolist()
        rules = [
            self.rules[signature] if signature in self.rules else self._rule(signature) for signature in tree.signatures
        ]
        ids = {chunk: place for chunk, place in page.ids.items() if place in known_ids} if known_ids else {}
        label, heading, label_chunk, first, end, prose_end = "", "", -1, -1, 0, 0
        for chunk, signature in enumerate(signatures):
            rule = rules[signature]
            if chunk < prose_end or (rule is None and chunk not in ids):
                continue
            place, labels, furniture, inline, prose = rule or self._full_rule(tree.signatures[signature])
            text = chunks[chunk]
            if text in labels or (ANY_TEXT in labels and len(text) <= MAX_LABEL_CHARS and has_letter_or_digit(text)):
                label, heading, label_chunk, end = text, text, chunk, -1
                continue
            if prose and chunk not in ids:
                place, prose_end = prose, page.line_end(chunk)
                text = " ".join(tree.text_of(chunk, prose_end).split())
            else:
                place = ids.get(chunk, place)
            is_furniture = text in furniture
            is_read = wanted is None or place in wanted
            if end < 0 and (is_furniture or (is_read and place not in self.unlabelled)):
                first, end = page.scope(label_chunk)
            if is_furniture:
                heading = text
                if chunk != first:
                    label, end = "", 0
                    continue
            if not is_read or not has_letter_or_digit(text):
                continue
            inline_label = INLINE_LABEL.match(text) if inline else None
            if inline_label and inline_label[1] in inline:
                yield LocatedText(chunk, place, text, inline_label[1], heading, chunk)
            elif chunk < end:
                yield LocatedText(chunk, place, text, label, heading, label_chunk)
            else:
                yield LocatedText(chunk, place, text, "", heading, -1)

    def _rule(self, signature: PathSignature) -> _TextRule | None:
        if len(self.rules) > MAX_CACHED_SIGNATURES:
            self.rules.clear()
        rule = self._full_rule(signature)
        is_used = self.wanted is None or (rule.prose or rule.place) in self.wanted or rule.labels or rule.furniture
        self.rules[signature] = rule if is_used else None
        return self.rules[signature]

    def _full_rule(self, signature: PathSignature) -> _TextRule:
        template, cell = self.template, signature.cell_path
        block = _block(signature)
        prose = block.short_path if block.cell_path in template.prose else ""
        return _TextRule(
            signature.short_path,
            template.labels.get(cell, NOTHING),
            template.furniture.get(cell, NOTHING),
            template.inline.get(cell, NOTHING),
            prose,
        )


def learn_template(pages: Sequence[PageTexts]) -> TemplateTexts:
    """Learn the texts that pages share, and which of them are labels or furniture."""
    counts = _Counts(pages)
    min_pages = max(2, MIN_SHARED_PAGES * len(pages))
    labels: defaultdict[str, set[str]] = defaultdict(set)
    furniture: defaultdict[str, set[str]] = defaultdict(set)
    for cell, texts in counts.texts_at.items():
        shared = [text for text in texts if counts.pages[cell, text] >= min_pages]
        shared_times = sum(counts.times[cell, text] for text in shared)
        is_label_place = (
            shared_times >= LABEL_PLACE_SHARE * sum(counts.times[cell, text] for text in texts)
            and len(shared) <= MAX_TEXTS_FOR_ONE * counts.most_on_a_page[cell]
        )
        holds_values, holds_labels = counts.holds_values(cell), cell in counts.label_cells
        for text in shared:
            key = cell, text
            is_marked = text.endswith(COLONS)
            is_everywhere = counts.pages[key] >= NEARLY_ALL * len(pages)
            if holds_values and not is_marked:
                continue
            if counts.times[key] > MAX_REPEATS * counts.pages[key] and not is_marked:
                if is_everywhere:
                    furniture[cell].add(text)
            elif is_marked or is_everywhere or (is_label_place and not counts.is_alternative(key, len(pages))):
                is_label = (
                    len(text) <= MAX_LABEL_CHARS
                    and any(map(str.isalpha, text))
                    and "@" not in text
                    and counts.names(key, is_marked or holds_labels)
                )
                (labels if is_label else furniture)[cell].add(text)
    for cell in counts.label_cells:
        if labels[cell] and _tag_of(cell) in TERM_TAGS:
            labels[cell].add(ANY_TEXT)
    inline = Counter((cell, label) for page in pages for cell, label in _inline_labels(page))
    inline_at: defaultdict[str, set[str]] = defaultdict(set)
    for (cell, label), count in inline.items():
        if count >= min_pages:
            inline_at[cell].add(label)
    ids = Counter(place for page in pages for place in set(page.ids.values()))
    numbered = {place for page in pages for place in page.numbered_ids}
    return TemplateTexts(
        labels=_frozen(labels),
        furniture=_frozen(furniture),
        inline=_frozen(inline_at),
        prose=_prose(pages, labels),
        ids=frozenset(place for place, count in ids.items() if count >= min_pages and place not in numbered),
    )


def _prose(pages: Sequence[PageTexts], labels: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Return the cells whose multi-part lines are mostly long: bold or linked words in them are not fields."""
    lines: Counter[str] = Counter()
    long_lines: Counter[str] = Counter()
    for page in pages:
        tree, signatures = page.tree, page.signature_of_chunk.tolist()
        for first, end in page.lines():
            if end - first > 1:
                cell = _block(tree.signatures[signatures[first]]).cell_path
                has_label = any(
                    tree.chunks[i] in labels.get(tree.signatures[signatures[i]].cell_path, ())
                    for i in range(first, end)
                )
                chars = sum(map(len, tree.chunks[first:end]))
                lines[cell] += 1
                long_lines[cell] += chars >= MIN_PROSE_CHARS and not has_label
    return frozenset(cell for cell, count in long_lines.items() if count >= max(2, PROSE_SHARE * lines[cell]))


def _block(signature: PathSignature) -> PathSignature:
    """Return the nearest block-level ancestor of a signature, whose text begins on a new line."""
    while signature.edge != BROKEN and signature.above is not None:
        signature = signature.above
    return signature


def single_page_template(page: PageTexts, labels: Iterable[tuple[str, str]]) -> TemplateTexts:
    """Build the template of a single page, of which only labels are known."""
    labels_at: defaultdict[str, set[str]] = defaultdict(set)
    for cell, text in labels:
        labels_at[cell].add(text)
    inline: defaultdict[str, set[str]] = defaultdict(set)
    for cell, text in _inline_labels(page):
        inline[cell].add(text)
    ids = frozenset(page.ids.values()) - page.numbered_ids
    return TemplateTexts(labels=_frozen(labels_at), furniture={}, inline=_frozen(inline), ids=ids, prose=NOTHING)


CellText = tuple[str, str]  # a cell and a text there


def _tag_of(cell: str) -> str:
    """Return the tag of a cell.

    >>> _tag_of("html/body/dl.details/dd.value"), _tag_of("th")
    ('dd', 'th')
    """
    return re.split(r"[^a-z0-9]", cell.rpartition("/")[2], maxsplit=1)[0]


class _Counts:
    """Occurrences of texts on pages, and of the texts before and after them."""

    def __init__(self, pages: Sequence[PageTexts]) -> None:
        self.pages: Counter[CellText] = Counter()
        self.times: Counter[CellText] = Counter()
        self.most_on_a_page: Counter[str] = Counter()
        self.before: defaultdict[CellText, Counter[CellText]] = defaultdict(Counter)
        self.after: defaultdict[CellText, Counter[CellText]] = defaultdict(Counter)
        self.runs: Counter[str] = Counter()  # of texts at one cell
        self.led_runs: Counter[str] = Counter()  # those with a colon before them
        self.cells_before: defaultdict[str, Counter[str]] = defaultdict(Counter)  # of the runs at one cell
        self.texts_at: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for page in pages:
            here = [(cell, text) for _, cell, text in page.texts]
            self.times.update(here)
            self.pages.update(set(here))
            for cell, count in Counter(cell for cell, _ in here).items():
                self.most_on_a_page[cell] = max(self.most_on_a_page[cell], count)
            for cell, text in here:
                self.texts_at[cell][text] = None
            for at, following in pairwise(here):
                if at[0] != following[0]:
                    self.runs[following[0]] += 1
                    self.cells_before[following[0]][at[0]] += 1
                    self.led_runs[following[0]] += at[1].endswith(COLONS)
                self.after[at][following] += 1
                self.before[following][at] += 1

    def holds_values(self, cell: str) -> bool:
        """Return True if most runs of texts at a cell follow a label: a text that ends with a colon, or one at a cell of labels.

        A value that many pages share ("English") is then no label itself, however few values there are.
        """
        return self.led_runs[cell] > self.runs[cell] / 2 or self._cell_of_labels(cell) is not None

    @cached_property
    def label_cells(self) -> frozenset[str]:
        """Cells of labels, whose texts name the following text even if that is nearly always the same."""
        return frozenset(above for cell in self.texts_at if (above := self._cell_of_labels(cell)) is not None)

    def _cell_of_labels(self, cell: str) -> str | None:
        """Return the cell that most runs at a cell follow, if it is <dt> or <th>, or nearly all follow it and its texts vary much less."""
        if not self.runs[cell]:
            return None
        above, count = self.cells_before[cell].most_common(1)[0]
        if _tag_of(above) in TERM_TAGS and _tag_of(cell) not in TERM_TAGS:
            return above if count > self.runs[cell] / 2 else None
        is_led = count >= LED_SHARE * max(self.runs[cell], self.runs[above])  # the two cells alternate
        is_led = is_led and self.texts_at[above].keys().isdisjoint(self.texts_at[cell])
        varies_less = len(self.texts_at[above]) >= MIN_LABELS and len(self.texts_at[above]) * LESS_VARIED <= len(
            self.texts_at[cell]
        )
        return above if is_led and varies_less else None

    def is_alternative(self, at: CellText, pages: int) -> bool:
        """Return True if a text is one of several values of the same label: "Private" or "Public"."""
        if self.pages[at] >= NEARLY_ALL * pages or not self.before[at]:
            return False
        label, count = self.before[at].most_common(1)[0]
        return (
            count >= CONSTANT_SHARE * self.times[at]
            and self.pages[label] >= pages / 2
            and not self._is_constant(label)
            and len(self.after[at]) < self.pages[at] / 2
        )

    def names(self, at: CellText, is_marked: bool) -> bool:
        """Return True if a text may be a label: it ends with a colon or is among labels (`is_marked`), or the following text varies."""
        varied = len(self.after[at]) >= max(2, VARIED_SHARE * self.pages[at])
        return is_marked or (varied and not self._is_constant(at))

    def _is_constant(self, at: CellText) -> bool:
        following = self.after[at]
        return not following or following.most_common(1)[0][1] > CONSTANT_SHARE * following.total()


def _inline_labels(page: PageTexts) -> set[CellText]:
    return {
        (cell, label[1])
        for _, cell, text in page.texts
        if (":" in text or "=" in text) and (label := INLINE_LABEL.match(text))
    }


def _frozen(texts: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {cell: frozenset(cell_texts) for cell, cell_texts in sorted(texts.items())}


# Statements: JSON-LD, Open Graph and other <meta>, microdata and RDFa attributes, <title>. Each is a text at a place of its own
# ("json-ld offers.price", "meta og:title") and can become a column like any other text.

JSON_LD, META, ATTRIBUTE, TITLE = "json-ld ", "meta ", "property ", "title"
MAX_JSON_DEPTH = 6  # safety limit: levels of JSON-LD that are read
MAX_STATEMENTS = 1_000  # safety limit: statements read per page; more are script data, not a description of one entity
# Names of <meta> that address browsers and robots.
TECHNICAL_META_NAMES = frozenset(
    ["viewport", "robots", "generator", "charset", "theme-color", "format-detection", "referrer", "googlebot", "csrf-token", "rating"]
)  # fmt: skip
VALUE_ATTRIBUTES = ("content", "datetime", "href", "src")  # HTML standard §5.2.4 "values" of microdata, in short


def is_stated(place: str) -> bool:
    """Return True if a place is one of a statement."""
    return place == TITLE or place.startswith((JSON_LD, META, ATTRIBUTE))


def stated_property_name(place: str) -> str:
    """Return the property name of a statement: "json-ld offers.price" → "price"; "" for <title>."""
    return "" if place == TITLE else place.split(" ", 1)[1].rsplit(".", 1)[-1].rsplit(":", 1)[-1].rsplit("/", 1)[-1]


def stated_texts(tree: TagTree, wanted: Collection[str] | None = None) -> Iterator[LocatedText]:
    """Yield the statements of a page, or only those at `wanted` places."""
    kinds = (
        (JSON_LD, META, ATTRIBUTE)
        if wanted is None
        else {kind for kind in (JSON_LD, META, ATTRIBUTE) for place in wanted if place.startswith(kind)}
    )
    statements: list[tuple[str, str]] = [(TITLE, tree.title)]
    if JSON_LD in kinds:
        statements += _json_ld(tree)
    if META in kinds:
        statements += _meta(tree)
    if ATTRIBUTE in kinds:
        statements += _attributes(tree)
    for place, text in statements[:MAX_STATEMENTS]:
        text = " ".join(text.split())
        if has_letter_or_digit(text) and (wanted is None or place in wanted):
            yield LocatedText(-1, place, text, "", "", -1)


def _json_ld(tree: TagTree) -> Iterator[tuple[str, str]]:
    for row, text in tree.data.items():
        if "ld+json" not in (tree.attr(row, "type") or ""):
            continue
        try:
            stack: list[tuple[str, object, int]] = [("", json.loads(text), 0)]
        except (ValueError, RecursionError):
            continue
        while stack:
            name, value, depth = stack.pop()
            if depth > MAX_JSON_DEPTH:
                continue
            if isinstance(value, dict):
                inner = [
                    (f"{name}.{key}".strip("."), part) for key, part in value.items() if not str(key).startswith("@")
                ]
                inner += [(name, value["@graph"])] if "@graph" in value else []
                stack.extend((key, part, depth + 1) for key, part in reversed(inner))
            elif isinstance(value, list):
                stack.extend((name, part, depth + 1) for part in reversed(value))
            elif name and isinstance(value, str | int | float):
                yield JSON_LD + name, str(value).lower() if isinstance(value, bool) else str(value)


def _meta(tree: TagTree) -> Iterator[tuple[str, str]]:
    for row in tree.rows("meta").tolist():
        attributes = tree.attributes.get(row, {})
        name = (attributes.get("property") or attributes.get("name") or "").strip().lower()
        if name and name not in TECHNICAL_META_NAMES and (content := attributes.get("content")):
            yield META + name, content


def _attributes(tree: TagTree) -> Iterator[tuple[str, str]]:
    for row, attributes in tree.attributes.items():
        name = attributes.get("itemprop") or (attributes.get("property") if tree.name(row) != "meta" else "")
        value = next((attributes[key] for key in VALUE_ATTRIBUTES if attributes.get(key)), "") if name else ""
        if name and value:
            yield ATTRIBUTE + name, value

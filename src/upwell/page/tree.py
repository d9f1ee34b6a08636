"""From the bytes of a page to its columns (`page.tag_tree`): decode, parse, and walk once, in C where that was built, else in Python.

This is the only module that knows the HTML parser, and no parser object outlives `read`.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np
from selectolax import __version__ as parser_version
from selectolax import lexbor
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from upwell.page.attribute_limit import MAX_ATTRIBUTES, cut_attributes
from upwell.page.attribute_views import having
from upwell.page.charset import to_utf8
from upwell.page.compiled import PARSER_VERSIONS, compiled, count
from upwell.page.hidden_texts import kept_chunks
from upwell.page.nesting import CHECK_DEPTH_FROM, MAX_DEPTH, flatten
from upwell.page.spots import BROKEN, GLUED, SHOWN, SPACED, UNSHOWN, Spot
from upwell.page.style_rules import StyleRules, style_rules
from upwell.page.tag_tree import Ints, TagTree, made_of
from upwell.page.word_marks import glue_inside_words

__all__ = ["BROKEN", "GLUED", "SPACED", "Ints", "TagTree", "read"]


def read(page: bytes | str, *, url: str = "", headers: Mapping[str, str] | None = None) -> TagTree:
    """Parses a page into columns; whatever the bytes are, the result is a tree (see its `problems`).

    >>> page = read(b"<title>T</title><ul><li>one<li><b>t</b>wo</ul>")
    >>> page.text(), page.path(5), page.row_at("/html/body/ul/li[2]")
    ('one\\ntwo', '/html[1]/body[1]/ul[1]/li[1]', 6)
    """
    header = {name.lower(): value for name, value in headers.items()} if headers else {}
    if isinstance(page, bytes):
        html, charset, problems = to_utf8(page, header.get("content-type", ""))
    else:
        html, charset, problems = page.encode("utf-8", "replace"), "str", ()  # a lone surrogate cannot be parsed
    if len(html) > CHECK_DEPTH_FROM * MIN_TAG_BYTES and count(html, ord("<")) > CHECK_DEPTH_FROM:
        text, dropped = flatten(html.decode("utf-8"))
        if dropped:
            html = text.encode("utf-8", "replace")
            problems = (*problems, f"{dropped} tags nested deeper than {MAX_DEPTH} left out")
    html, cut = cut_attributes(html)
    if cut:
        problems = (*problems, f"{cut} tags with more than {MAX_ATTRIBUTES} attributes cut")
    columns = _walked(html)
    language = _language(columns, header.get("content-language", ""))
    return TagTree.of_columns(columns, url=url, charset=charset, language=language, problems=problems)


MIN_TAG_BYTES = 3
PRIMARY = re.compile(r"\s*([A-Za-z]{2,3})\b")  # the first part of the name of a language
Own = tuple[int, str | None, bool]  # what few rows have: the column of a cell, `itemprop`, attributes that hide it
# The parser's numbers: of text, the first of elements, the first of elements that it does not know (another on each page).
TEXT, ELEMENTS, UNKNOWN = 2, 6, 256
MOST_SPOTS = 50_000  # that are remembered from page to page
Key = tuple[Spot | None, int, str | None, Own | None]  # the spot above, the parser's number of the tag, the class
_known: dict[object, Spot] = {}


def _number(name: str) -> int:
    return LexborHTMLParser("").create_node(name).tag_id


CELLS, DIALOG = (_number("td"), _number("th")), _number("dialog")
SPECIAL = frozenset([*CELLS, DIALOG])


def _parsed(html: bytes) -> LexborNode | None:
    """The root of a page. Without the parser's events: with them, each <option> looks at all options before it (8,000 take 0.26 s, not 0.003)."""
    return LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS).root


class _Walk:
    """One walk over the parser's nodes in document order, taking down what only they know."""

    def __init__(self, html: bytes) -> None:
        self.spots: list[Spot] = []  # of each row
        self.parent: list[int] = []
        self.attributes: dict[int, Mapping[str, str | None]] = {}
        self.data: dict[int, str] = {}
        self.sheets: dict[int, str] = {}  # the texts of <style> rows
        self.title = ""
        self.chunks: list[str] = []
        self.chunk_row: list[int] = []
        self.rows_before: list[int] = []  # how many rows had begun when the chunk came
        self.spaced = bytearray()  # whether the text began (1) or ended (2) with white space, or both
        self.space_before: list[int] = []  # formatting rows with white space before them, in a text of its own …
        self.space_inside: list[int] = []  # … or as the last thing in them
        self.cells: dict[tuple[int, int], int] = {}
        root = _parsed(html)
        if root is not None:
            self._walk(root, _known_spots())

    def _walk(self, root: LexborNode, known: dict[object, Spot]) -> None:
        spots, parent, attributes, chunks = self.spots, self.parent, self.attributes, self.chunks
        chunk_row, rows_before, spaced = self.chunk_row, self.rows_before, self.spaced
        special = SPECIAL
        row_of: dict[int, int] = {}
        row, above, around = 0, -1, None
        beside = (
            -1
        )  # the row of a text that was the last node: what follows it in that row has no white space alone before it
        for node in root.traverse(include_text=True, skip_empty=True):
            number = node.tag_id
            if number < ELEMENTS:
                if number == TEXT:
                    above = row_of[node.parent.mem_id]  # type: ignore[union-attr] # text has a parent
                    shown = spots[above].shown
                    if shown == UNSHOWN:
                        self._unshown(above, node)
                        continue
                    beside = above
                    text = node.text_content or ""
                    words = " ".join(text.split())
                    if words:
                        spaced.append(0 if words == text else text[0].isspace() + 2 * text[-1].isspace())
                        chunks.append(words if shown == SHOWN else text.strip("\n"))
                        chunk_row.append(above)
                        rows_before.append(row)
                else:
                    beside = -1
                continue
            if row:
                above = row_of[node.parent.mem_id]  # type: ignore[union-attr] # only <html> has none
                around = spots[above]
            found = node.attributes
            cls = own = None
            if found:
                attributes[row] = found
                cls = found.get("class")
                if "style" in found or "itemprop" in found or "hidden" in found or number in special:
                    own = self._own(above, number, found)
            elif number in special:
                own = self._own(above, number, found)
            key = around, number, cls, own
            spot = known.get(key)
            if spot is None:
                spot = _spot(known, key, node.tag or "")
            if spot.shapes:
                before, last = node.prev if beside != above else None, node.last_child
                if before is not None and before.is_empty_text_node:
                    self.space_before.append(row)
                if last is not None and last.is_empty_text_node:
                    self.space_inside.append(row)
            row_of[node.mem_id] = row
            beside = -1
            spots.append(spot)
            parent.append(above)
            row += 1

    def keep(self, kept: Sequence[bool]) -> None:
        """Leaves out the other chunks."""
        self.chunks = list(compress(self.chunks, kept))
        self.chunk_row = list(compress(self.chunk_row, kept))
        self.rows_before = list(compress(self.rows_before, kept))
        self.spaced = bytearray(compress(self.spaced, kept))

    def _own(self, above: int, number: int, found: Mapping[str, str | None]) -> Own | None:
        column = 0
        if number in CELLS:
            column = self.cells[above, number] = self.cells.get((above, number), 0) + 1
        prop = found["itemprop"] or "" if "itemprop" in found else None
        hidden = _hidden(found) or (number == DIALOG and "open" not in found)
        return (column, prop, hidden) if column or prop is not None or hidden else None

    def _unshown(self, row: int, node: LexborNode) -> None:
        tag = self.spots[row].tag
        if tag == "script":
            if "json" in (self.attributes.get(row, {}).get("type") or "").lower():
                self.data[row] = node.text_content or ""
        elif tag == "style":
            self.sheets[row] = node.text_content or ""
        elif tag == "title" and not self.title:
            self.title = " ".join((node.text_content or "").split())


def _known_spots() -> dict[object, Spot]:
    """The spots of the pages before; a new dictionary where they are too many: pages that other threads read keep theirs."""
    global _known
    if len(_known) > MOST_SPOTS:
        _known = {}
    return _known


def _spot(spots: dict[object, Spot], key: Key, tag: str) -> Spot:
    """The spot of a row that was not met before; elements that the parser does not know go by their names."""
    above, number, cls, own = key
    known: object = key if number < UNKNOWN else (above, tag, cls, own)
    return spots.get(known) or spots.setdefault(known, Spot(above, tag, " ".join((cls or "").split()), *own or ()))


# What a walk takes down of a page: the columns of `TagTree` that do not come from its address and its bytes, by name.
Columns = dict[str, Any]


def _plain_columns(html: bytes) -> Columns:
    """The columns of a page: the walk, and what follows from it for all rows at once."""
    walk = _Walk(html)
    end = _ends(walk.parent)
    spots = tuple(dict.fromkeys(walk.spots))
    number = dict(zip(spots, range(len(spots)), strict=True))
    spot = np.fromiter(map(number.__getitem__, walk.spots), np.int32, len(walk.spots))
    if walk.sheets and (rules := _rules(walk.sheets, walk.attributes)):
        kept = kept_chunks(rules, walk.attributes, spots, spot, end, walk.chunks, _ints(walk.chunk_row))
        if kept is not None:
            walk.keep(kept.tolist())
    parent, chunk_row = _ints(walk.parent), _ints(walk.chunk_row)
    rows = len(parent)
    own = np.zeros(rows + 1, dtype=np.int32)
    np.cumsum(np.bincount(chunk_row, minlength=rows), out=own[1:])
    text_at = np.cumsum(np.bincount(_ints(walk.rows_before), minlength=rows + 1)[:rows], dtype=np.int32)
    text_end: Ints = text_at + own[end] - own[:-1]

    # What stands before chunk c is the strongest of the edges there: a row that begins has text_at c, one that ends text_end c.
    gap = np.zeros(len(chunk_row) + 1, dtype=np.int8)
    edges = np.array([at.edge for at in spots], dtype=np.int8)
    for at, spaces in ((text_at, walk.space_before), (text_end, walk.space_inside)):
        edge = edges[spot]
        edge[spaces] = SPACED
        np.maximum.at(gap, at, edge)
    spaced = np.frombuffer(walk.spaced, np.int8)
    np.maximum(gap[:-1], spaced & 1, out=gap[:-1])
    np.maximum(gap[1:], spaced >> 1, out=gap[1:])
    glue_inside_words(gap[:-1], spaced, walk.chunks, walk.chunk_row, walk.rows_before, walk.parent, walk.spots)
    return {
        "title": walk.title,
        "data": walk.data,
        "spots": spots,
        "spot": spot,
        "parent": parent,
        "end": end,
        "text_at": text_at,
        "text_end": text_end,
        "chunks": tuple(walk.chunks),
        "chunk_row": chunk_row,
        "chunk_gap": gap[:-1],
        "attributes": walk.attributes,
    }


def _compiled_columns(html: bytes) -> Columns:
    """The same from the compiled walk, which calls the parser and reads its nodes where they are."""
    if compiled is None or (walked := compiled.walk(html, Spot)) is None:
        return _plain_columns(html)
    title, data, sheets, spots, *columns, chunks, rows_of_chunks, edges, attributes, white, begun, marks = walked
    spot, parent, end, text_at, text_end = [np.frombuffer(column, np.int32) for column in columns]
    chunk_row, rows_before = np.frombuffer(rows_of_chunks, np.int32), np.frombuffer(begun, np.int32)
    gap, spaced = np.frombuffer(edges, np.int8), np.frombuffer(white, np.int8)
    if sheets and (rules := _rules(sheets, attributes)):
        kept = kept_chunks(rules, attributes, spots, spot, end, chunks, chunk_row)
        if kept is not None:
            before = np.concatenate(([0], np.cumsum(kept))).astype(np.int32)  # kept chunks before each
            numbers = np.flatnonzero(kept)
            # before a kept chunk stand the edges before it and before those left out between it and the one kept before it
            segments = np.concatenate(([0], numbers[:-1] + 1))
            gap = np.maximum.reduceat(gap[: numbers[-1] + 1], segments) if len(numbers) else gap[:0]
            chunks, text_at, text_end = tuple(compress(chunks, kept.tolist())), before[text_at], before[text_end]
            chunk_row, rows_before, spaced = chunk_row[numbers], rows_before[numbers], spaced[numbers]
    compiled.finish_gaps(gap, spaced, chunks, chunk_row, rows_before, parent, spot, marks)
    return {
        "title": title,
        "data": data,
        "spots": spots,
        "spot": spot,
        "parent": parent,
        "end": end,
        "text_at": text_at,
        "text_end": text_end,
        "chunks": chunks,
        "chunk_row": chunk_row,
        "chunk_gap": gap,
        "attributes": attributes,
    }


def _rules(sheets: Mapping[int, str], attributes: Mapping[int, Mapping[str, str | None]]) -> StyleRules | None:
    return style_rules((sheet, attributes.get(row, {}).get("media")) for row, sheet in sheets.items())


def _fits() -> bool:
    """Whether the compiled walk is there, was made for this version of the parser, and reads a small page as the plain one does."""
    if compiled is None or parser_version not in PARSER_VERSIONS:
        return False
    compiled.bind(lexbor.__file__, *CELLS, DIALOG)
    plain, fast = _plain_columns(SMALL_PAGE), _compiled_columns(SMALL_PAGE)
    return plain.keys() == fast.keys() and all(_same(plain[name], fast[name]) for name in plain)


def _same(plain: Any, fast: Any) -> bool:
    if isinstance(plain, np.ndarray):
        return np.array_equal(plain, fast)
    if isinstance(plain, tuple) and plain and isinstance(plain[0], Spot):
        return made_of(plain) == made_of(fast)
    return bool((dict(fast.items()) if isinstance(plain, dict) else fast) == plain)


SMALL_PAGE = b"""<!doctype html><html lang=en><title> A  page </title><script type="application/json">{"a": 1}</script><body class=x>
<p>One <b> two</b><i>t</i>hree <!-- no --> <em>f\xc3\xa4ur </em> </p><table><tr><th>a<td itemprop=b>c<td>d</table><pre>
 e  f
</pre><style>.s { display: none }</style><i class=s>s</i>
<dialog>g</dialog><p>w<span>or</span>d of a page</p><a href="/h" hidden>i</a><p style="Display: none">j<svg><a xlink:href=k /></svg><unknown-tag>l"""


def _ints(values: Sequence[int]) -> Ints:
    return np.fromiter(values, np.int32, len(values))


def _ends(parent: Sequence[int]) -> Ints:
    """One past the last row of each subtree: from the last row on, a row ends where its last child ends."""
    end = list(range(1, len(parent) + 1))
    for row, above in zip(range(len(parent) - 1, 0, -1), reversed(parent), strict=False):
        if end[row] > end[above]:
            end[above] = end[row]
    return _ints(end)


def _hidden(found: Mapping[str, str | None]) -> bool:
    """Whether an element's own attributes hide it."""
    if "hidden" in found:
        return True
    style = found.get("style")
    if style is None or ("none" not in style and "hidden" not in style):
        return False
    plain = style.replace(" ", "").lower()
    return "display:none" in plain or "visibility:hidden" in plain


def _language(columns: Columns, header: str) -> str:
    """The language that the page says it is in: <html lang>, then <meta>, then the header."""
    attributes = columns["attributes"]
    html = attributes.get(0, {})
    said = html.get("lang") or html.get("xml:lang")
    if not said:
        for row, name in having(attributes, "http-equiv").items():
            if name.lower() == "content-language" and columns["spots"][columns["spot"][row]].tag == "meta":
                said = attributes[row].get("content")
                break
    primary = PRIMARY.match(said or header or "")
    return primary[1].lower() if primary else ""


_walked = _compiled_columns if _fits() else _plain_columns

"""A page as columns: arrays in document order in which every subtree, and every subtree's text, is a range.

    row       an element; row 0 is <html>
    subtree   the rows i … end[i]
    spot      where a row stands: the tags and classes from <html> down; one value for all rows that stand alike
    chunk     a run of visible text; the chunks of a subtree are text_at[i] … text_end[i]
    gap       what stands before a chunk: nothing (GLUED), white space (SPACED), or the edge of a block (BROKEN)

This is the only module that knows the HTML parser, and no parser object outlives `read`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any
from urllib.parse import urljoin, urlsplit

import numpy as np
from numpy.typing import NDArray
from selectolax import __version__ as parser_version
from selectolax import lexbor
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from upwell.page.attribute_limit import MAX_ATTRIBUTES, cut_attributes
from upwell.page.charset import encoded_query, is_unicode, to_utf8
from upwell.page.compiled import PARSER_VERSIONS, compiled
from upwell.page.nesting import CHECK_DEPTH_FROM, MAX_DEPTH, flatten
from upwell.page.spots import BROKEN, GLUED, SHOWN, SPACED, UNSHOWN, Spot
from upwell.page.style_rules import StyleRule, is_hidden, style_rules
from upwell.page.word_marks import glue_inside_words

__all__ = ["BROKEN", "GLUED", "SPACED", "Ints", "TagTree", "read"]

Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class TagTree:
    """One parsed page; built by `read`, never changed, cheap to pickle."""

    url: str
    charset: str
    language: str  # primary subtag, lower case; "" where the page does not say
    title: str
    spots: tuple[Spot, ...]  # in order of appearance
    spot: Ints  # of each row, as its number among them
    parent: Ints  # -1 for row 0
    end: Ints
    text_at: Ints
    text_end: Ints
    chunks: tuple[str, ...]
    chunk_row: Ints
    chunk_gap: NDArray[np.int8]
    attributes: Mapping[int, Mapping[str, str | None]]  # only for the rows that have any
    data: Mapping[int, str]  # the text of <script> rows whose type is JSON
    problems: tuple[str, ...]  # what was odd about the bytes

    def __len__(self) -> int:
        return len(self.spot)

    def __getstate__(self) -> dict[str, Any]:
        """A spot as what it is made of: a chain of them may be too long for `pickle`."""
        return {part.name: getattr(self, part.name) for part in fields(self)} | {"spots": _made_of(self.spots)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        spots: list[Spot] = []
        for above, *rest in state["spots"]:
            spots.append(Spot(spots[above] if above >= 0 else None, *rest))
        self.__dict__.update(state | {"spots": tuple(spots)})

    # -- names and attributes ------------------------------------------------------------------------------------------

    @cached_property
    def spot_of(self) -> list[int]:
        """The spot of each row, as a list."""
        return self.spot.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    def by_spot(self, values: Sequence[int], kind: type[np.generic] = np.int32) -> NDArray[Any]:
        """A column from a value of each spot."""
        return np.array(values, dtype=kind)[self.spot]

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The tag names of the page, in order of appearance."""
        return tuple(dict.fromkeys([at.tag for at in self.spots]))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The classes of the page, in order of appearance; the first is "" (no class)."""
        return tuple(dict.fromkeys(["", *(at.cls for at in self.spots)]))

    @cached_property
    def tag(self) -> Ints:
        """The tag of each row, as its number among `tags`."""
        number = {name: i for i, name in enumerate(self.tags)}
        return self.by_spot([number[at.tag] for at in self.spots])

    @cached_property
    def cls(self) -> Ints:
        """The class of each row, as its number among `classes`."""
        number = {name: i for i, name in enumerate(self.classes)}
        return self.by_spot([number[at.cls] for at in self.spots])

    def name(self, row: int) -> str:
        """The tag name of a row."""
        return self.spots[int(self.spot[row])].tag

    def attr(self, row: int, name: str) -> str | None:
        """An attribute's value: None where it is absent, "" where it is empty."""
        if self._one_attribute is not None:
            return self._one_attribute(row, name)
        found = self.attributes.get(int(row))
        if found is None or name not in found:
            return None
        return found[name] or ""

    @cached_property
    def _one_attribute(self) -> Callable[[int, str], str | None] | None:
        """How one attribute is read without the others of its row, where the compiled walk has kept them."""
        return getattr(self.attributes, "value", None)

    def rows(self, *names: str) -> Ints:
        """All rows with one of these tag names, in document order."""
        return self.at_spots([i for i, at in enumerate(self.spots) if at.tag in names])

    def at_spots(self, numbers: Sequence[int]) -> Ints:
        """All rows that stand at one of these spots, in document order."""
        if len(numbers) < 2:
            return np.flatnonzero(self.spot == numbers[0] if numbers else ()).astype(np.int32)
        wanted = np.zeros(len(self.spots), dtype=bool)
        wanted[numbers] = True
        return np.flatnonzero(wanted[self.spot]).astype(np.int32)

    def links(self, row: int = 0) -> Iterator[tuple[int, str]]:
        """Row and absolute address of every web link inside a subtree, in document order."""
        if not row:
            yield from self._links
            return
        end = int(self.end[row])
        for link, address in self._links:
            if row <= link < end:
                yield link, address

    @cached_property
    def _links(self) -> list[tuple[int, str]]:
        found = [(link, self.resolve(self.attr(link, "href"))) for link in self.rows("a", "area").tolist()]
        return [(link, address) for link, address in found if address is not None]

    def resolve(self, address: str | None) -> str | None:
        """A reference on this page as an absolute http(s) address (<base> counts), or None where it is not one."""
        if address is None or len(address) > MAX_ADDRESS_CHARS:
            return None
        if self._origin and address.isascii() and PLAIN_PATH.fullmatch(address) and "/." not in address:
            return self._origin + address
        try:
            absolute = urljoin(self.base, re.sub(r"[\t\n\r]", "", address.strip()))
            parts = urlsplit(absolute)
        except ValueError:
            return None
        if parts.scheme in ("http", "https") and parts.netloc:
            if not parts.query.isascii() and not is_unicode(self.charset):
                return parts._replace(query=encoded_query(parts.query, self.charset)).geturl()
            return absolute
        return absolute if not self.url and not parts.scheme else None

    @cached_property
    def base(self) -> str:
        """The address that relative references of the page are resolved against."""
        for row in self.rows("base"):
            href = self.attr(row, "href")
            if href and len(href) <= MAX_ADDRESS_CHARS:
                try:
                    return urljoin(self.url, href.strip())
                except ValueError:
                    break
        return self.url

    @cached_property
    def _origin(self) -> str:
        """Scheme and host of the base, which go before a path; "" where it is no web address."""
        try:
            parts = urlsplit(self.base)
        except ValueError:
            return ""
        return f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") and parts.netloc else ""

    # -- structure -----------------------------------------------------------------------------------------------------

    @cached_property
    def depth(self) -> Ints:
        """How many rows are above each row."""
        return self.by_spot([at.depth for at in self.spots])

    @cached_property
    def nodes(self) -> Ints:
        """Number of rows in each subtree."""
        return np.subtract(self.end, np.arange(len(self)), dtype=np.int32)

    @cached_property
    def fanout(self) -> Ints:
        """Number of children of each row."""
        return np.bincount(self.parent[1:], minlength=len(self)).astype(np.int32)

    @cached_property
    def _kin(self) -> NDArray[np.int64]:
        """Parent and tag of each row, as one number."""
        return self.parent.astype(np.int64) * len(self.tags) + self.tag

    @cached_property
    def nth(self) -> Ints:
        """The place of each row among its siblings of the same tag, from 1."""
        alike = self._kin
        order = np.argsort(alike, kind="stable")
        first = np.ones(len(self), dtype=bool)
        first[1:] = np.diff(alike[order]) != 0
        starts = np.flatnonzero(first)
        counted = np.arange(len(self)) - np.repeat(starts, np.diff(np.append(starts, len(self))))
        place = np.empty(len(self), dtype=np.int32)
        place[order] = counted + 1
        return place

    def children(self, row: int) -> list[int]:
        """The rows right below a row, in document order."""
        row = int(row)
        ends = self.end[row : int(self.end[row])].tolist()
        found, child = [], row + 1
        while child < ends[0]:
            found.append(child)
            child = ends[child - row]
        return found

    def numbered(self, row: int) -> dict[int, int]:
        """The rows right below a row, each with its place among those of the same tag, from 1."""
        often: dict[str, int] = {}
        found = {}
        for child in self.children(row):
            name = self.name(child)
            found[child] = often[name] = often.get(name, 0) + 1
        return found

    def ancestors(self, row: int) -> Iterator[int]:
        """The rows above a row, nearest first."""
        above = int(self.parent[row])
        while above >= 0:
            yield above
            above = int(self.parent[above])

    def path(self, row: int) -> str:
        """Where a row stands: `/html[1]/body[1]/div[2]`; `row_at` is the way back."""
        steps, kin = [], self._kin
        for i in (int(row), *self.ancestors(row)):
            place = np.count_nonzero(kin[max(0, self.parent[i]) : i + 1] == kin[i])
            steps.append(f"{self.name(i)}[{place}]")
        return "/" + "/".join(reversed(steps))

    def row_at(self, path: str) -> int | None:
        """The row at a path (`[1]` may be left out), or None where the page has no such row."""
        steps = [re.fullmatch(r"([^\[\]]+)(?:\[(\d+)\])?", step) for step in path.strip("/").split("/")]
        above, row = [0], None
        for step in steps:
            if step is None:
                return None
            name, place = step[1], int(step[2] or 1)
            row = next((i for i in above if self.nth[i] == place and self.name(i) == name), None)
            if row is None:
                return None
            above = self.children(row)
        return row

    # -- text ----------------------------------------------------------------------------------------------------------

    def text(self, row: int = 0) -> str:
        """The visible text of a subtree in document order; blocks are on lines of their own."""
        return self.text_of(int(self.text_at[row]), int(self.text_end[row]))

    def text_of(self, first: int, last: int) -> str:
        """The text of a range of chunks."""
        if last - first < 2:
            return self.chunks[first] if first < last else ""
        pieces: list[str] = []
        for i in range(first, last):
            if pieces:
                pieces.append(("", " ", "\n")[self.chunk_gap[i]])
            pieces.append(self.chunks[i])
        return "".join(pieces)

    @cached_property
    def chars(self) -> Ints:
        """Characters of visible text in each subtree (Wisdom's TLEN)."""
        return self.sum_chunks(np.fromiter(map(len, self.chunks), np.int64, len(self.chunks))).astype(np.int32)

    # -- aggregates: each is a difference of two prefix sums -----------------------------------------------------------

    def sum_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """For each row, the sum of a value of rows over its subtree."""
        sums = _prefix(values)
        return np.asarray(sums[self.end] - sums[:-1])

    def sum_chunks(self, values: NDArray[Any]) -> NDArray[Any]:
        """For each row, the sum of a value of chunks over its subtree's text."""
        sums = _prefix(values)
        return np.asarray(sums[self.text_end] - sums[self.text_at])


def _made_of(spots: Sequence[Spot]) -> list[tuple[Any, ...]]:
    """What each spot is made of, with the spot above it as its number."""
    number = {at: i for i, at in enumerate(spots)}
    return [(number[at.above] if at.above else -1, at.tag, at.cls, at.column, at.prop, at.hidden) for at in spots]


def _prefix(values: NDArray[Any]) -> NDArray[Any]:
    sums = np.zeros(len(values) + 1, dtype=np.result_type(values.dtype, np.int64))
    np.cumsum(values, out=sums[1:])
    return sums


def read(page: bytes | str, *, url: str = "", headers: Mapping[str, str] | None = None) -> TagTree:
    """Parses a page into columns; whatever the bytes are, the result is a tree (see its `problems`).

    >>> page = read(b"<title>T</title><ul><li>one<li><b>t</b>wo</ul>")
    >>> page.text(), page.path(5), page.row_at("/html/body/ul/li[2]")
    ('one\\ntwo', '/html[1]/body[1]/ul[1]/li[1]', 6)
    """
    header = {name.lower(): value for name, value in (headers or {}).items()}
    if isinstance(page, bytes):
        html, charset, problems = to_utf8(page, header.get("content-type", ""))
    else:
        html, charset, problems = page.encode("utf-8", "replace"), "str", ()  # a lone surrogate cannot be parsed
    if html.count(b"<") > CHECK_DEPTH_FROM:
        text, dropped = flatten(html.decode("utf-8"))
        if dropped:
            html = text.encode("utf-8", "replace")
            problems = (*problems, f"{dropped} tags nested deeper than {MAX_DEPTH} left out")
    html, cut = cut_attributes(html)
    if cut:
        problems = (*problems, f"{cut} tags with more than {MAX_ATTRIBUTES} attributes cut")
    columns = _walked(html)
    language = _language(columns, header.get("content-language", ""))
    parts = {part.name: getattr(columns, part.name) for part in fields(columns)}
    return TagTree(url=url, charset=charset, language=language, problems=problems, **parts)


Own = tuple[int, str | None, bool]  # what few rows have: the column of a cell, `itemprop`, attributes that hide it
# The parser's numbers: of text, the first of elements, the first of elements that it does not know (another on each page).
TEXT, ELEMENTS, UNKNOWN = 2, 6, 256
MAX_ADDRESS_CHARS = 8000  # RFC 9110 §4.1: servers and clients should take as many
# A path from the root as most links have it: what `urljoin` would put behind the host unchanged.
PLAIN_PATH = re.compile(r"/(?!/)[^\s?#;\x00-\x20]*(?:\?[^\s?#;\x00-\x20]+)?")
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


@dataclass(frozen=True, slots=True)
class _Columns:
    """What a walk takes down of a page: the columns of `TagTree` that do not come from its address and its bytes."""

    title: str
    data: Mapping[int, str]
    spots: tuple[Spot, ...]
    spot: Ints
    parent: Ints
    end: Ints
    text_at: Ints
    text_end: Ints
    chunks: tuple[str, ...]
    chunk_row: Ints
    chunk_gap: NDArray[np.int8]
    attributes: Mapping[int, Mapping[str, str | None]]


def _plain_columns(html: bytes) -> _Columns:
    """The columns of a page: the walk, and what follows from it for all rows at once."""
    walk = _Walk(html)
    end = _ends(walk.parent)
    if rules := style_rules(html):
        _drop_hidden(walk, rules, end)
    parent, chunk_row = _ints(walk.parent), _ints(walk.chunk_row)
    spots = tuple(dict.fromkeys(walk.spots))
    number = dict(zip(spots, range(len(spots)), strict=True))
    spot = np.fromiter(map(number.__getitem__, walk.spots), np.int32, len(walk.spots))
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
    return _Columns(
        title=walk.title,
        data=walk.data,
        spots=spots,
        spot=spot,
        parent=parent,
        end=end,
        text_at=text_at,
        text_end=text_end,
        chunks=tuple(walk.chunks),
        chunk_row=chunk_row,
        chunk_gap=gap[:-1],
        attributes=walk.attributes,
    )


def _compiled_columns(html: bytes) -> _Columns:
    """The same from the compiled walk, which reads the parser's nodes where they are."""
    root = _parsed(html)
    if root is None or compiled is None:
        return _plain_columns(html)
    walked = compiled.walk(root.mem_id, Spot)
    if rules := style_rules(html):
        spots, ends, chunks, rows = walked[2], np.frombuffer(walked[5], np.int32), walked[8], walked[9]
        spot_of_row = [spots[number] for number in np.frombuffer(walked[3], np.int32).tolist()]
        hidden = _hidden_rows(rules, walked[11], spot_of_row, ends)
        if _can_go(hidden, chunks, np.frombuffer(rows, np.int32).tolist()):
            walked = compiled.walk(root.mem_id, Spot, hidden.tobytes())
    title, data, spots, spot, parent, end, text_at, text_end, chunks, chunk_row, gap, attributes = walked[:12]
    gaps, spaced = np.frombuffer(gap, np.int8), np.frombuffer(walked[12], np.int8)
    if ((gaps[1:] == SPACED) & (spaced[1:] & 1 == 0) & (spaced[:-1] & 2 == 0)).any():
        row_spots = [spots[number] for number in np.frombuffer(spot, np.int32).tolist()]
        rows_of = [np.frombuffer(column, np.int32).tolist() for column in (chunk_row, walked[13], parent)]
        glue_inside_words(gaps, spaced, chunks, rows_of[0], rows_of[1], rows_of[2], row_spots)
    return _Columns(
        title=title,
        data=data,
        spots=spots,
        spot=np.frombuffer(spot, np.int32),
        parent=np.frombuffer(parent, np.int32),
        end=np.frombuffer(end, np.int32),
        text_at=np.frombuffer(text_at, np.int32),
        text_end=np.frombuffer(text_end, np.int32),
        chunks=chunks,
        chunk_row=np.frombuffer(chunk_row, np.int32),
        chunk_gap=gaps,
        attributes=attributes,
    )


def _fits() -> bool:
    """Whether the compiled walk is there, was made for this version of the parser, and reads a small page as the plain one does."""
    if compiled is None or parser_version not in PARSER_VERSIONS:
        return False
    compiled.bind(lexbor.__file__, *CELLS, DIALOG)
    plain, fast = _plain_columns(SMALL_PAGE), _compiled_columns(SMALL_PAGE)
    return all(_same(getattr(plain, part.name), getattr(fast, part.name)) for part in fields(_Columns))


def _same(plain: Any, fast: Any) -> bool:
    if isinstance(plain, np.ndarray):
        return np.array_equal(plain, fast)
    if isinstance(plain, tuple) and plain and isinstance(plain[0], Spot):
        return _made_of(plain) == _made_of(fast)
    return bool((dict(fast.items()) if isinstance(plain, dict) else fast) == plain)


SMALL_PAGE = b"""<!doctype html><html lang=en><title> A  page </title><script type="application/json">{"a": 1}</script><body class=x>
<p>One <b> two</b><i>t</i>hree <!-- no --> <em>f\xc3\xa4ur </em> </p><table><tr><th>a<td itemprop=b>c<td>d</table><pre>
 e  f
</pre><style>.s { display: none }</style><i class=s>s</i>
<dialog>g</dialog><p>w<span>or</span>d of a page</p><a href="/h" hidden>i</a><p style="Display: none">j<svg><a xlink:href=k /></svg><unknown-tag>l"""


def _drop_hidden(walk: _Walk, rules: tuple[StyleRule, ...], end: Ints) -> None:
    """Takes out the texts of rows that the page's style sheets hide."""
    hidden = _hidden_rows(rules, walk.attributes, walk.spots, end)
    if not _can_go(hidden, walk.chunks, walk.chunk_row):
        return
    kept = [i for i, row in enumerate(walk.chunk_row) if not hidden[row]]
    walk.chunks = [walk.chunks[i] for i in kept]
    walk.chunk_row = [walk.chunk_row[i] for i in kept]
    walk.rows_before = [walk.rows_before[i] for i in kept]
    walk.spaced = bytearray(walk.spaced[i] for i in kept)


def _hidden_rows(
    rules: tuple[StyleRule, ...], attributes: Mapping[int, Mapping[str, str | None]], spots: Sequence[Spot], end: Ints
) -> NDArray[np.bool_]:
    """For each row, whether the page's style sheets hide it; `spots` are those of the rows."""
    hidden = np.zeros(len(end), dtype=bool)
    known: dict[tuple[str, str | None, str | None], bool] = {}
    # only rows that a hiding rule names by a class, or by its id, are looked at
    hiding = [rule for rule in rules if rule.hides]
    classes = frozenset(name for rule in hiding for name in rule.classes)
    ids = frozenset(name for rule in hiding if not rule.classes for name in rule.ids)
    is_named = {at: not classes.isdisjoint(at.cls.split()) for at in set(spots)}
    for row, at in enumerate(spots):
        if not (is_named[at] or ids) or hidden[row]:
            continue
        found = attributes.get(row, {})
        if not is_named[at] and found.get("id") not in ids:
            continue
        key = (at.tag, found.get("class"), found.get("id"))
        if key not in known:
            known[key] = is_hidden(rules, key[0], found)
        if known[key] and "display" not in (found.get("style") or ""):
            hidden[row : end[row]] = True
    return hidden


def _can_go(hidden: NDArray[np.bool_], chunks: Sequence[str], chunk_row: Sequence[int]) -> bool:
    """Whether texts are hidden, and not most of the page: a script will show them."""
    kept = [len(text) for text, row in zip(chunks, chunk_row, strict=True) if not hidden[row]]
    return len(kept) < len(chunks) and 2 * sum(kept) >= sum(map(len, chunks))


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


def _language(columns: _Columns, header: str) -> str:
    """The language that the page says it is in: <html lang>, then <meta>, then the header."""
    html = columns.attributes.get(0, {})
    said = html.get("lang") or html.get("xml:lang")
    if not said:
        is_meta = np.array([at.tag == "meta" for at in columns.spots], dtype=bool)
        for row in np.flatnonzero(is_meta[columns.spot]).tolist():
            found = columns.attributes.get(row, {})
            if (found.get("http-equiv") or "").lower() == "content-language":
                said = found.get("content")
                break
    primary = re.match(r"\s*([A-Za-z]{2,3})\b", said or header or "")
    return primary[1].lower() if primary else ""


_walked = _compiled_columns if _fits() else _plain_columns

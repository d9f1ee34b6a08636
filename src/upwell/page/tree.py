"""A page as columns: arrays in document order in which every subtree, and every subtree's text, is a range.

    row       an element; row 0 is <html>
    subtree   the rows i … end[i]
    chunk     a run of visible text; the chunks of a subtree are text_at[i] … text_end[i]
    gap       what stands before a chunk: nothing (GLUED), white space (SPACED), or the edge of a block (BROKEN)

DESIGN §3. This is the only module that knows the HTML parser, and no parser object outlives `read`.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import urljoin, urlsplit

import numpy as np
from numpy.typing import NDArray
from selectolax.lexbor import LexborHTMLParser, LexborNode

from upwell.page.charset import decode
from upwell.page.nesting import CHECK_DEPTH_FROM, MAX_DEPTH, flatten

__all__ = ["BROKEN", "GLUED", "SPACED", "Ints", "TagTree", "read"]

Ints = NDArray[np.int32]
GLUED, SPACED, BROKEN = range(3)

# Never shown as text (HTML standard §15.3.1 "hidden elements", and the fallbacks of embedded content).
UNSEEN = frozenset(
    [
        "area",
        "audio",
        "base",
        "canvas",
        "datalist",
        "iframe",
        "link",
        "meta",
        "metadata",
        "desc",
        "noembed",
        "noframes",
        "noscript",
        "object",
        "param",
        "rp",
        "script",
        "source",
        "style",
        "template",
        "title",
        "track",
        "video",
    ]
)
# Elements that change how a piece of a word looks: text on both sides of them may be one word.
FORMATTING = frozenset(
    [
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "mark",
        "nobr",
        "q",
        "s",
        "samp",
        "small",
        "strike",
        "strong",
        "sub",
        "sup",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
INLINE = FORMATTING | frozenset(
    ["a", "button", "data", "img", "input", "label", "meter", "output", "picture", "select", "span", "svg", "time"]
)
KEEPS_SPACE = frozenset(("pre", "textarea", "listing", "xmp", "plaintext"))


@dataclass(frozen=True, eq=False)
class TagTree:
    """One parsed page; built by `read`, never changed, cheap to pickle."""

    url: str
    charset: str
    language: str  # primary subtag, lower case; "" where the page does not say
    title: str
    tags: tuple[str, ...]
    classes: tuple[str, ...]  # classes[0] is "" (no class)
    tag: Ints
    cls: Ints
    parent: Ints  # -1 for row 0
    depth: Ints
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
        return len(self.tag)

    # -- names and attributes ------------------------------------------------------------------------------------------

    def name(self, row: int) -> str:
        """The tag name of a row."""
        return self.tags[int(self.tag[row])]

    def attr(self, row: int, name: str) -> str | None:
        """An attribute's value: None where it is absent, "" where it is empty."""
        found = self.attributes.get(int(row))
        if found is None or name not in found:
            return None
        return found[name] or ""

    def rows(self, *names: str) -> Ints:
        """All rows with one of these tag names, in document order."""
        return np.flatnonzero(_tagged(self.tags, self.tag, names)).astype(np.int32)

    def links(self, row: int = 0) -> Iterator[tuple[int, str]]:
        """Row and absolute address of every web link inside a subtree, in document order."""
        for link in self.rows("a", "area"):
            if row <= link < self.end[row]:
                address = self.resolve(self.attr(link, "href"))
                if address is not None:
                    yield int(link), address

    def resolve(self, address: str | None) -> str | None:
        """A reference on this page as an absolute http(s) address (<base> counts), or None where it is not one."""
        if address is None:
            return None
        try:
            absolute = urljoin(self.base, re.sub(r"[\t\n\r]", "", address.strip()))
            parts = urlsplit(absolute)
        except ValueError:
            return None
        if parts.scheme in ("http", "https") and parts.netloc:
            return absolute
        return absolute if not self.url and not parts.scheme else None

    @cached_property
    def base(self) -> str:
        """The address that relative references of the page are resolved against."""
        for row in self.rows("base"):
            href = self.attr(row, "href")
            if href:
                try:
                    return urljoin(self.url, href.strip())
                except ValueError:
                    break
        return self.url

    # -- structure -----------------------------------------------------------------------------------------------------

    @cached_property
    def nodes(self) -> Ints:
        """Number of rows in each subtree."""
        return np.subtract(self.end, np.arange(len(self)), dtype=np.int32)

    @cached_property
    def fanout(self) -> Ints:
        """Number of children of each row."""
        return np.bincount(self.parent[1:], minlength=len(self)).astype(np.int32)

    @cached_property
    def nth(self) -> Ints:
        """The place of each row among its siblings of the same tag, from 1."""
        order = np.lexsort((np.arange(len(self)), self.tag, self.parent))
        parent, tag = self.parent[order], self.tag[order]
        first = np.ones(len(self), dtype=bool)
        first[1:] = (parent[1:] != parent[:-1]) | (tag[1:] != tag[:-1])
        starts = np.flatnonzero(first)
        counted = np.arange(len(self)) - np.repeat(starts, np.diff(np.append(starts, len(self))))
        place = np.empty(len(self), dtype=np.int32)
        place[order] = counted + 1
        return place

    def children(self, row: int) -> list[int]:
        """The rows right below a row, in document order."""
        found, child, stop = [], int(row) + 1, int(self.end[row])
        while child < stop:
            found.append(child)
            child = int(self.end[child])
        return found

    def ancestors(self, row: int) -> Iterator[int]:
        """The rows above a row, nearest first."""
        above = int(self.parent[row])
        while above >= 0:
            yield above
            above = int(self.parent[above])

    def path(self, row: int) -> str:
        """Where a row stands: `/html[1]/body[1]/div[2]`; `row_at` is the way back."""
        steps = [f"{self.name(i)}[{self.nth[i]}]" for i in (int(row), *self.ancestors(row))]
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
        text, charset, problems = decode(page, header.get("content-type", ""))
    else:
        text, charset, problems = page, "str", ()
    if text.count("<") > CHECK_DEPTH_FROM:
        text, dropped = flatten(text)
        if dropped:
            problems = (*problems, f"{dropped} tags nested deeper than {MAX_DEPTH} left out")
    return _columns(text, url, charset, header.get("content-language", ""), problems)


TEXT = 2  # the parser's number for text
PLAIN, SHAPES, HIDES, OPENS = range(4)  # what a tag means to the walk: nothing, FORMATTING, UNSEEN, <dialog>


class _Walk:
    """One walk over the parser's nodes in document order, taking down what only they know."""

    def __init__(self, html: bytes) -> None:
        self.tags: list[str] = []
        self.tag: list[int] = []
        self.classes: list[str] = []
        self.parent: list[int] = []
        self.attributes: dict[int, Mapping[str, str | None]] = {}
        self.data: dict[int, str] = {}
        self.title = ""
        self.chunks: list[str] = []
        self.chunk_row: list[int] = []
        self.rows_before: list[int] = []  # how many rows had begun when the chunk came
        self.unseen: dict[int, str] = {}  # rows whose text is not shown, with their names
        self.hidden: list[int] = []  # rows that their own attributes hide
        self.space_before: list[int] = []  # formatting rows with white space before them, in a text of its own …
        self.space_inside: list[int] = []  # … or as the last thing in them
        root = LexborHTMLParser(html).root
        if root is not None:
            self._walk(root)

    def _walk(self, root: LexborNode) -> None:
        tag, classes, parent, attributes = self.tag, self.classes, self.parent, self.attributes
        chunks, chunk_row, rows_before, unseen = self.chunks, self.chunk_row, self.rows_before, self.unseen
        known: dict[int, tuple[int, int]] = {}  # the parser's number of a tag: ours, and what the tag means here
        row_of: dict[int, int] = {}
        row = -1
        for node in root.traverse(include_text=True, skip_empty=True):
            number = node.tag_id
            above = node.parent
            if number == TEXT:
                inside = row_of[above.mem_id]  # type: ignore[union-attr] # text has a parent
                if inside in unseen:
                    self._unseen(inside, node)
                else:
                    chunks.append(node.text_content or "")
                    chunk_row.append(inside)
                    rows_before.append(row + 1)
                continue
            if number not in known:
                known[number] = self._named(node.tag or "-")
            ours, means = known[number]
            if ours < 0:
                continue
            row += 1
            row_of[node.mem_id] = row
            parent.append(row_of.get(above.mem_id, -1) if above is not None else -1)
            tag.append(ours)
            found = node.attributes
            if found:
                attributes[row] = found
                classes.append(found.get("class") or "")
                if ("style" in found or "hidden" in found) and _hidden(found):
                    self.hidden.append(row)
            else:
                classes.append("")
            if means:
                if means == SHAPES:
                    before, last = node.prev, node.last_child
                    if before is not None and before.is_empty_text_node:
                        self.space_before.append(row)
                    if last is not None and last.is_empty_text_node:
                        self.space_inside.append(row)
                elif means == HIDES:
                    unseen[row] = self.tags[ours]
                elif "open" not in found:
                    self.hidden.append(row)

    def _named(self, name: str) -> tuple[int, int]:
        """Our number of a tag that was not met before, and what it means here; -1 for comments and processing instructions."""
        if name[0] == "-":
            return -1, PLAIN
        self.tags.append(name)
        means = SHAPES if name in FORMATTING else HIDES if name in UNSEEN else OPENS if name == "dialog" else PLAIN
        return len(self.tags) - 1, means

    def _unseen(self, row: int, node: LexborNode) -> None:
        if self.unseen[row] == "script":
            if "json" in (self.attributes.get(row, {}).get("type") or "").lower():
                self.data[row] = node.text_content or ""
        elif self.unseen[row] == "title" and not self.title:
            self.title = " ".join((node.text_content or "").split())


def _columns(text: str, url: str, charset: str, language: str, problems: tuple[str, ...]) -> TagTree:
    """The columns of a text: the walk, and what follows from it for all rows at once."""
    walk = _Walk(text.encode("utf-8", "replace"))  # a lone surrogate cannot be parsed
    tags, tag = tuple(walk.tags), np.array(walk.tag, dtype=np.int32)
    raw_classes, raw_cls = _numbered(walk.classes)
    classes, cls_of = _numbered(["", *(" ".join(name.split()) for name in raw_classes)])
    rows = len(tag)
    end = _ends(walk.parent)
    depth: Ints = np.arange(rows, dtype=np.int32) - np.cumsum(
        np.bincount(end, minlength=rows + 1)[:rows], dtype=np.int32
    )

    chunk_row = np.array(walk.chunk_row, dtype=np.int32)
    edge, keeps_space = _tables(tags)
    unseen = _below([*walk.unseen, *walk.hidden], end)[chunk_row]
    keeps = _below(np.flatnonzero(keeps_space[tag]).tolist(), end)[chunk_row]
    chunks = [" ".join(chunk.split()) for chunk in walk.chunks]
    for i in np.flatnonzero(keeps).tolist():
        chunks[i] = chunks[i] and walk.chunks[i].strip("\n")
    for i in np.flatnonzero(unseen).tolist():
        chunks[i] = ""
    kept = [i for i, chunk in enumerate(chunks) if chunk]
    chunk_row = chunk_row[kept]
    own = np.zeros(rows + 1, dtype=np.int32)
    np.cumsum(np.bincount(chunk_row, minlength=rows), out=own[1:])
    began = np.array(walk.rows_before, dtype=np.int32)[kept]
    text_at = np.cumsum(np.bincount(began, minlength=rows + 1)[:rows], dtype=np.int32)
    text_end: Ints = text_at + own[end] - own[:-1]

    # What stands before chunk c is the strongest of the edges there: a row that begins has text_at c, one that ends text_end c.
    gap = np.zeros(len(kept) + 1, dtype=np.int8)
    np.maximum.at(gap, text_at, edge[tag])
    np.maximum.at(gap, text_end, edge[tag])
    for side, here in ((0, gap[:-1]), (-1, gap[1:])):
        np.maximum(here, np.array([chunk[side].isspace() for chunk in walk.chunks], dtype=np.int8)[kept], out=here)
    for at in (text_at[walk.space_before], text_end[walk.space_inside]):
        gap[at] = np.maximum(gap[at], SPACED)
    return TagTree(
        url=url,
        charset=charset,
        language=_language(walk, language),
        title=walk.title,
        tags=tags,
        classes=classes,
        tag=tag,
        cls=cls_of[1:][raw_cls],
        parent=np.array(walk.parent, dtype=np.int32),
        depth=depth,
        end=end,
        text_at=text_at,
        text_end=text_end,
        chunks=tuple(filter(None, chunks)),
        chunk_row=chunk_row,
        chunk_gap=gap[:-1],
        attributes=walk.attributes,
        data=walk.data,
        problems=problems,
    )


@lru_cache(maxsize=1000)
def _tables(tags: tuple[str, ...]) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """For each tag of a page: what its edge does to the text around it, and whether it keeps white space."""
    edge = [GLUED if name in FORMATTING else SPACED if name in INLINE else BROKEN for name in tags]
    return np.array(edge, dtype=np.int8), np.array([name in KEEPS_SPACE for name in tags], dtype=bool)


def _numbered(names: list[str]) -> tuple[tuple[str, ...], Ints]:
    """The distinct names in order of appearance, and each name as its number among them."""
    distinct = tuple(dict.fromkeys(names))
    number = dict(zip(distinct, range(len(distinct)), strict=True))
    return distinct, np.array([number[name] for name in names], dtype=np.int32)


def _tagged(tags: tuple[str, ...], tag: Ints, names: Collection[str]) -> NDArray[np.bool_]:
    """Which rows have one of these names."""
    return np.array([name in names for name in tags], dtype=bool)[tag]


def _ends(parent: Sequence[int]) -> Ints:
    """One past the last row of each subtree: from the last row on, a row ends where its last child ends."""
    end = list(range(1, len(parent) + 1))
    for row in range(len(parent) - 1, 0, -1):
        above = parent[row]
        if end[row] > end[above]:
            end[above] = end[row]
    return np.array(end, dtype=np.int32)


def _below(marked: Sequence[int], end: Ints) -> NDArray[np.bool_]:
    """Which rows are in the subtree of a marked row."""
    inside = np.zeros(len(end), dtype=bool)
    for row in marked:
        inside[row : end[row]] = True
    return inside


def _hidden(found: Mapping[str, str | None]) -> bool:
    """Whether an element's own attributes hide it; style sheets are not read."""
    if "hidden" in found:
        return True
    style = found.get("style")
    if style is None or ("none" not in style and "hidden" not in style):
        return False
    plain = style.replace(" ", "").lower()
    return "display:none" in plain or "visibility:hidden" in plain


def _language(walk: _Walk, header: str) -> str:
    """The language that the page says it is in: <html lang>, then <meta>, then the header."""
    html = walk.attributes.get(0, {})
    said = html.get("lang") or html.get("xml:lang")
    if not said:
        for row, found in walk.attributes.items():
            if walk.unseen.get(row) == "meta" and (found.get("http-equiv") or "").lower() == "content-language":
                said = found.get("content")
                break
    primary = re.match(r"\s*([A-Za-z]{2,3})\b", said or header or "")
    return primary[1].lower() if primary else ""

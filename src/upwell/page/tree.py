"""Parse a page into columns (`page.tag_tree`): decode the bytes, bound the cost of parsing, parse, and walk the parser's tree once.

The walk is native code if that was built, else Python. Only this module uses the HTML parser, and no parser object outlives `read`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from selectolax import __version__ as parser_version
from selectolax import lexbor
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from upwell.native import PARSER_VERSIONS, compiled
from upwell.page.charset import to_utf8
from upwell.page.path_signatures import BROKEN, GLUED, SHOWN, SPACED, TAG_DISPLAY, UNSHOWN, PathSignature
from upwell.page.tag_tree import Ints, TagTree, attribute_by_row, signature_parts
from upwell.page.visibility import StyleRules, kept_chunks, style_rules

__all__ = [
    "BROKEN",
    "CHECK_DEPTH_FROM",
    "GLUED",
    "MAX_ATTRIBUTES",
    "MAX_DEPTH",
    "SPACED",
    "Ints",
    "TagTree",
    "glue_words",
    "limit_attributes",
    "limit_names",
    "limit_nesting",
    "read",
]


def read(
    page: bytes | str,
    *,
    url: str = "",
    headers: Mapping[str, str] | None = None,
    reveals: bool = False,
) -> TagTree:
    """Parse a page into columns. Never fails: problems with the bytes are listed in `TagTree.problems`.

    With `reveals`, the text of hidden elements and of <noscript> is kept: tabs, folded answers, posts for browsers without scripts.
    `TagTree.is_hidden_chunk` tells which it is, `TagTree.without_hidden_text` leaves it out.

    >>> page = read(b"<title>T</title><ul><li>one<li><b>t</b>wo</ul>")
    >>> page.text(), page.path(5), page.row_at("/html/body/ul/li[2]")
    ('one\\ntwo', '/html[1]/body[1]/ul[1]/li[1]', 6)
    """
    header = {name.lower(): value for name, value in headers.items()} if headers else {}
    if isinstance(page, bytes):
        html, charset, problems = to_utf8(page, header.get("content-type", ""))
    else:
        html, charset, problems = page.encode("utf-8", "replace"), "str", ()  # the parser rejects lone surrogates
    if len(html) > CHECK_DEPTH_FROM * MIN_TAG_BYTES and _count_tags(html) > CHECK_DEPTH_FROM:
        whole = html.decode("utf-8")
        text, dropped = limit_nesting(limit_names(whole))
        if dropped:
            problems = (*problems, f"{dropped} tags nested deeper than {MAX_DEPTH} left out")
        if text is not whole:
            html = text.encode("utf-8", "replace")
        del whole, text
    html, cut = limit_attributes(html)
    if cut:
        problems = (*problems, f"{cut} tags with more than {MAX_ATTRIBUTES} attributes cut")
    columns = _columns_of(html, _parser_limit(html), reveals)
    if (parsed := columns.pop("parsed")) < len(html):
        problems = (*problems, f"cut after {parsed:,} of {len(html):,} bytes: its tags would need too much memory")
    language = _language(columns, header.get("content-language", ""))
    return TagTree.from_columns(columns, url=url, charset=charset, language=language, problems=problems)


def _count_tags(html: bytes) -> int:
    """Return the number of "<" in a page; five times as fast as `bytes.count` where there are many."""
    return int(np.count_nonzero(np.frombuffer(html, np.uint8) == ord("<")))


# Nesting. Chromium stops nesting at 512 levels. The parser used here has no limit, and the cost of a tag grows with its
# depth: 100,000 nested <div> take 23 s instead of 0.05.
MAX_DEPTH = 512
# Formatting elements that were never closed are opened again in every following block (HTML standard, "reconstruct the
# active formatting elements"): a page of <p><font a=1><p><font a=2>… grows with the square of its size.
MAX_FORMATTING = 32
# Pages with at most this many tags are not checked: their worst nesting is parsed in a second.
CHECK_DEPTH_FROM = 20_000
NAMES_BLOCK_CHARS = 200_000  # characters of a page whose tag names are listed at once
OTHER_TAG = "unknown"  # name of elements that are too many to be distinguished
VOID = "area base br col embed hr img input link meta param source track wbr"
# Elements that the parser closes implicitly: many open ones are siblings, not nested.
IMPLICITLY_CLOSED = "a body dd dt head html li optgroup option p rb rp rt tbody td tfoot th thead tr"
REOPENED = frozenset(["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"])
RAW = "script|style|textarea|title"
UNCOUNTED = frozenset([*RAW.split("|"), *VOID.split(), *IMPLICITLY_CLOSED.split()])
# Text that contains no tags: a comment, or the content of a raw text element.
TEXTS = re.compile(rf"<(?:!--.*?(?:-->|\Z)|({RAW})(?![^\s/<>])[^<>]*>?.*?(?:</\1|\Z))", re.I | re.S)
NAME = re.compile(r"<(/?[a-zA-Z][^\s/<>]*)")
TAG = re.compile(rf"{TEXTS.pattern}|{NAME.pattern}[^<>]*>?", re.I | re.S)


# Distinct tag names of a page from which on further names are OTHER_TAG: the parser finds a name by comparing it with one in 128 of those
# before it, so that 2 MB of distinct names take seconds. Real pages have at most a few hundred.
MAX_TAG_NAMES = 2000


def limit_names(text: str) -> str:
    """Rename the tags whose names are not among the first MAX_TAG_NAMES of a page.

    >>> limit_names("".join(f"<t{i}>x</t{i}>" for i in range(2001)))[-36:]
    '<t1999>x</t1999><unknown>x</unknown>'
    """
    names: set[str] = set()
    for block in _names_in(text):
        names.update(block)
    if len(names) <= MAX_TAG_NAMES:
        return text
    names.clear()

    def limited(tag: re.Match[str]) -> str:
        if not tag[2]:
            return tag[0]
        name = tag[2].strip("/").lower()
        if name in names or len(names) < MAX_TAG_NAMES:
            names.add(name)
            return tag[0]
        begin, end = tag.start(2) - tag.start(), tag.end(2) - tag.start()
        return f"{tag[0][:begin]}{'/' * tag[2].startswith('/')}{OTHER_TAG}{tag[0][end:]}"

    return TAG.sub(limited, text)


def limit_nesting(text: str) -> tuple[str, int]:
    """Drop tags nested deeper than a browser would nest them; return the text and the number of dropped tags."""
    if not _is_too_deep(text):
        return text, 0
    kept: list[str] = []
    at = dropped = 0
    depth = {True: 0, False: 0}  # formatting elements, other elements
    over = {True: 0, False: 0}
    limit = {True: MAX_FORMATTING, False: MAX_DEPTH}
    for tag in TAG.finditer(text):
        name = (tag[2] or "").lower()
        kind = name.strip("/") in REOPENED
        if not _depth_change(name, kind):
            continue
        if name[0] != "/":
            if depth[kind] < limit[kind]:
                depth[kind] += 1
                continue
            over[kind] += 1
        elif over[kind]:
            over[kind] -= 1
        else:
            depth[kind] = max(0, depth[kind] - 1)
            continue
        kept.append(text[at : tag.start()])
        at = tag.end()
        dropped += 1
    kept.append(text[at:])
    return "".join(kept), dropped


def _names_in(text: str) -> Iterator[list[str]]:
    """Yield the names of the tags of a text, those of a part at a time: the list of all would need ten times the text."""
    at = 0
    while at < len(text):
        end = text.rfind("<", at + 1, at + NAMES_BLOCK_CHARS) if at + NAMES_BLOCK_CHARS < len(text) else len(text)
        if end < 0:
            end = text.find("<", at + NAMES_BLOCK_CHARS)
            end = len(text) if end < 0 else end
        yield NAME.findall(text, at, end)
        at = end


def _is_too_deep(text: str) -> bool:
    """Return True if any tag is nested too deep; one vectorised pass, enough for most large pages."""
    numbers: dict[str, int] = {}
    blocks: list[Ints] = []
    for block in _names_in(TEXTS.sub(" ", text)):
        for name in block:
            numbers.setdefault(name, len(numbers))
        blocks.append(np.fromiter(map(numbers.__getitem__, block), np.int32, len(block)))
    names = np.concatenate(blocks) if blocks else np.zeros(0, np.int32)
    for formatting, limit in ((True, MAX_FORMATTING), (False, MAX_DEPTH)):
        steps = np.array([_depth_change(name.lower(), formatting) for name in numbers], np.int32)
        depth = np.cumsum(steps[names] if len(names) else names, dtype=np.int32)
        lowest = np.minimum(np.minimum.accumulate(depth), 0)  # end tags without a start tag do not count
        if (depth - lowest).max(initial=0) > limit:
            return True
    return False


def _depth_change(name: str, formatting: bool) -> int:
    """Return what a tag adds to the depth of formatting elements, or of other elements."""
    bare = name.strip("/")
    if not bare or bare in UNCOUNTED or (bare in REOPENED) != formatting:
        return 0
    return -1 if name[0] == "/" else 1


# Attributes. The parser compares each attribute of a tag with all attributes before it, so tags with thousands are cut first.

MAX_ATTRIBUTES = 1000  # attributes of a tag; authored pages have at most a few dozen; 1,000 cost the parser 4 ms
LONG_TAG_BYTES = 2 * MAX_ATTRIBUTES  # shortest tag with more than MAX_ATTRIBUTES attributes
# A tag up to its end; quotes count only after an equals sign, as in the HTML standard. No backtracking, so linear time.
LONG_TAG = re.compile(rb"""<!--|<[a-zA-Z](?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+""")
# Elements whose content contains no tags.
RAW_TEXT = re.compile(rb"<(script|style|textarea|title|xmp|iframe|noembed|noframes)(?![^\s/>])", re.I)
# White space and slashes, and the attribute that follows them, if any; its name is the group.
ATTRIBUTE = re.compile(rb"""[\s/]++(?:([^\s/>=]++)(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?+)?+""")


def limit_attributes(html: bytes) -> tuple[bytes, int]:
    """Cut each tag to at most MAX_ATTRIBUTES attributes; return the page and the number of tags that were cut.

    >>> page, cut = limit_attributes(b"<p id=a>x</p><div " + b" ".join(b"a%d='>'" % i for i in range(5000)) + b">y</div>")
    >>> cut, page.count(b"="), page[-8:]
    (1, 1001, b'>y</div>')
    >>> limit_attributes(b"<script>if (a<b) { " + b"x y " * 5000 + b"}</script>")[1]
    0
    """
    if compiled is not None and not compiled.has_crowded_tag(html, MAX_ATTRIBUTES):
        return html, 0
    return _cut_long_tags(html)


def _cut_long_tags(html: bytes) -> tuple[bytes, int]:
    pieces: list[bytes] = []
    done = cut = position = 0
    while (tag := LONG_TAG.search(html, position)) is not None:
        position = _end_of_text(html, tag)
        if tag.end() - tag.start() < LONG_TAG_BYTES:
            continue
        attributes = (match for match in ATTRIBUTE.finditer(html, tag.start(), tag.end()) if match[1])
        for number, attribute in enumerate(attributes, 1):
            if number == MAX_ATTRIBUTES:
                pieces.append(html[done : attribute.end()])
                done = tag.end()
                cut += 1
                break
    return (b"".join([*pieces, html[done:]]) if cut else html), cut


def _end_of_text(html: bytes, tag: re.Match[bytes]) -> int:
    """Return where the next tag may begin: after a comment, or after the content of a raw text element."""
    if tag[0] == b"<!--":
        end = html.find(b"-->", tag.end())
        return len(html) if end < 0 else end
    raw = RAW_TEXT.match(tag[0])
    if raw is None:
        return tag.end()
    closing = re.compile(rb"</" + raw[1], re.I).search(html, tag.end())
    return closing.start() if closing else len(html)


# Markup inside words, as in `<span>Pyth</span>on`, which a browser shows without a gap.
#
# Elements that only change the look of letters never separate words (`path_signatures.FORMATTING`). A span or a link may be a badge or a
# button that a style sheet moves away from the preceding text, so it joins only inside running text, and only before a lower-case letter.

STARTS_SPACED, ENDS_SPACED = 1, 2  # bits of `spaced`: the text of a chunk begins or ends with white space


def glue_words(
    gap: NDArray[np.int8],
    spaced: NDArray[np.int8],
    chunks: Sequence[str],
    chunk_row: Sequence[int],
    rows_before: Sequence[int],
    parent: Sequence[int],
    signatures: Sequence[PathSignature],
) -> None:
    """Set the gap to GLUED where a word continues across the edge of a span or link; `signatures` has one entry per row."""
    if len(chunks) < 2:
        return
    is_shown_without_space = (spaced[1:] & STARTS_SPACED == 0) & (spaced[:-1] & ENDS_SPACED == 0)
    for c in (np.flatnonzero((gap[1:] == SPACED) & is_shown_without_space) + 1).tolist():
        left, right = chunks[c - 1][-1], chunks[c][0]
        if not (left.isalpha() and right.isalpha()) or right.isupper():
            continue
        before, after, begun = chunk_row[c - 1], chunk_row[c], rows_before[c] - rows_before[c - 1]
        ends_mark = parent[before] == after and not begun and signatures[before].marks
        begins_mark = parent[after] == before and begun == 1 and signatures[after].marks
        if begins_mark:  # an element at the end of a text may be a badge
            begins_mark = c + 1 < len(chunks) and chunk_row[c + 1] == before and gap[c + 1] != BROKEN
        if ends_mark or begins_mark:
            gap[c] = GLUED


# The walk.

MIN_TAG_BYTES = 3
PRIMARY = re.compile(r"\s*([A-Za-z]{2,3})\b")  # primary subtag of a language tag
Rare = tuple[
    int, str | None, bool
]  # properties that few rows have: column of a cell, `itemprop`, hidden by an attribute
# Tag numbers of the parser: text, first element, first unknown element (these are numbered anew on each page).
TEXT, ELEMENTS, UNKNOWN = 2, 6, 256
# Distinct paths of a page from which on classes, columns and `itemprop` no longer distinguish paths, and elements unknown to the parser are
# all OTHER_TAG. A path needs a kilobyte. Real pages have up to 5,200.
MAX_SIGNATURES = 6000
MAX_CACHED_SIGNATURES = 50_000  # signatures that are cached across pages
Key = tuple[
    PathSignature | None, int, str | None, Rare | None
]  # parent's signature, tag number, class, rare properties
_signature_cache: dict[object, PathSignature] = {}


def _tag_number(name: str) -> int:
    return LexborHTMLParser("").create_node(name).tag_id


CELLS, DIALOG = (_tag_number("td"), _tag_number("th")), _tag_number("dialog")
SPECIAL = frozenset([*CELLS, DIALOG])


def _parse(html: bytes) -> LexborNode | None:
    """Return the root of a page. Parser events are off: they make each <option> visit all options before it (8,000: 0.26 s, not 0.003)."""
    return LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS).root


class _Walk:
    """One walk over the parser's nodes in document order; collects what only the nodes know."""

    def __init__(self, html: bytes, reveals: bool = False) -> None:
        self.reveals = reveals
        self.signatures: list[PathSignature] = []  # of each row
        self.parent: list[int] = []
        self.attributes: dict[int, Mapping[str, str | None]] = {}
        self.data: dict[int, str] = {}
        self.sheets: dict[int, str] = {}  # the texts of <style> rows
        self.title = ""
        self.chunks: list[str] = []
        self.chunk_row: list[int] = []
        self.rows_before: list[int] = []  # rows that had begun before each chunk
        self.spaced = bytearray()  # for each chunk, STARTS_SPACED | ENDS_SPACED
        self.space_before: list[int] = []  # formatting rows preceded by a white-space text node …
        self.space_inside: list[int] = []  # … or ending in a white-space text node
        self.cells: dict[tuple[int, int], int] = {}
        root = _parse(html)
        if root is not None:
            self._walk(root, _cached_signatures())

    def _walk(self, root: LexborNode, known: dict[object, PathSignature]) -> None:
        signatures, parent, attributes, chunks = self.signatures, self.parent, self.attributes, self.chunks
        chunk_row, rows_before, spaced = self.chunk_row, self.rows_before, self.spaced
        special = SPECIAL
        row_of: dict[int, int] = {}
        distinct: set[PathSignature] = set()
        row, above, parent_signature = 0, -1, None
        text_row = -1  # parent of the previous node if that was text: then no white-space node precedes this one
        for node in root.traverse(include_text=True, skip_empty=True):
            number = node.tag_id
            if number < ELEMENTS:
                if number == TEXT:
                    above = row_of[node.parent.mem_id]  # type: ignore[union-attr] # text has a parent
                    shown = signatures[above].revealed if self.reveals else signatures[above].shown
                    if shown == UNSHOWN:
                        self._read_unshown(above, node)
                        continue
                    text_row = above
                    text = node.text_content or ""
                    words = " ".join(text.split())
                    if words:
                        spaced.append(0 if words == text else text[0].isspace() + 2 * text[-1].isspace())
                        chunks.append(words if shown == SHOWN else text.strip("\n"))
                        chunk_row.append(above)
                        rows_before.append(row)
                else:
                    text_row = -1
                continue
            if row:
                above = row_of[node.parent.mem_id]  # type: ignore[union-attr] # only <html> has none
                parent_signature = signatures[above]
            own = node.attributes
            cls = rare = None
            if own:
                attributes[row] = own
                cls = own.get("class")
                if "style" in own or "itemprop" in own or "hidden" in own or number in special:
                    rare = self._rare(above, number, own)
            elif number in special:
                rare = self._rare(above, number, own)
            tag = node.tag or ""
            if len(distinct) >= MAX_SIGNATURES:
                cls, rare = None, (0, None, True) if rare and rare[2] else None
                tag = OTHER_TAG if number >= UNKNOWN else tag
            key = parent_signature, number, cls, rare
            signature = known.get(key) if number < UNKNOWN else None
            if signature is None:
                signature = _new_signature(known, key, tag)
            distinct.add(signature)
            if signature.shapes:
                before, last = node.prev if text_row != above else None, node.last_child
                if before is not None and before.is_empty_text_node:
                    self.space_before.append(row)
                if last is not None and last.is_empty_text_node:
                    self.space_inside.append(row)
            row_of[node.mem_id] = row
            text_row = -1
            signatures.append(signature)
            parent.append(above)
            row += 1

    def keep_chunks(self, kept: Sequence[bool]) -> None:
        """Drop the other chunks."""
        self.chunks = list(compress(self.chunks, kept))
        self.chunk_row = list(compress(self.chunk_row, kept))
        self.rows_before = list(compress(self.rows_before, kept))
        self.spaced = bytearray(compress(self.spaced, kept))

    def _rare(self, above: int, number: int, own: Mapping[str, str | None]) -> Rare | None:
        column = 0
        if number in CELLS:
            column = self.cells[above, number] = self.cells.get((above, number), 0) + 1
        prop = own["itemprop"] or "" if "itemprop" in own else None
        hidden = _is_hidden(own) or (number == DIALOG and "open" not in own)
        return (column, prop, hidden) if column or prop is not None or hidden else None

    def _read_unshown(self, row: int, node: LexborNode) -> None:
        tag = self.signatures[row].tag
        if tag == "script":
            if "json" in (self.attributes.get(row, {}).get("type") or "").lower():
                self.data[row] = node.text_content or ""
        elif tag == "style":
            self.sheets[row] = node.text_content or ""
        elif tag == "title" and not self.title:
            self.title = " ".join((node.text_content or "").split())


def _cached_signatures() -> dict[object, PathSignature]:
    """Return the cache of signatures; a full cache is replaced, not cleared, because other threads may be using it."""
    global _signature_cache
    if len(_signature_cache) > MAX_CACHED_SIGNATURES:
        _signature_cache = {}
    return _signature_cache


def _new_signature(cache: dict[object, PathSignature], key: Key, tag: str) -> PathSignature:
    """Return the signature for a key that is not in the cache; elements unknown to the parser are keyed by name."""
    above, number, cls, rare = key
    known: object = key if number < UNKNOWN else (above, tag, cls, rare)
    return cache.get(known) or cache.setdefault(
        known, PathSignature(above, tag, " ".join((cls or "").split()), *rare or ())
    )


# The columns of `TagTree` that a walk yields, by name: all but those from the URL and the charset.
Columns = dict[str, Any]


def _plain_columns(html: bytes, limit: int = 0, reveals: bool = False) -> Columns:
    """Return the columns of a page from a walk in Python, without a limit of memory; also the reference for the native walk."""
    walk = _Walk(html, reveals)
    end = _ends(walk.parent)
    signatures = tuple(dict.fromkeys(walk.signatures))
    number = dict(zip(signatures, range(len(signatures)), strict=True))
    signature = np.fromiter(map(number.__getitem__, walk.signatures), np.int32, len(walk.signatures))
    if walk.sheets and (rules := _rules(walk.sheets, walk.attributes)):
        kept = kept_chunks(rules, walk.attributes, signatures, signature, end, walk.chunks, _ints(walk.chunk_row))
        if kept is not None:
            walk.keep_chunks(kept.tolist())
    parent, chunk_row = _ints(walk.parent), _ints(walk.chunk_row)
    rows = len(parent)
    own = np.zeros(rows + 1, dtype=np.int32)
    np.cumsum(np.bincount(chunk_row, minlength=rows), out=own[1:])
    text_at = np.cumsum(np.bincount(_ints(walk.rows_before), minlength=rows + 1)[:rows], dtype=np.int32)
    text_end: Ints = text_at + own[end] - own[:-1]

    # The gap before chunk c is the strongest edge there: of rows that begin (text_at == c) and rows that end (text_end == c).
    gap = np.zeros(len(chunk_row) + 1, dtype=np.int8)
    edges = np.array([at.edge for at in signatures], dtype=np.int8)
    for at, spaces in ((text_at, walk.space_before), (text_end, walk.space_inside)):
        edge = edges[signature]
        edge[spaces] = SPACED
        np.maximum.at(gap, at, edge)
    spaced = np.frombuffer(walk.spaced, np.int8)
    np.maximum(gap[:-1], spaced & 1, out=gap[:-1])
    np.maximum(gap[1:], spaced >> 1, out=gap[1:])
    glue_words(gap[:-1], spaced, walk.chunks, walk.chunk_row, walk.rows_before, walk.parent, walk.signatures)
    return {
        "parsed": len(html),
        "title": walk.title,
        "data": walk.data,
        "signatures": signatures,
        "signature": signature,
        "parent": parent,
        "end": end,
        "text_at": text_at,
        "text_end": text_end,
        "chunks": tuple(walk.chunks),
        "chunk_row": chunk_row,
        "chunk_gap": gap[:-1],
        "attributes": walk.attributes,
    }


# Memory. The parser needs 2 to 16 times the size of ordinary pages, 32 times that of a minified table of digits (`<td>7</td>`) and 80 times
# that of other dense tags (`<p>x`). A page is cut where it needs more than its tags do: formatting elements that are opened again in every
# block need thousands of times its size.
MAX_PARSER_RATIO = 16  # memory of the parser, divided by the size of the page, that attributes and texts may need
BYTES_PER_TAG = 340  # memory of the parser for an element and a text; measured: 320
MAX_TAG_BYTES = 400_000_000  # memory that tags may need: 12 MB of `<td>7</td>`
FREE_PARSER_BYTES = 8_000_000  # memory of the parser that any page may use; a page whose tags may need more is walked while it is parsed, in …
PARTS, MIN_PART_BYTES, MAX_PART_BYTES = 40, 4000, 64_000  # … so many parts of at least and at most so many bytes


def _parser_limit(html: bytes) -> int:
    """Return the memory from which on the parser reads no further."""
    if (MAX_PARSER_RATIO + BYTES_PER_TAG) * len(html) <= FREE_PARSER_BYTES:  # the tags need not be counted
        return FREE_PARSER_BYTES
    for_tags = min(BYTES_PER_TAG * _count_tags(html), MAX_TAG_BYTES)
    return max(FREE_PARSER_BYTES, MAX_PARSER_RATIO * len(html) + for_tags)


def _part_bytes(html: bytes, limit: int) -> int:
    """Return the size of the parts in which a page of many tags is parsed and walked, which need a few percent of what it would; 0: as a whole."""
    if limit - MAX_PARSER_RATIO * len(html) <= FREE_PARSER_BYTES:
        return 0
    return min(max(len(html) // PARTS, MIN_PART_BYTES), MAX_PART_BYTES)


def _compiled_columns(html: bytes, limit: int = 0, reveals: bool = False) -> Columns:
    """Return the columns of a page from the native walk, which reads the parser's nodes in place."""
    if compiled is None or (walked := compiled.walk(html, limit, reveals, _part_bytes(html, limit))) is None:
        return _plain_columns(html, 0, reveals)
    known, chunks, attributes = walked["signatures"], walked["chunks"], walked["attributes"]
    for entry, number, above, *parts in walked["new"]:
        new = PathSignature(known[above] if above >= 0 else None, *parts)
        known[number] = compiled.store_signature(walked["table"], entry, new)
    signatures = tuple(known)
    signature, parent, end, text_at, text_end, chunk_row, rows_before = [
        np.frombuffer(walked[name], np.int32)
        for name in ("signature", "parent", "end", "text_at", "text_end", "chunk_row", "rows_before")
    ]
    gap, spaced = np.frombuffer(walked["edges"], np.int8), np.frombuffer(walked["spaced"], np.int8)
    if (sheets := walked["sheets"]) and (rules := _rules(sheets, attributes)):
        kept = kept_chunks(rules, attributes, signatures, signature, end, chunks, chunk_row)
        if kept is not None:
            before = np.concatenate(([0], np.cumsum(kept))).astype(np.int32)  # kept chunks before each
            numbers = np.flatnonzero(kept)
            # edges before dropped chunks count for the next kept chunk
            segments = np.concatenate(([0], numbers[:-1] + 1))
            gap = np.maximum.reduceat(gap[: numbers[-1] + 1], segments) if len(numbers) else gap[:0]
            chunks, text_at, text_end = tuple(compress(chunks, kept.tolist())), before[text_at], before[text_end]
            chunk_row, rows_before, spaced = chunk_row[numbers], rows_before[numbers], spaced[numbers]
    compiled.finish_gaps(gap, spaced, chunks, chunk_row, rows_before, parent, signature, walked["marks"])
    return {
        "parsed": walked["parsed"],
        "title": walked["title"],
        "data": walked["data"],
        "signatures": signatures,
        "signature": signature,
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


def _compiled_walk_works() -> bool:
    """Return True if the native walk was built for this parser version and reads a small page like the Python walk."""
    if compiled is None or parser_version not in PARSER_VERSIONS:
        return False
    compiled.bind(lexbor.__file__, *CELLS, DIALOG, TAG_DISPLAY)
    for reveals in (False, True):
        plain, fast = _plain_columns(SMALL_PAGE, 0, reveals), _compiled_columns(SMALL_PAGE, 0, reveals)
        if plain.keys() != fast.keys() or not all(_same(plain[name], fast[name]) for name in plain):
            return False
    return True


def _same(plain: Any, fast: Any) -> bool:
    if isinstance(plain, np.ndarray):
        return np.array_equal(plain, fast)
    if isinstance(plain, tuple) and plain and isinstance(plain[0], PathSignature):
        return signature_parts(plain) == signature_parts(fast)
    return bool((dict(fast.items()) if isinstance(plain, dict) else fast) == plain)


SMALL_PAGE = b"""<!doctype html><html lang=en><title> A  page </title><script type="application/json">{"a": 1}</script><body class=x>
<p>One <b> two</b><i>t</i>hree <!-- no --> <em>f\xc3\xa4ur </em> </p><table><tr><th>a<td itemprop=b>c<td>d</table><pre>
 e  f
</pre><style>.s { display: none }</style><i class=s>s</i>
<noscript>n</noscript>
<dialog>g</dialog><p>w<span>or</span>d of a page</p><a href="/h" hidden>i</a><p style="Display: none">j<svg><a xlink:href=k /></svg><unknown-tag>l"""


def _ints(values: Sequence[int]) -> Ints:
    return np.fromiter(values, np.int32, len(values))


def _ends(parent: Sequence[int]) -> Ints:
    """Return one past the last row of each subtree: from the last row backwards, a row ends where its last child ends."""
    end = list(range(1, len(parent) + 1))
    for row, above in zip(range(len(parent) - 1, 0, -1), reversed(parent), strict=False):
        if end[row] > end[above]:
            end[above] = end[row]
    return _ints(end)


def _is_hidden(attributes: Mapping[str, str | None]) -> bool:
    """Return True if an element's own attributes hide it."""
    if "hidden" in attributes:
        return True
    style = attributes.get("style")
    if style is None or ("none" not in style and "hidden" not in style):
        return False
    plain = style.replace(" ", "").lower()
    return "display:none" in plain or "visibility:hidden" in plain


def _language(columns: Columns, header: str) -> str:
    """Return the language that the page declares: <html lang>, then <meta>, then the HTTP header."""
    attributes = columns["attributes"]
    html = attributes.get(0, {})
    declared = html.get("lang") or html.get("xml:lang")
    if not declared:
        for row, name in attribute_by_row(attributes, "http-equiv").items():
            if name.lower() == "content-language" and columns["signatures"][columns["signature"][row]].tag == "meta":
                declared = attributes[row].get("content")
                break
    primary = PRIMARY.match(declared or header or "")
    return primary[1].lower() if primary else ""


_columns_of = _compiled_columns if _compiled_walk_works() else _plain_columns

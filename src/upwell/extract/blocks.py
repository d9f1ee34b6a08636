"""The informative blocks of an ordinary page: its article with title, date and author, and its tables of contents.

Every line of the page is judged by its own evidence (`lines`) and, where other pages of the site were seen, by what
stands at the same place there and by how many of them say the same: Wisdom's idea, that what is spread over the site
informs least, with lines as terms. `wisdom` has the paper's own method.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from upwell.extract import tocs
from upwell.extract.entropy import Entropies
from upwell.extract.lines import FEATURES, SHORT, Floats, Lines, evidence, of
from upwell.page.tree import Ints, TagTree

__all__ = [
    "Block",
    "BlockParams",
    "Reading",
    "Site",
    "Structure",
    "common_row",
    "learn_blocks",
    "links_of",
    "read_blocks",
    "structure_of",
]

BlockType = Literal["article", "title", "date", "author", "toc"]

# fitted: `python -m benchmarks.fit_blocks`, which also leaves out site by site and year by year
WEIGHTS = {
    "one": -5.9, "size": 3.4, "linked": -2.8, "all_linked": -1.1, "ends": 0.5, "mixed": -0.3, "p": 0.4, "heading": 1.4,
    "item": 4.8, "cell": -1.0, "control": -1.6, "list": -3.7, "form": -0.6, "aside_tag": -2.0, "figure": -0.7, "quote": 1.7,
    "caption": -4.0, "aside": -3.6, "body": 1.5, "titled": 4.5, "date": -1.8, "by": -2.1, "rights": -3.0, "style": 0.2,
    "parent": 2.2, "inside": 1.2, "before": 1.0, "after": -3.3, "near": 1.9, "around": 2.7,
}  # fmt: skip
# An address in a piece of script: a quoted path, or a quoted file name of a page.
IN_SCRIPT = re.compile(r"""['"]((?:https?://|/|\.\.?/)[^'"\s]+|[\w./-]+\.(?:html?|php|aspx?|jsp)[^'"\s]*)['"]""")
LINE_LIMIT = 200_000  # lines that are remembered of a site
STYLE_LIMIT = 100_000  # styles that are remembered of a site


@dataclass(frozen=True, kw_only=True)
class BlockParams:
    """How evidence is weighed."""

    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)  # of the evidence
    certain: float = 4.0  # a line says at most this much about others of its style
    own: float = 0.75  # fitted: `python -m benchmarks.fit_blocks`
    style: float = 0.36  # fitted: the same
    repeated: float = 2.61  # fitted: the same
    seen: float = 0.46  # fitted: the same
    most: float = 0.5  # share of the other pages from which a line is nobody's text; swept: 0.3, 0.5, 0.7
    least: float = 200.0  # characters of prose that make an article; swept: 100, 200, 400
    titled: float = 0.5  # agreement with <title> that makes a headline; swept: 0.3 to 0.9, no difference
    among_items: float = 0.5  # share of the prose inside items of a table of contents from which it is no article


@dataclass
class Site:
    """What the pages of one site have told so far; it grows by one page at a time and stays bounded."""

    lines: Entropies = field(default_factory=lambda: Entropies(limit=LINE_LIMIT))  # lines as terms
    styles: dict[str, tuple[int, float]] = field(default_factory=dict)  # pages with it, sum of what they said of it

    @property
    def pages(self) -> int:
        """How many pages were seen."""
        return self.lines.pages

    def add(self, tree: TagTree, params: BlockParams | None = None) -> None:
        """Learns from one page more."""
        params = params or BlockParams()
        lines = of(tree)
        self.lines.add(Counter(lines.texts))
        said = np.clip(_own(evidence(tree, lines), params), -params.certain, params.certain)
        sums: dict[str, list[float]] = {}
        for style, value in zip(lines.styles, said.tolist(), strict=True):
            sums.setdefault(style, []).append(value)
        for style, values in sums.items():
            pages, total = self.styles.get(style, (0, 0.0))
            self.styles[style] = (pages + 1, total + sum(values) / len(values))
        if len(self.styles) > STYLE_LIMIT:
            self.styles = {style: known for style, known in self.styles.items() if known[0] > 1}

    def repeated(self, lines: Lines) -> Floats:
        """In what share of the other pages each line stands."""
        spread, others = self.lines.spread, max(1, self.pages - 1)
        return np.array([max(0, spread.get(text, 0) - 1) / others for text in lines.texts])

    def style(self, lines: Lines) -> Floats:
        """What the pages say of each line's style, on average."""
        known = self.styles
        return np.array([(known[style][1] / known[style][0]) if style in known else 0.0 for style in lines.styles])


def learn_blocks(trees: Iterable[TagTree], params: BlockParams | None = None) -> Site:
    """A site from its pages."""
    site = Site()
    for tree in trees:
        site.add(tree, params)
    return site


@dataclass(frozen=True)
class Structure:
    """A row of the condensed tree: a block of the page, or a row that holds several."""

    path: str
    type: BlockType | None
    children: tuple["Structure", ...] = ()

    def as_dict(self) -> dict[str, object]:
        """As JSON has it; a row that only joins others has no type."""
        return {"path": self.path, "type": self.type, "children": [child.as_dict() for child in self.children]}


@dataclass(frozen=True)
class Block:
    """One informative block: where it stands, what it says, how sure that is (0 … 1)."""

    type: BlockType
    row: int  # the row that holds it
    text: str
    score: float
    rows: tuple[int, ...]  # the rows below that are in it, in document order


@dataclass(frozen=True)
class Reading:
    """The blocks of a page, and from how many pages that is known (1: from the page alone, which is weaker)."""

    blocks: tuple[Block, ...]
    pages: int


def _own(x: Floats, params: BlockParams) -> Floats:
    """What the evidence of a page says of its lines: above 0 a line is text, as the log of its odds."""
    return np.asarray(x @ np.array([params.weights.get(name, 0.0) for name in FEATURES]))


def read_blocks(
    tree: TagTree, site: Site | None = None, params: BlockParams | None = None, *, tables: bool = True
) -> Reading:
    """The informative blocks of a page, from it alone or with what its site has told; without `tables` only the article's."""
    params = params or BlockParams()
    site = site if site is not None and site.pages > 1 else None
    lines = of(tree)
    x = evidence(tree, lines)
    said = _own(x, params)
    repeated = None
    if site:
        repeated = site.repeated(lines)
        said = params.own * said + params.style * site.style(lines)
        said -= params.repeated * repeated + params.seen * (repeated > 0)
        said[repeated > params.most] = -params.certain
    kept = np.flatnonzero(said > 0).astype(np.int32)
    prose = kept[(lines.chars[kept] > SHORT / 2) & (lines.linked[kept] < 0.5)]
    # without links between its lines, prose cannot be a list of results
    between = (lines.linked[prose[0] : prose[-1]] >= 0.5).sum() if len(prose) else 0
    contents = tocs.find(tree, lines, repeated) if tables or 4 * between >= len(prose) else []
    found: list[Block] = []
    if _is_article(tree, lines, prose, contents, params):
        found += _article(tree, lines, x, said, kept, prose, params)
        contents = _beside(tree, contents, lines.row[prose])
    for toc in contents if tables else ():
        rows = np.array(toc.items)
        first, last = (np.searchsorted(lines.first, at[rows]).tolist() for at in (tree.text_at, tree.text_end))
        text = "\n".join(line for a, b in zip(first, last, strict=True) for line in lines.texts[a:b])
        found.append(Block("toc", toc.row, text, min(1.0, toc.score / 100), toc.items))
    return Reading(tuple(found), site.pages if site else 1)


def _is_article(tree: TagTree, lines: Lines, prose: Ints, contents: list[tocs.Toc], params: BlockParams) -> bool:
    """Whether there is enough prose, and it is no list: snippets are spread over many items, an article is in one or in none."""
    size = lines.chars[prose]
    if size.sum() < params.least:
        return False
    rows = lines.row[prose]
    for toc in contents:
        entry = np.searchsorted(toc.items, rows, side="right") - 1
        within = (entry >= 0) & (rows < tree.end[toc.row])
        if len(toc.items) < within.sum():  # else what follows an item belongs to it, as where all are siblings
            within &= rows < tree.end[np.array(toc.items)[entry]]
        shares = np.bincount(entry[within], weights=size[within], minlength=1) / size.sum()
        if shares.sum() > params.among_items and shares.max() < params.among_items:
            return False
    return True


def _article(
    tree: TagTree, lines: Lines, x: Floats, said: Floats, kept: Ints, prose: Ints, params: BlockParams
) -> list[Block]:
    """The article and its metadata; the headline is part of its text."""
    title = _headline(x, said, int(prose[0]), params)
    chosen = sorted({*kept.tolist(), *([title] if title is not None else [])})
    row = common_row(tree, lines.row[prose])
    score = float(np.average(1 / (1 + np.exp(-said[prose])), weights=lines.chars[prose]))
    text = "\n".join(lines.texts[i] for i in chosen)
    rows = tuple(dict.fromkeys(int(lines.row[i]) for i in chosen))
    found = [Block("article", row, text, round(score, 3), rows)]
    if title is not None:
        found.append(_line(lines, "title", title, 1.0))
    # what stands closest to the headline, or to the beginning of the text
    start = title if title is not None else int(prose[0])
    for kind, column in (("date", "date"), ("author", "by")):
        near = np.flatnonzero(x[:, FEATURES.index(column)] > 0)
        near = near[(abs(near - start) <= METADATA) & (lines.linked[near] < 1) | (abs(near - start) <= 3)]
        if len(near):
            found.append(_line(lines, kind, int(near[np.argmin(abs(near - start))]), 0.5))  # type: ignore[arg-type] # as above
    return found


METADATA = (
    12  # lines from the headline within which its date and author stand; by eye on the news pages, there are no labels
)


def _beside(tree: TagTree, contents: list[tocs.Toc], text: Ints) -> list[tocs.Toc]:
    """The tables of contents without the items that hold the text of the article, where entries are left."""
    left, text = [], np.sort(text)
    for toc in contents:
        rows = np.array(toc.items)
        items = tuple(rows[np.searchsorted(text, rows) == np.searchsorted(text, tree.end[rows])].tolist())
        if len(items) > 1:
            left.append(tocs.Toc(toc.row, items, toc.score))
    return left


def _line(lines: Lines, kind: BlockType, i: int, score: float) -> Block:
    row = int(lines.row[i])
    return Block(kind, row, lines.texts[i], score, (row,))


def _headline(x: Floats, said: Floats, body: int, params: BlockParams) -> int | None:
    """The line above the text, or in its first lines, that agrees best with <title>; kept lines and the later of equals first."""
    upto = body + 3
    agrees = x[:upto, FEATURES.index("titled")] + 0.25 * x[:upto, FEATURES.index("heading")]
    able = np.flatnonzero(agrees >= params.titled)
    if not len(able):
        return None
    sure = able[said[able] > 0]
    able = sure if len(sure) else able
    return int(able[np.lexsort((able, agrees[able]))[-1]])


def common_row(tree: TagTree, rows: Sequence[int] | Ints) -> int:
    """The lowest row that has all of these at or below it."""
    row, last = int(min(rows)), int(max(rows))
    while row > 0 and tree.end[row] <= last:
        row = int(tree.parent[row])
    return row


def structure_of(tree: TagTree, blocks: Iterable[Block]) -> Structure | None:
    """The condensed tree of the blocks: their rows, and of the rows above only those that join several (Wisdom §3.3)."""
    kind: dict[int, BlockType] = {}
    for block in blocks:
        for row in block.rows:
            if block.type not in ("article", "toc"):
                kind[row] = block.type
            else:
                kind.setdefault(row, block.type)
    if not kind:
        return None
    below: dict[int, list[int]] = {}
    seen: set[int] = set()
    for row in sorted(kind):
        at = row
        while at not in seen:
            seen.add(at)
            if at == 0:
                break
            above = int(tree.parent[at])
            below.setdefault(above, []).append(at)
            at = above
    return _condensed(tree, kind, below)


def _condensed(tree: TagTree, kind: dict[int, BlockType], below: dict[int, list[int]]) -> Structure:
    """From the bottom, so that depth costs no stack: rows in reverse document order have their children done."""
    done: dict[int, Structure] = {}
    for row in sorted({*kind, *below}, reverse=True):
        children = tuple(done.pop(child) for child in sorted(below.get(row, ())))
        if row in kind or len(children) != 1:
            done[row] = Structure(tree.path(row), kind.get(row), children)
        else:
            done[row] = children[0]
    return done[0]


def links_of(tree: TagTree, block: Block) -> list[str]:
    """Where the links of a block lead, each once, in document order; also where only a script says so (Wisdom §4.4, reason 3)."""
    inside = np.zeros(len(tree), dtype=bool)
    for row in block.rows:
        inside[row : tree.end[row]] = True
    found: dict[str, None] = {}
    for row in tree.rows("a", "area").tolist():
        address = (tree.attr(row, "href") or "").strip()
        if address.startswith(("javascript:", "#")) or not address:
            named = IN_SCRIPT.search(f"{address} {tree.attr(row, 'onclick') or ''}")
            address = named[1] if named else ""
        if inside[row] and address and (absolute := tree.resolve(address)):
            found.setdefault(absolute)
    return list(found)

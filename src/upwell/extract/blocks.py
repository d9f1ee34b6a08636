"""The informative blocks of an ordinary page: its article with title, date and author, and its tables of contents.

Every line of the page is judged by its own features (`lines`) and, where other pages of the site are known, by what
stands at the same place there and by how many of them have the same line: Wisdom's idea, that what is spread over the site
informs least, with lines as terms. `wisdom` has the paper's own method.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from upwell.extract import tocs
from upwell.extract.entropy import Entropies
from upwell.extract.flow import Bools, Flow, flow_of, heads_nothing, runs_on
from upwell.extract.line_features import FEATURES, SHORT_LINE_CHARS, line_features
from upwell.extract.lines import Floats, Lines, lines_of
from upwell.page.tree import Ints, TagTree

__all__ = [
    "Block",
    "BlockParams",
    "BlockReading",
    "LearnedSite",
    "Structure",
    "common_row",
    "entries_of",
    "learn_blocks",
    "read_blocks",
    "structure_of",
]

BlockType = Literal["article", "title", "date", "author", "toc"]

# fitted: `python -m benchmarks.fit_blocks`, which also leaves out site by site
WEIGHTS = {
    "constant": -4.4, "size": 3.0, "linked": 0.2, "all_linked": -0.8, "ends_sentence": 0.9, "partly_linked": -0.2, "paragraph": 0.5,
    "heading": 1.3, "list_item": 2.5, "cell": 0.6, "in_control": -1.3, "in_list": 0.3, "in_form": -1.8, "in_aside": -4.1,
    "in_figure": -0.2, "in_quote": 3.9, "in_article": 2.4, "in_header": -0.9, "named_caption": -4.3, "named_aside": -4.0,
    "named_body": 0.1, "named_comment": -0.9, "named_overlay": -1.5, "named_related": -1.5, "named_items": -0.9, "in_title": 0.2,
    "date": -2.0, "byline": -2.3, "copyright": -2.7, "prose_in_style": 0.7, "prose_in_parent": 0.3, "in_main": 0.2, "before_main": -1.2,
    "after_main": 0.4, "prose_beside": 0.7, "prose_around": 0.3, "linked_in_parent": -0.2, "linked_above": -1.0, "short_in_parent": 0.6,
    "company": 1.4, "in_core": 0.1, "in_wide_core": 1.6, "before_core": -1.0, "after_core": -1.2,
}  # fmt: skip
IN_ASIDE = FEATURES.index("in_aside")  # nav, footer, aside: beside the text, as the HTML standard has it
NAMED_ASIDE, IN_TITLE, HEADING = (FEATURES.index(name) for name in ("named_aside", "in_title", "heading"))
# Elements (header; article, main) in which a headline is the page's own, and a block of its own.
OF_PAGE = [FEATURES.index(name) for name in ("in_header", "in_article")]
# An address in a piece of script: a quoted path, or a quoted file name of a page.
ADDRESS_IN_SCRIPT = re.compile(
    r"""['"]((?:https?://|/|\.\.?/)[^'"\s]+|[\w./-]+\.(?:html?|php|aspx?|jsp)[^'"\s]*)['"]"""
)
MAX_SITE_LINES = 200_000  # lines that are remembered of a site
MAX_SITE_STYLES = 100_000  # styles that are remembered of a site
# Lines from the headline within which its date and author stand; by eye on the news pages, there are no labels.
MAX_METADATA_DISTANCE = 12
MAX_LINKED_METADATA_DISTANCE = 3  # the same for a date or an author that is a link
METADATA: tuple[tuple[BlockType, int], ...] = (("date", FEATURES.index("date")), ("author", FEATURES.index("byline")))
HEADING_BONUS = 0.25  # what it adds to the agreement with <title> that a line is a heading


@dataclass(frozen=True, kw_only=True)
class BlockParams:
    """How evidence is weighed; evidence is the log of the odds that a line is text of the article."""

    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)  # of the features of a line
    max_evidence: float = 4.0  # a line says at most this much about others of its style
    own: float = 0.75  # weight of a line's own evidence; fitted: `python -m benchmarks.fit_blocks`
    style: float = 0.25  # weight of the mean evidence of its style on the site; fitted: the same
    repeated: float = 1.04  # weight of the share of other pages that have the line; fitted: the same
    seen: float = 2.97  # weight of that any other page has it; fitted: the same
    container_share: float = (
        0.85  # the lowest row with this share of the text found holds the article; swept: 0.8 to 0.95
    )
    inside: float = 2.0  # added to plain lines in it, taken from links; swept: 0 to 3, left out by site
    linked_in_flow: float = 0.5  # a link in the flow of the text gets this share less of it; swept: 0, 0.5, 1, 2
    outside: float = 1.0  # taken from lines outside of it; swept: 0, 1
    lifted: float = 0.1  # evidence of a line that is text only because of the flow it stands in
    max_repeated_share: float = 0.5  # a line on more of the other pages is not text; swept: 0.3, 0.5, 0.7
    min_article_chars: float = 200.0  # characters of prose; swept: 100, 200, 400
    min_title_agreement: float = 0.5  # of a headline with <title>; swept: 0.3 to 0.9, no difference
    max_lines_to_text: int = 4  # from the headline; with more between it is set apart; swept: 1, 2, 3, 4, 6, any
    max_share_in_items: float = (
        0.5  # with more of the prose in items of a table of contents, or right below links, the page has no article
    )

    @cached_property
    def weight_of_features(self) -> Floats:
        """The weights in the order of `FEATURES`."""
        return np.array([self.weights.get(name, 0.0) for name in FEATURES])


USUAL = BlockParams()


@dataclass
class LearnedSite:
    """What is known of the pages of one site; it grows by one page at a time and stays bounded."""

    lines: Entropies = field(default_factory=lambda: Entropies(limit=MAX_SITE_LINES))  # lines as terms
    styles: dict[str, tuple[int, float]] = field(
        default_factory=dict
    )  # pages with the style, sum of its evidence there

    @property
    def pages(self) -> int:
        """How many pages were learned from."""
        return self.lines.pages

    def add(self, tree: TagTree, params: BlockParams | None = None) -> None:
        """Learns from one page more."""
        params = params or USUAL
        lines = lines_of(tree)
        self.lines.add(Counter(lines.texts))
        evidence = np.clip(_own_evidence(line_features(tree, lines), params), -params.max_evidence, params.max_evidence)
        by_style: dict[str, list[float]] = {}
        for style, value in zip(lines.styles, evidence.tolist(), strict=True):
            by_style.setdefault(style, []).append(value)
        for style, values in by_style.items():
            pages, total = self.styles.get(style, (0, 0.0))
            self.styles[style] = (pages + 1, total + sum(values) / len(values))
        if len(self.styles) > MAX_SITE_STYLES:
            self.styles = {style: known for style, known in self.styles.items() if known[0] > 1}

    def repeated_share(self, lines: Lines) -> Floats:
        """The share of the other pages that have each line."""
        pages_with, others = self.lines.pages_with, max(1, self.pages - 1)
        return np.array([max(0, pages_with.get(text, 0) - 1) / others for text in lines.texts])

    def style_evidence(self, lines: Lines) -> Floats:
        """The mean evidence of each line's style over the pages that have it."""
        known = self.styles
        return np.array([(known[style][1] / known[style][0]) if style in known else 0.0 for style in lines.styles])


def learn_blocks(trees: Iterable[TagTree], params: BlockParams | None = None) -> LearnedSite:
    """A site from its pages."""
    site = LearnedSite()
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
class BlockReading:
    """The blocks of a page, and how many pages of the site were known (1: the page alone, which is weaker)."""

    blocks: tuple[Block, ...]
    pages: int


def _own_evidence(x: Floats, params: BlockParams) -> Floats:
    """The evidence of each line from its own features."""
    return np.asarray(x @ params.weight_of_features)


def read_blocks(
    tree: TagTree, site: LearnedSite | None = None, params: BlockParams | None = None, *, tables: bool = True
) -> BlockReading:
    """The informative blocks of a page, from it alone or with what is known of its site; without `tables` only the article's."""
    params = params or USUAL
    site = site if site is not None and site.pages > 1 else None
    lines = lines_of(tree)
    x = line_features(tree, lines)
    evidence = _own_evidence(x, params)
    repeated = None
    if site:
        repeated = site.repeated_share(lines)
        evidence = params.own * evidence + params.style * site.style_evidence(lines)
        evidence -= params.repeated * repeated + params.seen * (repeated > 0)
        evidence[repeated > params.max_repeated_share] = -2 * params.max_evidence
    flow = flow_of(tree, lines, x)
    is_prose = (lines.chars > SHORT_LINE_CHARS / 2) & (lines.linked < 0.5)
    evidence = _with_container(tree, lines, x, flow, evidence, is_prose, params)
    is_lifted = runs_on(flow, lines, x, evidence > 0, is_prose)
    if repeated is not None:
        is_lifted &= repeated == 0
    evidence = np.where(is_lifted, np.maximum(evidence, params.lifted), evidence)
    evidence[heads_nothing(flow, x, evidence > 0)] = -params.lifted
    is_beside, is_kept = x[:, IN_ASIDE] > 0, evidence > 0
    if 2 * lines.chars[is_beside & is_kept].sum() < lines.chars[is_kept].sum():
        is_kept &= ~is_beside  # but where the whole text stands in one
        evidence[is_beside] = np.minimum(evidence[is_beside], -params.lifted)
    kept = is_kept.nonzero()[0].astype(np.int32)
    prose = kept[is_prose[kept]]
    # without links between its lines, prose cannot be a list of results
    links_between = (lines.linked[prose[0] : prose[-1]] >= 0.5).sum() if len(prose) else 0
    contents = tocs.find_tocs(tree, lines, repeated) if tables or 4 * links_between >= len(prose) else []
    blocks: list[Block] = []
    if _is_article(tree, lines, prose, contents, params):
        blocks += _article(tree, lines, x, evidence, kept, prose, params)
        contents = _without_article(tree, contents, lines.row[prose])
    for toc in contents if tables else ():
        rows = np.array(toc.items)
        first, last = (np.searchsorted(lines.first, at[rows]).tolist() for at in (tree.text_at, tree.text_end))
        text = "\n".join(line for a, b in zip(first, last, strict=True) for line in lines.texts[a:b])
        blocks.append(Block("toc", toc.row, text, min(1.0, toc.score / 100), toc.items))
    return BlockReading(tuple(blocks), site.pages if site else 1)


def _with_container(
    tree: TagTree, lines: Lines, x: Floats, flow: Flow, evidence: Floats, is_prose: Bools, params: BlockParams
) -> Floats:
    """The evidence with what follows from where the text was found: beside it plain lines are likelier, links and all outside less likely."""
    is_found = evidence > 0
    mass = np.zeros(len(tree.chunks))
    mass[lines.first] = lines.chars * (is_found & is_prose)
    rows = (tree.sum_chunks(mass) >= max(1.0, params.container_share * mass.sum())).nonzero()[0]
    if not len(rows):
        return evidence
    container = int(rows[-1])
    is_inside = (lines.row >= container) & (lines.row < tree.end[container])
    is_plain = ~(flow.is_apart | (x[:, NAMED_ASIDE] > 0))
    in_flow = (flow.in_list | flow.in_cell) & flow.is_mostly(lines, is_found)
    less = np.where(in_flow, params.linked_in_flow, 2.0) * lines.linked
    return np.where(is_inside, evidence + params.inside * is_plain * (1 - less), evidence - params.outside)


def _is_article(tree: TagTree, lines: Lines, prose: Ints, contents: list[tocs.Toc], params: BlockParams) -> bool:
    """Whether there is enough prose, and it is no list: snippets follow a link each, or are spread over items; an article is in one or beside them."""
    chars = lines.chars[prose]
    if chars.sum() < params.min_article_chars:
        return False
    rows = lines.row[prose]
    follows_link = lines.linked[np.maximum(prose - 1, 0)] > 0.5
    for toc in contents:
        is_snippet = follows_link & (rows > toc.row) & (rows < tree.end[toc.row])
        if is_snippet.sum() > 1 and chars[is_snippet].sum() > params.max_share_in_items * chars.sum():
            return False
        item = np.searchsorted(toc.items, rows, side="right") - 1
        is_inside = (item >= 0) & (rows < tree.end[toc.row])
        if len(toc.items) < is_inside.sum():  # else what follows an item belongs to it, as where all are siblings
            is_inside &= rows < tree.end[np.array(toc.items)[item]]
        shares = np.bincount(item[is_inside], weights=chars[is_inside], minlength=1) / chars.sum()
        is_spread = shares.sum() > params.max_share_in_items and shares.max() < params.max_share_in_items
        if is_spread and chars[~is_inside].sum() < params.min_article_chars:
            return False
    return True


def _article(
    tree: TagTree, lines: Lines, x: Floats, evidence: Floats, kept: Ints, prose: Ints, params: BlockParams
) -> list[Block]:
    """The article and its metadata; the headline is part of its text where no element and no other lines set it apart."""
    headline = _headline(x, evidence, int(prose[0]), params)
    chosen = kept.tolist()
    if headline is not None:
        of_page = x[headline, OF_PAGE].any() or prose[0] - headline > params.max_lines_to_text
        chosen = sorted({*chosen, headline} - ({headline} if of_page else set()))
    row = common_row(tree, lines.row[prose])
    chars = lines.chars[prose]
    score = float((chars / (1 + np.exp(-evidence[prose]))).sum() / chars.sum())
    text = "\n".join([lines.texts[i] for i in chosen])
    rows = tuple(dict.fromkeys(lines.row[chosen].tolist()))
    blocks = [Block("article", row, text, round(score, 3), rows)]
    if headline is not None:
        blocks.append(_line_block(lines, "title", headline, 1.0))
    # of several dates or authors the one closest to the headline, or to the beginning of the text
    start = headline if headline is not None else int(prose[0])
    for kind, feature in METADATA:
        near = [
            (distance, i)
            for i in x[:, feature].nonzero()[0].tolist()
            if (distance := abs(i - start)) <= MAX_LINKED_METADATA_DISTANCE
            or (distance <= MAX_METADATA_DISTANCE and lines.linked[i] < 1)
        ]
        if near:
            blocks.append(_line_block(lines, kind, min(near)[1], 0.5))
    return blocks


def _without_article(tree: TagTree, contents: list[tocs.Toc], article_rows: Ints) -> list[tocs.Toc]:
    """The tables of contents without the items that hold text of the article, where two entries are left."""
    left, article_rows = [], np.sort(article_rows)
    for toc in contents:
        rows = np.array(toc.items)
        is_outside = np.searchsorted(article_rows, rows) == np.searchsorted(article_rows, tree.end[rows])
        items = tuple(rows[is_outside].tolist())
        if len(items) > 1:
            left.append(tocs.Toc(toc.row, items, toc.score))
    return left


def _line_block(lines: Lines, kind: BlockType, i: int, score: float) -> Block:
    row = int(lines.row[i])
    return Block(kind, row, lines.texts[i], score, (row,))


def _headline(x: Floats, evidence: Floats, body: int, params: BlockParams) -> int | None:
    """The line above the text, or in its first lines, that agrees best with <title>; lines of the article and the later of equals first."""
    end = body + 3
    agreement = x[:end, IN_TITLE] + HEADING_BONUS * x[:end, HEADING]
    possible = (agreement >= params.min_title_agreement).nonzero()[0].tolist()
    return max(possible, key=lambda i: (evidence[i] > 0, agreement[i], i), default=None)


def common_row(tree: TagTree, rows: Sequence[int] | Ints) -> int:
    """The lowest row that has all of these at or below it."""
    row, last = int(np.min(rows)), int(np.max(rows))
    while row > 0 and tree.end[row] <= last:
        row = int(tree.parent[row])
    return row


def structure_of(tree: TagTree, blocks: Iterable[Block]) -> Structure | None:
    """The condensed tree of the blocks: their rows, and of the rows above only those that join several (Wisdom §3.3)."""
    type_of_row: dict[int, BlockType] = {}
    for block in blocks:
        for row in block.rows:
            if block.type not in ("article", "toc"):
                type_of_row[row] = block.type
            else:
                type_of_row.setdefault(row, block.type)
    if not type_of_row:
        return None
    children: dict[int, list[int]] = {}
    seen: set[int] = set()
    for row in sorted(type_of_row):
        at = row
        while at not in seen:
            seen.add(at)
            if at == 0:
                break
            above = int(tree.parent[at])
            children.setdefault(above, []).append(at)
            at = above
    return _condensed(tree, type_of_row, children)


def _condensed(tree: TagTree, type_of_row: dict[int, BlockType], children: dict[int, list[int]]) -> Structure:
    """The tree without rows that have no type and one child; from the bottom, so that depth costs no stack."""
    done: dict[int, Structure] = {}
    for row in sorted({*type_of_row, *children}, reverse=True):  # children come before their parents
        below = tuple(done.pop(child) for child in sorted(children.get(row, ())))
        if row in type_of_row or len(below) != 1:
            done[row] = Structure(tree.path(row), type_of_row.get(row), below)
        else:
            done[row] = below[0]
    return done[0]


def entries_of(tree: TagTree, block: Block) -> list[tuple[str, str]]:
    """The links of a block, each address once, in document order: the first text that says something, and the address.

    Also where only a script says where a link leads (Wisdom §4.4, reason 3).
    """
    is_inside = np.zeros(len(tree), dtype=bool)
    for row in block.rows:
        is_inside[row : tree.end[row]] = True
    titles: dict[str, str] = {}
    for row in tree.rows("a", "area").tolist():
        address = (tree.attr(row, "href") or "").strip()
        if address.startswith(("javascript:", "#")) or not address:
            in_script = ADDRESS_IN_SCRIPT.search(f"{address} {tree.attr(row, 'onclick') or ''}")
            address = in_script[1] if in_script else ""
        if is_inside[row] and address and (absolute := tree.resolve(address)):
            titles[absolute] = titles.get(absolute) or " ".join(tree.text(row).split())
    return [(title, address) for address, title in titles.items()]

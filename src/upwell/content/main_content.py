"""Find the informative blocks of an ordinary page: the article with title, date and author, and tables of contents.

Each line is scored by its features (`content.lines`) and, if other pages of the site are known, by the scores of lines of the same style
there and by the share of pages that repeat the line. The latter is Wisdom's idea with lines as terms; `papers.wisdom` has the published method.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Literal

import numpy as np

from upwell.content.line_context import context_features
from upwell.content.lines import (
    FEATURES,
    SHORT_LINE_CHARS,
    Bools,
    Floats,
    Lines,
    TextFlow,
    continues_text,
    find_text_flow,
    headings_without_text,
    line_features,
    split_lines,
)
from upwell.content.page_kind import KINDS, kind_probabilities, page_features
from upwell.content.table_of_contents import TableOfContents, find_tables_of_contents
from upwell.judge.judgement import load_judgement
from upwell.page.tree import Ints, TagTree
from upwell.papers.wisdom import Entropies

__all__ = [
    "Block",
    "BlockParams",
    "LearnedSite",
    "Structure",
    "condensed_structure",
    "find_blocks",
    "learn_site",
    "linked_entries",
    "lowest_common_row",
]

BlockType = Literal["article", "title", "date", "author", "toc"]

IN_ASIDE = FEATURES.index("in_aside")  # nav, footer, aside
NAMED_ASIDE, IN_TITLE, HEADING = (FEATURES.index(name) for name in ("named_aside", "in_title", "heading"))
# Elements (header; article, main) in which a headline is a block of its own, not part of the article's text.
PAGE_HEADER_FEATURES = [FEATURES.index(name) for name in ("in_header", "in_article")]
# A URL in a script: a quoted path, or the quoted file name of a page.
ADDRESS_IN_SCRIPT = re.compile(
    r"""['"]((?:https?://|/|\.\.?/)[^'"\s]+|[\w./-]+\.(?:html?|php|aspx?|jsp)[^'"\s]*)['"]"""
)
ARTICLE_KIND = KINDS.index("article")
MAX_SITE_LINES = 200_000  # safety limit: lines kept per site
MAX_SITE_STYLES = 100_000  # safety limit: styles kept per site
# Largest distance in lines of date and author from the headline; chosen by inspecting news pages, not fitted.
MAX_METADATA_DISTANCE = 12
MAX_LINKED_METADATA_DISTANCE = 3  # the same for a date or author that is a link
METADATA: tuple[tuple[BlockType, int], ...] = (("date", FEATURES.index("date")), ("author", FEATURES.index("byline")))
HEADING_BONUS = 0.25  # added to the agreement with <title> if a line is a heading


@dataclass(frozen=True, kw_only=True)
class BlockParams:
    """Parameters of block detection; evidence is the log odds that a line belongs to the article."""

    weights: Mapping[str, float] = field(default_factory=lambda: _fitted_weights())  # of the line features
    max_evidence: float = 4.0  # evidence of a line is clipped here before it counts for its style
    own: float = 0.75  # weight of a line's own evidence; fitted: `python -m benchmarks.fit article_line`
    style: float = 0.25  # weight of the mean evidence of its style on the site; fitted
    repeated: float = 1.04  # weight of the share of other pages that contain the line; fitted
    seen: float = 2.97  # weight of the fact that another page contains it; fitted
    container_share: float = 0.85  # the lowest row with this share of the text contains the article; swept: 0.8 to 0.95
    inside: float = 2.0  # added to plain lines inside it and subtracted from links; swept: 0 to 3, with sites left out
    linked_in_flow: float = 0.5  # factor of that subtraction for links in the flow of the text; swept: 0, 0.5, 1, 2
    outside: float = 1.0  # subtracted from lines outside it; swept: 0, 1
    lifted: float = 0.1  # evidence of a line that is text only because of its flow
    max_repeated_share: float = 0.5  # lines on a larger share of the other pages are not text; swept: 0.3, 0.5, 0.7
    min_article_chars: float = 200.0  # characters of prose in an article; swept: 100, 200, 400
    min_title_agreement: float = 0.5  # agreement of a headline with <title>; swept: 0.3 to 0.9, no difference
    max_lines_to_text: int = 4  # a headline further above the text is a separate block; swept: 1, 2, 3, 4, 6, any
    max_share_in_items: float = (
        0.5  # share of prose in items of a list, or below links, above which the page looks like a list
    )
    min_article_probability: float = 0.9  # of the kind of page, from which a page that looks like a list has an article

    @cached_property
    def weight_of_features(self) -> Floats:
        """Return the weights in the order of `FEATURES`."""
        return np.array([self.weights.get(name, 0.0) for name in FEATURES])


def _fitted_weights() -> Mapping[str, float]:
    """Return the weights of the line features by name, from the judgement `article_line`."""
    judgement = load_judgement("article_line")
    weights = [] if judgement.linear is None else judgement.linear[0].tolist()
    return dict(zip(judgement.features, weights, strict=True))


@cache
def default_params() -> BlockParams:
    """Return the fitted parameters."""
    return BlockParams()


@dataclass
class LearnedSite:
    """Statistics of the lines and styles of one site, updated page by page with bounded memory."""

    lines: Entropies = field(default_factory=lambda: Entropies(limit=MAX_SITE_LINES))  # with lines as terms
    styles: dict[str, tuple[int, float]] = field(default_factory=dict)  # pages with the style, sum of its evidence

    @property
    def pages(self) -> int:
        """Number of pages added."""
        return self.lines.pages

    def add(self, tree: TagTree, params: BlockParams | None = None) -> None:
        """Add a page."""
        params = params or default_params()
        tree = tree.without_hidden_text()
        lines = split_lines(tree)
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
        """Return the share of the other pages that contain each line."""
        pages_with, others = self.lines.pages_with, max(1, self.pages - 1)
        return np.array([max(0, pages_with.get(text, 0) - 1) / others for text in lines.texts])

    def style_evidence(self, lines: Lines) -> Floats:
        """Return the mean evidence of each line's style over the pages that contain it."""
        known = self.styles
        return np.array([(known[style][1] / known[style][0]) if style in known else 0.0 for style in lines.styles])


def learn_site(trees: Iterable[TagTree], params: BlockParams | None = None) -> LearnedSite:
    """Learn the statistics of a site from its pages."""
    site = LearnedSite()
    for tree in trees:
        site.add(tree, params)
    return site


@dataclass(frozen=True)
class Structure:
    """Node of the condensed tree (Wisdom §3.3): a block of the page, or a row that joins several."""

    path: str
    type: BlockType | None
    children: tuple["Structure", ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return the node for JSON; the type of a row that only joins others is None."""
        return {"path": self.path, "type": self.type, "children": [child.as_dict() for child in self.children]}


@dataclass(frozen=True)
class Block:
    """Informative block with its position, text and confidence (0 … 1)."""

    type: BlockType
    row: int  # row that contains it
    text: str
    score: float
    rows: tuple[int, ...]  # rows below it that are part of it, in document order


def _own_evidence(x: Floats, params: BlockParams) -> Floats:
    """Return the evidence of each line from its own features."""
    return np.asarray(x @ params.weight_of_features)


def find_blocks(
    tree: TagTree, site: LearnedSite | None = None, params: BlockParams | None = None, *, tables: bool = True
) -> tuple[Block, ...]:
    """Find the informative blocks of a page, alone or with the statistics of its site, which are more reliable.

    Without `tables` only the article is returned, without tables of contents. Hidden text is left out.
    """
    params = params or default_params()
    tree = tree.without_hidden_text()
    site = site if site is not None and site.pages > 1 else None
    lines = split_lines(tree)
    x = line_features(tree, lines)
    evidence = _own_evidence(x, params)
    repeated = None
    if site:
        repeated = site.repeated_share(lines)
        evidence = params.own * evidence + params.style * site.style_evidence(lines)
        evidence -= params.repeated * repeated + params.seen * (repeated > 0)
        evidence[repeated > params.max_repeated_share] = -2 * params.max_evidence
    flow = find_text_flow(tree, lines, x)
    is_prose = (lines.chars > SHORT_LINE_CHARS / 2) & (lines.linked < 0.5)
    evidence = _with_container(tree, lines, x, flow, evidence, is_prose, params)
    is_lifted = continues_text(flow, lines, x, evidence > 0, is_prose)
    if repeated is not None:
        is_lifted &= repeated == 0
    evidence = np.where(is_lifted, np.maximum(evidence, params.lifted), evidence)
    evidence[headings_without_text(flow, x, evidence > 0)] = -params.lifted
    in_aside, is_kept = x[:, IN_ASIDE] > 0, evidence > 0
    if 2 * lines.chars[in_aside & is_kept].sum() < lines.chars[is_kept].sum():  # unless most of the text is in one
        is_kept &= ~in_aside
        evidence[in_aside] = np.minimum(evidence[in_aside], -params.lifted)
    kept = is_kept.nonzero()[0].astype(np.int32)
    prose = kept[is_prose[kept]]
    # prose without links between its lines cannot be a list of results
    links_between = (lines.linked[prose[0] : prose[-1]] >= 0.5).sum() if len(prose) else 0
    may_be_list = 4 * links_between >= len(prose) or 2 * (lines.linked[prose] > 0).sum() >= len(prose)
    contents = find_tables_of_contents(tree, lines, repeated) if tables or may_be_list else []
    blocks: list[Block] = []
    if lines.chars[prose].sum() >= params.min_article_chars and (
        not _is_list(tree, lines, prose, contents, params) or _is_article_page(tree, lines, x, params)
    ):
        blocks += _article(tree, lines, x, evidence, kept, prose, params)
        contents = _without_article(tree, contents, lines.row[prose])
    for table in contents if tables else ():
        rows = np.array(table.items)
        first, last = (np.searchsorted(lines.first, at[rows]).tolist() for at in (tree.text_at, tree.text_end))
        text = "\n".join(line for a, b in zip(first, last, strict=True) for line in lines.texts[a:b])
        blocks.append(Block("toc", table.row, text, min(1.0, table.score / 100), table.items))
    return tuple(blocks)


def _with_container(
    tree: TagTree, lines: Lines, x: Floats, flow: TextFlow, evidence: Floats, is_prose: Bools, params: BlockParams
) -> Floats:
    """Adjust the evidence by position: raise plain lines inside the container of the text, lower links in it and everything outside."""
    is_text = evidence > 0
    mass = np.zeros(len(tree.chunks))
    mass[lines.first] = lines.chars * (is_text & is_prose)
    rows = (tree.sum_chunks(mass) >= max(1.0, params.container_share * mass.sum())).nonzero()[0]
    if not len(rows):
        return evidence
    container = int(rows[-1])
    is_inside = (lines.row >= container) & (lines.row < tree.end[container])
    is_plain = ~(flow.is_separate | (x[:, NAMED_ASIDE] > 0))
    in_flow = (flow.in_list | flow.in_cell) & flow.is_mostly(lines, is_text)
    link_penalty = np.where(in_flow, params.linked_in_flow, 2.0) * lines.linked
    return np.where(is_inside, evidence + params.inside * is_plain * (1 - link_penalty), evidence - params.outside)


def _is_list(tree: TagTree, lines: Lines, prose: Ints, contents: list[TableOfContents], params: BlockParams) -> bool:
    """Return True if the prose of a page looks like a list.

    Snippets of a list follow a link each, stand behind one in the same line, or are spread over its items; an article is in one item or outside the list.
    """
    chars, rows = lines.chars[prose], lines.row[prose]
    follows_link = lines.linked[np.maximum(prose - 1, 0)] > 0.5
    for table in contents:
        is_teaser = np.array([line in table.teasers for line in prose.tolist()], dtype=bool)
        if chars[is_teaser].sum() > params.max_share_in_items * chars.sum():
            return True
        is_snippet = follows_link & (rows > table.row) & (rows < tree.end[table.row])
        if is_snippet.sum() > 1 and chars[is_snippet].sum() > params.max_share_in_items * chars.sum():
            return True
        item = np.searchsorted(table.items, rows, side="right") - 1
        is_inside = (item >= 0) & (rows < tree.end[table.row])
        if len(table.items) < is_inside.sum():  # otherwise text after an item belongs to it: all are siblings
            is_inside &= rows < tree.end[np.array(table.items)[item]]
        shares = np.bincount(item[is_inside], weights=chars[is_inside], minlength=1) / chars.sum()
        is_spread = shares.sum() > params.max_share_in_items and shares.max() < params.max_share_in_items
        if is_spread and chars[~is_inside].sum() < params.min_article_chars:
            return True
    return False


def _is_article_page(tree: TagTree, lines: Lines, x: Floats, params: BlockParams) -> bool:
    """Return True if the judgement `page_kind` is sure of an article: the best ten of something are an article that looks like a list."""
    page = page_features(tree, lines, x, context_features(tree, lines, x))
    return bool(kind_probabilities(page)[ARTICLE_KIND] >= params.min_article_probability)


def _article(
    tree: TagTree, lines: Lines, x: Floats, evidence: Floats, kept: Ints, prose: Ints, params: BlockParams
) -> list[Block]:
    """Return the article and its metadata; the headline is part of the text unless an element or other lines separate it."""
    headline = _headline(x, evidence, int(prose[0]), params)
    chosen = kept.tolist()
    if headline is not None:
        of_page = x[headline, PAGE_HEADER_FEATURES].any() or prose[0] - headline > params.max_lines_to_text
        chosen = sorted({*chosen, headline} - ({headline} if of_page else set()))
    row = lowest_common_row(tree, lines.row[prose])
    chars = lines.chars[prose]
    score = float((chars / (1 + np.exp(-evidence[prose]))).sum() / chars.sum())
    text = "\n".join([lines.texts[i] for i in chosen])
    rows = tuple(dict.fromkeys(lines.row[chosen].tolist()))
    blocks = [Block("article", row, text, round(score, 3), rows)]
    if headline is not None:
        blocks.append(_line_block(lines, "title", headline, 1.0))
    # the date and the author closest to the headline, or to the beginning of the text
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


def _without_article(tree: TagTree, contents: list[TableOfContents], article_rows: Ints) -> list[TableOfContents]:
    """Remove the items that contain text of the article, and tables with fewer than two items left."""
    remaining, article_rows = [], np.sort(article_rows)
    for table in contents:
        rows = np.array(table.items)
        is_outside = np.searchsorted(article_rows, rows) == np.searchsorted(article_rows, tree.end[rows])
        items = tuple(rows[is_outside].tolist())
        if len(items) > 1:
            remaining.append(TableOfContents(table.row, items, table.score))
    return remaining


def _line_block(lines: Lines, kind: BlockType, i: int, score: float) -> Block:
    row = int(lines.row[i])
    return Block(kind, row, lines.texts[i], score, (row,))


def _headline(x: Floats, evidence: Floats, body: int, params: BlockParams) -> int | None:
    """Return the line before the text or in its first lines that agrees best with <title>.

    Lines of the article are preferred, then the better agreement, then the later line.
    """
    end = body + 3
    agreement = x[:end, IN_TITLE] + HEADING_BONUS * x[:end, HEADING]
    possible = (agreement >= params.min_title_agreement).nonzero()[0].tolist()
    return max(possible, key=lambda i: (evidence[i] > 0, agreement[i], i), default=None)


def lowest_common_row(tree: TagTree, rows: Sequence[int] | Ints) -> int:
    """Return the lowest row that contains all `rows`; it may be one of them."""
    row, last = int(np.min(rows)), int(np.max(rows))
    while row > 0 and tree.end[row] <= last:
        row = int(tree.parent[row])
    return row


def condensed_structure(tree: TagTree, blocks: Iterable[Block]) -> Structure | None:
    """Return the condensed tree of blocks (Wisdom §3.3): their rows, and only those ancestors that join several."""
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
        ancestor = row
        while ancestor not in seen:
            seen.add(ancestor)
            if ancestor == 0:
                break
            above = int(tree.parent[ancestor])
            children.setdefault(above, []).append(ancestor)
            ancestor = above
    return _condensed(tree, type_of_row, children)


def _condensed(tree: TagTree, type_of_row: dict[int, BlockType], children: dict[int, list[int]]) -> Structure:
    """Remove rows without a type that have a single child; iterate bottom-up, so that deep trees need no recursion."""
    done: dict[int, Structure] = {}
    for row in sorted({*type_of_row, *children}, reverse=True):  # children come before their parents
        below = tuple(done.pop(child) for child in sorted(children.get(row, ())))
        if row in type_of_row or len(below) != 1:
            done[row] = Structure(tree.path(row), type_of_row.get(row), below)
        else:
            done[row] = below[0]
    return done[0]


def linked_entries(tree: TagTree, block: Block) -> list[tuple[str, str]]:
    """Return title and URL of the links of a block in document order, each URL once with its first non-empty text.

    Includes links whose URL is only in a script (Wisdom §4.4, reason 3).
    """
    is_inside = np.zeros(len(tree), dtype=bool)
    for row in block.rows:
        is_inside[row : tree.end[row]] = True
    titles: dict[str, str] = {}
    for row in tree.rows("a", "area").tolist():
        url = (tree.attr(row, "href") or "").strip()
        if url.startswith(("javascript:", "#")) or not url:
            in_script = ADDRESS_IN_SCRIPT.search(f"{url} {tree.attr(row, 'onclick') or ''}")
            url = in_script[1] if in_script else ""
        if is_inside[row] and url and (absolute_url := tree.resolve(url)):
            titles[absolute_url] = titles.get(absolute_url) or " ".join(tree.text(row).split())
    return [(title, url) for url, title in titles.items()]

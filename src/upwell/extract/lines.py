"""A page as lines of text, and what each line tells about itself: the evidence that articles are told by.

line    the chunks between two edges of blocks: a paragraph, a heading, a caption, an entry of a menu
mass    the characters of a line that are not in links, if it reads like prose, else nothing
style   the path of tags and classes that a line stands at, digits and places left out: lines of one role share it
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from upwell.page.spots import BROKEN, INLINE
from upwell.page.terms import CJK_RUN, tokens
from upwell.page.tree import Ints, TagTree

__all__ = ["FEATURES", "Floats", "Lines", "evidence", "of"]

Floats = NDArray[np.float64]

# Words in class and id by which authors of pages name what is not the text, and what is.
CAPTION = re.compile(r"caption|credit|photo|image|img|thumb|cutline|gallery|slide|figure", re.I)
ASIDE = re.compile(
    r"comment|relat|shar(?:e|ing)|social|promo|sponsor|advert|(?<![a-z])ads?(?![a-z])|foot|nav|menu|side|tool|byline|author|date|"
    r"time|meta|tags?(?![a-z])|rss|subscri|newsletter|bread|crumb|pager|paginat|print|e-?mail|poll|widget|teaser|more|links|media|"
    r"video|bio|disclaim|copyright|login|popular|recommend|rail|module|box|signup|trend|follow",
    re.I,
)
BODY = re.compile(r"article|body|content|entry|story|text|post|main|para", re.I)
MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
DATE = re.compile(
    rf"\b(?:{MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|\d{{1,2}}\.? {MONTH}\.?,? \d{{4}}|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|"
    rf"\d{{4}}-\d{{2}}-\d{{2}})|\d{{4}}年\d{{1,2}}月",
    re.I,
)
BY = re.compile(r"\s*(?:by|von|par|por|di|door|av)[\s:]+[A-Z]", re.I)
ENDS = tuple(".!?。！？…\"”’')")
PROSE = 60  # characters; swept: 40, 60, 80, 100
HOLDS = 0.6  # share of the prose in the row that holds the article; swept: 0.5 to 0.8
SHORT = 120  # characters: a dateline, a byline or a headline is hardly longer


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a page as columns: line i is the chunks first[i] … last[i], in the block row[i]."""

    first: Ints
    last: Ints
    row: Ints
    texts: tuple[str, ...]
    chars: Floats  # CJK counts for three: it says as much in fewer characters
    linked: Floats  # share of the characters that is in links
    styles: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


def of(tree: TagTree) -> Lines:
    """The lines of a page, in reading order."""
    count = len(tree.chunks)
    broken = tree.chunk_gap == BROKEN
    broken[:1] = True
    first = np.flatnonzero(broken).astype(np.int32)
    last = np.append(first[1:], count).astype(np.int32)[: len(first)]
    chunks = tree.chunks
    texts = [
        chunks[a] if b == a + 1 else tree.text_of(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True)
    ]
    inline = np.array([name in INLINE for name in tree.tags], dtype=bool)[tree.tag]
    row = tree.chunk_row[first]
    while np.any(within := inline[row]):
        row = np.where(within, tree.parent[row], row)
    sizes = np.array([len(chunk) for chunk in tree.chunks], dtype=np.float64)
    if any(CJK_RUN.search(chunk) for chunk in tree.chunks if not chunk.isascii()):
        sizes += np.array([2 * sum(map(len, CJK_RUN.findall(chunk))) for chunk in tree.chunks], dtype=np.float64)
    links = tree.rows("a", "button")
    opened = np.bincount(tree.text_at[links], minlength=count + 1) - np.bincount(
        tree.text_end[links], minlength=count + 1
    )
    in_link = np.cumsum(opened)[:count] > 0
    said, linked = np.zeros(count + 1), np.zeros(count + 1)
    np.cumsum(sizes, out=said[1:])
    np.cumsum(sizes * in_link, out=linked[1:])
    chars = said[last] - said[first]
    return Lines(first, last, row, tuple(texts), chars, (linked[last] - linked[first]) / chars, _styles(tree, row))


def _styles(tree: TagTree, rows: Ints) -> tuple[str, ...]:
    names = [_plain(name) for name in tree.classes]
    known: dict[int, str] = {-1: ""}
    parent, tag, cls = tree.parent.tolist(), tree.tag.tolist(), tree.cls.tolist()

    def style(row: int) -> str:
        path = []
        while row not in known:
            path.append(row)
            row = parent[row]
        text = known[row]
        for i in reversed(path):
            text = known[i] = f"{text}/{tree.tags[tag[i]]}.{names[cls[i]]}"
        return text

    return tuple(style(row) for row in rows.tolist())


FEATURES = (
    "one", "size", "linked", "all_linked", "ends", "mixed", "p", "heading", "item", "cell", "control", "list", "form", "aside_tag",
    "figure", "quote", "caption", "aside", "body", "titled", "date", "by", "rights", "style", "parent", "inside", "before",
    "after", "near", "around",
)  # fmt: skip
TAGS = {
    "p": ("p",),
    "heading": ("h1", "h2", "h3", "h4", "h5", "h6"),
    "item": ("li", "dd", "dt"),
    "cell": ("td", "th"),
}
AROUND = {
    "control": ("option", "select", "button", "textarea", "label", "legend"),
    "list": ("ul", "ol", "dl", "menu"),
    "form": ("form",),
    "aside_tag": ("nav", "footer", "aside"),
    "figure": ("figure", "figcaption", "caption"),
    "quote": ("blockquote",),
}

OWN = slice(FEATURES.index("p"), FEATURES.index("cell") + 1)
ABOVE = slice(FEATURES.index("control"), FEATURES.index("quote") + 1)


@lru_cache(maxsize=1000)
def _tables(tags: tuple[str, ...]) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
    """For each tag of a page: which of TAGS it is, and the number of the group of AROUND that it is in, or -1."""
    own = np.array([[tag in names for names in TAGS.values()] for tag in tags], dtype=bool)
    groups = [next((i for i, names in enumerate(AROUND.values()) if tag in names), -1) for tag in tags]
    return own, np.array(groups, dtype=np.int8)


def evidence(tree: TagTree, lines: Lines) -> Floats:
    """What one page tells about each of its lines: a row a line, a column a feature."""
    n = len(lines)
    x = np.zeros((n, len(FEATURES)))
    if not n:
        return x
    put = {name: x[:, i] for i, name in enumerate(FEATURES)}
    put["one"][:] = 1
    put["size"][:] = (np.log2(1 + lines.chars) / 8) ** 2
    put["linked"][:] = lines.linked
    put["all_linked"][:] = lines.linked > 0.9
    put["mixed"][:] = (lines.linked > 0) & (lines.linked < 0.5)
    put["ends"][:] = [text.endswith(ENDS) for text in lines.texts]
    own, around = _tables(tree.tags)
    x[:, OWN] = own[tree.tag[lines.row]]
    group = around[tree.tag]
    some = np.flatnonzero(group >= 0)
    width = len(AROUND)
    steps = np.bincount(some * width + group[some], minlength=(len(tree) + 1) * width)
    steps -= np.bincount(tree.end[some] * width + group[some], minlength=len(steps))
    x[:, ABOVE] = np.cumsum(steps.reshape(-1, width), axis=0)[lines.row] > 0

    mass = np.where((lines.chars > PROSE) & (lines.linked < 0.5), lines.chars * (1 - lines.linked), 0.0)
    total = max(1.0, mass.sum())
    by_chunk = np.zeros(len(tree.chunks))
    by_chunk[lines.first] = mass / total
    held = tree.sum_chunks(by_chunk)
    styles: dict[str, float] = {}
    for style, m in zip(lines.styles, mass.tolist(), strict=True):
        styles[style] = styles.get(style, 0.0) + m / total
    put["style"][:] = [styles[style] for style in lines.styles]
    put["parent"][:] = held[np.maximum(tree.parent[lines.row], 0)]
    most = np.flatnonzero(held >= HOLDS)
    container = int(most[-1]) if len(most) else 0
    inside = (lines.row >= container) & (lines.row < tree.end[container])
    put["inside"][:] = inside
    at = np.arange(n)
    main = np.flatnonzero(inside & (mass > 0))
    first, last = (int(main[0]), int(main[-1])) if len(main) else (0, n - 1)
    put["before"][:] = np.minimum(np.maximum(first - at, 0) / 20, 1)
    put["after"][:] = np.minimum(np.maximum(at - last, 0) / 20, 1)
    prose = np.zeros(n + 6)
    prose[3:-3] = mass > 0
    put["near"][:] = (prose[2:-4] + prose[4:-2]) / 2
    put["around"][:] = np.convolve(prose, np.full(7, 1 / 7), "valid")

    short = np.flatnonzero(lines.chars < SHORT)
    dated = np.array([_dated(lines.texts[i]) for i in short.tolist()], dtype=bool).reshape(-1, 2)
    put["date"][short], put["by"][short] = dated.T
    put["rights"][:] = ["©" in text or "opyright" in text or "rights reserved" in text for text in lines.texts]
    put["titled"][: last + 1] = _titled(tree, lines, last + 1)
    put["caption"][:], put["aside"][:], put["body"][:] = _named(tree, lines.row, container)
    return x


def _named(tree: TagTree, rows: Ints, top: int) -> Floats:
    """How the classes and ids of the five blocks around each line name it, below the row that holds the prose."""
    around = [rows]
    for _ in range(4):
        around.append(np.maximum(tree.parent[around[-1]], 0))
    roles = np.array([_role(name) for name in tree.classes])[tree.cls]
    for row in np.flatnonzero(np.bincount(np.concatenate(around))).tolist():
        if (found := tree.attributes.get(row)) and (name := found.get("id")) and (role := _role(name)):
            roles[row] |= role
    roles[0] = roles[top] = 0
    counts, inside = np.zeros_like(rows), np.ones(len(rows), dtype=bool)
    for at in around:
        inside &= at != top
        counts += roles[at] * inside
    return np.minimum([counts & 15, counts >> 4 & 15, counts >> 8], 2) / 2


@lru_cache(maxsize=100_000)
def _plain(name: str) -> str:
    """The first of a row's classes, without digits."""
    return re.sub(r"\d+", "", name).split(" ")[0]


@lru_cache(maxsize=100_000)
def _role(name: str) -> int:
    """Whether a name speaks of pictures, of things beside the text, of the text: in one number, so that five of them can be added."""
    return (
        (CAPTION.search(name) is not None)
        + 16 * (ASIDE.search(name) is not None)
        + 256 * (BODY.search(name) is not None)
    )


@lru_cache(maxsize=100_000)
def _dated(text: str) -> tuple[bool, bool]:
    """Whether a short line holds a date, and whether it begins like the name of an author."""
    return DATE.search(text) is not None, BY.match(text) is not None


def _titled(tree: TagTree, lines: Lines, stop: int) -> Floats:
    """How well each line agrees with the page's <title>, of which sites add their name and section."""
    title = set(tokens(tree.title))
    found = np.zeros(stop)
    if not title:
        return found
    whole = tree.title.lower()
    for i in np.flatnonzero((lines.chars[:stop] > 8) & (lines.chars[:stop] < 2 * SHORT)).tolist():
        text = lines.texts[i]
        if text[:3].lower() not in whole and text[-4:-1].lower() not in whole:  # saves most lines the reading
            continue
        words = set(tokens(text))
        both = len(words & title)
        if both and (both >= 2 or both == len(words)):
            found[i] = both / len(words) * min(1.0, both / (0.5 * len(title)))
    return found

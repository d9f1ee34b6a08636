"""Choose and name the columns of record pages of one site.

    location    position of a column's texts: a place; if that has several values, also a label or heading, and the number of the text
    candidate   a location and the texts it has on the pages (`column_candidates`)

`best_candidates` ranks the candidates, `name_column` names them. A single page without others has only the columns that it names itself
(`single_page_labels`, `named_candidates`).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import median
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from upwell.lazy import late_pattern
from upwell.page.path_signatures import BROKEN
from upwell.page.tree import TagTree
from upwell.records.column_names import best_name, column_name, may_name
from upwell.records.leaves import has_letter_or_digit
from upwell.records.record_page import (
    COLONS,
    JSON_LD,
    MIN_PROSE_CHARS,
    TITLE,
    LocatedText,
    PageTexts,
    is_stated,
    stated_property_name,
)
from upwell.records.values import column_type

__all__ = [
    "MAX_COLUMNS",
    "ColumnCandidate",
    "ColumnLocation",
    "best_candidates",
    "column_candidates",
    "letters_and_digits",
    "name_column",
    "named_candidates",
    "possible_names",
    "single_page_labels",
    "text_form",
    "texts_at",
]

# Candidates. All texts of a place are one group. If nearly all pages have the same number of texts, each text is a column. Otherwise the group
# is divided by label, and texts without a label by the heading before them.

STEADY_SHARE = 0.8  # share of the pages of a group with the usual number of texts; as in `record_columns`
PURE_SHARE = 0.9  # share of the texts at a place and number with the usual label
MIN_PAGE_SHARE = (
    0.1  # share of the pages (and at least two) with a column; 0.05 and 0.1 give the same F1, 0.1 fewer columns
)
MAX_STEADY_TEXTS = 60  # larger groups are lists

Cells = Mapping[int, Sequence[LocatedText]]  # by page


class ColumnLocation(NamedTuple):
    """Position of the texts of a column; None: any label or heading."""

    place: str
    label: str | None
    heading: str | None
    nth: int  # from 1; 0: all


@dataclass(frozen=True, eq=False)
class ColumnCandidate:
    """Possible column."""

    location: ColumnLocation
    cells: Cells
    group_size: int  # usual number of texts of the group on a page

    @cached_property
    def plain(self) -> dict[int, tuple[str, ...]]:
        """Letters and digits of the texts of each page."""
        return {page: tuple(letters_and_digits(text.text) for text in texts) for page, texts in self.cells.items()}

    @cached_property
    def distinct(self) -> int:
        """Number of different values over the pages."""
        return len(set(self.plain.values()))

    @cached_property
    def label(self) -> str:
        """Label of most texts; "" if most have none."""
        labels = Counter(texts[0].label for texts in self.cells.values())
        label, count = labels.most_common(1)[0]
        return label if count >= len(self.cells) / 2 else ""

    @cached_property
    def stated_as(self) -> list[str]:
        """Places of statements with the same values."""
        return []

    @cached_property
    def texts(self) -> list[str]:
        """Texts of all pages."""
        return [text.text for texts in self.cells.values() for text in texts]


def letters_and_digits(text: str) -> str:
    """Return the letters and digits of a text, case-folded.

    >>> letters_and_digits("ISBN: 978-0")
    'isbn9780'
    """
    return "".join(filter(str.isalnum, text.casefold()))


def texts_at(location: ColumnLocation, at_place: Sequence[LocatedText]) -> Sequence[LocatedText]:
    """Return the texts at a location, of all texts that a page has at its place."""
    group = at_place
    if location.label is not None:
        group = [text for text in group if text.label == location.label]
    if location.heading is not None:
        group = [text for text in group if text.heading == location.heading]
    return group[location.nth - 1 : location.nth] if location.nth else group


def column_candidates(pages: Sequence[Sequence[LocatedText]], *, keep_constants: bool = False) -> list[ColumnCandidate]:
    """Return the possible columns of pages, without rare ones and those with the same value on all pages.

    `keep_constants` keeps labelled constants. All candidates of a single page are kept.
    """
    groups: defaultdict[str, dict[int, list[LocatedText]]] = defaultdict(dict)
    for page, texts in enumerate(pages):
        for text in texts:
            groups[text.place].setdefault(page, []).append(text)
    all_columns = [column for place, cells in groups.items() for column in _of_place(place, cells, len(pages))]
    if len(pages) == 1:
        return all_columns
    min_pages = min(len(pages), max(2, MIN_PAGE_SHARE * len(pages)))
    return [
        column
        for column in all_columns
        if len(column.cells) >= min_pages and (column.distinct > 1 or (keep_constants and column.label))
    ]


def _of_place(place: str, cells: Cells, pages: int) -> Iterable[ColumnCandidate]:
    size, is_steady = _usual_size(cells, pages)
    labels = [_usual_label(cells, nth) for nth in range(size)] if is_steady else []
    # distinct labels also find texts on pages where others are missing
    has_own_labels = size > 1 and all(labels) and len(set(labels)) == size
    if is_steady and not has_own_labels and (size == 1 or None not in labels):
        yield from _each(ColumnLocation(place, None, None, 1), cells, size)
        return
    for label, labelled in _divided(cells, [text.label for texts in cells.values() for text in texts]).items():
        location = ColumnLocation(place, label, None, 0)
        yield from _steady_or_list(location, labelled, pages)
        if not label and not _usual_size(labelled, pages)[1]:
            headings = [text.heading for texts in labelled.values() for text in texts]
            for heading, headed in _divided(labelled, headings).items():
                yield from _steady_or_list(location._replace(heading=heading), headed, pages)


def _steady_or_list(location: ColumnLocation, cells: Cells, pages: int) -> Iterable[ColumnCandidate]:
    size, is_steady = _usual_size(cells, pages)
    if is_steady:
        yield from _each(location, cells, size)
    else:
        yield ColumnCandidate(location._replace(nth=0), cells, size)
        firsts = [len(texts[0].text) for texts in cells.values()]
        if not location.label and not location.heading and median(firsts) < MIN_PROSE_CHARS:
            yield from _each(location, cells, 1)  # the first may be a column, such as a price before other prices


def _each(location: ColumnLocation, cells: Cells, size: int) -> Iterable[ColumnCandidate]:
    for nth in range(1, size + 1):
        nth_texts = {page: texts[nth - 1 : nth] for page, texts in cells.items() if len(texts) >= nth}
        yield ColumnCandidate(location._replace(nth=nth), nth_texts, size)


def _usual_size(cells: Cells, pages: int) -> tuple[int, bool]:
    """Return the usual number of texts per page, and whether nearly all pages have it; a single page shows that only for one text."""
    size, count = Counter(map(len, cells.values())).most_common(1)[0]
    is_known = size == 1 or pages > 1
    return size, is_known and count >= STEADY_SHARE * len(cells) and size <= MAX_STEADY_TEXTS


def _usual_label(cells: Cells, nth: int) -> str | None:
    """Return the label of nearly all n-th texts of the pages; None if they differ."""
    labels = Counter(texts[nth].label for texts in cells.values() if len(texts) > nth)
    label, count = labels.most_common(1)[0]
    return label if count >= PURE_SHARE * labels.total() else None


def _divided(cells: Cells, names: Sequence[str]) -> dict[str, dict[int, list[LocatedText]]]:
    """Group texts by their names, given in the same order."""
    divided: defaultdict[str, dict[int, list[LocatedText]]] = defaultdict(dict)
    name_of = iter(names)
    for page, texts in cells.items():
        for text in texts:
            divided[next(name_of)].setdefault(page, []).append(text)
    return divided


# Names, best source first: an adjacent label; `itemprop` or `property`; the heading of a table column; the form of the texts (phone, email,
# website); a class or id; words that all texts share ("3.0L engine"); text in brackets after them ("(Author)"); words of all link targets
# (`/director/…`); the type; a heading further away; tags.

MAX_SAMPLES = 8  # safety limit: pages examined for a name
SHARED = 0.9  # share of the texts that have a common word or form
NAMING_LEVELS = 4  # levels above a text whose class or id may name it
MAX_NAMED_CHUNKS = 3  # chunks in such a row
MAX_NAME_WORDS = 5
MAX_WORDS_CHARS = 80  # longer texts share words by chance
MIN_SENTENCE_CHARS = (
    60  # median length of the texts of a column without any name that is called a description; not swept
)
LINE_TAGS = ("tr", "dl", "li", "p", "label", "dt", "th")  # a label and a value in one of them belong together
LINK_TAGS = ("a", "button", "option")  # their texts are actions or choices, not labels
WORDS = late_pattern(r"[^\W\d_]{2,}")
# At least three groups of digits, or a country code; dates also match and are excluded by their type.
PHONE = late_pattern(
    r"\W*(?:(?:tel|phone|fax|[tf])\W*)?(?:\+\d[\d\s().-]{6,16}|(?:\(?\d{2,4}\)?[\s./-]+){2,4}\d{3,4})(?:\s*+(?:x|ext)\.?\s*+\d++)?\W*+",
    re.I,
)
FORMS = {
    "phone": PHONE,
    "email": late_pattern(r"\S[^\s@]*+@\S+\.\w+"),
    "website": late_pattern(r"(?:https?://)?(?:[\w-]+\.)+[a-z]{2,}(?:/\S*)?", re.I),
}
# Words of URLs that name programs and files.
FILE_WORDS = frozenset(["html", "htm", "php", "asp", "aspx", "jsp", "cgi", "index", "default", "http", "https", "www"])
# Parts of class names that describe the control, not the content.
CONTROL_NAME_PARTS = late_pattern(
    r"^(?:lbl|txt|span|div|lit|ctl|hl|lnk|img)(?=[A-Z_-])|(?<=[a-z])[_-]?(?:Label|Text|Literal|HyperLink|Link)$"
)


class SampleText:
    """Text of a column on its page."""

    def __init__(self, tree: TagTree, chunk: int, label_chunk: int) -> None:
        self.tree, self.chunk, self.label_chunk = tree, chunk, label_chunk
        self.row = int(tree.chunk_row[chunk])
        self.rows = [self.row, *tree.ancestors(self.row)]


Source = Callable[[ColumnCandidate, Sequence[SampleText]], str]


def name_column(candidate: ColumnCandidate, trees: Sequence[TagTree]) -> tuple[str, str]:
    """Return the source of the best name of a column, and the name; it may be taken."""
    cells = [(page, texts[0]) for page, texts in list(candidate.cells.items())[:MAX_SAMPLES] if texts[0].chunk >= 0]
    samples = [SampleText(trees[page], text.chunk, text.label_chunk) for page, text in cells]
    if title := _page_title(candidate, samples):
        return "page title", title
    source, name = best_name(possible_names(candidate, samples))
    form = _form(candidate, samples)
    return source, f"{name}_{form}" if form and form not in name else name


def possible_names(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> list[tuple[str, str]]:
    """Return the names that the page may give to a column, with their sources."""
    names = [(kind, name) for kind, source in SOURCES if (name := source(candidate, samples))]
    is_labelled = any(kind in ("label", "statement", "heading") for kind, _ in names)
    return [each for each in names if not (is_labelled and each[0] in ("form", "type"))]


def _page_title(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    return "page_title" if candidate.location.place == TITLE else ""


def _label(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    """Return the label adjacent to the texts."""
    label = candidate.label
    adjacent = [_are_adjacent(sample) for sample in samples if sample.label_chunk >= 0]
    is_near = label.endswith((":", "：")) or sum(adjacent) > len(adjacent) / 2
    return _short_name(label) if label and is_near else ""


def _are_adjacent(sample: SampleText) -> bool:
    """Return True if a label and its value are in one line or close to each other in the page."""
    tree, label, value = sample.tree, sample.label_chunk, sample.chunk
    if label == value:
        return True
    if any(has_letter_or_digit(tree.chunks[i]) for i in range(label + 1, value)):
        return False  # it names the text in between
    row = int(tree.chunk_row[label])
    rows = [row, *tree.ancestors(row)]
    level = next(level for level, i in enumerate(rows) if i <= sample.row < tree.end[i])
    in_line = not (tree.chunk_gap[label + 1 : value + 1] == BROKEN).any()
    is_link = any(tree.name(i) in LINK_TAGS for i in rows[: level + 1])
    return in_line or tree.name(rows[level]) in LINE_TAGS or (not is_link and level <= NAMING_LEVELS)


def _stated_property(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    stated = [candidate.location.place, *candidate.stated_as]
    names = [
        name
        for place in sorted(stated, key=lambda place: not place.startswith(JSON_LD))
        if is_stated(place) and (name := stated_property_name(place))
    ]
    return _most(_attributes(sample, ("itemprop", "property")) for sample in samples) or (
        _short_name(names[0]) if names else ""
    )


def _column_heading(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    """Return the text of the same column in the table's first row, if it is the same on all pages and no data."""
    above = {next(iter(_cells_above(sample)), "") for sample in samples}
    heading = above.pop() if len(above) == 1 and len(samples) > 1 else ""
    return "" if "@" in heading or any(map(str.isdigit, heading)) else _short_name(heading)


def _cells_above(sample: SampleText) -> Iterator[str]:
    tree = sample.tree
    for cell in sample.rows[: NAMING_LEVELS + 2]:
        if tree.name(cell) in ("td", "th"):
            line = int(tree.parent[cell])
            above = [i for i in tree.children(int(tree.parent[line])) if i < line and tree.name(i) == "tr"]
            place = tree.children(line).index(cell)
            if above and len(cells := tree.children(above[-1])) > place:
                yield " ".join(tree.text(cells[place]).split())
            return


def _class(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    return _most(_attributes(sample, ("class", "id")) for sample in samples)


def _shared_words(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    texts = candidate.texts
    if len(candidate.cells) < 2 or len(texts[0]) > MAX_WORDS_CHARS:
        return ""
    counts = Counter(word for text in texts for word in dict.fromkeys(WORDS.findall(text.lower())))
    shared = [
        word
        for word in dict.fromkeys(WORDS.findall(texts[0].lower()))
        if counts[word] >= SHARED * len(texts) and word not in FILE_WORDS
    ]
    return column_name(" ".join(shared)) if 0 < len(shared) <= MAX_NAME_WORDS else ""


def _link_target(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    """Return a word of all link targets before the part that differs: `/explore/country/usa-206`, `?author=Karin`."""
    targets = []
    for sample in samples:
        link = next((i for i in sample.rows[:3] if sample.tree.name(i) == "a"), None)
        if link is not None and (href := sample.tree.attr(link, "href")):
            targets.append(_target_words(href, sample.tree.chunks[sample.chunk]))
    if len(targets) < max(2, len(samples) / 2):
        return ""
    shared = [word for word in targets[0] if all(word in other for other in targets[1:])]
    return column_name(shared[-1]) if shared else ""


def _target_words(target: str, text: str) -> list[str]:
    """Return the words of a link target; an argument whose value is the text comes last."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return []
    words = re.findall(r"(?<![^\W_])[^\W\d_]{3,20}(?![^\W_])", unquote(parts.path))
    arguments = parse_qsl(parts.query)
    words += [name for name, value in arguments if letters_and_digits(value) == letters_and_digits(text)]
    return [
        word
        for word in words
        if word.lower() not in FILE_WORDS and letters_and_digits(word) not in letters_and_digits(text)
    ]


def text_form(texts: Sequence[str]) -> str:
    """Return the form of texts: phone, email or website; "" if they have none of these.

    >>> text_form(["(020) 7946-0018"]), text_form(["a@example.org"]), text_form(["www.example.org/a"]), text_form(["12-7-2010"])
    ('phone', 'email', 'website', '')
    """
    texts = [text.strip() for text in texts]
    for name, form in FORMS.items():
        if sum(form.fullmatch(text) is not None for text in texts) >= SHARED * len(texts):
            return name if name != "phone" or column_type(texts) not in ("date", "datetime") else ""
    return ""


def _form(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    return text_form(candidate.texts)


def _type(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    kind = column_type(candidate.texts)
    return kind if kind in ("price", "date") else ""


def _behind(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    """Return the text in brackets after the texts: "(Author)"."""
    brackets = []
    for sample in samples:
        following = sample.tree.chunks[sample.chunk + 1] if sample.chunk + 1 < len(sample.tree.chunks) else ""
        bracket = re.match(r"\(([^\W\d_][^()]{1,20})\)", following)
        brackets.append(iter([bracket[1]] if bracket else []))
    return _most(brackets)


def _heading(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    heading, count = Counter(texts[0].heading for texts in candidate.cells.values()).most_common(1)[0]
    is_data = "@" in heading or any(map(str.isdigit, heading))  # an email location or a date
    if samples and sum(_is_link_before(sample, heading) for sample in samples) > len(samples) / 2:
        return ""  # the last link of a menu
    return _short_name(heading) if count > len(candidate.cells) / 2 and not is_data else ""


def _is_link_before(sample: SampleText, heading: str) -> bool:
    """Return True if the text `heading` before a text is a link or a button."""
    tree = sample.tree
    chunk = next((i for i in range(sample.chunk - 1, -1, -1) if tree.chunks[i] == heading), -1)
    row = int(tree.chunk_row[chunk]) if chunk >= 0 else -1
    return row >= 0 and any(tree.name(i) in LINK_TAGS for i in (row, *tree.ancestors(row)))


def _prose(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    """Return "description" for a column of sentences."""
    return "description" if median(map(len, candidate.texts)) >= MIN_SENTENCE_CHARS else ""


def _class_of_place(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    classes = re.findall(r"\.([^/.@]+)", candidate.location.place)
    return _short_name(classes[-1]) if classes and may_name(classes[-1]) else ""


def _tags(candidate: ColumnCandidate, samples: Sequence[SampleText]) -> str:
    return column_name("_".join(re.sub(r"[.@][^/]*", "", candidate.location.place).split("/")[-2:]))


def _short_name(text: str) -> str:
    return column_name(text) if 0 < len(WORDS.findall(text)) <= MAX_NAME_WORDS else ""


def _attributes(sample: SampleText, names: Sequence[str]) -> Iterator[str]:
    """Yield attributes of the row of a text and of ancestors with little other text, rarest first per row."""
    tree = sample.tree
    for i in sample.rows[:NAMING_LEVELS]:
        if i != sample.row and tree.text_end[i] - tree.text_at[i] > MAX_NAMED_CHUNKS:
            break
        values = [part for name in names for part in (tree.attr(i, name) or "").split()]
        for name in sorted(values, key=lambda name: _uses(tree)[name]):
            part = (
                CONTROL_NAME_PARTS.sub("", re.split(r"[:_$]", name)[-1])
                if re.match(r"\D*+\d.*[:_$]", name)
                else CONTROL_NAME_PARTS.sub("", name)
            )
            part = part.rsplit(":", 1)[-1]
            if part and may_name(part):
                yield part


@lru_cache(maxsize=MAX_SAMPLES)
def _uses(tree: TagTree) -> Counter[str]:
    """Count the uses of each class on a page."""
    return Counter(name for attributes in tree.attributes.values() for name in (attributes.get("class") or "").split())


def _most(names: "Sequence[Iterator[str]] | Iterator[Iterator[str]]") -> str:
    """Return the first name that most samples give."""
    firsts = [next(iter(candidates), "") for candidates in names]
    name, count = Counter(firsts).most_common(1)[0] if firsts else ("", 0)
    return _short_name(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) if count > len(firsts) / 2 else ""


SOURCES: tuple[tuple[str, Source], ...] = (  # kinds are those of `column_names.NAME_SOURCES`
    ("label", _label), ("statement", _stated_property), ("heading", _column_heading), ("form", _form), ("class", _class),
    ("shared words", _shared_words), ("behind", _behind), ("link target", _link_target), ("type", _type), ("text before", _heading),
    ("place", _class_of_place), ("prose", _prose), ("tags", _tags),
)  # fmt: skip


# Ranking: prefer candidates that most pages have, that vary, that have a label and are near the title. The factors were swept on 24 sites by
# the F1 of the first 20 columns and checked on 16 others (docs/decisions/0081-align-record-page-fields-by-location-and-label.md).
MAX_COLUMNS = 40  # columns per table
SAME_SHARE = 0.9  # if two columns agree on this share of the pages, one is dropped
VARIED_SHARE = 0.3  # share of distinct values above which more variation does not count
LABEL_FACTOR = 1.5
LIST_FACTOR = 0.5
LATER_FACTOR = 0.8  # for the second to fifth text of a place
LATE_FACTOR = 0.5  # for texts after LATE
LATE = 5
LONG_CHARS = {400: 0.5, 100: 0.7}  # factor by number of characters
TITLE_DISTANCE = 300  # distance after the title, in texts, at which the factor is one half
BEFORE_TITLE = 3  # distances before the title are multiplied by this
GROUP_SIZE = 10  # size of an unlabelled group at which the factor is one half
STATED_FACTOR = 0.4  # statements in the head of a page are mostly also shown in its body
JSON_LD_FACTOR = 1.2
FOOTER = late_pattern(r"(?:^|[/.])(?:[^/.]+[-_])?(?:page)?footer(?![^/.\W])")  # places at the foot of a page
HEADLINES = {"h1": 0.3, "h2": 0.2, "h3": 0.1, "strong": 0.05, "b": 0.05}  # bonus of a title candidate by tag; not swept


def best_candidates(
    candidates: Sequence[ColumnCandidate], trees: Sequence[TagTree]
) -> tuple[list[ColumnCandidate], ColumnCandidate | None]:
    """Return at most `MAX_COLUMNS` candidates, best first, without duplicates, and the candidate that is the title."""
    shown = [column for column in candidates if column.label or not FOOTER.search(column.location.place)]
    candidates = shown or candidates
    title = _title(candidates, trees)
    if len(trees) == 1:
        candidates = named_candidates(candidates, trees[0], title)
    title_chunks = {page: texts[0].chunk for page, texts in title.cells.items()} if title else {}
    scores = {candidate: _score(candidate, len(trees), title_chunks) for candidate in candidates}
    ranked = sorted(candidates, key=lambda candidate: (candidate is not title, -scores[candidate]))
    kept: list[ColumnCandidate] = []
    for candidate in ranked:
        if len(kept) == MAX_COLUMNS:
            break
        same = next((other for other in kept if _have_same_values(candidate, other)), None)
        if same is None:
            kept.append(candidate)
        elif is_stated(candidate.location.place):
            same.stated_as.append(candidate.location.place)
    return kept, title


def _title(candidates: Sequence[ColumnCandidate], trees: Sequence[TagTree]) -> ColumnCandidate | None:
    words_of = [set(_words(tree.title)) for tree in trees]
    pages_with = Counter(word for words in words_of for word in words)
    constant = {word for word, count in pages_with.items() if count > len(trees) / 2} if len(trees) > 1 else set()
    titles = [words - constant for words in words_of]
    shown = [candidate for candidate in candidates if not is_stated(candidate.location.place)] or candidates
    return max(shown, key=lambda candidate: _title_fit(candidate, titles), default=None)


def _title_fit(candidate: ColumnCandidate, titles: Sequence[set[str]]) -> float:
    """Score a column as the title by the words it shares with <title> and by its tags."""
    fit = 0.0
    for page, texts in candidate.cells.items():
        words = set(_words(texts[0].text))
        fit += 2 * len(words & titles[page]) / max(1, len(words) + len(titles[page]))
    tags = {step.split(".")[0] for step in candidate.location.place.split("/")}
    return fit / len(titles) + max((HEADLINES[tag] for tag in tags if tag in HEADLINES), default=0.0)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _score(candidate: ColumnCandidate, pages: int, title_chunks: dict[int, int]) -> float:
    cells, nth = candidate.cells, candidate.location.nth
    score: float = len(cells) / pages * min(1.0, candidate.distinct / len(cells) / VARIED_SHARE) ** 0.5
    chars = median(sum(len(text.text) for text in texts) for texts in cells.values())
    score *= next((factor for min_chars, factor in LONG_CHARS.items() if chars >= min_chars), 1.0)
    if is_stated(candidate.location.place):
        return score * (JSON_LD_FACTOR if candidate.location.place.startswith(JSON_LD) else STATED_FACTOR)
    score *= (
        1.0
        if nth == 1
        else (1.0 if candidate.label else LIST_FACTOR)
        if not nth
        else LATER_FACTOR
        if nth <= LATE
        else LATE_FACTOR
    )
    score *= LABEL_FACTOR if candidate.label else 1 / (1 + candidate.group_size / GROUP_SIZE)
    distance: float = median(texts[0].chunk - title_chunks.get(page, 0) for page, texts in cells.items())
    return score / (1 + (distance if distance >= 0 else -BEFORE_TITLE * distance) / TITLE_DISTANCE)


def _have_same_values(candidate: ColumnCandidate, other: ColumnCandidate) -> bool:
    max_cells = max(len(candidate.cells), len(other.cells))
    if min(len(candidate.cells), len(other.cells)) < SAME_SHARE * max_cells:
        return False
    return sum(text == other.plain.get(page) for page, text in candidate.plain.items()) >= SAME_SHARE * max_cells


# Single pages. Labels are texts that end with a colon, <dt> and <th>, the first of two cells, and bold words before other text of their line.

TERM_TAGS = ("dt", "th")
BOLD_TAGS = ("b", "strong")
MAX_LABEL_CHARS = 40
MAX_NAMED_CHARS = 200  # longer texts need more than a class as their name


def single_page_labels(page: PageTexts) -> Iterator[tuple[str, str]]:
    """Yield the labels of a single page, with their cells."""
    tree = page.tree
    for chunk, cell, text in page.texts:
        row = int(tree.chunk_row[chunk])
        if text.endswith(COLONS):
            yield cell, text
        elif len(text) <= MAX_LABEL_CHARS and not any(map(str.isdigit, text)):
            tag, above = tree.name(row), int(tree.parent[row])
            is_first_cell = _is_first_of_two_cells(tree, row) or _is_first_of_two_cells(tree, above)
            if tag in TERM_TAGS or is_first_cell or (tag in BOLD_TAGS and _precedes_text(tree, chunk, above)):
                yield cell, text


def _precedes_text(tree: TagTree, chunk: int, above: int) -> bool:
    """Return True if text of the row above continues in the line of a chunk."""
    following = chunk + 1
    return (
        following < len(tree.chunks)
        and int(tree.chunk_row[following]) == above
        and bool(tree.chunk_gap[following] != BROKEN)
    )


def _is_first_of_two_cells(tree: TagTree, row: int) -> bool:
    if row < 0 or tree.signatures[tree.signature_of[row]].column != 1:
        return False
    cells = tree.children(int(tree.parent[row]))
    return len(cells) == 2 and bool(tree.text_end[cells[1]] > tree.text_at[cells[1]])


def named_candidates(
    candidates: Sequence[ColumnCandidate], tree: TagTree, title: ColumnCandidate | None
) -> list[ColumnCandidate]:
    """Keep the candidates of a single page that it names: by a label, statement, property, id, unique class, or form."""
    uses = Counter(name for own in tree.attributes.values() for name in (own.get("class") or "").split())
    return [column for column in candidates if column is title or column.label or _is_named(column, uses)]


def _is_named(column: ColumnCandidate, uses: Counter[str]) -> bool:
    place = column.location.place
    if is_stated(place) or "@" in place or place.startswith("#") or text_form(column.texts):
        return True
    tag, *classes = re.split(r"[.]", place.rsplit("/", 1)[-1])
    is_short = max(map(len, column.texts)) <= MAX_NAMED_CHARS
    return tag == "h1" or (is_short and any(uses[name] == 1 for name in classes))

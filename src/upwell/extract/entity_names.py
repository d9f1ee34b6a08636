"""What the columns of a table of entities are called, by what the site says, best first.

A label beside the texts; `itemprop` or `property`; the heading of a table's column; the form of the texts (phone, email, website); a class
or an id; the words that all texts have ("3.0L engine"); those that all targets of their links have (`/director/…`); what stands in
brackets behind them ("(Author)"); a label or heading farther off; else tags.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlsplit

from upwell.extract.column_names import LAYOUT_CLASS, column_name
from upwell.extract.entity_columns import Candidate, plain
from upwell.extract.entity_stated import JSON_LD, TITLE, is_stated, property_of
from upwell.extract.values import column_type
from upwell.lazy import late_pattern
from upwell.page.spots import BROKEN
from upwell.page.tree import TagTree

__all__ = ["form_of", "name_of"]

MAX_SAMPLES = 8  # pages that a name is looked for on
SHARED = 0.9  # of the texts that have a word or a form
NAMING_LEVELS = 4  # rows from a text up whose class or id may name it
MAX_NAMED_CHUNKS = 3  # that such a row holds
MAX_NAME_WORDS = 5
MAX_WORDS_CHARS = 80  # of texts whose shared words may name them; longer ones share words by chance
LINE_TAGS = ("tr", "dl", "li", "p", "label", "dt", "th")  # what stands in one of them stands together
LINK_TAGS = ("a", "button", "option")  # what these say is an action or a choice
WORDS = late_pattern(r"[^\W\d_]{2,}")
# Three groups of digits or more, or a country's number first; a date has at most four digits in a group, too, but is found by its type.
PHONE = late_pattern(
    r"\W*(?:tel|phone|fax|[tf])?\W*(?:\+\d[\d\s().-]{6,16}|(?:\(?\d{2,4}\)?[\s./-]+){2,4}\d{3,4})(?:\s*(?:x|ext)\.?\s*\d+)?\W*",
    re.I,
)
FORMS = {
    "phone": PHONE,
    "email": late_pattern(r"\S+@\S+\.\w+"),
    "website": late_pattern(r"(?:https?://)?(?:[\w-]+\.)+[a-z]{2,}(?:/\S*)?", re.I),
}
# Names of programs and pages in addresses, not of things.
FILE_WORDS = frozenset(["html", "htm", "php", "asp", "aspx", "jsp", "cgi", "index", "default", "http", "https", "www"])
# Parts of class names that say how an element is made, not what it holds.
MADE = late_pattern(
    r"^(?:lbl|txt|span|div|lit|ctl|hl|lnk|img)(?=[A-Z_-])|(?<=[a-z])[_-]?(?:Label|Text|Literal|HyperLink|Link)$"
)


class Sample:
    """A text of a column, on its page."""

    def __init__(self, tree: TagTree, chunk: int, label_chunk: int) -> None:
        self.tree, self.chunk, self.label_chunk = tree, chunk, label_chunk
        self.row = int(tree.chunk_row[chunk])
        self.rows = [self.row, *tree.ancestors(self.row)]


Source = Callable[[Candidate, Sequence[Sample]], str]


def name_of(candidate: Candidate, trees: Sequence[TagTree]) -> str:
    """The best name of a column; it may be taken."""
    cells = [(page, texts[0]) for page, texts in list(candidate.cells.items())[:MAX_SAMPLES] if texts[0].chunk >= 0]
    samples = [Sample(trees[page], found.chunk, found.label_chunk) for page, found in cells]
    for source in SOURCES:
        if name := source(candidate, samples):
            break
    form = _form(candidate, samples)
    return f"{name}_{form}" if form and form not in name else name


def _page_title(candidate: Candidate, samples: Sequence[Sample]) -> str:
    return "page_title" if candidate.address.place == TITLE else ""


def _label(candidate: Candidate, samples: Sequence[Sample]) -> str:
    """The label right beside the texts."""
    label = candidate.label
    beside = [_stand_together(sample) for sample in samples if sample.label_chunk >= 0]
    is_near = label.endswith((":", "：")) or sum(beside) > len(beside) / 2
    return _short_name(label) if label and is_near else ""


def _stand_together(sample: Sample) -> bool:
    tree, label, value = sample.tree, sample.label_chunk, sample.chunk
    if label == value:
        return True
    if any(any(map(str.isalnum, tree.chunks[i])) for i in range(label + 1, value)):
        return False  # it names what stands between
    row = int(tree.chunk_row[label])
    rows = [row, *tree.ancestors(row)]
    level = next(level for level, i in enumerate(rows) if i <= sample.row < tree.end[i])
    in_line = not (tree.chunk_gap[label + 1 : value + 1] == BROKEN).any()
    is_link = any(tree.name(i) in LINK_TAGS for i in rows[: level + 1])
    return in_line or tree.name(rows[level]) in LINE_TAGS or (not is_link and level <= NAMING_LEVELS)


def _stated_property(candidate: Candidate, samples: Sequence[Sample]) -> str:
    stated = [candidate.address.place, *candidate.stated_as]
    names = [
        name
        for place in sorted(stated, key=lambda place: not place.startswith(JSON_LD))
        if is_stated(place) and (name := property_of(place))
    ]
    return _most(_attributes(sample, ("itemprop", "property")) for sample in samples) or (
        _short_name(names[0]) if names else ""
    )


def _column_heading(candidate: Candidate, samples: Sequence[Sample]) -> str:
    """What stands in the same column of the table's first line, if it is the same on all pages."""
    return _most(_cells_above(sample) for sample in samples) if len(samples) > 1 else ""


def _cells_above(sample: Sample) -> Iterator[str]:
    tree = sample.tree
    for cell in sample.rows[: NAMING_LEVELS + 2]:
        if tree.name(cell) in ("td", "th"):
            line = int(tree.parent[cell])
            above = [i for i in tree.children(int(tree.parent[line])) if i < line and tree.name(i) == "tr"]
            place = tree.children(line).index(cell)
            if above and len(cells := tree.children(above[-1])) > place:
                yield " ".join(tree.text(cells[place]).split())
            return


def _class(candidate: Candidate, samples: Sequence[Sample]) -> str:
    return _most(_attributes(sample, ("class", "id")) for sample in samples)


def _shared_words(candidate: Candidate, samples: Sequence[Sample]) -> str:
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


def _link_target(candidate: Candidate, samples: Sequence[Sample]) -> str:
    """A word of all targets before the part that differs: `/explore/country/usa-206`, `?author=Karin`."""
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
    """The words of a target; an argument that has the text as its value is the last."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return []
    words = re.findall(r"(?<![^\W_])[^\W\d_]{3,20}(?![^\W_])", unquote(parts.path))
    arguments = parse_qsl(parts.query)
    words += [name for name, value in arguments if plain(value) == plain(text)]
    return [word for word in words if word.lower() not in FILE_WORDS and plain(word) not in plain(text)]


def form_of(texts: Sequence[str]) -> str:
    """What texts are by their form: phone, email or website; "" where they are none of these.

    >>> form_of(["(020) 7946-0018"]), form_of(["a@example.org"]), form_of(["www.example.org/a"]), form_of(["12-7-2010"])
    ('phone', 'email', 'website', '')
    """
    texts = [text.strip() for text in texts]
    for name, form in FORMS.items():
        if sum(form.fullmatch(text) is not None for text in texts) >= SHARED * len(texts):
            return name if name != "phone" or column_type(texts) not in ("date", "datetime") else ""
    return ""


def _form(candidate: Candidate, samples: Sequence[Sample]) -> str:
    return form_of(candidate.texts)


def _type(candidate: Candidate, samples: Sequence[Sample]) -> str:
    kind = column_type(candidate.texts)
    return kind if kind in ("price", "date") else ""


def _behind(candidate: Candidate, samples: Sequence[Sample]) -> str:
    """What stands in brackets behind the texts: "(Author)"."""
    found = []
    for sample in samples:
        following = sample.tree.chunks[sample.chunk + 1] if sample.chunk + 1 < len(sample.tree.chunks) else ""
        bracket = re.match(r"\(([^\W\d_][^()]{1,20})\)", following)
        found.append(iter([bracket[1]] if bracket else []))
    return _most(found)


def _heading(candidate: Candidate, samples: Sequence[Sample]) -> str:
    heading, count = Counter(texts[0].heading for texts in candidate.cells.values()).most_common(1)[0]
    is_data = "@" in heading or any(map(str.isdigit, heading))  # an address, a date: of one record, or of all
    return _short_name(heading) if count > len(candidate.cells) / 2 and not is_data else ""


def _class_of_place(candidate: Candidate, samples: Sequence[Sample]) -> str:
    classes = re.findall(r"\.([^/.@]+)", candidate.address.place)
    return _short_name(classes[-1]) if classes and not LAYOUT_CLASS.match(classes[-1].lower()) else ""


def _tags(candidate: Candidate, samples: Sequence[Sample]) -> str:
    return column_name("_".join(re.sub(r"[.@][^/]*", "", candidate.address.place).split("/")[-2:]))


def _short_name(text: str) -> str:
    return column_name(text) if 0 < len(WORDS.findall(text)) <= MAX_NAME_WORDS else ""


def _attributes(sample: Sample, names: Sequence[str]) -> Iterator[str]:
    """Attributes of the row of a text and of the rows around it that hold little else, the rarest first of each row."""
    tree = sample.tree
    for i in sample.rows[:NAMING_LEVELS]:
        if i != sample.row and tree.text_end[i] - tree.text_at[i] > MAX_NAMED_CHUNKS:
            break
        said = [part for name in names for part in (tree.attr(i, name) or "").split()]
        for name in sorted(said, key=lambda name: _uses(tree)[name]):
            part = MADE.sub("", re.split(r"[:_$]", name)[-1]) if re.search(r"\d.*[:_$]", name) else MADE.sub("", name)
            part = part.rsplit(":", 1)[-1]
            if part and not any(c.isdigit() for c in part) and not LAYOUT_CLASS.match(part.lower()):
                yield part


@lru_cache(maxsize=MAX_SAMPLES)
def _uses(tree: TagTree) -> Counter[str]:
    """How often each class is used on a page."""
    return Counter(name for found in tree.attributes.values() for name in (found.get("class") or "").split())


def _most(names: "Sequence[Iterator[str]] | Iterator[Iterator[str]]") -> str:
    """The first name that most samples give."""
    firsts = [next(iter(found), "") for found in names]
    name, count = Counter(firsts).most_common(1)[0] if firsts else ("", 0)
    return _short_name(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) if count > len(firsts) / 2 else ""


SOURCES: tuple[Source, ...] = (
    _page_title, _label, _stated_property, _column_heading, _form, _class, _shared_words, _behind, _link_target, _type, _heading, _class_of_place, _tags,
)  # fmt: skip

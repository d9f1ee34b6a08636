"""Column names from a page, and which of several names says best what a column is.

A name comes from a source: a label, a statement (`itemprop`, JSON-LD), a table heading, a class, and as a last resort the tags. `name_evidence`
is a fitted judgement of the source and the words of a name: words that sites use as labels and properties speak for it, words that they use only
as classes ("btn", "wrapper") against it. It is fitted on the attributes of SWDE with whole sites left out (`python -m benchmarks.fit column_name`).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice

from upwell.judge.judgement import load_judgement
from upwell.page.tree import TagTree

__all__ = [
    "LAYOUT_CLASS",
    "MAX_LEVELS",
    "NAME_SOURCES",
    "best_name",
    "column_name",
    "may_name",
    "name_evidence",
    "name_features",
    "name_from_tags",
    "name_on_page",
    "table_headings",
    "unused_name",
]

MAX_LEVELS = (
    100  # safety limit: levels above a text from which it may have its name; nested deeper only by mistake or malice
)
# Classes that describe layout, not content.
LAYOUT_CLASS = re.compile(
    r"^(?:col|row|cell|left|right|clear\w*|wrap\w*|inner|outer|container|text|even|odd|first|last|active)$"
)


# Sources of names, the most direct first.
NAME_SOURCES = (
    "label", "statement", "heading", "form", "class", "shared words", "behind", "link target", "type", "text before", "place", "prose", "tags",
)  # fmt: skip
FALLBACKS = (
    "type",
    "text before",
    "place",
    "prose",
    "tags",
)  # used in this order where no other source has a good name
WORD = "word "  # beginning of the features that are words
NAME_FEATURES = ("constant", "no known word", "more than three words", "has a digit")
MAX_WORDS = 3
MIN_EVIDENCE = -1.95  # log odds below which a name is worse than one made of tags: "wrapper", "btn", "footer"
# Utility classes of CSS frameworks, which describe one property of the style (Bootstrap 5, Tailwind): "fw-bold", "me-auto", "text-muted".
UTILITY_CLASS = re.compile(
    r"^-?[a-z]{1,2}[-:]|^(?:text|font|flex|grid|bg|border|rounded|shadow|align|justify|float|display|overflow|stretched|btn|col|row|gap|space|leading"
    r"|tracking|visually|small|medium|large|hover|focus|dark)(?:[-:]|$)"
)
# log odds from which a class may name a column; below it are classes of layouts ("wrapper", "fw-bold", "mb")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def column_name(name: str) -> str:
    """Normalise a column name to letters, digits and underscores; reserved names (`_key` …) cannot result.

    >>> column_name("Date (published):"), column_name("_id"), column_name("—")
    ('date_published', 'id', 'text')
    """
    plain = "".join(c if c.isalnum() else "_" for c in name.lower()).strip("_")
    return re.sub("_+", "_", plain) or "text"


def name_words(name: str) -> list[str]:
    """Return the words of a name of any form.

    >>> name_words("itemPrice_2"), name_words("published-on")
    (['item', 'price'], ['published', 'on'])
    """
    return [word for word in re.split(r"[\W_\d]+", CAMEL.sub("_", name).lower()) if word]


def name_features(name: str, source: str, known: Collection[str]) -> dict[str, float]:
    """Return the features of a name; `known` are the words that the judgement knows."""
    words = name_words(name)
    found = [word for word in words if word in known]
    features = {
        "constant": 1.0,
        "no known word": float(not found),
        "more than three words": float(len(words) > MAX_WORDS),
        "has a digit": float(any(map(str.isdigit, name))),
        source: 1.0,
    }
    for word in found:
        features[WORD + word] = features.get(WORD + word, 0.0) + 1 / len(found)
    return features


@cache
def _weights() -> tuple[Mapping[str, float], frozenset[str]]:
    """Return the weights of the judgement by feature, and the words among them."""
    judgement = load_judgement("column_name")
    assert judgement.linear is not None  # noqa: S101 # the judgement is linear
    weights = dict(zip(judgement.features, judgement.linear[0].tolist(), strict=True))
    return weights, frozenset(name.removeprefix(WORD) for name in weights if name.startswith(WORD))


@lru_cache(maxsize=10_000)
def name_evidence(name: str, source: str = "class") -> float:
    """Return the log odds that a name of a source says what its column is."""
    weights, words = _weights()
    return sum(weights[feature] * value for feature, value in name_features(name, source, words).items())


def best_name(candidates: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Return the source and the name with most evidence among pairs of them; the first of the `FALLBACKS` if the others have little."""
    candidates = list(candidates)
    given = [
        each for each in candidates if each[0] not in FALLBACKS and name_evidence(each[1], each[0]) >= MIN_EVIDENCE
    ]
    if not given:
        return next((each for each in candidates if each[0] in FALLBACKS), candidates[0] if candidates else ("", ""))
    return max(given, key=lambda each: name_evidence(each[1], each[0]))


def may_name(name: str) -> bool:
    """Return True if a class may name a column: it has no digit, and says nothing of layout or style.

    >>> may_name("priority"), may_name("fw-bold"), may_name("text-foreground"), may_name("col")
    (True, False, False, False)
    """
    plain = name.lower()
    return not any(map(str.isdigit, name)) and not LAYOUT_CLASS.match(plain) and not UTILITY_CLASS.match(plain)


def name_on_page(tree: TagTree, row: int, top: int, headings: Sequence[str]) -> tuple[str, str]:
    """Return the name that the page gives to a row of a record starting at `top`, or to an ancestor, after its source; empty texts if it gives none."""
    for above in (row, *islice(tree.ancestors(row), MAX_LEVELS)):
        if above < top:
            break
        if name := tree.attr(above, "itemprop"):
            return "statement", column_name(name)
        if tree.name(above) == "td" and tree.nth[above] <= len(headings) and (name := headings[tree.nth[above] - 1]):
            return "heading", column_name(name)
        if above != top:
            names = [column_name(name) for name in tree.classes[tree.cls[above]].split() if may_name(name)]
            name = max(names, key=name_evidence, default="")
            if name and name_evidence(name) >= MIN_EVIDENCE:
                return "class", name
    return "", ""


def name_from_tags(tree: TagTree, row: int, top: int) -> str:
    """Return a name from the tags between the first row of a record and one of its rows: `tr_td2`."""
    chain = [i for i in (row, *islice(tree.ancestors(row), MAX_LEVELS)) if i >= top]
    steps = [f"{tree.name(i)}{tree.nth[i] if tree.nth[i] > 1 and i != top else ''}" for i in reversed(chain)]
    return column_name("_".join(steps))


def table_headings(tree: TagTree, row: int) -> tuple[str, ...]:
    """Return the column headings of the table around a row; empty if there are none."""
    for above in (row, *tree.ancestors(row)):
        if tree.name(above) == "table":
            for line in tree.rows("tr"):
                if above < line < tree.end[above]:
                    cells = tree.children(int(line))
                    if cells and all(tree.name(cell) == "th" for cell in cells):
                        return tuple(_heading_text(tree, cell) for cell in cells)
            return ()
    return ()


def _heading_text(tree: TagTree, cell: int) -> str:
    """Return the text of a heading cell, without links and buttons beside other text ("Size [sort]")."""
    chunks = range(int(tree.text_at[cell]), int(tree.text_end[cell]))
    rows = {chunk: int(tree.chunk_row[chunk]) for chunk in chunks}
    plain = [
        chunk
        for chunk, row in rows.items()
        if not any(tree.name(i) in ("a", "button") for i in (row, *tree.ancestors(row)) if i > cell)
    ]
    own = " ".join(" ".join(tree.chunks[chunk] for chunk in plain).split())
    return own if any(map(str.isalpha, own)) else " ".join(tree.text(cell).split())


def unused_name(name: str, taken: set[str]) -> str:
    """Return the name, with a number appended if it is taken."""
    if name not in taken:
        return name
    return next(f"{name}_{i}" for i in range(2, len(taken) + 3) if f"{name}_{i}" not in taken)

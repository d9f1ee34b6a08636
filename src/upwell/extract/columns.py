"""The columns of a source: all that stands at one place of its matches, under a name that is learned once.

    label    a text that names what follows it: <dt>, <th>, "Price:"

Names come from what the pages say, best first: a label, JSON-LD, `itemprop`, the heading of a table's column, a class; else
from what the column holds (title, price, date); else from tags and order.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from upwell.extract.fields import Known, Match, Page, Piece, by_tags, clean, headings_of, told
from upwell.extract.values import Type, column_type

__all__ = ["OTHER", "Column", "Columns", "learn_columns"]

OTHER = "other"  # what stands at a place that no match had when the source was learned
# A column is named by what JSON-LD calls its texts when this share of them stands there.
SAID = 0.5
# A place has as many columns as this share of its matches has pieces there; else it is one column that repeats.
STEADY = 0.8
# A text is a label when so many matches have it; where it stands before its value, so many pieces at that place have one.
OFTEN, LABELLED = 0.05, 0.8
WORDS = (
    0.5  # distinct terms a term: where <dt> and <th> say more than that, they are no labels but what the match is about
)
MANY = 5  # matches from which a link or button that always says the same is no data
WIDEST = 60  # columns that are kept; what is rarer goes to `other`
LABEL = re.compile(r"\s*([^\W\d_][^:\n]{0,30}?)\s*:(?:\s+(\S.*))?$", re.S)


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column, as `source.json` has it; without a name it is known, and no data."""

    name: str
    type: Type = "text"
    at: str = ""  # its place as a number; "…:2" is the second piece there
    share: float = 0.0  # share of the matches that have it
    repeats: bool = False


@dataclass(frozen=True, kw_only=True)
class Columns:
    """All columns of a source, and what else is known of its matches."""

    columns: tuple[Column, ...] = ()
    labels: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()  # elements that only mark words inside a text
    link: str = ""  # the place of the link to a match's own page, as `Column.at`
    pictures: bool = False  # whether matches have pictures of their own

    @cached_property
    def _names(self) -> dict[tuple[int, int], str]:
        found: dict[tuple[int, int], str] = {}
        for column in self.columns:
            place, _, nth = column.at.partition(":")
            found[int(place, 16), int(nth or 0)] = column.name
        return found

    @cached_property
    def own_link(self) -> tuple[int, int]:
        """The place of the link to a match's own page, and which of the links there it is; -1 where there is none."""
        place, _, nth = self.link.partition(":")
        return (int(place, 16), int(nth)) if self.link else (-1, 1)

    @cached_property
    def _labels(self) -> dict[str, str]:
        return {label: clean(label) for label in self.labels}

    @cached_property
    def known(self) -> Known:
        """What was found out of places on the pages that were read."""
        return {}

    @cached_property
    def types(self) -> dict[str, Type]:
        """The type of each column that is not just text."""
        return {column.name: column.type for column in self.columns if column.type != "text"}

    def fields(self, pieces: Iterable[Piece]) -> dict[str, str]:
        """The texts of one match by name; what repeats is joined with "; "."""
        found: dict[str, str] = {}
        often: dict[int, int] = {}
        names = self._names
        for piece, label, text in _labelled(pieces, self._labels) if self.labels else [(p, "", p[1]) for p in pieces]:
            if label:
                name = self._labels[label]
            else:
                place = piece[0]
                nth = often[place] = often.get(place, 0) + 1
                known = names.get((place, 0))
                name = known if known is not None else names.get((place, nth), OTHER)
            if name:
                found[name] = f"{found[name]}; {text}" if name in found else text
        return found


def _labelled(pieces: Iterable[Piece], labels: Collection[str]) -> Iterator[tuple[Piece, str, str]]:
    """The pieces that are no labels, with the label of each ("": none) and the text without it."""
    said, begins = "", tuple(labels)
    for piece in pieces:
        text = piece[1]
        if text.startswith(begins) and (piece.term or ":" in text):
            label = LABEL.match(text)
            name, rest = (label[1], label[2] or "") if label else (text, "")
            if name in labels:
                if not rest:
                    said = name
                    continue
                said, text = name, rest
        yield piece, said, text
        said = ""


def learn_columns(pages: Sequence[Page]) -> Columns:
    """The columns of a source from the matches of some of its answers."""
    marks = _marks(pages)
    pages = [Page(page.leaves, page.cut, marks) for page in pages]
    read = [(page, match, page.pieces(match)) for page in pages for match in page.matches]
    if not read:
        return Columns()
    labels = _labels([pieces for _, _, pieces in read])
    often: defaultdict[int, Counter[int]] = defaultdict(Counter)  # place: in how many matches how many pieces
    texts: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    sample: dict[int, tuple[Page, int, int]] = {}
    for page, match, pieces in read:
        here: Counter[int] = Counter()
        for piece, label, text in _labelled(pieces, labels):
            if not label:
                here[piece.place] += 1
                texts[piece.place, here[piece.place]].append(text)
                sample.setdefault(piece.place, (page, piece.row, match.row))
        for place, n in here.items():
            often[place][n] += 1
    said = _linked_data(pages)
    pictures = len({found for page, match, _ in read if (found := page.image(match))}) > len(read) / 2
    taken: set[str] = {OTHER, *map(clean, labels), *(["image"] if pictures else [])}
    columns: list[Column] = []
    for place, counts in often.items():
        n, having = counts.most_common(1)[0][0], counts.total()
        steady = counts[n] >= STEADY * having and not (n > 1 and _listed(sample[place]))
        for nth in range(1, n + 1) if steady and n > 1 else [0]:
            held = texts[place, nth] if nth else [t for k in range(1, max(counts) + 1) for t in texts[place, k]]
            kind, name = column_type(held), ""
            if len(held) < MANY or len(set(held)) > 1 or not _acts(sample[place]):
                name = _unused(_name(sample[place], held, kind, said, taken), taken)
                taken.add(name)
            share = round((len(held) if nth else having) / len(read), 3)
            at = f"{place:x}:{nth}" if nth else f"{place:x}"
            columns.append(Column(name=name, type=kind, at=at, share=share, repeats=not steady))
    least = sorted((column.share for column in columns), reverse=True)[: WIDEST + 1][-1]
    kept = columns if len(columns) <= WIDEST else [column for column in columns if column.share > least]
    return Columns(
        columns=tuple(kept),
        labels=tuple(sorted(labels)),
        marks=marks,
        link=_own_link(read),
        pictures=pictures,
    )


def _marks(pages: Sequence[Page]) -> tuple[str, ...]:
    """The elements that only mark words: mostly beside text of the row above, and not one in every match."""
    beside: defaultdict[str, list[bool]] = defaultdict(list)
    once: Counter[str] = Counter()
    matches = 0
    for page in pages:
        for match in page.matches:
            matches += 1
            here: Counter[str] = Counter()
            for step, near in page.marking(match):
                beside[step].append(near)
                here[step] += 1
            once.update(step for step, n in here.items() if n == 1)
    return tuple(
        sorted(
            step
            for step, near in beside.items()
            if "." in step and sum(near) > STEADY * len(near) and once[step] < STEADY * matches
        )
    )


def _labels(matches: Sequence[Sequence[Piece]]) -> frozenset[str]:
    """The texts that name what follows: <dt>, <th> and "Price:" that several matches have, and "Price: 3" where all pieces are so."""
    alone: Counter[str] = Counter()
    terms: Counter[str] = Counter()
    before: Counter[str] = Counter()
    at: defaultdict[str, set[int]] = defaultdict(set)
    pieces_at: Counter[int] = Counter()
    labelled_at: Counter[int] = Counter()
    for pieces in matches:
        for piece, after in zip(pieces, [*pieces[1:], None], strict=False):  # none where a match is a line of marks
            pieces_at[piece.place] += 1
            label = LABEL.match(piece.text)
            if label and label[2]:
                before[label[1]] += 1
                labelled_at[piece.place] += 1
                at[label[1]].add(piece.place)
            elif after is not None and not after.term:
                if label:
                    alone[label[1]] += 1
                elif piece.term:
                    terms[piece.text] += 1
    least = max(2, OFTEN * len(matches))
    if len(terms) <= WORDS * terms.total():
        alone += terms
    sure = {place for place, n in pieces_at.items() if labelled_at[place] >= LABELLED * n}
    found = {label for label, n in alone.items() if n >= least}
    return frozenset(found | {label for label, n in before.items() if n >= least and at[label] <= sure})


def _acts(sample: tuple[Page, int, int]) -> bool:
    """Whether a place is the text of a link or a button."""
    page, row, unit = sample
    return any(page.tree.name(i) in ("a", "button") for i in (row, *page.tree.ancestors(row)) if i >= unit)


def _listed(sample: tuple[Page, int, int]) -> bool:
    """Whether a place is in an item of a list inside its match."""
    page, row, unit = sample
    return any(page.tree.name(i) == "li" for i in (row, *page.tree.ancestors(row)) if i > unit)


def _own_link(read: Sequence[tuple[Page, Match, list[Piece]]]) -> str:
    """The place of the links that tell matches apart: most distinct targets, the first of equals that stays on the site, else the first."""
    targets: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    for page, match, _ in read:
        seen: Counter[int] = Counter()
        for place, target in page.links(match):
            seen[place] += 1
            if target and not target.startswith(("#", "javascript:", "mailto:")):
                targets[place, seen[place]].add(target)
    most = max(map(len, targets.values()), default=0)
    able = [at for at, found in targets.items() if len(found) >= 0.9 * most]
    hosts = {urlsplit(page.tree.url).netloc for page, _, _ in read}
    home = [at for at in able if sum(_host(t) in ("", *hosts) for t in targets[at]) > len(targets[at]) / 2]
    return next((f"{place:x}:{nth}" for place, nth in (*home, *able)), "")


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).netloc
    except ValueError:
        return None


def _linked_data(pages: Sequence[Page]) -> dict[str, str]:
    """What JSON-LD on the pages calls a text: text → property."""
    found: dict[str, str] = {}
    for page in pages:
        for text in page.tree.data.values():
            try:
                stack = [("", json.loads(text))]
            except (ValueError, RecursionError):
                continue
            while stack:
                name, value = stack.pop()
                if isinstance(value, dict):
                    stack.extend((str(key), inner) for key, inner in value.items() if not str(key).startswith("@"))
                elif isinstance(value, list):
                    stack.extend((name, inner) for inner in value)
                elif isinstance(value, str | int | float) and name:
                    found.setdefault(str(value).strip(), name)
    return found


def _name(
    sample: tuple[Page, int, int], texts: Sequence[str], kind: Type, said: Mapping[str, str], taken: set[str]
) -> str:
    page, row, unit = sample
    tree = page.tree
    known = Counter(said[text] for text in texts if text in said).most_common(1)
    if known and known[0][1] >= SAID * len(texts):
        return clean(known[0][0])
    if name := told(tree, row, unit, headings_of(tree, unit)):
        return name
    if kind in ("price", "date") and kind not in taken:
        return kind
    above = {tree.name(i) for i in (row, *tree.ancestors(row)) if i >= unit}
    if "title" not in taken and kind == "text" and above & {"a", "h1", "h2", "h3", "h4", "h5", "b", "strong"}:
        return "title"
    return by_tags(tree, row, unit)


def _unused(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    return next(f"{name}_{i}" for i in range(2, len(taken) + 3) if f"{name}_{i}" not in taken)

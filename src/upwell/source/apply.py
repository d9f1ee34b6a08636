"""Read an answer with the source model: its kind, and its records with fields and keys."""

import hashlib
import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from upwell.answers import kind as empty
from upwell.answers.kind import EmptyModel
from upwell.answers.totals import read_totals
from upwell.lexicon.argument_names import PAGE, PAGE_SIZE, undecorated
from upwell.page.tokens import tokens
from upwell.page.tree import TagTree
from upwell.records import evidence as pagelets
from upwell.records.cut_rules import GROUP_FIELD, SWITCH_MARGIN, add_sibling_records, apply_rule, read_groups
from upwell.records.cuts import Cut, candidate_cuts
from upwell.records.fields import RecordReader, fields_of_subtree, split_trailing_dates
from upwell.records.leaves import Leaves, split_leaves
from upwell.records.record_columns import ReadRecord
from upwell.source.model import SourceModel
from upwell.types import Kind, Record
from upwell.urls.arguments import parse_arguments, without_arguments

__all__ = [
    "CutEvidence",
    "Reading",
    "ReadingChecks",
    "apply",
    "check",
    "compare_cuts",
    "find_cut",
    "misread_counts",
    "shows_alternatives",
]

IDENTIFIER = re.compile(r"_?(?:(?:object|record|item|doc|document)_?)?(?:id|uuid|guid)")  # column of the identifier
OF_QUERY = re.compile(r"highlight|snippet|formatted|matched|matchlevel|score")  # column that depends on the query
ZERO = re.compile(r"(?<![\w.,:/-])[0٠۰०](?![\w.,:/%-])")  # a number that may be the count of an answer without matches
RECORD_ID = re.compile(r"\d{4}")  # a shorter number in an id attribute only counts elements on the page


@dataclass(frozen=True, kw_only=True)
class Reading:
    """An answer as the model reads it."""

    kind: Kind
    records: tuple[Record, ...] = ()
    pagelet: str | None = None
    score: float = 0.0  # share of the page's text inside records


class ReadingChecks(TypedDict):
    """Consistency checks of a reading; None where the page or the caller gives nothing to compare with."""

    count: bool | None  # the page states the number of records that were read
    query: float | None  # share of the records that contain a word of the query


def apply(model: SourceModel, tree: TagTree, *, status: int = 200, asked_at: str = "", query: str = "") -> Reading:
    """Read one answer.

    `asked_at` is the path of the search interface: a page at another path is a record page, not a list of matches.
    `query` is the query, if known: an answer without records may repeat it.
    """
    if status >= 400 or not tree.chunks:
        return Reading(kind="error")
    leaves = split_leaves(tree)
    cut = find_cut(model, leaves)
    if cut is not None and shows_alternatives(model.empty, leaves, cut, query):
        return Reading(kind="none")
    is_answer = not asked_at or urlsplit(tree.url).path == asked_at
    if cut is None and is_answer and query:
        cut = _cut_of_links(leaves, empty.matching_links(model.empty, tree, query))
    if cut is not None:
        share = _chars_in(leaves, cut) / max(1, sum(map(len, leaves.texts)))
        container_paths = {row: tree.path(row) for row in dict.fromkeys(cut.container.tolist())}
        records = _records(model, leaves, cut, container_paths)
        return Reading(kind="multi", records=records, pagelet=container_paths[int(cut.container[0])], score=share)
    if empty.judge_answer(model.empty, tree, query, records=0).kind in ("error", "blocked", "missing"):
        return Reading(kind="error")
    if not is_answer:
        frame = frozenset(model.frame)
        row = pagelets.smallest_row_with(tree, _own_chars(tree, frame))
        fields = {name: value for name, value in fields_of_subtree(tree, row).items() if value not in frame}
        address = without_arguments(tree.url, model.volatile)
        text = " ".join(tree.text(row).split())
        record = Record(key=address, url=address, path=tree.path(row), text=text, fields=fields)
        return Reading(kind="single", records=(record,))
    return Reading(kind="none")


def shows_alternatives(model: EmptyModel, leaves: Leaves, cut: Cut, query: str) -> bool:
    """Return True if an answer has no matches although it has records: those that the site shows instead (Entity, Figure 8a).

    Three signs decide together. A record that contains all words of the query is a match, whatever the page says, because one of several
    blocks may be empty. Otherwise the page's own count of zero decides; without a count, the message that all answers to nonsense have,
    if no record contains any word of the query.
    """
    tree, words = leaves.tree, tokens(query)
    says_zero = any(ZERO.search(text) for text in tree.chunks)
    if not says_zero and not (model.is_message_certain and words):
        return False
    texts = [
        " ".join(leaves.texts[start:end]).lower()
        for start, end in zip(cut.starts.tolist(), cut.ends.tolist(), strict=True)
    ]
    if words and any(all(word in text for word in words) for text in texts):
        return False
    total = read_totals(tree, (), query).total
    if total is not None or not model.is_message_certain or not words:
        return total == 0
    if any(word in text for text in texts for word in words):
        return False
    return empty.judge_answer(model, tree, query, records=len(texts)).kind == "none"


def find_cut(model: SourceModel, leaves: Leaves) -> Cut | None:
    """Return the cut of an answer by the first matching rule, or by a later rule whose cut scores clearly higher."""
    cut = _fitting_cut(model, leaves)
    return add_sibling_records(leaves, cut) if cut is not None else None


def _fitting_cut(model: SourceModel, leaves: Leaves) -> Cut | None:
    fitting = [cuts for rule in model.rules if (cuts := apply_rule(leaves, rule))]
    if not fitting or all(len(cuts) == 1 and cuts[0].has_same_records(fitting[0][0]) for cuts in fitting):
        return fitting[0][0] if fitting else None
    evidence = pagelets.Evidence(leaves, frozenset(model.frame) if model.frame else None)
    best: tuple[float, Cut] | None = None
    for cuts in fitting:
        score, i = max((pagelets.score_cut(evidence, cut), i) for i, cut in enumerate(cuts))
        if best is None or score > best[0] + SWITCH_MARGIN:
            best = score, cuts[i]
    return best[1] if best else None


@dataclass(frozen=True, kw_only=True)
class CutEvidence:
    """A way to cut an answer into records, and the evidence for it."""

    cut: Cut
    rule: int | None  # number of the model's rule that leads to it, from 0; None: no rule does
    score: float
    features: Mapping[str, float]


def compare_cuts(model: SourceModel, leaves: Leaves, most: int = 3) -> list[CutEvidence]:
    """Return the cut that the model chooses for an answer, then up to `most` other cuts of the page, best score first.

    The other cuts may come from other rules, or from no rule; the model was learned from several answers, so a single one of them may have
    a cut with a higher score. Return an empty list if no rule matches the answer.
    """
    chosen = _fitting_cut(model, leaves)
    if chosen is None:
        return []
    evidence = pagelets.Evidence(leaves, frozenset(model.frame) if model.frame else None)
    by_rule = [(number, cut) for number, rule in enumerate(model.rules) for cut in apply_rule(leaves, rule)]

    def of(cut: Cut) -> CutEvidence:
        rule = next((number for number, other in by_rule if other.has_same_records(cut)), None)
        features = pagelets.cut_features(evidence, cut)
        return CutEvidence(cut=cut, rule=rule, score=pagelets.score(features), features=features)

    distinct: list[Cut] = []
    for cut in (*(cut for _, cut in by_rule), *candidate_cuts(leaves)):
        if not any(cut.has_same_records(other) for other in (chosen, *distinct)):
            distinct.append(cut)
    others = sorted(map(of, distinct), key=lambda other: -other.score)
    return [of(chosen), *others[:most]]


def _cut_of_links(leaves: Leaves, links: Sequence[int]) -> Cut | None:
    """Return the cut in which each of these links is a record, for answers that no rule matches."""
    rows = [row for row in links if leaves.row_start[row] < leaves.row_end[row]]
    if not rows:
        return None
    starts, ends = leaves.row_start[rows].astype(np.int32), leaves.row_end[rows].astype(np.int32)
    unit_row, unit = np.full(len(leaves), -1, dtype=np.int32), np.arange(len(leaves), dtype=np.int32)
    for row, start, end in zip(rows, starts.tolist(), ends.tolist(), strict=True):
        unit_row[start:end], unit[start:end] = row, start
    container = leaves.tree.parent[rows].astype(np.int32)
    return Cut(starts, ends, 0, unit, container, unit_row, leaves.row_end[container].astype(np.int32))


MISREAD_FACTOR = (
    2  # between the records that an answer states to show and those that are read, from which it was misread; not swept
)
SURELY_SHOWN = 5  # records that the first page of an answer with as many matches shows at least; not swept
MIN_STATED = 3  # answers that must state how many records they show; not swept


def check(reading: Reading, tree: TagTree, query: str = "") -> ReadingChecks:
    """Compare a reading with the number of records that the page states, and with the query."""
    texts = [record.text.lower() for record in reading.records]
    words = pagelets.query_words(query)
    with_query = [any(word in text for word in words) for text in texts]
    sizes = pagelets.stated_page_sizes(tree.chunks) if texts else frozenset()
    return {
        "count": len(texts) in sizes if sizes else None,
        "query": round(sum(with_query) / len(texts), 3) if texts and words else None,
    }


def misread_counts(model: SourceModel, pages: Iterable[TagTree]) -> tuple[int, int] | None:
    """Return how many records one of some answers shows at least, and how many the model reads there, if the model reads no answer right.

    An answer shows the range that it states ("1 – 20"), else a few records if its total is as large. It is not right if less than half or
    more than twice as many are read. None if any answer is nearly right, or if too few state enough.
    """
    wrong: list[tuple[int, int]] = []
    for page in pages:
        records = apply(model, page).records
        stated = read_totals(page, [record.text for record in records])
        if not records or (stated.total or 0) < SURELY_SHOWN:
            continue
        read, size = len(records), SURELY_SHOWN
        is_short = MISREAD_FACTOR * read < size
        if stated.first == 1 and (stated.last or 0) >= SURELY_SHOWN:
            size = stated.last or 0
            is_short = MISREAD_FACTOR * read < size or read > MISREAD_FACTOR * size
        if not is_short:
            return None
        wrong.append((size, read))
    return wrong[0] if len(wrong) >= MIN_STATED else None


def _chars_in(leaves: Leaves, cut: Cut) -> int:
    """Return the number of characters in all records."""
    starts, ends = cut.starts.tolist(), cut.ends.tolist()
    if starts[1:] == ends[:-1]:  # usual case: adjacent records, one slice is enough
        starts, ends = starts[:1], ends[-1:]
    return sum(sum(map(len, leaves.texts[first:last])) for first, last in zip(starts, ends, strict=True))


def _records(model: SourceModel, leaves: Leaves, cut: Cut, container_paths: Mapping[int, str]) -> tuple[Record, ...]:
    """Build the records of an answer: fields, URLs and keys."""
    tree, columns = leaves.tree, model.columns
    cut, groups = read_groups(leaves, cut, int(columns.heading or "0", 16))
    reader = RecordReader(leaves, cut, columns.marks)
    own_path = urlsplit(tree.url).path
    pieces: deque[tuple[ReadRecord, str | None, int]] = deque()
    for piece, group, container in zip(columns.records(reader), groups, cut.container.tolist(), strict=True):
        if group:
            piece.fields.setdefault(GROUP_FIELD, group)
        if columns.pictures and (image := reader.image(piece.at)):
            piece.fields.setdefault("image", image)
        address = reader.absolute(piece.own if piece.own is not None else reader.first_target(piece.at))
        if address is None and model.has_addresses:
            continue
        if address and "?" in address:
            if own_path in address and _turns_pages(address, tree.url):
                continue
            address = without_arguments(address, model.volatile)
        pieces.append((piece, address, container))
    # counted per block: two blocks may list the same records
    addresses = [(container, address) for _, address, container in pieces if address]
    are_keys = len(set(addresses)) > len(addresses) / 2  # otherwise all records share one link
    numbers = {name for name, kind in columns.types.items() if kind in ("integer", "decimal")}
    steps = {container: tree.steps_below(container) for container in container_paths}
    records = []
    while pieces:  # a record takes the place of its piece
        (at, fields, links, _, text), address, container = pieces.popleft()
        path, row = container_paths[container], at.row
        if (step := steps[container].get(row)) is not None:
            path = f"{path}/{step}"
        fields = split_trailing_dates(fields)
        key = address if address and are_keys and not model.keyed_by_content else _key(tree, row, fields, text, numbers)
        records.append(Record(key=key, url=address, path=path, text=text, fields=fields, links=links))
    return tuple(records)


def _turns_pages(address: str, page: str) -> bool:
    """Return True if an address differs from the page's own only in arguments for the page number or page size.

    >>> _turns_pages("http://x/s?q=a&page=2", "http://x/s?q=a"), _turns_pages("http://x/s?id=2", "http://x/s?q=a")
    (True, False)
    """
    here = urlsplit(page)
    there = urlsplit(address)
    if here.path != there.path or not there.query:
        return False
    asked, arguments = dict(parse_arguments(here.query)), parse_arguments(there.query)
    of_pages = {
        name for name, _ in arguments if PAGE.fullmatch(undecorated(name)) or PAGE_SIZE.fullmatch(undecorated(name))
    }
    return bool(of_pages) and all(name in of_pages or asked.get(name, "") == value for name, value in arguments)


def _key(tree: TagTree, row: int, fields: Mapping[str, str], text: str, numbers: Collection[str]) -> str:
    """Return the key of a record without a URL: an id attribute, else a hash of its identifier, else of its fields.

    Numeric columns are left out: they may be ranks and scores, which change with the query, as highlighted parts of texts do.
    """
    for name in ("id", "data-id"):
        if (value := tree.attr(row, name)) and RECORD_ID.search(value):
            return value
    plain = {name: value for name, value in fields.items() if name not in numbers and name != GROUP_FIELD}
    identifier = next((value for name, value in plain.items() if IDENTIFIER.fullmatch(name)), "")
    of_record = " ".join(value for name, value in plain.items() if not OF_QUERY.search(name))
    stable = identifier or of_record or " ".join(plain.values()) or text
    return hashlib.sha1(stable.encode(), usedforsecurity=False).hexdigest()


def _own_chars(tree: TagTree, frame: frozenset[str]) -> NDArray[np.float64]:
    """Return the number of characters of each chunk; 0 for texts of the frame."""
    return np.array([0.0 if text in frame else float(len(text)) for text in tree.chunks])

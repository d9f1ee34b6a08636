"""Learning the source model from the answers to the probe queries: the frame, the cut rules, the columns (Thor §IV).

frame        the texts that most answers have: menus, headings, footers
background   answers to nonsense words, which show what an answer without records has
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import numpy as np

from upwell.answers.empty import learn_empty
from upwell.answers.record_arguments import not_identifying
from upwell.answers.totals import read_totals
from upwell.extract import columns, pagelets
from upwell.extract.cut_candidates import Cut, candidates, leaves_in
from upwell.extract.cut_rules import ScoredCut, ScoredPage, learn_rules
from upwell.extract.cuts_by_links import cuts_by_links
from upwell.extract.facet_cuts import without_facets
from upwell.extract.fields import RecordReader
from upwell.extract.groups import groups_of, learn_heading
from upwell.extract.leaves import Hashes, Leaves, leaves_of
from upwell.model import Record
from upwell.page.tree import TagTree
from upwell.source.apply import apply, check, find_cut
from upwell.source.model import SourceModel

__all__ = ["FRAME_SHARE", "RecordExample", "distinct_answers", "learn_source"]

# A text on more than this share of all answers (and on two at least) is part of the frame, not of a record.
FRAME_SHARE = 0.4  # swept: 0.25, 0.4, 0.6, no difference; records that answer several probes must stay below
# A text on more than this share of them is there whatever is asked: a list of such texts is never an answer.
STATIC_SHARE = (
    0.8  # swept: 0.6, 0.8, 0.95; 0.6 loses 3.5 points on serp150: two answers of three may have the same records
)
# Pages that must have a text at a place before it can be called static there; not swept: two answers may well have the same records.
MIN_PAGES_WITH_PLACE = 3
# Answers that are searched for repeated structure: those with the most text outside the frame.
MAX_SAMPLE = 10  # swept: 5, 10, 20, no difference
# Records must have this share of text that changes from answer to answer, at places that answers to nonsense do not have.
MIN_CHANGING_SHARE = 0.2  # swept: 0.05, 0.1, 0.2, 0.4; 0.4 loses half a point on serp150
MIN_KNOWN_CHARS = 20  # of a record's text by which it is known again in another answer; not swept
MIN_CHANGED_RECORDS = 2  # known again with another address, before addresses are said not to last; not swept
MIN_RECORDS = 20  # before the share of them that have an address says anything; not swept
MIN_ADDRESS_SHARE = 0.95  # of the records, above which those without an address are pieces of the frame; not swept
MAX_EMPTY_ANSWERS = 20  # answers without records, and as many with, that tell what an empty answer says
SAME_ANSWER_SHARE = 0.6  # two answers that have this share of their texts in common are the same answer; not swept
MIN_TEXTS_TO_COMPARE = 3  # an answer with no more texts than this is not compared; not swept


@dataclass(frozen=True, kw_only=True)
class RecordExample:
    """What a person says is one record: the leaves `first` … `last` of an answer."""

    answer: int
    first: int
    last: int


def learn_source(
    answers: Sequence[TagTree],
    background: Sequence[TagTree] = (),
    *,
    queries: Sequence[str] = (),
    background_queries: Sequence[str] = (),
    is_record_address: Callable[[str], bool] | None = None,
    example: RecordExample | None = None,
) -> SourceModel:
    """Learns from answers to real words, and from answers to nonsense (`background`), each with its query where that is known.

    With `is_record_address` only cuts count that have the address of one record in nearly every piece; with an `example` only those in
    which it is a record.

    Thor §IV; departs from it: the rules are those that the evidence of all answers together speaks for.
    """
    has_several = len(answers) + len(background) > 1
    frame, static = _repeated_texts(answers, background)
    own_chars = [sum(len(text) for text in tree.chunks if text not in frame) for tree in answers]
    sample = sorted(range(len(answers)), key=lambda i: -own_chars[i])[:MAX_SAMPLE]
    if example is not None:
        sample = [example.answer, *(i for i in sample if i != example.answer)]
    query_of = dict(enumerate(queries))
    pages, empty_pages = [leaves_of(answers[i]) for i in sample], [leaves_of(tree) for tree in background]
    empty_places = _places(empty_pages)
    static_at = _static_at_places([*pages, *empty_pages])
    scored: list[ScoredPage] = []
    for i, page in zip(sample, pages, strict=True):
        evidence = pagelets.Evidence(page, frame if has_several else None, query_of.get(i, ""))
        if example is not None:
            cuts = _cuts_with(example, page) if i == example.answer else _cuts_by(scored[0], page)
        elif is_record_address:
            cuts = cuts_by_links(page, is_record_address)
        else:
            cuts = _possible_cuts(page, static, static_at, empty_places, has_several)
        scored.append(ScoredPage(page, [ScoredCut(cut, pagelets.score(evidence, cut)) for cut in cuts]))
    asked_at = Counter(urlsplit(tree.url).path for tree in answers).most_common(1)[0][0] if answers else ""
    model = SourceModel(frame=tuple(sorted(frame)) if has_several else (), asked_at=asked_at)
    rules = learn_rules(scored)
    if not rules:
        return model
    model = replace(model, rules=rules)
    found = [(page, cut) for page in pages if (cut := find_cut(model, page)) is not None]
    heading = learn_heading(found)
    readers = [RecordReader(page, groups_of(page, cut, heading)[0]) for page, cut in found]
    model = replace(model, columns=replace(columns.learn_columns(readers), heading=f"{heading:x}" if heading else ""))
    read = [(answers[i], apply(model, answers[i]), query_of.get(i, "")) for i in sample]
    record_urls = [
        (tree, [record.url for record in reading.records if record.url], query)
        for tree, reading, query in read
        if reading.records
    ]
    model = replace(model, volatile=not_identifying(record_urls))
    model = replace(model, keyed_by_content=not _addresses_last([apply(model, answers[i]).records for i in sample]))
    records = [record for _, reading, _ in read for record in reading.records]
    with_address = sum(record.url is not None for record in records)
    has_addresses = len(records) >= MIN_RECORDS and with_address >= MIN_ADDRESS_SHARE * len(records)
    counts_agree = [agrees for tree, reading, _ in read if (agrees := check(reading, tree)["count"]) is not None]
    asked = [(tree, query_of.get(i, "")) for i, tree in enumerate(answers)]
    has_records = [find_cut(model, leaves_of(tree)) is not None for tree in answers]
    empty_answers = [*zip(background, background_queries or [""] * len(background), strict=True)]
    without_records = [answer for answer, has in zip(asked, has_records, strict=True) if not has and answer[0].chunks]
    empty_answers += [answer for answer in without_records if not read_totals(answer[0]).total]
    full_answers = [answer for answer, has in zip(asked, has_records, strict=True) if has]
    return replace(
        model,
        has_addresses=has_addresses,
        empty=learn_empty(empty_answers[:MAX_EMPTY_ANSWERS], full_answers[:MAX_EMPTY_ANSWERS]).shortened(),
        fits=round(sum(has_records) / len(answers), 3),
        agrees=round(sum(map(bool, counts_agree)) / len(counts_agree), 3) if counts_agree else None,
    )


def _cuts_with(example: RecordExample, page: Leaves) -> list[Cut]:
    """The cuts in which the example is a record; else those in which a record holds it, and as little besides as possible."""
    holding: list[tuple[int, Cut]] = []
    for cut in candidates(page):
        inside = np.flatnonzero((cut.starts <= example.first) & (cut.ends > example.last))
        if len(inside):
            more = int(cut.ends[inside[0]] - cut.starts[inside[0]]) - (example.last + 1 - example.first)
            holding.append((more, cut))
    least = min((more for more, _ in holding), default=0)
    return [cut for more, cut in holding if more == least]


def _cuts_by(shown: ScoredPage, page: Leaves) -> list[Cut]:
    """The cuts of another answer to which the same keys lead."""
    keys = {key for one in shown.cuts for key in one.cut.keys}
    return [cut for cut in candidates(page) if cut.keys & keys]


def _addresses_last(answers: Sequence[Sequence[Record]]) -> bool:
    """Whether records that came in several answers, known by their text, mostly kept their addresses: a session may be part of these."""
    addresses: defaultdict[str, list[str]] = defaultdict(list)
    for records in answers:
        texts = Counter(record.text for record in records)
        for record in records:
            if record.url and texts[record.text] == 1 and len(record.text) >= MIN_KNOWN_CHARS:
                addresses[record.text].append(record.url)
    repeated = [urls for urls in addresses.values() if len(urls) > 1]
    changed = sum(len(set(urls)) == len(urls) for urls in repeated)
    return changed < MIN_CHANGED_RECORDS or changed <= len(repeated) / 2


def distinct_answers(answers: Sequence[TagTree], background: Sequence[TagTree] = ()) -> list[TagTree]:
    """The answers without those that say nearly the same as one before; texts that answers to nonsense have do not count."""
    empty_texts = {text for tree in background for text in tree.chunks}
    kept: list[TagTree] = []
    kept_texts: list[set[str]] = []
    for tree in answers:
        texts = set(tree.chunks) - empty_texts
        is_repeated = len(texts) > MIN_TEXTS_TO_COMPARE and any(
            len(texts & other) >= SAME_ANSWER_SHARE * len(texts | other) for other in kept_texts
        )
        if not is_repeated:
            kept.append(tree)
            kept_texts.append(texts)
    return kept


def _repeated_texts(answers: Sequence[TagTree], background: Sequence[TagTree]) -> tuple[frozenset[str], frozenset[str]]:
    """The texts of the frame, and those that are on nearly all answers; both with all that answers to nonsense say."""
    pages = len(answers) + len(background)
    pages_with = Counter(text for tree in (*answers, *background) for text in set(tree.chunks))
    empty_texts = {text for tree in background for text in tree.chunks}
    frame = {text for text, n in pages_with.items() if n > max(1.0, FRAME_SHARE * pages)}
    static = {text for text, n in pages_with.items() if n > STATIC_SHARE * pages}
    return frozenset(frame | empty_texts), frozenset(static | empty_texts)


def _places(pages: Sequence[Leaves]) -> Hashes:
    """The places at which pages have text, as paths of tags and classes."""
    paths = [page.class_paths[page.row] for page in pages]
    return np.unique(np.concatenate(paths)) if paths else np.zeros(0, dtype=np.uint64)


def _static_at_places(pages: Sequence[Leaves]) -> set[tuple[int, str]]:
    """The texts, with their places, that nearly every page has that has anything at the place.

    So a box to sort by is found, which only answers with records have.
    """
    pages_with: Counter[tuple[int, str]] = Counter()
    for page in pages:
        pages_with.update(set(_texts_at_places(page)))
    pages_with_place = Counter(path for page in pages for path in np.unique(page.class_paths[page.row]).tolist())
    return {
        (place, text)
        for (place, text), n in pages_with.items()
        if pages_with_place[place] >= MIN_PAGES_WITH_PLACE and n > STATIC_SHARE * pages_with_place[place]
    }


def _texts_at_places(page: Leaves) -> Iterator[tuple[int, str]]:
    return zip(page.class_paths[page.row].tolist(), page.texts, strict=True)


def _possible_cuts(
    page: Leaves,
    static: Collection[str],
    static_at: Collection[tuple[int, str]],
    empty_places: Hashes,
    has_several: bool,
) -> list[Cut]:
    """The candidates that may be an answer: they change from answer to answer, and answers to nonsense do not have their places."""
    is_changing = [text not in static and (place, text) not in static_at for place, text in _texts_at_places(page)]
    changing_chars = page.chars * np.array(is_changing, dtype=bool)
    is_new_place = ~np.isin(page.class_paths[page.row], empty_places)
    possible = []
    is_changing_text = np.array([text not in static for text in page.texts], dtype=bool)
    for cut in candidates(page, pagelets.weighed_chars(page, is_changing_text if has_several else None)):
        inside = leaves_in(cut.starts, cut.ends)
        changes = changing_chars[inside].sum() >= MIN_CHANGING_SHARE * page.chars[inside].sum()
        if (changes or not has_several) and is_new_place[inside].mean() >= MIN_CHANGING_SHARE:
            possible.append(cut)
    return without_facets(page, possible)

"""Learn the source model from the answers to probe queries: frame, cut rules and columns (Thor §IV).

frame        texts that most answers contain: menus, headings, footers
background   answers to nonsense words, which show what an answer without records contains
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import numpy as np

from upwell.answers.answer import Answer
from upwell.answers.argument_roles import non_identifying_arguments
from upwell.answers.kind import learn_empty
from upwell.answers.totals import read_totals
from upwell.page.tree import TagTree
from upwell.records import evidence as pagelets
from upwell.records import record_columns as columns
from upwell.records.cut_rules import ScoredCut, ScoredPage, learn_group_heading, learn_rules, read_groups
from upwell.records.cuts import Cut, candidate_cuts, cuts_by_links, exclude_facet_cuts, leaves_in_ranges
from upwell.records.fields import RecordReader
from upwell.records.leaves import Hashes, Leaves, split_leaves
from upwell.source.apply import apply, check, find_cut, shows_alternatives
from upwell.source.model import SourceModel
from upwell.types import Record

__all__ = ["FRAME_SHARE", "RecordExample", "distinct_answers", "learn_source"]

# share of the answers (and at least two) with a text from which on the text belongs to the frame, not to a record;
# swept: 0.25, 0.4, 0.6 equal. Records that match several probes must stay below.
FRAME_SHARE = 0.4
# share of the answers with a text from which on it does not depend on the query, so that a list of such texts is no
# answer; swept: 0.6, 0.8, 0.95; 0.6 loses 3.5 points on serp150, where two of three answers may have the same records
STATIC_SHARE = 0.8
# pages with text at a position before a text can be static there; not swept: two answers may have the same records
MIN_PAGES_WITH_PLACE = 3
# answers searched for repeated structure, those with the most text outside the frame; swept: 5, 10, 20 equal
MAX_SAMPLE = 10
# minimum share of a record's text that differs between answers, and that stands where nonsense answers have no text;
# swept: 0.05, 0.1, 0.2, 0.4; 0.4 loses half a point on serp150
MIN_CHANGING_SHARE = 0.2
MIN_KNOWN_CHARS = 20  # characters of a record's text needed to recognise it in another answer; not swept
MIN_CHANGED_RECORDS = 2  # records seen under two URLs before URLs are no longer used as keys; not swept
MIN_RECORDS = 20  # records needed before the share of them with a URL is used; not swept
MIN_ADDRESS_SHARE = 0.95  # share of records with a URL above which pieces without one belong to the frame; not swept
MAX_EMPTY_ANSWERS = (
    20  # safety limit: answers without records, and with records, that the model of empty answers is learned from
)
SAME_ANSWER_SHARE = 0.6  # share of common texts from which on two answers count as the same; not swept
MIN_TEXTS_TO_COMPARE = 3  # answers with no more texts than this are never merged; not swept


@dataclass(frozen=True, kw_only=True)
class RecordExample:
    """A record marked by a person: the leaves `first` to `last` of answer number `answer`."""

    answer: int
    first: int
    last: int


def learn_source(
    answers: Sequence[Answer | TagTree],
    background: Sequence[Answer | TagTree] = (),
    *,
    is_record_address: Callable[[str], bool] | None = None,
    example: RecordExample | None = None,
    nonsense_has_records: bool = False,
) -> SourceModel:
    """Learn the source model from answers to real words and from answers to nonsense words (`background`).

    A page alone stands for an answer whose query is unknown. With `is_record_address`, only cuts in which nearly every piece
    links to exactly one record are considered; with an `example`, only cuts that contain it as a record. With `nonsense_has_records`, answers to
    nonsense may show records too (alternatives, or a source that answers any word): they only show how an empty answer says that it is.

    Thor §IV, except that the rules are chosen by the evidence of all answers together.
    """
    probed = [_as_answer(answer) for answer in answers]
    nonsense_answers = [_as_answer(answer) for answer in background]
    trees = [answer.page for answer in probed]
    empty_trees = [] if nonsense_has_records else [answer.page for answer in nonsense_answers]
    has_several = len(trees) + len(empty_trees) > 1
    frame, static = _repeated_texts(trees, empty_trees)
    own_chars = [sum(len(text) for text in tree.chunks if text not in frame) for tree in trees]
    sample = sorted(range(len(trees)), key=lambda i: -own_chars[i])[:MAX_SAMPLE]
    if example is not None:
        sample = [example.answer, *(i for i in sample if i != example.answer)]
    pages, empty_pages = [split_leaves(trees[i]) for i in sample], [split_leaves(tree) for tree in empty_trees]
    empty_places = _places(empty_pages)
    static_at = _static_at_places([*pages, *empty_pages])
    scored: list[ScoredPage] = []
    for i, page in zip(sample, pages, strict=True):
        evidence = pagelets.Evidence(page, frame if has_several else None, probed[i].query)
        if example is not None:
            cuts = _cuts_with(example, page) if i == example.answer else _cuts_by(scored[0], page)
        elif is_record_address:
            cuts = cuts_by_links(page, is_record_address)
        else:
            cuts = _possible_cuts(page, static, static_at, empty_places, has_several)
        scored.append(ScoredPage(page, [ScoredCut(cut, pagelets.score_cut(evidence, cut)) for cut in cuts]))
    asked_at = Counter(urlsplit(tree.url).path for tree in trees).most_common(1)[0][0] if trees else ""
    model = SourceModel(frame=tuple(sorted(frame)) if has_several else (), asked_at=asked_at)
    rules = learn_rules(scored)
    if not rules:
        return model
    model = replace(model, rules=rules)
    cut_pages = [(page, cut) for page in pages if (cut := find_cut(model, page)) is not None]
    heading = learn_group_heading(cut_pages)
    readers = [RecordReader(page, read_groups(page, cut, heading)[0]) for page, cut in cut_pages]
    model = replace(model, columns=replace(columns.learn_columns(readers), heading=f"{heading:x}" if heading else ""))
    readings = [(probed[i], apply(model, trees[i])) for i in sample]
    record_urls = [
        (answer.page, [record.url for record in reading.records if record.url], answer.query)
        for answer, reading in readings
        if reading.records
    ]
    model = replace(model, volatile=non_identifying_arguments(record_urls))
    model = replace(model, keyed_by_content=not _addresses_last([apply(model, trees[i]).records for i in sample]))
    records = [record for _, reading in readings for record in reading.records]
    with_address = sum(record.url is not None for record in records)
    has_addresses = len(records) >= MIN_RECORDS and with_address >= MIN_ADDRESS_SHARE * len(records)
    counts_agree = [
        agrees for answer, reading in readings if (agrees := check(reading, answer.page)["count"]) is not None
    ]
    has_records = [_has_matches(model, answer) for answer in probed]
    full = [answer for answer, has in zip(probed, has_records, strict=True) if has]
    without_records = [answer for answer, has in zip(probed, has_records, strict=True) if not has]
    empty = [
        *nonsense_answers,
        *(answer for answer in without_records if answer.page.chunks and not read_totals(answer.page).total),
    ]
    empty_texts = [(answer.page, answer.query) for answer in empty[:MAX_EMPTY_ANSWERS]]
    full_texts = [(answer.page, answer.query) for answer in full[:MAX_EMPTY_ANSWERS]]
    return replace(
        model,
        has_addresses=has_addresses,
        empty=learn_empty(empty_texts, full_texts).shortened(),
        fits=round(sum(has_records) / len(trees), 3),
        agrees=round(sum(map(bool, counts_agree)) / len(counts_agree), 3) if counts_agree else None,
    )


def _as_answer(answer: Answer | TagTree) -> Answer:
    return answer if isinstance(answer, Answer) else Answer(answer)


def _has_matches(model: SourceModel, answer: Answer) -> bool:
    """Return True if an answer has records that are matches."""
    leaves = split_leaves(answer.page)
    cut = find_cut(model, leaves)
    return cut is not None and not shows_alternatives(model.empty, leaves, cut, answer.query)


def _cuts_with(example: RecordExample, page: Leaves) -> list[Cut]:
    """Return the cuts in which the example is a record; else those whose record contains it with the least other text."""
    holding: list[tuple[int, Cut]] = []
    for cut in candidate_cuts(page):
        inside = np.flatnonzero((cut.starts <= example.first) & (cut.ends > example.last))
        if len(inside):
            more = int(cut.ends[inside[0]] - cut.starts[inside[0]]) - (example.last + 1 - example.first)
            holding.append((more, cut))
    least = min((more for more, _ in holding), default=0)
    return [cut for more, cut in holding if more == least]


def _cuts_by(shown: ScoredPage, page: Leaves) -> list[Cut]:
    """Return the cuts of another answer that share a key with the cuts of the example's answer."""
    keys = {key for scored in shown.cuts for key in scored.cut.keys}
    return [cut for cut in candidate_cuts(page) if cut.keys & keys]


def _addresses_last(answers: Sequence[Sequence[Record]]) -> bool:
    """Return False if records that occur in several answers, recognised by their text, mostly change their URLs (session ids)."""
    addresses: defaultdict[str, list[str]] = defaultdict(list)
    for records in answers:
        texts = Counter(record.text for record in records)
        for record in records:
            if record.url and texts[record.text] == 1 and len(record.text) >= MIN_KNOWN_CHARS:
                addresses[record.text].append(record.url)
    repeated = [urls for urls in addresses.values() if len(urls) > 1]
    changed = sum(len(set(urls)) == len(urls) for urls in repeated)
    return changed < MIN_CHANGED_RECORDS or changed <= len(repeated) / 2


def distinct_answers(answers: Sequence[Answer], background: Sequence[Answer] = ()) -> list[Answer]:
    """Return the answers without near duplicates; texts of answers to nonsense words are ignored."""
    empty_texts = {text for answer in background for text in answer.page.chunks}
    kept: list[Answer] = []
    kept_texts: list[set[str]] = []
    for answer in answers:
        texts = set(answer.page.chunks) - empty_texts
        is_repeated = len(texts) > MIN_TEXTS_TO_COMPARE and any(
            len(texts & other) >= SAME_ANSWER_SHARE * len(texts | other) for other in kept_texts
        )
        if not is_repeated:
            kept.append(answer)
            kept_texts.append(texts)
    return kept


def _repeated_texts(answers: Sequence[TagTree], background: Sequence[TagTree]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the texts of the frame and the static texts; both include all texts of answers to nonsense words."""
    pages = len(answers) + len(background)
    pages_with = Counter(text for tree in (*answers, *background) for text in set(tree.chunks))
    empty_texts = {text for tree in background for text in tree.chunks}
    frame = {text for text, n in pages_with.items() if n > max(1.0, FRAME_SHARE * pages)}
    static = {text for text, n in pages_with.items() if n > STATIC_SHARE * pages}
    return frozenset(frame | empty_texts), frozenset(static | empty_texts)


def _places(pages: Sequence[Leaves]) -> Hashes:
    """Return the positions at which pages have text, as hashed paths of tags and classes."""
    paths = [page.class_paths[page.row] for page in pages]
    return np.unique(np.concatenate(paths)) if paths else np.zeros(0, dtype=np.uint64)


def _static_at_places(pages: Sequence[Leaves]) -> set[tuple[int, str]]:
    """Return the (position, text) pairs that nearly every page with text at that position contains.

    This finds, for example, a sort box that only answers with records have.
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
    """Return the candidate cuts that can be an answer: they differ between answers and nonsense answers lack their positions."""
    is_changing = [text not in static and (place, text) not in static_at for place, text in _texts_at_places(page)]
    changing_chars = page.chars * np.array(is_changing, dtype=bool)
    is_new_place = ~np.isin(page.class_paths[page.row], empty_places)
    possible = []
    is_changing_text = np.array([text not in static for text in page.texts], dtype=bool)
    for cut in candidate_cuts(page, pagelets.weighed_chars(page, is_changing_text if has_several else None)):
        inside = leaves_in_ranges(cut.starts, cut.ends)
        changes = changing_chars[inside].sum() >= MIN_CHANGING_SHARE * page.chars[inside].sum()
        if (changes or not has_several) and is_new_place[inside].mean() >= MIN_CHANGING_SHARE:
            possible.append(cut)
    return exclude_facet_cuts(page, possible)

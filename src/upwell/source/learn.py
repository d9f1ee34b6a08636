"""Learning the source model from the answers to the probe queries: the frame, the rules, the columns (Thor §IV)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np

from upwell.answers.record_arguments import not_identifying
from upwell.extract import columns, fields, pagelets
from upwell.extract.cut_candidates import candidates, leaves_in
from upwell.extract.cut_rules import ScoredCut, ScoredPage, learn_rules
from upwell.extract.leaves import Leaves, leaves_of
from upwell.page.tree import TagTree
from upwell.source.apply import apply, check, find_cut
from upwell.source.model import SourceModel

__all__ = ["apart", "learn_source"]

# A text that stands on this share of all answers (and on two at least) is part of the frame, not of a match.
COMMON = 0.4  # swept: 0.25, 0.4, 0.6, no difference; matches that answer several probes must stay below
# A text that stands on this share of them is there whatever is asked: a list of such texts is never an answer.
STATIC = 0.8  # swept: 0.6, 0.8, 0.95; 0.6 loses 3.5 points on serp150: two answers of three may have the same matches
FEW = 3  # pages that must have something in a place; not swept: two answers may well have the same matches
# Answers that are searched for repeated structure: those with the most text of their own.
SAMPLE = 10  # swept: 5, 10, 20, no difference
# What is the same on all answers, or stands in places that answers to nonsense have too, is no answer, however regular it is.
CHANGING = 0.2  # swept: 0.05, 0.1, 0.2, 0.4; 0.4 loses half a point on serp150
ALIKE = 0.6  # share of the texts of two answers that are in both, where they are one answer; not swept


def learn_source(
    answers: Sequence[TagTree], background: Sequence[TagTree] = (), *, queries: Sequence[str] = ()
) -> SourceModel:
    """Learns from answers to real words, and from answers to nonsense (`background`), which show what a page without matches has.

    Thor §IV; departs from it: the rule that the evidence of all answers together speaks for is chosen, one rule a source.
    """
    several = len(answers) + len(background) > 1
    often = Counter(text for tree in (*answers, *background) for text in set(tree.chunks))
    least = max(1.0, COMMON * (len(answers) + len(background)))
    frame = frozenset(text for text, n in often.items() if n > least)
    empty_texts = {text for tree in background for text in tree.chunks}
    frame |= empty_texts
    everywhere = {text for text, n in often.items() if n > STATIC * (len(answers) + len(background))} | empty_texts
    bare = [leaves_of(tree) for tree in background]
    places = (
        np.unique(np.concatenate([page.class_paths[page.row] for page in bare]))
        if bare
        else np.zeros(0, dtype=np.uint64)
    )
    asked = dict(enumerate(queries))
    own = [sum(len(text) for text in tree.chunks if text not in frame) for tree in answers]
    chosen = sorted(range(len(answers)), key=lambda i: -own[i])[:SAMPLE]
    scored: list[ScoredPage] = []
    pages = [leaves_of(answers[i]) for i in chosen]
    fixed = _fixed([*pages, *bare])
    for i, page in zip(chosen, pages, strict=True):
        evidence = pagelets.Evidence(page, frame if several else None, asked.get(i, ""))
        fresh = ~np.isin(page.class_paths[page.row], places)
        at = zip(page.class_paths[page.row].tolist(), page.texts, strict=True)
        moving = page.chars * np.array([t not in everywhere and (path, t) not in fixed for path, t in at], dtype=bool)
        dynamic = []
        for cut in candidates(page):
            held = leaves_in(cut.starts, cut.ends)
            changes = moving[held].sum() >= CHANGING * page.chars[held].sum()
            if (changes or not several) and fresh[held].mean() >= CHANGING:
                dynamic.append(cut)
        scored.append(ScoredPage(page, [ScoredCut(cut, pagelets.score(evidence, cut)) for cut in dynamic]))
    where = Counter(urlsplit(tree.url).path for tree in answers).most_common(1)[0][0] if answers else ""
    model = SourceModel(frame=tuple(sorted(frame)) if several else (), asked_at=where)
    rules = learn_rules(scored)
    if not rules:
        return model
    model = replace(model, rules=rules)
    cuts = [(page, fit) for page, _ in scored if (fit := find_cut(model, page)) is not None]
    model = replace(model, columns=columns.learn_columns([fields.Page(page, fit) for page, fit in cuts]))
    sample = [(answers[i], apply(model, answers[i])) for i in chosen]
    linked = [
        (tree, [record.url for record in reading.records if record.url], asked.get(i, ""))
        for i, (tree, reading) in zip(chosen, sample, strict=True)
        if reading.records
    ]
    model = replace(model, volatile=not_identifying(linked))
    counted = [agrees for tree, reading in sample if (agrees := check(reading, tree)["count"]) is not None]
    without = [tree for tree in answers if find_cut(model, leaves_of(tree)) is None]
    empty = [len(tree) for tree in (*without, *background)]
    return replace(
        model,
        bare=int(np.median(empty)) if empty else 0,
        fits=round(1 - len(without) / len(answers), 3),
        agrees=round(sum(map(bool, counted)) / len(counted), 3) if counted else None,
    )


def apart(answers: Sequence[TagTree], background: Sequence[TagTree] = ()) -> list[TagTree]:
    """The answers that are not nearly the same as one before, beside what answers to nonsense say; a short one is like no other."""
    empty = {text for tree in background for text in tree.chunks}
    kept: list[TagTree] = []
    known: list[set[str]] = []
    for tree in answers:
        own = set(tree.chunks) - empty
        if len(own) <= FEW or not any(len(own & other) >= ALIKE * len(own | other) for other in known):
            kept.append(tree)
            known.append(own)
    return kept


def _fixed(pages: Sequence[Leaves]) -> set[tuple[int, str]]:
    """Texts that nearly every page says that has anything in their place: a box to sort by, which only answers with matches have."""
    said: Counter[tuple[int, str]] = Counter()
    for page in pages:
        said.update(set(zip(page.class_paths[page.row].tolist(), page.texts, strict=True)))
    there = Counter(path for page in pages for path in np.unique(page.class_paths[page.row]).tolist())
    return {one for one, n in said.items() if there[one[0]] >= FEW and n > STATIC * there[one[0]]}

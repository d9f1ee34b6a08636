"""The source model: learned once from the answers to the probe queries, applied to every later answer."""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from dataclasses import fields as fields_of
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from upwell.errors import WrongUsage
from upwell.extract import fields, leaves, objects, pagelets
from upwell.extract.objects import Cut, Rule, Shape
from upwell.model import Kind, Record
from upwell.page.tree import TagTree

__all__ = ["Reading", "SourceModel", "apply", "check", "drifted", "learn", "load"]

# A text that stands on this share of all answers (and on two at least) is part of the frame, not of a match.
COMMON = (
    0.4  # tried "two answers" and 0.4 on kinds, not swept finer yet: matches that answer several probes must stay below
)
# A text that stands on this share of them is there whatever is asked: a list of such texts is never an answer.
STATIC = 0.8  # tried 0.4 and 0.8: two answers of three may have the same matches
# Answers that are searched for repeated structure: those with the most text of their own.
SAMPLE = 10  # not swept yet
# What is the same on all answers, or stands in places that answers to nonsense have too, is no answer, however regular it is.
CHANGING = 0.2  # not swept yet
# A cut that the evidence likes this much less than the best of the source says nothing about where matches are.
REACH = 12.0  # not swept yet
# Rules that a source has at most, and how much more evidence an answer has for another rule than for the first to follow it.
WAYS = 4
BETTER = 2.0  # swept with REACH: 0.25 … 2 are equal on answers/*, 4 loses half a point
# An answer without matches that has less than this share of the rows that such answers usually have is an error.
BARE = 0.6  # not swept yet
# How titles and headings say that something went wrong.
WRONG = re.compile(
    r"\b(errors?|fehler|erreur|errore|erro|fel|virhe|not found|no such|bad request|forbidden|denied|invalid|exception)\b",
    re.I,
)
# From this many answers on, a source that fits badly has changed rather than been asked for what it does not have.
ENOUGH = 5
VERSION = 3


@dataclass(frozen=True, kw_only=True)
class Way:
    """One rule, and what the matches that it finds are made of."""

    rule: Rule
    share: dict[str, float] = field(default_factory=dict)  # paths inside matches (as numbers), and how many have them
    longest: int = 0  # units of the longest match

    @property
    def shape(self) -> Shape:
        """What matches are made of."""
        return Shape(share={int(path, 16): share for path, share in self.share.items()}, longest=self.longest)


@dataclass(frozen=True, kw_only=True)
class SourceModel:
    """What an answer of the source looks like; small, readable, and saved as `source.json`."""

    version: int = VERSION
    ways: tuple[Way, ...] = ()  # the rules, the one that most answers follow first
    fits: float = 0.0  # share of the answers it was learned from that have matches
    bare: int = 0  # rows that an answer without matches usually has
    asked_at: str = ""  # the path that most answers came from
    volatile: tuple[str, ...] = ()  # URL arguments that change while the match stays the same
    frame: tuple[str, ...] = ()  # texts that stand on most answers

    @property
    def pagelet(self) -> str:
        """Where the matches are, as a path."""
        return self.ways[0].rule.container if self.ways else ""

    @property
    def leader(self) -> str:
        """What each match begins with; "" where nothing was learned."""
        return f"{self.ways[0].rule.how} {self.ways[0].rule.leader or 'text'}" if self.ways else ""

    def to_json(self) -> str:
        """As `source.json` has it."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


def load(text: str) -> SourceModel:
    """A model from the text of a `source.json`."""
    try:
        found = json.loads(text)
        if found["version"] != VERSION:
            raise WrongUsage(
                f"source.json is of version {found['version']}, this Upwell reads {VERSION}; learn the source again"
            )
        known = {part.name for part in fields_of(SourceModel)}
        values: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in found.items() if n in known}
        ways = tuple(Way(**{**way, "rule": Rule(**way["rule"])}) for way in found["ways"])
        return SourceModel(**{**values, "ways": ways})
    except (ValueError, KeyError, TypeError) as error:
        raise WrongUsage(f"this is no source.json ({error!r}); learn the source again") from error


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One answer as the model reads it."""

    kind: Kind
    records: tuple[Record, ...] = ()
    pagelet: str | None = None
    score: float = 0.0  # share of the page's text that the matches hold


def learn(
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
    bare = [leaves.of(tree) for tree in background]
    places = (
        np.unique(np.concatenate([page.classed[page.row] for page in bare])) if bare else np.zeros(0, dtype=np.uint64)
    )
    asked = dict(enumerate(queries))
    own = [sum(len(text) for text in tree.chunks if text not in frame) for tree in answers]
    chosen = sorted(range(len(answers)), key=lambda i: -own[i])[:SAMPLE]
    found: list[tuple[leaves.Leaves, list[tuple[Cut, float]]]] = []
    for i in chosen:
        page = leaves.of(answers[i])
        evidence = pagelets.Evidence(page, frame if several else None, asked.get(i, ""))
        fresh = ~np.isin(page.classed[page.row], places)
        moving = page.chars * np.array([t not in everywhere for t in page.texts], dtype=bool)
        dynamic = []
        for made in objects.candidates(page):
            held = objects.spread(made.starts, made.ends)
            changes = moving[held].sum() >= CHANGING * page.chars[held].sum()
            if (changes or not several) and fresh[held].mean() >= CHANGING:
                dynamic.append(made)
        found.append((page, [(made, pagelets.score(evidence, made)) for made in dynamic]))
    where = Counter(urlsplit(tree.url).path for tree in answers).most_common(1)[0][0] if answers else ""
    model = SourceModel(frame=tuple(sorted(frame)) if several else (), asked_at=where)
    ways = _ways(found)
    if not ways:
        return model
    model = replace(model, ways=ways)
    without = [tree for tree in answers if _read(model, leaves.of(tree)) is None]
    empty = [len(tree) for tree in (*without, *background)]
    fits = 1 - len(without) / len(answers)
    model = replace(model, bare=int(np.median(empty)) if empty else 0, fits=round(fits, 3))
    return replace(model, volatile=_volatile([answers[i] for i in chosen], model))


def _ways(found: Sequence[tuple[leaves.Leaves, list[tuple[Cut, float]]]]) -> tuple[Way, ...]:
    """The rule with the most evidence over all answers, and others for the answers that it does not fit."""
    best = max((score for _, cuts in found for _, score in cuts), default=0.0)
    ways: list[Way] = []
    left = list(found)
    while left and len(ways) < WAYS:
        votes: defaultdict[objects.Key, float] = defaultdict(float)
        for _, cuts in left:
            here: dict[objects.Key, float] = {}
            for made, score in cuts:
                if score > best - REACH:
                    for key in made.keys:
                        here[key] = max(here.get(key, 0.0), score - best + REACH)
            for key, value in here.items():
                votes[key] += value
        if not votes:
            break
        key = max(votes, key=lambda k: (round(votes[k], 6), k.how == "is", k.classed, k.every, k))
        ways.append(_way(left, key))
        left = [
            (page, cuts)
            for page, cuts in left
            if max((score for made, score in cuts if key in made.keys), default=-np.inf)
            < max((score for _, score in cuts), default=-np.inf) - BETTER
        ]
    return tuple(ways)


def _way(found: Sequence[tuple[leaves.Leaves, list[tuple[Cut, float]]]], key: objects.Key) -> Way:
    """A rule with what its matches are made of."""
    rule = next((rule for page, _ in found if (rule := objects.rule_of(page, key)) is not None), Rule())
    counts: Counter[int] = Counter()
    matches, longest = 0, 1
    for page, cuts in found:
        fitting = [(score, i) for i, (made, score) in enumerate(cuts) if key in made.keys]
        if fitting:
            made = cuts[max(fitting)[1]][0]
            here_counts, units = objects.shape_of(page, made)
            counts.update(here_counts)
            matches, longest = matches + len(made), max(longest, units)
    share = {f"{path:x}": round(n / matches, 3) for path, n in counts.most_common()}
    return Way(rule=rule, share=share, longest=longest)


def apply(model: SourceModel, tree: TagTree, *, status: int = 200, asked_at: str = "") -> Reading:
    """Reads one answer; `asked_at` is the path of the template, to tell a match's own page from a page of matches."""
    if status >= 400 or not tree.chunks:
        return Reading(kind="error")
    page = leaves.of(tree)
    if (made := _read(model, page)) is not None:
        container = int(page.above[int(made.starts[0]), made.depth])
        headings = fields.headings_of(tree, container)
        records = tuple(_record(model, page, made, i, headings) for i in range(len(made)))
        held = int(page.chars[objects.spread(made.starts, made.ends)].sum()) / max(1, int(page.chars.sum()))
        return Reading(kind="multi", records=records, pagelet=tree.path(container), score=held)
    if len(tree) < BARE * model.bare or WRONG.search(_said(tree)):
        return Reading(kind="error")
    if asked_at and urlsplit(tree.url).path != asked_at:
        row = pagelets.locate(tree, _weight(tree, frozenset(model.frame)))
        found, _ = fields.read(tree, [row])
        address = _stable(tree.url, model.volatile)
        text = " ".join(tree.text(row).split())
        return Reading(
            kind="single", records=(Record(key=address, url=address, path=tree.path(row), text=text, fields=found),)
        )
    return Reading(kind="none")


def check(reading: Reading, tree: TagTree, query: str = "") -> dict[str, object]:
    """What speaks for or against a reading (DESIGN §4.3): does the page count as many, do the matches have the query's words?

    None where the page or the caller does not say.
    """
    texts = [record.text.lower() for record in reading.records]
    words = [word for word in pagelets.WORD.findall(query.lower()) if len(word) > 1]
    with_query = [any(word in text for word in words) for text in texts]
    shown = pagelets.Evidence(leaves.of(tree)).shown if texts else frozenset()
    return {
        "count": len(texts) in shown if shown else None,
        "query": round(sum(with_query) / len(texts), 3) if texts and words else None,
    }


def drifted(model: SourceModel, kinds: Sequence[Kind]) -> bool:
    """Whether so few answers fit a model that its source should be learned again: less than half of the share at learning."""
    return len(kinds) >= ENOUGH and kinds.count("multi") / len(kinds) < model.fits / 2


def _read(model: SourceModel, page: leaves.Leaves) -> Cut | None:
    """The cut of an answer by the first rule that fits; by another where the evidence is clearly for that."""
    found = [cuts for way in model.ways if (cuts := objects.cut(page, way.rule.key(), way.shape))]
    if not found or len(found) == len(found[0]) == 1:
        return found[0][0] if found else None
    evidence = pagelets.Evidence(page, frozenset(model.frame) if model.frame else None)
    best: tuple[float, Cut] | None = None
    for cuts in found:
        score, made = max(((pagelets.score(evidence, made), i) for i, made in enumerate(cuts)))
        if best is None or score > best[0] + BETTER:
            best = score, cuts[made]
    return best[1] if best else None


def _said(tree: TagTree) -> str:
    """What a page calls itself: its title and its main headings."""
    return " · ".join([tree.title, *(tree.text(int(row)) for row in tree.rows("h1", "h2"))])


def _record(model: SourceModel, page: leaves.Leaves, made: Cut, i: int, headings: Sequence[str]) -> Record:
    first, last = int(made.starts[i]), int(made.ends[i])
    found, address = fields.of(page, first, last, made.depth, headings)
    address = _stable(address, model.volatile) if address else None
    text = page.text(first, last)
    key = address or hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    unit = int(page.above[first, made.depth + 1])
    path = page.tree.path(unit if unit >= 0 else int(page.row[first]))
    return Record(key=key, url=address, path=path, text=text, fields=found, links=page.targets(first, last))


def _weight(tree: TagTree, frame: frozenset[str]) -> NDArray[np.float64]:
    """How much of each chunk may be part of a match: its length, or nothing if it is frame."""
    return np.array([0.0 if text in frame else float(len(text)) for text in tree.chunks])


def _volatile(answers: Sequence[TagTree], model: SourceModel) -> tuple[str, ...]:
    """URL arguments that do not tell matches apart: the same for all matches of an answer, another in other answers."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    telling: set[str] = set()
    for tree in answers:
        links = [dict(parse_qsl(urlsplit(r.url or "").query)) for r in apply(model, tree).records if r.url]
        for name in {name for link in links for name in link}:
            here = {link.get(name, "") for link in links}
            values[name] |= here
            if len(here) > 1:
                telling.add(name)
    return tuple(sorted(name for name, seen in values.items() if len(seen) > 1 and name not in telling))


def _stable(address: str, volatile: Sequence[str]) -> str:
    parts = urlsplit(address)
    if not volatile or not parts.query:
        return address
    kept = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] not in volatile]
    return urlunsplit(parts._replace(query=urlencode(kept)))

"""The source model: learned once from the answers to the probe queries, applied to every later answer."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from upwell.extract import fields, objects, pagelets
from upwell.model import Kind, Record
from upwell.page.tree import TagTree

__all__ = ["Reading", "SourceModel", "apply", "learn"]

# A text that stands on this share of all answers is part of the frame, not of a match.
COMMON = 0.5
# A match's own page is one match: the smallest row that holds all that the page says and an empty answer does not.
WHOLE = 1.0
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class SourceModel:
    """What an answer of the source looks like; small, readable, and saved as `source.json`."""

    version: int = VERSION
    pagelet: str = ""  # signatures from <html> down to the row that holds the matches
    leader: str = ""  # signature that each match begins with
    volatile: tuple[str, ...] = ()  # URL arguments that change while the match stays the same
    frame: tuple[str, ...] = ()  # texts that stand on most answers
    empty_paths: tuple[str, ...] = field(default=(), repr=False)  # places that exist in answers without matches

    def to_json(self) -> str:
        """As `source.json` has it."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One answer as the model reads it."""

    kind: Kind
    records: tuple[Record, ...] = ()
    pagelet: str | None = None


def learn(answers: Sequence[TagTree], background: Sequence[TagTree] = ()) -> SourceModel:
    """Learns from answers to real words, and from answers to nonsense (`background`), which show what a page without matches has."""
    empty_paths = frozenset(path for tree in background for path in _paths(tree))
    often = Counter(text for tree in answers for text in set(tree.chunks))
    frame = frozenset(text for text, n in often.items() if len(answers) > 2 and n > COMMON * len(answers))
    votes: Counter[tuple[str, str]] = Counter()
    for tree in answers:
        weight = _weight(tree, frame, empty_paths)
        pagelet = pagelets.locate(tree, weight)
        leader = objects.leader_of(tree, pagelet, weight)
        if leader is not None:
            votes[_path(tree, pagelet), leader] += len(objects.split(tree, pagelet, leader))
    (where, leader), _ = max(votes.items(), key=lambda item: item[1], default=(("", ""), 0))
    model = SourceModel(
        pagelet=where, leader=leader, frame=tuple(sorted(frame)), empty_paths=tuple(sorted(empty_paths))
    )
    return replace(model, volatile=_volatile(answers, model))


def apply(model: SourceModel, tree: TagTree, *, status: int = 200, asked_at: str = "") -> Reading:
    """Reads one answer; `asked_at` is the path of the template, to tell a match's own page from a page of matches."""
    if status >= 400 or not tree.chunks:
        return Reading(kind="error")
    pagelet = _pagelet(model, tree)
    if pagelet is not None:
        headings = fields.headings_of(tree, pagelet)
        runs = objects.split(tree, pagelet, model.leader)
        if headings:
            runs = [run for run in runs if any(tree.name(row) != "th" for row in tree.children(run[0]))]
        if runs:
            records = tuple(_record(model, tree, run, headings) for run in runs)
            return Reading(kind="multi", records=records, pagelet=tree.path(pagelet))
    if asked_at and urlsplit(tree.url).path != asked_at:
        row = pagelets.locate(tree, _weight(tree, frozenset(model.frame), frozenset(model.empty_paths)), WHOLE)
        found, _ = fields.read(tree, [row])
        address = _stable(tree.url, model.volatile)
        text = " ".join(tree.text(row).split())
        return Reading(
            kind="single", records=(Record(key=address, url=address, path=tree.path(row), text=text, fields=found),)
        )
    return Reading(kind="none")


def _record(model: SourceModel, tree: TagTree, run: Sequence[int], headings: Sequence[str]) -> Record:
    found, address = fields.read(tree, run, headings)
    address = _stable(address, model.volatile) if address else None
    text = " ".join(" ".join(tree.text(row).split()) for row in run)
    key = address or hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return Record(key=key, url=address, path=tree.path(run[0]), text=text, fields=found)


def _pagelet(model: SourceModel, tree: TagTree) -> int | None:
    """The row at the learned place with the most leaders below it."""
    if not model.leader:
        return None
    last = model.pagelet.rsplit("/", 1)[-1].split(".")[0]
    places = [int(row) for row in tree.rows(last) if _path(tree, int(row)) == model.pagelet]
    return max(places, key=lambda row: len(objects.split(tree, row, model.leader)), default=None)


def _weight(tree: TagTree, frame: frozenset[str], empty_paths: frozenset[str]) -> NDArray[np.float64]:
    """How much of each chunk may be part of a match: its length, or nothing if it is frame or also on empty answers."""
    places = {row: _path(tree, row) in empty_paths for row in set(tree.chunk_row.tolist())} if empty_paths else {}
    return np.array(
        [
            0.0 if text in frame or places.get(row, False) else float(len(text))
            for text, row in zip(tree.chunks, tree.chunk_row.tolist(), strict=True)
        ]
    )


def _path(tree: TagTree, row: int) -> str:
    return "/".join(reversed([pagelets.signature(tree, r) for r in (row, *tree.ancestors(row))]))


def _paths(tree: TagTree) -> set[str]:
    return {_path(tree, row) for row in set(tree.chunk_row.tolist())}


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

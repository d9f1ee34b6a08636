"""Reading an answer with the source model: its kind, its records with their fields and keys."""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote_plus, urlsplit

import numpy as np
from numpy.typing import NDArray

from upwell.answers.phrases import ERROR, PAGE_MISSING
from upwell.extract import fields, pagelets
from upwell.extract.cut_candidates import Cut
from upwell.extract.cut_rules import SWITCH_MARGIN, apply_rule
from upwell.extract.leaves import Leaves, leaves_of
from upwell.model import Kind, Record
from upwell.page.tree import TagTree
from upwell.source.model import SourceModel

__all__ = ["Reading", "apply", "check", "find_cut"]

# An answer without matches that has less than this share of the rows that such answers usually have is an error.
BARE = 0.6  # swept: 0.4, 0.6, 0.8, no difference on kinds
ID = re.compile(r"\d{4}")  # what an id has that is the match's own; shorter numbers count places on the page


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One answer as the model reads it."""

    kind: Kind
    records: tuple[Record, ...] = ()
    pagelet: str | None = None
    score: float = 0.0  # share of the page's text that the matches hold


def apply(model: SourceModel, tree: TagTree, *, status: int = 200, asked_at: str = "") -> Reading:
    """Reads one answer; `asked_at` is the path of the template, to tell a match's own page from a page of matches."""
    if status >= 400 or not tree.chunks:
        return Reading(kind="error")
    page = leaves_of(tree)
    if (cut := find_cut(model, page)) is not None:
        inside = sum(
            sum(map(len, page.texts[a:b])) for a, b in zip(cut.starts.tolist(), cut.ends.tolist(), strict=True)
        )
        held = inside / max(1, sum(map(len, page.texts)))
        above = {row: tree.path(row) for row in dict.fromkeys(cut.container.tolist())}
        records = _records(model, page, cut, above)
        return Reading(kind="multi", records=records, pagelet=above[int(cut.container[0])], score=held)
    if len(tree) < BARE * model.bare or _heads_an_error(tree):
        return Reading(kind="error")
    if asked_at and urlsplit(tree.url).path != asked_at:
        frame = frozenset(model.frame)
        row = pagelets.locate(tree, _weight(tree, frame))
        found = {name: value for name, value in fields.read(tree, row)[0].items() if value not in frame}
        address = _stable(tree.url, model.volatile)
        text = " ".join(tree.text(row).split())
        return Reading(
            kind="single", records=(Record(key=address, url=address, path=tree.path(row), text=text, fields=found),)
        )
    return Reading(kind="none")


def find_cut(model: SourceModel, page: Leaves) -> Cut | None:
    """The cut of an answer by the first rule that fits, or by a later one whose cut scores clearly higher."""
    fitting = [cuts for rule in model.rules if (cuts := apply_rule(page, rule))]
    if not fitting or all(len(cuts) == 1 and cuts[0].has_same_records(fitting[0][0]) for cuts in fitting):
        return fitting[0][0] if fitting else None
    evidence = pagelets.Evidence(page, frozenset(model.frame) if model.frame else None)
    best: tuple[float, Cut] | None = None
    for cuts in fitting:
        score, i = max((pagelets.score(evidence, cut), i) for i, cut in enumerate(cuts))
        if best is None or score > best[0] + SWITCH_MARGIN:
            best = score, cuts[i]
    return best[1] if best else None


def check(reading: Reading, tree: TagTree, query: str = "") -> dict[str, object]:
    """What speaks for or against a reading (DESIGN §4.3): does the page count as many, do the matches have the query's words?

    None where the page or the caller does not say.
    """
    texts = [record.text.lower() for record in reading.records]
    words = [word for word in pagelets.WORD.findall(query.lower()) if len(word) > 1]
    with_query = [any(word in text for word in words) for text in texts]
    shown = pagelets.shown(tree.chunks) if texts else frozenset()
    return {
        "count": len(texts) in shown if shown else None,
        "query": round(sum(with_query) / len(texts), 3) if texts and words else None,
    }


def _records(model: SourceModel, page: Leaves, cut: Cut, above: Mapping[int, str]) -> tuple[Record, ...]:
    """The matches of an answer as records; `above` has the paths of the containers."""
    tree, columns = page.tree, model.columns
    read = fields.Page(page, cut, columns.marks, columns.known)
    found = []
    for match in read.matches:
        own = columns.fields(read.pieces(match))
        if columns.pictures and (image := read.image(match)):
            own.setdefault("image", image)
        links = read.links(match)
        address = read.address(match, links, columns.own_link)
        found.append((match, own, links, _stable(address, model.volatile) if address else None))
    addresses = [address for _, _, _, address in found if address]
    telling = len(set(addresses)) > len(addresses) / 2  # else it is the same link in all matches
    numbers = {name for name, kind in columns.types.items() if kind in ("integer", "decimal")}
    nth = {row: place for container in above for row, place in tree.numbered(container).items()}
    records = []
    for (match, own, links, address), container in zip(found, cut.container.tolist(), strict=True):
        path, row = above[container], match.row
        if row in nth and read.parent[row] == container:
            path = f"{path}/{tree.spots[read.spot[row]].tag}[{nth[row]}]"
        text = page.text(match.first, match.last)
        own = fields.dated(own)
        key = address if address and telling else _key(tree, row, own, text, numbers)
        targets = tuple([target for _, target in links])
        records.append(Record(key=key, url=address, path=path, text=text, fields=own, links=targets))
    return tuple(records)


def _key(tree: TagTree, row: int, own: Mapping[str, str], text: str, numbers: Collection[str]) -> str:
    """The key of a match without an address of its own: an id, else what it says but for numbers, which may be ranks and scores."""
    for name in ("id", "data-id"):
        if (said := tree.attr(row, name)) and ID.search(said):
            return said
    stable = " ".join(value for name, value in own.items() if name not in numbers) or text
    return hashlib.sha1(stable.encode(), usedforsecurity=False).hexdigest()


def _heads_an_error(tree: TagTree) -> bool:
    """Whether the title or a main heading says that the page shows an error."""
    heading = " · ".join([tree.title, *(tree.text(int(row)) for row in tree.rows("h1", "h2"))])
    return bool(ERROR.search(heading) or PAGE_MISSING.search(heading))


def _weight(tree: TagTree, frame: frozenset[str]) -> NDArray[np.float64]:
    """How much of each chunk may be part of a match: its length, or nothing if it is frame."""
    return np.array([0.0 if text in frame else float(len(text)) for text in tree.chunks])


def _stable(address: str, volatile: Sequence[str]) -> str:
    """An address without the arguments that do not tell matches apart."""
    if not volatile or "?" not in address:
        return address
    asked, mark, place = address.partition("#")
    path, _, query = asked.partition("?")
    kept = [pair for pair in query.split("&") if _plain(pair.partition("=")[0]) not in volatile]
    return f"{path}?{'&'.join(kept)}{mark}{place}" if kept else f"{path}{mark}{place}"


_plain = lru_cache(maxsize=1000)(unquote_plus)

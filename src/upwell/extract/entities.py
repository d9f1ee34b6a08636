"""Pages that each show one thing: one row for each, the same columns for all.

    learn    what pages of one site share, and which columns they have (`EntityModel`)
    apply    the fields of one page

Learning tells template from data over all pages (`entity_texts`), makes candidates of what stands alike (`entity_columns`), and keeps the best.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from upwell.extract.column_names import unused_name
from upwell.extract.entity_columns import Address, Candidate, candidates, texts_at
from upwell.extract.entity_names import name_of, title_fit
from upwell.extract.entity_texts import Located, PageTexts, Template, learn_template, locate
from upwell.page.tree import TagTree

__all__ = ["EntityColumn", "EntityModel", "apply", "learn"]

MAX_COLUMNS = 40
SAME_SHARE = 0.9


@dataclass(frozen=True)
class EntityColumn:
    name: str
    address: Address


@dataclass(frozen=True)
class EntityModel:
    template: Template
    columns: tuple[EntityColumn, ...]

    @cached_property
    def places(self) -> frozenset[str]:
        return frozenset(c.address.place for c in self.columns)


def learn(trees: Sequence[TagTree]) -> EntityModel:
    pages = [PageTexts(tree) for tree in trees]
    template = learn_template(pages)
    located = [list(locate(page, template)) for page in pages]
    found = candidates(located)
    best = select(found, len(pages))
    cols = []
    taken: set[str] = set()
    shared = Counter(word for tree in trees for word in set(re.findall(r"\w+", tree.title.lower())))
    constant = frozenset(word for word, count in shared.items() if count > len(trees) / 2 and len(trees) > 1)
    title = max(best, key=lambda c: title_fit(c, trees, constant), default=None)
    for c in best:
        name = "title" if c is title else name_of(c, trees)
        name = unused_name(name, taken)
        taken.add(name)
        cols.append(EntityColumn(name, c.address))
    return EntityModel(template, tuple(cols))


def score(c: Candidate, n: int) -> float:
    fill = len(c.cells) / n
    ln = sorted(sum(len(f.text) for f in v) for v in c.cells.values())[len(c.cells) // 2]
    nth = c.address.nth
    return (
        fill
        * min(1, c.distinct / len(c.cells) / 0.3) ** 0.5
        * (1.5 if c.label else 1)
        * (1 if ln < 100 else 0.7 if ln < 400 else 0.5)
        * (1 if nth == 1 else 0.8 if nth <= 5 and nth else 0.5)
    )


def select(found: Sequence[Candidate], n: int, limit: int = MAX_COLUMNS) -> list[Candidate]:
    kept: list[Candidate] = []
    for c in sorted(found, key=lambda c: -score(c, n)):
        if any(
            sum(v == k.plain.get(p) for p, v in c.plain.items()) >= SAME_SHARE * max(len(c.cells), len(k.cells)) for k in kept
        ):
            continue
        kept.append(c)
        if len(kept) == limit:
            break
    return kept


def apply(model: EntityModel, tree: TagTree) -> dict[str, str | list[str]]:
    at: defaultdict[str, list[Located]] = defaultdict(list)
    for found in locate(PageTexts(tree), model.template, model.places):
        at[found.place].append(found)
    fields: dict[str, str | list[str]] = {}
    for column in model.columns:
        texts = [f.text for f in texts_at(column.address, at[column.address.place])] if column.address.place in at else []
        if texts:
            fields[column.name] = texts[0] if column.address.nth else texts
    return fields

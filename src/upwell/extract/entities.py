"""Pages that each show one thing: one row for each, the same columns for all.

    learn    what pages of one site share, and which columns they have (an `EntityModel`)
    apply    the fields of one page, as it writes them

Learning tells template from data over all pages (`entity_texts`), makes candidates of what stands alike (`entity_columns`), keeps the best
(`entity_ranking`) and names them (`entity_names`). A model is JSON that people can edit: columns may be renamed, dropped and put in order.
`tidy` makes a table of the fields.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from upwell.errors import WrongUsage
from upwell.extract.column_names import unused_name
from upwell.extract.entity_alone import labels_alone
from upwell.extract.entity_columns import Address, candidates, texts_at
from upwell.extract.entity_names import name_of
from upwell.extract.entity_ranking import best_candidates
from upwell.extract.entity_stated import is_stated, stated_texts
from upwell.extract.entity_texts import Located, Locator, PageTexts, Template, learn_template, template_alone
from upwell.page.tree import TagTree

__all__ = ["EntityColumn", "EntityModel", "Fields", "apply", "learn", "load_model"]

VERSION = 1  # of a saved model; a file of another version is refused

Fields = dict[str, str | list[str]]


@dataclass(frozen=True, kw_only=True)
class EntityColumn:
    """One column, as the model's JSON has it."""

    name: str
    at: Address
    share: float = 0.0  # of the pages that have it


@dataclass(frozen=True, kw_only=True)
class EntityModel:
    """What pages of one site that each show one thing look like."""

    columns: tuple[EntityColumn, ...]
    template: Template
    left_out: int = 0  # candidates that were not kept
    version: int = VERSION

    @cached_property
    def places(self) -> frozenset[str]:
        """Where columns are read."""
        return frozenset(column.at.place for column in self.columns)

    @cached_property
    def stated_places(self) -> frozenset[str]:
        """Those of them that are statements of the page."""
        return frozenset(filter(is_stated, self.places))

    @cached_property
    def locator(self) -> Locator:
        """What finds the texts of the columns on pages."""
        by_label = {column.at.place for column in self.columns if column.at.label is not None}
        return Locator(self.template, self.places, self.places - by_label)

    def to_json(self) -> str:
        """The model as JSON, the columns first and one a line."""
        columns = ",\n  ".join(
            json.dumps(asdict(column) | {"at": column.at._asdict()}, ensure_ascii=False) for column in self.columns
        )
        template = json.dumps(self.template.as_dict(), ensure_ascii=False)
        return f'{{"version": {self.version}, "left_out": {self.left_out},\n "columns": [\n  {columns}\n ],\n "template": {template}}}\n'


def load_model(text: str) -> EntityModel:
    """A model from its JSON."""
    try:
        saved: dict[str, Any] = json.loads(text)
        if saved.get("version") != VERSION:
            raise WrongUsage(f"this model has version {saved.get('version')}, not {VERSION}; learn it again")
        columns = tuple(EntityColumn(**(column | {"at": Address(**column["at"])})) for column in saved["columns"])
        template = Template.from_dict(saved["template"])
        return EntityModel(columns=columns, template=template, left_out=saved["left_out"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WrongUsage(
            f"this is no model of entities ({error}); `upwell entities PATH --save FILE` makes one"
        ) from error


def learn(trees: Sequence[TagTree], *, keep_constants: bool = False) -> EntityModel:
    """The columns of pages of one site; `keep_constants` keeps what has a label and says the same on all of these pages."""
    pages = [PageTexts(tree) for tree in trees]
    template = learn_template(pages) if len(pages) != 1 else template_alone(pages[0], labels_alone(pages[0]))
    locator = Locator(template)
    texts = [[*locator.texts(page), *stated_texts(page.tree)] for page in pages]
    found = candidates(texts, keep_constants=keep_constants)
    kept, title = best_candidates(found, trees)
    columns: list[EntityColumn] = []
    taken: set[str] = set()
    for candidate in kept:
        name = unused_name("title" if candidate is title else name_of(candidate, trees), taken)
        taken.add(name)
        columns.append(EntityColumn(name=name, at=candidate.address, share=round(len(candidate.cells) / len(trees), 3)))
    return EntityModel(columns=tuple(columns), template=template, left_out=len(found) - len(kept))


def apply(model: EntityModel, tree: TagTree) -> Fields:
    """The fields of a page in the order of the columns, as the page writes them; a column of several texts has a list."""
    at: defaultdict[str, list[Located]] = defaultdict(list)
    for found in model.locator.texts(PageTexts(tree)):
        at[found.place].append(found)
    if model.stated_places:
        for found in stated_texts(tree, model.stated_places):
            at[found.place].append(found)
    fields: Fields = {}
    for column in model.columns:
        if column.at.place in at and (texts := texts_at(column.at, at[column.at.place])):
            fields[column.name] = texts[0].text if column.at.nth else [found.text for found in texts]
    return fields

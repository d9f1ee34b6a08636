"""What `extract`, `entities` and `blocks` learn from a sample of pages, in a form that can be sent to other processes, and the rows of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from upwell.errors import WrongUsage
from upwell.extract.entities import EntityModel
from upwell.extract.entity_templates import EntityTemplate
from upwell.extract.tidy import TableColumn, arrange
from upwell.extract.values import Type
from upwell.offline.block_tables import ARTICLE, ENTRY, rows_of_blocks
from upwell.offline.blocks import BlockReader, learn_reader, page_blocks
from upwell.offline.entities import entity_table, learn_groups, read_entity
from upwell.offline.extract import record_row
from upwell.offline.saved_pages import SavedPage
from upwell.source.apply import apply
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel
from upwell.store.fixed_table import FixedTable, fixed_table

__all__ = ["VERBS", "LearnedParts", "PartReader", "learn_parts"]

Row = dict[str, Any]
Warn = Callable[[str], None]


class PartReader(Protocol):
    """What was learned, and how it reads a page."""

    def rows(self, page: SavedPage) -> Iterator[tuple[str, Row]]:
        """The rows of a page, each with the name of its table."""
        ...

    def tables(self) -> dict[str, tuple[str, ...]]:
        """The names of its tables, and the columns of each that begin with _."""
        ...

    def columns(self, table: str, rows: Sequence[Row]) -> list[TableColumn]:
        """The other columns of a table with these rows."""
        ...


@dataclass(frozen=True)
class LearnedParts:
    """All that a process needs to read a part."""

    reader: PartReader
    tables: dict[str, FixedTable]


@dataclass(frozen=True)
class AnswerReader:
    """Records of answers."""

    model: SourceModel

    def rows(self, page: SavedPage) -> Iterator[tuple[str, Row]]:
        """A row for each record."""
        reading = apply(self.model, page.tree(), status=page.status, asked_at=self.model.asked_at, query=page.query)
        for record in reading.records:
            yield "records", record_row(record.key, page.name, record.path, record.fields, record.text)

    def tables(self) -> dict[str, tuple[str, ...]]:
        """One table."""
        return {"records": ("_key", "_page", "_path")}

    def columns(self, table: str, rows: Sequence[Row]) -> list[TableColumn]:
        """As the table of all records would have them."""
        return arrange(rows)


@dataclass(frozen=True)
class EntityReader:
    """One thing a page."""

    groups: list[EntityTemplate]

    def rows(self, page: SavedPage) -> Iterator[tuple[str, Row]]:
        """A row for a page with text."""
        tree = page.tree()
        if tree.chunks and page.status < 400:
            number, fields = read_entity(self.groups, tree)
            yield entity_table(number), {"_page": page.name, "_url": page.url or None, **fields}

    def tables(self) -> dict[str, tuple[str, ...]]:
        """A table for each template."""
        return {entity_table(number): ("_page", "_url") for number in range(len(self.groups))}

    def columns(self, table: str, rows: Sequence[Row]) -> list[TableColumn]:
        """As the table of all pages would have them."""
        return arrange(rows)


@dataclass(frozen=True)
class PageBlockReader:
    """Articles, and what tables of contents list."""

    find: BlockReader

    def rows(self, page: SavedPage) -> Iterator[tuple[str, Row]]:
        """A row for an article, and one for each entry of a table of contents."""
        tree = page.tree()
        articles, entries = rows_of_blocks(page_blocks(page.url or page.name, tree, self.find(tree)))
        yield from (("articles", row) for row in articles)
        yield from (("toc", row) for row in entries)

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Two tables."""
        return {"articles": (), "toc": ()}

    def columns(self, table: str, rows: Sequence[Row]) -> list[TableColumn]:
        """Those of the two tables; dates are read as dates, where they all are."""
        types: dict[str, Type] = {"date": "date", "position": "integer"}
        names = ENTRY if table == "toc" else ARTICLE
        return [TableColumn(name=name, of=(name,), type=types.get(name, "text")) for name in names]


def _learn_answers(pages: Sequence[SavedPage], model: SourceModel | None, warn: Warn) -> PartReader:
    if model is None:
        model = learn_source([page.tree() for page in pages], queries=[page.query for page in pages])
        if not model.rules:
            warn(f"no list of records in {len(pages)} pages; are these answers, and not home pages or errors?")
    return AnswerReader(model)


def _learn_entities(pages: Sequence[SavedPage], model: EntityModel | None, warn: Warn) -> PartReader:
    if model is not None:
        return EntityReader([EntityTemplate(model, frozenset())])
    trees = [tree for page in pages if page.status < 400 and (tree := page.tree()).chunks]
    return EntityReader(learn_groups(trees, warn))


def _learn_blocks(pages: Sequence[SavedPage], model: None, warn: Warn) -> PartReader:
    return PageBlockReader(learn_reader("upwell", (page.tree() for page in pages)))


VERBS: dict[str, Callable[[Sequence[SavedPage], Any, Warn], PartReader]] = {
    "extract": _learn_answers,
    "entities": _learn_entities,
    "blocks": _learn_blocks,
}


def learn_parts(verb: str, pages: Sequence[SavedPage], model: Any, warn: Warn) -> LearnedParts:
    """Learns what a verb needs from a sample, and settles the columns of its tables."""
    if verb not in VERBS:
        raise WrongUsage(f"verb {verb!r} is none of {', '.join(VERBS)}")
    reader = VERBS[verb](pages, model, warn)
    rows: dict[str, list[Row]] = {name: [] for name in reader.tables()}
    for page in pages:
        for table, row in reader.rows(page):
            rows[table].append(row)
    return LearnedParts(
        reader,
        {name: fixed_table(rows[name], reader.columns(name, rows[name]), own) for name, own in reader.tables().items()},
    )

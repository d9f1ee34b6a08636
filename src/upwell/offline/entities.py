"""`upwell entities`: saved pages of one site that each show one thing → one row a page, the same columns for all.

Pages of different templates (a list among record pages, another site) share few places: they are told apart and learned each by itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.extract.entities import EntityModel, Fields, apply
from upwell.extract.entity_ranking import MAX_COLUMNS
from upwell.extract.entity_templates import EntityTemplate, best_fit, divide, learn_template_of
from upwell.extract.tidy import arrange, rows_of
from upwell.offline.saved_pages import SavedPage, pages_at, sample_evenly
from upwell.page.tree import TagTree
from upwell.results import EntityPage
from upwell.store import records
from upwell.store.remote import local_copy, output
from upwell.store.typed import with_types

__all__ = ["entities", "entity_table", "learn_groups", "read_entity"]

MAX_LEARNED_PAGES = 100  # 25 pages of a site give the columns; more only cost
MANY_FIELDS = 500  # columns that are left out from which on it is said


def entities(
    path: str | Path,
    *,
    model: EntityModel | None = None,
    save: str | Path | None = None,
    out: str | Path | None = None,
    format: records.Format = "parquet",
    warn: Callable[[str], None] = lambda _: None,
) -> Iterator[EntityPage]:
    """Offline: the fields of saved pages that each show one thing, one result a page, in page order, the same columns for all.

    Learns from up to a hundred of the pages (`save` keeps what was learned), or only applies `model`; `out` is a folder for the table;
    `warn` hears what looks wrong.
    """
    folder = local_copy(path)
    groups = [EntityTemplate(model, frozenset())] if model else learn_groups(_sampled_trees(folder), warn)
    if save is not None:
        if len(groups) > 1:
            warn(f"{save} keeps the columns of the largest template only")
        Path(save).write_text(groups[0].model.to_json(), encoding="utf-8")
    rows: list[list[dict[str, object]]] = [[] for _ in groups]
    for page in pages_at(folder):
        tree = _tree(page, warn)
        if tree is None:
            continue
        number, fields = read_entity(groups, tree)
        if not any(fields.values()):
            warn(f"{page.name}: nothing of the columns stands on this page")
        if out is not None:
            rows[number].append({"_page": page.name, "_url": page.url or None, **fields})
        yield EntityPage(page=page.name, fields=fields, template=number if len(groups) > 1 else None)
    if out is not None:
        with output(out) as place:
            _write(rows, place, format)


def read_entity(groups: Sequence[EntityTemplate], tree: TagTree) -> tuple[int, Mapping[str, str | list[str] | None]]:
    """The number of the template that fits a page best, and its columns as the page has them."""
    number = best_fit(groups, tree)[1]
    return number, _in_order(groups[number].model, apply(groups[number].model, tree))


def _sampled_trees(folder: Path) -> list[TagTree]:
    """The pages with text among those that are learned from."""
    sample = sample_evenly(pages_at(folder), MAX_LEARNED_PAGES)
    return [tree for page in sample if (tree := _tree(page, lambda _: None)) is not None]


def learn_groups(trees: Sequence[TagTree], warn: Callable[[str], None]) -> list[EntityTemplate]:
    """The templates of the pages, that of most pages first."""
    if not trees:
        raise WrongUsage("no page with text is here; this wants saved pages of one site that each show one thing")
    parts = divide(trees)
    if len(parts) > 1:
        sizes = " and ".join(str(len(part)) for part in parts)
        warn(f"these pages are of {len(parts)} templates ({sizes} pages): each has columns of its own")
    if len(trees) == 1:
        warn(
            "one page only: what it does not name is not known from what all pages of the site say; give more of its pages"
        )
    groups = [learn_template_of([trees[i] for i in part]) for part in parts]
    left_out = max(group.model.left_out for group in groups)
    if left_out > MANY_FIELDS:
        warn(f"these pages have about {left_out:,} fields more than the {MAX_COLUMNS} columns that are kept")
    if not any(group.model.columns for group in groups):
        warn(f"no columns: {len(trees)} pages say the same, or nothing that they name")
    return groups


def _tree(page: SavedPage, warn: Callable[[str], None]) -> TagTree | None:
    """A page as a tree; None, and a word about it, where it cannot be read as one."""
    tree = page.tree()
    if not tree.chunks:
        warn(f"{page.name}: no text on this page, so it has no row")
        return None
    return tree


def _in_order(model: EntityModel, fields: Fields) -> Mapping[str, str | list[str] | None]:
    return {column.name: fields.get(column.name) for column in model.columns}


def _write(rows: Sequence[list[dict[str, object]]], folder: Path, format: records.Format) -> None:
    """A table for each template: `entities.parquet`, `entities-2.parquet` …"""
    folder.mkdir(parents=True, exist_ok=True)
    for number, found in enumerate(rows, 1):
        columns = arrange(found)
        name = entity_table(number - 1)
        records.write(with_types(rows_of(found, columns), columns), folder, format, name=name)


def entity_table(number: int) -> str:
    """The name of the table of a template, by its number from 0.

    >>> entity_table(0), entity_table(1)
    ('entities', 'entities-2')
    """
    return "entities" if number == 0 else f"entities-{number + 1}"

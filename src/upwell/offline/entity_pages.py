"""`upwell entities`: one row per saved page, for pages that each describe one entity.

Pages of different templates (a list among record pages, another site) have few positions in common; each template is learned separately.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.offline.saved_pages import SavedPage, pages_at, sample_evenly
from upwell.page.tree import TagTree
from upwell.records.entity_columns import MAX_COLUMNS
from upwell.records.entity_model import (
    EntityFields,
    EntityModel,
    EntityTemplate,
    apply_entity_model,
    best_fitting_template,
    group_by_template,
    learn_entity_template,
)
from upwell.results import EntityPage
from upwell.store.remote import local_copy, open_output
from upwell.table import writers
from upwell.table.build import table_of_rows
from upwell.table.user_schema import UserSchema

__all__ = ["entities", "entity_table_name", "learn_templates", "read_entity"]

MAX_LEARNED_PAGES = 100  # pages used for learning; 25 pages of a site determine the columns
MANY_FIELDS = 500  # omitted fields above which a warning is given


def entities(
    path: str | Path,
    *,
    model: EntityModel | None = None,
    save: str | Path | None = None,
    out: str | Path | None = None,
    format: writers.Format = "parquet",
    schema: UserSchema | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Iterator[EntityPage]:
    """Yield the fields of saved pages that each describe one entity, in page order, with the same columns for all.

    Learns from up to a hundred pages (`save` stores the model), or applies `model`. `out` is a folder for the table; `warn` receives warnings.
    """
    folder = local_copy(path)
    templates = [EntityTemplate(model, frozenset())] if model else learn_templates(_sampled_trees(folder), warn)
    if save is not None:
        if len(templates) > 1:
            warn(f"{save} contains only the columns of the largest template")
        Path(save).write_text(templates[0].model.to_json(), encoding="utf-8")
    rows: list[list[dict[str, object]]] = [[] for _ in templates]
    for page in pages_at(folder):
        tree = _tree(page, warn)
        if tree is None:
            continue
        number, fields = read_entity(templates, tree)
        if not any(fields.values()):
            warn(f"{page.name}: this page has none of the columns")
        if out is not None:
            rows[number].append({"_page": page.name, "_url": page.url or None, **fields})
        yield EntityPage(page=page.name, fields=fields, template=number if len(templates) > 1 else None)
    if out is not None:
        with open_output(out) as place:
            _write(rows, place, format, schema or UserSchema())


def read_entity(templates: Sequence[EntityTemplate], tree: TagTree) -> tuple[int, Mapping[str, str | list[str] | None]]:
    """Return the number of the template that fits a page best, and the page's values of its columns."""
    number = best_fitting_template(templates, tree)[1]
    return number, _in_order(templates[number].model, apply_entity_model(templates[number].model, tree))


def _sampled_trees(folder: Path) -> list[TagTree]:
    """Return the sampled pages that contain text."""
    sample = sample_evenly(pages_at(folder), MAX_LEARNED_PAGES)
    return [tree for page in sample if (tree := _tree(page, lambda _: None)) is not None]


def learn_templates(trees: Sequence[TagTree], warn: Callable[[str], None]) -> list[EntityTemplate]:
    """Learn the templates of the pages, most frequent first."""
    if not trees:
        raise WrongUsage("no page contains text; give saved pages of one site that each describe one entity")
    parts = group_by_template(trees)
    if len(parts) > 1:
        sizes = " and ".join(str(len(part)) for part in parts)
        warn(f"these pages use {len(parts)} templates ({sizes} pages); each gets its own columns")
    if len(trees) == 1:
        warn("only one page: values cannot be told from text that all pages of the site share; give more pages")
    templates = [learn_entity_template([trees[i] for i in part]) for part in parts]
    left_out = max(template.model.left_out for template in templates)
    if left_out > MANY_FIELDS:
        warn(f"these pages have about {left_out:,} more fields than the {MAX_COLUMNS} columns that are kept")
    if not any(template.model.columns for template in templates):
        warn(f"no columns found: the {len(trees)} pages have the same text, or no labelled values")
    return templates


def _tree(page: SavedPage, warn: Callable[[str], None]) -> TagTree | None:
    """Parse a page; warn and return None if it has no text."""
    tree = page.tree()
    if not tree.chunks:
        warn(f"{page.name}: this page has no text and is skipped")
        return None
    return tree


def _in_order(model: EntityModel, fields: EntityFields) -> Mapping[str, str | list[str] | None]:
    return {column.name: fields.get(column.name) for column in model.columns}


def _write(rows: Sequence[list[dict[str, object]]], folder: Path, format: writers.Format, schema: UserSchema) -> None:
    """Write a table for each template: `entities.parquet`, `entities-2.parquet` …"""
    folder.mkdir(parents=True, exist_ok=True)
    for number, template_rows in enumerate(rows, 1):
        made = table_of_rows(template_rows, schema=schema)
        writers.write(made.rows, folder, format, name=entity_table_name(number - 1), keep_order=bool(schema))


def entity_table_name(number: int) -> str:
    """Return the table name of a template, by its number from 0.

    >>> entity_table_name(0), entity_table_name(1)
    ('entities', 'entities-2')
    """
    return "entities" if number == 0 else f"entities-{number + 1}"

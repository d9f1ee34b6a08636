"""Read record pages into rows: one row per page, the same columns for all pages of a template.

    learn_entities       learn an `EntityModel` from pages of one site: template (`record_page`) and columns (`entity_columns`)
    apply_entity_model   read the fields of one page
    learn_url_columns    columns of pictures, downloads and links to other sites
    group_by_template    separate pages of several templates

A saved model is JSON that users can edit: columns may be renamed, dropped and reordered.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag

from upwell.errors import WrongUsage
from upwell.page.links import acts, is_page
from upwell.page.tree import TagTree
from upwell.records.column_names import column_name, unused_name
from upwell.records.entity_columns import (
    ColumnCandidate,
    ColumnLocation,
    best_candidates,
    column_candidates,
    name_column,
    single_page_labels,
    texts_at,
)
from upwell.records.record_page import (
    COLONS,
    LocatedText,
    PageTexts,
    TemplateTexts,
    TextLocator,
    is_stated,
    learn_template,
    single_page_template,
    stated_texts,
    text_places,
)
from upwell.urls.hosts import leaves_site, site_host

__all__ = [
    "EntityColumn",
    "EntityFields",
    "EntityModel",
    "EntityTemplate",
    "UrlColumn",
    "apply_entity_model",
    "best_fitting_template",
    "group_by_template",
    "learn_entities",
    "learn_entity_template",
    "learn_url_columns",
    "load_model",
    "read_url_columns",
]

MIN_LABELS = 3  # different labels of texts at one place, which then are a list of labelled facts; not swept
VERSION = 1  # version of the saved model; other versions are rejected

EntityFields = dict[str, str | list[str]]


@dataclass(frozen=True, kw_only=True)
class EntityColumn:
    """Column of an entity model, as in its JSON."""

    name: str
    at: ColumnLocation
    share: float = 0.0  # share of the pages with a value
    is_labelled: bool = False  # most of its texts have a label, so that a text is data even if it is shown elsewhere
    is_fact: bool = False  # the label is in a cell of its own, or one of several at its place, so that the same text on all pages is data, too
    named_by: str = ""  # source of the name (`column_names.NAME_SOURCES`), or "page title"


@dataclass(frozen=True, kw_only=True)
class EntityModel:
    """Template and columns of pages that each describe one entity."""

    columns: tuple[EntityColumn, ...]
    template: TemplateTexts
    left_out: int = 0  # candidate columns that were dropped
    version: int = VERSION

    @cached_property
    def places(self) -> frozenset[str]:
        """Places of the columns."""
        return frozenset(column.at.place for column in self.columns)

    @cached_property
    def stated_places(self) -> frozenset[str]:
        """Places of the columns that are statements (`record_page.stated_texts`)."""
        return frozenset(filter(is_stated, self.places))

    @cached_property
    def locator(self) -> TextLocator:
        """Locator of the texts of the columns."""
        by_label = {column.at.place for column in self.columns if column.at.label is not None}
        return TextLocator(self.template, self.places, self.places - by_label)

    def to_json(self) -> str:
        """Return the model as JSON, one column per line."""
        columns = ",\n  ".join(
            json.dumps(asdict(column) | {"at": column.at._asdict()}, ensure_ascii=False) for column in self.columns
        )
        template = json.dumps(self.template.as_dict(), ensure_ascii=False)
        return f'{{"version": {self.version}, "left_out": {self.left_out},\n "columns": [\n  {columns}\n ],\n "template": {template}}}\n'


def load_model(text: str) -> EntityModel:
    """Load a model from its JSON."""
    try:
        saved: dict[str, Any] = json.loads(text)
        if saved.get("version") != VERSION:
            raise WrongUsage(
                f"this model has version {saved.get('version')}, but version {VERSION} is needed; learn it again"
            )
        columns = tuple(
            EntityColumn(**(column | {"at": ColumnLocation(**column["at"])})) for column in saved["columns"]
        )
        template = TemplateTexts.from_dict(saved["template"])
        return EntityModel(columns=columns, template=template, left_out=saved["left_out"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WrongUsage(
            f"this file is not an entity model ({error}); create one with `upwell entities PATH --save FILE`"
        ) from error


def learn_entities(trees: Sequence[TagTree], *, keep_constants: bool = False) -> EntityModel:
    """Learn the columns of pages of one site; `keep_constants` keeps labelled columns with the same value on all pages."""
    pages = [PageTexts(tree) for tree in trees]
    template = (
        learn_template(pages) if len(pages) != 1 else single_page_template(pages[0], single_page_labels(pages[0]))
    )
    locator = TextLocator(template)
    texts = [[*locator.texts(page), *stated_texts(page.tree)] for page in pages]
    candidates = column_candidates(texts, keep_constants=keep_constants)
    kept, title = best_candidates(candidates, trees)
    columns: list[EntityColumn] = []
    taken: set[str] = set()
    labels_at = Counter(place for place, _ in {(each.location.place, each.label) for each in candidates if each.label})
    for candidate in kept:
        is_title = candidate is title and not (candidate.label.endswith(COLONS) and _has_cell_label(candidate, trees))
        source, name = ("page title", "title") if is_title else name_column(candidate, trees)
        name = unused_name(name, taken)
        taken.add(name)
        columns.append(
            EntityColumn(
                name=name,
                at=candidate.location,
                share=round(len(candidate.cells) / len(trees), 3),
                is_labelled=bool(candidate.label),
                is_fact=_has_cell_label(candidate, trees)
                or (bool(candidate.label) and labels_at[candidate.location.place] >= MIN_LABELS),
                named_by=source,
            )
        )
    return EntityModel(columns=tuple(columns), template=template, left_out=len(candidates) - len(kept))


def _has_cell_label(candidate: ColumnCandidate, trees: Sequence[TagTree]) -> bool:
    """Return True if the label of a column is in a cell of a table or in a <dt>."""
    page, texts = next(iter(candidate.cells.items()))
    tree, chunk = trees[page], texts[0].label_chunk
    if not candidate.label or chunk < 0 or chunk == texts[0].chunk:
        return False
    row = int(tree.chunk_row[chunk])
    return any(tree.name(i) in ("th", "td", "dt") for i in (row, int(tree.parent[row])) if i >= 0)


def apply_entity_model(model: EntityModel, tree: TagTree) -> EntityFields:
    """Return the fields of a page in column order; a column of several texts has a list."""
    texts_by_place: defaultdict[str, list[LocatedText]] = defaultdict(list)
    for text in model.locator.texts(PageTexts(tree)):
        texts_by_place[text.place].append(text)
    if model.stated_places:
        for text in stated_texts(tree, model.stated_places):
            texts_by_place[text.place].append(text)
    fields: EntityFields = {}
    for column in model.columns:
        if column.at.place in texts_by_place and (texts := texts_at(column.at, texts_by_place[column.at.place])):
            fields[column.name] = texts[0].text if column.at.nth else [text.text for text in texts]
    return fields


# URL columns: places of pictures, downloads and links to other sites whose URLs differ between pages. Links to pages of the same site are
# not columns; their texts are.

IMAGE_ATTRIBUTES = ("src", "data-src", "data-original", "data-lazy-src")
MIN_SHARE = 0.2  # share of the pages with a URL at a place
MIN_DISTINCT = 0.5  # distinct URLs per page that has one
MAX_COLUMNS = 8
MAX_IN_LIST = 20  # URLs of one page at one place; more are an unrelated gallery


class UrlColumn(NamedTuple):
    """Place of pictures or links."""

    name: str
    place: str
    is_list: bool


def learn_url_columns(pages: Sequence[TagTree], known: Collection[str] = ()) -> tuple[UrlColumn, ...]:
    """Learn the URL columns of pages of one template; `known` are names of other columns."""
    page_urls = [_by_place(page) for page in pages]
    pages_with = Counter(url for urls_by_place in page_urls for at in urls_by_place.values() for url in set(at))
    by_place: defaultdict[str, list[list[str]]] = defaultdict(list)
    texts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for urls_by_place in page_urls:
        for place, at in urls_by_place.items():
            own = [url for url in at if 2 * pages_with[url] <= len(pages)]
            if 0 < len(own) <= MAX_IN_LIST:
                by_place[place].append(own)
                texts[place].update(at.values())
    columns: list[UrlColumn] = []
    taken = set(known)
    for place, lists in sorted(by_place.items(), key=lambda item: -len(item[1])):
        distinct = {url for own in lists for url in own}
        if len(lists) < max(2, MIN_SHARE * len(pages)) or len(distinct) < MIN_DISTINCT * len(lists):
            continue
        name = unused_name(_name(place, texts[place], next(iter(distinct))), taken)
        taken.add(name)
        columns.append(UrlColumn(name, place, 2 * sum(len(own) > 1 for own in lists) > len(lists)))
    return tuple(columns[:MAX_COLUMNS])


def read_url_columns(columns: Sequence[UrlColumn], page: TagTree) -> dict[str, str | list[str]]:
    """Return the URLs of a page by column."""
    urls_by_place = _by_place(page) if columns else {}
    return {
        column.name: list(urls_by_place[column.place]) if column.is_list else next(iter(urls_by_place[column.place]))
        for column in columns
        if column.place in urls_by_place
    }


def _by_place(page: TagTree) -> dict[str, dict[str, str]]:
    """Return place → URL → link text of pictures, downloads and links that leave the site."""
    host, own = site_host(page.url), unquote(page.url).partition("://")[2]
    urls_by_place: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in page.rows("img", "a").tolist():
        if page.name(row) == "img":
            source = next((value for name in IMAGE_ATTRIBUTES if (value := page.attr(row, name))), None)
            url = page.resolve(source) if source and not source.startswith("data:") else None
        else:
            url = page.resolve(page.attr(row, "href"))
            if url and (acts(url) or not url.startswith(("http://", "https://"))):
                url = None
            if url and is_page(url) and (own in unquote(url) or not leaves_site(url, host)):
                url = None  # a page of the site, or a "share" link
        if url:
            urls_by_place[page.signatures[page.signature[row]].short_path].setdefault(
                urldefrag(url)[0], " ".join(page.text(row).split())
            )
    return urls_by_place


def _name(place: str, texts: Counter[str], example: str) -> str:
    """Return the name of the links at a place: the text they share, otherwise their kind."""
    is_picture = place.rsplit("/", 1)[-1].startswith("img")
    text, times = texts.most_common(1)[0]
    if not is_picture and text and len(texts) > 1 and 2 * times <= texts.total():
        text = ""
    if is_picture or not text or "://" in text:
        return "image" if is_picture else "link" if is_page(example) else "download"
    return column_name(text)


# Templates: pages of one template share most of the places where they have texts.

# Share of the places of the page with fewer places that two pages of one template have in common. 0.5 to 0.7 split none of 40 sites and
# separate all 39 mixtures of two; 0.3 misses one mixture.
MIN_SHARED_PLACES = 0.6
COMMON_SHARE = 0.5  # share of a template's pages with a place before other pages are compared by it


class EntityTemplate(NamedTuple):
    """Entity model of one template, and the places that most of its pages have."""

    model: EntityModel
    places: frozenset[str]


def group_by_template(trees: Sequence[TagTree]) -> list[list[int]]:
    """Return the indexes of the pages of each template, largest group first."""
    places = [text_places(tree) for tree in trees]
    template = list(range(len(places)))
    for i, here in enumerate(places):
        for j in range(i):
            least = min(len(here), len(places[j]))
            if template[i] != template[j] and len(here & places[j]) >= MIN_SHARED_PLACES * least:
                joining, kept = max(template[i], template[j]), min(template[i], template[j])
                template = [kept if number == joining else number for number in template]
    groups: dict[int, list[int]] = {}
    for i, number in enumerate(template):
        groups.setdefault(number, []).append(i)
    return sorted(groups.values(), key=len, reverse=True)


def learn_entity_template(trees: Sequence[TagTree], *, keep_constants: bool = False) -> EntityTemplate:
    """Learn the template of pages that share one."""
    pages_with = Counter(place for tree in trees for place in text_places(tree))
    common = frozenset(place for place, pages in pages_with.items() if pages >= COMMON_SHARE * len(trees))
    return EntityTemplate(learn_entities(trees, keep_constants=keep_constants), common)


def best_fitting_template(templates: Sequence[EntityTemplate], tree: TagTree) -> tuple[float, int]:
    """Return the share of places that a page has in common with the best fitting template, and its number; (0, 0) without templates."""
    here = text_places(tree) if templates else frozenset()
    fits = [len(here & places) / max(1, min(len(here), len(places))) for _, places in templates]
    return (max(fits), fits.index(max(fits))) if fits else (0.0, 0)

"""Read record pages: fetch the pages that records link to, and merge their fields into the rows.

A few pages are read in every harvest, to say which columns all of them would add; with `Plan.details` as many as budget and user allow. Their layout
is learned from the first pages (`records.entity_model`); pages that no layout fits are learned separately.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from urllib.parse import urldefrag

import numpy as np

from upwell.choose.plan import Plan
from upwell.choose.url_repository import NumberQueue, UrlRepository
from upwell.page.links import acts, is_page
from upwell.page.path_signatures import BROKEN, GLUED
from upwell.page.tree import TagTree
from upwell.records import entity_model
from upwell.records.entity_model import (
    EntityModel,
    EntityTemplate,
    UrlColumn,
    best_fitting_template,
    group_by_template,
    learn_entity_template,
    learn_url_columns,
    read_url_columns,
)
from upwell.store.state import State
from upwell.types import PAGE_FIELDS_NOTE, PAGE_TEMPLATE, Record, Response
from upwell.urls.hosts import leaves_site, site_host

__all__ = ["RecordPageReader"]

SAMPLE = 5  # pages read in every harvest
CONTROLS = 2  # sampled pages that are fetched twice
SAMPLE_AFTER = 40  # records held before sampling, so that the sample comes from different answers
LEARN_FROM = 25  # pages that a layout is learned from if all are read; as measured with `upwell entities`
MIN_FIT = 0.5  # share of a page's positions that a layout must contain
MIN_PART_CHARS = 60  # shortest field that may also be in the text; `table.schema` merges it with the text
MIN_PROSE_CHARS = 40  # shortest text that counts as prose
MAX_TITLE_CHARS = 200  # longest field that is not repeated inside the text
MAIN_SHARE = 0.7  # share of the longer texts of a page that its main part contains
MIN_TEXT_CHARS = 100  # total length of the longer texts from which on a page has a text
BETWEEN = {GLUED: "", BROKEN: "\n"}  # separators of texts; otherwise a space
PATH = re.compile(r"/(?=[\w~%&=;,+@:-]*+[./?])[\w.~%/?&=;,+@:-]*+")
MIN_PAGES = 3  # pages of one layout that are learned together


@dataclass(frozen=True)
class _PageTemplate:
    """Layout shared by record pages, and how their fields are read."""

    entity: EntityTemplate
    addresses: tuple[UrlColumn, ...]
    frame: frozenset[str]  # texts that most of these pages contain


@dataclass
class RecordPageReader:
    """Reader of the record pages of one source: selects the next page and reads its fields."""

    plan: Plan
    state: State
    url: str  # of the source
    frame: frozenset[str] = frozenset()  # texts of most answers, which describe no record
    pages: int = 0  # number of pages read
    left_out: Counter[str] = field(default_factory=Counter)  # reasons why pages have no fields
    urls: UrlRepository = field(
        default_factory=UrlRepository
    )  # the note is the key of the record if that is not its URL
    # by field: source of the name; True: the same text on all pages is data, too
    named_by: dict[str, tuple[str, bool]] = field(default_factory=dict)
    _waiting: NumberQueue = field(default_factory=NumberQueue)
    _unread: list[tuple[str, TagTree]] = field(default_factory=list)  # pages that no layout fits yet
    _templates: list["_PageTemplate"] = field(default_factory=list)
    _sampled: int = 0
    _waited: int = 0  # unread pages after the last learning
    _controls: dict[str, str] = field(default_factory=dict)  # keys and URLs of pages to fetch a second time
    _first: dict[str, TagTree] = field(default_factory=dict)  # their pages as fetched the first time
    _twice: list[tuple[TagTree, TagTree]] = field(default_factory=list)

    @property
    def _sample(self) -> int:
        """Return the sample size; 0 if the sample would exceed a tenth of the budget."""
        return SAMPLE if self.plan.budget >= 10 * (SAMPLE + CONTROLS) else 0

    @property
    def waiting(self) -> int:
        """Return the number of record pages that could be read."""
        return len(self._waiting)

    def add(self, records: Iterable[Record]) -> None:
        """Add records whose page is on the site."""
        host, own = site_host(self.url), "/".join(self.url.split("/", 3)[:3]) + "/"
        pages = []
        for record in records:
            url = record.url or ""
            url = urldefrag(url)[0] if "#" in url else url
            if url and (url.startswith(own) or not leaves_site(url, host)) and is_page(url):
                pages.append((url, record.key))
        added = self.urls.add_each("record page", [(url, "" if key == url else key) for url, key in pages])
        for (_, key), (number, is_new) in zip(pages, added, strict=True):
            if is_new:
                self._waiting.append(number)
            elif self._key(number) != key:
                self.urls.take(number)  # shared by several records

    def next(self, held: int, *, is_end: bool = False) -> tuple[str, str] | None:
        """Return key and URL of the record page to read now; None if a query comes first or nothing is left to read."""
        if self._first and (self.pages >= SAMPLE or not self._waiting):
            key = next(iter(self._first))  # repeated to see what changes by itself, after the other sampled pages
            return key, self._controls[key]
        how = self.plan.details
        is_sample = self._sampled < self._sample and (held >= SAMPLE_AFTER or is_end)
        is_wanted = bool(how) and (is_end or how == "first")
        if isinstance(how, int) and not isinstance(how, bool):
            is_wanted = is_end and self.pages < how
        while self._waiting and (is_sample or is_wanted):
            # sampled evenly from all waiting pages, not only from the first answer
            at = (self._sampled * self.waiting) // SAMPLE if is_sample and not is_wanted else 0
            number = self._waiting.take(min(at, self.waiting - 1))
            url, key = self.urls.text(number)[0], self._key(number)
            if self.urls.take(number) and not acts(url):
                self._sampled += is_sample
                if len(self._controls) < CONTROLS:
                    self._controls[key] = url
                return key, url
        return None

    def _key(self, number: int) -> str:
        url, key = self.urls.text(number)
        return key or url

    def take(self, key: str, response: Response | None, tree: TagTree | None) -> None:
        """Read the page of a record; None if it could not be fetched."""
        if (before := self._first.pop(key, None)) is not None:
            if tree is not None:
                self._twice.append((before, tree))
            self._learn_if_due()
            return
        if key in self._controls and tree is not None:
            self._first[key] = tree
        if response is None or tree is None:
            self.left_out["could not be fetched"] += 1
        elif response.status in (401, 403):
            self.left_out["need a login"] += 1
        elif response.status >= 400:
            self.left_out[f"status {response.status}"] += 1
        elif leaves_site(response.url, site_host(self.url)):
            self.left_out["lead to another site"] += 1
        elif not tree.chunks:
            self.left_out["have no text"] += 1
        else:
            self.read(key, tree)

    def read(self, key: str, tree: TagTree) -> None:
        """Read a page that shows one record."""
        self.pages += 1
        if not self._read(key, tree):
            self._unread.append((key, tree))
            self._learn_if_due()

    def _learn_if_due(self) -> None:
        """Learn once enough pages are there and the pages fetched twice have arrived twice."""
        enough = len(self._unread) - self._waited >= (LEARN_FROM if self.plan.details else SAMPLE)
        if enough and not self._first:
            self.learn()
            self._waited = len(self._unread)

    def learn(self, *, is_end: bool = False) -> None:
        """Learn layouts from the pages that no layout fits, and read them; rare layouts wait for more pages until the end."""
        unread, self._unread = self._unread, []
        for members in group_by_template([tree for _, tree in unread]):
            if len(members) < MIN_PAGES and not (is_end and not self._templates):
                self._unread += [unread[i] for i in members]
                continue
            trees = [unread[i][1] for i in members]
            learned = learn_entity_template(trees, keep_constants=True)
            texts = Counter(text for tree in trees for text in set(tree.chunks))
            frame = (
                frozenset(text for text, n in texts.items() if n > len(trees) / 2) if len(trees) > 1 else frozenset()
            )
            entity = EntityTemplate(self._without_changing(learned.model), learned.places)
            known = [column.name for column in entity.model.columns]
            self._templates.append(
                _PageTemplate(entity, self._steady_addresses(learn_url_columns(trees, known)), frame)
            )
            self.named_by |= {column.name: (column.named_by, column.is_fact) for column in entity.model.columns}
            self.state.set_note(PAGE_FIELDS_NOTE, json.dumps(self.named_by, ensure_ascii=False))
            for i in members:
                self._store(unread[i][0], len(self._templates) - 1, unread[i][1])
        if is_end and self._unread:
            self.left_out["look like no other"] += len(self._unread)

    def _without_changing(self, model: EntityModel) -> EntityModel:
        """Remove columns that differ when the same page is fetched again, such as advertisements and recently viewed pages."""
        pairs = [
            (entity_model.apply_entity_model(model, first), entity_model.apply_entity_model(model, again))
            for first, again in self._twice
        ]
        steady = (c for c in model.columns if all(first.get(c.name) == again.get(c.name) for first, again in pairs))
        return replace(model, columns=tuple(steady))

    def _steady_addresses(self, columns: tuple[UrlColumn, ...]) -> tuple[UrlColumn, ...]:
        """Do the same for columns of URLs."""
        pairs = [(read_url_columns(columns, first), read_url_columns(columns, again)) for first, again in self._twice]
        return tuple(c for c in columns if all(first.get(c.name) == again.get(c.name) for first, again in pairs))

    def _read(self, key: str, tree: TagTree) -> bool:
        """Read a page with the layout that fits best; return False if none fits."""
        fit, number = best_fitting_template([template.entity for template in self._templates], tree)
        if fit >= MIN_FIT:
            self._store(key, number, tree)
        return fit >= MIN_FIT

    def _store(self, key: str, number: int, tree: TagTree) -> None:
        template = self._templates[number]
        model = template.entity.model
        values = entity_model.apply_entity_model(model, tree)
        labelled = {column.name for column in model.columns if column.is_labelled}  # a form may offer these texts
        fields = {
            name: _absolute(tree, value)
            for name, value in values.items()
            if isinstance(value, list) or name in labelled or value not in self.frame
        }
        single = {
            value
            for name, value in fields.items()
            if isinstance(value, str) and (name == "title" or len(value) < MIN_PART_CHARS)
        }
        fields |= read_url_columns(template.addresses, tree)
        if text := _main_text(tree, template.frame | {value for value in single if len(value) <= MAX_TITLE_CHARS}):
            fields.setdefault("text", text)
        if fields:
            self.state.add_details(key, fields | {PAGE_TEMPLATE: str(number)})
        else:
            self.left_out["say nothing"] += 1


def _absolute(tree: TagTree, value: str | list[str]) -> str | list[str]:
    """Return a path from the site's root as an absolute URL; other texts unchanged."""
    is_path = isinstance(value, str) and PATH.fullmatch(value)
    return (tree.resolve(value) or value) if is_path and isinstance(value, str) else value


def _main_text(tree: TagTree, elsewhere: Collection[str]) -> str:
    """Return the text of the part of a page that contains most of its longer texts, without texts of its frame and of other fields."""
    own = [float(len(text)) if len(text) >= MIN_PROSE_CHARS and text not in elsewhere else 0.0 for text in tree.chunks]
    mass = tree.sum_chunks(np.array(own))
    if not len(mass) or mass[0] < MIN_TEXT_CHARS:
        return ""
    row = 0
    while children := tree.children(row):
        heaviest = max(children, key=lambda child: float(mass[child]))
        has_own_text = float(mass[row]) > sum(float(mass[child]) for child in children)
        if mass[heaviest] < MAIN_SHARE * mass[0] or has_own_text:
            break
        row = heaviest
    kept = [at for at in range(int(tree.text_at[row]), int(tree.text_end[row])) if tree.chunks[at] not in elsewhere]
    gaps = [BETWEEN.get(int(tree.chunk_gap[at]), " ") for at in kept]
    return "".join(gap + tree.chunks[at].strip() for gap, at in zip(gaps, kept, strict=True)).strip()

"""Record pages: what the own page of a record says, read beside the lists and merged into its row.

A few pages are read in every harvest, to say what all of them would add; with `Plan.details` as many as budget and user allow. What the
pages look like is learned from the first of them (`extract.entities`), and pages that are not of that template are learned apart.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from urllib.parse import urldefrag

import numpy as np

from upwell.extract import entities
from upwell.extract.address_columns import AddressColumn, addresses, learn_addresses
from upwell.extract.entities import EntityModel
from upwell.extract.entity_templates import EntityTemplate, best_fit, divide, learn_template_of
from upwell.harvest.plan import Plan
from upwell.model import TEMPLATE, Record, Response
from upwell.page.hosts import leaves_site, site_host
from upwell.page.links import acts, is_page
from upwell.page.spots import BROKEN, GLUED
from upwell.page.tree import TagTree
from upwell.store.state import State
from upwell.store.url_repository import UrlRepository, Waiting

__all__ = ["Details"]

SAMPLE = 5  # pages that are read in any case
CONTROLS = 2  # of them, that are fetched twice
SAMPLE_AFTER = 40  # records held, so that the sample is of different answers
LEARN_FROM = 25  # pages that a template is learned from, where all are read; as `upwell entities` was measured with
MIN_FIT = 0.5  # of the places of a page that a template must have
MIN_PROSE_CHARS = 40  # of a text that tells something in sentences
MAX_TITLE_CHARS = 200  # of a field that is not repeated inside the text
MAIN_SHARE = 0.7  # of the longer texts of a page, that its main part has
MIN_TEXT_CHARS = 100  # of all of them together, from which on a page has a text
BETWEEN = {GLUED: "", BROKEN: "\n"}  # texts; a space elsewhere
PATH = re.compile(r"/[\w.~%/?&=;,+@:-]*[./?][\w.~%/?&=;,+@:-]*")
MIN_PAGES = 3  # of a template that are learned together


@dataclass(frozen=True)
class _PageTemplate:
    """What pages of one template say."""

    entity: EntityTemplate
    addresses: tuple[AddressColumn, ...]
    frame: frozenset[str]  # texts that most of them have


@dataclass
class Details:
    """The record pages of one source: which to read next, and what they say."""

    plan: Plan
    state: State
    url: str  # of the source
    frame: frozenset[str] = frozenset()  # texts that most answers of the source have: they are of no record
    pages: int = 0  # read
    left_out: Counter[str] = field(default_factory=Counter)  # why pages say nothing of a record
    urls: UrlRepository = field(
        default_factory=UrlRepository
    )  # the note is the key of the record, where that is another text
    _waiting: Waiting = field(default_factory=Waiting)
    _unread: list[tuple[str, TagTree]] = field(default_factory=list)  # pages that no template fits yet
    _templates: list["_PageTemplate"] = field(default_factory=list)
    _sampled: int = 0
    _waited: int = 0  # pages unread after the last learning
    _controls: dict[str, str] = field(default_factory=dict)  # keys and addresses of pages to fetch a second time
    _first: dict[str, TagTree] = field(default_factory=dict)  # what came of them the first time
    _twice: list[tuple[TagTree, TagTree]] = field(default_factory=list)

    @property
    def _sample(self) -> int:
        """Pages of the sample; none where they would be more than a tenth of the budget."""
        return SAMPLE if self.plan.budget >= 10 * (SAMPLE + CONTROLS) else 0

    @property
    def waiting(self) -> int:
        """Record pages that could be read."""
        return len(self._waiting)

    def add(self, records: Iterable[Record]) -> None:
        """Takes in records: those with a page of their own on the site are to be read there."""
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
                self.urls.take(number)  # it is no page of one record

    def next(self, held: int, *, is_end: bool = False) -> tuple[str, str] | None:
        """Key and address of the record page to read now; None: a question comes first, or nothing is to be read."""
        if self._first and (self.pages >= SAMPLE or not self._waiting):
            key = next(
                iter(self._first)
            )  # to see what changes by itself, and with the pages that were looked at before
            return key, self._controls[key]
        how = self.plan.details
        is_sample = self._sampled < self._sample and (held >= SAMPLE_AFTER or is_end)
        is_wanted = bool(how) and (is_end or how == "first")
        if isinstance(how, int) and not isinstance(how, bool):
            is_wanted = is_end and self.pages < how
        while self._waiting and (is_sample or is_wanted):
            # a sample is drawn from all that wait, not from the answer that came first
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
        """The page of a record came; None: it could not be had."""
        if (before := self._first.pop(key, None)) is not None:
            if tree is not None:
                self._twice.append((before, tree))
            self._learn_if_due()
            return
        if key in self._controls and tree is not None:
            self._first[key] = tree
        if response is None or tree is None:
            self.left_out["could not be had"] += 1
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
        """Reads a page that shows one record."""
        self.pages += 1
        if not self._read(key, tree):
            self._unread.append((key, tree))
            self._learn_if_due()

    def _learn_if_due(self) -> None:
        """Learns when enough pages are there, and those that are fetched twice have come twice."""
        enough = len(self._unread) - self._waited >= (LEARN_FROM if self.plan.details else SAMPLE)
        if enough and not self._first:
            self.learn()
            self._waited = len(self._unread)

    def learn(self, *, is_end: bool = False) -> None:
        """Learns the templates of the pages that none fits, and reads them; what is too rare waits for more, until the end."""
        unread, self._unread = self._unread, []
        for members in divide([tree for _, tree in unread]):
            if len(members) < MIN_PAGES and not (is_end and not self._templates):
                self._unread += [unread[i] for i in members]
                continue
            trees = [unread[i][1] for i in members]
            learned = learn_template_of(trees, keep_constants=True)
            texts = Counter(text for tree in trees for text in set(tree.chunks))
            frame = (
                frozenset(text for text, n in texts.items() if n > len(trees) / 2) if len(trees) > 1 else frozenset()
            )
            entity = EntityTemplate(self._without_changing(learned.model), learned.places)
            known = [column.name for column in entity.model.columns]
            self._templates.append(_PageTemplate(entity, self._steady_addresses(learn_addresses(trees, known)), frame))
            for i in members:
                self._store(unread[i][0], len(self._templates) - 1, unread[i][1])
        if is_end and self._unread:
            self.left_out["look like no other"] += len(self._unread)

    def _without_changing(self, model: EntityModel) -> EntityModel:
        """The model without columns that say something else when the same page is fetched again: advertisements, what others looked at."""
        pairs = [(entities.apply(model, first), entities.apply(model, again)) for first, again in self._twice]
        steady = (c for c in model.columns if all(first.get(c.name) == again.get(c.name) for first, again in pairs))
        return replace(model, columns=tuple(steady))

    def _steady_addresses(self, columns: tuple[AddressColumn, ...]) -> tuple[AddressColumn, ...]:
        """The same for columns of addresses."""
        pairs = [(addresses(columns, first), addresses(columns, again)) for first, again in self._twice]
        return tuple(c for c in columns if all(first.get(c.name) == again.get(c.name) for first, again in pairs))

    def _read(self, key: str, tree: TagTree) -> bool:
        """Whether a known template fits; the page is read with the one that fits best."""
        fit, number = best_fit([template.entity for template in self._templates], tree)
        if fit >= MIN_FIT:
            self._store(key, number, tree)
        return fit >= MIN_FIT

    def _store(self, key: str, number: int, tree: TagTree) -> None:
        template = self._templates[number]
        found = entities.apply(template.entity.model, tree)
        fields = {
            name: _absolute(tree, value)
            for name, value in found.items()
            if isinstance(value, list) or value not in self.frame
        }
        single = {value for value in fields.values() if isinstance(value, str)}
        fields |= addresses(template.addresses, tree)
        if text := _main_text(tree, template.frame | {value for value in single if len(value) <= MAX_TITLE_CHARS}):
            fields.setdefault("text", text)
        if fields:
            self.state.add_details(key, fields | {TEMPLATE: str(number)})
        else:
            self.left_out["say nothing"] += 1


def _absolute(tree: TagTree, value: str | list[str]) -> str | list[str]:
    """A text that is a path from the root of the site, as an address."""
    is_path = isinstance(value, str) and PATH.fullmatch(value)
    return (tree.resolve(value) or value) if is_path and isinstance(value, str) else value


def _main_text(tree: TagTree, elsewhere: Collection[str]) -> str:
    """The part of a page that most of its longer texts stand in, without texts that stand in its frame or in other fields."""
    own = [float(len(text)) if len(text) >= MIN_PROSE_CHARS and text not in elsewhere else 0.0 for text in tree.chunks]
    mass = tree.sum_chunks(np.array(own))
    if not len(mass) or mass[0] < MIN_TEXT_CHARS:
        return ""
    row = 0
    while children := tree.children(row):
        heaviest = max(children, key=lambda child: float(mass[child]))
        if mass[heaviest] < MAIN_SHARE * mass[0]:
            break
        row = heaviest
    kept = [at for at in range(int(tree.text_at[row]), int(tree.text_end[row])) if tree.chunks[at] not in elsewhere]
    gaps = [BETWEEN.get(int(tree.chunk_gap[at]), " ") for at in kept]
    return "".join(gap + tree.chunks[at].strip() for gap, at in zip(gaps, kept, strict=True)).strip()

"""Record pages: what the own page of a record says, read beside the lists and merged into its row.

A few pages are read in every harvest, to say what all of them would add; with `Plan.details` as many as budget and user allow. What the
pages look like is learned from the first of them (`extract.entities`), and pages that are not of that template are learned apart.
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from urllib.parse import urldefrag

from upwell.extract import entities
from upwell.extract.entities import EntityModel
from upwell.extract.entity_templates import EntityTemplate, best_fit, divide, learn_template_of
from upwell.harvest.plan import Plan
from upwell.model import Record, Response
from upwell.page.hosts import leaves_site, site_host
from upwell.page.links import acts, is_page
from upwell.page.tree import TagTree
from upwell.store.state import State

__all__ = ["Details"]

SAMPLE = 5  # pages that are read in any case
SAMPLE_AFTER = 40  # records held, so that the sample is of different answers
LEARN_FROM = 25  # pages that a template is learned from, where all are read; as `upwell entities` was measured with
MIN_FIT = 0.5  # of the places of a page that a template must have
COMMON_SHARE = (
    0.5  # of the pages of a template that have a place by which others are compared; as `upwell entities` has it
)
MIN_PAGES = 3  # of a template that are learned together


@dataclass
class Details:
    """The record pages of one source: which to read next, and what they say."""

    plan: Plan
    state: State
    url: str  # of the source
    pages: int = 0  # read
    left_out: Counter[str] = field(default_factory=Counter)  # why pages say nothing of a record
    _waiting: deque[tuple[str, str]] = field(default_factory=deque)  # key and address
    _keys: dict[str, str] = field(default_factory=dict)  # address → key of the record whose page it is; "": of several
    _unread: list[tuple[str, TagTree]] = field(default_factory=list)  # pages that no template fits yet
    _templates: list[EntityTemplate] = field(default_factory=list)
    _sampled: int = 0
    _control: tuple[str, str] | None = None  # the first page: it is fetched twice
    _twice: list[TagTree] = field(default_factory=list)  # that page, each time

    @property
    def waiting(self) -> int:
        """Record pages that could be read."""
        return len(self._waiting)

    def add(self, records: Iterable[Record]) -> None:
        """Takes in records: those with a page of their own on the site are to be read there."""
        host = site_host(self.url)
        for record in records:
            url = urldefrag(record.url or "")[0]
            if not url or leaves_site(url, host) or not is_page(url) or acts(url):
                continue
            if self._keys.setdefault(url, record.key) == record.key:
                self._waiting.append((record.key, url))
            else:
                self._keys[url] = ""  # it is no page of one record

    def next(self, held: int, *, is_end: bool = False) -> tuple[str, str] | None:
        """Key and address of the record page to read now; None: a question comes first, or nothing is to be read."""
        if len(self._twice) == 1 and self._control and (self.pages >= SAMPLE or not self._waiting):
            return self._control  # to see what changes by itself, and with the pages that were looked at before
        how = self.plan.details
        is_sample = self._sampled < SAMPLE and (held >= SAMPLE_AFTER or is_end)
        is_wanted = bool(how) and (is_end or how == "first")
        if isinstance(how, int) and not isinstance(how, bool):
            is_wanted = is_end and self.pages < how
        while (is_sample or is_wanted) and self._waiting:
            # a sample is drawn from all that wait, not from the answer that came first
            at = (self._sampled * len(self._waiting)) // SAMPLE if is_sample and not is_wanted else 0
            key, url = self._waiting[at]
            del self._waiting[at]
            if self._keys.get(url) == key:
                self._sampled += is_sample
                self._control = self._control or (key, url)
                return key, url
        return None

    def take(self, key: str, response: Response | None, tree: TagTree | None) -> None:
        """The page of a record came; None: it could not be had."""
        if self._control and key == self._control[0]:
            if tree is None:
                self._control = ("", "")
            else:
                self._twice.append(tree)
            if len(self._twice) > 1:
                return
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
            if len(self._unread) % (LEARN_FROM if self.plan.details else SAMPLE) == 0:
                self.learn()

    def learn(self, *, is_end: bool = False) -> None:
        """Learns the templates of the pages that none fits, and reads them; what is too rare waits for more, until the end."""
        unread, self._unread = self._unread, []
        for members in divide([tree for _, tree in unread]):
            if len(members) < MIN_PAGES and not (is_end and not self._templates):
                self._unread += [unread[i] for i in members]
                continue
            learned = learn_template_of([unread[i][1] for i in members], keep_constants=True)
            template = EntityTemplate(self._without_changing(learned.model), learned.places)
            self._templates.append(template)
            for i in members:
                self._store(unread[i][0], template.model, unread[i][1])
        if is_end and self._unread:
            self.left_out["look like no other"] += len(self._unread)

    def _without_changing(self, model: EntityModel) -> EntityModel:
        """The model without columns that say something else when the same page is fetched again: advertisements, what others looked at."""
        if len(self._twice) < 2:
            return model
        first, again = (entities.apply(model, tree) for tree in self._twice)
        return replace(model, columns=tuple(c for c in model.columns if first.get(c.name) == again.get(c.name)))

    def _read(self, key: str, tree: TagTree) -> bool:
        """Whether a known template fits; the page is read with the one that fits best."""
        fit, number = best_fit(self._templates, tree)
        if fit >= MIN_FIT:
            self._store(key, self._templates[number].model, tree)
        return fit >= MIN_FIT

    def _store(self, key: str, model: EntityModel, tree: TagTree) -> None:
        fields = entities.apply(model, tree)
        if fields:
            self.state.add_details(key, fields)
        else:
            self.left_out["say nothing"] += 1

"""A simulated source: real records behind a search with a page size, result cap, sort order, totals, facets and faults."""

import zlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from upwell.answers.facets import SecondLevelLink
from upwell.answers.totals import StatedTotals
from upwell.choose.candidates import AnswerPage
from upwell.page.tokens import query_words, stem, stop_words_of, tokens
from upwell.types import FormFilter, Record

__all__ = ["Collection", "Setting", "SimulatedSource"]

Numbers = NDArray[np.int64]
Match = Literal["all", "any", "prefix", "part", "stem"]
Answer = Literal["all", "none", "error"]
TITLE_WORDS, SNIPPET_WORDS = 8, 30  # words of title and snippet of a record with a single text
CATEGORIES, YEARS = 12, 15  # number of values of each facet
ORDERS = ("date", "popularity", "number")
SKEW = 1.5  # standard deviation of the logarithm of a record's prominence, for the order "rank"
EXCERPT_WORDS = 12  # words shown on each side of the first query word, where answers show excerpts
TOPIC_SHARE = 0.1  # share of the records that are about the topic
MIN_ABOUT = 10  # records that are about a topic at least
GAPS = 2.5  # numbers given out per record, where record numbers have gaps
WRONG_FACTOR = 3.0  # a wrong total differs from the true one by up to this factor
ABOUT = 0.15  # largest relative error of an "about" total


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Properties of a simulated source."""

    name: str
    match: Match = "all"  # how words are combined and compared
    stops: bool = False  # stop words of a query are ignored
    min_letters: int = 1  # shorter words match nothing
    searches: Literal["shown", "everything", "title"] = "everything"  # title: answers show words that find nothing
    shows: Literal["title", "snippet", "excerpt", "all"] = "all"  # an excerpt depends on the query
    page: int = 20
    offered: int = 0  # a larger page size that the source offers
    cap: int = 0  # result cap; 0: none
    # rank: by prominence, the same for all queries, with noise; relevance: by length, with noise
    order: Literal["relevance", "rank", "date", "popularity", "number"] = "relevance"
    totals: Literal["exact", "about", "rounded", "capped", "wrong", "none"] = "exact"
    nothing: Answer = "none"  # answer to an empty query
    star: Answer = "none"
    facets: bool = False
    counts: bool = True  # facets state their number of matches
    orders: bool = False  # links to other sort orders
    form: Literal["text", "filters"] = "text"  # filters: a select and a range of numbers, and no text field
    pager: bool = True  # False: only one page
    failures: float = 0.0  # share of the requests that fail
    duplicates: float = 0.0  # share of the matches that are returned twice
    has_search: bool = True  # False: its lists are the only way in
    lists: Literal["none", "one", "groups", "both"] = "none"  # of everything, and one for each category
    listed: float = 1.0  # share of the records that its lists contain
    listed_by: Literal["chance", "date"] = "chance"  # date: the lists contain the newest records
    # lists state how many records they contain, or how many there are
    list_totals: Literal["none", "own", "all"] = "none"
    hidden_groups: int = 0  # category lists that no link leads to
    breaks: bool = False  # the pager of the longest list ends too early
    sitemap: float = 0.0  # share of the records that a sitemap names
    about: bool = False  # only the records about a topic are wanted
    numbers: Literal["none", "dense", "gaps"] = (
        "none"  # the URLs of records contain a number; the newest has the largest
    )

    @property
    def filters(self) -> tuple[FormFilter, ...]:
        """Return the filters of the form, besides its text field."""
        if self.form == "text":
            return ()
        categories = tuple(map(str, range(CATEGORIES)))
        return FormFilter(("category",), "choice", categories), FormFilter(("from", "to"), "number")

    @property
    def is_counted(self) -> bool:
        """Return True if the totals state the number of matches, at least approximately."""
        return self.totals in ("exact", "about", "rounded")

    @property
    def group(self) -> str:
        """Return the class of the setting, for the report."""
        if not self.has_search:
            return "lists only"
        reach = "capped" if self.cap or not self.pager else "broad query" if self.has_broad_query else "words"
        return f"{reach}, {'counted' if self.is_counted else 'not counted'}"

    @property
    def has_broad_query(self) -> bool:
        """Return True if one query lists everything."""
        return "all" in (self.nothing, self.star) and not self.cap and self.pager


class Collection:
    """Records with their words, all of them and those that a setting shows."""

    def __init__(self, name: str, rows: Sequence[tuple[str, Sequence[str]]], seed: int = 0) -> None:
        self.name, self.keys = name, [key for key, _ in rows]
        self.whole = ["\n".join(texts) for _, texts in rows]
        words = [(list(texts), text.split()) for (_, texts), text in zip(rows, self.whole, strict=True)]
        self.titles = [texts[0] if len(texts) > 1 else " ".join(all_[:TITLE_WORDS]) for texts, all_ in words]
        self.snippets = [" ".join(all_[:SNIPPET_WORDS]) for _, all_ in words]
        rng = np.random.default_rng(seed)
        number = len(rows)
        self.ranks = {name: rng.permutation(number) for name in ORDERS}
        self.prominence = rng.lognormal(sigma=SKEW, size=number)
        self.in_lists = rng.permutation(number)  # position in a random order of all records
        self.in_sitemap = rng.permutation(number)
        weights = 1 / np.arange(1, CATEGORIES + 1)
        self.facets = {
            "category": rng.choice(CATEGORIES, number, p=weights / weights.sum()),
            "year": 2010 + rng.integers(0, YEARS, number),
        }
        self._indexes: dict[tuple[str, bool], _Index] = {}
        newest_last = np.argsort(np.argsort(-self.ranks["date"]))
        self.ranks["number"] = newest_last  # the order of a database without another one
        given_out = np.sort(rng.choice(round(GAPS * number), number, replace=False))
        self.numbers = {"dense": newest_last + 1, "gaps": given_out[newest_last] + 1}
        self._records: dict[tuple[str, str], list[Record]] = {}
        self._words: dict[int, frozenset[str]] = {}

    def __len__(self) -> int:
        return len(self.keys)

    def words_of(self, number: int) -> frozenset[str]:
        """Return the words of a record."""
        if number not in self._words:
            self._words[number] = frozenset(tokens(self.whole[number]))
        return self._words[number]

    def texts(self, shows: str) -> list[str]:
        """Return the text of each record that an answer shows."""
        return {"title": self.titles, "snippet": self.snippets}.get(shows, self.whole)

    def records(self, shows: str, numbers: str = "none") -> list[Record]:
        """Return the records as an answer shows them; `numbers` as in a setting."""
        if (shows, numbers) not in self._records:
            texts, keys = self.texts(shows), self.keys
            if numbers != "none":
                keys = [f"http://ground/record/{number}" for number in self.numbers[numbers].tolist()]
            self._records[shows, numbers] = [
                Record(key=key, url=None, path="", text=text, fields={"title": title, "text": text})
                for key, text, title in zip(keys, texts, self.titles, strict=True)
            ]
        return self._records[shows, numbers]

    def excerpt(self, number: int, words: Sequence[str]) -> str:
        """Return the title of a record and the words around the first occurrence of a query word."""
        whole = self.whole[number].split()
        places = (i for i, word in enumerate(whole) if any(wanted in word.lower() for wanted in words))
        at = next(places, 0)
        around = whole[max(0, at - EXCERPT_WORDS) : at + EXCERPT_WORDS]
        return f"{self.titles[number]} {' '.join(around)}"

    def index(self, shows: str, *, stems: bool) -> "_Index":
        """Return the index of the words."""
        if (shows, stems) not in self._indexes:
            self._indexes[shows, stems] = _Index(self.texts(shows), stems=stems)
        return self._indexes[shows, stems]


class _Index:
    def __init__(self, texts: Sequence[str], *, stems: bool) -> None:
        places: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            words = dict.fromkeys(tokens(text))
            for word in dict.fromkeys(stem(list(words), "en")) if stems else words:
                places.setdefault(word, []).append(number)
        self.words = sorted(places)
        self.places = {word: np.array(where) for word, where in places.items()}
        self.lengths = np.array([len(text) for text in texts])
        self._joined = "\n".join(self.words)
        self._starts = np.cumsum([0, *(len(word) + 1 for word in self.words)])

    def with_prefix(self, prefix: str) -> list[str]:
        start = bisect_left(self.words, prefix)
        return self.words[start : bisect_left(self.words, prefix + "\U0010ffff")]

    @lru_cache(maxsize=20_000)  # noqa: B019 # an index is kept as long as its collection
    def with_part(self, part: str) -> list[str]:
        found, at = [], self._joined.find(part)
        while at >= 0:
            number = int(np.searchsorted(self._starts, at, "right")) - 1
            found.append(self.words[number])
            at = self._joined.find(part, int(self._starts[number + 1]))
        return found


@dataclass
class SimulatedSource:
    """Source that answers queries according to a setting, page by page, and counts the requests."""

    collection: Collection
    setting: Setting
    seed: int = 0
    requests: int = 0
    _rng: np.random.Generator = field(init=False)
    _answered: dict[tuple[str, str, int], AnswerPage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng([self.seed, 1])
        self.page_size = max(self.setting.page, self.setting.offered)
        self.requests += bool(self.setting.offered)
        searched = {"everything": "all", "shown": self.setting.shows, "title": "title"}[self.setting.searches]
        self._index = self.collection.index(searched, stems=self.setting.match == "stem")
        self._records = self.collection.records(self.setting.shows, self.setting.numbers)
        self.matches = lru_cache(maxsize=512)(self._matches)
        self.list_totals: dict[str, int] = {}
        self.lists = dict(self._lists())
        self.families = self._families()
        number = len(self.collection)
        in_sitemap = self.collection.in_sitemap < self.setting.sitemap * number
        self.sitemap = {self._records[i].key: int(i) for i in np.flatnonzero(in_sitemap)}

    def _lists(self) -> Iterator[tuple[str, Numbers]]:
        """Yield the address and the records of each list."""
        setting, collection = self.setting, self.collection
        newest_first = np.argsort(collection.ranks["date"], kind="stable")
        number, categories = len(collection), collection.facets["category"]
        for name, in_lists in (("list", collection.in_lists), ("groups", collection.in_lists[::-1])):
            place = collection.ranks["date"] if setting.listed_by == "date" else in_lists
            ordered = newest_first[:: -1 if setting.order == "number" else 1]
            listed = ordered[place[ordered] < setting.listed * number]
            if name == "list" and setting.lists in ("one", "both"):
                self.list_totals[name] = len(listed) if setting.list_totals == "own" else number
                yield name, listed[: len(listed) // 3] if setting.breaks else listed
            for category in np.unique(categories) if name == "groups" and setting.lists in ("groups", "both") else ():
                if len(group := listed[categories[listed] == category]):
                    address = f"list category={category}"
                    number_of_category = int((categories == category).sum())
                    self.list_totals[address] = len(group) if setting.list_totals == "own" else number_of_category
                    yield address, group

    def _families(self) -> list[list[str]]:
        """Return the addresses of the lists that links lead to, siblings together."""
        groups = [address for address in self.lists if "=" in address]
        shown = groups[: max(1, len(groups) - self.setting.hidden_groups)] if groups else []
        return [family for family in (["list"] if "list" in self.lists else [], shown) if family]

    def open_list(self, address: str, page: int) -> AnswerPage | None:
        """Return a page of a list, or the page of a record that the sitemap names; None if the request fails."""
        self.requests += 1
        if self._rng.random() < self.setting.failures:
            return None
        if address in self.sitemap:
            record = self._records[self.sitemap[address]]
            return AnswerPage(records=[record], wanted=[record])
        listed, at = self.lists[address], self.page_size * (page - 1)
        records = [self._records[i] for i in listed[at : at + self.page_size]]
        has_totals = self.setting.list_totals != "none" and records
        totals = StatedTotals(total=self.list_totals[address]) if has_totals else StatedTotals()
        return AnswerPage(records=records, wanted=records, totals=totals, has_next=at + self.page_size < len(listed))

    @cached_property
    def topic(self) -> str:
        """Return the word in about a tenth of the records, the topic of a harvest with `--about`; empty if there is none."""
        wanted = TOPIC_SHARE * len(self.collection)
        words = [word for word in self._index.words if word.isalpha() and len(word) > 3]
        nearest = sorted(words, key=lambda word: (abs(len(self._index.places[word]) - wanted), word))
        found = ((word, self.matches(word, "")) for word in nearest)
        return next((word for word, matches in found if matches is not None and len(matches) >= MIN_ABOUT), "")

    @property
    def size(self) -> int:
        """Return the number of records that a harvest wants."""
        found = self.matches(self.topic, "") if self.setting.about and self.topic else None
        return len(self.collection) if found is None else len(found)

    def _wanted(self, records: Sequence[Record], query: str) -> Sequence[Record]:
        """Return the records that a harvest keeps: with a topic, those whose text shows it, or all that its own query returned."""
        if not self.setting.about or not self.topic or query == self.topic:
            return records
        return [record for record in records if self.topic in query_words(record.text)]

    def ask(self, query: str, link: str, page: int) -> AnswerPage | None:
        """Return a page of the answer to a query, or to its facet or sort order (`link`); None if the request fails."""
        setting = self.setting
        if (query, link, page) in self._answered:  # a harvest does not repeat requests
            return self._answered[query, link, page]
        self.requests += 1
        if self._rng.random() < setting.failures:
            return None
        matches = self.matches(query, link)
        if matches is None:
            return self._answered.setdefault((query, link, page), AnswerPage())
        shown = matches[: setting.cap or None]
        at = self.page_size * (page - 1)
        some = shown[at : at + self.page_size]
        if setting.duplicates and len(some):
            again = self._rng.random(len(some)) < setting.duplicates
            some = np.where(again, some[0], some)
        records = [self._records[i] for i in some]
        if setting.shows == "excerpt":
            words = tokens(query)
            texts = [self.collection.excerpt(int(i), words) for i in some]
            records = [replace(record, text=text) for record, text in zip(records, texts, strict=True)]
        has_next = setting.pager and at + self.page_size < len(shown)
        links = self._links(query, link, matches) if page == 1 or not has_next else ()
        totals = self._totals(query, link, len(matches)) if records else StatedTotals()
        wanted = self._wanted(records, query)
        answer = AnswerPage(records=records, wanted=wanted, totals=totals, has_next=has_next, links=lambda: links)
        self._answered[query, link, page] = answer
        return answer

    @property
    def words(self) -> list[str]:
        """Return all words that have matches."""
        return self._index.words

    def places(self, word: str) -> Numbers:
        """Return the records that contain a word."""
        return self._index.places.get(word, np.zeros(0, dtype=np.int64))

    def reachable(self, query: str) -> Numbers:
        """Return the matches of a query up to the result cap, in sort order."""
        matches = self.matches(query, "")
        most = self.setting.cap if self.setting.pager else min(self.setting.cap or self.page_size, self.page_size)
        return np.zeros(0, dtype=np.int64) if matches is None else matches[: most or None]

    def _matches(self, query: str, link: str) -> Numbers | None:
        """Return all matches in sort order; None if the source answers with an error."""
        has_values = bool(link) and self.setting.form == "filters"
        found = np.arange(len(self.collection)) if has_values else self._found(query)
        if found is None:
            return None
        order = self.setting.order
        for name, _, value in (part.partition("=") for part in link.split("&") if part):
            if name == "order":
                order = value  # type: ignore[assignment] # one of ORDERS
            elif name in ("from", "to"):
                years = self.collection.facets["year"][found]
                found = found[years >= int(value) if name == "from" else years <= int(value)]
            else:
                found = found[self.collection.facets[name][found] == int(value)]
        if order == "relevance":
            # short records first, with noise that depends on the query, like scores of words
            accident = _hash(query) % 1009
            scores = self._index.lengths[found] * (0.5 + ((found * 7919 + accident) % 1013) / 1013)
            return found[np.argsort(scores, kind="stable")]
        if order == "rank":
            noise = 0.5 + ((found * 7919 + _hash(query) % 1009) % 1013) / 1013
            return found[np.argsort(-self.collection.prominence[found] * noise, kind="stable")]
        return found[np.argsort(self.collection.ranks[order][found], kind="stable")]

    def _found(self, query: str) -> Numbers | None:
        setting, everything = self.setting, np.arange(len(self.collection))
        if query.strip() in ("*", "%"):
            return {"all": everything, "none": everything[:0], "error": None}[setting.star]
        without = [word[1:] for word in query.split() if word.startswith("-") and len(word) > 1]
        words = tokens(" ".join(word for word in query.split() if not word.startswith("-") and word != "AND"))
        words = [w for w in words if not (setting.stops and w in stop_words_of("en"))]
        if not words:
            return {"all": everything, "none": everything[:0], "error": None}[setting.nothing]
        sets = [self._with(word) for word in words]
        if setting.match == "any":
            return np.unique(np.concatenate(sets))
        found = sets[0]
        for other in sets[1:]:
            found = np.intersect1d(found, other, assume_unique=True)
        for word in without:
            found = np.setdiff1d(found, self._with(word), assume_unique=True)
        return found

    def _with(self, word: str) -> Numbers:
        index, match = self._index, self.setting.match
        none = np.zeros(0, dtype=np.int64)
        if len(word) < self.setting.min_letters:
            return none
        if match in ("prefix", "part"):
            words = index.with_prefix(word) if match == "prefix" else index.with_part(word)
            return np.unique(np.concatenate([none, *(index.places[w] for w in words)]))
        return index.places.get(stem([word], "en")[0] if match == "stem" else word, none)

    def _totals(self, query: str, link: str, number: int) -> StatedTotals:
        kind = self.setting.totals
        accident = (_hash(f"{query} {link}") % 1000) / 1000
        if kind == "none":
            return StatedTotals()
        if kind == "about":
            return StatedTotals(total=max(1, round(number * (1 + ABOUT * (2 * accident - 1)))), hedge="about")
        if kind == "rounded":
            digits = max(0, len(str(number)) - 2)
            return StatedTotals(total=round(number, -digits), hedge="about" if digits else "")
        if kind == "capped":
            return StatedTotals(total=min(number, self.setting.cap or 1000))
        if kind == "wrong":
            return StatedTotals(total=max(1, round(number * WRONG_FACTOR ** (2 * accident - 1))))
        return StatedTotals(total=number)

    def _links(self, query: str, link: str, matches: Numbers) -> list[SecondLevelLink]:
        setting, links = self.setting, []
        if setting.facets and link.count("=") < 2:
            for name, values in self.collection.facets.items():
                if f"{name}=" in link:
                    continue
                numbers, counts = np.unique(values[matches], return_counts=True)
                for value, count in zip(numbers, counts, strict=True):
                    url = f"{link}&{name}={value}".strip("&")
                    said = int(count) if setting.counts else None
                    links.append(
                        SecondLevelLink(url=url, key=f"{query} {url}", text=f"{name}{value}", count=said, sets=(name,))
                    )
        if setting.orders and "order=" not in link:
            for order in ORDERS:
                if order != setting.order:
                    url = f"{link}&order={order}".strip("&")
                    links.append(
                        SecondLevelLink(url=url, key=f"{query} {url}", relation="other order", sets=("order",))
                    )
        return links


def _hash(text: str) -> int:
    return zlib.crc32(text.encode())

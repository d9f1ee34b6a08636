"""Read the stated totals of an answer, and judge whether the totals of a source are reliable.

    total        stated number of matches; it may be hedged: "about" or "at least"
    range        positions of the first and last match on the page ("11 - 20"); its length is the page size
    result cap   stated number of matches that can be seen, if it is smaller than the total

The total is chosen among the numbers outside the records, and the numbers of headers, by a fitted judgement (`judge/weights/total.json`,
`python -m benchmarks.fit total`). Its features are the words around a number (`lexicon`), the names of its element, how it fits the records,
the pager and the ranges of the page, and its place. The weights are fitted on copies of pages without words too, so that a number with an
unknown noun is recognised if it fits.
"""

import re
from array import array
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import islice
from typing import Literal
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from upwell.answers.pager import Pager
from upwell.judge.judgement import load_judgement
from upwell.lazy import late_pattern
from upwell.lexicon.argument_names import PAGE, undecorated
from upwell.lexicon.vocabulary import alternatives, whole_words, word_starts, words
from upwell.page.path_signatures import BROKEN
from upwell.page.tree import TagTree
from upwell.urls.arguments import parse_arguments

__all__ = [
    "FEATURES",
    "StatedTotals",
    "TotalCandidates",
    "TotalsTrust",
    "judge_totals",
    "numbered_lines",
    "ranges_in",
    "read_totals",
    "stated_matches",
]

# Numbers and ranges of numbers: "1 – 10".

# Whole number of at most fifteen digits, with or without thousands separators ("1,234", "1 234", "12,34,567"); not part of a decimal or
# a percentage.
NUMBER = r"(?:\d{1,3}(?:[.,'’٬\u00a0\u2009\u202f ]\d{3}){1,4}|\d{1,3}(?:,\d{2}){0,5},\d{3}|\d{1,15})(?![\d%]|[.,]\d)"
DIGITS = late_pattern(r"\d+")


@cache
def _range_to() -> str:
    """Return the pattern between the first and last number of a range."""
    return rf"\s*+(?:[-–—−~～〜]|\.{{2,3}}|…|{alternatives('range_to')})\s*+"


@cache
def _range() -> str:
    return rf"(?P<first>{NUMBER}){_range_to()}(?P<last>{NUMBER})"


# Range that is not a date, a time or part of a longer sequence of numbers.
LONE_RANGE = late_pattern(lambda: rf"(?<![\d.,/:-]){_range()}(?!{_range_to()}\d)", re.I)


def numbered_lines(text: str, max_chars: int) -> list[str]:
    """Return the lines of a text that contain a digit and have at most `max_chars` characters.

    >>> numbered_lines("Results\\n1 of 3\\n2024 was a long year", 10)
    ['1 of 3']
    """
    return [line for line in text.split("\n") if len(line) <= max_chars and DIGITS.search(line)]


def ranges_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield first and last number of each range in a text.

    >>> list(ranges_in("Results 1.001 – 1.010 of 2.345; 11 to 20; 2024-05-31"))
    [(1001, 1010), (11, 20)]
    """
    at = 0
    for digits in DIGITS.finditer(text):  # faster than searching the pattern at every character
        if digits.start() >= at and (match := LONE_RANGE.match(text, digits.start())) is not None:
            yield _parse_number(match["first"]), _parse_number(match["last"])
            at = match.end()


def _parse_number(text: str) -> int:
    """Parse a whole number with or without thousands separators.

    >>> _parse_number("1.234"), _parse_number("12,34,567")
    (1234, 1234567)
    """
    return int(text if text.isdecimal() else re.sub(r"\D", "", text))


# Number of matches of a link: the 120 of "Maps (120)".

MIN_YEAR, MAX_YEAR = 1500, 2100  # numbers in brackets that may be years
MAX_ALIKE_LINKS = 50  # links at the same place that are compared; links of one list differ early
COUNT_AFTER_LINK = re.compile(r"\s*(?:[(\[]\s*(\d[\d.,]{0,17})\s*[)\]]|(\d[\d.,]{0,17})\s*$)")
COUNT_IN_LINK = re.compile(r"\S\s*[(\[](\d[\d.,]{0,17})[)\]]\s*$")


def stated_matches(tree: TagTree, row: int) -> int | None:
    """Return the number of matches that a page states for a link: directly after it, or in brackets at the end of its text.

    >>> from upwell.page.tree import read
    >>> tree = read("<li><a href=/a>Maps</a> (120)<li><a href=/b>Books [1,600]</a><li><a href=/c>Discs</a>")
    >>> [stated_matches(tree, int(row)) for row in tree.rows("a")]
    [120, 1600, None]
    >>> tree = read("<li><a href=/a>Red (2015)</a><li><a href=/b>Blue (1999)</a>")
    >>> [stated_matches(tree, int(row)) for row in tree.rows("a")]
    [None, None]
    """
    count = _count_of(tree, row)
    if count is not None and count.isdigit() and MIN_YEAR <= int(count) <= MAX_YEAR:
        alike = tree.rows_with_signatures([tree.signature_of[row]]).tolist()[:MAX_ALIKE_LINKS]
        counts = [other for link in alike if (other := _count_of(tree, link)) is not None]
        if all(other.isdigit() and MIN_YEAR <= int(other) <= MAX_YEAR for other in counts):
            return None  # "Title (2015)": years, unless another link at the same place has a number that is none
    return _parse_number(count) if count is not None else None


def _count_of(tree: TagTree, row: int) -> str | None:
    count = COUNT_AFTER_LINK.match(_text_after(tree, row)) or COUNT_IN_LINK.search(tree.text(row))
    return count[count.lastindex or 1] if count else None


def _text_after(tree: TagTree, row: int) -> str:
    """Return the text directly after a link, if it is in the parent of the link and not part of another link."""
    after = int(tree.text_end[row])
    if after >= len(tree.chunks):
        return ""
    text_row, parent = int(tree.chunk_row[after]), int(tree.parent[row])
    if not parent <= text_row < int(tree.end[parent]):
        return ""
    is_link = {"a", "option"} & {tree.name(i) for i in (text_row, *tree.ancestors(text_row))}
    return "" if is_link else tree.chunks[after]


# Candidates for the total: the whole numbers outside the records, and those of headers.

WHOLE_NUMBER = late_pattern(rf"(?<![\d,:/#])(?<!(?<!\.)\.){NUMBER}")
LETTER = late_pattern(r"[^\W\d_]")
NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
CONTENT_RANGE = re.compile(r"\s{0,4}+(?!bytes)\w++\s++[\d*]++(?:-\d++)?+/(\d{1,15})\s{0,4}+", re.I)
MAX_LINE_CHARS = 240  # a longer line is running text and does not state a total
MAX_AROUND_CHARS = 40  # before and after a number in which words are searched
MAX_SHORT_LINE = 60  # characters of a line that states little more than a number
MAX_LONG_NUMBERS = 3  # numbers of a line with a range and a total; a line with more is a date, a pager or data
MAX_CANDIDATES = 400  # safety limit: a page with more numbers outside its records has records that were not read
# Safety limit: lines with numbers at the beginning of a page, and at its end, that are read; those between are in a list of thousands.
MAX_NUMBERED_LINES = 10_000
MAX_PARTS = 10_000  # lines that are joined at once
MAX_CACHED_LINES = 10_000  # safety limit: lines whose numbers are cached: most lines of an answer occur on others too
MAX_LENGTH_RATIO = 2.0  # of a range to the list of records, or vice versa: some records may be misread; not swept
MAX_RANGE_LENGTH = 10_000  # matches on one page
MIN_RECORDS = 2  # records on the page; a smaller number agrees with other numbers by chance
MAX_LINES_ABOVE = 15  # lines with numbers between a count and the first record, if it is said to be directly above
MAX_RANGE_SIGNS = 12  # between the two numbers of a range: "1 through 10"
MAX_RANGE_DISTANCE = 30  # between a range and its total: "1 - 10 (of about 345"
FIELD_PARTS = 3  # words at the end of the name of a field that are read
NAMED_ROWS = 3  # elements around a number whose classes, ids and field names are read
MAX_SEARCHED_CHARS = 100_000  # safety limit: text of records in which a part of a text is searched

FEATURES = (
    "constant",
    # words around the number, in any language of the lexicon
    "noun_after",  # "34 results", "34 relevant results", "34件"
    "found_before",  # "found 34", "Results (34"
    "found_in_line",
    "result_in_line",
    "showing_in_line",
    "out_of_before",  # "1 - 10 of 34"
    "other_in_line",  # "34 per page", "next 34"
    "page_before",  # "page 1 of 34"
    "cap_before",  # "only the first 34"
    "seconds_after",  # "in 34 seconds"
    "out_of_after",  # "34 of 500 documents"
    "of_all",  # "found 34 of 500": the 500
    "noun_and_found",
    # names of the element: class, id, field of JSON, header
    "name_total",
    "name_matching",  # of results, records, items
    "name_other",  # page, limit, time, …
    "field_total",  # the name of a field of data or of a header ends like a total
    "field_matching",
    "field_found",
    "field_other",
    "field_of_pages",  # "totalPages", "pageCount"
    "field",
    "field_equal",  # a field with the number of records: the total, or the page size
    "field_below_field",  # a field with the number of records, if another one that is named as a total is greater
    "field_and_pages",  # another field has the number of pages that so many matches need
    "field_counts_pages",  # a field with the number of pages that another field needs
    "badge",  # a number without other text
    "in_frame",  # in a text that most answers contain, whatever the query
    # shape
    "no_letters",
    "only_number",
    "begins_line",
    "ends_line",
    "short_line",
    "many_numbers",
    "year",
    "money",
    "date_or_code",  # next to a letter, a dash or a decimal
    "query_in_line",
    # fit with the records, ranges and pager
    "records_unknown",
    "after_range",  # after a range as long as the list
    "before_range",
    "after_loose_range",  # a range of about its length
    "range_elsewhere",  # another line has a range as long as the list that ends before the number
    "part_of_range",
    "below_records",  # fewer than the records that were read, of which some may be misread
    "equal_without_next",
    "equal_with_next",
    "above_with_next",
    "above_without_next",
    "above_on_later_page",
    "pager_agrees",  # as many pages of this length as the pager has
    "pager_contradicts",
    # place
    "far_steps",  # elements up to the one that contains the number and the records
    "near_above",
    "inside_list",
    "below_list",
    "in_heading",
    "in_link",
    "in_control",
    "alike",  # numbers at the same place of the template: facets, cells
    "lone_above_with_next",  # the only number of a short line above the list, greater than the list, and there is a next page
)
# Features of words that say nothing in a line that is about other numbers: "10 results per page".
SAY_TOTAL = ("noun_after", "found_before", "found_in_line", "result_in_line", "showing_in_line")
_AT = {name: at for at, name in enumerate(FEATURES)}

NOUN_AFTER = late_pattern(lambda: rf"\s{{0,4}}+(?:{_match_nouns()}|(?:{alternatives('match_counters')}))", re.I)
FOUND_BEFORE = late_pattern(
    lambda: rf"(?<!\w)(?:{alternatives('found')})\s*+(?:(?:[:：(]|is|are|only|out of|of)\s*+)?{_hedge_words()}\Z",
    re.I,
)
FOUND_IN_LINE = late_pattern(lambda: whole_words("found"), re.I)
RESULT_IN_LINE = late_pattern(lambda: rf"\b(?:{alternatives('found')})|{word_starts('result_words')}", re.I)
SHOWING_IN_LINE = late_pattern(lambda: rf"{word_starts('showing')}|{word_starts('limited')}", re.I)
OUT_OF_BEFORE = late_pattern(
    lambda: (
        rf"(?:{alternatives('out_of')})\W{{0,3}}(?:(?:(?:a )?total(?: of)?|the)\s*+)?{_hedge_words()}(?:total\s*+)?\Z"
    ),
    re.I,
)
OF_ALL = late_pattern(
    lambda: rf"(?:{alternatives('found')})\W{{0,3}}\d[\d.,]{{0,18}}\s*+(?:{whole_words('out_of')})\W{{0,3}}\Z", re.I
)
OUT_OF_AFTER = late_pattern(lambda: rf"\s{{0,4}}+(?:{whole_words('out_of')})\W{{0,3}}\d", re.I)
HEDGE_BEFORE = late_pattern(
    lambda: rf"(?P<hedge>{alternatives('about')}|{alternatives('at_least')})\s*+(?:(?:total|a total of)\s*+)?\Z", re.I
)
PAGE_BEFORE = late_pattern(lambda: rf"{word_starts('page_words')}\W{{0,3}}(?:\d{{1,6}}\D{{1,8}})?\Z", re.I)
CAP_BEFORE = late_pattern(lambda: rf"(?:{alternatives('result_cap')})\s{{0,4}}+\Z", re.I)
SECONDS_AFTER = late_pattern(lambda: rf"\s{{0,4}}+(?:[a-z]\s{{0,4}}+)?(?:{alternatives('seconds')})(?!\w)", re.I)
MONEY_BEFORE = re.compile(r"(?:[$€£¥₹₽₩]|\b(?:USD|EUR|GBP|CHF|CDN))\s{0,4}+\Z")
MONEY_AFTER = re.compile(r"\s{0,4}+(?:[$€£¥₹₽₩]|(?:USD|EUR|GBP|CHF)\b)")
ATTACHED_BEFORE = re.compile(r"[^\W_]\Z|[\w)][-–+*=_@.]\Z")
ATTACHED_AFTER = re.compile(
    r"[-–/:_@=]\w|[^\W\d_]{1,2}(?!\w)"
)  # "3-4", "12kb"; a noun of a language without spaces is longer
UNSPACED_BEFORE = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]\Z")
UNSPACED_AFTER = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]")


class _NumberInLine:
    """A whole number of a line, and what the words and signs around it say."""

    __slots__ = ("end", "hedge", "start", "text_features", "value")

    def __init__(self, value: int, start: int, end: int, hedge: "Hedge", text_features: tuple[str, ...]) -> None:
        self.value, self.start, self.end = value, start, end
        self.hedge, self.text_features = hedge, text_features


@lru_cache(maxsize=MAX_CACHED_LINES)
def _numbers_in(line: str) -> tuple[_NumberInLine, ...]:
    """Return the whole numbers of a line with the features that depend on nothing else."""
    matches = list(WHOLE_NUMBER.finditer(line))
    if not matches:
        return ()
    of_line = [
        name
        for name, pattern in (
            ("found_in_line", FOUND_IN_LINE),
            ("result_in_line", RESULT_IN_LINE),
            ("showing_in_line", SHOWING_IN_LINE),
            ("other_in_line", OTHER_NUMBERS),
        )
        if pattern.search(line)
    ]
    of_line += [] if LETTER.search(line) else ["no_letters"]
    of_line += ["only_number"] if len(matches) == 1 else []
    of_line += ["short_line"] if len(line) <= MAX_SHORT_LINE else []
    of_line += ["many_numbers"] if len(matches) > MAX_LONG_NUMBERS else []
    numbers = []
    for match in matches:
        before, after = line[max(0, match.start() - MAX_AROUND_CHARS) : match.start()], line[match.end() :]
        after = after[:MAX_AROUND_CHARS]
        value, features = _parse_number(match[0]), list(of_line)
        hedge = HEDGE_BEFORE.search(before)
        is_least = after.startswith("+") or (hedge is not None and AT_LEAST.fullmatch(hedge["hedge"]) is not None)
        features += [
            name
            for name, pattern, text in (
                ("found_before", FOUND_BEFORE, before),
                ("out_of_before", OUT_OF_BEFORE, before),
                ("of_all", OF_ALL, before),
                ("page_before", PAGE_BEFORE, before),
                ("cap_before", CAP_BEFORE, before),
                ("money", MONEY_BEFORE, before),
            )
            if pattern.search(text)
        ]
        features += [
            name
            for name, pattern in (
                ("noun_after", NOUN_AFTER),
                ("seconds_after", SECONDS_AFTER),
                ("out_of_after", OUT_OF_AFTER),
                ("money", MONEY_AFTER),
            )
            if pattern.match(after)
        ]
        if "other_in_line" in features:
            features = [name for name in features if name not in SAY_TOTAL]
        elif "page_before" in features and "out_of_before" in features:
            features.remove("out_of_before")
        if "noun_after" in features and "found_in_line" in features:
            features.append("noun_and_found")
        if not LETTER.search(before) and not before.strip(" ([-–•:·"):
            features.append("begins_line")
        if not after.strip(" )].:·"):
            features.append("ends_line")
        if match[0].isdigit() and 1900 < value < 2100:
            features.append("year")
        if len(match[0]) > 1 and match[0][0] == "0":
            features.append("date_or_code")
        if (ATTACHED_BEFORE.search(before) and not UNSPACED_BEFORE.search(before)) or (
            ATTACHED_AFTER.match(after) and not UNSPACED_AFTER.match(after)
        ):
            features.append("date_or_code")
        numbers.append(
            _NumberInLine(
                value,
                match.start(),
                match.end(),
                "at least" if is_least else "about" if hedge else "",
                tuple(dict.fromkeys(features)),
            )
        )
    return tuple(numbers)


@dataclass(frozen=True, slots=True)
class _Line:
    """Line of a page that contains a number."""

    text: str
    at: int  # number of the line among those with a number
    start: int  # of its text in the text of the page
    chunk: int  # its first chunk
    header: str = ""  # name of the header that it is the value of


class TotalCandidates:
    """Numbers of a page that may be its total, compared by the fitted judgement.

    `record_texts` are the texts of its records, `headers` those of the response, `frame` the texts that most answers of the source contain.
    """

    def __init__(
        self,
        tree: TagTree,
        record_texts: Sequence[str] = (),
        query: str = "",
        headers: Mapping[str, str] | None = None,
        frame: Collection[str] = (),
    ) -> None:
        self.frame = frame
        self.tree, self.query = tree, query
        self.texts = record_texts
        self.records = len({text or at for at, text in enumerate(record_texts)})  # two blocks may show the same match
        self.headers = headers or {}
        self.lines, page_text = _lines_with_numbers(tree)
        self._inside(page_text)
        self.outside = [line for line in self.lines if not self.is_inside[line.at] and not self._is_fixed(line)]
        all_numbers = ((line, number) for line in self.outside for number in _numbers_in(line.text))
        numbers = list(islice(all_numbers, MAX_CANDIDATES))
        for line in self._header_lines():
            numbers += [(line, number) for number in _numbers_in(line.text)]
        self.found = [
            (line, number)
            for line, number in numbers
            if number.value >= self.records or _range_before(line, number, self.records)
        ]

    def _inside(self, page_text: str) -> None:
        """Find out which lines are parts of records."""
        spans: list[tuple[int, int]] = []
        at = 0
        for text in self.texts:
            plain = " ".join(text.split())
            start = page_text.find(plain, at) if plain else -1
            if start >= 0:
                at = start + len(plain)
                spans.append((start, at))
        starts = [start for start, _ in spans]
        self.is_inside: list[bool] = []
        unsure: dict[str, list[int]] = {}  # the numbers of lines with a text that may be part of a record
        for line in self.lines:
            span = bisect_right(starts, line.start) - 1
            inside = span >= 0 and line.start < spans[span][1]
            if not inside and self.texts and (not spans or LETTER.search(line.text)):
                unsure.setdefault(line.text, []).append(line.at)
            self.is_inside.append(inside)
        if unsure:
            searched = "\n".join(self.texts[:MAX_SEARCHED_CHARS])[:MAX_SEARCHED_CHARS]
            known = unsure.keys() & {text for text in self.texts if text in unsure}
            known |= {word for text in self.texts for word in text.split() if word in unsure}
            for text, numbers in unsure.items():
                if text in known or text in searched:
                    for at in numbers:
                        self.is_inside[at] = True
        first = next((line for line in self.lines if self.is_inside[line.at]), None)
        last = next((line for line in reversed(self.lines) if self.is_inside[line.at]), None)
        self.first = first.at if first else None
        self.last = last.at if last else None
        self.list_rows = [int(self.tree.chunk_row[line.chunk]) for line in (first, last) if line] if first else []

    def _header_lines(self) -> Iterator[_Line]:
        """Yield the headers that are named as totals, and the size in Content-Range, as lines "name: number"."""
        for name, value in self.headers.items():
            if name.lower() == "content-range" and (match := CONTENT_RANGE.fullmatch(value)):
                yield _Line(match[1], -1, -1, -1, "x-total-count")
            elif value.strip().isdigit() and {"field_total", "field_matching", "field_found"} & {
                *_field_features(name)
            }:
                yield _Line(value.strip(), -1, -1, -1, name)

    @cached_property
    def pager(self) -> Pager:
        return Pager(self.tree, self.query)

    @cached_property
    def features(self) -> NDArray[np.float64]:
        """Features of the candidates: one row per candidate, columns as `FEATURES`."""
        x = np.zeros((len(self.found), len(FEATURES)))
        if not self.found:
            return x
        tree, records = self.tree, self.records
        has_next = next(self.pager.further_links(), None) is not None
        last_page = self.pager.last_number
        ranges = [pair for line in self.outside for pair in ranges_in(line.text)]
        exact = [
            (first, last) for first, last in ranges if first and last - first + 1 == records and records >= MIN_RECORDS
        ]
        is_later = any(first > 1 for first, _ in exact) or _is_later_page(tree.url)
        sizes = {records} | {last - first + 1 for first, last in exact}
        rows = [self._row(line, number) for line, number in self.found]
        alike = Counter(tree.signature_of[row] for row in rows if row >= 0)
        query = " ".join(self.query.lower().split())
        place_of_row: dict[int, list[tuple[str, float]]] = {}
        fields: dict[int, int] = {}
        for at, ((line, number), row) in enumerate(zip(self.found, rows, strict=True)):
            value = number.value
            values: list[tuple[str, float]] = [("constant", 1.0), *((name, 1.0) for name in number.text_features)]
            if row < 0:
                values += [(name, 1.0) for name in _field_features(line.header)]
            elif (field := tree.attr(row, "itemprop")) and "no_letters" in number.text_features:
                values += [(name, 1.0) for name in _field_features(field)]
            else:
                if row not in place_of_row:
                    place_of_row[row] = self._place(row, alike[tree.signature_of[row]])
                values += place_of_row[row]
                if "no_letters" in number.text_features:
                    values.append(("badge", 1.0))
            if self._is_in_frame(line, number):
                values.append(("in_frame", 1.0))
            names = {name for name, _ in values}
            if "field" in names and value == records:
                values.append(("field_equal", 1.0))
            if "field" in names and "field_of_pages" not in names:
                fields[at] = value
            if query and query in line.text.lower():
                values.append(("query_in_line", 1.0))
            values += self._fit(line, number, has_next, is_later, last_page, sizes, exact)
            if self.first is not None and line.at >= 0:
                if self.last is not None and self.first < line.at < self.last:
                    values.append(("inside_list", 1.0))
                elif line.at > self.first:
                    values.append(("below_list", 1.0))
                elif self.first - line.at <= MAX_LINES_ABOVE:
                    values.append(("near_above", 1.0))
            names = {name for name, _ in values}
            is_lone = {"only_number", "short_line"} <= names and not names & {
                "no_letters", "in_link", "in_control", "date_or_code", "money"
            }  # fmt: skip
            if is_lone and {"near_above", "above_with_next"} <= names and "year" not in names:
                values.append(("lone_above_with_next", 1.0))
            for name, amount in values:
                x[at, _AT[name]] = amount
        self._compare_fields(x, fields)
        return x

    def _compare_fields(self, x: NDArray[np.float64], fields: Mapping[int, int]) -> None:
        """Set the features of fields that depend on other fields; `fields` are their values by candidate."""
        records = self.records
        named = [
            at
            for at in fields
            if x[at, [_AT["field_total"], _AT["field_matching"], _AT["field_found"]]].any()
            and not x[at, _AT["field_other"]]
        ]
        above = {fields[at] for at in named if fields[at] > records}
        for at, value in fields.items():
            if value == records and any(x[other, _AT["field_total"]] and fields[other] > records for other in named):
                x[at, _AT["field_below_field"]] = 1.0
            if records >= MIN_RECORDS:
                needed = {-(-value // records)} - {0, 1}
                if needed & set(fields.values()):
                    x[at, _AT["field_and_pages"]] = 1.0
                if value > 1 and any(-(-other // records) == value for other in above):
                    x[at, _AT["field_counts_pages"]] = 1.0

    def _row(self, line: _Line, number: _NumberInLine) -> int:
        """Return the row of the element that contains a number; -1 for a header."""
        if line.chunk < 0:
            return -1
        written, chunks = line.text[number.start : number.end], self.tree.chunks
        at = line.chunk
        for at in range(line.chunk, min(line.chunk + MAX_AROUND_CHARS, len(chunks))):
            if written in chunks[at]:
                return int(self.tree.chunk_row[at])
        return int(self.tree.chunk_row[line.chunk])

    def _is_fixed(self, line: _Line) -> bool:
        """Return True if most answers contain a line, whatever the query; a number alone may be the same by chance."""
        return line.text in self.frame and LETTER.search(line.text) is not None

    def _is_in_frame(self, line: _Line, number: _NumberInLine) -> bool:
        """Return True if most answers contain the text with a number."""
        written, chunks = line.text[number.start : number.end], self.tree.chunks
        texts = chunks[line.chunk : line.chunk + MAX_AROUND_CHARS] if line.chunk >= 0 else ()
        text = next((text for text in texts if written in text), "")
        return text in self.frame

    def _place(self, row: int, alike: int) -> list[tuple[str, float]]:
        """Return the features of the element that contains a number."""
        tree, values = self.tree, [("alike", float(np.log2(alike)))]
        names: set[str] = set()
        for steps, above in enumerate((row, *tree.ancestors(row))):
            tag = tree.name(above)
            if steps < NAMED_ROWS and tag not in ("body", "html"):
                names |= _name_features(f"{tree.classes[tree.cls[above]]} {tree.attr(above, 'id') or ''}")
            if tag == "a":
                values.append(("in_link", 1.0))
            elif tag in ("option", "button", "label", "select"):
                values.append(("in_control", 1.0))
            elif len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
                values.append(("in_heading", 1.0))
        if self.list_rows:
            end = tree.end_of
            steps = next(
                (
                    steps
                    for steps, above in enumerate((row, *tree.ancestors(row)))
                    if all(above <= inside < end[above] for inside in self.list_rows)
                ),
                0,
            )
            values.append(("far_steps", float(np.log2(1 + steps))))
        return [*values, *((name, 1.0) for name in names)]

    def _fit(
        self, line: _Line, number: _NumberInLine, has_next: bool, is_later: bool, last_page: int, sizes: Set[int],
        exact: Sequence[tuple[int, int]],
    ) -> Iterator[tuple[str, float]]:  # fmt: skip
        """Yield how a number fits the records, the ranges and the pager of the page."""
        records, value = self.records, number.value
        if (span := _range_before(line, number, records)) is not None:
            yield ("after_range" if _length(span) == records else "after_loose_range"), 1.0
        elif (span := _range_after(line, number, records)) is not None and _length(span) == records:
            yield "before_range", 1.0
        if any(value in (first, last) for first, last in ranges_in(line.text)):
            yield "part_of_range", 1.0
        if any(last <= value for _, last in exact):
            yield "range_elsewhere", 1.0
        if records < MIN_RECORDS:
            yield "records_unknown", 1.0
        elif value < records:
            yield "below_records", 1.0
        elif value == records:
            yield ("equal_with_next" if has_next else "equal_without_next"), 1.0
        elif has_next:
            yield "above_with_next", 1.0
        else:
            yield ("above_on_later_page" if is_later else "above_without_next"), 1.0
        if last_page > 1 and records >= MIN_RECORDS:
            if any(size * (last_page - 1) < value <= size * last_page for size in sizes):
                yield "pager_agrees", 1.0
            elif all(value <= size * (last_page - 1) for size in sizes):
                yield "pager_contradicts", 1.0

    def hedge(self, line: _Line, number: _NumberInLine) -> "Hedge":
        """Return the hedge of a total, by the words before it or by the fields of data around it.

        A field is hedged by its name ("estimatedTotalHits") or by a relation beside it (`{"value": 10000, "relation": "gte"}`).
        """
        row = self._row(line, number)
        field = (self.tree.attr(row, "itemprop") if row >= 0 else line.header) or ""
        if number.hedge or not field:
            return number.hedge
        if any(ABOUT.fullmatch(part) for part in _name_parts(field)):
            return "about"
        beside = self.tree.children(int(self.tree.parent[row])) if row > 0 else ()
        relations = (
            self.tree.text(other)
            for other in beside
            if _name_parts(self.tree.attr(other, "itemprop") or "")[-1:] == ("relation",)
        )
        return "at least" if any(relation in LOWER_BOUNDS for relation in relations) else ""

    @cached_property
    def evidence(self) -> NDArray[np.float64]:
        """Log odds of each candidate against "the page states no total"."""
        return load_judgement("total").evidence(self.features)

    def best(self) -> tuple[_Line, _NumberInLine] | None:
        """Return the number that is the total, if one is more likely than none."""
        if not self.found:
            return None
        at = int(self.evidence.argmax())
        return self.found[at] if self.evidence[at] >= load_judgement("total").threshold else None


def _length(span: tuple[int, int]) -> int:
    return span[1] - span[0] + 1


def _range_before(line: _Line, number: _NumberInLine, records: int) -> tuple[int, int] | None:
    """Return the two numbers before a number, if they may be the range of the page: "1 to 10" of "1 to 10 of 345", in any language."""
    numbers = _numbers_in(line.text)
    at = [other.start for other in numbers].index(number.start)  # other objects if the cache forgot the line
    return _span(line, numbers[at - 2 : at], number, records) if at >= 2 else None


def _range_after(line: _Line, number: _NumberInLine, records: int) -> tuple[int, int] | None:
    """Return the two numbers after a number, if they may be the range of the page: "1 - 10" of "345: 1 - 10"."""
    numbers = _numbers_in(line.text)
    at = [other.start for other in numbers].index(number.start)  # other objects if the cache forgot the line
    return _span(line, numbers[at + 1 : at + 3], number, records)


def _span(line: _Line, pair: Sequence[_NumberInLine], total: _NumberInLine, records: int) -> tuple[int, int] | None:
    """Return two numbers if they are as far apart as the list is long, or the known signs and words of a range are between them."""
    if len(pair) < 2:
        return None
    first, last = pair[0].value, pair[1].value
    distance = max(total.start - pair[1].end, pair[0].start - total.end)
    is_near = pair[1].start - pair[0].end <= MAX_RANGE_SIGNS and distance <= MAX_RANGE_DISTANCE
    if not is_near or not 0 < first <= last <= total.value or not _may_be_range_of_page(first, last, records):
        return None
    is_range = (records >= MIN_RECORDS and last - first + 1 == records) or (first, last) in ranges_in(line.text)
    return (first, last) if is_range else None


def _lines_with_numbers(tree: TagTree) -> tuple[list[_Line], str]:
    """Return the lines of a page that contain a number, and the text of the page without line breaks, which they refer to."""
    found: list[tuple[str, int, int]] = []  # text, start and number of a line
    last: deque[tuple[str, int, int]] = deque(maxlen=MAX_NUMBERED_LINES)
    parts: list[str] = []
    start = 0
    for at, raw in enumerate(_lines_of(tree.text())):
        plain = " ".join(raw.split())
        if len(plain) <= MAX_LINE_CHARS and DIGITS.search(plain):
            (found if len(found) < MAX_NUMBERED_LINES else last).append((plain, start, at))
        if plain:
            parts.append(plain)
            start += len(plain) + 1
            if len(parts) == MAX_PARTS:
                parts = [" ".join(parts)]
    firsts = _first_chunks(tree)
    lines = [_Line(text, i, start, firsts[at]) for i, (text, start, at) in enumerate((*found, *last))]
    return lines, " ".join(parts)


def _lines_of(text: str) -> Iterator[str]:
    """Yield the lines of a text, without a list of all of them."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _first_chunks(tree: TagTree) -> Sequence[int]:
    """Return the first chunk of each line of the text of a page."""
    firsts = array("i")
    for chunk, (gap, text) in enumerate(zip(memoryview(tree.chunk_gap.data), tree.chunks, strict=True)):
        if gap == BROKEN or chunk == 0:
            firsts.append(chunk)
        for _ in range(text.count("\n")):
            firsts.append(chunk)
    return firsts or [0]


# Word lists of the names of elements (any of the names around a number) and of fields of data (the end of the name).
NAME_FEATURES = {
    "name": {"name_total": "total_names", "name_matching": "matching_names", "name_other": "other_number_names"},
    "field": {
        "field_total": "total_names", "field_found": "found_names", "field_matching": "matching_names", "field_other": "other_number_names",
    },
}  # fmt: skip


@cache
def _count_words() -> frozenset[str]:
    return words("total_names") | words("matching_names") | words("found_names")


@lru_cache(maxsize=MAX_CACHED_LINES)
def _name_parts(names: str) -> tuple[str, ...]:
    """Return the words of names of elements or fields; two known words may be written together.

    >>> _name_parts("searchinfo_totalhits"), _name_parts("numFoundExact"), _name_parts("X-Total-Count")
    (('searchinfo', 'total', 'hits'), ('num', 'found', 'exact'), ('x', 'total', 'count'))
    """
    known = _count_words()
    parts: list[str] = []
    for part in NAME_PART.findall(names):
        word = part.lower()
        cut = next((at for at in range(2, len(word) - 1) if word[:at] in known and word[at:] in known), 0)
        parts += [word[:cut], word[cut:]] if cut and word not in known else [word]
    return tuple(parts)


def _name_features(names: str) -> frozenset[str]:
    """Return what the names of an element say about its number."""
    return _features_of_parts("name", frozenset(_name_parts(names)))


@lru_cache(maxsize=MAX_CACHED_LINES)
def _features_of_parts(kind: str, parts: frozenset[str]) -> frozenset[str]:
    return frozenset(feature for feature, meaning in NAME_FEATURES[kind].items() if parts & words(meaning))


def _field_features(name: str) -> Iterator[str]:
    """Yield what the name of a field says about its number; the end of a name says most.

    >>> sorted(_field_features("hits_total_value")), sorted(_field_features("page_totalElements"))
    (['field', 'field_found', 'field_total'], ['field', 'field_matching', 'field_total'])
    >>> sorted(_field_features("meta_totalPages"))
    ['field', 'field_of_pages', 'field_other', 'field_total']
    """
    parts = _name_parts(name)[-FIELD_PARTS:]
    yield "field"
    if parts[-1:] == ("value",):  # of an object with the number and its relation
        parts = _name_parts(name)[-FIELD_PARTS - 1 : -1]
    features = _features_of_parts("field", frozenset(parts[-2:]))
    if (
        parts and parts[-1] in _count_words() and not (len(parts) > 1 and parts[-2] in words("page_names"))
    ):  # "pagination_total" is a total, "pageCount" is not
        features -= {"field_other"}
    yield from features
    if (
        any(a in words("page_names") for a in parts[-2:])
        and "field_total" in features
        and not features & {"field_matching", "field_found"}
    ):
        yield "field_of_pages"


def _is_later_page(url: str) -> bool:
    """Return True if the page number or offset in a URL is not that of a first page."""
    return any(
        PAGE.fullmatch(undecorated(name)) and value.isdigit() and int(value) > 1
        for name, value in (parse_arguments(urlsplit(url).query) if "?" in url else ())
    )


# Ranges, caps and hedges.

Hedge = Literal["", "about", "at least"]
TotalsTrust = Literal["unknown", "constant", "estimate", "growing", "false"]

ABOUT = late_pattern(lambda: alternatives("about"), re.I)
LOWER_BOUNDS = ("gte", "gt", ">=", ">")  # relations of a stated total to the number of matches
AT_LEAST = late_pattern(lambda: alternatives("at_least"), re.I)


def _hedge_words() -> str:
    return rf"(?:(?P<hedge>{alternatives('about')}|{alternatives('at_least')})\s*+)?"


def _match_nouns() -> str:
    nouns = alternatives("match_nouns")
    return rf"(?:search |matching |total |relevant |unique |\w{{1,20}}+ )?(?:{nouns})(?:\(s\)|\(es\))?(?![\w-])"


CAP = late_pattern(lambda: rf"(?:{alternatives('result_cap')})\s++(?P<cap>{NUMBER})", re.I)
ABOUT_MATCHES = late_pattern(
    lambda: rf"\b(?:{_match_nouns()}|{alternatives('showing')}|(?:{alternatives('found')}))", re.I
)
ABOUT_SHOWING = late_pattern(lambda: alternatives("limited"), re.I)
OTHER_NUMBERS = late_pattern(lambda: alternatives("other_numbers"), re.I)
MIN_CAP = 10  # a smaller number ("top 5") is not a result cap
FALSE_TOTAL_FACTOR = 1.1  # ratio of a false total to the matches received, if the pager was followed to its end


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTotals:
    """Total, range and result cap that a page states; None: not stated."""

    total: int | None = None
    hedge: Hedge = ""  # hedge of the total
    first: int | None = None
    last: int | None = None
    cap: int | None = None

    @property
    def page_size(self) -> int | None:
        """Number of matches on the page, by the stated range."""
        return None if self.first is None or self.last is None else self.last - self.first + 1


def read_totals(
    tree: TagTree,
    record_texts: Sequence[str] = (),
    query: str = "",
    headers: Mapping[str, str] | None = None,
    frame: Collection[str] = (),
) -> StatedTotals:
    """Read total, range and result cap from a page, and from the headers of its response.

    `record_texts` are the texts of the records of the page, if they are known. A total is not smaller than their number, a range is about
    as long as the list, and a number inside a record is part of the record. `query` is the query, if it is known; `frame` are the texts
    that most answers of the source contain, whatever the query: a number in them is no total.

    >>> from upwell.page.tree import read
    >>> read_totals(read("<p>Results <b>11</b> - <b>20</b> of about <b>1.234</b> for cats"))
    StatedTotals(total=1234, hedge='about', first=11, last=20, cap=None)
    """
    candidates = TotalCandidates(tree, record_texts, query, headers, frame)
    lines = [line.text for line in candidates.outside]
    ranges = [pair for line in lines for pair in ranges_in(line) if _may_be_range_of_page(*pair, candidates.records)]
    best = candidates.best()
    if best is None:
        worded = [pair for line in lines for pair in _ranges_of_matches(line) if pair in ranges and pair[0]]
        return StatedTotals(first=worded[0][0], last=worded[0][1]) if worded else StatedTotals()
    line, number = best
    beside = [pair for pair in ranges_in(line.text) if pair in ranges]
    fitting = next(
        (
            pair
            for pair in (*beside, *(p for text in lines for p in _ranges_of_matches(text) if p in ranges))
            if pair[0] > 0 and pair[1] <= number.value
        ),
        (None, None),
    )
    return StatedTotals(
        total=number.value,
        hedge=candidates.hedge(line, number),
        first=fitting[0],
        last=fitting[1],
        cap=_cap(lines, number.value, candidates.records),
    )


def _may_be_range_of_page(first: int, last: int, records: int) -> bool:
    """Return True if two numbers may be the positions of the first and last match on a page with `records` records (0: unknown)."""
    length = last - first + 1
    is_as_long = not records or records / MAX_LENGTH_RATIO <= length <= records * MAX_LENGTH_RATIO
    is_year = 1900 < first < 2100
    return 0 < length <= MAX_RANGE_LENGTH and not is_year and is_as_long


@lru_cache(maxsize=MAX_CACHED_LINES)
def _ranges_of_matches(line: str) -> tuple[tuple[int, int], ...]:
    """Return the ranges of numbers in a line about matches."""
    ranges = tuple(ranges_in(line))
    return ranges if ranges and ABOUT_MATCHES.search(line) and not OTHER_NUMBERS.search(line) else ()


def _cap(lines: Iterable[str], total: int, records: int) -> int | None:
    """Return the stated result cap: smaller than the total, and not smaller than the number of records."""
    caps = (cap for line in lines for cap in _caps_in(line))
    return next((cap for cap in caps if max(MIN_CAP, records) <= cap < total), None)


@lru_cache(maxsize=MAX_CACHED_LINES)
def _caps_in(line: str) -> tuple[int, ...]:
    """Return the numbers of a line that may be result caps."""
    if not ABOUT_SHOWING.search(line):
        return ()
    return tuple(_parse_number(match["cap"]) for match in CAP.finditer(line))


def judge_totals(pages: Sequence[StatedTotals], matches: int = 0, is_complete: bool = False) -> TotalsTrust:
    """Judge the totals stated on the pages of one query, of which `matches` distinct matches were received.

    `is_complete` is True if the pager was followed to its end.

    - unknown: no total is stated
    - constant: the same on every page and not hedged
    - growing: increases with every page, as it counts only the matches found so far
    - estimate: hedged, or varying
    - false: more matches were received, or the pager ended with clearly fewer (`FALSE_TOTAL_FACTOR`) and no result cap is stated
    """
    totals = [page.total for page in pages if page.total is not None]
    if not totals:
        return "unknown"
    is_hedged = any(page.hedge for page in pages)
    if not is_hedged and max(totals) < matches:
        return "growing" if len(set(totals)) > 1 and totals == sorted(totals) else "false"
    if is_complete and not any(page.cap for page in pages) and totals[-1] > matches * FALSE_TOTAL_FACTOR + 1:
        return "false"
    if len(set(totals)) > 1:
        is_growing = totals == sorted(totals) and all(
            page.last is not None and page.total is not None and page.total - page.last <= (page.page_size or 0)
            for page in pages[:-1]
        )
        return "growing" if is_growing else "estimate"
    return "estimate" if is_hedged else "constant"

"""Read the stated totals of an answer, and judge whether the totals of a source are reliable.

    total        stated number of matches; it may be hedged: "about" or "at least"
    range        positions of the first and last match on the page ("11 - 20"); its length is the page size
    result cap   stated number of matches that can be seen, if it is smaller than the total

Numbers are recognised by the words around them (`lexicon`), and without such words by how well they fit the list of records
(`_unlabelled_total`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Literal

from upwell.answers.pager import further_link
from upwell.lazy import late_pattern
from upwell.lexicon.vocabulary import alternatives, word_starts
from upwell.page.tree import TagTree

__all__ = [
    "StatedTotals",
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

COUNT_AFTER_LINK = re.compile(r"\s*(?:[(\[]\s*(\d[\d.,]{0,17})\s*[)\]]|(\d[\d.,]{0,17})\s*$)")
COUNT_IN_LINK = re.compile(r"\S\s*[(\[](\d[\d.,]{0,17})[)\]]\s*$")


def stated_matches(tree: TagTree, row: int) -> int | None:
    """Return the number of matches that a page states for a link: directly after it, or in brackets at the end of its text.

    >>> from upwell.page.tree import read
    >>> tree = read("<li><a href=/a>Maps</a> (120)<li><a href=/b>Books [1,600]</a><li><a href=/c>Discs</a>")
    >>> [stated_matches(tree, int(row)) for row in tree.rows("a")]
    [120, 1600, None]
    """
    count = COUNT_AFTER_LINK.match(_text_after(tree, row)) or COUNT_IN_LINK.search(tree.text(row))
    return _parse_number(count[count.lastindex or 1]) if count else None


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


# Unlabelled totals: numbers without known words ("226 messages"), in any language, that fit the list of records. Either the number is in
# one line with a range as long as the list ("x 1–10 y 226"), or it is the only number of a short line that is neither a link nor part of a
# record. In the second case it must equal the number of records if there is no next page, and exceed it otherwise.

WHOLE_NUMBER = late_pattern(rf"(?<![\d.,:/#]){NUMBER}")
# Line with a single number that is not a time, a version, a date or a position.
COUNT_LINE = late_pattern(
    rf"(?:[^\d]*(?:[^\d\w.,:/#-]|[\u3040-\u9fff\uac00-\ud7af]))?(?P<total>{NUMBER})\+?(?:[^\d.,:/%-][^\d]*)?"
)
LETTER = late_pattern(r"[^\W\d_]")
MAX_COUNT_LINE_CHARS = 60  # line with only a count
MAX_LINES_ABOVE = 15  # lines with numbers between the count and the first record, if there is a next page
MAX_SEARCHED_CHARS = (
    100_000  # safety limit: text of records in which a part of a text is searched; each line of a page is searched
)
MIN_RECORDS = 2  # records on the page; a smaller number agrees with other numbers by chance


class _RecordTexts:
    """Texts of the records of a page, indexed for `contain`."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts, self._joined = texts, "\n".join(texts)
        self._searched = self._joined[:MAX_SEARCHED_CHARS]

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset((*self._joined.split(), *self.texts))

    def contain(self, line: str) -> bool:
        """Return True if one of the texts contains a line; fast if the line is a whole text or a single word, as most numbers of records are."""
        return line in self._words or line in self._searched


def _unlabelled_total(tree: TagTree, lines: Sequence[str], record_texts: _RecordTexts) -> int | None:
    """Return the total that fits the list of records; `lines` are the lines of the page that contain a number."""
    records = len(set(record_texts.texts))
    if records < MIN_RECORDS:
        return None
    plain = [" ".join(line.split()) for line in lines]
    is_outside = [not record_texts.contain(line) for line in plain]
    for line, outside in zip(plain, is_outside, strict=True):
        if outside and (total := _total_next_to_range(line, records)) is not None:
            return total
    link_texts = {" ".join(tree.text(int(row)).split()) for row in tree.rows("a", "option", "button", "label")}
    counts = [
        (at, _parse_number(match["total"]))
        for at, (line, outside) in enumerate(zip(plain, is_outside, strict=True))
        if outside and len(line) <= MAX_COUNT_LINE_CHARS and line not in link_texts
        if LETTER.search(line) and (match := COUNT_LINE.fullmatch(line))
    ]
    if further_link(tree) is None:
        return records if any(total == records for _, total in counts) else None
    first_record = is_outside.index(False) if False in is_outside else len(lines)
    above = [
        total
        for at, total in counts
        if records < total and not 1900 < total < 2100 and 0 <= first_record - at <= MAX_LINES_ABOVE
    ]
    return above[-1] if above else None


def _total_next_to_range(line: str, records: int) -> int | None:
    """Return the number before or after a range as long as the list, if it is not smaller than the end of the range."""
    numbers = [_parse_number(text) for text in WHOLE_NUMBER.findall(line)]
    for i, (first, last) in enumerate(pairwise(numbers)):
        if first >= 1 and last - first + 1 == records:
            others = [*numbers[i + 2 : i + 3], *numbers[max(0, i - 1) : i]]
            total = next((number for number in others if number >= last), None)
            if total is not None:
                return total
    return None


# Totals, ranges and caps with known words.

Hedge = Literal["", "about", "at least"]
TotalsTrust = Literal["unknown", "constant", "estimate", "growing", "false"]

AT_LEAST = late_pattern(lambda: alternatives("at_least"), re.I)
COUNTER = late_pattern(lambda: alternatives("match_counters"))


def _hedged_total() -> str:
    return rf"{_hedge_words()}(?P<total>{NUMBER})(?P<plus>\+)?"


def _hedge_words() -> str:
    return rf"(?:(?P<hedge>{alternatives('about')}|{alternatives('at_least')})\s*+)?"


def _match_nouns() -> str:
    nouns = alternatives("match_nouns")
    return rf"(?:search |matching |total |relevant |unique |\w+ )?(?:{nouns})(?:\(s\)|\(es\))?(?![\w-])"


RANGE_THEN_TOTAL = late_pattern(
    lambda: (
        rf"(?<![\d.,/:-]){_range()}\W{{0,4}}(?:\w+\W+){{0,2}}?(?:{alternatives('out_of')})\W{{0,3}}\s*+(?:(?:(?:a )?total(?: of)?|the)\s*+)?"
        rf"{_hedge_words()}(?:total\s*+)?(?P<total>{NUMBER})(?P<plus>\+)?"
    ),
    re.I,
)
# The total before the range: "全123件中 1～20件".
TOTAL_THEN_RANGE = late_pattern(
    lambda: rf"{_hedge_words()}(?P<total>{NUMBER})\s*+(?:{alternatives('match_counters')})\D{{0,6}}{_range()}", re.I
)
NUMBER_THEN_NOUN = late_pattern(
    lambda: rf"(?<![\d.,/:#-]){_hedged_total()}\s*+(?:{_match_nouns()}|(?:{alternatives('match_counters')}))", re.I
)
FOUND_THEN_NUMBER = late_pattern(
    lambda: (
        rf"(?<!\w)(?:{alternatives('found')})\s*+(?:(?:[:：(]|is|are|only|out of|of)\s*+)?{_hedged_total()}"
        rf"(?!{_range_to()}\d)(?!\s*+(?:[a-z]\s*+)?(?:seconds|sec|ms))"
    ),
    re.I,
)
CAP = late_pattern(lambda: rf"(?:{alternatives('result_cap')})\s++(?P<cap>{NUMBER})", re.I)
ABOUT_MATCHES = late_pattern(
    lambda: rf"\b(?:{_match_nouns()}|{alternatives('showing')}|(?:{alternatives('found')}))", re.I
)
ABOUT_SHOWING = late_pattern(lambda: alternatives("limited"), re.I)
OTHER_NUMBERS = late_pattern(lambda: alternatives("other_numbers"), re.I)
ABOUT_RESULTS = late_pattern(lambda: rf"\b(?:{alternatives('found')})|{word_starts('result_words')}", re.I)
MAX_DIFFERENT_COUNTS = 6  # a page with more different counts ("3 hits", "7 hits", …) states one per record; not swept
MAX_LENGTH_RATIO = 2.0  # of a range to the list of records, or vice versa: some records may be misread; not swept
MAX_RANGE_LENGTH = 10_000  # matches on one page
MAX_CACHED_LINES = 10_000  # safety limit: lines whose numbers are cached: most lines of an answer occur on others too
MAX_LINE_CHARS = 240  # a longer line is running text and does not state a total
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


def read_totals(tree: TagTree, record_texts: Sequence[str] = ()) -> StatedTotals:
    """Read total, range and result cap from a page; a range with its total is preferred to a lone number.

    `record_texts` are the texts of the records of the page, if they are known. A total is not smaller than their number, a range is about
    as long as the list, and a lone number inside a record is part of the record.

    >>> from upwell.page.tree import read
    >>> read_totals(read("<p>Results <b>11</b> - <b>20</b> of about <b>1.234</b> for cats"))
    StatedTotals(total=1234, hedge='about', first=11, last=20, cap=None)
    """
    records = len({text or at for at, text in enumerate(record_texts)})  # two blocks may show the same match
    lines = numbered_lines(tree.text(), MAX_LINE_CHARS)
    longer = [line for line in lines if not line.isdecimal()]  # a lone number cannot be a range
    indexed_texts = _RecordTexts(record_texts)

    def outside() -> Iterator[str]:
        """Yield the lines outside records."""
        return (line for line in lines if not indexed_texts.contain(" ".join(line.split())))

    for line in longer:
        for match in _ranges_with_total(line):
            first, last, total = (_parse_number(match[name]) for name in ("first", "last", "total"))
            if last <= total and _may_be_range_of_page(first, last, records):
                return StatedTotals(
                    total=total,
                    hedge=_hedge(match),
                    first=first,
                    last=last,
                    cap=_cap(outside(), total, records),
                )
    outside_lines = list(outside())
    number_pairs = [pair for line in longer for pair in _ranges_of_matches(line)]
    ranges = [(first, last) for first, last in number_pairs if first and _may_be_range_of_page(first, last, records)]
    contradicted = None  # total smaller than the end of every range
    for match in _lone_counts(outside_lines):
        total = _parse_number(match["total"])
        if total < records:
            continue
        stated = StatedTotals(total=total, hedge=_hedge(match), cap=_cap(outside_lines, total, records))
        if not ranges:
            return stated
        fitting = next(((first, last) for first, last in ranges if last <= total), None)
        if fitting:
            return replace(stated, first=fitting[0], last=fitting[1])
        contradicted = contradicted or stated
    if contradicted:
        return contradicted
    count = _unlabelled_total(tree, lines, indexed_texts)
    if count is not None:
        return StatedTotals(total=count)
    return StatedTotals(first=ranges[0][0], last=ranges[0][1]) if ranges else StatedTotals()


@lru_cache(maxsize=MAX_CACHED_LINES)
def _ranges_with_total(line: str) -> tuple[re.Match[str], ...]:
    """Return the ranges of a line that are followed or preceded by their total."""
    patterns = (RANGE_THEN_TOTAL, TOTAL_THEN_RANGE) if COUNTER.search(line) else (RANGE_THEN_TOTAL,)
    return tuple(match for pattern in patterns for match in pattern.finditer(line))


@lru_cache(maxsize=MAX_CACHED_LINES)
def _counts_in(line: str) -> tuple[tuple[bool, re.Match[str]], ...]:
    """Return the numbers of a line that may be totals, each with True if the line is about results."""
    if OTHER_NUMBERS.search(line):
        return ()
    matches = (match for pattern in (NUMBER_THEN_NOUN, FOUND_THEN_NUMBER) for match in pattern.finditer(line))
    return tuple((bool(ABOUT_RESULTS.search(line)), match) for match in matches)


def _may_be_range_of_page(first: int, last: int, records: int) -> bool:
    """Return True if two numbers may be the positions of the first and last match on a page with `records` records (0: unknown)."""
    length = last - first + 1
    is_as_long = not records or records / MAX_LENGTH_RATIO <= length <= records * MAX_LENGTH_RATIO
    is_year = 1900 < first < 2100
    return 0 < length <= MAX_RANGE_LENGTH and not is_year and is_as_long


def _lone_counts(lines: Sequence[str]) -> list[re.Match[str]]:
    """Return the numbers without a range that may be the total, most likely first.

    Numbers on lines about results come first. Another count may describe a record ("12 items in stock") and is used only if there is
    just one.
    """
    counts = [count for line in lines for count in _counts_in(line)]
    strong = [match for is_about_results, match in counts if is_about_results]
    if len({match["total"] for match in strong}) > MAX_DIFFERENT_COUNTS:
        return []  # "3 hits" in every record
    weak = [match for is_about_results, match in counts if not is_about_results]
    return strong + (weak if len(weak) == 1 else [])


@lru_cache(maxsize=MAX_CACHED_LINES)
def _ranges_of_matches(line: str) -> tuple[tuple[int, int], ...]:
    """Return the ranges of numbers in a line about matches."""
    ranges = tuple(ranges_in(line))
    return ranges if ranges and ABOUT_MATCHES.search(line) and not OTHER_NUMBERS.search(line) else ()


def _hedge(match: re.Match[str]) -> Hedge:
    if "plus" in match.re.groupindex and match["plus"]:
        return "at least"
    words = match["hedge"]
    return "" if not words else "at least" if AT_LEAST.fullmatch(words) else "about"


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

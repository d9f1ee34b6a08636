"""Reads how many matches a page says there are, and judges whether a source's totals can be believed.

    total     how many matches the source says it has; a hedged one is "about" or "at least" so many
    range     the places of the first and last match on the page ("11 - 20"); its length is the page size
    cap       how many of the matches can be seen at all, where the page says so

Numbers are told apart by the words around them, in the languages that the patterns below list; where none of these stands beside a
number, by how it fits the list of records (`plain_counts`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal

from upwell.answers.pager import Pager
from upwell.lazy import late_pattern
from upwell.native import compiled
from upwell.page.tree import TagTree

__all__ = [
    "NUMBER",
    "RANGE",
    "RANGE_TO",
    "RecordTexts",
    "StatedTotals",
    "TotalsTrust",
    "judge_totals",
    "number_value",
    "numbered_lines",
    "plain_count",
    "plain_numbered_lines",
    "ranges_in",
    "read_totals",
    "stated_matches",
]

# --- How pages write a range of result numbers: the "1 – 10" of "1 – 10 of 283", in many languages.

# A whole number of at most fifteen digits, with or without marks between the thousands ("1,234", "1 234", "12,34,567");
# no part of a decimal or of a percentage.
NUMBER = r"(?:\d{1,3}(?:[.,'’٬\u00a0\u2009\u202f ]\d{3}){1,4}|\d{1,3}(?:,\d{2}){0,5},\d{3}|\d{1,15})(?![\d%]|[.,]\d)"
# What stands between the first and the last number.
RANGE_TO = r"\s*(?:[-–—−~～〜]|\.{2,3}|…|to|through|thru|until|bis|à|au|al?|até|tot|till?|til|do|до|по|至|から)\s*"
RANGE = rf"(?P<first>{NUMBER}){RANGE_TO}(?P<last>{NUMBER})"
DIGITS = late_pattern(r"\d+")
# No date, no time, no part of a longer row of numbers.
_LONE_RANGE = late_pattern(rf"(?<![\d.,/:-]){RANGE}(?!\s*(?:{RANGE_TO})\d)", re.I)


def numbered_lines(text: str, max_chars: int) -> list[str]:
    """The lines of a text that have a digit, without those of more than `max_chars` characters.

    >>> numbered_lines("Results\\n1 of 3\\n2024 was a long year", 10)
    ['1 of 3']
    """
    return plain_numbered_lines(text, max_chars) if compiled is None else compiled.numbered_lines(text, max_chars)


def plain_numbered_lines(text: str, max_chars: int) -> list[str]:
    """The same without the compiled parts."""
    return [line for line in text.split("\n") if len(line) <= max_chars and DIGITS.search(line)]


def ranges_in(text: str) -> Iterator[tuple[int, int]]:
    """The first and last number of each range in a text.

    >>> list(ranges_in("Results 1.001 – 1.010 of 2.345; 11 to 20; 2024-05-31"))
    [(1001, 1010), (11, 20)]
    """
    at = 0
    for digits in DIGITS.finditer(text):  # a range begins with digits: far fewer places to look at than characters
        if digits.start() >= at and (found := _LONE_RANGE.match(text, digits.start())) is not None:
            yield number_value(found["first"]), number_value(found["last"])
            at = found.end()


def number_value(text: str) -> int:
    """The value of a written number.

    >>> number_value("1.234"), number_value("12,34,567")
    (1234, 1234567)
    """
    return int(text if text.isdecimal() else re.sub(r"\D", "", text))


# --- How many matches a link leads to, where the page says so: the 120 of "Maps (120)".

COUNT_AFTER_LINK = re.compile(r"\s*(?:[(\[]\s*(\d[\d.,]{0,17})\s*[)\]]|(\d[\d.,]{0,17})\s*$)")
COUNT_IN_LINK = re.compile(r"\S\s*[(\[](\d[\d.,]{0,17})[)\]]\s*$")


def stated_matches(tree: TagTree, row: int) -> int | None:
    """The number right after a link, or in brackets at the end of its text: how many matches it leads to.

    >>> from upwell.page.tree import read
    >>> tree = read("<li><a href=/a>Maps</a> (120)<li><a href=/b>Books [1,600]</a><li><a href=/c>Discs</a>")
    >>> [stated_matches(tree, int(row)) for row in tree.rows("a")]
    [120, 1600, None]
    """
    found = COUNT_AFTER_LINK.match(_text_after(tree, row)) or COUNT_IN_LINK.search(tree.text(row))
    return number_value(found[found.lastindex or 1]) if found else None


def _text_after(tree: TagTree, row: int) -> str:
    """The text right after a link, where it stands beside the link and is no part of another link."""
    after = int(tree.text_end[row])
    if after >= len(tree.chunks):
        return ""
    holder, parent = int(tree.chunk_row[after]), int(tree.parent[row])
    if not parent <= holder < int(tree.end[parent]):
        return ""
    inside_link = {"a", "option"} & {tree.name(i) for i in (holder, *tree.ancestors(holder))}
    return "" if inside_link else tree.chunks[after]


# --- The number of matches where no word that we know stands beside it: "226 messages" above the list, whatever they are called.
#
# A count fits the list of records, in any language: it stands in one line with a range that is as long as the list ("x 1–10 y 226"), or it is
# the only number of a short line that is no link and no part of a record, and is as many as the records where no page follows, more
# where one follows.

WHOLE_NUMBER = late_pattern(rf"(?<![\d.,:/#]){NUMBER}")
# One number, and it is not a time, a version, a date or a place in a list.
COUNT_LINE = late_pattern(
    rf"(?:[^\d]*(?:[^\d\w.,:/#-]|[\u3040-\u9fff\uac00-\ud7af]))?(?P<total>{NUMBER})\+?(?:[^\d.,:/%-][^\d]*)?"
)
LETTER = late_pattern(r"[^\W\d_]")
MAX_CHARS = 60  # of a line with nothing but a count
MAX_LINES_ABOVE = 15  # lines with numbers between the count and the first record, where more pages follow
MIN_RECORDS = 2  # that are as many as a number says, before that is no accident


class RecordTexts:
    """The texts of the records of a page, which can be asked what they have."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts, self._joined = texts, "\n".join(texts)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(self._joined.split())

    def line(self, line: str) -> bool:
        """Whether a line stands in one of them; most lines with a number that do are a word of it."""
        return line in self._words or line in self._joined


def plain_count(tree: TagTree, lines: Sequence[str], record_texts: RecordTexts) -> int | None:
    """The count of matches; None where no number fits the list. `lines` are the lines of the page's text with a number in them."""
    records = len(set(record_texts.texts))
    if records < MIN_RECORDS:
        return None
    plain = [" ".join(line.split()) for line in lines]
    is_outside = [not record_texts.line(line) for line in plain]
    for line, outside in zip(plain, is_outside, strict=True):
        if outside and (total := _beside_range(line, records)) is not None:
            return total
    link_texts = {" ".join(tree.text(int(row)).split()) for row in tree.rows("a", "option", "button", "label")}
    counts = [
        (at, number_value(match["total"]))
        for at, (line, outside) in enumerate(zip(plain, is_outside, strict=True))
        if outside and len(line) <= MAX_CHARS and line not in link_texts
        if LETTER.search(line) and (match := COUNT_LINE.fullmatch(line))
    ]
    pager = Pager(tree)
    if not pager.next_link() and not pager.likely_link:
        return records if any(total == records for _, total in counts) else None
    list_starts = is_outside.index(False) if False in is_outside else len(lines)
    above = [
        total
        for at, total in counts
        if records < total and not 1900 < total < 2100 and 0 <= list_starts - at <= MAX_LINES_ABOVE
    ]
    return above[-1] if above else None


def _beside_range(line: str, records: int) -> int | None:
    """The number that stands beside a range as long as the list, and is not smaller than the end of the range."""
    numbers = [number_value(text) for text in WHOLE_NUMBER.findall(line)]
    for i, (first, last) in enumerate(pairwise(numbers)):
        if first >= 1 and last - first + 1 == records:
            others = [*numbers[i + 2 : i + 3], *numbers[max(0, i - 1) : i]]
            total = next((number for number in others if number >= last), None)
            if total is not None:
                return total
    return None


# --- (main part)

Hedge = Literal["", "about", "at least"]
TotalsTrust = Literal["unknown", "constant", "estimate", "growing", "false"]

ABOUT = (
    r"about|approx(?:\.|imately)?|around|roughly|nearly|almost|estimated|some|circa|ca\.?|etwa|ungefähr|rund|zirka|environ|près de|"
    r"aproximadamente|unos|alrededor de|cerca d[ei]|casi|ongeveer|omkring|ungefär|noin|około|asi|přibližně|около|примерно|приблизительно|"
    r"约|約|大约|およそ|약|~|≈"
)
AT_LEAST = (
    r"more than|over|at least|greater than|mehr als|über|mindestens|plus de|au moins|más de|al menos|mais de|pelo menos|più di|oltre|almeno|"
    r"meer dan|minstens|mer än|över|mere end|mer enn|yli|ponad|więcej niż|více než|более|больше|свыше|超过|超過|>|≥"
)
HEDGE = rf"(?P<hedge>{ABOUT}|{AT_LEAST})?\s*"
OUT_OF = r"(?:out of|of|from|von|aus|sur|de|di|van|av|af|uit|/|z|ze|od|из|от|su|总共|共|中|in)"
MATCH_NOUNS = (
    r"(?:search |matching |total |relevant |unique |\w+ )?(?:results?|match(?:es|ing)?|hits?|documents?|records?|"
    r"items?|entries|entry|rows?|articles?|"
    r"pages? found|files? found|found|listings?|products?|titles?|books?|jobs?|posts?|cities|objects?|citations?|"
    r"properties|repositories|packages|tickets|"
    r"ergebnisse?n?|treffern?|einträge|dokumente|artikel|résultats?|réponses?|documents?|resultados?|registros?|"
    r"risultat[oi]|documenti|resultat(?:en|er)?|"
    r"träffar|treff|tulos(?:ta)?|osumaa|wynik(?:i|ów)?|výsledk[ůy]|результат\w*|документ\w*|найдено|sonuç|találat|αποτελέσματα|kết quả|hasil)"
    r"(?:\(s\)|\(es\))?(?![\w-])"
)
FOUND_WORDS = (
    r"(?:found|returned|matched|total(?: of| in database)?|results?(?: found)?|matches(?: found)?|hits|(?:documents?|records?|items)(?:\(s\))? found|"
    r"gefunden|insgesamt|ergebnisse|treffer|trouvés?|résultats|encontrad[oa]s|total de|resultados|trovat[io]|risultati|totale|gevonden|resultaten|"
    r"найдено|результатов|всего|共|全|总共|找到|约有|検索結果|총)"
)
CJK_COUNTERS = r"(?:件|条|條|个结果|個結果|项|項|건|개|筆|笔|篇)"
CJK_COUNTER = late_pattern(CJK_COUNTERS)
RANGE_THEN_TOTAL = late_pattern(
    rf"(?<![\d.,/:-]){RANGE}\W{{0,4}}(?:\w+\W+){{0,2}}?{OUT_OF}\W{{0,3}}(?:(?:a )?total(?: of)?\s*|the\s*)?"
    rf"{HEDGE}(?:total\s*)?(?P<total>{NUMBER})(?P<plus>\+)?",
    re.I,
)
# The total before the range: "全123件中 1～20件".
TOTAL_THEN_RANGE = late_pattern(rf"{HEDGE}(?P<total>{NUMBER})\s*{CJK_COUNTERS}\D{{0,6}}{RANGE}", re.I)
NUMBER_THEN_NOUN = late_pattern(
    rf"(?<![\d.,/:#-]){HEDGE}(?P<total>{NUMBER})(?P<plus>\+)?\s*(?:{MATCH_NOUNS}|{CJK_COUNTERS})", re.I
)
FOUND_THEN_NUMBER = late_pattern(
    rf"(?<!\w){FOUND_WORDS}\s*(?:[:：(]|is|are|only|out of|of)?\s*{HEDGE}(?P<total>{NUMBER})(?P<plus>\+)?(?!\s*(?:{RANGE_TO})\d)(?!\s*[a-z]?\s*(?:seconds|"
    rf"sec|ms))",
    re.I,
)
CAP = late_pattern(
    rf"(?:only(?: the)?(?: first)?|top|first|limited to(?: the first)?|maximum(?: of)?|up to|die ersten|nur die ersten|"
    rf"les|premiers|primer[oa]s|prim[ie]|первые|前)\s+(?P<cap>{NUMBER})",
    re.I,
)
SPEAKS_OF_MATCHES = late_pattern(
    rf"\b(?:{MATCH_NOUNS}|showing|shown|display\w*|anzeige|affich\w*|mostrando|{FOUND_WORDS})", re.I
)
SPEAKS_OF_SHOWING = late_pattern(
    r"shown|showing|display\w*|sorted|available|limited|angezeigt|affich\w*|mostra\w*|показан\w*|显示", re.I
)
# Lines whose numbers count something else: page sizes, pages, documents searched.
OTHER_NUMBERS = late_pattern(
    r"per page|/ ?page|pro seite|par page|por página|per pagina|на странице|件表示|每页|(?:documents|files|pages|records) (?:searched|indexed)|"
    r"^\W*(?:next|previous|prev|last|show|view|more(?! than)|weiter|suivant)\b|index (?:contains|has)|indexed|more (?:results|hits|matches)",
    re.I,
)
SPEAKS_OF_FINDING = late_pattern(
    rf"\b(?:results?|match\w*|hits?|found|returned|total|search\w*|query|{FOUND_WORDS}|trouv\w*|encontrad\w*|gefunden\w*|"
    rf"treffern?|ergebnisse?n?|résultats?|resultado?s?|"
    r"risultat[oi]|resultaten|träffar|treff|tulosta|wynik\w*|výsledk\w*|результат\w*|sonuç|találat)|件|条|條|结果|結果|건",
    re.I,
)
MAX_DIFFERENT_COUNTS = 6  # a page with more different counts ("3 hits", "7 hits", …) states those of its single matches
# A range may be this many times longer or shorter than the list of records, some of which may be read wrongly; not swept.
MAX_LENGTH_RATIO = 2.0
MAX_RANGE_LENGTH = 10_000  # matches on one page
MAX_KNOWN_LINES = 10_000  # whose numbers are remembered from page to page
MAX_LINE_CHARS = 240  # a longer line is running text and states no total
MIN_CAP = 10  # a smaller number ("top 5") is no result cap
FALSE_TOTAL_FACTOR = 1.1  # a total this many times what came, where the pager was followed to its end, is false


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTotals:
    """The total, the range and the cap that a page states; None where it states none."""

    total: int | None = None
    hedge: Hedge = ""  # how the total is hedged
    first: int | None = None
    last: int | None = None
    cap: int | None = None

    @property
    def page_size(self) -> int | None:
        """How many matches the page says it shows."""
        return None if self.first is None or self.last is None else self.last - self.first + 1


def read_totals(tree: TagTree, record_texts: Sequence[str] = ()) -> StatedTotals:
    """Reads the total, the range and the cap from a page's text; a range with its total is preferred to a lone number.

    `record_texts` are the texts of the records read from the page. They rule out numbers: a total is not smaller than the number of
    records, a range is about as long as they are many, and a lone number inside a record belongs to that record.

    >>> from upwell.page.tree import read
    >>> read_totals(read("<p>Results <b>11</b> - <b>20</b> of about <b>1.234</b> for cats"))
    StatedTotals(total=1234, hedge='about', first=11, last=20, cap=None)
    """
    records = len({text or at for at, text in enumerate(record_texts)})  # a match may be shown in two blocks
    lines = numbered_lines(tree.text(), MAX_LINE_CHARS)
    longer = [line for line in lines if not line.isdecimal()]  # a lone number, as of a cell, is no range
    records_have = RecordTexts(record_texts)

    def outside() -> Iterator[str]:
        return (line for line in lines if not records_have.line(" ".join(line.split())))

    for line in longer:
        for match in _ranges_with_total(line):
            first, last, total = (number_value(match[name]) for name in ("first", "last", "total"))
            if last <= total and _is_range_of_page(first, last, records):
                return StatedTotals(
                    total=total,
                    hedge=_hedge(match),
                    first=first,
                    last=last,
                    cap=_cap(outside(), total, records),
                )
    outside_lines = list(outside())
    number_pairs = [pair for line in longer for pair in _ranges_of_matches(line)]
    ranges = [(first, last) for first, last in number_pairs if first and _is_range_of_page(first, last, records)]
    contradicted = None  # a total that is smaller than the end of every range
    for match in _lone_counts(outside_lines):
        total = number_value(match["total"])
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
    count = plain_count(tree, lines, records_have)
    if count is not None:
        return StatedTotals(total=count)
    return StatedTotals(first=ranges[0][0], last=ranges[0][1]) if ranges else StatedTotals()


@lru_cache(maxsize=MAX_KNOWN_LINES)
def _ranges_with_total(line: str) -> tuple[re.Match[str], ...]:
    """The ranges of a line that stand beside their total; most lines of an answer stand on others, too."""
    patterns = (RANGE_THEN_TOTAL, TOTAL_THEN_RANGE) if CJK_COUNTER.search(line) else (RANGE_THEN_TOTAL,)
    return tuple(match for pattern in patterns for match in pattern.finditer(line))


@lru_cache(maxsize=MAX_KNOWN_LINES)
def _counts_in(line: str) -> tuple[tuple[bool, re.Match[str]], ...]:
    """The numbers of a line that may be totals, and whether it speaks of finding."""
    if OTHER_NUMBERS.search(line):
        return ()
    matches = (match for pattern in (NUMBER_THEN_NOUN, FOUND_THEN_NUMBER) for match in pattern.finditer(line))
    return tuple((bool(SPEAKS_OF_FINDING.search(line)), match) for match in matches)


def _is_range_of_page(first: int, last: int, records: int) -> bool:
    """Whether these two numbers can be the places of the page's matches, of which `records` were read (0: not read)."""
    length = last - first + 1
    is_as_long = not records or records / MAX_LENGTH_RATIO <= length <= records * MAX_LENGTH_RATIO
    is_year = 1900 < first < 2100
    return 0 < length <= MAX_RANGE_LENGTH and not is_year and is_as_long


def _lone_counts(lines: Sequence[str]) -> list[re.Match[str]]:
    """Numbers without a range that may be the total, the likeliest first.

    Those on lines that speak of finding come first. Another count may belong to a match ("12 items in stock"): it is taken only
    where it is the only one.
    """
    counts = [count for line in lines for count in _counts_in(line)]
    strong = [match for speaks_of_finding, match in counts if speaks_of_finding]
    if len({match["total"] for match in strong}) > MAX_DIFFERENT_COUNTS:
        return []  # "3 hits" at every match
    weak = [match for speaks_of_finding, match in counts if not speaks_of_finding]
    return strong + (weak if len(weak) == 1 else [])


@lru_cache(maxsize=MAX_KNOWN_LINES)
def _ranges_of_matches(line: str) -> tuple[tuple[int, int], ...]:
    """The ranges of numbers in a line that speaks of matches."""
    ranges = tuple(ranges_in(line))
    return ranges if ranges and SPEAKS_OF_MATCHES.search(line) and not OTHER_NUMBERS.search(line) else ()


def _hedge(match: re.Match[str]) -> Hedge:
    if "plus" in match.re.groupindex and match["plus"]:
        return "at least"
    words = match["hedge"]
    return "" if not words else "at least" if re.fullmatch(AT_LEAST, words, re.I) else "about"


def _cap(lines: Iterable[str], total: int, records: int) -> int | None:
    """How many of the total a page says can be seen; a number smaller than that of its records is no cap."""
    caps = (cap for line in lines for cap in _caps_in(line))
    return next((cap for cap in caps if max(MIN_CAP, records) <= cap < total), None)


@lru_cache(maxsize=MAX_KNOWN_LINES)
def _caps_in(line: str) -> tuple[int, ...]:
    """The numbers of a line that may be caps."""
    if not SPEAKS_OF_SHOWING.search(line):
        return ()
    return tuple(number_value(match["cap"]) for match in CAP.finditer(line))


def judge_totals(pages: Sequence[StatedTotals], matches: int = 0, is_complete: bool = False) -> TotalsTrust:
    """Judges the totals that the pages of one query stated, after `matches` distinct matches came.

    `is_complete`: the pager was followed to its end. The judgements:
    `constant`: the same on every page, and not hedged; `growing`: larger with every page, a count of what was found so far;
    `estimate`: hedged, or changing a little; `false`: impossible, because more matches came, or because fewer came though the
    pager ended by itself (more than a tenth fewer, and no cap was stated).
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

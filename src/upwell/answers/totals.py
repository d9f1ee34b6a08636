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
from functools import lru_cache
from typing import Literal

from upwell.answers.plain_counts import RecordTexts, plain_count
from upwell.lazy import late_pattern
from upwell.page.ranges import NUMBER, RANGE, RANGE_TO, number_value, numbered_lines, ranges_in
from upwell.page.tree import TagTree

__all__ = ["StatedTotals", "TotalsTrust", "judge_totals", "read_totals"]

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
